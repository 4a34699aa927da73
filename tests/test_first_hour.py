"The first hour with other people's folders: Logseq, Obsidian, German, names with blanks, pasted lines"
import asyncio
import os
import re
from datetime import datetime

import pytest

from passepartout.agent import Agent

GERMAN = """#+TODO: OFFEN WARTET | ERLEDIGT ABGESAGT
* OFFEN Zahnarzt
SCHEDULED: <2026-11-26 Thu 14:30>
* OFFEN Blumen
SCHEDULED: <2026-11-18 Wed +1w>
* WARTET Angebot vom Dachdecker
* OFFEN Reifen wechseln
* Einkaufsliste
- [ ] Milch
- [ ] Brot
* Geburtstag von Mama <2026-12-12 Sat +1y>
* WLAN
Passwort des Gästenetzes: im Flur
"""


def play(folder, notes, *lines):
    "The answer to each line, and what stands in each file afterwards."
    memex = folder / "memex"
    for name, text in notes.items():
        (memex / name).parent.mkdir(parents=True, exist_ok=True)
        (memex / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    memex.mkdir(parents=True, exist_ok=True)

    async def run():
        agent = await Agent.boot(memex_dir=memex, state_dir=folder / "state", cache_dir=folder / "cache", today="2026-11-19")
        try: return [str(await agent.handle(line, session="s")) for line in lines]
        finally: await agent.close()
    answers = asyncio.run(run())
    return answers, {str(path.relative_to(memex)): path.read_text(errors="replace") for path in sorted(memex.rglob("*")) if path.is_file()}


def test_a_task_moves_into_the_file_that_was_named_and_not_into_one_in_lower_case(tmp_path):
    (answer,), files = play(tmp_path, {"Ana Souza.md": "# Ana\n", "Kitchen.md": "# Kitchen\n- [ ] compare prices\n"}, "move compare prices to Ana Souza.md")
    assert set(files) == {"Ana Souza.md", "Kitchen.md"} and "compare prices" in files["Ana Souza.md"], answer


@pytest.mark.parametrize("line", ["note in Meine Notizen/x.org: der Hahn tropft", "Notiz in meine notizen/x.org: der Hahn tropft", "note: der Hahn tropft in Meine Notizen/x.org"])
def test_a_file_with_a_blank_in_its_name_needs_no_quotation_marks(tmp_path, line):
    (answer,), files = play(tmp_path, {"Meine Notizen/x.org": "* a\n"}, line)
    assert files == {"Meine Notizen/x.org": "* a\n* der Hahn tropft\n"}, answer


@pytest.mark.parametrize("line, said", [("note in Neue Sachen/x.org: y", "no folder called “Neue Sachen”"), ("note in neues buch.org: y", "no file called"), ("note in x.org: y", "but Meine Notizen/x.org")])
def test_a_file_that_is_not_there_is_asked_about_and_nothing_goes_to_the_inbox(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"Meine Notizen/x.org": "* a\n"}, line)
    assert said in answer and files == {"Meine Notizen/x.org": "* a\n"}


def test_the_file_that_was_offered_is_written_after_a_yes(tmp_path):
    text = "a long remark " * 30
    answers, files = play(tmp_path, {"Meine Notizen/x.org": "* a\n"}, f"note in x.org: {text}", "yes")
    assert text.strip() in files["Meine Notizen/x.org"] and list(files) == ["Meine Notizen/x.org"], answers


@pytest.mark.parametrize("line", ["done call the roofer", "check off seeds", "move old thing to under garden", "move garden to friday"])
def test_who_finds_nothing_hears_which_file_could_not_be_read(tmp_path, line):
    (answer,), _ = play(tmp_path, {"house.org": b"* TODO Call the roofer\n\0\n* Garden\n- [ ] seeds\n", "inbox.org": "* TODO old thing\n"}, line)
    assert " called " in answer and answer.endswith("\nNot read: house.org: it holds NUL bytes, so it is not text."), answer


def test_the_state_of_the_file_is_told(tmp_path):
    answers, files = play(tmp_path, {"a.org": GERMAN}, "done Zahnarzt", "Blumen erledigt", "sag Reifen ab", "worauf warte ich?")
    assert "to ERLEDIGT" in answers[0] and "to ERLEDIGT; it begins again" in answers[1] and "to ABGESAGT" in answers[2] and "WARTET Angebot" in answers[3]
    assert "DONE" not in files["a.org"]


def test_what_is_not_read_is_said_once_and_with_every_empty_answer(tmp_path):
    answers, _ = play(tmp_path, {"a.org": GERMAN, "film.org": b"\0\0\0 ftyp"}, "was ist offen", "all open tasks", "find zebra", "find Dachdecker")
    assert ["film.org" in answer for answer in answers] == [True, False, True, False] and "once a day" in answers[0]
    again, _ = play(tmp_path, {}, "all open tasks", "find zebra")
    assert ["film.org" in answer for answer in again] == [False, True], "another process on the same day"


@pytest.mark.parametrize("line, said", [
    ("hake Milch ab", "Checked off “Milch”"), ("Brot abhaken", "Checked off “Brot”"), ("wann hat Mama Geburtstag?", "12 December"), ("wo steht das Passwort", "WLAN"), ("wie lautet das WLAN Passwort", "WLAN"), ("was steht auf der Einkaufsliste?", "Milch"),
    ("Zahnarzt ist wichtig", "priority A"), ("benenne Reifen wechseln um in Reifen holen", "“Reifen holen”"), ("kannst du mich morgen früh erinnern, Mama anzurufen?", "Mama anzurufen"), ("Termin am Freitag um 15 Uhr mit Herrn Pohl", "“Termin mit Herrn Pohl”"),
    ("was liegt an", "Blumen"), ("ich habe die Reifen abgeholt", "“done Reifen”"), ("welche Woche haben wir", "week 47"), ("verschiebe den Zahnarzt auf nächsten Donnerstag", "already")])
def test_everyday_german(tmp_path, line, said):
    (answer,), _ = play(tmp_path, {"a.org": GERMAN}, line)
    assert said.casefold() in answer.casefold(), answer


@pytest.mark.parametrize("line, said", [("what's left?", "all open tasks"), ("find tag:", "needs a word right after it"), ("tag:zebra", "is tagged “zebra”"), ("where are my notes", "memex_dir"), ("shopping list", "no list called"), ("make a shopping list", "todo milk in shopping.md"),
                                        ("what did I just do", "/trace"), ("what is this", "language model")])
def test_other_words_for_what_there_is(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"a.org": GERMAN}, line)
    assert said in answer and files["a.org"] == GERMAN, answer


def test_pasted_tasks_are_as_many_and_a_task_with_boxes_is_one(tmp_path):
    _, files = play(tmp_path, {}, "todo: buy milk\ntodo: call Ana by friday\n", "todo party\n- [ ] cake\n- [ ] tea")
    assert files["inbox.org"] == "* TODO buy milk\n* TODO call Ana\nDEADLINE: <2026-11-20 Fri>\n* TODO party\n- [ ] cake\n- [ ] tea\n"


def test_no_line_of_a_paste_becomes_the_text_of_the_first_task(tmp_path):
    many = "\n".join(f"todo: thing {n}; and more" for n in range(20))
    (answer,), files = play(tmp_path / "a", {}, many)
    assert files["inbox.org"].split("\n") == [*(f"* TODO thing {n}; and more" for n in range(20)), ""] and answer.count("Added the task") == 20
    _, files = play(tmp_path / "b", {}, "* TODO a\n* TODO plan next week\n* TODO say \"hello\"", "note: the fig\nnote: the tar")
    assert files["inbox.org"] == '* TODO a\n* TODO plan next week\n* TODO say "hello"\n* the fig\n* the tar\n'
    (answer,), files = play(tmp_path / "c", {}, "todo call Ana\ndentist friday 9:30\nnote: the fig")
    assert answer.startswith("One request at a time") and not files


def test_lines_of_all_kinds_become_tasks_or_one_entry_as_one_answers(tmp_path):
    lines = "call the insurance\ndentist friday 9:30\ndone call Ana\nis the roof done?\n- [ ] renew passport\narchive everything\nremind me to water the fig every sunday"
    answers, files = play(tmp_path / "a", {"a.org": "* TODO call Ana\n"}, lines, "tasks")
    assert "of the 7 lines, answer “tasks”" in answers[0] and answers[1].count("Added the task") == 7 and files["a.org"] == "* TODO call Ana\n"
    assert files["inbox.org"] == ("* TODO call the insurance\n* TODO dentist\nSCHEDULED: <2026-11-20 Fri 09:30>\n* TODO done call Ana\n* TODO is the roof done?\n* TODO renew passport\n"
                                  "* TODO archive everything\n* TODO water the fig\nSCHEDULED: <2026-11-22 Sun +1w>\n")
    _, files = play(tmp_path / "b", {}, "todo call Ana\nnote: the fig\nand so on", "todo")
    assert files["inbox.org"] == "* TODO call Ana\nnote: the fig\nand so on\n"
    answers, files = play(tmp_path / "c", {}, "hello", "tasks")
    assert not files


def test_what_is_told_leads_to_what_is_called_so(tmp_path):
    notes = {"a.org": "* TODO write to Henrik about the data\n* TODO dishwasher service\nDEADLINE: <2026-11-25 Wed>\n"}
    answers, files = play(tmp_path, notes, "i wrote to henrik", "yes", "dishwasher service is friday not wednesday", "the roof is red not blue", "oh wait no undo that", "nothing else", "what was that again")
    assert "* DONE write to Henrik" in files["a.org"] and "“move dishwasher service to friday”" in answers[2] and "move" not in answers[3]
    assert "/undo" in answers[4] and answers[5].startswith("Goodbye") and "/trace" in answers[6]


def test_a_folder_without_notes_says_so(tmp_path):
    answers, _ = play(tmp_path, {}, "what is due today", "what is overdue")
    assert all("no notes in this folder" in answer for answer in answers) and answers[1].startswith("Nothing is overdue.")


def test_more_of_a_search_is_shown(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "".join(f"* bread number {n}\n" for n in range(20))}, "find bread", "more", "more")
    assert "12 more not shown: “more”" in answers[0] and answers[1].count("bread number") == 20 and "bread number" not in answers[2]


def test_what_was_named_is_meant_by_the_next_sentences(tmp_path):
    answers, files = play(tmp_path, {"Meine Notizen/x.org": "* Notes\n"}, "todo buy paint in Meine Notizen/x.org", "make that high priority", "set it to friday", "at 9", "rename it to buy white paint", "is it done?",
                          "note: cheap at Obi", "make it a task", "remind me about that tomorrow", "move that note to Meine Notizen/x.org")
    assert files["Meine Notizen/x.org"] == "* Notes\n* TODO [#A] buy white paint\nSCHEDULED: <2026-11-20 Fri 09:00>\n" and answers[5].startswith("No. “buy white paint”"), answers
    assert files["inbox.org"].startswith("* TODO cheap at Obi\n* TODO cheap at Obi\nSCHEDULED: <2026-11-20 Fri>"), "two of one title: which was meant is asked and not guessed"


def test_that_note_is_no_heading_called_notes(tmp_path):
    (answer,), files = play(tmp_path, {"a.org": "* Notes\nx\n", "b.org": ""}, "move that note to b.org")
    assert "which one “that note”" in answer and files == {"a.org": "* Notes\nx\n", "b.org": ""}


def test_a_day_that_is_misspelt_in_a_reminder_is_offered(tmp_path):
    answers, files = play(tmp_path, {}, "remind me tomorow at 9 to call Ana", "yes")
    assert "“remind me tomorrow at 9 to call Ana”" in answers[0] and "2026-11-20 Fri 09:00" in files["inbox.org"]


def test_an_item_for_a_list_that_several_may_be_is_asked_about(tmp_path):
    notes = {"people/kessler.org": "* To ask before we leave for Lisbon\n- [ ] the cat\n", "trips/lisbon-eating.md": "# Comer\n- [ ] tickets\n"}
    (answer,), files = play(tmp_path, notes, "add sardines to the lisbon list")
    assert files == notes and "Which one do you mean?" in answer and "trips/lisbon-eating.md" in answer


def test_an_item_for_a_page_of_plain_bullets_is_a_plain_bullet(tmp_path):
    notes = {"pages/Shopping.md": "- milk\n- oats\n", "pages/Tools.md": "- TODO saw\n", "journals/2026_11_18.md": "- x\n"}
    answers, files = play(tmp_path, notes, "add bread to the shopping list", "add jam to shopping", "add a drill to tools")
    assert files["pages/Shopping.md"] == "- milk\n- oats\n- bread\n- jam\n" and "- TODO a drill\n" in files["pages/Tools.md"], answers


def test_two_lists_of_nearly_one_name_are_offered_and_the_chosen_one_is_written(tmp_path):
    notes = {"Kitchen.md": "# Kitchen\n\n## Shopping list\n- [ ] grout\n", "Shopping.md": "# Shopping\n- [ ] milk\n"}
    answers, files = play(tmp_path, notes, "add bread to the shopping list", "2")
    assert "“Shopping list” (Kitchen.md:3)" in answers[0] and "“Shopping” (Shopping.md:1)" in answers[0] and "bread" in "".join(files.values()), answers
    assert ("bread" in files["Shopping.md"]) == (answers[0].split("\n")[2].startswith("2. “Shopping” "))


def test_a_place_after_a_title_in_quotes_is_asked_about(tmp_path):
    (answer,), files = play(tmp_path, {"trips/rome.org": "* Rome\n"}, 'create a note "Holiday plans" in trips')
    assert "Name the file" in answer and files == {"trips/rome.org": "* Rome\n"}


@pytest.mark.parametrize("line, first", [("who is Maria", "people.org:1"), ("where does haruka live", "haruka.md"), ("which notes mention Maria?", "people.org:1")])
def test_who_is_asked_about_comes_first(tmp_path, line, first):
    (answer,), _ = play(tmp_path, {"people.org": "* Maria Lopez\n* TODO send Maria the recipe\n", "haruka.md": "From Kanazawa.\n", "x.org": "* where we live\n"}, line)
    assert f"1. {first}" in answer, answer


@pytest.mark.parametrize("line, found", [("what did I change today", "a.org"), ("what's new", "a.org b.org"), ("recent notes", "a.org b.org"), ("which notes did I change last month", "c.org"), ("notes I edited yesterday", "b.org"), ("changed:..2026-10-31", "c.org"), ("was habe ich gestern geändert", "b.org"), ("neueste Notizen", "a.org b.org"), ("was gibt es Neues?", "a.org b.org"), ("find changed:today tag:x", ""), ("what changed in september", "")])
def test_what_was_changed_lately_is_known(tmp_path, monkeypatch, line, found):
    monkeypatch.setenv("PASSEPARTOUT_TODAY", "2026-11-19")
    memex = tmp_path / "memex"
    memex.mkdir()
    for name, day in (("a.org", datetime(2026, 11, 19, 0, 0, 1)), ("b.org", datetime(2026, 11, 18, 23, 59, 59)), ("c.org", datetime(2026, 10, 7))):
        (memex / name).write_text("* One\n* Two\n")
        os.utime(memex / name, (day.timestamp(), day.timestamp()))
    (answer,), _ = play(tmp_path, {}, line)
    assert sorted(re.findall(r"^\d+\. (\S+):1\b", answer, re.M)) == found.split() and (found or "Nothing in your notes" in answer or "No note" in answer), answer


LINKED = {"trips/lisbon.org": "#+TITLE: Lisbon, December 2026\n* The flat\n:PROPERTIES:\n:ID: flat-7\n:END:\n", "haruka.md": "# Haruka\nLisbon, Lisbon and Lisbon.\n", "a.org": "* Bread\nfor [[file:trips/lisbon.org][them]]\n* Keys\nof the [[id:flat-7]]\n",
          "b.md": "# Post\nto [Lisbon](trips/lisbon.org)\n", "c.md": "# Diary\nwith [[haruka]] and [[Some Day]]\n"}


@pytest.mark.parametrize("line, found", [("what links to lisbon", "a.org:1 b.md:1"), ("which notes link to Lisbon, December 2026?", "a.org:1 b.md:1"), ("backlinks of trips/lisbon.org", "a.org:1 b.md:1"), ("what links to the flat", "a.org:3"), ("show me the links to haruka", "c.md:1"),
                                         ("links:haruka", "c.md:1"), ("find links:lisbon -bread", "b.md:1"), ("was verweist auf Lisbon", "a.org:1 b.md:1"), ("links auf haruka", "c.md:1"), ("what links to some day", "c.md:1"), ("what links to lis", ""), ("what links to \"quo\"te", ""), ("links:'", "")])
def test_what_links_to_a_note_is_known_and_not_what_mentions_it(tmp_path, line, found):
    (answer,), _ = play(tmp_path, LINKED, line)
    assert sorted(re.findall(r"^\d+\. (\S+)", answer, re.M)) == found.split(), answer
    assert found or "Nothing in your notes links to" in answer or "no word in links:" in answer or "I didn't understand" in answer, answer


def test_what_was_done_in_a_week_stands_on_its_pages_too(tmp_path):
    (answer,), _ = play(tmp_path, {"journals/2026_11_12.md": "- Fired the kiln\n", "journals/2026_11_18.md": "- Rain\n", "a.org": "* DONE Fence\nCLOSED: [2026-11-13 Fri]\n"}, "what did I do last week")
    assert "Fired the kiln" in answer and "Fence" in answer and "Rain" not in answer


PEOPLE = {"people/ana.org": "#+TITLE: Ana Carvalho\nMet in 2009.\n* TODO Call Ana about the dates\n", "model.org": "* TODO show a band. People read lines as promises\n", "todo.org": "* TODO ask Ana for the tasca\n* TODO Call Mama\n"}


@pytest.mark.parametrize("line", ["add a note to ana: likes figs", "add to ana's page: likes figs", "add to ana: likes figs", "note in ana: likes figs", "Notiz unter ana: likes figs"])
def test_a_line_for_somebody_goes_onto_their_page_and_under_no_task_that_names_them(tmp_path, line):
    (answer,), files = play(tmp_path, PEOPLE, line)
    assert files == {**PEOPLE, "people/ana.org": PEOPLE["people/ana.org"] + "* likes figs\n"}, answer


def test_a_heading_that_only_has_the_word_is_no_place_to_move_to_without_a_question(tmp_path):
    answers, files = play(tmp_path, PEOPLE, "move call mama to people", "move call mama to ana")
    assert "Nothing is called just “people”" in answers[0] and "* TODO Call Mama\n" in files["people/ana.org"] and files["model.org"] == PEOPLE["model.org"], answers


@pytest.mark.parametrize("line, said", [("ich hab die Q3 Sache erledigt", "Nothing in your notes is called “Q3 Sache”"), ("fasse meine Notizen zum Dach zusammen", "language model is needed"), ("Treffen mit Opitz morgen 10 bis 11", "Fri 20 November 2026 10:00 to 11:00"), ("was habe ich letzte Woche gemacht", "Nothing in your notes"), ("zeig mir alle Aufgaben mit Tag house", "tagged “house”")])
def test_more_of_everyday_german(tmp_path, line, said):
    (answer,), _ = play(tmp_path, PEOPLE, line)
    assert said in answer, answer


AGENDA = "#+TODO: TODO NEXT WAIT | DONE CANX\n* Home\n** NEXT Report\n** WAIT Answer\n"


def test_a_task_goes_under_the_heading_that_was_named_after_it(tmp_path):
    answers, files = play(tmp_path, {"todo.org": AGENDA}, "todo buy stamps under home", "yes", "todo read under the tree", "cancel the report", "next actions", "tasks in state WAIT")
    assert "“add a task under home: buy stamps”" in answers[0] and "** TODO buy stamps\n" in files["todo.org"] and "* TODO read under the tree" in files["inbox.org"], answers
    assert "** CANX Report" in files["todo.org"] and "todo:next" in answers[4] + "todo:next" and "Answer [WAIT]" in answers[5], answers


@pytest.mark.parametrize("text, found, not_found", [
    ("show NEXT items", "Take photos", "Choir"), ("LATER tasks", "Read it", "Choir"), ("later tasks", "Read it", "Take photos"), ("SOMEDAY list", "cello", "Choir"), ("office tasks", "TODO Renew", "Choir"), ("tasks at home", "Take photos", "cello"),
    ("tasks @home", "Take photos", "cello"), ("what am I working on right now?", "Write report", "Read it"), ("what's in progress", "Write report", "Renew"), ("tasks for the house", "Mend", "Renew")])
async def test_a_state_or_a_tag_of_these_notes_names_a_list(tmp_path, text, found, not_found):
    memex = tmp_path / "memex"; memex.mkdir()
    (memex / "gtd.org").write_text("#+TODO: TODO NEXT LATER SOMEDAY NOW | DONE\n* TODO Renew :@office:\n** NEXT Take photos :@home:\n* LATER Read it\n* NOW Write report\n* SOMEDAY Learn the cello\n* Choir <2026-11-19 Thu 19:00 +1w>\n")
    (memex / "house.org").write_text("#+TITLE: House\n* TODO Mend\n")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path, today="2026-11-19")
    reply = await agent.handle(text)
    await agent.close()
    assert found in reply and not_found not in reply


@pytest.mark.parametrize("text, found", [("where is the tent?", True), ("what is the plumber's phone number", True), ("find ladder", False)])
async def test_who_finds_nothing_hears_of_plain_texts(tmp_path, text, found):
    memex = tmp_path / "memex"; memex.mkdir()
    (memex / "a.md").write_text("# Ladder\nIn the shed.\n")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path, today="2026-11-19")
    assert ".txt" not in await agent.handle(text)
    for name in ("a.txt", "b/B.TXT"): (memex / name).parent.mkdir(exist_ok=True); (memex / name).write_text("The tent and the plumber\n")
    reply = await agent.handle(text)
    assert ("2 files that end in .txt" in reply) is found
    if found:
        told = reply.partition("“$ ")[2].partition("”")[0]
        assert "tent and the plumber" in await agent.handle(f"$ {told}")
    await agent.close()


