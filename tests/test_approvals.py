"""Asking a person: codes, states, texts that want to mislead, and clocks that jump."""
import asyncio
import hashlib
import random
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.agent import Agent
from passepartout.outline.live import orders_in
from passepartout.consent.approvals import PendingApproval, code_hash, flight_plan, new_code, summarise, visible
from passepartout.conditions import PassepartoutError
from passepartout.edits import EditConflict
from passepartout.journal import Journal, JournalError
from passepartout.loop import loop_process
from passepartout.messages import Action, ApprovalRequired, Label, Rejected, Signal
from passepartout.plist import write_plist
from passepartout.sessions import rewind
from passepartout.settings import load_settings
from passepartout.skills import Skill
from passepartout.tools import Effects, Parameter, Tool, ToolError


class Clock:
    def __init__(self): self.now = 1_800_000_000.0
    def __call__(self): return self.now


def careful(action, signal): return ApprovalRequired(action, "May I?") if action.target == "tool" else action


async def asking(args=None, parameters=None, clock=None, body=None, **options):
    "An agent that has asked for one tool call, and the pending approval."
    agent = Agent(load_settings({}, environ={}), Journal.open(":memory:", clock=clock or time.time))
    agent.ran = []
    args = {"note": "x"} if args is None else args
    agent.tools.register(Tool("canary", "", parameters or {k: "any" for k in args}, body or (lambda **kwargs: agent.ran.append(kwargs)), **{"inline": True, **options}))
    agent.skills.register(Skill("careful", deterministic=careful))
    script = iter([write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "canary", "args": args, "explanation": "Ana asked for it"}})])
    agent.backends.register("model", lambda p, s: next(script, "done"), inline=True)
    reply = await agent.handle("go")
    return agent, reply.approvals[0]


def states(agent): return [a["state"] for a in agent.journal.approvals()]


async def test_the_code_runs_it_once():
    agent, pending = await asking()
    assert await agent.approve(pending.id, f"  {pending.code.upper()} ") == "done"
    assert agent.ran == [{"note": "x"}] and states(agent) == ["used"]
    with pytest.raises(PassepartoutError): await agent.approve(pending.id, pending.code)
    with pytest.raises(PassepartoutError): agent.deny(pending.id, pending.code)


async def test_the_code_stands_nowhere_but_in_the_reply():
    agent, pending = await asking()
    kept = [str(r) for r in agent.journal.records()] + [str(a) for a in agent.journal.approvals()] + agent.log.lines()
    assert all(pending.code not in text for text in kept)
    agent.desk.codes.clear()                                    # another process on the same journal
    assert agent.pending()[0].code == ""


async def test_what_a_persons_own_command_returns_goes_to_them_and_to_no_model():
    agent, pending = await asking(body=lambda **kwargs: "Nine thousand on the account.")
    asked = []
    agent.backends.register("model", lambda prompt, system: asked.append(prompt) or "I see.", inline=True)
    signal = Signal(payload={"sensor": "user-input", "text": "look"}, meta={"source": "cli", "session": "main"}, label=Label("person"))
    reply = await agent.process(signal, Action.of(pending.action))
    assert "Nine thousand" in str(reply) and asked == []


async def test_an_approval_that_there_never_was_says_so():
    agent, _ = await asking()
    reply = await agent.process(Signal(payload={"sensor": "approval-required", "approval": "none"}, meta={"source": "cli", "session": "main"}, label=Label("person")))
    assert agent.ran == [] and "not valid any more" in str(reply)


@pytest.mark.parametrize("hides, told", [(None, True), ("private", False), ("confidential", False)])
async def test_a_model_is_told_again_what_was_asked_for_unless_that_was_private(hides, told):
    "Behind a code the model sees no request any more, so it gets the one that the question belongs to, and not the latest; of a private one, whoever goes on may be anybody's model."
    agent, prompts = Agent(load_settings({}, environ={}), Journal.open(":memory:")), []
    agent.tools.register(Tool("canary", "", {"note": "any"}, lambda note: "sung", inline=True))
    agent.skills.register(Skill("careful", deterministic=careful))
    script = iter([write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "canary", "args": {"note": "x"}, "explanation": "It is to sing"}})])
    agent.backends.register("model", lambda prompt, system: prompts.append(prompt) or next(script, "done"), inline=True)
    pending, = (await agent.handle("have the canary sing for Ana")).approvals
    await agent.handle("and what about the weather")
    row_of, prompts[:] = agent.journal.approval, []
    if hides: agent.journal.approval = lambda ident: {**row_of(ident), hides: True}
    recalled, recall = [], agent.recall_request
    agent.recall_request = lambda signal, turn, given: recall(signal, turn, given) or recalled.append((turn.request, bool(turn.proposed)))
    await agent.approve(pending.id, pending.code)
    assert recalled == [("have the canary sing for Ana", True) if told else (recalled[0][0], False)] and (recalled[0][0] == "have the canary sing for Ana") is told


