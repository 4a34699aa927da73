"""Emacs is the judge of how Org is read: outline, dates, what stands in sections, agenda. Every deliberate difference has a name here.

The differences, and the pages that give the reasons:

  backward ranges         <2026-11-20>--<2026-11-18> is two dates (timestamps)
  drawers of properties   hold links and dates as well; Org's agenda reads the dates, its parser neither (timestamps, links)
  late tasks              stand under today only, not under their own day as well (agenda)
  notices                 are given for deadlines beyond the range only (agenda)
  delays, habits          a delayed task is listed ahead of time on the day on which its delay ends, a habit once (agenda)
  short months            31 December + 2 months is 3 March in both; asked on 1 March for the next turn, Org counts from March and misses it (timestamps)
  repeated hour           of a time that the clock shows twice in autumn the first is meant here, in Emacs one or the other (wallclock)
  hours of expressions    <%%(diary-float t 4 2) 10:00> has its hour, as since Org 9.7; the one of Debian's Emacs lists nothing (diarydates)
  file dates              a date above the first heading is on the agenda (agenda)
"""
import glob
import json
import os
import random
import shutil
import subprocess
from datetime import date, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st

from passepartout.agenda import agenda
from passepartout.outline.checkboxes import list_items
from passepartout.outline.diarydates import Expression, understood
from passepartout.outline.elements import blocks
from passepartout.outline.links import links
from passepartout.notes import NotText, decode
from passepartout.org import inside, parse_org
from passepartout.outline.timestamps import occurrences, stamps
from passepartout.wallclock import clock_case, instant

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "passepartout" / "sample" / "memex"
EMACS = shutil.which("emacs")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(EMACS is None and "CI" not in os.environ, reason="Emacs is not installed: apt-get install emacs-nox")]
TODAY = date(2026, 11, 19)
rounds = lambda n: settings(max_examples=n, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=list(HealthCheck))


class Name(str):
    "A Lisp symbol."


def lisp(value) -> str:
    if isinstance(value, Name): return str(value)
    if isinstance(value, str): return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "(" + " ".join(map(lisp, value)) + ")" if isinstance(value, (list, tuple)) else str(value)


def ask(folder: Path, calls: list, zone: str = "UTC") -> list:
    "What Emacs answers to each call."
    job, result = folder / "job.el", folder / "result.json"
    job.write_text(lisp([[Name(call[0]), *call[1:]] for call in calls]), encoding="utf-8")
    done = subprocess.run([EMACS or "emacs", "--batch", "-Q", "-l", str(HERE / "data" / "reader.el"), str(job), str(result)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "TZ": zone, "HOME": str(folder), "LC_ALL": "C.UTF-8"})
    assert result.exists(), done.stderr[-2000:]
    answers = json.loads(result.read_text(encoding="utf-8"))
    result.unlink()
    return answers


def judge_files(folder: Path, texts: list[str]) -> list[str]:
    "Where we and Emacs read the texts differently."
    files = []
    for i, text in enumerate(texts):
        files.append(folder / f"{i}.org")
        files[-1].write_bytes(text.encode())
    answers = ask(folder, [call for f in files for call in (("reader-outline", str(f)), ("reader-elements", str(f)))])
    found = []
    for i, text in enumerate(texts):
        outline = parse_org(text, f"{i}.org")
        found += [f"{problem}\nin {text!r}" for problem in outline_differences(outline, answers[2 * i]) + element_differences(outline, answers[2 * i + 1])]
    return found


def differ(what: str, ours, theirs) -> list[str]:
    if ours == theirs: return []
    if isinstance(ours, list) and isinstance(theirs, list): return [f"{what}: only ours {[x for x in ours if x not in theirs]!r}, only Emacs {[x for x in theirs if x not in ours]!r}"]
    return [f"{what}: ours {ours!r}, Emacs {theirs!r}"]


# Outline ------------------------------------------------------------------------------------------------------------

