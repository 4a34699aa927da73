"What is private is not there for a model elsewhere: it hears the same, and is asked as often, whatever a diary says; the person hears what was left out"
import os
import re
import shutil

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


async def test_of_a_long_list_the_person_hears_the_line_that_was_left_out_and_no_other_note_is_named(tmp_path):
    (memex := tmp_path / "memex").mkdir()
    for n in range(40): (memex / f"n{n}.org").write_text(f"* TODO Water the plant number {n}\nDEADLINE: <2026-11-20 Fri>\n")
    (memex / "me.org").write_text(NOTE.format("positive"))
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script, seen = [call("org-agenda", {}), "There are many."], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt + system) or script.pop(0), inline=True)
    told = str(await agent.handle("what is due?"))
    await agent.close()
    assert "positive results" in told and "me.org" in told and ".org" not in told.replace("me.org", "") and len(told) < 400, told
    assert "number 39" in "".join(seen) and "positive" not in "".join(seen)



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


ACCESS = "* Bees\n* Router token:\nHunter2horse!\n"
BARE = {"a title": ("org-retitle", {"heading": "Router token:", "title": "Router"}), "a tag": ("org-set-tags", {"heading": "Router token:", "add": ["home"]}), "a date": ("org-schedule", {"heading": "Router token:", "date": "2026-11-22"}),
        "a property": ("org-set-property", {"heading": "Router token:", "name": "ROOM", "value": "hall"}), "a line": ("org-edit-body", {"heading": "Router token:", "text": "in the hall", "mode": "prepend"}), "a state": ("org-set-todo", {"heading": "Router token:", "state": "DONE", "note": "so"})}


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


@pytest.mark.parametrize("way", [way for way in BARE if way != "a title"])
async def test_a_password_below_a_heading_that_says_so_is_known_after_an_edit_too(tmp_path, way):
    "So nobody is asked, and nothing is seen."
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "a.org").write_text(ACCESS.replace("token:", "password"))
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    tool, args = BARE[way]
    script, seen = [call(tool, {"path": "a.org", **args, "heading": "Router password"}), call("read-file", {"path": "a.org"})], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt + system) or (script.pop(0) if script else "Done."), inline=True)
    reply = await agent.handle("tidy that up")
    assert not reply.approvals and "Hunter2horse!" in (memex / "a.org").read_text() != ACCESS.replace("token:", "password")
    assert "[secret-shaped: password]" in seen[-1] and not any("Hunter2horse" in text for text in seen)
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


OPEN = "#+TITLE: Me\n* Shopping\nMilk. See [[file:bees.org][bees]] and [[id:abc]] [[*Garden]].\n* Diary                :@personal:\n{0}\n* Garden\n:PROPERTIES:\n:ID: garden1\n:END:\nBees hum in the garden.\n* TODO Fence\nSCHEDULED: <2026-11-20 Fri>\n- [ ] wood\n"
ILL = ("** TODO positive results\n:PROPERTIES:\n:ID: abc\n:CUSTOM_ID: therapy\n:END:\nDEADLINE: <2026-11-21 Sat>\n- [ ] positive\nThe test was positive, says Dr. Okafor. [[file:hives.org]] [[*Garden]] [[id:garden1]] [[file:hives.org][x]] [[file:done.org]]\n"
       "<2026-02-31 Sat> gardeng gardens gardener gardened\n** DONE x\nCLOSED: [2026-11-01 Sun]")
WELL = "** DONE n\n:PROPERTIES:\n:IX: abd\n:END:\n\ntext\n- [X] neg\nno\n*** y\nplain words of other length and so on and so on and so on\nz"
BESIDE = {"bees.org": "* Bees\nhum hum\n", "hives.org": "* Hives hum\n", "done.org": "* TODO Wash\n* Bees hum\nx\n* Hum bees\ny\n", "sub/a.org": "* Bees\nmore\n"}


def ill(is_ill):
    "A memex in which a diary says something else: its words, how long they are, what is done there, how it is called, and where it links to."
    return BESIDE | {"me.org": OPEN.format(ILL if is_ill else WELL), "me.txt": OPEN.format(ILL if is_ill else WELL), "page.md": f"# Page\n- [ ] milk\n## Diary #personal\n- [ ] {'positive [[bees]] [[page]]' if is_ill else 'no'}\n",
                     "whole.org": f"#+FILETAGS: :@personal:\n* {'TODO positive [[file:done.org]]' if is_ill else 'n'}\n"}


