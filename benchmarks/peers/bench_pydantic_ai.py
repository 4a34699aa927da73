"""pydantic-ai: a turn in memory, many conversations, and a long conversation handed over as history (it has no store)."""
import asyncio

from scenario import (ARGS_JSON, DELAY, FINAL, SYSTEM, TOOL, USER, Ran, exactly, grow, guard, run_tool, serve, time_concurrent,
                      time_fallback, time_turns)

from pydantic_ai import Agent
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage


def agent_of(delay=0.0):
    async def model(messages, info):
        Ran.model += 1
        if delay:
            await asyncio.sleep(delay)
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            part = TextPart(FINAL)
        else:
            part = ToolCallPart(TOOL, ARGS_JSON, f"call_{Ran.model}")
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=1, output_tokens=1))

    async def look(ctx, /, *, call, tool_def, args):
        if not guard(call.tool_name, args):
            raise SkipToolExecution("denied")
        return args

    agent = Agent(FunctionModel(model), instructions=SYSTEM, capabilities=[Hooks(before_tool_execute=look)])

    @agent.tool_plain
    async def run_shell(command: str, timeout: int) -> str:
        "Run a shell command."
        return run_tool(command, timeout)
    return agent


def turn_of(delay=0.0):
    agent = agent_of(delay)

    async def turn():
        return (await agent.run(USER)).output
    return turn


def concurrent(turns):
    turn = turn_of(DELAY)
    return time_concurrent(lambda i: turn, turns)


def history_turn():
    agent, history = agent_of(), []

    async def turn():
        nonlocal history
        result = await agent.run(USER, message_history=history)
        history = result.all_messages()
        return result.output
    return turn


long = None


async def long_start(directory):
    global long
    await grow(turn_of(), 100)
    long = history_turn()


async def fallback(directory, seconds):
    """Its FallbackModel over a model that fails at once, against the model alone."""
    from pydantic_ai.exceptions import ModelHTTPError
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.fallback import FallbackModel

    async def down(messages, info):
        raise ModelHTTPError(503, "down", "refused")

    async def fine(messages, info):
        return ModelResponse(parts=[TextPart(FINAL)], usage=RequestUsage(input_tokens=1, output_tokens=1))
    alone, both = FunctionModel(fine), FallbackModel(FunctionModel(down), FunctionModel(fine))
    messages, parameters = [ModelRequest(parts=[UserPromptPart(USER)])], ModelRequestParameters()
    call = lambda model: lambda: model.request(messages, None, parameters)
    return await time_fallback(call(alone), call(both), seconds)


serve({"fallback": fallback, "turn": lambda seconds: time_turns(turn_of(), seconds), "concurrent": concurrent,
       "long_start": long_start, "long_grow": lambda turns: grow(long, turns), "long": lambda turns: exactly(long, turns)})
