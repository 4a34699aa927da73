"""The tools on files, alone and in a booted agent; search with ripgrep and without, and while folders are exchanged under it."""
import asyncio
import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings
from hypothesis import strategies as st

from conftest import examples
from waits import away, next_line
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.plist import write_plist
from passepartout.toolbelt.filesearch import SearchError, compiled, search_files
from passepartout.messages import Action, Allowed, ApprovalRequired, Rejected, Signal
from passepartout.confinement.resources import PathRefused, Root, resolve
from passepartout.sensitive import sensitive
from passepartout.shell.installed import pinned
from passepartout.tools import ToolContext
from passepartout.verify import clear

RG = pytest.mark.skipif(not (pinned("rg") and os.path.exists(pinned("rg"))), reason="no ripgrep")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1")


def found(root, pattern, folder=".", **more):
    with resolve([root], folder, "tree") as opened:
        result = search_files(opened, pattern, **more)
        return [(m.file, m.line, m.text) for m in result.matches], result.cut


@RG
@hypothesis_settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(st.tuples(st.sampled_from(["a", "b/c", "b/d.org", "é", "x y", "-n", "b/.h", "z.pem", "b/x.git/y"]), st.text("aAkKsSſKéÉ ß\n\r\t-x\x0c", max_size=30), st.sampled_from(ENCODINGS)), max_size=6),
       pattern=st.text("aAkKsSſKéÉ ß-x", min_size=1, max_size=4), case=st.booleans(), most=st.integers(1, 4))
def test_ripgrep_changes_no_answer(opened_memex, files, pattern, case, most):
    memex, root = opened_memex
    shutil.rmtree(memex / "b", ignore_errors=True)
    for old in memex.iterdir(): old.is_file() and old.unlink()
    for name, text, encoding in files:
        (memex / name).parent.mkdir(parents=True, exist_ok=True)
        (memex / name).write_bytes(text.encode(encoding, "replace"))
    if not pattern.strip(): return
    assert found(root, pattern, case=case, most=most) == found(root, pattern, case=case, most=most, scout=False)


def test_a_hostile_pattern_is_an_argument_and_nothing_else(opened_memex):
    memex, root = opened_memex
    (memex / "n.txt").write_text("--pre=/bin/sh\n-f /etc/passwd\n$(touch x) `touch x`\n\\Q[\n")
    for pattern in ("--pre=/bin/sh", "-f /etc/passwd", "-f", "$(touch x)", "`touch x`", "\\Q[", "-"): assert len(found(root, pattern)[0]) >= 1, pattern
    assert os.listdir(memex) == ["n.txt"]
    for bad in ("", " ", "a\nb", "a\0b", "\ud800", "x" * 1_001):
        with pytest.raises(SearchError): compiled(bad)
    for bad in ("(", "a{1001}{1000}", "(?=a)", "\\1", "(?P<n"):
        with pytest.raises(SearchError): compiled(bad, regex=True)
    with pytest.raises(SearchError): found(root, "a", files="*" * 9)


@pytest.mark.slow
def test_time_and_matches_are_bounded(opened_memex):
    memex, root = opened_memex
    (memex / "big.txt").write_text(("a" * 900_000 + "b\n") * 4 + "a" * 900_000)
    (memex / "lines.txt").write_text("\n" * 2_000_000)
    (memex / "sparse").touch()
    os.truncate(memex / "sparse", 1 << 40)
    os.mkfifo(memex / "pipe")
    begun = time.monotonic()
    assert len(found(root, "(a|aa)+$", regex=True)[0]) == 1
    assert len(found(root, "x*", regex=True, most=50)[0]) == 50
    assert found(root, "^(a?){50}b", regex=True)[0] == []
    assert found(root, "aaa", seconds=0.0)[1].startswith("The search was ended")
    assert time.monotonic() - begun < 30


def test_what_ripgrep_may_name_is_checked_again(opened_memex, monkeypatch):
    import passepartout.toolbelt.filesearch as room
    memex, root = opened_memex
    (memex.parent / "secret.txt").write_text("canary")
    (memex / "link").symlink_to(memex.parent / "secret.txt")
    (memex / "id_rsa").write_text("canary")
    (memex / ".env").write_text("canary")
    (memex / "n").write_text("canary")
    monkeypatch.setattr(room, "worth_opening", lambda *any: ["link", "id_rsa", ".env", "../secret.txt", str(memex.parent / "secret.txt"), "n", "gone"])
    assert found(root, "canary")[0] == [("n", 1, "canary")]


