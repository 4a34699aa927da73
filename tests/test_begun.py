"What a turn begins with, and what became of an effect, is on record while anybody waits, is written with what follows when nobody does, and is not forgotten when the disk refuses it."
import asyncio
import contextlib
import sqlite3

import pytest

from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.journal import JournalError
from passepartout.tools import Tool


@pytest.fixture
async def disk_agent(tmp_path):
    (tmp_path / "memex").mkdir()
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", provider_cascade=("slow",), permissions={"note-it": "allow"})
    yield agent
    await agent.close()


def on_record(agent):
    "The kinds of what another process finds in the file now."
    with contextlib.closing(sqlite3.connect(agent.journal.path)) as db: return [kind for kind, in db.execute("SELECT kind FROM chain WHERE turn > '' ORDER BY seq")]


NOTE_IT = "(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL \"note-it\" :ARGS () :EXPLANATION \"The person wants it noted.\"))"


def noting(agent, ran):
    "A tool with an effect, and a model that has it called once. It waits each time, and notes what is on record then."
    seen = []

    async def slow(prompt, system_prompt, *, model=None):
        await asyncio.sleep(0)
        seen.append(on_record(agent)[-1:])
        return NOTE_IT if not ran else "Done."
    agent.tools.register(Tool("note-it", "Notes it.", [], lambda: ran.append(1) or "noted"))
    register_backend(agent, "slow", slow)
    return seen


def filling(agent, monkeypatch, left):
    "A disk that refuses as many writes as `left[0]` says."
    plain = type(agent.journal).write

    def full(journal, drafts, durable=True):
        if left[0] > 0:
            left[0] -= 1
            raise JournalError("The disk is full, so nothing was written.")
        plain(journal, drafts, durable)
    monkeypatch.setattr(type(agent.journal), "write", full)


async def test_a_request_is_on_record_while_a_model_thinks(disk_agent):
    seen = []

    async def slow(prompt, system_prompt, *, model=None):
        await asyncio.sleep(0)
        seen.append(on_record(disk_agent))
        return "Hello."
    register_backend(disk_agent, "slow", slow)
    assert await disk_agent.handle("hello") == "Hello."
    assert seen == [["turn"]] and on_record(disk_agent) == ["turn", "proposal", "answer"]


async def test_what_is_answered_without_waiting_is_written_once(disk_agent):
    register_backend(disk_agent, "slow", lambda prompt, system_prompt: "Hello.", inline=True)
    await disk_agent.handle("the first of a session, which reads what was said before")
    before = disk_agent.journal.commits[0]
    assert await disk_agent.handle("hello") == "Hello."
    assert disk_agent.journal.commits[0] - before == 1 and on_record(disk_agent) == ["turn", "proposal", "answer"] * 2


@pytest.mark.parametrize("failures", [1, 1_000_000])
async def test_a_beginning_that_could_not_be_written_is_tried_once_more_before_anything_is_done(disk_agent, monkeypatch, failures):
    "The disk is full for one write, or stays so; then nothing is done, and the person is told."
    ran, left = [], [failures]
    noting(disk_agent, ran)
    filling(disk_agent, monkeypatch, left)
    reply = await disk_agent.handle("note it")
    told = (ran, reply.status, "disk is full" in reply)
    assert told == (([1], "answered", False) if failures == 1 else ([], "failed", True)), reply
    assert on_record(disk_agent)[0] == "turn" if failures == 1 else "intent" not in on_record(disk_agent)


async def test_an_outcome_is_on_record_while_a_model_thinks(disk_agent):
    ran = []
    seen = noting(disk_agent, ran)
    assert (await disk_agent.handle("note it")).status == "answered" and len(ran) == 1
    assert seen == [["turn"], ["outcome"]]


async def test_an_effect_takes_two_synced_commits_and_no_third_when_nobody_waits(disk_agent):
    ran = []
    noting(disk_agent, ran)
    register_backend(disk_agent, "slow", lambda prompt, system_prompt: NOTE_IT if len(ran) % 2 == 0 else ran.append(1) or "Done.", inline=True)
    disk_agent.tools.register(Tool("note-it", "Notes it.", [], lambda: ran.append(1) or "noted", inline=True))
    await disk_agent.handle("the first of a session, which reads what was said before")
    before = disk_agent.journal.commits
    assert await disk_agent.handle("note it") == "Done."
    assert [now - then for now, then in zip(disk_agent.journal.commits, before)] == [2, 2]


@pytest.mark.parametrize("failures, told, room", [(1, False, True), (1_000_000, True, True), (1_000_000, True, False)])
async def test_an_outcome_that_could_not_be_written_is_tried_once_more_and_told(disk_agent, tmp_path, monkeypatch, failures, told, room):
    "The disk is full from the effect on. What was done is not done again; it is written when there is room again, and without that the next start finds it unknown."
    ran, left = [], [0]
    noting(disk_agent, ran)
    filling(disk_agent, monkeypatch, left)
    disk_agent.tools.register(Tool("note-it", "Notes it.", [], lambda: ran.append(1) or left.__setitem__(0, failures) or "noted"))
    reply = await disk_agent.handle("note it")
    assert (len(ran), "Done." in reply, "counts as unknown" in reply, reply.status) == (1, True, told, "failed" if told else "answered"), reply
    if room: left[0] = 0
    assert on_record(disk_agent).count("intent") == 1 and [row["state"] for row in disk_agent.journal.effects()] == ["started" if told else "committed"]
    await disk_agent.close()
    left[0] = 0
    later = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state")
    assert [row["state"] for row in later.journal.effects()] == ["committed" if room else "unknown"] and len(ran) == 1
    await later.close()
