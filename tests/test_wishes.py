"Several wishes in one line, and other things that people say in their first hour"
from datetime import date

import pytest
from passepartout.reflex.grammar import exact_form
from test_first_hour import play

HOUSE = {"house.org": "* TODO Dentist\nSCHEDULED: <2026-11-26 Thu>\n* TODO Feed the cat\n* Garden\n", "inbox.org": "* TODO old thing\n"}


def test_wishes_of_three_kinds_are_one_plan(tmp_path):
    (answer,), files = play(tmp_path, HOUSE, "done dentist and note Ana likes tea and show inbox")
    assert "* DONE Dentist" in files["house.org"] and files["inbox.org"].endswith("* Ana likes tea\n") and "inbox.org, lines" in answer, answer


def test_a_wish_that_is_clear_in_other_words_only_is_offered(tmp_path):
    answers, files = play(tmp_path, HOUSE, "call the dentist tomorrow, note that Ana likes tea, and what is due today?", "yes")
    assert "nothing was done yet" in answers[0] and "todo call the dentist tomorrow; note that Ana likes tea; what is due today" in answers[0]
    assert "* TODO call the dentist\nSCHEDULED: <2026-11-20 Fri>\n* Ana likes tea\n" in files["inbox.org"]


def test_the_wish_that_is_in_the_way_is_named_and_the_rest_is_offered(tmp_path):
    answers, files = play(tmp_path / "a", HOUSE, "fly me to the moon and show inbox, done dentist")
    assert "“fly me to the moon” is not clear" in answers[0] and files == HOUSE
    answers, files = play(tmp_path / "b", HOUSE, "add milk to the shopping list and remind me tomorrow to call Ana and done bulbs", "yes")
    assert "call Ana" in files["inbox.org"] and "milk" not in str(files) and files["house.org"] == HOUSE["house.org"], answers


@pytest.mark.parametrize("line, title", [("todo ask Bo and show him the plan", "* TODO ask Bo and show him the plan\n"), ("note Ana likes tea, show her the garden", "* Ana likes tea, show her the garden\n"),
                                         ("todo call the bank and note the number", "* TODO call the bank and note the number\n"), ("note: a, show inbox", "* a, show inbox\n")])
def test_one_wish_with_a_word_of_another_is_one(tmp_path, line, title):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert files["inbox.org"].endswith(title), answer


def test_two_tasks_do_not_become_one_of_both(tmp_path):
    answers, files = play(tmp_path, HOUSE, "call ana tomorrow, pay rent on friday and what's due today", "yes")
    assert files == HOUSE and "not clear" in answers[0], answers


WORK = {"work.org": "* Early shift <2026-11-20 Fri 06:00>\n* Late shift <2026-11-23 Mon 14:00>\n* Night shift <2026-12-02 Wed 22:00>\n* Frühschicht\n<2026-11-24 Tue>\n* TODO Shirt\nSCHEDULED: <2026-11-25 Wed>\n* Choir <2026-11-03 Tue 19:00 +1w>\n"}


@pytest.mark.parametrize("line, number, some", [("how many shifts this month", "2 ", "Late shift"), ("how many late shifts do I have in november?", "1 ", "Late shift"), ("wie viele Schichten habe ich diesen Monat?", "1 ", "Frühschicht"),
                                                ("how many choirs in november", "4 ", "24 November"), ("how many night shifts next week", "None ", "other days"), ("how many shifts do I have in december", "1 ", "Night")])
def test_what_is_called_so_is_counted_on_the_days_that_are_asked_about(tmp_path, line, number, some):
    (answer,), _ = play(tmp_path, WORK, line)
    assert answer.startswith(number) and some in answer and "Shirt" not in answer and len(answer.splitlines()) == 1 + int(number.strip().replace("None", "0")), answer


@pytest.mark.parametrize("line, title", [("todo buy milk !high", "* TODO [#A] buy milk\n"), ("todo !low water ferns friday", "* TODO [#C] water ferns\nSCHEDULED: <2026-11-20 Fri>\n"), ("todo shout !now", "* TODO shout !now\n"), ("todo say !high!", "* TODO say !high!\n")])
def test_a_priority_with_its_sign_is_one_and_other_signs_are_words(tmp_path, line, title):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert files["inbox.org"].endswith(title), answer


