"""langchain's `create_agent` on langgraph: in memory, with its SQLite savers as shipped, many conversations, a long one."""
import asyncio
import itertools
import os
import sqlite3
import time

os.environ.setdefault("LANGSMITH_TRACING", "false")
os.environ.setdefault("LANGCHAIN_TRACING_V2", "false")

from scenario import (ARGS, DELAY, FINAL, SYSTEM, TOOL, USER, Commits, Ran, database_bytes, exactly, grow, guard, run_tool, serve,
                      time_concurrent, time_turns)

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


class Fake(BaseChatModel):
    delay: float = 0.0

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **_):
        return self

    def answer(self, messages):
        Ran.model += 1
        if messages[-1].type == "tool":
            message = AIMessage(content=FINAL)
        else:
            message = AIMessage(content="", tool_calls=[{"name": TOOL, "args": dict(ARGS), "id": f"call_{Ran.model}"}])
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(self, messages, stop=None, run_manager=None, **_):
        if self.delay:
            time.sleep(self.delay)
        return self.answer(messages)

    async def _agenerate(self, messages, stop=None, run_manager=None, **_):
        if self.delay:
            await asyncio.sleep(self.delay)
        return self.answer(messages)


class Guard(AgentMiddleware):
    def wrap_tool_call(self, request, handler):
        if not guard(request.tool_call["name"], request.tool_call["args"]):
            return ToolMessage("denied", tool_call_id=request.tool_call["id"])
        return handler(request)

    async def awrap_tool_call(self, request, handler):
        if not guard(request.tool_call["name"], request.tool_call["args"]):
            return ToolMessage("denied", tool_call_id=request.tool_call["id"])
        return await handler(request)


@tool(TOOL)
def run_shell(command: str, timeout: int) -> str:
    "Run a shell command."
    return run_tool(command, timeout)


@tool(TOOL)
async def run_shell_async(command: str, timeout: int) -> str:
    "Run a shell command."
    return run_tool(command, timeout)


def agent_of(tool=run_shell, delay=0.0, saver=None):
    return create_agent(Fake(delay=delay), [tool], system_prompt=SYSTEM, middleware=[Guard()], checkpointer=saver)


threads = itertools.count()


def thread():
    """A new conversation, in langgraph's words."""
    return {"configurable": {"thread_id": f"t{next(threads)}"}}


def turn_of(agent, config=lambda: None):
    def turn():
        return agent.invoke({"messages": [HumanMessage(USER)]}, config())["messages"][-1].content
    return turn


def turn_of_async(agent, config=lambda: None):
    async def turn():
        return (await agent.ainvoke({"messages": [HumanMessage(USER)]}, config()))["messages"][-1].content
    return turn


def connect(path):
    return sqlite3.connect(path, check_same_thread=False)       # SQLite's default, synchronous=FULL; the saver sets WAL


async def count(turn, open_commits):
    made = open_commits.total, open_commits.full
    await grow(turn, 10)
    return dict(commits=(open_commits.total - made[0]) / 10, full=(open_commits.full - made[1]) / 10)


async def turn_durable(directory, seconds):
    """SqliteSaver as shipped, default durability, a new thread each turn."""
    def turn(path):
        saver = SqliteSaver(connect(path))
        saver.setup()
        return turn_of(agent_of(saver=saver), thread)
    result = await time_turns(turn(f"{directory}/saver.db"), seconds)
    with Commits() as commits:
        return result | await count(turn(f"{directory}/counted.db"), commits)


async def turn_durable_async(directory, seconds):
    """AsyncSqliteSaver as shipped, default durability, a new thread each turn."""
    async with AsyncSqliteSaver.from_conn_string(f"{directory}/async.db") as saver:
        await saver.setup()
        result = await time_turns(turn_of_async(agent_of(run_shell_async, saver=saver), thread), seconds)
    with Commits() as commits:
        async with AsyncSqliteSaver.from_conn_string(f"{directory}/async-counted.db") as saver:
            await saver.setup()
            return result | await count(turn_of_async(agent_of(run_shell_async, saver=saver), thread), commits)


def concurrent(turns):
    turn = turn_of_async(agent_of(run_shell_async, DELAY))
    return time_concurrent(lambda i: turn, turns)


async def concurrent_durable(directory, turns):
    async with AsyncSqliteSaver.from_conn_string(f"{directory}/conversations.db") as saver:
        await saver.setup()
        turn = turn_of_async(agent_of(run_shell_async, DELAY, saver), thread)
        return await time_concurrent(lambda i: turn, turns)


class Long:
    def __init__(self, directory):
        self.path = f"{directory}/long.db"
        saver = SqliteSaver(connect(self.path))
        saver.setup()
        config = thread()
        self.turn = turn_of(agent_of(saver=saver), lambda: config)

    async def measure(self, turns):
        before = database_bytes(self.path)
        result = await exactly(self.turn, turns)
        return result | dict(bytes=(database_bytes(self.path) - before) / turns)


long: Long


async def long_start(directory):
    global long
    await grow(turn_of(agent_of()), 100)
    long = Long(directory)


serve({"turn": lambda seconds: time_turns(turn_of(agent_of()), seconds),
       "turn_async": lambda seconds: time_turns(turn_of_async(agent_of(run_shell_async)), seconds),
       "turn_durable": turn_durable, "turn_durable_async": turn_durable_async,
       "concurrent": concurrent, "concurrent_durable": concurrent_durable,
       "long_start": long_start, "long_grow": lambda turns: grow(long.turn, turns), "long": lambda turns: long.measure(turns)})
