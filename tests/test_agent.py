"""A whole agent on bad days: two at once, loops that come and go, interruptions, failing records, vanished notes."""
import asyncio
import os
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.terminal.commandline import code_of
from passepartout.conditions import PassepartoutError
from passepartout.desk import edits, take_back
from passepartout.edits import EditConflict, EditFailed, FileEdit
from passepartout.journal import Journal, JournalError
from passepartout.loop import after_failure, heartbeat_start, loop_process, stimulus_inject
from passepartout.messages import PERSON, Signal
from passepartout.perceive import receive
from passepartout.plist import write_plist
from passepartout.settings import load_settings
from passepartout.skills import Skill
from passepartout.storage import store
from passepartout.storage.journalfile import TROUBLE
from passepartout.tools import Effects, Parameter, Tool
from passepartout.turns import unrecorded
from passepartout.undo import undo_action

ALLOW = {"default": "allow"}


def call(tool, **args): return write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "Ana waits for the decision"}})

def bare(*answers, clock=time.time, **overrides):
    agent = Agent(load_settings(overrides, environ={}), Journal.open(":memory:", clock=clock))
    script = iter(answers)
    agent.backends.register("model", lambda p, s: next(script, "done"), inline=True)
    return agent

def settings_for(tmp_path, **more):
    (tmp_path / "memex").mkdir(exist_ok=True)
    (tmp_path / "memex" / "inbox.org").write_text("* Roof\n  Slate, said Ana.\n")
    return load_settings({"memex_dir": tmp_path / "memex", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "permissions": ALLOW, **more}, environ={})

def states(agent): return [e["state"] for e in agent.journal.effects()]


# Apart --------------------------------------------------------------------------------------------------------------------

async def test_two_agents_share_nothing():
    one, two = bare(), bare()
    one.skills.register(Skill("a")); one.tools.register(Tool("t", "", {}, lambda args: 1)); one.actuators.register("mail", print); one.backends.register("b", print)
    one.memory.ingest({"type": "NODE", "properties": {"ID": "x"}, "contents": []}); one.log("secret"); one.provider_cascade = ("b",); one.consensus_enabled = True
    await bare().handle("hello")
    assert (len(two.skills), len(two.tools), "mail" in two.actuators, "b" in two.backends, two.memory.lookup("x"), two.log.lines()) == (0, 0, False, False, None, [])
    assert two.provider_cascade == () and not two.consensus_enabled and two.journal.records() == [] and two.pending() == []


def test_an_agent_survives_successive_event_loops(tmp_path):
    agent = asyncio.run(Agent.boot(settings_for(tmp_path)))
    for i in range(3):
        reply = asyncio.run(agent.handle(f"note: number {i}"))
        assert reply.effects and agent.run(agent.handle("find roof")).status == "answered"
    async def inside(): return agent.run(agent.handle("find roof"))          # plain code called from a coroutine
    assert asyncio.run(inside()).status == "answered"
    asyncio.run(agent.close()); asyncio.run(agent.close())
    assert (tmp_path / "memex" / "inbox.org").read_text().count("number") == 3


def test_an_injected_signal_that_lost_its_loop_leaves_the_agent_whole():
    agent = bare()
    async def slow(prompt, system_prompt): await asyncio.sleep(60)
    agent.backends.register("model", slow)
    async def inject(): stimulus_inject(agent, {"payload": {"sensor": "user-input", "text": "x"}}); await asyncio.sleep(0)
    asyncio.run(inject())
    agent.backends.register("model", lambda p, s: "hello", inline=True)
    assert asyncio.run(agent.handle("hi")) == "hello" and agent.turns.open == {}


# At the same time ---------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize("sessions", [1, 40])
async def test_conversations_at_the_same_time_do_not_mix(sessions):
    agent = bare()
    async def echo(prompt, system_prompt):
        await asyncio.sleep(0.001 * (hash(prompt) % 5))
        if "returned" in prompt: return "answer to " + prompt.split("The person asked: ")[1].split("\n")[0]
        return call("shout", text=prompt)
    agent.backends.register("model", echo)
    agent.tools.register(Tool("shout", "", {"text": "string"}, lambda text: text.upper()))
    replies = await asyncio.gather(*[agent.handle(f"question {i}", session=f"s{i % sessions}") for i in range(40)])
    assert [str(r) for r in replies] == [f"answer to question {i}" for i in range(40)]
    assert len({r.turn for r in replies}) == len({e for r in replies for e in r.effects}) == 40 and agent.turns.open == {}
    for reply in replies:
        turn, = agent.trace(reply.turn)
        assert [r["kind"] for r in turn["records"]].count("answer") == 1 and turn["records"][0]["body"]["text"] in str(turn["records"][-1]["body"])


