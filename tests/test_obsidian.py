"Obsidian's ways of writing a task: what is read in call-outs and behind signs, and that an edit leaves the rest of the line and of the call-out alone"
import re
import time
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from test_first_hour import play
from test_reflex_turns import play as conversation
from passepartout.agenda import agenda, say_when
from passepartout.agent import Agent
from passepartout.capture import append_headline
from passepartout.confinement.resources import Root, resolve
from passepartout.indexing.index import Index
from passepartout.outline.diarydates import diary_dates
from passepartout.outline.insertions import insert_headline
from passepartout.outline.moves import archive, refile, refile_to
from passepartout.notes import parse_note
from passepartout.org import print_outline
from passepartout.outline.planning import schedule, unschedule
from passepartout.outline.timestamps import occurrences, stamps
from passepartout.outline.priorities import set_priority
from passepartout.outline.rewrite import RewriteError, change_tags, retitle
from passepartout.awareness.views import open_items
from passepartout.search import find
from passepartout.toolbelt.findtool import org_find
from passepartout.toolbelt.notesource import NoteSource
from passepartout.tools import ToolContext
from passepartout.outline.states import complete, set_state

NOON = datetime(2026, 11, 19, 12)
DAILY = """# 2026-11-19

- [ ] before
> [!todo]- Errands
> - [ ] post the parcel 📅 2026-11-20 ^p1
>   - [x] stamps ✅ 2026-11-18
>     of the old kind
> > - [<] deeper ⏳ 2026-11-21
> later

- [>] after
"""
SHAPES = {"blanks": DAILY, "windows": DAILY.replace("\n", "\r\n"), "no blank": DAILY.replace("> ", ">"), "no end": DAILY.rstrip("\n")}
tree = lambda outline: [(n.title, n.keyword, outline.nodes[n.parent].title) for n in outline.nodes[1:]]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_out_is_read_and_is_no_part_of_the_list_above_it(shape):
    outline = parse_note(SHAPES[shape], "2026-11-19.md")
    assert tree(outline) == [("2026-11-19", None, "2026-11-19"), ("before", "TODO", "2026-11-19"), ("post the parcel", "TODO", "2026-11-19"),
                             ("stamps", "DONE", "post the parcel"), ("deeper", "TODO", "post the parcel"), ("after", "TODO", "2026-11-19")]
    assert print_outline(outline) == SHAPES[shape]
    assert [(e.title, e.kind) for e in agenda([outline], date(2026, 11, 19), date(2026, 11, 22), date(2026, 11, 19))] == [("post the parcel", "deadline"), ("deeper", "scheduled")]


EDITS = {"done": lambda o, n: complete(o, n, now=NOON), "priority": lambda o, n: set_priority(o, n, "B"), "due": lambda o, n: schedule(o, n, date(2026, 12, 1), "deadline", now=NOON),
         "scheduled": lambda o, n: schedule(o, n, date(2026, 12, 1), now=NOON), "tag": lambda o, n: change_tags(o, n, ["mail"]), "title": lambda o, n: retitle(o, n, "send it")}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_edit_changes_one_line_and_leaves_the_anchor_last(shape, edit):
    outline = parse_note(SHAPES[shape], "2026-11-19.md")
    before, after = SHAPES[shape].split("\n"), EDITS[edit](outline, outline.nodes[3]).split("\n")
    assert [n for n, (old, new) in enumerate(zip(before, after)) if old != new] == [4] and len(before) == len(after)
    assert after[4].startswith(before[4][:2].rstrip()) and after[4].rstrip("\r").endswith(" ^p1")


def test_what_repeats_begins_again_without_the_anchor_and_in_the_call_out():
    outline = parse_note("> [!todo]\n> - [ ] water (repeat:: every 3 days) [due:: 2026-11-19] ^w\n", "x.md")
    assert (outline.nodes[1].title, agenda([outline], date(2026, 11, 22), date(2026, 11, 22), date(2026, 11, 19))[-1].title) == ("water", "water")
    assert complete(outline, outline.nodes[1], now=NOON) == ("> [!todo]\n> - [ ] water (repeat:: every 3 days) [due:: 2026-11-22]\n"
                                                             "> - [x] water (repeat:: every 3 days) [due:: 2026-11-19] (completion:: 2026-11-19) ^w\n")


@pytest.mark.parametrize("rule,day", [("every weekday", "2026-11-23"), ("every Monday", "2026-11-23"), ("every week on Tuesday, Friday", "2026-11-24"), ("every 3 weeks on Friday", "2026-12-11"),
                                      ("every month on the last", "2026-11-30"), ("every month on the 2nd last Friday", "2026-12-18"), ("every January on the 15th", "2027-01-15"), ("every other day", "2026-11-22"),
                                      ("every weekday when done", "2026-11-20"), ("every Sunday when done", "2026-11-22")])
@pytest.mark.parametrize("before,behind", [("🔁 ", ""), ("[repeat:: ", "]")])
def test_a_rule_of_the_plug_in_is_no_part_of_the_title_and_names_the_next_day(rule, day, before, behind):
    outline = parse_note(f"- [ ] bins {before}{rule}{behind} 📅 2026-11-20 ^b\n", "x.md")
    assert outline.nodes[1].title == "bins"
    assert complete(outline, outline.nodes[1], now=NOON) == (f"- [ ] bins {before}{rule}{behind} 📅 {day}\n- [x] bins {before}{rule}{behind} 📅 2026-11-20 ✅ 2026-11-19 ^b\n")


# What the plug-in itself answered, as it was run: Recurrence.fromText(rule).next(), version of August 2026, each rule from these three days.
FROM = ("2026-11-19", "2026-01-31", "2028-02-29")
ASKED = {"every month on the first friday": ("2026-12-04", "2026-02-06", "2028-03-03"), "every month on the third tuesday": ("2026-12-15", "2026-02-17", "2028-03-21"),
         "every month on the last day": ("2026-11-30", "2026-02-28", "2028-03-31"), "every month on the 1st day": ("2026-12-01", "2026-02-01", "2028-03-01"),
         "every month on friday": ("2026-11-20", "2026-02-06", "2028-03-03"), "every 2 months on tuesday": ("2026-11-24", "2026-03-03", "2028-04-04"), "every month on the tuesday": ("2026-11-24", "2026-02-03", "2028-03-07"),
         "every january": ("2027-01-19", "2027-01-31", "2029-01-29"), "every january and july": ("2027-01-19", "2026-07-31", "2028-07-29"),
         "every week on the monday": ("2026-11-23", "2026-02-02", "2028-03-06"), "every thurs": ("2026-11-26", "2026-02-05", "2028-03-02"), "every mo": ("2026-11-23", "2026-02-02", "2028-03-06"), "every tues, sa": ("2026-11-21", "2026-02-03", "2028-03-04")}


@pytest.mark.parametrize("rule", ASKED)
def test_a_rule_names_the_day_that_the_plug_in_itself_named(rule):
    for first, coming in zip(FROM, ASKED[rule]):
        outline = parse_note(f"- [ ] bins 🔁 {rule} 📅 {first}\n", "x.md")
        assert outline.nodes[1].title == "bins"
        assert complete(outline, outline.nodes[1], now=NOON).split("\n")[0] == f"- [ ] bins 🔁 {rule} 📅 {coming}"


def test_a_month_that_has_no_such_day_ends_earlier_also_where_the_months_are_named():
    outline = parse_note("- [ ] tax 🔁 every april 📅 2026-01-31\n", "x.md")      # the plug-in writes “Invalid date”
    assert complete(outline, outline.nodes[1], now=NOON).startswith("- [ ] tax 🔁 every april 📅 2026-04-30\n")


