"What is private is not there for a model elsewhere: it hears the same, and is asked as often, whatever a diary says; the person hears what was left out"
import os
import re

import pytest

from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.plist import Keyword, write_plist

NOTE = "* Shopping\nMilk.\n* Diary                :@personal:\n** TODO {0} results\nDEADLINE: <2026-11-21 Sat>\n- [ ] {0}\nThe test was {0}, says Dr. Okafor.\n* Garden\nBees.\n"
PAGE = "# Page\n- [ ] milk\n## Diary #personal\n- [ ] {0} results\n"
WHOLE = "#+FILETAGS: :@personal:\n* TODO {0}\n- [ ] {0}\n"
CALLS = [("org-find", {"query": "positive"}), ("org-find", {"query": "positive bees"}), ("org-find", {"query": "positiv"}), ("org-find", {"query": "positive -bees"}), ("org-find", {"query": "title:positive OR milk", "limit": 1}), ("org-find", {"query": "bees OR positive", "quote": 3}),
         ("org-find", {"query": "todo:open positive"}), ("org-find", {"query": "positive", "folder": "sub"}), ("org-agenda", {}), ("org-agenda", {"view": "open"}), ("org-agenda", {"view": "open", "group": "positive"}), ("org-agenda", {"view": "tags"}), ("org-agenda", {"view": "next"}),
         ("read-file", {"path": "me.org"}), ("read-file", {"path": "me.org", "start": 4, "lines": 1}), ("read-file", {"path": "me.txt"}), ("org-read", {"path": "me.org", "heading": "positive results"}), ("org-read", {"path": "me.org", "heading": "4"}), ("read-file", {"path": "whole.org"}),
         ("search", {"pattern": "was p"}), ("search", {"pattern": "was p", "regex": True}), ("search", {"pattern": "was p|Bees", "regex": True, "limit": 1}), ("replace-string", {"path": "me.org", "old": "was positive", "new": "x"}),
         ("org-set-todo", {"path": "me.org", "heading": "positive results", "state": "DONE"}), ("org-set-todo", {"path": "me.org", "heading": "positive", "state": "DONE"}), ("org-edit-body", {"path": "me.org", "heading": "Diary/positive results", "text": "x"}), ("org-retitle", {"path": "me.org", "heading": "positive results", "title": "x"}),
         ("org-refile", {"path": "me.org", "heading": "Garden", "target": "sub/a.org", "under": "positive"}), ("org-refile", {"path": "me.org", "heading": "Garden", "target": "whole.org", "under": "positive"}), ("org-check", {"path": "me.org", "heading": "Diary", "item": "positive"}), ("org-check", {"path": "page.md", "heading": "Page", "item": "positive results"}),
         ("org-check", {"path": "whole.org", "item": "positive"}), ("org-set-tags", {"path": "me.org", "heading": "positive results", "add": ["x"]}), ("org-schedule", {"path": "me.org", "heading": "positive results", "date": "2026-11-22"}), ("org-add-headline", {"path": "me.org", "title": "x", "heading": "positive results"}),
         ("shell", {"command": "grep -c 'was p' me.org"}), ("shell", {"command": "cat me.org"}), ("shell", {"command": "grep -rq 'was p' . && echo yes"}), ("shell", {"command": "cat me.txt"}), ("shell", {"command": "wc me.org"}), ("shell", {"command": "rg -l 'was p' | wc -l"}), ("shell", {"command": "sort < me.org"})]


def call(tool, args): return write_plist({"target": "tool", "payload": {"action": Keyword("call"), "tool": tool, "args": args, "explanation": "This is what you asked me to look up today"}})


