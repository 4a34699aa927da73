"""Sentences as people type them to other programs: what they must mean, what they must never mean, and that nothing of them is lost."""
import asyncio
from dataclasses import replace
from datetime import date, datetime

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.notes import parse_note
from passepartout.org import parse_org
from passepartout.reflex.lookups import Surroundings
from passepartout.reflex.german import in_english
from passepartout.reflex.grammar import exact_form, understand
from passepartout.providers.reflex import explain_failure
from test_reflex_turns import agent_on, files_of

TODAY = date(2026, 11, 19)                   # a Thursday
HOUSE = """#+TODO: TODO WAITING | DONE CANCELLED
* TODO Dentist, the crown
SCHEDULED: <2026-11-26 Thu 08:15>
* TODO Feed the starter
SCHEDULED: <2026-11-19 Thu ++1w>
* TODO Water the plants
* TODO Bins out
SCHEDULED: <2026-11-19 Thu +2w>
* Advent concert <2026-11-28 Sat 15:00>
* Roof
The offers of the roof lie on the piano.
* TODO write the list for Christmas
* Salary :@personal:
"""
AROUND = Surroundings(lambda: [parse_org(HOUSE, "house.org")])


def payload(text, around=AROUND): return understand(text, TODAY, around)["payload"]

def args(text):
    found = payload(text)
    assert found["action"] == "CALL", found
    return found["args"]

def said(text):
    found = payload(text)
    assert found["action"] == "MESSAGE", found
    return found["text"]


@pytest.mark.parametrize("text, title, dates", [
    ("remind me to renew the passport 3 weeks before dec 11", "renew the passport", {"scheduled": "2026-11-20"}), ("coffee with Ana tomorrow from 3 to 4", "coffee with Ana", {"scheduled": "2026-11-20 15:00", "until": "16:00"}),
    ("call Ana tomorrow at 3:30", "call Ana", {"scheduled": "2026-11-20 15:30"}), ("feed the cat tomorrow at 03:00", "feed the cat", {"scheduled": "2026-11-20 03:00"}), ("feed the cat tomorrow at 3 in the morning", "feed the cat", {"scheduled": "2026-11-20 03:00"}),
    ("feed the cat tomorrow at 3am", "feed the cat", {"scheduled": "2026-11-20 03:00"}), ("call Ana tomorrow at seven", "call Ana", {"scheduled": "2026-11-20 07:00"}), ("tea with Ana tomorrow at five pm", "tea with Ana", {"scheduled": "2026-11-20 17:00"}), ("todo look at two", "look at two", {}), ("work tomorrow from 9 to 5", "work", {"scheduled": "2026-11-20 09:00", "until": "17:00"}), ("walk tomorrow at 6", "walk", {"scheduled": "2026-11-20 06:00"}),
    ("appointment: vet 30.11. 16:30", "vet", {"scheduled": "2026-11-30 16:30"}), ("create a note called ideas", "ideas", {}), ("Termin: Friseur 3.12. 14:30", "Friseur", {"scheduled": "2026-12-03 14:30"}),
    ("we must book the hotel by dec 1", "book the hotel", {"deadline": "2026-12-01"}), ("add a note to call Ana", "to call Ana", {}), ("todo haircut on wednesday in a week", "haircut", {"scheduled": "2026-12-02"}), ("todo dentist today in two weeks", "dentist", {"scheduled": "2026-12-03"}), ("heute in 8 Tagen um 9 Zahnarzt", "Zahnarzt", {"scheduled": "2026-11-26 09:00"}),
    ("every tuesday at 7pm gym", "gym", {"scheduled": "2026-11-24 19:00", "repeat": "+1w"}), ("tomorrow at 9 dentist", "dentist", {"scheduled": "2026-11-20 09:00"}), ("monday 9-10:30 meeting with Opitz", "meeting with Opitz", {"scheduled": "2026-11-23 09:00", "until": "10:30"}),
    ("erinnere mich morgen um 9 an den Müll", "Müll", {"scheduled": "2026-11-20 09:00"}), ("erinner mich jeden Montag an die Tonne", "Tonne", {"scheduled": "2026-11-23", "repeat": "+1w"}), ("Aufgabe: Steuer bis Ende des Monats", "Steuer", {"deadline": "2026-11-30"}),
    ("erinnere mich übermorgen um halb neun an den Bus", "Bus", {"scheduled": "2026-11-21 08:30"}), ("morgen halb eins Essen", "Essen", {"scheduled": "2026-11-20 12:30"}), ("erinnere mich daran am Montag Brot zu kaufen", "Brot zu kaufen", {"scheduled": "2026-11-23"}), ("Dienstag 14 Uhr Friseur", "Friseur", {"scheduled": "2026-11-24 14:00"}), ("morgen um 9 Zahnarzt", "Zahnarzt", {"scheduled": "2026-11-20 09:00"}), ("Notiz: der Schlüssel liegt da", "der Schlüssel liegt da", {})])
def test_what_is_written_down(text, title, dates):
    found = args(text)
    assert found["title"] == title and {name: found[name] for name in ("scheduled", "deadline", "until", "repeat") if name in found} == dates


@pytest.mark.parametrize("text, expected", thinned([
    ("is the dentist on thursday?", "No, not on Thursday 19 November 2026. “Dentist, the crown” (house.org:2): planned for Thursday 26 November 2026 08:15"), ("is the dentist next week?", "Yes. “Dentist"),
    ("are the bins on december 3?", "Yes. “Bins out”"), ("are the bins on december 4?", "No, not on Friday 4 December 2026."), ("is the dentist in december?", "No, not in December 2026."), ("is the dentist in week 50?", "No, not from 7 to 13 December."), ("when is the dentist?", "Thursday 26 November 2026 08:15"), ("what time is the concert?", "Saturday 28 November 2026 15:00"),
    ("wann ist der Dentist?", "Thursday 26 November 2026 08:15"), ("ist der Dentist am Donnerstag?", "No, not on Thursday 19"), ("how long until christmas?", "in 36 days"), ("what's the date in 3 weeks", "Thursday 10 December 2026"),
    ("set a timer for 10 minutes", "can't ring"), ("delete the task bins", "“archive bins”"), ("journal: slept badly", "“note in journal.org: slept badly”"), ("dentist moved to thursday 3 dec 8:15", "“move dentist to thursday 3 dec 8:15”"),
    ("done the starter and the plants", "“done the starter, done the plants”"), ("remind me on weekdays at 7 to rest", "not on working days"), ('rename "Roof" to "Roofs" in house', "can't place"), ("add a todo under garden: buy mulch", "garden.org: buy mulch"),
    ("every monday and thursday gym", "“todo: gym every monday; todo: gym every thursday”"), ("every monday and thursday at 19:00, gym", "“todo: gym every monday at 19:00; todo: gym every thursday at 19:00”"), ("jeden Montag und Donnerstag Sport", "“todo: Sport every monday; todo: Sport every thursday”"), ("jeden Montag und Donnerstag um 19 Uhr Sport", "“todo: Sport every monday at 19; todo: Sport every thursday at 19”"),
    ("todo call Ana tomorrow and Samir on friday", "“todo call Ana tomorrow; todo call Samir on friday”"), ("remind me to call Ana tomorrow and Samir on friday", "“remind me to call Ana tomorrow; remind me to call Samir on friday”"), ("copy the roof", "I copy nothing"), ("resume the dentist", "so there is no pause to end"), ("resume feed the starter", "comes on Thursday 19 November 2026"),
    ("every tuesday gym", "“todo gym every tuesday”"), ("add a heading to roof", "What shall it say?"), ("add a note to the roof", "What shall it say? For example: add to the roof: Pohl called"), ("add an item to the shopping list", "add milk to the shopping list"), ("add a heading Tiles to roof", "“add a task under roof: Tiles”"), ("create a section called “Tiles” under the roof", "“add a task under the roof: Tiles”"), ("fed the starter", "“done starter”"), ("took out the bins", "“done bins”"), ("book flights by jan 15 high priority", "“todo book flights by jan 15 high priority”"), ("cancel all appointments tomorrow", "one heading at a time"), ("the choir is on monday", "“todo choir on monday”"), ("create a shopping list with milk, eggs and bread", "“todo milk in shopping.md; todo eggs in shopping.md; todo bread in shopping.md”"), ("how do I make a list?", "begins with its first item"), ("make a list of things to do", "begins with"), ("next tuesday gym", "“todo gym next tuesday”"), ("I really should clean the windows", "“todo clean the windows”"), ("water the cactus every week for 3 times", "“todo: water the cactus on 2026-11-19; todo: water the cactus on 2026-11-26; todo: water the cactus on 2026-12-03”"), ("todo pills daily at 8 for two days", "“todo: pills on 2026-11-19 at 08:00; todo: pills on 2026-11-20 at 08:00”"), ("remind me every day for 30 days to stretch", "“todo: stretch every day; todo: stretch for the last time on 2026-12-18”"),
    ("todo call Mama every sunday until 1 december", "“todo: call Mama on 2026-11-22; todo: call Mama on 2026-11-29”"), ("todo in a.org: pills daily for 2 days", "“todo in a.org: pills on 2026-11-19; todo in a.org: pills on 2026-11-20”"), ("friday at 9 works for me", "didn't understand that: I know"), ("how do I undo?", "/undo"), ("add call the plumber to projects/roof.org", "“todo call the plumber in projects/roof.org”"), ("put cat food on my list", "“todo cat food”"), ("jeden Montag um 9", "didn't understand"), ("wie viele Tage noch bis Weihnachten", "in 36 days"), ("erinnere mich in 2 Stunden an den Kuchen", "When is that"), ("what time is it", "not the time"), ("am Freitag Ana anrufen", "“todo Ana anrufen on friday”")], 4))
def test_what_is_answered(text, expected):
    assert expected in said(text) and exact_form(text, TODAY, AROUND) is None


@pytest.mark.parametrize("text, query", [("due:<friday", "due:<friday"), ("todo:open tag:house", "todo:open tag:house"), ("#garden", "tag:garden"), ("+garden #roof", "tag:garden tag:roof"), ("what are the roof offers", "roof offers"), ("how do I make the roof offers", "roof offers"), ("what did I finish in december", "closed:2025-12-01..2025-12-31 -todo:given-up"), ("completed tasks this month", "closed:2026-11-01..2026-11-30 -todo:given-up")])
def test_what_is_looked_for(text, query): assert payload(text)["tool"] == "org-find" and args(text)["query"] == query


