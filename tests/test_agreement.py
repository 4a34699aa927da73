"""Votes under attack: a provider that votes twice, late, in twins of letters, or not at all."""
import asyncio
import time

import pytest

from passepartout.agent import Agent
from passepartout.agreement import agreed, difference
from passepartout.backends import consensus_call
from passepartout.conditions import LLMError, compute_restarts, handler_bind
from passepartout.messages import Action, ApprovalRequired, Rejected
from passepartout.skills import Skill
from passepartout.tools import Tool


def call(text, explanation="why"): return f'(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "do" :EXPLANATION "{explanation}" :ARGS (:WHAT "{text}")))'

def agent_with(*fns, rule="unanimous", gate=None, **more):
    agent = Agent.bare(consensus=rule, **more)
    agent.ran = []
    agent.tools.register(Tool("do", "does it", [{"name": "what", "type": "string"}], lambda args: agent.ran.append(args["what"]) or "done"))
    if gate is not None: agent.skills.register(Skill("g", deterministic=gate))
    for i, fn in enumerate(fns): agent.backends.register(f"p{i}", fn if callable(fn) else (lambda prompt, system_prompt, fn=fn: fn), inline=not callable(fn), local=True)
    return agent

def once(first):
    "Proposes `first`, and talks from then on."
    asked = []
    def fn(prompt, system_prompt):
        asked.append(prompt)
        return first if len(asked) == 1 else "done"
    return fn

async def late(prompt, system_prompt):
    try: await asyncio.sleep(30)
    except asyncio.CancelledError: pass
    return call("x")                                          # its answer comes while the others are being stopped

def down(prompt, system_prompt): raise ConnectionError("refused")


@pytest.mark.parametrize("rule, texts, runs", [
    ("unanimous", "xx", True), ("unanimous", "xy", False), ("unanimous", "xxy", False), ("unanimous", "x-", False), ("unanimous", "xx-", True), ("unanimous", "x", True),
    ("majority", "xxy", True), ("majority", "xyz", False), ("majority", "xxyy", False), ("majority", "x-", False), ("majority", "x--", False), ("majority", "xx--", False), ("majority", "xx-", True)])
async def test_the_rule_is_exact(rule, texts, runs):
    agent = agent_with(*[down if text == "-" else once(call(text, f"because {n}")) for n, text in enumerate(texts)], rule=rule)
    try:
        reply = await agent.handle("go")
        assert (agent.ran, reply.status) == ((["x"], "answered") if runs else ([], "requires-approval"))
    finally: await agent.close()


async def test_who_stands_twice_in_the_cascade_has_one_voice():
    agent = agent_with(call("evil"), call("good"))
    agent.provider_cascade = ("p0", "P0", ":p0", "p0", "p1")
    try:
        reply = await agent.handle("go")
        assert agent.ran == [] and "2 providers were asked" in reply.approvals[0].reason
    finally: await agent.close()


async def test_a_late_answer_is_no_vote_and_nobody_waits_for_it():
    agent, begun = agent_with(call("x"), late, consensus_timeout_s=0.1), time.monotonic()
    try:
        votes = await consensus_call(agent, "go")
        assert [vote.content is not None for vote in votes] == [True, False] and time.monotonic() - begun < 5
        reply = await agent.handle("go")
        assert agent.ran == [] and "no answer within 0.1 s" in reply.approvals[0].reason
    finally: await agent.close()


@pytest.mark.parametrize("twin", ["p\u0430y Ana", "pay\u200b Ana", "pay\u00a0Ana", "pay Ana\u202e", "ﬁne", "pay  Ana", "Pay Ana"])
async def test_twins_are_two_and_the_person_sees_what_differs(twin):
    agent = agent_with(call("pay Ana"), call(twin))
    try:
        reply = await agent.handle("go")
        why = reply.approvals[0].reason
        assert agent.ran == [] and "args.what" in why and "\u200b" not in why and "\u202e" not in why and "\x1b" not in why
        if not twin.isascii() and "ﬁ" not in twin: assert "(U+" in why
    finally: await agent.close()


async def test_a_proposal_with_two_lists_is_no_vote():
    agent = agent_with(call("x") + "\n" + call("y"), call("x"))
    try:
        reply = await agent.handle("go")
        assert agent.ran == [] and reply.status == "requires-approval" and "cannot be read" in reply.approvals[0].reason
    finally: await agent.close()


async def test_what_the_gates_ask_is_asked_together_with_the_disagreement_and_a_no_stays_a_no():
    agent = agent_with(call("x"), call("y"), gate=lambda action, signal: ApprovalRequired(action, "May I?") if action.target == "tool" else action)
    try:
        why = (await agent.handle("go")).approvals[0].reason
        assert "May I?" in why and "do not agree" in why
    finally: await agent.close()
    agent = agent_with(call("x"), call("x"), gate=lambda action, signal: Rejected("No.") if action.target == "tool" else action)
    try: assert (await agent.handle("go")).status == "rejected" and agent.ran == []
    finally: await agent.close()


async def test_when_nobody_answers_it_is_a_failure_with_restarts_and_says_who_failed_how():
    agent, heard = agent_with(down, lambda prompt, system_prompt: ""), []
    try:
        with handler_bind((LLMError, lambda error: heard.append((error.cascade, {r.name for r in compute_restarts()})))): reply = await agent.handle("go")
        assert reply.status == "failed" and "p0: refused" in reply and "p1: an empty answer" in reply
        assert heard[0][0] == ("p0", "p1") and {"use_fallback", "retry_with", "abort_pipeline", "skip_signal"} <= heard[0][1]
    finally: await agent.close()


def test_a_difference_is_bounded_whatever_is_proposed():
    big = lambda fill: Action.of({"type": "request", "target": "tool", "payload": {"action": "call", "tool": "do", "args": {**{f"f{n}": fill * 5000 for n in range(100)}}}})
    assert len(difference(big("a"), big("b"), ("x", "y"))) < 4000
    assert agreed([], 0, 0) is None


def test_what_nobody_sees_in_a_proposal_is_spelled_out():
    "A selector of variants is printable to Python, and two proposals that differed by one were shown as the same words."
    told = difference(*(Action.of({"target": "tool", "payload": {"action": "call", "tool": "send", "args": {"to": to}}}) for to in ("ana@example.org", "an\U000e0100a@example.org")), ("a", "b"))
    assert "an⟨U+E0100⟩a@example.org" in told
