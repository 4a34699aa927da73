"""The index: the same as fresh after any edits, the same answers as the notes themselves, and no accident that it does not survive."""
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from conftest import examples
from waits import away, in_time, next_line, status
from passepartout.agenda import agenda
from passepartout.indexing import finding
from passepartout.indexing.finding import agenda_indexed, find_indexed, make_hits
from passepartout.indexing.identity import headings, match_headings, own_hashes, tree_hashes
from passepartout.indexing.index import Index
from passepartout.indexing.sweep import Refreshed
from passepartout.indexing.indexfile import IndexFailed
from passepartout.outline.links import LinkTargets, backlinks
from passepartout.notes import parse_note, read_notes
from passepartout.toolbelt.agendatool import org_agenda
from passepartout.toolbelt.findtool import org_find
from passepartout.toolbelt.notesource import NoteSource
from passepartout.org import parse_org
from passepartout.indexing.query import ask
from passepartout.indexing.ranking import best_sections, ranked, select
from passepartout.confinement.resources import Root, resolve
from passepartout.search import find
from passepartout.tools import ToolContext
from test_org import texts

TODAY = date(2026, 11, 19)
SAMPLE = Path(__file__).parents[1] / "passepartout" / "sample" / "memex"


def content(index):
    "Everything that is derived from the notes, without numbers that depend on the order of events."
    ask = lambda sql: index.db.execute(sql).fetchall()
    nodes = ask("SELECT path, place, parent, line, level, start, body, state, keyword, priority, title, n.tags, own, tree, key FROM node n JOIN file ON file.id = n.file ORDER BY path, place")
    dates = ask("SELECT path, place, kind, live, active, day, minute, until_day, until_minute, repeat, warn, d.line FROM date d JOIN node n ON n.id = d.node JOIN file f ON f.id = n.file ORDER BY path, place, d.line, kind, day, minute")
    links = ask("SELECT path, place, name, here FROM link l JOIN node n ON n.id = l.node JOIN file f ON f.id = n.file ORDER BY path, place, name, here")
    return nodes, dates, links, ask("SELECT path, hash, why, flag FROM file ORDER BY path")


def words(index):
    "The words of every living heading, found through the word index."
    index.db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, words, instance)")
    return index.db.execute("SELECT path, place, col, term, offset FROM temp.places t JOIN node n ON n.id = t.doc JOIN file f ON f.id = n.file ORDER BY 1, 2, 3, 5, 4").fetchall()


def settle(*roots):
    "Make all files old enough to be trusted."
    for root in roots:
        for path in [*Path(root).rglob("*"), Path(root)]:
            if not path.is_symlink(): os.utime(path, ns=(10**18, path.stat().st_mtime_ns - 10**9))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


# Incremental equals fresh --------------------------------------------------------------------------------------------

names = st.sampled_from(["a.org", "b.org", "deep/c.org", "deep/d.md", "e.md"])
changes = st.lists(st.tuples(st.sampled_from(["write", "write", "write", "remove", "rename", "append"]), names, names, texts), min_size=1, max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), changes)
def test_step_by_step_is_the_same_as_fresh(tmp_path_factory, data, changes):
    place = tmp_path_factory.mktemp("notes")
    (place / "deep").mkdir()
    root = Root(place)
    index = Index(root)
    for what, name, other, text in changes:
        file = place / name
        if what == "write": file.write_text(text, errors="surrogatepass")
        elif what == "append" and file.exists(): file.write_text(file.read_text(errors="surrogatepass") + "\n* more\n", errors="surrogatepass")
        elif what == "remove": file.unlink(missing_ok=True)
        elif what == "rename" and file.exists(): file.rename(place / other)
        if data.draw(st.booleans()): index.refresh()
    index.refresh()
    fresh = Index(root)
    fresh.refresh()
    assert content(index) == content(fresh)
    assert words(index) == words(fresh)
    before = content(index)
    index.refresh()
    assert content(index) == before
    idents = [ident for ident, in index.db.execute("SELECT ident FROM node WHERE place > 0")]
    assert len(idents) == len(set(idents))
    index.close(); fresh.close(); root.close()


@settings(max_examples=examples(150), deadline=None)
@given(texts, texts, st.sampled_from(["a.org", "a.md"]))
def test_hashes_change_exactly_when_content_does(one, two, name):
    a, b = parse_note(one, name), parse_note(two, name)
    assert (tree_hashes(a, own_hashes(a))[0] == tree_hashes(b, own_hashes(b))[0]) == (one == two)


@settings(max_examples=examples(150), deadline=None)
@given(texts, texts)
def test_no_identity_is_given_twice(one, two):
    old, new = (headings(o := parse_org(text), own_hashes(o)) for text in (one, two))
    found = [place for place in match_headings(old, new) if place >= 0]
    assert len(found) == len(set(found)) and all(place < len(old) for place in found)
    assert match_headings(new, new) == list(range(len(new)))


# The same answers ----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def sample():
    root = Root(SAMPLE)
    index = Index(root)
    index.refresh()
    with resolve([root], ".", "tree") as folder: notes = read_notes(folder)
    return index, notes


@pytest.mark.parametrize("query", ["roof", "roof offer", "lisbon", "pohl", "bread", "call ana", '"the roof"', "house", "december", "kitchen", "book read", "doctor", "ship"])
def test_finds_what_search_finds_on_the_sample(sample, query):
    index, notes = sample
    one, two = find_indexed(index, query, limit=500, today=TODAY, now=1.8e9), find(notes.outlines, query, limit=500, now=1.8e9)
    place = lambda hit: (hit.file, hit.line, hit.path, hit.title, hit.keyword, hit.tags, hit.hidden, hit.at, hit.snippet)
    assert sorted(map(place, one.hits)) == sorted(map(place, two.hits))
    assert one.total == two.total and bool(one.why) == bool(two.why)


@pytest.mark.parametrize("start, end", [((2026, 11, 16), (2026, 11, 22)), ((2026, 11, 19), (2026, 11, 19)), ((2026, 1, 1), (2026, 12, 31)), ((2027, 1, 1), (2027, 2, 1)), ((2020, 1, 1), (2020, 12, 31))])
def test_lists_what_the_agenda_lists_on_the_sample(sample, start, end):
    index, notes = sample
    days = date(*start), date(*end), TODAY
    assert agenda_indexed(index, *days) == agenda(notes.outlines, *days)


