"""Passepartout in the same scenario: everything is on that a person has on (gates, ledger, audit chain)."""
import asyncio
import copy
import itertools
import json
import statistics
import textwrap
import time
from contextvars import ContextVar
from pathlib import Path

from scenario import (ARGS, COMMAND, COMMAND_LONG, CONVERSATIONS, DELAY, FINAL, MESSAGE_JSON, MESSAGE_PLIST, TOOL, USER, Commits, Ran, exactly, grow, guard,
                      run_tool, serve, summary, time_call, time_fallback, time_concurrent, time_turns)


# ---- one turn ----------------------------------------------------------------------------------------------------------

PROPOSAL = ('(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "%s" :ARGS (:COMMAND "%s" :TIMEOUT %d) '
            ':EXPLANATION "The person asks for the files."))' % (TOOL, ARGS["command"], ARGS["timeout"]))
ANSWER = '(:TYPE :REQUEST :TARGET :CLI :PAYLOAD (:ACTION :MESSAGE :TEXT "%s"))' % FINAL
calls: ContextVar[list] = ContextVar("calls")       # model calls of the running turn: the first proposes, the second answers
said: ContextVar[tuple] = ContextVar("said")       # what it says in the running turn
PLACE = "/tmp/project"


def fake_backend(delay):
    async def fake(prompt, system_prompt, *, model=None):
        Ran.model += 1
        calls.get().append(1)
        if delay:
            await asyncio.sleep(delay)
        return said.get()[len(calls.get()) > 1]
    return fake


async def run_shell(command, timeout):
    return run_tool(command, timeout) + command.removeprefix(ARGS["command"])


async def boot(directory, delay=0.0, **overrides):
    """A booted agent with the manifest gates, one tool, one fake model; an empty memex below `directory`."""
    from passepartout.agent import Agent
    from passepartout.backends import register_backend
    from passepartout.tools import Parameter, Tool
    root = Path(directory)
    for name in ("memex", "state"):
        (root / name).mkdir(parents=True, exist_ok=True)
    agent = await Agent.boot(memex_dir=root / "memex", state_dir=root / "state", provider_cascade=("fake",),
                             permissions={"run-shell": "allow", TOOL: "allow"}, **overrides)
    agent.tools.register(Tool(TOOL, "Run a shell command.", [Parameter("command"), Parameter("timeout", "integer")], run_shell,
                              guard=lambda args: guard(TOOL, args)))
    register_backend(agent, "fake", fake_backend(delay))
    return agent


def turn_of(agent, session="main"):
    async def turn():
        calls.set([])
        said.set((PROPOSAL, ANSWER))
        return str(await agent.handle(USER, session=session))
    return turn


def fresh_turn_of(agent, session="main"):
    """Other words in each turn, wherever the folder's name stands: what was worked out about the texts of one helps no other."""
    places = itertools.count(1000)          # none of them the timeout of the call, or the gate for provenance would have a question
    async def turn():
        place = f"{PLACE}-{next(places)}"
        calls.set([])
        said.set((PROPOSAL.replace(PLACE, place), ANSWER.replace(PLACE, place)))
        text = str(await agent.handle(USER.replace(PLACE, place), session=session))
        return FINAL if text == FINAL.replace(PLACE, place) else text
    return turn


async def closing(agent, measure):
    try:
        return await measure
    finally:
        await agent.close()


async def turn_memory(directory, seconds):
    agent = await boot(directory, journal=":memory:")
    return await closing(agent, time_turns(turn_of(agent), seconds))


async def turn_fresh(directory, seconds):
    agent = await boot(directory, journal=":memory:")
    return await closing(agent, time_turns(fresh_turn_of(agent), seconds))


async def turn_durable(directory, seconds):
    """The journal on disk. The commits are counted twice: by the journal, and by watching the statements SQLite runs."""
    agent = await boot(f"{directory}/timed")
    result = await closing(agent, time_turns(turn_of(agent), seconds))
    with Commits() as commits:
        agent = await boot(f"{directory}/counted")
        turn = turn_of(agent)
        await grow(turn, 1)
        watched, told = (commits.total, commits.full), tuple(agent.journal.commits)
        await grow(turn, 10)
        await asyncio.sleep(0)
        watched, told = [(a - b) / 10 for a, b in zip((commits.total, commits.full), watched)], \
                        [(a - b) / 10 for a, b in zip(agent.journal.commits, told)]
        await agent.close()
    return result | dict(commits=watched[0], full=watched[1], told=told)


