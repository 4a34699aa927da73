"""Measure this project and its peers in one run: `python benchmarks/run.py [--quick] [--only turn,reader] [--no-peers]`.

Everything that is compared is measured alternately, in several rounds, each round in fresh processes, and the table shows
the median of the rounds. Standard library only; the peers live in environments of their own (see `environments.py`).
"""
import argparse
import datetime
import json
import os
import platform
import select
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import environments
import report

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SECTIONS = ("turn", "durable", "concurrent", "long", "snapshot", "start", "reader", "commands", "providers")
OURS = environments.OURS
SCRIPTS = {name: HERE / "peers" / f"bench_{name.replace('-', '_')}.py" for name in environments.PEERS} | {OURS: HERE / "ours.py"}
DISK = "the disk itself"


@dataclass
class Run:
    """What this run knows: its environments, its options, and every result by (participant, measure)."""
    options: argparse.Namespace
    environments: dict
    scratch: Path
    results: dict = field(default_factory=dict)
    errors: dict = field(default_factory=dict)
    folders: int = 0

    def add(self, who, measure, result):
        if "error" in result:
            self.errors.setdefault((who, measure), result["error"])
        else:
            self.results.setdefault((who, measure), []).append(result)

    def usable(self, who):
        return self.environments[who].python is not None

    def folder(self):
        self.folders += 1
        path = self.scratch / f"d{self.folders}"
        path.mkdir()
        return str(path)

    def rounds(self, full, quick):
        return self.options.rounds or (quick if self.options.quick else full)


class Worker:
    """A participant's process that answers one request a line (see `scenario.serve`)."""

    def __init__(self, run, who, patience=900):
        self.who, self.patience = who, patience
        self.log = tempfile.TemporaryFile(dir=run.scratch)
        path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen([str(run.environments[who].python), str(SCRIPTS[who])], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=run.scratch,
                                        env={**environment(), "PYTHONPATH": path})

    def ask(self, measure, **arguments):
        try:
            self.process.stdin.write(json.dumps({"measure": measure, **arguments}) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], self.patience)[0]:
                self.process.kill()
                return dict(error=f"no answer in {self.patience} s")
            line = self.process.stdout.readline()
            return (json.loads(line) or {}) if line else dict(error=self.why())
        except (BrokenPipeError, json.JSONDecodeError):
            return dict(error=self.why())

    def why(self):
        """The last line that a process which died has left."""
        self.process.wait()
        self.log.seek(0)
        lines = [line for line in self.log.read().decode(errors="replace").splitlines() if line.strip()]
        return f"the process ended ({self.process.returncode}): {(lines or ['no message'])[-1][:200]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def environment(package=None):
    """The environment of a measured process: byte code is read and written, as for a person who installed with pip.

    With `package`, a folder that holds a copy of this package without byte code, that copy is used and none is written.
    """
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED")}
    if package:
        env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(package)}
    return env | {"OPENAI_API_KEY": "unused", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}


def say(text):
    print(text, file=sys.stderr, flush=True)


def alternate(run, plan, rounds):
    """Ask every participant for its measures, one after the other, `rounds` times, in fresh processes and a turning order.

    `plan` maps a participant to a list of (measure, arguments); an argument `directory` is replaced by a fresh folder.
    """
    plan = {who: jobs for who, jobs in plan.items() if run.usable(who) and jobs}
    for number in range(rounds):
        order = list(plan)
        order = order[number % len(order):] + order[:number % len(order)] if order else []
        for who in order:
            with Worker(run, who) as worker:
                for measure, arguments in plan[who]:
                    if (who, measure) in run.errors:
                        continue
                    arguments = {k: run.folder() if k == "directory" else v for k, v in arguments.items()}
                    run.add(who, measure, worker.ask(measure, **arguments))
            say(f"  round {number + 1} of {rounds}: {who}")
        yield number


# ---- the sections ------------------------------------------------------------------------------------------------------