def outline_differences(outline, heads) -> list[str]:
    if isinstance(heads, dict): return [f"Emacs could not read it: {heads}"]
    ours = outline.nodes[1:]
    if found := differ("headings", [n.start for n in ours], [h["at"] for h in heads]): return found
    for node, head in zip(ours, heads):
        lineage = outline.lineage(node)
        only_meant = {tag for each in lineage for tag in each.meant} - {tag for each in lineage for tag in each.tags}          # what only looks like a tag is one for privacy, and none to Emacs
        facts = dict(level=node.level, title=node.title, keyword=node.keyword, done=node.done, priority=node.priority, tags=list(node.tags), all=sorted(set(outline.tags(node)) - only_meant), properties=dict(node.properties))
        said = {k: head[k] for k in ("level", "title", "keyword", "done", "priority", "tags")} | {"all": sorted(set(head["all"])), "properties": joined(head["properties"])}
        said["tags"] = list(dict.fromkeys(said["tags"]))
        said["priority"] = said["priority"] and said["priority"].upper()                                               # [#b] is a B to both
        facts["tags"] = list(dict.fromkeys(facts["tags"]))
        for name in facts: found += differ(f"{name} of line {node.line}", facts[name], said[name])
        hidden = head["commented"] or head["archived"]
        if hidden and not node.hidden: found.append(f"line {node.line} is hidden in Emacs")
    return found


def joined(pairs) -> dict:
    found = {}
    for name, value in pairs:
        name, value = name.upper(), (value or "").strip()
        base = name[:-1]
        if name.endswith("+") and len(name) > 1: found[base] = f"{found[base]} {value}".strip() if base in found else value
        else: found[name] = value
    return found


# What stands in a section -------------------------------------------------------------------------------------------

def element_differences(outline, said) -> list[str]:
    if "error" in said: return [f"Emacs could not read it: {said}"]
    text, found, dates, planned = outline.text, [], [], []
    drawers = [(n.planning[1] if n.planning else text.find("\n", n.start, n.end) + 1, n.body_start) for n in outline.nodes[1:] if n.properties]
    for s in stamps(outline):
        if s.kind != "plain": planned.append([s.start, s.end, s.kind])
        elif not inside(drawers, s.start): dates.append([s.start, s.end, ("" if s.active else "in") + "active" + ("-range" if s.until_day or s.until else "")])
    theirs = [part for t in said["timestamps"] if t[2] != "diary" for part in forward(text, *t)]
    found += differ("planning", sorted(planned), sorted(said["planning"]))
    found += differ("dates", sorted(dates), sorted(theirs))
    items, marks = [], {None: "nil", " ": "off", "X": "on", "-": "trans"}
    for node in outline.nodes: items += [[i.start, marks[i.box]] for i in list_items(outline, node)]
    found += differ("items", items, said["items"])
    each = lambda look: [e for node in outline.nodes for e in look(outline, node)]
    found += differ("blocks", [[b.start, BLOCKS.get(b.kind, "special-block")] for b in each(blocks) if b.kind != "fixed"], said["blocks"])
    return found + differ("links", [[k.start, k.end] for k in each(links) if not inside(drawers, k.start)], [k[:2] for k in said["links"]])


def forward(text: str, start: int, end: int, kind: str) -> list:
    "A range that ends before it begins is two dates."
    first, sign, second = text[start:end].partition("--" + text[start])
    if not kind.endswith("range") or not sign or first[1:11] <= second[:10]: return [[start, end, kind]]
    return [[start, start + len(first), kind.removesuffix("-range")], [start + len(first) + 2, end, kind.removesuffix("-range")]]


BLOCKS = {"src": "src-block", "example": "example-block", "export": "export-block", "comment": "comment-block", "quote": "quote-block", "verse": "verse-block", "center": "center-block",
          "drawer": "drawer", "dynamic": "dynamic-block"}


# What is compared ---------------------------------------------------------------------------------------------------

def sample_texts() -> list[str]: return [f.read_text(encoding="utf-8") for f in sorted(SAMPLE.rglob("*.org"))]


def test_the_sample_memex_is_read_as_emacs_reads_it(tmp_path):
    assert judge_files(tmp_path, sample_texts()) == []