def planned(*steps): return write_plist({"type": Keyword("plan"), "explanation": "This is what you asked me to look up today", "steps": list(steps)})


GUESSED = ["positive", "therapy", "Okafor"]
ASKED = [*[("org-find", {"query": query, "quote": quote, "limit": 3}) for quote in (0, 2) for query in ("bees", "hum", "bees OR hum", "links:\"positive results\"", "links:x", "-links:bees hum", "changed:2023-11", "-tag:@personal", "gardenx", "todo:open", "closed:2026-11", "\"test was\" OR bees")],
         *[("org-agenda", {"view": view}) for view in ("open", "projects", "tags", "overdue")], ("org-agenda", {"start": "2026-10-01", "end": "2026-12-30"}),
         *[("org-retitle", {"path": "me.org", "heading": "Garden", "title": word}) for word in GUESSED], *[("org-set-property", {"path": "bees.org", "heading": "Bees", "name": "ID", "value": word}) for word in ("abc", "positive")],
         ("org-set-property", {"path": "me.org", "heading": "Fence", "name": "ID", "value": "abc"}), ("org-set-property", {"path": "me.org", "heading": "Fence", "name": "CUSTOM_ID", "value": "therapy"}), ("org-set-todo", {"path": "me.org", "heading": "Fence", "state": "DONE"}), ("org-set-todo", {"path": "done.org", "heading": "Wash", "state": "DONE"}),
         ("org-edit-body", {"path": "me.org", "heading": "Garden", "text": "was positive"}), ("org-check", {"path": "me.org", "heading": "Fence", "item": "positive", "add": True}), ("org-capture", {"title": "positive", "file": "me.org"}), ("org-add-headline", {"path": "me.org", "heading": "Garden", "title": "Okafor"}), ("org-set-tags", {"path": "me.org", "heading": "Garden", "add": ["positive"]}),
         ("org-archive", {"path": "me.org", "heading": "Fence", "archive": "me.org_archive"}), ("org-rename-file", {"path": "bees.org", "target": "honey.org"}), ("replace-string", {"path": "bees.org", "old": "hum", "new": "positive", "every": True}), ("write-file", {"path": "therapy.txt", "text": "therapy"}), ("org-read", {"path": "whole.org", "heading": "positive"}),
         *[("shell", {"command": line}) for line in ("ls -l", "ls -lS", "du -ab .", "find . -size +90c", "find . -name 'm*' -printf '%s'", "wc -c me.org whole.org", "stat -c %s me.org")]]


async def heard(place, notes, proposals, restart=False, proposing=1):
    "What a model elsewhere was asked in a memex with these `notes`, which are put back after each of the turns, and how many questions the person was asked."
    memex, now, out = place / "memex", 1_700_000_000, []
    (memex / "sub").mkdir(parents=True)
    def write():
        nonlocal now
        for path in memex.rglob("*"):
            if path.is_file() and str(path.relative_to(memex)) not in notes: path.unlink()
        for name, text in notes.items():
            (place / "new").write_text(text)
            os.utime(place / "new", (now, now))
            os.replace(place / "new", memex / name)
        now += 10
    async def boot():
        agent = await Agent.boot(memex_dir=memex, state_dir=place / "state", cache_dir=place / "cache", config_dir=place / "config", today="2026-11-19", provider_cascade=("model",))
        register_backend(agent, "model", lambda prompt, system: seen.append(prompt + system) or (script.pop(0) if script else "I am done."), inline=True)
        return agent
    seen, script = [], []
    write()
    agent = await boot()
    def look():
        agent.indexed()
        agent.seen_at = 0.0          # it looks around every two seconds: in one of two worlds between two turns, and in the other not
    for n, proposal in enumerate(proposals):
        seen.clear(); script[:] = [proposal, call("read-file", {"path": "me.org"})]
        look()
        first = await agent.handle("please look that up", session=f"s{n}")
        if restart: await agent.close(); agent = await boot()
        look()
        second = await agent.handle("and now?", session=f"s{n}")
        out.append(([re.sub(r"\b[0-9a-f]{16,}\b|\d\d:\d\d(:\d\d)?", "", text.replace(str(place), "")) for text in seen], len(first.approvals), len(second.approvals)))
        write()
    await agent.close()
    return out


