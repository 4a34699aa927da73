"One connection of a daemon: how long it is waited for, how much it may cost, and what becomes of one that does not listen"
import asyncio
import contextlib
import itertools
from types import SimpleNamespace as Made

import pytest

from passepartout.plist import read_plist
from passepartout.protocol import FramingError, frame_message
from passepartout.serving import guests
from passepartout.serving.guests import Bucket, Guest, GuestLimits, drive, framed, understood

LIMITS = GuestLimits(unread=100, unread_s=30.0)


class Transport:
    def __init__(self): self.size, self.aborted, self.closing = 0, 0, False
    def get_write_buffer_size(self): return self.size
    def is_closing(self): return self.closing
    def abort(self): self.aborted += 1


class Writer:
    def __init__(self): self.transport, self.sent, self.closed = Transport(), [], 0
    def write(self, data): self.sent.append(data)
    def close(self): self.closed += 1


class Clock:
    "An event loop of which only the timers are there."
    def __init__(self): self.timers = []
    def get_running_loop(self): return self

    def call_later(self, delay, function):
        self.timers.append(timer := Made(delay=delay, function=function, live=True))
        timer.cancel = lambda: setattr(timer, "live", False)
        return timer

    @property
    def live(self): return [each for each in self.timers if each.live]

    def ring(self):
        (timer,) = self.live
        timer.live = False
        timer.function()


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(guests, "asyncio", made)
    return made


@pytest.fixture
def guest(clock): return Guest(7, None, Writer(), LIMITS)


HELLO = {"type": "EVENT", "payload": {"action": "handshake"}}


# What is sent

def test_nothing_is_sent_to_one_that_has_gone(guest):
    guest.send(HELLO)
    assert guest.writer.sent == [frame_message(HELLO)] and not guest.gone
    guest.writer.transport.closing = True
    guest.send(HELLO)
    guest.writer.transport.closing, guest.gone = False, "it has ended"
    guest.send(HELLO)
    assert len(guest.writer.sent) == 1


def test_one_that_leaves_too_much_lying_is_cut_off(guest):
    guest.writer.transport.size = LIMITS.unread
    guest.send(HELLO)
    assert not guest.gone and len(guest.writer.sent) == 1
    guest.writer.transport.size += 1
    guest.send(HELLO)
    assert (guest.gone, guest.writer.transport.aborted, len(guest.writer.sent)) == ("it does not read its answers", 1, 1)


def test_one_that_takes_nothing_for_a_while_is_cut_off(guest, clock):
    guest.send(HELLO)
    assert not clock.live, "it has taken all, and nobody has to look"
    guest.writer.transport.size = 50
    guest.send(HELLO), guest.send(HELLO)
    assert [each.delay for each in clock.live] == [LIMITS.unread_s], "one look is enough for all that is sent meanwhile"
    guest.writer.transport.size = 49
    clock.ring()
    assert not guest.gone and len(clock.live) == 1, "who takes a single byte is still there, and is looked at again"
    clock.ring()
    assert (guest.gone, guest.writer.transport.aborted) == ("it does not read its answers", 1) and not clock.live


def test_one_that_has_taken_all_is_looked_at_again_when_there_is_more(guest, clock):
    guest.writer.transport.size = 50
    guest.send(HELLO)
    guest.writer.transport.size = 0
    clock.ring()
    assert not clock.live and not guest.gone
    guest.writer.transport.size = 50
    guest.send(HELLO)
    clock.ring()
    assert guest.gone


def test_the_first_reason_is_the_one_that_counts(guest, clock):
    guest.drop("it made way")
    guest.drop("it does not read its answers")
    guest.leave("it has ended")
    assert (guest.gone, guest.writer.closed, clock.timers) == ("it made way", 0, [])


def test_one_that_leaves_gets_what_was_said_and_a_few_seconds(guest, clock):
    guest.writer.transport.size = 50
    guest.send(HELLO)
    look = clock.live[0]
    guest.leave("the daemon is stopping")
    guest.leave("again")
    assert (guest.gone, guest.writer.closed, guest.writer.transport.aborted, look.live) == ("the daemon is stopping", 1, 0, False)
    clock.ring()
    assert guest.writer.transport.aborted == 1


def test_one_has_ended_when_it_is_gone_or_says_no_more(guest):
    assert guest.ended is False, "without a reader nobody knows that it says no more"
    guest.reader = Made(at_eof=lambda: False)
    assert guest.ended is False
    guest.reader = Made(at_eof=lambda: True)
    assert guest.ended is True
    guest.reader, guest.writer.transport.closing = Made(at_eof=lambda: False), True
    assert guest.ended is True, "the kernel reported an error"
    guest.writer.transport.closing = False
    guest.reader, guest.gone = Made(at_eof=lambda: False), "it made way"
    assert guest.ended is True


@pytest.mark.parametrize("text", [float("inf"), {1: 2, "1": 3}, object()], ids=["endless", "clash", "thing"])
def test_what_cannot_be_framed_becomes_an_error(text):
    told = read_plist(framed({"type": "LOG", "payload": {"text": text}})[6:].decode())
    assert told["type"] == "log" and told["payload"]["level"] == "error" and told["payload"]["text"]


def test_half_a_character_is_a_question_mark():
    told = read_plist(framed({"type": "LOG", "payload": {"text": "a\ud800b", "list": ["\udfff", 3], "deep": {"x": ("\ud800",)}}})[6:].decode())
    assert told["payload"]["text"] == "a?b" and told["payload"]["list"] == ["?", 3] and told["payload"]["deep"]["x"] == ["?"]


