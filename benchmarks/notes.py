"""Measure the index of the notes: `python benchmarks/notes.py [--headings 100000] [--files 500] [--keep FOLDER]`.

A generated memex (see `memex.py`), then: first ingest, re-start, one edited file, searches, a week's agenda, bytes an object; beside it
orgparse (reading all Org files) and ripgrep (one word in all files) when they are installed. Wall time and, where it says so, time of
the processor; medians. Nothing runs under pytest.
"""
import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from memex import write_memex

from passepartout.finding import agenda_indexed, find_indexed
from passepartout.index import Index
from passepartout.objectsource import NoteObjects
from passepartout.resources import Root

TODAY = date(2026, 11, 19)
QUERIES = ("roof", "roof offer", "lisbon dentist", "title:roof", "roof -offer tag:house", "屋根", "tag:house todo:open", "due:2026-11 todo:open", "xyzzy")
GOALS = {10_000: {"first ingest": 2}, 100_000: {"first ingest": 15}}


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def median(work, rounds=9):
    work()
    times = [timed(work)[1:] for _ in range(rounds)]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def say(what, seconds, goal="", cpu=None):
    shown = lambda t: f"{t:.2f} s" if t >= 1 else f"{t * 1e3:.2f} ms"
    print(f"| {what} | {shown(seconds)} | {shown(cpu) if cpu is not None else ''} | {goal} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--headings", type=int, default=100_000)
    options.add_argument("--files", type=int, default=500)
    options.add_argument("--keep", type=Path, help="a folder for the generated memex, kept for the next run")
    given = options.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="notes-bench-"))
    place = given.keep or scratch / "memex"
    if not place.exists(): write_memex(place, given.headings, given.files)
    size = sum(path.stat().st_size for path in place.rglob("*.*"))
    print(f"{given.headings:,} headings, {given.files} files, {size / 1e6:.1f} MB; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print("| what | wall | processor | goal |\n|---|---|---|---|")
    try: measure(place, scratch, size, given.headings)
    finally: shutil.rmtree(scratch)


def measure(place, scratch, size, headings):
    root, path = Root(place), scratch / "cache" / "index.sqlite"
    index = Index(root, path)
    _, wall, cpu = timed(index.refresh)
    say("first ingest", wall, f"{GOALS.get(headings, {}).get('first ingest', '')} s", cpu)
    count = index.count()
    index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    titles = index.db.execute("SELECT sum(length(title) + length(tags) + length(coalesce(keyword, ''))) FROM node").fetchone()[0]
    index.close()
    time.sleep(0.1)
    index, wall, cpu = timed(lambda: (again := Index(root, path), again.refresh())[0])
    say("re-start, nothing changed", wall, "300 ms", cpu)
    say("asking what changed: nothing", *median(index.refresh)[:1], "", median(index.refresh)[1])
    note, times = sorted(place.rglob("*.org"))[7], []
    text = note.read_text()
    for n in range(7):
        lines = text.split("\n")
        lines.insert(len(lines) // 2, f"A sentence that was added, number {n}.")
        note.write_text("\n".join(lines))
        times.append(timed(index.refresh)[1:])
        time.sleep(0.06)
    note.write_text(text); index.refresh()
    say("one edited file", statistics.median(t[0] for t in times), "30 ms", statistics.median(t[1] for t in times))
    for query in QUERIES:
        found = find_indexed(index, query, today=TODAY)
        wall, cpu = median(lambda: find_indexed(index, query, today=TODAY))
        say(f"search `{query}` ({found.total}{'+' if found.total >= 1000 else ''})", wall, "10 ms", cpu)
    days = date(2026, 11, 16), date(2026, 11, 22), TODAY
    items = agenda_indexed(index, *days)
    wall, cpu = median(lambda: agenda_indexed(index, *days, most=200))
    say(f"a week's agenda ({len(items)} items, 200 shown)", wall, "20 ms", cpu)
    ident = index.db.execute("SELECT ident FROM node WHERE level = 3 LIMIT 1").fetchone()[0]
    wall, cpu = median(lambda: NoteObjects(index).lookup(ident))
    say("one heading as an object", wall, "", cpu)
    index.close()
    print(f"\n{path.stat().st_size / count:.0f} bytes of index an object, of which {titles / count:.0f} are its title and tags; the notes have {size / count:.0f} bytes an object.\n")
    print("| beside it | wall | processor | |\n|---|---|---|---|")
    if importlib.util.find_spec("orgparse"):
        import orgparse
        _, wall, cpu = timed(lambda: sum(len(list(orgparse.load(each))) for each in place.rglob("*.org")))
        say("orgparse: read all Org files", wall, "", cpu)
    if shutil.which("rg"):
        wall, _ = median(lambda: subprocess.run(["rg", "-i", "-c", "roof", str(place)], stdout=subprocess.DEVNULL), 5)
        say("ripgrep: one word, unranked", wall)


if __name__ == "__main__":
    main()
