"Logseq's bullets: an edit of one changes its own lines and no other byte, and what is not one is never touched"
import re, time
from datetime import date, datetime

import pytest

from passepartout.agenda import agenda
from passepartout.notes import parse_note
from passepartout.org import shown_tags
from passepartout.outline.bodytext import edit_body
from passepartout.outline.privacy import is_private
from passepartout.outline.planning import schedule, unschedule
from passepartout.outline.priorities import set_priority
from passepartout.outline.rewrite import RewriteError, change_tags, retitle
from passepartout.outline.states import complete, set_state
from passepartout.awareness.views import open_items
from waits import in_time

NOON = datetime(2026, 11, 19, 12)
PAGE = """title:: Haus\n\n- Dach\n\t- TODO [#A] Ziegel\n\t  id:: 65f2\n\t  DEADLINE: <2026-11-20 Fri .+1w>\n\t  SCHEDULED: <2026-11-18 Wed>\n\t  :LOGBOOK:
\t  CLOCK: [2026-11-18 Wed 09:30:11]\n\t  :END:\n\t\t- rot   \n\t- LATER Feige \n- TODO: kein Wort\n- DONE gezahlt\n"""
SHAPES = {"tabs": PAGE, "windows": PAGE.replace("\n", "\r\n"), "blanks": PAGE.replace("\t", "    "), "no end": PAGE.rstrip("\n")}
EDITS = {"done": lambda o, n: complete(o, n, now=NOON), "waiting": lambda o, n: set_state(o, n, "WAITING", now=NOON), "priority": lambda o, n: set_priority(o, n, "C"),
         "none": lambda o, n: set_priority(o, n, ""), "deadline": lambda o, n: schedule(o, n, date(2026, 12, 1), "deadline", now=NOON),
         "scheduled": lambda o, n: schedule(o, n, datetime(2026, 12, 1, 9), now=NOON), "tag": lambda o, n: change_tags(o, n, ["eilig"]), "title": lambda o, n: retitle(o, n, "Neu")}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_edit_changes_the_lines_of_its_bullet_and_no_other(shape, edit):
    text = SHAPES[shape]
    outline = parse_note(text, "pages/haus.md")
    assert [(n.keyword, n.title) for n in outline.nodes[1:]] == [("TODO", "Ziegel"), ("LATER", "Feige"), ("DONE", "gezahlt")]
    for node in outline.nodes[1:3]:
        after = EDITS[edit](outline, node)
        if (edit, node.index) == ("none", 2): assert after == text; continue
        assert after != text
        below = node.planning[1] if node.planning else node.body_start
        rest, logged = re.subn(r'[ \t]+\* State "DONE" from "TODO" \[2026-11-19 Thu 12:00\]\r?\n', "", after)
        assert logged == ((edit, node.index) == ("done", 1)), "what repeats is noted once in the drawer that is there, as Logseq does"
        assert rest.startswith(text[:node.start]) and rest.endswith(text[below:]), "something outside of the bullet was changed"
        assert "\r" not in after.replace("\r\n", "") and (after.count("\r\n") == after.count("\n") or shape != "windows")


def test_the_agenda_and_done_agree():
    outline = parse_note(PAGE, "pages/haus.md")
    week = lambda o: [(e.kind, e.title) for e in agenda([o], date(2026, 11, 18), date(2026, 11, 22), date(2026, 11, 18))]
    assert ("deadline", "Ziegel") in week(outline) and [e.title for e in open_items([outline])] == ["Ziegel", "Feige"]
    again = parse_note(complete(outline, outline.nodes[1], now=NOON), outline.file)
    assert "<2026-11-26 Thu .+1w>" in again.text and again.nodes[1].keyword == "TODO", "what repeats begins again, a week from today"
    once = parse_note(unschedule(outline, outline.nodes[1], "deadline"), outline.file)
    over = parse_note(complete(once, once.nodes[1], now=NOON), outline.file)
    assert week(over) == [] and [e.title for e in open_items([over])] == ["Feige"]


@pytest.mark.parametrize("text", ["# List\n- NOW is the time\n", "Plain.\n- LATER we left\n", "* TODO a star\n", "- todo small\n", "- TODO\n", "- DONE: it\n", "```\n- TODO code\n```\n", "1. TODO numbered\n", "- TODOs of today\n"])
def test_a_sentence_is_no_task(text):
    assert all(n.keyword is None for n in parse_note(text, "x.md").nodes)


def test_org_reads_as_before():
    assert [n.keyword for n in parse_note("- TODO no task\n* TODO task\n- LATER no task\n", "x.org").nodes] == [None, "TODO"]


def test_a_word_that_the_page_would_not_read_is_refused():
    outline = parse_note("# List\n- TODO call\n", "x.md")
    with pytest.raises(RewriteError, match="not LATER"): set_state(outline, outline.nodes[2], "LATER", now=NOON)


