"""Measure the index of the notes: `python benchmarks/notes.py [--headings 100000] [--files 500] [--keep FOLDER]`.

A generated memex (see `memex.py`), then: first ingest of it and of a tenth, re-start, one edited file, searches, a week's agenda, an agent that starts on it,
sentences without a model, objects of memory, bytes an object; beside it orgparse (reading all Org files) and ripgrep (one word in all files) when they are
installed. Wall time and, where it says so, time of the processor; medians. `pace` is what a million additions take: machines that are shared are not
equally quick at all times, and two runs are compared by it. Nothing runs under pytest.
"""
import argparse
import asyncio
import ctypes
import gc
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from memex import write_memex

from passepartout.context import Outlook
from passepartout.indexing.finding import agenda_indexed, find_indexed
from passepartout.indexing.index import Index
from passepartout.indexing.objectsource import NoteObjects
from passepartout.confinement.resources import Root

TODAY = date(2026, 11, 19)
QUERIES = ("roof", "roof offer", "lisbon dentist", "title:roof", "roof -offer tag:house", "屋根", "tag:house todo:open", "due:2026-11 todo:open", "xyzzy")
GOALS = {10_000: "2 s", 100_000: "15 s"}
SENTENCES = ("done roof offer", "mark lisbon as waiting", "move the roof to archive", "what did I decide about the roof")


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def median(work, rounds=9):
    work()
    times = [timed(work)[1:] for _ in range(rounds)]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def pace():
    "What the machine takes just now for a million additions, in seconds; the best of three."
    def work():
        total = 0
        for n in range(10**6): total += n
    return min(timed(work)[1] for _ in range(3))


def say(what, seconds, goal="", cpu=None):
    shown = lambda t: f"{t:.2f} s" if t >= 1 else f"{t * 1e3:.2f} ms" if t >= 1e-3 else f"{t * 1e6:.0f} µs"
    print(f"| {what} | {shown(seconds)} | {shown(cpu) if cpu is not None else ''} | {goal} |", flush=True)


def contexts(index, ident, note):
    "What it costs to put the model's view of the notes together: all of it, after an edit, and again in the next turn."
    def look(sights):
        sights.update(index)
        return sights.periphery(False, 6_000), sights.fovea(ident, False, 5_000)
    fresh = lambda: Outlook(("@personal",), 16_000)
    yield "context: nothing kept", *median(lambda: look(fresh()))
    sights, times, text = fresh(), [], note.read_text()
    look(sights)
    for n in range(7):
        note.write_text(text + f"Added, number {n}.\n")
        index.refresh()
        times.append(timed(lambda: look(sights))[1:])
        time.sleep(0.06)
    note.write_text(text); index.refresh(); look(sights)
    yield "context: after one edited file", statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)
    yield "context: nothing changed", *median(lambda: look(sights))


def through_agent(place, scratch, index):
    "(what, wall, processor, goal): an agent that finds its index as the last one left it."
    from passepartout.agent import Agent
    from passepartout.context import assemble_global_awareness
    from passepartout.awareness.measure import Measure, Rate
    from passepartout.messages import Signal
    from passepartout.modelprompt import system_prompt
    from passepartout.settings import load_settings
    where = {"memex_dir": place, "state_dir": scratch / "state", "cache_dir": scratch / "cache", "config_dir": scratch, "today": TODAY.isoformat()}
    (kept := load_settings(where).index_path).parent.mkdir(parents=True)
    shutil.copy(index, kept)
    asyncio.run(asyncio.run(Agent.boot(where)).close())                     # makes the journal, imports everything
    async def start(question):
        agent = await Agent.boot(where)
        reply = question and await agent.handle(question)
        assert not question or reply.status == "answered", reply
        await agent.close()
    yield "agent: boot and close", *median(lambda: asyncio.run(start("")), 5), ""
    yield "agent: boot, first question, close", *median(lambda: asyncio.run(start("find roof offer")), 5), "300 ms"
    environment = {**os.environ, "XDG_STATE_HOME": str(scratch / "state"), "XDG_CACHE_HOME": str(scratch / "cache"), "XDG_CONFIG_HOME": str(scratch)}
    command = [sys.executable, "-m", "passepartout", "ask", "--memex", str(place), "find roof offer"]
    yield "the whole process of `passepartout ask`", median(lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL), 5)[0], None, ""
    agent = asyncio.run(Agent.boot(where))
    signal = Signal(payload={"sensor": "user-input", "text": "hello"}, meta={"source": "cli", "session": "main"})
    look = lambda: assemble_global_awareness(agent, signal)
    agent.outlook()                                                         # looks what changed, as at the beginning of each turn
    agent.sights.kept.clear()
    yield "agent: the notes in a prompt, first time", *timed(look)[1:], "5 ms"
    yield "agent: the notes in a prompt", *median(look, 99), "5 ms"
    yield "agent: a whole system prompt, tools and all", *median(lambda: system_prompt(agent, signal), 99), "5 ms"
    measured = lambda: system_prompt(agent, signal, False, Measure(Rate(0.28), 200_000, True), 20_000)
    yield "agent: the same in tokens of a model, first time", *timed(measured)[1:], "5 ms"
    yield "agent: the same in tokens of a model", *median(measured, 99), "5 ms"
    from passepartout.reflex.lookups import Surroundings
    from passepartout.reflex.grammar import understand
    for text in SENTENCES: yield f"“{text}”, understood", *median(lambda: understand(text, TODAY, Surroundings(agent.outlines, index=agent.indexed, read=agent.outline)), 5), ""
    asyncio.run(agent.close())


