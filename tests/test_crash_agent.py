"Kill an agent that is doing turns with effects, at random moments, boot again, and look at what is left."
import json, os, random, re, signal, subprocess, sys, time
from collections import Counter

import pytest

from passepartout.agent import Agent, run_anywhere
from passepartout.shell.sandbox import find_bubblewrap
from waits import away, next_line, status

# A whole agent on a real memex. It captures tasks that were typed, writes lines into a file outside (an effect that no file
# can settle afterwards), remembers objects, and undoes. What a caller was told, it writes down as the caller would know it. One process
# imports everything and forks; the fork is what gets killed, mid-boot as well.
AGENT = """
import asyncio, importlib, os, pkgutil, random, sys
import passepartout
from passepartout.agent import Agent
from passepartout.tools import Parameter, Tool
for module in pkgutil.walk_packages(passepartout.__path__, "passepartout."):
    if not module.name.endswith("__main__"): importlib.import_module(module.name)
passepartout.shell.sandbox.find_bubblewrap()

memex, state, world_name, told_name = sys.argv[1:]

def work(name):
    rng = random.Random(name)
    told = os.open(told_name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    world = os.open(world_name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    tell = lambda *words: os.write(told, ("\\t".join(words) + "\\n").encode())
    agent = asyncio.run(Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, today="2026-11-19", provider_cascade=("poster", "reflex"), permissions={"post": "allow"}))
    def poster(prompt, system, *, model=None, context=None):
        text = str(context.payload.get("text") or "")
        if context.payload.get("sensor") == "user-input" and text.startswith("post "):
            return f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "post" :ARGS (:LINE "{text[5:]}") :EXPLANATION "You asked to have this line posted"))'
        return {"status": "error", "message": "only posts"}
    agent.backends.register("poster", poster, inline=True)
    agent.tools.register(Tool("post", "Post a line", [Parameter("line")], lambda line: os.write(world, (line + "\\n").encode()) and "posted", effects={"idempotent": False}, inline=True))
    async def turns():
        tell("booted", name, str(len(agent.unknown_effects)))
        for number in range(100_000):
            item = f"{name}n{number}"
            text = f"post {item}" if number % 3 == 1 else f"todo: item {item}"
            reply = await agent.handle(text)
            tell("turn", reply.turn, item, reply.status, *reply.effects)
            if rng.random() < 0.1:
                reply = await agent.undo()
                tell("undo", reply.turn, "-", reply.status, *reply.effects)
    asyncio.run(turns())

for line in sys.stdin:
    child = os.fork()
    if not child:
        try: work(line.strip())
        except BaseException: __import__("traceback").print_exc()
        finally: os._exit(1)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Victims:
    "Agents on one memex that are killed one after the other."
    def __init__(self, folder):
        self.memex, self.state, self.world, self.told = (folder / name for name in ("memex", "state", "world", "told"))
        self.memex.mkdir()
        (self.memex / "inbox.org").write_text("* Inbox\n** mine, before all this\n")
        self.world.touch(), self.told.touch()
        self.child = None
        self.first = subprocess.Popen([sys.executable, "-c", AGENT, self.memex, self.state, self.world, self.told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin_one(self, name):
        self.first.stdin.write(f"{name}\n"); self.first.stdin.flush()
        self.child = int(next_line(self.first))
        return self.child

    def kill_one(self, name, delay):
        child = self.begin_one(name)
        time.sleep(delay)
        self.end(child)

    def end(self, child):
        os.kill(child, signal.SIGKILL)
        self.child = None
        assert int(next_line(self.first)) == -signal.SIGKILL, "the agent ended by itself"

    def pace(self, lines=12):
        "Seconds in which an agent boots and does some turns, as busy as this machine is."
        child, began = self.begin_one("warm"), time.monotonic()
        while len(self.told.read_text().splitlines()) < lines and time.monotonic() - began < 20: time.sleep(0.01)
        self.end(child)
        return time.monotonic() - began

    def close(self):
        if self.child is not None: os.kill(self.child, signal.SIGKILL)          # the test ended in between
        self.first.stdin.close()
        try: status(self.first)
        finally: away(self.first)


def boot(victims): return run_anywhere(Agent.boot(memex_dir=victims.memex, state_dir=victims.state, config_dir=victims.state, today="2026-11-19"))


def look(victims):
    "Boot once more and compare what was told, what is recorded, and what the world and the notes hold."
    agent = boot(victims)
    try:
        verdict = agent.journal.verify(whole=True)
        assert verdict.ok, verdict.problem
        records = agent.journal.records()
        effects = {e["id"]: e for e in agent.journal.effects()}
    finally: run_anywhere(agent.close())
    kinds = Counter((r["turn"], r["kind"]) for r in records)
    lines = [line.split("\t") for line in victims.told.read_text().splitlines()]
    states = Counter(e["state"] for e in effects.values())

    # No turn that was answered is lost, and it is there once.
    for word, turn, item, ended, *done in (line for line in lines if line[0] in ("turn", "undo")):
        assert ended == "answered", (word, item, ended)
        assert kinds[turn, "turn"] == kinds[turn, "answer"] == 1, (turn, item)
        assert all(effects[effect]["state"] == "committed" for effect in done) and (done or word == "undo"), item

    # Every effect is settled, and each is recorded by one intent and one outcome.
    assert set(states) <= {"committed", "failed", "unknown"}, states
    counted = Counter((r["kind"], r["body"]["effect"]) for r in records if r["kind"] in ("intent", "outcome"))
    assert set(counted.values()) <= {1} and len(counted) == 2 * len(effects)

    # Nothing was done twice; what is recorded as done was done, what is recorded as failed was not.
    posts = {json.loads(e["action"])[2]["args"]["line"]: e["state"] for e in effects.values() if json.loads(e["action"])[2]["tool"] == "post"}
    world = Counter(victims.world.read_text().splitlines())
    assert set(world.values()) <= {1} and set(world) <= set(posts), "a line was posted twice, or without a record"
    assert all(line in world for line, state in posts.items() if state == "committed") and not any(line in world for line, state in posts.items() if state == "failed")

    # The notes hold the captures that were carried out and not taken back, each once, and every byte that was there before.
    text = (victims.memex / "inbox.org").read_text()
    undone = {json.loads(e["action"])[2]["args"]["effect"] for e in effects.values() if e["state"] == "committed" and json.loads(e["action"])[2]["tool"] == "undo-edit"}
    captures = {i: json.loads(e["action"])[2]["args"]["title"].split()[-1] for i, e in effects.items() if json.loads(e["action"])[2]["tool"] == "org-capture"}
    wanted = Counter(item for i, item in captures.items() if effects[i]["state"] == "committed" and i not in undone)
    doubtful = {item for i, item in captures.items() if effects[i]["state"] == "unknown"} | ({item for item in captures.values()} if any(e["state"] == "unknown" and "undo-edit" in e["action"] for e in effects.values()) else set())
    found = Counter(re.findall(r"^\*+ TODO item (\S+)$", text, re.MULTILINE))
    assert {k: v for k, v in found.items() if k not in doubtful} == {k: v for k, v in wanted.items() if k not in doubtful}
    assert text.startswith("* Inbox\n** mine, before all this\n")
    assert [p.name for p in victims.memex.rglob("*")] == ["inbox.org"], "working files were left behind"
    return states, len(lines)


def kill_many(folder, kills, every, longest, seed, enough=0):
    "Kill `kills` agents at random moments of their first turns, at most `longest` times as late as the first one took; more of them, on a machine so busy that less than `enough` happened."
    random.seed(seed)
    victims = Victims(folder)
    try:
        longest *= victims.pace()
        for n in range(5 * kills):
            victims.kill_one(f"p{n}", random.uniform(0.0, longest))
            if n % every == every - 1: states, lines = look(victims)
            if n % every == every - 1 and n >= kills - 1 and min(states["committed"], lines) >= enough: break
    finally: victims.close()
    return states, lines


async def test_who_talks_on_after_the_state_folder_was_removed_reads_that_nothing_is_kept_and_nothing_is_done(tmp_path):
    "Effects were refused, and answers went into a file that has no name: the person read nothing of it. The end of the program raised an error."
    import shutil
    from passepartout.agent import Agent
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").write_text("* Inbox\n** TODO Buy milk\n")
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("reflex",))
    assert "Added the task" in str(await agent.handle("todo: first thing"))
    shutil.rmtree(tmp_path / "state")
    for line in ("open tasks", "todo: second thing", "mark buy milk as done", "open tasks"):
        said = str(await agent.handle(line))
        assert "was moved, removed or exchanged while it was open" in said and ("nothing is done" in said), said
        assert ("Buy milk" in said) == (line == "open tasks")
    await agent.close()
    assert (tmp_path / "memex" / "inbox.org").read_text() == "* Inbox\n** TODO Buy milk\n* TODO first thing\n"


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path):
    states, lines = kill_many(tmp_path, 4, 2, 1, 20261119, enough=6)
    assert states["committed"] >= 6 and lines >= 6, "too little happened between the kills for this to say anything"


@pytest.mark.slow
def test_killed_hundreds_of_times(tmp_path):
    for round in range(6):
        folder = tmp_path / str(round)
        folder.mkdir()
        states, lines = kill_many(folder, 50, 5, 1.5, round)
        print(states, lines)


@pytest.mark.slow
def test_what_is_unknown_is_told_and_not_repeated(tmp_path):
    "Killed between the line in the world and its outcome: nobody can know, so the person is told, once, and nothing runs again."
    victims = Victims(tmp_path)
    victims.close()
    agent = boot(victims)
    batch = agent.journal.batch("main", "t1")
    batch.intend("e1", "hash", '["request","tool",{"action":"call","args":{"line":"x"},"tool":"post"}]')
    batch.commit_now()
    run_anywhere(agent.close())
    agent = boot(victims)
    try:
        assert [e["id"] for e in agent.unknown_effects] == ["e1"] and agent.journal.effect("e1")["state"] == "unknown"
        assert any("unknown" in finding.what for finding in agent.diagnostics) and victims.world.read_text() == ""
    finally: run_anywhere(agent.close())
    agent = boot(victims)
    assert agent.unknown_effects == []
    run_anywhere(agent.close())


# An action of two files, killed after the first of them was written: at once, and once the outcome of the first is on the disk.
BETWEEN = """
import asyncio, os, sys
import passepartout.act as act
from passepartout.agent import Agent
memex, state, moment = sys.argv[1:]
begun, write = [], act.apply_edit
def dying(edit):
    if begun and moment == "later": os._exit(9)
    write(edit); begun.append(edit)
    if moment == "at once": os._exit(9)