async def concurrent(directory, turns, **overrides):
    """Conversations of one agent. Turns that commit at the same moment share a commit, so a turn costs less than two."""
    agent = await boot(directory, DELAY, **overrides)
    result = await closing(agent, time_concurrent(lambda i: turn_of(agent, f"conversation-{i}"), turns))
    commits, full = agent.journal.commits
    turns = result["turns"] + CONVERSATIONS              # the first turn of each conversation is not timed, but committed
    return result | (dict(commits=commits / turns, full=full / turns) if "journal" not in overrides else {})


# ---- a long conversation -----------------------------------------------------------------------------------------------

kept = {}


async def long(directory, before, turns=20, keep=False):
    """Time `turns` turns of a conversation that has `before` turns; `keep` it for the next round instead of closing it."""
    path = f"{directory}/{before}"
    if path not in kept:
        agent = await boot(path)
        await grow(turn_of(agent), before)
        kept[path] = agent
    agent = kept[path]
    size = journal_bytes(path)
    result = await exactly(turn_of(agent), turns)
    result["bytes"] = (journal_bytes(path) - size) / turns
    if not keep:
        await kept.pop(path).close()
    return result


def journal_bytes(path):
    from scenario import database_bytes
    return sum(database_bytes(file) for file in Path(path, "state").rglob("*") if file.suffix in (".db", ".sqlite", ".sqlite3"))


# ---- memory ------------------------------------------------------------------------------------------------------------

def note(i, headings=99):
    """An outline of 100 objects, like a note with its headings."""
    child = lambda j: {"type": "heading", "properties": {"ID": f"n{i}-{j}", "TITLE": f"heading {j} of note {i}"}, "contents": []}
    return {"type": "note", "properties": {"ID": f"n{i}", "TITLE": f"note number {i}", "SCOPE": "memex"},
            "contents": [child(j) for j in range(headings)]}


stores = {}


