"What corrects the sentence before it: another word, another day, another one of two"
import pytest

from test_first_hour import play

NOTES = {"a.md": "# A\n- [ ] Call Jonas about the car\n- [ ] Call Jonas about the tent\n- [ ] Call Leo\n- [ ] Form 📅 2026-11-25\n"}


@pytest.mark.parametrize("said", ["no, not Jonas, Leo", "not jonas but leo", "sorry, Leo, not Jonas", "nein, nicht Jonas, Leo", "nein, nicht Jonas sondern Leo", "I meant Leo not Jonas", "Leo, not Jonas!"])
def test_a_word_of_what_was_just_written_is_put_right_after_a_yes(tmp_path, said):
    answers, files = play(tmp_path, {}, "todo ring Jonas about the boat", said, "yes")
    name = "leo" if said == "not jonas but leo" else "Leo"
    assert f"Did you mean “rename \"ring Jonas about the boat\" to ring {name} about the boat”?" in answers[1] and files["inbox.org"] == f"* TODO ring {name} about the boat\n", answers


def test_a_day_after_not_stays_a_day(tmp_path):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", "no, not friday, monday")
    assert "<2026-11-23 Mon 09:30>" in files["inbox.org"], answers


@pytest.mark.parametrize("asked, then", [("move call Jonas about the car to friday", "move call Leo about the car to friday"), ("done Call Jonas about the tent", "done Call Leo about the tent")])
def test_after_a_change_of_something_else_nothing_is_changed_again(tmp_path, asked, then):
    answers, files = play(tmp_path, {"a.md": NOTES["a.md"] + "- [ ] Call Leo about the car\n- [ ] Call Leo about the tent\n"}, asked, "no, not Jonas, Leo")
    assert answers[1] == f"First take the last change back, by /undo, or passepartout undo. Then say: {then}"


def test_after_a_question_without_a_change_the_sentence_is_said_again(tmp_path):
    answers, _ = play(tmp_path, NOTES, "find Leo", "no, not Leo, tent")
    assert "Call Jonas about the tent" in answers[1] and "matches “tent”" in answers[1], answers


@pytest.mark.parametrize("said", ["no, not Mara, Leo", "no, not Jonas, ", "not Jonas, Jonas"])
def test_a_word_that_was_not_said_corrects_nothing(tmp_path, said):
    answers, files = play(tmp_path, {}, "todo ring Jonas about the boat", said, "yes")
    assert files["inbox.org"] == "* TODO ring Jonas about the boat\n", answers


@pytest.mark.parametrize("asked, said, day", [("dentist friday 9:30", "no, the week after", "2026-11-27 Fri 09:30"), ("dentist friday 9:30", "the week after", "2026-11-27 Fri 09:30"), ("dentist friday 9:30", "no, the day after", "2026-11-21 Sat 09:30"),
                                              ("dentist friday 9:30", "nein, die Woche danach", "2026-11-27 Fri 09:30"), ("dentist friday 9:30", "no, a week later", "2026-11-27 Fri 09:30"), ("dentist friday 9:30", "nein, eine Woche später", "2026-11-27 Fri 09:30"),
                                              ("dentist friday 9:30", "sorry, I mean the week after that", "2026-11-27 Fri 09:30"), ("dentist friday 9:30", "no, the month after", "2026-12-20 Sun 09:30"),
                                              ("dentist friday 9:30", "nee, viertel vor neun", "2026-11-20 Fri 08:45"), ("Zahnarzt freitag um viertel nach neun", "nein, um dreiviertel neun", "2026-11-20 Fri 08:45"), ("Zahnarzt freitag viertel vor zehn", "nein, um halb neun", "2026-11-20 Fri 08:30"), ("dentist friday 9:30", "no 7.30", "2026-11-20 Fri 07:30"), ("dentist friday 9:30", "no, it is at 10.50", "2026-11-20 Fri 10:50"),
                                              ("dentist friday 9:30", "no, at 10.10", "2026-11-20 Fri 10:10"), ("dentist friday 9:30", "no, it's on tuesday", "2026-11-24 Tue 09:30"), ("dentist friday 9:30", "nein, um 10.10", "2026-11-20 Fri 10:10")])
def test_the_day_that_was_just_set_is_the_one_from_which_it_is_counted(tmp_path, asked, said, day):
    answers, files = play(tmp_path, {}, asked, said)
    assert f"<{day}>" in files["inbox.org"], answers


def test_the_week_after_a_day_to_which_something_was_moved(tmp_path):
    answers, files = play(tmp_path, NOTES, "move form to friday", "no, the week after")
    assert "Form 📅 2026-11-27" in files["a.md"], answers