act.apply_edit = dying
async def main():
    agent = await Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, cache_dir=state, today="2026-11-19")
    await agent.handle("archive the dentist")
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["at once", "later"])
def test_an_edit_of_two_files_that_died_between_them_is_told_and_can_be_taken_back(tmp_path, moment):
    memex, state = tmp_path / "memex", tmp_path / "state"
    memex.mkdir()
    (memex / "house.org").write_text(text := "* TODO Dentist\n* Roof\n")
    run = subprocess.run([sys.executable, "-c", BETWEEN, memex, state, moment], capture_output=True, text=True, timeout=120)
    assert run.returncode == 9, run.stderr
    assert "Dentist" in (memex / "house.org").read_text() and "Dentist" in (memex / "house.org_archive").read_text()
    settings = {"memex_dir": memex, "state_dir": state, "config_dir": state, "cache_dir": state, "today": "2026-11-19"}
    agent = run_anywhere(Agent.boot(settings))
    assert [finding.what for finding in agent.diagnostics if "middle of an edit" in finding.what] == ["An earlier run ended in the middle of an edit: house.org_archive was changed, house.org was not."], agent.diagnostics
    assert sorted(e["state"] for e in agent.journal.effects()) == ["committed", "failed"] and agent.unknown_effects == []
    assert agent.run(agent.undo()).status == "answered"
    assert (memex / "house.org").read_text() == text and "Dentist" not in ((memex / "house.org_archive").read_text() if (memex / "house.org_archive").exists() else "")
    run_anywhere(agent.close())
    again = run_anywhere(Agent.boot(settings))
    assert not again.half_done and not [finding for finding in again.diagnostics if "middle" in finding.what]
    run_anywhere(again.close())