@pytest.mark.parametrize("text, start, end", [("was ist diese Woche fällig?", "2026-11-16", "2026-11-22"), ("freitag", "2026-11-20", "2026-11-20"), ("am Dienstag", "2026-11-24", "2026-11-24"), ("morgen um 9", "2026-11-20", "2026-11-20"),
    ("Was steht heute an?", "2026-11-19", "2026-11-19"), ("nächste Woche", "2026-11-23", "2026-11-29"), ("übermorgen", "2026-11-21", "2026-11-21"), ("plans for the weekend?", "2026-11-21", "2026-11-22")])
def test_days_that_are_asked_for(text, start, end): assert {name: value for name, value in args(text).items() if name != "question"} == {"start": start, "end": end}


@pytest.mark.parametrize("text, start, end", [("anything tomorrow morning?", "2026-11-20 05:00", "2026-11-20 12:00"), ("tomorrow afternoon", "2026-11-20 12:00", "2026-11-20 18:00"), ("what's on tonight?", "2026-11-19 17:00", "2026-11-19"), ("what is on friday in the evening", "2026-11-20 17:00", "2026-11-20"),
    ("was steht morgen früh an", "2026-11-20 05:00", "2026-11-20 12:00"), ("Freitagabend", "2026-11-20 17:00", "2026-11-20"), ("what do I have to do this morning", "2026-11-19 05:00", "2026-11-19 12:00"), ("anything next week in the morning", "2026-11-23", "2026-11-29")])
def test_a_part_of_a_day_is_asked_for(text, start, end): assert {name: value for name, value in args(text).items() if name != "question"} == {"start": start, "end": end}


@pytest.mark.parametrize("text", ["when is my next appointment", "what's next?", "whats up next", "when's my next meeting", "next appointment please", "wann ist mein nächster Termin?", "was kommt als nächstes"])
def test_what_comes_next_is_one_thing_and_no_list_of_two_weeks(text): assert args(text) == {"view": "next"}


@pytest.mark.parametrize("text, steps", [("remind me at 9 to call the bank and at 10 to fetch the parcel", 2), ("done feed the starter, done water the plants", 2), ("remind me to buy milk tomorrow and to call Ana on friday", 2), ("remind me at 5 about dinner and at 9 about the bins", 2), ("done feed the starter, move the dentist to 4pm", 2), ("todo: a; todo: b; note: c", 3)])
def test_several_in_one_sentence(text, steps):
    found = payload(text)
    assert found["action"] == "PLAN" and len(found["steps"]) == steps + 1


@pytest.mark.parametrize("text", ["todo: see a; b", "todo pick up A and at B", "remind me to go to the shop and to the bank on friday", "note: at 9 call and at 10 fetch", 'todo "a; todo: b"'])
def test_what_stays_one(text): assert payload(text)["tool"] == "org-capture"


CONVERSATIONS = [      # what is said, and what stands in the inbox afterwards
    (("had a great run today", "note"), "* had a great run today"), (("water the fig every 3 days", "yes"), "* TODO water the fig"), (("buy milk, eggs", "todo"), "* TODO buy milk, eggs"), (("add bread to my list", "note"), "* bread"), (("https://example.org/a read later", "keep it"), "* https://example.org/a read later"),
    (("am Freitag Ana anrufen", "ja"), "* TODO Ana anrufen"), (("one\ntwo", "note"), "* one\ntwo")]
UNMOVED = [("yes",), ("note",), ("had a great run", "what is due today", "note"), ("water the fig every 3 days", "no"), ("what is the capital of Portugal?", "yes"), ("hello", "todo")]

@pytest.mark.slow
def test_an_offer_is_taken_up_and_taken_back(tmp_path):
    async def run():
        async with agent_on(tmp_path, {"house.org": HOUSE, "inbox.org": "#+TITLE: Inbox\n"}) as (agent, memex):
            before = files_of(memex)
            for number, (lines, written) in enumerate(CONVERSATIONS):
                for line in lines: reply = await agent.handle(line, session=str(number))
                assert f"{written}\n" in files_of(memex)["inbox.org"], (lines, str(reply))
                await agent.undo()
                assert files_of(memex) == before, lines
            for number, lines in enumerate(UNMOVED, 100):
                for line in lines: assert not (await agent.handle(line, session=str(number))).effects, lines
            assert files_of(memex) == before
    asyncio.run(run())


@pytest.mark.parametrize("first", [("bins are out", "yes"), ("erledigt: Bins",)])
def test_a_number_answers_the_question_after_a_yes_and_a_german_sentence(tmp_path, first):
    async def run():
        async with agent_on(tmp_path, {"house.org": HOUSE + "* TODO Bins out, yellow\n"}) as (agent, memex):
            for line in first: asked = await agent.handle(line)
            assert "fits several" in asked and not asked.effects
            reply = await agent.handle("2")
            assert len(reply.effects) == 1 and "DONE" in reply, reply
    asyncio.run(run())


def test_only_what_the_engine_would_offer_again_is_taken_up():
    asked, again = "water the plants every 3 days", understand("water the plants every 3 days", TODAY, AROUND)["payload"]["text"]
    told = lambda answered: Surroundings(AROUND.outlines, ((asked, answered),))
    assert payload("yes", told(again))["tool"] == "org-capture"
    for answered in (again + " ", "Did you mean “archive roof”? Say “yes”, and I'll do it.", "Did you mean “$ rm -rf .”? Say “yes”, and I'll do it."): assert payload("yes", told(answered))["action"] == "MESSAGE"
    assert exact_form("yes", TODAY, told(again)) is None


def test_a_private_title_is_not_said():
    private = Surroundings(lambda: [parse_org("* TODO Salary talk :@personal:\nSCHEDULED: <2026-11-26 Thu>\n", "m.org")])
    for text in ("when is the salary talk", "is the salary talk on thursday?", "how long until the salary talk"):
        assert "Salary" not in payload(text, private).get("text", "")


@pytest.mark.slow
@given(st.lists(st.sampled_from("was ist am der die das um 9 14 Uhr freitag morgen nächste Woche erinnere mich an daran Aufgabe: Notiz: verschiebe auf bis in zwei jeden ersten des Monats Termin erledigt wann , . ? dentist Müll jede vor".split()), max_size=9).map(" ".join))
@settings(max_examples=examples(300))
def test_german_words_in_any_order_have_an_answer(text):
    assert all(said.strip() for said in in_english(text, TODAY))
    assert understand(text, TODAY, AROUND)["type"] == "REQUEST"


def test_a_reason_that_advises_gets_no_second_advice():
    assert explain_failure({"tool": "org-capture", "message": "inbox.org does not fit on the disk. Free some space, then ask again."}).endswith("then ask again.")
    for tool in ("org-agenda", "read-file", "org-find", ""):
        told = explain_failure({"tool": tool, "message": "the system refused (too many open files)."})
        assert told.endswith("It is not about your words: ask again once that is mended, and let passepartout doctor look.") and told.count(".") == 2, told
    assert "find …" in explain_failure({"tool": "read-file", "message": "There is no file roof.org"}) and "type help" in explain_failure({})


NOON = replace(AROUND, now=lambda: datetime(2026, 11, 19, 12, 0, 10))

@pytest.mark.parametrize("text, title, at", [
    ("remind me in 2 hours to call Ana", "call Ana", "2026-11-19 14:00"), ("call Ana in half an hour", "call Ana", "2026-11-19 12:30"), ("in an hour and a half: check the oven!", "check the oven", "2026-11-19 13:30"),
    ("erinnere mich in zwei Stunden an den Anruf", "Anruf", "2026-11-19 14:00"), ("in 20 min Brot raus", "Brot raus", "2026-11-19 12:20"), ("todo stretch, an hour from now", "stretch", "2026-11-19 13:00"), ("can you remind me in 13 hours to sleep please", "sleep", "2026-11-20 01:00")])
def test_what_counts_from_now_gets_the_time_of_the_clock(text, title, at):
    found = payload(text, NOON)
    assert found["action"] == "CALL" and (found["args"]["title"], found["args"]["scheduled"]) == (title, at) and found["explanation"].startswith("Read as “")
    without = payload(text)                    # nobody has a clock there
    assert without["action"] == "MESSAGE" or "scheduled" not in without["args"]


@pytest.mark.parametrize("text", ["note: the ferry leaves in 2 hours", "I'll be back in 2 hours", "wake me in 2 hours", "what is due in 2 hours?", "remind me in 2 hours", "call Ana in 2 hours or in 3 hours", "postpone dentist in 2 hours", "find bread in 2 hours", "in 2 hours"])
def test_what_is_no_task_from_now_is_none(text):
    assert payload(text, NOON) == payload(text)


@pytest.mark.parametrize("text", ["remind me tomorrow at 9", "remind me friday", "set a reminder for tomorrow 9:30", "remind me on 2026-11-25 at 09:00"])
def test_a_reminder_of_nothing_asks_of_what(text):
    assert said(text).startswith("Remind you of what?")


@pytest.mark.parametrize("text, offered", [("remind me at 9 to call Tom", "todo: call Tom tomorrow at 09:00"), ("remind me today at 9 to call Tom", "todo: call Tom tomorrow at 09:00"), ("erinnere mich heute um 9 an Tom", "todo: Tom tomorrow at 09:00")])
def test_an_hour_that_is_over_is_offered_for_tomorrow(text, offered):
    told = payload(text, NOON)["text"]
    assert told.startswith("Today 09:00 has passed. ") and f"“{offered}”" in told
    assert payload("yes", replace(NOON, earlier=((text, told),)))["args"]["scheduled"] == "2026-11-20 09:00"


def test_what_repeats_begins_with_its_next_time_and_a_record_is_kept():
    assert payload("remind me every day at 9 to rest", NOON)["args"]["scheduled"] == "2026-11-20 09:00" and payload("todo rest every thursday at 9", NOON)["args"]["scheduled"] == "2026-11-26 09:00"
    steps = payload("todo: rest every thursday at 9; todo: rest every friday at 9", NOON)["steps"]
    assert [step["args"]["scheduled"] for step in steps[:2]] == ["2026-11-26 09:00", "2026-11-20 09:00"]
    assert payload("dentist today 9:30", NOON)["args"]["scheduled"] == "2026-11-19 09:30" and payload("remind me at 12:30 to eat", NOON)["args"]["scheduled"] == "2026-11-19 12:30"


def test_the_clock_is_told_where_there_is_one():
    assert payload("what time is it?", NOON)["text"] == "It is 12:00 on Thursday 19 November 2026." and "not the time" in said("what time is it?")


@pytest.mark.parametrize("text, offered", [("dinner with Bob at 19:00", "todo dinner with Bob at 19:00 today"), ("lunch at noon", "todo lunch at noon today"), ("meet Ana at the station at 9:15", "todo meet Ana at the station at 9:15 today")])
def test_a_time_without_a_day_is_offered_for_today(text, offered):
    assert f"Did you mean “{offered}”?" in said(text)


