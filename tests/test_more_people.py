"What a nurse, a treasurer, two people with one folder, a student and somebody with two languages typed, and which answer was wrong"
import pytest

from test_first_hour import play

BOARD = "* Agenda\n1. Minutes\n2. Cash\n* Donations\n- Bakery :: 50 €\n"
WISHES = {"Christmas list.md": "Presents\n* Emily - scarf\n* [ ] Order turkey\n"}


@pytest.mark.parametrize("line, file, text, after", [
    ("add to agenda: new nets", "a.org", BOARD, "2. Cash\n3. new nets\n* Donations"), ("add to donations: Klein :: 25 €", "a.org", BOARD, "- Bakery :: 50 €\n- Klein :: 25 €\n"),
    ("add new nets to agenda", "a.org", BOARD, "2. Cash\n3. new nets\n* Donations"), ("add new nets to agenda", "a.md", "# Agenda\n\n1) Minutes\n2) Cash\n\n# More\n", "2) Cash\n3) new nets\n\n# More"),
    ("add to agenda: new nets", "a.md", "# Agenda\r\n\r\n1. Minutes\r\n1. Cash\r\n", "1. Cash\r\n1. new nets\r\n"), ("add to agenda: new nets", "a.org", "* Agenda\n9. Minutes\n", "9. Minutes\n10. new nets\n"),
    ("add to agenda: new nets", "a.org", "* Agenda\nat 7.30 we begin\n2026. A year\nwith more\n", "with more\nnew nets\n"), ("add to agenda: new nets", "a.org", "* Agenda\n1. [ ] Minutes\n", "1. [ ] Minutes\nnew nets\n")])
def test_a_line_after_a_list_is_one_more_item_of_it(tmp_path, line, file, text, after):
    (answer,), files = play(tmp_path, {file: text}, line)
    assert after in files[file].replace("\n\n#", "\n\n#") or after in (tmp_path / "memex" / file).read_bytes().decode(), (answer, files)


def test_what_is_on_a_numbered_list_is_not_put_there_twice(tmp_path):
    (answer,), files = play(tmp_path, {"a.org": BOARD}, "add Cash to agenda")
    assert "is there already" in answer and files["a.org"] == BOARD


@pytest.mark.parametrize("line", ["What is on the Christmas list?", "show Christmas list", "what's on our christmas list", "read the Christmas list", "Christmas list"])
def test_a_list_that_is_called_after_a_feast_is_no_day(tmp_path, line):
    (answer,), _ = play(tmp_path, WISHES, line)
    assert "Emily - scarf" in answer and "Fri 25" not in answer, answer


@pytest.mark.parametrize("line", ["add Tom to the Christmas list", "put Tom on our christmas list", "add to the Christmas list: Tom"])
def test_something_goes_on_a_list_that_is_called_after_a_feast(tmp_path, line):
    (answer,), files = play(tmp_path, WISHES, line)
    assert files["Christmas list.md"] == "Presents\n* Emily - scarf\n* [ ] Order turkey\n* [ ] Tom\n" and list(files) == list(WISHES), answer


@pytest.mark.parametrize("line, day", [("what is on today's list", "Thu 19 November"), ("my list for friday", "Fri 20 November"), ("what's on at christmas", "Fri 25 December"), ("what is on my list tomorrow", "Fri 20 November")])
def test_a_list_of_a_day_is_still_its_agenda(tmp_path, line, day):
    (answer,), _ = play(tmp_path, WISHES | {"a.org": "* TODO x\nSCHEDULED: <2026-11-20 Fri>\n* TODO z\nSCHEDULED: <2026-11-19 Thu>\n* TODO y\nSCHEDULED: <2026-12-25 Fri>\n"}, line)
    assert day in answer, answer


