"""Skills whose triggers, prompts and mandates misbehave, and a registry that keeps its order."""
import asyncio
import random
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agent import Agent
from passepartout.limits import TimeLimitExceeded, call_limited
from passepartout.messages import Signal
from passepartout.skills import Skill, SkillError, SkillRegistry, mandate, triggered

SIGNAL = Signal.of({"payload": {"sensor": "user-input", "text": "hello"}, "meta": {"source": "cli"}})


def raising(signal): raise RuntimeError("broken")

class Mute(Exception):
    "As of a library that puts its sentence together late, and fails at it."
    def __str__(self): raise KeyError("detail")

def mute(signal): raise Mute()

def leaving(signal): sys.exit(3)

def hanging(signal): time.sleep(5)

class NeitherNor:
    def __bool__(self): raise ValueError("neither")

async def coroutine(signal): return True


@pytest.mark.parametrize("trigger", [raising, mute, leaving, lambda s: NeitherNor(), lambda: True, lambda s: s["nothing"]])
@pytest.mark.parametrize("on_error", [True, False])
def test_a_broken_trigger_counts_as_its_kind_of_skill_demands(trigger, on_error):
    assert triggered(Skill("t", trigger=trigger), SIGNAL, on_error=on_error) is on_error


@pytest.mark.parametrize("on_error", [True, False])
def test_a_hanging_trigger_is_stopped(on_error):
    begun = time.monotonic()
    assert triggered(Skill("t", trigger=hanging), SIGNAL, limit_s=0.02, on_error=on_error) is on_error
    assert time.monotonic() - begun < 30


def test_no_except_of_the_trigger_swallows_the_time_limit():
    def stubborn(signal):
        try:
            while True: time.sleep(0.001)
        except Exception: return True
    assert triggered(Skill("t", trigger=stubborn), SIGNAL, limit_s=0.02) is False


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_trigger_that_is_a_coroutine_function_does_not_hide_a_gate():
    assert triggered(Skill("t", trigger=coroutine), SIGNAL, on_error=True) is True


def spin():
    while True: pass


def test_the_time_limit_holds_in_other_threads_and_leaves_them_alone_afterwards():
    caught = []
    def work():
        for _ in range(5):
            try: call_limited(0.02, "it", spin)
            except TimeLimitExceeded: caught.append(1)
        call_limited(5, "it", int)
        for _ in range(100): time.sleep(0.0005)
    thread = threading.Thread(target=work)
    thread.start(); thread.join(10)
    assert len(caught) == 5 and not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("thread", [False, True])
def test_an_alarm_while_the_clock_is_wound_or_stopped_does_not_get_out(thread):
    "It rings at any moment, also in the lines of its clock: always as a limit that was exceeded, or not at all."
    got = []
    def work():
        try:
            for n in range(examples(600)):
                try: call_limited(1e-6 * (1 + n % 60), "it", int if n % 2 else spin)
                except TimeLimitExceeded: pass
        except BaseException as error: got.append(error)
    if thread:
        one = threading.Thread(target=work); one.start(); one.join()
    else: work()
    assert got == []