@pytest.mark.parametrize("text, title, dates", [
    ("todo: send the invoice before 5pm tomorrow", "send the invoice", {"deadline": "2026-11-20 17:00"}), ("todo: send it by 5 tomorrow", "send it", {"deadline": "2026-11-20 17:00"}), ("todo: send it until 5 pm on friday", "send it", {"deadline": "2026-11-20 17:00"}),
    ("todo: send it before friday at noon", "send it", {"deadline": "2026-11-20 12:00"}), ("todo: send it before friday", "send it", {"deadline": "2026-11-19"}), ("todo: visa 2pm tomorrow", "visa", {"scheduled": "2026-11-20 14:00"}), ("todo: visa tomorrow 14h", "visa", {"scheduled": "2026-11-20 14:00"}),
    ("todo: run tomorrow 2h", "run tomorrow 2h", {}), ("todo: read pages 9-12 tomorrow", "read pages 9-12", {"scheduled": "2026-11-20"}), ("todo: pay rent at the end of the month", "pay rent", {"scheduled": "2026-11-30"}), ("todo: pay rent end of month", "pay rent", {"scheduled": "2026-11-30"}),
    ("todo: plan the end of the year", "plan the end of the year", {}), ("todo: pay before the end of the month", "pay", {"deadline": "2026-11-30"}), ("todo: pay rent at the beginning of next month", "pay rent", {"scheduled": "2026-12-01"}), ("todo: return the parcel within 14 days", "return the parcel", {"deadline": "2026-12-03"}),
    ("todo: backup once a week", "backup", {"scheduled": "2026-11-19", "repeat": "+1w"}), ("todo: water it every 2 days starting tomorrow", "water it", {"scheduled": "2026-11-20", "repeat": "+2d"}), ("todo: gym every monday at 9 starting 1 december", "gym", {"scheduled": "2026-12-07 09:00", "repeat": "+1w"})])
def test_days_and_hours_in_everyday_order(text, title, dates): test_what_is_written_down(text, title, dates)


@pytest.mark.parametrize("text, title, dates", [
    ("remind me at the end of the month to send the report", "send the report", {"scheduled": "2026-11-30"}), ("remind me on the first monday of next month to call the dentist", "call the dentist", {"scheduled": "2026-12-07"}), ("remind me before 5pm tomorrow to send the invoice", "send the invoice", {"deadline": "2026-11-20 17:00"}),
    ("remind me that the concert is on friday at 8pm", "the concert", {"scheduled": "2026-11-20 20:00"}), ("remind me to ask what the price is tomorrow", "ask what the price is", {"scheduled": "2026-11-20"}), ("add milk to my todos", "milk", {}), ('add "a, b" to my todo list for saturday', "a, b", {"scheduled": "2026-11-21"}),
    ("add a task to buy milk on saturday", "buy milk", {"scheduled": "2026-11-21"}), ("put lunch with Haruka on friday 12:30 in the calendar", "lunch with Haruka", {"scheduled": "2026-11-20 12:30"}), ("schedule a meeting with Pohl on monday at 10", "meeting with Pohl", {"scheduled": "2026-11-23 10:00"})])
def test_a_task_is_read_wherever_its_day_and_its_place_stand(text, title, dates): test_what_is_written_down(text, title, dates)


@pytest.mark.parametrize("text, titles", [
    ("remind me to call Ana tomorrow and pay the rent on friday", {"call Ana": "2026-11-20", "pay the rent": "2026-11-20"}), ("remind me to call Ana tomorrow, to pay the rent on friday and to buy milk on saturday", {"call Ana": "2026-11-20", "pay the rent": "2026-11-20", "buy milk": "2026-11-21"}),
    ("todo call Ana tomorrow and archive Call Ana on saturday", {"call Ana": "2026-11-20", "archive Call Ana": "2026-11-21"})])
def test_two_days_make_two_tasks(text, titles):
    assert {step["args"]["title"]: step["args"]["scheduled"] for step in payload(text)["steps"] if "args" in step} == titles


@pytest.mark.parametrize("text, offered", [("todo: call Ana tomorrow and pay the rent on friday", "todo: call Ana tomorrow; todo: pay the rent on friday"), ("remind me every tuesday and friday to stretch", "todo: stretch every tuesday; todo: stretch every friday")])
def test_what_one_task_cannot_hold_is_offered_as_two(text, offered):
    assert f"Did you mean “{offered}”?" in said(text)
    steps = payload("yes", replace(AROUND, earlier=((text, said(text)),)))["steps"]
    assert len(steps) == 3 and len({step["args"]["scheduled"] for step in steps[:2]} | {step["args"]["title"] for step in steps[:2]}) >= 2


@pytest.mark.parametrize("text, told", [("remind me twice a week to stretch", "name the days"), ("todo: pills three times a day", "name the times"), ("remind me in april to file taxes", "“on 1 April”"), ("put dentist in my calendar", "On which day?")])
def test_what_lacks_its_days_is_asked_about(text, told): assert told in said(text)


@pytest.mark.parametrize("text, title, dates", [
    ("erinnere mich daran, am 31. die Zähler abzulesen", "Zähler abzulesen", {"scheduled": "2026-12-31"}), ("todo: Miete zahlen am 1.", "Miete zahlen", {"scheduled": "2026-12-01"}), ("Zahnarzt am 12. Januar 14:30", "Zahnarzt", {"scheduled": "2027-01-12 14:30"}), ("trag ein: Elternabend am 3.12. um 19 Uhr", "Elternabend", {"scheduled": "2026-12-03 19:00"}),
    ("trage Zahnarzt am Montag um 10 in den Kalender ein", "Zahnarzt", {"scheduled": "2026-11-23 10:00"}), ("erinnere mich morgen daran, dass der Müll raus muss", "Müll raus muss", {"scheduled": "2026-11-20"}), ("todo: Arzt anrufen bis 17 Uhr morgen", "Arzt anrufen", {"deadline": "2026-11-20 17:00"})])
def test_german_days_in_everyday_words(text, title, dates): test_what_is_written_down(text, title, dates)


@pytest.mark.parametrize("text, query", [("open yesterday's journal", "2026-11-18"), ("show me monday's diary", "2026-11-16"), ("my journal", "2026-11-19"), ("öffne das Journal von gestern", "2026-11-18"), ("find journal", "journal")])
def test_the_journal_of_a_day_is_opened(text, query): test_what_is_looked_for(text, query)


def test_a_journal_that_is_a_heading_is_not_taken_for_a_day():
    assert payload("open the journal", replace(AROUND, outlines=lambda: [parse_org("* Journal\nslept well\n", "journal.org")]))["tool"] == "read-file"


@pytest.mark.parametrize("text, told", [("when do I have to feed the starter?", "every week"), ("when is the next concert?", "15:00")])
def test_when_something_has_to_be_done_is_said(text, told): assert told in said(text)


@pytest.mark.parametrize("text, title, dates", [
    ("remind me this evening to call Bo", "call Bo (evening)", {"scheduled": "2026-11-19"}), ("todo call Bo this afternoon", "call Bo (afternoon)", {"scheduled": "2026-11-19"}), ("remind me on friday at quarter past nine to call", "call", {"scheduled": "2026-11-20 09:15"}),
    ("todo: holiday from 20 dec to 3 jan", "holiday from 20 dec to 3 jan", {"scheduled": "2026-12-20"}), ("todo: trip 5-7 december", "trip 5-7 december", {"scheduled": "2026-12-05"}), ("todo: on call monday to friday", "on call monday to friday", {"scheduled": "2026-11-23"}),
    ("todo: meet Bo friday 5-7pm", "meet Bo", {"scheduled": "2026-11-20 17:00", "until": "19:00"}), ("note about Ana: prefers tea", "Ana: prefers tea", {}), ("[ ] buy nails", "buy nails", {}), ("termin Zahnarzt 3.12. 9 Uhr", "Zahnarzt", {"scheduled": "2026-12-03 09:00"})])
def test_several_days_and_parts_of_a_day_are_kept(text, title, dates): test_what_is_written_down(text, title, dates)


@pytest.mark.parametrize("text, day", [("postpone feed the starter by a week", "2026-11-26"), ("push the dentist back two days", "2026-11-28"), ("change the dentist to 10am", "2026-11-26 10:00"), ("postpone the review by a week", "2026-11-22"), ("postpone the review by a day", "2026-11-20"), ("postpone the tax by a week", "2026-11-26")])
def test_what_is_put_off_counts_from_its_date_or_from_today(text, day):
    around = replace(AROUND, outlines=lambda: [parse_org(HOUSE + "* TODO Weekly review\nSCHEDULED: <2026-11-15 Sun ++1w>\n* TODO Tax\nSCHEDULED: <2026-11-10 Tue>\n", "house.org")])
    assert payload(text, around)["args"]["date"] == day


@pytest.mark.parametrize("text, told", [("erinnere mich jeden ersten Montag im Monat an den Stammtisch", "“todo: Stammtisch on 7 December”"), ("todo: Oma anrufen am Wochenende", "Which day do you mean"), ("todo: Oma anrufen nächste Woche", "Which day do you mean")])
def test_german_days_that_are_not_clear_are_asked_about(text, told): assert told in said(text)


@pytest.mark.parametrize("text, start, end", [("any deadlines this week?", "2026-11-16", "2026-11-22"), ("what's on at the weekend?", "2026-11-21", "2026-11-22"), ("what's the plan for today?", "2026-11-19", "2026-11-19"), ("hab ich morgen Zeit?", "2026-11-20", "2026-11-20")])
def test_more_ways_to_ask_for_days(text, start, end): test_days_that_are_asked_for(text, start, end)


@pytest.mark.parametrize("text, title, dates", [
    ("todo: pay no later than friday", "pay", {"deadline": "2026-11-20"}), ("todo: pay on or before friday", "pay", {"deadline": "2026-11-20"}), ("todo: pay by friday at the latest", "pay", {"deadline": "2026-11-20"}), ("todo: pay by eod", "pay", {"deadline": "2026-11-19"}), ("todo: pay by end of day friday", "pay", {"deadline": "2026-11-20"}),
    ("todo: pay friday week", "pay", {"scheduled": "2026-11-27"}), ("todo: pay a week on friday", "pay", {"scheduled": "2026-11-27"}), ("todo: pay the friday after next", "pay", {"scheduled": "2026-12-04"}), ("todo: pay in a week's time", "pay", {"scheduled": "2026-11-26"}), ("todo: pay later today", "pay", {"scheduled": "2026-11-19"}),
    ("todo: pay 2026-12-01T09:00", "pay", {"scheduled": "2026-12-01 09:00"}), ("todo: pay tomorrow @ 9", "pay", {"scheduled": "2026-11-20 09:00"}), ("todo: ask May about sunday", "ask May about sunday", {}), ("todo: pay on fridays", "pay", {"scheduled": "2026-11-20", "repeat": "+1w"}),
    ("todo: pay daily at 8am", "pay", {"scheduled": "2026-11-19 08:00", "repeat": "+1d"}), ("todo: pay weekly on friday", "pay", {"scheduled": "2026-11-20", "repeat": "+1w"}), ("remind me at 8am every day to rest", "rest", {"scheduled": "2026-11-19 08:00", "repeat": "+1d"}), ("todo: pay quarterly", "pay", {"scheduled": "2026-11-19", "repeat": "+3m"}),
    ("create a reminder to bake on friday", "bake", {"scheduled": "2026-11-20"}), ("make sure I call Bo on friday", "call Bo", {"scheduled": "2026-11-20"})])
