"""The verdict algebra, by Hypothesis: whatever gates there are, verdicts only tighten and judge what would run."""
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.conditions import GateError, PassepartoutError
from passepartout.messages import Action, Allowed, ApprovalRequired, FrozenDict, Rejected, Signal, severity
from passepartout.plist import Keyword, read_plist
from passepartout.skills import Skill, SkillRegistry
from passepartout.tools import Parameter, Tool, ToolRegistry
from passepartout.verify import ROUNDS, ClearanceTable, clear, interpret, judge, normalise

SIGNAL = Signal.of({"payload": {"sensor": "user-input", "text": "go"}, "meta": {"source": "cli", "session": "main"}})


def call(n=0, **more): return Action.of({"target": "tool", "payload": {"action": "call", "tool": "count", "args": {"n": n}, **more}})

def n_of(action): return action.payload["args"]["n"]

def with_n(action, n): return action.model_copy(update={"payload": {**action.payload, "args": {"n": n}}})


def agent_with(*skills):
    agent = SimpleNamespace(skills=SkillRegistry(), tools=ToolRegistry(), manifest=None, clearances=ClearanceTable(), answer_to=lambda a, s, shown: None)
    agent.tools.register(Tool("count", "", [Parameter("n", "integer", default=0)], lambda n: n))
    for skill in skills: agent.skills.register(skill)
    return agent


def gate(kind, level, seen=None, name=""):
    "A gate of `kind`; one that modifies raises n to at least `level`, which is idempotent, as gates have to be."
    def fn(action, signal):
        if seen is not None: seen.append((name, n_of(action)))
        if kind == "raise": raise ValueError("broken")
        if kind == "deny": return Rejected("no")
        if kind == "nonsense": return None
        if kind == "ask": return ApprovalRequired(action, f"may I {name}")
        if kind == "ask high": return ApprovalRequired(action, "so many") if n_of(action) > 2 else action
        if kind == "deny high": return Rejected("too many") if n_of(action) > 4 else action
        if kind == "raise to": return with_n(action, max(n_of(action), level))
        return Allowed(action) if kind == "allow" else action
    return fn


KINDS = ("allow", "pass", "ask", "ask high", "deny high", "raise to", "deny", "raise", "nonsense")
gates = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 6), st.integers(0, 3)), max_size=6)
mild = st.lists(st.tuples(st.sampled_from([k for k in KINDS if k not in ("deny", "raise", "nonsense")]), st.integers(0, 6), st.integers(0, 3)), max_size=6)


def skills_of(described, seen=None, names=None, foreign=False):
    names = names or [f"g{i}" for i in range(len(described))]
    return [Skill(name, priority=priority, deterministic=gate(kind, level, seen, name), foreign=foreign) for name, (kind, level, priority) in zip(names, described)]


def result(verdict):
    "What has to be equal: kind of verdict, final action, reasons in any order."
    if isinstance(verdict, Rejected): return ("rejected",)
    return (type(verdict).__name__, verdict.action.hash)


@given(gates, st.tuples(st.sampled_from(KINDS), st.integers(0, 6), st.integers(0, 3)))
@settings(deadline=None, max_examples=examples(60))
def test_another_gate_never_loosens(described, more):
    before = judge(agent_with(*skills_of(described)), call(), SIGNAL).verdict
    after = judge(agent_with(*skills_of([*described, more])), call(), SIGNAL).verdict
    assert severity(after) >= severity(before)


@given(gates, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(60))
def test_the_order_of_equal_priorities_does_not_matter(described, random):
    names = [f"g{i}" for i in range(len(described))]
    random.shuffle(names)
    described = [(kind, level, 10) for kind, level, _ in described]
    assert result(judge(agent_with(*skills_of(described)), call(), SIGNAL).verdict) == result(judge(agent_with(*skills_of(described, names=names)), call(), SIGNAL).verdict)


