"What a teacher, a carer, a researcher with Org-roam and somebody who dictates said in chains, and what was answered wrongly"
import pytest
from test_first_hour import play

MARKS = "# 7b\n\n| Student | Test 1 | Signed |\n|---|---|---|\n| Mira | 2 | yes |\n| Leo | 4 | no |\n| Aylin | 1 | |\n\n- [ ] correct test\n"
TREES = ":PROPERTIES:\n:ID:       7f1c1d5e-0001-4c1a-9d2e-000000000001\n:ROAM_ALIASES: \"hash tree\"\n:END:\n#+title: Merkle trees\nA tree.\n"
LINKING = "#+title: Hashes\nCompare [[id:7f1c1d5e-0001-4c1a-9d2e-000000000001][Merkle trees]].\n"


@pytest.mark.parametrize("line, stands", [
    ("todo call the landlord tomorrow no wait friday", "* TODO call the landlord\nSCHEDULED: <2026-11-20 Fri>\n"), ("dentist monday at 4, no, at 5", "* TODO dentist\nSCHEDULED: <2026-11-23 Mon 17:00>\n"),
    ("dentist monday at 4 pm, sorry, tuesday", "* TODO dentist\nSCHEDULED: <2026-11-24 Tue 16:00>\n"), ("todo pay rent by friday, no, by monday", "* TODO pay rent\nDEADLINE: <2026-11-23 Mon>\n"),
    ("note: first he said tomorrow, no, friday", "* first he said tomorrow, no, friday\n"), ("todo tell Bo no", "* TODO tell Bo no\n")])
def test_a_day_taken_back_in_the_same_breath_is_not_in_the_title(tmp_path, line, stands):
    answers, files = play(tmp_path, {"inbox.org": ""}, line)
    assert files["inbox.org"] == stands, answers


def test_a_question_for_somebody_goes_on_with_the_next(tmp_path):
    answers, files = play(tmp_path, {"7b.md": MARKS}, "has Leo signed yet", "and Mira?", "and Aylin", "has anyone signed", "has everyone signed?")
    assert [answer.split(" ")[0] for answer in answers[:3]] == ["No.", "Yes.", "Not"] and "Mira, of 3" in answers[3] and "Leo, Aylin, of 3" in answers[4], answers
    assert files == {"7b.md": MARKS}


def test_what_links_to_a_page_is_found_by_its_other_name_and_by_it(tmp_path):
    answers, _ = play(tmp_path, {"trees.org": TREES, "hashes.org": LINKING}, "backlinks of hash tree", "hash tree", "what links to it now")
    assert all("Hashes" in answer and answer.startswith("1 section") for answer in (answers[0], answers[2])), answers


def test_a_box_that_was_just_checked_off_is_unchecked_by_it(tmp_path):
    answers, files = play(tmp_path, {"7b.md": MARKS}, "check off correct test", "uncheck it")
    assert files["7b.md"] == MARKS, answers


@pytest.mark.parametrize("line, said, never", [("which one is next", "", "mark which one"), ("welche Aufgaben sind offen", "all open tasks", "Nothing open"), ("welche Aufgaben sind noch offen?", "all open tasks", "Nothing open"),
                                               ("does she have anything on monday", "23 November", "I didn't"), ("what appointments does mum have next week", "November", "No note")])
def test_other_words_that_were_answered_wrongly(tmp_path, line, said, never):
    (answer,), _ = play(tmp_path, {"7b.md": MARKS, "a.org": "* Physio <2026-11-23 Mon 15:00>\n"}, line)
    assert said in answer and never not in answer, answer


@pytest.mark.parametrize("line", ["same at 18", "and also in the evening at 9", "the same at 6 pm"])
def test_no_task_is_offered_that_is_called_same_or_also(tmp_path, line):
    answers, files = play(tmp_path, {"inbox.org": ""}, "remind me every day at 8 to give her the pills", line)
    assert "Did you mean “todo" not in answers[1] and files["inbox.org"].count("* TODO") == 1, answers


HOUSE = {"projects/roof.md": "# Roof\n- [ ] roof: ladder back 📅 2026-11-20\n- [x] roof tarp ✅ 2026-11-10\n", "school/9a.md": "# Nine a\nthe roof of the gym\n- [ ] marks 📅 2026-11-20\n", "inbox.org": "* TODO Dentist\nSCHEDULED: <2026-11-26 Thu 08:15>\n* TODO Haircut\nSCHEDULED: <2026-11-27 Fri 08:15>\n"}