def test_what_says_by_and_every_in_other_words(text, title, dates): test_what_is_written_down(text, title, dates)


@pytest.mark.parametrize("text, offered", [("remind me every first monday of the month at 9 to water it", "todo: water it on 7 December at 9"), ("todo: backup every last friday of the month", "todo: backup on 27 November"), ("remind me on weekdays at 7 to rise", "todo: rise every monday at 7; todo: rise every tuesday at 7; todo: rise every wednesday at 7; todo: rise every thursday at 7; todo: rise every friday at 7")])
def test_what_no_repeater_can_say_is_offered_as_what_can_be_done(text, offered):
    assert f"Did you mean “{offered}”?" in said(text)
    assert payload("yes", replace(AROUND, earlier=((text, said(text)),)))["action"] in ("CALL", "PLAN")


@pytest.mark.parametrize("text, asked", [("show me my garden tasks", {"view": "projects", "group": "garden"}), ("show my waiting tasks", {"view": "waiting"}), ("show my tasks", {"view": "open"}), ("my friday tasks", {"start": "2026-11-20", "end": "2026-11-20"})])
def test_tasks_are_listed_by_the_word_before_them(text, asked): assert args(text) == asked


# The second one, and what was missing ------------------------------------------------------------------------------------

def after(*said, around=AROUND):
    "What is proposed to the last of these sentences, each said after the answers to those before. Answers of tools are given as (sentence, answer)."
    earlier = ()
    for line in said[:-1]: earlier += (line if isinstance(line, tuple) else (line, payload(line, replace(around, earlier=earlier))["text"]),)
    return payload(said[-1], replace(around, earlier=earlier))

LIST = ("what is due", "Thu 26 November 2026\n  08:15 scheduled       TODO Dentist, the crown  (house.org:2)\n  scheduled             TODO Water the plants  (house.org:6)\n  scheduled             TODO Bins out  (house.org:7)")
DID = ("done 1", "Set “Dentist, the crown” in house.org to DONE")

@pytest.mark.parametrize("said, tool, line", [(("done 2",), "org-set-todo", 6), (("mark the second one done",), "org-set-todo", 6), (("move the last one to friday",), "org-schedule", 7), (("the first one",), "read-file", 2), (("show me the third",), "read-file", 7), ((DID, "done 3"), "org-set-todo", 7), (("archive number 2",), "org-archive", 6)])
def test_a_number_means_the_entry_of_the_list_before(said, tool, line):
    found = after(LIST, *said)
    assert found["action"] == "CALL" and found["tool"] == tool and str(line) in (str(found["args"].get("start", "")), str(found["args"].get("heading", "")).partition(":")[0][5:]), found


@pytest.mark.parametrize("said", [(LIST, "done 4"), (("x", "Hello."), "done 2"), (("read house.org", "house.org, lines 1-3 of 20:\n  TODO Dentist, the crown  (house.org:2)"), "done 1"), (("what is due", "  scheduled  TODO Something else  (house.org:2)"), "done 1"), (LIST, "done 0")])
def test_a_number_of_no_list_means_nothing(said):
    assert after(*said)["action"] == "MESSAGE" and exact_form(said[-1], TODAY, replace(AROUND, earlier=said[:-1])) is None


def test_a_number_is_never_exact_and_a_heading_of_that_name_comes_first():
    assert exact_form("done 2", TODAY, replace(AROUND, earlier=(LIST,))) is None
    two = replace(AROUND, outlines=lambda: [parse_org("* TODO 2\n", "n.org"), parse_org(HOUSE, "house.org")])
    assert after(LIST, "done 2", around=two)["args"]["path"] == "n.org"


@pytest.mark.parametrize("said, title, dates", [(("remind me to buy milk", "tomorrow at 9"), "buy milk", {"scheduled": "2026-11-20 09:00"}), (("remind me to buy milk", "9 tomorrow"), "buy milk", {"scheduled": "2026-11-20 09:00"}), (("remind me to buy milk", "every friday"), "buy milk", {"scheduled": "2026-11-20", "repeat": "+1w"}), (("remind me tomorrow at 9", "call Ana"), "call Ana", {"scheduled": "2026-11-20 09:00"}), (("remind me tomorrow", "about the bins"), "the bins", {"scheduled": "2026-11-20"}), (("remind me", "call Ana", "friday"), "call Ana", {"scheduled": "2026-11-20"}),
                                                (("todo fix the bike this weekend", "saturday"), "fix the bike", {"scheduled": "2026-11-21"}), (("erinnere mich daran Milch zu kaufen", "morgen um 9"), "Milch zu kaufen", {"scheduled": "2026-11-20 09:00"}), (("put lunch in my calendar", "friday 12:30"), "lunch", {"scheduled": "2026-11-20 12:30"})])
def test_what_was_missing_is_filled_in(said, title, dates):
    found = after(*said)
    assert found["action"] == "CALL" and found["args"]["title"] == title and {name: found["args"][name] for name in dates} == dates, found


@pytest.mark.parametrize("day, date", [("friday", "2026-11-20"), ("to friday", "2026-11-20"), ("next month", "2026-12-01"), ("tomorrow", "2026-11-20")])
def test_a_day_answers_to_which_day(day, date): assert after("reschedule dentist", day)["args"]["date"] == date


@pytest.mark.parametrize("said", [("remind me to buy milk", "what is due today"), ("remind me tomorrow", "who is Ana?"), ("postpone dentist", "never mind"), ("hello", "tomorrow at 9")])
def test_another_question_is_no_answer_to_ours(said):
    assert after(*said) == payload(said[-1])


def test_a_day_is_no_answer_to_what_was_asked_otherwise():
    told = ("remind me to buy milk", "Which day shall I remind you? It was somebody else who asks.")
    assert after(told, "friday") == payload("friday")


@pytest.mark.parametrize("text, offered", [("mark the starter and the plants as done", "mark the starter as done, mark the plants as done"), ("done starter, plants and dentist", "done starter, done plants, done dentist"), ("move the starter and the plants to friday", "move the starter to friday, move the plants to friday"), ("finish the starter and the plants", "finish the starter, finish the plants")])
def test_several_headings_with_one_verb_are_offered(text, offered):
    assert f"“{offered}”" in said(text) and len(after(text, "yes")["steps"]) == offered.count(",") + 2


@pytest.mark.parametrize("text, offered", [("remind me at 8 to call Ana and at 9 to call Tom", "todo: call Ana tomorrow at 08:00; todo: call Tom tomorrow at 09:00"), ("remind me at 8 to call Ana and at 18:00 to call Tom", "todo: call Ana tomorrow at 08:00; todo: call Tom today at 18:00")])
def test_hours_of_a_plan_that_are_over_are_offered_for_tomorrow(text, offered):
    told = payload(text, NOON)
    assert told["action"] == "MESSAGE" and f"“{offered}”" in told["text"]
    steps = payload("yes", replace(NOON, earlier=((text, told["text"]),)))["steps"]
    assert [step["args"]["scheduled"][:10] for step in steps[:2]] == ["2026-11-20", "2026-11-20" if "09:00" in offered else "2026-11-19"]


@pytest.mark.parametrize("text, told", [("is the dentist done?", "No. “Dentist, the crown” (house.org:2) is TODO, planned for Thursday 26"), ("have I finished the plants yet?", "No. “Water the plants”"), ("are the bins open?", "Yes. “Bins out”"), ("how many days until the roof", "has no date that I can count to"), ("how long until the submarine", "Nothing with a date is called “the submarine”"), ("todo pay the cleaner biweekly", "“todo: pay the cleaner every 2 weeks”"), ("todo sing bi-weekly on monday", "“todo: sing every 2 weeks on monday”"),
                                        ("remind me tomorrow at 8 and at 9 to rest", "“todo: rest on 2026-11-20 at 08:00; todo: rest on 2026-11-20 at 09:00”"), ("call Ana 9 tomorrow", "“todo call Ana at 9 tomorrow”"), ("delete the last one", "/undo"), ("how do I change a date", "move … to friday"), ("what's on my shopping list", "no list called “shopping list”"), ("offers", "“find offers”"), ("took the bins out", "“done bins”"), ("i should call Ana", "“todo call Ana”"), ("what is in my inbox", "Your inbox is empty")])
def test_what_is_told(text, told): assert told in said(text)


@pytest.mark.parametrize("text, start", [("9 tomorrow", "2026-11-20"), ("am I free friday at 8pm", "2026-11-20 20:00"), ("am I free at 8pm on friday", "2026-11-20 20:00"), ("what is on friday at 8pm", "2026-11-20"), ("morgen 9 Uhr", "2026-11-20"), ("und morgen?", "2026-11-20"), ("when am I free tomorrow", "2026-11-20"), ("events tomorrow", "2026-11-20"), ("show me todays tasks", "2026-11-19"), ("what's left to do today", "2026-11-19")])
def test_the_day_that_is_asked_for_with_more_around_it(text, start): assert args(text)["start"] == start


def test_the_week_after_goes_on_from_the_days_before():
    weeks = [("what is due next week", "…"), ("and the week after?", "…")]
    assert [after(*weeks[:count], "and the week after?")["args"] for count in (1, 2)] == [{"start": "2026-11-30", "end": "2026-12-06"}, {"start": "2026-12-07", "end": "2026-12-13"}]
    assert after(("hello", "Hello."), "and the week after?")["action"] == "MESSAGE"
    assert after(("am I free tomorrow morning?", "…"), "and the day after?")["args"] == {"start": "2026-11-21", "end": "2026-11-21", "question": "free"}


TRIP = "#+TITLE: Trip to Rome\n\nBy train. <2026-12-11 Fri>--<2026-12-15 Tue>\n* TODO Book the hotel of the trip to Rome\nDEADLINE: <2026-11-27 Fri>\n"
OSLO = "* Trip to Oslo <2027-01-11 Mon>\n** TODO Book the ferry for the trip to Oslo\nDEADLINE: <2026-11-28 Sat>\n"

