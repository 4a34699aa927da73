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


@pytest.mark.parametrize("line, planned", [("todo pay rent by the 25", "DEADLINE: <2026-11-25 Wed>"), ("todo: oysters the 25 at 9", "SCHEDULED: <2026-11-25 Wed 09:00>"), ("remind me on the 25 to buy oysters", "SCHEDULED: <2026-11-25 Wed>"),
                                           ("Aufgabe: Austern am 25", "SCHEDULED: <2026-11-25 Wed>"), ("todo: Austern bis zum 25", "DEADLINE: <2026-11-25 Wed>"), ("todo: plumber fri 0800", "SCHEDULED: <2026-11-20 Fri 08:00>"),
                                           ("todo read Novak 2019 every friday at 16", "SCHEDULED: <2026-11-20 Fri 16:00 +1w>"), ("todo oil filter every 6m from 1.12.", "SCHEDULED: <2026-12-01 Tue +6m>")])
def test_a_short_day_is_a_day(tmp_path, line, planned):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"].splitlines()[1] == planned and len(files["inbox.org"].splitlines()) == 2, answer


@pytest.mark.parametrize("line, offer", [("todo: buy oysters the 25", "todo: buy oysters on the 25"), ("todo: pay rent by 25", "todo: pay rent by the 25"), ("todo: call the plumber fri", "todo: call the plumber on friday"),
                                         ("todo: the friday after next call Ana", "todo: call Ana the friday after next"), ("todo: the last friday of november call Ana", "todo: call Ana the last friday of november")])
def test_what_may_be_a_day_is_offered_as_one(tmp_path, line, offer):
    answers, files = play(tmp_path, {"inbox.org": ""}, line, "yes")
    assert f"Did you mean “{offer}”?" in answers[0] and files["inbox.org"].count(": <2026-1") == 1, answers


@pytest.mark.parametrize("line", ["todo: cake for the 12", "todo: call by 5", "todo: get some sun", "todo: call 0800 1234", "todo: read page 25", "todo: budget friday 2027"])
def test_a_number_that_is_no_day_stays_a_word(tmp_path, line):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] in ("", f"* TODO {line[6:]}\n") and "on the" not in answer and (files["inbox.org"] or "5" in line), answer


def test_the_days_of_a_number_are_listed(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "* Concert <2026-11-25 Wed 19:00>\n"}, "what is due on the 25", "am I free on the 25?", "anything the 25?")
    assert all("Concert" in answer for answer in answers)


def test_the_next_appointment_of_somebody_is_not_the_next_one_of_all(tmp_path):
    answers, _ = play(tmp_path, {"a.md": "# Weber\n\nNext appointment 2026-11-26 10:00.\n", "b.org": "* Dentist <2026-11-20 Fri 09:00>\n"}, "when is Weber's next appointment", "when is my next appointment")
    assert "2026-11-26 10:00" in answers[0] and "Dentist" not in answers[0] and "Dentist" in answers[1]


