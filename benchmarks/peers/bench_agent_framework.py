"""Microsoft Agent Framework (agent-framework-core): an in-memory turn and many conversations; it stores nothing by itself."""
import asyncio
import logging

from scenario import ARGS_JSON, DELAY, FINAL, SYSTEM, TOOL, USER, Ran, guard, run_tool, serve, time_concurrent, time_turns

from agent_framework import (Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationContext, FunctionInvocationLayer,
                             FunctionMiddleware, Message, tool)

logging.disable(logging.CRITICAL)


class Fake(FunctionInvocationLayer, BaseChatClient):
    delay = 0.0

    def _inner_get_response(self, *, messages, stream, options, **_):
        async def answer():
            Ran.model += 1
            if self.delay:
                await asyncio.sleep(self.delay)
            if any(content.type == "function_result" for content in messages[-1].contents):
                contents = [FINAL]
            else:
                contents = [Content.from_function_call(call_id=f"c{Ran.model}", name=TOOL, arguments=ARGS_JSON)]
            return ChatResponse(messages=[Message(role="assistant", contents=contents)], response_id="r")
        return answer()


class Guard(FunctionMiddleware):
    async def process(self, context: FunctionInvocationContext, call_next):
        arguments = context.arguments
        if hasattr(arguments, "model_dump"):
            arguments = arguments.model_dump()
        if not guard(context.function.name, arguments):
            context.result = "denied"
            return
        await call_next()


@tool(name=TOOL, approval_mode="never_require")
async def run_shell(command: str, timeout: int) -> str:
    "Run a shell command."
    return run_tool(command, timeout)


def turn_of(delay=0.0):
    client = Fake()
    client.delay = delay
    agent = Agent(client=client, instructions=SYSTEM, tools=[run_shell], middleware=[Guard()])

    async def turn():
        return (await agent.run(USER)).text
    return turn


def concurrent(turns):
    turn = turn_of(DELAY)
    return time_concurrent(lambda i: turn, turns)


serve({"turn": lambda seconds: time_turns(turn_of(), seconds), "concurrent": concurrent})
