"Looking back under other rules: nothing runs, nothing is left open, and with the same rules nothing is different."
import gc
import json
import os
from collections import Counter
from datetime import date, datetime

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agent import Agent, run_anywhere
from passepartout.replay import Thought, replay, thoughts
from passepartout.skills import Skill
from passepartout.tools import Parameter, Tool
from test_approvals import asking
import test_cli

forks, home = test_cli.forks, test_cli.home         # fixtures

def call(tool, **args): return f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "{tool}" :ARGS ({" ".join(f":{k.upper()} {json.dumps(v)}" for k, v in args.items())}) :EXPLANATION "You wanted to see what is there"))'


@pytest.fixture
def memex(tmp_path):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").write_text("* Inbox\n** TODO Call the roofer\n")
    return tmp_path


def boot(folder, **more):
    return run_anywhere(Agent.boot(memex_dir=folder / "memex", state_dir=folder / "state", config_dir=folder / "config", cache_dir=folder / "cache", **more))


def play(agent, *answers, text="do it", session="main"):
    "One turn in which a model answers like this."
    script = iter(answers)
    agent.backends.register("model", lambda prompt, system: next(script, "That is all."), inline=True, local=True)
    agent.provider_cascade = ("model",)
    return agent.run(agent.handle(text, session=session))


def everything(folder):
    "Every file with its bytes and times, and what this process holds open."
    gc.collect()
    files = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file() and "cache" not in p.parts and not p.name.endswith("-shm")}        # readers note themselves in -shm
    return {**files, "names": sorted(str(p) for p in folder.rglob("*") if "cache" not in p.parts), "open": sorted(filter(None, map(_target, os.listdir("/proc/self/fd"))))}

def _target(fd):
    try: return os.readlink(f"/proc/self/fd/{fd}")
    except OSError: return None

def differences(before, after): return [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]


MIXED = [("read-file", {"path": "inbox.org"}), ("shell", {"command": "touch list.txt"}), ("shell", {"command": "ls"}), ("read-file", {"path": "/etc/passwd"}), ("org-find", {"query": "roof"}), ("write-file", {"path": "new.org", "content": "x"}), ("no-such-tool", {})]


@pytest.mark.slow
def test_the_same_rules_say_the_same(memex):
    agent = boot(memex)
    for tool, args in MIXED: play(agent, call(tool, **args))
    play(agent, call("read-file", path="/etc/shadow"), "(:TYPE", call("shell", command="touch list.txt"))
    play(agent, call("org-find", query="roof"), call("shell", command="touch list.txt"), text="find the roof and make a list")
    agent.provider_cascade = ("reflex",)
    for text in ("what is due?", "todo: buy milk tomorrow", "find roof", "done: Call the roofer", "hello there"): agent.run(agent.handle(text))
    agent.kept_prompts.flush()                     # what models were asked is written a moment later
    before = everything(memex)
    report = replay(agent)
    assert differences(before, everything(memex)) == []
    assert report.as_dict()["changes"] == [] or {c["tool"] for c in report.as_dict()["changes"]} <= {"org-set-todo"}, report.as_dict()["changes"]
    assert report.turns == len(MIXED) + 7 and report.asked_then == report.asked_now >= 3 and not report.skipped
    agent.run(agent.close())