WORDS = "roof tiles Döben water ferry 日本 a:b x=y C# 10:30 TODOS call_Ana".split()
word = st.sampled_from(WORDS)
words = st.lists(word, min_size=1, max_size=5).map(" ".join)
day = st.dates(date(2025, 1, 1), date(2027, 12, 31))
repeat = st.sampled_from(["", "", "", " +1d", " ++2w", " .+3m", " +1y", " -3d", " +1w -2d", " --1d"])
inner = st.builds(lambda d, name, at, more: f"{d}{name}{at}{more}", day, st.sampled_from([" Mon", " Fri", ""]), st.sampled_from(["", "", " 10:00", " 9:05", " 10:00-11:30"]), repeat)
active, inactive = inner.map("<{}>".format), inner.map("[{}]".format)
ranged = st.builds("{}--{}".format, day.map("<{} Mon>".format), day.map("<{} Tue>".format))
stamp = st.one_of(active, inactive, active)
link = st.sampled_from(["[[id:7f][Pohl]]", "[[file:a.org::*B][b]]", "[[*roof]]", "[[#x]]", "https://example.org/a", "<https://example.org/b>", "[[https://example.org][the *page*]]", "=[[no]]=", "~https://no.org~", "(see https://example.org/x)."])
tags = st.lists(st.sampled_from(["house", "@work", "a_b", "ARCHIVE", "x1"]), max_size=3, unique=True).map(lambda t: f" :{':'.join(t)}:" if t else "")
title = st.builds(lambda *p: "".join(p), st.sampled_from(["", "TODO ", "DONE ", "WAITING ", "TODO"]), st.sampled_from(["", "[#A] ", "[#C] ", "[#1] "]), st.sampled_from(["", "COMMENT "]), words, st.one_of(st.just(""), stamp.map(" {}".format), link.map(" {}".format)), tags)
plan = st.lists(st.sampled_from(["SCHEDULED", "DEADLINE", "CLOSED"]), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.tuples(*[active.map(f"{name}: {{}}".format) if name != "CLOSED" else inactive.map("CLOSED: {}".format) for name in names])).map(" ".join)
drawer = st.lists(st.builds(":{}: {}\n".format, st.sampled_from(["ID", "Effort", "NOTE", "note+", "CUSTOM_ID"]), words), min_size=1, max_size=3).map(lambda p: ":PROPERTIES:\n" + "".join(p) + ":END:\n")
heading = st.builds(lambda n, t, p, d: f"{'*' * n} {t}\n{p}{d}", st.integers(1, 5), title, st.one_of(st.just(""), plan.map("{}\n".format)), st.one_of(st.just(""), drawer))
sentence = st.lists(st.one_of(words, stamp, ranged, link, st.sampled_from(["[fn:1]", "[fn:: inline]", "=code="])), min_size=1, max_size=4).map(lambda p: " ".join(p) + "\n")
item = st.builds(lambda n, b, x, t: f"{'  ' * n}{b} {x}{t}", st.integers(0, 2), st.sampled_from(["-", "+", "1.", "2)"]), st.sampled_from(["", "", "[ ] ", "[X] ", "[-] "]), words)
block = st.builds(lambda name, body: f"#+begin_{name}\n{body}#+end_{name}\n", st.sampled_from(["src sh", "example", "quote", "center", "verse", "comment", "note"]).map(lambda n: n), sentence).map(
    lambda b: b.replace("#+end_src sh", "#+end_src").replace("\n[fn:1]", "\nx" if "verse" in b else "\n[fn:1]"))