async def differing(tmp_path, proposals, **more):
    "The first proposal after which a model elsewhere is asked something else in one world than in the other."
    one, other = await heard(tmp_path / "a", ill(True), proposals, **more), await heard(tmp_path / "b", ill(False), proposals, **more)
    assert all(len(each[0]) > 1 for each in one) and not any("says Dr. Okafor" in text for each in one for text in each[0])
    return next(((proposal, *[(a, b) for a, b in zip(x[0], y[0]) if a != b][:1], x[1:], y[1:]) for proposal, x, y in zip(proposals, one, other) if x != y), None)


@pytest.mark.parametrize("part", [pytest.param(n, marks=[pytest.mark.slow] * (n > 1)) for n in range(4)])
async def test_neither_links_nor_titles_nor_lengths_of_what_is_private_are_told(tmp_path, part):
    "Worlds that differ in more than a word of the same length: a link from the diary lifted a note in a search, and a guess that hit was answered with silence."
    from passepartout.shell.sandbox import find_bubblewrap
    assert await differing(tmp_path, [call(tool, args) for tool, args in ASKED if tool != "shell" or find_bubblewrap().works][part::4]) is None


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_nor_does_a_plan_tell_or_a_turn_after_a_restart(tmp_path, restart):
    edit, plans = {"call": "org-edit-body", "args": {"path": "bees.org", "heading": "Bees", "text": "more"}}, []
    for tool, args in (("org-find", {"query": "positive"}), ("search", {"pattern": "was p"}), ("org-agenda", {"view": "open"})):
        look, found = {"call": tool, "args": args, "as": "x"}, {"ref": "x"}
        plans += [planned(look, {"answer": found}), planned(look, {"let": "n", "be": {"count": found}}, {"answer": {"ref": "n"}}), planned(look, {"if": {"is": "more", "left": {"count": found}, "right": 0}, "then": [edit], "else": [{"answer": "none"}]}),
                  planned(look, {"for": "k", "in": found, "most": 5, "do": [{"call": "org-capture", "args": {"title": {"text": ["n ", {"field": "file", "of": {"ref": "k"}}]}}}]}, {"answer": "ok"}), planned(edit, look, {"call": "web-fetch", "args": {"url": "https://example.org/positive"}})]
    plans += [planned({"let": "q", "be": "positive"}, {"call": "org-retitle", "args": {"path": "bees.org", "heading": "Bees", "title": {"ref": "q"}}}, {"answer": "ok"}), call("undo-edit", {})]
    assert await differing(tmp_path, plans[::3] if restart else plans, restart=restart) is None


def test_what_is_near_a_note_is_the_same_for_a_model_elsewhere_however_much_is_hidden():
    "Twenty titles of a kind are named; those that are dropped of these would leave gaps."
    import tempfile
    from pathlib import Path
    from passepartout.awareness.fovea import foveal_view, index_focus, outline_focus
    from passepartout.confinement.roots import Root
    from passepartout.indexing.index import Index
    from passepartout.notes import parse_note
    from passepartout.outline.links import LinkTargets
    views = []
    for count in (0, 3, 40):
        folder = Path(tempfile.mkdtemp())
        secret = "".join(f"* Secret {n} :@personal:\n** more\n[[*Here]]\n" for n in range(count))
        text = f"* First\n* Second\n{secret}* Here\n[[*Last]]\n{secret.replace('* Sec', '** Sec').replace('** more', '*** more')}** Below\n{secret}* Third\n[[*Here]]\n* Last\n"
        (folder / "a.org").write_text(text)
        index = Index(Root(folder)); index.refresh()
        alike = lambda ident, more=0: [row[0] for row in index.db.execute("SELECT ident FROM node WHERE title LIKE 'Secret%' OR title = 'Third' ORDER BY title")][:10 + more]
        line = next(n for n, each in enumerate(text.split("\n"), 1) if each == "* Here")
        looks = [lambda: index_focus(index, f"a.org:{line}", ("@personal",), alike, False), lambda: outline_focus(LinkTargets([parse_note(text, "a.org")]), f"a.org:{line}", ("@personal",), False)]
        views.append([re.sub(r"a\.org:\d+", "", foveal_view(index.guarded(look), 2_000).text) for look in looks])
    assert views[0] == views[1] == views[2] and "Third" in views[0][0] and "SIMILAR" in views[0][0] and "Secret" not in str(views)