@given(gates, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(60))
def test_the_order_of_registration_does_not_matter(described, random):
    skills = skills_of(described)
    shuffled = random.sample(skills, len(skills))
    one, other = judge(agent_with(*skills), call(), SIGNAL), judge(agent_with(*shuffled), call(), SIGNAL)
    assert [entry[:3] for entry in one.trace] == [entry[:3] for entry in other.trace]


@given(gates)
@settings(deadline=None, max_examples=examples(60))
def test_deny_beats_ask_beats_modify_beats_allow(described):
    verdict, kinds = judge(agent_with(*skills_of(described)), call(), SIGNAL).verdict, {kind for kind, _, _ in described}
    highest = max([level for kind, level, _ in described if kind == "raise to"], default=0)
    if kinds & {"deny", "raise", "nonsense"} or ("deny high" in kinds and highest > 4): assert isinstance(verdict, Rejected)
    elif "ask" in kinds or ("ask high" in kinds and highest > 2): assert isinstance(verdict, ApprovalRequired) and n_of(verdict.action) == highest
    else: assert isinstance(verdict, Allowed) and n_of(verdict.action) == highest


@given(gates)
@settings(deadline=None, max_examples=examples(60))
def test_nothing_is_asked_after_a_denial(described):
    seen = []
    judgement = judge(agent_with(*skills_of(described, seen)), call(), SIGNAL)
    words = [entry[1] for entry in judgement.trace]
    assert "rejected" not in words[:-1]
    assert [name for name, _ in seen] == [entry[0] for entry in judgement.trace]


@given(mild)
@settings(deadline=None, max_examples=examples(60))
def test_every_gate_has_judged_what_would_run(described):
    seen = []
    verdict = judge(agent_with(*skills_of(described, seen)), call(), SIGNAL).verdict
    if isinstance(verdict, Rejected): return
    final, last = n_of(verdict.action), dict(seen)
    assert set(last.values()) <= {final} and len(last) == len(described)


@given(gates)
@settings(deadline=None, max_examples=examples(60))
def test_judging_again_what_came_out_changes_nothing(described):
    agent = agent_with(*skills_of(described))
    once = judge(agent, call(), SIGNAL).verdict
    if isinstance(once, Rejected): return
    again = judge(agent, once.action, SIGNAL).verdict
    assert result(again) == result(once) and again.action is once.action


@given(mild)
@settings(deadline=None, max_examples=examples(60))
def test_an_ask_names_the_final_action_and_gives_every_reason(described):
    verdict = judge(agent_with(*skills_of(described)), call(), SIGNAL).verdict
    if not isinstance(verdict, ApprovalRequired): return
    for i, (kind, _, _) in enumerate(described):
        if kind == "ask": assert f"may I g{i}" in verdict.reason
    assert n_of(verdict.action) == max([level for kind, level, _ in described if kind == "raise to"], default=0)


@given(gates)
@settings(deadline=None, max_examples=examples(60))
def test_a_foreign_gate_only_rejects_or_asks(described):
    agent = agent_with(*skills_of(described, foreign=True))
    verdict = judge(agent, call(), SIGNAL).verdict
    assert isinstance(verdict, Rejected) or n_of(verdict.action) == 0


def test_gates_that_undo_each_other_are_denied_after_eight_rounds():
    seen = []
    def to(n):
        def fn(action, signal): seen.append(n); return with_n(action, n)
        return fn
    verdict = judge(agent_with(Skill("one", deterministic=to(1)), Skill("two", deterministic=to(2))), call(), SIGNAL).verdict
    assert isinstance(verdict, Rejected) and "rounds" in verdict.text and len(seen) <= 2 * ROUNDS
    growing = Skill("more", deterministic=lambda a, s: with_n(a, n_of(a) + 1))
    assert isinstance(judge(agent_with(growing), call(), SIGNAL).verdict, Rejected)


