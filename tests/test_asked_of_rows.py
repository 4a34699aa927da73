"Questions that a row, a box or a date answers: who has paid, what was spent, how many nights, when it begins"
import pytest
from test_first_hour import play

DUES = """# Dues

| Name | Amount | Paid |
|---|---|---|
| Tom | 20 | yes |
| Eva | 20 | no |
| Leo | 20 | |
| Ida | 20 | half |
| Anna Berg | 20 | 2026-11-02 |

- [x] Karl paid
- [ ] Marta paid
"""
COSTS = """* Renovation
| Date | What | Kind | Cost |
|---+---+---+---|
| 2026-10-02 | oak | wood | 120.50 |
| 2026-11-03 | pine | wood | 40 |
| 2026-11-04 | wood glue | tools | 8 |
"""
SHIFTS = """* Rota
| Date | Shift | From | To |
|---+---+---+---|
| 2026-11-02 | night | 21:00 | 07:00 |
| 2026-11-20 | early | 06:00 | 14:00 |
* Night shift <2026-11-24 Tue 21:00>--<2026-11-25 Wed 07:00>
* Night shift <2026-11-26 Thu 21:00>--<2026-11-27 Fri 07:00>
"""
NOTES = {"dues.md": DUES, "costs.org": COSTS, "shifts.org": SHIFTS, "people.org": "* Lucy\nLucy has paid for the trip.\n* TODO Pay Uma\n"}


@pytest.mark.parametrize("line, said", [
    ("has Tom paid?", "Yes. Tom |"), ("has Eva paid", "No. Eva |"), ("has Leo paid yet?", "Not as far as the table says"), ("did Ida pay?", "Neither yes nor no"), ("hat Anna Berg schon bezahlt?", "Yes. Anna Berg"),
    ("has Karl paid?", "Yes. “Karl paid”"), ("has Marta paid?", "No. “Marta paid”"), ("has Lucy paid?", "Lucy has paid for the trip")])
def test_whether_somebody_has_paid_is_said_by_their_row(tmp_path, line, said):
    (answer,), files = play(tmp_path, NOTES, line)
    assert answer.startswith(said) or not said.startswith(("Yes", "No")) and said in answer, answer
    assert files["dues.md"] == DUES


def test_who_stands_nowhere_has_neither_a_yes_nor_a_no(tmp_path):
    answers, _ = play(tmp_path, NOTES, "has Uma paid?", "has Zoe paid?", "has Tom paid for the boat?")
    assert not any(answer.startswith(("Yes", "No.")) for answer in answers) and answers[1].startswith("No note mentions “Zoe”"), answers


@pytest.mark.parametrize("line, said", [
    ("how much have I spent on wood", "costs.org: 160.50,"), ("how much did we spend on wood in october?", "costs.org: 120.50,"), ("wie viel habe ich für wood ausgegeben", "costs.org: 160.50,"),
    ("how many nights this month", "2 called"), ("how many night shifts next week", "2 called"), ("how many nights this month", "1 row of tables"), ("what time do I start tomorrow", "early | 06:00"),
    ("wann fange ich morgen an", "early | 06:00"), ("what time do I start work on tuesday?", "21:00 Night shift")])
def test_what_a_row_or_a_date_answers(tmp_path, line, said):
    (answer,), files = play(tmp_path, NOTES, line)
    assert said in answer and files["costs.org"] == COSTS, answer


@pytest.mark.parametrize("line", ["which recipes have chickpeas", "which recipes contain chickpeas?", "what recipes have chickpeas in them", "welche recipes haben chickpeas"])
def test_which_pages_of_a_folder_mention_something_is_looked_for(tmp_path, line):
    (answer,), _ = play(tmp_path, {"recipes/curry.md": "# Curry\n- chickpeas\n", "recipes/soup.md": "# Soup\n- lentils\n"}, line)
    assert answer.startswith("1 section") and "recipes/curry.md" in answer, answer


@pytest.mark.parametrize("line, said", [("highest sys", "150 is the highest of 3"), ("what was the lowest pulse this week?", "69 is the lowest of 3"), ("average sys", "143.33 on average, of 3"), ("average of test 1 in marks", "3 on average, of 2"),
                                        ("what is test 1 of Leo", "4, in marks.org:4"), ("Leo's oral", "3, in marks.org:4"), ("durchschnitt sys", "143.33 on average")])
