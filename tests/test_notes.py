"""Agenda, search, folders and the tools, over generated notes."""
import os
import time
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agenda import agenda, render_agenda
from passepartout.indexing.index import Index
from passepartout.messages import freeze
from passepartout.notes import NoteCache, parse_note, read_notes
from passepartout.toolbelt.agendatool import org_agenda, org_next
from passepartout.toolbelt.notesource import NoteSource
from passepartout.toolbelt.notetools import note_tools
from passepartout.org import parse_org, print_outline
from passepartout.confinement.resources import Root, resolve
from passepartout.outline.rewrite import RewriteError, set_property
from passepartout.search import find, fold, read_query
from passepartout.outline.timestamps import stamps
from passepartout.tools import ToolContext
from test_org import texts

TODAY = date(2026, 11, 19)
near = st.integers(-400, 400).map(lambda n: TODAY + timedelta(n))
repeats = st.sampled_from(["", " +1d", " ++1w", " .+2w", " +1m", " +1y", " +36h", " -3d", " +2w -1m", " 10:00", " 10:00-11:00 +1w"])
tasks = st.lists(st.tuples(st.sampled_from(["", "TODO ", "DONE ", "COMMENT "]), st.sampled_from(["SCHEDULED: ", "DEADLINE: ", ""]), near, repeats), max_size=12)


def delay(plan, repeat): return timedelta({" -3d": 3, " +2w -1m": 30}.get(repeat, 0) if plan == "SCHEDULED: " else 0)


def org(tasks): return "".join(f"* {word}t{i}\n{plan}<{day} Xyz{repeat}>\n" for i, (word, plan, day, repeat) in enumerate(tasks))


@settings(max_examples=examples(200), deadline=None)
@given(tasks, near, st.integers(0, 60))
def test_agenda_says_everything_once(tasks, start, length):
    end = start + timedelta(length)
    outline = parse_org(org(tasks), "a.org")
    items = agenda([outline], start, end, TODAY)
    assert all(start <= item.day <= end for item in items)
    assert len({(i.line, i.kind, i.due, i.day) for i in items}) == len(items)
    assert len({(i.line, i.kind, i.due) for i in items if i.kind != "event"}) == len([i for i in items if i.kind != "event"])
    for item in items:
        word, plan, day, repeat = tasks[(item.line - 1) // 2]
        assert not word.startswith(("DONE", "COMMENT"))
        if item.days < 0: assert item.day == TODAY and item.due == day or delay(plan, repeat) and item.day - item.due == delay(plan, repeat)
        if item.days > 0: assert item.day == TODAY and item.kind == "deadline" and item.due > end
    for i, (word, plan, day, repeat) in enumerate(tasks):
        live = not word.startswith(("DONE", "COMMENT"))
        mine = [item for item in items if item.line == 2 * i + 1]
        wait = delay(plan, repeat)
        if live and start <= day + wait <= end and day >= TODAY: assert any(item.due == day for item in mine)
        if live and plan and day + wait < TODAY and start <= TODAY <= end: assert any(item.days == (day - TODAY).days and item.day == TODAY for item in mine)
    assert render_agenda(items, start, end, TODAY).count("a.org:") == len(items) or len(items) > 200


@settings(max_examples=examples(100), deadline=None)
@given(tasks, near, st.integers(1, 30), st.integers(1, 30))
def test_future_ranges_add_up(tasks, start, first, second):
    start = max(start, TODAY + timedelta(1))
    outline = parse_org(org(tasks), "a.org")
    middle, end = start + timedelta(first), start + timedelta(first + second)
    key = lambda items: [(i.day, i.line, i.kind) for i in items]
    whole = agenda([outline], start, end, TODAY)
    parts = agenda([outline], start, middle - timedelta(1), TODAY) + agenda([outline], middle, end, TODAY)
    assert key(whole) == key(parts)


@settings(max_examples=examples(200), deadline=None)
@given(texts, st.text(max_size=40))
def test_search_never_raises_and_explains_itself(text, query):
    found = find([parse_org(text, "a.org")], query)
    assert bool(found.why) == (found.total == 0) and len(found.hits) == min(found.total, 8)
    for hit in found.hits:
        assert text.count("\n") + 1 >= hit.at >= hit.line and len(hit.snippet) <= 162


@settings(max_examples=examples(150), deadline=None)
@given(st.text(st.characters(whitelist_categories=("Lu", "Ll", "Lo", "Nd")), min_size=1, max_size=12))
def test_a_word_is_found_in_any_case(word):
    if not fold(word).strip(): return
    outline = parse_org(f"* something\nelse\n* x\nbefore {word} after\n", "a.org")
    for form in (word, word.upper(), word.lower(), f'"{word}"'):
        if fold(form) == fold(word): assert find([outline], form).hits, form


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=60))
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
    assert all(term.needle in fold(text) for term in read_query(text) if '"' not in text and not any(q in text for q in "“”„«»"))