def test_a_rule_with_days_is_shown_on_no_day_that_it_does_not_name():
    days = lambda rule: [e.day.isoformat() for e in agenda([parse_note(f"- [ ] a 🔁 {rule} 📅 2026-11-27\n", "x.md")], date(2026, 11, 27), date(2027, 1, 31), date(2026, 11, 27)) if e.kind == "deadline"]
    assert days("every month on the last Friday") == ["2026-11-27"] and days("every month")[:2] == ["2026-11-27", "2026-12-27"]


@pytest.mark.parametrize("rule", ["every second friday", "every day on the 3rd", "every week except in summer", "every monday morning", "every month on the 1st and 3rd monday", "every month on the 0th"])
def test_a_rule_that_is_not_understood_moves_nothing(rule):
    outline = parse_note(f"- [ ] bins 🔁 {rule} 📅 2026-11-20\n", "x.md")
    with pytest.raises(RewriteError, match="not understood"): complete(outline, outline.nodes[1], now=NOON)


def test_the_due_date_counts_before_the_planned_one_and_that_before_the_first_day():
    outline = parse_note("- [ ] rent 🛫 2026-01-01 ⏳ 2026-01-29 📅 2026-01-31 🔁 every month\n- [ ] tax 🛫 2026-01-01 ⏳ 2026-01-31 🔁 every month\n", "x.md")
    assert [complete(outline, node, now=NOON).split("\n")[node.index - 1] for node in outline.nodes[1:]] == [
        "- [ ] rent 🛫 2026-01-29 ⏳ 2026-02-26 📅 2026-02-28 🔁 every month", "- [ ] tax 🛫 2026-01-29 ⏳ 2026-02-28 🔁 every month"]


def test_what_is_opened_again_is_no_longer_done():
    outline = parse_note("- [x] a ✅ 2026-11-18 ^a\n- [-] b ❌ 2026-11-18\n- [x] c [completion:: 2026-11-18]\n", "x.md")
    assert [set_state(outline, n, "TODO", now=NOON).split("\n")[n.index - 1] for n in outline.nodes[1:]] == ["- [ ] a ^a", "- [ ] b", "- [ ] c"]


@pytest.mark.parametrize("line,title", [("call 🆔 abc ⛔ d1,d2 🏁 delete", "call"), ("call [id:: abc] (dependsOn:: d1, d2)", "call"), ("call [priority:: highest]", "call"), ("call ^a-1", "call"),
                                        ("2^10 is much", "2^10 is much"), ("a ^b c", "a ^b c"), ("std::vector [x:: y]", "std::vector [x:: y]"), ("^only", "")])
def test_signs_and_fields_are_no_words_of_the_title(line, title):
    assert parse_note(f"- [ ] {line}\n", "x.md").nodes[1].title == title


def test_what_is_done_bears_its_date_where_others_do_and_loses_it_again():
    text = "> - [x] a (completion:: 2026-11-18)\n- [ ] b #post\n- [x] c [completion:: 2026-11-17]\n"
    outline = parse_note(text, "x.md")
    done = complete(outline, outline.nodes[2], now=NOON)
    assert done == text.replace("[ ] b #post", "[x] b #post (completion:: 2026-11-19)")
    again = parse_note(done, "x.md")
    assert set_state(again, again.nodes[2], "TODO", now=NOON) == text
    for quiet in ("- [x] a\n- [ ] b\n", "the ✅ 2026-11-18 in a text\n- [ ] b\n", "- [ ] a ✅ 2026-11-18\n- [ ] b\n"):
        outline = parse_note(quiet, "x.md")
        assert complete(outline, outline.nodes[-1], now=NOON) == quiet[:-6] + "[x] b\n"


def test_code_in_a_call_out_is_code_and_ends_with_it():
    text = "> ```\n> - [ ] code\n\n- [ ] one\n> ~~~\n> - [ ] code\n> ~~~\n> - [ ] two\n```\n> - [ ] code\n```\n> # no heading\n> - [*] star\n- [ ] three\n"
    assert [n.title for n in parse_note(text, "x.md").nodes[1:]] == ["one", "two", "three"]


def test_a_task_leaves_its_call_out_and_cuts_none():
    outline, other = parse_note(DAILY, "2026-11-19.md"), parse_note("# X\n> [!todo]\n> - [ ] x\n> text\n", "x.md")
    left, there = refile_to(outline, outline.nodes[3], other, other.nodes[1])
    assert there == "# X\n> [!todo]\n> - [ ] x\n> text\n- [ ] post the parcel 📅 2026-11-20 ^p1\n  - [x] stamps ✅ 2026-11-18\n    of the old kind\n> - [<] deeper ⏳ 2026-11-21\n"
    assert left == DAILY[:DAILY.index("> - [ ] post")] + DAILY[DAILY.index("> later"):]
    assert refile(outline, outline.nodes[5], outline.nodes[1]).endswith("- [>] after\n- [<] deeper ⏳ 2026-11-21\n")
    assert archive(outline, outline.nodes[5], None, now=NOON, where="x")[1].startswith("- [<] deeper ⏳ 2026-11-21\n")


def test_a_new_task_joins_the_list_of_the_section_and_else_the_call_out():
    outline = parse_note(DAILY, "2026-11-19.md")
    assert insert_headline(outline, outline.nodes[1], "new", kind="task") == DAILY + "- [ ] new\n"
    only = parse_note("> [!todo]\n> - [ ] x\n", "x.md")
    assert insert_headline(only, only.nodes[0], "new", kind="task") == "> [!todo]\n> - [ ] x\n> - [ ] new\n"
    assert append_headline(b"> [!todo]\n> - [ ] x\n", "new", file="x.md", kind="task") == b"> [!todo]\n> - [ ] x\n\n- [ ] new\n"


@pytest.mark.parametrize("notes,place,text", [
    (("Daily/2026-11-19.md", "Roof.md"), "inbox.md", "- [ ] buy milk 📅 2026-11-20\n\n## the fig is wrapped\n\n## hello\n"),
    (("Notes/Inbox.md", "a.org"), "Notes/Inbox.md", "x\n\n- [ ] buy milk 📅 2026-11-20\n\n## the fig is wrapped\n\n## hello\n"),
    (("pages/roof.md", "journals/2026_11_18.md"), "pages/inbox.md", "- TODO buy milk\n  DEADLINE: <2026-11-20 Fri>\n- the fig is wrapped\n- hello\n"),
    (("a.md", "b.org"), "inbox.org", "* TODO buy milk\nDEADLINE: <2026-11-20 Fri>\n* the fig is wrapped\n* hello\n")])
async def test_what_has_no_place_goes_where_these_notes_are_read(tmp_path, notes, place, text):
    memex = tmp_path / "memex"
    for name in notes: (memex / name).parent.mkdir(parents=True, exist_ok=True); (memex / name).write_text("x\n")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path, today="2026-11-19")
    for said in ("todo buy milk by friday", "note: the fig is wrapped; note: hello"): assert place in await agent.handle(said)
    await agent.close()
    assert (memex / place).read_text() == text and sum(path.is_file() for path in memex.rglob("*")) == len({*notes, place})


@pytest.mark.parametrize("file,text", [("Ana Souza.md", "---\naliases: [Nana, Ana S]\n---\nLives in Lisbon.\n"), ("Ana Souza.md", "---\naliases: Ana S, Nana\n---\n# Ana\nLives in Lisbon.\n"),
                                       ("pages/Ana Souza.md", "alias:: Ana S, [[Nana]]\n\n- Lives in Lisbon.\n"), ("ana.org", ":PROPERTIES:\n:ROAM_ALIASES: \"Ana S\" Nana\n:END:\n#+TITLE: Ana Souza\nLives in Lisbon.\n"),
                                       ("people.org", "* Ana Souza\n:PROPERTIES:\n:ROAM_ALIASES: Nana\n:END:\nLives in Lisbon.\n")])