async def test_one_failing_turn_takes_no_other_along():
    agent = bare()
    async def model(prompt, system_prompt):
        await asyncio.sleep(0)
        if "7" in prompt: raise MemoryError()
        return "fine"
    agent.backends.register("model", model)
    agent.skills.register(Skill("g", deterministic=lambda a, s: 1 / 0 if "3" in str(s.payload.get("text")) and s.depth == 0 else a))
    replies = await asyncio.gather(*[agent.handle(f"question {i}", session=f"s{i}") for i in range(10)], return_exceptions=True)
    assert all(not isinstance(r, BaseException) for r in replies)
    assert [i for i, r in enumerate(replies) if r != "fine"] == [3, 7]


# Cut off ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["thread", "async"])
async def test_cancelled_in_the_middle_of_an_effect_its_outcome_is_unknown(how):
    agent, begun = bare(call("slow")), asyncio.Event()
    loop = asyncio.get_running_loop()
    async def slow(): begun.set(); await asyncio.sleep(60)
    def slow_thread(): loop.call_soon_threadsafe(begun.set); time.sleep(0.2)
    agent.tools.register(Tool("slow", "", {}, slow if how == "async" else slow_thread))
    task = asyncio.create_task(agent.handle("go"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError): await task
    assert states(agent) == ["unknown"] and agent.turns.open == {}
    assert agent.journal.records(kinds=["answer"])[-1]["body"]["status"] == "interrupted"
    assert await agent.handle("still there?") == "done"


@pytest.mark.parametrize("moments", range(0, 12))
async def test_cancelled_at_any_moment_nothing_stays_open(moments):
    agent = bare(call("slow"), "done")
    async def slow(): await asyncio.sleep(0); await asyncio.sleep(0); return "x"
    agent.tools.register(Tool("slow", "", {}, slow))
    async def model(prompt, system_prompt): await asyncio.sleep(0); return call("slow") if "returned" not in prompt else "done"
    agent.backends.register("model", model)
    task = asyncio.create_task(agent.handle("go"))
    for _ in range(moments): await asyncio.sleep(0)
    task.cancel(); task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    for _ in range(5): await asyncio.sleep(0)
    assert agent.turns.open == {} and "started" not in states(agent) and len(agent.clearances) == 0
    assert agent.journal.verify(whole=True).ok


async def test_closing_in_the_middle_stops_what_runs_in_the_background():
    agent = bare()
    async def slow(prompt, system_prompt): await asyncio.sleep(60)
    agent.backends.register("model", slow)
    stimulus_inject(agent, {"payload": {"sensor": "user-input", "text": "x"}})
    heartbeat_start(agent, 0.001)
    await asyncio.sleep(0.01)
    begun = time.monotonic()
    await agent.close()
    await agent.close()
    assert time.monotonic() - begun < 30 and not agent.background          # the provider sleeps for a minute
    agent.backends.register("model", lambda p, s: "I am not here", inline=True)
    reply = await agent.handle("hello?")
    assert reply.status == "failed" and "closed" in reply


# Others' mistakes ---------------------------------------------------------------------------------------------------------

def fails(*args, **kwargs): raise RuntimeError("broken")

async def afails(*args, **kwargs): raise RuntimeError("broken")

@pytest.mark.parametrize("broken", [fails, afails, lambda *a: None, lambda *a: 42, lambda: None])
@pytest.mark.parametrize("target", ["mail", "cli"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
async def test_an_actuator_that_breaks_ends_in_words_and_on_record(broken, target):
    agent = bare(write_plist({"type": "REQUEST", "target": target, "payload": {"action": "send", "text": "x"}}))
    agent.actuators.register(target, broken)
    reply = await agent.handle("go")
    assert len(states(agent)) == 1 and states(agent)[0] in ("failed", "committed") and agent.turns.open == {}
    assert reply.strip() or states(agent) == ["committed"]               # one that returns nothing says nothing


async def test_an_actuator_that_hangs_is_given_up():
    agent = bare(write_plist({"type": "REQUEST", "target": "mail", "payload": {"action": "send", "text": "x"}}), tool_timeout_s=0.05)
    async def hangs(action, signal): await asyncio.sleep(60)
    agent.actuators.register("mail", hangs)
    try: await asyncio.wait_for(agent.handle("go"), 0.5)
    except TimeoutError: pass
    assert states(agent) == ["unknown"] and agent.journal.records(kinds=["answer"])[-1]["body"]["status"] != "interrupted"


async def test_feedback_stays_in_its_own_session():
    agent, seen = bare(write_plist({"type": "REQUEST", "target": "chat", "payload": {"action": "send", "text": "x"}})), []
    agent.actuators.register("chat", lambda a, s: {"type": "EVENT", "payload": {"sensor": "tool-output", "content": "x"}, "meta": {"session": "victim", "source": "telegram"}})
    agent.skills.register(Skill("sees", deterministic=lambda a, s: seen.append((s.session, s.source)) or a))
    await agent.handle("go", session="mine")
    assert {session for session, _ in seen} == {"mine"}


@pytest.mark.parametrize("kind", ("turn", "proposal", "intent", "outcome", "said", "answer"))
async def test_a_broken_watcher_changes_nothing(kind):
    agent, ran = bare(call("t")), []
    agent.tools.register(Tool("t", "", {}, lambda: ran.append(1) or "x", inline=True))
    def watcher(what, body, turn):
        if what == kind: raise BrokenPipeError("the terminal is gone")
    agent.watch(watcher)
    try: reply = await agent.handle("go")
    except BrokenPipeError: reply = None
    assert reply == "done" and ran == [1] and states(agent) == ["committed"]


# Time ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("jump", [10 ** 9, -10 ** 9, float("nan")])
async def test_a_clock_that_jumps_in_the_middle_costs_nothing(jump):
    now = [1_800_000_000.0]
    agent = bare(call("t"), "done", "later", clock=lambda: now[0])
    def body(): now[0] += jump if jump == jump else 0; return "x"
    agent.tools.register(Tool("t", "", {}, body, inline=True))
    assert await agent.handle("go") == "done" and await agent.handle("again") == "later"
    assert states(agent) == ["committed"] and agent.journal.verify(whole=True).ok
    assert [t["records"][0]["body"]["text"] for t in agent.trace(limit=2)] == ["again", "go"]


async def test_heartbeats_do_nothing_and_stop():
    agent = bare("never")
    beat = heartbeat_start(agent, 0.001)
    await asyncio.sleep(0.03)
    beat.cancel()
    await asyncio.gather(beat, return_exceptions=True)
    assert agent.journal.records() == [] and agent.turns.open == {}


# The record ---------------------------------------------------------------------------------------------------------------

def breaking(agent, kind, error=OSError(28, "No space left on device"), times=10 ** 6):
    "Let the journal fail whenever a record of `kind` is written, at most so many times."
    write, left = agent.journal.write, [times]
    def failing(batches, durable=True):
        if left[0] and any(k == kind for b in batches for k, *_ in b.records): left[0] -= 1; raise error
        return write(batches, durable)
    agent.journal.write = failing


@pytest.mark.parametrize("kind,runs", [("turn", 0), ("intent", 0), ("outcome", 1), ("answer", 1)])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), JournalError("The disk is full.")], ids=["os", "journal"])
async def test_a_journal_that_fails_at_a_commit(tmp_path, kind, runs, error):
    ran = []
    agent = Agent(load_settings({}, environ={}), Journal.open(tmp_path / "journal.sqlite"))
    script = iter([call("t")])
    agent.backends.register("model", lambda p, s: next(script, "done"), inline=True)
    agent.tools.register(Tool("t", "", {}, lambda: ran.append(1) or "x", inline=True))
    breaking(agent, kind, error)
    reply = await agent.handle("go")
    assert len(ran) == runs and reply and agent.turns.open == {}
    if kind in ("turn", "answer"): assert reply.status == "failed"
    if kind == "answer": assert "done" in reply
    assert "committed" not in states(agent) or kind == "answer"
    agent.journal.__dict__.pop("write")
    assert (await agent.handle("again")).status == "answered" and agent.journal.verify(whole=True).ok
    await agent.close()


