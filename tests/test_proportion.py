"What a stranger wrote takes as long as its length allows, whatever its shape: a megabyte of it holds up nobody"
import itertools
import time
from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from passepartout.outline.checkboxes import add_item, check
from passepartout.echoes import mark, places_of, with_parents
from passepartout.toolbelt.addressing import find_heading, likeness_to, plain_path
from passepartout.reflex.command import cuts
from passepartout.tangling.tangle import label_form, without_label
from passepartout.tangling.headerargs import keyword_lines, read_arguments, split_arguments
from passepartout.tangling.tablevalues import Elements
from passepartout.labels import addresses_in
from passepartout.outline.live import orders_in
from passepartout.outline.markdown import parse_markdown
from passepartout.org import parse_org
from passepartout.outline.planning import schedule
from passepartout.outline.privacy import is_private
from passepartout.terminal.render import wrapped
from passepartout.outline.rewrite import RewriteError, set_property
from passepartout.targets import COUNTER, read_words
from passepartout.outline.timestamps import stamps

NOW = datetime(2026, 11, 19, 9)


def repeated(task): return stamps(parse_markdown(f"- [ ] {task}\n", "x.md"))


HOSTILE = {"a word": (addresses_in, "a"), "a mail that is none": (addresses_in, "a+"), "a name that is none": (addresses_in, "a1."), "a scheme without an end": (addresses_in, "http"), "accounts": (addresses_in, "0 "),
           "blanks": (lambda text: wrapped(text, 80), " "), "tabs": (lambda text: wrapped(text, 80), "\t"), "words": (lambda text: wrapped(text, 80), "a "), "keys": (lambda text: wrapped(text, 80), ":a "),
           **{f"a value of {unit}": (lambda text: [mark(place) for each in places_of(text) for place in with_parents(each)], unit) for unit in ("a/", "/a", "http://a:b@", "http://a.bc?", "a;/", "%2f.")},
           "an argument without a value": (read_arguments, "a"), "a heading of blanks": (plain_path, " "), "blanks between two titles": (lambda text: plain_path(f"Roof{text}›"), " "), "a target of blanks": (read_words, " "), "blanks in a title": (lambda text: COUNTER.sub("", text), " "), "a nested tag": (lambda text: is_private([text], ["personal"]), "a/"),
           "brackets": (split_arguments, "[["), "both brackets": (split_arguments, "(["), "quotes": (split_arguments, '"a '),
           **{f"orders of {unit!r} in {name}": (lambda text, name=name: orders_in(name, text), unit) for name, units in (("a.org", ("%%", "#+", "src_.", "call_.", "http://", "@@a", "{{", "shell:", "#+begin_src x :results -a ", "vim:", "local variables")), ("a.md", ("![", "![](", "]", "[", "<a ", "<a =", "src= ", "src=a", "`", "`=", "```", "~~~ ", "> ", "{%", "---", "[a]: ", "![a][b] ", "\n "))) for unit in units},
           "every": (lambda text: repeated("🔁 every" + text), " "), "every word": (lambda text: repeated("🔁 every" + text), " a")}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_takes_moments(name):
    look, unit = HOSTILE[name]
    began = time.process_time()
    look(unit * (1_000_000 // len(unit)) + "!")
    assert time.process_time() - began < 15          # what is not in proportion takes hours


def test_a_repeat_is_read_as_before():
    mark = lambda text: next((each.repeat for each in repeated(text) if each.repeat), None)
    assert [mark(f"Pay 🔁 every {words} 📅 2026-11-20") for words in ("month", "3 weeks", "2 days when done")] == [mark(f"Pay 📅 2026-11-20 🔁 every {words}") for words in ("month", "3 weeks", "2 days when done")]
    assert mark("Pay 📅 2026-11-20 🔁 every 3 weeks")


def test_an_address_is_found_however_long_the_word_is_that_it_stands_in():
    for long in ("x" * 500, "x1." * 200, "1" * 40, "é" * 300, "-" * 100):
        for address in ("http://evil.example/a", "eve@evil.example", "www.evil.example", "pay.evil.example", "a." * 40 + "evil.example"):
            assert any("evil.example" in found for found in addresses_in(f"see {long}{address} soon")), (long[:5], address)


def front(sign, text): return parse_markdown(f"{sign}\n{text}\n{sign}\n# A\n", "x.md")


FRONT = {"blanks": ("---", "a" + " " * 300_000), "blanks and more": ("---", "a" + " " * 300_000 + "x"), "a deep name": ("+++", "a." * 100_000 + "a = 1"), "a deep table": ("+++", "[" + "a." * 100_000 + "a]"), "quoted parts": ("+++", '"a" . ' * 50_000 + "a = 1"), "escaped parts": ("+++", '"a\\"b".' * 50_000 + "a = 1"),
         "within": ("+++", "a = {" + "b." * 100_000 + "c = 1}"), "long parts": ("+++", f"'{'y' * 300}'." * 1_000 + "a = 1"), "lists": ("+++", "a = " + "[" * 200_000), "digits": ("+++", "n = " + "9" * 5_000), "hexadecimal": ("+++", "n = 0x" + "f" * 300_000), "signs": ("+++", "a = " * 100_000), "quotes in a text": ("+++", 'a = "' + '\\"' * 150_000), "quotes in no text": ("+++", '\\"' * 150_000 + '"')}


@pytest.mark.parametrize("name", FRONT)
def test_no_front_matter_fills_the_memory_or_keeps_a_note_from_being_read(name):
    began = time.process_time()
    outline = front(*FRONT[name])
    assert outline.nodes[-1].title == "A" and time.process_time() - began < 15


@pytest.mark.parametrize("text", ['title = "x\ntags = ["@private"]', '[taxonomies]\ntags = [\n "sea",\n "@private",\n]\nx = = 1', 'taxonomies.tags = ["@private"]\nn = ' + "9" * 5_000, '\ttags=["@private"]\r\nx = 0x\r', '"tags" = "@private"\n' + "a." * 30 + "a = 1"])
def test_a_slip_of_the_pen_makes_no_private_note_public(text):
    assert "@private" in front("+++", text).nodes[0].tags


LISTS = {"items": "- a\n" * 40_000, "boxes": "- [ ] a\n" * 40_000, "counters": "- [ ] a [1/2]\n" * 20_000, "steps": "".join(" " * depth + f"- [ ] a{depth} [/]\n" for depth in range(1_400))}


@pytest.mark.slow
@pytest.mark.parametrize("recursive", ["", ":PROPERTIES:\n:COOKIE_DATA: recursive\n:END:\n"], ids=["plain", "recursive"])
@pytest.mark.parametrize("name", LISTS)
def test_a_long_list_is_added_to_and_checked_in_moments(name, recursive):
    outline = parse_org(f"* TODO A [0/0]\n{recursive}{LISTS[name]}* B\n", "x.org")
    began = time.process_time()
    grown = add_item(outline, outline.nodes[1], "tiles")
    again = parse_org(grown, "x.org")
    assert "[X] tiles" in check(again, again.nodes[1], "tiles", now=NOW) and time.process_time() - began < 20


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["SCHEDULED: <", "DEADLINE: <[", "CLOSED: [-", "CLOSED: [["])
def test_a_line_of_dates_that_never_end_is_looked_through_in_moments(unit):
    outline = parse_org("* TODO A\n" + unit * (500_000 // len(unit)) + "\n* B\n", "x.org")
    began = time.process_time()
    try: schedule(outline, outline.nodes[1], NOW.date(), "deadline", now=NOW)
    except RewriteError: pass
    assert time.process_time() - began < 15


@pytest.mark.slow
@pytest.mark.parametrize("line", ["x ", '- State "DONE" from "TODO" '])
def test_a_line_of_many_dates_is_read_in_moments(line):
    outline = parse_org(f"* TODO A\nSCHEDULED: <2026-11-18 Wed +1w>\n{line}{'[2026-11-18 Wed] ' * 50_000}\n")
    began = time.process_time()
    assert len(stamps(outline)) > 50_000 and time.process_time() - began < 5


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["[\n", "[a\n", "- [\n", "[\\\n", "[\n\\[", "[a]:\n"])
def test_names_of_links_that_never_end_are_looked_through_in_moments(unit):
    text = "![x][p] ![y]\n\n" + unit * (500_000 // len(unit))
    began = time.process_time()
    assert not orders_in("x.md", text) and time.process_time() - began < 5


BLANKS = " " * 100_000
IN_LINES = {"the value of a property": lambda: set_property(found := parse_org(f"* A\n:PROPERTIES:\n:x: a{BLANKS}b\n:END:\n"), found.nodes[1], "x", "c"),
            "a line of code": lambda: without_label(f"a{BLANKS}b", *label_form("-r")), "the label of a line": lambda: without_label(f"# a{BLANKS}b", *label_form('-r -l "# %s"')),
            "a label that is a name alone": lambda: without_label("a b" * 70_000 + ";", *label_form('-l "%s"')), "a name behind a word": lambda: without_label("a " * 100_000 + "b", *label_form('-l "a %s"')), "a form as long as a line": lambda: without_label(f"{BLANKS}{BLANKS}b", *label_form(f'-l "{BLANKS}%s"')),
            "a keyword": lambda: keyword_lines(f"#+property: a{BLANKS}b", ()), "the name of a table": lambda: Elements(f"#+name: a{BLANKS}b"),
            "a sentence": lambda: list(cuts(f"a{BLANKS}b", "to|in"))}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_LINES)
def test_blanks_in_a_line_are_passed_over_once(name):
    began = time.process_time()
    IN_LINES[name]()
    assert time.process_time() - began < 5          # read again for each of them, they took minutes


@pytest.mark.parametrize("line", [":x: a \t", ":x:", ":x:\t", ":x: a\rb", ":X: :y:"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_property_is_set_to_the_end_of_its_line(line, end):
    outline = parse_org(f"* A{end}:PROPERTIES:{end}{line}{end}:z: 1{end}:END:{end}")
    assert set_property(outline, outline.nodes[1], "x", "c").lower() == f"* a{end}:properties:{end}:x:        c{end}:z: 1{end}:end:{end}"


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["line 3: Roof" + " " * 300_000 + "tiles", "ab " * 60])
def test_a_heading_that_is_not_there_is_missed_in_moments(wanted):
    outline = parse_org("".join(f"* {n} {'ba ' * 60}\n" for n in range(10_000)))
    began = time.process_time()
    with pytest.raises(RewriteError): find_heading(outline, wanted)
    assert time.process_time() - began < 8


@given(st.text("abc é", max_size=25), st.text("abcd\U0001f600", max_size=25))
def test_likeness_is_the_share_of_the_longest_common_subsequence(one, other):
    longest = {}
    for i, j in itertools.product(range(len(one)), range(len(other))):
        longest[i, j] = (longest.get((i - 1, j - 1), 0) + 1 if one[i] == other[j] else max(longest.get((i - 1, j), 0), longest.get((i, j - 1), 0)))
    assert likeness_to(one)(other) == 2 * longest.get((len(one) - 1, len(other) - 1), 0) / (len(one) + len(other) or 1)


@pytest.mark.parametrize("form", ["{}", "line {}", "line {}: Roof", "L{}"])
def test_a_line_number_without_end_is_the_number_of_no_line(form):
    with pytest.raises(RewriteError, match="no heading"): find_heading(parse_org("* Roof\n* Boat\n"), form.format("1" * 5000))


def test_what_is_spelled_alike_is_still_listed():
    with pytest.raises(RewriteError, match="Perhaps line 2: Call the roofer"): find_heading(parse_org("* Roof\n* Call the roofer\n"), "call the rofer")


def test_a_tag_that_is_long_but_somebodys_is_read_as_before():
    long = "/".join(["house"] * 80)
    assert len(long) < 500 and not is_private([long], ["personal"]) and is_private([f"{long}/personal"], ["personal"]) and is_private([long], ["house/house"])