async def test_who_has_several_names_is_found_by_each(tmp_path, file, text):
    memex = tmp_path / "memex"
    (memex / file).parent.mkdir(parents=True); (memex / file).write_text(text)
    (memex / "other.md").write_text("# Other\nNothing.\n")
    assert [hit.file for hit in find([parse_note(text, file)], "nana").hits] == [file]
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path, today="2026-11-19")
    assert "Lives in Lisbon" in await agent.handle("who is Nana?")
    await agent.close()


@pytest.mark.parametrize("notes,inbox", [(["Daily/2026-11-19.md", "Roof.md"], "inbox.md"), (["Roof.md", "Notes/Inbox.md"], "Notes/Inbox.md"), (["pages/roof.md", "journals/2026_11_19.md"], "pages/inbox.md"), (["Roof.md", "a.org"], "inbox.org"), ([], "inbox.org")])
async def test_a_model_that_names_no_file_means_the_inbox_of_these_notes(tmp_path, notes, inbox):
    for name in notes:
        (tmp_path / "m" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "m" / name).write_text("x\n")
    (tmp_path / "m").mkdir(exist_ok=True)
    for _ in range(2):                                       # before there is an index, and with it
        agent = await Agent.boot(memex_dir=tmp_path / "m", state_dir=tmp_path / "s", cache_dir=tmp_path / "k", config_dir=tmp_path / "c")
        assert agent.tools.get("org-capture").by_name["file"].default == inbox
        await agent.handle("find x")
        await agent.close()


PLUG_IN = r"(?:(?:⏳|📅|🛫|✅) *\d{4}-\d{2}-\d{2}|🔁 ?[a-zA-Z0-9, !]+|[🔺⏫🔼🔽⏬]|#\S+)$"      # what the plug-in takes off the end of a line, one after the other

def seen_by_the_plug_in(line):
    "The words of a task and its signs, as the plug-in reads them."
    line, found = line.removeprefix("- [ ] ").strip(), []
    while sign := re.search(PLUG_IN, line): found.append(sign[0].strip()); line = line[:sign.start()].strip()
    return line, set(found)


@pytest.mark.parametrize("text, day", [("call Ana 9:30 ⏳ 2026-11-20", datetime(2026, 11, 20, 9, 30)), ("call Ana ⏳ 2026-11-20 09:30", datetime(2026, 11, 20, 9, 30)), ("call Ana ⏫ 09:30 📅 2026-11-20 #a", datetime(2026, 11, 20, 9, 30))])
def test_an_hour_stands_before_the_sign_or_after_the_day(text, day):
    outline = parse_note(f"- [ ] {text}\n", "x.md")
    (stamp,) = stamps(outline)
    assert (outline.nodes[1].title, datetime.combine(stamp.day, stamp.at)) == ("call Ana", day)


@pytest.mark.parametrize("line", ["call Ana", "call Ana #home", "call Ana ⏫", "call Ana 📅 2026-11-25", "call Ana ⏳ 2026-11-18", "call Ana ⏳ 2026-11-18 08:00", "call Ana 08:00 ⏳ 2026-11-18", "call Ana 🔁 every week 📅 2026-11-25", "call Ana 📅 2026-11-25 ⏳ 2026-11-18 #a", "call Ana 🔁 every week ⏳ 2026-11-18"])
def test_the_plug_in_still_reads_all_of_a_task_with_an_hour(line):
    outline = parse_note(f"- [ ] {line}\n", "x.md")
    after = schedule(outline, outline.nodes[1], datetime(2026, 11, 20, 9, 30), now=NOON)
    words, signs = seen_by_the_plug_in(after.strip())
    kept = {sign for sign in seen_by_the_plug_in(line.replace(" 08:00", "").replace("08:00 ", ""))[1] if "⏳" not in sign}
    assert words == "call Ana 09:30" and signs == kept | {"⏳ 2026-11-20"}
    again = parse_note(after, "x.md")
    assert again.nodes[1].title == "call Ana" and schedule(again, again.nodes[1], date(2026, 11, 21), now=NOON) == after.replace("2026-11-20", "2026-11-21")
    assert "09:30" not in unschedule(again, again.nodes[1])


@pytest.mark.parametrize("repeat", ["", "+1w", "+3d"])
def test_a_new_task_with_an_hour_is_read_by_the_plug_in(repeat):
    line = append_headline(b"", "call Ana", file="x.md", kind="task", scheduled=datetime(2026, 11, 20, 9, 30), repeat=repeat).decode().strip()
    words, signs = seen_by_the_plug_in(line)
    assert words == "call Ana 09:30" and "⏳ 2026-11-20" in signs and len(signs) == 1 + bool(repeat)


@pytest.mark.parametrize("text, done", [("- [ ] a 📅 2026-11-20\n", " ✅ 2026-11-19"), ("- [ ] a ⏳ 2026-11-20 #x\n- [ ] b\n", " ✅ 2026-11-19"), ("- [ ] a [due:: 2026-11-20]\n", " [completion:: 2026-11-19]"), ("- [ ] a\n- [ ] b 📅 2026-11-20\n", ""),
                                        ("- [ ] a 📅 2026-11-20\n- [x] b 📅 2026-11-18\n", ""), ("- [ ] a due: 2026-11-20\n", ""), ("- [ ] a @{2026-11-20}\n", "")])
def test_a_task_of_the_plug_in_bears_the_day_on_which_it_was_done_unless_others_bear_none(text, done):
    outline = parse_note(text, "x.md")
    line, _, rest = text.partition("\n")
    assert complete(outline, outline.nodes[1], now=NOON) == f"{line.replace('[ ]', '[x]')}{done}\n{rest}"


# A sign as phones write it has an invisible mark behind it (U+FE0F), the hourglass comes empty or full, and a field may have blanks in its brackets and a comma behind them: all as the plug-in's code has it.
@pytest.mark.parametrize("line,kind", [("⏳\ufe0f 2026-11-20", "scheduled"), ("⌛ 2026-11-20", "scheduled"), ("📅\ufe0f 2026-11-20", "deadline"), ("🗓\ufe0f 2026-11-20 ⏫\ufe0f", "deadline"), ("🔁\ufe0f every week 📅 2026-11-20", "deadline"),
                                       ("[ due:: 2026-11-20 ]", "deadline"), ("[due:: 2026-11-20], [priority:: high]", "deadline"), ("[due:: [[2026-11-20]]]", "deadline"), ("( scheduled::2026-11-20 ),", "scheduled"), ("[cancelled:: 2026-11-20]", "closed"),
                                       ("📅 2026-11-20 ⛔\ufe0f d1 , d2 🆔 ab", "deadline"), ("[ repeat:: every week ], [ due:: 2026-11-20 ], [ id:: ab ]", "deadline")])
def test_a_sign_is_read_as_the_plug_in_reads_it(line, kind):
    outline = parse_note(f"- [ ] call {line}\n", "x.md")
    assert outline.nodes[1].title == "call"
    assert [(s.kind, s.day, s.repeat is not None) for s in stamps(outline)] == [(kind, date(2026, 11, 20), "every week" in line)]
    assert (outline.nodes[1].priority == "A") == ("⏫" in line or "high" in line)


