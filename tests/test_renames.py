"""Another name for a file: the links to it go along, nothing else is touched, and undo brings both back."""
import time

import pytest
from hypothesis import given, settings

from conftest import examples
from passepartout.agent import Agent
from passepartout.notes import parse_note
from passepartout.org import parse_org
from passepartout.outline.markdown import parse_markdown
from passepartout.outline.renames import relinked, spans
from passepartout.outline.rewrite import RewriteError
from test_links import parsers, texts
from test_reflex_turns import play as conversation
from waits import in_time

NOTES = {"knee.md": "# Knee\nSee [plan](plan.org) and [[plan]].\n", "plan.org": "* Plan\n[[file:knee.md::*Knee][the knee]], <file:knee.md>, file:./knee.md and [[knee]]\n: [[file:knee.md]]\n",
         "a.md": "A knee. [k](knee.md#knee), ![[knee]], [[knee.md|k]], [r][k]\n`[[knee]]`\n\n[k]: knee.md\n"}


def play(folder, notes, *lines):
    for name in notes: (folder / "memex" / name).parent.mkdir(parents=True, exist_ok=True)
    return conversation(folder, notes, *lines)


def test_each_kind_of_link_goes_along_and_undo_brings_all_back(tmp_path):
    answers, files = play(tmp_path, NOTES, "rename knee.md to right knee.md")          # a bare address ends at the blank
    assert files == NOTES and "The link to “./knee.md” in plan.org would not lead where it has to" in answers[0]
    answers, files = play(tmp_path / "b", NOTES, "rename knee.md to right-knee.md")
    assert files == {"right-knee.md": NOTES["knee.md"], "plan.org": "* Plan\n[[file:right-knee.md::*Knee][the knee]], <file:right-knee.md>, file:./right-knee.md and [[right-knee]]\n: [[file:knee.md]]\n",
                     "a.md": "A knee. [k](right-knee.md#knee), ![[right-knee]], [[right-knee.md|k]], [r][k]\n`[[knee]]`\n\n[k]: right-knee.md\n"}, answers
    answers, files = play(tmp_path / "c", NOTES, "rename knee.md to right-knee.md", "/undo")
    assert files == NOTES, answers


@pytest.mark.parametrize("line, told", [
    ("rename knee.md to plan.md", "The link to “plan” in knee.md would not lead where it has to"), ("rename knee.md to a.md", "There is a a.md already"), ("rename knee.md to attic/knee.md", "no folder called “attic”"), ("rename knee.md to knee.org", "Keep the ending"), ("rename knee.md to knee.md", "called so already"), ("rename knee.md to k[1].md", "could not hold the sign")])
def test_a_name_that_cannot_be_is_said_and_nothing_changes(tmp_path, line, told):
    answers, files = play(tmp_path, NOTES, line)
    assert told in answers[0] and files == NOTES, answers


def test_a_change_of_case_and_a_file_that_is_called_a_file(tmp_path):
    answers, files = play(tmp_path, NOTES, "rename the file knee to Knee.md")
    assert "Knee.md" in files and "knee.md" not in files and "![[Knee]]" in files["a.md"], answers


def test_many_notes_are_asked_about_first(tmp_path):
    notes = {"x.md": "x\n", **{f"n{n}.md": "[[x]]\n" for n in range(5)}}
    answers, files = play(tmp_path, notes, "rename x.md to y.md")
    assert files == notes and "This needs your approval" in answers[0] and "n0.md, n1.md, n2.md and 2 more notes" in answers[0]
    answers, files = play(tmp_path / "b", dict(list(notes.items())[:4]), "rename x.md to y.md")
    assert files == {"y.md": "x\n", **{f"n{n}.md": "[[y]]\n" for n in range(3)}}, answers


def test_a_note_that_goes_to_another_folder_takes_its_own_links_along(tmp_path):
    answers, files = play(tmp_path, {"trips/t.org": "* t\n", "a.org": "[[file:trips/t.org]] [[file:pic.png]] [[./b.org]]\n", "b.org": "[[file:a.org]]\n"}, "rename a.org to trips/a.org")
    assert files == {"trips/t.org": "* t\n", "trips/a.org": "[[file:t.org]] [[file:../pic.png]] [[../b.org]]\n", "b.org": "[[file:trips/a.org]]\n"}, answers