@pytest.mark.parametrize("count", [3, 36])
def test_words_of_a_diary_push_no_other_word_out_of_what_is_meant(tmp_path, count):
    from passepartout.confinement.roots import Root
    from passepartout.indexing.finding import find_indexed
    from passepartout.indexing.index import Index
    (tmp_path / "a.org").write_text("* Garden\ngardening\n* Diary :@personal:\n" + " ".join(f"gardex{sign}" for sign in "abcdefghijklmnopqrstuvwxyz0123456789"[:count]) + "\n")
    index = Index(Root(tmp_path)); index.refresh()
    found = find_indexed(index, "gardex", private=("@personal",), veil=("@personal",))
    assert "Close to it: garden." in found.why, found.why


def test_a_private_line_of_the_log_pushes_none_out_that_a_model_elsewhere_sees():
    from types import SimpleNamespace
    from passepartout.context import Log, log_view
    log = Log()
    for n in range(30): log(f"open {n}"); log(f"hidden {n}", private=True); log(f"TELL: {n}")
    agent = SimpleNamespace(log=log, settings=SimpleNamespace(context_log_limit=5))
    assert log_view(agent).text.split("\n") == [f"open {n}" for n in range(25, 30)] and log_view(agent, True).text.count("hidden") == 3
    assert set(log_view(agent).text.split("\n")) <= set(log.told(5)) and "hidden 29" in log.told(5)


def stored(text):
    "Files in which a text lies without being one: archives, a database, pictures and what is packed."
    import bz2, gzip, io, lzma, sqlite3, tarfile, zipfile
    data, odd, made, tar, db = text.encode(), bytes(range(128, 256)) * 20 + b"\0" * 9, {}, io.BytesIO(), sqlite3.connect(":memory:")
    with tarfile.open(fileobj=tar, mode="w") as archive:
        (member := tarfile.TarInfo("diary.org")).size = len(data)
        archive.addfile(member, io.BytesIO(data))
    for name, how in {"stored.zip": zipfile.ZIP_STORED, "stored.docx": zipfile.ZIP_STORED, "packed.zip": zipfile.ZIP_DEFLATED, "packed.docx": zipfile.ZIP_DEFLATED}.items():
        with zipfile.ZipFile(held := io.BytesIO(), "w") as archive: archive.writestr(zipfile.ZipInfo("diary.org"), data, compress_type=how)
        made[name] = held.getvalue()
    db.execute("CREATE TABLE t(a)"); db.execute("INSERT INTO t VALUES(?)", (text,)); db.commit()
    made |= {"d.sqlite": db.serialize(), "d.tar": tar.getvalue(), "d.tar.gz": gzip.compress(tar.getvalue(), mtime=0), "d.tar.bz2": bz2.compress(tar.getvalue()), "d.xz": lzma.compress(data), "d.gz": gzip.compress(data, mtime=0)}
    db.close()
    return made | {f"d.{kind}": begin + odd + data + odd for kind, begin in {"png": b"\x89PNG\r\n\x1a\n", "jpg": b"\xff\xd8\xff\xe0", "mp4": b"\0\0\0 ftypisom", "bin": b"", "pdf": b"%PDF-1.4\n"}.items()}


async def told_of(place, text, commands, local):
    "What a model was told of each of the commands in a folder with such files, and how many questions the person was asked."
    memex = place / "memex"
    memex.mkdir(parents=True)
    for name, data in {**stored(text), "a.org": b"* Bees\nhum\n"}.items(): (memex / name).write_bytes(data); os.utime(memex / name, (1_700_000_000, 1_700_000_000))
    agent = await Agent.boot(memex_dir=memex, state_dir=place / "state", cache_dir=place / "cache", config_dir=place / "config", today="2026-11-19", provider_cascade=("model",))
    seen, script, out = [], [], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "I am done."), inline=True, local=local)
    for n, line in enumerate(commands):
        seen.clear(); script[:] = [call("shell", {"command": line})]
        asked = len((await agent.handle("look into that", session=f"s{n}")).approvals)
        out.append((line, asked, "\n".join(sorted(seen[1].partition("Tool shell ")[2].split("\n"))) if len(seen) > 1 else None))
    await agent.close()
    return out