def test_the_list_that_was_just_begun_is_it(tmp_path):
    answers, files = play(tmp_path, HOUSE, "add milk to the shopping list", "yes", "what's on it", "add eggs too", "yes", "whats left")
    assert answers[2] == "shopping.md, lines 1-1 of 1:\n- [ ] milk" and files["shopping.md"] == "- [ ] milk\n- [ ] eggs\n" and answers[5].startswith("2 of 2 are open"), answers
    answers, _ = play(tmp_path / "b", HOUSE, "show house.org", "what's left")
    assert "2 of 2 are open" not in answers[1] and "Feed the cat" in answers[1]


@pytest.mark.parametrize("line, shown", [("shwo inbox", "inbox.org, lines"), ("opne garden", "Garden"), ("shw me the inbox", "inbox.org, lines")])
def test_a_misspelt_word_for_showing_shows(tmp_path, line, shown):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert shown in answer and files == HOUSE and "didn't understand" not in answer, answer


def test_no_other_word_is_put_right_as_one_for_showing(tmp_path):
    answers, files = play(tmp_path, HOUSE, "slow garden", "shoe inbox")
    assert files == HOUSE and all("didn't understand" in answer for answer in answers), answers


GERMAN = {"inbox.org": "* TODO Oma anrufen\n* TODO Keller aufräumen\n* TODO Fenster putzen\nSCHEDULED: <2026-11-20 Fri>\n"}


@pytest.mark.parametrize("line, said, now", [("Oma erst am Samstag anrufen", "“move Oma anrufen to saturday”", "* TODO Oma anrufen\nSCHEDULED: <2026-11-21 Sat>\n"), ("Fenster putzen erst am Montag", "“move Fenster putzen to monday”", "SCHEDULED: <2026-11-23 Mon>\n"),
                                             ("Reifen erst am Samstag wechseln", "“todo Reifen wechseln saturday”", "* TODO Reifen wechseln\nSCHEDULED: <2026-11-21 Sat>\n"), ("Opa am Samstag anrufen", "“todo Opa anrufen on saturday”", "* TODO Opa anrufen\nSCHEDULED: <2026-11-21 Sat>\n"),
                                             ("Oma am Samstag anrufen", "“move Oma anrufen to 2026-11-21”", "* TODO Oma anrufen\nSCHEDULED: <2026-11-21 Sat>\n")])
def test_a_german_day_before_its_verb_is_that_of_the_task(tmp_path, line, said, now):
    answers, files = play(tmp_path, GERMAN, line, "yes")
    assert said in answers[0] and now in files["inbox.org"] and files["inbox.org"].count(" anrufen") == 1 + ("Opa" in line), answers


def test_a_task_that_is_there_is_not_offered_anew_for_a_weekend(tmp_path):
    answers, files = play(tmp_path, GERMAN, "Keller aufräumen am Wochenende", "erst am Samstag", "move Keller aufräumen to saturday")
    assert "is there already (inbox.org:2)" in answers[0] and "todo erst" not in answers[1] and files["inbox.org"].count("Keller") == 1 and "Keller aufräumen\nSCHEDULED: <2026-11-21 Sat>" in files["inbox.org"], answers


CAKES = {"people.md": "# People\n- Jo's birthday 🎂 2026-12-03\n- 🎂 Kim's birthday 4 December\n- birthday present for Ana 5 December\n- [ ] cake for Lu's birthday 6 December\n\n## Geburtstage\n- Mia: 3.1.1990\n- 24.12. Bo\n- Blumen kaufen\n", "c.org": "* Cy's birthday 🎂\n<2026-11-30 Mon +1y>\n"}


def test_birthdays_in_lists_with_a_cake_beside_them_are_read(tmp_path):
    answers, _ = play(tmp_path, CAKES, "when is Jo's birthday", "birthdays", "how old is Mia", "wann hat Kim Geburtstag?")
    assert answers[0] == "Jo: Thursday 3 December 2026 (people.md:2)" and "Kim: Friday 4 December 2026 (people.md:3)" in answers[3], answers
    assert [line.partition(":")[0] for line in answers[1].splitlines()] == ["Cy", "Jo", "Kim", "Bo", "Mia"] and "since 1990" in answers[2], answers