def one_object(objects=100_000, depth=4):
    "(what, wall, processor, goal): writing one object of memory with the hashes of all above it, and finding one."
    from passepartout.memory import Memory
    memory, wide = Memory(), round(objects ** (1 / depth))
    def tree(level, name): return {"properties": {"ID": name, "TITLE": name}, "contents": [tree(level + 1, f"{name}.{n}") for n in range(wide)] if level < depth else []}
    memory.ingest(tree(0, "o"))
    leaf, n = "o" + ".1" * depth, iter(range(10**9))
    write = lambda: memory.ingest({"properties": {"ID": leaf, "TITLE": f"title {next(n)}"}})
    with memory.transaction(): yield f"one of {len(memory):,} objects written, {depth} levels above it hashed", *median(lambda: (write(), memory.lookup("o")), 999), "50 µs"
    yield "the same as a transaction of its own", *median(write, 999), "50 µs"
    yield f"an object by an attribute that one of {len(memory):,} has", *median(lambda: memory.with_attribute("TITLE", "o.3.3.3.3"), 999), ""


class Allocated(ctypes.Structure): _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def allocated():
    "Bytes that the C library has given out, to Python for what is large and to the persistent maps; None where it does not tell."
    try: tell = ctypes.CDLL(None).mallinfo2
    except AttributeError: return None
    tell.restype = Allocated
    found = tell()
    return found.uordblks + found.hblkhd


def bytes_in_memory(objects=100_000):
    "(bytes that an object of memory takes, of which its attributes take) beside the strings that it is made of."
    from passepartout.memory import Memory
    outline = {"properties": {"ID": "o"}, "contents": [{"properties": {"ID": f"o{n}"}, "contents": [{"properties": {"ID": f"o{n}.{m}", "TITLE": f"title {n} {m}"}} for m in range(19)]} for n in range(objects // 20)]}
    memory = Memory()
    gc.collect()
    before = allocated()
    tracemalloc.start()
    memory.ingest(outline)
    gc.collect()
    traces = tracemalloc.take_snapshot().traces
    tracemalloc.stop()
    if before is None: return None
    small = sum(trace.size for trace in traces if trace.size <= 512)                # what is larger is counted by the C library
    attributes = sum(sys.getsizeof(each.attributes) for each in memory)
    return round((small + allocated() - before) / len(memory)), round(attributes / len(memory))


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
    print(f"{given.headings:,} headings, {given.files} files, {size / 1e6:.1f} MB; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, pace {pace() * 1e3:.0f} ms\n")
    print("| what | wall | processor | goal |\n|---|---|---|---|")
    try:
        if given.headings >= 100_000: tenth(scratch, given.headings // 10, given.files // 10)
        measure(place, scratch, size, given.headings)
    finally: shutil.rmtree(scratch)
    print(f"\npace {pace() * 1e3:.0f} ms")


def tenth(scratch, headings, files):
    "The first ingest of a tenth."
    write_memex(scratch / "tenth", headings, files)
    index = Index(Root(scratch / "tenth"), scratch / "tenth.sqlite")
    _, wall, cpu = timed(index.refresh)
    index.close()
    say(f"first ingest of {headings:,} headings", wall, GOALS.get(headings, ""), cpu)


def measure(place, scratch, size, headings):
    root, path = Root(place), scratch / "cache" / "index.sqlite"
    index = Index(root, path)
    _, wall, cpu = timed(index.refresh)
    say("first ingest", wall, GOALS.get(headings, ""), cpu)
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
    for what, wall, cpu in contexts(index, ident, note): say(what, wall, "5 ms", cpu)
    index.close()
    for what, *times, goal in through_agent(place, scratch, path): say(what, times[0], goal, times[1])
    for what, *times, goal in one_object(): say(what, times[0], goal, times[1])
    print(f"\n{path.stat().st_size / count:.0f} bytes of index an object, of which {titles / count:.0f} are its title and tags (goal: 600 beyond its content); the notes have {size / count:.0f} bytes an object.")
    if held := bytes_in_memory(): print(f"{held[0]} bytes of memory an object of a session with 100,000, of which {held[1]} hold its attributes (goal: 600 beyond its content; each attribute has an index of some size, so few objects have more each).")
    print()
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