GONE_THROUGH = ["grep -rac 'WORD' .", "grep -ra 'WORD' . | rev", "grep -rq 'WORD' . && echo yes", "rg -a -c 'WORD'", "cat * | grep -ac 'WORD'", "strings * | grep -c 'WORD'"]
NAMED = ["base64 packed.docx", "od -c packed.zip | head", "sha256sum packed.zip d.gz d.tar.bz2", "zgrep -c 'WORD' packed.docx", "zcat d.gz | rev", "xzcat d.xz | rev", "base64 d.tar.gz", "sqlite3 d.sqlite 'select substr(a, 1, 40) from t'", "wc d.png packed.zip"]
PLAIN = ["ls", "grep -r hum .", "wc a.org", "rg hum", "file d.png"]


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("commands", [GONE_THROUGH, pytest.param(NAMED, marks=pytest.mark.slow)])
async def test_no_command_tells_what_lies_in_a_picture_or_an_archive(tmp_path, local, commands):
    "A diary for a model elsewhere, a key for every model: a letter at a time from a folder, or as a whole by whoever unpacks what `base64` printed."
    from passepartout.shell.sandbox import find_bubblewrap
    if not find_bubblewrap().works: pytest.skip("without bubblewrap every command asks")
    texts = [f"token ghp_{part * 3} end\n" for part in ("aB3dE5gH7jK9", "xY3dE5gH7jK8")] if local else [f"#+FILETAGS: :@personal:\n* Diary\nThe test was {word}.\n" for word in ("positive", "negative")]
    lines = [line.replace("WORD", "ghp_aB" if local else "was p") for line in commands] + PLAIN
    one, other = [await told_of(tmp_path / name, text, lines, local) for name, text in zip("ab", texts)]
    assert [(a, b) for a, b in zip(one, other) if a != b] == []
    assert all(asked == 0 and told is not None for _, asked, told in one[-len(PLAIN):]) and "hum" in one[-4][2] and "png" in one[-1][2].lower()


@pytest.mark.parametrize("kind", ["jpg", "bin"])
def test_what_was_not_looked_through_is_empty_for_a_command_that_goes_through_its_folder(tmp_path, monkeypatch, kind):
    "And the command runs, since the film is not what it is about, and is told."
    from passepartout.confinement.roots import Root
    from passepartout.shell.script import Pipeline, Script, Simple
    from passepartout.toolbelt import copies
    from passepartout.toolbelt.keyless import KeylessTexts
    monkeypatch.setattr(copies, "MOST_NEW", 1_000)
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "a.org").write_text("* Bees\n")
    for n in range(3): (tmp_path / "memex" / f"{n}.{kind}").write_bytes(b"\xff\xd8\xff\0" + b"\0\xff" * 20_000)
    root, looked, rows = Root(tmp_path / "memex"), KeylessTexts(), []
    line = Script((("", Pipeline((Simple("/usr/bin/grep", ("grep", "-r", "x", ".")),))),))
    for _ in range(3):
        said = copies.kept_keys(line, [root], looked)
        assert all(text is copies.UNSEEN for text in said.values())
        with copies.copies(said) as made: rows.append((len(said), copies.told_of_copies(made, [root], said)))
    assert [count for count, _ in rows] == [2, 1, 0] and "Not looked through for keys yet" in rows[0][1] and f".{kind}" in rows[0][1] and "A key stands" not in rows[0][1] and not rows[2][1]
    root.close()


async def test_the_scribe_shows_a_model_elsewhere_the_same_day_whatever_the_diary_says(tmp_path):
    "An answer beside which the person was told something private was missing from what it was shown in the evening."
    from types import SimpleNamespace
    from passepartout.workers import scribe
    shown = []
    for word in ("positive", "negative"):
        place, script = tmp_path / word, [call("search", {"pattern": "was p"})]
        (place / "memex").mkdir(parents=True)
        (place / "memex" / "me.org").write_text(NOTE.format(word))
        agent = await Agent.boot(memex_dir=place / "memex", state_dir=place / "state", cache_dir=place / "cache", today="2026-11-19", provider_cascade=("model",))
        register_backend(agent, "model", lambda prompt, system: script.pop(0) if script else "I looked.", inline=True)
        told, asked = await agent.handle("please look that up"), []
        assert ("says Dr. Okafor" in told) is (word == "positive")
        scribe.write_up(SimpleNamespace(agent=agent, now=agent.journal.clock(), kept={}, propose=lambda *a: None, think=lambda prompt, system, private: private or asked.append(prompt)))
        shown.append(asked)
        await agent.close()
    assert shown[0] == shown[1] == ["please look that up → I looked."]


