"""openai-agents: a turn in memory and with its SQLite session, many conversations, one long conversation."""
import asyncio
import itertools
import json
import os

os.environ.setdefault("OPENAI_API_KEY", "unused")

from scenario import (ARGS_JSON, DELAY, FINAL, SYSTEM, TOOL, USER, Commits, Ran, database_bytes, exactly, grow, guard, run_tool,
                      serve, time_concurrent, time_turns)

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.testing import assistant_message, function_call
from agents.tool_guardrails import ToolGuardrailFunctionOutput, ToolInputGuardrail

set_tracing_disabled(True)
CONFIG = RunConfig(tracing_disabled=True)


class Fake(Model):
    def __init__(self, delay=0.0):
        self.delay = delay

    async def get_response(self, system_instructions, input, *_, **__):
        Ran.model += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        last = input[-1] if isinstance(input, list) else {}
        if last.get("type") == "function_call_output":
            output = [assistant_message(FINAL)]
        else:
            output = [function_call(TOOL, ARGS_JSON, call_id=f"call_{Ran.model}")]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def look(data):
    if guard(data.context.tool_name, json.loads(data.context.tool_arguments)):
        return ToolGuardrailFunctionOutput.allow()
    return ToolGuardrailFunctionOutput.reject_content("denied")


@function_tool(name_override=TOOL, tool_input_guardrails=[ToolInputGuardrail(guardrail_function=look, name="guard")])
async def run_shell(command: str, timeout: int) -> str:
    "Run a shell command."
    return run_tool(command, timeout)


def turn_of(delay=0.0, session=lambda: None):
    agent = Agent(name="a", instructions=SYSTEM, model=Fake(delay), tools=[run_shell])

    async def turn():
        return (await Runner.run(agent, USER, run_config=CONFIG, session=session())).final_output
    return turn


def concurrent(turns):
    turn = turn_of(DELAY)
    return time_concurrent(lambda i: turn, turns)


async def turn_durable(directory, seconds):
    """As shipped: WAL, synchronous=FULL. A new conversation each turn, its session object made ahead."""
    path, names = f"{directory}/sessions.db", itertools.count()

    def sessions(n):
        return iter([SQLiteSession(f"s{next(names)}", path) for _ in range(n)])
    pool = sessions(20 + int(seconds * 1500))
    result = await time_turns(turn_of(session=lambda: next(pool)), seconds, at_most=int(seconds * 700), warm=0.05)
    with Commits() as commits:
        pool = sessions(10)
        made = commits.total, commits.full
        await grow(turn_of(session=lambda: next(pool)), 10)
    return result | dict(commits=(commits.total - made[0]) / 10, full=(commits.full - made[1]) / 10)


class Long:
    def __init__(self, directory):
        self.path = f"{directory}/long.db"
        session = SQLiteSession("long", self.path)
        self.turn = turn_of(session=lambda: session)

    async def start(self):
        pool = [SQLiteSession(f"w{i}", ":memory:") for i in range(100)]
        sessions = iter(pool)
        await grow(turn_of(session=lambda: next(sessions)), 100)

    async def measure(self, turns):
        before = database_bytes(self.path)
        result = await exactly(self.turn, turns)
        return result | dict(bytes=(database_bytes(self.path) - before) / turns)


long: Long


async def long_start(directory):
    global long
    long = Long(directory)
    await long.start()


serve({"turn": lambda seconds: time_turns(turn_of(), seconds), "concurrent": concurrent, "turn_durable": turn_durable,
       "long_start": long_start, "long_grow": lambda turns: grow(long.turn, turns), "long": lambda turns: long.measure(turns)})