def test_what_a_gate_changes_is_normalised_and_other_words_for_the_same_are_no_change():
    other_words = Skill("words", deterministic=lambda a, s: a.model_copy(update={"payload": {**a.payload, "explanation": "hi"}}))
    verdict = judge(agent_with(other_words), call(), SIGNAL).verdict
    assert isinstance(verdict, Allowed) and "explanation" not in verdict.action.payload
    for worse in ({"args": {"n": "many"}}, {"args": {"n": 1, "cmd": "rm"}}, {"tool": 5}, {"action": "eval"}):
        broken = Skill("broken", deterministic=lambda a, s: Allowed(a.model_copy(update={"payload": {**a.payload, **worse}})))
        assert isinstance(judge(agent_with(broken), call(), SIGNAL).verdict, Rejected)


# What gates open ------------------------------------------------------------------------------------------------------------

class Opened:
    def __init__(self): self.closed = 0
    def close(self): self.closed += 1


def opening(made, name="n"):
    def fn(action, signal):
        made.append(Opened())
        return Allowed(action, {name: made[-1]})
    return fn


@given(mild)
@settings(deadline=None, max_examples=examples(60))
def test_everything_opened_is_closed_but_what_the_verdict_carries(described):
    made = []
    judgement = judge(agent_with(Skill("opens", priority=99, deterministic=opening(made)), *skills_of(described)), call(), SIGNAL)
    kept = list(judgement.resolved.values())
    assert [o for o in made if not o.closed] == kept
    judgement.close()
    assert all(o.closed == 1 for o in made)


def test_refusals_and_unanswered_asks_close_what_was_opened():
    for kind in ("deny", "raise", "ask"):
        made = []
        agent = agent_with(Skill("opens", priority=99, deterministic=opening(made)), *skills_of([(kind, 0, 1)]))
        permit, _ = clear(agent, call(), SIGNAL)
        assert permit is None and all(o.closed for o in made) and made


def test_outstanding_clearances_are_bounded_and_close_what_they_hold():
    made = []
    agent = agent_with(Skill("opens", deterministic=opening(made)))
    agent.clearances.most = 8
    for _ in range(50): clear(agent, call(), SIGNAL)
    assert len(agent.clearances) <= 8 and sum(not o.closed for o in made) <= 8
    agent.clearances.expire()
    assert all(o.closed == 1 for o in made)


@pytest.mark.parametrize("foreign", [True, False])
def test_no_gate_replaces_what_another_gate_opened(foreign):
    made, other = [], []
    judgement = judge(agent_with(Skill("opens", priority=99, deterministic=opening(made)), Skill("swaps", priority=1, deterministic=opening(other), foreign=foreign)), call(), SIGNAL)
    assert isinstance(judgement.verdict, Rejected) or judgement.resolved.get("n") is made[0]
    assert all(o.closed for o in made + other if o not in judgement.resolved.values())


# Nonsense -------------------------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["call", ":CALL", "message", "tool", "count", "request", Keyword("call"), Keyword("tool"), b"x", object()])
names = st.sampled_from(["type", "TARGET", ":payload", "action", "Tool", "args", "text", "explanation", "meta", "n", "a_b", "a-b", "approved"]) | st.text(max_size=4)
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.integers(), inner, max_size=5), max_leaves=12)


@given(junk)
@settings(max_examples=examples(150), deadline=None)
def test_any_proposal_gets_a_verdict_and_no_exception(proposal):
    verdict = judge(agent_with(), proposal, SIGNAL).verdict
    assert isinstance(verdict, (Allowed, Rejected))
    if isinstance(verdict, Allowed):
        agent = agent_with()
        assert normalise(agent, normalise(agent, verdict.action)) is normalise(agent, verdict.action)


@given(junk)
@settings(max_examples=examples(150), deadline=None)
def test_whatever_a_gate_returns_passes_only_as_an_action_or_verdict(returned):
    verdict = judge(agent_with(Skill("odd", deterministic=lambda a, s: returned)), call(), SIGNAL).verdict
    if isinstance(verdict, Allowed): assert isinstance(returned, dict)      # a whole :REQUEST, which is a modification


