"""Providers that hang, raise, talk nonsense or a lot, are cut off, and a cascade that survives them."""
import asyncio
import time
from types import SimpleNamespace

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.backends import BackendRegistry, Vote, backend_cascade_call, consensus_call, register_backend
from passepartout.conditions import LLMError, PassepartoutError, handler_bind
from passepartout.messages import Signal


def agent_with(*fns, timeout_s=60.0, **more):
    "An agent with these providers. `good` answers at once, so that it is in time whatever the machine is doing."
    agent = SimpleNamespace(backends=BackendRegistry(), provider_cascade=(), model_selector=None, log=lambda text: None,
                            settings=SimpleNamespace(backend_timeout_s=timeout_s, max_proposal_chars=1000, consensus_timeout_s=min(timeout_s, 60.0)), **more)
    for i, fn in enumerate(fns): register_backend(agent, f"p{i}", fn, inline=fn is good)
    return agent

def good(prompt, system_prompt): return "good"

async def hangs(prompt, system_prompt): await asyncio.sleep(60)

def blocks(prompt, system_prompt): time.sleep(0.5)

def patience_for(name): return 0.05 if name in ("hangs", "blocks") else 60.0

class Odd(str):
    "A string of its own kind."

class Model:
    def __call__(self, prompt, system_prompt): return "called"

class AsyncModel:
    async def __call__(self, prompt, system_prompt): return "awaited"


def raiser(error):
    def fn(prompt, system_prompt): raise error
    return fn

def giver(value):
    def fn(prompt, system_prompt): return value
    return fn

BAD = {**{type(e).__name__: raiser(e) for e in (ValueError("x"), KeyError(), RecursionError(), MemoryError(), TimeoutError(), OSError(111, "refused"), StopIteration(), ExceptionGroup("g", [ValueError("x")]), LLMError("no"))},
       **{f"returns {i}": giver(v) for i, v in enumerate((None, 0, 42, True, b"bytes", [], ["a"], {}, {"status": "error"}, {"status": "success"}, {"status": "success", "content": None}, {"status": "success", "content": ["x"]},
                                                     {"content": "no status"}, {1: 2}, "", "   \n", "x" * 1001, "x" * 10_000_000, object(), (c for c in "x"), {"status": "maybe", "content": "x"}))},
       "hangs": hangs, "blocks": blocks, "wrong signature": lambda: "x", "too many arguments": lambda a, b, c, d: "x"}


@pytest.mark.parametrize("name", thinned(BAD, 4))
async def test_a_bad_provider_costs_its_turn_and_nothing_more(name):
    agent = agent_with(BAD[name], good, timeout_s=patience_for(name))
    begun = time.monotonic()
    assert await backend_cascade_call(agent, "hello") == "good"
    assert time.monotonic() - begun < 10
    votes = await consensus_call(agent, "hello")
    assert votes[0].content is None and votes[0].error and votes[1] == Vote("p1", "good")


@pytest.mark.parametrize("name", BAD)
async def test_alone_it_ends_in_a_diagnostic(name):
    heard = []
    with handler_bind((LLMError, heard.append)):
        result = await backend_cascade_call(agent_with(BAD[name], timeout_s=patience_for(name)), "hello")
    assert isinstance(result, Signal) and result.type == "log" and "p0" in result.payload["text"] and len(heard) == 1
    assert len(result.payload["text"]) < 1000


@pytest.mark.parametrize("fn", [Model(), AsyncModel(), giver(Odd("text")), giver({"STATUS": "Success", ":content": "text"}), lambda p, s, **more: "text", lambda prompt, system_prompt, *, model=None, context=None: "text"])
async def test_every_reasonable_form_of_a_provider_works(fn):
    assert await backend_cascade_call(agent_with(fn), "hello", context=None) in ("called", "awaited", "text")


@pytest.mark.parametrize("fn", ["text", None, 5])
def test_what_cannot_be_called_is_no_provider(fn):
    with pytest.raises(PassepartoutError): agent_with(fn)


async def test_cancelling_the_caller_cancels_the_provider_and_passes_on():
    ended = []
    async def slow(prompt, system_prompt):
        try: await asyncio.sleep(60)
        finally: ended.append("cleaned up")
    for start in (backend_cascade_call, consensus_call):
        task = asyncio.create_task(start(agent_with(slow, good, timeout_s=60), "hello"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError): await task
    assert ended == ["cleaned up"] * 2


async def test_nothing_outlives_the_deadline():
    ended = []
    async def slow(prompt, system_prompt):
        try: await asyncio.sleep(60)
        finally: ended.append(1)
    before = asyncio.all_tasks()
    agent = agent_with(slow, slow, good, timeout_s=60)
    begun = time.monotonic()
    votes = await consensus_call(agent, "hello", timeout_s=0.05)
    assert [v.content for v in votes] == [None, None, "good"] and time.monotonic() - begun < 30 and len(ended) == 2 and asyncio.all_tasks() == before
    await backend_cascade_call(agent_with(slow, good, timeout_s=0.05), "hello")
    assert len(ended) == 3 and asyncio.all_tasks() == before


@pytest.mark.slow
@pytest.mark.parametrize("start", [backend_cascade_call, consensus_call])
async def test_a_provider_that_ignores_its_cancellation_is_left_behind(start):
    released, ended = asyncio.Event(), []
    async def stubborn(prompt, system_prompt):
        while not released.is_set():
            try: await asyncio.wait_for(released.wait(), 30)
            except asyncio.CancelledError: pass
        ended.append(1)
        return "late"
    await start(agent_with(stubborn, good, timeout_s=0.05), "hello")
    assert not ended
    released.set()


async def test_a_provider_that_was_cancelled_from_within_has_failed():
    async def broken(prompt, system_prompt):
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task
    try: answer = await backend_cascade_call(agent_with(broken, good), "hello")
    except asyncio.CancelledError: answer = None
    assert answer == "good"


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()], ids=lambda e: type(e).__name__)
def test_a_provider_cannot_end_the_program(error):
    try: answer = asyncio.run(backend_cascade_call(agent_with(raiser(error), good), "hello"))
    except BaseException: answer = None
    assert answer == "good"