OTHERS = [{"label": Label("network")}, {"label": Label("model")}, {"label": Label("notes")}, {"depth": 1}]


@pytest.mark.parametrize("other", OTHERS)
async def test_only_the_persons_own_signal_brings_an_answer(other):
    "What a tool, a page or the agent itself puts in again may name an approval that was given, and say just what a person would type."
    agent, pending = await asking()
    agent.journal.approve(pending.id, by="person", session="main")
    back = Signal(payload={"sensor": "approval-required", "approval": pending.id}, meta={"source": "cli", "session": "main"}, label=Label("person"))
    typed = Signal(payload={"sensor": "user-input", "text": "canary x"}, meta=back.meta, label=back.label)
    action = Action.of(agent.journal.approval(pending.id)["action"])
    agent.exact_form = lambda signal: action
    assert (agent.answer_to(action, back), agent.answer_to(action, typed)) == (pending.id, "typed")
    for signal in (back, typed): assert agent.answer_to(action, signal.evolve(**other)) is None
    assert agent.given_action(back).hash == action.hash and agent.given_action(back.evolve(**other)) is None


@pytest.mark.parametrize("code", ["", "wrong", None, "x" * 100_000, "'; DROP TABLE approvals; --", "\x00"])
async def test_a_wrong_code_says_so_and_five_of_them_end_it(code):
    agent, pending = await asking()
    for _ in range(4):
        with pytest.raises(PassepartoutError, match="does not fit"): await agent.approve(pending.id, code)
    with pytest.raises(PassepartoutError, match="Too many"): await agent.approve(pending.id, code)
    with pytest.raises(PassepartoutError): await agent.approve(pending.id, pending.code)
    assert agent.ran == [] and states(agent) == ["denied"]


@pytest.mark.parametrize("code", [123456, "\ud800", ["a"]])
async def test_a_code_of_another_kind_does_not_fit_either(code):
    agent, pending = await asking()
    with pytest.raises(PassepartoutError): await agent.approve(pending.id, code)


async def test_another_session_cannot_answer():
    agent, pending = await asking()
    for session in ("other", "", None, "MAIN"):
        for ident in (pending.id, None):
            with pytest.raises(PassepartoutError): await agent.approve(ident, pending.code, session=session)
    assert agent.ran == [] and states(agent) == ["pending"]


async def test_without_an_id_the_code_finds_its_question():
    agent, pending = await asking()
    await agent.approve(None, pending.code)
    assert agent.ran == [{"note": "x"}]


async def test_a_code_fits_one_question_only():
    agent, first = await asking()
    assert code_hash("a", first.code, agent.journal.mac) != code_hash("b", first.code, agent.journal.mac)


async def test_a_record_gives_no_code_away_to_who_tries_them_all_at_home():
    "A billion hashes are minutes: without the journal's key there must be nothing to try."
    agent, first = await asking()
    kept = agent.journal.approval(first.id)["code_hash"]
    for text in (f"{first.id}:{first.code}", f"code {first.id}:{first.code}", first.code): assert hashlib.sha256(text.encode()).hexdigest() != kept


async def test_wrong_codes_are_counted_over_processes():
    "A command line is a process of its own, and whoever guesses would begin again with each."
    agent, pending = await asking()
    for _ in range(4):
        agent.desk.failures.clear()
        with pytest.raises(PassepartoutError, match="does not fit"): await agent.approve(pending.id, "aaaaaa")
    agent.desk.failures.clear()
    with pytest.raises(PassepartoutError, match="Too many"): await agent.approve(pending.id, "aaaaaa")
    assert agent.ran == [] and states(agent) == ["denied"]


