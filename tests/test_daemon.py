"""The daemon against clients that are broken, slow, hostile, or somebody else; each beside one that must notice nothing.

A daemon runs in the event loop of the test, with its real socket and port. What needs a process of its own is in test_daemon_process.py.
"""
import asyncio, contextlib, io, json, os, select, socket, stat, subprocess, sys, tempfile, threading
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.conditions import PassepartoutError
from passepartout.daemon import Daemon
from passepartout.databases import private_folder
from passepartout.diary import diary_of
from passepartout.serving.pairing import GatewayLinks
from passepartout.serving.porter import Porter
from passepartout.serving.guests import GuestLimits
from passepartout.plist import read_plist, write_plist
from passepartout.protocol import frame_message, read_framed_message
from passepartout.storage.seal import Seal, open_key, sealed_steps
from passepartout.serving.sockets import connect_to, listen_at, socket_path
from passepartout.serving.telegram import Telegram
from passepartout.settings import load_settings
from passepartout.terminal.chat import Chat
from passepartout.terminal.client import Calls, DistantAgent, Stream, find_daemon
from passepartout.terminal.render import screen
from telegram_server import TelegramServer
from test_mediation import EFFECTS, booted, forged_signals, intents
from waits import until

CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-archive" :ARGS (:PATH "inbox.org" :HEADING "Buy stamps" :ARCHIVE "inbox.org_archive") :EXPLANATION "The letters have gone out, so the stamps were bought."))'


class Client:
    "What a program would do: frames out, frames in; on the port each with its seal."
    def __init__(self, reader, writer, seal=None): self.reader, self.writer, self.seal = reader, writer, seal

    async def read(self):
        if self.seal is None: return await asyncio.wait_for(read_framed_message(self.reader), 10)
        steps, data = sealed_steps(0xFFFFFF), None
        try:
            while True:
                want = steps.send(data)
                try: data = await asyncio.wait_for(self.reader.readexactly(want), 10)
                except asyncio.IncompleteReadError as end: data = end.partial
        except StopIteration as done: return None if done.value is None else read_plist(self.seal.open(*done.value))

    def send(self, **payload): self.raw(frame_message({"type": "EVENT", "payload": payload}))

    def raw(self, frame): self.writer.write(self.seal.close(frame) if self.seal is not None else frame)

    async def ask(self, **payload):
        self.send(**payload)
        return (await self.read())["payload"]

    async def say(self, text, **more): return await self.ask(sensor="user-input", text=text, **more)

    async def rest(self):
        "Everything until the end, as texts of errors."
        told = []
        try:
            while (message := await self.read()) is not None: told.append(str(message["payload"].get("text")))
        except (ConnectionError, PassepartoutError): pass
        return told


@pytest.fixture
async def house(tmp_path):
    "A daemon whose model is `house.model(prompt)`, and ways to talk to it."
    memex = tmp_path / "notes"
    memex.mkdir()
    (memex / "inbox.org").write_text("* Buy stamps\n* Roof\n")
    given = {"memex_dir": memex, "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config", "today": "2026-11-19"}
    daemons = []

    async def opened(limits=GuestLimits(), port=None):
        page = io.StringIO()
        daemon = Daemon(given, limits, port, page)
        daemon.log.most = 10_000
        daemon.page, daemon.model, daemon.memex, daemon.config = page, None, memex, tmp_path / "config" / "passepartout"
        daemons.append(daemon)
        await daemon.start()
        async def model(prompt, system_prompt): return (await daemon.model(prompt)) if daemon.model else f"You said: {prompt[-200:]}"
        def settle(agent):
            register_backend(agent, "model", model, local=True)
            agent.provider_cascade = ("model",)
        settle(daemon.agent)
        daemon.settled = settle

        async def unix(greeted=True):
            client = Client(*await asyncio.open_connection(sock=connect_to(daemon.path)))
            if greeted: assert (await client.read())["payload"]["action"] == "handshake"
            return client

        async def tcp(session=None, token=None, **more):
            reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
            client = Client(reader, writer)
            hello = await client.read()
            await reader.readexactly(64)
            nonce = hello["payload"]["nonce"]
            client.seal = Seal(open_key(daemon.path.with_name("daemon.key")), "client", nonce)
            client.seal.read = 1
            client.send(action="handshake", nonce="ab" * 16, **{k: v for k, v in (("session", session), ("token", token)) if v})
            client.seal.nonces += ":" + "ab" * 16
            client.entered = (await client.read())["payload"]
            return client
        daemon.unix, daemon.tcp = unix, tcp
        return daemon
    opened.given = given
    yield opened
    for daemon in daemons:
        if daemon.lock is not None: await daemon.stop(0.1)


def closed_lines(daemon, word="event=closed"): return [line for line in daemon.page.getvalue().splitlines() if word in line]