@pytest.mark.parametrize("text, told", [("how many days until the trip to rome", "“Trip to Rome” (rome.org:1) is on Friday 11 December 2026: in 22 days"), ("when is the trip to oslo", "“Trip to Oslo” (oslo.org:1): Monday 11 January 2027"), ("how long until the trip", "in 22 days (3 weeks and a day).\n“Trip to Oslo”")])
def test_the_trip_has_its_own_date_and_not_that_of_a_task_in_it(text, told):
    trips = replace(AROUND, outlines=lambda: [parse_org(TRIP, "rome.org"), parse_org(OSLO, "oslo.org")])
    found = payload(text, trips)["text"]
    assert told in found and "hotel" not in found and "ferry" not in found, found


@pytest.mark.parametrize("pages, page", [(("journals/2026_11_01.md", "journals/2026_11_18.md"), "journals/2026_11_19.md"), (("20261118.org",), "20261119.org"), (("meetings/2026-11-18.md", "My Journal/2026-11-01.md"), "My Journal/2026-11-19.md")])
def test_a_line_for_the_journal_goes_where_its_pages_are(pages, page):
    for text in ("journal: slept badly", "log: slept badly", "write in my journal that slept badly", "Tagebuch: slept badly"):
        found = payload(text, replace(AROUND, outlines=lambda: [parse_org("", name) for name in pages]))["args"]
        assert (found["file"], found["title"], found["kind"]) == (page, "slept badly", "note")


@pytest.mark.parametrize("pages, page", [((), "journal.org"), (("a/2026-11-18.md", "b/2026-11-17.md"), "a/2026-11-19.md"), (("journal/2026-11-17.md", "diary/2026-11-18.md"), "diary/2026-11-19.md")])
def test_where_no_journal_is_clear_a_line_for_it_is_asked_about(pages, page):
    assert f"“note in {page}: slept badly”" in payload("journal: slept badly", replace(AROUND, outlines=lambda: [parse_org("", name) for name in pages]))["text"]


@pytest.mark.parametrize("text, title", [("note in a.org: tiles are told of in roof.org", "tiles are told of in roof.org"), ("todo in a.org: read about tiles in roof.org", "read about tiles in roof.org"), ("log: ran 5 km in 30 min", "ran 5 km in 30 min")])
def test_a_second_file_and_a_length_of_time_stay_in_the_text(text, title):
    assert payload(text, replace(AROUND, outlines=lambda: [parse_org("", "j/2026-11-18.org")]))["args"]["title"] == title


def test_a_file_is_read_without_its_folder_where_there_is_one_of_that_name():
    notes = replace(AROUND, outlines=lambda: [parse_org("", name) for name in ("a/roof.org", "b/fig.org", "c/fig.org", "top.org")])
    assert payload("read roof.org", notes)["args"]["path"] == "a/roof.org" and payload("read top.org", notes)["args"]["path"] == "top.org" and payload("read new.org", notes)["args"]["path"] == "new.org"
    assert "b/fig.org, c/fig.org" in payload("read fig.org", notes)["text"]


@pytest.mark.parametrize("text, english", [("Bins auf Freitag verschieben", "reschedule Bins to friday"), ("kannst du bitte Bins auf Freitag verschieben?", "reschedule Bins to friday"), ("Aufgabe Bins erledigt", "done Bins"), ("Aufgabe: Bins erledigt", "todo Bins erledigt"), ("was habe ich diese Woche erledigt", "what did i finish this week"), ("schreib ins Tagebuch: gut geschlafen", "journal: gut geschlafen"), ("Milch auf die Einkaufsliste", "add Milch to the Einkaufsliste"), ("offene Aufgaben", "all open tasks"), ("was habe ich gestern gemacht", "what did i do yesterday"),
                                           ("was ist wichtig?", "what is most important"), ("wer ist sehr wichtig", "who is sehr wichtig"), ("ich habe die Steuer erledigt", "done Steuer"),
                                           ("hab Milch gekauft", "check off Milch"), ("welche Aufgaben sind dringend?", "what is most important"), ("wo sind die Socken eingepackt", "where is Socken eingepackt")])
def test_german_as_it_is_spoken(text, english): assert next(in_english(text, TODAY)) == english


@pytest.mark.parametrize("text", ["welcher Termin ist wichtig?", "warum ist der Zahnarzt wichtig", "wo sind die Socken eingepackt", "wie kann man Milch abhaken", "habe ich Milch gekauft?", "was kommt auf die Einkaufsliste", "wann ist der Zaun fertig", "kann ich Bins auf Freitag verschieben"])
def test_a_question_in_german_is_no_edit(text):
    "What a form knows by its end only would fit any question with that end: *wo sind die Socken eingepackt* looked for an item “wo sind die Socken” to check off."
    assert not [said for said in in_english(text, TODAY) if said.startswith(("make ", "check off", "done ", "add ", "reschedule "))]


SHOWN = ("show me the first one", "house.org, lines 2-3 of 20, in Dentist, the crown:\n* TODO Dentist, the crown")

def test_one_goes_through_a_list_with_what_was_shown_and_done_in_between():
    assert after(LIST, SHOWN, "done")["args"]["heading"] == "line 2: Dentist, the crown" and after(LIST, SHOWN, ("done", "“Dentist, the crown” (house.org:2) is DONE already."), "done 2")["args"]["heading"] == "line 6: Water the plants"
    assert after(LIST, ("find concert", "1 section matches “concert”:\n1. house.org:9  Advent concert"), "the first one")["args"]["start"] == 9
    assert after(("hello", "Hello."), "done")["action"] == "MESSAGE" and after(LIST, "done")["action"] == "MESSAGE"


@pytest.mark.parametrize("text, title, at", [("remind me tomorrow at 9 call Ana", "call Ana", "2026-11-20 09:00"), ("remind me friday water the plants", "water the plants", "2026-11-20")])
def test_a_reminder_without_its_to(text, title, at): assert (args(text)["title"], args(text)["scheduled"]) == (title, at)


@pytest.mark.parametrize("said, title", [(("todo", "buy milk"), "buy milk"), (("note", "the key is under the mat"), "the key is under the mat"), (("note:", "x"), "x")])
def test_what_a_task_or_note_shall_say_is_filled_in(said, title): assert after(*said)["args"]["title"] == title


@pytest.mark.parametrize("text, start, end", [("how's my week looking", "2026-11-16", "2026-11-22"), ("what does my day look like", "2026-11-19", "2026-11-19"), ("plan my day", "2026-11-19", "2026-11-19")])
def test_my_day_and_my_week(text, start, end): assert args(text) == {"start": start, "end": end}


@pytest.mark.parametrize("text, group", [("tasks about the roof", "the roof"), ("what needs to be done for the garden", "the garden"), ("what's left for the trip", "trip"), ("list nele's tasks", "nele")])
def test_the_tasks_of_something(text, group): assert args(text)["group"] == group


@pytest.mark.parametrize("text, offered", [("done 2 and 3", 'done "Water the plants", done "Bins out"'), ("mark the first two as done", 'mark "Dentist, the crown" as done, mark "Water the plants" as done'), ("archive 1, 2 and 3", 'archive "Dentist, the crown", archive "Water the plants", archive "Bins out"')])
def test_several_numbers_of_a_list_are_offered_by_their_titles(text, offered):
    assert f"“{offered}”" in after(LIST, text)["text"] and after(LIST, text, "yes")["action"] == "PLAN"
    assert after(text)["action"] == "MESSAGE" and "“done \"" not in after(text)["text"] and "entries" in after(LIST, "done 2 and 9")["text"]


def test_several_numbers_say_no_private_title():
    private = replace(AROUND, outlines=lambda: [parse_org("* TODO Milk\n* TODO Salary :@personal:\n", "m.org")])
    told = after(("what is due", "  scheduled  TODO Milk  (m.org:1)\n  scheduled  TODO Salary  (m.org:2)"), "done 1 and 2", around=private)["text"]
    assert "Salary" not in told and "one after the other" in told


@pytest.mark.parametrize("said", [("remind me tomorrow", "never mind"), ("remind me tomorrow", "thanks"), ("todo", "help")])
def test_small_talk_is_nothing_to_be_reminded_of(said): assert after(*said) == payload(said[-1])


@pytest.mark.parametrize("text, tool, line", [("das erste erledigt", "org-set-todo", 2), ("verschieb das zweite auf Montag", "org-schedule", 6), ("das letzte", "read-file", 7), ("hak das dritte ab", "org-set-todo", 7)])
def test_numbers_of_a_list_in_german(text, tool, line):
    found = after(LIST, text)
    assert found["tool"] == tool and str(line) in (str(found["args"].get("start", "")), str(found["args"].get("heading", "")).partition(":")[0][5:]), found


MILK = ("todo milk", "Added the task “Water the plants” to house.org")

@pytest.mark.parametrize("text, tool", [("erledigt", "org-set-todo"), ("done", "org-set-todo"), ("nein, übermorgen", "org-schedule"), ("mark it urgent", "org-set-property"), ("what is it", "read-file"), ("set a deadline for it on friday", "org-schedule")])
def test_a_word_about_what_was_just_named(text, tool): assert after(MILK, text)["tool"] == tool and after(text)["action"] == "MESSAGE"


@pytest.mark.parametrize("said, date", [(("move the starter", "friday"), "2026-11-20"), (("reschedule dentist", "to next month"), "2026-12-01")])
def test_where_to_is_answered_by_a_day(said, date): assert after(*said)["args"]["date"] == date


@pytest.mark.parametrize("text, told", [("ist der Dentist erledigt?", "No. “Dentist, the crown”"), ("markiere starter und plants als erledigt", "“done starter, done plants”"), ("mark all of them done", "one heading at a time"), ("make the dentist repeat every week", "can't make a task repeat")])
def test_what_else_is_told(text, told): assert told in said(text)


@pytest.mark.parametrize("text, expected", [("what's due after friday", {"start": "2026-11-21", "end": "2026-12-20"}), ("what do I have planned for new year's eve", {"start": "2026-12-31", "end": "2026-12-31"}), ("I would like to know what is on tomorrow", {"start": "2026-11-20", "end": "2026-11-20"}), ("find kessler or pohl", {"query": "kessler OR pohl"}), ("extend the dentist by a week", {"date": "2026-12-03"}), ("make a new note called holiday ideas", {"title": "holiday ideas"})])
def test_further_things_that_people_say(text, expected):
    found = args(text)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("text, told", [("create a file called holidays.org", "note in holidays.org:"), ("delete inbox.org", "no files"), ("that's all", "Goodbye")])
def test_what_is_told_about_files_and_at_the_end(text, told): assert told in said(text)


