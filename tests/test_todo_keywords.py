"States of tasks that the settings name: one reading of the notes in the index, in lists, in edits, in requests and for the doctor; a file keeps the last word."
import asyncio
import os
import subprocess
import sys
import time

import pytest

import test_cli
from passepartout.agent import Agent
from passepartout.notes import told_keywords
from passepartout.settings import load_settings

forks, home = test_cli.forks, test_cli.home         # fixtures

STATES = "TODO WAITING | DONE CANCELLED"
NOTES = {"house.org": "* WAITING tell Pohl about the slate\n* TODO gutters\nSCHEDULED: <2026-11-19 Thu>\n* CANCELLED solar\n",
         "own.org": "#+TODO: WANT | READ\n* WANT Solaris\n* WAITING rooms\n",
         "inbox.org": ""}


def play(folder, states, *lines, notes=NOTES):
    "What is answered to each of `lines` where the settings name these states, what stands in each file afterwards, and what was told at the beginning."
    memex = folder / "memex"
    if not memex.exists():
        memex.mkdir()
        for name, text in notes.items(): (memex / name).write_text(text)

    async def run():
        given = {"memex_dir": memex, "state_dir": folder / "state", "cache_dir": folder / "cache", "today": "2026-11-19"}
        if isinstance(states, tuple): settings = load_settings(given, environ={"HOME": str(folder), "PASSEPARTOUT_TODO_KEYWORDS": states[1]})
        else: settings = load_settings(given | ({} if states is None else {"todo_keywords": states}), environ={"HOME": str(folder)})
        agent = await Agent.boot(settings)
        try: return [str(await agent.handle(line, session="s")) for line in lines], agent.settings.warnings
        finally: await agent.close()
    answers, warnings = asyncio.run(run())
    return answers, {path.name: path.read_text() for path in sorted(memex.iterdir())}, warnings


def test_a_state_of_the_settings_is_a_state_in_lists_in_searches_and_in_edits(tmp_path):
    (waiting, found, marked, started), files, _ = play(tmp_path, STATES, "what am I waiting for?", "find todo:CANCELLED", "mark the gutters as waiting", "done tell Pohl")
    assert "tell Pohl" in waiting and "gutters" not in waiting
    assert "solar" in found and "Pohl" not in found
    assert "* WAITING gutters\n" in files["house.org"], marked
    assert "* DONE tell Pohl about the slate\n" in files["house.org"], started


def test_without_the_setting_the_same_words_are_words_of_a_title(tmp_path):
    (waiting, marked), files, _ = play(tmp_path, None, "what am I waiting for?", "mark the gutters as waiting")
    assert waiting.startswith("Nothing waits for somebody.\n") and "is no state there" in waiting and "* TODO gutters\n" in files["house.org"]
    assert "has the states TODO, DONE" in marked


def test_a_file_with_states_of_its_own_keeps_the_last_word(tmp_path):
    (rooms, refused), files, _ = play(tmp_path, STATES, "find todo:WAITING", "mark Solaris as cancelled")
    assert "rooms" not in rooms and "Pohl" in rooms
    assert "* WANT Solaris\n" in files["own.org"] and "WANT, READ" in refused


def test_another_setting_has_the_notes_read_again_and_the_old_one_finds_its_own_reading(tmp_path):
    for states, there in ((None, False), (STATES, True), (None, False), ("OPEN WAITING | SHUT", True)):
        (answer,), _, _ = play(tmp_path, states, "find todo:WAITING")
        assert ("Pohl" in answer) is there, (states, answer)


def test_a_new_task_begins_in_the_first_state_of_the_setting(tmp_path):
    _, files, _ = play(tmp_path, "NEXT WAITING | DONE", "todo: slates for the shed", "todo in own.org: Roadside Picnic")
    assert files["inbox.org"] == "* NEXT slates for the shed\n"
    assert files["own.org"].endswith("* WANT Roadside Picnic\n")


@pytest.mark.parametrize("garbage", ["TODO", "| DONE", "TODO |", "TODO TODO | DONE", "TODO, WAITING | DONE", "TODO | DONE | GONE", "TODO WAITING(w@/!) | DONE", "* | #", "TODO | COMMENT:"])
def test_garbage_gives_the_default_and_a_warning(tmp_path, garbage):
    (answer,), files, warnings = play(tmp_path, ("environ", garbage), "done gutters")
    assert "* DONE gutters\n" in files["house.org"]
    assert [each for each in warnings if "todo_keywords" in each and "It stays at TODO | DONE." in each], warnings