def test_other_rules_say_something_else(memex):
    agent = boot(memex)
    play(agent, call("read-file", path="inbox.org"))
    play(agent, call("org-find", query="roof"))
    play(agent, call("org-find", query="inbox"))
    agent.run(agent.close())
    agent = boot(memex, permissions={"read-file": "deny", "org-find": "ask"})
    agent.kept_prompts.flush()                     # what models were asked is written a moment later
    before = everything(memex)
    report = replay(agent).as_dict()
    assert differences(before, everything(memex)) == [] and not any(memex.glob("memex/list.txt"))
    found = {(c["tool"], c["was"], c["now"]): c for c in report["changes"]}
    assert set(found) == {("read-file", "allowed", "rejected"), ("org-find", "allowed", "asks")} and found["org-find", "allowed", "asks"]["count"] == 2
    example = found["read-file", "allowed", "rejected"]["example"]
    assert example["gate"] == "permissions" and "switched off" in example["why"] and "inbox.org" in example["proposal"]
    assert (report["asks_then"], report["asks_now"], report["most_asks_in_a_turn_now"]) == (0, 2, 1) and report["asks_per_turn_now"] == round(2 / 3, 4)
    assert report["changes"][0]["tool"] == "org-find", "the most frequent comes first"
    agent.run(agent.close())


def test_what_the_person_typed_is_no_question(memex):
    agent = boot(memex, permissions={"org-capture": "ask"}, today="2026-11-19")
    assert agent.run(agent.handle("todo: buy milk tomorrow")).effects
    asked = play(agent, call("org-capture", title="Buy slate", kind="task"))
    report = replay(agent)
    assert asked.approvals and (report.asked_then, report.asked_now, report.changes) == (1, 1, {})
    agent.run(agent.close())
    agent = boot(memex)
    report = replay(agent)
    assert report.asked_now <= 1
    agent.run(agent.close())


def test_what_was_typed_and_cannot_be_taken_back_is_a_question(memex):
    agent = boot(memex)
    agent.run(agent.handle("$ rm inbox.org"))
    report = replay(agent)
    assert (report.asked_then, report.asked_now, report.changes) == (1, 1, {})
    agent.run(agent.close())


def test_friday_was_another_day(memex):
    "A gate that knows what day it is finds the day of the turn."
    agent = boot(memex)
    agent.journal.clock = lambda: datetime(2026, 3, 14, 12).timestamp()
    play(agent, call("org-find", query="roof"))
    days = []
    agent.skills.register(Skill("calendar", deterministic=lambda action, signal: days.append(agent.today()) or action))
    replay(agent)
    assert set(days) == {date(2026, 3, 14)} and agent.today() == date.today()
    agent.run(agent.close())


def test_words_said_before_count_as_they_did(memex):
    "What was said in earlier turns is said again, and only to its session."
    agent = boot(memex)
    heard = []
    agent.skills.register(Skill("listens", deterministic=lambda action, signal: heard.append((signal.session, "\n".join(agent.words(signal).texts))) or action))
    play(agent, "yes", text="the key word is juniper")
    play(agent, "yes", text="and now?")
    play(agent, "yes", text="who is there?", session="other")
    then, heard[:] = list(dict.fromkeys(heard)), []
    replay(agent)
    assert list(dict.fromkeys(heard)) == then and then[1][1].count("juniper") == 1 and "juniper" not in then[2][1]
    agent.run(agent.close())


def test_a_gate_that_fails_or_holds_on_is_survived(memex):
    agent = boot(memex)
    play(agent, call("read-file", path="inbox.org"))
    def fails(action, signal): raise RuntimeError("broken today")
    agent.skills.register(Skill("broken", priority=1, deterministic=fails))
    agent.kept_prompts.flush()                     # what models were asked is written a moment later
    before = everything(memex)
    report = replay(agent)
    assert differences(before, everything(memex)) == [] and {c.now for c in report.changes.values()} == {"rejected"} and "failed" in next(iter(report.changes.values())).example.why
    assert agent.turns.open == {} and len(agent.clearances) == 0
    agent.run(agent.close())


async def test_asks_that_were_answered_are_one_question():
    agent, pending = await asking()
    await agent.approve(pending.id, pending.code)
    report = replay(agent)
    assert (report.asked_then, report.asked_now, report.changes) == (1, 1, {}) and len(agent.ran) == 1
    agent.skills.unregister("careful")
    report = replay(agent)
    assert (report.asked_then, report.asked_now) == (1, 0) and len(agent.ran) == 1