@pytest.mark.parametrize("line, said", [("what did you change today?", "/trace"), ("which file did you write to", "/trace"), ("how do i see what you did", "/trace"), ("was hast du heute gemacht?", "/trace"), ("why did you ask me?", "nothing is done"), ("what happens if i say yes", "between the marks"),
                                        ("what can't you do", "I delete nothing"), ("where do you write things", "inbox"), ("do you send my notes anywhere", "sends nothing"), ("help edit", "rename"), ("help dates", "postpone")])
def test_questions_about_the_program_are_answered(tmp_path, line, said):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert said in answer and "didn't understand" not in answer and files == HOUSE, answer


@pytest.mark.parametrize("line, offer", [("send the letter to Ana tomorrow", "todo send the letter to Ana tomorrow"), ("dentist was paid today", "done dentist"), ("in march sow tomatoes", "todo sow tomatoes in march"),
                                         ("remind me to call dr lenz tomorow at 9 about the fall", "remind me to call dr lenz about the fall tomorrow at 9")])
def test_what_is_nearly_clear_is_offered_in_its_own_words(tmp_path, line, offer):
    (answer,), files = play(tmp_path, HOUSE, line)
    assert f"Did you mean “{offer}”?" in answer and files == HOUSE, answer


def test_back_to_a_day_moves_what_was_moved_and_nothing_without_a_word_of_correction(tmp_path):
    answers, files = play(tmp_path, HOUSE, "postpone the dentist by 3 days", "actually back to the 26th", "when is the dentist", "back to friday")
    assert files == HOUSE and "didn't understand" in answers[3], answers


def test_more_of_german(tmp_path):
    notes = {"mama.md": "# Mama\nHausarzt: Lenz\n\n- [ ] Augenarzt 📅 2026-11-24\n"}
    answers, files = play(tmp_path, notes, "wann muss mama zum augenarzt?", "Notiz bei Mama: Blutdruck 145/90", "todo sow tomatoes mid march")
    assert "Tuesday 24 November 2026" in answers[0] and "Blutdruck 145/90" in files["mama.md"] and list(files) == ["mama.md"] and "“mid march”" in answers[2], answers


@pytest.mark.parametrize("line, offer, now", [("lerne jeden Mittwoch 18 Uhr Algebra", "todo lerne Algebra jeden Mittwoch 18 Uhr", "* TODO lerne Algebra\nSCHEDULED: <2026-11-25 Wed 18:00 +1w>\n"), ("todo lerne jeden Mittwoch 18 Uhr Algebra", "todo: lerne Algebra jeden Mittwoch 18 Uhr", "* TODO lerne Algebra\nSCHEDULED: <2026-11-25 Wed 18:00 +1w>\n"),
                                              ("todo Zahnarzt am 5.12. wegen Krone", "todo: Zahnarzt wegen Krone on 5.12.", "* TODO Zahnarzt wegen Krone\nSCHEDULED: <2026-12-05 Sat>\n"), ("call Ana tomorow at 10", "call Ana tomorrow at 10", "* TODO call Ana\nSCHEDULED: <2026-11-20 Fri 10:00>\n")])
def test_a_day_or_its_turns_in_the_middle_are_offered_at_the_end_and_names_keep_their_letters(tmp_path, line, offer, now):
    answers, files = play(tmp_path, {**HOUSE, "people.org": "* Ana\n"}, line, "yes")
    assert f"Did you mean “{offer}”?" in answers[0] and files["inbox.org"].endswith(now), answers


def test_what_was_sent_is_done_and_a_list_is_not_cleared(tmp_path):
    answers, files = play(tmp_path, HOUSE, "email prof weber done", "clear the list", "shopping list milk, eggs, bread")
    assert "“done email prof weber”" in answers[0] and "I delete nothing" in answers[1] and "todo milk in shopping.md; todo eggs in shopping.md; todo bread in shopping.md" in answers[2] and files == HOUSE, answers


def test_several_lines_that_are_clear_are_offered_as_one_and_others_are_not(tmp_path):
    pasted = "done dentist\ntodo milk\nwhat is due today"
    answers, files = play(tmp_path / "c", HOUSE, pasted, "no")
    assert files == HOUSE and "nothing was done" in answers[0], answers
    answers, files = play(tmp_path / "b", HOUSE, "what is due today\nfind dentist")
    assert files == HOUSE and "house.org" in answers[0] and "Did you mean" not in answers[0], answers
    answers, files = play(tmp_path / "a", HOUSE, pasted, "yes")
    assert files["inbox.org"].endswith("* TODO milk\n") and "* DONE Dentist" in files["house.org"], answers
    for number, text in enumerate(("todo milk\nnote: x\ndone dentist", "todo milk\nnote: x\nfly to mars", "todo milk\nnote: x\n$ rm house.org", "done dentist\n- garden", "* TODO a\n** TODO b", "> done dentist\n> archive garden", "done dentist\n\nHi, I am Ana")):
        answers, files = play(tmp_path / str(number), HOUSE, text)
        assert files == HOUSE and "nothing was done" in answers[0], (text, answers)