@pytest.mark.parametrize("lines, has, hasnt", [
    (("find roof", "only in projects"), ("ladder", "tarp"), ("gym",)), (("find roof", "only in 9a"), ("gym",), ("tarp",)), (("find roof", "only the ones with ladder"), ("ladder",), ("gym",)),
    (("find roof", "only in projects", "only the open ones"), ("ladder",), ("gym", "tarp")), (("what is due tomorrow", "only in 9a"), ("marks",), ("ladder",)), (("find roof", "just in projects"), ("ladder",), ("gym",)),
    (("find roof", "only marks"), (), ("tarp",)), (("open tasks", "only roof"), ("ladder",), ("marks",)), (("find roof", "only in nine"), (), ("tarp",)), (("find roof", "only joking"), ("didn't understand",), ()),
    (("find roof", "only in submarines"), ("called “submarines”",), ("gym",)), (("what is due this week", "only those about ladder"), ("ladder",), ("marks",))])
def test_the_last_list_is_narrowed_by_a_place_a_word_or_a_state(tmp_path, lines, has, hasnt):
    answers, files = play(tmp_path, HOUSE, *lines)
    assert all(word in answers[-1] for word in has) and not any(word in answers[-1] for word in hasnt), answers[-1]
    assert files == HOUSE


@pytest.mark.parametrize("lines, stands", [
    (("remind me to take the pills today at 21", "same at 22"), ("2026-11-19 Thu 21:00", "2026-11-19 Thu 22:00")),
    (("remind me to take the pills today at 21", "same at 22", "and again tomorrow"), ("2026-11-19 Thu 22:00", "2026-11-20 Fri 22:00")),
    (("remind me to call Ana", "tomorrow at 9", "same for Leo", "yes", "same at 18"), ("TODO call Ana\n", "TODO call Leo\nSCHEDULED: <2026-11-20 Fri 09:00>", "TODO call Leo\nSCHEDULED: <2026-11-20 Fri 18:00>")),
    (("move dentist to friday", "same for haircut"), ("TODO Dentist\nSCHEDULED: <2026-11-20 Fri 08:15>", "TODO Haircut\nSCHEDULED: <2026-11-20 Fri 08:15>"))])
def test_the_same_is_said_again_for_another_hour_or_another_person(tmp_path, lines, stands):
    answers, files = play(tmp_path, HOUSE, *lines)
    assert all(each in files["inbox.org"] for each in stands), (answers, files["inbox.org"])


@pytest.mark.parametrize("lines", [("what is due today", "same at 18"), ("gym every monday at 9", "same on friday"), ("remind me to call Ana about Tom tomorrow at 9", "same for Leo")])
def test_the_same_of_what_nobody_can_know_is_asked_about(tmp_path, lines):
    before, _ = play(tmp_path / "a", HOUSE, *lines[:-1]), None
    answers, files = play(tmp_path / "b", HOUSE, *lines)
    assert files == before[1] and ("Nothing was done" in answers[-1] or "Shall it come" in answers[-1]), answers[-1]


PACKING = {"packing list.md": "# Packing list\n- [ ] rain jacket\n- [ ] eggs\n"}


@pytest.mark.parametrize("lines, stands", [
    (("add milk to the packing list", "and also bread", "and also butter", "yes"), ("milk", "bread", "butter")), (("what is on the packing list", "and also soap", "yes"), ("soap",)),
    (("add milk to the packing list", "and also eggs"), ("milk",))])
def test_one_thing_more_is_offered_beside_what_was_offered_before(tmp_path, lines, stands):
    answers, files = play(tmp_path, PACKING, *lines)
    assert files["packing list.md"] == PACKING["packing list.md"] + "".join(f"- [ ] {each}\n" for each in stands), answers
    assert lines[-1] != "and also eggs" or "already" in answers[-1], answers


PRESSURE = {"mum.md": "# Mum\n\n| date | blood pressure | pulse |\n|---|---|---|\n| 2026-11-10 | 150/95 | 80 |\n| 2026-11-17 | 132/85 | 70 |\n| 2026-11-18 | 128/86 mmHg | 66 |\n| 2026-11-19 | ill | |\n"}


