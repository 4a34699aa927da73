"""Where a signal or an action is taken, a model, a dict (keys in any case, with `-` or `_`, with a colon or without) or plist text will do."""
import asyncio

import pytest

from passepartout.act import act_gate
from passepartout.agent import Agent
from passepartout.backends import backend_cascade_call, consensus_call, register_backend
from passepartout.conditions import PassepartoutError
from passepartout.context import assemble_global_awareness
from passepartout.loop import loop_process, stimulus_inject
from passepartout.messages import Action, Signal
from passepartout.plist import read_plist
from passepartout.protocol import frame_message
from passepartout.reason import reason_gate, think
from passepartout.skills import Skill
from passepartout.tools import Parameter, Tool
from passepartout.verify import cognitive_verify

SIGNAL = '(:TYPE :EVENT :FOVEAL-FOCUS "roof" :PAYLOAD (:SENSOR :USER-INPUT :TEXT "ring twice") :META (:SOURCE :CLI))'
SIGNALS = {"text": SIGNAL, "model": Signal.of(SIGNAL),
           "dict": {"type": "event", "foveal_focus": "roof", "payload": {"sensor": "user-input", "text": "ring twice"}, "meta": {"source": "cli"}},
           "colons": {":TYPE": ":EVENT", ":FOVEAL-FOCUS": "roof", ":PAYLOAD": {":SENSOR": ":USER-INPUT", ":TEXT": "ring twice"}, ":META": {":SOURCE": ":CLI"}},
           "mixed": {"Type": "Event", "foveal-focus": "roof", "PAYLOAD": {"Sensor": "user_input", "Text": "ring twice"}, "Meta": {"source": "CLI"}}}
ACTION = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "bell" :ARGS (:TIMES 2)))'
ACTIONS = {"text": ACTION, "model": Action.of(ACTION),
           "dict": {"type": "request", "target": "tool", "payload": {"action": "call", "tool": "bell", "args": {"times": 2}}},
           "colons": {":TYPE": ":REQUEST", ":TARGET": ":TOOL", ":PAYLOAD": {":ACTION": ":CALL", ":TOOL": "bell", ":ARGS": {":TIMES": 2}}}}


def house() -> tuple[Agent, list]:
    "An agent whose model always rings, and what was rung."
    agent, rung = Agent.bare(), []
    agent.tools.register(Tool("bell", "Ring.", [Parameter("times", "integer")], lambda times: rung.append(times) or "rung"))
    register_backend(agent, "model", lambda prompt, system_prompt, *, model=None: ACTION)
    agent.provider_cascade = ["model"]
    agent.skills.register(Skill("ringing", trigger=lambda signal: signal.payload.get("text") == "ring twice", probabilistic=lambda signal: "ring"))
    return agent, rung


async def injected(agent, signal): return await stimulus_inject(agent, signal)
async def reasoned(agent, signal): return await act_gate(agent, await reason_gate(agent, signal))
async def awareness(agent, signal): return assemble_global_awareness(agent, signal)
async def triggered(agent, signal): return agent.skills.find_triggered(signal).name
async def cascade(agent, signal): return await backend_cascade_call(agent, "ring", context=signal)
async def consensus(agent, signal): return [vote.content for vote in await consensus_call(agent, "ring", context=signal)]
async def framed(agent, signal): return read_plist(frame_message(signal)[6:].decode().upper().replace("_", "-")) == read_plist(SIGNAL.upper())


WAYS = {each.__name__: each for each in (think, reason_gate, act_gate, loop_process, injected, reasoned, awareness, triggered, cascade, consensus, framed)}


async def outcome(way, signal):
    "What `way` makes of `signal`, without the name that each turn draws, and what was rung."
    agent, rung = house()
    found = await WAYS[way](agent, signal)
    if isinstance(found, Signal): found = found.evolve(meta={name: value for name, value in found.meta.items() if name != "turn"})
    await agent.close()
    return str(found), rung


@pytest.mark.parametrize("form", [name for name in SIGNALS if name != "model"])
@pytest.mark.parametrize("way", WAYS)
def test_a_signal_is_taken_in_each_form(way, form):
    assert asyncio.run(outcome(way, SIGNALS[form])) == asyncio.run(outcome(way, SIGNALS["model"]))


@pytest.mark.parametrize("form", ACTIONS)
@pytest.mark.parametrize("signal", SIGNALS)
def test_an_action_is_judged_in_each_form(form, signal):
    agent, _ = house()
    assert asyncio.run(cognitive_verify(agent, ACTIONS[form], SIGNALS[signal])).action == ACTIONS["model"]


@pytest.mark.parametrize("said", [memoryview(b"ring twice"), SIGNALS["model"], SIGNALS["dict"], ["ring", "twice"]], ids=lambda said: type(said).__name__)
async def test_what_a_person_says_is_text(said):
    "The print of anything else would go to the model as their words."
    agent, rung = house()
    with pytest.raises(PassepartoutError, match="A request is text, not"): await agent.handle(said)
    assert rung == [] and agent.trace() == []
    await agent.close()
