"""Laws of the outline that hold for any text, sensible or not."""
import itertools
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.agenda import agenda
from passepartout.outline.diarydates import diary_dates
from passepartout.outline.markdown import parse_markdown
from passepartout.org import parse_org, print_outline
from passepartout.outline.timestamps import broken_stamps, occurrences, stamps
from datetime import date

PIECES = ["* ", "** ", "***** ", "*", "TODO ", "DONE ", "COMMENT ", "[#A] ", " :a:b:", ":ARCHIVE:", "\n", "\r\n", "\r", "\n\n", " ", "\t", "  ", ":PROPERTIES:\n", ":ID: x\n", ":END:\n",
          "SCHEDULED: ", "DEADLINE: ", "CLOSED: ", "<2026-11-20 Fri>", "[2026-11-20 Fri 10:00]", "<2026-02-30 Mon>", "--", "<2026-11-20 Fri 09:00-10:00 .+1w -3d>", "#+TODO: A | B\n",
          "#+TITLE: t\n", "#+FILETAGS: :f:\n", "#+begin_src\n", "#+end_src\n", "# ", "## ", "###### ", "#tag ", "- [ ] ", "- [x] ", "\t- [-] ", "1. [/] ", "```\n", "~~~\n", "`", "---\n", "tags: [a, b]\n",
          "due: 2026-11-20 ", "📅 2026-11-20 ", "⏳ 2026-13-01 ", "@2026-11-20 ", "🔁 every 2 weeks ", "é", "漢字", "\x00", "\ufeff", "\u2028", "\x0b", "\x0c", "word "]
texts = st.one_of(st.text(max_size=200), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=40).map("".join))
parsers = st.sampled_from([parse_org, parse_markdown])


@settings(max_examples=examples(300), deadline=None)
@given(texts, parsers)
def test_printing_what_was_parsed_is_the_text(text, parse):
    assert print_outline(parse(text, "a.org")) == text


@settings(max_examples=examples(300), deadline=None)
@given(texts, parsers)
def test_spans_nest_and_lines_count(text, parse):
    outline = parse(text, "a.org")
    root = outline.nodes[0]
    assert (root.start, root.end, root.parent, root.after) == (0, len(text), -1, len(outline.nodes))
    for i, node in enumerate(outline.nodes):
        assert node.index == i and i < node.after <= len(outline.nodes)
        assert node.start <= node.body_start <= node.end
        assert node.line == text.count("\n", 0, node.start) + 1
        if i:
            above = outline.nodes[node.parent]
            assert node.parent < i < above.after and above.start <= node.start and node.end <= above.end and node.after <= above.after
            assert above.level < node.level and (node.start == 0 or text[node.start - 1] == "\n")
            assert "\n" not in node.title
        children = list(outline.children(node))
        assert all(a.end <= b.start for a, b in zip(children, children[1:]))
    assert len({n.start for n in outline.nodes[1:]}) == len(outline.nodes) - 1


@settings(max_examples=examples(300), deadline=None)
@given(texts, parsers)
def test_dates_stand_where_they_say(text, parse):
    outline = parse(text, "a.org")
    found = stamps(outline)
    assert [s.start for s in found] == sorted(s.start for s in found)
    for s in found:
        node = outline.nodes[s.node]
        assert node.start <= s.start < s.end <= node.end
        assert s.line == text.count("\n", 0, s.start) + 1
        assert s.day.isoformat() in text[s.start:s.end]
        assert not any(child.start <= s.start < child.end for child in outline.children(node))
    for line, date_text in broken_stamps(outline): assert date_text in text


@settings(max_examples=examples(200), deadline=None)
@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.sampled_from("hdwmy"), st.integers(1, 400), st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(0, 800))
def test_occurrences_do_not_depend_on_where_one_begins_to_look(day, unit, count, first, length):
    stamp = stamps(parse_org(f"<{day.isoformat()} Mon 10:00 +{count}{unit}>"))[0]
    last = date.fromordinal(first.toordinal() + length)
    whole = list(occurrences(stamp, day, last)) if last >= day and (last - day).days < 3000 else None
    part = list(occurrences(stamp, first, last))
    assert part == sorted(set(part)) and all(first <= d <= last and d >= day for d in part)
    if whole is not None: assert part == [d for d in whole if d >= first]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",)), max_size=12)), max_size=12))
