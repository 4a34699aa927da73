"A night in one sentence, signs that were dictated as words, and a page that is called Note 5"
import pytest
from test_first_hour import play


@pytest.mark.parametrize("line, title, when", [
    ("night shift tue 21-7", "night shift (until 07:00)", "2026-11-24 Tue 21:00"), ("night shift friday 9pm to 7am", "night shift (until 07:00)", "2026-11-20 Fri 21:00"), ("Nachtschicht Di 21-7 Uhr", "Nachtschicht (bis 07:00)", "2026-11-24 Tue 21:00"),
    ("remind me of the night duty on friday 22-6", "the night duty (until 06:00)", "2026-11-20 Fri 22:00"), ("todo night shift every tuesday 21-7", "night shift (until 07:00)", "2026-11-24 Tue 21:00 +1w")])
def test_a_night_in_one_sentence_is_a_task_that_says_when_it_ends(tmp_path, line, title, when):
    answers, files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] == f"* TODO {title}\nSCHEDULED: <{when}>\n", answers


def test_a_second_night_is_a_second_task(tmp_path):
    _, files = play(tmp_path, {}, "night shift tue 21-7", "night shift friday 9pm to 7am")
    assert files["inbox.org"].count("* TODO night shift (until 07:00)") == 2


@pytest.mark.parametrize("line", ["meeting tue 9-5", "dinner fri 7-1", "move night shift to tue 21-7", "no, tue 21-7"])
def test_what_is_no_night_beyond_doubt_is_not_put_down_as_one(tmp_path, line):
    _, files = play(tmp_path, {"a.org": "* TODO x\n"}, line)
    assert "(until" not in "".join(files.values())


@pytest.mark.parametrize("line, written", [
    ("todo buy milk comma bread and eggs full stop", "* TODO buy milk, bread and eggs\n"), ("note colon call Ana comma then Leo", "* call Ana, then Leo\n"), ("note shopping new line milk new line eggs", "* shopping\nmilk\neggs\n"),
    ("dentist comma friday 2 pm", "* TODO dentist\nSCHEDULED: <2026-11-20 Fri 14:00>\n")])
def test_dictated_signs_are_written_after_a_yes_and_not_before(tmp_path, line, written):
    (asked,), files = play(tmp_path / "a", {}, line)
    assert not files and "Did you mean “" in asked
    answers, files = play(tmp_path / "b", {}, line, "yes")
    assert files == {"inbox.org": written}, answers


@pytest.mark.parametrize("line", ["todo learn the comma rules", "note: comma separated values", "todo order a new line of products", 'note: "milk comma bread"'])
def test_who_writes_about_commas_is_not_asked(tmp_path, line):
    (answer,), files = play(tmp_path, {}, line)
    assert "Did you mean" not in answer and files, answer


def test_a_page_called_note_5_is_asked_about(tmp_path):
    answers, files = play(tmp_path, {"Note 5.md": "# Note 5\nfive\n"}, "note 5", "yes", "note: 5")
    assert "“note 5”" in answers[0] and "five" in answers[1] and files["inbox.md"] == "## 5\n"
    _, files = play(tmp_path / "b", {"x.org": "* Other\n"}, "note 5")
    assert files["inbox.org"] == "* 5\n"


@pytest.mark.parametrize("line, told, day", [("no, thu 21-7", "“move it to 2026-11-26 21:00”", "2026-11-26 Thu"), ("move night shift to thursday 21-7", "to 2026-11-26 21:00”", "2026-11-26 Thu"), ("no, thu 21-6", "The end in its title stays as it is; rename changes it.", "2026-11-26 Thu")])
def test_a_night_moved_to_the_weekday_of_today_is_asked_about_like_any_other(tmp_path, line, told, day):
    answers, files = play(tmp_path, {}, "night shift fri 21-7", line, "yes")
    assert told in answers[1] and answers[1].startswith("Thursday is today") and f"<{day} 21:00>" in files["inbox.org"], answers