async def test_an_index_that_fails_leaves_the_states_as_they_are(tmp_path):
    "What is read in place of the index, and what the doctor looks through, is read with the same states."
    from passepartout.confinement.resources import Root
    from passepartout.terminal.shelf import Shelf, open_index
    (tmp_path / "memex").mkdir()
    for name, text in NOTES.items(): (tmp_path / "memex" / name).write_text(text)
    settings = load_settings({"memex_dir": tmp_path / "memex", **{f"{kind}_dir": tmp_path / kind for kind in ("state", "cache", "config")}, "todo_keywords": STATES}, environ={})
    root = Root(settings.memex_dir)
    shelf = Shelf(settings, root)
    shelf.read_instead()
    groups, _ = shelf.notes.view("waiting", shelf.today)
    assert [each.title for items in groups.values() for each in items] == ["tell Pohl about the slate"]
    assert shelf.index.default.states == open_index(settings, root).default.states == {"TODO": False, "WAITING": False, "DONE": True, "CANCELLED": True}
    shelf.close(); root.close()


def test_the_commands_read_the_notes_as_the_agent_does(home):
    for name, text in NOTES.items(): (home.memex / name).write_text(text)
    states = {"PASSEPARTOUT_TODO_KEYWORDS": STATES}
    run = lambda *args: home(*args, "--memex", home.memex, "--today", "2026-11-19", env=states)
    assert "tell Pohl about the slate" in run("agenda", "--view", "waiting").stdout
    assert run("todo", "gutters", "WAITING").returncode == 0 and "* WAITING gutters\n" in (home.memex / "house.org").read_text()
    assert run("show", "gutters").stdout.startswith("* WAITING gutters\n") and run("todo", "Solaris", "WAITING").returncode != 0
    told = home("doctor", "--memex", home.memex, "--json", env={"PASSEPARTOUT_TODO_KEYWORDS": "TODO"}).stdout
    assert "todo_keywords = 'TODO' is not a line of states" in told


def test_the_shell_offers_the_states_of_the_setting(tmp_path, monkeypatch):
    from types import SimpleNamespace
    from passepartout.terminal.completion import tasks_and_states
    for name, folder in (("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")): monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("PASSEPARTOUT_TODO_KEYWORDS", "OPEN WAITING | SHUT")
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "house.org").write_text("* WAITING tell Pohl\n")
    from passepartout.confinement.resources import Root
    from passepartout.terminal.shelf import open_index
    root = Root(tmp_path / "memex")
    index = open_index(load_settings({"memex_dir": tmp_path / "memex"}), root)
    index.refresh(); index.close(); root.close()
    typed = SimpleNamespace(params={"target": ["tell"], "memex": str(tmp_path / "memex")}, parent=None)
    assert tasks_and_states(typed, "") == ["OPEN", "SHUT", "WAITING", "none", "Pohl"]


def test_tangle_reads_a_page_as_the_notes_are_read(home):
    "What is commented out behind a state of the person's own is not written: it was, as if WAITING were a word of the title."
    page, made = home.memex / "page.org", home.memex / "made.py"
    page.write_text("* WAITING COMMENT draft\n#+begin_src python :tangle made.py\nraise SystemExit\n#+end_src\n* Rest\n#+begin_src python :tangle made.py\nprint(1)\n#+end_src\n")
    def written(states=None):
        made.unlink(missing_ok=True)
        done = home("tangle", page, env={"PASSEPARTOUT_TODO_KEYWORDS": states} if states else {})
        assert done.returncode == 0, done.stderr
        return "raise SystemExit" in made.read_text()
    assert written() and not written(STATES)
    page.write_text("#+TODO: WANT | READ\n" + page.read_text())
    assert written(STATES)


OTHER_PROCESS = "import sys; from pathlib import Path; from passepartout.indexing.indexfile import open_database; held = open_database(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"