SWAPPER = """
import os, sys
from pathlib import Path
memex, outside, n = Path(sys.argv[1]), sys.argv[2], 0
print("ready", flush=True)
while True:
    n += 1
    for name in ("a", "b"):
        try:
            os.rename(memex / name, memex / f".{name}{n}")
            os.symlink(outside, memex / name)
            os.unlink(memex / name)
            os.rename(memex / f".{name}{n}", memex / name)
        except OSError: pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("scout", [True, False])
def test_search_while_folders_are_exchanged(tmp_path, scout):
    memex, outside = tmp_path / "memex", tmp_path / "outside"
    for folder in (memex / "a", memex / "b", outside): folder.mkdir(parents=True)
    for n in range(40): (memex / "a" / f"{n}.txt").write_text("plain"); (memex / "b" / f"{n}.txt").write_text("plain"); (outside / f"{n}.txt").write_text("plain canary")
    root, other = Root(memex), subprocess.Popen([sys.executable, "-c", SWAPPER, memex, outside], stdout=subprocess.PIPE)       # no fork: the process of the tests has threads, and so locks that nobody would give back
    try:
        assert next_line(other)
        end, seen = time.monotonic() + 4, 0
        while time.monotonic() < end:
            try: hits, _ = found(root, "plain", most=200, scout=scout)
            except PathRefused: continue
            seen += len(hits)
            assert not [h for h in hits if "canary" in h[2]]
        assert seen > 100
    finally: away(other); root.close()


def test_sensitive_names():
    for name in (".env", "a/.git/hooks/x", "k/.ssh/id_rsa", "id_ecdsa_sk", "x.PEM", "site.git/config", "credentials", "client_secret.json", "secrets.yml", "_netrc", "bashrc", "home/zprofile", "a.kdbx", "shadow.bak", "passwords.txt", "Token.txt", ".a/b"): assert sensitive(name), name
    for name in (".", "", "a.org", "secret.md", "tokens.py", "test_secrets.py", "passwords.org", "keyboard.txt", "monkey.json", "README", "tokenizer.json", "rc", "src/profile.py", "crontab.md", "git/x"): assert not sensitive(name), name


def boot(tmp_path, **more):
    memex = tmp_path / "memex"
    memex.mkdir(exist_ok=True)
    (memex / "inbox.org").write_text("* Hi\n")
    return asyncio.run(Agent.boot(memex_dir=memex, state_dir=more.pop("state_dir", tmp_path / "state"), config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", **more)), memex


def call(tool, **args): return Action.of({"target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "The person wants the shopping list kept in one file."}})


def judged(agent, action):
    permit, judgement = clear(agent, action, Signal.of({"payload": {"sensor": "user-input", "text": "Please write it"}, "meta": {"source": "cli"}}))
    judgement.close()
    return judgement.verdict


def test_the_agents_own_places_stay_closed_inside_a_workspace(tmp_path):
    import passepartout
    program = os.path.dirname(passepartout.__file__)
    allow = {"write-file": "allow", "replace-string": "allow", "read-file": "allow", "list-files": "allow", "search": "allow"}
    (tmp_path / "memex").mkdir()
    agent, memex = boot(tmp_path, state_dir=tmp_path / "memex" / "state", workspaces=[os.path.dirname(program)], permissions=allow)
    try:
        journal = next((memex / "state").rglob("journal.sqlite"))
        for path in (str(journal), str(journal.relative_to(memex)), "state/passepartout/x.org", "state/../STATE/passepartout/x.org", "state/../state/passepartout/x.org"):
            assert isinstance(judged(agent, call("write-file", path=path, text="x")), Rejected), path
            assert isinstance(judged(agent, call("read-file", path=path)), Rejected), path
        assert isinstance(judged(agent, call("list-files", folder="state/passepartout")), Rejected)
        with resolve(agent.roots, ".", "tree") as tree: assert [f.relative for f in tree.walk()] == ["inbox.org"]
        assert isinstance(judged(agent, call("write-file", path=f"{program}/verify.py", text="x")), Rejected)
        assert isinstance(judged(agent, call("read-file", path=f"{program}/verify.py")), ApprovalRequired)
        assert isinstance(judged(agent, call("read-file", path="inbox.org")), Allowed)
    finally: asyncio.run(agent.close())


def test_a_folder_that_holds_the_agents_own_things_is_not_opened(tmp_path):
    from passepartout.conditions import PassepartoutError
    (tmp_path / "config" / "passepartout" / "notes").mkdir(parents=True)
    for folder in ("config/passepartout", "config/passepartout/notes"):
        with pytest.raises(PassepartoutError, match="agent's own"): boot(tmp_path, workspaces=[tmp_path / folder])


@pytest.mark.slow
def test_write_undo_and_refuse_in_a_booted_agent(tmp_path):
    one = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "write-file" :ARGS (:PATH "list.txt" :TEXT "bread\nmilk\n") :EXPLANATION "Keeps the shopping list that you asked for."))'
    two = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "replace-string" :ARGS (:PATH "list.txt" :OLD "milk" :NEW "butter") :EXPLANATION "Butter instead of milk, as you asked."))'
    agent, memex = boot(tmp_path, permissions={"write-file": "allow", "replace-string": "allow"})
    from passepartout.backends import register_backend
    answers = iter([one, "Done.", two, "Done."])
    register_backend(agent, "fixed", lambda prompt, system_prompt, *, model=None: next(answers))
    agent.provider_cascade = ("fixed",)
    try:
        asyncio.run(agent.handle("Keep a list: bread, milk in list.txt"))
        assert (memex / "list.txt").read_text() == "bread\nmilk\n"
        asyncio.run(agent.handle("In list.txt, butter instead of milk"))
        assert (memex / "list.txt").read_text() == "bread\nbutter\n"
        asyncio.run(agent.undo())
        assert (memex / "list.txt").read_text() == "bread\nmilk\n"
        (memex / "list.txt").write_text("bread\nmilk\nhoney\n")
        assert "-honey" in asyncio.run(agent.undo())
        assert (memex / "list.txt").read_text() == "bread\nmilk\nhoney\n"
    finally: asyncio.run(agent.close())


@pytest.mark.parametrize("pattern", ["(", "[", "\\p{Foo}", "(?=x)", "a{100000}", "é("])
def test_what_is_wrong_with_a_pattern_is_said_in_text_and_of_the_pattern_as_it_was_written(pattern):
    from passepartout.toolbelt.filesearch import SearchError, compiled
    with pytest.raises(SearchError) as caught: compiled(pattern, regex=True)
    assert pattern in caught.value.message and "b'" not in caught.value.message and "(?m)" not in caught.value.message


@pytest.mark.parametrize("old, told", [("the plate of a size", ""), ("  Call the rofer on Monday", "The nearest is line 3: Call the roofer on Monday. "), ("Call the roofer on Monday\nand Ana", "Its first line is line 3, and what follows there is different. "), ("Call the roofer on Tuesday", "The nearest is line 3: Call the roofer on Monday. ")])
@pytest.mark.parametrize("private", [False, True])
def test_a_passage_that_is_not_there_is_answered_with_the_line_that_was_meant(tmp_path, old, told, private):
    agent, memex = boot(tmp_path, permissions={"replace-string": "allow"})
    (memex / "list.org").write_text("* List" + " :@personal:" * private + "\n\nCall the roofer on Monday\nCall Bob\n")
    prompts, answers = [], iter([write_plist({"target": "tool", "payload": {"action": "call", "tool": "replace-string", "args": {"path": "list.org", "old": old, "new": "x"}, "explanation": "Another word, as you asked."}}), "I see."])
    register_backend(agent, "fixed", lambda prompt, system_prompt: prompts.append(prompt) or next(answers))
    agent.provider_cascade = ("fixed",)
    try: assert str(asyncio.run(agent.handle("another word in list.org, please"))) == "I see."
    finally: asyncio.run(agent.close())
    assert f"{'' if private else told}Read it again; spaces and line breaks count." in prompts[1] and ("The nearest" in prompts[1]) is ("nearest" in told and not private)


KEY = "ghp_" + "aB3dE5gH7jK9" * 3


@pytest.mark.parametrize("pattern, regex", [("ghp_aB3", False), ("aB3dE5gH7jK9", False), ("token is ghp", False), ("ghp_a", True), ("is (?:ghp_a)?", True), (r"token is (?:\[|ghp_a)", True), ("[a-m]B3dE", True), ("missing|ghp_a", True), ("^The token is [^g]", True), ("The token", False)])
def test_a_search_does_not_tell_what_is_in_a_key(tmp_path, pattern, regex):
    "Asked for one letter after the other, a search that finds a line tells a key although it takes it out of the answer."
    found = []
    for n, key in enumerate((KEY, KEY[:4] + KEY[4:].swapcase()[::-1])):
        (folder := tmp_path / str(n)).mkdir()
        (folder / "access.org").write_text(f"* Access\nThe token is {key}.\n")
        root = Root(folder)
        with resolve([root], ".", "tree") as tree: found.append([(each.line, each.text) for each in search_files(tree, pattern, regex=regex).matches])
        root.close()
    assert found[0] == found[1] and not any(KEY in text for _, text in found[0])
    assert bool(found[0]) == (pattern in ("The token", "is (?:ghp_a)?", "^The token is [^g]", r"token is (?:\[|ghp_a)"))


def guesses(tmp_path, notes, *tries, said="please tidy up", local=False, tool="replace-string"):
    "What a model is told of each of these tries, and whether it was asked again at all."
    tmp_path.mkdir(exist_ok=True)
    agent, memex = boot(tmp_path)
    for name, text in notes.items(): (memex / name).write_text(text)
    heard, answers = [], []
    def model(prompt, system_prompt, *, model=None):
        heard.append(prompt)
        return answers.pop(0) if answers else write_plist({"payload": {"action": "message", "text": "Done."}})
    register_backend(agent, "guess", model, local=local)
    agent.provider_cascade, found = ("guess",), []
    for args in tries:
        answers[:], heard[:] = [write_plist({"target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "Two lines were mixed up there."}})], []
        reply = asyncio.run(agent.handle(said))
        told = heard[1].partition("failed: ")[2] if len(heard) > 1 else f"({reply.status})"
        found.append(re.sub(r"does not hold .*? Read", "does not hold … Read", told, flags=re.S))
    asyncio.run(agent.close())
    return found


GUESSED = "ghp_" + "aB3dE5gH7jK9" * 3


@pytest.mark.parametrize("right, wrong", [("ghp_a", "ghp_b"), (f"is {GUESSED[:9]}", f"is {GUESSED[:8]}x"), ("g", "q"), (GUESSED[-4:] + ".", "xK9."), (GUESSED, GUESSED[:-1] + "8"), (f"The token is {GUESSED}", f"The token is {GUESSED[:-1]}8")])
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("every", [True, False])
def test_no_passage_is_found_in_a_key(tmp_path, right, wrong, same, every):
    tries = [{"path": "access.txt", "old": old, "new": old if same else "x", "every": every} for old in (right, wrong)]
    told = guesses(tmp_path, {"access.txt": f"Access\nThe token is {GUESSED}.\n{'x' * 10}\n"}, *tries)
    assert told[0] == told[1] and "does not hold" in told[0], told


@pytest.mark.parametrize("right, wrong", [("love Z", "love Y"), ("v", "q"), ("I love Zoe.", "I love Ana."), ("* Diary", "* Dairy"), ("Diary :@private:\nI", "Diary :@private:\nU")])
def test_nor_in_what_is_private_and_not_known(tmp_path, right, wrong):
    notes = {"diary.org": "* Diary :@private:\nI love Zoe.\n** Below\nThe same.\n* House\nabc\n"}
    tries = [{"path": "diary.org", "old": old, "new": "x"} for old in (right, wrong)]
    told = guesses(tmp_path, notes, *tries)
    assert told[0] == told[1] and "does not hold" in told[0], told
    assert guesses(tmp_path / "public", notes, {"path": "diary.org", "old": "abc", "new": "x"}) == ["(requires-approval)"]
    assert guesses(tmp_path / "local", notes, tries[0], local=True)[0] != told[0]


def test_but_where_the_person_said_it_or_a_model_of_this_machine_is_asked(tmp_path):
    notes, wanted = {"diary.org": "* Diary :@private:\nI love Zoe.\n"}, {"path": "diary.org", "old": "I love Zoe", "new": "I love Ana"}
    assert guesses(tmp_path / "said", notes, wanted, said="put “I love Ana” in the place of “I love Zoe” in diary.org") == ["(requires-approval)"]
    assert guesses(tmp_path / "local", notes, wanted, local=True) == ["(requires-approval)"]


def test_an_approved_edit_of_private_lines_is_done(tmp_path):
    agent, memex = boot(tmp_path)
    (memex / "diary.org").write_text("* Diary :@private:\nI love Zoe.\n")
    asks = write_plist({"target": "tool", "payload": {"action": "call", "tool": "replace-string", "args": {"path": "diary.org", "old": "I love Zoe", "new": "I love Ana"}, "explanation": "The name was another one, as you said."}})
    answers = [asks, write_plist({"payload": {"action": "message", "text": "Done."}})]
    register_backend(agent, "far", lambda prompt, system_prompt, *, model=None: answers.pop(0))
    agent.provider_cascade = ("far",)
    pending, = asyncio.run(agent.handle("put “I love Ana” in the place of “I love Zoe” in diary.org")).approvals
    asyncio.run(agent.approve(pending.id, pending.code))
    assert (memex / "diary.org").read_text() == "* Diary :@private:\nI love Ana.\n"
    asyncio.run(agent.close())


def test_what_is_replaced_everywhere_stays_where_it_is_part_of_a_key(tmp_path):
    from passepartout.toolbelt.filetools import replace_edit
    (tmp_path / "a.txt").write_text(f"aB3 and aB3\nThe token is {GUESSED}.\naB3\n")
    root = Root(tmp_path)
    with resolve([root], "a.txt", "write") as file:
        edit, = replace_edit("aB3", "ö", True, ToolContext({"path": file}))
        assert edit.after.decode() == f"ö and ö\nThe token is {GUESSED}.\nö\n" and "3 passages" in edit.summary
    root.close()


def test_nor_is_it_told_that_a_heading_with_a_key_or_a_private_one_is_near(tmp_path):
    notes = {"list.org": f"* Roof\n* {GUESSED}\n* House\n** Zoe and me :@private:\n"}
    tries = [{"path": "list.org", "heading": word} for word in (GUESSED[:6], GUESSED[:5] + "x", "Zoe and", "Zox and", "Hous")]
    told = [re.sub(r"no heading .*?\. |“[^”]*”|: [^ ]{3,8} ", "", each) for each in guesses(tmp_path, notes, *tries, tool="org-read")]
    assert told[0] == told[1] == told[2] == told[3] != told[4], told


@pytest.mark.parametrize("name", ["list.org", "list.md"])
def test_nor_does_an_item_of_a_list_say_how_a_key_in_it_begins(tmp_path, name):
    mark = "*" if name.endswith("org") else "#"
    notes = {name: f"{mark} Shop\n- [ ] token {GUESSED}\n- [ ] milk\n"}
    tries = [{"path": name, "heading": "Shop", "item": item} for item in (f"token {GUESSED[:8]}", f"token {GUESSED[:7]}x", "ken ghp_a", "ken ghp_b", f"token {GUESSED}", "oken", "mil")]
    told = [re.sub(r"called '[^']*'|“[^”]*”", "…", each) for each in guesses(tmp_path, notes, *tries, tool="org-check")]
    assert len(set(told[:4])) == 1 and told[0].startswith("No ") and not told[5].startswith("No ") and told[5] == told[6], told


def test_where_nobody_says_who_asks_no_passage_is_found_in_private_lines():
    from types import SimpleNamespace
    from passepartout.toolbelt.filetools import open_to
    note = "* Open\nbees\n* Diary :@personal:\nhoney\n"
    asks = lambda **services: open_to(note, "honey", "me.org", SimpleNamespace(settings=SimpleNamespace(privacy_filter_tags=("@personal",)), services=services))
    assert "bees" in asks() and "honey" not in asks() and len(asks()) == len(note) and asks(of_private=lambda said: said == "honey") == note