GARBAGE = {"length that lies": b"FFFFFF(", "length of nothing": b"000000", "signed length": b"+0002C(:TYPE", "no digits": b"hello there", "control characters": b"\x00\x01\x02\x1b[2J\x07\x08", "http": b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1:9105\r\nContent-Length: 50\r\n\r\n00002C(:TYPE :EVENT :PAYLOAD (:ACTION :HANDSHAKE))",
           "http with digits": b"00002C /(:TYPE :EVENT HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "no utf-8": b"000004\xff\xfe\xfd\xfc", "cut utf-8": b"000002\xf0\x9f\xa5", "blanks": b" " * 5000, "tls": bytes.fromhex("16030100c8010000c40303") + bytes(40), "too long": b"080001(" + b" " * 600_000}
MUMBLING = {"no list": b"000003(1 ", "not a message": b"000007(1 2 3)", "reader macro": b"00000C#.(exit-now)"[:6 + 12], "unknown field": frame_message({"type": "EVENT", "payload": {"action": "x"}}).replace(b"000029", b"000029"), "control characters inside": b"000005\x1b\x00\x01\x02\x03", "deep": b"000100" + b"(" * 256}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unix", "tcp"])
async def test_garbage_ends_its_own_connection_with_one_line(house, way):
    daemon = await house(port=0)
    witness = await daemon.unix()
    for number, (name, garbage) in enumerate(GARBAGE.items()):
        if way == "unix": vandal = await daemon.unix()
        else:
            vandal = Client(*await asyncio.open_connection("127.0.0.1", daemon.port))
            await vandal.read()
            await vandal.reader.readexactly(64)
        vandal.writer.write(garbage)
        vandal.writer.write_eof()
        if way == "unix": told = await vandal.rest()
        else:
            try: told = [(await asyncio.wait_for(vandal.reader.read(), 10)).decode()]
            except ConnectionError: told = [":ERROR cut off with much unread"] if name == "too long" else []
            assert ":ERROR" in told[0] and "inbox" not in told[0], name
        assert told and all(len(each) < 400 for each in told) and (len(told) == 1 or name == "http with digits"), (name, told)
        assert len(closed_lines(daemon)) == number + 1, name
        assert (await witness.say("hello"))["status"] == "answered"
    assert all(line.isprintable() for line in daemon.page.getvalue().splitlines())


async def test_what_is_framed_well_and_means_nothing_is_answered(house):
    client = await (await house()).unix()
    for name, mumbled in MUMBLING.items():
        client.raw(mumbled)
        assert (await client.read())["payload"]["level"] == "error", name
        assert (await client.say("hello"))["status"] == "answered", name


async def test_half_a_frame_ends_after_a_while_and_holds_up_nobody(house):
    daemon = await house(GuestLimits(frame_s=0.2))
    witness, slow, trickling = await daemon.unix(), await daemon.unix(), await daemon.unix()
    slow.writer.write(b"00002C(:TYPE :EV")
    async def trickle():                    # past asyncio, which forgets what it has not read of a line when it cannot write on it any more
        with socket.fromfd(trickling.writer.get_extra_info("socket").fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as line:
            for byte in frame_message("(:TYPE :EVENT :PAYLOAD (:ACTION :HEALTH-CHECK))") * 9:
                try: line.send(bytes([byte]))
                except OSError: return
                await asyncio.sleep(0.03)
    drip = asyncio.create_task(trickle())
    for _ in range(5): assert (await witness.say("hello"))["status"] == "answered"
    for each in (slow, trickling): assert "was not complete" in (await each.rest())[-1]
    drip.cancel()
    assert (await witness.say("hello"))["status"] == "answered" and len(closed_lines(daemon)) == 2


@pytest.mark.slow
async def test_silence_between_messages_is_no_fault_and_line_ends_are_no_messages(house):
    daemon = await house(GuestLimits(frame_s=0.1))
    client = await daemon.unix()
    client.writer.write(b"\n")
    await asyncio.sleep(0.3)
    assert (await client.say("still here"))["status"] == "answered"


async def test_who_stops_reading_is_dropped_and_the_others_notice_nothing(house):
    daemon = await house(GuestLimits(unread=50_000, unread_s=0.3, rate=1e6, burst=1e6))
    async def long(prompt): return "x" * 20_000
    witness, deaf = await daemon.unix(), await daemon.unix()
    daemon.model = long
    deaf.reader._transport.pause_reading()
    for n in range(100):
        deaf.send(sensor="user-input", text="more", session=f"s{n % 4}", request=n)
        await asyncio.sleep(0.005)
        if closed_lines(daemon, "event=dropped"): break
    assert (await witness.say("hello"))["status"] == "answered"
    for _ in range(200):
        if closed_lines(daemon, "event=dropped"): break
        await asyncio.sleep(0.02)
    assert "does not read" in closed_lines(daemon, "event=dropped")[0] and len(daemon.guests) == 1


async def test_too_many_of_everything_is_refused_in_a_sentence(house):
    daemon = await house(GuestLimits(guests=3, asked=2), port=0)
    gate = asyncio.Event()
    async def waits(prompt):
        await gate.wait()
        return "done"
    daemon.model = waits
    client, *others = [await daemon.unix() for _ in range(3)]
    for each in (client, *others): assert await each.ask(action="status")
    crowd = await daemon.unix(greeted=False)
    assert "too many connections" in (await crowd.rest())[0]
    for n in range(3): client.send(sensor="user-input", text="x", session=f"s{n}", request=n)
    assert "wait for their answers" in (await client.read())["payload"]["text"]
    client.send(sensor="user-input", text="again", request=1)
    assert (await client.read())["payload"]["level"] == "error"
    gate.set()
    assert {(await client.read())["payload"]["request"] for _ in range(2)} == {0, 1}
    others[0].writer.close()
    await asyncio.sleep(0.05)
    assert (await (await daemon.unix()).say("hello"))["status"] == "answered"


async def test_who_only_opens_connections_shuts_nobody_out(house):
    "A process of the person's own that keeps every place occupied: the window that talks stays, and one more comes in."
    daemon = await house(GuestLimits(guests=6))
    talking = await daemon.unix()
    assert (await talking.say("hello"))["status"] == "answered"
    _silent = [await daemon.unix(greeted=False) for _ in range(12)]
    assert (await (await daemon.unix()).say("hello"))["status"] == "answered"
    assert (await talking.say("still there?"))["status"] == "answered"
    assert len(daemon.guests) <= 6 and len(closed_lines(daemon, "made way")) >= 7, daemon.page.getvalue()


async def test_strangers_on_the_port_have_little_room_and_little_time(house):
    daemon = await house(GuestLimits(strangers=2, hello_s=0.2), port=0)
    async def stranger(): return Client(*await asyncio.open_connection("127.0.0.1", daemon.port))
    silent = [await stranger() for _ in range(2)]
    await asyncio.sleep(0.05)
    third = await stranger()                                         # the oldest makes way
    assert b":HANDSHAKE" in await silent[0].reader.read() and silent[0].reader.at_eof()
    assert (await (await daemon.tcp()).say("hello"))["status"] == "answered"
    assert b"Nothing was said" in await asyncio.wait_for(third.reader.read(), 5)
    assert (await (await daemon.tcp()).say("hello"))["status"] == "answered"
    big = await stranger()
    big.writer.write(b"002000(")
    assert b"from 1 to 4,096 are read" in await asyncio.wait_for(big.reader.read(), 5)


async def test_long_messages_are_read_one_at_a_time_and_each_gives_its_place_back(house):
    "Also one that ends in the middle, or cannot be understood: else nobody could send a long one any more."
    daemon = await house(GuestLimits(big_frames=1, big_chars=1000, frame_s=5.0))
    long = "what is due? " * 300
    one, other = await daemon.unix(), await daemon.unix()
    for client in (one, other, one): assert (await client.say(long))["status"] == "answered"
    half = await daemon.unix()
    half.writer.write(frame_message({"type": "EVENT", "payload": {"text": long}})[:2000])
    await asyncio.sleep(0.1)
    task = asyncio.create_task(other.say(long))
    assert (await one.say("a short one"))["status"] == "answered" and not task.done()        # it waits for the half one
    half.writer.close()
    assert (await task)["status"] == "answered"
    one.raw(frame_message({"type": "NONSENSE", "payload": {"text": long}}))
    assert (await one.read())["type"] == "LOG" and (await other.say(long))["status"] == "answered"


async def test_who_cannot_be_understood_is_told_so_often_and_then_let_go(house):
    daemon = await house(GuestLimits(mistakes=3))
    client = await daemon.unix()
    for _ in range(5): client.raw(frame_message({"type": "NONSENSE"}))
    told = await client.rest()
    assert len(told) == 4 and told[0] == told[1] == told[2] and "Too many messages could not be understood" in told[3]
    patient = await daemon.unix()
    for _ in range(3): patient.raw(frame_message({"type": "NONSENSE"}))
    for _ in range(3): assert (await patient.read())["type"] == "LOG"
    assert (await patient.say("hello"))["status"] == "answered"


@pytest.mark.slow
async def test_who_takes_nothing_of_its_answers_for_long_is_let_go_however_much_room_there_is(house):
    daemon = await house(GuestLimits(unread=1 << 30, unread_s=0.3, rate=1e6, burst=1e6, asked=1000))
    async def long(prompt): return "x" * 20_000
    reading, deaf = await daemon.unix(), await daemon.unix()
    daemon.model = long
    deaf.reader._transport.pause_reading()
    for n in range(40): deaf.send(sensor="user-input", text="more", session=f"s{n % 4}", request=n)
    for _ in range(1000):
        if closed_lines(daemon, "event=dropped"): break
        await asyncio.sleep(0.02)
    assert "does not read" in closed_lines(daemon, "event=dropped")[0] and len(daemon.guests) == 1
    assert (await reading.say("hello"))["status"] == "answered"


@pytest.mark.parametrize("message", [{"list": ["a\ud800", ("\udfff",)]}, {"b": {"c": "\ud800"}}, {"text": "\ud800"}])
def test_whatever_half_of_a_character_stands_in_an_answer_it_is_framed(message):
    from passepartout.serving.guests import framed
    said = read_plist(framed({"type": "EVENT", "payload": {"n": 1, **message}})[6:].decode())
    assert "?" in str(said) and "\ud800" not in str(said) and said["payload"]["n"] == 1


async def test_a_stranger_who_sends_one_blank_after_the_other_has_no_more_time(house):
    "Each blank began the time anew: 4,096 of them, one every few seconds, kept a place for hours. A blank that comes after the end resets the connection, so what was said is read up to there."
    daemon, loop, told = await house(GuestLimits(hello_s=0.3), port=0), asyncio.get_running_loop(), b""
    with socket.create_connection(("127.0.0.1", daemon.port)) as dripping:
        dripping.setblocking(False)
        async def drip():
            with contextlib.suppress(OSError):
                while True:
                    await loop.sock_sendall(dripping, b"\n")
                    await asyncio.sleep(0.02)
        task = asyncio.create_task(drip())
        with contextlib.suppress(ConnectionError):
            while more := await asyncio.wait_for(loop.sock_recv(dripping, 65_536), 10): told += more
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert b"Nothing was said" in told


async def test_floods_are_slowed_and_cost_the_others_little(house):
    daemon = await house(GuestLimits(rate=200, burst=50))
    witness, flood = await daemon.unix(), await daemon.unix()
    flood.writer.write(frame_message("(:TYPE :EVENT :PAYLOAD (:ACTION :HEALTH-CHECK))") * 20_000)
    for _ in range(10): assert (await witness.say("hello"))["status"] == "answered"
    assert daemon.gauges.counts["frames_total", ""] < 10_000
    flood.writer.transport.abort()


# Seals --------------------------------------------------------------------------------------------------------------------

async def test_the_port_answers_whoever_has_the_key(house):
    daemon = await house(port=0)
    client = await daemon.tcp()
    assert client.entered["session"].startswith("port-") and len(client.entered["token"]) == 32
    assert (await client.say("hello"))["text"] == "You said: hello"
    client.raw(frame_message("(:TYPE :HEALTH-CHECK)"))
    assert (await client.read())["type"] == "HEALTH-RESPONSE"


def changed(frame): return frame[:20] + bytes([frame[20] ^ 1]) + frame[21:]

async def test_wrong_repeated_reordered_and_reflected_frames_end_the_connection(house):
    daemon = await house(port=0)
    ask = frame_message('(:TYPE :EVENT :PAYLOAD (:SENSOR :USER-INPUT :TEXT "buy it"))')
    def replayed(client, before): return before
    def wrong_key(client, before): return Seal(bytes(32), "client", client.seal.nonces).close(ask)
    def skipped(client, before): client.seal.close(ask); return client.seal.close(ask)
    def reflected(client, before): return client.said
    def bent(client, before): return changed(client.seal.close(ask))
    def bare(client, before): return ask + b"0" * 64
    def none(client, before): return ask + ask
    for attack in (replayed, wrong_key, skipped, reflected, bent, bare, none):
        client = await daemon.tcp()
        before = client.seal.close(ask)
        client.writer.write(before)
        reply = await asyncio.wait_for(client.reader.readexactly(6), 5)
        body = await client.reader.readexactly(int(reply, 16) + 64)
        client.said, client.seal.read = reply + body, client.seal.read + 1
        turns = daemon.gauges.counts["turns_total", "answered"]
        client.writer.write(attack(client, before))
        told = await client.rest()
        assert len(told) == 1 and "seal does not fit" in told[0], attack
        assert daemon.gauges.counts["turns_total", "answered"] == turns, attack
    yesterday = await daemon.tcp()
    frame = yesterday.seal.close(ask)
    today = Client(*await asyncio.open_connection("127.0.0.1", daemon.port))
    await today.read()
    today.writer.write(frame)
    assert b"seal does not fit" in await asyncio.wait_for(today.reader.read(), 5)
    assert daemon.gauges.counts["refused_total", "seal"] == 8


@pytest.mark.parametrize("more", [{}, {"action": "handshake"}, {"action": "handshake", "nonce": "0123456789abcdef"}])
async def test_before_the_handshake_nothing_is_heard(house, more):
    daemon = await house(port=0)
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    client = Client(reader, writer)
    hello = await client.read()
    await reader.readexactly(64)
    client.seal = Seal(open_key(daemon.path.with_name("daemon.key")), "client", hello["payload"]["nonce"])
    client.seal.read = 1
    client.send(sensor="user-input", text="hello", **more)
    assert await client.rest() == ["The first message on this port is a :HANDSHAKE."]
    assert daemon.gauges.counts["turns_total", "answered"] == 0


async def test_the_port_leaves_room_for_the_person(house):
    daemon, gate = await house(GuestLimits(guests=6, turns=4), port=0), asyncio.Event()
    async def waits(prompt):
        if "program" in prompt: await gate.wait()
        return "done"
    daemon.model = waits
    programs = [await daemon.tcp() for _ in range(3)]
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    assert b"too many connections on the port" in await asyncio.wait_for(reader.read(), 5)
    for program in programs:
        for n in range(5): program.send(sensor="user-input", text="program", request=n)
    person = await daemon.unix()
    assert (await person.say("hello"))["status"] == "answered"
    status = await person.ask(action="status")
    assert status["memex"] and status["settings"]
    gate.set()
    for program in programs: assert [(await program.read())["payload"]["request"] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert not {"memex", "settings", "findings", "pid"} & set(await programs[0].ask(action="status"))


async def test_nothing_listens_beyond_this_machine(house):
    daemon = await house(port=0)
    assert [each.getsockname()[0] for server in daemon.servers for each in server.sockets if each.family != socket.AF_UNIX] == ["127.0.0.1"]
    assert os.stat(daemon.path).st_mode & 0o777 == 0o600 and os.stat(daemon.path.with_name("daemon.key")).st_mode & 0o777 == 0o600


# Whose is what ------------------------------------------------------------------------------------------------------------

async def test_each_is_told_only_what_is_its_own(house):
    daemon = await house(port=0)
    async def slow(prompt):
        await asyncio.sleep(0.05)
        return f"You said: {prompt[-20:]}"
    daemon.model = slow
    clients = [await daemon.unix() for _ in range(4)] + [await daemon.tcp() for _ in range(2)]
    for n, client in enumerate(clients): client.send(sensor="user-input", text=f"words {n}", request=n, watch=True, **({"session": f"s{n}"} if n < 3 else {}))
    for n, client in enumerate(clients):
        heard = []
        while not heard or heard[-1]["type"] != "RESPONSE": heard.append(await client.read())
        assert {each["payload"]["request"] for each in heard} == {n}
        assert all(f"words {other}" not in write_plist(each) for each in heard for other in range(6) if other != n)


async def test_who_waits_while_the_notes_are_read_hears_how_far_that_is(house, monkeypatch):
    daemon, gate, far = await house(port=0), asyncio.Event(), [None]
    async def slow(prompt):
        await gate.wait()
        return "There are three."
    daemon.model = slow
    monkeypatch.setattr(daemon.agent, "notes_read", lambda: far[0])
    here, there, old = await daemon.unix(), await daemon.tcp(), await daemon.unix()
    for n, client in enumerate((here, there, old)): client.send(sensor="user-input", text="how many notes are there", request=n, session=f"r{n}", **({"reading": True} if client is not old else {}))
    heard = []
    for far[0] in ((100, 9_000), (4_500, 9_000), None):
        heard.append((await here.read())["payload"])
    gate.set()
    assert [(each["action"].lower() if isinstance(each["action"], str) else each["action"], each["done"], each["of"], each["request"]) for each in heard] == [("reading", 100, 9_000, 0), ("reading", 4_500, 9_000, 0), ("reading", 0, 0, 0)]
    for client in (here, there, old): assert (await client.read())["payload"]["text"] == "There are three."
    assert not [task for task in asyncio.all_tasks() if "tell_reading" in repr(task)]


async def test_sessions_run_side_by_side_and_each_in_order(house):
    daemon, running, most, order = await house(), 0, 0, []
    async def slow(prompt):
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.03)
        running -= 1
        order.append(prompt[-2:])
        return "done"
    daemon.model = slow
    clients = [await daemon.unix() for _ in range(4)]
    for n in range(3):
        for name, client in zip("abab", clients): client.send(sensor="user-input", text=f"{name}{n}", session=name, request=n)
        await asyncio.sleep(0)
    for client in clients: assert [(await client.read())["payload"]["request"] for _ in range(3)] == [0, 1, 2]
    assert most == 2 and sorted(order) == sorted(f"{name}{n}" for n in range(3) for name in "abab")
    assert not daemon.queues.sessions or all(not lock.locked() for lock in daemon.queues.sessions.values())


async def test_a_guest_on_the_port_has_no_session_but_its_own(house):
    daemon = await house(port=0)
    person = await daemon.unix()
    await person.say("a secret of mine", session="main")
    mine, other = await daemon.tcp(session="work"), await daemon.tcp()
    await person.say("another secret", session="port-mine")
    for name in ("port-mine", "work"):
        for payload in ({"sensor": "user-input", "text": "what did I say?"}, {"action": "trace", "limit": 5}, {"action": "pending"}, {"action": "status"}, {"action": "undo"}):
            told = await other.ask(session=name, **payload)
            assert "belongs to somebody else" in told["text"], (name, payload)
    assert "secret" not in write_plist(await other.ask(action="trace", limit=100))
    given = await daemon.tcp(session="work", token=mine.entered["token"])
    assert given.entered["session"] == mine.entered["session"] == "port-work"
    assert "belongs" in (await daemon.tcp(session="work", token="0" * 32)).entered["text"]


async def test_who_comes_first_to_the_port_does_not_get_the_persons_place(house):
    "On the day the daemon was set up nobody has said anything in main yet, nor in a session that the person will think of next week."
    daemon, heard = await house(port=0), []
    async def model(prompt):
        heard.append(prompt)
        return "Yes."
    daemon.model = model
    names = ("main", "job-scribe", "telegram", "holidays", "port-")
    others = [await daemon.tcp(session=name) for name in names]
    for name, other in zip(names, others):
        assert other.entered["session"].startswith("port-")
        await other.say("the words of a program", session=name)
    person = await daemon.unix()
    for name in names[:-1]:
        await person.say("a secret of mine", session=name)
        assert "words of a program" not in heard[-1]
    for name, other in zip(names, others):
        for payload in ({"action": "trace", "limit": 100}, {"action": "status"}, {"action": "pending"}): assert "of mine" not in write_plist(await other.ask(session=name, **payload))
    assert {each["name"] for each in json.loads((await person.ask(action="sessions"))["sessions"])} == {*names, *(f"port-{name}" for name in names[:-1])}


async def test_a_short_word_is_about_the_screen_on_which_it_was_typed(house):
    "Two windows in one session: each shows a question with numbers, and what the other one shows was read by nobody here."
    daemon = await house()
    daemon.agent.provider_cascade = ("reflex",)
    tasks = daemon.memex / "tasks.org"
    tasks.write_text("* TODO Call Ana\n* TODO Call Bob\n* TODO Paint the roof\n* TODO Paint the fence\n")
    one, other = await daemon.unix(), await daemon.unix()
    for each in (one, other): await each.ask(action="handshake", session="main")
    assert "Call Bob" in (await one.say("done call"))["text"]
    assert "Paint the fence" in (await other.say("archive paint"))["text"]
    assert "Call Bob" in (await one.say("2"))["text"]
    assert "* DONE Call Bob" in tasks.read_text() and "Paint the fence" in tasks.read_text()
    assert "Paint the roof" in (await one.say("postpone paint to friday"))["text"]
    await other.ask(action="rewind", session="main")
    before = tasks.read_text()
    assert "No question of mine is open" in (await one.say("1"))["text"] and tasks.read_text() == before
    late = await daemon.unix()
    assert "Paint the roof" in (await one.say("archive paint"))["text"]
    assert "archive" in (await late.say("1", session="main"))["text"].lower()          # who comes later goes on from what was said last


async def test_news_that_were_sent_to_a_window_that_closed_go_to_the_next(house):
    daemon = await house()
    with contextlib.closing(diary_of(daemon.agent)) as diary: diary.add_news("agenda", "Dentist at ten")
    gone = await daemon.unix()
    assert "Dentist" in (await gone.ask(action="news", peek=True))["json"]
    gone.writer.close()
    def shown():
        agent, told = DistantAgent(Calls(daemon.path, connect_to(daemon.path)), daemon.agent.settings), []
        try: return agent.tell_news(told.append), agent.tell_news(told.append), told[0].text
        finally: agent.link.close()
    assert await asyncio.to_thread(shown) == (1, 0, "Dentist at ten")


class Dying:
    "A daemon that lets one in if it `greets`, gives these `answers`, hears so many `more` requests, and ends as one that is killed."
    def __init__(self, path, greets=True, answers=(), more=0):
        self.path, self.greets, self.answers, self.more, self.heard = path, greets, answers, more, []
        self.listening = listen_at(path)
        self.listening.setblocking(True)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        if not self.greets:
            select.select([self.listening], [], [], 20)
            return self.listening.close()                # who was not let in yet hears a reset
        connection, _ = self.listening.accept()
        stream = Stream(); stream.use(connection)
        connection.sendall(frame_message({"type": "EVENT", "payload": {"action": "handshake", "protocol": 1}}))
        for answer in (*self.answers, *[None] * self.more):
            self.heard.append(said := stream.receive()["payload"])
            if answer is not None: connection.sendall(frame_message({"type": "RESPONSE", "payload": {**answer, "request": said["request"]}}))
        self.listening.close(); connection.close()


@pytest.mark.parametrize("death", [{"greets": False}, {}, {"more": 1}], ids=["before it let us in", "behind its greeting", "asked how things stand"])
def test_a_daemon_that_is_killed_while_it_is_being_found_is_none(tmp_path, monkeypatch, death):
    "The kernel takes connections for it; to be told that it does not answer, and to wait, sent people after a process that was not there."
    for name in ("STATE", "CONFIG", "CACHE"): monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    (memex := tmp_path / "notes").mkdir()
    path, hints = socket_path(load_settings({"memex_dir": memex})), []
    private_folder(path.parent)
    dying = Dying(path, **death)
    assert find_daemon(memex, hints.append) is None and hints == []
    dying.thread.join(20)


ANSWER = {"action": "reply", "text": "Noted: milk.", "status": "answered", "turn": "0123456789ab"}

@pytest.mark.parametrize("words, handled", [((ANSWER,), []), ((), ["todo: milk"])], ids=["behind the answer", "before it was asked"])
def test_a_line_that_a_daemon_has_answered_is_not_done_again_when_it_ends_behind_it(tmp_path, words, handled):
    "News and plans are asked for behind the answer, and what they met was taken for a line that had reached nobody."
    private_folder(tmp_path / "s")
    dying = Dying(path := tmp_path / "s" / "daemon.sock", answers=words)
    agent = DistantAgent(Calls(path, connect_to(path)), load_settings({"memex_dir": tmp_path, "state_dir": tmp_path}))
    if not words: dying.thread.join(20)
    alone, told = Agent.bare(), []
    class Heard(Chat):
        def think(self, text):
            if self.agent is alone: told.append(text)
            return super().think(text)
    lines = io.StringIO()
    chat = Heard(agent, console=screen(lines), read=lambda prompt: "todo: milk")
    chat.alone = lambda: alone
    assert chat.step("") is None and chat.agent is alone
    assert told == handled and [each["text"] for each in dying.heard if "text" in each] == ["todo: milk"] * len(words)
    assert "Working alone" in lines.getvalue() and ("not done again" in lines.getvalue()) == bool(words)


async def test_only_own_requests_can_be_cancelled(house):
    daemon, gate = await house(), asyncio.Event()
    async def waits(prompt):
        await gate.wait()
        return "done"
    daemon.model = waits
    one, two = await daemon.unix(), await daemon.unix()
    one.send(sensor="user-input", text="x", request=7)
    await asyncio.sleep(0.05)
    assert (await two.ask(action="cancel", request=7))["count"] == 0 and (await two.ask(action="cancel"))["count"] == 0
    one.send(action="cancel", request=7)
    told = [(await one.read())["payload"] for _ in range(2)]
    assert {str(each.get("status")) for each in told} == {"interrupted", "None"}
    gate.set()
    assert (await one.say("and on"))["status"] == "answered"
    assert [r["body"]["status"] for r in daemon.agent.journal.records(kinds=["answer"])][0] == "interrupted"


# Authority ----------------------------------------------------------------------------------------------------------------

async def archive(prompt): return CAPTURE

async def test_a_code_is_shown_to_whoever_asked_and_counts_once(house):
    daemon = await house()
    daemon.model = archive
    one, two = await daemon.unix(), await daemon.unix()
    asked = (await one.say("archive it"))["approvals"][0]
    assert asked["code"] and "Buy stamps" in (daemon.memex / "inbox.org").read_text()
    seen = (await two.ask(action="pending"))["approvals"][0]
    assert seen["id"] == asked["id"] and seen["code"] == ""
    assert (await two.ask(action="approve", approval=asked["id"], code="wrong1"))["level"] == "error"
    assert (await one.ask(action="approve", approval=asked["id"], code=asked["code"]))["effects"]
    assert "Buy stamps" not in (daemon.memex / "inbox.org").read_text()
    assert (await one.ask(action="approve", approval=asked["id"], code=asked["code"]))["level"] == "error"


@pytest.mark.parametrize("unread", [False, True])
async def test_the_code_of_a_question_whose_window_closed_goes_to_the_next(house, unread):
    "Also when something that it was told lies unread: then the kernel reports no end to the daemon, but an error."
    daemon, gate = await house(), asyncio.Event()
    async def model(prompt):
        await gate.wait()
        return CAPTURE
    daemon.model = model
    gone = await asyncio.to_thread(connect_to, daemon.path)
    if not unread: assert b"HANDSHAKE" in await asyncio.to_thread(gone.recv, 65_536)
    gone.sendall(frame_message({"type": "EVENT", "payload": {"sensor": "user-input", "text": "archive it", "request": 1}}))
    await until(lambda: any(guest.asked for guest in daemon.guests), "The turn")
    gone.close()
    await until(lambda: all(guest.ended for guest in daemon.guests), "The end of the window")
    gate.set()
    await until(lambda: not daemon.guests, "The end of the turn")
    (asked,) = (await (await daemon.unix()).ask(action="pending"))["approvals"]
    assert asked["code"] and "archive" in asked["summary"]


async def test_the_port_sees_no_code_and_cannot_say_yes_but_the_person_can(house):
    daemon = await house(port=0)
    daemon.model = archive
    program, person = await daemon.tcp(), await daemon.unix()
    asked = (await program.say("archive it"))["approvals"][0]
    assert asked["code"] == "" and (await program.ask(action="pending"))["approvals"][0]["code"] == ""
    shown = (await person.ask(action="pending"))["approvals"][0]
    assert shown["code"]
    for action in ("approve", "offer"): assert "on the machine itself" in (await program.ask(action=action, approval=asked["id"], code=shown["code"], said="for 1 hour"))["text"]
    assert "Buy stamps" in (daemon.memex / "inbox.org").read_text()
    assert (await person.ask(action="approve", approval=asked["id"], code=shown["code"]))["effects"]


@pytest.mark.parametrize("form, done", [("archive Buy stamps", "inbox.org_archive"), ("$ cp inbox.org copy.org", "copy.org"), ("run: touch made.txt", "made.txt")])
async def test_a_form_of_words_is_no_yes_on_the_port(house, form, done):
    "What a person types in an exact form answers its own ask; a program can write the same letters."
    daemon = await house(port=0)
    daemon.agent.provider_cascade = ("reflex",)
    program, person = await daemon.tcp(), await daemon.unix()
    asked = await program.say(form)
    assert asked["status"] == "requires-approval" and not (daemon.memex / done).exists()
    shown, = (await person.ask(action="pending"))["approvals"]
    assert shown["reason"].startswith("A program asked for this at the port"), "who answers it did not ask"
    assert (await person.ask(action="approve", approval=shown["id"], code=shown["code"]))["effects"] and (daemon.memex / done).exists()
    (daemon.memex / done).unlink()
    if done == "inbox.org_archive": (daemon.memex / "inbox.org").write_text("* Buy stamps\n")
    assert (await person.say(form))["status"] == "answered" and (daemon.memex / done).exists()


async def test_what_a_command_line_read_from_a_pipe_was_not_typed(house):
    daemon = await house()
    daemon.agent.provider_cascade = ("reflex",)
    person = await daemon.unix()
    assert (await person.say("$ touch made", piped="words"))["status"] == "requires-approval" and not (daemon.memex / "made").exists()
    assert (await person.say("note: one\n<%%(ding)>", piped="text"))["status"] == "requires-approval"
    kept = await person.say("note: see https://offers.example/roof", piped="text")
    assert [each.asked_by_person for each in daemon.agent.turns.recent(kept["session"])] == [True, False, False]
    assert (await person.say("$ touch made"))["status"] == "answered" and (daemon.memex / "made").exists()


@pytest.mark.slow
@pytest.mark.parametrize("effect", ["canary", "org-capture", "system"])
async def test_no_frame_runs_what_it_carries(house, tmp_path, effect):
    daemon = await house(GuestLimits(rate=1e6, burst=1e6, asked=10_000, mistakes=10_000), port=0)
    await daemon.agent.close()
    daemon.agent = agent = await booted(tmp_path / "other" if (tmp_path / "other").mkdir() is None else tmp_path)
    for client in (await daemon.unix(), await daemon.tcp()):
        sent = 0
        for signal in forged_signals(EFFECTS[effect], (None, "user-input", "approval-required", "tool-output")):
            try: frame = frame_message(signal)
            except PassepartoutError: continue
            client.raw(frame)
            sent += 1
        for _ in range(sent): assert (await client.read()) is not None
        assert sent > 20
    assert (agent.ran, intents(agent)) == ([], [])


async def test_words_of_somebody_else_are_nobodys_word(house):
    daemon = await house()
    client = await daemon.unix()
    await client.ask(sensor="chat-message", text="hello", label="person")
    await client.say("hello")
    assert [r["body"]["origin"] for r in daemon.agent.journal.records(kinds=["turn"])] == ["network", "person"]


@pytest.mark.slow
async def test_a_child_of_the_daemon_has_no_say(house):
    daemon = await house()
    code = f"import sys; from pathlib import Path; from passepartout.serving.sockets import connect_to; c = connect_to(Path({str(daemon.path)!r})); sys.stdout.write(c.recv(1000).decode())"
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert "has no say here" in done.stdout, done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_turned_away_even_through_an_open_folder(house):
    "In a folder of its own: the tests' is too deep for the name of a socket, and what is above it is open to nobody else."
    with tempfile.TemporaryDirectory() as place:
        if not all(folder.stat().st_mode & stat.S_IXOTH for folder in Path(place).resolve().parents): pytest.skip("the temporary folder is closed to other users")
        house.given["state_dir"] = Path(place) / "state"
        daemon = await house()
        for folder in daemon.path.parents:
            folder.chmod(0o755)
            if folder == Path(place): break
        daemon.path.chmod(0o666)
        code = "import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(1000).decode())"
        done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code, daemon.path], capture_output=True, text=True, timeout=120, cwd="/")
        await daemon.stop(0.1)
    assert "with nobody else" in done.stdout and "handshake" not in done.stdout.lower(), done


# Start, reload, end -------------------------------------------------------------------------------------------------------

async def test_a_second_daemon_a_stale_socket_and_a_port_in_use(house):
    daemon = await house(port=0)
    with pytest.raises(PassepartoutError, match=f"process {os.getpid()}"): await Daemon(house.given, stream=io.StringIO()).start()
    assert (await (await daemon.unix()).say("hello"))["status"] == "answered"
    path, port = daemon.path, daemon.port
    path.with_name("daemon.lock").unlink()
    with pytest.raises(PassepartoutError, match="lock file was removed"): await Daemon(house.given, stream=io.StringIO()).start()
    assert (await (await daemon.unix()).say("hello"))["status"] == "answered"
    await daemon.stop()
    stale = socket.socket(socket.AF_UNIX)
    os.chdir(path.parent); stale.bind("daemon.sock"); stale.close(); os.chdir("/")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port)); other.listen()
        with pytest.raises(PassepartoutError, match="another program has it"): await Daemon(house.given, port=port, stream=io.StringIO()).start()
    assert (await (await (await house()).unix()).say("hello"))["status"] == "answered"