plans = st.lists(st.tuples(st.sampled_from(["", "TODO ", "DONE ", "COMMENT "]), st.sampled_from(["SCHEDULED: ", "DEADLINE: ", ""]), st.integers(-60, 60),
                           st.sampled_from(["", " +1d", " ++1w", " .+2w", " +1m", " +36h", " -3d", " --2d", " +1w --2d", " 10:00-11:00", ">--<2026-11-30 Mon", "@"])), max_size=8)
EXPRESSIONS = ("(diary-float t 4 2)", "(org-anniversary 1956 11 23)", "(memq (calendar-day-of-week date) '(1 3))", "(unheard-of 1)")


@settings(max_examples=examples(60), deadline=None)
@given(plans, st.integers(-40, 40), st.integers(0, 30), st.booleans())
def test_lists_what_the_agenda_lists(tmp_path_factory, plans, start, length, habit):
    style = ":PROPERTIES:\n:STYLE: habit\n:END:\n" if habit else ""
    text = "".join(f"* {word}t{n}\n{plan}<%%{EXPRESSIONS[day % 4]}{' 10:00' * (day % 3)}>\n{style}%%{EXPRESSIONS[n % 4]} line %d{n}\n" if more == "@" else
                   f"* {word}t{n}\n{plan}<{date.fromordinal(TODAY.toordinal() + day)} Xyz{more}>\n{style}" for n, (word, plan, day, more) in enumerate(plans))
    place = tmp_path_factory.mktemp("notes")
    (place / "a.org").write_text(text)
    root = Root(place)
    index = Index(root)
    index.refresh()
    first = date.fromordinal(TODAY.toordinal() + start)
    days = first, date.fromordinal(first.toordinal() + length), TODAY
    assert agenda_indexed(index, *days) == agenda([parse_org(text, "a.org")], *days)
    index.close(); root.close()


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(list("ab *()\"-:<>.=\\'{}^") + ["AND ", " OR ", " NOT ", "tag:", "due:", "links:", "on:today", "東", "é", "\0", "prop:", "\ud800"]), max_size=30).map("".join))
@example("links:\ud800links::")
def test_no_query_breaks_it(sample, query):
    found = find_indexed(sample[0], query, today=TODAY)
    assert found.hits or found.why


@pytest.mark.slow
@pytest.mark.parametrize("field", ["", "title:", "body:"])
def test_a_phrase_that_repeats_itself_is_answered_in_moments(place, field):
    for n in range(150): (place / f"n{n}.org").write_text("".join(f"* heading {k} a b a/a c\ntext a a/a/b and a roof {k}\n" for k in range(20)))
    (place / "long.org").write_text(f"* Letter\n{' '.join(f'word{n}' for n in range(200))}\n")
    index = Index(Root(place))
    index.refresh()
    began = time.process_time()
    for unit in ("a/", "a-b-b-"): assert not find_indexed(index, field + unit * 1000, today=TODAY).hits
    assert in_time(time.process_time() - began, 0.6), "it took 3 s"
    pasted, other = ('body:"' + " ".join(f"word{n}" for n in numbers) + '"' for numbers in (range(10, 180), (*range(10, 90), 5, *range(90, 180))))
    assert [hit.title for hit in find_indexed(index, pasted, today=TODAY).hits] == ["Letter"] and not find_indexed(index, other, today=TODAY).hits


def test_a_filter_for_links_finds_the_files_from_which_links_lead(sample):
    "Judged by the room that follows links, which reads the notes and asks no index."
    index, notes = sample
    led = backlinks(LinkTargets(notes.outlines))
    for outline in notes.outlines:
        wanted = {file for (to, _), froms in led.items() if to == outline.file for file, _, _ in froms if file != to}
        found = {hit.file for hit in find_indexed(index, f'links:"{outline.file}"', limit=100, today=TODAY).hits} - {outline.file}
        for node in outline.nodes:                                  # what is linked to by its id has no path
            if node.title: found |= {hit.file for hit in find_indexed(index, f'links:"{node.title}"', limit=100, today=TODAY).hits} & wanted
        assert found == wanted, outline.file


def test_filters(place):
    (place / "a.org").write_text("#+FILETAGS: :house:\n* TODO Roof :@money:\nDEADLINE: <2026-11-30 Mon>\n:PROPERTIES:\n:Effort: 1:00\n:END:\n** Offers\nslate\n* DONE Boat\nCLOSED: [2026-10-03 Sat]\n* Choir <2026-11-05 Thu +1w>\n")
    root = Root(place)
    index = Index(root)
    index.refresh()
    def titles(query): return sorted(hit.title for hit in find_indexed(index, query, today=TODAY).hits)
    assert titles("tag:money") == titles("tag:@money") == ["Offers", "Roof"]
    assert titles("tag:house -tag:money todo:done") == ["Boat"] == titles("closed:2026-10") == titles("todo:DONE")
    assert titles("due:<2026-12-01") == titles("due:2026-11-25..") == titles("prop:EFFORT=1:00") == titles("prop:effort") == titles("todo:open") == ["Roof"]
    assert titles("due:<2026-11-30") == titles("prop:effort=2:00") == titles("tag:hous") == []
    assert titles("on:2026-12-10") == ["Choir <2026-11-05 Thu +1w>"] and titles("on:2026-12-11") == []
    assert titles("title:roof OR closed:2026-10") == ["Boat", "Roof"]
    (place / "b.md").write_text("- [-] Sell it ❌ 2026-10-04\n- [x] Wash it ✅ 2026-10-04\n")
    index.refresh()
    assert titles("closed:2026-10 -todo:given-up") == ["Boat", "Wash it"] and titles("todo:given-up") == titles("closed:2026-10 todo:given-up") == ["Sell it"]
    assert titles("slate NOT due:2026") == ["Offers"] and titles("todo:open NOT due:2026") == []
    assert titles("file:a tag:hou*") == ["Boat", "Choir <2026-11-05 Thu +1w>", "Offers", "Roof", "a"]