APPOINTMENTS = "* Dentist Dr. Kraus\nThe crown.\n<2026-11-24 Tue 09:30-10:15> with the X-ray\n* Advent concert <2026-11-28 Sat 15:00>\n* Choir <2026-11-19 Thu 19:00 +1w>\n* Lyon <2026-12-03 Thu>--<2026-12-05 Sat>\n* Pair <2026-12-03 Thu> and <2026-12-05 Sat>\n"

@pytest.mark.parametrize("lines, old, new", [
    (["move the dentist to wednesday at 10"], "<2026-11-24 Tue 09:30-10:15>", "<2026-11-25 Wed 10:00-10:45>"), (["move dentist to 11am"], "<2026-11-24 Tue 09:30-10:15>", "<2026-11-24 Tue 11:00-11:45>"),
    (["postpone the dentist by a week"], "<2026-11-24 Tue 09:30-10:15>", "<2026-12-01 Tue 09:30-10:15>"), (["reschedule the advent concert to sunday", "no, monday"], "<2026-11-28 Sat 15:00>", "<2026-11-23 Mon 15:00>"),
    (["schedule the advent concert for 29 november", "at 5pm"], "<2026-11-28 Sat 15:00>", "<2026-11-29 Sun 17:00>")])
def test_an_appointment_with_its_date_in_the_text_is_moved_where_it_stands(tmp_path, lines, old, new):
    told, files = play(tmp_path, {"a.org": APPOINTMENTS}, *lines)
    assert files["a.org"] == APPOINTMENTS.replace(old, new), told


@pytest.mark.parametrize("line", ["move the choir to friday", "move Lyon to 10 december", "move the Pair to friday", "unschedule the dentist"])
def test_a_date_in_the_text_that_is_more_than_one_day_stays(tmp_path, line):
    told, files = play(tmp_path, {"a.org": APPOINTMENTS}, line)
    assert files["a.org"] == APPOINTMENTS and "date" in told[0]


@pytest.mark.parametrize("line, offered", [("postpone the tax return to friday", "move the tax return to 2026-11-20"), ("push the tax return back to tomorrow", "2026-11-20"), ("postpone the tax return until the 25th", "2026-11-25")])
def test_what_is_put_off_does_not_come_earlier(tmp_path, line, offered):
    told, files = play(tmp_path, {"a.md": "- [ ] Tax return 📅 2026-11-30\n"}, line, "yes")
    assert "Monday 30 November 2026" in told[0] and offered in told[0]
    assert files["a.md"] == f"- [ ] Tax return 📅 {offered[-10:]}\n"


@pytest.mark.parametrize("line, written", [
    ("todo find caterer ⏫ 📅 2026-12-01", "- [ ] find caterer ⏫ 📅 2026-12-01"), ("- [ ] find caterer 📅 2026-12-01", "- [ ] find caterer 📅 2026-12-01"), ("todo: find caterer ⏳ 2026-12-01", "- [ ] find caterer ⏳ 2026-12-01"),
    ("todo water it 🔁 every 3 days 📅 2026-11-20", "- [ ] water it 🔁 every 3 days 📅 2026-11-20"), ("todo bins 🔁 every weekday ⏳ 2026-11-20", "- [ ] bins 🔁 every weekday ⏳ 2026-11-20"),
    ("todo gift ⏳ 2026-11-20 📅 2026-11-25 #family", "- [ ] gift ⏳ 2026-11-20 📅 2026-11-25 #family"), ("todo fix bike [due:: 2026-11-22] [priority:: high]", "- [ ] fix bike ⏫ 📅 2026-11-22")])
def test_a_task_in_the_signs_of_the_plug_in_keeps_what_they_say(tmp_path, line, written):
    told, files = play(tmp_path, {"a.md": "- [ ] x 📅 2026-11-19\n"}, line)
    assert files["inbox.md"] == written + "\n", told


@pytest.mark.parametrize("note, written", [("a.md", "- [ ] call Ana ⏫ 📅 2026-11-20"), ("pages/a.md", "- TODO [#A] call Ana\n  DEADLINE: <2026-11-20 Fri>"), ("a.org", "* TODO [#A] call Ana\nDEADLINE: <2026-11-20 Fri>")])
def test_a_priority_is_written_as_the_inbox_of_these_notes_has_it(tmp_path, note, written):
    told, files = play(tmp_path, {note: "x\n"} | ({"journals/2026_11_18.md": "- x\n"} if "/" in note else {}), "todo call Ana by friday, high priority")
    assert files[note.replace("a.", "inbox.")] == written + "\n", told


def test_the_signs_of_the_plug_in_are_dates_in_org(tmp_path):
    told, files = play(tmp_path, {"a.org": "* x\n"}, "todo find caterer ⏫ 📅 2026-12-01", "todo bins 🔁 every week ⏳ 2026-11-20")
    assert files["inbox.org"] == "* TODO [#A] find caterer\nDEADLINE: <2026-12-01 Tue>\n* TODO bins\nSCHEDULED: <2026-11-20 Fri +1w>\n", told


@pytest.mark.parametrize("line, told, not_told", [("waiting for the certificate since when", "(todo:waiting OR todo:wait OR todo:hold) certificate”", "(todo:waiting certificate"),
                                                  ("what did I do last week", "was done 2026-11-09 to 2026-11-15, stands in a file called “2026-11-09”", "file:2026."),
                                                  ("tasks due before december", "in November", "in December"), ("what is due before next week", "in November", "Tuesday task")])
def test_a_stretch_and_a_filter_are_told_as_they_are(tmp_path, line, told, not_told):
    (answer,), _ = play(tmp_path, {"a.org": "#+TODO: TODO WAITING | DONE\n* WAITING Birth certificate\n* TODO one in November\nDEADLINE: <2026-11-20 Fri>\n* TODO Tuesday task\nSCHEDULED: <2026-11-24 Tue>\n* TODO one in December\nDEADLINE: <2026-12-30 Wed>\n"}, line)
    assert told in answer and not_told not in answer


@pytest.mark.parametrize("rule, after", [("every Friday", "2026-11-27"), ("every week on Friday", "2026-11-27"), ("every weekday", "2026-11-23"), ("every month on the 20th", "2026-12-20"), ("every month on the last Friday", "2026-11-27")])
def test_a_turn_is_skipped_by_the_rule(tmp_path, rule, after):
    (answer,), files = play(tmp_path, {"a.md": f"- [ ] sync 🔁 {rule} 📅 2026-11-20\n"}, "skip sync")
    assert files["a.md"] == f"- [ ] sync 🔁 {rule} 📅 {after}\n", answer


VAULT = {"Daily/2026-11-18.md": "# 2026-11-18\n- [x] Send invoice ✅ 2026-11-18\nWrote 500 words.\n", "Daily/2026-11-19.md": "# 2026-11-19\n- [ ] Call plumber 📅 2026-11-20\n- [ ] Fix bike 📅 2026-11-22\n",
         "People/Ines.md": "# Ines\nMoves to [[Porto]].\n", "Kitchen.md": "# Kitchen\n- [ ] Choose tiles 📅 2026-12-10\n- [ ] Choir practice 📅 2026-12-11\n", "projects.md": "# Projects\nactive ones\n"}

@pytest.mark.parametrize("line", ["add to today's note: had a walk", "add to my daily note: had a walk", "append to the daily note: had a walk", "add a journal entry: had a walk", "new journal entry: had a walk", "write in today's journal: had a walk", "add to today's page: had a walk"])
def test_todays_page_has_several_names(tmp_path, line):
    told, files = play(tmp_path, VAULT, line)
    assert files["Daily/2026-11-19.md"] == VAULT["Daily/2026-11-19.md"] + "\n## had a walk\n", told


@pytest.mark.parametrize("line, told, not_told", [
    ("show me today's daily note", "Daily/2026-11-19.md", "read files by their name"), ("what tasks did I complete yesterday", "Send invoice", "didn't understand"), ("which pages mention Porto", "People/Ines.md", "didn't understand"),
    ("deadline of choose tiles", "10 December 2026", "section"), ("when is the due date of choose tiles", "10 December 2026", "section"), ("next choir practice", "11 December 2026", "didn't understand"),
    ("active projects", "find active projects", "archive"), ("fix bike is due tomorrow", "“set the deadline of fix bike to tomorrow”", "todo"), ("repeat choose tiles every 2 weeks", "can't make a task repeat", "todo repeat"),
    ("make choose tiles weekly", "can't make a task repeat", "delete"), ("clock in choose tiles", "“mark choose tiles as in progress”", "todo"), ("what did I clock today", "no clock", "match")])
def test_what_other_programs_call_it(tmp_path, line, told, not_told):
    (answer,), files = play(tmp_path, VAULT, line)
    assert told in answer and not_told not in answer and files == VAULT


@pytest.mark.parametrize("lines, days", [(["what is due this week", "postpone both by a week", "yes"], ("2026-11-27", "2026-11-29")), (["what is due this week", "move them both to 30 november", "yes"], ("2026-11-30", "2026-11-30")),
                                         (["what is due this week", "move all of them to 30 november", "yes"], ("2026-11-30", "2026-11-30")), (["move call plumber to 30 november and fix bike to 1 december", "yes"], ("2026-11-30", "2026-12-01")),
                                         (["move fix bike to 1 december and call plumber to 30 november", "yes"], ("2026-11-30", "2026-12-01")), (["move call plumber to saturday", "no, not saturday, sunday"], ("2026-11-22", "2026-11-22")),
                                         (["move call plumber to saturday", "at 10"], ("10:00 📅 2026-11-21", "2026-11-22")), (["bring fix bike forward by 2 days"], ("2026-11-20", "2026-11-20"))])
def test_who_changes_several_or_their_mind(tmp_path, lines, days):
    told, files = play(tmp_path, VAULT, *lines)
    assert files["Daily/2026-11-19.md"] == f"# 2026-11-19\n- [ ] Call plumber {'' if '📅' in days[0] else '📅 '}{days[0]}\n- [ ] Fix bike 📅 {days[1]}\n", told


def test_a_keyword_after_a_place_makes_a_task_of_it(tmp_path):
    told, files = play(tmp_path, {"pages/Garden.md": "- # Plan\n\t- TODO Order seeds\n", "journals/2026_11_18.md": "- x\n"}, "add to garden: TODO prune roses")
    assert "TODO prune roses" in files["pages/Garden.md"] and "could not" not in told[0]


def test_an_archive_is_named_where_nothing_was_found(tmp_path):
    notes = {"a.org": "* TODO x\n", "a.org_archive": "* DONE Old thing\nCLOSED: [2026-10-01 Thu 10:00]\n"}
    told, _ = play(tmp_path, notes, "what did I finish in october", "find old thing", "find x")
    assert ["1 archive" in each for each in told] == [True, True, False]


@pytest.mark.parametrize("lines, inbox", [
    (["todo call electrician tomorrow", "no, the plumber", "yes"], "- [ ] call the plumber ⏳ 2026-11-20"), (["todo call the electrician tomorrow", "no, the plumber", "yes"], "- [ ] call the plumber ⏳ 2026-11-20"),
    (["todo call electrician", "I meant plumber", "yes"], "- [ ] call plumber"), (["todo call electrician", "no, call the plumber on the phone", "yes"], "- [ ] call the plumber on the phone"),
    (["todo buy paint", "for friday"], "- [ ] buy paint ⏳ 2026-11-20"), (["todo buy paint tomorrow", "not tomorrow, sunday"], "- [ ] buy paint ⏳ 2026-11-22"), (["todo buy paint tomorrow", "at noon"], "- [ ] buy paint 12:00 ⏳ 2026-11-20"),
    (["todo buy paint", "never mind, cancel it"], "- [-] buy paint"), (["todo buy paint", "done", "no, reopen it"], "- [ ] buy paint")])
def test_what_was_put_down_is_put_right(tmp_path, lines, inbox):
    told, files = play(tmp_path, {"a.md": "- [ ] x\n"}, *lines)
    assert files["inbox.md"] == inbox + "\n", told


@pytest.mark.parametrize("line, told", [("no, not that one", "/undo"), ("wrong one", "/undo"), ("scratch that", "/undo")])
def test_an_edit_that_was_not_meant_is_undone(tmp_path, line, told): assert told in play(tmp_path, {"a.md": "- [ ] x\n- [ ] y\n"}, "done x", line)[0][1]


@pytest.mark.parametrize("lines, told", [(["find milk", "open it"], "with its number"), (["add milk to the shopping list"], "is there already"), (["which tasks are urgent"], "Call the bank"), (["which one is most important?"], "Call the bank")])
def test_one_of_several_is_asked_for_and_one_is_enough(tmp_path, lines, told):
    notes = {"Shopping.md": "# Shopping\n- [ ] milk\n- [x] bread\n", "b.md": "# Milk\n- [ ] x 📅 2026-11-20\n- [ ] Call the bank ⏫\n"}
    answers, files = play(tmp_path, notes, *lines)
    assert told in answers[-1] and "x 📅" not in answers[-1] and files == notes


CHORES = {"einkaufen.md": "# Einkaufsliste\n- [ ] Milch\n- [ ] Brot\n", "todo.md": "# Aufgaben\n- [ ] Steuererklärung abgeben 📅 2026-11-30\n- [ ] Oma anrufen\n- [ ] Reifen wechseln 📅 2026-11-21\n- [ ] Fahrrad reparieren\n", "zelt.md": "# Zelt\nLiegt bei Steffi. Nummer: 0171\n", "demo.md": "# Demo\nmoved\n"}

@pytest.mark.parametrize("line, told, not_told", [
    ("such mal nach dem Zelt", "zelt.md:1", "No note"), ("finde alles über das Zelt", "“Zelt”", "No note"), ("welche Aufgaben habe ich noch", "Fahrrad", "section"), ("was muss ich noch einkaufen", "Brot", "No note"), ("wann muss die Steuererklärung fertig sein", "30 November", "understand"),
    ("bis wann muss ich die Steuererklärung abgeben", "30 November", "understand"), ("hab Oma angerufen", "“done Oma”", "find"), ("Reifen gewechselt", "“done Reifen”", "find"), ("das Fahrrad ist repariert", "“done Fahrrad”", "find"), ("nummer von steffi", "zelt.md:1", "didn't")])
def test_what_is_said_in_german_is_read_and_offered(tmp_path, line, told, not_told):
    (answer,), files = play(tmp_path, CHORES, line)
    assert told in answer and not_told not in answer and files == CHORES


@pytest.mark.parametrize("line, inbox", [
    ("Zahnarzt am 24.11. 14 Uhr", "- [ ] Zahnarzt 14:00 ⏳ 2026-11-24"), ("todo Zahnarzt am 24.11. 14 Uhr", "- [ ] Zahnarzt 14:00 ⏳ 2026-11-24"), ("Termin mit Lehner am Freitag 9 Uhr", "- [ ] Termin mit Lehner 09:00 ⏳ 2026-11-20"),
    ("neue Notiz Huber kommt um drei", "## Huber kommt um drei"), ("bitte Huber zurückrufen nicht vergessen", "- [ ] Huber zurückrufen"), ("pls remind me 2 call oma tmrw at 5", "- [ ] call oma 17:00 ⏳ 2026-11-20")])
def test_what_is_told_in_german_or_in_haste_is_written_down_whole(tmp_path, line, inbox):
    told, files = play(tmp_path, CHORES, line)
    assert files.get("inbox.md") == inbox + "\n", told


def test_what_is_struck_off_a_list_is_ticked(tmp_path): assert "- [x] Milch" in play(tmp_path, CHORES, "streich Milch von der Einkaufsliste")[1]["einkaufen.md"]


def test_an_hour_of_a_weekday_that_is_over_is_offered_for_the_next_such_day():
    from datetime import date, datetime
    from passepartout.reflex.grammar import understand
    from passepartout.reflex.lookups import Surroundings
    evening = Surroundings(now=lambda: datetime(2026, 11, 19, 19))
    said = lambda text: understand(text, date(2026, 11, 19), evening)["payload"]["text"]
    assert "lunch with Jo on 2026-11-26 at 12:30" in said("lunch with Jo thursday 12:30") and "tomorrow at 12:30" in said("remind me at 12:30 to eat")
    assert "on 2026-11-26 at 09:00" in said("Termin mit Lehner am Donnerstag 9 Uhr")


TREE = "* 2026\n** 2026-11 November\n*** 2026-11-18 Wednesday\n**** 18:30 Dinner\n*** 2026-11-19 Thursday\n**** 07:10 Ran\n"

@pytest.mark.parametrize("line", ["journal: tested the boiler", "add to journal: tested the boiler", "add a journal entry: tested the boiler", "add to today's journal: tested the boiler"])
def test_a_line_for_the_journal_goes_below_the_day_in_a_tree_of_dates(tmp_path, line):
    told, files = play(tmp_path, {"journal.org": TREE, "gtd.org": "* TODO 2026-11-19 is no day\n"}, line)
    assert files["journal.org"] == TREE + "**** tested the boiler\n", told


@pytest.mark.parametrize("line", ["journal: tested the boiler", "add to journal: tested the boiler"])
def test_without_the_day_a_tree_of_dates_is_left_alone(tmp_path, line):
    tree = TREE.replace("2026-11-19 Thursday", "2026-11-17 Tuesday")
    told, files = play(tmp_path, {"journal.org": tree}, line)
    assert files["journal.org"] == tree and "“note in journal.org: tested the boiler”" in told[0]


@pytest.mark.parametrize("line, told", [("how many tasks are done", "Old"), ("how many tasks did I finish this week", "Old"), ("which tasks have priority A", "Bank"), ("deadline of bank is december 2", "“set the deadline of bank to december 2”")])
def test_more_of_what_veterans_ask(tmp_path, line, told): assert told in play(tmp_path, {"a.org": "* TODO [#A] Bank\n* DONE Old\nCLOSED: [2026-11-18 Wed 10:00]\n"}, line)[0][0]


def test_a_property_keeps_the_spelling_that_its_file_has(tmp_path):
    notes = {"a.org": "* TODO Floss\n* TODO Other\n:PROPERTIES:\n:Effort:   1:00\n:END:\n"}
    told, files = play(tmp_path, notes, "set effort of floss to 0:05")
    assert ":Effort:   0:05" in files["a.org"] and ":effort:" not in files["a.org"], told


GRAPH = {"journals/2026_11_18.md": "- DOING Sort the photos\n- met Ines\n", "journals/2026_11_19.md": "- TODO Call the bank\n- LATER Read paper\n- DONE Pay\n- lunch\n", "pages/projects___Cabin.md": "title:: projects/Cabin\n\n- budget is 15k\n"}

@pytest.mark.parametrize("line, told, not_told", [("what did I do this week", "2026_11_18.md:1", "Call the bank"), ("open projects/Cabin", "budget is 15k", "no projects"), ("show projects/cabin", "budget is 15k", "no projects")])
def test_a_page_of_logseq_is_read_by_its_name_and_what_is_open_was_not_done(tmp_path, line, told, not_told):
    (answer,), _ = play(tmp_path, GRAPH, line)
    assert told in answer and not_told not in answer


@pytest.mark.parametrize("line, page, text", [("mark read paper as now", "journals/2026_11_19.md", "- NOW Read paper"), ("mark call the bank as doing now", "journals/2026_11_19.md", "- DOING Call the bank"), ("mark sort the photos as later please", "journals/2026_11_18.md", "- LATER Sort")])
def test_now_is_a_state_after_as(tmp_path, line, page, text):
    told, files = play(tmp_path, GRAPH, line)
    assert text in files[page], told


@pytest.mark.parametrize("line", ["project management", "the arrangement", "time management", "Anna and the engagement"])
def test_an_english_word_is_no_german_participle(tmp_path, line): assert "“done" not in play(tmp_path, {"a.org": "* TODO Project\n"}, line)[0][0]


@pytest.mark.parametrize("line", ["for 2 hours", "for Ana", "for the kids", "for 3 people"])
def test_what_is_no_day_after_for_changes_nothing(tmp_path, line):
    told, files = play(tmp_path, {"a.org": "* x\n"}, "todo cook dinner tomorrow", line)
    assert files["inbox.org"] == "* TODO cook dinner\nSCHEDULED: <2026-11-20 Fri>\n", told


@pytest.mark.parametrize("line", ["bring cake on friday", "start the report on friday", "pull the weeds on saturday", "bring the cake to Ana on friday"])
def test_to_bring_something_is_no_date_of_it(tmp_path, line):
    notes = {"a.org": "* TODO Cake\n* TODO Report\n* TODO Weeds\n"}
    told, files = play(tmp_path, notes, line)
    assert files["a.org"] == notes["a.org"], told


@pytest.mark.parametrize("line, told, not_told", [("how many tasks are there", "all open tasks", "Thu 19"), ("tasks at the office on monday", "", "Nothing open"), ("clock in the kitchen is broken", "", "no clock"), ("what did I finish in october", "grep -rin 2026-10 .", "grep -rin 2026 .")])
def test_what_has_other_words_in_it_is_not_taken_for_a_list(tmp_path, line, told, not_told):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO x :@office:\n", "a.org_archive": "* DONE y\n"}, line)
    assert told in answer and not_told not in answer