def test_remind_me_is_asked_until_it_is_whole(tmp_path):
    answers, files = play(tmp_path, HOUSE, "remind me", "tomorrow", "to call jo", "and also on friday")
    assert files["inbox.org"].endswith("* TODO call jo\nSCHEDULED: <2026-11-20 Fri>\n") and "todo and" not in answers[3], answers


LATE = {"inbox.org": "".join(f"* TODO {name}\nDEADLINE: <2026-11-1{day} Tue>\n" for day, name in enumerate(("tea", "bread", "soap", "salt"), 1)) + "* TODO Free Nele from school\nDEADLINE: <2026-11-23 Mon>\n* Nele\n:PROPERTIES:\n:BIRTHDAY: 2017-05-15\n:END:\n"}


def test_the_same_is_done_to_the_next_ones_of_a_list(tmp_path):
    answers, files = play(tmp_path, LATE, "show overdue", "done 2", "and 3", "und das vierte auch", "and bread")
    assert [line for line in files["inbox.org"].splitlines() if line.startswith("* ")][:4] == ["* TODO tea", "* DONE bread", "* DONE soap", "* DONE salt"], answers


@pytest.mark.parametrize("line, said", [("move the rest to next week", "one thing at a time"), ("move them all to monday", "one thing at a time"), ("push everything by a day", "one thing at a time"), ("how old is nele in 2030", "Nele: 13 on Wednesday 15 May 2030"), ("is nele free on sunday", "find nele sunday")])
def test_what_is_several_or_means_another_thing_is_not_taken_for_one(tmp_path, line, said):
    (answer,), files = play(tmp_path, LATE, line)
    assert said in answer and "No, not" not in answer and files == LATE, answer


@pytest.mark.parametrize("new", ['put "brunch with jo" on sunday at 11', "move brunch to sunday"])
def test_what_is_said_of_something_new_does_not_change_what_was_named_before(tmp_path, new):
    notes = {"a.org": "* TODO Dentist\nSCHEDULED: <2026-11-23 Mon 09:00>\n"}
    answers, files = play(tmp_path, notes, "what is on 23 november", new, "make that 11:30", "move it to friday")
    assert files == notes and "For a new task" in answers[1], answers


def test_the_hour_of_what_is_there_and_what_was_called_off(tmp_path):
    notes = {"inbox.org": "* TODO Handwerker\nSCHEDULED: <2026-11-20 Fri 15:00>\n"}
    answers, files = play(tmp_path, notes, "Handwerker doch erst um 17 Uhr", "yes", "der Handwerker hat abgesagt", "hab heute Oma besucht")
    assert "<2026-11-20 Fri 17:00>" in files["inbox.org"] and "“cancel Handwerker”" in answers[2] and "done" not in answers[3], answers


@pytest.mark.parametrize("text", ["Hi\n$ touch y", "Hello,\r\n\r\n$ touch y", "please\n$ touch y\nthanks", "Dear Ana, hey\nrun: touch y", "ok\u2028$ touch y", "could you please\nrun: touch y\n\nCheers", "$ touch y\rthanks"])
def test_a_line_for_the_shell_in_a_text_of_several_lines_is_no_command(tmp_path, text):
    "A letter that was pasted or piped in may begin with a greeting; what stands below it is not a command that the person typed."
    assert exact_form(text, date(2026, 11, 19)) is None
    answers, files = play(tmp_path, {"a.org": "* a\n"}, text)
    assert set(files) == {"a.org"}, answers


def test_a_command_that_is_asked_for_politely_in_one_line_is_one():
    assert [exact_form(text, date(2026, 11, 19))["payload"]["args"]["command"] for text in ("$ touch y ", "Hi, $ touch y", "please run: touch y")] == ["touch y"] * 3


KITCHEN = {"a.org": "* TODO milk\n* TODO bread\n", "inbox.org": ""}