def test_headings_are_found_whatever_their_levels(heads):
    text = "".join(f"{'*' * level} x{title}\nbody\n" for level, title in heads)
    outline = parse_org(text)
    assert [n.level for n in outline.nodes[1:]] == [level for level, _ in heads]
    for node in outline.nodes[1:]:
        before = [n for n in outline.nodes[1:node.index] if n.level < node.level]
        assert node.parent == (before[-1].index if before and all(n.level >= node.level for n in outline.nodes[before[-1].index + 1:node.index]) else 0)


def test_unusual_input_is_read():
    for text in ("*\ta\n", "*a\n", " * a\n", "**bold** start\n"): assert len(parse_org(text).nodes) == 1
    assert parse_org("* TODO\n").nodes[1].keyword == "TODO"
    assert parse_org("* [#A]  \n").nodes[1].priority == "A"
    assert parse_org("* :a:\n").nodes[1].tags == ("a",)
    assert parse_org("* a:b:\n").nodes[1].tags == ()
    assert parse_org("* COMMENTED\n").nodes[1].hidden == ""
    deep = parse_org("********** a\n* b\n")
    assert [n.parent for n in deep.nodes] == [-1, 0, 0]
    assert parse_org("* a\n\nSCHEDULED: <2026-11-20 Fri>\n").nodes[1].planning is None
    assert parse_org("* a\nSCHEDULED: <2026-11-20 Fri>\n:PROPERTIES:\n:A: 1\n:END:\n").nodes[1].properties == {"A": "1"}
    assert parse_org("* a\n:PROPERTIES:\nbroken\n:END:\n").nodes[1].properties == {}
    assert parse_org(":PROPERTIES:\n:ID: 7\n:END:\n#+title: T\n").nodes[0].properties == {"ID": "7"}


HOSTILE = {
    "stars": "* a\n" * 60_000, "blanks": "* " + " " * 400_000 + "x :y:", "blocks": "#+begin_src\n" * 30_000, "settings": "#+todo: a " * 30_000,
    "keywords": "#+TODO: " + "A " * 3_000 + "\n" + "* B\n" * 10_000, "tags": "#+FILETAGS: " + "".join(f":t{i}" for i in range(10_000)) + ":\n" + "* a :x:\n" * 20_000,
    "drawer": "* a\n:PROPERTIES:\n" + ":a: b\n" * 50_000, "dates": "* a\n" + "<2026-11-20 Fri>--" * 20_000, "planning": "* a\nSCHEDULED: " + "<2026-11-20 Fri> " * 20_000,
    "fences": "```\n" * 60_000, "ticks": "`" * 300_000 + "#a", "hashes": "#" * 300_000, "tasks": "- [ ] a #b\n" * 30_000, "marks": "- [ ] " + "🔁 every " * 30_000,
    "deep tasks": "".join(" " * i + "- [ ] a\n" for i in range(700)), "lists in a line": "-\t" * 120_000, "front": "---\n" + "a: b\n" * 50_000, "links": "* " + "[[" * 100_000, "line": "x" * 5_000_000}


@pytest.mark.slow
@pytest.mark.parametrize("name, parse", thinned(itertools.product(HOSTILE, (parse_org, parse_markdown)), 5))
def test_time_stays_in_proportion_to_the_text(name, parse):
    began = time.perf_counter()
    outline = parse(HOSTILE[name], "x.org")
    stamps(outline)
    [outline.path(n) for n in outline.nodes[:1000]]
    assert time.perf_counter() - began < 60          # a hang guard: what is quadratic takes hours


@pytest.mark.parametrize("text, whole", [("[fn:1] A note.\n#+begin_src sh\n[fn:2] x\n#+end_src\n", False), ("[fn:1] A note.\n#+begin_src sh\n\n\nx\n#+end_src\n", False), ("[fn:1] A note.\n\n\n#+begin_src sh\n[fn:2] x\n#+end_src\n", True),
                                         ("#+begin_example\n[fn:1] x\n#+end_example\n#+begin_src sh\n[fn:1] x\n#+end_src\n", True), ("[fn:1] A note.\n#+begin_src sh\nx\n#+end_src\n", True)])