@pytest.fixture
def place(tmp_path):
    for i in range(40):
        folder = tmp_path / f"f{i % 5}"
        folder.mkdir(exist_ok=True)
        (folder / f"n{i}.org").write_text("".join(f"* TODO task {i} {j} roof\nSCHEDULED: <2026-11-{j % 28 + 1:02} Mon>\nsome words about offers and number {i * j}\n" for j in range(12)))
    old = time.time() - 3600
    for path in tmp_path.rglob("*.org"): os.utime(path, (old, old))
    return tmp_path


def context(root, **paths):
    return ToolContext({name: resolve([root], text, access) for name, (text, access) in paths.items()}, now=datetime(2026, 11, 19, 9), today=TODAY)


def test_warm_notes_are_not_read_again(place):
    cache, root = NoteCache(), Root(place)
    for name, args in {"org-find": {"query": "roof offers 12"}, "org-agenda": {"start": "2026-11-16", "end": "2026-11-22"}}.items():
        tool = {t.name: t for t in note_tools(cache=cache)}[name]
        with resolve([root], ".", "tree") as folder:
            given = ToolContext({"folder": folder}, now=datetime(2026, 11, 19, 9), today=TODAY)
            tool.body(**tool.arguments(freeze(args)), context=given)
            reads = cache.reads
            time.sleep(0.06)                          # what was changed within the last 50 ms is not trusted yet
            for _ in range(3): tool.body(**tool.arguments(freeze(args)), context=given)
            assert cache.reads <= reads + 40
            settled = cache.reads
            tool.body(**tool.arguments(freeze(args)), context=given)
            assert cache.reads == settled


def test_accidents_of_folders_are_reported(tmp_path):
    (tmp_path / "good.org").write_text("* fern\n")
    (tmp_path / "nul.org").write_bytes(b"* fern\0")
    (tmp_path / "half.md").write_bytes("# fern\n".encode("utf-16")[:-1])
    (tmp_path / "big.md").write_bytes(b"x" * 5_000_001)
    (tmp_path / "latin.org").write_bytes("* fern für\n".encode("latin-1"))
    (tmp_path / "loop.org").symlink_to("loop.org")
    (tmp_path / "gone.org").symlink_to("nowhere.org")
    (tmp_path / ".hidden.org").write_text("* fern\n")
    os.mkfifo(tmp_path / "pipe.org")
    with resolve([Root(tmp_path)], ".", "tree") as folder: notes = read_notes(folder)
    assert [o.file for o in notes.outlines] == ["good.org", "latin.org"]
    assert {r.file for r in notes.skipped} == {"nul.org", "half.md", "big.md", "loop.org", "gone.org", "pipe.org"}
    assert [r.file for r in notes.flagged] == ["latin.org"]
    assert all(name in notes.report(most=9) for name in ("nul.org", "half.md", "big.md", "latin.org"))


def test_many_files_are_cut_with_a_word_about_it(place):
    with resolve([Root(place)], ".", "tree") as folder: notes = read_notes(folder, most_files=10)
    assert len(notes.outlines) == 10 and "Only the first 10 files" in notes.report()


def test_the_cache_sees_every_kind_of_change(tmp_path):
    cache, root, note = NoteCache(settle_ns=0), Root(tmp_path), tmp_path / "a.org"
    def titles():
        with resolve([root], ".", "tree") as folder: return [(o.file, o.nodes[1].title) for o in read_notes(folder, cache).outlines]
    note.write_text("* one\n"); assert titles() == [("a.org", "one")]
    note.write_text("* three\n"); assert titles() == [("a.org", "three")]
    os.rename(note, tmp_path / "b.org"); assert titles() == [("b.org", "three")]
    (tmp_path / "c.org").write_text("* four\n"); os.replace(tmp_path / "c.org", tmp_path / "b.org"); assert titles() == [("b.org", "four")]
    os.link(tmp_path / "b.org", tmp_path / "a.org"); assert titles() == [("a.org", "four"), ("b.org", "four")]
    os.unlink(tmp_path / "a.org"); assert titles() == [("b.org", "four")]


def test_long_things_are_cut_and_say_so(tmp_path):
    tools, root = {t.name: t for t in note_tools()}, Root(tmp_path)
    (tmp_path / "long.org").write_text("* a\n" + "x" * 1_000_000 + "\n" + "y" * 1500 + "\n" + ("z" * 1500 + "\n") * 100)
    args = tools["read-file"].arguments(freeze({"path": "long.org"}))
    result = tools["read-file"].body(**args, context=context(root, path=("long.org", "read")))
    assert len(result.content) < 65_000 and "more characters in this line" in result.content and "read on with start" in result.content
    (tmp_path / "many.org").write_text("".join(f"* t{i} <2026-11-20 Fri +1d>\n" for i in range(50)))
    args = tools["org-agenda"].arguments(freeze({"start": "2026-11-20", "end": "2027-11-20"}))
    result = tools["org-agenda"].body(**args, context=context(root, folder=(".", "tree")))
    assert "Ask for fewer days" in result.content and len(result.content) < 65_000


