"What a person marked as private stays so: no model takes the mark off, however it goes about it, unless the person says so"
import asyncio

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.plist import write_plist
from passepartout.shell.sandbox import find_bubblewrap

DIARY = "* Diary :@private:\n:PROPERTIES:\n:ID: d1\n:END:\nNobody knows\n** Doctor\nOn Friday\n* Bees\nHives\n"
READ = ("read-file", {"path": "diary.org"})
ATTACKS = {"the tag": (("org-set-tags", {"path": "diary.org", "heading": "Diary", "remove": ["@private"]}), READ),
           "the tag, among others": (("org-set-tags", {"path": "diary.org", "heading": "Diary", "add": ["old"], "remove": ["x", "@private"]}), READ),
           "what is below": (("org-refile", {"path": "diary.org", "heading": "Doctor", "target": "inbox.org"}), ("read-file", {"path": "inbox.org"})),
           "under another heading": (("org-refile", {"path": "diary.org", "heading": "Doctor", "target": "diary.org", "under": "Bees"}), ("shell", {"command": "tail -n 3 diary.org"})),
           "the tag of a whole file": (("org-set-tags", {"path": "file.org", "heading": "", "remove": ["@private"]}), ("read-file", {"path": "file.org"})),
           "the tag of a whole page": (("org-set-tags", {"path": "page.md", "heading": "", "add": ["x"], "remove": ["@private"]}), ("read-file", {"path": "page.md"})),
           "the tags of a file": (("replace-string", {"path": "file.org", "old": "#+FILETAGS: :@private:\n", "new": ""}), ("read-file", {"path": "file.org"})),
           "front matter": (("replace-string", {"path": "page.md", "old": "tags: ['@private']\n", "new": ""}), ("read-file", {"path": "page.md"})),
           "a title that is no heading any more": (("replace-string", {"path": "diary.org", "old": "* Diary", "new": " * Diary"}), READ),
           "a copy that an editor left": (("replace-string", {"path": "diary.org~", "old": ":@private:", "new": ""}), ("read-file", {"path": "diary.org~"})),
           "a text that is no note": (("replace-string", {"path": "diary.txt", "old": ":@private:", "new": ""}), ("read-file", {"path": "diary.txt"})),
           "every line at once": (("replace-string", {"path": "old.org", "old": " ", "new": "_", "every": True}), ("read-file", {"path": "old.org"})),
           "no note": (("write-file", {"path": "diary.org", "text": DIARY.replace(":@private:", ":@privat:")}), READ)}


@pytest.fixture
def agent(tmp_path):
    memex = tmp_path / "memex"
    memex.mkdir()
    for name, text in (("diary.org", DIARY), ("inbox.org", "* Inbox\n"), ("diary.org~", DIARY), ("diary.txt", DIARY), ("old.org", "* Bees\nHives in June\n* Diary :@private:\nNobody knows\n** Doctor Lee\nOn Friday\n"), ("file.org", "#+FILETAGS: :@private:\n* Diary\nNobody knows\n"), ("fence.md", "# Public\n\nWords\n\n# Diary #@private\n\nNobody knows\n"), ("page.md", "---\ntags: ['@private']\n---\n# Diary\n\nNobody knows\n")): (memex / name).write_text(text)
    agent = asyncio.run(Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", permissions={"default": "allow", "write-file": "allow", "replace-string": "allow", "org-archive": "allow"}))
    yield agent
    agent.run(agent.close())


def turn(agent, *calls, text="please do that for me"):
    "What a model on another machine was shown while it proposed `calls`, and the reply."
    script, seen = iter([write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "You asked for this very thing a moment ago"}}) for tool, args in calls]), []
    def model(prompt, system_prompt):
        seen.append(prompt + system_prompt)
        return next(script, '(:PAYLOAD (:ACTION :MESSAGE :TEXT "done"))')
    register_backend(agent, "elsewhere", model, inline=True)
    agent.provider_cascade = ("elsewhere",)
    return "".join(seen), agent.run(agent.handle(text))


@pytest.mark.parametrize("attack", thinned(ATTACKS, 4))
def test_no_model_elsewhere_uncovers_what_is_private(agent, attack):
    "The tools are allowed by name; it is asked all the same, once, and the yes is to this very result."
    if ATTACKS[attack][1][0] == "shell" and not find_bubblewrap().works: pytest.skip("without bubblewrap every command asks")
    before = {path.name: path.read_bytes() for path in agent.settings.memex_dir.iterdir()}
    agent.of_private = lambda signal, said: True              # replace-string finds nothing there otherwise, as the next test sees
    seen, reply = turn(agent, *ATTACKS[attack])
    assert "Nobody" not in seen and "Friday" not in seen
    assert len(reply.approvals) == 1 and "take the private mark off" in reply.approvals[0].reason and "Friday" not in reply.approvals[0].reason
    assert before == {path.name: path.read_bytes() for path in agent.settings.memex_dir.iterdir()}
    asked = reply.approvals[0]
    agent.run(agent.approve(asked.id, asked.code))
    assert before != {path.name: path.read_bytes() for path in agent.settings.memex_dir.iterdir()} and agent.journal.approval(asked.id)["state"] == "used" and agent.pending() == []