table = st.lists(st.one_of(st.just("|---+---|\n"), st.builds("| {} | {} |\n".format, word, word)), min_size=1, max_size=4).map("".join)
formula = st.builds("{0}\\begin{{{1}}}\n{2}\n{0}\\end{{{1}}}\n".format, st.sampled_from(["", "  "]), st.sampled_from(["align", "x*"]), item)
logbook = stamp.map(":LOGBOOK:\n- Note taken on {}\n:END:\n".format)
body = st.one_of(sentence, sentence, st.lists(item, min_size=1, max_size=5).map(lambda p: "\n".join(p) + "\n"), block, table, logbook, st.just("\n"), st.just("\n\n"), st.just("# a comment <2026-11-20 Fri>\n"), st.just(": fixed <2026-11-20 Fri>\n"),
                 st.just("\n[fn:1] A note.\n"), st.just("-----\n"), formula, link.map("#+caption: as in {}\n| a |\n".format))
section = st.builds(lambda h, parts: h + "".join(parts), heading, st.lists(body, max_size=5))
top = st.sampled_from(["", "", "#+TITLE: T\n", "#+FILETAGS: :f:g:\n", "#+TODO: TODO(t) WAITING(w@/!) | DONE(d)\n", "#+FILETAGS: f\n#+TODO: TODO | WAITING DONE\n"])
document = st.builds(lambda t, b, s: t + "".join(b) + "".join(s), top, st.lists(body, max_size=2), st.lists(section, max_size=5))


@rounds(10)
@given(st.lists(document, min_size=25, max_size=25))
def test_generated_files_are_read_as_emacs_reads_them(tmp_path_factory, texts):
    found = judge_files(tmp_path_factory.mktemp("org"), texts)
    assert not found, f"{len(found)} differences, of which the shortest are:\n\n" + "\n\n".join(sorted(found, key=len)[:8])


# Nothing but marks, whole ones and halves, in any order: what stands in what is decided from the outside inwards
MARKS = ("[fn:1] A note.", "[fn:2] B", "#+begin_quote", "#+end_quote", "#+begin_note", "#+end_note", "#+begin_src sh", "#+end_src", "#+begin_example", "#+end_example", ":DR:", ":END:", "text <2026-11-20 Fri>", "", "",
         "- item", "  more", "| a |", "* H", "#+BEGIN: x", "#+END:")
marks = st.lists(st.sampled_from(MARKS), max_size=7).map(lambda lines: "\n".join(lines) + "\n")


@rounds(3)
@given(st.lists(marks, min_size=150, max_size=150))
@example(["* H\n#+begin_center\nx\n#+end_center\n\n[fn:1] A note.\n#+begin_quote\n[fn:1]\n#+end_quote\n", ":END:\n:END:\n", "#+begin_quote\n#+begin_src sh\n#+end_quote\n#+end_src\n", "#+begin: z\n#+end\n", " - -----\n"])
@example([f"{before}{begin}\n{inner}#+begin_{kind}\n{end}\n\n#+end_{kind.partition(' ')[0]}\n{end}\n" for before in ("", "\n\n", "x\n", "* H\n", "#+begin_quote\n") for begin, end in ((":DR:", ":END:"), ("#+BEGIN: x", "#+END:"), ("  :DR:", "  :END:")) for inner in ("", "a\n", ":X:\n") for kind in ("src sh", "example", "quote")])
def test_marks_in_any_order_are_read_as_emacs_reads_them(tmp_path_factory, texts):
    found = judge_files(tmp_path_factory.mktemp("org"), texts)
    assert not found, f"{len(found)} differences, of which the shortest are:\n\n" + "\n\n".join(sorted(found, key=len)[:8])


# What stood in files that people have published
LINES = ("* TODO [#b] sleep\nDEADLINE: <2026-11-12 Thu 22:00 +1d>SCHEDULED: <2026-11-13 Fri 05:00 .+1d>\n", "* a\nCLOSED: [2026-11-12 Thu]DEADLINE:<2026-11-12 Thu>\n",
         "Particle filters ([[id:521c][Simultaneous Mapping\n(SLAM)]]) need memory.\n", "a [[id:2][since\n2020 and on]] b\n", "this [[http://a.org/x.pl\n][script]] can\n", "a [[id:2][one\n*bold* word]] b\n",
         "a [[id:2][one\n=code= and]] b [[id:2][one\n<word>]] c [[id:2][one\n#tag]]\n",
         "\\begin{align}\n- a\n- [ ] b\n\\end{align}\n- [ ] real\n", "- one\n  \\begin{align}\n  - a\n  \\end{align}\n  - [ ] two\n- three\n", "\\begin{align}\n- a\n", "- x\n  \\begin{x}\n- a\n  \\end{x}\n- b\n",
         "#+caption: see [[file:a.org]]\n[[file:b.png]]\n", "#+CAPTION[short]: see [[id:1][x]]\n| a |\n", "#+title: see [[file:a.org]]\n# [[file:b.org]]\n")