@pytest.mark.parametrize("indexed", [False, True])
def test_what_is_long_overdue_hides_neither_today_nor_what_comes_next(tmp_path, indexed):
    "With 16,000 old tasks, “what is due today?” showed the oldest 200 of them, and “what is next?” said that nothing lies ahead."
    old = "".join(f"* TODO old {n}\nSCHEDULED: <{TODAY - timedelta(n)}>\n" for n in range(2_100, 0, -1))
    (tmp_path / "many.org").write_text(old + f"* TODO bread\nSCHEDULED: <{TODAY}>\n* Choir <{TODAY + timedelta(1)} 19:30>\n")
    root = Root(tmp_path)
    index = Index(root) if indexed else None
    asked = lambda: ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19, 8), today=TODAY)
    text = org_agenda("2026-11-19", "2026-11-20", asked(), NoteSource(index=index), ()).content
    assert all(words in text for words in ("bread", "Choir", "old 198 ", "… 1,902 more are overdue for longer.")) and "old 199 " not in text
    assert "Choir" in org_next(asked(), NoteSource(index=index), ()).content
    if index: index.close()


@pytest.mark.parametrize("written, kind", [('due: "[[2026-11-22]]"', "deadline"), ("due: [[2026-11-22]]", "deadline"), ("Due Date: 2026-11-22", "deadline"), ("due_date: 2026-11-22", "deadline"), ("due-date: '2026-11-22'", "deadline"),
                                           ("startDate: 2026-11-22", "plain"), ("scheduled_date: 2026-11-22T09:30", "scheduled"), ("deadline: 2026-11-22", "deadline"), ("status: open", None)])
def test_dates_of_the_front_matter(written, kind):
    outline = parse_note(f"---\n{written}\n---\n# Note\n", "a.md")
    assert [(stamp.kind, stamp.day.isoformat(), stamp.node) for stamp in stamps(outline)] == ([(kind, "2026-11-22", 0)] if kind else [])


@pytest.mark.parametrize("written, kind", [("📆 2026-11-22", "deadline"), ("🗓️ 2026-11-22", "deadline"), ("⏰ 2026-11-22 09:30", "scheduled"), ("(@2026-11-22)", "deadline"), ("@{2026-11-22}", "deadline"), ("(due:: 2026-11-22)", "deadline")])
def test_dates_of_tasks_and_titles_without_them(written, kind):
    outline = parse_note(f"- [ ] bread {written} #shop\n", "a.md")
    assert [(stamp.kind, stamp.day.isoformat()) for stamp in stamps(outline)] == [(kind, "2026-11-22")] and outline.nodes[1].title == "bread"


@pytest.mark.parametrize("front, title, tags", [
    ("---\ntitle: >\n  long\n  title\ntags: |\n  a\n  b\n---\n", "long title", ("a", "b")), ("---\ntitle: T # why\ntags: [a] # b\n---\n", "T", ("a",)), ("---\ntags: [\n  a, # one\n  'b'\n]\ntitle: T\n---\n", "T", ("a", "b")),
    ("---\ntags: [#a, #b]\ntitle: T\n---\n", "T", ("a", "b")), ("---\ntitle: T\ntags: null\n---\n", "T", ()), ("---\ntags: [a\ntitle: T\n---\n", "T", ("a",)), ("---\ntext: |\n  - not\n  tags: [no]\ntitle: T\n---\n", "T", ("no",)),
    ("+++\ntitle = 'T'\n[taxonomies]\ntags = [\"a\", \"b\"]\n+++\n", "T", ("a", "b")), ("+++\r\ntitle = 'T'\r\n+++\r\n", "T", ()), ("+++\nno toml\n+++\n", "x", ())])
def test_front_matter_as_people_and_their_programs_write_it(front, title, tags):
    outline = parse_note(front + "# H\ntext\n", "x.md")
    assert (outline.nodes[0].title, outline.nodes[0].tags, [n.title for n in outline.nodes[1:]]) == (title, tags, ["H"])
    assert print_outline(outline) == front + "# H\ntext\n"


@pytest.mark.parametrize("front", ["---\ntitle: >\n  long\n---\n", "+++\ntitle = 'T'\n+++\n"])
def test_front_matter_that_cannot_be_written_is_left_alone(front):
    outline = parse_note(front + "# H\n", "x.md")
    with pytest.raises(RewriteError, match="by hand"): set_property(outline, outline.nodes[0], "title", "U")


@pytest.mark.slow
@pytest.mark.parametrize("front", ["tags: [" + "a\n" * 30_000, "tags: [\n" * 20_000, "a: >\n" * 20_000, "tags: [" + " " * 200_000 + "]\n", "tags: [" + "'" * 100_001 + "]\n", "t: [" + "] #" * 50_000 + "\n"])
def test_front_matter_is_read_in_proportion_to_its_length(front):
    began = time.perf_counter()
    parse_note(f"---\n{front}---\n# H\n", "x.md")
    assert time.perf_counter() - began < 15          # a hang, not a slow machine