async def world(place, word, proposals):
    "What a model elsewhere was asked, and what the person was told, in a world in which the diary says `word`."
    memex = place / "memex"
    (memex / "sub").mkdir(parents=True)
    notes = {"me.org": NOTE, "me.txt": NOTE, "page.md": PAGE, "whole.org": WHOLE, "sub/a.org": "* Bees\nmore\n"}
    for name, text in notes.items():
        (memex / name).write_text(text.format(word))
        os.utime(memex / name, (1_700_000_000, 1_700_000_000))
    agent = await Agent.boot(memex_dir=memex, state_dir=place / "state", cache_dir=place / "cache", today="2026-11-19", provider_cascade=("model",))
    seen, told, script = [], [], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt + system) or (script.pop(0) if script else "I am done."), inline=True)
    for n, proposal in enumerate(proposals):
        script[:] = [proposal]
        told += [await agent.handle("please look that up", session=f"s{n}"), await agent.handle("and now?", session=f"s{n}")]
        for name, text in notes.items(): assert (memex / name).read_text() == text.format(word), proposal
    await agent.close()
    return [re.sub(r"\d\d:\d\d(:\d\d)?", "", text.replace(str(place), "")) for text in seen], told


async def test_a_model_elsewhere_hears_the_same_whatever_the_diary_says(tmp_path):
    "One bit a try is a diary in an afternoon: also whether it is asked once more is an answer."
    from passepartout.shell.sandbox import find_bubblewrap
    proposals = [call(tool, args) for tool, args in CALLS if tool != "shell" or find_bubblewrap().works]
    proposals += [write_plist({"type": Keyword("plan"), "explanation": "This is what you asked me to look up today", "steps": [{"call": tool, "args": args, "as": "x"}, {"answer": "Done."}]}) for tool, args in CALLS[:3] + CALLS[19:24]]
    (one, _), (other, _) = await world(tmp_path / "a", "positive", proposals), await world(tmp_path / "b", "negative", proposals)
    assert [a for a, b in zip(one, other) if a != b][:1] == [] and len(one) == len(other) > 2 * len(CALLS)
    assert not any("was positive, says" in text for text in one)


async def test_and_the_person_hears_what_was_left_out(tmp_path):
    seen, told = await world(tmp_path, "positive", [call(*CALLS[0]), call("search", {"pattern": "was p"}), call("org-set-todo", {"path": "me.org", "heading": "positive results", "state": "DONE"}), call("org-find", {"query": "bees"})])
    assert "me.org:4" in told[0] and "was positive, says" in told[2] and "If you meant something private" in told[4]
    assert [str(told[n]) for n in (1, 3, 5, 6)] == ["I am done."] * 4
    assert len(seen) == 12 and not any("was positive, says" in text for text in seen)


async def test_what_the_person_names_themselves_is_done_for_them(tmp_path):
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "me.org").write_text(NOTE.format("good"))
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script = [call("org-set-todo", {"path": "me.org", "heading": "good results", "state": "DONE"})]
    register_backend(agent, "model", lambda prompt, system: script.pop(0) if script else "Done.", inline=True)
    await agent.handle("set good results to done")
    assert "** DONE good results" in (memex / "me.org").read_text()
    await agent.close()


@pytest.mark.parametrize("local", [True, False])
async def test_to_a_model_on_this_machine_nothing_is_hidden(tmp_path, local):
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "me.org").write_text(NOTE.format("good"))
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script, seen = [call("search", {"pattern": "was g"})], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "Done."), inline=True, local=local)
    reply = await agent.handle("look that up")
    assert ("says Dr. Okafor" in seen[1], "says Dr. Okafor" in reply) == (local, not local)
    await agent.close()


