"""Dates in lists: called by their line, the same with an index and without, never taken for the heading around them."""
from datetime import date

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agenda import agenda, live_dates
from passepartout.confinement.resources import Root
from passepartout.indexing.finding import agenda_indexed
from passepartout.indexing.index import Index
from passepartout.org import parse_org
from passepartout.outline.markdown import parse_markdown
from passepartout.outline.privacy import is_private
from test_first_hour import play

TODAY = date(2026, 11, 19)
NOTES = {"misc.md": "Some text\n\n- Dentist <2026-11-20 Fri 10:00>\n- stretch\n  SCHEDULED: <2026-11-20 Fri 7:00>\n",
         "a.org": "Barber <2026-11-20 Fri 11:00>\n* Ideas\nMeet Bob <2026-11-20 Fri 12:00> at the bar\n- buy tickets <2026-11-22 Sun>\n"}


def test_the_agenda_calls_a_date_in_a_list_by_its_line_and_leads_there(tmp_path):
    (answer,), _ = play(tmp_path, NOTES, "what is due this week?")
    for line in ("07:00                 stretch  (misc.md:5)", "10:00                 Dentist  (misc.md:3)", "11:00                 Barber  (a.org:1)", "12:00                 Ideas  (a.org:2)",
                 "all day               buy tickets  (a.org:4, in Ideas)"):
        assert line in answer, answer


@pytest.mark.parametrize("said", ["done", "done it", "done 1", "finish the first one", "cancel it", "archive it", "skip it", "set the deadline of it to monday", "tag it with x", "set it to waiting"])
def test_what_is_said_of_a_date_in_a_list_is_not_done_to_the_heading_around_it(tmp_path, said):
    before = dict(NOTES)
    (_, answer), files = play(tmp_path, before, "what's on sunday?", said)
    assert files == before, (answer, files)


LIST = "* Dates\n- <2026-11-20 Fri 09:00-10:00> dentist\n- <2026-11-21 Sat> shift\n- <2026-11-28 Sat> shift\n- <2026-11-14 Sat> shift\n- <2026-11-23 Mon +1w> choir\n- walk\n  SCHEDULED: <2026-11-24 Tue>\n* Ideas\n"

@pytest.mark.parametrize("before, said, was, now", [
    ("", "move the dentist to monday", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-23 Mon 09:00-10:00> dentist"), ("", "postpone dentist to 24.11. at 8", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-24 Tue 08:00-09:00> dentist"),
    ("", "move the dentist to 11:00", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-20 Fri 11:00-12:00> dentist"), ("", "push the dentist back by an hour", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-20 Fri 10:00-11:00> dentist"),
    ("", "move the shift on saturday to sunday", "<2026-11-21 Sat> shift", "<2026-11-22 Sun> shift"), ("move shift to sunday", "2", "<2026-11-28 Sat> shift", "<2026-11-22 Sun> shift"), ("", "move walk to friday", "<2026-11-24 Tue>", "<2026-11-20 Fri>"),
    ("when is the dentist", "move it to monday", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-23 Mon 09:00-10:00> dentist"), ("what is on friday?", "postpone the first one by a week", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-27 Fri 09:00-10:00> dentist"),
    ("", "verschiebe dentist auf montag", "<2026-11-20 Fri 09:00-10:00> dentist", "<2026-11-23 Mon 09:00-10:00> dentist")])
def test_the_date_of_a_line_is_moved_and_nothing_else(tmp_path, before, said, was, now):
    answers, files = play(tmp_path, {"a.org": LIST}, *filter(None, (before, said)))
    assert LIST.count(was) == 1 and files == {"a.org": LIST.replace(was, now)}, answers


def test_a_line_that_was_moved_is_it_and_can_be_taken_further(tmp_path):
    answers, files = play(tmp_path, {"a.org": LIST}, "move the dentist to monday", "no, tuesday", "make it 10:00")
    assert files == {"a.org": LIST.replace("<2026-11-20 Fri 09:00-10:00>", "<2026-11-24 Tue 10:00-11:00>")}, answers


