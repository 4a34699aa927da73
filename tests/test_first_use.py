"People who use the program for the first time: what they say, what is written, and that nothing else changes"
import pytest

from test_first_hour import play

SPENT = "* Spent\n| what  | eur |\n|-------+-----|\n| seeds |  12 |\n|-------+-----|\n| total |  12 |\n#+TBLFM: @>$2=vsum(@I..@II)\n"
TWICE = "* Twice\n| a | b |\n|---+---|\n| 1 | 2 |\n#+TBLFM: $2=$1*2\n#+TBLFM: $1=1\n\nafter it\n"


@pytest.mark.parametrize("line, name, text, row, before", [
    ("add a row to Spent: tools, 40", "a.org", SPENT, "| tools |  40 |\n", "|-------+-----|\n| total"),
    ("add to Spent: | tools | 40 |", "a.org", SPENT, "| tools |  40 |\n", "|-------+-----|\n| total"),
    ("add to Spent: tools, 40", "a.org", SPENT.partition("#")[0], "| tools |  40 |\n", "|-------+-----|\n| total"),
    ("add to Twice: 3, 6", "a.org", TWICE.removesuffix("\nafter it\n"), "| 3 | 6 |\n", "#+TBLFM: $2"),
    ("add to Twice: 3, 6", "a.org", TWICE.removesuffix("\nafter it\n").replace("\n", "\r\n"), "| 3 | 6 |\r\n", "#+TBLFM: $2"),
    ("add to Costs: b, 4", "a.md", "# Costs\n\n| what | eur |\n|------|-----|\n| a    | 3   |\n| Sum  | 3   |\n\n## Next\n", "| b    | 4   |\n", "| Sum"),
    ("add to Costs: b, 4", "a.md", "# Costs\n\n| what | eur |\n|------|-----|\n| Sum  | 0   |\n", "| b    | 4   |\n", "| Sum")])
def test_a_row_goes_into_the_table_above_its_formulas_and_its_sum(tmp_path, line, name, text, row, before):
    answers, files = play(tmp_path, {name: text}, line)
    assert (tmp_path / "memex" / name).read_bytes().decode() == text.replace(before, row + before, 1), answers
    assert "as it was" in answers[0]


@pytest.mark.parametrize("formula", ["@4$2=vsum(@2..@3)", "@>$2=@2-@4", "@>>$2=1"])
def test_a_row_that_would_shift_what_a_formula_names_by_its_number_is_left_to_org(tmp_path, formula):
    text = SPENT.replace("|-------+-----|\n| total", "| tools |  40 |\n|-------+-----|\n| total").replace("@>$2=vsum(@I..@II)", formula)
    (answer,), files = play(tmp_path, {"a.org": text}, "add to Spent: pots, 3")
    assert files == {"a.org": text} and "M-S-<down>" in answer


@pytest.mark.parametrize("line, title", [("trage Urlaub vom 1.12. bis 5.12. ein", "Urlaub vom 1.12. bis 5.12."), ("Aufgabe: Urlaub vom 1. bis 5. Dezember", "Urlaub vom 1. bis 5. Dezember"),
                                         ("todo: Urlaub von Dienstag bis Freitag", "Urlaub von Dienstag bis Freitag")])
def test_several_german_days_stay_as_they_were_typed_and_the_first_is_the_date(tmp_path, line, title):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] == f"* TODO {title}\nSCHEDULED: <2026-{'11-24' if 'Dienstag' in line else '12-01'} Tue>\n", answer


@pytest.mark.parametrize("line", ["remind me from 1 dec to 5 dec to water the ferns", "remind me between 1 and 5 december about the ferns", "erinnere mich vom 1.12. bis 5.12. an die Farne"])
def test_a_reminder_of_several_days_is_asked_about(tmp_path, line):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files == {"inbox.org": ""} and "remind me" in answer


def test_a_note_that_would_be_a_task_is_asked_about_and_a_task_says_so_once(tmp_path):
    files = {"a.org": "#+TODO: TODO WAITING | DONE\n"}
    answers, after = play(tmp_path, files, "note: TODO call the bank", "note in a.org: WAITING for Pohl", 'note: "TODO call"')
    assert after == files and "Did you mean “todo: call the bank”?" in answers[0] and "read as a task, WAITING" in answers[1] and "read as a task, TODO" in answers[2]
    answers, after = play(tmp_path / "b", files, "todo in a.org: TODO call the bank by friday")
    assert after["a.org"] == files["a.org"] + "* TODO call the bank\nDEADLINE: <2026-11-20 Fri>\n", answers