@pytest.mark.parametrize("text,title,dates", [
    ("Notiz: Feige eingepackt", "Feige eingepackt", {}), ("☐ buy milk", "buy milk", {}), ("add an event: dinner with Samir saturday 19:00-22:00", "dinner with Samir", {"scheduled": "2026-11-21 19:00", "until": "22:00"}),
    ("in 3 days remind me to call Pohl", "call Pohl", {"scheduled": "2026-11-22"}), ("tomorrow at 9 please remind me to call Pohl", "call Pohl", {"scheduled": "2026-11-20 09:00"})])
def test_a_head_counts_before_what_follows_it(text, title, dates): test_what_is_written_down(text, title, dates)


@pytest.mark.parametrize("text", ["what's the most urgent thing", "what is the most urgent task?", "most important task", "biggest priority today", "what are the most important things right now?"])
def test_the_most_important_thing_is_one_of_priority_a(text): assert args(text)["query"] == "priority:A todo:open"


def test_what_happens_on_a_day_is_its_agenda(): assert args("what happens on the 28th?")["start"] == "2026-11-28"


LISTS = parse_org("* Roof\n* Packing\n- [ ] socks\n", "lists.org")

@pytest.mark.parametrize("text,told", [("add call the slater to Roof", "“Roof” (lists.org:1) has no list. Say “add item call the slater to Roof” to begin one"), ("add a task \"slate\" to Roof", "has no list")])
def test_a_heading_without_a_list_says_how_one_is_begun(text, told): assert told in payload(text, Surroundings(lambda: [LISTS]))["text"]


@pytest.mark.parametrize("text", ["add a task to Packing: torch", "add torch under packing", "add \"torch\" to Packing", "put torch on the packing list"])
def test_an_item_goes_below_what_is_called_so(text):
    found = payload(text, Surroundings(lambda: [LISTS]))
    assert (found["tool"], found["args"]["item"], found["args"]["heading"]) == ("org-check", "torch", "line 2: Packing")


VAULT = [parse_note("---\naliases: [Nana, Oma Rosa]\n---\n# Grandma Rosa\nPankow.\n", "People/Grandma Rosa.md"), parse_note("# Kitchen\n\n## Colours\nSage.\n\n## Tasks\n- [ ] paint\n", "Kitchen.md"), parse_note("no heading\n", "Loose.md")]

@pytest.mark.parametrize("text,tool,args", [
    ("show Nana", "read-file", {"path": "People/Grandma Rosa.md"}), ("add to oma rosa: likes pralines", "org-edit-body", {"heading": "line 4: Grandma Rosa", "text": "likes pralines"}),
    ("add a task under Colours: buy brushes", "org-add-headline", {"heading": "line 3: Kitchen › Colours", "title": "buy brushes", "kind": "task"}), ("todo below tasks: sand by friday", "org-add-headline", {"title": "sand", "deadline": "2026-11-20"}),
    ("add a todo in Loose: x", "org-capture", {"file": "Loose.md", "kind": "task"}), ("add to Loose.md: y", "org-capture", {"file": "Loose.md", "kind": "note", "title": "y"}), ("add to Kitchen.md: z", "org-edit-body", {"heading": "line 1: Kitchen", "text": "z"}),
    ("add a task to Kitchen.md: tape", "org-capture", {"file": "Kitchen.md", "title": "tape"}), ("note in kitchen: warm", "org-edit-body", {"text": "warm"}), ("note to self: be nice", "org-capture", {"title": "be nice"}),
    ("add a task to buy tape", "org-capture", {"title": "buy tape"}), ("todo under the sink leak", "org-capture", {"title": "under the sink leak"})])
def test_what_is_added_goes_where_the_words_say_and_is_an_exact_form(text, tool, args):
    around = Surroundings(lambda: VAULT)
    found = payload(text, around)
    assert found["tool"] == tool and args.items() <= found["args"].items()
    assert tool == "read-file" or exact_form(text, TODAY, around)["payload"] == found


@pytest.mark.parametrize("text,told", [("add a task under Colours", "What shall the task say? For example: add a task under Colours: call Ana"), ("todo under colours: stir every monday", "Below a heading I put a task with one day"),
                                       ("todo under paint: x", "is a task in a list"), ("todo in grand: x", "no heading or file that is called"), ("todo under colours: stir next week", "Which day do you mean")])
def test_what_is_missing_below_a_heading_is_asked(text, told): assert told in payload(text, Surroundings(lambda: VAULT))["text"]


@pytest.mark.parametrize("said", ["no, the other one", "the other Ana", "not that one", "der andere"])
def test_the_other_one_of_a_list_is_asked_about(said):
    listed = "2 sections match “ana”:\n1. house.org:2  Dentist, the crown [TODO]\n2. house.org:4  Feed the starter [TODO]"
    assert "Answer with its number" in payload(said, replace(AROUND, earlier=(("find ana", listed),)))["text"]
    assert "Answer with its number" not in payload(said)["text"]


def test_an_hour_instead_of_another_moves_what_was_just_added():
    before = replace(AROUND, earlier=(("dentist", "Scheduled “Dentist, the crown” in house.org for 2026-11-26 08:15"),))
    assert payload("at 11 instead", before)["args"]["date"].endswith("11:00") and payload("friday instead", before)["args"]["date"].startswith("2026-11-20")


@pytest.mark.parametrize("text,title,dates", [
    ("Hi,\ncan you please remind me tomorrow to call Ana?\nThanks!", "call Ana", {"scheduled": "2026-11-20"}), ("would you mind adding milk to my todos", "milk", {}), ("can you remind me on friday to call Ana?", "call Ana", {"scheduled": "2026-11-20"}),
    ("could you please note that the fig is wrapped?", "the fig is wrapped", {}), ("can you note: is Ana coming?", "is Ana coming?", {}), ("todo is Ana coming?", "is Ana coming?", {})])
def test_courtesies_are_no_part_of_a_task(text, title, dates): test_what_is_written_down(text, title, dates)


def test_thanks_in_a_note_are_a_part_of_it(): assert args("note: it went well\nThanks!")["body"] == "Thanks!"


@pytest.mark.parametrize("text,query", [("zeig mir alles über das Dach", "Dach"), ("was weiß ich über den Dentist", "Dentist"), ("hast du was zu Roof", "Roof"), ("alles zum Dach", "Dach")])
def test_what_is_asked_for_in_german_is_looked_for(text, query): test_what_is_looked_for(text, query)


@pytest.mark.parametrize("text,told", [("i'd like to know when the dentist is", "Thursday 26 November 2026 08:15"), ("use claude", "passepartout configure"), ("which model are you using?", "a grammar"), ("what changed", "/trace")])
def test_what_newcomers_ask_has_an_answer(text, told): assert told in said(text)


def test_a_favour_in_short_is_one(): assert args("can u show me whats due")["start"] == "2026-11-19" and payload("gimme my tasks") == payload("my tasks")


ON_DENTIST = replace(AROUND, earlier=(("move dentist to friday", "Scheduled “Dentist, the crown” in house.org for 2026-11-26 08:15"),))

@pytest.mark.parametrize("text,told", [("when is it?", "“Dentist, the crown” (house.org:"), ("when is that due", "planned for Thursday 26 November"), ("is it on thursday?", "No, not on Thursday 19"), ("is it next week?", "Yes."), ("is it done?", "No. “Dentist")])
def test_a_question_about_it_is_about_what_was_named(text, told): assert told in payload(text, ON_DENTIST)["text"]

def test_a_question_about_it_without_anything_named_searches_for_no_it():
    assert payload("when is it?")["text"].startswith("I don't know which one") and "“it”" not in payload("what time is it", ON_DENTIST)["text"]


@pytest.mark.parametrize("text,tool,args", [
    ("on friday", "org-agenda", {"start": "2026-11-20", "end": "2026-11-20"}), ("on 24.12.", "org-agenda", {"start": "2026-12-24"}), ("the day after tomorrow", "org-agenda", {"start": "2026-11-21"}), ("from monday to wednesday", "org-agenda", {"start": "2026-11-23", "end": "2026-11-25"}),
    ("first week of december", "org-agenda", {"start": "2026-12-01", "end": "2026-12-07"}), ("what is due in the last week of the month", "org-agenda", {"start": "2026-11-24", "end": "2026-11-30"}), ("remind me where the offers are", "org-find", {"query": "offers"}),
    ("plan for today", "org-agenda", {"start": "2026-11-19", "end": "2026-11-19"}), ("the plan for next week", "org-agenda", {"start": "2026-11-23"}), ("wann ist mein nächster Termin?", "org-agenda", {}),
    ("what is Pohl's phone number?", "org-find", {"query": "Pohl phone"}), ("Telefonnummer von Herrn Pohl", "org-find", {"query": "Pohl Telefon"}), ("was kostet das Dach", "org-find", {"query": "Dach"}),
    ("where does Dentist live", "org-find", {"query": "Dentist live"}), ("aufgabe unter Dentist: Rechnung", "org-add-headline", {"title": "Rechnung"})])
def test_what_people_ask_first(text, tool, args):
    found = payload(text)
    assert found.get("tool") == tool and args.items() <= found["args"].items(), found


@pytest.mark.parametrize("text,told", [("meeting with Opitz monday 9-10:30 in room 204", "“todo meeting with Opitz in room 204 monday 9-10:30”"), ("dinner on friday at 8 with Ana at the Greek", "“todo dinner with Ana at the Greek on friday at 8”"), ("!!!", "I didn't understand"), ("!ls", "A command is given"),
                                       ("plan for the roof", "I didn't understand"), ("what is the capital of France", "I didn't understand")])
def test_what_is_offered_or_not_understood(text, told):
    assert told in (said := payload(text)["text"]) and "whats" not in payload("whats teh plan today").get("text", "todo whats").split("find")[0], said


def test_make_it_low_is_a_priority():
    assert payload("make it low", ON_DENTIST)["args"].items() >= {"name": "PRIORITY", "value": "C"}.items()


def test_a_german_word_keeps_what_was_not_understood():
    before = replace(AROUND, earlier=(("Brot backen", payload("Brot backen")["text"]),))
    assert payload("aufgabe", before)["args"]["title"] == payload("notiz", before)["args"]["title"] == "Brot backen"


@pytest.mark.parametrize("at,text,then", [("17:00", "no, at 6", "18:00"), ("17:00", "no, at six", "18:00"), ("17:00", "at six", "18:00"), ("19:00", "no, 8", "20:00"), ("14:00", "no, at 9", "09:00"), ("09:00", "no, at 10", "10:00"), ("17:00", "no, at 6:30", "06:30"), ("08:15", "no, at 5", "17:00"), ("17:00", "move it to 4", "16:00"), ("17:00", "no, 6am", "06:00")])
def test_an_hour_that_corrects_another_is_in_the_nearer_half_of_the_day(at, text, then):
    around = Surroundings(lambda: [parse_org(HOUSE.replace("Thu 08:15", f"Thu {at}"), "house.org")], earlier=ON_DENTIST.earlier)
    assert payload(text, around)["args"]["date"] == f"2026-11-26 {then}"