@pytest.mark.parametrize("name", ["journal/2026-11-05.org", "2026_11_05.org", "20261105.org", "Daily/2026/11/05.org", "2026-11-05 team.org"])
def test_what_stands_on_the_page_of_a_day_is_of_that_day_and_a_task_of_its_own_days(place, name):
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text("* Slept well\n* TODO Ring Ana\n* TODO Pay\nDEADLINE: <2026-12-01 Tue>\n")
    (place / "20261105103000-slug.org").write_text("* Written then\n")
    (place / "a.org").write_text("* TODO Choir <2026-11-05 Thu>\n* Old [2026-11-05 Thu]\n")
    index = Index(Root(place))
    index.refresh()
    def titles(query): return {hit.title for hit in find_indexed(index, query, today=TODAY).hits} - {name.rpartition("/")[2].removesuffix(".org")}
    page = {"Slept well", "Ring Ana", "Pay"}
    assert titles("on:2026-11-01..2026-11-14") == titles("on:2026-11-05") == page | {"Choir <2026-11-05 Thu>"}
    assert titles("todo:open on:2026-11") == titles("on:2026-11 NOT todo:done todo:open") == {"Choir <2026-11-05 Thu>"}
    assert titles("on:2026-11-06") == titles("todo:open -on:.. choir") == set() and titles("todo:open -on:..") == {"Ring Ana"} and titles("-on:..") >= {"Written then", "Old [2026-11-05 Thu]"}
    assert titles("ana on:2026-11") == {"Ring Ana"} and titles("(slept OR boat) on:2026-11") == {"Slept well"}
    assert "Pay" in titles("on:2026-12-01")


@pytest.mark.parametrize("indexed", [True, False])
def test_a_title_that_is_a_link_is_called_what_it_shows_and_found_by_where_it_leads(place, indexed):
    for name, text in (("a.org", "* TODO [[https://one.example/barbaz][Read this]]\n* [[People/Ana Souza|Ana]]\n"), ("b.md", "# [Rust](https://www.rust-lang.org/en-US/)\n\nA language.\n\n## [Book](book.md \"the whole\") and ![logo](rust.png)\n"), ("c.md", "# Rust and iron\n")): (place / name).write_text(text)
    index = Index(root := Root(place)); index.refresh()
    context = ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=TODAY)
    ask = lambda query: [(hit["file"], hit["line"], hit["title"]) for hit in org_find(query, 8, context, NoteSource(index=index) if indexed else NoteSource(), ()).data]
    assert ask("barbaz") == [("a.org", 1, "Read this")] and ask("souza") == [("a.org", 2, "Ana")] and ask("rust-lang.org") == [("b.md", 1, "Rust")]
    assert ask("rust")[:2] == [("b.md", 1, "Rust"), ("c.md", 1, "Rust and iron")] and ask("book.md") == ask("book logo") == [("b.md", 5, "Book and logo")]


@pytest.mark.parametrize("indexed", [True, False])
def test_the_page_that_is_called_so_comes_before_a_heading_of_that_name(place, indexed):
    for name, text in (("a.org", "* Types\n** Reinforcement Learning\nEach action has a cost.\n* TODO Reinforcement Learning\n"), ("z.org", "#+title: Reinforcement Learning\n\nDecisions under uncertainty.\n* History\n")): (place / name).write_text(text)
    index = Index(root := Root(place)); index.refresh()
    context = ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=TODAY)
    found = org_find("reinforcement learning", 8, context, NoteSource(index=index) if indexed else NoteSource(), ())
    assert (found.data[0]["file"], found.data[0]["line"]) == ("z.org", 1), found.content
    for name, text in (("actions.md", "# Actions\n## [Rust](https://a.example)\n- one\n"), ("rust.md", "# [Rust](https://b.example)\n- two\n")): (place / name).write_text(text)
    index.refresh()
    found = org_find("rust", 8, context, NoteSource(index=index) if indexed else NoteSource(), ())
    assert [(hit["file"], hit["line"]) for hit in found.data] == [("rust.md", 1), ("actions.md", 2)], found.content


# What private notes may not tell ---------------------------------------------------------------------------------------

said = st.lists(st.sampled_from(["roof", "roofs", "offer", "offers", "boat", "sal", "salary", "celery", "boot"]), max_size=4).map(" ".join)
drafts = st.lists(st.tuples(said, said), min_size=1, max_size=3).map(lambda found: "".join(f"** {title}\n{body}\n" for title, body in found))


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(drafts, drafts, drafts, st.lists(st.sampled_from(["roof", "rof", "offer", "boat", "salary", "sal", "slary", "boo", '"roof offer"', "-boat", "tag:house", "title:salary"]), min_size=1, max_size=3).map(" ".join), st.integers(1, 3))
@example("** \nboat\n", "** \n\n", "** \n\n", "-boat", 3)
@example("** salary\n\n", "** \n\n", "** \nsal\n", "sal", 1)         # only the one that is not shown has the word itself
def test_a_public_answer_is_the_same_whatever_private_notes_say(tmp_path_factory, public, one, other, query, limit):
    "Hits, counts, hints and what was tried with fewer words: from the index and without it."
    place, private = tmp_path_factory.mktemp("notes"), ("@personal",)
    (place / "a.org").write_text(f"* House :house:\n{public}")
    index, answers = Index(root := Root(place)), []
    for text in (one, other):
        (place / "b.org").write_text(f"* x :@personal:\n{text}")
        os.utime(place / "b.org", (1.7e9 + len(answers),) * 2)
        index.refresh()
        context = ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=TODAY)
        answers.append([org_find(query, limit, context, source, private, quote=1) for source in (NoteSource(index=index), NoteSource())])
        context.resources["folder"].close()
    for first, second in zip(*answers):
        if not first.label.private and not second.label.private: assert first.content == second.content
        for result in (first, second): assert result.label.private or not re.search(r"b\.org:(?!1  b$)", result.content, re.M)        # that the file is there, is no secret


