"Skills of pages in an agent that is booted: hot reload, turns under way, self-editing, and what it may never do"
import asyncio
import os
import time
from pathlib import Path

import pytest

from passepartout.agent import Agent, run_anywhere
from passepartout.backends import register_backend
from passepartout.messages import Rejected
from passepartout.shell.sandbox import Bubblewrap, find_bubblewrap
from passepartout.skillfiles.skillpage import read_skill

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not find_bubblewrap().works and "CI" not in os.environ, reason="bubblewrap does not work here")]
FIND = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-find" :ARGS (:QUERY "roof") :EXPLANATION "You asked where the roof is written about."))'
GATE = "---\npermissions: gate\n{more}---\n```python\ndef gate(a, s): return reject('{text}') if a['kind'] == 'call' else None\n```\n"
ORG = "#+PROPERTY: skill brief\n#+PROPERTY: permissions prompt\nAnswers are short.\n#+begin_src python\ndef mandate(signal): return \"Answer in one sentence.\"\n\ndef test_brief(): assert \"one\" in mandate({})\n#+end_src\n"


@pytest.fixture
def places(tmp_path):
    (tmp_path / "memex").mkdir()
    (tmp_path / "config" / "passepartout" / "skills").mkdir(parents=True)
    return {"memex_dir": tmp_path / "memex", "config_dir": tmp_path / "config", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache"}


def page(places, name: str, text: str, more: str = "") -> Path:
    file = places["config_dir"] / "passepartout" / "skills" / name
    file.write_text(GATE.format(text=text, more=more))
    return file


async def until(what, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)


def test_saving_is_enough_and_a_turn_under_way_keeps_its_version(places):
    async def story():
        page(places, "no.md", "first")
        agent = await Agent.boot(**places, today="2026-11-19")
        asked, go = asyncio.Event(), asyncio.Event()
        said = []
        async def slow(prompt, system_prompt, *, model=None):
            said.append(prompt)
            if len(said) == 1:
                asked.set()
                await asyncio.wait_for(go.wait(), 120)
            return FIND if len(said) % 2 else '(:PAYLOAD (:ACTION :MESSAGE :TEXT "so be it"))'
        register_backend(agent, "slow", slow)
        agent.provider_cascade = ("slow",)
        agent.follow_notes()
        turn = asyncio.create_task(agent.handle("where is the roof?"))
        await asyncio.wait_for(asked.wait(), 120)
        page(places, "no.md", "second")
        await until(lambda: agent.book.versions["no"][-1].page.data.count(b"second"))
        go.set()
        first = await turn
        second = await agent.handle("where is the roof now?")
        verdicts = [[r["body"]["text"] for r in agent.trace(reply.turn)[0]["records"] if r["kind"] == "verdict" and r["body"]["verdict"] == "rejected"][0] for reply in (first, second)]
        await agent.close()
        return verdicts
    assert run_anywhere(story()) == ["The skill no refuses this: “first”", "The skill no refuses this: “second”"]


def test_a_mandatory_page_that_cannot_be_loaded_stops_effects_and_is_told(places):
    async def story():
        page(places, "must.md", "x", "mandatory: yes\n").write_text("---\nmandatory: yes\npermissions: gate\n---\n```python\ndef gate(a, s): return None\ndef test_a(): assert False\n```\n")
        agent = await Agent.boot(**places)
        told = [finding.what for finding in agent.diagnostics]
        verdict = (await agent.check(FIND))[1]
        reply = await agent.handle("hello")
        await agent.close()
        return told, verdict, str(reply)
    told, verdict, reply = run_anywhere(story())
    assert any("must.md" in what for what in told) and isinstance(verdict, Rejected) and "not in force" in verdict.text and reply


def test_the_agent_writes_a_skill_only_with_approval(places):
    async def story():
        agent = await Agent.boot(**places, permissions={"create-skill": "allow", "default": "allow"})
        asked = []
        quoted = ORG.replace("\\", "\\\\").replace('"', '\\"')
        def model(prompt, system_prompt, *, model=None):
            asked.append(system_prompt)
            return f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "create-skill" :ARGS (:NAME "brief" :PAGE "{quoted}") :EXPLANATION "So that the answers are short from now on."))' if len(asked) == 1 else '(:PAYLOAD (:ACTION :MESSAGE :TEXT "done"))'
        register_backend(agent, "model", model)
        agent.provider_cascade = ("model",)
        reply = await agent.handle("please teach yourself to be brief")
        file = places["config_dir"] / "passepartout" / "skills" / "brief.org"
        before = reply.status, file.exists()
        pending, = reply.approvals
        await agent.approve(pending.id, pending.code)
        after = file.read_text()
        await agent.handle("hello")
        marked = dict(agent.book.memory.made)
        await agent.close()
        return before, pending.summary + pending.reason + str(getattr(pending, "preview", "")), after, asked[-1], marked
    before, shown, after, prompt, marked = run_anywhere(story())
    assert before == ("requires-approval", False) and "+def mandate" in shown and after == ORG
    assert "Answer in one sentence." in prompt and marked == {"brief": "brief.org"}