async def test_an_outcome_that_could_not_be_recorded_is_called_unknown(tmp_path):
    agent, ran, told = Agent(load_settings({}, environ={}), Journal.open(tmp_path / "journal.sqlite")), [], []
    def model(prompt, system_prompt): told.append(prompt); return call("t") if len(told) == 1 else "done"
    agent.backends.register("model", model, inline=True)
    agent.tools.register(Tool("t", "", {}, lambda: ran.append(1) or "x", inline=True))
    breaking(agent, "outcome")
    reply = await agent.handle("go")
    assert (ran, reply.status, reply.effects) == ([1], "failed", ()) and "counts as unknown. Do not do it again" in reply
    await agent.close()


def test_who_must_not_do_it_again_is_not_told_to_try_again():
    for kind in TROUBLE.values():
        told = str(unrecorded(SimpleNamespace(status="", effects=[]), SimpleNamespace(durable=True, changes=()), JournalError(kind.format(error="disk I/O error", path="/x/journal.sqlite"))))
        assert "Do not do it again" in told and "try again" not in told and "passepartout doctor" in told, told


async def test_an_edit_that_stands_although_the_disk_complained_is_what_undo_takes_back(tmp_path, monkeypatch):
    "It counted as unknown, and *undo* took back the edit before it."
    from passepartout import edits as room
    async with await Agent.boot(settings_for(tmp_path)) as agent:
        inbox, real = tmp_path / "memex" / "inbox.org", room._swap_in
        await agent.handle("todo buy milk")
        first = inbox.read_text()
        def broken(*args):
            real(*args)
            raise OSError(5, "Input/output error")
        with monkeypatch.context() as patch:
            patch.setattr(room, "_swap_in", broken)
            reply = await agent.handle("todo buy honey")
        assert "inbox.org was changed, but the disk did not confirm it" in reply and "honey" in inbox.read_text() and states(agent)[0] == "committed"
        assert "honey" in str(await agent.undo()) and inbox.read_text() == first