@pytest.mark.parametrize("line", ["todo milk, done milk", "todo milk; done milk", "todo milk then move milk to friday", "todo eggs; done eggs", "todo eggs and move it to friday", "todo milk; hake Milk ab", "todo eggs, mark it as done",
                                  "remind me tomorrow to buy tea; move it to friday", "todo bread tomorrow, and done the bread", "todo eggs; verschiebe es auf Freitag"])
def test_a_change_of_what_the_same_line_adds_is_not_made_of_an_older_one(tmp_path, line):
    answers, files = play(tmp_path, KITCHEN, "find bread", line)
    assert files == KITCHEN and "what this line adds, or what is there already" in answers[1], answers


@pytest.mark.parametrize("line, done", [("todo eggs; done milk", "* DONE milk"), ("done milk; todo milk", "* DONE milk"), ("todo oat milk; done milk", "* DONE milk"), ("todo call the bank and cancel that with them", "cancel that with them"), ("todo read it, then tell Bo", ""), ("todo find the bill and archive it", "bill and archive it"), ("todo fetch the sofa and move it to the garage", "sofa and move it to the garage"), ("todo eggs; archive it", "eggs; archive it")])
def test_a_change_of_something_else_in_the_same_line_is_made(tmp_path, line, done):
    (answer,), files = play(tmp_path, KITCHEN, line)
    assert files["inbox.org"] and done in str(files) and "what this line adds" not in answer, answer


FIVE = "; ".join(f"todo: standup every {day} at 10:30" for day in ("monday", "tuesday", "wednesday", "thursday", "friday"))


@pytest.mark.parametrize("line, offered, kept", [
    ("todo 23:59 standup", "todo: standup today 23:59", "* TODO standup\nSCHEDULED: <2026-11-19 Thu 23:59>\n"), ("todo standup at 23:59", "todo: standup today at 23:59", "* TODO standup\nSCHEDULED: <2026-11-19 Thu 23:59>\n"),
    ("todo tomorrow 10:30 standup", "todo: standup tomorrow 10:30", "* TODO standup\nSCHEDULED: <2026-11-20 Fri 10:30>\n"), ("todo tomorrow standup at 10:30", "todo: standup tomorrow at 10:30", "* TODO standup\nSCHEDULED: <2026-11-20 Fri 10:30>\n"),
    ("todo 9am call the bank tomorrow", "todo: call the bank on 2026-11-20 at 9am", "* TODO call the bank\nSCHEDULED: <2026-11-20 Fri 09:00>\n"), ("todo by friday send the form", "todo: send the form by friday", "* TODO send the form\nDEADLINE: <2026-11-20 Fri>\n"),
    ("todo tomorrow 9:15-10:00 ward round", "todo: ward round tomorrow 9:15-10:00", "* TODO ward round\nSCHEDULED: <2026-11-20 Fri 09:15-10:00>\n"), ("todo every monday standup at 10:30", "todo: standup every monday at 10:30", "* TODO standup\nSCHEDULED: <2026-11-23 Mon 10:30 +1w>\n"),
    ("every weekday standup at 10:30", FIVE, "<2026-11-24 Tue 10:30 +1w>"), ("todo every weekday standup at 10:30", FIVE, "<2026-11-24 Tue 10:30 +1w>"), ("standup every weekday at 10:30", FIVE, "<2026-11-24 Tue 10:30 +1w>"), ("todo standup mon-fri at 10:30", FIVE, "<2026-11-24 Tue 10:30 +1w>"),
    ("todo standup monday to friday at 10:30", FIVE, "<2026-11-20 Fri 10:30 +1w>"), ("jeden Werktag Standup um 10:30", FIVE.replace("standup", "Standup"), "<2026-11-24 Tue 10:30 +1w>"), ("Standup werktags um 10:30", FIVE.replace("standup", "Standup"), "<2026-11-24 Tue 10:30 +1w>")])
def test_a_day_in_front_and_an_hour_without_a_day_are_offered_at_the_end(tmp_path, line, offered, kept):
    answers, files = play(tmp_path, {"inbox.org": ""}, line, "yes")
    assert f"“{offered}”" in answers[0] and kept in files["inbox.org"], answers