def test_what_people_write_is_read_as_emacs_reads_it(tmp_path): assert judge_files(tmp_path, LINES) == []


# Org files that came with Debian ---------------------------------------------------------------------------------------

def debian_files() -> list[str]:
    names = set(glob.glob("/usr/share/emacs/*/etc/ORG-NEWS")) | {str(f) for top in ("/usr/share/emacs", "/usr/share/doc", "/usr/share/org-mode", "/usr/share/elpa") for f in Path(top).rglob("*.org")}
    return sorted(n for n in names if os.path.isfile(n) and os.path.getsize(n) < 2_000_000)


def test_the_org_files_of_debian_are_read_as_emacs_reads_them(tmp_path):
    texts = []
    for name in debian_files():
        try: texts.append(decode(Path(name).read_bytes()).text)
        except NotText: pass
    if not texts: pytest.skip("Debian's packages here carry no Org files")
    found = [problem.split("\nin ")[0] for problem in judge_files(tmp_path, texts)]
    assert found == []


# Repeaters and the clock ----------------------------------------------------------------------------------------------

def ordinal_pairs() -> list[tuple[str, date]]:
    rng, pairs = random.Random(7), []
    for _ in range(1500):
        base = date(2024, 1, 1) + timedelta(rng.choice([0, 30, 59, 60, 365, rng.randrange(1200)]))
        unit = rng.choice("dwmyh")
        count = rng.choice([1, 1, 2, 3, 5, 7, 12, 30]) * (rng.choice([1, 5, 24]) if unit == "h" else 1)
        at = f" {rng.randrange(24):02}:30" if unit == "h" or rng.random() < 0.3 else ""
        pairs.append((f"<{base} Mon{at} {rng.choice(['+', '++', '.+'])}{count}{unit}>", base + timedelta(rng.randrange(-10, 900))))
    return pairs


def test_the_next_turn_of_a_repeater_is_that_of_emacs(tmp_path):
    pairs = ordinal_pairs()
    said, = ask(tmp_path, [("reader-repeats", [[text, day.toordinal()] for text, day in pairs])])
    found = []
    for (text, day), theirs in zip(pairs, said):
        one, = stamps(parse_org(text))
        ours = next(occurrences(one, day, day + timedelta(40_000)))
        if one.day.day > 28 and one.repeat.unit in "my" and ours.day <= 3 and ours < date.fromordinal(theirs): continue         # short months
        found += differ(f"{text} from {day}", str(ours), str(date.fromordinal(theirs)))
    assert found == []


def test_the_clock_of_emacs_agrees_but_for_the_repeated_hour(tmp_path):
    moments = [(day, hour, minute) for day in (date(2026, 3, 29), date(2026, 10, 25), date(2026, 7, 1), date(2026, 12, 31)) for hour in range(24) for minute in (0, 30)]
    zone = ZoneInfo("Europe/Berlin")
    said, = ask(tmp_path, [("reader-clock", [[0, m, h, d.day, d.month, d.year] for d, h, m in moments])], zone="Europe/Berlin")
    for (day, hour, minute), theirs in zip(moments, said):
        at = time(hour, minute)
        assert theirs - instant(day, at, zone).timestamp() in ((0, 3600) if clock_case(day, at, zone) == "twice" else (0,))


# Expressions ------------------------------------------------------------------------------------------------------------