def busy(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until: pass


@pytest.mark.parametrize("thread", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("nested", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_limit_that_runs_out_when_the_function_is_over_ends_nothing_else(thread, nested):
    "Since Python 3.13 what a clock sets from outside comes a few steps late. Two limits in each other may ring at the same moment, one in the lines of the other."
    got, draw = [], random.Random(7)
    moment = lambda: 1e-6 * draw.randrange(1, 2000)
    def inner(n):
        try: call_limited(moment(), "the inner", busy, moment() if n % 4 else 1.0)
        except TimeLimitExceeded as error:
            if "the inner" not in error.message: got.append(error)
        busy(moment() / 8)
    def work():
        enough = time.monotonic() + 30                   # a machine that wakes its threads late needs a hundred times as long
        for n in range(examples(800)):
            if time.monotonic() > enough: break
            try:
                try:
                    if nested: call_limited(moment(), "the outer", inner, n)
                    else: inner(n)
                except TimeLimitExceeded: pass
                busy(0.0003)
            except BaseException as error: got.append(error)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)                          # the clock's thread gets its turn soon
    try:
        if thread:
            one = threading.Thread(target=work); one.start(); one.join()
        else: work()
    finally: sys.setswitchinterval(before)
    assert got == []


def test_the_time_limit_nests():
    def outer():
        with pytest.raises(TimeLimitExceeded, match="inner"): call_limited(0.02, "inner", spin)
        return "the outer goes on"
    assert call_limited(5, "outer", outer) == "the outer goes on"


def test_the_outer_limit_holds_inside_an_inner_one():
    begun = time.monotonic()
    with pytest.raises(TimeLimitExceeded, match="outer"): call_limited(0.05, "outer", call_limited, 5, "inner", spin)
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("augment", [raising, mute, leaving, lambda s: None, lambda s: 5, lambda s: ["x"], lambda s: b"x", lambda: "x", coroutine])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_broken_mandate_says_nothing(augment):
    assert mandate(Skill("m", system_prompt_augment=augment), SIGNAL) == ""


def test_a_mandate_is_bounded_in_time_and_length():
    assert mandate(Skill("m", system_prompt_augment=hanging), SIGNAL, limit_s=0.02) == ""
    assert len(mandate(Skill("m", system_prompt_augment=lambda s: "x" * 1_000_000), SIGNAL)) <= 2000
    said = mandate(Skill("m", system_prompt_augment=lambda s: "x" * 2001), SIGNAL)
    assert said.endswith("…") and len(said) == 2000, "a rule that breaks off shows it"
    assert mandate(Skill("m", system_prompt_augment=lambda s: "x" * 2000), SIGNAL) == "x" * 2000


@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abcdefgh")), max_size=12), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(60))
def test_the_order_is_that_of_priorities_then_names_however_they_came(described, random):
    skills = list({name: Skill(name, priority, deterministic=lambda a, s: a) for priority, name in described}.values())
    registry, other = SkillRegistry(), SkillRegistry()
    for skill in skills: registry.register(skill)
    for skill in random.sample(skills, len(skills)): other.register(skill)
    order = [(s.priority, s.name) for s in registry.by_priority("deterministic")]
    assert order == [(s.priority, s.name) for s in other.by_priority("deterministic")] == sorted(order, key=lambda e: (-e[0], e[1]))


def test_every_change_has_a_version_of_its_own():
    registry, seen = SkillRegistry(), set()
    for change in (lambda: registry.register(Skill("a")), lambda: registry.register(Skill("a")), lambda: registry.unregister("A"), lambda: registry.unregister("nobody"), registry.clear):
        change()
        assert registry.version not in seen
        seen.add(registry.version)


def test_a_change_while_somebody_iterates_hurts_nobody():
    registry = SkillRegistry()
    for name in "abc": registry.register(Skill(name))
    assert [registry.unregister(s.name) and s.name for s in registry] == ["a", "b", "c"] and len(registry) == 0


@pytest.mark.parametrize("wrong", [dict(name=""), dict(name=":"), dict(name="x", priority="high"), dict(name="x", priority=None), dict(name="x", priority=True)])
def test_a_skill_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(SkillError): Skill(**wrong)


@pytest.mark.parametrize("wrong", [dict(priority=float("nan")), dict(trigger=True), dict(deterministic="allow"), dict(probabilistic="text"), dict(system_prompt_augment="text")])
def test_parts_that_are_no_functions_are_refused(wrong):
    with pytest.raises(SkillError): Skill("x", **wrong)


def test_circles_and_missing_ones_are_named():
    registry = SkillRegistry()
    registry.register(Skill("a", dependencies=("b",)))
    with pytest.raises(SkillError, match="b"): registry.in_order()
    registry.register(Skill("b", dependencies=("a",)))
    with pytest.raises(SkillError, match="circle"): registry.in_order()


def test_a_skill_whose_dependency_is_missing_writes_no_prompt():
    registry = SkillRegistry()
    registry.register(Skill("a", dependencies=("nobody",), trigger=lambda s: True, probabilistic=lambda s: "mine"))
    assert registry.find_triggered(SIGNAL, "probabilistic") is None


@pytest.mark.parametrize("prompt", [lambda s: None, lambda s: "", lambda s: 42, lambda s: b"x", raising, mute, leaving, lambda: "x", lambda s: "\ud800"])
async def test_a_broken_prompt_ends_in_an_answer(prompt):
    agent = Agent.bare()
    agent.skills.register(Skill("broken", trigger=lambda s: True, probabilistic=prompt))
    agent.backends.register("model", lambda prompt, system_prompt: "hello", inline=True)
    reply = await agent.handle("hi")
    assert reply == "hello" or "Something went wrong" in reply or "tried to end the program" in reply


@pytest.mark.parametrize("part", ["trigger", "system_prompt_augment", "probabilistic", "deterministic"])
async def test_a_part_that_says_it_was_cancelled_cancels_nobody(part):
    def cancels(*given): raise asyncio.CancelledError
    agent = Agent.bare()
    agent.skills.register(Skill("odd", **{"trigger": lambda s: True, "deterministic" if part == "trigger" else part: cancels, part: cancels}))
    agent.backends.register("model", lambda prompt, system_prompt: "hello", inline=True)
    reply = await agent.handle("hi")
    assert reply.status in ("answered", "rejected", "failed") and reply


async def test_a_prompt_that_hangs_is_stopped():
    agent = Agent.bare()
    agent.skills.limit_s = 0.02
    agent.skills.register(Skill("slow", trigger=lambda s: True, probabilistic=lambda s: time.sleep(60) or "x"))
    begun = time.monotonic()
    await agent.handle("hi")
    assert time.monotonic() - begun < 30


def test_the_tables_name_all_that_a_page_can_say_and_ask_for():
    "The line `schedule` and the permissions `worker` and `agenda` were read, and stood in neither table."
    from passepartout.skillfiles import skillpage
    page = (Path(__file__).parents[1] / "nbs/_md/skillfiles/10d_skillpage.md").read_text()
    said = set(re.findall(r'(?:about\.get|said)\("([A-Z]+)"\)', Path(skillpage.__file__).read_text()))
    rows = set(re.findall(r"(?m)^\| `([a-z]+)` \|", page))
    assert said and rows == {each.lower() for each in said} | set(skillpage.PERMISSIONS)