@pytest.mark.parametrize("line, told", [("add to the list: paint", "Which list"), ("add to my list: paint", "Which list"), ("tasks for Jonas", "Review PR from Jonas"), ("tasks about the PR", "Review PR from Jonas"), ("show cancelled tasks", "Gym"), ("what did I cancel", "Gym"),
                                        ("blocked tasks", "Parts"), ("what repeats", "Bins"), ("show recurring tasks", "Bins"), ("which of my tasks repeat?", "Bins"), ("my routines", "Bins"), ("was wiederholt sich", "Bins")])
def test_which_list_and_which_tasks(tmp_path, line, told):
    notes = {"a.org": "#+TODO: TODO WAITING | DONE CANCELLED\n* Reading list\n- [ ] Emma\n* Work\n** TODO Review PR from Jonas\n** CANCELLED Gym\n** WAITING Parts\n** TODO Bins\nSCHEDULED: <2026-11-19 Thu +2w>\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert told in answer and files == notes and ("PR" in answer) == ("PR" in told)


@pytest.mark.parametrize("line", ["more", "not now, later", "not good", "more please", "most of them"])
def test_a_word_that_is_spelt_right_is_not_corrected(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO x\n"}, line)
    assert "Did you mean “mov" not in answer and "Did you mean “not" not in answer


DAYS = {"Daily/2026-11-18.md": "# 2026-11-18\n\n## Log\n- Ana came about the roof.\n- [ ] send photos 📅 2026-11-20\n- [x] pay the plumber ✅ 2026-11-18\n", "Other.md": "# Other\n- [x] mend the fence ✅ 2026-11-18\n- [x] older ✅ 2026-11-01\n"}

@pytest.mark.parametrize("line", ["what did I do yesterday?", "was habe ich gestern gemacht?"])
def test_what_was_done_on_a_day_stands_on_its_page_and_in_other_notes(tmp_path, line):
    (answer,), _ = play(tmp_path, DAYS, line)
    assert all(words in answer for words in ("Ana came", "pay the plumber", "mend the fence")) and "older" not in answer and "send photos" not in answer


def test_what_was_done_today_is_found_by_its_mark(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "* TODO Fence :x:\n* DONE Bank\nCLOSED: [2026-11-19 Thu 09:00]\n* TODO Mail\nSCHEDULED: <2026-11-19 Thu>\n"}, "what did I do today?")
    assert "Bank" in answers[0] and "Mail" not in answers[0]


@pytest.mark.parametrize("line", ["what is left for the website?", "what do I have to do for the website?", "what do I need to do for website relaunch", "what needs to be done for the website?", "which tasks are there for the website", "what tasks are there for the website"])
def test_what_is_left_for_a_heading(tmp_path, line):
    (answer,), _ = play(tmp_path, {"work.org": "#+TODO: TODO NEXT | DONE\n* Website relaunch [1/3] :web:\n** NEXT Write the copy\n** DONE Buy the domain\n* Weekly\n** TODO Send the timesheet\n"}, line)
    assert "Write the copy" in answer and "timesheet" not in answer and "the web:" not in answer


@pytest.mark.parametrize("line", ["browse the website of the town", "open a website", "what is the weather in Lisbon"])
def test_the_web_is_still_out_of_reach(tmp_path, line): assert "can't reach the web" in play(tmp_path, {"a.org": "* x\n"}, line)[0][0]


# Said on a Thursday.
@pytest.mark.parametrize("line", ["move the dentist to thursday", "verschiebe den Zahnarzt auf Donnerstag", "postpone the dentist to thursday", "reschedule dentist for thursday", "move zahnarzt to thursday at 10"])
def test_a_plan_does_not_come_to_today_by_the_name_of_the_day(tmp_path, line):
    notes = {"a.org": "* TODO Zahnarzt dentist\nSCHEDULED: <2026-11-24 Tue 15:00>\n"}
    answers, files = play(tmp_path, notes, line)
    assert files == notes and "Thursday" in answers[0] and "today" in answers[0]
    answers, files = play(tmp_path, notes, line, "yes")
    assert "<2026-11-26 Thu 1" in files["a.org"], answers


def test_today_and_another_day_are_what_they_say(tmp_path):
    notes = {"a.org": "* TODO dentist\nSCHEDULED: <2026-11-24 Tue 15:00>\n* TODO bench\n* TODO late\nSCHEDULED: <2026-11-10 Tue>\n* TODO shears\nSCHEDULED: <2026-11-24 Tue>\n"}
    _, files = play(tmp_path, notes, "move shears to today", "schedule bench for thursday", "move late to thursday")
    assert files["a.org"].count("<2026-11-19 Thu") == 3
    assert "<2026-11-20 Fri 15:00>" in play(tmp_path / "b", notes, "move dentist to friday")[1]["a.org"]


@pytest.mark.parametrize("line, task", [("todo: dinner with Ana on saturday at 7pm at Luigi's", "* TODO dinner with Ana at Luigi's\nSCHEDULED: <2026-11-21 Sat 19:00>\n"), ("todo call Ana on friday at 3pm about the roof", "* TODO call Ana about the roof\nSCHEDULED: <2026-11-20 Fri 15:00>\n"),
                                        ("todo: meeting with Pohl monday 9-10 in room 204", "* TODO meeting with Pohl in room 204\nSCHEDULED: <2026-11-23 Mon 09:00-10:00>\n"), ("todo: buy a gift tomorrow for Nele", "* TODO buy a gift for Nele\nSCHEDULED: <2026-11-20 Fri>\n"),
                                        ("todo on friday: call Ana", "* TODO call Ana\nSCHEDULED: <2026-11-20 Fri>\n"), ("remind me to pay rent on the 1st in cash", "* TODO pay rent in cash\nSCHEDULED: <2026-12-01 Tue>\n")])
def test_a_day_among_the_words_is_asked_about_and_not_lost(tmp_path, line, task):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line, "yes")
    assert "Did you mean" in answers[0] and files["inbox.org"] == task, answers


@pytest.mark.parametrize("line", ["todo: prepare for friday's meeting", "todo: read the sunday paper", "todo: book a table for two at Luigi's", "todo: look at the may issue with Ana", "todo: “dinner on saturday at Luigi's”", "todo: ask Ana about monday", "todo: plan for 2027 with Ana"])
def test_words_that_are_no_day_are_not_asked_about(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line)
    assert "inbox.org" in files, answers


@pytest.mark.parametrize("line", ["write the copy is done", "buy milk is done", "buy milk, eggs is finished", "pick up the parcel is done"])
def test_what_is_said_to_be_done_is_offered_whatever_its_first_word_is(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Write the copy\n* TODO Buy milk, eggs\n* TODO Pick up the parcel\n* TODO Get three quotes\n* TODO Set the table\n"}, line, "yes")
    assert files["a.org"].count("* DONE") == 1, answers


@pytest.mark.parametrize("line", ["make a shopping list: milk, eggs and flour", "new shopping list: milk, eggs, flour", "create a list called shopping: milk, eggs, flour"])
def test_a_list_begins_with_what_is_to_stand_on_it(tmp_path, line):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, line, "yes", "add bread to the shopping list", "what is on the shopping list?")
    assert files["shopping.md"] == "- [ ] milk\n- [ ] eggs\n- [ ] flour\n- [ ] bread\n", answers
    assert "bread" in answers[-1]


@pytest.mark.parametrize("line", ["add oat milk to the shopping list", "put oat milk on my shopping list"])
def test_a_list_that_is_not_there_can_begin(tmp_path, line):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, line, "yes")
    assert "no list called" in answers[0] and files["shopping.md"] == "- [ ] oat milk\n", answers


def test_a_german_list_can_begin_too(tmp_path):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, "setz Brot auf die Einkaufsliste", "yes", "setz Milch auf die Einkaufsliste", "was steht auf der Einkaufsliste?")
    assert files["einkaufsliste.md"] == "- [ ] Brot\n- [ ] Milch\n" and "Milch" in answers[-1], answers


def test_a_list_of_logseq_is_a_page(tmp_path):
    answers, files = play(tmp_path, {"pages/Roof.md": "- slate\n", "journals/2026_11_18.md": "- rain\n"}, "make a shopping list: milk, eggs", "yes", "add bread to the shopping list", "check off milk", "note in Roof: red", "note in Ana.md: likes tea")
    assert files["pages/shopping.md"] == "- DONE milk\n- TODO eggs\n- TODO bread\n" and files["pages/Roof.md"] == "- slate\n- red\n" and files["pages/Ana.md"] == "- likes tea\n", (answers, files)


@pytest.mark.parametrize("line", ['add "buy seeds" to the garden kanban', "add buy seeds to garden kanban", "put buy seeds into my Garden Kanban"])
def test_what_is_added_to_a_note_without_a_list_is_offered_as_a_task_of_it(tmp_path, line):
    answers, files = play(tmp_path, {"Projects/Garden Kanban.md": "---\nkanban-plugin: board\n---\n## Backlog\n\n- [ ] beds\n\n## Done\n"}, line, "yes")
    assert "- [ ] beds\n- [ ] buy seeds\n" in files["Projects/Garden Kanban.md"], answers


def test_who_answers_is_said_in_german_too(tmp_path): assert "embedded engine" in play(tmp_path, {"a.md": "# x\n"}, "wer bist du?")[0][0]


@pytest.mark.parametrize("line", ["when does the technician come?", "when does the technician arrive", "when will the technician come"])
def test_when_somebody_comes_is_looked_up(tmp_path, line):
    assert "9 Uhr" in play(tmp_path, {"a.md": "# Heating\nThe technician, 24.11.2026 um 9 Uhr.\n"}, line)[0][0]
    assert "Tuesday 24 November" in play(tmp_path / "b", {"a.org": "* TODO Technician\nSCHEDULED: <2026-11-24 Tue 09:00>\n"}, line)[0][0]


@pytest.mark.parametrize("line, task", [("neuer Termin: Friseur Freitag 17 Uhr", "* TODO Friseur\nSCHEDULED: <2026-11-20 Fri 17:00>\n"), ("Termin: Friseur Freitag 17 Uhr", "* TODO Friseur\nSCHEDULED: <2026-11-20 Fri 17:00>\n"),
                                        ("trage ein: Elternabend am 3. Dezember um 19 Uhr in der Aula", "* TODO Elternabend in der Aula\nSCHEDULED: <2026-12-03 Thu 19:00>\n"), ("todo: Essen mit Ana am Samstag um 19 Uhr bei Luigi", "* TODO Essen mit Ana bei Luigi\nSCHEDULED: <2026-11-21 Sat 19:00>\n")])
def test_a_german_appointment_keeps_its_name_and_its_day(tmp_path, line, task):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line, "yes")
    assert files["inbox.org"] == task, answers


@pytest.mark.parametrize("line", ["wie viele Aufgaben sind offen?", "zeig mir alle Aufgaben für den Garten", "was muss ich noch für den Garten machen?", "was brauche ich noch für den Garten?", "was ist noch offen beim Garten?", "Aufgaben für den Garten"])
def test_german_asks_for_what_is_left(tmp_path, line):
    (answer,), _ = play(tmp_path, {"garten.org": "#+TITLE: Garten\n* TODO Hecke schneiden\n"}, line)
    assert "Hecke schneiden" in answer and "didn't understand" not in answer


@pytest.mark.parametrize("line", ["wann habe ich nächste Woche Zeit?", "wann habe ich am Freitag frei?", "wann bin ich morgen frei"])
def test_german_asks_when_one_is_free(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO Zahnarzt\nSCHEDULED: <2026-11-24 Tue 09:00>\n* TODO Chor\nSCHEDULED: <2026-11-20 Fri 19:00>\n"}, line)
    assert ("Zahnarzt" if "Woche" in line else "Chor") in answer


def test_what_was_found_by_a_filter_is_told_in_words(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "* DONE Bank\nCLOSED: [2026-11-18 Wed 09:00]\n* DONE Mail\nCLOSED: [2026-11-17 Tue 09:00]\n"}, "what did I finish this week?", "what did I do yesterday?", "find bank")
    assert answers[0].startswith("2 sections, each of which was done 2026-11-16 to 2026-11-22:") and answers[1].startswith("1 section was done 2026-11-18, or stands on the page of such a day:") and answers[2].startswith("1 section matches “bank”:")


def test_the_one_that_was_found_by_a_filter_is_meant_by_it(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* TODO Bank :x:\n* TODO Mail\n"}, "tag:x", "done it")
    assert files["a.org"].startswith("* DONE Bank"), answers


def test_quoted_items_begin_a_list(tmp_path):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, 'add "oat milk" and "bread" to the shopping list', "yes")
    assert files["shopping.md"] == "- [ ] oat milk\n- [ ] bread\n", answers


@pytest.mark.parametrize("line", ["every monday at 9 remind me to take out the bins", "on monday at 9 remind me to take out the bins", "tomorrow remind me to take out the bins"])
def test_a_reminder_that_begins_with_its_day_has_no_reminder_in_its_name(tmp_path, line):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, line, "yes")
    assert "take out the bins" in files["inbox.md"] and "remind" not in files["inbox.md"], answers


@pytest.mark.parametrize("line", ["what are the tasks without a date?", "which tasks are without a date"])
def test_tasks_without_a_date_are_a_list(tmp_path, line): assert "Floss" in play(tmp_path, {"a.org": "* TODO Floss\n"}, line)[0][0]


HOURS = {"a.org": "* TODO Dentist\nSCHEDULED: <2026-11-24 Tue 15:00-16:00>\n* TODO Choir\nSCHEDULED: <2026-11-24 Tue>\n* Concert <2026-11-25 Wed 19:30>\n* TODO Late\nSCHEDULED: <2026-11-24 Tue 23:30>\n"}

@pytest.mark.parametrize("line", ["postpone the dentist by an hour", "push the dentist back an hour", "put the dentist off by one hour"])
def test_an_hour_later_is_reached(tmp_path, line): assert "<2026-11-24 Tue 16:00-17:00>" in play(tmp_path, HOURS, line)[1]["a.org"]


@pytest.mark.parametrize("line, stamp", [("delay the dentist by 30 minutes", "<2026-11-24 Tue 15:30-16:30>"), ("move the dentist by 2 hours", "<2026-11-24 Tue 17:00-18:00>"), ("move the dentist one hour later", "<2026-11-24 Tue 16:00-17:00>"), ("move the dentist an hour earlier", "<2026-11-24 Tue 14:00-15:00>"),
                                         ("bring the dentist forward by two hours", "<2026-11-24 Tue 13:00-14:00>"), ("postpone the dentist half an hour", "<2026-11-24 Tue 15:30-16:30>"), ("move the concert 15 minutes later", "<2026-11-25 Wed 19:45>"), ("verschiebe dentist um eine Stunde", "<2026-11-24 Tue 16:00-17:00>"), ("verschiebe dentist um 2 Stunden", "<2026-11-24 Tue 17:00-18:00>")])
def test_a_plan_is_moved_by_hours(tmp_path, line, stamp):
    answers, files = play(tmp_path, HOURS, line)
    assert stamp in files["a.org"], answers


@pytest.mark.parametrize("line, told", [("postpone choir by an hour", "has no time of day"), ("postpone late by an hour", "another day")])
def test_hours_that_cannot_be_moved_are_told(tmp_path, line, told):
    answers, files = play(tmp_path, HOURS, line)
    assert told in answers[0] and files == HOURS


@pytest.mark.parametrize("text", ["how can I prune the apple?", "should I prune the apple", "how could I prune the apple"])
async def test_a_question_of_what_one_can_do_looks_for_its_words(tmp_path, text):
    (tmp_path / "m").mkdir(); (tmp_path / "m" / "garden.org").write_text("* The apple\nPrune it in February, never in frost.\n")
    agent = await Agent.boot(memex_dir=tmp_path / "m", state_dir=tmp_path / "s", cache_dir=tmp_path / "k", config_dir=tmp_path / "c", today="2026-11-19")
    assert "never in frost" in str(await agent.handle(text))
    await agent.close()


def test_a_link_to_a_day_is_a_part_of_the_title(tmp_path):
    answers, _ = play(tmp_path, {"a.md": "- [ ] call Pohl [[2026-11-23]]\n"}, "all open tasks")
    assert "call Pohl 2026-11-23" in answers[0]


@pytest.mark.parametrize("line, task", [("add milk to todos", "milk"), ("add milk to my todos", "milk"), ("put call Bob on my to-do list", "call Bob"), ("add 'call Bob' to the task list", "call Bob")])
def test_what_is_added_to_the_tasks_is_one(tmp_path, line, task):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, line)
    assert task in files.get("inbox.md", ""), answers


@pytest.mark.parametrize("line", ["create note Bees: they like thyme", "write a note: Bees, they like thyme", "make note Bees"])
def test_a_note_is_made_by_several_verbs(tmp_path, line):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, line)
    assert "## Bees" in files["inbox.md"], answers


@pytest.mark.parametrize("line", ["show my unfinished tasks", "incomplete tasks", "what are my outstanding todos?", "show my unfinished tasks for this week", "tasks in Projects/", "show me my tasks in Projects/"])
def test_what_is_unfinished_is_open(tmp_path, line):
    (answer,), _ = play(tmp_path, {"Projects/a.md": "- [ ] roof 📅 2026-11-21\n- [ ] undated\n", "b.md": "- [ ] elsewhere\n- [x] over\n"}, line)
    assert "roof" in answer and "over" not in answer and ("undated" in answer) == ("week" not in line) and ("elsewhere" in answer) == ("Projects" not in line and "week" not in line)


BILL = {"a.org": "#+TODO: TODO NEXT DELEGATED WAITING(w@) | DONE\n* TODO Pay the bill\nDEADLINE: <2026-11-22 Sun> SCHEDULED: <2026-11-20 Fri>\n* NEXT Write\n* DELEGATED Call\n* TODO Garlic\n"}

def test_a_plan_after_the_deadline_is_asked_about(tmp_path):
    answers, files = play(tmp_path, BILL, "postpone the bill to monday")
    assert files == BILL and "due Sunday 22 November" in answers[0]
    assert "DEADLINE: <2026-11-23 Mon>" in play(tmp_path / "b", BILL, "move the bill to monday", "yes")[1]["a.org"]
    assert "SCHEDULED: <2026-11-23 Mon>" in play(tmp_path / "c", BILL, "schedule the bill for monday")[1]["a.org"]
    assert "SCHEDULED: <2026-11-21 Sat>" in play(tmp_path / "d", BILL, "postpone the bill to saturday")[1]["a.org"]


@pytest.mark.parametrize("line, told", [("what are my next actions?", "Write"), ("next actions", "Write"), ("what is delegated?", "Call"), ("which tasks are delegated", "Call")])
def test_states_are_asked_for_in_plain_words(tmp_path, line, told): assert told in play(tmp_path, BILL, line)[0][0]


def test_a_state_takes_a_note_after_a_colon(tmp_path):
    answers, files = play(tmp_path, BILL, "mark garlic as waiting: frost until december")
    assert "* WAITING Garlic\n" in files["a.org"] and "\\\\\n  frost until december" in files["a.org"], (answers, files)


def test_what_waited_is_to_do_again(tmp_path):
    answers, files = play(tmp_path, BILL, "mark call as todo", "reopen write", "mark the bill as todo")
    assert "* TODO Call" in files["a.org"] and "* NEXT Write" in files["a.org"] and "open already" in answers[1] and "open already" in answers[2], answers


@pytest.mark.parametrize("line", ["get three quotes is due friday", "buy milk is due friday", "call Bo is planned for friday"])
def test_what_is_said_to_be_due_is_offered(tmp_path, line):
    answers, files = play(tmp_path, {"a.org": "* TODO Get three quotes\n* TODO Buy milk\n* TODO Call Bo\n"}, line, "yes")
    assert "2026-11-20" in files["a.org"], answers


@pytest.mark.parametrize("line, told", [("was steht auf der Einkaufsliste?", "no list called “einkaufsliste”"), ("what is on the shopping list?", "no list called “shopping list”"), ("zeig mir meine Notizen", "1 file:\n  a.md"), ("welche Dateien habe ich?", "1 file:\n  a.md")])
def test_what_is_not_there_is_told_in_german_too(tmp_path, line, told): assert told.casefold() in play(tmp_path, {"a.md": "# x\n"}, line)[0][0].casefold()


@pytest.mark.parametrize("line, file", [("Einkaufsliste: Milch, Brot und Eier", "einkaufsliste.md"), ("shopping list: Milch, Brot, Eier", "shopping.md")])
def test_a_name_of_a_list_and_a_colon_begin_it(tmp_path, line, file):
    answers, files = play(tmp_path, {"a.md": "# x\n"}, line, "yes")
    assert files[file] == "- [ ] Milch\n- [ ] Brot\n- [ ] Eier\n", answers


def test_more_german_verbs(tmp_path):
    answers, files = play(tmp_path, {"inbox.org": "* TODO Termin\n"}, "mach Termin dringend", "lege eine Notiz an: WLAN ist langsam", "leg eine neue Aufgabe an: Reifen wechseln bis Freitag")
    assert files["inbox.org"] == "* TODO [#A] Termin\n* WLAN ist langsam\n* TODO Reifen wechseln\nDEADLINE: <2026-11-20 Fri>\n", answers


STARTED = {"a.org": "#+TODO: TODO DOING | DONE\n* TODO Report\n* TODO start the car\n", "b.org": "* TODO Roof\n", "c.md": "- [ ] paint\n- LATER hedge\n"}