def test_a_comma_after_a_field_is_a_part_of_the_sentence_where_words_follow():
    assert parse_note("- [ ] call (due: 2026-11-20), then go\n", "x.md").nodes[1].title == "call , then go"
    assert parse_note("- [ ] love ❤\ufe0f her\n", "x.md").nodes[1].title == "love ❤\ufe0f her"


@pytest.mark.parametrize("old,new", [("call ⏫\ufe0f #a", "call 🔽 #a"), ("call 🔼", "call 🔽"), ("call ⏫\ufe0f", "call")])
def test_a_sign_and_its_invisible_mark_are_changed_together(old, new):
    outline = parse_note(f"- [ ] {old}\n", "x.md")
    assert set_priority(outline, outline.nodes[1], "C" if "🔽" in new else "") == f"- [ ] {new}\n"


# What the plug-in itself left: Task.handleNewStatus(DONE); the order of the signs is ours, which is that of the line.
@pytest.mark.parametrize("line,again,done", [
    ("call 📅 2026-11-20 🔁 every week ➕ 2026-11-01 🆔 abc ⛔ d1 🏁 keep #a ^x", "call 📅 2026-11-27 🔁 every week 🏁 keep #a", "call 📅 2026-11-20 🔁 every week ➕ 2026-11-01 🆔 abc ⛔ d1 🏁 keep #a ✅ 2026-11-19 ^x"),
    ("call [repeat:: every week] [due:: 2026-11-20] [created:: 2026-11-01] [id:: abc] [dependsOn:: x]", "call [repeat:: every week] [due:: 2026-11-27]", "call [repeat:: every week] [due:: 2026-11-20] [created:: 2026-11-01] [id:: abc] [dependsOn:: x] [completion:: 2026-11-19]"),
    ("call 🔁 every week 📅 2026-11-20 ✅ 2026-11-12", "call 🔁 every week 📅 2026-11-27", "call 🔁 every week 📅 2026-11-20 ✅ 2026-11-19"),
    ("call (repeat:: every week) (due:: 2026-11-20)", "call (repeat:: every week) (due:: 2026-11-27)", "call (repeat:: every week) (due:: 2026-11-20) (completion:: 2026-11-19)"),
    ("call 🔁 every week", "call 🔁 every week", "call 🔁 every week ✅ 2026-11-19"), ("call #a [repeat:: every day when done]", "call #a [repeat:: every day when done]", "call #a [repeat:: every day when done] [completion:: 2026-11-19]")])
def test_what_begins_again_is_written_as_the_plug_in_writes_it(line, again, done):
    outline = parse_note(f"- [ ] {line}\n", "x.md")
    assert complete(outline, outline.nodes[1], now=NOON) == f"- [ ] {again}\n- [x] {done}\n"


# As the plug-in's handleOnCompletion has it: the finished line goes, and what it was the first of goes on.
@pytest.mark.parametrize("text,after", [
    ("- [ ] a 📅 2026-11-20 🏁 delete #x\n- [ ] b\n", "- [ ] b\n"), ("# T\r\n- [ ] a [onCompletion:: delete]\r\nwords\r\n", "# T\r\nwords\r\n"), ("- [ ] b\n- [ ] a 🏁\ufe0f Delete", "- [ ] b\n"),
    ("- [ ] a 🔁 every week 📅 2026-11-20 🏁 delete ^x\n  - [ ] part\n- [ ] b\n", "- [ ] a 🔁 every week 📅 2026-11-27 🏁 delete ^x\n  - [ ] part\n- [ ] b\n"),
    ("- [ ] a 🏁 delete\n  - [ ] part\n", "- [x] a 🏁 delete\n  - [ ] part\n"), ("- [ ] a 🏁 delete\n  a line\n", "- [x] a 🏁 delete\n  a line\n"),
    ("- [ ] a 🏁 keep\n", "- [x] a 🏁 keep\n"), ("- [ ] a 🏁 delete the rest\n", "- [x] a 🏁 delete the rest\n"), ("- [ ] a `🏁 delete`\n", "- [x] a `🏁 delete`\n")])
def test_a_task_that_says_so_is_gone_when_it_is_done(text, after):
    outline = parse_note(text, "x.md")
    node = next(n for n in outline.nodes if n.title.startswith("a"))
    assert complete(outline, node, now=NOON).replace(" ✅ 2026-11-19", "") == after
    assert "[-] a" in set_state(outline, node, "CANCELLED", now=NOON)