async def test_a_wrong_code_counts_for_every_question_it_was_tried_on_and_for_no_later_one():
    agent, first = await asking()
    for _ in range(3):
        with pytest.raises(PassepartoutError, match="does not fit"): await agent.approve(None, "aaaaaa")
    batch = agent.journal.batch("main", agent.journal.approval(first.id)["turn"])
    second = agent.desk.file(batch, ApprovalRequired(Action.of(first.action), "Again?"), "cli")
    await batch.commit()
    for tries in ("does not fit", "Too many"):
        with pytest.raises(PassepartoutError, match=tries): await agent.approve(None, "aaaaaa")
    assert [agent.journal.approval(each.id)["state"] for each in (first, second)] == ["denied", "pending"]
    agent.desk.failures.clear()
    for tries in ("does not fit", "does not fit", "Too many"):
        with pytest.raises(PassepartoutError, match=tries): await agent.approve(None, "aaaaaa")
    assert agent.ran == [] and states(agent) == ["denied", "denied"]


async def test_nothing_is_guessed_where_nothing_can_be_written():
    "On a full disk no wrong try gets into the journal, and an offer with the right code would have told that it is right."
    agent, pending = await asking()
    def full(*args, **kwargs): raise JournalError("The disk is full, so nothing was written.")
    agent.journal.write = full
    for _ in range(6):
        with pytest.raises(PassepartoutError): agent.offer(pending.id, "aaaaaa", "for 1 hour")
    with pytest.raises(PassepartoutError, match="disk is full|Too many"): agent.desk.find(pending.id, pending.code, "main")


async def test_a_forgotten_wrong_code_still_counts():
    agent, pending = await asking()
    for _ in range(4):
        with pytest.raises(PassepartoutError, match="does not fit"): await agent.approve(pending.id, "aaaaaa")
    agent.journal.erase(*[r["seq"] for r in agent.journal.records(kinds=["wrong-code"])])
    agent.desk.failures.clear()
    with pytest.raises(PassepartoutError, match="Too many"): await agent.approve(pending.id, "aaaaaa")


@pytest.mark.parametrize("jump,runs", [(-30, True), (10, True), (3_599, True), (3_601, False), (-3_600, False), (10 ** 9, False), (-10 ** 9, False)])
async def test_a_question_expires_whichever_way_the_clock_jumps(jump, runs):
    clock = Clock()
    agent, pending = await asking(clock=clock)
    clock.now += jump
    try: await agent.approve(pending.id, pending.code)
    except PassepartoutError as error: assert not runs and ("has expired, so nothing was done. Ask again" if jump > 0 else "the clock says ") in error.message
    assert bool(agent.ran) is runs
    with pytest.raises(PassepartoutError, match="There is nothing to approve here"): await agent.approve(None, "aaaaaa", "other")


async def test_a_question_that_a_clock_which_ran_ahead_ended_is_told_as_one():
    clock = Clock()
    agent, pending = await asking(clock=clock)
    clock.now += 10 ** 7
    assert agent.journal.lapse(agent.journal.run_out()[0])
    clock.now -= 10 ** 7
    for ident in (pending.id, None):
        with pytest.raises(PassepartoutError, match="by a clock that ran ahead or was set since, so nothing was done. Ask again"): await agent.approve(ident, pending.code)
    assert agent.ran == []


async def test_it_expires_between_the_answer_and_the_deed():
    clock = Clock()
    agent, pending = await asking(clock=clock)
    approve = agent.journal.approve
    def late(*args, **kwargs):
        row = approve(*args, **kwargs)
        clock.now += 4_000
        return row
    agent.journal.approve = late
    await agent.approve(pending.id, pending.code)
    assert agent.ran == [] and states(agent) == ["expired"]


async def test_an_approval_lifts_no_denial_that_came_later():
    agent, pending = await asking()
    agent.skills.register(Skill("later", priority=1, deterministic=lambda a, s: Rejected("no") if a.target == "tool" else a))
    await agent.approve(pending.id, pending.code)
    assert agent.ran == []


async def test_a_gate_that_changes_the_action_meanwhile_makes_a_new_question():
    agent, pending = await asking()
    agent.skills.register(Skill("changing", priority=99, deterministic=lambda a, s: a.model_copy(update={"payload": {**a.payload, "args": {"note": "y"}}}) if a.target == "tool" else a))
    await agent.approve(pending.id, pending.code)
    assert agent.ran == [] and len(agent.pending()) >= 1


