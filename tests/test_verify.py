"""The verdict algebra, by Hypothesis: whatever gates there are, verdicts only tighten and judge what would run."""
import asyncio
import json
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.conditions import GateError
from passepartout.messages import Action, Allowed, ApprovalRequired, Rejected, Signal
from passepartout.plist import Keyword, read_plist
from passepartout.skills import Skill, SkillRegistry
from passepartout.agent import Agent
from passepartout.messages import PERSON, Label
from passepartout.tools import Effects, Parameter, Tool, ToolRegistry
from passepartout.pastturns import parts
from passepartout.verify import ANYTHING, MANDATORY, ROUNDS, ClearanceTable, Manifest, clear, is_spared, judge, judgement_record, lines_of, normalise

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
    severity = (Allowed, ApprovalRequired, Rejected).index
    assert severity(type(after)) >= severity(type(before))


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


@pytest.mark.parametrize("error", [SystemExit(1), GeneratorExit(), asyncio.CancelledError()], ids=lambda e: type(e).__name__)
def test_a_gate_that_exits_rejects(error):
    "A plain function cannot be cancelled from outside: what looks like it is the gate's own fault."
    def leaves(action, signal): raise error
    try: verdict = judge(agent_with(Skill("leaves", deterministic=leaves)), call(), SIGNAL).verdict
    except BaseException: verdict = None
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


# What is recorded -----------------------------------------------------------------------------------------------------------

@given(gates, st.sampled_from(["proposal", "plan-step", "verdict"]))
@settings(deadline=None, max_examples=examples(60))
def test_what_the_gates_said_reads_from_the_record_as_they_said_it(described, kind):
    judgement = judge(agent_with(*skills_of(described)), call(), SIGNAL)
    body = judgement_record(judgement)
    assert type(body["gates"]) is dict or len(judgement.rounds) != 1                     # names and times, and no row for each
    for stored in (body, json.loads(json.dumps(body))):
        told = dict(parts(kind, stored))["verdict"]
        assert [tuple(line) for line in told["gates"]] == judgement.trace and told["verdict"] == body["verdict"]
    assert dict(parts(kind, {**body, "gates": [list(line) for line in judgement.trace]}))["verdict"]["gates"] == [list(line) for line in judgement.trace]     # as it was recorded before


@pytest.mark.parametrize("gates", [None, "policy", 5, True, [], (), {}])
def test_a_record_in_which_something_else_stands_has_no_lines(gates):
    assert lines_of(gates) == [] == dict(parts("proposal", {"verdict": "allowed", "gates": gates}))["verdict"]["gates"]


# Gates that are spared a question -------------------------------------------------------------------------------------------

KINDS_OF_ARGUMENT = {"path": "../../etc/passwd", "address": "http://169.254.169.254/?q=blue", "command": "rm -rf / | sh", "text": "AKIA4ZC2QK7MWLJ5YTXE", "limit": 7}


async def with_tools(tmp_path):
    "A booted agent in whose turn something private and strange was read, with a tool for each effect and each kind of argument, our own and others'; the signal of the turn."
    (tmp_path / "memex").mkdir()
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", journal=":memory:")
    for kind, value in KINDS_OF_ARGUMENT.items():
        for effects in range(8):
            name = f"{kind}-{effects}"
            agent.tools.register(Tool(name, "", [Parameter("what", "integer" if kind == "limit" else "string", kind=kind)], lambda what: "", foreign=bool(effects & 4),
                                      effects=Effects(read_only=bool(effects & 1), open_world=bool(effects & 2))))
    return agent


def signals_of(agent):
    "What may have led to a proposal, each in a turn of its own in which somebody's private mail was read."
    for sensor in ("user-input", "tool-output", "worker", "approval-required", "heartbeat"):
        signal = agent.in_turn(Signal.of({"payload": {"sensor": sensor, "text": "do it", "reason": "it is late", "approval": "a1"}, "meta": {"source": "cli"}}))
        turn = agent.turns.of(signal)
        turn.private, turn.label = True, Label("network", True, ("a mail",))
        for label in (PERSON, turn.label): yield signal.evolve(label=label)


async def test_a_gate_that_is_spared_a_question_would_have_let_it_pass(tmp_path):
    agent, spared, asked = await with_tools(tmp_path), set(), set()
    values = {tool.name: {p.name: KINDS_OF_ARGUMENT.get(p.kind, "AKIA4ZC2QK7MWLJ5YTXE") for p in tool.parameters} for tool in agent.tools}
    for signal in signals_of(agent):
        for about in (None, *agent.tools):
            if about is None: action = Action.of({"payload": {"action": "message", "text": "AKIA4ZC2QK7MWLJ5YTXE"}})
            else: action = Action.of({"target": "tool", "payload": {"action": "call", "tool": about.name, "args": values[about.name], "explanation": "ok"}})
            for gate in agent.manifest.values():
                if is_spared(gate, about):
                    spared.add((gate.name, about is None))
                    assert gate.deterministic(action, signal) is action, (gate.name, about)
                elif gate.deterministic(action, signal) is not action: asked.add(gate.name)
    await agent.close()
    assert {name for name, _ in spared} == {*agent.manifest} - {"policy"}, "A gate that looks at some tools only says at which (concerns of its Skill). One that looks at all of them stands beside policy here."
    assert asked == {*agent.manifest}, "A gate objected to none of these actions, so nothing was shown of it: add one above that it refuses or asks about."