@pytest.mark.parametrize("where", ["index", "read"])
def test_what_else_there_is_to_do_is_told_of_what_is_public(place, where):
    (place / "a.org").write_text("* TODO Call Pohl\n* TODO Order slates\nSCHEDULED: <2026-11-27 Fri>\n* DONE Letter\n")
    index, answers = Index(root := Root(place)), []
    for secret in ("", "* x :@personal:\n** TODO Doctor\n** TODO Bank\nDEADLINE: <2026-12-20 Sun>\n** TODO Salary\nSCHEDULED: <2026-11-26 Thu>\n"):
        (place / "b.org").write_text(secret); index.refresh()
        context = ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=TODAY)
        answers += [org_agenda(first, "2026-11-19", context, NoteSource(index=index) if where == "index" else NoteSource(), ["@personal"]) for first in (None, "2026-11-16")]
    assert {answer.content.partition("\n")[2] for answer in answers} == {"1 open task has no date: “open tasks” lists what is open.\nThe next task with a date is “TODO Order slates”, Fri 27 November 2026  (a.org:2)."}
    assert not any(answer.label.private for answer in answers) and answers[0].label.sources == ("a.org",)
    past = org_agenda("2026-11-01", "2026-11-10", context, NoteSource(), ["@personal"])
    assert "no date" not in past.content


@pytest.mark.parametrize("where", ["index", "read"])
def test_an_agenda_does_not_count_what_is_private(place, where, monkeypatch):
    monkeypatch.setattr("passepartout.toolbelt.agendatool.MOST_ITEMS", 2)
    tasks = lambda names: "".join(f"** TODO {name}\nSCHEDULED: <2026-11-2{n} Mon>\n" for n, name in enumerate(names))
    (place / "a.org").write_text("* House\n" + tasks("abc"))
    (place / "b.org").write_text("* Bank :@personal:\n" + "** TODO x\nSCHEDULED: <2026-11-23 Mon>\n" * 6)
    index = Index(root := Root(place)); index.refresh()
    source = NoteSource(index=index) if where == "index" else NoteSource()
    def ask(last): return org_agenda("2026-11-19", last, ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=TODAY), source, ["@personal"])
    assert not ask("2026-11-25").label.private and "1 more up to Sun 22 November" in ask("2026-11-25").content
    (place / "a.org").write_text("* House\n"); (place / "b.org").write_text("* Bank :@personal:\n" + tasks("xyz")); index.refresh()
    assert ask("2026-11-25").label.private and "1 more up to" in ask("2026-11-25").content                      # such an answer goes nowhere else, so it may count
    (place / "b.org").write_text("* Bank :@personal:\nparty <2026-02-30>\n"); index.refresh()
    assert ask("2026-11-25").label.private and "b.org:2" in ask("2026-11-25").content
    index.close()


def test_an_answer_is_of_one_state_whatever_others_write(place, tmp_path):
    (place / "a.org").write_text("* Roof\nslate\n"); (place / "b.org").write_text("* Roof\ntiles\n")
    root = Root(place)
    one, other = Index(root, tmp_path / "x" / "index.sqlite"), Index(root, tmp_path / "x" / "index.sqlite")
    one.refresh()
    question = ask("roof", TODAY)
    def look():
        best = best_sections(one, question, 8)
        (place / "a.org").unlink(); other.refresh()                       # somebody else is faster than the second question
        return make_hits(one, best.order, question.terms), one.files()
    hits, files = one.reading(look)
    assert sorted(hit.file for hit in hits) == ["a.org", "b.org"] == sorted(path for path, _ in files.values())
    assert [hit.file for hit in find_indexed(one, "roof", today=TODAY).hits] == ["b.org"] and [path for path, _ in one.guarded(one.files).values()] == ["b.org"]
    one.close(); other.close()


# The limit of ranking ------------------------------------------------------------------------------------------------

# Chosen so that titles of put away sections and tags of open ones come close to each other: there a wrong bound shows.
sections = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", "TODO ", "TODO ", "DONE ", "COMMENT ", "COMMENT "]),
                              st.sampled_from(["roof", "roofs", "offer", "roofs offers", "offers roofs", "offer roof", "boat", "[[*roof]]"]), st.sampled_from(["", " :roof:", " :offer:"]),
                              st.sampled_from(["", "roof", "roofing offer", "[[*roof offer]] [[*offer]]", "boat"])), min_size=2, max_size=9)
files = st.lists(st.tuples(st.sampled_from(["house", "house", "roof", "roof offer"]), st.sampled_from(["", "roof", "roofer"]), sections), min_size=1, max_size=2)


def write_sections(place, files):
    for n, (title, top, sections) in enumerate(files):
        text = "".join(f"{'*' * level} {state}{title}{tag}\n{body}\n" for level, state, title, tag, body in sections)
        file = place / str(n) / f"{title}.org"
        file.parent.mkdir()
        file.write_text(f"{top}\n{text}")
        os.utime(file, (1.7e9 + n * 10**6,) * 2)


@settings(max_examples=examples(80), deadline=None)
@given(files, st.sampled_from(["roof offer", "roof offer", "roof", "offer", "roof -boat", "roof OR offer", "roof OR tag:offer", "title:roof offer", "todo:open", "roo"]), st.integers(1, 3), st.integers(1, 5))
@example([("house", "", [(1, "", "roof", "", "")] * 3), ("house", "", [(1, "", "roof", "", ""), (1, "", "offer", "", ""), (1, "", "offer", "", "roof")])], "roof OR tag:offer", 2, 4)
def test_a_limit_is_said_or_changes_nothing(tmp_path_factory, files, query, limit, most):
    place = tmp_path_factory.mktemp("notes")
    write_sections(place, files)
    root = Root(place)
    index = Index(root)
    index.refresh()
    question = ask(query, TODAY)
    with pytest.MonkeyPatch.context() as patch:
        whole = best_sections(index, question, limit, 1.8e9)
        patch.setattr("passepartout.indexing.ranking.MOST", most)
        some = best_sections(index, question, limit, 1.8e9)
    assert not whole.cut
    if len(some.order[:limit]) and "best are shown" in some.cut or not some.cut: assert some.order[:limit] == whole.order[:limit]
    assert bool(some.cut) or some.order == whole.order
    assert some.total <= max(most, len(whole.order))
    found = select(index, question, question.match)
    assert ranked(index, question, found, 1.8e9, limit)[:limit] == ranked(index, question, found, 1.8e9, 10**6)[:limit]      # links that were not counted would have changed nothing
    matching = {each.id for each in found}
    for form in (question.narrow, question.titled):
        assert not form or {each.id for each in select(index, question, form)} <= matching
    index.close(); root.close()


