"""What plans cost: `python benchmarks/plans.py`. A plan of 20 calls beside the same 20 calls cleared and run one by one, and the share of the flow gate.

The tool does nothing, the model answers at once, the journal is in memory: what is left is the program, in processor time. Best of the rounds, because other load only adds. The last rows have the journal on a disk, in time of the clock.
"""
import asyncio
import tempfile
import time
from pathlib import Path

from passepartout.act import dispatch_action
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.messages import Action, Label, Signal, PERSON
from passepartout.tools import Parameter, Tool, ToolResult
from passepartout.verify import clear

STEPS, ROUNDS, WHY = 20, 60, "Look for the lunch in all of the mails"
MAIL = {"id": "attested", "from": "sender", "text": "text"}


async def best(*runs, clock=time.process_time):
    "The least time of each run, in milliseconds: of the processor, unless another clock is given. They take turns, so that what is subtracted met the same load."
    times = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, measured in zip(runs, times):
            begun = clock()
            await run()
            measured.append(clock() - begun)
    return [min(measured) * 1000 for measured in times]


def declare(agent):
    "The two tools: they do nothing."
    agent.tools.register(Tool("find", "Find", {"query": "string"}, lambda query: ToolResult("mails", [{"id": 7, "from": "ana@example.org", "text": "lunch?"}], Label("network", sources=("inbox",))), effects="read-only", inline=True, returns=[MAIL]))
    agent.tools.register(Tool("send", "Send", [Parameter("to"), Parameter("text", target=False)], lambda to, text: "sent", effects="open-world", inline=True))


async def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for part in ("memex", "state", "config", "cache"): (folder / part).mkdir()
        agent = await Agent.boot(memex_dir=folder / "memex", state_dir=folder / "state", config_dir=folder / "config", cache_dir=folder / "cache", journal=":memory:", provider_cascade=("played",), permissions={"find": "allow", "send": "allow"})
        declare(agent)
        script = []
        register_backend(agent, "played", lambda prompt, system_prompt, *, model=None: script.pop(0), inline=True)
        find = " ".join(f'(:CALL "find" :ARGS (:QUERY "lunch") :AS "m{n}")' for n in range(STEPS))
        send = '(:CALL "find" :ARGS (:QUERY "lunch") :AS "m")' + "".join('(:CALL "send" :ARGS (:TO (:FIELD "from" :OF (:FIRST (:REF "m"))) :TEXT "At noon"))' for n in range(STEPS - 1))
        said, call = '(:TYPE :REQUEST :PAYLOAD (:ACTION :MESSAGE :TEXT "Done."))', f'(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "find" :ARGS (:QUERY "lunch") :EXPLANATION "{WHY}"))'
        def turn(*answers):
            async def run():
                script[:] = answers
                assert str(await agent.handle("find the lunch")) == "Done."
            return run
        async def one_by_one():
            signal = agent.in_turn(Signal(payload={"sensor": "user-input", "text": "find the lunch"}, meta={"source": "cli", "session": "direct"}, label=PERSON))
            for _ in range(STEPS): await dispatch_action(agent, clear(agent, Action.of(call), signal)[0], signal)
            await agent.end_turn(signal)
        plan = lambda steps: f'(:TYPE :PLAN :EXPLANATION "{WHY}" :STEPS ({steps} (:ANSWER "Done.")))'
        message, calls, whole, writing = await best(turn(said), one_by_one, turn(plan(find)), turn(plan(send)))
        share = sum(micros for record in agent.trace()[0]["records"] if record["kind"] == "verdict" for gate, _, _, micros in record["body"]["gates"] if gate == "provenance") / 1000
        print(f"| | ms |\n|---|---|\n| a turn with a message | {message:.2f} |\n| {STEPS} calls, cleared and run one by one | {calls:.2f} |\n| a turn with a plan of {STEPS} calls | {whole:.2f} |\n"
              f"| the plan over its calls and its turn | {whole - calls - message:.2f} |\n| a turn with a plan of {STEPS - 1} calls that send | {writing:.2f} |\n| of it the flow gate, labels of the arguments included | {share:.2f} ({100 * share / writing:.0f} %) |")
        await agent.close()
        (folder / "state2").mkdir()
        agent = await Agent.boot(memex_dir=folder / "memex", state_dir=folder / "state2", config_dir=folder / "config", cache_dir=folder / "cache", provider_cascade=("played",), permissions={"find": "allow", "send": "allow"})
        declare(agent)
        register_backend(agent, "played", lambda prompt, system_prompt, *, model=None: script.pop(0), inline=True)
        (reading,) = await best(turn(plan(find)), clock=time.perf_counter)
        begun = agent.journal.commits
        (sending,) = await best(turn(plan(send)), clock=time.perf_counter)
        commits, syncs = ((after - before) / ROUNDS for after, before in zip(agent.journal.commits, begun))
        print(f"| on disk: a turn with a plan of {STEPS} calls | {reading:.2f} |\n| on disk: a turn with a plan of {STEPS - 1} calls that send, {commits:.0f} commits, {syncs:.0f} of them synced | {sending:.2f} |")
        await agent.close()


asyncio.run(main())