@pytest.mark.parametrize("line", ["Parents' evening at 19:30", "Parents' evening um 19:30"])
def test_an_hour_alone_is_one_of_the_day_that_the_task_has(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Parents' evening\nDEADLINE: <2026-11-25 Wed>\n"}, line, "yes")
    assert files["a.org"] == "* TODO Parents' evening\nDEADLINE: <2026-11-25 Wed 19:30>\n", answers


@pytest.mark.parametrize("lines", [("Zahnarzt um 15 Uhr", "nein um 16 Uhr"), ("verschiebe Zahnarzt auf 15 Uhr", "nein um 16 Uhr"), ("verschiebe Zahnarzt auf 15 Uhr", "nein, 16 Uhr"), ("verschiebe Zahnarzt auf 15 Uhr", "nein, um vier")])
def test_a_german_no_with_an_hour_keeps_the_day_and_is_no_task(tmp_path, lines):
    answers, files = play(tmp_path, {"a.org": "* TODO Zahnarzt\nSCHEDULED: <2026-11-25 Wed>\n"}, *lines)
    assert files == {"a.org": "* TODO Zahnarzt\nSCHEDULED: <2026-11-25 Wed 16:00>\n"}, answers


def test_no_with_an_hour_and_nothing_before_it_is_no_task(tmp_path):
    answers, files = play(tmp_path, {"a.org": ""}, "nein um 9", "no at 9")
    assert files == {"a.org": ""}, answers


@pytest.mark.parametrize("name, text, after", [
    ("20261101-compost.org", ":PROPERTIES:\n:ID: 9f1e\n:END:\n#+title: Compost\n\nGreen and brown.\n\n* Questions\n- how hot\n", "* turn it in march\n"),
    ("compost.md", "---\ntitle: Compost\n---\nGreen.\n\n## Questions\n- how hot\n", "\n## turn it in march\n"), ("compost.md", "# Compost\n\nGreen.\n", "turn it in march\n"), ("20261101-compost.org", "#+title: Compost\n* Compost\nGreen.\n", "turn it in march\n")])
def test_a_line_for_a_page_goes_under_a_heading_only_if_that_is_its_title(tmp_path, name, text, after):
    (answer,), files = play(tmp_path, {name: text}, "add to compost: turn it in march")
    assert files == {name: text + after}, answer


@pytest.mark.parametrize("text, lines, item", [("* Reading list\n- Okafor\n", ("add Mbeki to the reading list", "and Tanaka", "yes"), "- Mbeki\n- Tanaka\n"), ("* Shopping list\n- [ ] milk\n", ("add milk to the shopping list", "and also eggs", "yes"), "- [ ] eggs\n")])
def test_a_list_goes_on_whatever_kind_of_list_it_is(tmp_path, text, lines, item):
    answers, files = play(tmp_path, {"a.org": text}, *lines)
    assert files == {"a.org": text + item}, answers


@pytest.mark.parametrize("line, after", [("no, monday", "** TODO swimming kit\nDEADLINE: <2026-11-23 Mon>\n"), ("done with it", "** DONE swimming kit\nDEADLINE: <2026-11-20 Fri>\n")])
def test_a_task_below_a_heading_is_what_the_next_sentence_is_about(tmp_path, line, after):
    answers, files = play(tmp_path, {"a.org": "* Mia\n"}, "add a task under Mia: swimming kit by friday", line)
    assert files["a.org"].replace(files["a.org"].partition("CLOSED")[2].partition("] ")[0], "").replace("CLOSED] ", "") == "* Mia\n" + after, answers


def test_of_several_that_were_added_none_is_it(tmp_path):
    answers, files = play(tmp_path, {"a.md": "# Shopping list\n- [ ] milk\n"}, "add eggs, butter and flour to the shopping list", "move it to friday")
    assert "2026" not in files["a.md"] and "Nothing was done" in answers[1], answers


def test_the_inbox_that_begins_is_no_list(tmp_path):
    answers, _ = play(tmp_path, {"a.md": "# A\n"}, "todo call school", "milk, eggs and bread")
    assert "inbox list" not in answers[1]


CLOCKED = """* Alder
:LOGBOOK:
CLOCK: [2026-11-16 Mon 09:00]--[2026-11-16 Mon 10:30] =>  9:99
:END:
** TODO Birch
CLOCK: [2026-11-18 Wed 23:30]--[2026-11-19 Thu 00:15] =>  0:45
CLOCK: [2026-10-30 Fri 10:00]--[2026-10-30 Fri 11:00] =>  1:00
CLOCK: [2026-11-19 Thu 08:00]
* Secret :@private:
CLOCK: [2026-11-16 Mon 09:00]--[2026-11-16 Mon 19:00] => 10:00
"""


@pytest.mark.parametrize("line, hours", [("how long did I work on Alder this week", "2:15"), ("how long did I work this week", "2:15"), ("hours on birch in november", "0:45"), ("how much time did I spend on birch", "1:45"), ("how many hours did I work yesterday", "0:30"),
                                         ("clocktable for october", "1:00"), ("wie lange habe ich diese woche an Alder gearbeitet", "2:15"), ("wie lange habe ich gestern gearbeitet", "0:30"), ("how long did I work in a.org", "3:15")])
def test_what_was_clocked_is_added(tmp_path, line, hours):
    (answer,), _ = play(tmp_path, {"a.org": CLOCKED}, line)
    assert answer.startswith(f"{hours} clocked") and "Secret" not in answer and "archives not counted" in answer and "a.org:8" in answer, answer


def test_where_nothing_is_clocked_it_says_what_would_be(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "* Roof\n"}, "hours on roof in november", "how long did I work on the roof this week", "opening hours on sunday")
    assert all("CLOCK: [2026-11-16 Mon 09:00]--" in answer for answer in answers[:2]) and "CLOCK" not in answers[2]