def test_what_is_started_is_so_in_the_words_of_its_file(tmp_path):
    answers, files = play(tmp_path, STARTED, "start the report", "start roof", "start paint", "I've started on the report", "start a fire", "start report 2 days earlier")
    assert files == {**STARTED, "a.org": STARTED["a.org"].replace("TODO Report", "DOING Report"), "c.md": STARTED["c.md"].replace("[ ]", "[/]")}, answers
    assert "b.org has the states TODO, DONE, and none for what has begun" in answers[1] and "DOING already" in answers[3] and "didn't understand" in answers[4], answers


CHOIR = "---\r\ntitle: Choir\r\ntype: recurring\r\ndaysOfWeek:\r\n  - T\r\n  - R\r\nstartRecur: 2026-11-10\r\nendRecur: 2026-11-27\r\nstartTime: 19:00\r\nendTime: 20:30\r\n---\r\n"

def test_a_page_of_a_calendar_that_repeats_is_on_the_agenda_and_one_that_is_not_understood_is_named(tmp_path):
    (answer,), _ = play(tmp_path, {"choir.md": CHOIR, "odd.md": "---\ntype: rrule\nrrule: FREQ=WEEKLY;COUNT=3\nstartDate: 2026-11-16\n---\n"}, "agenda next week")
    assert answer.count("Choir") == 2 and answer.count("19:00-20:30") == 2 and "Tue 24 November" in answer and "Thu 26 November" in answer, answer
    assert "not understood" in answer and "odd.md:2 type: rrule FREQ=WEEKLY;COUNT=3" in answer, answer


NOTED = {"g.org": "#+TODO: TODO WAITING | DONE\n* TODO garlic\n* TODO peas\nDEADLINE: <2026-11-30 Mon>\nText.\n", "a.md": "- [ ] roof\n- TODO hedge\n"}

def test_a_note_that_was_given_with_a_state_is_written_or_nothing_is_done(tmp_path):
    answers, files = play(tmp_path, NOTED, "mark garlic as waiting: frost", "set peas to done: all in", "mark roof as in progress: sunny", "mark roof as done: sunny", "mark hedge as done: sunny")
    assert re.sub(r"\[2026-11-19 Thu \d\d:\d\d\]", "[now]", files["g.org"]) == ("#+TODO: TODO WAITING | DONE\n* WAITING garlic\n- Note taken on [now] \\\\\n  frost\n* DONE peas\nDEADLINE: <2026-11-30 Mon>\n- Note taken on [now] \\\\\n  all in\nText.\n")
    assert files["a.md"] == NOTED["a.md"] and all("keeps no note of a change" in answer for answer in answers[2:]), answers


def test_of_several_things_for_a_list_those_that_are_not_there_are_offered(tmp_path):
    notes = {"shopping.md": "# Shopping\n- [ ] milk\n"}
    answers, files = play(tmp_path, notes, "add milk, cheese and ham to shopping", "yes")
    assert "“add cheese to shopping; add ham to shopping”" in answers[0] and files["shopping.md"] == "# Shopping\n- [ ] milk\n- [ ] cheese\n- [ ] ham\n", answers


def test_a_line_after_a_list_is_an_item_and_no_part_of_the_last_one(tmp_path):
    notes = {"nele.md": "# Nele\n- shoe size: 34\n- nuts\n", "ana.md": "# Ana\n* figs\n  and dates\n", "bo.md": "# Bo\nTall.\n", "t.org": "* Tom\n- tea\n"}
    _, files = play(tmp_path, notes, "add to nele: blue jacket", "add to ana: tea", "add to bo: thin", "add to tom: milk")
    assert files == {"nele.md": "# Nele\n- shoe size: 34\n- nuts\n- blue jacket\n", "ana.md": "# Ana\n* figs\n  and dates\n\ntea\n", "bo.md": "# Bo\nTall.\nthin\n", "t.org": "* Tom\n- tea\n- milk\n"}


def test_a_counter_stays_where_a_heading_is_renamed(tmp_path):
    _, files = play(tmp_path, {"a.org": "* House [1/2]\n** DONE a\n** TODO b\n* Boat [50%]\n"}, "rename house to home", "rename boat to ship [%]")
    assert files["a.org"] == "* home [1/2]\n** DONE a\n** TODO b\n* ship [%]\n"


def test_what_logseq_has_for_later_is_now_when_it_is_started(tmp_path):
    answers, files = play(tmp_path, {"a.md": "- LATER hedge\n- TODO lawn\n"}, "start hedge", "start lawn", "add to lawn: mower")
    assert files["a.md"] == "- NOW hedge\n- DOING lawn\n" and "I put no text below one" in answers[2], answers


LISTS = {"Lists/Packing.md": "# Packing Lisbon\n- [ ] passports\n", "shop.md": "# Shopping\n- [ ] milk\n", "odd.md": "# Odd; archive Shopping\n- [ ] x\n", "p.org": "#+TITLE: Tools\n* Things\n- [ ] saw\n"}

def test_a_list_that_was_spoken_of_goes_on(tmp_path):
    answers, files = play(tmp_path, LISTS, "add butter to shopping", "cheese, milk and jam", "yes", "add honey", "yes", "add a hat to the packing list", "soap and towels", "yes", "what's on the shopping list", "done passports", "tea, oil and figs", "add axe to tools")
    assert files == {**LISTS, "Lists/Packing.md": "# Packing Lisbon\n- [x] passports\n- [ ] a hat\n- [ ] soap\n- [ ] towels\n", "shop.md": "# Shopping\n- [ ] milk\n- [ ] butter\n- [ ] cheese\n- [ ] jam\n- [ ] honey\n", "p.org": LISTS["p.org"] + "- [ ] axe\n"}, answers
    assert "didn't understand" in answers[10], answers


def test_a_title_that_reads_as_a_request_is_no_name_of_a_list_to_go_on_with(tmp_path):
    answers, files = play(tmp_path, LISTS, "add y to odd", "add z", "yes", "a, b and c", "yes")
    assert files == {**LISTS, "odd.md": LISTS["odd.md"] + "- [ ] y\n"} and not any("Did you mean" in answer and "archive" in answer for answer in answers), answers


BORN = {"people.org": "* Ana Carvalho\n:PROPERTIES:\n:BIRTHDAY: 1988-05-20\n:END:\n* Dates\n%%(org-anniversary 1990 11 25) Tom is %d\n* Doctor :@private:\n:PROPERTIES:\n:BIRTHDAY: 1970-05-01\n:END:\n",
        "Family/Nele.md": "---\naliases: [Nelly]\nbirthday: 2017-05-12\n---\n# Nele\n", "bo.org": "* Bo\n:PROPERTIES:\n:Geburtstag: --11-30\n:END:\n* TODO age the cheese\n"}

@pytest.mark.parametrize("line, said", [
    ("how old is Nele?", "Nele: 9, and 10 on Wednesday 12 May 2027 (Family/Nele.md:1)"), ("wie alt ist Nelly", "Nele: 9, and 10 on"), ("when is Ana's birthday?", "Ana Carvalho: 38, and 39 on Thursday 20 May 2027 (people.org:1)"),
    ("how old is Tom", "Tom: 35, and 36 on Wednesday 25 November 2026 (people.org:6)"), ("birthdays in may", "Nele: 9, and 10 on Wednesday 12 May 2027 (Family/Nele.md:1)\nAna Carvalho: 38, and 39 on Thursday 20 May 2027 (people.org:1)"),
    ("birthdays this month", "Tom: 35, and 36 on Wednesday 25 November 2026 (people.org:6)\nBo: Monday 30 November 2026 (bo.org:1)"), ("whose birthday is next", "Tom: 35"), ("Geburtstage im Mai", "Nele: 9"), ("birthdays in june", "No birthday that I can read")])
def test_an_age_is_worked_out(tmp_path, line, said):
    (answer,), files = play(tmp_path, BORN, line)
    assert answer.startswith(said) and "Doctor" not in answer and "1 May" not in answer and files == BORN


@pytest.mark.parametrize("line, said", [("Wann hat Ana Geburtstag?", "“Ana's birthday” (a.org:1): due"), ("wann hat Tom Geburtstag", "Tom's cake"), ("who has a birthday this month", "No birthday that I can read is"), ("whose birthday is next", "Ana: Thursday 3 December 2026 (a.org:1)"), ("how old is Ana", "The year is not said there, so I know no age.")])
def test_a_birthday_that_no_date_says_is_looked_for_in_both_languages(tmp_path, line, said):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO Ana's birthday\nDEADLINE: <2026-12-03 Thu +1y>\n* Tom's cake\nHat im Mai Geburtstag.\n"}, line)
    assert said in answer, answer


WRITTEN = {"ana.org": "# -*- mode: org -*-\n#+TITLE: Ana Carvalho\n* TODO Ana's birthday\nDEADLINE: <2026-12-03 Thu +1y>\n", "haru.md": "# Haruka\n- **Birthday:** 14 May 1990\n", "tom.org": "* Tom\n* TODO Plan Tom's birthday <2026-12-05 Sat>\nborn in the year of the flood\n"}

def test_a_birthday_is_read_from_a_line_and_from_a_heading_that_comes_each_year(tmp_path):
    answers, _ = play(tmp_path, WRITTEN, "birthdays in december", "how old is Haruka?", "when is Ana's birthday?", "how old is Tom?")
    assert answers[0] == "Ana: Thursday 3 December 2026 (ana.org:3)" and answers[1].startswith("Haruka: 36, and 37 on") and answers[2].startswith("“Ana's birthday” (ana.org:3): due") and "flood" in answers[3], answers


@pytest.mark.parametrize("told", ["Ana was born on 3 december 1982", "Ana's birthday is 3.12.1982", "set birthday of Ana to 1982-12-03", "Ana wurde am 3. Dezember 1982 geboren"])
def test_a_birthday_that_is_told_is_kept_where_it_is_read_again(tmp_path, told):
    answers, files = play(tmp_path, WRITTEN, told, "yes", "how old is Ana", "remove property birthday from ana.org")
    assert "set property birthday of ana.org to 1982-12-03" in answers[0] and answers[2].startswith("Ana Carvalho: 43, and 44 on Thursday 3 December 2026 (ana.org:1)") and files == WRITTEN, answers


def test_a_whole_file_has_properties_like_a_heading(tmp_path):
    answers, files = play(tmp_path, WRITTEN, "set property birthday of ana.org to 1982-12-03", "set property phone of haru.md to 123", "set property effort of ana.org to 1:00")
    assert files["ana.org"].startswith("# -*- mode: org -*-\n:PROPERTIES:\n:BIRTHDAY: 1982-12-03\n:Effort:   1:00\n:END:\n#+TITLE: Ana Carvalho\n* TODO") and files["haru.md"] == "---\nphone: 123\n---\n# Haruka\n- **Birthday:** 14 May 1990\n", answers
    answers, after = play(tmp_path, {}, "remove property effort from ana.org", "remove property birthday from ana.org", "remove property phone from haru.md")
    assert after["ana.org"] == WRITTEN["ana.org"] and "Take the line out by hand" in answers[2], answers


def test_an_age_that_is_not_there_is_looked_for_as_before(tmp_path):
    answers, _ = play(tmp_path, BORN, "how old is the cheese", "how old is the doctor")
    assert "age the cheese" in answers[0] and "56" not in answers[1], answers


PACK = {"a.org": "* Packing list\n- [ ] torch\n- [X] tent\n- [ ] map\n* TODO Weekly review\n* TODO one-pager for Opitz\n", "meeting.org": "#+TITLE: Meeting\n* TODO call Opitz\n", "inbox.org": "* TODO x\n"}

@pytest.mark.parametrize("line, said", [
    ("what's left on the packing list?", "2 of 3 are open in a.org:1:\n- torch\n- map"), ("how many things are on the packing list?", "2 of 3 are open in a.org:1:"), ("weekly review", "a.org, lines 5-5 of 6:\n* TODO Weekly review"),
    ("cancel the meeting with Opitz", "Nothing is clearly called “the meeting with Opitz”."), ("create note trips/berlin.org", "A file is made by the first note in it: note in trips/berlin.org:"), ("meeting notes with Samir today", "I didn't understand that. Did you mean “todo meeting notes with Samir today”?"),
    ("no, 10 am", "I didn't understand that: I know"), ("I brought back the library books", "I didn't understand that: I know"), ("I brought back the torch", "I didn't understand that. Did you mean “done torch”?")])
def test_nothing_is_changed_that_was_not_named_and_what_is_named_is_shown(tmp_path, line, said):
    (answer,), files = play(tmp_path, PACK, line)
    assert answer.startswith(said) and files == PACK, answer


def test_hashtags_of_an_org_task_are_its_tags(tmp_path):
    answers, files = play(tmp_path, PACK, "todo call Bo #urgent #home tomorrow", "move it to friday", "#urgent", "urgent: pay the rent", "todo listen to #3", "todo in b.md: tea #home")
    assert files["inbox.org"] == "* TODO x\n* TODO call Bo :urgent:home:\nSCHEDULED: <2026-11-20 Fri>\n* TODO [#A] pay the rent\n* TODO listen to #3\n" and files["b.md"] == "- [ ] tea #home\n", files
    assert "tagged urgent and home" in answers[0] and "call Bo" in answers[2], answers


def test_a_month_gone_by_is_asked_for_by_its_pages(tmp_path):
    answers, _ = play(tmp_path, {"2026-10-03.org": "Storm.\n", "2026-11-17.org": "Frost.\n", "a.org": "* DONE fig\nCLOSED: [2026-10-05 Mon]\n"}, "what happened last month?", "what happened this week?", "show me what I did this week")
    assert "Storm" in answers[0] and "fig" in answers[0] and "Frost" not in answers[0] and "Frost" in answers[1] and "Frost" in answers[2], answers


MORE = {"a.org": "* TODO Report\nSCHEDULED: <2026-11-23 Mon>\n* TODO slate\n", "inbox.org": "* TODO x\n"}

def test_more_than_one_change_is_told_apart(tmp_path):
    answers, files = play(tmp_path, MORE, "change the report to friday and tell Ana", "yes", "copy the report to inbox.org", "deadline slate 27 nov", "set effort of slate to 1:30")
    assert "the other thing is for you to do" in answers[0] and "I copy nothing" in answers[2], answers
    assert files == {"a.org": "* TODO Report\nSCHEDULED: <2026-11-20 Fri>\n* TODO slate\nDEADLINE: <2026-11-27 Fri>\n:PROPERTIES:\n:Effort:   1:30\n:END:\n", "inbox.org": "* TODO x\n* TODO tell Ana\n"}, answers


def test_a_task_is_split_into_parts_below_it(tmp_path):
    answers, files = play(tmp_path, MORE, "split the report into outline, draft and tables", "yes")
    assert "Did you mean “add a subtask to report: outline; add a subtask to report: draft; add a subtask to report: tables”" in answers[0], answers
    assert files["a.org"] == "* TODO Report\nSCHEDULED: <2026-11-23 Mon>\n** TODO outline\n** TODO draft\n** TODO tables\n* TODO slate\n", answers


@pytest.mark.parametrize("reply", ["january", "until january", "bis Januar"])
def test_how_long_a_pause_is_may_be_said_when_it_is_asked(tmp_path, reply):
    answers, files = play(tmp_path, {"a.org": "* TODO Choir\nSCHEDULED: <2026-11-20 Fri 19:00 +1w>\n"}, "pause choir", reply)
    assert files["a.org"] == "* TODO Choir\nSCHEDULED: <2027-01-01 Fri 19:00 +1w>\n", answers


@pytest.mark.parametrize("notes, day", [
    ({"a.org": "* TODO Rent\nSCHEDULED: <2027-03-01 Mon +1m>\n"}, "<2026-12-01 Tue +1m>"),            # in February the 29th is the 1st of March
    ({"a.org": "* TODO Rent\nSCHEDULED: <2027-03-29 Mon +1m>\n"}, "<2026-11-29 Sun +1m>"),
    ({"a.org": "* TODO Rent\nSCHEDULED: <2028-03-01 Wed +1y>\n"}, "<2027-03-01 Mon +1y>"),
    ({"a.md": "- [ ] Rent 🔁 every month ⏳ 2027-02-28\n"}, "⏳ 2026-11-28"), ({"a.md": "- [ ] Rent 🔁 every month on the last ⏳ 2027-02-28\n"}, "⏳ 2026-11-30"),
    ({"a.md": "- [ ] Rent 🔁 every monday and thursday ⏳ 2027-02-01\n"}, "⏳ 2026-11-19")])
def test_a_pause_that_ends_early_goes_back_to_the_day_of_the_month(tmp_path, notes, day):
    answers, files = play(tmp_path, notes, "resume rent")
    assert day in "".join(files.values()), answers


def test_what_repeats_and_ends_is_put_down_on_each_of_its_days(tmp_path):
    _, files = play(tmp_path, MORE, "todo in a.org: pills daily at 8 for 2 days", "yes", "remind me to stretch daily for 30 days", "yes")
    assert files["a.org"].endswith("* TODO slate\n* TODO pills\nSCHEDULED: <2026-11-19 Thu 08:00>\n* TODO pills\nSCHEDULED: <2026-11-20 Fri 08:00>\n"), files
    assert files["inbox.org"] == "* TODO x\n* TODO stretch\nSCHEDULED: <2026-11-19 Thu +1d>\n* TODO stretch for the last time\nSCHEDULED: <2026-12-18 Fri>\n", files


def test_which_setting_brings_a_model_is_not_said_to_every_sentence(tmp_path):
    answers, files = play(tmp_path, MORE, "the moon is round", "water is wet", "note")
    assert "PROVIDER_CASCADE" in answers[0] and "PROVIDER_CASCADE" not in answers[1] and "Shall I keep it?" in answers[1], answers
    assert files["inbox.org"].endswith("* water is wet\n"), answers


def test_a_day_on_which_something_is_instead_and_a_place_in_front_are_understood(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* TODO Report\nSCHEDULED: <2026-11-20 Fri>\n* Roof\n"}, "the report is on monday instead", "under the roof add: measure the wall", "wie viele offene Aufgaben habe ich?", "what did I do yesterday")
    assert files["a.org"] == "* TODO Report\nSCHEDULED: <2026-11-23 Mon>\n* Roof\n** TODO measure the wall\n" and "all open tasks (2)" in answers[2], answers
    assert "together" not in answers[3] and "yesterday" not in answers[3] and "was done 2026-11-18" in answers[3], answers


def test_what_is_still_on_a_list_and_what_comes_next_for_a_project(tmp_path):
    answers, _ = play(tmp_path, {"packing.md": "# Packing\n- [ ] socks\n", "roof.org": "#+TITLE: Roof\n* TODO ask Pohl\n", "b.org": "* Roof over the still\n* TODO x\n"}, "what is still on the packing list", "what's next for the roof", "what is the next step for the roof?")
    assert "- [ ] socks" in answers[0] and all("Roof (1)" in answer and "ask Pohl" in answer for answer in answers[1:]), answers


def test_a_change_and_a_thing_to_do_are_offered_as_both(tmp_path):
    answers, files = play(tmp_path, MORE, "move the report to friday and call Opitz tomorrow", "yes", "done slate and email Pohl", "done slate and dust", "move slate to friday and saturday")
    assert answers[0].endswith("Did you mean “move the report to friday; todo call Opitz tomorrow”? Say “yes”, and I'll do it.") and "“done slate; todo email Pohl”" in answers[2] and "todo dust" not in answers[3] and "Did you mean" not in answers[4], answers
    assert files == {"a.org": "* TODO Report\nSCHEDULED: <2026-11-20 Fri>\n* TODO slate\n", "inbox.org": "* TODO x\n* TODO call Opitz\nSCHEDULED: <2026-11-20 Fri>\n"}, answers


def test_a_project_is_found_by_the_name_of_its_file_without_blanks(tmp_path):
    (answer,), _ = play(tmp_path, {"topic3.org": "#+TITLE: Topic 3\n* TODO review it\n", "topic4.org": "#+TITLE: Topic 4\n* TODO leave it\n"}, "tasks in topic3")
    assert "review it" in answer and "leave it" not in answer, answer


@pytest.mark.parametrize("lines", [("yes", "todo"), ("ja", "ok", "as a task"), ("todo",)])
def test_a_yes_to_which_of_two_is_asked_once_more(tmp_path, lines):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, "new tyres for the bike", *lines)
    assert all("which of the two" in answer for answer in answers[1:-1]) and files["inbox.org"] == "* TODO new tyres for the bike\n", answers


def test_boxes_that_stand_before_all_headings_are_checked_off_opened_again_and_added_to(tmp_path):
    "A daily page and a shopping list often have no heading, and nothing in them could be ticked off."
    notes = {"daily/2026-11-19.org": "#+TITLE: Thursday\n\n- [ ] captions for the plot\n- [X] cello strings\n", "shopping.org": "#+TITLE: Shopping\n- [ ] milk\n\n* Later\n"}
    answers, files = play(tmp_path, notes, "check off the captions", "uncheck cello strings", "add bread to the shopping list", "tick off milk", "what is left on the shopping list")
    assert files["daily/2026-11-19.org"] == "#+TITLE: Thursday\n\n- [X] captions for the plot\n- [ ] cello strings\n", answers
    assert files["shopping.org"] == "#+TITLE: Shopping\n- [X] milk\n- [ ] bread\n\n* Later\n" and "1 of 2" in answers[4] and "bread" in answers[4], answers


