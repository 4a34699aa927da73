"""What a skill that comes from a page costs: to look at it, test it, load it, ask it, reload it, and to export a page.

    python benchmarks/skills.py [--times 20]

Medians, on a page with a gate of twenty lines and four tests. "Decision to effect" begins when a reload has passed its tests and ends with the first verdict of the new version,
its process being started for it; "saved to effect" begins when the file is written, and has the notice, the tests and the process in it.
"""
import argparse, statistics, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from passepartout.agent import Agent
from passepartout.messages import Signal
from passepartout.tangling.noweb import Web
from passepartout.shell.sandbox import find_bubblewrap
from passepartout.skillfiles.skillbook import SkillBook, SkillFolder
from passepartout.skillfiles.skilljail import test_skill
from passepartout.skillfiles.skillpage import read_skill
from passepartout.skillfiles.skillwatch import SkillWatch
from passepartout.tangling.tangle import tangled
from passepartout.tangling.tanglefiles import read_page
from passepartout.verify import judge

PAGE = """---
skill: working-hours
priority: 120
permissions: gate arguments text
---
# Working hours

Nothing is sent while people sleep, unless the person says that it is urgent.

```python
import re

NIGHT = range(22, 24)
SENDS = ("send-mail", "send-message", "post")

def urgent(text):
    return re.search(r"\\b(urgent|now|at once)\\b", text.lower()) is not None

def gate(action, signal):
    if action["tool"] not in SENDS: return None
    hour = action["arguments"].get("hour", 12)
    if hour in NIGHT and not urgent(signal["text"]):
        return ask(f"It is {hour} o'clock. Send it now? VERSION")
    return None
```

```python
CALL = lambda tool, hour: {"tool": tool, "arguments": {"hour": hour}}
def test_day(): assert gate(CALL("send-mail", 12), {"text": ""}) is None
def test_night(): assert gate(CALL("send-mail", 23), {"text": "send it"})["verdict"] == "ask"
def test_urgent(): assert gate(CALL("post", 23), {"text": "it is urgent"}) is None
def test_others(): assert gate(CALL("find", 23), {"text": ""}) is None
```
"""
CALL = {"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "send-mail", "args": {"hour": 23}}}


def timed(run, times: int) -> float:
    "Median milliseconds."
    took = []
    for n in range(times):
        begun = time.perf_counter()
        run(n)
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    home, wrap = Path(tempfile.mkdtemp()) / "skills", find_bubblewrap()
    home.mkdir()
    if not wrap.works: sys.exit(wrap.problem)
    file, data = home / "hours.md", PAGE.encode()
    page = read_skill(file, data)
    line = lambda name, value, unit="ms": print(f"{name:52}{value:10.3f} {unit}")
    line("read and look at the page", timed(lambda n: read_skill(file, data), times))
    line("its tests, in a process of their own", timed(lambda n: test_skill(page, wrap), times))
    def load(n):
        file.write_text(PAGE.replace("VERSION", f"first {n}"))
        agent = Agent.bare()
        book = SkillBook(agent, [SkillFolder(home)], wrap)
        book.load()
        judge(agent, CALL, Signal())
        book.close()
    line("check, test, load and ask for the first time", timed(load, times))
    agent = Agent.bare()
    book = SkillBook(agent, [SkillFolder(home)], wrap)
    book.load()
    judge(agent, CALL, Signal())
    line("a question", timed(lambda n: judge(agent, CALL, Signal()), times * 50) * 1000, "µs")
    effects = []
    for n in range(times):
        file.write_text(PAGE.replace("VERSION", f"second {n}"))
        prepared = book.prepare()
        begun = time.perf_counter()
        book.take(*prepared)
        assert f"second {n}" in judge(agent, CALL, Signal()).verdict.reason
        effects.append((time.perf_counter() - begun) * 1000)
    line("reload: decision to effect", statistics.median(effects))
    watch = SkillWatch(book)
    watch.start()
    time.sleep(1.5)
    def saved(n):
        file.write_text(PAGE.replace("VERSION", f"third {n}"))
        while f"third {n}" not in judge(agent, CALL, Signal()).verdict.reason: time.sleep(0.002)
    line("reload: saved to effect", timed(saved, times))
    watch.close()
    book.close()
    chapter = ROOT / "examples" / "gatekeeper.org"
    def export(n):
        read = read_page(chapter)
        tangled(Web(read.outline, read.sources), chapter.name)
    line(f"export {chapter.name} ({chapter.stat().st_size:,} bytes)", timed(export, times * 5))


if __name__ == "__main__": main()