@given(st.lists(st.sampled_from(["- [ ] b", "  - [ ] c", "words", "", "# H", "- [x] d 🏁 delete", "> - [ ] q"]), max_size=6), st.lists(st.sampled_from(["- [ ] b", "  - [ ] c", "  words", "words", "", "# H", "---"]), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_with_the_line_of_a_task_no_other_one_goes(above, below, end):
    lines = [*above, "- [ ] a 🏁 delete", *below]
    outline = parse_note(end.join(lines) + end, "x.md")
    node = next((n for n in outline.nodes if n.title == "a"), None)
    if node is None: return                                                                      # in code, behind a list
    try: after = complete(outline, node, now=NOON)
    except RewriteError: return
    assert after in (end.join([*above, *below]) + end * bool(above or below), outline.text.replace("- [ ] a 🏁 delete", "- [x] a 🏁 delete"),
                     outline.text.replace("- [ ] a 🏁 delete", "- [x] a 🏁 delete ✅ 2026-11-19"))


@pytest.mark.parametrize("line,state,after", [("[ ] a 📅 2026-11-20", "CANCELLED", "[-] a 📅 2026-11-20 ❌ 2026-11-19"), ("[ ] a [due:: 2026-11-20]", "CANCELLED", "[-] a [due:: 2026-11-20] [cancelled:: 2026-11-19]"), ("[ ] a", "CANCELLED", "[-] a"),
                                              ("[-] a ❌ 2026-11-18", "DONE", "[x] a ✅ 2026-11-19"), ("[x] a [completion:: 2026-11-18]", "CANCELLED", "[-] a [cancelled:: 2026-11-19]"), ("[-] a [cancelled:: 2026-11-18] 📅 2026-11-20", "TODO", "[ ] a 📅 2026-11-20")])
def test_what_is_cancelled_bears_the_day_as_what_is_done_does(line, state, after):
    outline = parse_note(f"- {line}\n", "x.md")
    assert set_state(outline, outline.nodes[1], state, now=NOON) == f"- {after}\n"


# In a task with fields, or a file with fields, a sign would end what the plug-in reads of the line.
@pytest.mark.parametrize("line,edit,after", [
    ("a [due:: 2026-11-20]", lambda o: schedule(o, o.nodes[1], date(2026, 11, 19), now=NOON), "a [due:: 2026-11-20] [scheduled:: 2026-11-19]"),
    ("a (scheduled:: 2026-11-20) #x", lambda o: schedule(o, o.nodes[1], date(2026, 11, 21), "deadline", now=NOON), "a (scheduled:: 2026-11-20) #x (due:: 2026-11-21)"),
    ("a\n- [ ] b [due:: 2026-11-20]", lambda o: schedule(o, o.nodes[1], date(2026, 11, 21), "deadline", now=NOON), "a [due:: 2026-11-21]\n- [ ] b [due:: 2026-11-20]"),
    ("a 📅 2026-11-20\n- [ ] b [due:: 2026-11-20]", lambda o: schedule(o, o.nodes[1], date(2026, 11, 19), now=NOON), "a 📅 2026-11-20 ⏳ 2026-11-19\n- [ ] b [due:: 2026-11-20]"),
    ("a [due:: 2026-11-20]", lambda o: set_priority(o, o.nodes[1], "A"), "a [due:: 2026-11-20] [priority:: high]"),
    ("a [due:: 2026-11-20]", lambda o: schedule(o, o.nodes[1], datetime(2026, 11, 21, 9, 30), "deadline", now=NOON), "a 09:30 [due:: 2026-11-21]"),
    ("a [due:: 2026-11-20] #x", lambda o: schedule(o, o.nodes[1], datetime(2026, 11, 21, 9, 30), now=NOON), "a 09:30 [scheduled:: 2026-11-21] [due:: 2026-11-20] #x"),
    ("a [due:: 2026-11-20T08:00]", lambda o: schedule(o, o.nodes[1], datetime(2026, 11, 21, 9, 30), "deadline", now=NOON), "a [due:: 2026-11-21T09:30]")])
def test_a_task_with_fields_gets_fields(line, edit, after):
    assert edit(parse_note(f"- [ ] {line}\n", "x.md")) == f"- [ ] {after}\n"


def test_an_hour_before_a_field_is_its_hour():
    outline = parse_note("- [ ] call Ana 09:30 [due:: 2026-11-20]\n", "x.md")
    assert outline.nodes[1].title == "call Ana" and [f"{s.day} {s.at}" for s in stamps(outline)] == ["2026-11-20 09:30:00"]


def test_a_new_task_joins_tasks_with_fields_in_their_way():
    text = "- [ ] a [due:: 2026-11-20] [priority:: low]\n"
    add = lambda title, **more: append_headline(text.encode(), title, file="x.md", kind="task", **more).decode().removeprefix(text)
    assert add("b", deadline=date(2026, 11, 21), repeat="+2w") == "- [ ] b [repeat:: every 2 weeks] [due:: 2026-11-21]\n"
    assert add("b ⏫", scheduled=datetime(2026, 11, 21, 9, 30)) == "- [ ] b 09:30 [scheduled:: 2026-11-21] [priority:: high]\n"
    assert append_headline(b"", "b", file="x.md", kind="task", deadline=date(2026, 11, 21)) == "- [ ] b 📅 2026-11-21\n".encode()


def test_what_is_on_hold_waits():
    outline = parse_note("- [h] plumber 📅 2026-11-20\n- [H] heading\n", "x.md")
    assert tree(outline) == [("plumber", "WAITING", "x")]
    assert complete(outline, outline.nodes[1], now=NOON).startswith("- [x] plumber 📅 2026-11-20 ✅ 2026-11-19\n")


@pytest.mark.parametrize("matter, day, expected", [
    ("start: 2026-11-18\nend: 2026-11-21", "2026-11-20", "day 3 of 4"), ("start: 2026-11-18\nend: 2026-11-21", "2026-11-30", ""), ('start: "[[2026-11-20]]"', "2026-11-20", "all day"),
    ("date: 2026-11-20\nallDay: false\nstartTime: 10:00\nendTime: 11:30", "2026-11-20", "10:00-11:30"), ("date: 2026-11-20\nallDay: true\nendDate: 2026-11-22", "2026-11-20", "day 1 of 3"),
    ("date: 2026-11-20", "2026-11-20", ""), ("due: 2026-11-20", "2026-11-20", "due"), ("start: 2026-11-20\nend: 2026-11-01", "2026-11-20", "all day"), ("start: 2026-02-30", "2026-11-20", "")])
def test_a_page_is_an_appointment_by_its_front_matter(matter, day, expected):
    outline, day = parse_note(f"---\n{matter}\n---\ntext\n", "Trip.md"), date.fromisoformat(day)
    assert [say_when(item) for item in agenda([outline], day, day, day)] == [expected][:bool(expected)]


# Both the plug-in and Logseq write the last day of a month that is too short, and count from there on.
@pytest.mark.parametrize("text,days", [("- [ ] rent 📅 2026-01-31 🔁 every month\n", ["02-28", "03-28", "04-28"]), ("- TODO rent\n  DEADLINE: <2026-01-31 Sat +1m>\n", ["02-28", "03-28", "04-28"]), ("- [ ] rent 📅 2026-12-31 🔁 every 2 months\n", ["02-28", "04-28", "06-28"]),
                                       ("- TODO rent\n  DEADLINE: <2028-02-29 Tue +1y>\n", ["02-28", "02-28", "02-28"]), ("- [ ] rent 📅 2026-01-30 🔁 every 3 months\n", ["04-30", "07-30", "10-30"])])
def test_the_agenda_shows_the_day_to_which_a_task_is_moved_when_it_is_done(text, days):
    outline, moved = parse_note(text, "x.md"), []
    (first,) = stamps(outline)
    again = outline
    for _ in days:
        again = parse_note(complete(again, again.nodes[1], now=NOON), "x.md")
        moved.append(f"{stamps(again)[0].day:%m-%d}")
    shown = [f"{day:%m-%d}" for day in occurrences(first, first.day + timedelta(1), date(first.day.year + 4, 1, 1))]
    assert moved == days == shown[:3]


async def test_the_index_shows_it_too(tmp_path):
    (tmp_path / "m").mkdir(); (tmp_path / "m" / "a.md").write_text("- [ ] rent 📅 2027-01-31 🔁 every month\n")
    agent = await Agent.boot(memex_dir=tmp_path / "m", state_dir=tmp_path / "s", cache_dir=tmp_path / "k", config_dir=tmp_path / "c", today="2026-11-19")
    assert "28 Feb" in (answer := str(await agent.handle("agenda february 2027"))) and "rent" in answer and "rent" not in str(await agent.handle("agenda from 1 march 2027 to 5 march 2027"))
    await agent.close()


def test_a_task_of_logseq_may_be_shown_as_a_heading():
    outline = parse_note("- ## TODO [#A] call Ana\n  SCHEDULED: <2026-11-20 Fri>\n\t- # DONE pay\n- ## Notes\n", "pages/x.md")
    assert tree(outline) == [("call Ana", "TODO", "x"), ("pay", "DONE", "call Ana")]
    assert complete(outline, outline.nodes[1], now=NOON) == outline.text.replace("TODO", "DONE")
    assert retitle(outline, outline.nodes[1], "ring her").startswith("- ## TODO [#A] ring her\n")


# A task after the note that was captured before it was read as a part of that note, and was archived with it.
@pytest.mark.parametrize("text,after", [
    ("- [ ] a\n\n## fig\n\n## hello\n", "- [ ] a\n- [ ] new\n\n## fig\n\n## hello\n"), ("## fig\nis wrapped\n", "- [ ] new\n\n## fig\nis wrapped\n"), ("# Inbox\n\n## fig\n", "# Inbox\n\n- [ ] new\n\n## fig\n"),
    ("# Inbox\n- [ ] a 📅 2026-11-20\n  - [x] b\n    more\n\n## fig\n", "# Inbox\n- [ ] a 📅 2026-11-20\n  - [x] b\n    more\n- [ ] new\n\n## fig\n"), ("---\ntags: x\n---\n\n## fig\n", "---\ntags: x\n---\n\n- [ ] new\n\n## fig\n"),
    ("# 2026-11-19\n\n## Tasks\n- [ ] a\n\n## Notes\n", "# 2026-11-19\n\n## Tasks\n- [ ] a\n- [ ] new\n\n## Notes\n"), ("\ufeff## fig\r\nä\r\n", "\ufeff- [ ] new\r\n\r\n## fig\r\nä\r\n"),
    ("# Bags\n- [ ] socks\n", "# Bags\n- [ ] socks\n- [ ] new\n"), ("- [ ] a\n## Done\n- [x] b\n", "- [ ] a\n## Done\n- [x] b\n- [ ] new\n"), ("Some words.\n", "Some words.\n\n- [ ] new\n"), ("# Roof\nSome words.\n", "# Roof\nSome words.\n\n- [ ] new\n"),
    ("> - [ ] quoted\n\n## fig\n", "> - [ ] quoted\n\n- [ ] new\n\n## fig\n"), ("- [x] old\n\n## fig\n", "- [x] old\n- [ ] new\n\n## fig\n")])
def test_a_new_task_is_no_part_of_the_note_before_it(text, after):
    assert append_headline(text.encode(), "new", file="inbox.md", kind="task").decode() == after
    read = parse_note(after.removeprefix("\ufeff"), "inbox.md")
    assert not {n.title for n in read.lineage(next(n for n in read.nodes if n.title == "new"))} & {"fig", "hello", "Notes"}


def test_the_place_of_a_new_task_takes_no_byte_from_an_old_file():
    old = "- [ ] Käse\n\n## Müll\n".encode("latin-1")
    assert append_headline(old, "new", file="inbox.md", kind="task") == old.replace(b"\n\n", b"\n- [ ] new\n\n")
    wide = "- [ ] a\n\n## fig\n".encode("utf-16")
    assert append_headline(wide, "new", file="inbox.md", kind="task").decode("utf-16") == "- [ ] a\n- [ ] new\n\n## fig\n"


async def test_what_is_in_a_template_is_not_to_be_done_yet(tmp_path):
    "Of all who list tasks and dates, with an index and without; it is found, and says what it is."
    for name, text in (("Templates/Day.md", "# Day\n- [ ] water the plants 📅 2026-11-20\n"), ("pages/meeting.md", "- Meeting\n  template:: meeting\n\t- TODO write the agenda\n\t  SCHEDULED: <2026-11-20 Fri>\n- TODO call Ana\n"),
                       ("Vorlagen/a.org", "* TODO Vorlage\nDEADLINE: <2026-11-20 Fri>\n"), ("books.md", "# Books\n- [ ] Emma\n")):
        (tmp_path / "m" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "m" / name).write_text(text)
    agent = await Agent.boot(memex_dir=tmp_path / "m", state_dir=tmp_path / "s", cache_dir=tmp_path / "k", config_dir=tmp_path / "c", today="2026-11-19")
    for question in ("agenda this week", "what are my open tasks", "what is due tomorrow"):
        said = str(await agent.handle(question))
        assert not any(words in said for words in ("plants", "write the agenda", "Vorlage")), (question, said)
    assert "call Ana" in str(await agent.handle("open tasks"))
    assert "(template)" in str(await agent.handle("find plants"))
    await agent.close()
    read = [parse_note(file.read_text(), str(file.relative_to(tmp_path / "m"))) for file in sorted((tmp_path / "m").rglob("*.*"))]
    assert agenda(read, date(2026, 11, 16), date(2026, 11, 30), date(2026, 11, 19)) == []
    assert [item.title for item in open_items(read)] == ["Emma", "call Ana"]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_template_is_found_after_all_else(tmp_path, indexed):
    "It repeats the words of everything that is made from it, and often in a title."
    for name, text in (("Templates/Film.md", "# Films\nfilms\n## Films\n"), ("Notes/evening.md", "# Evening\n- talked with Ana about old films\n"), ("Notes/list.md", "# Attic\n## COMMENT Films\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    index = Index(root := Root(tmp_path))
    index.refresh()
    found = org_find("films", 8, ToolContext({"folder": resolve([root], ".", "tree")}, now=datetime(2026, 11, 19), today=date(2026, 11, 19)), NoteSource(index=index) if indexed else NoteSource(), ())
    assert [hit["file"] for hit in found.data] == ["Notes/list.md", "Notes/evening.md", "Templates/Film.md", "Templates/Film.md"] and "\n3. Templates/Film.md:1  Films (template)\n" in found.content


@pytest.mark.slow
@pytest.mark.parametrize("one", ["- template:: a\n- TODO x\n", "template::\n", "\t- TODO a\n", "- \n  template:: b\n"])
def test_templates_are_looked_for_in_proportion(one):
    def took(times):
        start = time.process_time()
        parse_note(one * times + "template::", "pages/a.md")
        return time.process_time() - start
    assert took(16000) < 100 * max(took(800), 0.002)           # the square would be 400


@pytest.mark.parametrize("line,edit,after", [("a [priority:: low]", lambda o: schedule(o, o.nodes[1], date(2026, 11, 21), now=NOON), "a [priority:: low] [scheduled:: 2026-11-21]"), ("a (id:: abc) #x", lambda o: schedule(o, o.nodes[1], datetime(2026, 11, 21, 9, 30), "deadline", now=NOON), "a 09:30 (due:: 2026-11-21) (id:: abc) #x"),
                                             ("a\n- [ ] b [priority:: low]", lambda o: set_priority(o, o.nodes[1], "A"), "a [priority:: high]\n- [ ] b [priority:: low]"), ("a ⏫\n- [ ] b [priority:: low]", lambda o: schedule(o, o.nodes[1], date(2026, 11, 21), now=NOON), "a ⏫ ⏳ 2026-11-21\n- [ ] b [priority:: low]")])
def test_a_field_that_is_no_date_shows_that_fields_are_written(line, edit, after):
    assert edit(parse_note(f"- [ ] {line}\n", "x.md")) == f"- [ ] {after}\n"


# The plug-in has two dates here, on one of which a task may be begun (🛫), and on the other it is planned (⏳).
@pytest.mark.parametrize("line,after", [("a 🛫 2026-11-01 ⏳ 2026-11-25 📅 2026-11-30", "a 🛫 2026-11-01 ⏳ 2026-12-01 📅 2026-11-30"), ("a [scheduled:: 2026-11-25] [start:: 2026-11-01]", "a [scheduled:: 2026-12-01] [start:: 2026-11-01]"), ("a 🛫 2026-11-01", "a 🛫 2026-12-01")])
def test_what_is_planned_is_moved_and_not_when_it_may_begin(line, after):
    outline = parse_note(f"- [ ] {line}\n", "x.md")
    assert schedule(outline, outline.nodes[1], date(2026, 12, 1), now=NOON) == f"- [ ] {after}\n"


def test_the_day_on_which_a_planned_task_may_begin_is_not_on_the_agenda():
    shown = lambda line: [(e.kind, e.due.isoformat()) for e in agenda([parse_note(f"- [ ] {line}\n", "x.md")], date(2026, 11, 19), date(2026, 11, 26), date(2026, 11, 19)) if e.kind == "scheduled"]
    assert shown("a 🛫 2026-11-01 ⏳ 2026-11-25") == shown("a ⏳ 2026-11-25") == [("scheduled", "2026-11-25")] and shown("a 🛫 2026-11-18") == [("scheduled", "2026-11-18")]


async def test_such_a_task_is_put_off_by_its_plan(tmp_path):
    (tmp_path / "m").mkdir(); (tmp_path / "m" / "a.md").write_text("- [ ] boiler 🛫 2026-11-01 ⏳ 2026-11-25\n")
    agent = await Agent.boot(memex_dir=tmp_path / "m", state_dir=tmp_path / "s", cache_dir=tmp_path / "k", config_dir=tmp_path / "c", today="2026-11-19")
    assert "25 November" in await agent.handle("when is the boiler?") and "18 days ago" not in await agent.handle("what is due today?")
    await agent.handle("postpone boiler by a week")
    await agent.close()
    assert (tmp_path / "m" / "a.md").read_text() == "- [ ] boiler 🛫 2026-11-01 ⏳ 2026-12-02\n"


@pytest.mark.parametrize("line,after", [("call #ana about it 📅 2026-11-20 #x", "ring her #ana 📅 2026-11-20 #x"), ("#ana call", "ring her #ana"), ("call Ana #x", "ring her #x")])
def test_a_new_title_keeps_the_tags_among_the_old_words(line, after):
    outline = parse_note(f"- [ ] {line}\n", "x.md")
    assert retitle(outline, outline.nodes[1], "ring her") == f"- [ ] {after}\n"


@pytest.mark.parametrize("text, title, days", [
    ("- [ ] write `📅 2026-11-20 #x ⏫` down 📅 2026-11-21 #y\n", "write `📅 2026-11-20 #x ⏫` down", ["2026-11-21"]), ("Use `📅 2026-11-20` or `(due: 2026-11-20)`, as ``SCHEDULED: <2026-11-20 Fri>``.\n", None, []),
    ("- [ ] a `x` 📅 2026-11-20 `y`\n", "a `x` `y`", ["2026-11-20"]), ("- [ ] a lone ` 📅 2026-11-20\n", "a lone `", ["2026-11-20"]), ("- [ ] `a` and 🔁 every week 📅 2026-11-20\n", "`a` and", ["2026-11-20"])])
def test_a_mark_in_code_is_an_example(text, title, days):
    outline = parse_note(text, "a.md")
    assert [str(s.day) for s in stamps(outline)] == days
    if title is None: return
    assert outline.nodes[1].title == title
    moved = schedule(outline, outline.nodes[1], date(2026, 12, 1), "deadline", now=NOON)
    assert moved == text.replace(days[-1] if title.count("2026") else days[0], "2026-12-01") and complete(outline, outline.nodes[1], now=NOON).split("]", 1)[1].startswith(text.split("]", 1)[1].split("🔁")[0].rstrip("\n")[:20])


@pytest.mark.slow
@pytest.mark.parametrize("one", ["`", "`a", "`` ` ", "`📅 2026-11-20` ", "📅 2026-11-20 `"])
def test_code_is_looked_for_in_proportion(one):
    def took(times):
        start = time.process_time()
        stamps(parse_note("- [ ] " + one * times, "a.md"))
        return time.process_time() - start
    assert took(16000) < 100 * max(took(800), 0.002)


BOARD = "---\n\nkanban-plugin: board\n\n---\n\n## Backlog\n\n- [ ] beds\n- [ ] seeds @{2026-12-01}\n\n\n## Done\n\n**Complete**\n- [x] prune\n\n\n%% kanban:settings\n```\n{\"kanban-plugin\":\"board\"}\n```\n%%\n"

def test_a_new_card_is_on_the_first_lane_of_a_board():
    assert append_headline(BOARD.encode(), "new", file="b.md", kind="task").decode() == BOARD.replace("@{2026-12-01}\n", "@{2026-12-01}\n- [ ] new\n")
    empty = BOARD.replace("- [ ] beds\n- [ ] seeds @{2026-12-01}\n", "")
    assert append_headline(empty.encode(), "new", file="b.md", kind="task").decode() == empty.replace("## Backlog\n", "## Backlog\n- [ ] new\n")


@pytest.mark.parametrize("text,after", [("- [ ] Pack\n- [ ] b\n", "- [ ] Pack\n  - [ ] new\n- [ ] b\n"), ("- [ ] Pack\n\t- [x] socks\n\t\t- [ ] deep\n\nText.\n", "- [ ] Pack\n\t- [x] socks\n\t\t- [ ] deep\n\t- [ ] new\n\nText.\n"), ("1. [ ] Pack", "1. [ ] Pack\n   - [ ] new\n"),
                                        ("> - [ ] Pack\n> later\n", "> - [ ] Pack\n>   - [ ] new\n> later\n"), ("- House\n\t- TODO Pack\n\t  by hand\n\t- red\n", "- House\n\t- TODO Pack\n\t  by hand\n\t\t- TODO new\n\t- red\n"), ("- [ ] Pack\r\n- [ ] b\r\n", "- [ ] Pack\r\n  - [ ] new\r\n- [ ] b\r\n")])
def test_a_task_below_a_task(text, after):
    outline = parse_note(text, "x.md")
    node = next(n for n in outline.nodes if n.title == "Pack")
    assert insert_headline(outline, node, "new", kind="task") == after


async def test_a_subtask_is_added_by_its_name(tmp_path):
    (tmp_path / "m").mkdir(); (tmp_path / "m" / "a.md").write_text("# Home\n- [/] Tax return ⏫ 📅 2026-11-30\n  - [x] statements\n- [h] letter\n")
    agent = await Agent.boot(memex_dir=tmp_path / "m", state_dir=tmp_path / "s", cache_dir=tmp_path / "k", config_dir=tmp_path / "c", today="2026-11-19")
    for line in ("add a subtask to tax return: print form by friday", "mark statements as waiting", "mark statements as todo"): await agent.handle(line)
    assert "subtask to tax return" in str(await agent.handle("add a task under tax return: scan"))
    assert (tmp_path / "m" / "a.md").read_text() == "# Home\n- [/] Tax return ⏫ 📅 2026-11-30\n  - [ ] statements\n  - [ ] print form 📅 2026-11-20\n- [h] letter\n"
    assert "WAITING" in str(await agent.handle("put the tax return on hold")) and "- [h] Tax return ⏫" in (tmp_path / "m" / "a.md").read_text()
    await agent.close()


# Pages of the plug-in Full Calendar; python-dateutil reads the same rules for itself.
RULES = st.builds(lambda rule, until: rule + until, st.one_of(
    st.builds("FREQ=DAILY;INTERVAL={}".format, st.integers(1, 40)), st.builds("FREQ=WEEKLY;INTERVAL={}".format, st.integers(1, 5)), st.sampled_from(["FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY"]),
    st.lists(st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"]), min_size=1, unique=True).map(",".join).map("FREQ=WEEKLY;BYDAY={}".format),
    st.integers(1, 31).map("FREQ=MONTHLY;BYMONTHDAY={}".format), st.builds("FREQ=MONTHLY;BYDAY={}{}".format, st.sampled_from([1, 2, 3, 4, -1, -4]), st.sampled_from(["MO", "WE", "SU"]))), st.sampled_from(["", ";UNTIL=20270310"]))

@given(RULES, st.dates(date(2026, 1, 1), date(2026, 12, 31)), st.booleans())
def test_a_page_that_repeats_by_a_rule_is_on_the_days_of_the_rule(rule, first, skip):
    from dateutil.rrule import rrulestr
    wanted = [day.date() for day in rrulestr(rule, dtstart=datetime.combine(first, datetime.min.time())).between(datetime(2026, 1, 1), datetime(2027, 6, 30), inc=True)]
    left_out = wanted[1:2] if skip else []
    page = f"---\ntitle: Bins\ntype: rrule\nrrule: \"DTSTART:{first:%Y%m%d}T000000Z\\nRRULE:{rule}\"\nstartDate: {first}\nskipDates: [{', '.join(map(str, left_out))}]\nallDay: true\n---\n"
    items = agenda([parse_note(page, "bins.md")], date(2026, 1, 1), date(2027, 6, 30), date(2026, 1, 1))
    assert [item.day for item in items] == [day for day in wanted if day not in left_out] and {item.title for item in items} <= {"Bins"}


@pytest.mark.parametrize("front", ["type: rrule\nrrule: FREQ=WEEKLY;COUNT=3\nstartDate: 2026-11-02", "type: rrule\nstartDate: 2026-11-02", "type: recurring", "type: recurring\ndaysOfWeek: [X]", "type: recurring\ndaysOfWeek: [M]\nendRecur: 2026-13-01",
                                   "type: rrule\nrrule: FREQ=HOURLY\nstartDate: 2026-11-02", "type: rrule\nrrule: FREQ=MONTHLY;BYDAY=5MO\nstartDate: 2026-11-02", "type: rrule\nrrule: FREQ=YEARLY;BYWEEKNO=3\nstartDate: 2026-11-02"])
def test_a_rule_that_is_not_understood_is_named_and_not_listed_in_part(front):
    outline = parse_note(f"---\n{front}\n---\n", "a.md")
    assert stamps(outline) == () and diary_dates(outline) == ((), ((2, diary_dates(outline)[1][0][1]),)) and diary_dates(outline)[1][0][1].startswith("type: r")


def test_a_page_of_another_type_is_no_event():
    assert diary_dates(parse_note("---\ntype: person\ndaysOfWeek: [M]\n---\n", "a.md")) == ((), ()) == diary_dates(parse_note("---\ntype: [recurring]\n---\n", "a.md"))


VAULT = {".obsidian/daily-notes.json": '{"folder": "Daily", "template": "Templates/Daily", "format": "YYYY-MM-DD"}', "Templates/Daily.md": "---\ntags: [daily]\ndate: {{date}}\n---\n# {{date:dddd, D MMMM YYYY}}\n\n## Tasks\n\n## Log\n",
         "Daily/2026-11-18.md": "# x\n"}
BEGUN = "---\ntags: [daily]\ndate: 2026-11-19\n---\n# Thursday, 19 November 2026\n"

@pytest.mark.parametrize("line, there", [("journal: slept well", "slept well"), ("add a task to today's note: buy milk", "- [ ] buy milk"), ("note in Daily/2026-11-19.md: sunny", "sunny")])
def test_the_page_of_a_new_day_begins_with_its_template(tmp_path, line, there):
    answers, files = play(tmp_path, VAULT, line, "note: other")
    page = files["Daily/2026-11-19.md"]
    assert page.startswith(BEGUN) and there in page and "## Tasks" in page and "## Log" in page, (answers, page)
    assert "template" in answers[0] and files["inbox.md"] == "## other\n"


def test_a_second_line_of_the_day_begins_nothing_and_undo_takes_the_page_away(tmp_path):
    answers, files = play(tmp_path, VAULT, "journal: one", "journal: two")
    assert files["Daily/2026-11-19.md"].count("# Thursday") == 1 and files["Daily/2026-11-19.md"].count("\n## ") == 4, answers
    for name in VAULT: (tmp_path / "b" / "memex" / name).parent.mkdir(parents=True, exist_ok=True)
    _, files = conversation(tmp_path / "b", VAULT, "journal: one", "/undo")
    assert files == VAULT


@pytest.mark.parametrize("page, after", [("# T\n\n## Tasks\n\n## Log\nx\n", "# T\n\n## Tasks\n- [ ] milk\n\n## Log\nx\n"), ("# T\n## Log\nx\n## Todo", "# T\n## Log\nx\n## Todo\n\n- [ ] milk\n"), ("# T\n## Log\nx\n", "# T\n\n- [ ] milk\n\n## Log\nx\n")])
def test_a_first_task_stands_below_the_heading_that_waits_for_it(page, after):
    assert append_headline(page.encode(), "milk", file="a.md", kind="task").decode() == after


@pytest.mark.parametrize("change", [{".obsidian/daily-notes.json": "{"}, {".obsidian/daily-notes.json": '{"folder": "Daily", "template": "../secret"}'}, {".obsidian/daily-notes.json": '{"folder": "Daily", "template": ".obsidian/t"}', ".obsidian/t.md": "no\n"},
                                    {"Templates/Daily.md": "<% tp.date.now() %>\n"}, {".obsidian/daily-notes.json": '{"folder": "Other", "template": "Templates/Daily"}'}, {"Templates/Daily.md": "x" * 100_000}])
def test_what_is_no_template_for_this_page_is_not_in_it(tmp_path, change):
    (tmp_path / "secret.md").write_text("secret\n")
    answers, files = play(tmp_path, VAULT | change, "journal: slept well")
    assert files["Daily/2026-11-19.md"] == "## slept well\n", answers


@pytest.mark.parametrize("tier", ["deny", "ask"])
def test_a_template_that_a_rule_keeps_from_readers_is_in_no_page(tmp_path, monkeypatch, tier):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    rules = tmp_path / "config" / "passepartout" / "rules.ini"
    rules.parent.mkdir(parents=True)
    rules.write_text(f"[templates]\ntool = *\npath = Templates/\ntier = {tier}\nmatches = read-file path=Templates/Daily.md\nnot = read-file path=inbox.md\n")
    rules.chmod(0o600)
    answers, files = play(tmp_path, VAULT, "journal: slept well", "read Templates/Daily.md")
    assert files["Daily/2026-11-19.md"] == "## slept well\n" and "## Log" not in answers[1], answers


LINKED = {"house/My Roof.md": "# The roof\n", "a.md": "See [x](house/My%20Roof.md).\n", "b.md": "See [x](<house/My Roof.md> \"see\").\n", "c/d.md": "See [x](My%20Roof.md#tiles).\n", "c/e.md": "See [[My Roof]].\n",
          "c/f.md": "See [y](../house/My%20Roof.md).\n", "c/g.md": "See [y](house/My%20Roof.md)\n", "c/h.md": "See [[house/My Roof|it]].\n", "i.md": "My Roof.md is no link, and `[x](Other.md)` neither.\n", "j/k.org": "Not so in Org: [y](My%20Roof.md)\n"}

@pytest.mark.parametrize("asked", ["what links to My Roof", "what links to house/My Roof.md", 'find links:"My Roof"'])
def test_what_links_to_a_note_knows_each_way_to_write_a_link_in_markdown(tmp_path, asked):
    (answer,), _ = play(tmp_path, LINKED, asked)
    assert [file for file in LINKED if f" {file}:" in answer] == ["a.md", "b.md", "c/d.md", "c/e.md", "c/f.md", "c/g.md", "c/h.md"], answer


def test_a_link_by_the_end_of_a_path_leads_beside_the_note_first_and_elsewhere_when_that_goes(tmp_path):
    notes = {"house/roof.md": "# A\n", "trips/roof.md": "# B\n", "trips/plan.md": "See [x](roof.md).\n", "plan.md": "See [x](house/roof.md)\n"}
    (first,), _ = play(tmp_path, notes, "what links to house/roof.md")
    (tmp_path / "memex" / "trips" / "roof.md").unlink()
    (second,), _ = play(tmp_path, {}, "what links to house/roof.md")
    assert "1 section " in first and " plan.md:1" in first and "2 sections" in second and " trips/plan.md:1" in second, (first, second)


@pytest.mark.parametrize("line, says", [("average mood this week", "3 on average, of 2 numbers from 16 to 22 November, from the pages of 2 days. Left out, as I cannot be sure of the number: “so so” (Daily/2026-11-19.md)"),
                                        ("highest mood", "2026-11-18: 4  (Daily/2026-11-18.md)"), ("what was my mood yesterday", "4, in Daily/2026-11-18.md"), ("average sleep", "6.75 h on average")])
def test_the_properties_of_the_pages_of_days_are_counted_like_a_table(tmp_path, line, says):
    pages = {f"Daily/2026-11-{day}.md": f"---\nmood: {mood}\n---\n# Day\nsleep:: {sleep} h\n" for day, mood, sleep in ((17, 2, 6.5), (18, 4, 7), (19, "so so", 6.75))}
    (answer,), files = play(tmp_path, pages, line)
    assert says in answer and files == pages
