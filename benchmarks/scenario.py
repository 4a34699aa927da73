"""What every participant runs, and how it is timed. Standard library only: it runs in every environment.

The scenario: a person asks something, the model (a fake one that answers at once) proposes one tool call, a deterministic
guard looks at it, the tool runs, the model sees the result and answers. Every participant runs the same guard and tool.
"""
import asyncio
import contextlib
import gc
import inspect
import json
import os
import re
import sqlite3
import statistics
import sys
import time
import traceback

USER = "Please list the files in /tmp/project and tell me how many there are."
SYSTEM = "You are a careful assistant. Use tools when needed."
TOOL = "run_shell"
ARGS = {"command": "ls -la /tmp/project", "timeout": 10}
ARGS_JSON = json.dumps(ARGS)
TOOL_OUT = "total 12\n-rw-r--r-- 1 u u 120 a.txt\n-rw-r--r-- 1 u u  98 b.txt\n-rw-r--r-- 1 u u 777 c.py\n"
FINAL = "There are 3 files in /tmp/project: a.txt, b.txt and c.py."
DENY = re.compile(r"rm\s+-rf|mkfs|dd\s+if=|>\s*/dev/sd|curl[^|]*\|\s*sh")
DELAY = 0.02            # seconds a model call takes in the concurrent measurement
CONVERSATIONS = 64


# a message of about 300 bytes as the model and the wire carry it, in both notations
COMMAND = "grep -rn 'TODO' src --include='*.py' 2>/dev/null | sort | head -20"
COMMAND_LONG = "echo '" + "What is to be done, and by whom, and until when. " * 84 + "'"          # about 4 KB

MESSAGE_PLIST = ('(:type :request :target :shell :meta (:source :llm :provider "openrouter" :depth 2 :session "b7f1c2a4" :reply-stream nil '
                 ':trace ("perceive" "reason")) :payload (:action :run :cmd "rg -n --max-count=20 \\"TODO\\" /home/user/notes/projects" '
                 ':timeout 30 :sandbox t :confidence 0.82 :rationale "find open items in the notes"))')
MESSAGE_JSON = json.dumps({
    "type": "request", "target": "shell",
    "meta": {"source": "llm", "provider": "openrouter", "depth": 2, "session": "b7f1c2a4", "reply_stream": None, "trace": ["perceive", "reason"]},
    "payload": {"action": "run", "cmd": 'rg -n --max-count=20 "TODO" /home/user/notes/projects', "timeout": 30, "sandbox": True,
                "confidence": 0.82, "rationale": "find open items in the notes"}}, separators=(",", ":"))


class Ran:
    """How often the guard, the tool and the model ran: a participant that skips one is not measured, it is an error."""
    guard = tool = model = 0


def guard(name, args):
    """The deterministic look at a tool call that every participant pays for (about 1 µs)."""
    Ran.guard += 1
    return name == TOOL and not DENY.search(args["command"]) and 0 < args["timeout"] <= 60


def run_tool(command, timeout):
    Ran.tool += 1
    return TOOL_OUT


# ---- timing ------------------------------------------------------------------------------------------------------------

def summary(samples_ns, cpu_s=None):
    """Median, 99th percentile and least of the samples, in microseconds."""
    us = sorted(sample / 1000 for sample in samples_ns)
    out = dict(n=len(us), us=statistics.median(us), p99_us=us[min(len(us) - 1, round(.99 * (len(us) - 1)))], min_us=us[0])
    if cpu_s is not None:
        out["cpu_us"] = cpu_s / len(us) * 1e6
    return out


@contextlib.contextmanager
def counted(turns, guards_a_turn=None):
    """Check that the guard and the tool ran for every turn timed inside."""
    before = Ran.guard, Ran.tool
    yield
    guards, tools = Ran.guard - before[0], Ran.tool - before[1]
    n = len(turns)
    if tools != n or guards < n:
        raise AssertionError(f"in {n} turns the guard ran {guards} times and the tool {tools} times")


async def time_turns(turn, seconds=0.6, at_least=20, at_most=5000, warm=0.2):
    """Time turn after turn for about `seconds`. `turn` returns the final text, or an awaitable of it."""
    is_async = inspect.iscoroutinefunction(turn)
    end = time.perf_counter() + warm
    while True:                                          # at least one turn is for warming up
        text = await turn() if is_async else turn()
        if text != FINAL:
            raise AssertionError(f"the answer is {text!r}")
        if time.perf_counter() >= end:
            break
    gc.collect()
    out, clock = [], time.perf_counter_ns
    with counted(out):
        cpu, end = time.process_time(), clock() + int(seconds * 1e9)
        while len(out) < at_least or (clock() < end and len(out) < at_most):
            if is_async:
                start = clock()
                text = await turn()
                out.append(clock() - start)
            else:
                start = clock()
                text = turn()
                out.append(clock() - start)
            if text != FINAL:
                raise AssertionError(f"the answer is {text!r}")
        cpu = time.process_time() - cpu
    return summary(out, cpu)


async def exactly(turn, turns):
    """Time exactly `turns` turns, without warming up: for conversations, where the number of turns is the point."""
    return await time_turns(turn, 0, turns, turns, -1) if turns else None