async def test_stopping_cuts_off_what_does_not_end_and_records_it(house):
    daemon = await house()
    async def forever(prompt): await asyncio.sleep(60)
    daemon.model = forever
    client, late = await daemon.unix(), await daemon.unix()
    client.send(sensor="user-input", text="x", request=1)
    await asyncio.sleep(0.1)
    stopping = asyncio.create_task(daemon.stop(0.1))
    await asyncio.sleep(0.02)
    assert "stopping" in (await late.say("one more"))["text"]
    assert (await client.read())["payload"]["status"] == "interrupted" and await client.read() is None
    await stopping
    again = await house()
    assert [r["body"]["status"] for r in again.agent.journal.records(kinds=["answer"])] == ["interrupted"] and again.agent.journal.verify(whole=True).ok


@pytest.mark.slow
async def test_a_reload_waits_for_turns_keeps_codes_and_locks_effects_on_broken_rules(house):
    daemon = await house()
    daemon.model = archive
    client = await daemon.unix()
    asked = (await client.say("archive it"))["approvals"][0]
    async def slow(prompt):
        await asyncio.sleep(0.1)
        return "slowly done"
    daemon.model = slow
    client.send(sensor="user-input", text="x", request=1)
    await asyncio.sleep(0.03)
    reloading = asyncio.create_task(daemon.reload())
    assert (await client.read())["payload"]["text"] == "slowly done" and await reloading
    daemon.settled(daemon.agent)
    assert (await client.ask(action="approve", approval=asked["id"], code=asked["code"]))["effects"]
    daemon.config.mkdir(parents=True, exist_ok=True)
    (daemon.config / "rules.ini").write_text("[no edits]\ntier = perhaps\n")
    before = daemon.agent
    assert await daemon.reload() and daemon.agent is not before
    daemon.settled(daemon.agent)
    async def capture(prompt): return '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "milk") :EXPLANATION "Milk was asked for by the person."))'
    daemon.model = capture
    assert not (await client.say("buy milk"))["effects"] and "rules.ini" in daemon.page.getvalue()


