"""The sample notes are somebody's, and hold together: dates, links, tags, scripts, and two texts that give orders."""
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

import passepartout

MEMEX = Path(passepartout.__file__).parent / "sample" / "memex"
FILES = sorted(p for p in MEMEX.rglob("*") if p.is_file())
TEXT = {p.relative_to(MEMEX).as_posix(): p.read_text(encoding="utf-8") for p in FILES}
TODAY = date(2026, 11, 19)
STAMP = re.compile(r"([<\[])(\d{4}-\d{2}-\d{2}) ([A-Z][a-z]{2})(?: \d{1,2}:\d{2})?((?: (?:\+\+|\.\+|\+|-)\d+[dwmy])*)[>\]]")
PLANNED = re.compile(r"(SCHEDULED|DEADLINE): <(\d{4}-\d{2}-\d{2}) \w{3}[^>]*?>")


def test_there_are_as_many_notes_as_a_person_has_and_all_are_text():
    assert 36 <= len(FILES) <= 52 and {p.suffix for p in FILES} == {".org", ".md"}
    assert sum(p.suffix == ".md" for p in FILES) >= 12
    assert not any(p.is_symlink() or any(part.startswith(".") for part in p.relative_to(MEMEX).parts) for p in FILES)
    sizes = sorted(len(t) for t in TEXT.values())
    assert sizes[0] < 500 < 1500 < sizes[-1] < 8000


def test_every_date_carries_its_own_weekday():
    seen = 0
    for name, text in TEXT.items():
        for bracket, day, weekday, _ in STAMP.findall(text):
            assert "Mon Tue Wed Thu Fri Sat Sun".split()[date.fromisoformat(day).weekday()] == weekday, f"{name}: {day} {weekday}"
            seen += 1
    assert seen >= 60


def test_what_looks_like_a_timestamp_is_one():
    for name, text in TEXT.items():
        for loose in re.findall(r"<\d{4}-[^>\n]*>", text): assert STAMP.fullmatch(loose), f"{name}: {loose}"


def test_links_between_notes_lead_somewhere():
    names, ids, links = {Path(n).stem for n in TEXT}, set(re.findall(r":ID:\s+(\S+)", "\n".join(TEXT.values()))), 0
    for name, text in TEXT.items():
        here = (MEMEX / name).parent
        targets = re.findall(r"\[\[file:([^\]]+?)(?:::[^\]]*)?\](?:\[|\])", text) + (re.findall(r"\]\((?!https?:)([^)#]+)\)", text) if name.endswith(".md") else [])
        for target in targets: assert (here / target).resolve().is_relative_to(MEMEX.resolve()) and (here / target).is_file(), f"{name} -> {target}"
        if name.endswith(".md"):
            for wiki in re.findall(r"\[\[([\w-]+)\]\]", text): assert wiki in names, f"{name} -> {wiki}"
        for wanted in re.findall(r"\[\[id:([^\]]+)\]", text): assert wanted in ids
        links += len(targets)
    assert links > 15


def test_keywords_that_are_used_are_declared():
    for name, text in TEXT.items():
        if not name.endswith(".org"): continue
        declared = re.findall(r"^#\+TODO: (.*)$", text, re.M)
        words = {w.partition("(")[0] for line in declared for w in line.split()} - {"|"} if declared else {"TODO", "DONE"}
        for first in re.findall(r"^\*+ ([A-Z]{3,})\b", text, re.M): assert first in words , f"{name}: {first}"
    assert sum("#+TODO:" in t for t in TEXT.values()) >= 5


def test_planned_days_lie_around_today():
    days = [date.fromisoformat(d) for t in TEXT.values() for _, d in PLANNED.findall(t)]
    assert sum(TODAY <= d <= TODAY + timedelta(days=30) for d in days) >= 20
    assert sum(TODAY - timedelta(days=14) <= d < TODAY for d in days) >= 3


@pytest.mark.parametrize("week", [0, 1, 10, 52, 520])
def test_something_is_due_in_any_later_week(week):
    monday = TODAY + timedelta(weeks=week, days=-TODAY.weekday())
    repeating = 0
    for text in TEXT.values():
        for bracket, day, _, marks in STAMP.findall(text):
            found = re.search(r"(?:\+\+|\.\+|\+)(\d+)([dw])", marks)
            if not found: continue
            start, step = date.fromisoformat(day), int(found[1]) * (7 if found[2] == "w" else 1)
            repeating += any((monday + timedelta(days=n) - start).days % step == 0 for n in range(7) if monday + timedelta(days=n) >= start)
    assert repeating >= 4


def test_the_parts_of_a_life_are_there():
    whole = "\n".join(TEXT.values())
    assert {n.split("/")[0] for n in TEXT if "/" in n} >= {"projects", "work", "people", "recipes", "trips", "reading", "health", "journal", "clippings"}
    assert sum(bool(re.match(r"journal/\d{4}-\d{2}-\d{2}\.(org|md)$", n)) for n in TEXT) >= 6
    for what in ("#+FILETAGS:", ":PROPERTIES:", "|---", "- [ ]", "- [X]", "- [x]", "+1w", ".+3d", "+1m", "#+begin_src", "CLOSED:", "State \"WAITING\"", "📅"): assert what in whole, what
    for script in (r"[\u3040-\u30ff]", r"[\u4e00-\u9fff]", r"[\u0600-\u06ff]", "[ãõç]", "[äöüß]", r"[\U0001f300-\U0001faff]"): assert re.search(script, whole), script
    assert sum(t.startswith("---\n") for n, t in TEXT.items() if n.endswith(".md")) >= 8
    for name in ("inbox.org", "trips/lisbon.org", "projects/roof.org", "health/dentist.org", "reading/book-club.org", "reading/list.org", "projects/garden.org"): assert name in TEXT


def test_private_headings_are_tagged_and_say_nothing_elsewhere():
    tagged = {n for n, t in TEXT.items() if re.search(r"^\*+ .*:@personal:", t, re.M)}
    assert tagged == {"people/mama.org", "private/money.org"}
    assert not any("Parkinson" in t or "11 200" in t for n, t in TEXT.items() if n not in tagged)


def test_the_hostile_texts_give_orders():
    page, mail = TEXT["clippings/zinc-gutters.md"], TEXT["clippings/fwd-photo-service.org"]
    assert "Ignore all previous instructions" in page and "(:TYPE :REQUEST" in page and ":APPROVED T" in page and "<!--" in page
    assert "automated assistant" in mail and "No further" in mail


def test_nobody_real_is_written_to():
    for host in re.findall(r"(?:https?://|@)([\w.-]+\.\w{2,})", "\n".join(TEXT.values())): assert host.endswith(".example"), host
    for number in re.findall(r"\b0\d{3,4} ?\d{6,}\b", "\n".join(TEXT.values())): assert number.startswith("0176 040690"), number