async def grow(turn, turns):
    """Let a conversation grow, untimed."""
    for _ in range(turns):
        text = await turn() if inspect.iscoroutinefunction(turn) else turn()
        if text != FINAL:
            raise AssertionError(f"the answer is {text!r}")


async def time_concurrent(conversation, turns=10, conversations=CONVERSATIONS):
    """Turns a second of many conversations at once. `conversation(i)` returns an async turn; a model call takes DELAY."""
    turn_of = [conversation(i) for i in range(conversations)]

    async def converse(turn, k):
        for _ in range(k):
            if (text := await turn()) != FINAL:
                raise AssertionError(f"the answer is {text!r}")
    await asyncio.gather(*(converse(turn, 1) for turn in turn_of))
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(converse(turn, turns) for turn in turn_of))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    n = conversations * turns
    return dict(turns=n, per_s=n / wall, ideal_per_s=conversations / (2 * DELAY), cpu_us=cpu / n * 1e6, cpu_share=cpu / wall)


def time_call(function, seconds=0.3, batches=5):
    """Nanoseconds a call takes, for calls too short to time one by one: the median over batches."""
    inner, spent = 1, 0.0
    while spent < seconds / batches / 4 and inner < 10_000_000:
        inner *= 2
        start = time.perf_counter()
        for _ in range(inner):
            function()
        spent = time.perf_counter() - start
    inner = max(1, int(inner * seconds / batches / max(spent, 1e-9)))
    gc.collect()
    out = []
    for _ in range(batches):
        start = time.perf_counter_ns()
        for _ in range(inner):
            function()
        out.append((time.perf_counter_ns() - start) / inner)
    return dict(n=inner * batches, us=statistics.median(out) / 1000, min_us=min(out) / 1000)


async def time_fallback(plain, failing, seconds=0.6, batch=50):
    """What a provider that fails at once costs over the call that answers: both timed alternately, in batches; medians in microseconds."""
    out, end, clock = ([], []), time.perf_counter() + seconds, time.perf_counter_ns
    for call in (plain, failing):
        for _ in range(batch):
            await call()
    gc.collect()
    while time.perf_counter() < end or len(out[0]) < 5:
        for times, call in zip(out, (plain, failing)):
            start = clock()
            for _ in range(batch):
                await call()
            times.append((clock() - start) / batch / 1000)
    call_us, both_us = map(statistics.median, out)
    return dict(n=len(out[0]) * batch, us=both_us - call_us, min_us=min(out[1]) - min(out[0]), call_us=call_us, both_us=both_us)


# ---- what a turn costs the disk ----------------------------------------------------------------------------------------

class Commits:
    """Counts the commits of SQLite connections opened while it is active, from the statements that SQLite reports.

    `total` counts transactions that wrote something, `full` those of them under `synchronous=FULL` or `EXTRA`. It does not
    ask the participant, so that it can check what a participant says about itself.
    """
    WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\b", re.I)
    SYNCHRONOUS = re.compile(r"\s*PRAGMA\s+(?:\w+\.)?synchronous\s*=\s*'?(\w+)", re.I)

    def __init__(self):
        self.total = self.full = 0

    def watch(self, connection):
        state = dict(open=False, wrote=False, full=True)

        def commit():
            if state["wrote"]:
                self.total += 1
                self.full += state["full"]
            state.update(open=False, wrote=False)

        def statement(sql):
            word = sql.split(None, 1)[0].upper().rstrip(";") if sql.strip() else ""
            if word == "BEGIN":
                state.update(open=True, wrote=False)
            elif word in ("COMMIT", "END"):
                commit()
            elif word == "ROLLBACK" and " TO" not in sql.upper():
                state.update(open=False, wrote=False)
            elif self.WRITES.match(sql) or word == "WITH":
                state["wrote"] = True
                if not state["open"]:
                    commit()
            elif setting := self.SYNCHRONOUS.match(sql):
                state["full"] = setting[1].upper() in ("FULL", "EXTRA", "2", "3")
        connection.set_trace_callback(statement)
        return connection

    def __enter__(self):
        self.connect = sqlite3.connect
        sqlite3.connect = lambda *a, **k: self.watch(self.connect(*a, **k))
        return self

    def __exit__(self, *_):
        sqlite3.connect = self.connect


def database_bytes(path):
    """Size of an SQLite database as its readers see it, whatever is still in the write-ahead log."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute("PRAGMA page_count").fetchone()[0] * connection.execute("PRAGMA page_size").fetchone()[0]
    finally:
        connection.close()


# ---- a worker: reads one request a line, answers one line --------------------------------------------------------------

def serve(measures):
    """Answer the requests of `run.py`: each names one of the `measures` (sync or async) and its arguments.

    All run in one event loop, so that an agent can live from one request to the next. What a library prints goes to
    standard error; an exception becomes an answer with an `error`.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                result = measures[request.pop("measure")](**request)
                if inspect.iscoroutine(result):
                    async def wait(result=result):
                        return await result
                    result = runner.run(wait())
            except BaseException as error:
                traceback.print_exc()
                result = dict(error=f"{type(error).__name__}: {error}"[:300])
            answers.write(json.dumps(result) + "\n")
            answers.flush()