@pytest.mark.parametrize("line, says", [("average blood pressure this week", "130/85.5 on average, of 2 pairs"), ("highest blood pressure", "150 is the highest first number of 3 (line 5); 95 is the highest second number of 3 (line 5)"),
                                        ("average blood pressure this week", "“ill” (line 8)"), ("what was my blood pressure yesterday", "128/86 mmHg, in mum.md:7"), ("average pulse", "72 on average")])
def test_two_numbers_in_one_cell_have_an_average_each(tmp_path, line, says):
    (answer,), _ = play(tmp_path, PRESSURE, line)
    assert says in answer


@pytest.mark.parametrize("lines, stands", [
    (("todo night shift tue 21-7", "move it to wed 21-7"), "* TODO night shift (until 07:00)\nSCHEDULED: <2026-11-25 Wed 21:00>"), (("todo night shift tue 21-7", "no, wed 21-7"), "* TODO night shift (until 07:00)\nSCHEDULED: <2026-11-25 Wed 21:00>"),
    (("todo night shift tue 21-7", "move night shift to wed from 22 to 6", "yes"), "* TODO night shift (until 06:00)\nSCHEDULED: <2026-11-25 Wed 22:00>"), (("Nachtschicht Di 21-7 Uhr", "verschieb Nachtschicht auf Mi 21-7 Uhr"), "* TODO Nachtschicht (bis 07:00)\nSCHEDULED: <2026-11-25 Wed 21:00>"),
    (("move late duty to wed 21-7",), "* TODO Late duty\nSCHEDULED: <2026-11-24 Tue 14:00>"), (("move late duty to wed 21-7", "yes"), "* TODO Late duty (until 07:00)\nSCHEDULED: <2026-11-25 Wed 21:00>")])
def test_a_night_is_moved_to_another(tmp_path, lines, stands):
    answers, files = play(tmp_path, {"inbox.org": "* TODO Late duty\nSCHEDULED: <2026-11-24 Tue 14:00>\n"}, *lines)
    assert stands in files["inbox.org"], (answers, files)


SHED = {"Projects/Garden Shed.md": "# Garden Shed\n\n## Roof\n- [ ] bitumen 📅 2026-11-25\n- [ ] gutter\n\n## Door\n- [ ] hinges, brass\n", "Daily/2026-11-18.md": "# Wed\n\n- [ ] order hinges 📅 2026-11-20\n"}


@pytest.mark.parametrize("lines, file, stands", [
    (("what is open in garden shed", "the first one by friday"), "Projects/Garden Shed.md", "- [ ] bitumen 📅 2026-11-20\n"), (("what is open in garden shed", "the second tomorrow"), "Projects/Garden Shed.md", "- [ ] gutter ⏳ 2026-11-20\n"),
    (("todo buy nails", "xyzzy plugh", "put it under Door"), "Projects/Garden Shed.md", "## Door\n- [ ] hinges, brass\n- [ ] buy nails\n"), (("move hinges to monday", "the one from yesterday", "1"), "Daily/2026-11-18.md", "- [ ] order hinges 📅 2026-11-23\n"),
    (("move hinges to monday", "the one in garden shed"), "Projects/Garden Shed.md", "- [ ] hinges, brass ⏳ 2026-11-23\n"), (("todo gig 6 december 21:00", "and soundcheck at 18", "yes"), "inbox.md", "- [ ] soundcheck 18:00 ⏳ 2026-12-06\n")])
def test_what_refers_to_a_list_or_to_what_was_just_done_is_taken_from_it(tmp_path, lines, file, stands):
    answers, files = play(tmp_path, SHED, *lines)
    assert stands in files[file], (answers, files[file])


@pytest.mark.parametrize("lines, says, hasnt", [
    (("the first one by friday",), "", "todo the first"), (("put it under Door",), "which one “it” is", "todo it"), (("gigs last month",), "", "todo gigs"), (("average sleep this week",), "", "todo average"),
    (("add lamp broken to repairs in the shed",), "Nothing in your notes is", "Did you mean"), (("what is open in garden shed", "the second is done", "no, the first"), "Then say: the first one is done", ""),
    (("when is bitumen", "what time is that in tokyo"), "no time zones", ""), (("todo gig 6 december 21:00", "move gig to 20:30", "no wait, an hour earlier"), "Counted from which hour?", ""),
    (("what is open in garden shed", "last friday"), "", "Scheduled")])
