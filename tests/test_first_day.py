"A whole day with other people's folders: what they say between the requests that everybody makes"
import pytest

from test_first_hour import play

GRAPH = {"journals/2026_11_18.md": "- Met [[Tom]]\n\t- he lends me [[Dune]]\n- TODO order seeds\n- DONE call mum\n- lunch #garden\n\t- with [[Project Garden]]\n",
         "journals/2026_11_19.md": "- TODO buy bread\n", "pages/Project Garden.md": "- beds\n", "pages/Tom.md": "alias:: Tommy\n\n- neighbour\n"}


@pytest.mark.parametrize("line", ["show dune", "what about dune"])
def test_a_word_that_the_notes_have_is_no_slip_for_another(tmp_path, line):
    (answer,), _ = play(tmp_path, GRAPH, line)
    assert "Nothing is on" not in answer and "due" not in answer.replace("dune", "")


@pytest.mark.parametrize("line", ["create note Projects/Party.md: balloons", "new note Projects/Party.md: balloons", "add a note Projects/Summer Party.md: balloons"])
def test_a_note_goes_into_the_file_that_stands_in_front_of_its_words(tmp_path, line):
    answers, files = play(tmp_path, {"Projects/Offsite.md": "# x\n"}, line)
    assert "balloons" in files.get("Projects/Party.md", "") + files.get("Projects/Summer Party.md", "") and "inbox.md" not in files, answers


def test_who_puts_more_on_a_list_in_german_is_not_quoted(tmp_path):
    answers, files = play(tmp_path, {"Einkaufsliste.md": "# Einkaufsliste\n- [ ] Milch\n"}, "Butter auf die Einkaufsliste", "Setze Käse und Wurst auf die Einkaufsliste")
    assert "- [ ] Käse" in files["Einkaufsliste.md"] and "Setze" not in answers[1] + files["Einkaufsliste.md"], answers


@pytest.mark.parametrize("line", ["add sunscreen and a hat to the packing list", "put sunscreen and the hat on the packing list"])
def test_two_things_with_an_article_are_two_items(tmp_path, line):
    answers, files = play(tmp_path, {"a.md": "# Packing list\n- [ ] socks\n"}, line)
    assert files["a.md"].count("- [ ]") == 3, answers


@pytest.mark.parametrize("line", ["notes tagged work/offsite", "show notes tagged #work/offsite", "tasks tagged work/offsite", "notes tagged to-read"])
def test_a_tag_may_have_a_slash_or_a_dash(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.md": "---\ntags: [work/offsite, to-read]\n---\n# Plan\n- [ ] bus\n"}, line)
    assert "a.md" in answer, answer


@pytest.mark.parametrize("line", ["what tasks are open in offsite", "which tasks are still open for offsite", "what todos are open in the offsite"])
def test_which_tasks_are_open_there(tmp_path, line):
    (answer,), _ = play(tmp_path, {"Offsite.md": "# Offsite\n- [ ] bus\n", "b.md": "- [ ] milk\n"}, line)
    assert "bus" in answer and "milk" not in answer, answer


@pytest.mark.parametrize("line", ["buy shoes done", "pick up the parcel finished", "Buy shoes, done"])
def test_what_is_done_is_offered_whatever_its_first_word_is_without_is(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Buy shoes\n* TODO Pick up the parcel\n"}, line, "yes")
    assert files["a.org"].count("* DONE") == 1, answers