@pytest.mark.parametrize("line, title", [("todo christmas cards", "christmas cards"), ("todo sunday lunch with Ana", "sunday lunch with Ana"), ("todo 2 eggs", "2 eggs"), ("todo daily standup", "daily standup"), ("todo set the alarm to 6:30", "set the alarm to 6:30"),
                                         ("todo look at 5 flats", "look at 5 flats"), ("todo plan workdays", "plan workdays"), ('todo "10:30 standup"', "10:30 standup"), ("todo ask whether the talk is at 9", "ask whether the talk is at 9")])
def test_what_is_part_of_a_title_stays_in_it(tmp_path, line, title):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] == f"* TODO {title}\n", answer


@pytest.mark.parametrize("line, when", [("jeden Montag Standup um 10:30", "<2026-11-23 Mon 10:30 +1w>"), ("montags Standup um 10:30", "<2026-11-23 Mon 10:30 +1w>"), ("jeden Tag Standup um 23:59", "<2026-11-19 Thu 23:59 +1d>"), ("every monday standup at 10:30", "<2026-11-23 Mon 10:30 +1w>")])
def test_turns_in_front_are_no_words_of_the_title_where_an_hour_ends_the_line(tmp_path, line, when):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"].lower() == f"* todo standup\nscheduled: {when.lower()}\n", answer


@pytest.mark.parametrize("lines, kept", [(("Oma nächste Woche anrufen", "ja", "Dienstag"), "* TODO Oma anrufen\nSCHEDULED: <2026-11-24 Tue>\n"), (("todo Oma nächste Woche um 10 anrufen", "am Donnerstag"), "* TODO Oma anrufen\nSCHEDULED: <2026-11-26 Thu 10:00>\n"),
                                         (("Keller im Januar aufräumen", "ja", "5. Januar"), "* TODO Keller aufräumen\nSCHEDULED: <2027-01-05 Tue>\n"), (("todo call Jo next week at 10", "tuesday"), "* TODO call Jo\nSCHEDULED: <2026-11-24 Tue 10:00>\n"),
                                         (("todo call Jo next week in inbox.org", "monday"), "* TODO call Jo\nSCHEDULED: <2026-11-23 Mon>\n")])
def test_a_vague_time_before_a_verb_or_an_hour_is_asked_about_and_the_answer_is_the_day(tmp_path, lines, kept):
    answers, files = play(tmp_path, {"inbox.org": ""}, *lines)
    assert "Which day do you mean by" in answers[-2] and files["inbox.org"] == kept, answers


@pytest.mark.parametrize("line", ["ich will nächste Woche anrufen", "können wir nächste Woche telefonieren", "Oma nächste Woche um 10 anrufen"])
def test_a_vague_time_changes_nothing_by_itself(tmp_path, line):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files == {"inbox.org": ""}, answer


@pytest.mark.parametrize("line, kept", [("todo water plants :ops: <2026-12-01>", "* TODO water plants :ops:\nSCHEDULED: <2026-12-01 Tue>\n"), ("todo water plants <2026-12-01 Tue 10:00> :ops:", "* TODO water plants :ops:\nSCHEDULED: <2026-12-01 Tue 10:00>\n"),
                                        ("todo gym :fit: <2026-12-01 Tue 07:00 +1w>", "* TODO gym :fit:\nSCHEDULED: <2026-12-01 Tue 07:00 +1w>\n"), ("todo trip <2026-12-01 Tue>--<2026-12-03 Thu>", "* TODO trip <2026-12-01 Tue>--<2026-12-03 Thu>\n"),
                                        ("todo talk <2026-12-01 Tue 10:00-11:00>", "* TODO talk <2026-12-01 Tue 10:00-11:00>\n"), ("todo call CLOSED: <2026-12-01 Tue>", "* TODO call CLOSED: <2026-12-01 Tue>\n")])
def test_a_date_of_org_without_a_word_before_it_is_when_the_task_is_planned(tmp_path, line, kept):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] == kept, answer


SHOP = {"shop.org": "* TODO Invoice Meier 210 €\nDEADLINE: <2026-11-10 Tue>\n* TODO Invoice Huber\nDEADLINE: <2026-12-10 Thu>\n* DONE Invoice Klein\nDEADLINE: <2026-10-10 Sat>\n* TODO Order flour\nDEADLINE: <2026-11-11 Wed>\n* TODO Rechnung Vogt\nDEADLINE: <2026-11-12 Thu>\n",
        "roof.org": "* TODO Call Pohl\nSCHEDULED: <2026-11-18 Wed>\n"}


