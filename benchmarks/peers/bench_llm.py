"""llm as a library: its tool chain sync and async, with its log, many conversations, a long one."""
import asyncio
import os
import tempfile

os.environ["LLM_USER_PATH"] = tempfile.mkdtemp(prefix="llm-user-")

from scenario import (ARGS, DELAY, FINAL, SYSTEM, TOOL, USER, Commits, Ran, database_bytes, exactly, grow, guard, run_tool, serve,
                      time_concurrent, time_turns)

import llm
import sqlite_utils
from llm.migrations import migrate


def answer(prompt, response):
    Ran.model += 1
    if prompt.tool_results:
        return FINAL
    response.add_tool_call(llm.ToolCall(name=TOOL, arguments=dict(ARGS), tool_call_id=f"call_{Ran.model}"))
    return ""


class Fake(llm.Model):
    model_id, needs_key, supports_tools, can_stream = "fake", None, True, True

    def execute(self, prompt, stream, response, conversation):
        yield answer(prompt, response)


class AsyncFake(llm.AsyncModel):
    model_id, needs_key, supports_tools, can_stream = "async-fake", None, True, True
    delay = 0.0

    async def execute(self, prompt, stream, response, conversation):
        if self.delay:
            await asyncio.sleep(self.delay)
        yield answer(prompt, response)


def run_shell(command: str, timeout: int) -> str:
    "Run a shell command."
    return run_tool(command, timeout)


async def run_shell_async(command: str, timeout: int) -> str:
    "Run a shell command."
    return run_tool(command, timeout)


TOOLS, ASYNC_TOOLS = [llm.Tool.function(run_shell, name=TOOL)], [llm.Tool.function(run_shell_async, name=TOOL)]


def look(tool, call):
    if not guard(call.name, call.arguments):
        raise llm.CancelToolCall("denied")


async def look_async(tool, call):
    look(tool, call)


def turn():
    return Fake().chain(USER, system=SYSTEM, tools=TOOLS, before_call=look).text()


def turn_of_async(delay=0.0):
    model = AsyncFake()
    model.delay = delay

    async def turn():
        return await model.chain(USER, system=SYSTEM, tools=ASYNC_TOOLS, before_call=look_async).text()
    return turn


def concurrent(turns):
    turn = turn_of_async(DELAY)
    return time_concurrent(lambda i: turn, turns)


def database(path):
    opened = sqlite_utils.Database(path)
    migrate(opened)
    return opened


def logged_turn(log):
    model = Fake()

    def turn():
        chain = model.chain(USER, system=SYSTEM, tools=TOOLS, before_call=look)
        text = chain.text()
        chain.log_to_db(log)
        return text
    return turn


async def turn_durable(directory, seconds):
    """`log_to_db` as shipped (a rollback journal, not WAL), a new conversation each turn."""
    result = await time_turns(logged_turn(database(f"{directory}/log.db")), seconds)
    with Commits() as commits:
        log = database(f"{directory}/counted.db")
        turn = logged_turn(log)
        await grow(turn, 1)
        made = commits.total, commits.full
        await grow(turn, 10)
    mode = log.execute("PRAGMA journal_mode").fetchone()[0]
    what = "" if mode == "wal" else f"journal mode {mode}: several fsyncs a commit"
    return result | dict(commits=(commits.total - made[0]) / 10, full=(commits.full - made[1]) / 10, what=what)


class Long:
    def __init__(self, directory):
        self.path = f"{directory}/long.db"
        self.log = database(self.path)
        self.conversation = Fake().conversation(tools=TOOLS, before_call=look)

    def turn(self):
        chain = self.conversation.chain(USER)
        text = chain.text()
        chain.log_to_db(self.log)
        return text

    async def measure(self, turns):
        before = database_bytes(self.path)
        result = await exactly(self.turn, turns)
        return result | dict(bytes=(database_bytes(self.path) - before) / turns)


long: Long


async def long_start(directory):
    global long
    await grow(turn, 100)
    long = Long(directory)


serve({"turn": lambda seconds: time_turns(turn, seconds), "turn_async": lambda seconds: time_turns(turn_of_async(), seconds),
       "turn_durable": turn_durable, "concurrent": concurrent,
       "long_start": long_start, "long_grow": lambda turns: grow(long.turn, turns), "long": lambda turns: long.measure(turns)})