def test_it_is_left_out_with_an_index_and_without(tmp_path):
    from datetime import date, datetime
    from passepartout.confinement.resources import resolve
    from passepartout.confinement.roots import Root
    from passepartout.indexing.index import Index
    from passepartout.tools import ToolContext
    from passepartout.toolbelt.agendatool import org_agenda, org_view
    from passepartout.toolbelt.findtool import org_find
    from passepartout.toolbelt.notesource import NoteSource
    answers = []
    for word in ("positive", "negative"):
        (tmp_path / word).mkdir()
        for name, text in {"me.org": NOTE, "page.md": PAGE, "whole.org": WHOLE}.items(): (tmp_path / word / name).write_text(text.format(word))
        root = Root(tmp_path / word)
        for source in (NoteSource(), NoteSource(index=Index(root))):
            with resolve([root], ".", "tree") as folder:
                context = ToolContext({"folder": folder}, now=datetime(2026, 11, 19, 8), today=date(2026, 11, 19), services={"veil": ("@personal",)})
                told = [org_find(query, 8, context, source, ("@personal",), 2) for query in ("positive", "positive bees", "bees", "milk positive")]
                told += [org_agenda(None, None, context, source, ("@personal",)), *[org_view(name, context, source, ("@personal",)) for name in ("open", "tags", "projects", "overdue")]]
            assert not any(each.label.private for each in told)
            answers.append([each.content for each in told])
    assert answers[0] == answers[1] == answers[2] == answers[3]


ACCESS = "* Bees\n* Router password:\nHunter2horse!\n"
BARE = {"a title": ("org-retitle", {"heading": "Router password:", "title": "Router"}), "a tag": ("org-set-tags", {"heading": "Router password:", "add": ["home"]}), "a date": ("org-schedule", {"heading": "Router password:", "date": "2026-11-22"}),
        "a property": ("org-set-property", {"heading": "Router password:", "name": "ROOM", "value": "hall"}), "a line": ("org-edit-body", {"heading": "Router password:", "text": "in the hall", "mode": "prepend"}), "a state": ("org-set-todo", {"heading": "Router password:", "state": "DONE", "note": "so"})}


@pytest.mark.parametrize("way", BARE)
@pytest.mark.parametrize("local", [True, False])
async def test_no_edit_takes_unasked_from_a_password_what_it_is_known_by(tmp_path, way, local):
    "A model has not seen it, and need not: it puts something between the colon and the word, and reads the note once more."
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "a.org").write_text(ACCESS)
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    tool, args = BARE[way]
    script, seen = [call(tool, {"path": "a.org", **args}), call("read-file", {"path": "a.org"})], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt + system) or (script.pop(0) if script else "Done."), inline=True, local=local)
    reply = await agent.handle("tidy that up")
    assert len(reply.approvals) == 1 and "key or password" in reply.approvals[0].reason and "Hunter2" not in reply.approvals[0].reason and (memex / "a.org").read_text() == ACCESS
    script.insert(0, call("org-set-tags", {"path": "a.org", "heading": "Bees", "add": ["garden"]}))
    assert not (await agent.handle("tag the bees")).approvals and ":garden:" in (memex / "a.org").read_text()
    assert len(seen) > 2 and not any("Hunter2horse" in text for text in seen)
    await agent.close()


KEY = "ghp_" + "aB3dE5gH7jK9" * 3
HELD = {"strings k.sqlite | cut -c 1-20": "dE5gH", "grep -ac ghp_aB k.sqlite": "\n1\n", "sqlite3 k.sqlite 'select substr(a, 1, 20) from t'": "dE5gH", "zcat k.gz | rev": "Ed3Ba", "zgrep -c ghp_aB k.gz": "\n1\n", "bzcat < k.bz2 | rev": "Ed3Ba", "strings k.bin | fold -w 8": "dE5gH", "grep -rac ghp_aB k.bin": ":1", "xxd -p k.png | fold -w 12": "624133644535"}


