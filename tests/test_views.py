"""Lists of tasks over generated notes, and the clock in every zone there is."""
import random
import time
from datetime import date, datetime, time as hour, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agenda import agenda, render_agenda
from passepartout.outline.diarydates import diary_dates
from passepartout.outline.markdown import parse_markdown
from passepartout.org import parse_org
from passepartout.awareness.views import VIEWS, by_project, by_tag, open_items, projects_in, unscheduled, view, waiting
from passepartout.wallclock import clock_case, clock_remark, clock_remarks, instant
from test_org import texts

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Casablanca", "Pacific/Apia", "UTC"]
days = st.dates(date(1975, 1, 1), date(2037, 12, 31))
hours = st.times().map(lambda t: t.replace(microsecond=0))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(texts, st.sampled_from([(parse_org, "org"), (parse_markdown, "md")])), max_size=3))
def test_every_view_of_any_text(files):
    outlines = [parse(text, f"{i}.{end}") for i, (text, (parse, end)) in enumerate(files)]
    items = open_items(outlines)
    assert len({(i.file, i.line) for i in items}) == len(items) == sum(n.open and not n.hidden for o in outlines for n in o.nodes)
    assert sum(map(len, by_project(items, projects_in(outlines)).values())) == len(items)
    assert {(i.file, i.line) for group in by_tag(items).values() for i in group} == {(i.file, i.line) for i in items}
    assert not {(i.file, i.line) for i in waiting(items)} & {(i.file, i.line) for i in unscheduled(items)}
    for name in VIEWS: assert view(name, outlines)[1]
    assert [i.as_dict() for i in items] == [i.as_dict() for i in open_items(outlines[::-1])]
    for o in outlines: assert all("%%(" in text for _, text in diary_dates(o)[1])


@settings(max_examples=examples(300), deadline=None)
@given(days, hours, st.sampled_from(ZONES))
def test_a_time_on_the_wall_is_a_moment(day, at, name):
    zone = ZoneInfo(name)
    moment, case = instant(day, at, zone), clock_case(day, at, zone)
    shown = moment.astimezone(zone)
    if case == "gap": assert shown.replace(tzinfo=None) > datetime.combine(day, at) and f"taken as {shown:%H:%M}" in clock_remark(day, at, zone)
    else: assert shown.replace(tzinfo=None, fold=0) == datetime.combine(day, at)
    if case == "twice": assert (moment + timedelta(minutes=20)).astimezone(zone).utcoffset() is not None and "twice" in clock_remark(day, at, zone)
    if not case: assert clock_remark(day, at, zone) == "" and datetime.fromtimestamp(moment.timestamp(), zone).replace(tzinfo=None, fold=0) == datetime.combine(day, at)


@pytest.mark.parametrize("name, day, at, case, utc", [
    ("Europe/Berlin", date(2026, 3, 29), hour(1, 59), "", "00:59"), ("Europe/Berlin", date(2026, 3, 29), hour(2), "gap", "01:00"), ("Europe/Berlin", date(2026, 3, 29), hour(3), "", "01:00"),
    ("Europe/Berlin", date(2026, 10, 25), hour(2), "twice", "00:00"), ("Europe/Berlin", date(2026, 10, 25), hour(2, 59), "twice", "00:59"), ("Europe/Berlin", date(2026, 10, 25), hour(3), "", "02:00"),
    ("Australia/Lord_Howe", date(2026, 10, 4), hour(2, 15), "gap", "15:45"), ("America/New_York", date(2026, 3, 8), hour(2, 30), "gap", "07:30"),
    ("Pacific/Apia", date(2011, 12, 30), hour(12), "gap", "22:00")])
def test_the_nights_when_the_clock_is_changed(name, day, at, case, utc):
    assert (clock_case(day, at, ZoneInfo(name)), f"{instant(day, at, ZoneInfo(name)):%H:%M}") == (case, utc)


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "UTC"])
def test_the_clock_of_the_system_is_read_alike(name, monkeypatch):
    monkeypatch.setenv("TZ", name)
    time.tzset()
    try:
        rng = random.Random(name)
        for _ in range(300):
            day, at = date(2026, 1, 1) + timedelta(rng.choice([66, 66, 87, 297, 304, rng.randrange(365)])), hour(rng.randrange(5), rng.randrange(60))
            assert (instant(day, at), clock_case(day, at), clock_remark(day, at)) == (instant(day, at, ZoneInfo(name)), clock_case(day, at, ZoneInfo(name)), clock_remark(day, at, ZoneInfo(name)))
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_agenda_is_the_same_in_every_zone(monkeypatch):
    note = parse_org("* a <2026-03-29 Sun 02:30>\n* TODO b\nSCHEDULED: <2026-10-25 Sun 02:30 +12h>\n* c <2026-03-28 Sat 23:30 +1h>\n", "a.org")
    seen = set()
    for name in ZONES:
        monkeypatch.setenv("TZ", name)
        time.tzset()
        seen.add("\n".join(render_agenda(agenda([note], first, last, first), first, last, first) for first, last in ((date(2026, 3, 28), date(2026, 3, 30)), (date(2026, 10, 24), date(2026, 10, 27)))))
    monkeypatch.undo()
    time.tzset()
    assert len(seen) == 1


def test_the_ends_of_the_calendar():
    for day in (date.min, date.max):
        for name in ZONES: assert clock_remark(day, hour(2), ZoneInfo(name)) is not None
    note = parse_org("* a <0001-01-01 Mon 00:00>\n* b <9999-12-31 Fri 23:59>\n* TODO c\nSCHEDULED: <9999-12-31 Fri -99999y>\n* TODO d\nDEADLINE: <0001-01-01 Mon -99999y>\n")
    for first, last in ((date.min, date(2, 1, 1)), (date(9998, 1, 1), date.max)):
        for today in (date.min, date(2026, 1, 1), date.max): clock_remarks(agenda([note], first, last, today), ZoneInfo("Europe/Berlin"))
