"A whole day with other people's folders: what they say between the requests that everybody makes"
import asyncio
import re
import time
from datetime import date

import pytest

from test_first_hour import play
from passepartout.agent import Agent
from passepartout.reflex.grammar import understand
from passepartout.reflex.lookups import Surroundings

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


@pytest.mark.parametrize("line", ["read yesterday's journal", "read the journal of yesterday", "journal of yesterday", "zeige das Tagebuch von gestern"])
def test_the_page_of_a_day_is_shown_whole(tmp_path, line):
    (answer,), _ = play(tmp_path, GRAPH, line)
    assert "lunch #garden" in answer and "order seeds" in answer and "call mum" in answer, answer


@pytest.mark.parametrize("line", ["what did I do this week?", "what did I finish this week", "what did I do yesterday"])
def test_a_turn_of_what_repeats_was_done_too(tmp_path, line):
    notes = {"a.org": "* TODO Water the ficus\nSCHEDULED: <2026-11-21 Sat .+3d>\n:LOGBOOK:\n- State \"DONE\"       from \"TODO\"       [2026-11-18 Wed 19:03]\n:END:\n* TODO Other\nSCHEDULED: <2026-11-18 Wed +1w>\n"}
    (answer,), _ = play(tmp_path, notes, line)
    assert "ficus" in answer and "Other" not in answer, answer


def test_a_page_that_is_called_so_is_among_those_to_rename(tmp_path):
    notes = {"People/Maria Lopez.md": "---\nemail: x\n---\nLikes oat milk.\n\n### Phone\n1\n", "Daily.md": "- [ ] Email [[Maria Lopez]] about it\n"}
    (answer,), _ = play(tmp_path, notes, "rename Maria Lopez to Maria López")
    assert "People/Maria López.md" in answer or "People/Maria Lopez.md:1" in answer, answer