def test_an_index_that_no_setting_uses_any_more_goes_and_one_in_use_stays(tmp_path):
    "The notes are in it, and whoever changed the setting years ago has deleted some of them since."
    from passepartout.indexing.indexfile import open_database
    for states in (None, STATES, "OPEN | SHUT", "A | B"): play(tmp_path, states, "find todo:WAITING")
    places = {states: load_settings({"memex_dir": tmp_path / "memex", "cache_dir": tmp_path / "cache", "todo_keywords": states}, environ={"HOME": str(tmp_path)}).index_path
              for states in ("TODO | DONE", STATES, "OPEN | SHUT", "A | B")}
    mine, held, left, fresh = places.values()
    (elsewhere := mine.with_name("index-of-mine.sqlite")).write_text("somebody else's"); (log := left.with_name(f"{left.name}-wal")).write_bytes(b"")
    long_ago = time.time() - 31 * 86_400
    for path in (mine, held, left, elsewhere): os.utime(path, (long_ago, long_ago))
    with subprocess.Popen([sys.executable, "-c", OTHER_PROCESS, str(held)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"
        os.utime(held, (long_ago, long_ago))
        for _ in range(2): open_database(mine)[0].close()
        assert [path.exists() for path in (mine, held, left, log, fresh, elsewhere)] == [True, True, False, False, True, True]
        other.stdin.close()
    os.utime(held, (long_ago, long_ago)); open_database(mine)[0].close()
    assert not held.exists() and time.time() - mine.stat().st_mtime < 60
    assert "Pohl" in play(tmp_path, STATES, "find todo:WAITING")[0][0]


def test_links_stay_right_in_what_is_moved_behind_a_state_of_the_settings(tmp_path):
    "The note was read once more without these states, looked unlike itself, and its links were left as they had been in the other folder."
    notes = {"sub/a.org": "* WAITING tell Pohl, see [[file:roof.org][roof]]\n* gutters\n", "sub/roof.org": "* roof\n", "inbox.org": ""}
    (tmp_path / "memex" / "sub").mkdir(parents=True)
    for name, text in notes.items(): (tmp_path / "memex" / name).write_text(text)
    async def moved():
        agent = await Agent.boot(load_settings({"memex_dir": tmp_path / "memex", "state_dir": tmp_path / "s", "cache_dir": tmp_path / "c", "today": "2026-11-19", "todo_keywords": STATES}, environ={"HOME": str(tmp_path)}))
        try: return str(await agent.handle("move tell Pohl to inbox.org", session="s"))
        finally: await agent.close()
    answer = asyncio.run(moved())
    assert (tmp_path / "memex" / "inbox.org").read_text() == "* WAITING tell Pohl, see [[file:sub/roof.org][roof]]\n", answer


def test_a_module_that_was_written_with_these_states_still_blames_the_line_of_its_page(tmp_path, monkeypatch):
    from passepartout.skillfiles.pagelines import exported
    from passepartout.tangling.tanglefiles import WrittenDigests
    from passepartout.terminal.tanglecommand import run_tangle
    page, made = tmp_path / "page.org", tmp_path / "made.py"
    page.write_text("* WAITING COMMENT draft\n#+begin_src python :tangle made.py\nraise SystemExit\n#+end_src\n* Rest\n#+begin_src python :tangle made.py\nprint(1)\n#+end_src\n")
    settings = load_settings({"todo_keywords": STATES}, environ={"HOME": str(tmp_path)})
    assert run_tangle([page], None, WrittenDigests(tmp_path / "t.json"), states=told_keywords(settings)) == 0
    assert exported(page, made, made.read_text()) is None
    monkeypatch.setenv("PASSEPARTOUT_TODO_KEYWORDS", STATES)
    assert (7 in {line.at for line in exported(page, made, made.read_text()).lines})


EMACS_ONLY = {"gtd.org": "* WAITING for the bank\n* NEXT call Ana\n* NEXT write to Bo\n* TODO gutters\n* NASA picnic\n", "own.org": "#+TODO: NEXT | DONE\n* NEXT read\n* NEXT walk\n"}

def test_who_told_their_states_to_emacs_only_hears_why_nothing_waits(tmp_path):
    (answer,), files, _ = play(tmp_path, None, "what am I waiting for", notes=EMACS_ONLY)
    assert answer.startswith("Nothing waits for somebody.\nBut “WAITING for the bank” (gtd.org:1) begins with a word that is no state there.") and "todo_keywords = TODO WAITING | DONE" in answer
    (again,), _, _ = play(tmp_path, "TODO WAITING | DONE", "what am I waiting for")
    assert "WAITING for the bank" in again and "no state" not in again and files["gtd.org"] == EMACS_ONLY["gtd.org"]


def test_the_doctor_names_words_that_begin_several_headings_and_are_no_states(tmp_path):
    from passepartout.checkup.notecheck import note_findings
    from passepartout.confinement.roots import Root
    from passepartout.indexing.index import Index
    for name, text in EMACS_ONLY.items(): (tmp_path / name).write_text(text)
    index = Index(Root(tmp_path)); index.refresh()
    (found,) = note_findings(index)
    assert "NEXT (gtd.org:2 and 1 more)" in found.what and "WAITING" not in found.what and "own.org" not in found.what and "TODO NEXT | DONE" in found.fix