def test_marked_private_headings_take_no_place_of_others():
    from passepartout.notes import parse_note
    from passepartout.workers.scribe import marked_headings
    bees = "".join(f"* Bee {n} :scribe:\nIt swarmed.\n" for n in range(3))
    for count in (0, 2, 9):
        secret = "".join(f"* Secret {n} :scribe:@personal:\nx\n" for n in range(count))
        found, _ = marked_headings([parse_note(secret + bees, "a.org")], (), ("@personal",), 2)
        assert [piece.line[:5] for piece in found if not piece.label.private] == ["Bee 0", "Bee 1"] and sum(piece.label.private for piece in found) == min(count, 2)


@pytest.mark.parametrize("begin,shown", [(b"\xff\xd8\xff", True), (b"a,b,c\n" * 9, True), (b"\xff\xd8\xff:@personal:", False), (b"PK\3\4", False), (b"a,b :@PERSONAL:\n", False)])
async def test_a_large_file_in_which_nothing_can_be_private_ends_no_turn(tmp_path, begin, shown):
    "A photo of six megabytes counted as private, since no note is as large: whoever had it counted by a command was told that no model answered."
    from passepartout.shell.sandbox import find_bubblewrap
    if not find_bubblewrap().works: pytest.skip("without bubblewrap every command asks")
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "large.dat").write_bytes(begin + (b"1,2\n" if begin.startswith(b"a,b") else b"\xfe\0\xfd\xfc") * 1_500_000)
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script, seen = [call("shell", {"command": "wc -c large.dat"})], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "Done."), inline=True)
    reply = await agent.handle("how large is that?")
    assert not reply.approvals and (len(seen) == 2 and str(len(begin) + 6_000_000) in seen[1]) is shown, (str(reply), seen[1:])
    await agent.close()


@pytest.mark.parametrize("name", ["me.txt", "stored.docx", pytest.param("d.sqlite", marks=pytest.mark.slow), pytest.param("d.bin", marks=pytest.mark.slow), pytest.param("d.png", marks=pytest.mark.slow), pytest.param("a.csv", marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", ["grep -ra was .", pytest.param("rg -a was", marks=pytest.mark.slow)])
async def test_what_is_found_in_a_folder_is_private_whatever_kind_of_file_it_stood_in(tmp_path, name, command):
    "A model on this machine repeated it, and the answer went to a company's server and to the next model as if it were public."
    from passepartout.shell.sandbox import find_bubblewrap
    if not find_bubblewrap().works: pytest.skip("without bubblewrap every command asks")
    memex, words = tmp_path / "memex", "#+FILETAGS: :@personal:\n* Diary\nThe test was positive.\n"
    memex.mkdir()
    (memex / "a.org").write_text("* Bees\nIt was warm.\n")
    (memex / name).write_bytes(b"bees,was,private\n" * 400_000 + b":private:" if name == "a.csv" else words.encode() if name.endswith("txt") else stored(words)[name])
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    (memex / "sub").mkdir()
    (memex / "sub" / "big.csv").write_bytes(b"bees,hum,private\n" * 400_000)                     # larger than a note, and the word is no tag there
    for line, private in ((command, True), ("grep -rc hum sub", False), ("ls", False)):
        script = [call("shell", {"command": line})]
        register_backend(agent, "model", lambda prompt, system: script.pop(0) if script else "It was positive.", inline=True, local=True)
        reply = await agent.handle("look into that", session=line)
        assert not reply.approvals and bool(agent.journal.records(turn=reply.turn, kinds=["answer"], limit=1)[0]["body"].get("private")) is private, line
    await agent.close()


@pytest.mark.parametrize("command, told", [("python3 -c 'print(17*3)'", False), ("bc <<< 17*3", False), ("echo 51", False), ("wc -w *.org", True)])
async def test_of_a_command_that_opens_no_note_nobody_is_told_that_it_saw_a_copy(tmp_path, command, told):
    from passepartout.shell.sandbox import find_bubblewrap
    if not find_bubblewrap().works or command.startswith("bc") and not shutil.which("bc"): pytest.skip("no sandbox or no bc here")
    (memex := tmp_path / "memex").mkdir()
    (memex / "me.org").write_text(NOTE.format("positive"))
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    script, seen = [call("shell", {"command": command}), "Fifty-one."], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or script.pop(0), inline=True)
    reply = await agent.handle("what is 17 times 3?")
    await agent.close()
    assert reply.status == "answered" and len(seen) == 2 and ("a copy without" in str(reply)) is told, str(reply)