def test_a_day_after_a_list_is_no_list_and_a_journal_is_a_page():
    around = Surroundings(lambda: [parse_org("* Monday, 16 November 2026\n", "journal/2026-11-16.org"), parse_org("* Todo\n- [ ] x\n", "lists.org")])
    found = payload('add "call the school" to my todo list for monday', around)["args"]
    assert (found["title"], found["scheduled"]) == ("call the school", "2026-11-23")
    assert (found := payload("add a line to today's journal: rain", around)["args"])["file"] == "journal/2026-11-19.org" and found["title"] == "rain"
    assert "called “the”" not in payload("untag the roof").get("text", "")


@pytest.mark.parametrize("text", ["that's wrong", "no, that was wrong", "No wait, that was wrong", "That's not what I meant!", "wrong", "das ist falsch"])
def test_who_was_misread_hears_how_it_is_taken_back(text): assert "/undo" in payload(text)["text"] and payload("that is wrong in the report")["text"] != payload(text)["text"]


SKIPPED = """* TODO Japanese with Haruka
SCHEDULED: <2026-11-19 Thu 18:30 +1w>
* TODO Bins out: paper
SCHEDULED: <2026-11-12 Thu +2w>
* TODO Review
SCHEDULED: <2026-11-18 Wed +1w>
* TODO Rent
DEADLINE: <2026-12-01 Tue +1m -3d>
* TODO Call Ana
SCHEDULED: <2026-11-20 Fri>
"""
SKIPPING = Surroundings(lambda: [parse_org(SKIPPED, "routines.org")])
PAUSING = Surroundings(lambda: [parse_org(SKIPPED + "* TODO Walk\nSCHEDULED: <2026-11-20 Fri .+2d>\n", "routines.org"), parse_note("- [ ] papers 🔁 every weekday ⏳ 2026-11-20\n", "papers.md")])


@pytest.mark.parametrize("text, date, kind", [("skip japanese this week", "2026-11-26", "scheduled"), ("please skip japanese tonight", "2026-11-26", "scheduled"), ("skip this week's japanese", "2026-11-26", "scheduled"), ("lass japanese diese Woche ausfallen", "2026-11-26", "scheduled"), ("skip japanese", "2026-11-26", "scheduled"),
    ("skip the bins", "2026-11-26", "scheduled"), ("skip the review", "2026-11-25", "scheduled"), ("skip the review this week", "2026-11-25", "scheduled"), ("skip the rent", "2027-01-01", "deadline"), ("skip the rent in december", "2027-01-01", "deadline")])
def test_one_turn_of_what_repeats_is_left_out(text, date, kind):
    found = payload(text, SKIPPING)
    assert (found["tool"], found["args"]["date"], found["args"]["kind"]) == ("org-schedule", date, kind)


@pytest.mark.parametrize("text, date, kind", [("pause japanese until 2027-01-01", "2027-01-07", "scheduled"), ("pause the bins for two weeks", "2026-12-10", "scheduled"), ("skip japanese until january", "2027-01-07", "scheduled"), ("please pause the rent until after christmas", "2027-01-01", "deadline"),
    ("pause the review until next month", "2026-12-02", "scheduled"), ("pausiere japanese bis nächste Woche", "2026-11-26", "scheduled"), ("setze japanese bis Dezember aus", "2026-12-03", "scheduled"), ("pause the walk until 2026-12-24", "2026-12-24", "scheduled"), ("pause the papers until 2026-12-05", "2026-12-07", "scheduled")])
def test_what_repeats_pauses_and_keeps_its_days(text, date, kind):
    found = payload(text, PAUSING)
    assert (found["tool"], found["args"]["date"], found["args"]["kind"]) == ("org-schedule", date, kind)


@pytest.mark.parametrize("text, told", [("pause japanese", "Until when"), ("pause japanese until today", "no later day"), ("pause japanese until last monday", "no later day"), ("pause call ana until december", "postpone call ana to 2026-12-01"), ("pause the rent until tomorrow", "not before"), ("pause japanese until 9990-01-01", "no turn"), ("pause the music", "didn't understand"), ("split japanese", "Into what?"), ("split the bill in two", "split bill into outline"), ("break down the move into small steps", "split move into outline"), ("split the bill with Ana", "didn't understand")])
def test_what_does_not_pause_is_told(text, told): assert told in payload(text, PAUSING)["text"]


@pytest.mark.parametrize("text, told", [("skip japanese next week", "is on Thursday 19 November 2026, and only the next one"), ("skip the rent this week", "is on Tuesday 1 December"), ("skip call ana", "does not repeat"), ("skip the submarine", "Nothing in your notes is called"), ("should I skip japanese?", "didn't understand")])
def test_what_is_no_turn_is_not_skipped(text, told): assert told in payload(text, SKIPPING)["text"]


def test_a_list_that_there_is_not_is_told_and_nothing_else_is_looked_for():
    assert "the place “the shopping list”" in said("find roof and add it to the shopping list")


@pytest.mark.parametrize("text, better", [("remind me to call the dentist tomorow at 10", "remind me to call the dentist tomorrow at 10"), ("todo call Ana firday", "todo call ana friday"), ("todo pay the rent on wendesday", "todo pay the rent on wednesday")])
def test_a_misspelt_day_is_no_word_of_the_title(text, better):
    assert f"“{better}”".lower() in payload(text)["text"].lower() and exact_form(text, TODAY, AROUND) is None
    again = payload("yes", replace(AROUND, earlier=((text, payload(text)["text"]),)))
    assert again["tool"] == "org-capture" and "scheduled" in again["args"]


@pytest.mark.parametrize("text", ["note: tomorow never knows", 'todo "call Ana tomorow"', "todo order the satudary paper"])
def test_a_title_keeps_its_own_words(text): assert payload(text)["tool"] == "org-capture"


@pytest.mark.parametrize("text, at", [("dinner with Bo saturday at 7", "2026-11-21 19:00"), ("todo dinner tomorrow from 7 to 9", "2026-11-20 19:00"), ("Abendessen morgen um 8", "2026-11-20 20:00"), ("dinner saturday at 7am", "2026-11-21 07:00"), ("breakfast with Bo saturday at 7", "2026-11-21 07:00"), ("dinner saturday 07:00", "2026-11-21 07:00"), ("order the dinner saturday at 10", "2026-11-21 10:00")])
def test_a_dinner_is_in_the_evening(text, at): assert args(text)["scheduled"] == at


@pytest.mark.parametrize("text, told", [("make a list called Groceries", "in groceries.md"), ("new list: groceries", "in groceries.md"), ("give me a summary of the roof notes", "language model is needed"), ("what time is it in Tokyo", "not those of other places"), ("morning!", "Hello")])
def test_what_a_first_hour_asks_is_answered(text, told): assert told in payload(text)["text"]


@pytest.mark.parametrize("text, view", [("what's blocked", "waiting"), ("count my open tasks", "open"), ("whats waiting", "waiting"), ("what's unscheduled?", "unscheduled")])
def test_lists_are_known_however_they_are_called(text, view): assert args(text)["view"] == view


def test_a_courtesy_at_the_end_is_no_word_of_a_task():
    assert args("add buy milk to my tasks please")["title"] == "buy milk"
    assert args("change the time of the dentist to 9:30")["date"] == "2026-11-26 09:30"


@pytest.mark.parametrize("text", ["on friday at 3", "on friday 9:30"])
def test_a_day_with_an_hour_and_nothing_else_is_a_question(text): assert args(text) == {"start": "2026-11-20", "end": "2026-11-20"}


@pytest.mark.parametrize("text, title", [('add "buy stamps" and "post the letter" to my tasks', '"buy stamps" and "post the letter"'), ('todo "read Die Wand"', "read Die Wand")])
def test_quotation_marks_that_are_no_pair_stay(text, title): assert args(text)["title"] == title


@pytest.mark.parametrize("text, told", [
    ("gym mon wed fri at 7", "“todo: gym on monday at 7; todo: gym on wednesday at 7; todo: gym on friday at 7”"), ("todo gym mon and wed at 7", "For every week: todo gym every mon and wed at 7"), ("todo swim tue/thu 7:30", "“todo: swim on tuesday 7:30; todo: swim on thursday 7:30”"),
    ("gym mondays and thursdays at 18:00", "“todo: gym every monday at 18:00; todo: gym every thursday at 18:00”"), ("gym every monday, wednesday and friday at 7", "todo: gym every wednesday at 7; todo: gym every friday at 7”"), ("remind me to call mama on mondays and thursdays", "“todo: call mama every monday; todo: call mama every thursday”"),
    ("Sport montags und donnerstags um 18 Uhr", "“todo: Sport every monday at 18 uhr; todo: Sport every thursday at 18 uhr”"), ("todo Sport montags, mittwochs und freitags", "todo: Sport every wednesday; todo: Sport every friday”"),
    ("every first monday: water the plants", "“todo: water the plants on 7 December”"), ("water the plants every last friday", "“todo: water the plants on 27 November”"), ("every 2nd tuesday of the month: choir", "“todo: choir on 8 December”"), ("choir every second tuesday of the month at 19:00", "“todo: choir on 8 December at 19:00”"),
    ("todo Müll jeden ersten Montag im Monat", "“todo: Müll on 7 December”")])
def test_several_days_and_a_turn_of_a_month_are_not_one_task_with_half_of_them_in_its_title(text, told): assert told in said(text), said(text)


@pytest.mark.parametrize("text, title, repeat, day", [("Sport montags um 18 Uhr", "Sport", "+1w", "2026-11-23 18:00"), ("gym every second friday at 8", "gym", "+2w", "2026-11-20 08:00"), ("todo Sport donnerstags", "Sport", "+1w", "2026-11-19")])
def test_a_day_of_the_week_that_comes_again(text, title, repeat, day):
    found = args(text)
    assert (found["title"], found["repeat"], found["scheduled"]) == (title, repeat, day)


@pytest.mark.parametrize("text, told", [("todo trip to rome in march 2027", "“in march 2027”? Name one, for example “on 1 march 2027”"), ("todo tax return in may", "“in may”"), ("todo renew the passport in 2027", "“in 2027”"), ("todo passport before march", "“before march”"), ("todo Reise nach Rom im März", "“im märz”? Name one, for example “on 1 march”"),
                                        ("trip to rome in march 2027", "“todo trip to rome in march 2027”")])
def test_a_month_is_no_day(text, told): assert told in said(text), said(text)