def test_extremes_averages_and_cells_of_tables(tmp_path, line, said):
    notes = {"mum.org": "* Pressure\n| Date | Sys | Pulse |\n|---+---+---|\n| 2026-11-17 | 142 | 71 |\n| 2026-11-18 | 150 | 80 |\n| 2026-11-19 | 138 | 69 |\n",
             "marks.org": "* Marks\n| Student | Test 1 | Oral |\n|---+---+---|\n| Leo | 4 | 3 |\n| Mira | 2 | 1 |\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert said in answer and files == notes, answer


TILL = {"till.md": "# Till\n\n| date | for | in | out |\n|---|---|---:|---:|\n| 2026-10-05 | rent | | 85.00 |\n| 2026-11-02 | donation, Hartl | 150.00 | |\n| 2026-11-05 | rent | | 85.00 |\n| 2026-11-12 | coffee | | 23.40 |\n\n- [ ] receipt 📅 2026-11-20\n"}


@pytest.mark.parametrize("line, says, hasnt", [
    ("total out in november", "108.40 in the column “out” in November 2026, from 2 rows", "2026-10-05"), ("how much did we spend this month", "108.40 in the column “out”", "150"), ("how much came in this month", "150.00 in the column “in”", "85"),
    ("how much did we spend on coffee", "23.40, in the rows with “coffee”", "150"), ("how much have I spent on rent in november", "85.00, in the rows with “rent”", "2026-10-05"), ("how many donations this year", "1 row of tables with “donations”", "receipt"),
    ("how many geese this week", "", "receipt")])
def test_what_came_in_and_went_out_is_added_for_the_days_that_are_asked_about(tmp_path, line, says, hasnt):
    (answer,), files = play(tmp_path, TILL, line)
    assert says in answer and hasnt not in answer and files == TILL, answer


MONTHLY = {"dues.md": "# Dues\n| Name | Oct | Nov |\n|---|---|---|\n| Tom | x | |\n| Eva | x | 3.11. |\n", "pay.org": "* Payments\n| Date | Who | Amount |\n|---+---+---|\n| 2026-10-02 | Tom | 20 |\n| 2026-10-03 | Eva | 20 |\n| 2026-11-02 | Eva | 20 |\n",
           "trips.org": "| Date | What | Amount |\n|---+---+---|\n| 2026-11-02 | train | 20 |\n"}

@pytest.mark.parametrize("line, says", [("who hasn't paid in november", ("empty for Tom; something stands in it for Eva (3.11.)", "no row with Tom; a row with Eva (2026-11-02)")), ("who has paid for october?", ("for Tom (x), Eva (x); empty for nobody", "a row with Eva (2026-10-03), Tom (2026-10-02)")),
                                        ("who didn't pay last month", ("empty for nobody", "no row with nobody")), ("wer hat im november noch nicht bezahlt", ("empty for Tom", "no row with Tom"))])
def test_who_has_nothing_in_a_month_is_told_by_its_column_or_its_rows(tmp_path, line, says):
    (answer,), files = play(tmp_path, MONTHLY, line)
    assert all(each in answer for each in says) and "trips" not in answer and files == MONTHLY, answer


BILLS = {"bills.md": "# Invoices\n| No | Client | Amount | Paid |\n|---|---|---|---|\n| 41 | Lumen | 630 | 2026-10-01 |\n| 42 | Lumen | 1120 | |\n| 43 | Kaya | 240 | |\n| 44 | Orsola | 90 | half |\n"}

@pytest.mark.parametrize("lines, says", [(("which invoices are unpaid",), ("42, 43, of 4", "42 | Lumen | 1120", "44 (“half”)")), (("which invoices are unpaid", "how much is that in total"), ("1360, in 2 of 4 rows",)), (("which invoices are paid", "and how much is that"), ("630, in 1 of 4",)),
                                         (("how much does lumen owe me",), ("1120, in the rows with “lumen” that are not paid",)), (("how much does lumen owe",), ("1120",)), (("how much is unpaid",), ("1360",))])
def test_what_is_unpaid_is_told_with_its_rows_and_added_up(tmp_path, lines, says):
    answers, files = play(tmp_path, BILLS, *lines)
    assert all(each in answers[-1] for each in says) and files == BILLS, answers


RUNS = {"runs.md": "# Runs\n| Date | Km | Shoes |\n|---|---|---|\n| 2026-10-30 | 30 | Ghost |\n| 2026-11-02 | 8.2 | Pegasus |\n| 2026-11-17 | 12 | Ghost |\n| 2026-11-18 | 5 | Pegasus |\n",
        "hens.md": "| Date | Eggs | Donation |\n|---|---|---|\n| 2026-11-17 | 3 | 20 |\n| 2026-11-18 | 4 | 5 |\n"}

@pytest.mark.parametrize("line, says", [("how many km this week", "17 in the column “km”"), ("how many km did i run in november", "25.2 in the column"), ("how many km on the ghosts", "42 in the column “km” in the rows with “ghosts”"), ("total km for ghost in november", "12 in the column"),
                                        ("how many eggs this week", "7 in the column “eggs”"), ("how many eggs did we get yesterday", "4 in the column")])
def test_a_unit_that_is_a_column_is_added_up(tmp_path, line, says):
    (answer,), _ = play(tmp_path, RUNS, line)
    assert says in answer, answer


@pytest.mark.parametrize("line", ["how many donations this week", "how many runs this week", "how many km in march", "how many shoes this week"])
def test_what_a_column_does_not_count_is_not_added_up(tmp_path, line):
    (answer,), _ = play(tmp_path, RUNS, line)
    assert "in the column" not in answer, answer


def test_of_a_table_on_each_page_one_number_comes_first_and_what_follows_a_name_is_read_from_its_colons(tmp_path):
    pages = {f"daily/2026-11-{day:02}.md": f"# Day\n| Time | Steps |\n|---|---|\n| 9:00 | {day} |\n\nIt was good [sleep:: {day % 3 + 6}]. - mood :: fine\n" for day in range(1, 19)}
    answers, _ = play(tmp_path, pages, "average steps", "sum of steps", "average sleep", "highest sleep this week")
    assert answers[1].endswith("sum of steps in daily/2026-11-18.md") and answers[0].startswith("All 18 tables together: 9.5 on average, of 18 numbers.") and answers[1].startswith("All 18 tables together: 171, from 18 rows.")
    assert answers[2].startswith("7 on average, of 18 numbers, from the pages of 18 days.") and answers[3].startswith("8 is the highest of 3"), answers