@pytest.mark.parametrize("command", HELD)
async def test_no_command_takes_a_key_out_of_what_is_no_text(tmp_path, command):
    import bz2, gzip, shutil, sqlite3
    from passepartout.shell.sandbox import find_bubblewrap
    if not find_bubblewrap().works or shutil.which(command.split()[0]) is None: pytest.skip("without bubblewrap every command asks")
    memex, odd = tmp_path / "memex", bytes(range(128, 256)) * 30 + b"\0" * 9
    memex.mkdir()
    with sqlite3.connect(memex / "k.sqlite") as db: db.execute("CREATE TABLE t(a)"); db.execute("INSERT INTO t VALUES(?)", (f"token {KEY} end",)); db.commit()
    db.close()
    for name, data in {"k.gz": gzip.compress(f"token {KEY}\n".encode()), "k.bz2": bz2.compress(f"token {KEY}\n".encode()), "k.bin": odd + KEY.encode() + odd, "k.png": b"\x89PNG\r\n\x1a\n" + odd + KEY.encode() + odd}.items(): (memex / name).write_bytes(data)
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script, seen = [call("shell", {"command": command})], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "Done."), inline=True)
    reply = await agent.handle("look into that")
    assert not reply.approvals and "Tool shell returned" in seen[1] and HELD[command] not in seen[1].partition("Tool shell returned")[2]
    assert (memex / "k.gz").read_bytes() and "A key stands in" in seen[1]
    await agent.close()


def test_a_database_opens_as_before_without_the_key_in_it(tmp_path):
    import sqlite3
    from passepartout.toolbelt.keyless import without_keys
    with sqlite3.connect(tmp_path / "k") as db: db.execute("CREATE TABLE t(a)"); db.executemany("INSERT INTO t VALUES(?)", [(f"token {KEY}",), ("bees",)]); db.commit()
    db.close()
    (tmp_path / "copy").write_bytes(without_keys((tmp_path / "k").read_bytes()).encode("utf-8", "surrogateescape"))
    db = sqlite3.connect(tmp_path / "copy")
    assert db.execute("SELECT a FROM t").fetchall() == [("token " + "x" * len(KEY),), ("bees",)] and db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


@pytest.mark.parametrize("size, key, said", [(20_000_000, False, None), (20_000_000, True, "too large for a copy")])
def test_what_is_no_text_and_large_is_given_only_without_a_key(tmp_path, size, key, said):
    from passepartout.confinement.resources import resolve
    from passepartout.confinement.roots import Root
    from passepartout.toolbelt.keyless import MOST_NEW, KeylessTexts, NotLooked
    (tmp_path / "film").write_bytes(b"\0\xff\xfe\x80" * (size // 4) + (KEY.encode() if key else b""))
    root = Root(tmp_path)
    with resolve([root], "film") as file:
        if not said: assert KeylessTexts().of(file, [MOST_NEW]) is None
        else:
            with pytest.raises(NotLooked, match=said): KeylessTexts().of(file, [MOST_NEW])
    root.close()


TOLD = ["git log --oneline | rev", "git log --grep ghp_aB --oneline", "git log --format='%<(9,trunc)%s'", "git branch -a | cut -c 1-9", "git branch --list 'b-ghp_a*'", "git rev-parse 'HEAD^{/ghp_aB}'", "git tag -n9 | rev", "git stash list | rev", "git reflog | rev", "git remote -v | rev", "git log --format=%N", "git for-each-ref 'refs/heads/b-ghp_a*'"]


def committed(place, message):
    "A memex with one note and one commit that says `message`, and what runs git there."
    import subprocess
    from passepartout.shell.sandbox import find_bubblewrap
    if not find_bubblewrap().works: pytest.skip("without bubblewrap every command asks")
    memex = place / "memex"
    memex.mkdir()
    (memex / "a.org").write_text("* Bees\n")
    def git(*words): subprocess.run(["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words], cwd=memex, check=True, capture_output=True)
    git("init", "-q"); git("add", "-A"); git("commit", "-qm", message)
    return memex, git


@pytest.mark.parametrize("where", ["message", "branch", "tag", "note", "stash", "address", "reflog", "nowhere"])
async def test_git_takes_no_key_apart_that_stands_in_no_file(tmp_path, where):
    "A model would put it together from what is printed backwards, or from what answers to one letter more."
    from passepartout.shell import past
    memex, git = committed(tmp_path, f"token {KEY}" if where == "message" else "first")
    if where == "branch": git("branch", f"b-{KEY}")
    if where == "tag": git("tag", "-a", "v1", "-m", f"token {KEY}")
    if where == "note": git("notes", "add", "-m", f"token {KEY}")
    if where == "address": git("remote", "add", "origin", f"https://ana:{KEY}@example.org/x")
    if where == "reflog": git("checkout", "-qb", f"b-{KEY}"); git("checkout", "-q", "-"); git("branch", "-qD", f"b-{KEY}")
    if where == "stash": (memex / "a.org").write_text("* Hives\n"); git("stash", "push", "-qm", f"token {KEY}")
    assert past._past_told(str(memex)).key(30) == ("" if where == "nowhere" else "a key")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script, seen = [], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "Done."), inline=True)
    for command in (*TOLD, "git log --oneline", "git branch -a | head -n 3"):
        script[:] = [call("shell", {"command": command})]
        reply = await agent.handle("look into that", session=command[:20])
        assert bool(reply.approvals) == (where != "nowhere" and command in TOLD), (command, str(reply))
    assert not any("aB3dE" in text or "Ed3Ba" in text for text in seen)
    await agent.close()


@pytest.mark.parametrize("where", ["message", "nowhere"])
async def test_what_nobody_knows_yet_is_found_out_before_git_runs_and_not_asked_about(tmp_path, where, monkeypatch):
    "In a new process nobody knows it, and `git log | grep` would be a question each time."
    from passepartout.shell import past
    memex, _ = committed(tmp_path, f"token {KEY}" if where == "message" else "first bees")
    monkeypatch.setattr(past, "_WAIT_S", 0.0)
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    line, seen = call("shell", {"command": "git log --oneline | grep -o 't.*'"}), []
    script = [line, line] if where == "message" else [line]
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "Done."), inline=True)
    reply = await agent.handle("look into that")
    assert bool(reply.approvals) == (where == "message") and not any("aB3dE" in text for text in seen), str(reply)
    assert ("It was not run: a key stands in a message" in seen[1]) if where == "message" else ("t bees" in seen[1]), seen[1][-300:]
    await agent.close()