def test_an_offer_is_answered_by_a_day_or_an_hour(tmp_path):
    "“Did you mean …?” was on the screen, and to “at 10” the answer was that no question is open."
    first, files = play(tmp_path / "a", {"a.org": "* x\n"}, "meeting with Jördis tomorrow", "10", "no, 11")
    assert files["inbox.org"] == "* TODO meeting with Jördis\nSCHEDULED: <2026-11-20 Fri 11:00>\n", first
    second, files = play(tmp_path / "b", {"a.org": "* x\n"}, "add an appointment with Pohl on tuesday", "at 10")
    assert files["inbox.org"] == "* TODO an appointment with Pohl\nSCHEDULED: <2026-11-24 Tue 10:00>\n", second
    third, files = play(tmp_path / "c", {"a.org": "* TODO Call Mama\nSCHEDULED: <2026-11-22 Sun 17:00 +1w>\n"}, "call mama is at 8 pm instead", "no, 10 am", "call mama is at 8 pm instead", "what is due tomorrow")
    assert files["a.org"] == "* TODO Call Mama\nSCHEDULED: <2026-11-22 Sun 10:00 +1w>\n" and third[3].startswith("Nothing is on"), third


COUNTED = {"a.org": "#+TODO: TODO WAITING | DONE\n* TODO roof :house:\nDEADLINE: <2026-11-18 Wed>\n* WAITING zinc :house:\n* WAITING tiles\n", "b.org": "#+TITLE: Boat\n* TODO paint :sea:\n"}


@pytest.mark.parametrize("line, first", [("how many tasks are waiting", "2 tasks."), ("how many waiting tasks do I have?", "2 tasks."), ("how many tasks are without a date", "1 task."),
                                         ("wie viele Aufgaben sind überfällig?", "1 task."), ("wie viele Aufgaben warten", "2 tasks."), ("wie viele Aufgaben habe ich heute", "1 thing: 1 late.")])
def test_how_many_of_a_list_is_a_number_in_whatever_order_it_is_asked(tmp_path, line, first):
    (answer,), _ = play(tmp_path, COUNTED, line)
    assert answer.splitlines()[0] == first, answer


@pytest.mark.parametrize("line", ["list my projects", "how many projects do I have", "which projects do I have?", "was sind meine Projekte"])
def test_who_asks_for_projects_or_tags_gets_their_names(tmp_path, line):
    (names, tags, tasks), _ = play(tmp_path, {**COUNTED, "c.org": "#+TITLE: Boat, old\n* TODO sell :sea:\n"}, line, "what tags do I use", "tasks by project")
    assert "  Boat (1)\n  Boat, old (1)\n“tasks by project” lists" in names and "paint" not in names, names
    assert tags.startswith("2 tags, with the number of open tasks:\n  house (2)\n  sea (2)\n") and "paint" in tasks, (tags, tasks)


