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