def turn_section(run, wanted):
    """One turn, in memory and durable. The durable targets compare with turns in memory, so those are always measured."""
    seconds = 0.25 if run.options.quick else 0.8
    memory, disk = {"seconds": seconds}, {"seconds": seconds, "directory": None}
    plan = {OURS: [("turn", disk), ("turn_fresh", disk)] if "turn" in wanted else [],
            "agent-framework": [("turn", memory)], "openai-agents": [("turn", memory)], "pydantic-ai": [("turn", memory)],
            "langchain": [("turn", memory), ("turn_async", memory)] if "turn" in wanted else [],
            "llm": [("turn", memory), ("turn_async", memory)] if "turn" in wanted else []}
    if "durable" in wanted:
        for who in (OURS, "openai-agents", "langchain", "llm"):
            plan[who] = plan[who] + [("turn_durable", disk)]
        plan["langchain"] = plan["langchain"] + [("turn_durable_async", disk)]
    for _ in alternate(run, plan, run.rounds(7, 3)):
        if "durable" in wanted:
            run.add(DISK, "probe durable", probe(run.folder()))


def probe(directory):
    """What the disk takes: 4 KiB appended and forced out, and one 300-byte row committed by SQLite (WAL, FULL)."""
    clock, file, block, forced, committed = time.perf_counter_ns, os.open(f"{directory}/raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND), b"x" * 4096, [], []
    for _ in range(100):
        start = clock()
        os.write(file, block)
        os.fsync(file)
        forced.append(clock() - start)
    os.close(file)
    connection = sqlite3.connect(f"{directory}/raw.db", isolation_level=None)
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE row(id INTEGER PRIMARY KEY, body BLOB)")
    for _ in range(100):
        start = clock()
        connection.execute("INSERT INTO row(body) VALUES(?)", (b"x" * 300,))
        committed.append(clock() - start)
    connection.close()
    return dict(us=statistics.median(forced) / 1000, commit_us=statistics.median(committed) / 1000)


def concurrent_section(run, wanted):
    turns = 10                  # in a quick run too: of four turns one is spent until the conversations no longer wait for each other
    memory, disk = {"turns": turns}, {"turns": turns, "directory": None}
    plan = {OURS: [("concurrent", disk), ("concurrent_durable", disk)]}
    plan |= {who: [("concurrent", memory)] for who in ("agent-framework", "openai-agents", "pydantic-ai", "langchain", "llm")}
    plan["langchain"] = plan["langchain"] + [("concurrent_durable", disk)]
    for _ in alternate(run, plan, run.rounds(5, 2)):
        run.add(DISK, "probe concurrent", probe(run.folder()))


def long_section(run, wanted):
    """One conversation after 10, 100, 1,000 (and ours after 10,000) turns, a few turns timed in each of several rounds."""
    stages = (10, 100) if run.options.quick else (10, 100, 1000)
    rounds = run.rounds(5, 3)
    peers = {who: Worker(run, who) for who in ("openai-agents", "langchain", "llm", "pydantic-ai") if run.usable(who)}
    grown = dict.fromkeys(peers, 0)

    def ask(who, measure, **arguments):
        if (who, "long") not in run.errors:
            result = peers[who].ask(measure, **arguments)
            if "error" in result:
                run.add(who, "long", result)
            return result
        return {}
    try:
        for who in peers:
            ask(who, "long_start", directory=run.folder())
        for stage in stages:
            for who in peers:
                say(f"  {who}: growing to {stage} turns")
                ask(who, "long_grow", turns=stage - grown[who])
                grown[who] = stage
            for _ in range(rounds):
                run.add(DISK, "probe long", probe(run.folder()))
                for who in peers:
                    if "us" in (result := ask(who, "long", turns=4)):
                        run.add(who, f"long {stage}", result)
                    grown[who] += 4
    finally:
        for worker in peers.values():
            worker.__exit__()
    if run.usable(OURS):
        stages = (10, 100, 1000) if run.options.quick else (10, 100, 1000, 10_000)
        with Worker(run, OURS) as worker:
            last, shared = stages[-1], run.folder()
            for _ in range(rounds):
                for stage in stages:
                    directory = shared if stage == last else run.folder()
                    run.add(OURS, f"long {stage}", worker.ask("long", directory=directory, before=stage, keep=stage == last))
                run.add(DISK, "probe long", probe(run.folder()))


def snapshot_section(run, wanted):
    sizes = (1000, 100_000) if run.options.quick else (1000, 1_000_000)
    if not run.usable(OURS):
        return
    with Worker(run, OURS) as worker:
        for size in sizes:
            run.add(OURS, f"memory_build {size}", worker.ask("memory_build", objects=size))
        if (OURS, f"memory_build {sizes[-1]}") not in run.errors:
            for _ in range(run.rounds(7, 3)):
                for size in sizes:
                    run.add(OURS, f"memory {size}", worker.ask("memory", objects=size))
    with Worker(run, OURS) as worker:
        for size in sizes:
            run.add("a plain dict", f"dict {size}", worker.ask("dict", objects=size))


BOOT = """
import asyncio, sys
from passepartout.agent import Agent
async def main():
    agent = await Agent.boot(memex_dir=sys.argv[1], state_dir=sys.argv[2])
    await agent.close()
asyncio.run(main())
"""
PYDANTIC = "from pydantic import BaseModel\nclass M(BaseModel):\n    a: int\nM(a=1)"


def start_section(run, wanted):
    """Start-up of whole processes, alternating; with the byte code pip has written, and without any."""
    ours = run.environments[OURS]
    targets = {}
    if run.usable(OURS):
        memex, command = run.folder(), Path(ours.python).with_name("passepartout")
        targets |= {(OURS, "bare"): [ours.python, "-c", "pass"], (OURS, "import"): [ours.python, "-c", "import passepartout"],
                    (OURS, "version"): [command, "--version"] if command.exists() else
                    [ours.python, "-c", "import sys; sys.argv[1:] = ['--version']; from passepartout.cli import main; sys.exit(main())"],
                    (OURS, "pydantic"): [ours.python, "-c", PYDANTIC],
                    (OURS, "boot"): [ours.python, "-c", BOOT, memex, run.folder()],
                    (OURS, "import agent"): [ours.python, "-c", "from passepartout.agent import Agent"]}
    imports = {"agent-framework": "from agent_framework import Agent", "llm": "import llm", "pydantic-ai": "from pydantic_ai import Agent",
               "langchain": "from langchain.agents import create_agent", "openai-agents": "import agents"}
    for who, code in imports.items():
        if run.usable(who):
            targets[(who, "bare")] = [run.environments[who].python, "-c", "pass"]
            targets[(who, "import")] = [run.environments[who].python, "-c", code]
    uncompiled = Path(run.folder())
    shutil.copytree(environments.REPOSITORY / "passepartout", uncompiled / "passepartout", ignore=shutil.ignore_patterns("__pycache__"))
    for package in (None, uncompiled):
        chosen = {key: command for key, command in targets.items() if package is None or key[0] == OURS}
        for number in range(-1, run.rounds(15, 5)):      # the first round warms the page cache
            for (who, what), command in chosen.items():
                measure = what + (", no byte code" if package else "")
                if (who, measure) in run.errors:
                    continue
                start = time.perf_counter()
                done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      cwd=run.scratch, env=environment(package))
                wall = time.perf_counter() - start
                if done.returncode:
                    run.add(who, measure, dict(error=environments.last_line(done)))
                elif number >= 0:
                    run.add(who, measure, dict(ms=wall * 1000))
        say(f"  start-up, {'own modules without' if package else 'with'} byte code: done")