@pytest.mark.parametrize("line, file, head", [("add tag exam to Java - Interfaces", "Java - Interfaces.md", "---\ncreated: 2024-01-01\ntags: [exam]\n---\n"), ("tag house.org as home", "house.org", "#+title: House\n#+FILETAGS: :home:\n"), ("tag the Trip page with travel", "pages/Trip.md", "tags:: travel\n\n- Lisbon")])
def test_a_whole_note_is_tagged_where_its_tags_stand(tmp_path, line, file, head):
    notes = {"Java - Interfaces.md": "---\ncreated: 2024-01-01\n---\n## Intro\ntext\n## More\n", "java sam.md": "## Functional Interfaces\n", "house.org": "#+title: House\n* Roof\n* Cellar\n", "pages/Trip.md": "- Lisbon\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert files[file].startswith(head) and answer.startswith(f"Tags of {file}: +") and {**files, file: ""} == {**notes, file: ""}, (answer, files)


@pytest.mark.parametrize("line", ["list all tags", "what tags do I have?"])
def test_the_tags_of_notes_are_named_as_well_as_those_of_tasks(tmp_path, line):
    (tags,), _ = play(tmp_path, {**COUNTED, "soup.md": "---\ntags: [recipes]\n---\n# Soup\n", "x.org": "* Okafor :law:@personal:\n** b\n"}, line)
    assert tags.startswith("5 tags, with the number of open tasks:\n  @personal\n  house (2)\n  law\n  recipes\n  sea (1)\n") and "Okafor" not in tags, tags


def test_of_notes_with_private_tags_the_list_of_tags_is_private(tmp_path):
    from passepartout.notes import NoteCache
    from passepartout.confinement.resources import Root, resolve
    from passepartout.indexing.finding import IndexedNotes
    from passepartout.indexing.index import Index
    from passepartout.toolbelt.agendatool import org_view
    from passepartout.toolbelt.notesource import ReadNotes, NoteSource
    from passepartout.tools import ToolContext
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.org").write_text("#+FILETAGS: :all:\n* Okafor :law:@personal:\n** b :c:\n")
    (tmp_path / "y.org").write_text("* b :garden:\n")
    for private, secret in (("@personal",), True), ((), False):
        result = org_view("tags", ToolContext({"folder": resolve([Root(tmp_path)], ".", "tree")}, today=datetime(2026, 11, 19).date()), NoteSource(), private, question="groups")
        assert result.label.private is secret and {"a/x.org", "y.org"} <= set(result.label.sources) and "law" in result.content
    index = Index(Root(tmp_path))
    index.refresh()
    for where in (".", "a"):
        with resolve([Root(tmp_path)], where, "tree") as folder:
            assert IndexedNotes(index, folder).tags() == ReadNotes(folder, NoteCache()).tags() != []


def test_two_numbers_with_a_slash_are_a_day_where_they_can_be_nothing_else(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, "todo parcel 24/11", "todo support 24/7", "todo drink 3/4 litre")
    assert files["inbox.org"] == "* TODO parcel\nSCHEDULED: <2026-11-24 Tue>\n* TODO support 24/7\n* TODO drink 3/4 litre\n", answers


ROOF = {"roof.org": "#+TITLE: The roof\n* What happened\n* Offers\n", "samir.md": "# Samir Haddad\nchess\n", "plain.md": "no title\n", "lisbon.md": "---\ntitle: Lisbon\n---\n# Day one\n# Day two\n"}


def test_a_whole_file_gets_another_title_or_another_name(tmp_path):
    "“rename roof.org to Our roof” listed the headings of the file, and its title as a property went into a drawer that nobody reads it from."
    answers, files = play(tmp_path, ROOF, "rename roof.org to Our roof", "rename samir.md to Samir", "rename lisbon.md to Lisbon in December", "rename plain.md to Something", "show roof.org", "rename roof.org to house.org")
    assert "#+TITLE: Our roof\n* What happened" in answers[4] and files["samir.md"] == "# Samir\nchess\n", answers
    assert files["lisbon.md"].startswith("---\ntitle: Lisbon in December\n---\n# Day one\n") and files["Something.md"] == "no title\n", answers
    assert files["house.org"].startswith("#+TITLE: Our roof\n") and "plain.md" not in files, answers
    assert play(tmp_path / "b", {"x.org": ":PROPERTIES:\n:ID: one\n:END:\n* a\n"}, "set property title of x.org to Roof")[1]["x.org"] == ":PROPERTIES:\n:ID: one\n:END:\n#+TITLE: Roof\n* a\n"


def test_a_sign_that_is_no_word_is_found_by_what_the_answer_says(tmp_path):
    (answer,), _ = play(tmp_path, {"a.org": "* Party 🎁\n"}, "find 🎁")
    assert "grep -rnF 🎁 ." in answer or "grep -rnF '🎁' ." in answer, answer


@pytest.mark.parametrize("line", ["thanks, and what is due tomorrow?", "danke, und was steht morgen an?", "great! what is due tomorrow", "sorry, I meant what is due tomorrow"])
def test_thanks_before_a_question_do_not_hide_it(tmp_path, line):
    (answer, thanks), _ = play(tmp_path, {"a.org": "* TODO paint\nDEADLINE: <2026-11-20 Fri>\n"}, line, "thanks a lot")
    assert "paint" in answer and thanks == "You're welcome.", answer


def test_what_is_said_right_after_a_task_belongs_to_it(tmp_path):
    "“by friday” showed the agenda, and “high priority” that nothing has one."
    answers, files = play(tmp_path, {"a.org": "* TODO paint\n"}, "todo tax return", "by friday", "high priority", "what is due tomorrow", "by friday")
    assert files["inbox.org"] == "* TODO [#A] tax return\nDEADLINE: <2026-11-20 Fri>\n" and "Nov" in answers[4] and "Set the" not in answers[4], answers


def test_how_old_somebody_is_whom_no_date_tells_is_no_list_of_all_that_names_them(tmp_path):
    notes = {"people/mama.org": "#+TITLE: Mama\nHelga, 74, third floor\n", "a.org": "* call Mama\n* Nele: brace\n* shirt for Nele\n"}
    answers, _ = play(tmp_path, notes, "how old is Nele?", "wie alt ist Nele", "how old is mama", "how old is Ruben")
    assert all(answers[n].startswith("No date of birth of “") and "brace" not in answers[n] for n in (0, 1, 3)), answers
    assert "Helga, 74" in answers[2] and "call Mama" not in answers[2], answers


@pytest.mark.parametrize("line, said", [("start a timer for 10 minutes", "I can't ring."), ("replace Pohl with Pohl GmbH in a.org", "I don't change words within a text"), ("fix the typo in a.org", "I don't change words within a text"),
                                        ("make a new project Bathroom", "A file is made by the first note in it"), ("refile the tyres", "Where to, or to which day?")])
def test_what_cannot_be_done_is_answered_with_what_was_asked(tmp_path, line, said):
    notes = {"a.org": "* TODO timer for eggs\n* TODO call Pohl\n* TODO tyres\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert answer.startswith(said) and files == notes, answer


PLACES = {"phd/thesis.md": "# Thesis\n- [ ] outline 📅 2026-11-25\n- [ ] figure\n", "projects/roof.org": "#+TITLE: The roof\n* TODO Tiles\nDEADLINE: <2026-11-18 Wed>\n* TODO Zinc\nDEADLINE: <2026-11-24 Tue>\n", "inbox.org": "* TODO Tyres\nDEADLINE: <2026-11-24 Tue>\n* Menu\n"}

@pytest.mark.parametrize("line, has, lacks", [
    ("anything overdue in the roof project?", "Tiles", "Tyres"), ("due in projects next week", "Zinc", "Tyres"), ("what is due in phd", "outline", "Tyres"), ("was ist nächste Woche in projects fällig", "Zinc", "Tyres"), ("tasks in phd", "figure", "Tyres"), ("tasks for phd", "figure", "Tyres"),
    ("read projects/roof.org || what is due there", "Zinc", "Tyres"), ("tasks in phd || anything due there?", "outline", "Tyres"), ("what is due in projects || and next week?", "Zinc", "Tyres"), ("what is due there", "I don't know where “there” is", "Zinc"), ("find t || what is due there", "I don't know where", "Zinc"),
    ("which tasks are there", "Tyres", "where “there”"), ("find t || only the open ones", "Tiles", "Menu"), ("what is due this week || only the overdue ones", "Tiles", "Tyres"), ("how many notes do I have?", "3 files: 2 in Org and 1 in Markdown, in 2 folders.", "I list tasks"), ("how many files are in phd", "1 file in phd.", "3"), ("how many notes are in attic", "No folder with notes", "3")])
def test_a_question_about_one_place_is_answered_from_there(tmp_path, line, has, lacks):
    answers, _ = play(tmp_path, PLACES, *line.split(" || "))
    assert has in answers[-1] and lacks not in answers[-1], answers


def test_two_folders_of_one_name_are_no_place(tmp_path):
    answers, _ = play(tmp_path, {"a/work/x.org": "* TODO Ladder\nDEADLINE: <2026-11-24 Tue>\n", "b/work/y.org": "* TODO Paint\nDEADLINE: <2026-11-24 Tue>\n"}, "what is due in a/work", "overdue in work")
    assert "Ladder" in answers[0] and "Paint" not in answers[0] and "Nothing is overdue" not in answers[1]


@pytest.mark.parametrize("line, found", [("what links to the offers", "a.md:1 x.org:1"), ("what links to zinc", "x.org:1"), ("what links to b", "a.md:1 x.org:1"), ("what links to b.org", "a.md:1 x.org:1"), ("what links to plates", "")])
def test_a_link_that_goes_on_to_a_heading_of_a_file_leads_to_both(tmp_path, line, found):
    (answer,), _ = play(tmp_path, {"x.org": "* Plan\nSee [[file:b.org::*The offers]] and [[b#Zinc]].\n", "b.org": "* The offers\n** Zinc\n* Plates\n", "a.md": "A [b](b.org#the-offers).\n", "c.org": "* Zinc\n"}, line)
    assert sorted(re.findall(r"^\d+\. (\S+)", answer, re.M)) == found.split(), answer


ACME = {"Projects/Acme.md": "# Acme\n\nClient.\n\n- [ ] send the offer 📅 2026-11-20\n", "Bob.md": "# Bob\nWorks at [[Acme]].\n"}

def test_who_renames_a_page_is_told_that_its_file_has_the_old_name(tmp_path):
    "The heading was renamed, and the links still said the old name weeks later."
    (first, second), files = play(tmp_path, ACME, "rename Acme to Apex", "rename Projects/Acme.md to Apex")
    assert first.splitlines()[0] == "Renamed “Acme” in Projects/Acme.md to “Apex”" and "“rename Projects/Acme.md to Apex.md”" in first
    assert "Projects/Apex.md" in files and "[[Apex]]" in files["Bob.md"], second


@pytest.mark.parametrize("title, line", [("Acme", "rename Acme to acme"), ("Acme", "rename Acme to a/b"), ("Client", "rename Client to Apex")])
def test_where_the_file_is_not_called_so_or_cannot_be_nothing_is_said_of_it(tmp_path, title, line):
    (answer,), files = play(tmp_path, {"Acme.md": f"# {title}\n\ntext\n", "x.md": "# y\n"}, line)
    assert "still called" not in answer and "Renamed" in answer


@pytest.mark.parametrize("line, item", [("milk too", "milk"), ("and milk", "milk"), ("und noch Eier", "Eier"), ("Eier auch", "Eier"), ("also oat milk", "oat milk"), ("auch noch Brot", "Brot"), ("eggs as well!", "eggs")])
def test_one_more_thing_goes_on_the_list_on_which_the_last_one_was_put(tmp_path, line, item):
    answers, files = play(tmp_path, {"Shopping.md": "# Shopping\n- [ ] bread\n"}, "add butter to the shopping list", line, "yes")
    assert f"add {item} to Shopping" in answers[1] and files["Shopping.md"].endswith(f"- [ ] butter\n- [ ] {item}\n"), answers


@pytest.mark.parametrize("line", ["me too", "und tschüss", "also, what is due?", "and thanks", "ich auch", "and on friday", "no"])
def test_a_word_after_a_list_that_is_no_thing_is_not_offered_for_it(tmp_path, line):
    answers, files = play(tmp_path, {"Shopping.md": "# Shopping\n- [ ] bread\n"}, "add butter to the shopping list", line)
    assert "to Shopping" not in answers[1], answers


@pytest.mark.parametrize("line, said", [("no, by two weeks", "postpone it by two weeks"), ("nein, um zwei Wochen", "postpone it by two weeks"), ("no, 2 weeks", "postpone it by 2 weeks"), ("make it 3 days", "postpone it by 3 days")])
def test_a_span_that_corrects_a_date_is_asked_about(tmp_path, line, said):
    "By two weeks from where it was, or from where it is by now? The one or the other is a wrong day."
    answers, files = play(tmp_path, ACME, "postpone send the offer by a week", line)
    assert "2026-11-27" in answers[1] and f"“{said}”" in answers[1] and "“undo”" in answers[1] and "📅 2026-11-27" in files["Projects/Acme.md"], answers
    for way, day in ((["postpone it by two weeks"], "2026-12-11"), (["no, friday"], "2026-11-20")):
        answers, files = play(tmp_path / day, ACME, "postpone send the offer by a week", line, *way)
        assert f"📅 {day}" in files["Projects/Acme.md"], answers


FOLDERS = {"inbox.org": "* TODO one\n", "garden.org": "* Garden\n", "garden/beds.md": "# Beds\n", "projects/roof.org": "* Roof\n", "projects/Attic.org": "* Attic\n", "projects/old/boat.md": "# Boat\n",
           "secret/key.org": "#+FILETAGS: :@personal:\n#+TITLE: My salary\n* projects\n"}
ALL = "7 files:\n  garden.org\n  inbox.org\n  garden/  1 file\n  projects/  3 files\n  secret/  1 file"
PROJECTS = "3 files in projects:\n  projects/Attic.org\n  projects/roof.org\n  projects/old/  1 file"


@pytest.mark.parametrize("line, told", [("list my notes", ALL), ("which files do I have?", ALL), ("show me all my notes", ALL), ("notes", ALL), ("what folders are there?", ALL), ("what's in my notes", ALL), ("welche Dateien habe ich?", ALL),
    ("what is in projects", PROJECTS), ("what's in the projects folder?", PROJECTS), ("list projects/", PROJECTS), ("show projects/", PROJECTS), ("read projects/", PROJECTS), ("files in projects", PROJECTS), ("which notes are in PROJECTS?", PROJECTS),
    ("show me the folder projects", PROJECTS), ("what is in projects/old", "1 file in projects/old:\n  projects/old/boat.md"), ("what is in the old folder", "1 file in projects/old:\n  projects/old/boat.md"),
    ("what is in garden/", "1 file in garden:\n  garden/beds.md"), ("what is in secret", "1 file in secret:\n  secret/key.org")])
def test_what_lies_in_a_folder_is_listed(tmp_path, line, told):
    (answer,), _ = play(tmp_path, FOLDERS, line)
    assert answer == told


@pytest.mark.parametrize("line", ["what is in garden", "show roof", "list my tasks", "notes about the roof", "what is in the inbox", "which files are in submarine", "list projects and tell Ana", "show me my notes on projects"])
def test_what_is_no_folder_is_answered_as_ever(tmp_path, line):
    (answer,), _ = play(tmp_path, FOLDERS, line)
    assert "files:" not in answer and "file in" not in answer and "files in" not in answer, answer


def test_a_long_folder_is_told_in_part(tmp_path):
    (answer,), _ = play(tmp_path, {f"n{i:03}.md": "x\n" for i in range(60)} | {f"f{i:03}/a.md": "x\n" for i in range(60)}, "list my notes")
    assert answer.startswith("120 files:\n  n000.md\n") and "\n  … and 20 files more\n  f000/  1 file\n" in answer and answer.endswith("\n  … and 20 more folders")


@pytest.mark.parametrize("line, told", [("untag call with Ana", "It stands in its title"), ("untag door with house", "It comes from above")])
def test_where_a_tag_stands_that_cannot_be_taken_here_is_told(tmp_path, line, told):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO Call @Ana\n* Roof :house:\n** TODO Door\n"}, line)
    assert told in answer


NEW = {"inbox.org": "* TODO buy milk\n", "projects/roof.org": "* Roof\n"}

@pytest.mark.parametrize("said, then, file, stands", [("todo call Ana", "due friday", "inbox.org", "* TODO call Ana\nDEADLINE: <2026-11-20 Fri>\n"), ("todo call Ana", "it's due on friday", "inbox.org", "DEADLINE: <2026-11-20 Fri>"), ("todo call Ana", "deadline: next friday.", "inbox.org", "DEADLINE: <2026-11-27 Fri>"),
    ("todo call Ana", "and due tomorrow 9:30", "inbox.org", "DEADLINE: <2026-11-20 Fri 09:30>"), ("todo call Ana", "in projects/roof.org", "projects/roof.org", "* TODO call Ana"), ("todo call Ana", "under roof", "projects/roof.org", "** TODO call Ana"), ("note: the fig is wrapped", "put it under Roof", "projects/roof.org", "** the fig is wrapped")])
def test_what_is_said_right_after_a_new_task_is_about_it(tmp_path, said, then, file, stands):
    answers, files = play(tmp_path, NEW, said, then)
    assert stands in files[file], answers


@pytest.mark.parametrize("lines", [("todo call Ana", "due friday?"), ("todo call Ana tomorrow", "due friday"), ("todo call Ana", "what is due friday", ), ("due friday",), ("todo call Ana", "find milk", "due friday"), ("todo call Ana", "in november"), ("todo call Ana", "tomorrow"), ("todo call Ana", "in 3 days"), ("todo call Ana", "under submarine")])
def test_what_is_asked_after_a_new_task_changes_nothing(tmp_path, lines):
    answers, files = play(tmp_path, NEW, *lines)
    assert "DEADLINE" not in "".join(files.values()) and set(files) == set(NEW) and files["projects/roof.org"] == NEW["projects/roof.org"], answers


@pytest.mark.parametrize("line, stands", [("set a reminder for tomorrow 9 call Ana", "* TODO call Ana\nSCHEDULED: <2026-11-20 Fri 09:00>\n"), ("add a reminder for friday 14:30 the dentist", "* TODO the dentist\nSCHEDULED: <2026-11-20 Fri 14:30>\n"),
    ("set a reminder for Ruth's call on friday", "* TODO Ruth's call\nSCHEDULED: <2026-11-20 Fri>\n"), ("set a reminder for tomorrow at 9 to call Ana", "* TODO call Ana\nSCHEDULED: <2026-11-20 Fri 09:00>\n")])
def test_a_reminder_for_an_hour_is_about_what_comes_after_it(tmp_path, line, stands):
    answers, files = play(tmp_path, {}, line)
    assert stands in files.get("inbox.org", ""), answers


@pytest.mark.parametrize("line, told", [("what time is the roofer coming", "10:00"), ("at what time does the roofer start?", "10:00"), ("whats the next thing", "Call the roofer"), ("what is the next item on my list?", "Call the roofer"), ("print my agenda", "Call the roofer"), ("show me the calendar", "Call the roofer"),
    ("sort my tasks by deadline", "all open tasks"), ("list tasks by due date", "all open tasks"), ("anything i need to know about tomorrow", "Fri 20 November"), ("is there anything I should prepare for tomorrow?", "Fri 20 November"), ("how do i get rid of a task", "I delete nothing"),
    ("hi there what is due tomorrow?", "Call the roofer"), ("thanks that was great", "welcome"), ("what time is it", "It is "), ("start a new page called Holiday plans", "A file is made by the first note in it")])
def test_common_turns_of_speech_have_a_form(tmp_path, line, told):
    (answer,), files = play(tmp_path, NOTES_OF_A_DAY, line)
    assert told in answer and files == NOTES_OF_A_DAY, answer

NOTES_OF_A_DAY = {"a.org": "* TODO Call the roofer\nSCHEDULED: <2026-11-20 Fri 10:00>\n"}


def test_a_day_and_a_bare_hour_are_offered_as_a_time(tmp_path):
    answers, files = play(tmp_path, NOTES_OF_A_DAY, "move roofer to monday 11", "yes")
    assert "Did you mean “move roofer to monday at 11”?" in answers[0] and files["a.org"] == "* TODO Call the roofer\nSCHEDULED: <2026-11-23 Mon 11:00>\n", answers


@pytest.mark.parametrize("line, told", [("when is Mara's birthday", "Mara: Thursday 20 May 2027"), ("what is due in may", "Mara's birthday"), ("how old is Tom", "Tom: 45, and 46 on")])
def test_an_anniversary_of_a_year_that_nobody_knows_is_a_birthday(tmp_path, line, told):
    (answer,), _ = play(tmp_path, {"b.org": "* Birthdays\n%%(org-anniversary nil 5 20) Mara's birthday\n%%(org-anniversary 1980 11 22) Tom is %d\n"}, line)
    assert told in answer and "not understood" not in answer, answer


@pytest.mark.parametrize("line, title", [
    ("make a note about the trip", "the trip"), ("take a quick note about the trip that Ana pays", "the trip that Ana pays"), ("write down a note about Samir, he has a new phone", "Samir, he has a new phone"),
    ("quick note: about the trip", "about the trip"), ("add a note regarding the roof: it leaks", "the roof: it leaks"), ("note to self about the boiler", "the boiler"), ("write down about 40 euros for Paula", "about 40 euros for Paula"),
    ("remember about the keys", "about the keys"), ("Notiz über Ana: sie zieht um", "Ana: sie zieht um"), ("neue Notiz zur Reise: Karte mitnehmen", "Reise: Karte mitnehmen"), ("schreib eine Notiz über den Pohl", "den Pohl"),
    ("Notiz über Nacht hat es geregnet", "über Nacht hat es geregnet"), ("Notiz zum Arzt um 9", "zum Arzt um 9")])
def test_what_a_note_is_about_is_its_title_without_the_word_about(tmp_path, line, title):
    (answer,), files = play(tmp_path, {"a.org": "* a\n"}, line)
    assert files.get("inbox.org") == f"* {title}\n", answer


NEWCOMER = {"roof.org": "#+TITLE: The roof\n* WAITING Subsidy for the roof\nFrau Aydin has everything.\n* TODO Yearly service\nDEADLINE: <2026-11-27 Fri +1y>\n* TODO Choir\nSCHEDULED: <2026-11-24 Tue 19:30>\n", "knee.md": "# Knee\nno running\n", "lissabon.md": "# Lissabon\nFlug um 6\n",
            "old.org": "* TODO Bring back the library books\nDEADLINE: <2026-11-14 Sat>\n"}

@pytest.mark.parametrize("line, said", [
    ("which ones are overdue", "library books"), ("how's my knee", "no running"), ("any news on the subsidy?", "Aydin"), ("show me the next three things", "Choir"), ("how do you work", "I work without a language model"),
    ("hold on", "I wait"), ("remove milk from the list", "“check off milk” ticks"), ("wann fliegen wir nach Lissabon", "lissabon.md:1"), ("wie war das nochmal mit der Versicherung", "find Versicherung."), ("change the time of choir to 8", "“move choir to 8am”, or “move choir to 8pm”"), ("ist die Milch schon gekauft", "find Milch gekauft."),
    ("set up a meeting with Samir and Ana for thursday at 2 about the model", "Did you mean “todo set up a meeting"), ("tomorrow i need to bring the car to the garage", "“todo bring the car to the garage tomorrow”"),
    ("read me the recipe for potato soup", "find recipe potato soup"), ("they moved it to the first of december at nine", "Did you mean")])
def test_what_newcomers_say_is_answered_or_asked_about(tmp_path, line, said):
    (answer,), files = play(tmp_path, NEWCOMER, line)
    assert any(each in answer for each in said.split("|")) and files == NEWCOMER, answer
    if line.startswith("ist "): assert "Shall I keep it" not in answer, answer


@pytest.mark.parametrize("line, file, after", [
    ("change the date of the yearly service to 1 december", "roof.org", "DEADLINE: <2026-12-01 Tue +1y>"), ("change the time of choir to 8pm", "roof.org", "<2026-11-24 Tue 20:00>"), ("already did the library books", "old.org", "* DONE Bring back"),
    ("set up a meeting with Samir tomorrow at 2", "inbox.org", "* TODO meeting with Samir\nSCHEDULED: <2026-11-20 Fri 14:00>"), ("i need a reminder to call Pohl tomorrow at 9", "inbox.org", "* TODO call Pohl\nSCHEDULED: <2026-11-20 Fri 09:00>"),
    ("note to myself the boiler knocks", "inbox.org", "* the boiler knocks\n")])
def test_what_newcomers_want_is_done(tmp_path, line, file, after):
    (answer,), files = play(tmp_path, NEWCOMER, line)
    assert after in files.get(file, ""), (answer, files.get(file))


BOATS = {"Projects/Boat.md": "# Boat\n- [ ] a\n", "Old Things/Ship.org": "* b\n", "Kitchen.md": "# Kitchen\n- [ ] c\n"}

@pytest.mark.parametrize("line, file", [("todo call Ana in Boat.md", "Projects/Boat.md"), ("remind me tomorrow to call Ana in boat.md", "Projects/Boat.md"), ("note: call Ana in Ship.org", "Old Things/Ship.org"),
                                        ("Aufgabe Ana anrufen in Boat.md", "Projects/Boat.md"), ("todo call Ana in kitchen.md", "Kitchen.md"), ("note in Boat.md: call Ana", "Projects/Boat.md"), ("todo call Ana tomorrow at 9 in Boat.md", "Projects/Boat.md")])
def test_no_file_is_begun_beside_one_of_its_name_in_a_folder(tmp_path, line, file):
    "A task went into a new file, and whoever looked into the old one did not find it."
    (asked, done), files = play(tmp_path, BOATS, line, "yes")
    assert f"but {file}. Did you mean" in asked and set(files) == set(BOATS) and ("Ana" in files[file]), (asked, done)


def test_a_new_file_of_that_name_is_begun_where_the_person_says_so(tmp_path):
    (answer, other), files = play(tmp_path, BOATS, "todo call Ana in ./Boat.md", "todo call Ana in New.md")
    assert "call Ana" in files["Boat.md"] and "call Ana" in files["New.md"] and files["Projects/Boat.md"] == BOATS["Projects/Boat.md"], (answer, other)


@pytest.mark.parametrize("link", ["/etc/hostname", "nowhere.org"])
def test_an_inbox_that_cannot_be_read_is_not_said_to_be_empty(tmp_path, link):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").symlink_to(link)
    (answer,), _ = play(tmp_path, {"a.org": "* a\n"}, "what is in my inbox")
    assert "empty" not in answer and "inbox.org" in answer, answer


@pytest.mark.parametrize("line, said", [("any tasks for the house?", "TODO ask Pohl"), ("are there any tasks about the house", "TODO ask Pohl"), ("do I have any tasks tomorrow?", "Fri 20 November"),
                                        ("who am I meeting tomorrow?", "call Ana"), ("what did I just add?", "/trace")])
def test_any_tasks_of_something_are_a_list_and_any_of_a_day_an_agenda(tmp_path, line, said):
    notes = {"a.org": "* TODO ask Pohl :house:\n* TODO call Ana\nSCHEDULED: <2026-11-20 Fri>\n"}
    assert said in play(tmp_path, notes, line)[0][0]


def test_what_the_person_wants_to_be_told_is_not_offered_as_a_task(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* TODO buy paint\n"}, "mark buy paint done and tell me a joke", "yes")
    assert "todo tell me" not in answers[0] and files == {"a.org": "* TODO buy paint\n"}, answers

STUDENT = {
    "uni.org": """#+TITLE: Uni
* TODO Lineare Algebra Blatt 5
DEADLINE: <2026-11-24 Tue>
* TODO Analysis Blatt 5
DEADLINE: <2026-11-23 Mon 12:00>
* Lineare Algebra
Vorlesung Di 10-12, HS 3
* Klausur Analysis <2027-02-12 Fri 09:00>
* Klausur Lineare Algebra <2027-02-16 Tue 14:00>
* TODO Thesis proposal
* TODO email prof about topic
""",
    "work.org": """#+TITLE: Work
* Shift <2026-11-20 Fri 16:00-22:00>
* Shift <2026-11-21 Sat 10:00-18:00>
* Shift <2026-11-26 Thu 16:00-22:00>
""",
    "lists.org": """* Shopping list
- [ ] milk
- [X] bread
- [ ] oat flakes
* Packing list
- [ ] socks
- [X] charger
* WG
** TODO Putzplan
SCHEDULED: <2026-11-22 Sun +1w>
""",
    "people.org": """* Henrik
:PROPERTIES:
:BIRTHDAY: 1999-12-02
:PHONE: 0151 223344
:END:
* Mama
:PROPERTIES:
:BIRTHDAY: 1968-04-03
:END:
""",
    "hafenweg.org": """#+TITLE: Hafenweg
* Notes
flat in Hafenweg 12
* TODO call landlord
""",
    "projects.org": """* Balcony
** TODO buy soil
* Bike
** TODO new chain
** DONE brakes
CLOSED: [2026-11-10 Tue]
""",
}


@pytest.mark.parametrize("line, said", [
    ("when do i work tomorrow", "16:00-22:00"), ("when is klausur analysis on friday", "Not on Friday 20 November 2026."), ("when is the thesis proposal due", "“Thesis proposal” (uni.org:10) has no date."), ("when is the balcony due", "“Balcony” (projects.org:1) has no date"),
    ("wann ist thesis proposal fällig", "has no date"), ("when is hafenweg due", "has no date"), ("is the bike done?", "of 2 below it 1 is not done:\n- TODO “new chain”"), ("henriks birthday", "27 on Wednesday 2 December"), ("henriks geburtstag", "27 on Wednesday 2 December"), ("henriks phone", "0151 223344"),
    ("whats left on the shopping list", "2 of 3 are open"), ("whats left on the list", "Which list do you mean?"), ("show it", "I don't know which one “it” is"), ("zeig es", "I don't know which one “it” is"), ("add eggs butter and flour", "add eggs butter and flour to the Shopping list. With commas")])
def test_what_a_student_asks_first(tmp_path, line, said):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert said in answer and files == STUDENT


def test_what_is_below_a_project_without_a_date_is_told_and_how_many_there_are(tmp_path):
    notes = {"a.org": "* House\n" + "".join(f"** TODO thing {n}\nDEADLINE: <2026-12-{n:02} Tue>\n" for n in range(1, 15))}
    (answer, left), _ = play(tmp_path, notes, "when is house due", "is house done?")
    assert answer.count("due ") == 10 and "5 more: what is due in a.org" in answer and left.count("- TODO") == 9 and "5 more in a.org" in left


@pytest.mark.parametrize("lines, said", [
    (("when is Klausur Analysis", "und lineare algebra?"), ["“Klausur Lineare Algebra” (uni.org:9)"]), (("wann ist die klausur analysis?", "und lineare algebra?", "and thesis proposal?"), ["Tuesday 16 February 2027", "Thesis proposal"]),
    (("is the new chain done?", "and the brakes?"), ["Yes. “brakes”"]), (("henriks birthday", "und mamas?"), ["Mama: 58"]), (("whats left on the shopping list", "whats left on the list"), ["2 of 3 are open"]), (("what is on the shopping list", "add cheese", "and whats left?"), ["", "2 of 3 are open"]),
    (("add milk", "no"), ["Then not. Nothing was done."])])
def test_a_sentence_goes_on_from_the_one_before(tmp_path, lines, said):
    answers, files = play(tmp_path, STUDENT, *lines)
    assert all(part in answer for part, answer in zip(said, answers[1:])) and files == STUDENT, answers


def test_another_of_which_nothing_is_known_is_searched_for_as_before(tmp_path):
    answers, _ = play(tmp_path, STUDENT, "what is due tomorrow", "and the balcony?")
    assert "1 section matches “balcony”" in answers[1]


@pytest.mark.parametrize("line, file, text", [
    ("add a task for hafenweg: paint the wall", "hafenweg.org", "* TODO paint the wall\n"), ("add a task for the balcony: paint the wall", "projects.org", "** TODO buy soil\n** TODO paint the wall\n"), ("todo for bike: buy tube by friday", "projects.org", "** TODO buy tube\nDEADLINE: <2026-11-20 Fri>\n"),
    ("add a task for school: buy paper", "inbox.org", "* TODO for school: buy paper\n"), ("note for mama: the train is at 9", "inbox.org", "* for mama: the train is at 9\n"),
    ("verschieb analysis blatt auf den samstag um 10", "uni.org", "DEADLINE: <2026-11-21 Sat 10:00>"), ("verschiebe den Putzplan auf den nächsten Montag", "lists.org", "SCHEDULED: <2026-11-23 Mon +1w>")])
def test_what_a_student_has_done_first(tmp_path, line, file, text):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert text in files[file], answer


def test_and_on_another_day(tmp_path):
    answers, files = play(tmp_path, STUDENT, "verschieb analysis blatt auf den samstag um 10", "und auf den sonntag", "nee auf den freitag")
    assert "DEADLINE: <2026-11-20 Fri 10:00>" in files["uni.org"] and "inbox.org" not in files, answers


@pytest.mark.parametrize("line", ["verschieb den Garten auf morgen um 10", "lösch die Thesis morgen um 9", "markier die Notiz am freitag", "zeig mir den bus um 10"])
def test_a_command_in_german_that_is_not_understood_is_no_new_task(tmp_path, line):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert files == STUDENT and "Added" not in answer


def test_a_change_and_a_question_about_something_else_in_one_breath(tmp_path):
    (answer, other), files = play(tmp_path, STUDENT, "done call landlord; is the new chain done?", "done buy soil; is the bike done?")
    assert answer == "Set “call landlord” in hafenweg.org to DONE\nNo. “new chain” (projects.org:4) is TODO"
    assert "nothing was done" in other and "TODO buy soil" in files["projects.org"], "the change touches the file that the question is about"


@pytest.mark.parametrize("line", ["zahnarzt erledigt?", "milch gekauft?", "Reifen wechseln schon erledigt?", "blumen gegossen?", "reifen ist wichtig?", "zahnarzt fertig", "die erste ist erledigt"])
def test_a_question_in_german_ticks_nothing_off(tmp_path, line):
    (answer,), files = play(tmp_path, {"a.org": GERMAN}, line)
    assert (files["a.org"] == GERMAN) == (line != "zahnarzt fertig"), answer


def test_whether_it_is_done_is_answered_where_the_verb_is_left_out(tmp_path):
    answers, _ = play(tmp_path, {"a.org": GERMAN}, "zahnarzt erledigt?", "Zahnarzt done?")
    assert all(answer.startswith("No. “Zahnarzt” (a.org:2) is OFFEN") for answer in answers)


def test_the_first_one_of_nothing_is_not_the_first_of_an_older_list(tmp_path):
    notes = {"a.org": "* TODO water the fig\n* TODO fig jam\n"}
    answers, files = play(tmp_path, notes, "find fig", "what is overdue", "the first one is done", "done 1")
    assert answers[1].startswith("Nothing is overdue") and files == notes, answers
    _, files = play(tmp_path / "b", notes, "find fig", "hm", "the second one is done")
    assert sum(line.startswith("* DONE") for line in files["a.org"].split("\n")) == 1


def test_what_is_offered_for_several_can_be_carried_out_for_all_of_them(tmp_path):
    notes = {"a.org": "* TODO one\nDEADLINE: <2026-11-10 Tue>\n* TODO two\nDEADLINE: <2026-11-11 Wed>\n"}
    answers, files = play(tmp_path, notes, "what is overdue", "done 2", "move the first two to saturday")
    assert answers[2].startswith("Not with all of these, so nothing was done. “two”"), answers
    _, files = play(tmp_path / "b", notes, "what is overdue", "move the first two to saturday", "yes")
    assert files["a.org"].count("<2026-11-21 Sat>") == 2


@pytest.mark.parametrize("line, file, text", [
    ("move my shift on saturday to sunday", "work.org", "* Shift <2026-11-22 Sun 10:00-18:00>"), ("move shift on 26 nov to 27 nov", "work.org", "* Shift <2026-11-27 Fri 16:00-22:00>"), ("move klausur analysis a week earlier", "uni.org", "<2027-02-05 Fri 09:00>"), ("klausur analysis eine woche früher", "uni.org", "<2027-02-05 Fri 09:00>"),
    ("klausur analysis at 10 instead", "uni.org", "<2027-02-12 Fri 10:00>"), ("move lineare algebra blatt 5 5 days earlier", "uni.org", "DEADLINE: <2026-11-19 Thu>"), ("remind me a week before mamas birthday to get a present", "inbox.org", "* TODO get a present\nSCHEDULED: <2027-03-27 Sat>"),
    ("add to shopping list: tea", "lists.org", "- [ ] oat flakes\n- [ ] tea\n")])
def test_what_a_student_moves(tmp_path, line, file, text):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert text in files[file], answer


@pytest.mark.parametrize("lines, said, text", [
    (("when is klausur analysis", "and remind me the day before"), "scheduled for Thu 11 February 2027", "* TODO Klausur Analysis\n"), (("when is klausur analysis", "remind me 2 days before to eat"), "scheduled for Wed 10 February 2027", "* TODO eat\n"),
    (("remind me 2 days before to eat",), "I don't know which one “it” is", ""), (("when is the thesis proposal due", "remind me the day before"), "has no date ahead", "")])
def test_a_reminder_counts_from_what_was_named(tmp_path, lines, said, text):
    answers, files = play(tmp_path, STUDENT, *lines)
    assert said in answers[-1] and text in files.get("inbox.org", ""), answers


@pytest.mark.parametrize("line, said", [
    ("how many days until mamas birthday", "in 135 days"), ("wie lange noch bis henriks geburtstag", "in 13 days"), ("whos birthday is next", "Henrik"), ("whats left on it", "Which list is “it”?"), ("library books returned", "didn't understand"), ("brakes fixed", "didn't understand"), ("call landlord called", "“done call landlord”"),
    ("was fehlt noch auf der liste", "Which list do you mean?"), ("all of them tomorrow", "didn't understand"), ("ja", "No question of mine is open"), ("wann ist wieder putzplan", "Sunday 22 November")])
def test_what_else_a_student_says(tmp_path, line, said):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert said in answer and "todo all of them" not in answer and files == STUDENT, answer


def test_a_task_that_is_done_a_week_earlier_may_be_one_of_today(tmp_path):
    (answer,), files = play(tmp_path, {"a.org": "* TODO Dentist\nSCHEDULED: <2026-11-26 Thu 14:30>\n"}, "move dentist a week earlier")
    assert "<2026-11-19 Thu 14:30>" in files["a.org"], answer


def test_where_a_file_goes_on_is_told_in_the_words_of_people_also_beside_something_else(tmp_path):
    answers, _ = play(tmp_path, STUDENT, "done call landlord; what is on the shopping list?", "what is due tomorrow and what is on the shopping list", "what's on the shopping list")
    assert all("more lines: “read lists.org from line 5”" in answer and "read on with" not in answer for answer in answers), answers


@pytest.mark.parametrize("line, said", [
    ("klausur analysis is on tuesday at 3 not 2", "“move klausur analysis to tuesday at 3”"), ("klausur analysis postponed by a week", "“postpone klausur analysis by a week”"), ("i think the klausur analysis was moved to the 27th at 9", "“move klausur analysis to the 27th at 9”"),
    ("appointment meier tue 14:00 measure kitchen", "“todo meier measure kitchen tue 14:00”"), ("is there anything i forgot", "Nothing is overdue."), ("mama's telephone number", "1 section matches “mama”"), ("every evening as well", "didn't understand"), ("read me the page about bike", "* Bike")])
def test_what_people_say_that_they_heard(tmp_path, line, said):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert said in answer and "todo as well" not in answer and files == STUDENT, answer


def test_yes_please_is_a_yes(tmp_path):
    for n, yes in enumerate(("yes please", "ja bitte", "yes, thanks")):
        answers, files = play(tmp_path / str(n), STUDENT, "klausur analysis postponed by a week", yes)
        assert "<2027-02-19 Fri 09:00>" in files["uni.org"], answers


@pytest.mark.parametrize("line, text", [
    ("TODO fix the parser DEADLINE: <2026-11-25 Wed>", "* TODO fix the parser\nDEADLINE: <2026-11-25 Wed>\n"), ("* TODO fix it SCHEDULED: <2026-11-25 Wed 10:00>", "* TODO fix it\nSCHEDULED: <2026-11-25 Wed 10:00>\n"), ("todo water DEADLINE: <2026-11-25 Wed +1w>", "* TODO water\nDEADLINE: <2026-11-25 Wed +1w>\n"),
    ("todo review scheduled tomorrow deadline friday", None), ('todo "review PR" scheduled tomorrow deadline friday', None), ("todo read the plan due friday", "* TODO read the plan\nDEADLINE: <2026-11-20 Fri>\n")])
def test_dates_as_org_has_them_are_dates_of_the_task(tmp_path, line, text):
    (answer,), files = play(tmp_path, {}, line)
    assert files == ({} if text is None else {"inbox.org": text}) and (text is not None or answer.startswith("Two days are named")), answer


@pytest.mark.parametrize("line, said", [("mark thesis proposal WAITING", "has the states TODO, DONE, and not WAITING"), ("done today", "Nothing in your notes was done 2026-11-19"), ("what is done this week", "was done 2026-11-16 to 2026-11-22")])
def test_what_a_developer_says(tmp_path, line, said):
    (answer,), files = play(tmp_path, {name: text for name, text in STUDENT.items() if name != "projects.org"}, line)
    assert said in answer and "projects.org" not in files, answer


def test_i_mean_corrects_and_is_no_title(tmp_path):
    answers, files = play(tmp_path / "a", STUDENT, "lunch tomorrow at 12", "at 1 i mean", "monday, i meant")
    assert files["inbox.org"] == "* TODO lunch\nSCHEDULED: <2026-11-23 Mon 13:00>\n", answers
    answers, files = play(tmp_path / "b", STUDENT, "tomorrow at 6 i mean")
    assert files == STUDENT, answers
    answers, files = play(tmp_path / "c", STUDENT, "remind me about bike at 6", "tomorrow at 7 i mean")
    assert files["inbox.org"] == "* TODO bike\nSCHEDULED: <2026-11-20 Fri 07:00>\n", answers


@pytest.mark.parametrize("line, said", [
    ("move putzplan to teusday", "“move putzplan to tuesday”"), ("set deadline of thesis proposal to next fridya", "to next friday”"), ("call henrik tomorow", "“todo call henrik tomorrow”"), ("is there a shift on saturday?", "Yes. “Shift” (work.org:3)"), ("is there anything on sunday", "Putzplan"),
    ("buy new lock for bike", "add new lock for bike to the Shopping list"), ("move putzplan to projects", "")])
def test_a_day_that_is_spelt_wrong_is_offered_right(tmp_path, line, said):
    (answer,), files = play(tmp_path, STUDENT, line)
    assert said in answer and (files == STUDENT) == bool(said), answer


def test_an_appointment_in_german_that_is_later_is_moved_and_no_new_one(tmp_path):
    answers, files = play(tmp_path, {}, "übermorgen 9 uhr tüv", "tüv doch erst um 11", "ja", "und am tag davor erinnern")
    assert files["inbox.org"] == "* TODO tüv\nSCHEDULED: <2026-11-21 Sat 11:00>\n* TODO tüv\nSCHEDULED: <2026-11-20 Fri>\n", answers


@pytest.mark.parametrize("line, text", [("trag ein: elternabend 3.12. 19 uhr", "* TODO elternabend\nSCHEDULED: <2026-12-03 Thu 19:00>\n"), ("verschieb irgendwas auf 3.12. 19 uhr", None), ("kannst du mir sagen was morgen ansteht", None), ("erinner mich zwei tage vorher", None)])
def test_what_is_said_in_german_at_an_hour(tmp_path, line, text):
    (answer,), files = play(tmp_path, {}, line)
    assert files == ({"inbox.org": text} if text else {}) and "didn't understand" not in answer, answer


@pytest.mark.parametrize("said", ["redo", "undo the undo", "please redo it"])
def test_who_wants_back_what_was_taken_back_is_not_sent_to_undo_once_more(tmp_path, said):
    "The second undo takes back the change before it."
    (answer,), _ = play(tmp_path, {"a.org": "* TODO One\n"}, said)
    assert "does not come back by a command" in answer and "Undo is a command" not in answer, answer


@pytest.mark.parametrize("said", ["Dach noch nicht fertig", "Dach ist nicht erledigt", "Dach fast fertig", "Dach vielleicht eine Woche später", "das Dach ist wohl erledigt"])
def test_a_german_no_or_a_doubt_before_the_verb_changes_nothing_and_offers_no_change(tmp_path, said):
    (answer,), files = play(tmp_path, {"a.org": "* TODO Dach\nSCHEDULED: <2026-11-26 Thu>\n"}, said)
    assert files["a.org"] == "* TODO Dach\nSCHEDULED: <2026-11-26 Thu>\n" and "mark it as done" not in answer and "move it" not in answer, answer


@pytest.mark.parametrize("said, offered", [("i think the roof is done", "“done the roof”"), ("roof maybe done", ""), ("the roof is probably done", "")])
def test_what_somebody_only_thinks_is_offered_in_words_that_a_yes_can_carry_out_or_not_at_all(tmp_path, said, offered):
    (answer,), files = play(tmp_path, {"a.org": "* TODO Roof\n"}, said)
    assert files["a.org"] == "* TODO Roof\n" and (offered in answer if offered else "Did you mean" not in answer), answer


@pytest.mark.parametrize("asked, answer, day", [("todo trip to rome in march 2027", "the 5th", "2027-03-05"), ("todo trip to rome next month", "the 5th", "2026-12-05"), ("todo trip to rome next week", "friday", "2026-11-27"), ("todo trip to rome this weekend", "sunday", "2026-11-22"),
                                                ("todo trip to rome in may", "12 may", "2027-05-12"), ("todo trip to rome im März", "am 5.", "2027-03-05")])
def test_the_day_of_a_time_that_was_vague_is_a_day_of_that_time(tmp_path, asked, answer, day):
    answers, files = play(tmp_path, {}, asked, answer)
    assert files["inbox.org"].startswith(f"* TODO trip to rome\nSCHEDULED: <{day} "), answers


def test_what_was_offered_first_and_then_asked_about_takes_its_day(tmp_path):
    answers, files = play(tmp_path, {}, "trip to rome in march 2027", "yes", "friday", "the 5th")
    assert answers[2] == answers[1] and files["inbox.org"] == "* TODO trip to rome\nSCHEDULED: <2027-03-05 Fri>\n", answers


@pytest.mark.parametrize("said", ["shift on saturday is cancelled", "the shift has been moved by the boss"])
def test_a_statement_that_begins_like_a_command_is_no_command_without_its_day(tmp_path, said):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO shift\nSCHEDULED: <2026-11-21 Sat>\n"}, said)
    assert "To which day?" not in answer, answer


@pytest.mark.parametrize("line, said", [
    ("mail answered", "“done mail”"), ("the mail is answered", "“done mail”"), ("answered the mail to Ben", "“done mail to Ben”"), ("answered Ben's mail", "“done Ben's mail”"), ("email from Ana arrived", "“todo” or “note”"), ("mail Ben", "I can't send anything"), ("send the letter signed", "I can't send anything"),
    ("shift on saturday is cancelled", "“shift” (a.org:3) is a line of text"), ("the shift is off on saturday", "“shift” (a.org:3) is a line of text")])
def test_what_is_told_about_mail_and_shifts_is_no_order(tmp_path, line, said):
    notes = {"a.org": "* TODO mail to Ben\n* Dates\n- <2026-11-21 Sat> shift\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert said in answer and files == notes, answer


@pytest.mark.parametrize("name", ["Einkaufsliste", "Shopping list [0/1]", "Packliste"])
def test_the_only_list_is_the_list_also_in_one_word(tmp_path, name):
    answers, files = play(tmp_path, {"a.org": f"* {name}\n- [ ] Milch\n* TODO write the list\n* Listen\n"}, "die Liste", "the list", "setz Brot auf die Liste", "ja", "was steht auf der Liste")
    assert "- [ ] Milch" in answers[0] and "- [ ] Milch" in answers[1] and answers[2].startswith("Did you mean “add Brot to the ") and "- [ ] Brot\n" in files["a.org"] and "Brot" in answers[4], answers


def test_of_several_lists_all_are_named(tmp_path):
    answers, _ = play(tmp_path, {"a.org": "* Einkaufsliste\n- [ ] Milch\n* Packing list\n- [ ] tent\n* Secret list :@private:\n- [ ] x\n"}, "die Liste", "add tea to the list", "the list")
    assert all("There are Einkaufsliste, Packing list." in answer for answer in answers[:2]) and "Nothing is on" in answers[2] and "Secret" not in str(answers), answers


SHIFTS = "* Shifts\n** Night shift <2026-11-24 Tue 22:00>\n** Early shift <2026-11-26 Thu 06:00-14:00>\n* TODO Ask Maike to swap the night shift\nSCHEDULED: <2026-11-20 Fri>\n"

@pytest.mark.parametrize("lines, was, now", [(("move the night shift to wednesday",), "<2026-11-24 Tue 22:00>", "<2026-11-25 Wed 22:00>"), (("night shift moved to wednesday", "yes"), "<2026-11-24 Tue 22:00>", "<2026-11-25 Wed 22:00>"),
                                             (("postpone ask maike to monday",), "<2026-11-20 Fri>", "<2026-11-23 Mon>")])
def test_an_appointment_of_just_that_title_is_moved_and_not_a_task_about_it(tmp_path, lines, was, now):
    answers, files = play(tmp_path, {"a.org": SHIFTS}, *lines)
    assert files == {"a.org": SHIFTS.replace(was, now)}, answers


def test_a_cancelled_shift_is_that_of_just_the_title(tmp_path):
    notes = {"a.org": "#+TODO: TODO | DONE CANCELLED\n" + SHIFTS}
    answers, files = play(tmp_path, notes, "cancel the night shift")
    assert "** CANCELLED Night shift" in files["a.org"] and "* TODO Ask Maike" in files["a.org"], answers
    answers, files = play(tmp_path / "b", notes, "done night shift")
    assert "* DONE Ask Maike" in files["a.org"] or files == notes, answers


@pytest.mark.parametrize("first, then, day", [("push chapter 2 to january 8", "no the 15th", "2027-01-15"), ("push chapter 2 to 24 november", "no, the 3rd", "2026-12-03"), ("push chapter 2 to february 8", "no, the 30th", "2026-11-30"), ("push chapter 2 to january 8", "no, 2 february", "2027-02-02")])
def test_another_day_is_one_of_the_month_that_was_just_named(tmp_path, first, then, day):
    answers, files = play(tmp_path, {"a.org": "* TODO Chapter 2\nDEADLINE: <2026-12-18 Fri>\n"}, first, then)
    assert f"DEADLINE: <{day} " in files["a.org"], answers


def test_another_day_of_a_new_task_is_one_of_its_month(tmp_path):
    answers, files = play(tmp_path, {}, "todo tea on 8 january", "no the 15th")
    assert "SCHEDULED: <2027-01-15 Fri>" in files["inbox.org"], answers


@pytest.mark.parametrize("said, text", [("note in Tom.md: prefers tea now", "prefers tea now"), ("add to Tom: call him now please", "call him now please"), ("note under Tom: it is done already", "it is done already")])
def test_what_is_to_be_written_keeps_its_last_word(tmp_path, said, text):
    answers, files = play(tmp_path, {"Tom.md": "# Tom\n"}, said)
    assert text in "".join(files.values()), (answers, files)


TABLE = "# Grades\n\n| Name  | Test |\n|-------|------|\n| Anna  |    2 |\n\n# Rest\n"

@pytest.mark.parametrize("said, after", [("add a row to the grades: Ben, 3", "| Ben   |    3 |\n"), ("add to grades: Ben, 3", "| Ben   |    3 |\n"), ("add a row to the grades table: Ben | 3", "| Ben   |    3 |\n"), ("add to grades: all corrected", "\nall corrected\n"), ("add a row to the grades: Ben 3", None)])
def test_a_row_is_a_row_and_a_text_below_a_table_is_none(tmp_path, said, after):
    (answer,), files = play(tmp_path, {"g.md": TABLE}, said)
    assert files == {"g.md": TABLE if after is None else TABLE.replace("|    2 |\n", f"|    2 |\n{after}")}, (answer, files)
    assert after or "the columns Name, Test" in answer


@pytest.mark.parametrize("line, said", [
    ("pills every day at 8 and 20", "“todo: pills every day at 8; todo: pills every day at 20”"), ("remind me to take my pills every day at 8:00 and 20:00", "“todo: take my pills every day at 8:00; todo: take my pills every day at 20:00”"), ("Berta's number is now 0151 444", "“todo” or “note”"),
    ("Early shift is now on friday", "“move Early shift to friday”"), ("wrote 500 words today", "“note: wrote 500 words today”"), ("early shift due when", "“Early shift” (a.org:3): Thursday 26 November"), ("what shifts do i have this week", "“Ask Maike to swap the night shift”"), ("what cites knuth", "“knuth” is not")])
def test_more_that_people_say(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"a.org": SHIFTS}, line)
    assert files == {"a.org": SHIFTS} and (said in answer or line.startswith("what cites") and "knuth" in answer), answer


@pytest.mark.parametrize("lines, title, day", [
    (("rdv chez le médecin vendredi à 9h", "oui"), "rdv chez le médecin", "2026-11-20 Fri 09:00"), (("todo acheter du pain demain", "yes"), "acheter du pain", "2026-11-20 Fri"), (("cita con Ana el viernes", "sí"), "cita con Ana", "2026-11-20 Fri"), (("dentist demain 9:00", "yes"), "dentist", "2026-11-20 Fri 09:00"),
    (("call ana domani", "yes"), "call ana", "2026-11-20 Fri"), (("Keller aufräumen am Wochenende", "Samstag"), "Keller aufräumen", "2026-11-21 Sat"), (("trip to rome next week", "friday"), "trip to rome", "2026-11-27 Fri")])
def test_a_day_in_another_language_and_a_vague_one_are_no_words_of_a_title(tmp_path, lines, title, day):
    answers, files = play(tmp_path, {}, *lines)
    assert "Did you mean" in answers[0] and files == {"inbox.org": f"* TODO {title}\nSCHEDULED: <{day}>\n"}, (answers, files)


@pytest.mark.parametrize("line", ["todo domani", "todo \"pain demain\"", "note: à demain", "todo read Domingo by Simon"])
def test_a_word_that_could_be_a_day_elsewhere_stays_a_word(tmp_path, line):
    answers, files = play(tmp_path, {}, line)
    assert len(files) == 1 and "Did you mean" not in answers[0], answers


def test_the_day_before_a_birthday_in_german(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* Geburtstage\n** Lena <1990-11-22 Thu +1y>\n* WAITING x\n"}, "erinnere mich am Tag vor Lenas Geburtstag an ein Geschenk", "Lena hat geantwortet", "worauf warte ich noch")
    assert files["inbox.org"] == "* TODO Geschenk\nSCHEDULED: <2026-11-21 Sat>\n" and "“done Lena hat”" not in answers[1] and "waits" in answers[2], answers


@pytest.mark.parametrize("name, text, changed", [("meter.md", "# Water\n\nread monthly\n\n# Power\n\n| day | kWh |\n|-----|-----|\n| 1.11. | 30 |\n", True), ("meter.org", "| day | kWh |\n| 1.11. | 30 |\nread by Ana\n* Water\n", False), ("meter.org", "* Water\n| day | m3 |\n* Power\n| day | kWh |\n", False)])
def test_a_row_for_a_file_goes_into_its_one_table_or_nowhere(tmp_path, name, text, changed):
    (answer,), files = play(tmp_path, {name: text}, "add a row to meter: 1.12., 40")
    assert files == {name: text + "| 1.12. | 40 |\n" if changed else text}, (answer, files)


def test_two_things_to_buy_and_to_do_on_two_days_are_two_tasks(tmp_path):
    answers, files = play(tmp_path, {}, "buy milk tomorrow and call Ana on friday at 5", "yes")
    assert files == {"inbox.org": "* TODO buy milk\nSCHEDULED: <2026-11-20 Fri>\n* TODO call Ana\nSCHEDULED: <2026-11-20 Fri 17:00>\n"}, answers


@pytest.mark.parametrize("line", ["add to today: tired", "note in today: tired", "log to today: tired"])
def test_today_is_its_page_where_there_are_pages_of_days(tmp_path, line):
    answers, files = play(tmp_path, {"daily/2026-11-19.md": "# Thursday\n\n- met Jo\n", "daily/2026-11-18.md": "# Wednesday\n"}, line)
    assert "tired" in files["daily/2026-11-19.md"] and len(files) == 2, (answers, files)


LUNCH = "* TODO lunch with Ana\nSCHEDULED: <2026-11-20 Fri 12:00-13:00>\n* TODO dentist\nSCHEDULED: <2026-11-23 Mon 09:30>\n* TODO milk\nSCHEDULED: <2026-11-20 Fri>\n"

@pytest.mark.parametrize("lines, hours", [
    (["show lunch with ana", "make it 2 hours"], "12:00-14:00"), (["show lunch with ana", "make it 2 hours", "make it an hour longer", "half an hour shorter", "no, make it 1.5 hours"], "12:00-13:30"),
    (["make lunch with ana 90 minutes"], "12:00-13:30"), (["extend lunch with ana by 30 minutes"], "12:00-13:30"), (["shorten lunch with ana by a quarter of an hour"], "12:00-12:45"),
    (["show lunch with ana", "it takes 45 minutes"], "12:00-12:45"), (["move lunch with ana to 12:30", "until 14:30"], "12:30-14:30"), (["show lunch with ana", "it ends at 2"], "12:00-14:00"), (["show lunch with ana", "make it till 3"], "12:00-15:00")])
def test_how_long_something_takes_changes_its_end_and_nothing_else(tmp_path, lines, hours):
    answers, files = play(tmp_path, {"a.org": LUNCH}, *lines)
    assert files["a.org"] == LUNCH.replace("12:00-13:00", hours), answers


@pytest.mark.parametrize("line, said", [("make dentist an hour longer", "begins at 09:30 and has no end yet. Say how long it takes, for example: make dentist 2 hours"), ("make milk 2 hours", "has no time of day, so it has no end. Name both, for example: move milk to 2026-11-20 16:00-17:00. If it is the effort: set effort of milk to 2:00"),
    ("make lunch with ana 14 hours", "on another day"), ("make lunch with ana 2 hours shorter", "would end at 11:00, and begins at 12:00"), ("make the world 2 hours longer", "task or a note"), ("half an hour longer", "didn't understand")])
def test_a_length_that_cannot_be_is_told_with_what_can(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"a.org": LUNCH}, line)
    assert said in answer and files["a.org"] == LUNCH, answer


@pytest.mark.parametrize("line, title, day", [("todo buy stars the day after christmas", "buy stars", "2026-12-26 Sat"), ("todo fish two days before christmas eve", "fish", "2026-12-22 Tue"), ("todo call Ana the friday before christmas", "call Ana", "2026-12-18 Fri"),
    ("remind me the day before christmas eve to wrap", "wrap", "2026-12-23 Wed"), ("todo sweep the day after 3.12.", "sweep", "2026-12-04 Fri"), ("todo Baum abholen am Tag nach Weihnachten", "Baum abholen", "2026-12-26 Sat")])
def test_a_day_beside_a_day(tmp_path, line, title, day):
    (answer,), files = play(tmp_path, {}, line)
    assert files["inbox.org"] == f"* TODO {title}\nSCHEDULED: <{day}>\n", answer


def test_two_hours_before_the_day_are_asked_about_and_pages_are_not(tmp_path):
    answers, files = play(tmp_path, {}, "todo lunch 12-13 friday", "yes", "todo read pages 12-13 friday")
    assert "Two hours stand before the day" in answers[0] and files["inbox.org"] == "* TODO lunch\nSCHEDULED: <2026-11-20 Fri 12:00-13:00>\n* TODO read pages 12-13\nSCHEDULED: <2026-11-20 Fri>\n", answers


BILLS = "* TODO Pay electricity bill\nDEADLINE: <2026-12-01 Tue>\n* TODO Gym\nSCHEDULED: <2026-11-20 Fri 18:00 +1w>\n* DONE Call Ana\n"

@pytest.mark.parametrize("lines, after", [
    (["pay electricity bill tomorrow at 9"], BILLS), (["pay electricity bill tomorrow at 9", "yes"], BILLS.replace("2026-12-01 Tue", "2026-11-20 Fri 09:00")), (["gym saturday 10-11"], BILLS),
    (["gym saturday 10-11", "yes"], f"{BILLS}* TODO gym\nSCHEDULED: <2026-11-21 Sat 10:00-11:00>\n"), (["todo pay electricity bill tomorrow at 9"], f"{BILLS}* TODO pay electricity bill\nSCHEDULED: <2026-11-20 Fri 09:00>\n"),
    (["call Ana tomorrow at 9"], f"{BILLS}* TODO call Ana\nSCHEDULED: <2026-11-20 Fri 09:00>\n")])
def test_an_open_task_of_that_title_is_moved_or_gets_a_second_one_as_the_person_says(tmp_path, lines, after):
    answers, files = play(tmp_path, {"inbox.org": BILLS}, *lines)
    assert files["inbox.org"] == after and (len(lines) == 2 or after != BILLS or "is open already" in answers[0]), answers


MONEY = "| client | amount | paid |\n|--|--|--|\n| Novak | 300 € | yes |\n| Perez | 450 € | no |\n| Lind | 120 € | |\n| Roth | 80 € | half |\n"

@pytest.mark.parametrize("line, said", [*[(line, "570 €, in 2 of 4 rows. Neither yes nor no, and not added: Roth | 80 € | half (line 6)") for line in ("how much is not paid", "how much is unpaid?", "how much isn't paid yet", "how much is still outstanding", "how much is left to pay", "wie viel ist noch nicht bezahlt", "wie viel ist noch offen")],
    ("how much is paid", "300 €, in 1 of 4 rows"), ("how much is signed", "No note mentions")])
def test_how_much_is_not_paid_is_the_sum_of_the_rows_that_say_no(tmp_path, line, said):
    (answer,), _ = play(tmp_path, {"money.md": MONEY}, line)
    assert said in answer, answer


def test_what_is_private_is_not_added(tmp_path):
    (answer,), _ = play(tmp_path, {"money.org": f"* Invoices :private:\n{MONEY}"}, "how much is not paid")
    assert "570" not in answer, answer


@pytest.mark.parametrize("line, offer, written", [("lunch friday 12-13", "todo: lunch on 2026-11-20 12:00", "- [ ] lunch 12:00 ⏳ 2026-11-20\n"), ("todo lunch friday 12-13", "todo: lunch on 2026-11-20 12:00", "- [ ] lunch 12:00 ⏳ 2026-11-20\n")])
def test_two_hours_in_markdown_are_offered_as_one_and_an_org_file_takes_both(tmp_path, line, offer, written):
    notes = {"inbox.md": "# Inbox\n- [ ] bread ⏳ 2026-11-23\n"}
    answers, files = play(tmp_path, notes, line)
    assert f"“{offer}”" in answers[0] and files == notes, answers
    answers, files = play(tmp_path / "yes", notes, line, "yes", "todo in appointments.org: lunch on 2026-11-20 12:00-13:00")
    assert files == {"inbox.md": notes["inbox.md"] + written, "appointments.org": "* TODO lunch\nSCHEDULED: <2026-11-20 Fri 12:00-13:00>\n"}, answers


def test_a_task_of_markdown_is_not_moved_to_two_hours(tmp_path):
    notes = {"inbox.md": "# Inbox\n- [ ] bread ⏳ 2026-11-23\n"}
    answers, files = play(tmp_path, notes, "move bread to friday 12-13", "yes")
    assert "Did you mean “move bread to 2026-11-20 12:00”?" in answers[0] and files["inbox.md"] == "# Inbox\n- [ ] bread 12:00 ⏳ 2026-11-20\n", answers


@pytest.mark.parametrize("line, written", [("add a task under bread: bake :ops: <2026-11-25>", "** TODO bake :ops:\nSCHEDULED: <2026-11-25 Wed>\n"), ("add a task under bread: bake rolls #ops friday", "** TODO bake rolls :ops:\nSCHEDULED: <2026-11-20 Fri>\n"), ("add a task under bread: bake buns :a:b:", "** TODO bake buns :a:b:\n")])
def test_tags_at_the_end_of_a_task_below_a_heading_are_tags(tmp_path, line, written):
    (answer,), files = play(tmp_path, {"a.org": "* Bread\n** Starter\n"}, line)
    assert files["a.org"] == f"* Bread\n** Starter\n{written}", answer


def test_to_cancel_what_repeats_offers_to_skip_one_turn(tmp_path):
    gym = "* TODO Gym\nSCHEDULED: <2026-11-20 Fri 18:00 +1w>\n"
    answers, files = play(tmp_path, {"a.org": gym}, "cancel gym", "yes")
    assert "pause Gym until 2027-01-01" in answers[0] and "archive Gym" in answers[0] and files["a.org"] == gym.replace("2026-11-20", "2026-11-27"), answers


@pytest.mark.parametrize("line, said", [("is it safe", "folder on this machine"), ("how do i get back what you changed", "“undo” in the chat"), ("did you delete anything", "I delete nothing"), ("where do you keep what i tell you", "go to the inbox"),
    ("actually forget it", "/undo takes back"), ("wich tasks are overdue", "Nothing is overdue"), ("make it an hour longer", "which one “it” is"), ("make it louder", "which one “it” is")])
def test_what_is_asked_of_the_program_itself(tmp_path, line, said):
    notes = {"a.org": "* TODO roof\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert said in answer and files == notes, answer


@pytest.mark.parametrize("offered, meant, day", [("prune the roses on 1 march", "no, i meant 2 march", "2027-03-02 Tue"), ("prune the roses tuesday next week", "no, wednesday", "2026-11-25 Wed"), ("prune the roses tomorrow", "sorry, i mean friday next week", "2026-11-27 Fri")])
def test_a_day_that_corrects_an_offer_takes_the_place_of_its_day(tmp_path, offered, meant, day):
    answers, files = play(tmp_path, {}, offered, meant)
    assert answers[0].startswith("I didn't understand that. Did you mean “todo ") and files["inbox.org"] == f"* TODO prune the roses\nSCHEDULED: <{day}>\n", answers


def test_two_hours_after_a_day_may_have_a_to_between_them(tmp_path):
    answers, files = play(tmp_path, {}, "garden saturday 10 to 12", "todo score 10 to 12", "buy a present by 28 nov")
    assert files["inbox.org"] == "* TODO garden\nSCHEDULED: <2026-11-21 Sat 10:00-12:00>\n* TODO score 10 to 12\n" and "On a list" not in answers[2], answers


def test_what_is_important_is_not_finished_by_its_first_word(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* TODO finish chapter 3 for Krüger\n* Shopping list\n- [ ] milk\n"}, "finish chapter 3 is urgent", "yes", "note for today: 1.800 words", "buy a gift by friday")
    assert "Did you mean “make finish chapter 3 priority A”?" in answers[0] and files["a.org"].startswith("* TODO [#A] finish chapter 3 for Krüger\n") and "list" not in answers[3], answers


@pytest.mark.parametrize("line, offered", [("todo abstract by sunday midnight", "todo: abstract by 2026-11-22 23:59"), ("todo abstract by midnight sunday", "todo: abstract by 2026-11-22 23:59"), ("todo abstract by midnight", "todo: abstract by 2026-11-19 23:59"), ("todo call at midnight on 31 december", "todo: call on 2026-12-31 23:59")])
def test_midnight_is_offered_as_the_end_of_its_day(tmp_path, line, offered):
    answers, files = play(tmp_path, {}, line)
    assert f"“{offered}”" in answers[0] and not files, answers
    answers, files = play(tmp_path / "yes", {}, line, "yes")
    assert "23:59>" in files["inbox.org"], answers


@pytest.mark.parametrize("line", ["how many words did i write today", "how many people came today"])
def test_how_much_there_was_of_something_is_in_no_agenda(tmp_path, line):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO roof\nSCHEDULED: <2026-11-19 Thu>\n"}, line)
    assert "didn't understand" in answer and "scheduled" not in answer, answer


@pytest.mark.parametrize("line, said", [("todo pay tax by friday, rent on monday", "“todo: pay tax by friday; todo: rent on monday”"), ("todo write the programme by 1 dec, 2 pages", "“todo: write the programme, 2 pages by 1 dec”"), ("todo call the dentist tomorrow, not on friday", "Two days are named"),
    ("write the programme by 1 dec", "“todo write the programme by 1 dec”"), ("no rehearsals until 10 january", "“pause rehearsals until 10 january”"), ("draft a letter", "language model")])
def test_a_day_among_other_words_is_offered_and_not_lost(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"a.org": "* TODO Rehearsal\nSCHEDULED: <2026-11-23 Mon 19:30 +1w>\n"}, line)
    assert said in answer and list(files) == ["a.org"], answer


def test_a_day_after_a_comma_is_still_that_of_the_task(tmp_path):
    answers, files = play(tmp_path, {}, "todo meet Ana on friday, 20 november", "todo lunch on friday, at 12", "todo call Ana, Bob and Cid", "todo buy milk, bread and honey tomorrow")
    assert files["inbox.org"] == ("* TODO meet Ana\nSCHEDULED: <2026-11-20 Fri>\n* TODO lunch\nSCHEDULED: <2026-11-20 Fri 12:00>\n* TODO call Ana, Bob and Cid\n"
                                  "* TODO buy milk, bread and honey\nSCHEDULED: <2026-11-20 Fri>\n"), answers


def test_how_long_something_takes_is_said_in_german(tmp_path):
    hours, seen = [], "* TODO Tierarzt\nSCHEDULED: <2026-12-03 Thu 14:30>\n"
    answers, files = play(tmp_path / "a", {"a.org": seen}, "zeig Tierarzt", "mach es 2 stunden lang")
    hours.append(files["a.org"])
    for n, line in enumerate(("mach es eine stunde länger", "mach es eine halbe stunde kürzer", "es dauert 45 minuten", "bis 16 uhr")):
        more, files = play(tmp_path / str(n), {"a.org": seen.replace("14:30", "14:30-15:30")}, "verschiebe Tierarzt auf 15 Uhr", line)
        hours.append(files["a.org"])
    assert [text.split(" ")[-1].split(">")[0] for text in hours] == ["14:30-16:30", "15:00-17:00", "15:00-15:30", "15:00-15:45", "15:00-16:00"], (answers, hours)


@pytest.mark.parametrize("line, said", [("was steht an", "Zahnarzt"), ("welches datum ist in 3 wochen", "Thursday 10 December 2026"), ("whats the date in 3 weeks", "Thursday 10 December 2026"), ("welcher tag ist der 24. dezember", "Thursday 24 December")])
def test_further_everyday_questions(tmp_path, line, said):
    (answer,), _ = play(tmp_path, {"a.org": GERMAN.replace("2026-11-26", "2026-11-19")}, line)
    assert said in answer, answer


def test_two_appointments_in_one_line_are_offered_as_two(tmp_path):
    for n, line in enumerate(("dentist tomorrow 9am, haircut friday 3pm", "dentist tomorrow 9am and haircut friday 3pm")):
        answers, files = play(tmp_path / str(n), {}, line)
        assert "“todo: dentist tomorrow 9am; todo: haircut friday 3pm”" in answers[0] and not files, answers
    answers, files = play(tmp_path / "b", {}, "lunch friday, 12:30", "meet Ana on friday, 20 november at 9")
    assert files["inbox.org"] == "* TODO lunch\nSCHEDULED: <2026-11-20 Fri 12:30>\n* TODO meet Ana\nSCHEDULED: <2026-11-20 Fri 09:00>\n", answers


def test_a_week_by_its_number_is_no_day(tmp_path):
    answers, files = play(tmp_path, {}, "todo tax return in week 2", "11 january", "todo Steuer in KW 2")
    assert answers[0].startswith("Which day do you mean by “in week 2”?") and files["inbox.org"] == "* TODO tax return\nSCHEDULED: <2027-01-11 Mon>\n" and "Which day" in answers[2], answers


def test_an_hour_earlier_and_a_day_later_are_said_of_what_was_just_put_down(tmp_path):
    answers, files = play(tmp_path, {}, "lunch with Ana friday 12-13", "half an hour earlier", "2 days later", "an hour longer", "todo pay 3 invoices by the 5th of january and send a reminder")
    assert files["inbox.org"] == "* TODO lunch with Ana\nSCHEDULED: <2026-11-22 Sun 11:30-13:30>\n" and "“todo: pay 3 invoices and send a reminder by the 5th of january”" in answers[4], answers


@pytest.mark.parametrize("line, said", [("kannst du das rückgängig machen", "/undo"), ("can you undo the last two", "/undo"), ("jeden ersten sonntag im monat stammtisch 10 uhr", "stammtisch on 6 December at 10"),
    ("remind me tomorrow at 9 to call Ana, friday pay rent", "call Ana; todo: pay rent friday"), ("remind me tomorrow to call Ana and pay the rent on friday", "call Ana; todo: pay the rent on friday"), ("todo call Ana tomorrow, friday pay rent", "todo: call Ana tomorrow; todo: pay rent friday"),
    ("add honey and jam and butter to groceries", "add honey to groceries; add jam to groceries; add butter to groceries")])
def test_what_was_understood_otherwise_is_asked_or_told(tmp_path, line, said):
    notes = {"lists.md": "# Groceries\n- [ ] salt\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert said in answer and files == notes, answer


@pytest.mark.parametrize("line, day", [("nein, bis 20. januar", "2027-01-20"), ("no, until 20 january", "2027-01-20"), ("no, by the 20th", "2027-01-20"), ("nein bis zum 3. märz", "2027-03-03")])
def test_a_deadline_is_corrected_with_its_own_word(tmp_path, line, day):
    answers, files = play(tmp_path, {}, "todo taxes by 10 january", line)
    assert f"DEADLINE: <{day}" in files["inbox.org"], answers


def test_who_meant_another_hears_what_to_do_and_an_open_question_is_answered(tmp_path):
    notes = {"a.org": "* TODO Foot doctor\n* TODO Football practice\n* TODO Foot cream\n"}
    for number, (said, then) in enumerate((("no not that one, football practice", "done football practice"), ("no, football practice", "done football practice"), ("nein, nicht das, football practice", "done football practice"))):
        answers, files = play(tmp_path / str(number), notes, "done foot doctor", said)
        assert answers[1].endswith(f"Then say: {then}") and "TODO Football practice" in files["a.org"], answers
    answers, files = play(tmp_path / "asked", notes, "done foot", "no not that one, foot cream")
    assert "DONE Foot cream" in files["a.org"] and files["a.org"].count("TODO") == 2, answers
    answers, files = play(tmp_path / "seen", notes, "show foot doctor", "not that one, football practice")
    assert "Football practice" in answers[1] and files == notes, answers
    answers, files = play(tmp_path / "other", notes, "done foot doctor", "no, chess")
    assert "First take" not in answers[1], answers


@pytest.mark.parametrize("line, said", [("late shift tue and wed 14-22", "todo: late shift on tuesday 14-22; todo: late shift on wednesday 14-22"), ("gym mon wed fri 18:00-19:30", "gym on friday 18:00-19:30"), ("todo gym mon wed fri 9-17:30", "gym on friday 9-17:30"),
    ("late shift tue, wed and thu 2 pm until 10 pm", "days are named"), ("meeting friday 22:00-21:00", "“friday at 22:00”"), ("board meeting first tuesday of every month 19:30", "todo: board meeting on 1 December 19:30"), ("remind me every october to service the boiler", "every 1 October"),
    ("insurance 340 € paid on 12 november", "“note: insurance"), ("Okoye paid rent today", "“note: Okoye"), ("hi, i'm new here", "what is due this week?"), ("print all tasks", "Stretch"), ("move stretch to agenda.org", "already")])
def test_shifts_payments_and_first_words_change_nothing_unasked(tmp_path, line, said):
    notes = {"agenda.org": "* TODO Stretch\n* TODO Other\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert said in answer and files == notes, answer


@pytest.mark.parametrize("line, stands", [("todo pay tax by the friday", "pay tax\nDEADLINE: <2026-11-20 Fri>"), ("todo order fish for the friday", "order fish\nSCHEDULED: <2026-11-20 Fri>"), ("todo call Ana the friday before christmas", "call Ana\nSCHEDULED: <2026-12-18 Fri>"),
    ("do not forget the butter", "the butter"), ("actually i need a reminder to call Paul on monday", "call Paul\nSCHEDULED: <2026-11-23 Mon>")])
def test_words_around_a_day_do_not_stay_in_the_title(tmp_path, line, stands):
    (answer,), files = play(tmp_path, {}, line)
    assert files == {"inbox.org": f"* TODO {stands}\n"}, answer


@pytest.mark.parametrize("line, said", [("how many tasks have no date", "1 task."), ("how many tasks have no deadline", "2 sections, each of which is open and has no deadline"), ("which tasks have a deadline", "1 section is open and has a deadline"), ("tasks without deadline", "has no deadline")])
def test_how_many_have_a_date_is_counted(tmp_path, line, said):
    (answer,), _ = play(tmp_path, {"a.org": "* TODO Tea\n* TODO Rent\nDEADLINE: <2026-12-01 Tue>\n* TODO Choir\nSCHEDULED: <2026-12-02 Wed>\n* DONE Cake\n"}, line)
    assert answer.startswith(said) or said in answer.split("\n")[0], answer


@pytest.mark.parametrize("line, said", [("todo bins out monday, plants tuesday, rent wednesday", "todo: bins out monday; todo: plants tuesday; todo: rent wednesday"), ("on monday bins, on tuesday plants", "todo: bins on monday; todo: plants on tuesday"),
    ("monday bins, tuesday plants and wednesday rent", "todo: bins monday; todo: plants tuesday; todo: rent wednesday"), ("tomorrow at 9 dentist, friday choir at 20:00", "todo: dentist tomorrow at 9; todo: choir at 20:00 friday"), ("todo call mum tomorrow and dad on friday", "todo call mum tomorrow; todo call dad on friday")])
def test_each_day_of_a_line_has_its_task(tmp_path, line, said):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line, "yes")
    assert said in answers[0] and files["inbox.org"].count("* TODO ") == said.count("todo"), answers


@pytest.mark.parametrize("line", ["remind me on monday at 8 about the bins and at 9 about the dentist", "remind me to empty the bins on monday at 8 and at 9 to call the dentist", "remind me to empty the bins at 8 on monday and at 9 to call the dentist"])
def test_an_hour_alone_is_one_of_the_day_before_it(tmp_path, line):
    (answer,), files = play(tmp_path, {}, line)
    assert [day for day in ("<2026-11-23 Mon 08:00>", "<2026-11-23 Mon 09:00>") if day in files["inbox.org"]] and files["inbox.org"].count("2026-11-23 Mon 0") == 2, answer


def test_a_correction_of_the_place_moves_and_no_task_is_called_no(tmp_path):
    answers, files = play(tmp_path, {"a.org": "* A\n", "b.org": "* B\n"}, "note in a.org: quinces", "no, in b.org", "make it a task")
    assert files == {"a.org": "* A\n", "b.org": "* B\n* TODO quinces\n"}, answers
    answers, files = play(tmp_path / "other", {"a.org": "* A\n"}, "no, in b.org", "make it a task", "no, never", "todo")
    assert files == {"a.org": "* A\n"}, answers


@pytest.mark.parametrize("line, said", [("what is in my daily note", "slept well"), ("add to yesterday's note: late", "note in Daily/2026-11-18.md: late"), ("todo buy milk in tomorrow's note", "todo in Daily/2026-11-20.md: buy milk"), ("due:<=fri", "Stretch")])
def test_the_pages_of_days_are_known_by_their_day(tmp_path, line, said):
    notes = {"Daily/2026-11-18.md": "- rained\n", "Daily/2026-11-19.md": "- slept well\n- [ ] Stretch 📅 2026-11-20\n"}
    (answer,), files = play(tmp_path, notes, line)
    assert said in answer and files == notes, answer


@pytest.mark.parametrize("line, said", [("morgen zahnarzt um 9, freitag chor um 20 uhr", "todo: zahnarzt tomorrow at 9; todo: chor friday at 20 uhr"), ("am freitag zahnarzt und am samstag friseur", "todo: zahnarzt on friday; todo: friseur on saturday"), ("montag müll, dienstag blumen", "todo: müll monday; todo: blumen tuesday"),
    ("todo zahnarzt am freitag und friseur am samstag", "todo: zahnarzt on friday; todo: friseur on saturday"), ("erinnere mich morgen um 9 an ana und freitag um 10 an die bank", "remind me tomorrow at 9 about ana; todo: bank friday at 10"),
    ("erinnere mich am montag um 8 an den müll und um 9 an den zahnarzt", "remind me on monday at 8 about müll; todo: zahnarzt 2026-11-23 at 9")])
def test_each_day_of_a_german_line_has_its_task(tmp_path, line, said):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line, "yes")
    assert said in answers[0] and files["inbox.org"].count("* TODO ") == 2, answers


@pytest.mark.parametrize("line, said", [("erinnere mich jeden letzten freitag im monat um 9 an die abrechnung", "todo: abrechnung on 27 November at 9"), ("welche aufgaben haben kein datum", "TODO x"), ("wie viele aufgaben haben kein datum", "1 task."), ("was hat sich seit montag geändert", "changed")])
def test_what_is_asked_and_offered_in_german(tmp_path, line, said):
    (answer,), files = play(tmp_path, {"a.org": "* TODO x\n"}, line)
    assert said in answer and files == {"a.org": "* TODO x\n"}, answer


@pytest.mark.parametrize("line, said", [("todo call Opitz on the 3rd and the 10th", "todo: call Opitz on the 3rd; todo: call Opitz on the 10th"), ("call Opitz on 3 december and 10 december", "todo: call Opitz on 3 december; todo: call Opitz on 10 december"),
    ("todo meet Tom at 9 at the station on friday", "todo: meet Tom at the station on 2026-11-20 at 9")])
def test_a_second_date_and_an_hour_in_the_middle_are_not_lost(tmp_path, line, said):
    answers, files = play(tmp_path, {"a.org": "* x\n"}, line, "yes")
    assert said in answers[0] and files["inbox.org"].count("SCHEDULED: ") == said.count("todo"), answers


@pytest.mark.parametrize("page, then", [("# Bob\n\n- phone 1\n", "# Bob\n\n- phone 1\n- [ ] one\n"), ("---\ntags: [x]\n---\n# Cleo\ntext\n", "---\ntags: [x]\n---\n# Cleo\ntext\n- [ ] one\n"), ("# Ana\n\n- [ ] photos\n\n## Meetings\n", "# Ana\n\n- [ ] photos\n- [ ] one\n\n## Meetings\n"),
    ("text\n\n# A\n# B\n", "text\n- [ ] one\n\n# A\n# B\n"), ("\ufeff# Ana\r\nx\r\n", "\ufeff# Ana\r\nx\r\n- [ ] one\r\n")])
def test_a_task_that_moves_into_a_page_stands_below_its_title(tmp_path, page, then):
    (answer,), _ = play(tmp_path, {"page.md": page.encode(), "list.md": "- [ ] one\n"}, "move one to page.md")
    assert (tmp_path / "memex/page.md").read_bytes() == then.encode() and not (tmp_path / "memex/list.md").read_bytes(), answer
