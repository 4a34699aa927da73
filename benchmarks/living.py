"""What a person waits for who leaves it running: the first answer, an edit that counts, and what it takes while nobody asks.

    python benchmarks/living.py                          all of it, with 10,000 headings; five minutes on a quiet machine
    python benchmarks/living.py --only start             whole processes `passepartout ask`, alone and with a running daemon
    python benchmarks/living.py --only edit              a file written by another process, until the daemon knows it
    python benchmarks/living.py --only idle --idle 60    processor, wake-ups and memory of a daemon that nobody asks
    python benchmarks/living.py --headings 1000,100000   other sizes of memex (200 files, or 50 headings a file where that is fewer)

**start**: the wall time of a whole process from nothing to its answer, the notes having been read before. Rounds alternate over all cases. The bare interpreter stands beside them: what Python takes on this machine before it does anything.
**edit**: a real daemon on the memex. Another process writes a file and tells when it was done, by the clock that all processes share. *known* is the time until the daemon's index on disk holds the new words (asked for every
millisecond by this program); *asked* is the time until the daemon has answered a question, sent right after the writing, with them. The ways of writing: in place; a new file renamed over the old one, as editors do; a new file; a new
folder with a file in it; 50 files at once, until the last one is known; and a file removed.
**idle**: a daemon that nobody asks, after `--settle` seconds: its share of a core, how often its threads were woken (voluntary switches of context, by thread), and its memory. Cases: as it comes; after somebody asked something and the notes were read for their meaning; with a folder of skills; without the extras `semantic` or `watch`.

Times are milliseconds: the median and the worst. The processor's part of a start stands in its own column: on a machine with other work it is what can be compared. Nothing runs under pytest.
"""
import argparse
import asyncio
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from memex import write_memex

from passepartout.protocol import frame_message, read_framed_message
from passepartout.settings import load_settings
from passepartout.serving.sockets import connect_to, socket_path

QUESTIONS = ("what is on today?", "find roof offer", "what did I decide about the roof", "which tasks are due this week", "hello")
GOALS = {"start": 400, "edit": 200, "share": 0.2, "memory": 80}
WITHOUT = "import sys; sys.modules[{0!r}] = None; sys.argv[0] = 'passepartout'; from passepartout.__main__ import main; sys.exit(main())"

WRITER = """
import os, sys, time, json
for line in sys.stdin:
    kind, path, text = json.loads(line)
    if kind == "place":
        with open(path, "a") as file: file.write(text)
    elif kind == "rename":
        with open(path) as old: all = old.read() + text
        with open(os.path.join(os.path.dirname(path), ".write.tmp"), "w") as file: file.write(all); file.flush(); os.fsync(file.fileno())
        os.rename(file.name, path)
    elif kind == "new":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file: file.write(text)
    elif kind == "many":
        for n, each in enumerate(path):
            with open(each, "a") as file: file.write(text + str(n) + "\\n")
    elif kind == "remove": os.unlink(path)
    print(time.monotonic(), flush=True)
"""


def row(*cells): print("| " + " | ".join(str(each) for each in cells) + " |", flush=True)


def head(title, *names):
    print(f"\n## {title}\n")
    row(*names)
    row(*("---" for _ in names))


def spread(times) -> tuple[str, str]: return f"{1000 * statistics.median(times):.0f}", f"{1000 * max(times):.0f}"