def reader_section(run, wanted):
    seconds = {"seconds": 0.2 if run.options.quick else 0.5}
    sizes = [("reader_sized", {"size": size}) for size in (1_000, 10_000, 100_000, 1_000_000)]
    rounds = run.rounds(7, 3)
    for number in range(rounds):
        for who in ((OURS, "sexpdata") if number % 2 else ("sexpdata", OURS)):
            if not run.usable(who):
                continue
            with Worker(run, who) as worker:
                for measure, arguments in [("reader", seconds)] + ([("writer", seconds), ("reader_json", seconds)] if who == OURS else []):
                    run.add(who, measure, worker.ask(measure, **arguments))
                for measure, arguments in sizes if who == OURS else ():
                    run.add(who, f"{measure} {arguments['size']}", worker.ask(measure, **arguments))
                run.add(who, "parentheses", worker.ask("parentheses"))


def commands_section(run, wanted):
    seconds = 0.2 if run.options.quick else 0.5
    for number in range(run.rounds(7, 3)):
        for who in ((OURS, "bashlex") if number % 2 else ("bashlex", OURS)):
            if not run.usable(who):
                continue
            with Worker(run, who) as worker:
                for measure in ("command", "command_chain") if who == OURS else ("command",):
                    run.add(who, measure, worker.ask(measure, seconds=seconds))