@pytest.mark.parametrize("name", ["policy", "permissions", "skill-writing", "../rules", "mine"])
def test_it_cannot_write_what_is_not_its_own(places, name):
    page(places, "mine.md", "x")
    async def story():
        agent = await Agent.boot(**places)
        verdicts = [(await agent.check({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": tool, "explanation": "So that it does what you want from now on.", "args": {"name": name, "page": ORG.replace("brief", name)}}}))[1] for tool in ("create-skill", "edit-skill")]
        await agent.close()
        return verdicts
    assert all(isinstance(v, Rejected) for v in run_anywhere(story()))
    assert sorted(p.name for p in (places["config_dir"] / "passepartout" / "skills").iterdir()) == ["mine.md"]


def test_a_page_cannot_take_the_name_of_a_gate(places):
    page(places, "skill-writing.md", "x")
    page(places, "privacy.org", "x")
    async def story():
        agent = await Agent.boot(**places)
        found = agent.book.problems, agent.skills.get("skill-writing").foreign
        await agent.close()
        return found
    problems, foreign = run_anywhere(story())
    assert len(problems) == 2 and not foreign


def test_an_agent_without_skills_opens_no_book(places):
    (places["config_dir"] / "passepartout" / "skills").rmdir()
    agent = run_anywhere(Agent.boot(**places))
    assert agent.book is None
    run_anywhere(agent.close())


@pytest.fixture
def skills(tmp_path):
    "The commands about skills, with a folder of their own; the exit status and what was printed."
    from typer.testing import CliRunner
    from passepartout.terminal.skillcommands import skills_app
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("STATE", "CONFIG", "CACHE")} | {"HOME": str(tmp_path), "MEMEX_DIR": str(tmp_path / "memex"), "COLUMNS": "300"}
    (tmp_path / "memex").mkdir()
    (home := tmp_path / "config" / "passepartout" / "skills").mkdir(parents=True)
    def say(*args):
        done = CliRunner().invoke(skills_app(), list(args), env=env)
        return done.exit_code, done.output
    say.home, say.state = home, tmp_path / "state" / "passepartout" / "skills"
    return say


def test_pages_that_keep_each_other_out_are_not_called_in_order(skills):
    for file in ("a.md", "b.md"): (skills.home / file).write_text("---\nskill: same\npermissions: gate\n---\n```python\ndef gate(a, s): return None\n```\n")
    status, said = skills("check")
    assert status == 1 and "both called same" in said and "in order" not in said
    (skills.home / "b.md").unlink()
    assert skills("check")[0] == 0


def test_what_the_agent_wrote_is_removed_from_its_folder_and_nowhere_else(skills, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for folder in (skills.home, tmp_path / "elsewhere"): (folder / "brief.org").write_text(ORG)
    skills.state.mkdir(parents=True)
    (skills.state / "skills.json").write_text('{"made": {"brief": "brief.org"}}')
    status, said = skills("disable", "brief", "--remove")
    assert status == 0 and "was removed" in said, said
    assert not (skills.home / "brief.org").exists() and (tmp_path / "elsewhere" / "brief.org").exists()


def test_the_person_hears_whether_something_still_decides(tmp_path):
    from passepartout.skillfiles.skillbook import SkillBook, SkillFolder, Version
    book = SkillBook(Agent.bare(), [SkillFolder(tmp_path)], Bubblewrap(problem="none"), None)
    page = read_skill(tmp_path / "strict.md", b"---\nmandatory: yes\npermissions: gate\n---\n```python\ndef gate(a, s): return None\n```\n")
    assert book.left_with(str(tmp_path / "strict.md")) == book.left_with("strict") == "What it was to do is not done."
    book.versions["strict"] = [Version(page, None)]
    assert book.left_with(str(tmp_path / "strict.md")) == book.left_with("strict") == "Until that is mended, the version before decides." != book.left_with("other")
    book.versions["strict"][-1].broken = "there is none"
    assert book.left_with("strict") == "What it was to do is not done."


@pytest.mark.parametrize("wrong", ["When the person says good morning, greet them.", "# Careful\n\n```python\ndef gate(action, signal): return None\n```\n", "---\npermissions: gate\n---\n# Careful\n\n```python\ndef gate(action, signal): return None\n```\n"])
def test_a_model_that_cannot_write_a_page_is_told_how_one_looks_and_that_page_is_in_order(places, wrong):
    from passepartout.skillfiles.skilltools import PAGE_FORM
    async def story():
        agent = await Agent.boot(**places)
        check = lambda page: agent.check({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "create-skill", "explanation": "So that it does what you want from now on.", "args": {"name": "careful", "page": page}}})
        found = [(await check(page))[1] for page in (wrong, PAGE_FORM.partition("\n")[2])]
        await agent.close()
        return found
    refused, asked = run_anywhere(story())
    assert refused.text.endswith(PAGE_FORM)
    assert "Teach the skill careful? It defines gate, wants gate, arguments, and its 1 tests passed." in asked.reason


def test_a_rule_with_a_slip_in_it_is_not_passed_by_typing_what_it_would_judge(places):
    "Who keeps a rule that refuses something sees neither that it is done nor that the rule was never asked."
    async def story():
        file = page(places, "milk.md", "none", "")
        file.write_text("---\npermissions: gate arguments\n---\n```python\ndef gate(a, s):\n    return reject('no milk') if a['kind'] == 'call' and 'milk' in str(a['argumnets']) else None\n```\n")
        agent = await Agent.boot(**places, today="2026-11-19", provider_cascade="reflex")
        reply = await agent.handle("todo buy milk")
        held = not (places["memex_dir"] / "inbox.org").exists()
        asked, = reply.approvals
        done = await agent.approve(asked.id, asked.code, "main")
        await agent.close()
        return held, asked.phrase, "could not be asked" in asked.summary + asked.reason, str(done)
    held, phrase, told, done = run_anywhere(story())
    assert (held, phrase or "", told) == (True, "", True) and "Added the task “buy milk”" in done