# The same for taking it back: killed before or after the write of the first or of the second file.
BACKWARDS = """
import asyncio, os, sys
import passepartout.act as act
from passepartout.agent import Agent
memex, state, number, when = sys.argv[1:]
written, write = [], act.apply_edit
def dying(edit):
    written.append(edit)
    mine = len(written) == 2 + int(number)
    if mine and when == "before": os._exit(9)
    write(edit)
    if mine: os._exit(9)
act.apply_edit = dying
async def main():
    agent = await Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, cache_dir=state, today="2026-11-19")
    await agent.handle("archive the dentist")
    await agent.undo()
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number, when, half", [(1, "before", False), (1, "after", True), (2, "before", True), (2, "after", False)])
def test_an_undo_of_two_files_that_died_between_them_is_told_as_what_it_is(tmp_path, number, when, half):
    memex, state = tmp_path / "memex", tmp_path / "state"
    memex.mkdir()
    (memex / "house.org").write_text(text := "* TODO Dentist\n* Roof\n")
    run = subprocess.run([sys.executable, "-c", BACKWARDS, memex, state, str(number), when], capture_output=True, text=True, timeout=120)
    assert run.returncode == 9, run.stderr
    agent = run_anywhere(Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, cache_dir=state, today="2026-11-19"))
    told = [f"{finding.what} {finding.why}" for finding in agent.diagnostics if "taking something back" in finding.what or "/undo" in finding.why]
    if half: assert told == ["An earlier run ended while it was taking something back: house.org is as it was before, house.org_archive is not yet. Nothing is lost; what was moved stands in both."], agent.diagnostics
    else: assert len(told) == 1 and "taking something back" not in told[0] and ("nothing was changed" in told[0]) == (when == "before")
    agent.run(agent.undo())
    assert (memex / "house.org").read_text() == text and not (memex / "house.org_archive").exists()
    run_anywhere(agent.close())
    again = run_anywhere(Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, cache_dir=state, today="2026-11-19"))
    assert not again.half_done and not again.unanswered
    run_anywhere(again.close())


CUT = """
import asyncio, os, sys
from passepartout.agent import Agent
from passepartout.turns import Turns
memex, state, words = sys.argv[1:]
async def ended(self, signal): os._exit(9)
Turns.end = ended
async def main():
    agent = await Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, cache_dir=state, today="2026-11-19")
    await agent.handle(words)