def providers_section(run, wanted):
    arguments = {"seconds": 0.3 if run.options.quick else 1.0, "directory": None}
    for _ in alternate(run, {who: [("fallback", arguments)] for who in (OURS, "pydantic-ai")}, run.rounds(7, 3)):
        pass


# ---- the whole run -----------------------------------------------------------------------------------------------------

def machine(run):
    """Where and on what this was measured: the reader of a figure needs it."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "") \
        if os.path.exists("/proc/cpuinfo") else platform.processor()
    commit = environments.run(["git", "-C", HERE, "describe", "--always", "--dirty"]).stdout.strip()
    return dict(date=datetime.datetime.now().isoformat(" ", "minutes"), cores=os.cpu_count(), cpu=model, system=f"{platform.system()} {platform.release()}",
                python=platform.python_version(), sqlite=sqlite3.sqlite_version, commit=commit, load=[round(x, 2) for x in os.getloadavg()],
                quick=run.options.quick, byte_code="as pip writes it (measured processes run without PYTHONDONTWRITEBYTECODE)",
                disk=str(RESULTS))


def stolen():
    """Ticks that the machine below gave to somebody else, and all ticks: a virtual machine's neighbours are noise."""
    try:
        ticks = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
        return ticks[7], sum(ticks)
    except (OSError, ValueError, IndexError):
        return 0, 1


def main():
    parser = argparse.ArgumentParser(description="Measure Passepartout and its peers in one run and print one table.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and shorter conversations: minutes become one or two")
    parser.add_argument("--only", default=",".join(SECTIONS), metavar="NAMES", help=f"comma separated, of: {', '.join(SECTIONS)}")
    parser.add_argument("--no-peers", action="store_true", help="measure this project only")
    parser.add_argument("--rounds", type=int, help="rounds of each section (the default differs by section)")
    parser.add_argument("--keep", action="store_true", help="put the targets of this run into benchmarks/README.md, with its date")
    options = parser.parse_args()
    wanted = [name.strip() for name in options.only.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in SECTIONS]:
        parser.error(f"--only knows {', '.join(SECTIONS)}; not {', '.join(unknown)}")
    RESULTS.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=RESULTS))
    began, ticks = time.time(), stolen()
    found = {}
    for name in (*environments.PEERS, OURS):
        if options.no_peers and name != OURS:
            found[name] = environments.Environment(name, problem="left out (--no-peers)")
            continue
        say(f"environment {name}")
        found[name] = environments.ours() if name == OURS else environments.peer(name)
    run = Run(options, found, scratch)
    facts = machine(run)
    sections = {"turn": turn_section, "concurrent": concurrent_section, "long": long_section, "snapshot": snapshot_section,
                "start": start_section, "reader": reader_section, "commands": commands_section, "providers": providers_section}
    try:
        for name, section in sections.items():
            if name in wanted or (name == "turn" and "durable" in wanted):
                say(f"measuring: {name}")
                section(run, wanted)
    except KeyboardInterrupt:
        say("interrupted: the table holds what was measured so far")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    facts["seconds"], now = round(time.time() - began), stolen()
    facts["stolen_percent"] = round(100 * (now[0] - ticks[0]) / max(1, now[1] - ticks[1]), 1)
    text = report.text(facts, found, run.results, run.errors, wanted)
    name = datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    record = dict(machine=facts, environments={e.name: dict(versions=e.versions, problem=e.problem, note=e.note) for e in found.values()},
                  targets=report.judged(run.results, wanted),
                  results={f"{who}: {measure}": rounds for (who, measure), rounds in run.results.items()},
                  errors={f"{who}: {measure}": error for (who, measure), error in run.errors.items()})
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1, default=str))
    (RESULTS / f"{name}.md").write_text(text)
    if options.keep:
        report.keep(HERE / "README.md", text)
    print(text)
    print(f"written to {RESULTS.relative_to(HERE.parent)}/{name}.json and .md")


if __name__ == "__main__":
    main()