def test_a_file_does_not_stand_above_its_sections_because_of_a_limit(place, monkeypatch):
    (place / "roof.org").write_text("* DONE Roof offer\n" + "* x\nof the roof\n" * 9)
    index = Index(Root(place))
    index.refresh()
    titles = lambda: [hit.title for hit in find_indexed(index, "roof", limit=1, today=TODAY).hits]
    assert titles() == ["Roof offer"]
    monkeypatch.setattr("passepartout.indexing.ranking.MOST", 4)
    assert titles() == ["Roof offer"]


@pytest.mark.parametrize("query, first", [("ana", "ana.org"), ("Frau Kessler", "frau-kessler.md"), ("ana carvalho", "ana.org"), ("mama", "mama.org"), ("boat", "harbour.org")])
def test_what_is_called_so_stands_above_what_only_has_the_words(place, query, first):
    (place / "ana.org").write_text("#+TITLE: Ana Carvalho\nMet in 2009.\n* TODO Call Ana\n* Ana's birthday\n[[*Call Ana]]\n")
    (place / "frau-kessler.md").write_text("Third floor.\n\n## Ask Frau Kessler about the ferns\n")
    (place / "calls.org").write_text("* TODO Call Frau Kessler\n* TODO Tell Ana, Mama and Ana\n[[*Tell Mama]] [[*Call Ana]]\n* TODO Boat, Boat\n* TODO Call Ana\n* TODO Tell Mama\n")
    (place / "mama.org").write_text("#+TITLE: Renate Brandt\nborn in 1950\n* shoes\n")
    (place / "harbour.org").write_text("* Boat\n")
    root = Root(place)
    notes, index = read_notes(resolve([root], ".", "tree")).outlines, Index(root)
    index.refresh()
    assert [find(notes, query, now=1.8e9).hits[0].file, find_indexed(index, query, now=1.8e9, today=TODAY).hits[0].file] == [first, first]
    index.close()


def test_a_title_is_not_lost_behind_a_thousand_newer_ones(place):
    (place / "old.org").write_text("* Boat licence\n")
    index = Index(Root(place))
    index.refresh()
    (place / "new.org").write_text("".join(f"* {n}\nof the boat\n" for n in range(1_500)))
    index.refresh()
    found = find_indexed(index, "boat", limit=1, today=TODAY)
    assert found.hits[0].title == "Boat licence" and found.total == 1_000 and found.cut == "More than 1,000 sections match; the best are shown."
    assert "Add a word" in find_indexed(index, "boat", limit=8, today=TODAY).cut


# Identity ------------------------------------------------------------------------------------------------------------

def idents(index): return dict(index.db.execute("SELECT title, ident FROM node WHERE place > 0"))


def test_identity_survives_edits_moves_and_renames(place):
    (place / "a.org").write_text("* One\ntext of one\n** Two\n* Three\n:PROPERTIES:\n:ID: three\n:END:\n")
    (place / "b.org").write_text("* Four\n")
    root = Root(place)
    index = Index(root)
    index.refresh()
    before = idents(index)
    assert before["Three"] == "three"
    (place / "a.org").rename(place / "z.org")
    index.refresh()
    assert idents(index) == before
    (place / "z.org").write_text("* Two\n* TODO One\nother text\n")
    (place / "b.org").write_text("* Four\n** Three, renamed\n:PROPERTIES:\n:ID: three\n:END:\nand moved\n")
    index.refresh()
    after = idents(index)
    assert (after["One"], after["Two"], after["Four"], after["Three, renamed"]) == (before["One"], before["Two"], before["Four"], "three")
    assert [len(index.history(after[title])) for title in ("One", "Two", "Four")] == [2, 1, 1]


def test_cut_here_saved_and_pasted_there_later_is_the_same(place):
    (place / "a.org").write_text("* Keep\n* Roof\nslate\n")
    (place / "b.org").write_text("* Other\n")
    root = Root(place)
    index = Index(root)
    index.refresh()
    before = idents(index)
    (place / "a.org").write_text("* Keep\n")
    index.refresh()
    (place / "b.org").write_text("* Other\n** Roof\nslate\n")
    index.refresh()
    assert idents(index) == before


def test_pasted_in_an_earlier_file_and_cut_in_a_later_one_in_one_sweep(place):
    (place / "a.org").write_text("* Other\n")
    (place / "b.org").write_text("* Keep\n* Roof\nslate\n")
    root = Root(place)
    index = Index(root)
    index.refresh()
    before = idents(index)
    (place / "a.org").write_text("* Other\n* Roof\nslate\n")
    (place / "b.org").write_text("* Keep\n")
    index.refresh()
    assert idents(index) == before


# Bad input -----------------------------------------------------------------------------------------------------------

def test_what_folders_contain(place, monkeypatch):
    (place / "broken.org").write_text("* a\n:PROPERTIES:\n:ID: 1\n*********** deep\n#+begin_src\n* b\n[[\n")
    (place / "line.org").write_bytes(b"x" * 50_000_000)
    (place / "latin.org").write_bytes("* Café\n".encode("latin-1"))
    (place / "wide.org").write_bytes("* Größe\n".encode("utf-16"))
    (place / "crlf.org").write_bytes(b"* one\r\nDEADLINE: <2026-11-20 Fri>\r\n")
    (place / "nul.org").write_bytes(b"* a\0b\n")
    (place / "note.sync-conflict-20261119-101010-ABCDEFG.org").write_text("* copy\n")
    (place / "dangling.org").symlink_to("nowhere.org")
    (place / "ring").symlink_to(place)
    (place / os.fsdecode(b"b\xe9.org")).write_text("* odd name\n")
    root = Root(place)
    index = Index(root)
    index.refresh()
    left, doubtful = index.remarks()
    why = {remark.file.split(".")[0]: remark.why for remark in (*left, *doubtful)}
    assert "50.0 MB" in why["line"] and "NUL" in why["nul"] and "UTF-8" in why["latin"] and "conflict" in why["note"] and "ordinary" in why["dangling"]
    assert find_indexed(index, "caf", today=TODAY).total == find_indexed(index, "grosse", today=TODAY).total == 1
    assert find_indexed(index, "deep", today=TODAY).hits[0].line == 4
    assert agenda_indexed(index, TODAY, date(2026, 11, 21), TODAY)[0].file == "crlf.org"
    settle(place)
    index.refresh()
    assert index.refresh() == Refreshed()