@pytest.mark.slow
@pytest.mark.parametrize("below", ["  :LOGBOOK:\n" * 20_000, "  :LOGBOOK:\n" + "  x\n" * 50_000, "  :LOGBOOK:" + " " * 100_000])
def test_a_logbook_without_an_end_takes_no_long_search_and_gets_a_new_one(below):
    outline = parse_note("- TODO water\n  SCHEDULED: <2026-11-18 Wed .+1w>\n" + below + "\n", "pages/x.md")
    begun = time.process_time()
    after = complete(outline, outline.nodes[1], now=NOON)
    assert in_time(time.process_time() - begun, 3) and after.split("\n")[2:5] == ["  :LOGBOOK:", '  * State "DONE" from "TODO" [2026-11-19 Thu 12:00]', "  :END:"]


OUTLINER = "title:: House\n\n- The garden wants rain #garden\n\t- TODO water it\n\t  #deep more\n\t- LATER a barrel #blue\n\t  a line of it #own\n- TODO pay the rent #money\n- Affair #private\n  of long ago #old\n\t- a bullet\n\t\t- TODO burn the letters\n- TODO call Ana\n\t- about the dates #talk\n\t\t- TODO ask for two\n"

def test_a_tag_of_one_bullet_goes_to_the_tasks_below_it_and_to_no_others():
    outline = parse_note(OUTLINER, "pages/house.md")
    tags = {node.title: set(shown_tags(outline.tags(node))) for node in outline.nodes}
    assert tags == {"House": set(), "water it": {"garden", "deep"}, "a barrel": {"garden", "blue", "own"}, "pay the rent": {"money"}, "burn the letters": {"private", "old"}, "call Ana": set(), "ask for two": {"talk"}}


def test_one_private_bullet_still_makes_the_page_private():
    outline = parse_note(OUTLINER, "pages/house.md")
    assert all(is_private(outline.tags(node), ("@private",)) for node in outline.nodes)
    outline = parse_note(OUTLINER.replace("#private", "#[[private/love]]"), "pages/house.md")
    assert all(is_private(outline.tags(node), ("@private",)) for node in outline.nodes)
    outline = parse_note(OUTLINER.replace("#private", ""), "pages/house.md")
    assert not any(is_private(outline.tags(node), ("@private",)) for node in outline.nodes)


def test_on_other_pages_a_tag_in_the_text_is_its_headings():
    outline = parse_note(f"# House\n{OUTLINER}", "house.md")
    assert all({"garden", "private"} <= set(shown_tags(outline.tags(node))) for node in outline.nodes[1:])


def test_the_index_and_the_reader_agree_on_the_tags_of_an_outliner(tmp_path):
    from passepartout.confinement.resources import Root, resolve
    from passepartout.indexing.finding import IndexedNotes, tags_at
    from passepartout.indexing.index import Index
    from passepartout.notes import NoteCache
    from passepartout.toolbelt.notesource import ReadNotes
    (tmp_path / "house.md").write_text(OUTLINER)
    index, outline = Index(Root(tmp_path)), parse_note(OUTLINER, "house.md")
    index.refresh()
    for node in outline.nodes: assert index.reading(tags_at, index, "house.md", node.line) == outline.tags(node), node.title
    with resolve([Root(tmp_path)], ".", "tree") as folder: indexed, read = IndexedNotes(index, folder), ReadNotes(folder, NoteCache())
    today = date(2026, 11, 19)
    for view in ("tags", "open"): assert indexed.view(view, today) == read.view(view, today)
    assert set(indexed.view("tags", today)[0]) == {"garden", "deep", "blue", "own", "money", "private", "old", "talk", ""}
    hits = lambda query: [hit.title for hit in indexed.find(query, 9, 0.0, today).hits]
    assert set(hits("tag:garden")) == {"House", "water it", "a barrel"} and set(hits("tag:talk")) == {"call Ana", "ask for two"} and set(hits("tag:money")) == {"pay the rent"}
    assert [hit.title for hit in read.find("garden", 9, 0.0, today).hits] == hits("garden")


@pytest.mark.slow
def test_no_outliner_takes_long():
    for text in ("- a #b\n" * 50_000, "".join(f"{' ' * (n % 900)}- a #b{n}\n" for n in range(5_000)), "- a #b\n" + "  #c\n" * 50_000, "- a #b\n\t- TODO x\n" * 20_000):
        began = time.perf_counter(); outline = parse_note(text, "a.md"); [outline.tags(node) for node in outline.nodes[:50]]
        assert time.perf_counter() - began < 5


LOGSEQ = "- TODO buy bread\n\tid:: 6538\n- text\n"

@pytest.mark.parametrize("file, text, after", [
    ("journals/2026_11_19.md", "met Tom\nat the market\n\nrain", "- met Tom\n  at the market\n- rain\n" + LOGSEQ), ("journals/2026_11_19.md", "- met Tom\n\t- at the market", "- met Tom\n\t- at the market\n" + LOGSEQ),
    ("lists/shopping.md", "met Tom", LOGSEQ.replace("TODO ", "") + "\nmet Tom\n")])
def test_text_for_a_page_of_bullets_is_a_bullet(file, text, after):
    "A bare line stood before the bullets, and a capture after it became a heading."
    before = LOGSEQ if file.startswith("journals") else LOGSEQ.replace("TODO ", "")
    outline = parse_note(before, file)
    assert edit_body(outline, outline.nodes[0], text, "append") == after