@pytest.mark.parametrize("told", ["", None, "I found nothing."])
def test_an_answer_of_nothing_but_what_only_the_person_is_told_stays_private(told):
    "A turn that is stopped after a search has no words of its own; read again from the journal, the private ones beside it went to a model elsewhere."
    from types import SimpleNamespace
    from passepartout.exchanges import Exchange
    from passepartout.messages import PERSON
    from passepartout.turns import answer_body
    answer = {"text": "(With what is private: The test was positive)", "status": "stopped", "private": True, "open": True} | ({} if told is None else {"told": told})
    found = Exchange.from_records({"text": "look", "origin": "person"}, answer, "t")
    assert found.private is not bool(told) and found.fetched is not bool(told) and ("positive" in found.answered) is not bool(told)
    turn = SimpleNamespace(asides=["x"], private=False, label=PERSON, missed=False, borrowed=True)
    assert ("open" in answer_body(turn, SimpleNamespace(status="stopped"), told or "")) is bool(told)


@pytest.mark.parametrize("size", [1_000_000, 20_000_000])
def test_a_folder_with_a_large_file_that_is_no_text_hands_no_key_to_who_goes_through_it(tmp_path, size):
    from passepartout.confinement.roots import Root
    from passepartout.shell.script import Pipeline, Script, Simple
    from passepartout.toolbelt.copies import kept_keys
    from passepartout.toolbelt.keyless import KeylessTexts
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "data.bin").write_bytes(b"\0\xff\xfe" * (size // 3) + KEY.encode() + b"\0\xff\xfe" * 9)
    root = Root(tmp_path / "memex")
    said = kept_keys(Script((("", Pipeline((Simple("/usr/bin/grep", ("grep", "-ra", "ghp_", ".")),))),)), [root], KeylessTexts())
    assert list(said) == [str(tmp_path / "memex" / "data.bin")] and KEY not in said[str(tmp_path / "memex" / "data.bin")]
    root.close()
