"""Laws that dates as people write them obey, whatever day it is."""
import time
from datetime import date, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.org import parse_org
from passepartout.outline.timestamps import occurrences, stamps
from passepartout.reflex.datecalls import first_turn, turn_before
from passepartout.reflex.dates import MONTHS, WEEKDAYS, NoSuchDate, read_day, say_day, say_span
from passepartout.reflex.spans import read_span
from passepartout.reflex.whens import split_when

days = st.dates(date(1990, 1, 1), date(2090, 12, 31))
near = st.integers(-3000, 3000).map(lambda n: timedelta(days=n))
TODAY = date(2026, 11, 19)


@given(days, near)
def test_every_written_form_of_a_day_is_read_back(today, off):
    day = today + off
    month = MONTHS[day.month - 1]
    for text in (day.isoformat(), f"{day.day}.{day.month}.{day.year}", f"{day.day:02}/{day.month:02}/{day.year}", f"{day.day} {month} {day.year}",
                 f"{month[:3]} {day.day}, {day.year}", f"the {day.day}th of {month.upper()} {day.year}", say_day(day), f"on {say_day(day)}"):
        assert read_day(text, today) == day


@given(days, st.sampled_from(WEEKDAYS))
def test_weekdays_lie_where_the_page_says(today, name):
    index = WEEKDAYS.index(name)
    plain, after, before = (read_day(f"{w}{name.lower()}", today) for w in ("", "next ", "last "))
    assert plain.weekday() == after.weekday() == before.weekday() == index
    assert today <= plain < today + timedelta(days=7)
    assert today - timedelta(days=7) <= before < today
    assert after.isocalendar()[:2] == (today + timedelta(days=7)).isocalendar()[:2]


@given(days, st.integers(0, 9999), st.sampled_from(["day", "week", "month", "year"]))
def test_counting_forward_is_never_short(today, n, unit):
    try: day = read_day(f"in {n} {unit}s", today)
    except NoSuchDate: assert unit == "year" and today.year + n > 9998 or n > 7000; return
    assert (day - today).days >= n * {"day": 1, "week": 7, "month": 28, "year": 365}[unit]


@given(days, st.integers(1, 31), st.integers(1, 12))
def test_a_day_without_a_year_is_ahead_or_nearest(today, day, month):
    text = f"{day} {MONTHS[month - 1]}"
    try: ahead, nearest = read_day(text, today), read_day(text, today, nearest=True)
    except NoSuchDate: assert day > 28; return
    assert ahead >= today and (ahead.day, ahead.month) == (nearest.day, nearest.month) == (day, month)
    if (day, month) != (29, 2): assert abs((nearest - today).days) <= 183


@given(days, st.sampled_from(["today", "this week", "next week", "last week", "this month", "next month", "last month", "this year", "the next 10 days", "the last 2 weeks",
                              "overdue", "this weekend", "until friday", "since monday", "in march", "from monday to sunday", "by the end of the month", "next weekend"]))
def test_a_span_is_in_order_and_says_its_dates(today, text):
    span = read_span(text, today)
    assert span.start <= span.end and str(span.end.day) in say_span(span.start, span.end) and text.split()[-1] in str(span)


@given(days, days)
def test_two_dates_make_a_span_or_a_reason(first, last):
    text = f"from {first} to {last}"
    if first <= last: assert (read_span(text, TODAY).start, read_span(text, TODAY).end) == (first, last)
    else:
        with pytest.raises(NoSuchDate, match="ends before it begins"): read_span(text, TODAY)


@given(st.sampled_from(["call Ana", "pay 3.11 to Pohl", "buy für Nele 🧦", "read コンビニ人間", "ask: why?"]), days, st.sampled_from(["by", "on", ""]))
def test_a_title_survives_the_date_after_it(title, day, word):
    rest, when = split_when(f"{title} {word} {day}", TODAY)
    assert rest == title and when.day == day and when.kind == ("deadline" if word == "by" else "scheduled")