def memory_build(objects):
    from passepartout.memory import Memory
    start, memory = time.perf_counter(), Memory()
    for i in range(objects // 100):
        memory.ingest(note(i))
    stores[objects] = memory
    return dict(seconds=time.perf_counter() - start, objects=len(memory))


def memory_measure(objects, repeat=501):
    """A snapshot after every single change, then a rollback after every single change; only these are timed.

    And, after each, the save, which without a journal does nothing but let go of what a rollback left."""
    memory, clock = stores[objects], time.perf_counter_ns
    changes = itertools.count()
    taken, back, left, nothing = [], [], [], []
    for out, function, after in ((taken, memory.snapshot, nothing), (back, memory.rollback, left)):
        memory.snapshot()
        for _ in range(repeat):
            change = next(changes)
            i = change * 7919 % (objects // 100)
            memory.ingest({"type": "heading", "properties": {"ID": f"n{i}-1", "TITLE": f"change {change}"}, "contents": []}, parent_id=f"n{i}")
            start = clock()
            function()
            out.append(clock() - start)
            start = clock()
            memory.save()
            after.append(clock() - start)
    return dict(snapshot_us=statistics.median(taken) / 1000, rollback_us=statistics.median(back) / 1000, left_us=statistics.median(left) / 1000)


def dict_measure(objects):
    """For orientation: what copying costs, with a plain dict of dicts of the same size."""
    store = {f"k{i}": {"id": i, "title": f"note number {i}", "tags": ["a", "b"]} for i in range(objects)}
    start = time.perf_counter()
    store.copy()
    shallow = time.perf_counter() - start
    start = time.perf_counter()
    copy.deepcopy(store)
    return dict(copy_us=shallow * 1e6, deepcopy_us=(time.perf_counter() - start) * 1e6)


# ---- the reader --------------------------------------------------------------------------------------------------------

def reader(seconds):
    from passepartout.plist import read_plist
    return time_call(lambda: read_plist(MESSAGE_PLIST), seconds) | dict(bytes=len(MESSAGE_PLIST.encode()))


def writer(seconds):
    from passepartout.plist import read_plist, write_plist
    message = read_plist(MESSAGE_PLIST)
    return time_call(lambda: write_plist(message), seconds)


def reader_json(seconds):
    return time_call(lambda: json.loads(MESSAGE_JSON), seconds) | dict(bytes=len(MESSAGE_JSON))


def reader_sized(size, repeat=5):
    """Reading a list of messages of about `size` bytes: microseconds for each kilobyte."""
    from passepartout.plist import read_plist
    text = "(" + " ".join([MESSAGE_PLIST] * max(1, size // len(MESSAGE_PLIST))) + ")"
    repeat = max(repeat, 300_000 // len(text))
    samples = []
    for _ in range(repeat):
        start = time.perf_counter_ns()
        value = read_plist(text, max_chars=2 * len(text), max_nodes=len(text))
        samples.append(time.perf_counter_ns() - start)
        del value
    return summary(samples) | dict(bytes=len(text), us_per_kb=statistics.median(samples) / len(text))


def parentheses(depth=100_000):
    from passepartout.plist import read_plist
    start = time.perf_counter()
    try:
        read_plist("(" * depth)
        what = "accepted"
    except Exception as error:
        what = textwrap.shorten(f"{type(error).__name__}: {error}", 70, placeholder=" …")
    return dict(us=(time.perf_counter() - start) * 1e6, what=what)


# ---- commands ----------------------------------------------------------------------------------------------------------

async def command_chain(seconds):
    """Every gate of a booted agent on a typical command, and on one of 4 KB that only prints; medians in microseconds."""
    import tempfile
    from pathlib import Path
    from passepartout.agent import Agent
    from passepartout.messages import Signal
    from passepartout.verify import judge
    memex = Path(tempfile.mkdtemp())
    (memex / "src").mkdir()
    agent, out = await Agent.boot(memex_dir=memex, journal=":memory:"), {}
    signal = Signal.of({"payload": {"sensor": "user-input", "text": "look for open tasks"}})
    for name, command in (("typical", COMMAND), ("long", COMMAND_LONG)):
        call = {"target": "tool", "payload": {"action": "call", "tool": "shell", "args": {"command": command}, "explanation": "Looking for open tasks in the sources"}}
        out[name] = time_call(lambda: judge(agent, call, signal).close(), seconds)
    await agent.close()
    return dict(us=out["typical"]["us"], long_us=out["long"]["us"])


def command(seconds):
    """Parsing and judging alone, and the slowest of some texts that were made to be slow."""
    import tempfile
    from passepartout.confinement.resources import Root
    from passepartout.shell.judge import judge_command
    roots, slowest = [Root(tempfile.mkdtemp())], 0
    typical = time_call(lambda: judge_command(COMMAND, roots, "/home/ada"), seconds)
    for unit in ("a|", "a=(", "(", "$(", "[[ a && ", "<<A\n", "{a,b}", "*/", "?* ", "bash -c 'x ", "rm x ", "a'b'=", "for x in a; do "):
        for size in (2_000, 16_000, 1_000_000):
            start = time.perf_counter()
            judge_command(f"ls {unit * (size // len(unit))}"[:size], roots, "/home/ada")
            slowest = max(slowest, time.perf_counter() - start)
    return typical | dict(slowest_us=slowest * 1e6)


# ---- providers ---------------------------------------------------------------------------------------------------------

async def fallback(directory, seconds):
    """A provider that fails at once and the next one, against the one alone; with gates, journal and signal as in a turn."""
    from passepartout.backends import backend_cascade_call, register_backend
    agent = await boot(directory)

    async def down(prompt, system_prompt, *, model=None):
        raise ConnectionError("refused")

    async def fine(prompt, system_prompt, *, model=None):
        return ANSWER
    register_backend(agent, "down", down)
    register_backend(agent, "fine", fine)
    system = "S" * 4000
    call = lambda names: lambda: backend_cascade_call(agent, USER, system_prompt=system, cascade=names)
    return await closing(agent, time_fallback(call(("fine",)), call(("down", "fine")), seconds))


if __name__ == "__main__":
    serve({"fallback": fallback, "turn": turn_memory, "turn_fresh": turn_fresh, "turn_durable": turn_durable,
           "concurrent": lambda **k: concurrent(journal=":memory:", **k), "concurrent_durable": concurrent, "long": long,
           "memory_build": memory_build, "memory": memory_measure, "dict": dict_measure,
           "reader": reader, "writer": writer, "reader_json": reader_json, "reader_sized": reader_sized, "parentheses": parentheses, "command": command,
           "command_chain": lambda seconds: asyncio.run(command_chain(seconds))})