async def test_an_outcome_that_failed_once_is_written_with_the_next_commit():
    agent = bare(call("t"))
    agent.tools.register(Tool("t", "", {}, lambda: "x", inline=True))
    breaking(agent, "outcome", times=1)
    await agent.handle("go")
    assert states(agent)[0] in ("committed", "unknown")


async def test_a_crash_between_intent_and_outcome_is_told_and_not_repeated(tmp_path):
    settings = settings_for(tmp_path)
    died = """if True:
        import os, sys
        from passepartout.journal import Journal
        batch = Journal.open(sys.argv[1]).batch("main", "t1")
        batch.record("turn", {"text": "go"}); batch.intend("e1", "h", "{}", detail={})
        batch.commit_now()
        os._exit(0)"""
    subprocess.run([sys.executable, "-c", died, tmp_path / "j.sqlite"], check=True, timeout=120)
    agent = await Agent.boot(settings, journal=tmp_path / "j.sqlite")
    assert [e["id"] for e in agent.unknown_effects] == ["e1"] and states(agent) == ["unknown"] and agent.health == "degraded"
    await agent.close()
    again = await Agent.boot(settings, journal=tmp_path / "j.sqlite")
    assert again.unknown_effects == [] and again.journal.verify(whole=True).ok
    await again.close()


# The notes ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("request_text", thinned(["find roof", "what is due this week?", "note: buy slate", "read inbox.org"], 2))
async def test_a_memex_that_is_removed_while_running(tmp_path, request_text):
    agent = await Agent.boot(settings_for(tmp_path))
    shutil.rmtree(tmp_path / "memex")
    reply = await agent.handle(request_text)
    assert reply and agent.turns.open == {} and "Traceback" not in reply
    assert not (tmp_path / "memex").exists() and states(agent) in ([], ["failed"])
    await agent.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_memex_that_becomes_read_only(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path))
    (tmp_path / "memex").chmod(0o500)
    reply = await agent.handle("note: buy slate")
    (tmp_path / "memex").chmod(0o700)
    assert states(agent) == ["failed"] and reply
    await agent.close()


async def test_a_folder_swapped_for_a_link_while_running_leads_nowhere(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path))
    outside = tmp_path / "outside"; outside.mkdir(); (outside / "secret.org").write_text("* the secret\n")
    (tmp_path / "memex" / "sub").symlink_to(outside)
    for text in ("read sub/secret.org", "read ../outside/secret.org", f"read {outside}/secret.org"):
        assert "the secret" not in await agent.handle(text)
    await agent.close()


# Input --------------------------------------------------------------------------------------------------------------------

INPUTS = ["", " ", "\n\n\n", "\x00", "\x00\x01\x02\xff" * 100, "x" * 1_000_000, "(" * 100_000, "🧦" * 10_000, "\u202e\u200b", "\x1b[2J", "a\r\nb", "(:TYPE :REQUEST", "#.(quit)", "'; DROP TABLE chain; --", "%s%n", "/undo", "note:", "read", "find"]

@pytest.mark.parametrize("text", thinned(INPUTS, 4), ids=range(len(INPUTS)))
async def test_any_input_ends_in_a_sentence(tmp_path, text):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    begun = time.monotonic()
    reply = await agent.handle(text)
    assert reply.strip() and reply.status in ("answered", "declined", "failed", "rejected", "requires-approval") and time.monotonic() - begun < 30      # a hang, not a slow machine
    assert agent.turns.open == {} and agent.journal.verify(whole=True).ok


@pytest.mark.parametrize("text", ["\ud800", "note: \udcff binary", b"bytes", 42, None])
async def test_input_that_is_no_proper_text_ends_in_a_sentence_too(tmp_path, text):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    assert (await agent.handle(text)).strip() and agent.turns.open == {}
    assert (await agent.handle("find roof")).status == "answered"


async def test_nothing_that_is_handed_over_is_not_read_as_a_word():
    agent = bare("one")
    assert await agent.handle(None) == "one" and agent.trace(limit=1)[0]["records"][0]["body"]["text"] == ""