@pytest.mark.parametrize("line", ["how old is Opa", "wie alt ist Opa?"])
def test_a_date_of_birth_that_comes_every_year_says_how_old(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* Geburtstage\n** Opa\n<1941-12-05 Fri +1y>\n** Wedding day\n<2001-05-05 Sat +1y>\n"}, line)
    assert "84" in answer, answer


def test_nothing_found_is_told_in_the_words_that_were_asked_for(tmp_path):
    (answer,), _ = play(tmp_path, {"a.org": "* x\n"}, "find Überweisung")
    assert "Überweisung" in answer, answer


def test_a_german_day_stays_german(tmp_path):
    notes = {"a.org": "* TODO Strom\nDEADLINE: <2026-12-01 Di>\n* TODO Treppe\nSCHEDULED: <2026-11-21 Sa +1w>\n"}
    answers, files = play(tmp_path, notes, "postpone strom to 4 december", "done treppe")
    assert "DEADLINE: <2026-12-04 Fr>" in files["a.org"] and "SCHEDULED: <2026-11-28 Sa +1w>" in files["a.org"], answers


def test_what_links_to_a_page_is_not_the_task_before_it(tmp_path):
    (answer,), _ = play(tmp_path, GRAPH, "what links to Project Garden")
    assert "call mum" not in answer and "2026_11_18.md" in answer, answer


@pytest.mark.parametrize("line, told", [("rename Maria Lopez to Maria L", "Renamed People/Maria Lopez.md to People/Maria L.md"), ("rename Bo to Bob", "Renamed “Bo” in People/Bo.md")])
def test_the_only_section_of_a_page_does_not_take_its_new_name(tmp_path, line, told):
    notes = {"People/Maria Lopez.md": "Likes oat milk.\n\n### Phone\n1\n", "People/Bo.md": "# Bo\nx\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert answer.startswith(told) and any("### Phone" in text for text in files.values()), answer


@pytest.mark.parametrize("line", ["what is in my inbox", "show inbox", "inbox", "was ist im Eingang?"])
def test_the_inbox_is_the_file_that_notes_go_to_also_beside_a_heading_of_that_name(tmp_path, line):
    answers, _ = play(tmp_path, {"gtd.org": "* Inbox\n** TODO Old\n* Other\n", "a.org": "* x\n"}, "todo call Ana", line)
    assert "call Ana" in answers[1], answers


@pytest.mark.parametrize("line", ["priority of paint B", "priority B for paint", "prio b for paint the door", "set the priority of paint to B", "paint the door has priority B"])
def test_a_priority_may_stand_before_or_after_what_has_it(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Paint the door\n"}, line)
    assert files["a.org"] == "* TODO [#B] Paint the door\n", answers


@pytest.mark.parametrize("line", ["Wann ist mein Zahnarzttermin?", "wann habe ich den Zahnarzttermin", "Wann ist der nächste Zahnarzt-Termin?"])
def test_a_german_appointment_is_found_by_whom_it_is_with(tmp_path, line):
    (answer,), _ = play(tmp_path, {"Arzt.md": "# Arzttermine\n\n- Zahnarzt Dr. Müller: 3.12.2026 um 14:30\n"}, line)
    assert "3.12.2026" in answer, answer


@pytest.mark.parametrize("line", ["Was brauche ich für Käsekuchen?", "was brauchen wir für den Käsekuchen"])
def test_what_is_needed_for_a_recipe_is_looked_up(tmp_path, line):
    (answer,), _ = play(tmp_path, {"Rezepte.md": "# Rezepte\n\n## Käsekuchen\n500 g Quark\n"}, line)
    assert "Quark" in answer, answer


DAYS = {"Daily/2026-11-17.md": "# Tuesday\n", "Daily/2026-11-18.md": "# Wednesday\n", "Templates/Daily.md": "# x\n"}

@pytest.mark.parametrize("line, written", [("add a task to today's note: buy milk", "- [ ] buy milk\n"), ("todo in today's note: buy milk by friday", "- [ ] buy milk 📅 2026-11-20\n"), ("add todo to my daily note: buy milk", "- [ ] buy milk\n"),
                                           ("add a task to my journal: buy milk", "- [ ] buy milk\n"), ("todo buy milk in my daily note", "- [ ] buy milk\n"), ("add buy milk to today's note", "## buy milk\n"), ('put "buy milk" into my daily note', "## buy milk\n")])
def test_what_is_meant_for_the_page_of_today_is_there_and_has_no_name_of_a_page_in_its_title(tmp_path, line, written):
    answers, files = play(tmp_path, DAYS, line)
    assert files.get("Daily/2026-11-19.md") == written and "inbox.md" not in files, answers


@pytest.mark.parametrize("line", ["open daily note", "show my daily note", "what's in today's note?", "new daily note", "create today's note"])
def test_the_daily_note_is_that_of_today_and_no_template(tmp_path, line):
    (before,), _ = play(tmp_path / "a", DAYS, line)
    (after,), _ = play(tmp_path / "b", DAYS | {"Daily/2026-11-19.md": "- sunny\n"}, line)
    assert "journal" in before and "sunny" in after and "Templates" not in before + after, (before, after)


def test_a_page_of_a_day_may_bear_its_weekday(tmp_path):
    answers, files = play(tmp_path, {"Daily/2026-11-17 Tuesday.md": "# x\n", "Daily/2026-11-18 Wednesday.md": "# y\n"}, "journal: slept well", "show yesterday's note")
    assert "Daily/2026-11-19 Thursday.md" in files and "# y" in answers[1], answers


@pytest.mark.parametrize("line, title, day", [
    ("Zahnarzttermin am Freitag um 9", "Zahnarzttermin", "2026-11-20 Fri 09:00"), ("übermorgen 9:15 Arzttermin", "Arzttermin", "2026-11-21 Sat 09:15"), ("übermorgen Friseur um 10", "Friseur", "2026-11-21 Sat 10:00"),
    ("am 3.12. Elternabend um 19:30", "Elternabend", "2026-12-03 Thu 19:30"), ("nächsten Dienstag Friseur um 10", "Friseur", "2026-11-24 Tue 10:00"), ("heute Friseur um 10", "Friseur", "2026-11-19 Thu 10:00"),
    ("morgen Besprechung von 9 bis 11", "Besprechung", "2026-11-20 Fri 09:00-11:00"), ("lunch with Ana next week on tuesday at 12", "lunch with Ana", "2026-11-24 Tue 12:00"), ("todo call Ana tuesday next week", "call Ana", "2026-11-24 Tue")])
def test_a_day_around_a_task_is_its_day_and_no_part_of_its_title(tmp_path, line, title, day):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line)
    assert files.get("inbox.org") == f"* TODO {title}\nSCHEDULED: <{day}>\n", answers


def test_an_hour_after_a_week_is_none_of_today(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, "nächste Woche Friseur um 10")
    assert set(files) == {"a.org"} and "today" not in answers[0], answers


def test_what_is_put_off_to_a_day_of_next_week_goes_there(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* TODO Dentist\nSCHEDULED: <2026-11-20 Fri 15:00>\n"}, "push the dentist to next week Tuesday")
    assert "<2026-11-24 Tue 15:00>" in files["a.org"], answers


MAC = "Tagebu\u0308cher.md"                        # as a Mac writes it: the letter and its two dots apart

@pytest.mark.parametrize("line", ["note in Tageb\u00fccher.md: hei\u00df", "todo hei\u00df in Tageb\u00fccher.md", "note in \"Tageb\u00fccher.md\": hei\u00df", "note in Mein Caf\u00e9/x.md: hei\u00df"])
def test_a_name_with_an_accent_means_the_file_that_has_it_however_it_is_written(tmp_path, line):
    notes = {MAC: "# A\n", "Mein Cafe\u0301/x.md": "# B\n"}
    answers, files = play(tmp_path, notes, line)
    assert set(files) == set(notes) and "hei\u00df" in "".join(files.values()), answers


@pytest.mark.parametrize("line, told", [("read Tageb\u00fccher.md", "# A"), ("read Caf\u00e9 Rom.md", "# B"), ("what is in \u65e5\u8a18", "\u725b\u4e73"), ("what's in plan?", "tiles, in two colours"), ("what is in the plan", "tiles, in two colours")])
def test_a_file_is_shown_by_its_name(tmp_path, line, told):
    notes = {MAC: "# A\n", "Cafe\u0301 Rom.md": "# B\n", "\u65e5\u8a18.md": "- [ ] \u725b\u4e73\u3092\u8cb7\u3046\n", "Plan.md": "# Goals\n- tiles, in two colours\n", "b.md": "# About the plan\nnothing\n"}
    (answer,), _ = play(tmp_path, notes, line)
    assert told in answer, answer


def test_a_note_whose_name_has_an_accent_is_renamed(tmp_path):
    answers, files = play(tmp_path, {MAC: "# A\n", "b.md": "[[Tagebu\u0308cher]]\n"}, "rename Tageb\u00fccher.md to Diary.md")
    assert files == {"Diary.md": "# A\n", "b.md": "[[Diary]]\n"}, answers


@pytest.mark.parametrize("line, offered", [("today I ran 5 km", "note: today I ran 5 km"), ("yesterday I met Paul", "note: yesterday I met Paul"), ("Paul called today", "note: Paul called today"), ("I'm feeling great today", "note: I'm feeling great today"),
                                           ("I ran 10 km on Sunday", "todo I ran 10 km on Sunday"), ("we are meeting Ana tomorrow", "todo we are meeting Ana tomorrow"), ("lunch with Paul today at noon", "")])
def test_what_is_told_of_a_day_gone_by_is_offered_as_a_note(tmp_path, line, offered):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line, "yes")
    assert not offered or f"“{offered}”" in answers[0], answers
    assert ("TODO" in files["inbox.org"]) == (not offered.startswith("note")), files


@pytest.mark.parametrize("line, told", [("how do I take a backup?", "passepartout backup"), ("back up my notes", "passepartout backup"), ("how do I restore a backup?", "passepartout restore"), ("wie mache ich ein Backup?", "passepartout backup"),
                                        ("how do I quit?", "/quit"), ("wie komme ich hier raus?", "/quit"), ("how do I change the folder of my notes?", "configure --memex")])
def test_what_is_a_command_of_its_own_is_named(tmp_path, line, told):
    (answer,), _ = play(tmp_path, {"a.org": "* Backup\nof the notes\n"}, line)
    assert told in answer, answer


@pytest.mark.parametrize("line", ["what did I add today?", "what did I create today", "which notes did I write this week"])
def test_what_was_added_is_what_changed(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* x\n"}, line)
    assert "was changed" in answer, answer


@pytest.mark.parametrize("line, there, absent", [("what links to Maria", ("a.md",), ("b.md",)), ("what links to Maria Lopez", ("b.md",), ("a.md",)), ("what links to Roof", ("c.md",), ()), ("what links to Lisbon", ("d.md",), ())])
def test_what_links_to_a_page_is_no_link_to_one_whose_name_goes_on(tmp_path, line, there, absent):
    notes = {"Maria.md": "# Maria\n", "Maria Lopez.md": "# Maria Lopez\n", "Roof offers.md": "x\n", "a.md": "see [[Maria]]\n", "b.md": "see [[Maria Lopez]]\n", "c.md": "see [[Roof offers]]\n", "d.md": "see [[lisbon]]\n"}
    (answer,), _ = play(tmp_path, notes, line)
    assert all(f"{name}:1" in answer for name in there) and not any(f"{name}:1" in answer for name in absent), answer


HAS = {"a.org": "* TODO Renew passport\n* Dentist\n<2026-11-23 Mon 09:30>\n* DONE Paint\n* Ana Pereira\n:PROPERTIES:\n:EMAIL: a@b.org\n:END:\n"}

@pytest.mark.parametrize("line, written", [("renew passport tomorrow", "SCHEDULED: <2026-11-20 Fri>"), ("renew passport by friday", "DEADLINE: <2026-11-20 Fri>"), ("dentist is on wednesday at 9", "<2026-11-25 Wed 09:00>"), ("Ana's birthday is 12 February 1988", ":BIRTHDAY: 1988-02-12")])
def test_what_is_there_already_gets_the_day_and_no_second_one_is_made(tmp_path, line, written):
    answers, files = play(tmp_path, HAS, line, "yes")
    assert set(files) == {"a.org"} and written in files["a.org"], (answers, files)


@pytest.mark.parametrize("line", ["paint tomorrow", "renew the visa tomorrow"])
def test_what_is_done_or_not_there_is_a_new_task(tmp_path, line):
    answers, files = play(tmp_path, HAS, line)
    assert f"“todo {line}”" in answers[0] and files == HAS, answers


@pytest.mark.parametrize("line", ["ich habe die Heizung entlüftet", "die Heizung ist entlüftet", "Heizung entlüftet", "Heizung ist überprüft", "I called the heating company"])
def test_what_was_done_is_offered_where_it_is_there(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Heizung entlüften\n* TODO Heating company\n"}, line, "ja")
    assert files["a.org"].count("* DONE") == 1, answers


@pytest.mark.parametrize("line", ["I called mum", "ich habe den Zaun verkauft", "der Bericht", "heute Oma angerufen"])
def test_what_was_done_is_not_offered_where_it_is_not_there(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO Paint\n"}, line)
    assert "Did you mean “done" not in answer, answer


@pytest.mark.parametrize("line, after", [("die Milch ist gekauft", "* L\n- [X] Milch\n* TODO Treppe\n"), ("Treppe hat Priorität A", "* L\n- [ ] Milch\n* TODO [#A] Treppe\n"), ("setze die Priorität von Treppe auf B", "* L\n- [ ] Milch\n* TODO [#B] Treppe\n")])
def test_more_german_edits(tmp_path, line, after):
    answers, files = play(tmp_path, {"a.org": "* L\n- [ ] Milch\n* TODO Treppe\n"}, line)
    assert files["a.org"] == after, answers


def test_where_another_archive_is_named_the_way_there_can_be_said(tmp_path):
    notes = {"todo.org": "#+ARCHIVE: old/done.org::* Old\n* DONE Pay the bill\n* TODO Go to the bank\n", "old/done.org": "* Old\n"}
    (answer,), files = play(tmp_path / "a", notes, "archive pay the bill")
    words = answer.partition("in words, ")[2].partition(". Nothing")[0]
    assert files == notes and words == "move Pay the bill to old/done.org", answer
    answers, files = play(tmp_path / "b", notes, words, 'move "Go to the bank" to old/done.org')
    assert files["todo.org"] == "#+ARCHIVE: old/done.org::* Old\n" and files["old/done.org"] == "* Old\n* DONE Pay the bill\n* TODO Go to the bank\n", answers


@pytest.mark.parametrize("notes, line, after", [
    ({"a.md": "# T\n\n## Ideas\n- Lisbon\n- Porto\n\n## More\nx\n"}, "add Rome to Ideas", "# T\n\n## Ideas\n- Lisbon\n- Porto\n- Rome\n\n## More\nx\n"), ({"a.md": "# T\n## Ideas\n* Lisbon\n"}, "add item Rome to Ideas", "# T\n## Ideas\n* Lisbon\n* Rome\n"),
    ({"a.org": "* Ideas\n  - Lisbon\n* x\n"}, "add Rome to Ideas", "* Ideas\n  - Lisbon\n  - Rome\n* x\n"), ({"a.md": "# T\n## Ideas\n- Rome\n"}, "add rome to ideas", "# T\n## Ideas\n- Rome\n"),
    ({"a.md": "# T\n## Ideas\n- [ ] Lisbon\n"}, "add Rome to Ideas", "# T\n## Ideas\n- [ ] Lisbon\n- [ ] Rome\n"), ({"a.md": "# T\n## Ideas\n```\n- Lisbon\n```\n"}, "add Rome to Ideas", "# T\n## Ideas\n```\n- Lisbon\n```\n")])
def test_a_list_without_boxes_gets_a_line_without_one(tmp_path, notes, line, after):
    answers, files = play(tmp_path, notes, line)
    assert list(files.values()) == [after], answers


@pytest.mark.parametrize("line, written", [("at 13:00", "26 Thu 13:00"), ("cancel it", "* CANCELLED"), ("make it high priority", "[#A] lunch"), ("move it to 2 december", "<2026-12-02 Wed 12:00>")])
def test_it_is_the_one_that_a_question_back_named_with_its_place(tmp_path, line, written):
    notes = {"a.org": "#+TODO: TODO | DONE CANCELLED\n* TODO lunch with Sara\nSCHEDULED: <2026-11-25 Wed 12:00>\n"}
    answers, files = play(tmp_path, notes, "when is lunch with Sara?", "move it to thursday", line)
    assert "Thursday is today" in answers[1] and written in files["a.org"], answers


@pytest.mark.parametrize("notes, name", [({"a.md": "# A\n"}, "Mum"), ({"a.md": "# A\n"}, "Aunt Jo"), ({"a.org": "* A\n"}, "Mum"), ({"journals/2026_11_18.md": "- x\n", "pages/a.md": "- y\n"}, "Mum")])
def test_a_birthday_can_be_told_by_what_the_answers_say(tmp_path, notes, name):
    (answer,), _ = play(tmp_path / "a", notes, f"{name}'s birthday is on 3 May")
    begin = answer.partition("for example: ")[2].partition(". Then")[0]
    answers, files = play(tmp_path / "b", notes, begin, f"{name}'s birthday is on 3 May", "yes", f"when is {name}'s birthday?")
    assert "3 May" in answers[3] and "could not" not in "".join(answers), answers


@pytest.mark.parametrize("line", ["add{}x", "put a task{}", "todo{}x to today's note", "new{}daily", "today I ran{}", "übermorgen{}um 10", "what is in{}x", "how do I{}quit"])
def test_a_request_of_many_blanks_is_read_in_moments(line):
    begun = time.thread_time()
    understand(line.format(" " * 1_900), date(2026, 11, 19), Surroundings())
    assert time.thread_time() - begun < 5


def test_a_long_task_for_today_is_not_cut(tmp_path):
    text = "milk " * 500
    _, files = play(tmp_path, {"journal/2026-11-18.md": "# x\n"}, f"add a task to today's note: {text}end")
    assert "milk end" in files["journal/2026-11-19.md"], files.keys()


HOUSE = {"house.org": "* TODO Dentist\nSCHEDULED: <2026-11-20 Fri 09:30>\n* TODO Fix the roof\n* Shopping list\n- [ ] milk\n"}

@pytest.mark.parametrize("line, done, added, told", [
    ("mark the dentist done; what's left?", True, [], "TODO Fix the roof"), ("done dentist, what's next?", True, [], "Nothing that has an hour"), ("mark the dentist as done. And what is left? Thanks!", True, [], "all open tasks (1)"),
    ("done dentist then show me what's left", True, [], "all open tasks (1)"), ("done dentist, done roof; what's left?", True, [], "Nothing is open."),
    ("todo eggs and what is due tomorrow?", False, ["eggs"], "09:30"), ("todo milk; todo bread; what's left?", False, ["milk", "bread"], "TODO bread"), ("what is due tomorrow? todo eggs", False, ["eggs"], "09:30"),
    ("todo Eier und was ist morgen fällig?", False, ["Eier"], "09:30"), ("todo eggs, and what's on the shopping list?", False, ["eggs"], "- [ ] milk")])
def test_a_change_and_a_question_in_one_line_are_both_answered(tmp_path, line, done, added, told):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert ("* DONE Dentist" in files["house.org"]) is done and told in answer, answer
    assert re.findall(r"^\* TODO (.*)", files.get("inbox.org", ""), re.M) == added and "left" not in files.get("inbox.org", ""), files


@pytest.mark.parametrize("line, said", [("done dentist; is the roof done?", "“is the roof done?” is not a question"), ("done dentist; what's the capital of France?", "so nothing was done"), ("done dentits; what's left?", "“done dentits” is not a change"),
                                        ("todo milk; bread; what's left?", "“bread” is not a change")])
def test_what_cannot_be_done_in_one_go_is_said_and_nothing_is_written(tmp_path, line, said):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert said in answer and files == HOUSE


@pytest.mark.parametrize("line", ["todo find out what is left", "todo ask Bo and what is the price of it", "todo see if milk is there; is it?", "todo: milk; what's left?", "note: x; what is due today?", 'todo "milk; what\'s left?"', "todo buy rope and what else is needed"])
def test_a_question_may_stand_in_a_title(tmp_path, line):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert line.partition(" ")[2].strip('"') in files["inbox.org"], answer


def test_two_lists_are_shown_one_below_the_other(tmp_path):
    (answer, both), _ = play(tmp_path, HOUSE, "what is due tomorrow and what's left?", "what is due tomorrow? is the roof done?")
    assert "09:30" in answer and "all open tasks (2)" in answer
    assert "09:30 scheduled       TODO Dentist" in both and both.endswith("\nNo. “Fix the roof” (house.org:3) is TODO")


@pytest.mark.parametrize("line", ['todo ""', "todo “ ”", 'note: ""', 'remind me tomorrow to ""'])
def test_a_title_of_nothing_but_quotation_marks_is_none(tmp_path, line):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert "What shall the" in answer or "Remind you of what?" in answer
    assert files == HOUSE


@pytest.mark.parametrize("line, said", [("what's coming up", "Fri 20 November 2026"), ("what can I do here", "due this week"), ("how many things do i still have to do", "2 tasks."), ("thanks, that's all for now", "Goodbye"), ("danke, das wars", "Goodbye"),
    ("uhm what was that thing with the roof", "Fix the roof"), ("the dentist got cancelled", "“cancel dentist”"), ("i fixed the roof already", "“done roof”"), ("show me what's left", "all open tasks (2)"), ("let me know what is overdue", "Nothing is overdue")])
def test_a_newcomers_other_words(tmp_path, line, said):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert said in answer and files == HOUSE, answer


@pytest.mark.parametrize("line, written", [
    ("on tuesday i have yoga at 6pm", "* TODO yoga\nSCHEDULED: <2026-11-24 Tue 18:00>\n"), ("we've got a meeting with Bo friday at 9", "* TODO meeting with Bo\nSCHEDULED: <2026-11-20 Fri 09:00>\n"), ("todo ring the vet before thursday", "* TODO ring the vet\nDEADLINE: <2026-11-25 Wed>\n"),
    ("can you add checkup jan 12 at 3pm", "* TODO checkup\nSCHEDULED: <2027-01-12 Tue 15:00>\n"), ("remind me every monday morning to put the bins out", "* TODO put the bins out (morning)\nSCHEDULED: <2026-11-23 Mon +1w>\n"),
    ("todo read the morning paper every monday", "* TODO read the morning paper\nSCHEDULED: <2026-11-23 Mon +1w>\n"), ("erinner mich bitte am samstag ans blumen gießen", "* TODO blumen gießen\nSCHEDULED: <2026-11-21 Sat>\n")])
def test_a_newcomers_appointments_are_written_as_they_were_meant(tmp_path, line, written):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert files["inbox.org"] == written and files["house.org"] == HOUSE["house.org"], answer


@pytest.mark.parametrize("line, written", [("change fix the roof to fix the roof and the gutter", "* TODO fix the roof and the gutter\n"), ("give the roof the tag summer", "* TODO Fix the roof :summer:\n"), ("the dentist should be on wednesday instead", "<2026-11-25 Wed 09:30>")])
def test_a_newcomers_changes_are_made(tmp_path, line, written):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert written in files["house.org"], answer


def test_only_a_longer_title_is_a_change_of_title(tmp_path):
    (answer,), files = play(tmp_path, HOUSE, "change fix the roof to waiting for Pohl")
    assert files == HOUSE, answer


@pytest.mark.parametrize("line, said", [("finish the report by end of month", "“todo finish the report by end of month”"), ("finish the roof by friday", "“set the deadline of the roof to"), ("complete the roof before christmas", "“set the deadline of the roof to")])
def test_what_is_to_be_finished_by_a_day_is_not_ticked_off(tmp_path, line, said):
    answers, files = play(tmp_path, HOUSE, line, "yes")
    assert said in answers[0] and "DONE" not in "".join(files.values()) and files != HOUSE, answers


def test_several_that_are_told_as_done_are_offered_together(tmp_path):
    answers, files = play(tmp_path, HOUSE, "dentist done, roof done", "yes")
    assert "“done dentist, done roof”" in answers[0] and files["house.org"].count("* DONE") == 2, answers


def test_in_the_morning_said_in_the_evening_is_the_next_one():
    from datetime import datetime
    at = lambda hour, text: understand(text, date(2026, 11, 19), Surroundings(now=lambda: datetime(2026, 11, 19, hour)))["payload"]
    assert "“todo: take the pills tomorrow morning”" in at(19, "remind me in the morning to take the pills")["text"]
    assert [at(7, "remind me in the morning to take the pills")["tool"], at(19, "remind me this evening to take the pills")["tool"]] == ["org-capture"] * 2
    assert at(9, "remind me again tomorrow to call Ana")["args"]["title"] == "call Ana"


@pytest.mark.parametrize("file, said", [("house.org", "“read house.org from line 3”"), ("my house.org", '“read "my house.org" from line 3”')])
def test_how_to_read_on_is_a_sentence_that_is_understood(tmp_path, file, said):
    answers, _ = play(tmp_path, {file: "* Shopping list\n- [ ] milk\n* More\nlast line\n"}, "what's on the shopping list?", said.strip("“”"))
    assert said in answers[0] and "last line" in answers[1], answers


def test_a_line_with_a_question_goes_on_after_a_yes_in_another_process(tmp_path):
    for name, text in HOUSE.items(): (tmp_path / "memex").mkdir(); (tmp_path / "memex" / name).write_text(text)
    boot = lambda: Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19")
    async def run():
        agent = await boot()
        (waits,) = (asked := await agent.handle("what is due tomorrow? archive the roof; what's left?", session="s")).approvals
        await agent.close()
        again = await boot()
        try: return asked, await again.approve(waits.id, waits.code, session="s")
        finally: await again.close()
    asked, told = asyncio.run(run())
    assert "You asked to tell what is due tomorrow, Friday 20 November 2026, then to archive “Fix the roof” (house.org:3), then to show a list of tasks: open" in asked
    assert "09:30" in told and "Archived “Fix the roof”" in told and "all open tasks (1)" in told, "each in its order, and the first as it was told before"