class Mute(Exception):
    "As of a library that puts its sentence together late, and fails at it."
    def __str__(self): raise KeyError("detail")

async def test_a_provider_whose_error_cannot_say_what_it_is_has_failed_like_any_other():
    assert await backend_cascade_call(agent_with(raiser(Mute()), good), "hello") == "good"
    agent = agent_with(good)
    def selects(provider, context): raise Mute()
    agent.model_selector = selects
    assert "the model selector failed" in str(await backend_cascade_call(agent, "hello"))


# Who may be asked -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("nobody", [[], (), None, lambda context: [], lambda context: None])
async def test_a_cascade_of_nobody_asks_nobody(nobody):
    asked = []
    agent = agent_with(lambda prompt, system_prompt: asked.append(1) or "x")
    if nobody is None: agent.provider_cascade = lambda context: ()           # nothing from the caller, nobody from the agent
    await backend_cascade_call(agent, "private", cascade=nobody)
    await consensus_call(agent, "private", cascade=nobody)
    assert asked == []


async def no_model(provider, context): return "skip"

@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("selector", [no_model, lambda p, c: 42, lambda p, c: False, lambda p, c: ["skip"], lambda p, c: object()])
async def test_a_selector_that_returns_nonsense_skips_its_provider(selector):
    asked = []
    agent = agent_with(lambda prompt, system_prompt, *, model=None: asked.append(model) or "x")
    agent.model_selector = selector
    await backend_cascade_call(agent, "private")
    assert asked == []


@pytest.mark.parametrize("word", ["skip", "SKIP", ":skip", ":SKIP"])
async def test_skip_is_understood_in_every_spelling(word):
    agent = agent_with(lambda p, s: 1 / 0, good)
    agent.model_selector = lambda provider, context: word if provider == "p0" else None
    assert await backend_cascade_call(agent, "x") == "good"


async def test_a_provider_that_is_named_but_missing_is_passed_over():
    assert await backend_cascade_call(agent_with(good), "x", cascade=["nobody", ":P0"]) == "good"
    assert await backend_cascade_call(agent_with(good), "x", cascade="nobody, p0") == "good"


async def test_a_provider_registered_or_removed_during_a_call_hurts_nobody():
    agent = agent_with()
    def leaves(prompt, system_prompt):
        agent.backends.unregister("p1"); agent.backends.register("p2", good)
        raise ValueError("gone")
    register_backend(agent, "p0", leaves); register_backend(agent, "p1", good)
    assert isinstance(await backend_cascade_call(agent, "x"), Signal)
    assert await backend_cascade_call(agent, "x") == "good"


@pytest.mark.parametrize("name", thinned([n for n in BAD if n != "blocks"], 4))
async def test_an_agent_with_only_a_bad_provider_answers(name):
    agent = Agent.bare(backend_timeout_s=patience_for(name), max_proposal_chars=1000)
    agent.backends.register("bad", BAD[name])
    reply = await agent.handle("hello")
    assert "No model answered" in reply and reply.status == "failed"


@pytest.mark.slow
async def test_all_attempts_and_steps_of_a_request_share_one_deadline():
    agent, asked = Agent.bare(max_attempts=50, turn_timeout_s=0.6, backend_timeout_s=30, cascade_timeout_s=30), []
    async def slow(prompt, system_prompt):
        asked.append(time.monotonic())
        await asyncio.sleep(0.25)
        return "(:TYPE :REQUEST"                                 # cannot be read: tried again
    register_backend(agent, "slow", slow)
    begun = time.monotonic()
    try:
        reply = await agent.handle("go")
        assert len(asked) < 10 and time.monotonic() - begun < 10 and reply.status in ("failed", "answered", "rejected")
    finally: await agent.close()


def test_two_processes_remember_each_others_failures(tmp_path):
    from passepartout.cascade.breaker import Breakers
    one, two = Breakers(tmp_path / "providers.json"), Breakers(tmp_path / "providers.json")
    one.failed("a", "it had too many questions", wait=60); two.failed("b", "it had too many questions", wait=60); one.failed("c", "it had too many questions", wait=60); two.succeeded("b")
    assert set(Breakers(tmp_path / "providers.json").rests) == {"a", "c"}