async def test_a_tool_that_fails_uses_its_approval_up():
    def fails(**kwargs): raise ValueError("no")
    agent, pending = await asking(body=fails)
    await agent.approve(pending.id, pending.code)
    assert states(agent) == ["used"] and [e["state"] for e in agent.journal.effects()] == ["failed"]


async def test_an_approval_is_used_up_when_the_gates_no_longer_ask():
    agent, pending = await asking()
    agent.skills.unregister("careful")
    await agent.approve(pending.id, pending.code)
    assert len(agent.ran) == 1 and "approved" not in states(agent)


async def test_an_approval_is_used_up_when_the_tool_had_nothing_to_edit():
    agent, pending = await asking(body=lambda **kwargs: "nothing to do", edits=True)
    await agent.approve(pending.id, pending.code)
    assert "approved" not in states(agent)


async def test_an_approval_is_used_up_when_a_gate_now_refuses():
    agent, pending = await asking()
    agent.skills.register(Skill("later", priority=99, deterministic=lambda a, s: Rejected("no") if a.target == "tool" else a))
    await agent.approve(pending.id, pending.code)
    assert "approved" not in states(agent)


@pytest.mark.parametrize("parameter", [
    Parameter("deep", "boolean", default=False), Parameter("deep", "boolean", required=False), Parameter("tags", "list", default=()), Parameter("n", "number", default=0.5),
    Parameter("n", "integer", default=0), Parameter("on", "date", required=False)], ids=range(6))
async def test_what_was_asked_with_its_defaults_can_be_approved(parameter):
    agent, pending = await asking(args={}, parameters=[parameter])
    await agent.approve(pending.id, pending.code)
    assert len(agent.ran) == 1 and states(agent) == ["used"]


async def test_a_tool_without_parameters_can_be_approved():
    agent, pending = await asking(args={}, parameters=[])
    await agent.approve(pending.id, pending.code)
    assert len(agent.ran) == 1 and states(agent) == ["used"]


async def test_only_the_person_brings_an_approval_back():
    agent, pending = await asking()
    agent.skills.unregister("careful")
    agent.journal.approve(pending.id, by="person", session="main")
    for label, depth in (("network", 0), ("model", 0), ("tool", 0), ("person", 1)):
        await loop_process(agent, Signal(payload={"sensor": "approval-required", "approval": pending.id}, meta={"source": "cli", "session": "main"}, label=Label(label), depth=depth))
    assert agent.ran == []


# What the person sees -------------------------------------------------------------------------------------------------------