@pytest.mark.parametrize("said, told", [("move the choir to tuesday", "a date that repeats"), ("move rehearsal to friday", "more than one date"), ("done dentist", "a line of text"), ("archive the dentist", "a line of text"), ("rename dentist to Doctor", "a line of text"), ("move shift to sunday", "“shift” fits several"),
                                        ("skip dentist", "a line of text"), ("resume choir", "a line of text")])
def test_what_cannot_be_done_to_a_line_is_said(tmp_path, said, told):
    notes = {"a.org": LIST + "- <2026-11-25 Wed> or <2026-11-26 Thu> rehearsal\n"}
    (answer,), files = play(tmp_path, notes, said)
    assert told in answer and files == notes, answer


def test_a_task_and_a_dated_heading_come_before_a_line_and_a_bare_heading_does_not(tmp_path):
    notes = {"a.org": LIST, "b.org": "* TODO dentist\n"}
    _, files = play(tmp_path / "a", notes, "move the dentist to monday")
    assert files["a.org"] == LIST and "SCHEDULED: <2026-11-23 Mon>" in files["b.org"]
    _, files = play(tmp_path / "b", {"a.org": LIST, "b.org": "* Dentist\nDr. Pohl\n"}, "move the dentist to monday")
    assert files["a.org"] != LIST and files["b.org"] == "* Dentist\nDr. Pohl\n"


def test_a_private_line_is_moved_without_being_named(tmp_path):
    (answer,), files = play(tmp_path, {"p.md": "---\ntags: [personal]\n---\n- Oncologist <2026-11-20 Fri 10:00>\n"}, "move the oncologist to monday")
    assert "Oncologist <2026-11-23 Mon 10:00>" in files["p.md"] and "ncologist" not in answer and "line 4 of p.md" in answer


def test_a_line_that_was_changed_in_between_is_not_taken_for_another(tmp_path):
    from passepartout.toolbelt.addressing import dated_line
    moved = parse_org("* Dates\n- x\n- <2026-11-20 Fri> dentist\n", "a.org")
    assert dated_line(moved, "line 2: Dates › dentist")[0].line == 3 and dated_line(moved, "line 2: Dates › shift") is None
    assert dated_line(parse_org("* Dates\n** dentist\n* Dates\n- <2026-11-20 Fri> dentist\n", "a.org"), "line 2: Dates › dentist") is None


def test_the_section_around_a_date_in_a_list_can_be_shown(tmp_path):
    (_, first, second), _ = play(tmp_path, NOTES, "what is on friday?", "show 2", "show 4")
    assert first.startswith("misc.md, lines 1-5") and second.startswith("a.org, lines 2-4"), (first, second)


@pytest.mark.parametrize("asked, told", [("when is the dentist?", "“Dentist” (misc.md:3): Friday 20 November 2026 10:00"), ("is the dentist on friday?", "Yes. “Dentist” (misc.md:3)"), ("when do I buy tickets", "“buy tickets” (a.org:4): Sunday 22 November 2026")])
def test_the_day_of_a_line_can_be_asked_for(tmp_path, asked, told):
    (answer,), _ = play(tmp_path, NOTES, asked)
    assert answer.startswith(told), answer


def test_a_line_of_a_private_note_is_not_named(tmp_path):
    (answer,), _ = play(tmp_path, {"p.md": "---\ntags: [personal]\n---\n- Oncologist <2026-11-20 Fri 10:00>\n"}, "when is the oncologist?")
    assert "“Oncologist”" not in answer, answer