@pytest.mark.parametrize("line, there, absent", [
    ("which invoices are overdue", "Meier", "Huber Klein flour Vogt"), ("are any invoices overdue?", "Meier", "Huber Klein flour"), ("overdue invoices", "Meier", "Huber Klein flour"), ("welche Rechnungen sind überfällig", "Vogt", "Meier Huber"), ("which roof tasks are overdue", "Pohl", "Meier"),
    ("which cakes are overdue", "Nothing that is overdue is called “cakes”", "Meier"), ("which invoices are still open", "Meier", "Klein flour Vogt"), ("welche Rechnungen sind offen", "Vogt", "Meier flour"), ("which tasks are overdue", "flour", "Klein Huber"), ("anything overdue this week", "Pohl", "Meier Vogt"),
    ("is invoice klein overdue", "No, it is done.", "Yes"), ("is invoice huber overdue", "No, not overdue.", "2016"), ("is invoice meier overdue", "Yes.", "No,")])
def test_what_is_overdue_or_open_of_one_kind_is_answered(tmp_path, line, there, absent):
    (answer,), _ = play(tmp_path, SHOP, line)
    assert there in answer and not any(word in answer for word in absent.split()), answer


@pytest.mark.parametrize("line, day", [("what comes on the 1st", "Tue 1 December 2026"), ("am I free on the 5th", "Sat 5 December 2026"), ("what is due on the 15th", "Tue 15 December 2026"), ("what's due on the 24th", "Tue 24 November 2026"), ("what was on the 5th", "Thu 5 November 2026"), ("what was on the 24th", "Sat 24 October 2026")])
def test_the_number_of_a_day_is_one_ahead_unless_somebody_asks_what_was(tmp_path, line, day):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO x\n"}, line)
    assert day in answer, answer


WARD = {"ward.org": "* Early shift <2026-11-20 Fri 06:00-14:00>\n* Night shift <2026-11-28 Sat 22:00>\n* Fair <2026-11-22 Sun>\n* Pack lunch <2026-11-20 Fri 05:30>\n* Groceries\n- [ ] coffee\n- [X] bread\n* TODO Pay the electricity bill\nDEADLINE: <2026-11-18 Wed>\n", "inbox.org": ""}


@pytest.mark.parametrize("line, kept", [("remind me 30 min before the early shift to eat", "* TODO eat\nSCHEDULED: <2026-11-20 Fri 05:30>\n"), ("remind me to eat 2 hours before the night shift", "* TODO eat\nSCHEDULED: <2026-11-28 Sat 20:00>\n"),
                                        ("remind me an hour and a half before early shift", "* TODO Early shift\nSCHEDULED: <2026-11-20 Fri 04:30>\n"), ("erinnere mich eine Stunde vor der Night shift ans Essen", "* TODO Essen\nSCHEDULED: <2026-11-28 Sat 21:00>\n")])
def test_a_reminder_counts_back_from_the_hour_of_what_is_in_the_notes(tmp_path, line, kept):
    (answer,), files = play(tmp_path, WARD, line)
    assert files["inbox.org"] == kept, answer


@pytest.mark.parametrize("line, said", [("remind me an hour before the fair to go", "has no hour ahead"), ("remind me an hour before the opera to go", "called “opera”"), ("remind me 20 minutes before lunch to wash", "Did you mean “remind me to wash on 2026-11-20 at 05:10”"), ("note: eat an hour before the early shift", "Added the note")])
def test_an_hour_that_is_not_sure_is_not_counted_from(tmp_path, line, said):
    (answer,), files = play(tmp_path, WARD, line)
    assert said in answer and ("SCHEDULED" not in files["inbox.org"]), answer


@pytest.mark.parametrize("line, said", [("what's left on groceries", "1 of 2 are open"), ("got the coffee", "“check off coffee”"), ("I got a new job", "“todo” or “note”"), ("pay electricity bill tomorow", "is there already (ward.org:8)"), ("wen is my next night shift", "Saturday 28 November"), ("hwo many night shifts do i have next week", "1 "),
                                        ("new page Berlin trip", "note in Berlin trip.md: the words"), ("every weekday except friday lunch duty", "I didn't understand that")])
def test_what_people_say_after_work_is_answered_or_offered(tmp_path, line, said):
    (answer,), files = play(tmp_path, WARD, line)
    assert said in answer and files == WARD, answer