def test_nothing_is_offered_or_done_that_nobody_meant(tmp_path, lines, says, hasnt):
    answers, _ = play(tmp_path, SHED, *lines)
    assert says in answers[-1] and (not hasnt or hasnt not in answers[-1]), answers


BEDS = {"beds.org": "* Bed 1\n** TODO sow radishes\nSCHEDULED: <2027-03-15 Mon>\n* Bed 2\n", "seeds.md": "# Seeds\n\n- [ ] leek\n"}


@pytest.mark.parametrize("lines, file, stands", [
    (("todo sow onions under Bed 1 on 25 feb", "yes"), "beds.org", "** TODO sow onions\nSCHEDULED: <2027-02-25 Thu>\n* Bed 2"), (("todo sow onions under bed 2 by friday", "yes"), "beds.org", "* Bed 2\n** TODO sow onions\nDEADLINE: <2026-11-20 Fri>"),
    (("sow radishes a week earlier", "yes"), "beds.org", "SCHEDULED: <2027-03-08 Mon>"), (("add celery to seeds", "buy parsley too", "yes"), "seeds.md", "- [ ] celery\n- [ ] parsley\n")])
def test_a_place_and_a_day_are_no_part_of_a_title(tmp_path, lines, file, stands):
    answers, files = play(tmp_path, BEDS, *lines)
    assert stands in files[file] and set(files) == set(BEDS), (answers, files)


HOUSE_TABLE = {"house.md": "# House\n\n| flat | tenant | rent | paid nov |\n|---|---|---|---|\n| top | Leo Stern | 700 € | |\n| left | Herr Brandt | 640 € | 2026-11-03 |\n"}


@pytest.mark.parametrize("line, says", [("how much rent does Leo pay", "700 €, in house.md:5"), ("raise Brandt's rent to 660", "I do not change the cells of tables; nothing was done"), ("change the rent of Leo Stern to 720", "700 €, in house.md:5"),
                                        ("set paid nov of Leo to 2026-11-19", "an empty cell, in house.md:5"), ("when did Brandt move in", "find Brandt move")])
def test_a_cell_of_somebody_is_told_and_not_changed(tmp_path, line, says):
    (answer,), files = play(tmp_path, HOUSE_TABLE, line)
    assert says in answer and files == HOUSE_TABLE


@pytest.mark.parametrize("lines, stands", [(("call mum today at 21:00", "same for dad", "same on saturday"), "TODO call mum\nSCHEDULED: <2026-11-21 Sat 21:00>"), (("call mum today at 21:00", "same time on saturday"), "TODO call mum\nSCHEDULED: <2026-11-21 Sat 21:00>")])
def test_a_question_back_stands_in_the_way_of_no_other_same(tmp_path, lines, stands):
    answers, files = play(tmp_path, HOUSE, *lines)
    assert stands in files["inbox.org"], answers


@pytest.mark.parametrize("line", ["five to nine", "2 to 3 pm", "same time tomorrow", "last friday", "the second tuesday"])
def test_hours_and_days_that_look_like_one_of_a_list_move_nothing(tmp_path, line):
    answers, files = play(tmp_path, HOUSE, "open tasks", line)
    assert files == HOUSE and "todo same" not in answers[-1], answers


@pytest.mark.parametrize("only, shown", [("only in october", {"journal/2026-10-03.md", "journal/2026_10_20.md", "a.org"}), ("only this week", {"journal/2026-11-18.md"}), ("only yesterday", {"journal/2026-11-18.md"}), ("only in september", set())])
def test_a_page_that_is_called_by_its_day_is_of_that_day(tmp_path, only, shown):
    notes = {"journal/2026-10-03.md": "Bees swarmed.\n", "journal/2026_10_20.md": "- bees again\n", "journal/2026-11-18.md": "bees asleep\n", "a.org": "* bees\n<2026-10-05 Mon>\n* more bees\n"}
    (_, answer), _ = play(tmp_path, notes, "find bees", only)
    assert {name for name in notes if name in answer.partition("With fewer words")[0]} == shown, answer