async def test_half_of_a_pair_of_characters_is_a_session_like_others(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    assert (await agent.handle("hello", session="\ud800")).status == (await agent.handle("hello", session=None)).status == "answered"
    assert [turn["session"] for turn in agent.trace(limit=9)] == ["main", "?"]


@pytest.mark.parametrize("session", ["", "x" * 10_000, "a/b\n", "🧦", "main'; --", "\x00"])
async def test_any_name_of_a_session_is_kept_apart(session):
    agent = bare("one", "two")
    await agent.handle("first", session=session); await agent.handle("second", session="elsewhere")
    assert [t["records"][0]["body"]["text"] for t in agent.trace(session="elsewhere", limit=9)] == ["second"]


async def test_wire_messages_of_every_kind_end_quietly(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    for kind in ("EVENT", "REQUEST", "LOG", "RESPONSE"):
        for payload in ({}, {"sensor": "user-input"}, {"sensor": "user-input", "text": 5}, {"sensor": "user-input", "text": ["a"]}, {"sensor": "tool-output"}, {"sensor": "tool-error", "message": {"a": 1}}, {"sensor": ["x"]}, {"text": None},
                        {"sensor": "approval-required", "approval": {"a": 1}}, {"sensor": "loop-error", "message": None}, {"sensor": "unheard-of"}):
            await loop_process(agent, receive({"type": kind, "payload": payload}, source="socket", session="s"))
    assert agent.turns.open == {} and states(agent) == []


async def test_depth_has_an_end_in_both_directions():
    asked = []
    agent = bare()
    agent.tools.register(Tool("t", "", {}, lambda: "x", inline=True, effects="read-only"))
    agent.backends.register("model", lambda p, s: asked.append(1) or call("t"), inline=True)
    told = await agent.handle("go")
    assert len(asked) <= 11 and any("was dropped" in line for line in agent.log.lines())
    assert "I stopped after 10 rounds" in told and told.endswith("This came last:\nTOOL [t] RESULT: x") and told.status == "dropped"                # what was done before is not kept from the person
    assert await loop_process(agent, {"depth": 11, "payload": {"sensor": "user-input", "text": "x"}}) is None



async def test_a_negative_depth_buys_nothing():
    asked = []
    agent = bare()
    agent.tools.register(Tool("t", "", {}, lambda: "x", inline=True, effects="read-only"))
    agent.backends.register("model", lambda p, s: asked.append(1) or call("t"), inline=True)
    await loop_process(agent, {"depth": -30, "payload": {"sensor": "user-input", "text": "x"}, "meta": {"source": "cli"}})
    assert len(asked) <= 11


# Edits --------------------------------------------------------------------------------------------------------------------

async def test_a_tool_cannot_edit_what_the_gates_did_not_open(tmp_path):
    from passepartout.confinement.resources import Root, resolve
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    (tmp_path / "memex" / "other.org").write_text("mine")
    other = resolve([Root(tmp_path / "memex")], "other.org", "write")
    agent.tools.register(Tool("sly", "", [Parameter("path", kind="path", access="write")], lambda path, context: FileEdit(other, b"mine", b"yours", "Done"), edits=True, inline=True))
    agent.tools.register(Tool("blind", "", {}, lambda: FileEdit(other, b"mine", b"yours", "Done"), edits=True, inline=True))
    for proposal in (call("sly", path="inbox.org"), call("blind")):
        agent.backends.register("reflex", lambda p, s, proposal=proposal: proposal if "failed" not in p and "returned" not in p else "done", inline=True)
        await agent.handle("go")
    assert (tmp_path / "memex" / "other.org").read_text() == "mine" and states(agent) == []


async def test_undo_takes_back_once_and_leaves_what_changed_since(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    inbox = tmp_path / "memex" / "inbox.org"
    before = inbox.read_text()
    assert (await agent.handle("note: buy slate")).effects and inbox.read_text() != before
    assert (await agent.undo()).effects and inbox.read_text() == before
    assert "nothing to take back" in await agent.undo() and inbox.read_text() == before
    await agent.handle("note: buy slate")
    inbox.write_text("* mine\n")
    assert not (await agent.undo()).effects and inbox.read_text() == "* mine\n"


async def test_an_undo_names_what_it_takes_back_since_another_chat_may_have_made_it(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    (tmp_path / "memex" / "inbox.org").write_text("* TODO rent\n* Salary :@personal:\n")
    for line in ("todo buy milk", "done rent"): await agent.handle(line)
    assert "Out again" not in await agent.undo(source="telegram")               # the note has a private heading
    assert "Out again: “* TODO buy milk”." in (told := await agent.undo()) and "rent" not in told
    (tmp_path / "memex" / "a.org").write_text("* TODO fig\n")
    await agent.handle("done fig")
    assert "before. Out again: “* DONE fig”. Back: “* TODO fig”." in await agent.undo(source="telegram")
    (tmp_path / "memex" / "a.org").write_text("* TODO plum\n* TODO fig\nSCHEDULED: <2026-11-19 Thu .+3d>\n")
    await agent.handle("done fig")
    assert "Under “* TODO fig”: Out again: “SCHEDULED: <" in (told := await agent.undo()) and "Back: “SCHEDULED: <2026-11-19 Thu .+3d>”." in told
    await agent.close()


@pytest.mark.parametrize("way", ["undo", "rewind edits", "one by one"])
async def test_what_was_moved_is_in_one_of_the_notes_whatever_is_taken_back(tmp_path, way):
    "The note it came from was changed since, so it cannot be put back there; so it must not be taken out of the other one."
    agent = await Agent.boot(settings_for(tmp_path, provider_cascade=("model",)), journal=":memory:")
    script = iter([call("org-refile", path="inbox.org", heading="Roof", target="house.org")])
    agent.backends.register("model", lambda p, s: next(script, "done"), inline=True)
    inbox, house = tmp_path / "memex" / "inbox.org", tmp_path / "memex" / "house.org"
    reply = await agent.handle("put the roof where it belongs")
    assert len(reply.effects) == 2 and "Slate" in house.read_text() and "Slate" not in inbox.read_text()
    inbox.write_text("* mine\n")
    if way == "undo": await agent.undo(3)
    elif way == "rewind edits":
        await take_back(agent, "main", {}, "cli")
        assert (await edits(agent, "main", {}, "cli"))["done"] == 0
    else:
        for effect in agent.journal.effects(): await agent.process(Signal.of({"payload": {"sensor": "user-input", "text": "/undo"}, "meta": {"source": "cli"}}).evolve(label=PERSON), undo_action(effect))
    assert "Slate" in house.read_text() and inbox.read_text() == "* mine\n"
    await agent.close()


async def test_an_undo_that_was_undone_took_nothing_back(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path), journal=":memory:")
    inbox = tmp_path / "memex" / "inbox.org"
    before = inbox.read_text()
    assert (await agent.handle("note: buy slate")).effects
    back = await agent.undo()
    after_all = await agent.process(Signal.of({"payload": {"sensor": "user-input", "text": "/redo"}, "meta": {"source": "cli"}}).evolve(label=PERSON), undo_action(agent.journal.effect(back.effects[0])))
    assert after_all.effects and "buy slate" in inbox.read_text()
    assert (await agent.undo()).effects and inbox.read_text() == before
    await agent.close()


@pytest.mark.parametrize("source", ["", ":", "\x00", "::x", "x" * 10_000, "Web_Chat"])
async def test_any_name_of_a_channel_will_do(source):
    assert await bare("hello").handle("hi", source=source) == "hello"


# A disk that is full just when it matters -----------------------------------------------------------------------------------

async def refused(agent, since, trouble, until):
    "The reply to a long note, while SQLite itself refuses to write: from the record `since` on until `until`."
    def run(*lines): [agent.journal.db.execute(f"PRAGMA {line}") for line in lines]
    def watch(kind, body, turn):
        if kind == since: run(trouble)
        if kind == until: run("max_page_count = 1000000", "query_only = 0")
    end = agent.watch(watch)
    reply = await agent.handle("note: " + "words " * 3_000)
    end()
    run("max_page_count = 1000000", "query_only = 0")
    return reply


@pytest.mark.slow
@pytest.mark.parametrize("since, trouble, until, done, word", [("verdict", "max_page_count = 1", "answer", False, "disk is full"), ("intent", "query_only = 1", "", True, "Do not do it again")], ids=["intent", "outcome"])
async def test_an_effect_whose_record_cannot_be_written_is_no_success(tmp_path, since, trouble, until, done, word):
    agent = await Agent.boot(settings_for(tmp_path))
    reply = await refused(agent, since, trouble, until)
    assert word in reply and (reply.status, reply.effects, code_of(reply, agent), code_of(reply, agent, single=True)) == ("failed", (), 1, 1)
    assert ("words words" in (tmp_path / "memex" / "inbox.org").read_text()) is done
    if not done: assert agent.trace()[0]["records"][-1]["body"]["status"] == "failed"                 # and the record says so as well
    assert (await agent.handle("note: afterwards")).effects
    await agent.close()


@pytest.mark.slow
async def test_an_outcome_that_can_be_written_by_the_time_of_the_answer_is(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path))
    reply = await refused(agent, "intent", "query_only = 1", "answer")
    assert (reply.status, len(reply.effects), states(agent)) == ("answered", 1, ["committed"]), reply
    await agent.close()


async def test_a_disk_that_is_full_is_told_once(tmp_path):
    agent = await Agent.boot(settings_for(tmp_path))
    agent.journal.db.execute("PRAGMA max_page_count = 1")
    reply = await agent.handle("note: " + "words " * 3_000)
    assert reply.status == "failed" and reply.count("disk is full") == 1
    agent.journal.db.execute("PRAGMA max_page_count = 1000000")
    await agent.close()


async def test_a_channel_is_registered_at_the_door_of_act_and_asks_before_anything_goes_out(tmp_path):
    from passepartout.act import act_gate, format_tool_result, register_actuator
    from passepartout.messages import Signal
    (tmp_path / "memex").mkdir()
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state")
    sent = []
    register_actuator(agent, "telegraph", lambda action, signal: sent.append(action.payload["text"]) or {"status": "error", "message": "the line is down"})
    asked = Signal.of({"type": "EVENT", "meta": {"source": "cli"}, "approved_action": '(:TARGET :TELEGRAPH :PAYLOAD (:TEXT "STOP" :EXPLANATION "They wait for an answer"))'})
    result = await act_gate(agent, asked)
    await agent.close()
    assert (result, sent) == (None, [])
    assert format_tool_result("telegraph", {":STATUS": "ERROR", "message": "the line is down"}) == "ERROR [telegraph]: the line is down"


async def test_a_block_closes_its_agent_however_it_ends(tmp_path):
    (tmp_path / "memex").mkdir()
    with pytest.raises(ZeroDivisionError):
        async with await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state") as agent:
            assert "buy milk" in await agent.handle("todo: buy milk")
            1 / 0
    assert agent.journal.closed
    with pytest.raises(JournalError): agent.journal.records()
    async with await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state") as again:
        assert "buy milk" in await again.handle("what is open?")


@pytest.mark.parametrize("destroys, allowed, made", [(False, "allow", 2), (True, "allow", 1), (False, "ask", 1)])
async def test_only_a_harmless_edit_that_nobody_was_asked_about_is_made_again_when_it_was_overtaken(tmp_path, destroys, allowed, made):
    "Another program writes in the note between the look at it and the edit. What destroys, or what a person said yes to, is not done to a text that nobody had seen."
    (tmp_path / "memex").mkdir()
    (note := tmp_path / "memex" / "list.txt").write_text("milk\n")
    agent, calls = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", provider_cascade=("model",), permissions={"line-up": allowed}), []
    def line_up(path, context):
        before = (opened := context.resources["path"]).read_bytes()
        calls.append(before)
        if len(calls) == 1: note.write_text("milk\nwhat somebody wrote meanwhile\n")
        return FileEdit(opened, before, b"in order\n" if destroys else before + b"in order\n", "Lined up.")
    agent.tools.register(Tool("line-up", "", [Parameter("path", kind="path", access="write")], line_up, effects=Effects(destructive=destroys, open_world=False), edits=True, inline=True))
    said = iter([call("line-up", path="list.txt")])
    agent.backends.register("model", lambda prompt, system_prompt: next(said, "Done."), inline=True)
    reply = await agent.handle("line up list.txt")
    if allowed == "ask": reply = await agent.approve(reply.approvals[0].id, reply.approvals[0].code, confirm=reply.approvals[0].phrase)
    assert "meanwhile" in note.read_text() and ("in order" in note.read_text()) == (made == 2) and len(calls) == made, (str(reply), calls)
    (told,) = [each["body"] for turn in agent.trace(reply.turn) for each in turn["records"] if each["kind"] == "overtaken"]
    assert told["tool"] == "line-up" and "\n+what somebody wrote meanwhile\n" in told["text"] + "\n", "the person sees what the other program wrote"
    assert "what somebody wrote" not in str(reply)
    await agent.close()


# What nobody asked about --------------------------------------------------------------------------------------------------

async def test_what_the_gates_change_after_it_was_approved_is_put_to_the_person_and_not_done():
    "A gate that reads a clock, a rule or a file may answer otherwise a moment later. What runs is what was decided upon."
    ran, rounds = [], []
    agent = bare(call("send", to="ana"))
    agent.tools.register(Tool("send", "", {"to": str}, lambda to: ran.append(to) or "sent", inline=True))
    def gate(action, signal):
        if action.target != "tool" or action.payload["args"]["to"] == "eve": return action
        rounds.append(1)
        return action if len(rounds) == 1 else action.model_copy(update={"payload": {**action.payload, "args": {"to": "eve"}}})
    agent.skills.register(Skill("rewrites", deterministic=gate))
    reply = await agent.handle("go")
    assert ran == [] and states(agent) == [] and len(reply.approvals) == 1 and '"eve"' in reply.approvals[0].action
    assert "the gates changed the action" in reply.approvals[0].reason and len(agent.clearances) == 0
    await agent.approve(reply.approvals[0].id, reply.approvals[0].code)
    assert ran == ["eve"]


@pytest.mark.parametrize("touched, state", [(False, "failed"), (True, "unknown")])
async def test_an_edit_that_failed_after_the_note_may_have_changed_counts_as_unknown(touched, state):
    "Called failed, it would be tried again, and what it did already would stand twice."
    def edit(): raise EditFailed("The disk said no.", touched=touched)
    agent = bare(call("edit"))
    agent.tools.register(Tool("edit", "", {}, edit, inline=True))
    await agent.handle("go")
    assert states(agent) == [state]


@pytest.mark.parametrize("touched, destructive, times", [(False, False, 3), (True, False, 1), (False, True, 1)])
async def test_an_edit_that_was_overtaken_is_made_again_only_where_nothing_can_have_happened(touched, destructive, times):
    ran = []
    def edit():
        ran.append(1)
        if len(ran) < 3: raise EditConflict("Somebody wrote.", kept="inbox.org.late" if touched else None)
        return "done"
    agent = bare(call("edit"))
    agent.tools.register(Tool("edit", "", {}, edit, inline=True, effects=Effects(destructive=destructive)))
    await agent.handle("go")
    assert len(ran) == times and states(agent)[-1] == ("unknown" if touched else "failed")


@pytest.mark.parametrize("depth, sensor, again, told", [(0, "user-input", True, False), (2, "user-input", True, False), (3, "user-input", False, True), (0, "loop-error", False, True), (0, "tool-error", False, True), (0, "syntax-error", False, True),
                                                        (2, "heartbeat", True, False), (3, "heartbeat", False, False)])
async def test_an_error_goes_round_once_more_or_is_told_and_a_beat_that_fails_deep_is_not(depth, sensor, again, told):
    agent, said = bare(), []
    agent.deliver = lambda signal, text: said.append(text)
    signal = agent.in_turn(Signal(payload={"sensor": sensor, "text": "x"}, meta={"source": "cli", "session": "main"}, depth=depth))
    for error, words in ((JournalError("The disk is full."), "The disk is full."), (ValueError("odd"), "Something went wrong, and nothing more was done: odd")):
        said.clear()
        found = await after_failure(agent, signal, error)
        assert (found is not None and str(found.payload["sensor"]) == "loop-error" and found.payload["message"] == words) == again and (found is None) != again
        assert said == [words] * told


async def test_the_last_round_that_is_allowed_is_made_and_none_after_an_interruption():
    agent = bare("one", "two")
    make = lambda depth: Signal(payload={"sensor": "user-input", "text": "x"}, meta={"source": "cli", "session": "main"}, depth=depth)
    assert await loop_process(agent, make(agent.settings.max_depth)) is not None
    assert await loop_process(agent, make(agent.settings.max_depth + 1)) is None
    agent.interrupted = True
    assert await loop_process(agent, make(0)) is None and any("interrupted; the turn ends here" in line for line in agent.log.lines())


@pytest.mark.parametrize("then", ["undo", "close", "turn"])
async def test_what_was_done_while_the_record_could_not_be_written_is_written_as_soon_as_it_can_be(tmp_path, monkeypatch, then):
    "It stayed under way until the process ended, which for a daemon is weeks, and could not be taken back."
    agent, full = await Agent.boot(settings_for(tmp_path)), []
    note, really = tmp_path / "memex" / "inbox.org", store._append
    def append(*args):
        if full or "Call" in note.read_text() and not full.append(1): raise JournalError("The disk is full.")
        return really(*args)
    monkeypatch.setattr(store, "_append", append)
    before = note.read_bytes()
    reply = await agent.handle("add a task to inbox.org: Call the roofer")
    assert "counts as unknown. Do not do it again" in reply and reply.status == "failed" and states(agent) == ["started"]
    await agent.handle("what is due today?")
    assert states(agent) == ["started"] and len(agent.turns.late) == 1                  # no room yet
    monkeypatch.setattr(store, "_append", really)
    if then == "undo":
        assert "as it was before" in await agent.undo() and note.read_bytes() == before and states(agent) == ["committed", "committed"]
    elif then == "turn": await agent.handle("what is due today?")
    path = agent.journal.path
    if then != "close": assert set(states(agent)) == {"committed"} and agent.turns.late == []
    await agent.close()
    journal = Journal.open(path)
    assert {e["state"] for e in journal.effects()} == {"committed"} and journal.verify(whole=True).ok
    journal.close()


@pytest.mark.parametrize("place, says", [("state", "holds the agent's own record, keys or settings, and cannot be opened to it. Name another one in the settings."), ("nowhere", "(no such file or directory). Create it, or name another one in the settings.")])
async def test_a_workspace_that_cannot_be_one_is_told_in_one_sentence(tmp_path, place, says):
    for each in ("memex", "state"): (tmp_path / each).mkdir()
    if place == "state": await (await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache")).close()
    with pytest.raises(PassepartoutError) as told:
        await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", workspaces=(str(next(tmp_path.rglob("journal.owners")).parent if place == "state" else tmp_path / place),))
    assert told.value.message.endswith(says) and told.value.message.startswith("The folder ")


@pytest.mark.parametrize("error, told", [(OSError(5, "Input/output error"), "the system refused (input/output error)."), (OSError(2, "No such file or directory", "x.org"), "the system refused (no such file or directory: x.org)."), (OSError("odd"), "OSError: odd")])
async def test_what_the_system_refuses_a_tool_is_told_in_words(tmp_path, monkeypatch, error, told):
    def broken(*args, **more): raise error
    async with await Agent.boot(settings_for(tmp_path)) as agent:
        capture = agent.tools.get("org-capture")
        monkeypatch.setattr(agent.tools, "cleared", lambda cleared: capture.__class__(**{**{name: getattr(capture, name) for name in capture.__dataclass_fields__ if capture.__dataclass_fields__[name].init}, "body": broken}))
        reply = await agent.handle("todo buy milk")
    assert f"org-capture could not do it: {told}" in reply and "[Errno" not in reply