asyncio.run(main())
"""


@pytest.mark.parametrize("beside", [False, True])
def test_a_request_that_was_never_answered_is_told_once(tmp_path, beside):
    "Killed after the note was written and before anybody was told: who asks again should know that it is there. Also beside a process that lives and has a turn open."
    memex, state = tmp_path / "memex", tmp_path / "state"
    memex.mkdir()
    settings = {"memex_dir": memex, "state_dir": state, "config_dir": state, "cache_dir": state, "today": "2026-11-19"}
    living = run_anywhere(Agent.boot(settings)) if beside else None
    if living:
        running = living.journal.batch("other", "t1")
        running.record("turn", {"text": "still at work", "origin": "person", "owner": living.journal.boot}), running.commit_now()
    run = subprocess.run([sys.executable, "-c", CUT, memex, state, "note: the stove is to be swept"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 9, run.stderr
    for times in (1, 0):
        agent = run_anywhere(Agent.boot(settings))
        told = [finding for finding in agent.diagnostics if "had answered" in finding.what]
        assert len(told) == times and all("“note: the stove is to be swept”; inbox.org was changed" in each.why and "look before you ask again" in each.fix for each in told), agent.diagnostics
        assert "stove" not in str(agent.log.lines())
        assert [r["body"]["status"] for r in agent.journal.records(kinds=["answer"])] == ["interrupted"] and agent.health == ("healthy" if find_bubblewrap().works else "degraded")
        run_anywhere(agent.close())
    assert (memex / "inbox.org").read_text().count("stove") == 1
    if living: run_anywhere(living.close())


DIES = """
import asyncio, os, sys
from passepartout.agent import Agent
from passepartout.tools import Parameter, Tool
memex, state, what = sys.argv[1:]
def dies(*args, **more): os._exit(9)
async def main():
    agent = await Agent.boot(memex_dir=memex, state_dir=state, config_dir=state, cache_dir=state, provider_cascade="model", permissions={"post": "ask"})
    agent.tools.register(Tool("post", "Post a line", [Parameter("line")], lambda line: open(f"{memex}/posted", "a").write(line), effects={"idempotent": False}, inline=True))
    call = '(:CALL "post" :ARGS (:LINE "x"))'
    said = iter([f'(:TYPE :PLAN :EXPLANATION "Post both of them" :STEPS ({call} {call}))' if what == "plan" else '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "post" :ARGS (:LINE "x") :EXPLANATION "You asked to have it posted"))'])
    agent.backends.register("model", lambda prompt, system: next(said, "Done."), inline=True)
    pending, = (await agent.handle("post x")).approvals
    ends = agent.end_effect
    async def ended(*args, **more):
        await ends(*args, **more)
        agent.journal.flush()
        os._exit(9)
    if what == "plan": agent.end_effect = ended
    else: agent.process = dies
    await agent.approve(pending.id, pending.code)