def some(rng, low: int, high: int) -> str:
    if (kind := rng.random()) < 0.3: return "t"
    return str(rng.randint(low, high)) if kind < 0.7 else f"'({' '.join(str(rng.randint(low, high)) for _ in range(rng.randint(1, 3)))})"


def an_expression(rng, depth: int = 0) -> str:
    days = [date(2004, 2, 29) if rng.random() < 0.1 else date(1950, 1, 1) + timedelta(rng.randrange(29_000)) for _ in range(2)]
    iso, american = ["{0.year} {0.month} {0.day}".format(d) for d in days], ["{0.month} {0.day} {0.year}".format(d) for d in days]
    inner = lambda: an_expression(rng, depth + 1)
    return rng.choice([
        f"(org-anniversary {iso[0]})", f"(org-anniversary nil {iso[0].partition(' ')[2]})", f"(diary-anniversary {american[0]})", f"(diary-anniversary {american[0].rpartition(' ')[0]})", f"(org-cyclic {rng.randint(1, 40)} {iso[0]})",
        f"(diary-cyclic {rng.randint(1, 40)} {american[0]})", f"(org-block {iso[0]} {iso[1]})", f"(diary-block {american[0]} {american[1]})",
        f"(org-date {some(rng, 2024, 2027)} {some(rng, 1, 12)} {some(rng, 1, 28)})", f"(diary-date {some(rng, 1, 12)} {some(rng, 1, 28)} {some(rng, 2024, 2027)})",
        f"(diary-float {some(rng, 1, 12)} {rng.randint(0, 6)} {rng.choice((1, 2, 3, 4, 5, 9, -1, -2, -3, -4, -5))}{rng.choice(('', '', f' {rng.randint(1, 28)}'))})", f"(memq (calendar-day-of-week date) '({rng.randint(0, 6)} {rng.randint(0, 6)}))",
        f"(org-class 2024 1 5 2027 3 1 {rng.randint(0, 6)}{''.join(f' {rng.randint(1, 53)}' for _ in range(rng.randint(0, 4)))})",
        *([] if depth > 1 else [f"({rng.choice(('and', 'or'))} {' '.join(inner() for _ in range(rng.randint(1, 3)))})", f"(not {inner()})"])])


def test_expressions_mean_what_they_mean_to_emacs(tmp_path):
    rng, asked = random.Random(20), []
    for text in [an_expression(rng) for _ in range(400)]:
        assert understood(text), text
        meant = list(Expression(text).days(date(2023, 12, 1), date(2027, 6, 1)))
        for day in rng.sample(meant, min(6, len(meant))): asked += [(text, day + timedelta(n)) for n in (-1, 0, 1)]
        asked += [(text, date(2024, 1, 1) + timedelta(rng.randrange(1200))) for _ in range(10)]
    said, = ask(tmp_path, [("reader-sexps", [[text, "it is %d%s", day.toordinal()] for text, day in asked])])
    found, hits = [], 0
    for (text, day), theirs in zip(asked, said):
        ours = Expression(text, "it is %d%s").says(day) if understood(text)(day) is not None else None
        hits += ours is not None
        found += differ(f"{text} on {day}", ours, theirs or None)
    assert found == [] and hits > 1000


# Agenda ----------------------------------------------------------------------------------------------------------------

KINDS = {"timestamp": "event", "block": "event", "sexp": "event", "deadline": "deadline", "upcoming-deadline": "deadline", "scheduled": "scheduled", "past-scheduled": "scheduled"}


def emacs_lines(lines, names: dict, first: date, last: date) -> set:
    "What Emacs lists, without what we leave out on purpose."
    found, covered = set(), first <= TODAY <= last
    on = {(d, f, a, k) for d, f, a, k, _ in lines}
    for number, file, at, kind, _ in lines:
        day = date.fromordinal(number)
        if covered and day < TODAY and KINDS[kind] != "event": continue                                                # late tasks
        if covered and kind == "upcoming-deadline" and any((d, file, at, "deadline") in on for d in range(number + 1, last.toordinal() + 1)): continue    # notices
        found.add((day, names[file], at, KINDS[kind]))
    return found


