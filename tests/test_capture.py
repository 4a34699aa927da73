"""Whatever a file holds and whatever is captured, the file only grows, and by one entry that is found again."""
from datetime import date, datetime
from os.path import commonprefix

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.capture import CaptureError, append_headline
from passepartout.conditions import PassepartoutError
from passepartout.notes import decode, parse_note
from passepartout.org import print_outline
from passepartout.outline.timestamps import stamps
from test_first_hour import play
from test_org import texts

titles = st.one_of(st.text(max_size=30), texts)
days = st.none() | st.dates(date(1900, 1, 1), date(2200, 1, 1)) | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda d: d.replace(second=0, microsecond=0))
files = st.sampled_from(["inbox.org", "list.md"])
encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"])


def written(text, encoding):
    bom = "\ufeff" if encoding.startswith("utf-16") else ""
    return (bom + text).encode(encoding, "replace")


@settings(max_examples=examples(250), deadline=None)
@given(texts, encodings, titles, files, st.sampled_from(["task", "note"]), days, days, texts)
def test_a_capture_only_adds(text, encoding, title, file, kind, scheduled, deadline, body):
    data = written(text, encoding)
    try: after = append_headline(data, title, file=file, kind=kind, scheduled=scheduled, deadline=deadline, body=body)
    except CaptureError as refusal:
        assert refusal.message.endswith((".", "it.")) and "\n" not in refusal.message
        return
    same = len(commonprefix([data, after]))
    assert after.endswith(data[same:]) and len(after) > len(data)
    before, now = decode(data), decode(after)
    assert (now.encoding, now.bom) == (before.encoding, before.bom) or before.text == ""
    old, new = parse_note(before.text, file), parse_note(now.text, file)
    if same < len(data):                # a task on a page with headings stands among the others, or above the first of them
        assert file.endswith(".md") and kind == "task"
        rest = iter([(n.level, n.keyword, n.priority, n.title, n.hidden) for n in new.nodes])
        assert all((n.level, n.keyword, n.priority, n.title, n.hidden) in rest for n in old.nodes)
        return
    facts = lambda nodes: [(n.start, n.line, n.level, n.keyword, n.priority, n.title, n.hidden) for n in nodes]
    assert facts(new.nodes[:len(old.nodes)]) == facts(old.nodes)
    entry = new.nodes[len(old.nodes)]
    assert new.text[:entry.start].startswith(old.text) and new.text[len(old.text):entry.start].strip() == ""
    if file.endswith(".org"): assert len(new.nodes) == len(old.nodes) + 1 and entry.level == 1
    if kind == "task": assert entry.open
    for word, day in (("scheduled", scheduled), ("deadline", deadline)):
        if day: assert (day if type(day) is date else day.date()) in [s.day for s in stamps(new) if s.node == entry.index and s.kind == word]
    assert print_outline(new) == now.text


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.text(st.characters(whitelist_categories=("L", "N")), min_size=1, max_size=10), st.sampled_from(["task", "note"]), texts), max_size=6), files)
def test_captures_pile_up(entries, file):
    data, count = b"", 1
    for title, kind, body in entries:
        try: data = append_headline(data, title, file=file, kind=kind, body=body)
        except CaptureError: continue
        outline = parse_note(decode(data).text, file)
        assert len(outline.nodes) > count and title in [n.title for n in outline.nodes[1 if kind == "task" else count:]]
        count = len(outline.nodes)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_exactly_or_refused(data):
    try: seen = decode(data)
    except PassepartoutError as reason:
        assert reason.message
        return
    assert seen.bom + seen.encode(seen.text) == data


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "x", "\n", "\n\n \n"])
def test_line_endings_are_the_files_own(ending, last):
    data = f"* a\n{last}".replace("\n", ending).encode()
    added = append_headline(data, "b", kind="task", deadline=date(2026, 11, 20), body="one\ntwo")[len(data):].decode()
    assert added.count("\n") == added.count(ending) and added.endswith(ending)


@pytest.mark.parametrize("repeat", ["+1w", "+3d", ".+2m", ".+1y"])
@pytest.mark.parametrize("begun", [b"", b"---\ntags: x\n---\n- [ ] tea [due:: 2026-11-19]\n"])
def test_what_is_counted_from_the_day_it_is_done_stays_so_in_markdown(repeat, begun):
    "`.+3d` was written as every 3 days, which counts from the date: a plant watered late was due again too early."
    after = append_headline(begun, "water the fig", file="list.md", kind="task", scheduled=date(2026, 11, 20), repeat=repeat).decode()
    found, = [stamp.repeat for stamp in stamps(parse_note(after, "list.md")) if stamp.repeat]
    assert (found.mark == ".+", found.count, found.unit) == (repeat[0] == ".", int(repeat[-2]), repeat[-1])


@pytest.mark.parametrize("typed, head, planned", [
    ("todo Write thesis SCHEDULED: <2026-11-20 Fri> DEADLINE: <2026-11-27 Fri>", "Write thesis", "DEADLINE: <2026-11-27 Fri> SCHEDULED: <2026-11-20 Fri>"), ("* TODO Chapter 2 :phd: DEADLINE: <2026-11-27 Fri> SCHEDULED: <2026-11-23 Mon 10:00>", "Chapter 2 :phd:", "DEADLINE: <2026-11-27 Fri> SCHEDULED: <2026-11-23 Mon 10:00>"),
    ("todo gym SCHEDULED: <2026-11-20 Fri 07:00 ++1w>", "gym", "SCHEDULED: <2026-11-20 Fri 07:00 ++1w>"), ("todo call Ana DEADLINE: <2026-11-20 Fri 10:00>", "call Ana", "DEADLINE: <2026-11-20 Fri 10:00>")])
def test_dates_of_org_are_those_of_the_task_and_no_words_of_its_title(tmp_path, typed, head, planned):
    (answer,), files = play(tmp_path, {}, typed)
    assert files == {"inbox.org": f"* TODO {head}\n{planned}\n"}, answer


@pytest.mark.parametrize("typed", ["todo tax DEADLINE: <2027-05-31 Mon -14d>", "todo trip SCHEDULED: <2026-11-20 Fri>--<2026-11-22 Sun>", "todo x SCHEDULED: <2026-11-20 Fri +1w> DEADLINE: <2026-11-27 Fri>"])
def test_a_date_of_org_that_says_more_is_not_written_as_less(tmp_path, typed):
    (answer,), files = play(tmp_path, {}, typed)
    assert not files and "more than I write into a date" in answer and "or say: todo " in answer
