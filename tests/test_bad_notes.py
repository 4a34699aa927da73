"""Notes as no one should write them are read, every room on them answers, and no byte is lost on the way."""
import os
import subprocess
import time
from datetime import date

import pytest

from passepartout.agenda import agenda, render_agenda
from passepartout.outline.diarydates import diary_dates
from passepartout.indexing.index import Index
from passepartout.indexing.inotify import Trees
from passepartout.indexing.notefiles import folder_times
from passepartout.outline.checkboxes import list_items
from passepartout.outline.elements import blocks
from passepartout.outline.links import LinkTargets, all_links, backlinks
from passepartout.notes import NotText, decode, parse_note, read_notes
from passepartout.org import print_outline
from passepartout.confinement.resources import Root, resolve
from passepartout.search import find
from passepartout.outline.timestamps import broken_stamps, stamps
from passepartout.awareness.views import VIEWS, view

TODAY = date(2026, 11, 19)
ALL = "* TODO [#A] Roof [[file:b.md][offers]] [1/2] :house:\nDEADLINE: <2026-11-20 Fri -3d>\n:PROPERTIES:\n:ID: 7f\n:END:\n- [ ] tiles[fn:1]\n| a | b |\n#+begin_quote\nDöben\n#+end_quote\n\n[fn:1] red\n"


def look(outline) -> None:
    "Everything that reads an outline."
    for node in outline.nodes:
        for read in (blocks, *[list_items] * (outline.format == "org")): list(read(outline, node))
    stamps(outline), broken_stamps(outline), diary_dates(outline), all_links(outline)
    render_agenda(agenda([outline], TODAY, TODAY, TODAY), TODAY, TODAY, TODAY)
    backlinks(LinkTargets([outline]))
    for name in VIEWS: view(name, [outline])
    find([outline], "roof offers")
    assert print_outline(outline) == outline.text


BAD = {
    "nothing": b"", "one star": b"* ", "no line end": b"* a", "NUL in UTF-16": "* a\0b\n".encode("utf-16"), "CRLF": ALL.replace("\n", "\r\n").encode(), "CR only": ALL.replace("\n", "\r").encode(), "mixed ends": ALL.replace("\n", "\r\n", 5).encode(),
    "levels skipped": b"*********** deep\nDEADLINE: <2026-11-20 Fri>\n* up\n************ down\n" + b"*" * 500 + b" far\n", "UTF-16": ALL.encode("utf-16"), "Latin-1": ALL.encode("latin-1"), "mixed": ALL.encode() + ALL.encode("latin-1"),
    "marks in the middle": (ALL + "\ufeff" + ALL).encode(), "odd separators": ALL.replace("\n", "\u2028").encode(), "form feeds": ALL.replace("\n", "\n\f").encode(), "broken drawers": ALL.replace(":END:", ":EN:").encode(), "broken blocks": ALL.replace("#+end", "#+en").encode(),
    "nested expressions": b"* a\n%%" + b"(and " * 5000 + b"(org-anniversary 1956 5 14)" + b")" * 5000 + b" Arthur\n",
    "nested brackets": b"* " + b"[[" * 5000 + b"]]" * 5000, "dates": b"* a <2026-02-30 Mon> <0000-00-00> <9999-12-31 Fri +99999y> <2026-11-20 Fri 99:99>\n<%%(diary-float t 4 2)>\n", "tags": b"* a :" + b"x:" * 20000, "signs": b"* a\n" + bytes(range(1, 256)) * 20}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("file", ["a.org", "a.md"])
def test_bad_text_is_read_by_every_room(name, file):
    try: decoded = decode(BAD[name])
    except NotText as reason:
        assert name == "signs" and reason.message
        return
    assert decoded.bom + decoded.encode(decoded.text) == BAD[name]
    look(parse_note(decoded.text, file))


def test_line_ends_change_nothing_but_the_places():
    one, other = (parse_note(ALL.replace("\n", end), "a.org") for end in ("\n", "\r\n"))
    facts = lambda o: [(n.title, n.keyword, n.priority, n.tags, dict(n.properties)) for n in o.nodes]
    assert facts(one) == facts(other)
    seen = [[(i.text, i.box) for i in list_items(o, o.nodes[1])] + [(b.kind, b.name) for b in blocks(o, o.nodes[1])]
            + [(k.kind, k.target, k.label) for k in all_links(o)] + [(s.kind, s.day, s.warn) for s in stamps(o)] for o in (one, other)]
    assert seen[0] == seen[1]


def test_a_folder_of_bad_files_says_which_were_left_out(tmp_path):
    for name, data in BAD.items(): (tmp_path / f"{name}.org").write_bytes(data)
    (tmp_path / "zero.org").write_bytes(b"* a\0b\n")
    os.truncate(os.open(tmp_path / "line.org", os.O_CREAT | os.O_WRONLY), 50_000_000)
    with resolve([Root(tmp_path)], ".", "tree") as folder: notes = read_notes(folder)
    assert {r.file for r in notes.skipped} == {"zero.org", "line.org", "signs.org"} and "50.0 MB" in notes.report() and "NUL" in notes.report()
    assert {r.file for r in notes.flagged} == {"Latin-1.org", "mixed.org"}
    agenda(notes.outlines, TODAY, TODAY, TODAY)
    backlinks(LinkTargets(notes.outlines))


@pytest.mark.slow
@pytest.mark.parametrize("file", ["a.org", "a.md"])
@pytest.mark.parametrize("line", ["x", "[[", "<2026-11-20 Fri>", "[fn:1]", "`"])
def test_a_line_of_fifty_megabytes_takes_seconds(file, line):
    text = "* TODO a\n" + line * (50_000_000 // len(line)) + "\n* b\n" if len(line) == 1 else "* TODO a\n" + "x" * 45_000_000 + line * (5_000_000 // len(line)) + "\n* b\n"
    began = time.process_time()
    outline = parse_note(text, file)
    for read in (list_items, blocks): list(read(outline, outline.nodes[-1])), list(read(outline, outline.nodes[0])), list(read(outline, outline.nodes[min(1, len(outline.nodes) - 1)]))
    stamps(outline), all_links(outline)
    assert time.process_time() - began < 30
    assert print_outline(outline) == text


@pytest.fixture
def deep(tmp_path):
    "Notes beside a chain of three thousand folders, each in the one before, as an archive can hold it."
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "a.org").write_text("* TODO Roof\n")
    fd = os.open(memex, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("n", dir_fd=fd)
        inner = os.open("n", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    yield memex
    subprocess.run(["rm", "-rf", memex / "n"], check=True)


def test_folders_in_folders_without_end_hide_no_note(deep, tmp_path):
    root = Root(deep)
    index = Index(root, tmp_path / "index.sqlite")
    index.refresh()
    (deep / "b.org").write_text("* TODO Later\n")
    index.refresh()
    assert sorted(index.known) == ["a.org", "b.org"] and set(folder_times(root)) == {"", *("/".join("n" * n) for n in range(1, 64))}
    index.close()
    root.close()


def test_and_they_are_watched_as_far_as_they_have_a_name(deep):
    trees = Trees()
    trees.watch_tree(str(deep))
    assert 64 < len(trees.folders) < 3_000
    trees.close()