@pytest.mark.parametrize("line, titles", [("rename the task call mama to phone mama", "* TODO phone mama\n"), ("done the task call mama", "* DONE call mama\n"), ("rename the task force to x", "* TODO call mama\n")])
def test_the_kind_of_a_thing_before_its_name_is_no_part_of_the_name(tmp_path, line, titles):
    _, files = play(tmp_path, {"a.org": "* TODO call mama\n* TODO task force\n"}, line)
    assert titles in files["a.org"] and ("* TODO x\n" in files["a.org"]) == (" x" in line)


def test_a_note_that_is_named_twice_is_changed_once(tmp_path):
    from passepartout.confinement.resources import Root, resolve
    from passepartout.notes import NoteCache
    from passepartout.toolbelt.editor import NoteEditor
    from passepartout.toolbelt.moveedits import rename_edit
    from passepartout.tools import ToolContext
    for name, text in {"a.md": "a\n", "b.md": "[[a]]\n"}.items(): (tmp_path / name).write_text(text)
    root = Root(tmp_path)
    opened = {"path": resolve([root], "a.md", "write"), "target": resolve([root], "c.md", "write"), "links": tuple(resolve([root], name, "write") for name in ("b.md", "./b.md", "a.md"))}
    edits = rename_edit(NoteEditor(NoteCache(), ()), ToolContext(opened))
    assert [(edit.resource.display, edit.after) for edit in edits] == [("c.md", b"a\n"), ("b.md", b"[[c]]\n"), ("a.md", None)]


@settings(max_examples=examples(200), deadline=None)
@given(texts, parsers)
def test_a_rename_leaves_a_text_that_has_its_other_links_or_says_why_not(text, parser):
    outline = parser[0](text, parser[1])
    for new in ("d/c e.org", "b.org"):
        try: after, changed = relinked(outline, "d/b.org", new, ("d/b.org", "d/a.org", "d/b.md"))
        except RewriteError: continue
        again = (parse_org if outline.format == "org" else parse_markdown)(after, outline.file)
        assert len(spans(again)) == len(spans(outline)) and (changed or after == text)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
async def test_another_name_an_archive_and_an_undo_open_a_note_to_nobody(tmp_path, mode):
    (diary := tmp_path / "memex" / "diary.org").parent.mkdir()
    diary.write_text("* DONE Bees\n* Wasps\n"); diary.chmod(mode)
    modes = lambda: {path.name: path.stat().st_mode & 0o777 for path in diary.parent.iterdir()}
    async with await Agent.boot(memex_dir=diary.parent, state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("reflex",)) as agent:
        await agent.handle("rename diary.org to book.org")
        assert modes() == {"book.org": mode}
        await agent.undo()
        assert modes() == {"diary.org": mode}
        asked = await agent.handle("archive Bees")
        for each in asked.approvals: await agent.approve(each.id, each.code)
        assert modes() == {"diary.org": mode, "diary.org_archive": mode}


@pytest.mark.parametrize("old, new", [('#+INCLUDE: "trips/t.org"\n', '#+INCLUDE: "trips/u.org"\n'), ("* a\n#+include: ./trips/t.org::*Day :lines \"1-2\"\n", "* a\n#+include: ./trips/u.org::*Day :lines \"1-2\"\n"), ("#+SETUPFILE: trips/t.org\n", "#+SETUPFILE: trips/u.org\n"),
                                      ("#+ARCHIVE: trips/t.org::* Old\n", "#+ARCHIVE: trips/u.org::* Old\n"), ("#+begin_example\n#+INCLUDE: \"trips/t.org\"\n#+end_example\n", None), ("#+ARCHIVE: %s_archive::\n", None), ("#+INCLUDE: https://example.org/trips/t.org\n", None)])
def test_a_file_that_a_setting_of_org_names_is_named_anew(tmp_path, old, new):
    answers, files = play(tmp_path, {"trips/t.org": "* Day\n", "a.org": old, "b.org": "t\n"}, "rename trips/t.org to trips/u.org")
    assert files["a.org"] == (new or old) and "trips/u.org" in files, answers