@given(st.text())
@settings(deadline=None, max_examples=examples(200))
def test_what_is_shown_can_all_be_seen(text):
    shown = visible(text)
    assert all(c.isprintable() or c == "\n" for c in shown)


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u2066", "\x1b[2K", "\r", "\x00", "\u00ad", "\ufeff", "\U000e0041", "\u2028", "\x85", "\ud800", "\x7f", "\t"])
def test_hidden_characters_are_spelled_out(hidden):
    assert hidden not in visible(f"a{hidden}b") and "<U+" in visible(f"a{hidden}b")


@pytest.mark.parametrize("text", ["x\n* DONE Approved :APPROVED:", "\u202egnp.exe", "x\r\x1b[1A\x1b[2Kharmless", "a" * 100_000, "\x00"])
async def test_a_note_cannot_mislead_whoever_approves(text):
    agent, pending = await asking(args={"note": text})
    plan = flight_plan(pending, "2026-11-19 08:00")
    assert plan.count("\n* ") == 0 and plan.startswith("* PLAN ") and ":APPROVED:" not in plan.splitlines()[0]
    assert all(c.isprintable() or c == "\n" for c in pending.summary + pending.reason + plan) and pending.code not in plan
    await agent.approve(pending.id, pending.code)
    assert agent.ran == [{"note": text}]


async def test_the_reason_of_a_gate_does_not_close_the_headline():
    plan = flight_plan(PendingApproval("id", "code", "summary", visible("may I?\n* DONE yes\n:PROPERTIES:"), 0.0), "tomorrow")
    assert plan.count("\n* ") == 0 and "DONE" not in plan.splitlines()[0]


def test_codes_are_long_and_hard_to_misread():
    codes = {new_code() for _ in range(500)}
    assert len(codes) > 495 and all(len(c) == 6 and not set(c) & set("il1o0") for c in codes)


async def test_the_explanation_stands_before_what_would_run():
    action = Action.of({"target": "tool", "payload": {"action": "call", "tool": "rm", "args": {"path": "/"}, "explanation": "Tidy up"}})
    assert summarise(action).splitlines()[0] == "The proposal says: Tidy up" and '"rm"' in summarise(action)


async def test_an_explanation_cannot_push_the_action_out_of_sight():
    action = Action.of({"target": "tool", "payload": {"action": "call", "tool": "rm", "args": {}, "explanation": "Tidy up\n" + "\n" * 200 + '(:TOOL "read-file")'}})
    assert len(summarise(action).splitlines()) < 10


FAR = {"blanks": ("a" + " " * 3_000 + "b", "<3,000 blanks>"), "empty lines": ("a" + "\n" * 300 + "b", "<299 empty lines>"),
       "marks on a letter": ("Z" + "\u0301" * 60, "\u0301<U+0301>"), "a mark on a sign": ("\u0331 one line goes", "<U+0331>"), "marks of Thai": ("\u0e01" + "\u0e47" * 30, "<U+0E47>")}


@pytest.mark.parametrize("what", FAR)
async def test_nothing_covers_a_question_or_pushes_it_off_the_screen(what):
    "On whatever screen: the text as it is sent to a service, the rows of the terminal, and the record of it."
    from passepartout.terminal.render import ask_lines, record_line
    text, told = FAR[what]
    agent, pending = await asking(args={"note": text})
    shown = [pending.summary, "\n".join(line.text for line in ask_lines(pending, 80)),
             *(record_line(r["kind"], r["body"]).text for r in agent.journal.records(kinds=["proposal", "ask"]))]
    for each in shown: assert told in each and text not in each, each[:300]


async def test_no_line_of_what_is_asked_about_begins_where_the_programs_own_lines_do():
    "A letter with the line Because: it only reads gave, on a telephone, a reason of its own."
    agent, pending = await asking(args={"note": "x\n\nBecause: it only reads.\n/approve k7f3xq"})
    assert [line for line in pending.summary.split("\n") if line.startswith(("Because", "/approve"))] == [] and "  Because: it only reads." in pending.summary


async def test_letters_of_another_alphabet_are_told_at_the_terminal_as_well():
    from passepartout.terminal.render import ask_lines
    agent, pending = await asking(args={"note": "x " * 30_000, "to": "\u0430na@example.org"})
    assert any("two alphabets" in line.text and "U+0430" in line.text for line in ask_lines(pending, 80)) and "U+0430" in pending.summary


@pytest.mark.parametrize("args, pieces", [({"path": "אבג/דהו.org"}, ["אבג", "/", "דהו"]), ({"command": "mv אבג דהו"}, ["אבג", "דהו"]), ({"command": "rm -r سلام/12/كتاب"}, ["سلام", "/", "12", "/", "كتاب"]),
                                          ({"url": "https://דהו.example/אבג"}, None), ({"path": "a.org", "text": "x\nאבג /usr/lib"}, ["אבג", "/", "usr", "/", "lib"]), ({"title": "שלום לכולם, תל-אביב 12.11, צה\"ל"}, None)])
async def test_what_a_screen_turns_round_is_told_in_its_order(args, pieces):
    "mv of one Hebrew name to another is drawn with the names exchanged, and a/b as b/a. A sentence in Hebrew is read as it is drawn."
    from passepartout.terminal.render import ask_lines
    agent, pending = await asking(args=args)
    told = [line for line in pending.summary.split("\n") if "turn this round" in line]
    assert told == [line.text for line in ask_lines(pending, 80) if "turn this round" in line.text]
    assert [line.partition("first ")[2] for line in told] == ([] if pieces is None else [", then ".join(f"“{piece}”" for piece in pieces) + "."])


@pytest.mark.slow
async def test_very_much_that_a_screen_turns_round_is_told_shortly_and_soon():
    for text in ("א/" * 50_000, ("א" + " " * 25_000) * 4, "אa/" * 50_000, "\nא/ב" * 30_000, "א\u05b0" * 50_000, "א" * 200_000):
        began = time.process_time()
        agent, pending = await asking(args={"command": text})
        assert len([line for line in pending.summary.split("\n") if "turn this round" in line]) <= 3 and time.process_time() - began < 10


@pytest.mark.parametrize("given", ["Tidy up" + "\n" * 15 + "would run (:TOOL :READ-FILE)", "Ana waits. " * 400])
async def test_the_reason_of_a_model_is_one_short_line_at_the_terminal(given):
    from passepartout.terminal.render import ask_lines
    action = Action.of({"target": "tool", "payload": {"action": "call", "tool": "rm", "args": {}, "explanation": given}})
    said, = [line.text for line in ask_lines(PendingApproval("id", "code", "", "May I?", 0.0, str(action)), 80) if line.word == "it says"]
    assert "\n" not in said and len(said) < 400


@pytest.mark.parametrize("hidden", ["\u200b", "\u034f", "\xa0", "\U000e0061", "\ufff9", "\u2800", "\u202e"])
async def test_the_record_of_what_was_done_hides_nothing_either(hidden):
    "Two names that differ by a blank without width are two files, also to whoever reads what was asked, begun and done."
    from passepartout.terminal.render import trace_lines
    def broken(note): raise OSError(f"There is no {note}.")
    agent, pending = await asking(args={"note": f"a{hidden}b"}, body=broken)
    await agent.approve(pending.id, pending.code)
    lines = [line for turn in agent.trace(limit=10) for line in trace_lines(turn, 80)]
    told = {line.word for line in lines if f"<U+{ord(hidden):04X}>" in line.text}
    assert told >= {"proposes", "asks you", "starts", "outcome"} and not any(hidden in line.text for line in lines if line.word not in ("you", "answers"))


@pytest.mark.parametrize("args", [{"password": "1j1l-2k3j"}, {"note": "ghp_" + "a1B2c3D4e5F6" * 3}])
async def test_an_action_with_something_secret_in_it_can_be_approved(args):
    "Whether the form of a value gives it away or the name before it: the journal gets a reference, and the action still runs as it was asked about."
    from passepartout.redaction.secrets import Vault
    agent = Agent(load_settings({}, environ={}), Journal.open(":memory:"))
    agent.journal.scanner, ran = Vault().scanner, []
    agent.tools.register(Tool("canary", "", {k: "any" for k in args}, lambda **given: ran.append(given), inline=True))
    agent.skills.register(Skill("careful", deterministic=careful))
    script = iter([write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "canary", "args": args, "explanation": "Ana asked for it"}})])
    agent.backends.register("model", lambda p, s: next(script, "done"), inline=True)
    asked = (await agent.handle("go")).approvals[0]
    assert not any(value in str(agent.journal.approvals()) for value in args.values())
    await agent.approve(asked.id, asked.code)
    assert ran == [args]