def test_opening_an_index_writes_nothing(tmp_path):
    "SQLite writes, and waits for the disk, when it hears `auto_vacuum` once more; a start of every command would."
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.org").write_text("* One\n")
    os.utime(tmp_path / "notes" / "a.org", (1_700_000_000, 1_700_000_000))        # old enough to be taken at its word
    def look():
        index = Index(Root(tmp_path / "notes"), tmp_path / "index.sqlite")
        try: return index.refresh(), index.db.total_changes, (tmp_path / "index.sqlite-wal").stat().st_size, index.db.execute("PRAGMA auto_vacuum").fetchone()[0]
        finally: index.close()
    first, changes, log, vacuum = look()
    assert first.read == 1 and changes and log and vacuum == 2
    assert look() == (Refreshed(), 0, 0, 2)


def test_a_file_that_vanishes_while_it_is_read(place, monkeypatch):
    for name in "abc": (place / f"{name}.org").write_text(f"* {name}\n")
    root = Root(place)
    index = Index(root)
    index.refresh(progress=lambda done, of, path: done == 1 and (place / "b.org").unlink())
    assert index.count() == 4 and "b.org" not in index.known
    (place / "c.org").write_text("* changed\n")
    (place / "a.org").unlink()
    index.refresh(only=["a.org", "c.org", "never.org", "../outside.org"])
    assert list(index.known) == ["c.org"] and find_indexed(index, "changed", today=TODAY).total == 1


@pytest.mark.slow
def test_ten_thousand_files_in_one_folder(place):
    for n in range(10_000): (place / f"{n}.org").write_text(f"* heading {n}\n")
    index = Index(Root(place))
    index.refresh()
    assert index.count() == 20_000 and find_indexed(index, "title:4711", today=TODAY).total >= 1