def test_a_note_takes_what_its_settings_name_along_to_another_folder(tmp_path):
    answers, files = play(tmp_path, {"trips/t.org": "* t\n", "a.org": "#+SETUPFILE: setup/s.org\n* a\n#+INCLUDE: \"./pic.txt\" src\n", "setup/s.org": "#+TODO: A | B\n"}, "rename a.org to trips/a.org")
    assert files.get("trips/a.org") == "#+SETUPFILE: ../setup/s.org\n* a\n#+INCLUDE: \"../pic.txt\" src\n", (answers, files)


def test_a_name_that_such_a_line_cannot_hold_renames_nothing(tmp_path):
    answers, files = play(tmp_path, {"t.org": "* t\n", "a.org": "#+INCLUDE: t.org\n"}, "rename t.org to the tiles.org")
    assert set(files) == {"a.org", "t.org"} and "Nothing was renamed" in answers[0], answers


def test_many_links_among_many_notes_are_rewritten_in_moments():
    "The names of all notes were taken apart for each link: five seconds for fifty links among five thousand notes, and twice that to check them."
    paths = [f"folder{i % 50}/note{i}.md" for i in range(5_000)]
    outline = parse_note("".join(f"see [[note7]] and [[other{i}]]\n" for i in range(50)), "a.md")
    began = time.process_time()
    assert relinked(outline, "folder7/note7.md", "folder7/seven.md", paths)[1] == 50
    assert in_time(time.process_time() - began, 2.5)


def test_pictures_beside_a_note_that_goes_to_another_folder_are_still_found(tmp_path):
    "By a bare name they were lost, and a path from the top of a vault was made one that leads nowhere."
    from test_first_hour import play
    (told,), files = play(tmp_path, {"house/Roof.md": "![[plan.png]] ![p](plan.png) ![q](house/plan.png) ![r](./plan.png) [s](tiles%20%28new%29.pdf) ![z](far.png) ![](gone.png) ![](http://x.org/plan.png)\n", "house/plan.png": b"x",
                                     "house/tiles (new).pdf": b"x", "pics/far.png": b"x", "trips/a.md": "x\n", "house/Org.org": "[[file:plan.png]] [[file:gone.png]] [[./plan.png]]\n"}, "rename house/Roof.md to trips/Roof.md")
    assert files["trips/Roof.md"] == ("![[plan.png]] ![p](../house/plan.png) ![q](house/plan.png) ![r](../house/plan.png) [s](../house/tiles%20%28new%29.pdf) ![z](far.png) ![](gone.png) ![](http://x.org/plan.png)\n"), told
    (told,), files = play(tmp_path, {}, "rename house/Org.org to trips/Org.org")
    assert files["trips/Org.org"] == "[[file:../house/plan.png]] [[file:../house/gone.png]] [[../house/plan.png]]\n", told


def test_a_heading_that_goes_to_another_folder_keeps_what_its_paths_lead_to(tmp_path):
    from test_first_hour import play
    notes = {"house/roof.org": "* Offers :a:\nSee [[file:plan.png]], [[file:tiles.org::*Slate]] and [[file:../trips/x.org]].\n** More [[file:plan.png]]\n#+begin_src\n[[file:plan.png]]\n#+end_src\n* Rest\n[[file:plan.png]]\n",
             "house/tiles.org": "* Slate\n", "house/plan.png": b"x", "trips/x.org": "* Trip\n", "house/m.md": "# Moved\n[a](tiles.org) ![p](plan.png) [b](../trips/n.md) ![](far.png)\n", "trips/n.md": "# N\n", "house/b.md": "# B\n"}
    told, files = play(tmp_path, notes, "move Offers to trips/x.org", "move Moved to trips/n.md")
    assert files["trips/x.org"] == ("* Trip\n* Offers :a:\nSee [[file:../house/plan.png]], [[file:../house/tiles.org::*Slate]] and [[file:x.org]].\n** More [[file:../house/plan.png]]\n#+begin_src\n[[file:plan.png]]\n#+end_src\n"), told
    assert files["house/roof.org"] == "* Rest\n[[file:plan.png]]\n" and files["trips/n.md"] == "# N\n# Moved\n[a](../house/tiles.org) ![p](../house/plan.png) [b](n.md) ![](far.png)\n"
    told, files = play(tmp_path, {"house/o.md": "# Other\n[a](tiles.org) ![](far.png)\n"}, "move Other to house/b.md")
    assert files["house/b.md"] == "# B\n# Other\n[a](tiles.org) ![](far.png)\n", told