async def test_a_turn_that_takes_long_keeps_nobody_waiting_for_a_reload(house):
    daemon, begun, let = await house(GuestLimits(reload_s=0.05)), asyncio.Event(), asyncio.Event()
    async def slow(prompt):
        if "think long" not in prompt: return "at once"
        begun.set()
        await let.wait()
        return "slowly done"
    daemon.model = slow
    thinking, other = await daemon.unix(), await daemon.unix()
    thinking.send(sensor="user-input", text="think long", session="a", request=1)
    async with asyncio.timeout(60): await begun.wait()
    before, reloading = daemon.agent, asyncio.create_task(daemon.reload())
    for n in range(3): assert (await other.say(f"hello {n}", session="b"))["text"] == "at once" and not reloading.done() and daemon.agent is before
    let.set()
    assert (await thinking.read())["payload"]["text"] == "slowly done" and await asyncio.wait_for(reloading, 60) and daemon.agent is not before


async def test_what_was_said_is_there_after_a_reload_and_a_restart(house):
    daemon = await house()
    await (await daemon.unix()).say("remember the roof")
    assert await daemon.reload()
    assert (await (await daemon.unix()).ask(action="status"))["last"] == "remember the roof"
    await daemon.stop()
    assert (await (await (await house()).unix()).ask(action="status"))["last"] == "remember the roof"