@pytest.mark.parametrize("line", ["find roof OR boat OR shed", "find (roof OR shed OR boat) -zebra", "find tag:x OR roof OR boat OR shed"])
def test_or_in_capitals_is_either_also_where_there_are_more_than_two(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* roof\n* boat\n* shed\n* or\n"}, line)
    assert "3 sections" in answer, answer


GARDEN = {"house.org": "* TODO Garden fence\nDEADLINE: <2026-11-21 Sat>\n* Garden\n** TODO rake leaves\nSCHEDULED: <2026-11-21 Sat>\n** Beds\n*** TODO compost\nSCHEDULED: <2026-11-20 Fri>\n* TODO Roof :garden:\nDEADLINE: <2026-11-18 Wed>\n* TODO call this week Ana\nDEADLINE: <2026-11-20 Fri>\n"}

@pytest.mark.parametrize("lines, there", [(("what is due in the garden",), ("rake", "compost", "Roof")), (("what's due in the garden this week",), ("rake", "compost", "Roof")), (("what is due for #garden tomorrow",), ("compost",)), (("anything overdue in the garden",), ("Roof",)), (("what is due in the beds",), ("compost",)),
                                          (("what is due for Ana",), ("call this week Ana",)), (("what is due this week", "only garden"), ("rake", "compost", "Roof")), (("what is due this week", "only in the garden"), ("rake", "compost", "Roof")), (("garden tasks",), ("rake", "compost", "Roof")), (("what is due in garden next week",), ())])
def test_an_agenda_is_narrowed_to_a_heading_a_tag_or_a_word(tmp_path, lines, there):
    answers, _ = play(tmp_path, GARDEN, *lines)
    assert {each for each in ("Garden fence", "rake", "compost", "Roof", "call this week Ana") if each in answers[-1]} == {*there}, answers[-1]


@pytest.mark.parametrize("line", ["what is due in the submarine", "what is due in the morning", "what is due in november"])
def test_what_no_note_has_and_what_is_a_time_is_no_name(tmp_path, line):
    (answer,), _ = play(tmp_path, GARDEN, line)
    assert "called or tagged" not in answer, answer


FAMILY = {"mia.md": "# Mia\nborn: 2016-04-12\nshoe size: 35\n", "ben.md": "# Ben\nborn: 2019-08-30\n", "week.org": "* TODO Piano Mia\nSCHEDULED: <2026-11-23 Mon 15:30 +1w>\n* TODO Swim\nSCHEDULED: <2026-11-20 Fri 16:00 +1w>\n"}

@pytest.mark.parametrize("lines, says", [
    (("how old is mia", "and her birthday?"), "Mia: 10, and 11 on Monday 12 April 2027"), (("how old is mia", "and ben?", "when was he born"), "Ben: 7"), (("who is mia", "what's her shoe size"), "shoe size: 35"),
    (("who is mia", "and her birthday", "how old is she"), "Mia: 10"), (("what is due today", "and his birthday?"), "I don't know who “his” is"), (("how old is mia", "what's her phone number"), "Mia"),
    (("when is piano", "when is it next"), "23 November 2026 15:30"), (("when is mias birthday", "her shoe size?"), "shoe size: 35")])
def test_a_pronoun_is_who_was_named_in_the_question_before(tmp_path, lines, says):
    answers, files = play(tmp_path, FAMILY, *lines)
    assert says in answers[-1] and "'hi'" not in answers[-1] and files == FAMILY, answers


@pytest.mark.parametrize("line", ["when is it next", "and when is it next?"])
def test_what_is_asked_of_it_is_not_answered_with_another_thing(tmp_path, line):
    answers, _ = play(tmp_path, FAMILY, "what is due this month", line)
    assert "Swim" not in answers[-1], answers[-1]


@pytest.mark.parametrize("name", ["todo.md", "Tasks.md", "lists/todos.md"])
@pytest.mark.parametrize("line", ["put wrapping paper on the todo list", "add wrapping paper to my todos", "add wrapping paper to the task list"])
def test_the_list_of_tasks_is_the_file_that_is_called_so(tmp_path, name, line):
    _, files = play(tmp_path, {name: "- [ ] a\n"}, line)
    assert files == {name: "- [ ] a\n- [ ] wrapping paper\n"}


def test_two_files_of_tasks_are_none_and_a_day_goes_with_it(tmp_path):
    _, files = play(tmp_path / "a", {"todo.md": "- [ ] a\n", "tasks.md": "- [ ] b\n"}, "add wrapping paper to my todos")
    assert files["todo.md"] == "- [ ] a\n" and "wrapping paper" in files["inbox.md"]
    _, files = play(tmp_path / "b", {"todo.org": "* TODO a\n"}, "add wrapping paper to my todos for friday")
    assert files == {"todo.org": "* TODO a\n* TODO wrapping paper\nSCHEDULED: <2026-11-20 Fri>\n"}, files


CASES = {"cases.org": "* Case 31: DKA\n* Case 33: febrile neutropenia\nculture taken\n* Roof\n", "rota.org": "* Rota\n| Date | Shift |\n|---+---|\n| 2026-11-20 | late 13-21 |\n"}

@pytest.mark.parametrize("lines, says, stands", [
    (("case 33",), "culture taken", None), (("note for case 33: switched drug", "yes"), "Case 33", "* Case 33: febrile neutropenia\nculture taken\nswitched drug\n* Roof"),
    (("todo for case 33: ask lab", "yes"), "Case 33", "culture taken\n** TODO ask lab\n* Roof"), (("when do i start tomorrow",), "late 13-21", None)])
def test_a_heading_is_called_by_what_stands_before_its_colon(tmp_path, lines, says, stands):
    answers, files = play(tmp_path, CASES, *lines)
    assert says in answers[-1] and ("inbox.org" not in files) and (stands is None or stands in files["cases.org"]), (answers, files)


@pytest.mark.parametrize("line", ["note for Ana: bring keys", "note for case 35: nothing", "todo for tomorrow: call Bo", "case 3"])
def test_what_is_called_otherwise_is_no_place_for_a_note(tmp_path, line):
    answers, files = play(tmp_path, CASES, line)
    assert files["cases.org"] == CASES["cases.org"] and " under " not in answers[0], answers


NOVEL = {"novel.org": "#+TODO: IDEA DRAFT | FINAL\n* IDEA 4 Storm\n* DRAFT 3 The quarry\n", "house.org": "* TODO Roof\n"}

@pytest.mark.parametrize("lines, stands", [(("set storm to draft",), "* DRAFT 4 Storm"), (("make storm a draft",), "* DRAFT 4 Storm"), (("storm is final", "yes"), "* FINAL 4 Storm"), (("set the quarry to final",), "* FINAL 3 The quarry")])
def test_a_state_that_the_file_has_is_set_in_small_letters(tmp_path, lines, stands):
    answers, files = play(tmp_path, NOVEL, *lines)
    assert stands in files["novel.org"] and files["house.org"] == NOVEL["house.org"], answers


@pytest.mark.parametrize("line", ["set roof to draft", "storm is over", "make storm final", "put storm in a box"])
def test_a_state_that_the_file_has_not_is_none(tmp_path, line):
    answers, files = play(tmp_path, NOVEL, line)
    assert files == NOVEL, answers


def test_what_is_in_a_state_of_its_own_is_listed(tmp_path):
    answers, _ = play(tmp_path, NOVEL, "what's still a draft", "show drafts", "what is in idea")
    assert "3 The quarry" in answers[0] and "3 The quarry" in answers[1] and "4 Storm" in answers[2] and "Storm" not in answers[0]


@pytest.mark.parametrize("line, there, not_there", [("find letter in characters", "Marta", "Timeline"), ("find letter in the novel folder", "Timeline", "post"), ("search for letter in novel", "Marta", "post"), ("find letter or stamp in inbox", "post", "Marta")])
def test_a_search_is_in_the_file_or_folder_that_is_named(tmp_path, line, there, not_there):
    notes = {"novel/characters.md": "# Characters\n## Marta\ngets a letter\n", "novel/time.md": "# Timeline\na letter\n", "inbox.md": "- [ ] post letter\n- [ ] stamp\n"}
    (answer,), _ = play(tmp_path, notes, line)
    assert there in answer and not_there not in answer, answer


@pytest.mark.parametrize("lines, stands", [(("remind me to chase Lu on monday 9am", "and call dave at 3pm tomorrow"), "* TODO call dave\nSCHEDULED: <2026-11-20 Fri 15:00>"), (("todo chase Lu by monday", "and mail bo on tuesday", "yes"), "* TODO mail bo\nSCHEDULED: <2026-11-24 Tue>"),
                                           (("what is due today", "and mail bo tomorrow at 3"), "* TODO mail bo\nSCHEDULED: <2026-11-20 Fri 15:00>"), (("gig 6 december 21:00", "and soundcheck at 18", "yes"), "* TODO soundcheck\nSCHEDULED: <2026-12-06 Sun 18:00>")])
def test_an_and_in_front_of_one_task_more_is_no_word_of_it_and_its_day_is_its_own(tmp_path, lines, stands):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, *lines)
    assert stands in files["inbox.org"], (answers, files)