def test_a_health_check_says_nothing_of_its_own():
    assert understood("(:TYPE :HEALTH-CHECK :PAYLOAD (:ACTION :APPROVE :CODE \"x\"))", 1000) == {"type": "event", "payload": {"action": "health-check"}}


# What is read

class Deadlines:
    "The clock of a loop that moves by one whenever it is asked, and the moments up to which something was waited for."
    IncompleteReadError = asyncio.IncompleteReadError
    def __init__(self): self.ticks, self.until = itertools.count(), []
    def get_running_loop(self): return Made(time=lambda: next(self.ticks))

    @contextlib.asynccontextmanager
    async def timeout_at(self, when):
        self.until.append(when)
        yield


class Pieces:
    def __init__(self, *pieces): self.pieces = list(pieces)

    async def readexactly(self, size):
        piece = self.pieces.pop(0)
        if isinstance(piece, Exception): raise piece
        return piece


def steps(*wanted):
    got = []
    for want in wanted: got.append((yield want))
    return got


async def driven(monkeypatch, pieces, wanted, big=None, big_chars=1000, idle=500.0, whole=100.0):
    monkeypatch.setattr(guests, "asyncio", seen := Deadlines())
    return await drive(steps(*wanted), Pieces(*pieces), idle, whole, big or asyncio.Semaphore(1), big_chars), seen.until


async def test_a_message_has_one_deadline_however_many_pieces_it_comes_in(monkeypatch):
    got, until = await driven(monkeypatch, [b" ", b"\n", b"0", b"00001", b"a"], [1, 1, 1, 5, 1])
    assert got == [b" ", b"\n", b"0", b"00001", b"a"]
    assert until[:3] == [500.0] * 3, "blanks are no message"
    assert until[3] < 200 and until[4] == until[3], "with one for each piece, somebody who sends a letter a minute would be waited for all day"


async def test_the_end_of_a_connection_is_what_has_come(monkeypatch):
    for error, last in ((asyncio.IncompleteReadError(b"00", 5), b"00"), (ConnectionResetError(), b"")):
        got, _ = await driven(monkeypatch, [b"0", error], [1, 5])
        assert got == [b"0", last]


async def test_a_big_message_takes_one_place_once_and_gives_it_back(monkeypatch):
    big = asyncio.Semaphore(1)
    await driven(monkeypatch, [b"x", b"y", b"z"], [1001, 1001, 2000], big)
    assert not big.locked() and big._value == 1
    await driven(monkeypatch, [b"x"], [1000], big)
    async def broken(): await driven(monkeypatch, [b"x", ValueError("damaged")], [1001, 1], big)
    with pytest.raises(ValueError): await broken()
    assert big._value == 1


async def test_a_big_message_waits_for_its_place_and_a_small_one_does_not(monkeypatch):
    big = asyncio.Semaphore(1)
    await big.acquire()
    assert (await driven(monkeypatch, [b"x"], [1000], big))[0] == [b"x"]
    waiting = asyncio.ensure_future(driven(monkeypatch, [b"x"], [1001], big))
    for _ in range(5): await asyncio.sleep(0)
    assert not waiting.done()
    big.release()
    assert (await waiting)[0] == [b"x"]


@pytest.mark.parametrize("said, told", [(b"0000", "not complete after 0.01 seconds"), (b"", "Nothing was said for 0.02 seconds")])
async def test_who_stops_in_the_middle_hears_what_was_missing(said, told):
    from passepartout.protocol import read_steps
    reader, big = asyncio.StreamReader(), asyncio.Semaphore(1)
    reader.feed_data(said)
    with pytest.raises(FramingError, match=told): await drive(read_steps(), reader, 0.02, 0.01, big, 10)


def test_a_bucket_fills_up_to_its_brim():
    now = [0.0]
    bucket = Bucket(2.0, 3.0, lambda: now[0])
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] = 100.0
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]


# One message after the other

async def told(guest, *messages):
    guest.reader = asyncio.StreamReader()
    for each in messages: guest.reader.feed_data(each if isinstance(each, bytes) else frame_message(each))
    guest.reader.feed_eof()
    found = []
    while (message := await guest.next()) is not None: found.append(message["payload"]["action"])
    return found


async def test_messages_come_one_by_one_until_the_end():
    guest = Guest(1, None, Writer(), LIMITS, big=asyncio.Semaphore(1))
    assert guest.spoke is False and await told(guest, HELLO, HELLO) == ["handshake", "handshake"] and guest.spoke is True


async def test_a_guest_that_was_cut_off_is_not_listened_to():
    guest = Guest(1, None, Writer(), LIMITS, big=asyncio.Semaphore(1), gone="it made way")
    assert await told(guest, HELLO) == []


async def test_mistakes_are_told_until_there_are_too_many():
    guest = Guest(1, None, Writer(), GuestLimits(mistakes=2), big=asyncio.Semaphore(1))
    wrong = b"000003(:A"
    assert await told(guest, wrong, HELLO, wrong) == ["handshake"] and len(guest.writer.sent) == 2
    with pytest.raises(FramingError, match="Too many messages"): await told(guest, wrong)
    assert len(guest.writer.sent) == 2


async def test_a_stranger_is_waited_for_less_and_read_less_of(monkeypatch):
    asked = []
    async def drive(steps, reader, idle, whole, big, big_chars):
        asked.append((idle, whole))
        return None
    monkeypatch.setattr(guests, "drive", drive)
    limits, sizes = GuestLimits(idle_s=90.0, hello_s=5.0, frame_s=10.0), []
    monkeypatch.setattr(guests, "read_steps", sizes.append)
    for stranger in (False, True): await Guest(1, None, Writer(), limits, stranger=stranger).next()
    assert asked == [(90.0, 10.0), (5.0, 5.0)] and sizes == [limits.frame_chars, limits.hello_chars]