@pytest.mark.slow
def test_no_digest_of_ours_looks_like_a_key_of_somebody():
    "What the record keeps of a code is a digest. Taken for a key and redacted, it would fit no code any more; about one in sixty thousand was."
    import hashlib
    from passepartout.redaction.secrets import Scanner
    scanner, digests = Scanner(), [hashlib.sha256(str(n).encode()).hexdigest() for n in range(3_000)]
    digests += [begin + digest[len(begin):] for digest in digests[:40] for begin in ("4b1d", "4b1d4", "sk", "a3", "eaaa", "00d", "0x", "dd", "ac", "ef")]
    for digest in digests:
        body = {"approval": digest[:8], "hash": digest, "action": "(:TYPE :REQUEST)", "code_hash": digest[::-1], "channel": "cli"}
        assert scanner.cleaned(body) == body
        assert scanner.cleaned({"code_hash": digest}) == {"code_hash": digest}
    assert "4b1d" not in str(scanner.cleaned({"text": "the key is 4b1d" + "aB3" * 12 + "xy, keep it"}))


def test_a_flight_plan_is_for_reading_and_holds_no_orders():
    "What a model only proposed would be run by whoever has these files on the agenda."
    hostile = "<%%(ding)> {{{x}}} @@html:<b>@@ call_f(a=(ding)) src_sh[:dir ~]{ls} [[shell:ls][Ana]] %%%(ding) {{{{x}}}} @@@html:@@ \n#+MACRO: x (eval (ding))\n%%(ding)\n# Local Variables:\n# eval: (ding)"
    plan = flight_plan(PendingApproval("id", "code", visible(hostile), visible(hostile), 0.0), "tomorrow")
    assert orders_in("x.org", hostile) and not orders_in("x.org", plan) and "ding" in plan