@pytest.mark.parametrize("line", ["What do we have on this week, please?", "what do we have on friday", "what have we got on this week", "what are we doing on friday?", "do we have anything on friday"])
def test_two_people_ask_for_their_days_as_one_does(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* Choir <2026-11-20 Fri 19:30>\n"}, line)
    assert "Fri 20 November 2026" in answer and "Choir" in answer, answer


@pytest.mark.parametrize("line", ["when is my next night", "when's the next night"])
def test_the_next_night_is_a_shift_and_no_part_of_the_day(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* Late <2026-11-20 Fri 13:30-21:30>\n* Night <2026-11-23 Mon 20:00>--<2026-11-24 Tue 08:00>\n"}, line)
    assert "Night" in answer and "Late" not in answer, answer


@pytest.mark.parametrize("line, named", [("create note Papers/Dao 2022.md", "Papers/Dao 2022.md"), ('make a note called "Dao 2022.md"', "Dao 2022.md"), ("new note Dao 2022.org", "Dao 2022.org"), ("add a note called Dao 2022.md", "Dao 2022.md")])
def test_a_file_with_a_blank_in_its_name_is_no_title_of_a_note(tmp_path, line, named):
    answers, files = play(tmp_path, {"a.org": "* a\n", "Papers/b.md": "# b\n"}, line, f"note in \"{named}\": flash")
    assert f"note in \"{named}\": " in answers[0] and "inbox.org" not in files and "flash" in files[named], answers


@pytest.mark.parametrize("line", ["note read Dao 2022.md", "note compare a.md and b.md", "note: Dao 2022.md", "add note see the plan in b.md"])
def test_a_note_that_ends_in_the_name_of_a_file_is_still_one(tmp_path, line):
    (answer,), files = play(tmp_path, {"a.md": "# a\n"}, line)
    assert answer.startswith("Added the note"), answer


@pytest.mark.parametrize("line, day", [("add task to today: buy stamps", "2026-11-19 Thu"), ("add a task to tomorrow: buy stamps", "2026-11-20 Fri"), ("new todo to friday: buy stamps", "2026-11-20 Fri")])
def test_a_task_that_is_added_to_a_day_is_one_of_that_day(tmp_path, line, day):
    answers, files = play(tmp_path, {"a.org": "* a\n"}, line, "yes")
    assert answers[0].startswith("The day of a task") and files["inbox.org"] == f"* TODO buy stamps\nSCHEDULED: <{day}>\n", answers


@pytest.mark.parametrize("line", ["meeting mit leo verschoben auf friday 3pm", "meeting mit leo auf freitag 15 uhr verschoben", "Meeting mit Leo verschoben auf Freitag 15 Uhr", "Meeting mit Leo wurde auf Freitag 15 Uhr verlegt"])
def test_what_was_put_off_is_no_new_appointment(tmp_path, line):
    (answer,), files = play(tmp_path, {"a.org": "* TODO Meeting mit Leo\nSCHEDULED: <2026-11-24 Tue 10:00>\n"}, line)
    assert "inbox.org" not in files and "<2026-11-24 Tue 10:00>" in files["a.org"], answer


@pytest.mark.parametrize("line", ["add Käse to der Einkaufsliste", "add Käse to die Einkaufsliste", "Käse auf die Einkaufsliste"])
def test_a_german_article_does_not_hide_a_list(tmp_path, line):
    (answer,), files = play(tmp_path, {"Einkauf.md": "# Einkaufsliste\n- [ ] Milch\n"}, line)
    assert files == {"Einkauf.md": "# Einkaufsliste\n- [ ] Milch\n- [ ] Käse\n"}, answer


@pytest.mark.parametrize("line", ["bls refresher done 🎉", "BLS refresher done ✅✅", "bls refresher done! 🎉"])
def test_a_picture_behind_a_sentence_does_not_hide_what_it_says(tmp_path, line):
    answers, files = play(tmp_path, {"a.md": "- [ ] BLS refresher\n"}, line, "yes")
    assert files["a.md"] == "- [x] BLS refresher\n", answers


def test_a_picture_stays_in_a_title(tmp_path):
    answers, files = play(tmp_path, {}, "todo nativity costume 🐑", "pay the sitter 💷 on friday", "todo")
    assert "nativity costume 🐑" in files["inbox.org"] and "pay the sitter 💷" in files["inbox.org"], answers


@pytest.mark.parametrize("line", ["remind me to pay childminder every last fri", "todo pay childminder every last fri", "todo pay childminder every last fri of the month"])
def test_every_last_fri_is_every_last_friday(tmp_path, line):
    (answer,), _ = play(tmp_path, {}, line)
    assert "pay childminder on 27 November" in answer, answer


def test_a_figure_that_may_be_an_hour_says_how_an_hour_is_written(tmp_path):
    (answer,), _ = play(tmp_path, {}, "12.50")
    assert answer.startswith("There is no month 50.") and "12:50" in answer


@pytest.mark.parametrize("line", ["neuer task: Blumen gießen morgen", "neue Aufgabe: Blumen gießen morgen", "neues todo: Blumen gießen morgen"])
def test_a_new_task_in_two_languages(tmp_path, line):
    (answer,), files = play(tmp_path, {}, line)
    assert files.get("inbox.org") == "* TODO Blumen gießen\nSCHEDULED: <2026-11-20 Fri>\n", answer


@pytest.mark.parametrize("line", ["Blumen gießen jeden Montag und Donnerstag", "todo Blumen gießen jeden Montag und Donnerstag"])
def test_two_days_of_each_week_in_german_are_two_tasks_of_the_same_name(tmp_path, line):
    answers, files = play(tmp_path, {}, line, "yes")
    assert files.get("inbox.org") == "* TODO Blumen gießen\nSCHEDULED: <2026-11-23 Mon +1w>\n* TODO Blumen gießen\nSCHEDULED: <2026-11-19 Thu +1w>\n", answers


@pytest.mark.parametrize("sign", ["*", "+", "-"])
@pytest.mark.parametrize("line", ["add Tom to the wishes list", "todo Tom in w.md", "add a task under wishes: Tom", "add item Tom to wishes"])
def test_a_new_task_has_the_sign_of_the_list_that_it_joins(tmp_path, sign, line):
    text = f"# Wishes\n{sign} [ ] Order turkey\n  and stuffing\n{sign} [ ] Cards\n\n# More\n- x\n"
    (answer,), files = play(tmp_path, {"w.md": text}, line)
    assert files["w.md"] == text.replace("Cards\n", f"Cards\n{sign} [ ] Tom\n"), answer


MEMBERS = "#+TITLE: Members 2026\n| Name    | Joined     | Fee | Paid |\n|---------+------------+-----+------|\n| Anna    | 2019-03-01 |  60 | x    |\n|---------+------------+-----+------|\n| Total   |            |  60 |      |\n#+TBLFM: @>$3=vsum(@I..@II)\n\n* TODO Remind Tom\n"
EVA = "| Eva     | 2026-11-19 |  20 |      |\n"


@pytest.mark.parametrize("line", ["add row to members: | Eva | 2026-11-19 | 20 | |", "add a row to the members table: Eva | 2026-11-19 | 20 |", "add to members: Eva | 2026-11-19 | 20 |", "add to members.org: | Eva | 2026-11-19 | 20 | |"])
def test_a_table_above_the_first_heading_gets_a_row(tmp_path, line):
    (answer,), files = play(tmp_path, {"members.org": MEMBERS}, line)
    assert files == {"members.org": MEMBERS.replace("|---------+------------+-----+------|\n| Total", EVA + "|---------+------------+-----+------|\n| Total")}, answer
    assert "as it was" in answer


@pytest.mark.parametrize("text", [MEMBERS.replace("\n", "\r\n"), MEMBERS.partition("\n* ")[0], "\ufeff" + MEMBERS, "# -*- mode: org -*-\n:PROPERTIES:\n:ID: a\n:END:\n" + MEMBERS])
def test_the_rest_of_the_file_stays_byte_for_byte(tmp_path, text):
    play(tmp_path, {"members.org": text}, "add row to members: Eva, 2026-11-19, 20, x")
    now = (tmp_path / "memex" / "members.org").read_bytes().decode()
    assert now.replace(EVA.replace("      |", " x    |").replace("\n", "\r\n" if "\r" in text else "\n"), "", 1) == text != now


@pytest.mark.parametrize("line, said", [("add row to members: Eva, 20", "has the columns Name, Joined, Fee, Paid"), ("add to members: Eva | 20", "has the columns Name, Joined, Fee, Paid")])
def test_a_row_with_other_parts_is_not_written_into_the_file(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"members.org": MEMBERS}, line)
    assert said in answer and files == {"members.org": MEMBERS}


def test_a_markdown_page_that_is_a_table_gets_a_row(tmp_path):
    text = "| Name | Fee |\n|------|-----|\n| Anna | 60  |\n"
    (answer,), files = play(tmp_path, {"fees.md": text}, "add row to fees: Eva, 20")
    assert files["fees.md"] == text + "| Eva  | 20  |\n", answer


def test_of_two_tables_one_is_chosen(tmp_path):
    answers, files = play(tmp_path, {"members.org": MEMBERS + "| a | b |\n|---+---|\n| 1 | 2 |\n"}, "add row to members: Eva, 2026-11-19, 20, x", "1")
    assert "several tables" in answers[0] and "| Eva     | 2026-11-19 |  20 | x    |\n|----" in files["members.org"], answers


@pytest.mark.parametrize("line", ["add to members: the fees are due", "note in members.org: a | b"])
def test_a_line_of_words_for_such_a_file_is_a_note_as_before(tmp_path, line):
    (answer,), files = play(tmp_path, {"members.org": MEMBERS}, line)
    assert files["members.org"].startswith(MEMBERS) and files["members.org"] != MEMBERS, answer


def test_what_comes_before_the_first_heading_takes_nothing_but_rows_of_its_table():
    from passepartout.org import parse_org
    from passepartout.outline.bodytext import edit_body
    from passepartout.outline.rewrite import RewriteError
    for text, added, mode in ((MEMBERS, "#+TODO: A | B", "append"), (MEMBERS, "| a |\n#+x: y", "append"), (MEMBERS, "| a | b | c | d |", "prepend"), (MEMBERS, "| a | b | c | d |", "replace"), ("#+TITLE: x\nwords\n* y\n", "| a |", "append"), ("", "| a |", "append")):
        outline = parse_org(text, "a.org")
        with pytest.raises(RewriteError): edit_body(outline, outline.nodes[0], added, mode)


@pytest.mark.parametrize("line, day", [("Zahnarzt Fr 14 Uhr", "2026-11-20 Fri 14:00"), ("Zahnarzt Fr. 14 Uhr", "2026-11-20 Fri 14:00"), ("Zahnarzt Do., 14 Uhr", None), ("Zahnarzt Sa um 9:30", "2026-11-21 Sat 09:30"), ("Zahnarzt So 18:00", "2026-11-22 Sun 18:00"), ("todo Zahnarzt sa 8 uhr", "2026-11-21 Sat 08:00"), ("Mo 9 Uhr Zahnarzt", "2026-11-23 Mon 09:00"), ("Zahnarzt Mi 25.11. 10:00", "2026-11-25 Wed 10:00")])
def test_the_short_name_of_a_german_day_before_an_hour(tmp_path, line, day):
    (answer,), files = play(tmp_path, {}, line)
    assert "today" not in answer and (f"Zahnarzt\nSCHEDULED: <{day}>" in files["inbox.org"] if day else True), answer


@pytest.mark.parametrize("line", ["todo what to do 9:30", "todo ask so 14 people", "todo what they do 9 times", "todo see mi 6 film", "todo write do 10.30 again"])
def test_a_short_word_before_a_number_is_no_german_day(tmp_path, line):
    (answer,), files = play(tmp_path, {}, line)
    assert not any(day in files.get("inbox.org", "") for day in ("Thu", "Sun", "Wed")) and "thursday" not in answer, answer


PAGES = {"Note 5.md": "# Note 5\nfive\n", "Note 12.md": "# Note 12\ntwelve\n", "a.md": "# A\n- [ ] x one\n- [ ] x two\n"}


@pytest.mark.parametrize("line, said", [("show Note 5", "five"), ("open note 12", "twelve"), ("show me the note 12", "twelve")])
def test_a_page_that_is_called_note_5_is_no_number_of_a_list(tmp_path, line, said):
    answers, files = play(tmp_path, PAGES, "find x", line)
    assert said in answers[1] and files == PAGES, answers


def test_number_2_of_a_list_is_its_second_where_no_page_is_called_so(tmp_path):
    answers, _ = play(tmp_path, PAGES, "find x", "show note 2")
    assert "x two" in answers[1], answers


@pytest.mark.parametrize("line", ["todo under Tasks in today's note: buy ink", "todo under Ana's things: buy ink", "note under to-do list: buy ink"])
def test_a_place_that_is_not_there_is_no_part_of_a_title(tmp_path, line):
    (answer,), files = play(tmp_path, {"a.md": "# Work\n"}, line)
    assert "I see no heading or file that is called" in answer and list(files) == ["a.md"], answer


def test_a_file_that_is_to_go_into_a_folder_is_offered_its_new_name_which_is_asked_about(tmp_path):
    answers, files = play(tmp_path, {"Papers/Child 2019.md": "# Child 2019\n- [ ] x\n", "Archive/b.md": "# b\n"}, "move Papers/Child 2019.md to Archive/", "yes")
    assert "Did you mean “rename Papers/Child 2019.md to Archive/Child 2019.md”?" in answers[0] and "org-rename-file" in answers[1] and list(files) == ["Archive/b.md", "Papers/Child 2019.md"], answers


@pytest.mark.parametrize("line", ["der call mit jonas ist morgen um 10", "das meeting ist am freitag um 9"])
def test_a_german_ist_is_no_misspelt_list(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.md": "- [ ] Call mit Jonas\n"}, line)
    assert " list " not in answer, answer


@pytest.mark.parametrize("line", ["shopping list: eggs, bread", "shopping list: eggs and bread", "our shopping list: eggs, bread", "Shopping list eggs, bread"])
def test_a_list_that_is_there_goes_on_where_its_name_and_a_colon_are_said(tmp_path, line):
    answers, files = play(tmp_path, {"s.md": "# Shopping list\n- [ ] milk\n"}, line, "yes")
    assert "no list" not in answers[0] and files == {"s.md": "# Shopping list\n- [ ] milk\n- [ ] eggs\n- [ ] bread\n"}, answers


def test_one_thing_on_a_list_that_is_a_file(tmp_path):
    answers, files = play(tmp_path, {"Christmas list.md": "* [ ] turkey\n", "Einkauf.md": "# Einkaufsliste\n- [ ] Milch\n"}, "Christmas list: Margaret - candle", "yes", "Einkaufsliste: Brot, Käse", "yes")
    assert files == {"Christmas list.md": "* [ ] turkey\n* [ ] Margaret - candle\n", "Einkauf.md": "# Einkaufsliste\n- [ ] Milch\n- [ ] Brot\n- [ ] Käse\n"}, answers


def test_a_list_that_is_not_there_is_begun_as_before(tmp_path):
    answers, _ = play(tmp_path, {"s.md": "# Shopping list\n- [ ] milk\n"}, "packing list: socks, soap")
    assert "There is no list called “packing list” yet" in answers[0]


@pytest.mark.parametrize("line, title", [("remind us to put the clocks back on friday at 9", "put the clocks back"), ("remind us both to take tablets on friday at 9", "take tablets"), ("please remind us on friday at 9 to take tablets", "take tablets"), ("remind me and Harold to take tablets on friday at 9", None)])
def test_two_people_are_reminded_as_one_is(tmp_path, line, title):
    (answer,), files = play(tmp_path, {}, line)
    assert title is None or files["inbox.org"] == f"* TODO {title}\nSCHEDULED: <2026-11-20 Fri 09:00>\n", answer


@pytest.mark.parametrize("line", ["show me the shopping list again", "show the shopping list once more"])
def test_what_is_shown_again(tmp_path, line):
    (answer,), _ = play(tmp_path, {"s.md": "# Shopping list\n- [ ] milk\n"}, line)
    assert "- [ ] milk" in answer


@pytest.mark.parametrize("line", ["put the oil delivery in for friday 9:00", "put the oil delivery down for friday 9:00"])
def test_what_is_put_in_for_a_day_is_called_so_without_in(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO oil delivery\n"}, line)
    assert files["a.org"] == "* TODO oil delivery\nSCHEDULED: <2026-11-20 Fri 09:00>\n", answers


@pytest.mark.parametrize("line", ["add a point to the agenda: new nets", "add an entry to agenda: new nets", "add a bullet to the agenda: new nets"])
def test_a_point_on_a_list_is_one_more_of_its_items(tmp_path, line):
    (answer,), files = play(tmp_path, {"a.org": BOARD}, line)
    assert "2. Cash\n3. new nets\n* Donations" in files["a.org"], answer