@pytest.mark.slow
async def test_sessions_that_nobody_holds_take_no_room(house):
    daemon = await house(port=0)
    for n in range(20):
        client = await daemon.tcp()
        await client.say(f"words {n}")
        client.writer.close()
    for _ in range(100):
        if not daemon.guests: break
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.02)
    assert not daemon.agent.turns.spoken and not daemon.queues.sessions
    one = await daemon.unix()
    await one.say("words of mine")
    one.writer.close()
    await asyncio.sleep(0.1)
    assert (await (await daemon.unix()).ask(action="status"))["last"] == "words of mine"


async def test_a_removed_socket_is_made_again(house, monkeypatch):
    monkeypatch.setattr("passepartout.daemon.watchdog_s", lambda: 0.02)
    daemon = await house()
    old = await daemon.unix()
    life = asyncio.create_task(daemon.show_life())
    daemon.path.unlink()
    for _ in range(200):
        await asyncio.sleep(0.02)
        if daemon.path.is_socket(): break
    assert (await (await daemon.unix()).say("hello"))["status"] == (await old.say("hello"))["status"] == "answered"
    life.cancel()


async def test_who_has_said_everything_still_hears_the_answer(house):
    daemon = await house()
    client = await daemon.unix()
    client.send(sensor="user-input", text="and goodbye")
    client.writer.write_eof()
    assert (await client.read())["payload"]["text"] == "You said: and goodbye" and await client.read() is None