@pytest.mark.parametrize("line", ["todo send manual by friday 5pm PST", "call dave at 3pm EST tomorrow", "remind me on friday at 12:00 UTC to call", "standup monday 10 UTC"])
def test_an_hour_of_another_place_is_asked_about(tmp_path, line):
    (answer,), files = play(tmp_path, {"a.org": "* x\n"}, line)
    assert "names a time zone" in answer and set(files) == {"a.org"}, answer
    (_,), files = play(tmp_path, {"a.org": "* x\n"}, 'todo "send manual by friday 5pm PST"')
    assert "send manual by friday 5pm PST" in files["inbox.org"]


YEARS = {"daily/2019-03-03.md": "# 2019-03-03\nmood:: 4\nfox\n", "daily/2020-03-03.md": "# 2020-03-03\nmood:: 2\nsnow\n", "a.org": "* TODO far\nDEADLINE: <2027-03-01 Mon>\n* DONE x\nCLOSED: [2019-05-05 Sun]\n"}

@pytest.mark.parametrize("line, says", [("show 2020-03-03", ("snow", "lines 1-3")), ("show 3 march 2020", ("snow", "lines 1-3")), ("show me 2026-11-20", ("Nothing is on",)), ("average mood in 2019", ("4 on average, of 1 number in 2019",)), ("what is due in 2027", ("TODO far",)),
                                        ("what did I write in 2019", ("fox", "a.org:3")), ("what did I do on 3 march 2020", ("was done 2020-03-03, or stands on the page of such a day", "snow"))])