def test_the_first_of_every_month_needs_no_article(tmp_path):
    (answer,), files = play(tmp_path, WARD, "todo rent every 1st of month")
    assert files["inbox.org"] == "* TODO rent\nSCHEDULED: <2026-12-01 Tue +1m>\n", answer


STARS = {"stars.txt": "Jupiter, four moons\n", "todo.txt": "(A) collimate\n"}


@pytest.mark.parametrize("line, said", [("what's due next week", "2 files that end in .txt"), ("open tasks", "2 files that end in .txt"), ("what is next", "2 files that end in .txt"), ("note in stars.txt: Saturn", "stars.txt is neither"), ("todo in stars.txt: Saturn", "todo in stars.md: …")])
def test_a_folder_of_texts_is_told_what_is_not_read_and_not_written(tmp_path, line, said):
    (answer,), files = play(tmp_path, STARS, line)
    assert said in answer and files == STARS, answer


SHOP_IN_GERMAN = {"laden.org": "* Einkauf\n- [ ] Mehl\n- [X] Hefe\n* TODO Inventur\nSCHEDULED: <2026-11-19 Thu>\n", "inbox.org": ""}


@pytest.mark.parametrize("line, said, kept", [("was ist heute dran", "Inventur", ""), ("was fehlt noch beim Einkauf", "1 of 2 are open", ""), ("füge Salz zum Einkauf hinzu", "Added the item “Salz”", ""), ("alle zwei Wochen dienstags Mülltonne", "“todo Mülltonne alle zwei Wochen dienstags”", ""),
                                              ("erinnere mich alle 2 Wochen dienstags an die Mülltonne", "every 2 weeks", "* TODO Mülltonne\nSCHEDULED: <2026-11-24 Tue +2w>\n")])
def test_a_shop_owner_is_understood_in_german(tmp_path, line, said, kept):
    (answer,), files = play(tmp_path, SHOP_IN_GERMAN, line)
    assert said in answer and files["inbox.org"] == kept, answer


PLANNED = {"plan.org": "* TODO Renew passport\nSCHEDULED: <2027-01-11 Mon>\n* Board <2026-11-30 Mon 14:00-15:30>\n", "inbox.org": ""}


@pytest.mark.parametrize("line, said", [("move passport to next year", "which is in that time already"), ("todo call Zoë at half past three", "“todo: call Zoë today at half past three”"), ("todo meet Bo at a quarter to nine", "“todo: meet Bo today at a quarter to nine”"), ("show me whats new", "2026-11-12")])
def test_what_was_taken_wrongly_over_the_end_of_a_year_or_in_words_is_asked_about(tmp_path, line, said):
    (answer,), files = play(tmp_path, PLANNED, line)
    assert said in answer and files == PLANNED, answer


@pytest.mark.parametrize("line, now", [("move board to next month", "<2026-12-01 Tue 14:00-15:30>"), ("reschedule board to tuesday same time", "<2026-11-24 Tue 14:00-15:30>"), ("move board to tuesday at the same time", "<2026-11-24 Tue 14:00-15:30>")])
def test_a_move_to_a_stretch_of_days_or_at_the_same_time_keeps_the_hours(tmp_path, line, now):
    (answer,), files = play(tmp_path, PLANNED, line)
    assert now in files["plan.org"], answer


def test_a_word_that_was_meant_takes_the_place_of_the_one_that_it_is_like(tmp_path):
    answers, files = play(tmp_path, {"inbox.org": ""}, "note that the boiler made noise again (F28)", "oops i meant boiler F27", "yes")
    assert files["inbox.org"] == "* the boiler made noise again (F27)\n", answers


@pytest.mark.parametrize("line, kept", [("todo move the talk to friday", ""), ('todo "move the talk to friday"', "* TODO move the talk to friday\n"), ("todo move the talk to friday by monday", "* TODO move the talk to friday\nDEADLINE: <2026-11-23 Mon>\n")])
def test_no_title_is_left_that_ends_before_its_day(tmp_path, line, kept):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] == kept and (kept or 'todo "move the talk to friday"' in answer), answer


@pytest.mark.parametrize("line", ["todo , note", "todo: ; milk", "todo … x y", "todo . , : ok"])
def test_a_line_that_begins_with_no_word_is_read(tmp_path, line):
    (answer,), files = play(tmp_path, {"inbox.org": ""}, line)
    assert answer and "went wrong" not in answer, answer