def test_the_week_after_a_question_is_still_a_question(tmp_path):
    answers, files = play(tmp_path, NOTES, "what is due this week?", "the week after")
    assert "Form" in answers[1] and files == NOTES


def test_a_figure_that_is_no_day_does_not_end_a_correction(tmp_path):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", "no, 31.11.", "no, the 25th")
    assert "There is no 31 November" in answers[1] and "<2026-11-25 Wed 09:30>" in files["inbox.org"], answers


def test_a_figure_that_is_no_day_of_something_new_is_not_corrected_in_something_old(tmp_path):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", "todo visit Ana on 31.11.", "no, the 25th")
    assert "There is no 31 November" in answers[1] and "<2026-11-20 Fri 09:30>" in files["inbox.org"] and "25" not in files["inbox.org"], answers


TWO = "“Call Jonas” fits several."

@pytest.mark.parametrize("said", ["the other one", "no, the other one", "the other", "die andere", "not that one"])
def test_an_open_question_of_two_is_asked_again_and_can_be_answered(tmp_path, said):
    answers, files = play(tmp_path, NOTES, "done call jonas", said, "2")
    assert answers[1] == answers[0] and "- [x] Call Jonas about the tent" in files["a.md"] and "- [ ] Call Jonas about the car" in files["a.md"], answers


@pytest.mark.parametrize("choice", ["1", "the first one", "the car"])
def test_the_other_one_of_two_is_offered_after_the_choice(tmp_path, choice):
    answers, files = play(tmp_path, NOTES, "done call jonas", choice, "the other one", "yes")
    assert "Did you mean “done \"Call Jonas about the tent\"”? Say “yes”, and I'll do it as well." in answers[2] and "/undo" in answers[2], answers
    assert "- [x] Call Jonas about the tent" in files["a.md"] and "- [x] Call Jonas about the car" in files["a.md"], answers


@pytest.mark.parametrize("said", ["no, the other one", "nein, die andere", "sorry, the other one", "wrong one, the other"])
def test_no_the_other_one_takes_two_steps_and_does_nothing_by_itself(tmp_path, said):
    answers, files = play(tmp_path, NOTES, "done call jonas", "1", said)
    assert answers[2] == "First take the last change back, by /undo, or passepartout undo. Then say: done \"Call Jonas about the tent\"", answers
    assert files["a.md"].count("[x]") == 1


def test_the_other_one_that_was_only_shown_is_shown(tmp_path):
    answers, files = play(tmp_path, NOTES, "find call jonas", "1", "the other one")
    assert "Call Jonas about the tent" in answers[2] and "a.md, lines 3" in answers[2] and files == NOTES, answers


def test_the_other_one_of_three_is_asked_for(tmp_path):
    answers, files = play(tmp_path, NOTES, "done call", "1", "the other one")
    assert answers[2].startswith("Which one of the last list do you mean?") and files["a.md"].count("[x]") == 1, answers


@pytest.mark.parametrize("said, day", [("what's on the 25", "Wed 25 November 2026"), ("what is on the 25?", "Wed 25 November 2026"), ("what is on the 3", "Thu 3 December 2026"), ("what else is on the 2?", "Wed 2 December 2026")])
def test_on_the_25_is_a_day_also_after_a_list(tmp_path, said, day):
    answers, _ = play(tmp_path, NOTES, "what is open", said)
    assert day in answers[1], answers


def test_number_2_of_a_list_is_still_shown(tmp_path):
    answers, _ = play(tmp_path, NOTES, "find call jonas", "show the 2", "show number 1")
    assert "lines 3-3" in answers[1] and "lines 2-2" in answers[2], answers


def test_what_is_offered_for_a_title_does_not_hide_what_was_written(tmp_path):
    answers, files = play(tmp_path, {}, "todo swap with Dave 28 nov", "no, not Dave, Priya", "actually the 29th", "no wait the 30th", "yes")
    assert files["inbox.org"] == "* TODO swap with Dave\nSCHEDULED: <2026-11-30 Mon>\n", answers


@pytest.mark.parametrize("lines", [("hello", "actually the 29th", "no wait the 30th"), ("hello", "wait, on the 29th", "yes"), ("hello", "actually friday", "yes"), ("hello", "rather at 9 on friday", "yes")])
def test_words_that_take_something_back_are_no_title(tmp_path, lines):
    answers, files = play(tmp_path, {"a.org": "* a\n"}, *lines)
    assert files == {"a.org": "* a\n"} and "todo" not in answers[1].partition("Shall I keep it?")[0], answers


@pytest.mark.parametrize("line, title", [("shift on 24 dec 7-15", "shift"), ("shift at 9 tomorrow", "shift"), ("delay on the train friday 9:00", "delay on the train")])
def test_a_verb_with_nothing_but_a_day_behind_it_is_a_noun(tmp_path, line, title):
    answers, files = play(tmp_path, {"training.md": "# Mandatory training\n- [ ] x\n"}, line, "yes")
    assert f"TODO {title}\nSCHEDULED" in files.get("inbox.org", "") or f"[ ] {title} " in files.get("inbox.md", ""), answers