def commands(args, folder):
    from typer.testing import CliRunner
    from passepartout.terminal.program import build_app
    return CliRunner().invoke(build_app(), [*args], env={"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "MEMEX_DIR": str(folder / "memex"), "COLUMNS": "80", "TERMINAL_WIDTH": "80"})


def test_who_types_a_new_task_after_todo_hears_how_one_is_written(tmp_path):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "a.org").write_text("* TODO Roof\n")
    result = commands(["todo", "buy", "milk"], tmp_path)
    assert result.exit_code == 1 and "passepartout capture --todo buy milk" in result.output, result.output


@pytest.mark.parametrize("group", ["", "approvals", "plans", "gateway", "rules", "skills", "sessions", "jobs", "gate", "journal"])
def test_no_sentence_in_a_list_of_commands_is_cut_off(tmp_path, group):
    told = commands([*filter(None, [group]), "--help"], tmp_path).output.partition("Commands:")[2]
    assert told and not [line for line in told.splitlines() if line.rstrip().endswith("...")], told


@pytest.mark.parametrize("line, has", [("ergänze bei Roof: zinc", "Old.\nzinc\n"), ("füge zu Roof hinzu: zinc", "Old.\nzinc\n"), ("verschiebe Call Ana unter Roof", "** TODO [#B] Call Ana\n"), ("ich habe Call Ana erledigt", "* DONE [#B] Call Ana\n"),
                                       ("priorität von Call Ana auf hoch", "[#A] Call Ana"), ("setze die Priorität von Call Ana auf niedrig", "[#C] Call Ana")])
def test_more_german_orders_are_the_english_ones(tmp_path, line, has):
    (answer,), files = play(tmp_path, {"a.org": "* TODO [#B] Call Ana\n* Roof\nOld.\n"}, line)
    assert has in files["a.org"], answer


@pytest.mark.parametrize("line", ["ich habe heute nichts erledigt", "ich habe alles erledigt", "ich habe noch nicht alles erledigt"])
def test_who_did_nothing_or_everything_ticks_nothing_off(tmp_path, line):
    text = "* TODO nichts\n* TODO alles\n"
    (answer,), files = play(tmp_path, {"a.org": text}, line)
    assert files == {"a.org": text}, answer


@pytest.mark.parametrize("line", ["the dentist is on friday now", "the dentist is on friday instead", "Dentist ist jetzt am freitag", "Dentist verschoben auf freitag"])
def test_what_is_on_another_day_now_is_offered_as_a_move(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Dentist\nSCHEDULED: <2026-11-25 Wed>\n"}, line, "yes")
    assert files["a.org"] == "* TODO Dentist\nSCHEDULED: <2026-11-20 Fri>\n", answers


def test_a_task_that_has_a_word_of_a_list_is_not_that_list(tmp_path):
    notes = {"garden.org": "* TODO Order seed potatoes\nSCHEDULED: <2027-01-11 Mon>\n** Linda again\n"}
    answers, files = play(tmp_path, notes, "add leeks to the seed list", "add item leeks to the seed list")
    assert files == notes and "no list called “seed list”" in answers[0] and "make a list called seed: leeks" in answers[1], answers
    answers, files = play(tmp_path / "b", notes, "add leeks to the seed list", "yes", "and beans", "yes")
    assert files == notes | {"seed.md": "- [ ] leeks\n- [ ] beans\n"}, answers


@pytest.mark.parametrize("lines, not_said", [(("is the fig wrapped",), "done is"), (("both on saturday", "make that sunday"), "todo both"), (("todo prune the fig every february",), "Added")])
def test_what_was_not_meant_is_not_offered(tmp_path, lines, not_said):
    notes = {"a.org": "* TODO Wrap the fig\n"}
    answers, files = play(tmp_path, notes, *lines)
    assert files == notes and not_said not in answers[0], answers


def test_it_is_done_is_said_of_what_was_spoken_about(tmp_path):
    answers, files = play(tmp_path, {"a.md": "- [ ] Dentist 📅 2026-11-25\n"}, "it's done", "when is the dentist", "it's done")
    assert "- [x] Dentist" in files["a.md"] and "a.md to DONE" in answers[2] and "to DONE" not in answers[0], answers


@pytest.mark.parametrize("line, offer", [("Roof quote -> waiting", "mark Roof quote as waiting"), ("Roof quote: waiting", "mark Roof quote as waiting"), ("Roof quote = done", "done Roof quote"), ("Roof quote cancelled", "cancel Roof quote")])
def test_a_state_behind_a_sign_is_offered(tmp_path, line, offer):
    text = "#+TODO: TODO WAITING | DONE CANCELLED\n* TODO Roof quote\n"
    answers, files = play(tmp_path, {"a.org": text}, line, "yes")
    assert f"Did you mean “{offer}”?" in answers[0] and files["a.org"] != text, answers


def test_a_state_of_the_file_needs_no_joint(tmp_path):
    answers, files = play(tmp_path, {"a.org": "#+TODO: TODO WAITING | DONE\n* TODO Roof quote\n"}, "set roof quote waiting")
    assert files["a.org"].endswith("* WAITING Roof quote\n"), answers


@pytest.mark.parametrize("line, planned", [("todo dinner with mum friday 8", "2026-11-20 Fri 20:00"), ("dinner with mum friday 8", "2026-11-20 Fri 20:00"), ("todo draft mon 23", "2026-11-23 Mon"), ("todo shift tue 14", "2026-11-24 Tue 14:00"), ("call the plumber fri", "2026-11-20 Fri")])
def test_a_number_behind_a_weekday_is_asked_about(tmp_path, line, planned):
    answers, files = play(tmp_path, {"inbox.org": ""}, line, "yes")
    assert "Did you mean “todo" in answers[0] and files["inbox.org"].endswith(f"\nSCHEDULED: <{planned}>\n"), answers


def test_a_move_without_its_to_is_offered(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* TODO Dentist\nSCHEDULED: <2026-11-26 Thu>\n"}, "move dentist mon", "yes")
    assert "“move dentist to monday”" in answers[0] and "<2026-11-23 Mon>" in files["a.org"], answers