asyncio.run(main())
"""


@pytest.mark.parametrize("what", ["yes", "plan"])
def test_a_yes_that_was_given_just_before_the_end_is_told_and_never_used_later(tmp_path, what):
    "Nothing was begun: the question is gone from the list and the yes is spent, so somebody has to say so. A whole plan that was said yes to stands as soon as the yes is used."
    memex, state = tmp_path / "memex", tmp_path / "state"
    memex.mkdir()
    run = subprocess.run([sys.executable, "-c", DIES, memex, state, what], capture_output=True, text=True, timeout=120)
    assert run.returncode == 9, run.stderr
    settings = {"memex_dir": memex, "state_dir": state, "config_dir": state, "cache_dir": state}
    for times in (1, 0):
        agent = run_anywhere(Agent.boot(settings))
        told = [each for each in agent.diagnostics if ("You said yes" in each.what if what == "yes" else "in the middle of a plan" in each.what)]
        assert len(told) == times, agent.diagnostics
        assert [each["state"] for each in agent.journal.approvals()] == [{"yes": "denied", "plan": "used"}[what]] and len(agent.unfinished_plans()) == (what == "plan")
        assert not (memex / "posted").exists() and agent.journal.verify(whole=True).ok
        run_anywhere(agent.close())


def test_a_yes_that_another_process_may_be_about_to_use_is_left_alone(tmp_path):
    memex, state = tmp_path / "memex", tmp_path / "state"
    memex.mkdir()
    settings = {"memex_dir": memex, "state_dir": state, "config_dir": state, "cache_dir": state}
    living = run_anywhere(Agent.boot(settings))
    batch = living.journal.batch("main", "t1")
    batch.ask("a1", "hash", "(:TARGET :TOOL)", code_hash="c", expires=time.time() + 900, reason="May I?", channel="cli", shown="", phrase="", preview="", private=False, policy="")
    batch.commit_now()
    living.journal.approve("a1", by="person", session="main")
    beside = run_anywhere(Agent.boot(settings))
    assert beside.journal.approval("a1")["state"] == "approved" and beside.unbegun == []
    for agent in (beside, living): run_anywhere(agent.close())
    later = run_anywhere(Agent.boot(settings))
    assert later.journal.approval("a1")["state"] == "denied" and [each["id"] for each in later.unbegun] == ["a1"]
    run_anywhere(later.close())