lines = st.lists(st.sampled_from(["- Dentist <2026-11-20 Fri 10:00>", "- ", "-", "  <2026-11-20 Fri>", "  more <2026-11-21 Sat>--<2026-11-23 Mon>", "* Roof", "* <2026-11-20 Fri>", "** TODO Tell Pohl", "# Roof", "1. one <2026-11-22 Sun +1d>",
                                  "", "Barber <2026-11-20 Fri>", "| a | <2026-11-20 Fri> |", "    + deep <2026-11-20 Fri>", "- [ ] box 📅 2026-11-20", "- [X] box <2026-11-20 Fri>", "SCHEDULED: <2026-11-20 Fri>", "- a <2026-11-20 Fri> b <2026-11-21 Sat> c",
                                  "#+BEGIN_SRC\n- x <2026-11-20 Fri>\n#+END_SRC", "- <2026-11-20 Fri>", "\t- tab <2026-11-20 Fri>", "- #personal x <2026-11-20 Fri>", ":PROPERTIES:\n:X: <2026-11-20 Fri>\n:END:"]), max_size=12).map("\n".join)

@settings(max_examples=examples(40), deadline=None)
@given(texts=st.lists(st.tuples(lines, st.sampled_from(["org", "md"])), min_size=1, max_size=3))
def test_an_index_lists_the_same_lines(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("memex")
    outlines = []
    for n, (text, ending) in enumerate(texts):
        (folder / f"n{n}.{ending}").write_text(text)
        outlines.append((parse_org if ending == "org" else parse_markdown)(text, f"n{n}.{ending}"))
    index = Index(Root(folder))
    try:
        index.refresh()
        span = (date(2026, 11, 16), date(2026, 11, 24), TODAY)
        assert agenda_indexed(index, *span) == agenda(outlines, *span)
    finally: index.close()


@given(text=lines, ending=st.sampled_from(["org", "md"]))
def test_a_date_is_as_private_as_the_section_that_it_stands_in(text, ending):
    outline = (parse_org if ending == "org" else parse_markdown)(text, f"n.{ending}")
    for item in agenda([outline], date(2026, 11, 16), date(2026, 11, 24), TODAY):
        at = [node for node in outline.nodes if node.line <= item.line][-1]
        assert is_private(item.tags, ["personal"]) == is_private(outline.tags(at), ["personal"])


@given(text=lines, ending=st.sampled_from(["org", "md"]))
def test_the_words_of_a_date_stand_in_its_file(text, ending):
    outline = (parse_org if ending == "org" else parse_markdown)(text, f"n.{ending}")
    for stamp, _ in live_dates(outline):
        assert all(word in text for word in stamp.said.split()) and "<2026" not in stamp.said and "\n" not in stamp.said


CHOIR = "* Choir\nWe sing every Tuesday, <2026-11-24 Tue 19:00 +1w>, in the hall.\n* Dates\n- yoga <2026-11-01 Sun 10:00 +1w>\n"


@pytest.mark.parametrize("said, was, now", [("skip choir", "2026-11-24 Tue", "2026-12-01 Tue"), ("skip choir next week", "2026-11-24 Tue", "2026-12-01 Tue"), ("pause choir until february", "2026-11-24 Tue", "2027-02-02 Tue"),
                                            ("skip yoga", "2026-11-01 Sun", "2026-11-29 Sun"), ("pause yoga until 2027-01-01", "2026-11-01 Sun", "2027-01-03 Sun")])
def test_a_date_that_repeats_in_a_text_goes_on_with_a_later_turn(tmp_path, said, was, now):
    (answer,), files = play(tmp_path, {"a.org": CHOIR}, said)
    assert files == {"a.org": CHOIR.replace(was, now)}, answer


@pytest.mark.parametrize("said", ["move choir to wednesday", "postpone choir by a week", "move choir to 20:00", "move yoga to friday", "resume choir", "skip choir on friday"])
def test_a_date_that_repeats_in_a_text_is_moved_to_no_day_of_its_own(tmp_path, said):
    (answer,), files = play(tmp_path, {"a.org": CHOIR}, said)
    assert files == {"a.org": CHOIR}, answer
    if "resume" not in said and " on " not in said: assert "skip " in answer and "pause " in answer, answer


@pytest.mark.parametrize("said, offered, was, now", [("move yoga to monday", "move all turns of yoga to 2026-11-23", "<2026-11-01 Sun 10:00 +1w>", "<2026-11-23 Mon 10:00 +1w>"), ("move choir to wednesday", "move all turns of choir to 2026-11-25", "<2026-11-24 Tue 19:00 +1w>", "<2026-11-25 Wed 19:00 +1w>"), ("move choir to 20:00", "move all turns of choir to 2026-11-24 20:00", "<2026-11-24 Tue 19:00 +1w>", "<2026-11-24 Tue 20:00 +1w>"),
                                                     ("move choir an hour later", "move all turns of choir to 2026-11-24 20:00", "<2026-11-24 Tue 19:00 +1w>", "<2026-11-24 Tue 20:00 +1w>"), ("verschiebe choir auf Montag", "move all turns of choir to 2026-11-23", "<2026-11-24 Tue 19:00 +1w>", "<2026-11-23 Mon 19:00 +1w>")])
def test_all_turns_of_a_date_that_repeats_in_a_text_are_moved_after_a_yes(tmp_path, said, offered, was, now):
    assert was in CHOIR
    answers, files = play(tmp_path, {"a.org": CHOIR}, said, "yes")
    assert f"“{offered}”" in answers[0] and "For this one turn: skip " in answers[0] and files == {"a.org": CHOIR.replace(was, now)}, answers


def test_all_turns_of_what_does_not_repeat_are_moved_as_the_one_day_that_it_is(tmp_path):
    from passepartout.conditions import PassepartoutError
    from passepartout.outline.planning import move_appointment
    (answer,), files = play(tmp_path, {"a.org": "* Dentist <2026-11-24 Tue 09:00>\n"}, "move all turns of dentist to friday")
    assert files == {"a.org": "* Dentist <2026-11-20 Fri 09:00>\n"}, answer
    outline = parse_org("* Dentist <2026-11-24 Tue 09:00>\n", "a.org")
    with pytest.raises(PassepartoutError, match="does not repeat"): move_appointment(outline, outline.nodes[1], date(2026, 12, 8), every=True)


def test_a_tool_moves_a_date_that_repeats_to_one_of_its_turns_only(tmp_path):
    from passepartout.conditions import PassepartoutError
    from passepartout.outline.planning import move_appointment
    outline = parse_org(CHOIR, "a.org")
    assert "<2026-12-08 Tue 19:00 +1w>" in move_appointment(outline, outline.nodes[1], date(2026, 12, 8))
    for day in (date(2026, 11, 17), date(2026, 11, 25)):
        with pytest.raises(PassepartoutError, match="would move every turn"): move_appointment(outline, outline.nodes[1], day)


@pytest.mark.parametrize("asked", ["what's on tomorrow", "tomorrow?", "what is due this week", "what is on in november", "am I free tomorrow"])
def test_a_calendar_that_is_a_list_of_bare_days_is_told_with_the_agenda_and_is_no_item_of_it(tmp_path, asked):
    notes = {"school.md": "# School\n- 2026-11-18 photographer\n- [x] 2026-11-20 paid\n- 2026-11-20 lantern walk 17:00\n", "b.org": "* TODO Bins\nSCHEDULED: <2026-11-20 Fri>\n"}
    (answer, done), files = play(tmp_path, notes, asked, "done 2")
    assert "TODO Bins  (b.org:1)" in answer and "school.md:4  - 2026-11-20 lantern walk 17:00" in answer and "photographer" not in answer and "paid" not in answer, answer
    assert files == notes and "has 1" in done.replace("only ", ""), done


def test_bare_days_that_are_over_are_told_to_who_asks_for_them(tmp_path):
    notes = {"timeline.md": "# Timeline\n- 1922-05-03 ferry sinks\n- 1922-06-10 quarry\n", "log.md": "- 2026-11-17 saw the fox\n- 2026-11-16 rain\n"}
    answers, _ = play(tmp_path, notes, "what is on in may 1922", "what was on on tuesday", "what is due this week")
    assert "ferry sinks" in answers[0] and "quarry" not in answers[0] and "angle brackets" not in answers[0], answers
    assert "saw the fox" in answers[1] and "rain" not in answers[1] and "fox" not in answers[2], answers