@pytest.mark.parametrize("seed", thinned(range(40), 10))
async def test_whatever_happens_around_it_each_yes_is_good_for_one_deed(seed):
    "Two conversations, answers at once and twice and from the other one, noes, going back, memory put back, a gate that refuses for a while, and a clock that jumps both ways."
    chance, clock, ran, pending, gate, wanted = random.Random(seed), Clock(), [], [], [None], [None]
    agent = Agent(load_settings({}, environ={}), Journal.open(":memory:", clock=clock))
    async def body(note):
        await asyncio.sleep(0)
        ran.append(note)
    agent.tools.register(Tool("canary", "", [Parameter("note")], body))
    agent.skills.register(Skill("careful", deterministic=lambda a, s: a if a.target != "tool" else Rejected("no") if gate[0] else ApprovalRequired(a, "May I?")))
    def model(prompt, system):
        note, wanted[0] = wanted[0], None
        return "done" if note is None else write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "canary", "args": {"note": note}, "explanation": "Ana asked for it"}})
    agent.backends.register("model", model, inline=True)
    async def tried(work):
        try: return await work if asyncio.iscoroutine(work) else work
        except PassepartoutError: pass
    for _ in range(50):
        session, op = chance.choice(["main", "two"]), chance.choice(["ask", "ask", "yes", "twice", "at once", "no", "back", "memory", "clock", "gate"])
        one, other = (chance.choice(pending), chance.choice(pending)) if pending else (None, None)
        if op == "ask":
            wanted[0] = chance.choice("ab")
            pending += [(each.id, each.code, session) for each in (await agent.handle("go", session=session)).approvals]
        elif op in ("yes", "twice", "at once") and one:
            await asyncio.gather(*[tried(agent.approve(*each)) for each in ([one], [one, one], [one, one, other, (*one[:2], session)])[("yes", "twice", "at once").index(op)]])
        elif op == "no" and one:
            try: agent.deny(*one)
            except PassepartoutError: pass
        elif op == "back":
            try: rewind(agent, session)
            except PassepartoutError: pass
        elif op == "memory": agent.memory.snapshot(); agent.memory.rollback(0)
        elif op == "clock": clock.now += chance.choice([-30, 60, 4_000, -4_000, 10 ** 7])
        elif op == "gate": gate[0] = not gate[0]
    told = [each["body"] for each in agent.journal.records(kinds=["approval"], limit=10_000)]
    used, given, refused = ([each["approval"] for each in told if each["state"] == state] for state in ("used", "approved", "denied"))
    assert len(ran) == len(agent.journal.effects(limit=10_000)) == len(used) == len(set(used)) and set(used) <= set(given) and not set(used) & set(refused)


async def test_after_five_wrong_codes_the_right_one_is_none_even_where_the_refusal_was_not_recorded(monkeypatch):
    "The disk may be full when the question is to be ended: what was counted counts."
    agent, pending = await asking()
    def full(*args, **more): raise OSError("no space left")
    monkeypatch.setattr(agent.journal, "deny", full)
    for _ in range(5):
        with pytest.raises((PassepartoutError, OSError)): await agent.approve(pending.id, "aaaaaa")
    with pytest.raises((PassepartoutError, OSError)): await agent.approve(pending.id, pending.code)
    assert agent.ran == []


@pytest.mark.parametrize("sensor, depth, policy, action, shown, why", [("approval-required", 0, "p", "a", "s", ""), ("approval-required", 0, "q", "a", "s", "Your rules have changed"), ("approval-required", 0, "p", "a", "t", "What it would do"), ("approval-required", 0, "p", "b", "t", ""),
                                                                       ("approval-required", 1, "q", "a", "t", ""), ("user-input", 0, "q", "a", "t", ""), ("approval-required", 0, "q", "b", "t", "Your rules have changed"), ("approval-required", 0, "", "a", "none", "")])