async def test_providers_that_disagreed_would_disagree_again():
    agent = Agent.bare()
    agent.tools.register(Tool("echo", "", [Parameter("text")], lambda text: text))
    for name, text in (("one", "a"), ("two", "b")): agent.backends.register(name, lambda p, s, *, model=None, text=text: call("echo", text=text), inline=True)
    agent.provider_cascade, agent.consensus_enabled = ("one", "two"), True
    reply = await agent.handle("say it")
    assert reply.approvals
    report = replay(agent)
    assert (report.asked_then, report.asked_now, report.changes) == (1, 1, {})


def test_what_cannot_be_compared_is_counted():
    agent = Agent.bare()
    def turn(name, *records, begun=None):
        batch = agent.journal.batch("main", name)
        batch.record("turn", begun or {"sensor": "user-input", "source": "cli", "text": "x"})
        for kind, body in records: batch.record(kind, body)
        batch.commit_now()
    judged = {"verdict": "allowed", "gate": None, "text": "", "gates": []}
    turn("t1", ("proposal", {"attempt": 1, "proposal": call("gone"), **judged}))
    turn("t2", ("proposal", {"attempt": 1, "proposal": "[withheld: too long]", **judged}))
    turn("t3", ("proposal", {"attempt": 1}), ("verdict", {"verdict": "maybe"}))
    turn("t4", ("proposal", {"attempt": 1, "proposal": "hi", **judged}), begun={"sensor": "user-input", "source": "not a name (", "text": "x"})
    turn("t5", ("proposal", {"attempt": 1, "proposal": call("gone"), **judged, "verdict": "rejected"}))
    turn("t6", ("proposal", {"attempt": 1, "proposal": "hi", **judged}), begun={"sensor": "user-input", "source": "cli", "text": "x", "origin": "martian", "depth": "deep"})
    report = replay(agent)
    assert report.skipped == Counter({"tool is gone": 1, "held a secret": 1, "incomplete": 1})
    assert (report.turns, report.proposals) == (6, 3)


@given(st.lists(st.sampled_from(["p1", "p2", "p3", "erased", "v", "log"]), max_size=12))
@settings(max_examples=examples(60))
def test_every_proposal_is_in_one_thought(kinds):
    records = [{"kind": "proposal", "body": {"attempt": int(k[1])}} if k[0] == "p" else {"kind": "proposal", "body": None} if k == "erased" else {"kind": "verdict" if k == "v" else "log", "body": {"verdict": "allowed"}} for k in kinds]
    found = thoughts({"records": records})
    assert sum(map(len, found)) == sum(r["kind"] == "proposal" for r in records)
    assert all(isinstance(t, Thought) for each in found for t in each) and [t.proposal for each in found for t in each] == [r["body"] for r in records if r["kind"] == "proposal"]
    assert sum(t.verdict is not None for each in found for t in each) <= kinds.count("v")


@pytest.mark.slow
def test_the_command(home):
    home.ask("make a list", env=home.script(call("shell", command="touch list.txt")))
    home.ask("read it", env=home.script(call("read-file", path="inbox.org") + "\n---\nDone."))
    replayed = lambda *args, **more: home("gate", "replay", "--memex", home.memex, *args, **more)
    report = json.loads(replayed("--json").stdout)
    assert report["changes"] == [] and report["asks_then"] == report["asks_now"] == 1 and report["turns"] == 2
    done = replayed("--since", "2d", env={"PASSEPARTOUT_PERMISSIONS": "read-file=ask"})
    assert done.returncode == 0 and "× read-file: allowed → asks" in done.stdout and "1 (0.50 a turn, at most 1) then, 2 (1.00 a turn, at most 1) now" in done.stdout
    assert json.loads(replayed("--since", "2999-01-01", "--json").stdout)["turns"] == 0 and replayed("--since", "soon").returncode == 2
    assert not (home.memex / "list.txt").exists()