@pytest.mark.parametrize("text", ["todo read the march report", "todo write about may", "todo \"trip to rome in march\"", "todo see the 2027 plan", "todo paint the shed on 3 march 2027", "todo ask who may come"])
def test_a_month_that_is_a_word_of_the_title_is_not_asked_about(text): assert args(text)["title"]


@pytest.mark.parametrize("text", ["every 2nd tuesday of the month is choir", "from monday to friday I'm in Berlin", "merge the two bins tasks"])
def test_half_of_a_phrase_is_not_offered(text): assert "Did you mean" not in said(text) and "Nothing open under" not in said(text)


@pytest.mark.parametrize("text, told", [("how do I rename a heading", "rename … to …"), ("broken links", "jobs run gardener"), ("find broken links in my notes", "jobs run gardener"), ("which links are dead?", "jobs run gardener"), ("are there any orphaned notes", "jobs run gardener"), ("show me stale tasks", "jobs run gardener"), ("how do I tag a note", "tag dentist"), ("oops, I didn't mean that", "/undo"), ("do you work offline?", "sends nothing of them anywhere"),
    ("is my data sent anywhere?", "sends nothing of them anywhere"), ("set up ollama", "passepartout configure"), ("birthday of Samir on 4 may every year", "“todo birthday of Samir on 4 may every year”")])
def test_what_is_asked_about_the_program_itself(text, told): assert told in said(text)


def test_an_and_before_a_command_is_no_word_of_it():
    on = replace(AROUND, earlier=(("show dentist", "“Dentist, the crown” (house.org:2): planned for Thursday 26 November 2026 08:15"),))
    assert payload("and make it urgent", on)["tool"] == "org-set-property" and payload("oh wait, move it to friday", on)["args"]["date"] == "2026-11-20"
    assert args("find notes tagged roof and trip")["query"] == "tag:roof tag:trip"


@pytest.mark.parametrize("text, told", [("what day was 3 october", "That was Saturday 3 October 2026"), ("what day is 3 october", "That is Sunday 3 October 2027"), ("how many days since october 3", "47 days ago"), ("how long has it been since 1 november", "18 days ago"),
    ("the dentist is at 9 now", "“reschedule dentist at 9”")])
def test_days_that_are_over_and_hours_that_changed(text, told): assert told in said(text)


def test_the_next_three_are_those_that_come_next(): assert args("next 3 appointments") == {"view": "next"}


@pytest.mark.parametrize("text, offer", [
    ("Bins out ist erst um 20 Uhr", "reschedule Bins out at 20"), ("bins out is only at 20:00", "move bins out to 20:00"), ("advent concert is at 16:00 not 15:00", "move advent concert to 16:00"), ("bins out is cancelled next week", "skip bins out next week"), ("no bins out tonight", "skip bins out tonight"),
    ("Bins out fällt am Samstag aus", "skip Bins out on saturday"), ("Bins out am Samstag fällt aus", "skip Bins out on saturday"), ("das Konzert wurde auf Donnerstag verlegt", "move Konzert to thursday"), ("Dentist mache ich erst am Freitag", "move Dentist to friday"), ("send the plants to Ana is done", "done send the plants to Ana")])
def test_how_something_stands_is_an_offer_and_no_new_task(text, offer):
    assert f"Did you mean “{offer}”?" in said(text)


@pytest.mark.parametrize("text", ["heute war ein guter Tag", "am I late on friday", "Dentist ist erst um 20 Uhr", "were you busy on friday"])
def test_a_question_or_a_statement_is_not_offered_as_a_task(text):
    assert "todo" not in payload(text).get("text", "").replace("“todo” or “note”", "") and payload(text).get("tool") != "org-capture"


@pytest.mark.parametrize("text, start, end", [
    ("do I work on saturday?", "2026-11-21", "2026-11-21"), ("how many shifts do I have next week?", "2026-11-23", "2026-11-29"), ("habe ich morgen Dienst", "2026-11-20", "2026-11-20"), ("wie viele Dienste habe ich nächste Woche", "2026-11-23", "2026-11-29"), ("am I off on friday", "2026-11-20", "2026-11-20"), ("worum muss ich mich morgen kümmern", "2026-11-20", "2026-11-20")])
def test_a_question_about_oneself_is_answered_with_its_days(text, start, end):
    assert {name: args(text)[name] for name in ("start", "end")} == {"start": start, "end": end}


@pytest.mark.parametrize("text, english", [
    ("Reifen wechseln löschen", "delete Reifen wechseln"), ("Steuer umbenennen in Steuer 2025", "rename Steuer to Steuer 2025"), ("Folien auf nächste Woche verschieben", "reschedule Folien to next week"), ("Treppe auf bezahlt setzen", "mark Treppe as bezahlt"), ("Buch lesen", None), ("kann ich die Folien auf Freitag verschieben", None)])
def test_an_infinitive_at_the_end_is_a_command_when_it_is_one_of_ours(text, english):
    assert next(in_english(text, TODAY), None) == english


@pytest.mark.parametrize("text, told", [
    ("make me a table of my expenses", "a language model is needed"), ("create a chart from the meter readings", "a language model is needed"), ("make a cake tomorrow", "Shall it be a task or a note?"), ("set the phone number of Dentist to 0171 123", "set property phone of Dentist to 0171 123"), ("set page of Dentist to 150", "set property page of Dentist to 150"),
    ("put glue on the list", "Which list do you mean?"), ("Leim auf die Liste", "Which list do you mean?"), ("revert the last change", "/undo")])
def test_what_cannot_be_done_is_answered_with_its_own_reason(text, told):
    assert told in said(text) and "I delete nothing" not in said(text)


@pytest.mark.parametrize("text, title", [("make me a reminder to call Ana tomorrow", "call Ana"), ("create a new appointment: vet friday 9:00", "vet")])
def test_something_of_ours_is_made_for_me_too(text, title):
    assert args(text)["title"] == title


@pytest.mark.parametrize("text, title", [("dont forget to call the bank", "call the bank"), ("ive got to call the bank", "call the bank"), ("dont let me forget to call the bank tomorrow", "call the bank"),
    ("note about the trip: bring an adapter", "the trip: bring an adapter"), ("note: about the trip", "about the trip"), ("todo about time: buy a clock", "about time: buy a clock")])
def test_what_belongs_to_the_request_is_no_part_of_its_text(text, title): assert args(text)["title"] == title


@pytest.mark.parametrize("text", ["which tasks have the tag garden?", "tasks have the tag garden?", "tasks that are tagged garden", "what tasks have a tag #garden"])
def test_a_tag_is_asked_for_in_many_words(text): assert args(text) == {"view": "tags", "group": "garden"}


@pytest.mark.parametrize("text", ["when is my next dentist appointment?", "when do I see the dentist", "when am I meeting the dentist", "wann sehe ich dentist?"])
def test_when_somebody_is_met_is_when_they_are_in_the_notes(text): assert "Thursday 26 November 2026 08:15" in said(text)


def test_whoever_is_met_and_in_no_date_is_looked_for(): test_what_is_looked_for("who is Frau Kessler again?", "Frau Kessler")


POND = parse_note("- Ideas\n\t- fern bed\n- TODO dig the pond\n- Plans:\n", "pages/Garden.md")

@pytest.mark.parametrize("text", ["todo goldfish under Ideas", "add a task to Ideas: goldfish", "todo under the ideas: goldfish", "add a task under Plans: goldfish"])
def test_nothing_is_put_below_a_line_of_a_list_and_nothing_written_of_it(text):
    told = payload(text, Surroundings(lambda: [POND]))
    assert told["action"] == "MESSAGE" and "todo in pages/Garden.md: goldfish" in told["text"]


@pytest.mark.parametrize("text, tool", [("todo read under the tree", "org-capture"), ("todo goldfish under dig the pond", None), ("add a task to dig the pond: goldfish", None), ("add a subtask to dig the pond: goldfish", "org-add-headline")])
def test_what_is_no_line_of_a_list_goes_where_it_went(text, tool): assert payload(text, Surroundings(lambda: [POND])).get("tool") == tool


def test_a_private_line_is_not_told():
    secret = parse_note("tags:: @personal\n\n- Ideas\n", "pages/Private.md")
    assert "Private.md" not in str(payload("todo goldfish under Ideas", Surroundings(lambda: [secret])))


@pytest.mark.parametrize("text, tool", [("put it in garden.org", "org-refile"), ("save that into garden.org", "org-refile"), ("where is it?", "read-file"), ("where did you put that", "read-file")])
def test_what_was_just_written_is_put_and_found(text, tool): assert after(MILK, text)["tool"] == tool and "garden.org: it" not in str(payload(text))


def test_a_bit_of_a_sentence_is_offered_as_no_task(): assert "todo not" not in said("not today")


@pytest.mark.parametrize("text, title", [("set a reminder for Ruth's call next monday 5pm", "Ruth's call"), ("add a reminder for the dentist bill on friday", "the dentist bill"), ("reminder for friday: buy figs", "buy figs")])
def test_what_a_reminder_is_for_is_its_title(text, title): assert args(text)["title"] == title


def test_a_second_reminder_of_nothing_is_no_matter_of_the_first():
    told = payload("remind me for friday")
    assert "Remind you of what?" in after(("remind me for friday", told["text"]), "set a reminder for 5pm")["text"]
    assert after(("remind me for friday", told["text"]), "buy figs")["args"]["title"] == "buy figs"


BORN = parse_org("* Bob\n:PROPERTIES:\n:BIRTHDAY: 1980-05-04\n:END:\n* Chris\n:PROPERTIES:\n:BIRTHDAY: 1990-02-03\n:END:\n", "people.org")
@pytest.mark.parametrize("text, told", [("when is bobs birthday", "Bob: 46"), ("when is Chris birthday?", "Chris: 36"), ("when is Bob's birthday", "Bob: 46")])
def test_a_birthday_is_told_without_an_apostrophe(text, told): assert told in payload(text, Surroundings(lambda: [BORN]))["text"]


@pytest.mark.parametrize("text, query", [("gibt es etwas zu Bob?", "Bob"), ("gibt es was über das Dach", "Dach")])
def test_what_there_is_about_somebody_is_looked_for(text, query): test_what_is_looked_for(text, query)


@pytest.mark.parametrize("text, told", [("what did we talk about yesterday?", "/trace 10"), ("what did I ask you last time", "/trace 10"), ("show me the chat history", "/trace 10"), ("start a new project: garden", "note in garden.org:"), ("create a page for the boiler", "note in boiler.org:"), ("create a new file", "note in holidays.org:")])
def test_what_was_said_and_what_is_begun_is_told_by_its_name(text, told): assert told in said(text)


@pytest.mark.parametrize("text", ["what did I say about the roof", "what did we discuss about the dentist"])
def test_what_was_said_of_something_is_looked_for(text): assert payload(text)["tool"] == "org-find"