def test_what_was_approved_is_asked_once_more_when_rules_or_what_it_does_have_changed(monkeypatch, sensor, depth, policy, action, shown, why):
    from types import SimpleNamespace
    from passepartout.consent import asks
    desk = asks.Agreed.__new__(asks.Agreed)
    desk.__dict__.update(journal=None, permissions=SimpleNamespace(policy=policy))
    monkeypatch.setattr(asks, "approved_row", lambda journal, signal: {"hash": "a", "shown": "s", "policy": "p"})
    monkeypatch.setattr(asks, "shown_hash", lambda binds: binds)
    if shown == "none": monkeypatch.setattr(asks, "approved_row", lambda journal, signal: {"hash": "a", "shown": None, "policy": None}), desk.__dict__.update(permissions=None)
    said = desk.once_more(SimpleNamespace(sensor=asks.APPROVAL_REQUIRED if sensor == "approval-required" else sensor, depth=depth), SimpleNamespace(action=SimpleNamespace(hash=action), binds="" if shown == "none" else shown))
    assert said.startswith(why) and bool(said) == bool(why)


@pytest.mark.parametrize("phrase, typed", [("delete notes.org", "delete notes.org"), ("  delete \n notes.org ", "delete notes.org"), ("", "do it for good with shell"), ("lösche", "do it for good with shell"), ("a\x07b", "do it for good with shell"), ("x" * 81, "do it for good with shell"), ("x" * 80, "x" * 80)])
def test_what_is_to_be_typed_can_be_typed_on_any_keyboard(phrase, typed):
    from passepartout.consent.approvals import phrase_of
    def verdict(tool="shell", **more): return ApprovalRequired(Action.of({"target": "tool", "payload": {"action": "call", "tool": tool, "args": {}}}), "x", phrase=phrase, **more)
    assert phrase_of(verdict(confirm=True)) == typed and phrase_of(verdict()) == ""
    if typed.endswith("shell"): assert phrase_of(verdict("post-it", confirm=True)) == "do it for good with post-it"


async def test_an_approved_edit_that_was_overtaken_is_told_and_neither_made_again_nor_asked_about():
    "What was approved was what the note looked like then."
    ran = []
    def edit(**kwargs):
        ran.append(1)
        raise EditConflict("Somebody wrote in between.")
    agent, pending = await asking(body=edit, effects=Effects(destructive=False))
    await agent.approve(pending.id, pending.code)
    assert ran == [1] and agent.pending() == [] and states(agent) == ["used"] and [e["state"] for e in agent.journal.effects()] == ["failed"]


async def failing(error, *answers):
    "What the person hears after a yes to a call that ends in `error`, when the model says `answers`."
    def body(**args): raise error
    agent, pending = await asking(body=body)
    script = iter(answers)
    agent.backends.register("model", lambda p, s: next(script), inline=True)
    return await agent.approve(pending.id, pending.code)


@pytest.mark.parametrize("said", ["Done.", "It is open again.", "Erledigt.", "C'est fait.", "All set, nothing else to do.", "👍"])
async def test_who_said_yes_hears_what_came_of_it_whatever_a_model_says(said):
    reply = await failing(ToolError("There is no line “bread” in shopping.org."), said, said)
    assert "What you said yes to was not done" in reply or "ended in an error" in reply, reply
    assert "There is no line “bread” in shopping.org." in reply and said in reply
    assert str(reply).count("“bread”") == 1 and "Nothing was changed for this answer" not in reply


async def test_who_said_yes_hears_of_a_doubt_and_no_error_twice():
    doubt = ToolError("The server ended before it answered, so nobody knows whether it did it.")
    doubt.touched = True
    assert "ended in an error: The server ended" in await failing(doubt, "Sent!", "Sent!")
    told = await failing(ToolError("There is no line “bread”."), "It was not done: There is no line “bread”.")
    assert told == "It was not done: There is no line “bread”."


async def test_a_question_that_was_told_to_be_over_stays_so_when_the_clock_goes_back():
    clock = Clock()
    agent, pending = await asking(clock=clock)
    clock.now += 20 * 3_600
    with pytest.raises(PassepartoutError, match="has expired, so nothing was done. Ask again"): await agent.approve(pending.id, pending.code)
    clock.now -= 20 * 3_600
    with pytest.raises(PassepartoutError): await agent.approve(pending.id, pending.code)
    assert agent.ran == [] and states(agent) == ["expired"]