def judge_agenda(folder: Path, texts: list[str], ranges) -> list[str]:
    files = [folder / f"{i}.org" for i in range(len(texts))]
    for file, text in zip(files, texts): file.write_bytes(text.encode())
    names, outlines = {str(f): f.name for f in files}, [parse_org(text, f.name) for f, text in zip(files, texts)]
    calls = [("reader-agenda", [str(f) for f in files], TODAY.toordinal(), first.toordinal(), (last - first).days + 1) for first, last in ranges]
    found, by_name = [], {o.file: o for o in outlines}
    for (first, last), lines in zip(ranges, ask(folder, calls)):
        assert not isinstance(lines, dict), lines
        theirs = emacs_lines(lines, names, first, last)
        ours = set()
        for item in agenda(outlines, first, last, TODAY):
            node = [n for n in by_name[item.file].nodes if n.line == item.line][-1]
            if node.index: ours.add((item.day, item.file, node.start, item.kind))                                       # file dates
        for day, file, at, kind in sorted(ours ^ theirs):
            who = "ours" if (day, file, at, kind) in ours else "Emacs"
            found.append(f"only {who}, {first} to {last}: {day} {kind} in {by_name[file].text[at:at + 200]!r}")
    return found


RANGES = [(TODAY, TODAY), (date(2026, 11, 16), date(2026, 11, 22)), (date(2026, 11, 20), date(2026, 11, 29)), (date(2026, 11, 2), date(2026, 11, 8)), (date(2026, 12, 24), date(2027, 1, 2))]


def test_the_agenda_of_the_sample_memex_is_that_of_emacs(tmp_path):
    assert judge_agenda(tmp_path, sample_texts(), RANGES) == []


close = st.integers(-40, 40).map(lambda n: TODAY + timedelta(n))
turn = st.sampled_from(["", "", "", " +1d", " ++2w", " .+3d", " +1m", " 10:00", " 10:00-11:00 +1w", " +10d"])
dated = st.builds("<{} Mon{}>".format, close, turn)
task = st.builds(lambda n, word, tag, plans, more: f"{'*' * n} {word}t{tag}\n{plans}{more}", st.integers(1, 2), st.sampled_from(["TODO ", "TODO ", "DONE ", "", "COMMENT "]), st.sampled_from(["", "", "", " :ARCHIVE:"]),
                 st.one_of(st.just(""), st.builds("SCHEDULED: {}\n".format, dated), st.just("SCHEDULED: <%%(org-cyclic 9 2026 11 2)>\n"), st.builds("DEADLINE: {}\n".format, st.one_of(dated, st.builds("<{} Tue -{}d>".format, close, st.integers(0, 20)))), st.builds("DEADLINE: {} SCHEDULED: {}\n".format, dated, dated)),
                 st.one_of(st.just(""), st.just(""), dated.map("on {}\n".format), st.sampled_from(["<%%(diary-float t 4 -2)>\n", "on <%%(org-cyclic 3 2026 11 2)>\n", "<%%(org-anniversary 1956 11 20)> and\n"]), st.builds(lambda d, n: f"<{d} Mon>--<{d + timedelta(n)} Tue>\n", close, st.integers(1, 9)), dated.map("# {}\n".format), dated.map(": {}\n".format), dated.map("={}=\n".format),
                           dated.map(":PROPERTIES:\n:WHEN: {}\n:END:\n".format), dated.map("#+begin_example\n{}\n#+end_example\n".format), dated.map("- [ ] {}\n".format), dated.map("| {} |\n".format), dated.map("#+begin_quote\n{}\n#+end_quote\n".format), dated.map("#+caption: {}\n".format)))


@rounds(10)
@given(st.lists(task, min_size=120, max_size=120))
def test_generated_agendas_are_those_of_emacs(tmp_path_factory, tasks):
    found = judge_agenda(tmp_path_factory.mktemp("agenda"), ["".join(tasks)], RANGES)
    assert not found, f"{len(found)} differences, of which the shortest are:\n\n" + "\n".join(sorted(found, key=len)[:12])