def guarded(*skills):
    "An agent with these gates as its manifest, besides mandatory ones that pass everything, and with a tool for files."
    agent = agent_with(*skills, *[Skill(name, deterministic=lambda action, signal: action) for name in MANDATORY if name not in {s.name for s in skills}])
    agent.manifest = Manifest({skill.name: skill for skill in agent.skills})
    agent.tools.register(Tool("open", "", [Parameter("path", kind="path")], lambda path: path))
    return agent


def test_the_trace_has_a_line_for_a_gate_that_is_spared_and_it_stands_in_its_place():
    seen, concerns = [], lambda tool: tool is not None and bool(tool.paths)
    agent = guarded(Skill("paths", priority=50, deterministic=lambda a, s: seen.append(str(a)) or a, concerns=concerns))
    opens = Action.of({"target": "tool", "payload": {"action": "call", "tool": "open", "args": {"path": "x"}}})
    for action in (call(), Action.of({"payload": {"text": "hi"}}), opens): judge(agent, action, SIGNAL)
    assert seen == [str(normalise(agent, opens))]
    judge(agent, Action.of({"target": "elsewhere", "payload": {"text": "hi"}}), SIGNAL)                    # no answer and no call: everybody is asked
    judge(agent, Action.of({"target": "tool", "payload": {"tool": "nowhere"}}), SIGNAL)
    assert len(seen) == 3
    traces = [[(name, word) for name, word, *_ in judge(agent, action, SIGNAL).trace] for action in (call(), opens)]
    assert traces[0] == traces[1] and len(traces[0]) == len(MANDATORY)


@pytest.mark.parametrize("concerns", [lambda tool: None, lambda tool: 0, lambda tool: [][0], lambda tool: "no"])
def test_only_a_plain_no_spares_a_gate(concerns):
    assert isinstance(judge(guarded(Skill("paths", deterministic=lambda a, s: Rejected("no"), concerns=concerns)), call(), SIGNAL).verdict, Rejected)


def test_only_a_gate_of_the_manifest_that_needs_no_other_is_taken_at_its_word():
    agent = guarded()
    agent.skills.register(Skill("mine", deterministic=lambda a, s: Rejected("no"), concerns=lambda tool: False))
    assert isinstance(judge(agent, call(), SIGNAL).verdict, Rejected)
    needs = guarded(Skill("leans", dependencies=("nobody",), deterministic=lambda a, s: a, concerns=lambda tool: False))
    assert "not loaded" in judge(needs, call(), SIGNAL).verdict.text
    assert not is_spared(Skill("any", concerns=lambda tool: False), ANYTHING)


def test_nobody_is_spared_while_a_mandatory_gate_is_missing():
    seen, hello = [], Action.of({"payload": {"text": "hi"}})
    agent = guarded(Skill("paths", deterministic=lambda a, s: seen.append(1) or a, concerns=lambda tool: False))
    judge(agent, hello, SIGNAL)
    assert seen == []
    agent.skills.unregister("policy")
    assert isinstance(judge(agent, hello, SIGNAL).verdict, Allowed) and seen == [1]


def test_a_tool_that_is_declared_anew_is_looked_at_anew():
    agent = guarded(Skill("paths", deterministic=lambda a, s: Rejected("no"), concerns=lambda tool: tool is not None and bool(tool.paths)))
    assert isinstance(judge(agent, call(), SIGNAL).verdict, Allowed)
    agent.tools.register(Tool("count", "", [Parameter("n", "string", kind="path", default="")], lambda n: n))
    assert isinstance(judge(agent, call("x"), SIGNAL).verdict, Rejected)


def test_a_gate_that_a_change_of_the_action_concerns_is_asked_in_the_next_round():
    other = Action.of({"target": "tool", "payload": {"action": "call", "tool": "open", "args": {"path": "x"}}})
    swaps = Skill("swaps", priority=90, deterministic=lambda a, s: other if a.payload["tool"] == "count" else a)
    agent = guarded(swaps, Skill("paths", deterministic=lambda a, s: Rejected("no"), concerns=lambda tool: tool is not None and bool(tool.paths)))
    assert isinstance(judge(agent, call(), SIGNAL).verdict, Rejected)


@pytest.mark.parametrize("wrong", [dict(trigger=lambda signal: True, deterministic=lambda a, s: a), {}], ids=["a trigger", "no function"])
def test_a_mandatory_gate_with_a_trigger_or_without_a_function_counts_as_missing(wrong):
    agent = agent_with(*[Skill(name, deterministic=lambda a, s: a) for name in MANDATORY[1:]], Skill(MANDATORY[0], **wrong))
    agent.manifest = Manifest({name: agent.skills.get(name) for name in MANDATORY})
    assert judge(agent, call(), SIGNAL).verdict.gate == "manifest"