class Home:
    "A generated memex with a state, settings and a cache of its own, and a daemon on it when one is wanted."
    def __init__(self, folder: Path, headings: int, skills: bool = False):
        self.folder, self.memex = folder, folder / "notes"
        self.memex.mkdir(parents=True)
        if headings: write_memex(self.memex, headings, max(1, min(200, headings // 50)))
        else: (self.memex / "inbox.org").write_text("* One note\n")
        self.files = sorted(self.memex.rglob("*.org"))
        self.environ = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "LD_LIBRARY_PATH")}
        self.environ |= {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        if skills: (folder / "config" / "passepartout" / "skills").mkdir(parents=True); (folder / "state" / "passepartout" / "skills").mkdir(parents=True)
        self.settings = load_settings({"memex_dir": self.memex}, environ=self.environ)
        self.process, self.log = None, open(folder / "daemon.log", "w")

    def begin(self, without: str = "") -> "Home":
        "Start the daemon, and wait until it listens and has read the notes."
        program = [sys.executable, *(("-c", WITHOUT.format(without)) if without else ("-m", "passepartout")), "daemon", "--memex", str(self.memex)]
        self.process = subprocess.Popen(program, env=self.environ, cwd=self.folder, stderr=self.log)
        until = time.monotonic() + 120
        while (opened := connect_to(socket_path(self.settings))) is None:
            if self.process.poll() is not None or time.monotonic() > until: raise SystemExit(f"The daemon did not start: {(self.folder / 'daemon.log').read_text()}")
            time.sleep(0.01)
        opened.close()
        return self

    def end(self):
        if self.process is None: return
        self.process.terminate()
        try: self.process.wait(15)
        except subprocess.TimeoutExpired: self.process.kill(); self.process.wait()
        self.process = None

    def ask(self, *words):
        "One whole process; (wall seconds, processor seconds of it and what it started)."
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([sys.executable, *words], env=self.environ, cwd=self.folder, capture_output=True, text=True)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode: raise SystemExit(f"{words} failed: {done.stderr or done.stdout}")
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def knows(self, title: str) -> bool:
        "Does the index on disk hold a heading with this title?"
        if not hasattr(self, "db"): self.db = sqlite3.connect(f"file:{self.settings.index_path}?mode=ro", uri=True, timeout=30)
        return self.db.execute("SELECT 1 FROM node WHERE title = ? LIMIT 1", (title,)).fetchone() is not None


# Start to first answer ----------------------------------------------------------------------------------------------

def start(headings: int, options) -> None:
    with tempfile.TemporaryDirectory(prefix="living-") as folder:
        home, ask = Home(Path(folder), headings), ("-m", "passepartout", "ask", "--memex", str(Path(folder) / "notes"))
        home.ask(*ask, QUESTIONS[0])                                       # the notes are read once
        cases = {"the bare interpreter": ("-c", "pass"), "passepartout --version": ("-m", "passepartout", "--version"), **{f"ask: {words}": (*ask, words) for words in QUESTIONS}}
        times = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, words in cases.items(): times[name].append(home.ask(*words))
        home.begin()
        time.sleep(options.settle)
        answered = {f"with a daemon: {words}": (*ask, words) for words in QUESTIONS}
        times |= {name: [] for name in answered}
        for _ in range(options.rounds):
            for name, words in answered.items(): times[name].append(home.ask(*words))
        home.end()
    head(f"start to first answer, {headings:,} headings, {options.rounds} rounds", "whole process", "median ms", "worst ms", "processor ms", "goal")
    for name, found in times.items():
        row(name, *spread([wall for wall, _ in found]), f"{1000 * statistics.median(cpu for _, cpu in found):.0f}", GOALS["start"] if "ask" in name or "daemon" in name else "")


# An edit that counts ------------------------------------------------------------------------------------------------

async def question(home: Home, connection, number: int, words: str) -> str:
    connection[1].write(frame_message({"type": "EVENT", "payload": {"sensor": "user-input", "text": words, "session": "edits", "request": number}}))
    while True:
        told = (await asyncio.wait_for(read_framed_message(connection[0]), 60))["payload"]
        if told.get("request") == number: return str(told.get("text") or "")


async def edits(home: Home, options) -> dict[str, tuple[list, list]]:
    "By way of writing: seconds until the index holds it, and until an answer does."
    found: dict[str, tuple[list, list]] = {}
    writer = subprocess.Popen([sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    connection = await asyncio.open_connection(sock=connect_to(socket_path(home.settings)))
    await read_framed_message(connection[0])
    number = 0

    def write(kind, path, text) -> float:
        print(json.dumps([kind, path, text]), file=writer.stdin, flush=True)
        return float(writer.stdout.readline())

    async def one(name, kind, path, text, known, asked: bool) -> None:
        nonlocal number
        number += 1
        done = write(kind, path, text)
        if asked:
            words = f"find {known}"
            while known not in await question(home, connection, number, words):
                number += 1
                if time.monotonic() - done > 30: raise SystemExit(f"{name}: {known} was never found")
        else:
            while home.knows(f"Edited {known}") == (kind == "remove"):
                if time.monotonic() - done > 30: raise SystemExit(f"{name}: {known} never came to the index")
                await asyncio.sleep(0.001)
        found.setdefault(name, ([], []))[asked].append(time.monotonic() - done)
        await asyncio.sleep(0.6 + 0.01 * (number % 7))                      # so that no notice is still being collected

    for turn in range(options.rounds):
        for asked in (False, True):
            mark = f"zq{turn:03}{'ab'[asked]}"
            file = str(home.files[(turn * 7) % len(home.files)])
            await one("written in place", "place", file, f"* Edited {mark}p\n", f"{mark}p", asked)
            await one("renamed over it", "rename", file, f"* Edited {mark}r\n", f"{mark}r", asked)
            new = str(home.memex / f"new{turn}{asked}.org")
            await one("a new file", "new", new, f"* Edited {mark}n\n", f"{mark}n", asked)
            deep = str(home.memex / f"folder{turn}{asked}" / "below" / "new.org")
            await one("a new folder", "new", deep, f"* Edited {mark}f\n", f"{mark}f", asked)
            many = [str(each) for each in home.files[:50]]
            await one(f"{len(many)} files at once", "many", many, f"* Edited {mark}m", f"{mark}m{len(many) - 1}", asked)
            if not asked: await one("a file removed", "remove", new, "", f"{mark}n", asked)
    connection[1].close()
    writer.stdin.close(); writer.wait()
    return found


def edit(headings: int, options) -> None:
    with tempfile.TemporaryDirectory(prefix="living-") as folder:
        home = Home(Path(folder), headings)
        home.ask("-m", "passepartout", "ask", "--memex", str(home.memex), QUESTIONS[0])
        home.begin()
        time.sleep(options.settle)
        try: found = asyncio.run(edits(home, options))
        finally: home.end()
    head(f"an edit until the agent knows it, {headings:,} headings in {len(home.files)} files, {options.rounds} rounds", "way of writing", "known: median ms", "worst", "asked: median ms", "worst", "goal")
    for name, (known, asked) in found.items(): row(name, *spread(known), *(spread(asked) if asked else ("", "")), GOALS["edit"])


# Nobody asks --------------------------------------------------------------------------------------------------------

def use(pid: int) -> tuple[float, float, dict[str, int]]:
    "(processor seconds, resident megabytes, how often each thread was woken) of a process."
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    exact, woken = 0.0, {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        exact += int((task / "schedstat").read_text().split()[0]) / 1e9
        name = f"{(task / 'comm').read_text().strip()} {int(task.name) - pid or ''}".strip()
        woken[name] = int(next(line for line in (task / "status").read_text().splitlines() if line.startswith("voluntary")).split()[1])
    return exact, int(stat[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6, woken


def at_rest(home: Home) -> None:
    "Wait until the daemon has nothing left to do."
    until = time.monotonic() + 240
    while time.monotonic() < until:
        before = use(home.process.pid)[0]
        time.sleep(5.0)
        if use(home.process.pid)[0] - before < 0.02 and not Path(f"/proc/{home.process.pid}/task/{home.process.pid}/children").read_text().strip(): return


async def asked(home: Home) -> None:
    connection = await asyncio.open_connection(sock=connect_to(socket_path(home.settings)))
    await read_framed_message(connection[0])
    await question(home, connection, 1, QUESTIONS[1])
    connection[1].close()


def idle(headings: int, options) -> None:
    cases = (("as it comes", {}, ""), ("after a question", {}, ""), ("with a folder of skills", {"skills": True}, ""), ("without the extra semantic", {}, "wordllama"), ("without the extra watch", {}, "watchfiles"))
    head(f"nobody asks, {headings:,} headings, {options.idle:g} s", "case", "% of a core", "goal", "wake-ups a second", "of which the busiest threads", "MB", "goal")
    for name, how, without in cases:
        if options.case not in name: continue
        with tempfile.TemporaryDirectory(prefix="living-") as folder:
            home = Home(Path(folder), headings, **how)
            home.ask("-m", "passepartout", "ask", "--memex", str(home.memex), QUESTIONS[0])
            home.begin(without)
            try:
                time.sleep(max(5.0, options.settle))
                if name == "after a question": asyncio.run(asked(home)); time.sleep(10.0); at_rest(home)
                (first, _, woken), began = use(home.process.pid), time.monotonic()
                time.sleep(options.idle)
                (last, memory, later), seconds = use(home.process.pid), time.monotonic() - began
            finally: home.end()
        waked = {thread: (count - woken.get(thread, 0)) / seconds for thread, count in later.items()}
        most = ", ".join(f"{thread} {each:.2f}" for thread, each in sorted(waked.items(), key=lambda item: -item[1])[:3] if each > 0.01)
        row(name, f"{100 * (last - first) / seconds:.3f}", GOALS["share"], f"{sum(waked.values()):.2f}", most, f"{memory:.1f}", GOALS["memory"])


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--only", default="start,edit,idle", help="some of start, edit, idle")
    ask.add_argument("--headings", default="10000", help="sizes of the memex, with commas between them; 0 is a single note")
    ask.add_argument("--rounds", type=int, default=9)
    ask.add_argument("--idle", type=float, default=30.0, help="seconds to watch an idle daemon, for each case")
    ask.add_argument("--case", default="", help="of the idle cases those whose name holds this")
    ask.add_argument("--settle", type=float, default=4.0, help="seconds that a daemon gets to come to rest")
    options = ask.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    for section in options.only.split(","):
        for headings in map(int, options.headings.split(",")): {"start": start, "edit": edit, "idle": idle}[section](headings, options)


if __name__ == "__main__": main()