@given(st.text(max_size=200), days)
@settings(max_examples=examples(300))
def test_any_text_gives_a_date_nothing_or_a_sentence(text, today):
    for read in (read_day, read_span, split_when):
        try: read(text, today)
        except NoSuchDate as problem: assert problem.message.endswith(".")


@given(st.lists(st.sampled_from("in the next last this of end on by 3 31 99 november feb friday week month year 24.11. 2026 9:30 at to from and 0 am until".split()), max_size=14).map(" ".join), days)
@settings(max_examples=examples(500))
def test_date_words_in_any_order_raise_nothing_else(text, today):
    for read in (read_day, read_span, split_when):
        try: read(text, today)
        except NoSuchDate as problem: assert problem.message


@pytest.mark.parametrize("today", [date.min, date.max, date(9998, 12, 31), date(2024, 2, 29)])
def test_the_ends_of_the_calendar(today):
    for text in ("in 9999 years", "yesterday", "tomorrow", "last week", "next month", "29 feb", "3 march", "the 31st", "overdue", "this week", "week 53", "next friday", "last friday"):
        for read in (read_day, read_span, split_when):
            try: read(text, today)
            except NoSuchDate: pass


@pytest.mark.parametrize("text, hint", [("31 november", "30 days"), ("29 feb 2027", "28 days"), ("24/13", "day first"), ("week 60", "no week 60"),
                                        ("tuesday 20 november", "is a Friday"), ("0 may", "no 0 May"), ("the 45th", "no 45th"), ("2026-13-01", "no month 13")])
def test_what_cannot_be_is_explained(text, hint):
    with pytest.raises(NoSuchDate, match=hint): read_span(text, TODAY)


def test_long_input_costs_nothing():
    for text in ("1" * 1_000_000, "in " * 300_000, "24.11." * 160_000, "x by friday " * 80_000, "\n" * 1_000_000, "9:" * 500_000):
        began = time.perf_counter()
        for read in (read_day, read_span, split_when):
            try: read(text, TODAY)
            except NoSuchDate: pass
        assert time.perf_counter() - began < 20          # what is not linear takes hours


def test_superscript_digits_are_not_numbers():
    assert read_day("²⁴ nov", TODAY) is None and read_day("in ³ days", TODAY) is None and read_day("٢٤ nov", TODAY) is None


@given(days, st.integers(1, 53))
def test_a_week_by_its_number_is_the_nearest_one_and_the_own_week_is_known(today, number):
    assert read_span(f"week {today.isocalendar().week}", today).start <= today <= read_span(f"week {today.isocalendar().week}", today).end
    try: span = read_span(f"week {number}", today)
    except NoSuchDate: assert number == 53; return
    assert span.start.isocalendar()[1:] == (number, 1) and (abs((span.start - today).days) < 200 or number == 53)
    assert read_span("the week after next", today).start == read_span("next week", today).start + timedelta(days=7)


@pytest.mark.slow
@pytest.mark.parametrize("begun, repeater", [("2026-11-20", "+1w"), ("2026-11-20", "+2w"), ("2026-11-20", "++3d"), ("2026-11-20", "+1m"), ("2026-12-01", "+1m"), ("2026-12-01", "++2m")])
def test_a_pause_of_any_length_ends_on_a_turn_and_leads_back_to_the_first(begun, repeater):
    stamp = stamps(parse_org(f"* TODO Choir\nSCHEDULED: <{begun} {repeater}>\n", "choir.org"))[0]
    turns = set(occurrences(stamp, stamp.day, date(2028, 12, 1)))
    for until in (TODAY + timedelta(n) for n in range(2, 300)):
        assert until <= (after := first_turn(stamp, None, until)) and after in turns
        assert turn_before(stamp._replace(day=after), None, TODAY) == (stamp.day if after > stamp.day else None)