# Accidents -----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_damaged_index_is_made_anew_while_in_use(place, tmp_path):
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    root, path = Root(place), tmp_path / "cache" / "index.sqlite"
    index = Index(root, path)
    index.refresh()
    expected = content(index)
    index.close()
    data, source = bytearray(path.read_bytes()), random.Random(5)
    for _ in range(6):
        worse = bytearray(data)
        for _ in range(20): worse[(at := source.randrange(100, len(worse) - 300)):at + 300] = source.randbytes(300)
        path.write_bytes(bytes(worse[:source.choice([len(worse), len(worse) // 2, 5_000])]))
        index = Index(root, path)
        (place / "inbox.org").write_text(f"* new {time.time_ns()}\n")
        index.refresh()
        assert "inbox.org" in [hit.file for hit in find_indexed(index, "new", today=TODAY).hits]
        index.close()
    path.unlink()
    index = Index(root, path)
    index.refresh()
    fresh = Index(root)
    fresh.refresh()
    assert content(index) == content(fresh) and len(content(index)[0]) >= len(expected[0]) - 20


INGEST = """
import sys
from passepartout.indexing.index import Index
from passepartout.confinement.resources import Root
index = Index(Root(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
import passepartout.indexing.sweep as module
module.BATCH_FILES = 2
index.refresh(progress=lambda done, of, path: print(done, flush=True))
"""


@pytest.mark.slow
def test_a_killed_ingest_is_completed(place, tmp_path):
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    path, root = tmp_path / "cache" / "index.sqlite", Root(place)
    for stop_at in (3, 9, 20):
        child = subprocess.Popen([sys.executable, "-c", INGEST, place, path], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
        try:
            while (line := next_line(child)) and line.strip() != str(stop_at): pass
        finally: away(child)
    index, fresh = Index(root, path), Index(root)
    assert 0 < index.count()
    index.refresh(); fresh.refresh()
    assert content(index) == content(fresh) and words(index) == words(fresh)


@pytest.mark.slow
def test_two_at_once(place, tmp_path):
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    path, root = tmp_path / "cache" / "index.sqlite", Root(place)
    children = [subprocess.Popen([sys.executable, "-c", INGEST, place, path], stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[1]) for _ in range(2)]
    try: assert [status(child) for child in children] == [0, 0]
    finally: away(*children)
    index, other, fresh = Index(root, path), Index(root, path), Index(root)
    index.refresh(); fresh.refresh()
    assert content(index) == content(fresh) and words(index) == words(fresh)
    (place / "inbox.org").write_text("* said here\n")
    index.refresh()
    assert find_indexed(other, "said here", today=TODAY).total >= 1
    other.refresh()
    assert content(other) == content(index)


REPAIR = """
import sys
from passepartout.indexing.index import Index
from passepartout.confinement.resources import Root
from passepartout.indexing.finding import find_indexed
index = Index(Root(sys.argv[1]), sys.argv[2])
index.refresh()
print("ready", flush=True)
for line in sys.stdin:
    print(index.count(), index.refresh().read, find_indexed(index, "roof").total > 0, index.file, flush=True)
"""


@pytest.mark.slow
def test_who_finds_the_database_gone_takes_what_another_process_made(place, tmp_path):
    "A file that another process made in the place of a damaged one is opened, and never deleted: not at once, not when it is used again, not at the end."
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    path = tmp_path / "cache" / "index.sqlite"
    root, headings = Root(place), None
    child = subprocess.Popen([sys.executable, "-c", REPAIR, place, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    try:
        assert next_line(child) == "ready\n"
        first, stale = Index(root, path), Index(root, path)
        for index in (first, stale): index.refresh()
        headings = stale.count()
        for suffix in ("-wal", "-shm", ""): Path(f"{path}{suffix}").unlink(missing_ok=True)
        first.close()
        first = Index(root, path)                                         # somebody makes it anew
        first.refresh()
        made = first.file
        (place / "inbox.org").write_text("* another roof\n")
        stale.refresh()                                                   # here, and in another process
        child.stdin.write("\n"); child.stdin.flush()
        said = next_line(child)
        assert (stale.db.execute("PRAGMA quick_check").fetchone(), stale.count()) == (("ok",), first.count())
        assert stale.file == made == (path.stat().st_dev, path.stat().st_ino) and str(made) in said and "True" in said
        child.stdin.close()
        status(child)
    finally: away(child)
    stale.close()
    assert (path.stat().st_dev, path.stat().st_ino) == made and first.count() > headings // 2
    assert first.db.execute("PRAGMA integrity_check").fetchone() == ("ok",) and find_indexed(first, "another roof", today=TODAY).total == 1


@pytest.mark.slow
def test_many_processes_find_it_damaged_at_once(place, tmp_path):
    "Each would throw it away; one does, and all go on with what that one made."
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    path = tmp_path / "cache" / "index.sqlite"
    children = [subprocess.Popen([sys.executable, "-c", REPAIR, place, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) for _ in range(4)]
    try:
        for child in children: assert next_line(child) == "ready\n"
        for _ in range(5):
            with open(path, "r+b") as file: file.write(b"damaged, " * 5_000)
            for child in children: child.stdin.write("\n"); child.stdin.flush()
            said = [next_line(child) for child in children]
            assert all("True" in line for line in said), said
            for child in children: child.stdin.write("\n"); child.stdin.flush()
            assert len({next_line(child).split("True")[1] for child in children}) == 1
        for child in children: child.stdin.close()
        assert [status(child) for child in children] == [0] * 4
    finally: away(*children)
    index, fresh = Index(Root(place), path), Index(Root(place))
    for each in (index, fresh): each.refresh()
    assert content(index) == content(fresh) and words(index) == words(fresh)


def test_a_full_disk_is_a_sentence_and_loses_nothing(place, tmp_path):
    (place / "a.org").write_text("* one\n")
    index = Index(Root(place), tmp_path / "cache" / "index.sqlite")
    index.refresh()
    pages = index.db.execute("PRAGMA page_count").fetchone()[0]
    index.db.execute(f"PRAGMA max_page_count = {pages}")
    for n in range(50): (place / f"{n}.org").write_text(f"* heading {n}\n" + " ".join(f"word{n}x{i}" for i in range(500)))
    with pytest.raises(IndexFailed, match="disk is full"): index.refresh()
    assert find_indexed(index, "one", today=TODAY).total == 1
    index.db.execute("PRAGMA max_page_count = 1000000")
    index.refresh()
    assert find_indexed(index, "heading", limit=0, today=TODAY).total == 50


def test_words_of_what_is_gone_are_dropped_in_the_end(place, monkeypatch):
    monkeypatch.setattr("passepartout.indexing.sweep.RENEW", 50)
    root = Root(place)
    index = Index(root)
    for n in range(40):
        (place / "a.org").write_text("".join(f"* heading {n} {i}\n" for i in range(10)))
        index.refresh()
    fresh = Index(root)
    fresh.refresh()
    assert content(index)[0] == content(fresh)[0] and words(index) == words(fresh)
    index.db.execute("CREATE VIRTUAL TABLE temp.every USING fts5vocab(main, words, instance)")
    assert index.db.execute("SELECT count(DISTINCT doc) FROM temp.every").fetchone()[0] < 150
    assert find_indexed(index, "heading 39", today=TODAY).total == 10


def test_threads_share_an_index(place):
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    index, failures = Index(Root(place)), []
    def work(n):
        try:
            for i in range(8):
                if n == 0: (place / "inbox.org").write_text(f"* thread {i}\n")
                index.refresh()
                find_indexed(index, "roof", today=TODAY)
        except Exception as error: failures.append(error)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join(300)
    assert failures == [] and not any(thread.is_alive() for thread in threads)


def test_what_goes_on_by_itself_goes_on_after_a_large_sweep(tmp_path, monkeypatch):
    import gc
    monkeypatch.setattr("passepartout.indexing.sweep.BATCH_BYTES", 1_000)
    for n in range(4): (tmp_path / f"{n}.org").write_text(f"* heading {n}\n" + "words of it\n" * 50)
    index = Index(Root(tmp_path), tmp_path / ".index.sqlite")
    merging = lambda: index.db.execute("SELECT v FROM words_config WHERE k = 'automerge'").fetchone()[0]
    seen = []
    index.refresh(progress=lambda *_: seen.append((gc.isenabled(), merging())))
    assert set(seen) == {(False, 0)} and gc.isenabled() and merging() == 4
    def fail(*_): raise RuntimeError
    (tmp_path / "5.org").write_text("* five\n" + "more of it\n" * 200)
    with pytest.raises(RuntimeError): index.refresh(progress=fail)
    assert gc.isenabled() and merging() == 0                       # as after a kill; the next sweep looks after it
    monkeypatch.setattr("passepartout.indexing.sweep.BATCH_BYTES", 4_000_000)
    index.refresh()
    assert merging() == 4
    index.close()


def test_thousands_of_equal_headings_cost_no_square_and_are_named_as_before(place, monkeypatch):
    "A page that somebody else wrote must not keep the index busy for minutes."
    from passepartout.indexing import identbook
    from passepartout.indexing.identity import fresh_ident
    made = []
    monkeypatch.setattr(identbook, "fresh_ident", lambda *given: made.append(given) or fresh_ident(*given))
    (place / "a.org").write_text("* Bees\nHives\n" * 500)
    index = Index(Root(place))
    index.refresh()
    assert len(made) < 2_500
    names = [ident for ident, in index.db.execute("SELECT ident FROM node ORDER BY place")][-500:]
    assert names == [fresh_ident("a.org", ("Bees",), n) for n in range(500)]
    index.close()


def test_what_properties_say_is_found_and_shown_with_and_without_an_index(tmp_path):
    notes = {"rosa.md": "---\naliases: [Nana]\nphone: +49 30 1234567\nid: 77aa\n---\n# Rosa\nPankow.\n", "ana.org": "* Ana\n:PROPERTIES:\n:ID: 88bb\n:BIRTHDAY: 14 May\n:END:\n** Bo\n"}
    for name, text in notes.items(): (tmp_path / name).write_text(text)
    root, context = Root(tmp_path), lambda: ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19, 8), today=date(2026, 11, 19))
    index = Index(root)
    for source in (NoteSource(), NoteSource(index=index)):
        said = lambda query: org_find(query, 8, context(), source, ("@private",), 3).content
        assert "| phone: +49 30 1234567\n   | Pankow." in said("nana phone") and "| :BIRTHDAY: 14 May" in said("ana birthday") and "id: 77aa" not in said("nana phone")
        assert said("77aa").startswith("No note mentions") and said("88bb").startswith("No note mentions")
        assert org_find("1234567", 8, context(), source, ()).data[0]["at"] == 3 and org_find("14 may", 8, context(), source, ()).data[0]["at"] == 4
    index.close(); root.close()


def test_with_fewer_words_the_subject_of_the_question_stays(tmp_path):
    for name, text in {"samir.md": "# Samir\nReads a lot.\n", "ana.md": "# Ana\nphone number 0176\n", "pohl.md": "# Pohl\nphone 0341\n", "boiler.md": "# Serial number\nof the boiler\n"}.items(): (tmp_path / name).write_text(text)
    root = Root(tmp_path)
    said = lambda query: org_find(query, 8, ToolContext({"folder": resolve([root], ".", "tree")}, today=date(2026, 11, 19)), NoteSource(), (), 1).content
    assert "match “Pohl phone”" in said("Pohl phone number").replace("matches", "match") and "match “Samir”" in said("Samir phone number").replace("matches", "match")
    assert "Try fewer words. With fewer" not in said("Pohl phone number")
    for name, text in {"leak.md": "# Leak\nPohl: it comes from the dormer\n", "talk.md": "# Talk\nwhat did the neighbour say about Pohl\n"}.items(): (tmp_path / name).write_text(text)
    for asked in ("what did Pohl say about the leak?", "Was hat Pohl zum Leak gesagt?", "please, can you tell me what it was that Pohl said to us about the leak in the roof"):
        assert "leak.md" in said(asked).split("2.")[0], said(asked)
    assert "talk.md" in said("what did the neighbour say") and said("what about the").startswith("1 section") and said("leak?").startswith("1 section")
    root.close()


@pytest.mark.parametrize("harm", ["DELETE FROM file WHERE path = 'inbox.org'", "UPDATE node SET body = 'x-y'", "UPDATE node SET parent = 4000", "UPDATE node SET start = NULL"])
def test_rows_that_contradict_each_other_are_a_damage(place, tmp_path, harm):
    root, path = Root(place), tmp_path / "index.sqlite"
    (place / "inbox.org").write_text("* TODO new roof\nOf slate, new.\n** new tiles\n")
    index = Index(root, path)
    index.refresh()
    index.db.execute(harm)
    assert {"inbox.org"} == {hit.file for hit in find_indexed(index, "new", today=TODAY).hits}
    index.close()


def slip(index: Index) -> str:
    "A question that the program cannot answer, whatever the rows say."
    return {title: ident for title, ident in index.db.execute("SELECT title, ident FROM node")}["no such heading"]


def made_anew(index: Index) -> list:
    "What becomes of an index: an entry for each time that it is thrown away."
    times, replace = [], index.replace
    index.replace = lambda: (times.append(index.file), replace())
    return times


def test_a_fault_of_the_program_is_not_taken_for_damage_again(place, tmp_path):
    shutil.copytree(SAMPLE, place, dirs_exist_ok=True)
    root, path = Root(place), tmp_path / "index.sqlite"
    index = Index(root, path)
    index.refresh()
    times, before = made_anew(index), content(index)
    for _ in range(3):
        with pytest.raises(IndexFailed, match="KeyError in test_index.slip.*notes are unharmed.*report"): index.reading(slip, index)
        assert len(times) == 1 and content(index) == before                         # made anew once, and full again
    assert find_indexed(index, "roof", today=TODAY).hits                            # every other question is answered
    index.close()
    again = Index(root, path)                                                       # as another process, with the same file
    times = made_anew(again)
    with pytest.raises(IndexFailed, match="report"): again.reading(slip, again)
    assert times == []
    again.db.execute("UPDATE node SET body = 'x-y'")                                # a damage in another place is one still
    assert find_indexed(again, "roof", today=TODAY).hits and len(times) == 1
    with pytest.raises(IndexFailed, match="report"): again.reading(slip, again)
    assert len(times) == 1
    again.close()


def test_a_question_in_wrong_sql_is_a_fault_too(place, tmp_path):
    (place / "roof.org").write_text("* TODO new roof\nOf slate.\n")
    index = Index(Root(place), tmp_path / "index.sqlite")
    index.refresh()
    times = made_anew(index)
    for under in (index.guarded, index.reading, index.guarded):
        with pytest.raises(IndexFailed, match="no such column: titel"): under(lambda: index.db.execute("SELECT titel FROM node").fetchall())
    assert len(times) == 1 and index.count() > 0
    index.close()


@pytest.mark.parametrize("ask", [Index.count, lambda index: len(index.guarded(lambda: index.db.execute("SELECT id FROM node").fetchall()))])
def test_what_is_asked_of_a_damaged_index_is_answered_from_a_full_one(place, tmp_path, ask):
    (place / "roof.org").write_text("* TODO new roof\nOf slate.\n")
    index = Index(Root(place), tmp_path / "index.sqlite")
    index.refresh()
    many = ask(index)
    index.db.execute("DROP TABLE node")
    assert ask(index) == many > 0
    index.close()


def test_a_tool_whose_index_fails_reads_the_notes_and_says_so(place, tmp_path, monkeypatch):
    (place / "roof.org").write_text("* TODO new roof\nOf slate.\n")
    from passepartout.toolbelt.notetools import note_tools
    root = Root(place)
    index = Index(root, tmp_path / "index.sqlite")
    tools = {tool.name: tool for tool in note_tools(index=index)}
    context = ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=TODAY)
    call = lambda: tools["org-find"].body(query="roof", limit=8, quote=0, folder=".", context=context).content
    good = call()
    monkeypatch.setattr(finding, "make_found", lambda *_: {}["slip"])
    for _ in range(2):
        told = call()
        assert told.startswith(good.partition("\n")[0]) and "KeyError" in told and "by reading the notes" in told
    index.close()


@pytest.mark.parametrize("look", [lambda index: [hit.tags for hit in find_indexed(index, "tiles", today=TODAY).hits], lambda index: index.reading(finding.tags_at, index, "roof.org", 4),
                                  lambda index: [item.tags for item in agenda_indexed(index, TODAY, TODAY, TODAY)]])
def test_a_heading_that_lost_what_is_above_it_does_not_lose_its_tags(place, tmp_path, look):
    "A tag that makes private may stand above."
    (place / "roof.org").write_text("#+FILETAGS: :@private:\n* Roof\n** TODO tiles\nSCHEDULED: <2026-11-19 Thu>\n")
    index = Index(Root(place), tmp_path / "index.sqlite")
    index.refresh()
    good = look(index)
    assert "@private" in str(good)
    index.db.execute("UPDATE node SET parent = 4000 WHERE title = 'tiles'")
    assert look(index) == good
    index.close()