async def test_a_turn_counts_whoever_asked_for_it(house):
    daemon = await house()
    links = GatewayLinks(None)
    assert links.bind("telegram", links.new_code("telegram"), "7", "7", "Ana")
    count = lambda status: daemon.gauges.counts["turns_total", status]
    async with TelegramServer("1:test") as server:
        porter = asyncio.create_task(Porter(daemon, Telegram("1:test", server.url, patience=1), links).run())
        try:
            server.says("find roof")
            await server.until(lambda: len(server.sent) == 1)
            assert (count("answered"), count("failed")) == (1, 0)
            assert 'passepartout_turns_total{kind="answered"} 1' in daemon.gauges.text(daemon.now())
            window = await daemon.unix()
            await window.say("hello")
            assert count("answered") == 2
            assert "no :TEXT" in (await window.ask(sensor="user-input", request=9))["text"]
            assert (count("answered"), count("failed")) == (2, 0), "what got no place was no turn"
        finally:
            porter.cancel()
            await asyncio.gather(porter, return_exceptions=True)
            links.close()


STAYS = """
import asyncio, gc, sys
from passepartout.collector import collect_later
looks = []
gc.callbacks.append(lambda phase, told: looks.append(phase))
usual, frozen = gc.get_threshold(), gc.get_freeze_count()
collect_later(10_000_000)
from passepartout.redaction import formsearch
from passepartout.agent import Agent
from passepartout.daemon import Daemon
names = ("memex_dir", "state_dir", "cache_dir", "config_dir")
given = dict(zip(names, sys.argv[2:]))
async def main():
    if sys.argv[1] == "daemon":
        house = Daemon(given)
        await house.start()
        end = house.stop
    else:
        house = await Agent.boot(given)
        house.follow_notes()
        end = house.close
    before = len(looks)
    async with asyncio.timeout(60):
        while gc.get_threshold() == (10_000_000, *usual[1:]): await asyncio.sleep(0.02)
    print(before, gc.get_threshold() == usual, gc.get_freeze_count() > frozen, formsearch._forms.cache_info().currsize, "numpy" in sys.modules)
    await end()
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("way, counts", [("daemon", False), ("chat", find_spec("wordllama") is not None)])
def test_who_stays_begins_without_a_long_pause_later(tmp_path, way, counts):
    folders = [tmp_path / name for name in ("notes", "state", "cache", "config")]
    for each in folders: each.mkdir()
    done = subprocess.run([sys.executable, "-c", STAYS, way, *map(str, folders)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[0] == f"0 True True 1 {counts}", done.stdout + done.stderr


async def test_a_chat_that_is_opened_at_a_daemon_has_the_model_read_and_a_daemon_alone_does_not(house):
    read = []
    class Reads:
        def __call__(self, prompt, system_prompt): return "ok"
        def read_ahead(self, compose): read.append(compose(None, 0).text)
    daemon = await house(port=0)
    daemon.agent.settings = replace(daemon.agent.settings, read_ahead=True)
    register_backend(daemon.agent, "reads", Reads(), local=True)
    daemon.agent.provider_cascade = ("reads",)
    await asyncio.sleep(1.2)                            # by then it looks after its notes
    assert not read
    def opens_a_chat():
        chat = DistantAgent(Calls(daemon.path, connect_to(daemon.path)), daemon.agent.settings)
        chat.follow_notes()
        chat.link.close()
    await asyncio.to_thread(opens_a_chat)
    assert len(read) == 1 and "IDENTITY" in read[0]
    port = await daemon.tcp()
    assert "on the machine itself" in (await port.ask(action="read-ahead"))["text"] and len(read) == 1


async def test_the_log_says_that_jobs_rest_and_that_they_are_run_again(house, monkeypatch):
    "Once each; and the change of a note that nobody could look at is looked at then."
    from passepartout.diary import DiaryFailed, Pages
    real = Pages.writing
    def full(self): raise DiaryFailed("What background jobs do cannot be written down (the disk is full), so none is run.")
    monkeypatch.setattr(Pages, "writing", full)
    house.given["daemon_sleep_interval"] = 1.0
    daemon = await house()
    async def logged(word):
        for _ in range(200):
            if word in daemon.page.getvalue(): return
            await asyncio.sleep(0.05)
        raise AssertionError(daemon.page.getvalue())
    await logged("jobs_rest")
    await asyncio.sleep(2.2)
    assert daemon.page.getvalue().count("jobs_rest") == 1 and "the disk is full" in daemon.page.getvalue() and "jobs_run" not in daemon.page.getvalue()
    monkeypatch.setattr(Pages, "writing", real)
    await logged("jobs_run")
    with contextlib.closing(diary_of(daemon.agent)) as diary:
        for _ in range(200):
            if diary.standing("agenda").ended: break
            await asyncio.sleep(0.05)
        assert diary.standing("agenda").ended