def test_a_year_and_the_page_of_a_day_that_is_over(tmp_path, line, says):
    (answer,), files = play(tmp_path, YEARS, line)
    assert all(each in answer for each in says) and files == YEARS, answer


def test_until_then_counts_to_what_was_asked_about(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "* Berlin half <2027-04-04 Sun>\n"}, "when is berlin", "how many weeks until then?", "what is due today", "how many days until then")
    assert "2027: in 136 days (19 weeks" in answers[1] and "136" not in answers[3], answers


def test_the_deadline_of_something_is_its_date(tmp_path):
    notes = {"jobs.org": "* TODO Halbmond novel, chapters 4-6\nDEADLINE: <2026-11-30 Mon>\n* TODO Ask for the thesis deadline\nDEADLINE: <2026-12-05 Sat>\n"}
    answers, files = play(tmp_path, notes, "when is the halbmond deadline", "move it to dec 2", "when's the thesis deadline", "when is halbmond's due date")
    assert "due Monday 30 November 2026" in answers[0] and "DEADLINE: <2026-12-02 Wed>" in files["jobs.org"] and "Ask for the thesis deadline" in answers[2] and "2 December" in answers[3], answers


@pytest.mark.parametrize("lines, stands", [(('put "the bell under water" under ideas', "yes"), "# Ideas\n- salt\n- the bell under water\n"), (("put green beans under ideas", "yes"), "# Ideas\n- salt\n- green beans\n"), (("put green beans under plans",), "# Ideas\n- salt\n")])
def test_what_is_put_under_a_heading_is_offered_as_a_note_there(tmp_path, lines, stands):
    answers, files = play(tmp_path, {"ideas.md": "# Ideas\n- salt\n"}, *lines)
    assert files == {"ideas.md": stands}, answers


@pytest.mark.parametrize("line, shown, hidden", [("how far did i run", "Ran 4 km", "Bought"), ("when did I last run?", "Ran 4 km", "Bought"), ("how did i sleep", "Slept badly", "Bought"), ("did i try the new shoes", "Tried the new shoes", "Bought"),
    ("how far did i run on monday", "Ran 4 km", "Bought"), ("when do i run", "No note mentions", "Ran")])
def test_a_question_in_the_past_finds_the_verb_as_it_was_written_down(tmp_path, line, shown, hidden):
    (answer,), _ = play(tmp_path, {"journal/2026-11-16.md": "Slept badly. Ran 4 km in the rain. Tried the new shoes.\n", "house.md": "Bought the fridge for 499 €.\n"}, line)
    assert shown in answer and hidden not in answer and "'(" not in answer, answer