@pytest.mark.parametrize("attack", [name for name, (call, *_) in ATTACKS.items() if call[0] == "replace-string"])
def test_and_replaces_nothing_that_it_may_not_read(agent, attack):
    before = {path.name: path.read_text() for path in agent.settings.memex_dir.iterdir()}
    seen, reply = turn(agent, *ATTACKS[attack])
    after = {path.name: path.read_text() for path in agent.settings.memex_dir.iterdir()}
    assert "Nobody" not in seen and "Friday" not in seen and not reply.approvals
    assert after == {**before, "old.org": "*_Bees\nHives_in_June\n* Diary :@private:\nNobody knows\n** Doctor Lee\nOn Friday\n"} if attack == "every line at once" else after == before


def test_a_yes_to_it_is_no_yes_to_another_result(agent):
    asked = turn(agent, *ATTACKS["the tag"], text="open the heading Diary")[1].approvals[0]
    diary = agent.settings.memex_dir / "diary.org"
    diary.write_text(DIARY.replace("On Friday", "On Friday, at nine"))
    reply = agent.run(agent.approve(asked.id, asked.code))
    assert len(reply.approvals) == 1 and ":@private:" in diary.read_text()


def test_what_uncovers_nothing_is_not_asked_about(agent):
    for call in (("org-set-tags", {"path": "diary.org", "heading": "Bees", "add": ["garden"]}), ("org-set-tags", {"path": "diary.org", "heading": "Doctor", "add": ["@personal"]}), ("org-set-property", {"path": "diary.org", "heading": "Bees", "name": "ID", "value": "d2"}),
                 ("org-retitle", {"path": "diary.org", "heading": "Diary", "title": "Old diary"}), ("org-refile", {"path": "diary.org", "heading": "Bees", "target": "inbox.org"}), ("org-set-todo", {"path": "diary.org", "heading": "Doctor", "state": "TODO"}),
                 ("org-archive", {"path": "diary.org", "heading": "Doctor", "archive": "diary.org_archive"}), ("org-refile", {"path": "diary.org", "heading": "Diary", "target": "file.org"})):
        assert not turn(agent, call, text=f"please, with {call[1]['heading']}")[1].approvals, call
    assert "@private" in (agent.settings.memex_dir / "diary.org_archive").read_text()


def test_what_the_person_takes_back_themselves_is_theirs(agent):
    turn(agent, ("org-set-tags", {"path": "diary.org", "heading": "Bees", "add": ["@private"]}))
    diary = agent.settings.memex_dir / "diary.org"
    assert "Bees :@private:" in " ".join(diary.read_text().split())
    reply = agent.run(agent.undo())
    assert not reply.approvals and diary.read_text() == DIARY


def test_a_step_of_a_plan_asks_as_well(agent):
    plan = {"type": "REQUEST", "target": "plan", "payload": {"action": "plan", "explanation": "You asked for this very thing a moment ago", "steps": [{"call": "org-set-tags", "args": {"path": "diary.org", "heading": "Diary", "remove": ["@private"]}, "as": "a"}]}}
    script = iter([write_plist(plan)])
    register_backend(agent, "elsewhere", lambda prompt, system_prompt: next(script, '(:PAYLOAD (:ACTION :MESSAGE :TEXT "done"))'), inline=True)
    agent.provider_cascade = ("elsewhere",)
    reply = agent.run(agent.handle("take the plan about Diary"))
    diary = agent.settings.memex_dir / "diary.org"
    assert len(reply.approvals) == 1 and "take the private mark off" in reply.approvals[0].reason and diary.read_text() == DIARY
    agent.run(agent.approve(reply.approvals[0].id, reply.approvals[0].code))
    assert ":@private:" not in diary.read_text() and agent.pending() == []


@pytest.mark.slow
def test_a_long_diary_is_looked_at_as_well(agent):
    diary = agent.settings.memex_dir / "diary.org"
    diary.write_text(DIARY + "".join(f"* Bees {n}\nHives {n}\n" for n in range(3_000)))
    assert diary.stat().st_size > 60_000
    seen, reply = turn(agent, *ATTACKS["the tag"], text="open the heading Diary")
    assert len(reply.approvals) == 1 and "Nobody knows" not in seen
    assert not turn(agent, ("org-set-tags", {"path": "diary.org", "heading": "Bees", "add": ["garden"]}))[1].approvals and "garden" in diary.read_text()