def test_a_footnote_that_ends_inside_of_a_block_breaks_it(text, whole):
    "As org-element reads it; the slow tests ask Emacs the same with generated files."
    outline = parse_org(text)
    assert any("src" in text[a:b].split("\n")[0] for a, b in outline.dead) == whole


def test_a_heading_that_says_its_hour_twice_is_listed_once():
    outline = parse_org("* Review\n| [[file:a.org::<2026-11-20 Fri 10:00>][<2026-11-20 Fri 10:00>]] |\n<2026-11-20 Fri 11:00>\n", "a.org")
    assert [item.at.hour for item in agenda([outline], date(2026, 11, 20), date(2026, 11, 20), date(2026, 11, 19))] == [10, 11]


def test_a_plan_need_not_stand_apart_from_the_one_before_it():
    found = stamps(parse_org("* TODO [#b] sleep\nDEADLINE: <2026-11-12 Thu>SCHEDULED: <2026-11-13 Fri>\n* b\nXSCHEDULED: <2026-11-13 Fri>\nDEADLINE: <2026-11-12 Thu>\n"))
    assert [s.kind for s in found] == ["deadline", "scheduled", "plain", "plain"]
    assert parse_org("* TODO [#b] sleep\n").nodes[1].priority == "B"


@settings(max_examples=examples(300), deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(["(", "(", ")", ")", "'", " ", "t", "and", "or", "not", "memq", "date", "calendar-day-of-week", "org-anniversary", "diary-anniversary", "diary-float", "org-class", "org-date",
                                                                 "diary-cyclic", "org-block", "1", "2026", "-1", "0", "31", "99999", "\"", "eval"]), max_size=24).map(" ".join)))
def test_any_expression_means_something_or_nothing(text):
    "Hypothesis looks for one that raises, and for a day that is meant and cannot be said."
    outline = parse_org(f"* a\n%%({text}\n<%%({text}> x\n", "a.org")
    known, left = diary_dates(outline)
    for day in (date.min, date(2026, 11, 20), date.max):
        for stamp in known: assert all(isinstance(stamp.repeat.says(each), str) for each in stamp.repeat.days(day, day))
    assert len(known) + len(left) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("one", ["%%(org-anniversary 1956 5 14) x\n", "%%(" + "(" * 390 + "\n", "* a\n<%%(diary-float t 4 2)>\n", "%%" + "'" * 60 + "(\n", "%%(", "<%%("])
def test_many_expressions_are_read_in_proportion(one):
    def took(times):
        outline = parse_org(one * times, "a.org")
        start = time.process_time()
        diary_dates(outline)
        return time.process_time() - start
    assert took(16000) < 100 * max(took(800), 0.002)           # the square would be 400


def test_a_list_of_birthdays_is_on_the_agenda_line_by_line():
    outline = parse_org("* Birthdays :family:\n%%(org-anniversary 1956 5 14) Arthur is %d\n%%(org-anniversary 1961 5 14) 19:00 Ford\n%%(delete-file x) no\n* DONE Choir\n<%%(diary-float t 4 2)>\n", "people.org")
    items = agenda([outline], date(2026, 5, 14), date(2026, 5, 14), date(2026, 5, 1))
    assert [(i.title, i.at and i.at.hour, i.line, i.path, i.tags) for i in items] == [("Ford", 19, 3, ("Birthdays",), ("family",)), ("Arthur is 70", None, 2, ("Birthdays",), ("family",))]
    assert diary_dates(outline)[1] == ((4, "%%(delete-file x) no"),)
    quoted = parse_org("#+begin_example\n%%(org-anniversary 1956 5 14) Arthur\n%%(delete-file x)\n#+end_example\n", "help.org")
    assert diary_dates(quoted) == ((), ())


def test_an_address_and_a_colour_are_not_listed_as_tags_and_a_word_in_italics_is():
    from passepartout.outline.hashtags import hashtags, is_listed
    names = [name for _, name in hashtags("#ff0000 https://a.b/#intro (/#plan/) //#x *#bold* /#start/")]
    assert names == ["ff0000", "plan", "x", "bold", "start"] and [is_listed(name, True) for name in names] == [False, True, True, True, True]
    assert [is_listed(tag, False) for tag in ("ff0000", "0🌲", "games/genres", "@chakra-ui/react", "C++", "#10", "#+STYLE", "<<options>>", "1</a>", "#ERROR?")] == [True] * 6 + [False] * 4