@given(st.sampled_from(["call", "message", "tool", "request", "event", "heartbeat", "approval-required"]), st.data())
@settings(deadline=None, max_examples=examples(60))
def test_a_known_word_is_one_object_in_every_spelling(word, data):
    "The stages compare known words with `is`: then no spelling may be equal and yet another object."
    spelled = "".join(data.draw(st.sampled_from([c, c.upper()])) if c != "-" else data.draw(st.sampled_from("-_")) for c in word)
    colon = data.draw(st.sampled_from(["", ":"]))
    for given_word in (colon + spelled, Keyword(colon + spelled), read_plist(":" + spelled), read_plist(f":|{word.upper()}|")):
        message = Action.of({"type": "request", "target": given_word, "payload": {"action": given_word}})
        assert message.target is Keyword(word) and message.payload["action"] is Keyword(word)


def test_a_subclass_of_a_verdict_is_that_verdict():
    class Refused(Rejected): pass
    class Fine(Allowed): pass
    assert isinstance(judge(agent_with(Skill("sub", deterministic=lambda a, s: Refused("no"))), call(), SIGNAL).verdict, Rejected)
    assert isinstance(judge(agent_with(Skill("sub", deterministic=lambda a, s: Fine(a))), call(), SIGNAL).verdict, Allowed)


@pytest.mark.parametrize("resolved", [5, "x", [1], None, object()])
def test_resources_that_are_no_mapping_reject(resolved):
    for verdict in (Allowed(call(), resolved), ApprovalRequired(call(), "hm", resolved=resolved)):
        assert isinstance(judge(agent_with(Skill("odd", deterministic=lambda a, s: type(verdict)(a, resolved=resolved))), call(), SIGNAL).verdict, Rejected)


def test_a_gate_that_exits_rejects():
    def leaves(action, signal): raise SystemExit(1)
    try: verdict = judge(agent_with(Skill("leaves", deterministic=leaves)), call(), SIGNAL).verdict
    except SystemExit: verdict = None
    assert isinstance(verdict, Rejected)


def test_the_time_limit_of_gates_is_the_setting():
    agent = agent_with(Skill("slow", deterministic=lambda a, s: time.sleep(60) or a))
    agent.settings = SimpleNamespace(gate_timeout_s=0.02)
    begun = time.monotonic()
    assert isinstance(judge(agent, call(), SIGNAL).verdict, Rejected) and time.monotonic() - begun < 30


def test_a_missing_dependency_rejects_and_a_cycle_does_not_hang():
    assert "not loaded" in judge(agent_with(Skill("needs", dependencies=("x",), deterministic=lambda a, s: a)), call(), SIGNAL).verdict.text
    one, two = Skill("one", dependencies=("two",), deterministic=lambda a, s: a), Skill("two", dependencies=("one",), deterministic=lambda a, s: a)
    assert isinstance(judge(agent_with(one, two), call(), SIGNAL).verdict, Allowed)


def test_nothing_that_claims_to_be_equal_is_taken_for_a_clearance():
    agent = agent_with(*skills_of([("raise to", 3, 1)]))
    permit, _ = clear(agent, call(), SIGNAL)
    class Twin:
        "Equal to everything, and found where the clearance is."
        def __hash__(self): return hash(permit)
        def __eq__(self, other): return True
    for forged in (Twin(), [permit]):
        with pytest.raises(GateError): agent.clearances.redeem(forged, agent, SIGNAL)
    assert agent.clearances.redeem(permit, agent, SIGNAL)


def test_a_clearance_holds_the_action_the_gates_saw_last():
    agent = agent_with(*skills_of([("raise to", 3, 1)]))
    permit, judgement = clear(agent, call(), SIGNAL)
    cleared = agent.clearances.redeem(permit, agent, SIGNAL)
    assert n_of(cleared.action) == 3 and cleared.hash == judgement.verdict.action.hash and cleared.in_dispatch
    with pytest.raises(GateError): agent.clearances.redeem(permit, agent, SIGNAL)