@pytest.mark.parametrize("line", ["move to friday", "postpone until friday", "postpone by a week"])
def test_a_verb_without_its_object_still_asks_for_it(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO x\n"}, line)
    assert list(files) == ["a.org"], answers


@pytest.mark.parametrize("said, day", [("no, an hour later", "2026-11-20 Fri 10:30"), ("no, half an hour earlier", "2026-11-20 Fri 09:00"), ("eine Stunde später", "2026-11-20 Fri 10:30"), ("nein, eine halbe Stunde früher", "2026-11-20 Fri 09:00"), ("zwei Tage später", "2026-11-22 Sun 09:30"),
                                       ("nein, nicht Freitag, Samstag", "2026-11-21 Sat 09:30"), ("nicht Freitag sondern Samstag", "2026-11-21 Sat 09:30"), ("ach nee, doch Montag", "2026-11-23 Mon 09:30"), ("doch am Dienstag", "2026-11-24 Tue 09:30"), ("lieber Mittwoch", "2026-11-25 Wed 09:30"), ("nein, halb zehn", "2026-11-20 Fri 09:30")])
def test_a_correction_in_german_or_by_a_length(tmp_path, said, day):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", said)
    assert f"<{day}>" in files["inbox.org"] and ("Scheduled" in answers[1]) == ("Fri 09:30" not in day), answers


@pytest.mark.parametrize("said", ["nein, nicht gut", "doch", "lieber nicht", "nein danke", "ach so", "lieber Leo, danke"])
def test_other_german_words_after_no_change_no_day(tmp_path, said):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", said)
    assert files["inbox.org"] == "* TODO dentist\nSCHEDULED: <2026-11-20 Fri 09:30>\n", answers


@pytest.mark.parametrize("said, day", [("and at 20:00", "2026-11-20 Fri 20:00"), ("und um 20 Uhr", "2026-11-20 Fri 20:00")])
def test_and_at_another_hour_is_said_of_what_was_just_set(tmp_path, said, day):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", said)
    assert f"<{day}>" in files["inbox.org"], answers


@pytest.mark.parametrize("said", ["and at 20:00", "und um 20 Uhr", "but on monday", "then at 9 on friday"])
def test_and_with_an_hour_alone_is_no_task(tmp_path, said):
    answers, files = play(tmp_path, {"a.org": "* a\n"}, "hello", said, "no, 19.30", "yes")
    assert files == {"a.org": "* a\n"}, answers


def test_an_hour_with_a_point_for_what_was_offered(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* a\n"}, "somehow visit Ana at 23:10", "no, 23.40", "yes")
    assert not files.get("inbox.org") or "23:40" in files["inbox.org"], answers


def test_a_correction_of_what_was_not_understood_changes_nothing_older(tmp_path):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", "lunch with Bo at 23:00 somewhere", "no, 23.30", "no, friday")
    assert files["inbox.org"] == "* TODO dentist\nSCHEDULED: <2026-11-20 Fri 09:30>\n", answers


def test_a_correction_that_was_not_understood_is_put_right_itself(tmp_path):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", "no, 99 o'clock or so", "no, 10:15")
    assert "<2026-11-20 Fri 10:15>" in files["inbox.org"], answers


@pytest.mark.parametrize("said", ["not 9.30 but 10.30", "10.30, not 9.30", "it is at 10.30, not 9.30", "no, not at 9.30, at 10.30", "nein, nicht um 9.30 sondern um 10.30", "10:30 not 9:30"])
def test_an_hour_with_a_point_beside_the_wrong_one(tmp_path, said):
    answers, files = play(tmp_path, {}, "dentist friday 9:30", said)
    assert "<2026-11-20 Fri 10:30>" in files["inbox.org"], answers


@pytest.mark.parametrize("lines, hour", [(("movie saturday 6pm", "make that 6:30"), "18:30"), (("movie saturday 6pm", "no, sunday", "no, 7:15"), "19:15"), (("movie saturday 18:00", "make that 6:30"), "06:30"),
                                         (("dentist monday 4pm", "no, 9:30"), "09:30"), (("dentist monday 9am", "no, 9:30"), "09:30"), (("movie saturday 6pm", "make that 6:30am"), "06:30")])
def test_an_hour_near_one_of_the_afternoon_is_in_the_same_half_of_the_day(tmp_path, lines, hour):
    answers, files = play(tmp_path, {"a.org": "* Films\n"}, *lines)
    assert f"{hour}>" in files["inbox.org"], (answers, files)
