"""Telegram against a server that answers as its documents say, and the real agent: who is heard, what goes out, what a crash repeats."""
import asyncio
import logging
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.desk import ACTIONS
from passepartout.diary import diary_of
from passepartout.serving.gateway import MOST_PIECES, GatewayFailed, pieces, units
from passepartout.serving.pairing import GatewayLinks
from passepartout.serving.porter import Porter
from passepartout.plist import write_plist
from passepartout.serving.telegram import FOREIGN, Telegram, incoming
from telegram_server import TelegramServer
from waits import away

TOKEN = "123456:TEST-token_1"


class House:
    def __init__(self, agent): self.agent, self.locks = agent, {}
    async def in_turn(self, session, work):
        async with self.locks.setdefault(session, asyncio.Lock()): return await work(self.agent)


class World:
    "A server, an agent on notes, and a porter between them; linked to account 7 unless told otherwise."
    def __init__(self, tmp_path, linked=True, **overrides): self.tmp, self.linked, self.overrides = tmp_path, linked, overrides

    async def __aenter__(self):
        (self.tmp / "memex").mkdir(exist_ok=True)
        (self.tmp / "memex" / "inbox.org").write_text("* Roof\nAna mends it.\n* Doctor :@private:\nRest, she said.\n")
        self.server = await TelegramServer(TOKEN).__aenter__()
        self.agent = await Agent.boot(memex_dir=self.tmp / "memex", state_dir=self.tmp / "state", cache_dir=self.tmp / "cache", config_dir=self.tmp / "config", **self.overrides)
        self.links = GatewayLinks(self.agent.journal.path.with_name("gateways.sqlite"))
        if self.linked: assert self.links.bind("telegram", self.links.new_code("telegram"), "7", "7", "Ana")
        self.logged = []
        self.start()
        return self

    def start(self):
        self.porter = Porter(House(self.agent), Telegram(TOKEN, self.server.url, patience=1), self.links, self.logged.append)
        self.task = asyncio.create_task(self.porter.run())

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def __aexit__(self, *error):
        await self.stop()
        await self.agent.close()
        self.links.close()
        await self.server.__aexit__()

    async def hears(self, text, count=1, **more):
        before = len(self.server.sent)
        self.server.says(text, **more)
        await self.server.until(lambda: len(self.server.sent) >= before + count)
        return [each["text"] for each in self.server.sent[before:]]

    async def silence(self):
        "Wait until everything that was put in has been fetched and confirmed."
        await self.server.until(lambda: not self.server.updates)
        await asyncio.gather(*self.porter.busy, return_exceptions=True)


async def test_the_linked_account_talks_with_the_agent(tmp_path):
    async with World(tmp_path) as world:
        assert "Roof" in (await world.hears("find roof"))[0]
        given = world.server.sent[-1]
        assert given["link_preview_options"] == {"is_disabled": True} and "parse_mode" not in given
        turn = world.agent.trace(session="telegram")[0]
        begun = next(r["body"] for r in turn["records"] if r["kind"] == "turn")
        assert (begun["source"], begun["origin"], begun["sensor"]) == ("telegram", "person", "chat-message")


async def test_strangers_groups_bots_edits_and_channels_get_nothing(tmp_path):
    async with World(tmp_path) as world:
        for text in ("hello", "/start", "/link aaaaaaaaaa", "/approve x", "/pending", "find roof", "x" * 4096): world.server.says(text, sender=666)
        world.server.says("find roof", chat={"id": -100, "type": "group"}); world.server.says("find roof", chat={"id": -100, "type": "supergroup"})
        world.server.says("find roof", chat={"id": 666, "type": "private"})
        world.server.put(edited_message={"message_id": 1, "from": {"id": 7, "is_bot": False, "first_name": "Ana"}, "chat": {"id": 7, "type": "private"}, "text": "find roof"})
        world.server.put(channel_post={"message_id": 1, "chat": {"id": 7, "type": "channel"}, "text": "find roof"})
        world.server.put(message={"message_id": 1, "from": {"id": 7, "is_bot": True, "first_name": "Bot"}, "chat": {"id": 7, "type": "private"}, "text": "find roof"})
        world.server.put(message={"text": 7}); world.server.put(message=None); world.server.put(poll={})
        answer = await world.hears("find doctor")
        await world.silence()
        assert len(world.server.sent) == len(answer) == 1
        assert len(world.agent.trace(session="telegram", limit=None)) == 1


async def test_a_code_links_one_account_once_and_hostile_names_do_no_harm(tmp_path):
    async with World(tmp_path, linked=False) as world:
        code = world.links.new_code("telegram")
        for wrong in ("/link", "/link aaaaaaaaaa", f"/link {code}x", code, f"/link@other {code}"): world.server.says(wrong, sender=666)
        world.server.says(f"/link {code}", sender=666, chat={"id": -5, "type": "group"})
        world.server.says(f"/link {code}", sender=666, forward_origin={"type": "user"})
        await world.silence()
        assert world.links.linked("telegram") is None and not world.server.sent
        assert "Linked" in (await world.hears(f"/start {code.upper()}", name="Ana\u202e\x1b[2J\n" + "x" * 500))[0]
        linked = world.links.linked("telegram")
        assert linked.account == "7" and linked.name.isprintable() and len(linked.name) <= 60 and not linked.approvals
        world.server.says(f"/link {code}", sender=8)
        await world.silence()
        assert world.links.linked("telegram").account == "7" and world.server.texts(8) == []
        assert "unlink" in world.agent.news()[0].text


async def test_an_old_code_is_none():
    now = [1000.0]
    links = GatewayLinks(None, lambda: now[0])
    code = links.new_code("telegram")
    for at in (1601.0, 900.0):
        now[0] = at
        assert not links.bind("telegram", code, "7", "7", "Ana")


def test_a_code_that_did_not_count_under_one_clock_does_not_count_under_the_next():
    now, year = [1_800_000_000.0], 365 * 86_400.0
    for jump in (-year, year):
        links = GatewayLinks(None, lambda: now[0])
        code = links.new_code("telegram")
        for step in (jump, -jump):
            now[0] += step
            assert not links.bind("telegram", code, "7", "7", "Ana") and links.linked("telegram") is None


@pytest.mark.slow
def test_no_message_is_taken_twice_because_a_clock_was_set(tmp_path):
    "The service was not told how far it was read, and sends them all again."
    now, numbers = [1_800_000_000.0], [*range(900)]
    links = GatewayLinks(tmp_path / "gateways.sqlite", lambda: now[0])
    assert all(links.take("telegram 1", number, "") for number in numbers)
    for jump in (4e7, -8e7, 4e7):
        now[0] += jump
        assert not any(links.take("telegram 1", number, "") for number in numbers)
    now[0] += 4e7
    assert all(links.take("telegram 1", number, "") for number in range(1000, 2200)) and links.take("telegram 1", 5, "")       # the oldest are let go at last
    links.close()


async def test_nothing_that_comes_in_answers_a_question_unless_that_was_allowed(tmp_path):
    async with World(tmp_path, permissions={"default": "ask", "org-capture": "ask"}) as world:
        asked = (await world.hears("todo: call the roofer"))[0]
        pending = world.agent.pending()
        assert len(pending) == 1 and pending[0].code and pending[0].code not in asked and "terminal" in asked
        assert "Nothing can be approved here" in (await world.hears(f"/approve {pending[0].code}"))[0]
        assert pending[0].code not in (await world.hears("/pending"))[0]
        assert "roofer" not in (tmp_path / "memex" / "inbox.org").read_text()
        assert "not done" in (await world.hears(f"/deny {pending[0].code}"))[0] and not world.agent.pending()
        await world.hears("todo: call Pohl")
        again = (await world.hears(f"/deny {world.agent.pending()[0].code} todo: call Ana"))[0]
        assert again.startswith("It was not done.") and "terminal" in again and ["Ana" in each.action for each in world.agent.pending()] == [True]
        await world.hears(f"/deny {world.agent.pending()[0].code}")
        world.links.allow("telegram", True)
        assert "Added" in (await world.hears("todo: call the roofer"))[0]        # now what is typed exactly counts as typed
        assert "roofer" in (tmp_path / "memex" / "inbox.org").read_text()


async def test_an_ask_can_be_answered_where_that_was_allowed_and_only_with_its_code(tmp_path):
    async with World(tmp_path, permissions={"org-capture": "ask"}) as world:
        await world.hears("todo: call the roofer")
        world.links.allow("telegram", True)
        code = world.agent.pending()[0].code
        assert code in (await world.hears("/pending"))[0]
        assert "does not fit" in (await world.hears("/approve aaaaaa"))[0]
        assert "Added" in (await world.hears(f"/approve {code}"))[0]
        assert "roofer" in (tmp_path / "memex" / "inbox.org").read_text()
        world.links.unlink("telegram")
        world.server.says("/pending"); await world.silence()
        assert len(world.server.sent) == 4


async def test_a_number_from_the_phone_is_about_the_question_that_stands_on_it(tmp_path):
    async with World(tmp_path) as world:
        tasks = tmp_path / "memex" / "tasks.org"
        tasks.write_text("* TODO Call Ana\n* TODO Call Bob\n* TODO Paint the roof\n* TODO Paint the fence\n")
        world.links.allow("telegram", True)
        assert "Call Bob" in (await world.hears("done call"))[0]
        assert "Paint the fence" in await world.agent.handle("done paint", session="telegram")       # at home, in the same conversation
        await world.hears("2")
        assert "* DONE Call Bob" in tasks.read_text() and "* TODO Paint the fence" in tasks.read_text()
        assert "Paint the fence" in (await world.hears("postpone paint to friday"))[0]
        assert "Paint the fence" in (await world.hears("done paint"))[0]
        before = tasks.read_text()
        await ACTIONS["rewind"](world.agent, "telegram", {"count": 1}, "cli")
        assert "No question of mine is open" in (await world.hears("2"))[0] and tasks.read_text() == before


@pytest.mark.parametrize("mark", FOREIGN)
def test_what_somebody_else_wrote_is_not_the_persons(mark):
    message = {"message_id": 1, "from": {"id": 7, "is_bot": False}, "chat": {"id": 7, "type": "private"}, "text": "x"}
    assert incoming({"update_id": 1, "message": message}).own and not incoming({"update_id": 1, "message": {**message, mark: {"id": 1}}}).own


async def test_a_forwarded_text_begins_nothing(tmp_path):
    async with World(tmp_path) as world:
        assert "somebody else" in (await world.hears("todo: pay Eve", forward_origin={"type": "hidden_user", "sender_user_name": "Eve"}))[0]
        assert not world.agent.trace(session="telegram", limit=None)
        assert "Only text" in (await world.hears(None))[0]


@pytest.mark.slow
async def test_private_answers_and_secrets_do_not_pass_the_company(tmp_path, monkeypatch):
    monkeypatch.setenv("GARDEN_API_KEY", "sk-live-9f8e7d6c5b4a39281706")
    async with World(tmp_path) as world:
        told = await world.hears("find doctor")
        assert "Doctor" not in told[0] and "Rest" not in told[0] and "terminal" in told[0]
        await world.porter.say(world.links.linked("telegram"), "the key is sk-live-9f8e7d6c5b4a39281706")
        assert "9f8e7d6c" not in world.server.sent[-1]["text"]
    async with World(tmp_path, linked=False, gateway_private=True) as world:
        world.server.next += 1000
        assert "Doctor" in (await world.hears("find doctor"))[0]


@pytest.mark.parametrize("approvals, on_record", [(True, True), (False, False)])
async def test_what_is_asked_after_something_private_was_read_does_not_pass_the_company(tmp_path, approvals, on_record):
    "A model on this machine reads the notes, and repeats them in what it would write and in why."
    call = lambda tool, **args: write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "Ana should know of this: Rest, she said"}})
    async with World(tmp_path, provider_cascade=("model",), permissions={"default": "ask"}) as world:
        script = [call("read-file", path="inbox.org"), call("org-capture", title="Rest, she said")]
        register_backend(world.agent, "model", lambda prompt, system: script.pop(0) if script else "I see.", inline=True, local=True)
        assert world.links.allow("telegram", approvals)
        told = await world.hears("what is new?")
        if on_record: world.agent.desk.codes.clear()
        told += await world.hears("/pending")
        assert len(world.agent.pending()) == 1 and "Rest" in world.agent.pending()[0].summary
        assert all("Rest" not in each and "private" in each and "terminal" in each and "/approve" not in each for each in told)
    async with World(tmp_path, linked=False, gateway_private=True) as world:
        world.server.next += 1000
        assert "not sent through here" not in (await world.hears("/pending"))[0]


def test_a_number_that_no_service_gives_is_no_message():
    message = {"message_id": 1, "from": {"id": 7, "is_bot": False}, "chat": {"id": 7, "type": "private"}, "text": "x"}
    assert [incoming({"update_id": number, "message": message}) is None for number in (1, -1, 2 ** 63, 10 ** 30)] == [False, True, True, True]


@pytest.mark.slow
async def test_updates_come_again_and_are_not_begun_again(tmp_path):
    async with World(tmp_path) as world:
        await world.hears("todo: water the fern")
        kept = world.server.asked[0]
        number = world.server.next
        await world.stop()
        world.server.updates = [{"update_id": number, "message": {"message_id": 1, "from": {"id": 7, "is_bot": False}, "chat": {"id": 7, "type": "private"}, "text": "todo: water the fern"}}]
        world.links.reached("telegram 123456", number - 5)                  # as if the place had been lost
        world.start()
        await world.server.until(lambda: not world.server.updates)
        await world.silence()
        assert (tmp_path / "memex" / "inbox.org").read_text().count("water the fern") == 1 and kept[0] == "getUpdates"


async def test_after_a_quiet_week_the_numbers_may_begin_anew():
    now = [1_000_000.0]
    links = GatewayLinks(None, lambda: now[0])
    links.reached("telegram", 900_000_000)
    assert links.place("telegram") == 900_000_000
    now[0] += 7 * 86_400
    assert links.place("telegram") is None


async def test_a_crash_is_told_and_repeats_nothing(tmp_path):
    async with World(tmp_path) as world:
        await world.stop()
        assert world.links.take("telegram 123456", 77, "todo: feed\u202e the cat")
        world.start()
        await world.server.until(lambda: world.server.sent)
        assert "feed" in world.server.sent[0]["text"] and "\u202e" not in world.server.sent[0]["text"]
        await world.stop(); world.start()
        assert "Roof" in (await world.hears("find roof"))[0] and len(world.server.sent) == 2


@pytest.mark.slow
async def test_too_many_messages_are_said_once_and_lost_connections_are_survived(tmp_path, monkeypatch):
    async with World(tmp_path) as world:
        world.porter.bucket.rate, world.porter.bucket.burst, world.porter.bucket.level = 0.001, 3.0, 3.0
        for n in range(30): world.server.says("/help")
        await world.silence()
        await world.server.until(lambda: len(world.server.sent) >= 4)
        assert len(world.server.sent) == 4 and sum("more than I can take" in each["text"] for each in world.server.sent) == 1


@pytest.mark.slow
async def test_failures_of_the_service(tmp_path, monkeypatch):
    waits = []
    async with World(tmp_path) as world:
        await world.stop()
        real = asyncio.sleep
        async def sleep(seconds, *more):
            if seconds >= 0.5: waits.append(seconds)
            await real(min(seconds, 0.01) if seconds < 4 or seconds > 5 else seconds)
        monkeypatch.setattr("passepartout.serving.porter.asyncio.sleep", sleep)
        too_many = (429, {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 7", "parameters": {"retry_after": 7}})
        world.server.refuse = {"sendMessage": [too_many, (502, b"<html>Bad Gateway</html>"), None], "getUpdates": [None, (500, {"ok": False}), (200, b"not json"), (200, {"ok": True, "result": "x"}), (200, {"ok": True, "result": [None, 7, {"update_id": "x"}]}), (409, {"ok": False, "description": "Conflict"})]}
        world.start()
        assert "Roof" in (await world.hears("find roof"))[0]
        assert 7.0 in waits and len(waits) >= 5 and not any(TOKEN in str(line) for line in world.logged)
        world.server.blocked.add(7)
        world.server.says("find roof"); await world.silence()
        await world.server.until(lambda: any("blocked" in line for line in world.logged))


async def test_the_token_is_in_no_log_error_or_record(tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    async with World(tmp_path) as world:
        await world.hears(f"what is {TOKEN}?")
        await world.stop()
        world.server.token = "other"
        world.start()
        await world.server.until(lambda: any("token" in line for line in world.logged))
        assert TOKEN not in caplog.text and TOKEN not in "".join(map(str, world.logged)) and TOKEN not in "\n".join(world.agent.log.lines(100))
        state = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
        assert TOKEN.encode() not in state and all(TOKEN not in text for text in world.server.texts())


async def test_news_of_jobs_go_out_once_and_private_ones_without_their_words(tmp_path):
    async with World(tmp_path) as world:
        diary = diary_of(world.agent)
        diary.add_news("agenda", "10:00: Dentist", "a"); diary.add_news("agenda", "11:00: Affair", "b", private=True)
        for _ in range(2): await world.porter.push_once()
        assert len(world.server.sent) == 2 and "Dentist" in world.server.sent[0]["text"] and "Affair" not in world.server.sent[1]["text"]
        diary.close()


@settings(max_examples=examples(60), deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400), st.integers(90, 200))
def test_pieces_fit_and_lose_no_word(text, most):
    found = pieces(text, most)
    assert all(0 < units(piece) <= most and piece.strip() for piece in found) and len(found) <= MOST_PIECES
    if not any("(cut:" in piece for piece in found): assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize("text, most, found", [
    ("", 90, []), ("\n \n", 90, []), ("a" * 90, 90, ["a" * 90]), ("a" * 91, 90, ["a" * 90, "a"]), ("\U0001f44d" * 45, 90, ["\U0001f44d" * 45]), ("\U0001f44d" * 46, 90, ["\U0001f44d" * 45, "\U0001f44d"]),
    ("a" * 40 + "\n\n" + "b" * 40 + "\n" + "c. d" * 20, 90, ["a" * 40, "b" * 40, "c. d" * 20]),                                 # between paragraphs,
    ("a" * 40 + "\n" + "b. " * 15 + "c" * 60, 90, ["a" * 40, "b. " * 14 + "b.", "c" * 60]), ("a" * 40 + ". " + "b" * 20 + " " + "c" * 60, 90, ["a" * 40 + ".", "b" * 20 + " " + "c" * 60]), ("a" * 40 + " " + "b" * 60, 90, ["a" * 40, "b" * 60]),
    ("a " + "b" * 100, 90, ["a " + "b" * 88, "b" * 12]), ("a" * 29 + " " + "b" * 80, 90, ["a" * 29 + " " + "b" * 60, "b" * 20]), ("a" * 30 + " " + "b" * 80, 90, ["a" * 30, "b" * 80]),        # no piece is short for that
    ("a" * 60 + "\n  - " + "b" * 60, 90, ["a" * 60, "  - " + "b" * 60]),                                                        # what is indented stays so
    ("a" * 89 + "e\u0301", 90, ["a" * 89, "e\u0301"]), ("a" * 87 + "\U0001f469\u200d\U0001f33e", 90, ["a" * 87, "\U0001f469\u200d\U0001f33e"]), ("a" * 88 + "\U0001f44d\U0001f3fd", 90, ["a" * 88, "\U0001f44d\U0001f3fd"]), ("a" * 88 + "\U0001f44d\U0001f3ff", 90, ["a" * 88, "\U0001f44d\U0001f3ff"]),
    ("a" * 86 + "\U0001f1e6\U0001f1e8\U0001f1ff\U0001f1e6", 90, ["a" * 86 + "\U0001f1e6\U0001f1e8", "\U0001f1ff\U0001f1e6"]), ("a" * 88 + "\U0001f1e6\U0001f1e8\U0001f1ff\U0001f1e6", 90, ["a" * 88, "\U0001f1e6\U0001f1e8\U0001f1ff\U0001f1e6"]), ("a" * 88 + "\U0001f1ff" + "b", 90, ["a" * 88 + "\U0001f1ff", "b"]),
    ("a" + "\u0301" * 100, 90, ["a" + "\u0301" * 89, "\u0301" * 11])])                                                        # what goes on and on is divided
def test_a_long_answer_is_cut_where_a_reader_would_cut_it(text, most, found):
    assert pieces(text, most) == found


@pytest.mark.parametrize("mark", ["", "\U0001f44d"])
def test_what_no_message_holds_is_counted(mark):
    text = mark * 1000 or "a" * 2000
    found = pieces(text, 100)
    last, _, note = found[-1].partition("\n(cut: ")
    kept = sum(map(len, [*found[:-1], last]))
    assert len(found) == MOST_PIECES and all(98 <= units(piece) <= 100 for piece in found) and set(map(len, found[:-1])) == {len(found[0])}
    assert int(note.split()[0].replace(",", "")) == len(text) - kept > 0 and note.endswith("passepartout trace has all of it)")


def test_what_a_service_does_not_do_is_told():
    error = GatewayFailed("It was not sent.", 5.0, True)
    assert (str(error), error.message, error.wait, error.final) == ("It was not sent.", "It was not sent.", 5.0, True) and not GatewayFailed("x").final


@settings(max_examples=examples(60), deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["update_id", "message", "from", "chat", "id", "is_bot", "text", "type", "first_name"]), inner, max_size=5), max_leaves=20))
def test_no_update_breaks_the_reader(update):
    incoming(update)


DAEMON = """
import asyncio, os, signal, sys
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.serving.pairing import GatewayLinks
from passepartout.serving.porter import Porter
from passepartout.serving.telegram import Telegram
class House:
    def __init__(self, agent): self.agent = agent
    async def in_turn(self, session, work): return await work(self.agent)
async def main():
    agent = await Agent.boot(memex_dir={memex!r}, state_dir={state!r}, cache_dir={cache!r}, config_dir={config!r})
    await Porter(House(agent), Telegram({token!r}, {url!r}, patience=1), GatewayLinks(agent.journal.path.with_name("gateways.sqlite"))).run()
asyncio.run(main())
"""


@pytest.mark.slow
async def test_killed_at_any_moment_no_message_is_carried_out_twice(tmp_path):
    "Messages, each of which adds a task; the process is killed again and again while it works on them, and started anew."
    async with World(tmp_path) as world:
        await world.stop()
        await world.agent.close()
        dice = random.Random(7)
        script = DAEMON.format(memex=str(tmp_path / "memex"), state=str(tmp_path / "state"), cache=str(tmp_path / "cache"), config=str(tmp_path / "config"), token=TOKEN, url=world.server.url)
        added = lambda: sum("Added" in each["text"] for each in world.server.sent)
        for life in range(3):
            for n in range(4): world.server.says(f"todo: errand number {4 * life + n}")
            process, before, deadline = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), added(), time.monotonic() + 60
            while added() == before and time.monotonic() < deadline: await asyncio.sleep(0.002)
            await asyncio.sleep(dice.random() * 0.04)
            away(process)
        text = (tmp_path / "memex" / "inbox.org").read_text()
        counts = [text.count(f"errand number {n}\n") for n in range(12)]
        assert max(counts) == 1 and 3 <= sum(counts)
        world.agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config")
        world.start()
        assert "Roof" in (await world.hears("find roof", count=1))[-1] or "Roof" in (await world.hears("find roof"))[-1]


async def test_why_a_change_cannot_be_shown_does_not_pass_the_company_in_private_words(tmp_path):
    "A model elsewhere names a line of the diary, which is not there for it; the person is told at home."
    call = write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "org-schedule", "args": {"path": "inbox.org", "heading": "3", "remove": True}, "explanation": "You asked me to tidy up the dates"}})
    async with World(tmp_path, provider_cascade=("model",), permissions={"default": "ask", "org-schedule": "ask"}) as world:
        script = [call]
        register_backend(world.agent, "model", lambda prompt, system: script.pop(0) if script else "I see.", inline=True, local=False)
        assert world.links.allow("telegram", True)
        told = await world.hears("tidy up")
        assert told[0].startswith("I see.") and "Doctor" not in told[0] and "Something private was left out" in told[0]
        assert not world.agent.pending(source="cli") and any("Doctor" in str(r["body"].get("text")) for r in world.agent.journal.records(kinds=["answer"]))


async def held_up(world, text="A slow question?"):
    "A turn of the linked person that goes on until the event is set, and the event."
    begun, gate = asyncio.Event(), asyncio.Event()
    async def model(prompt, system_prompt, *, model=None):
        begun.set()
        await gate.wait()
        return "I see."
    register_backend(world.agent, "model", model, local=True)
    world.agent.provider_cascade = ("model",)
    world.server.says(text)
    await begun.wait()
    return gate


@pytest.mark.parametrize("ends", ["unlink", "forbid", "another account"])
async def test_what_waits_for_its_turn_is_not_begun_when_the_link_has_ended(tmp_path, ends):
    "A phone is stolen: its messages wait behind a turn, and meanwhile the person takes the link, or the right to say yes, away."
    async with World(tmp_path, permissions={"default": "ask", "org-capture": "ask"}) as world:
        await world.hears("todo: call the roofer")
        assert world.links.allow("telegram", True)
        code, sent = world.agent.pending()[0].code, len(world.server.sent)
        gate = await held_up(world)
        world.server.says(f"/approve {code}"); world.server.says("todo: buy slate"); world.server.says("find roof")
        await world.server.until(lambda: not world.server.updates)
        if ends == "forbid": world.links.allow("telegram", False)
        else: world.links.unlink("telegram")
        if ends == "another account": assert world.links.bind("telegram", world.links.new_code("telegram"), "8", "8", "Ben")
        gate.set()
        await asyncio.gather(*world.porter.busy, return_exceptions=True)
        notes = (tmp_path / "memex" / "inbox.org").read_text()
        assert "roofer" not in notes and "slate" not in notes
        told = [each["text"] for each in world.server.sent[sent:]]
        if ends == "forbid": assert any("Nothing can be approved here" in each for each in told) and not any(code in each for each in told)
        else: assert told == [] and len(world.agent.trace(session="telegram", limit=None)) == 2, "the first question and the slow one"


async def test_what_one_account_said_is_not_told_to_the_next(tmp_path):
    async with World(tmp_path) as world:
        await held_up(world, "Where did I put the will?")
        await world.stop()                                             # the process ends in the middle of it
        world.links.unlink("telegram")
        assert world.links.bind("telegram", world.links.new_code("telegram"), "8", "8", "Ben")
        world.agent.provider_cascade = ("reflex",)
        world.start()
        assert "Roof" in (await world.hears("find roof", sender=8))[0]
        assert not any("will" in each["text"] for each in world.server.sent)


@pytest.mark.parametrize("field", ["text", "name", "stranger"])
async def test_half_of_a_character_ends_nothing(tmp_path, field):
    async with World(tmp_path) as world:
        half = "Ana \ud83d"
        world.server.says(half if field == "text" else "find roof", sender=666 if field == "stranger" else 7, name=half if field != "text" else "Ana")
        await world.silence()
        assert any("Roof" in each for each in await world.hears("find roof"))


async def test_what_nobody_foresaw_costs_one_message_and_is_logged(tmp_path):
    async with World(tmp_path) as world:
        links, take = world.links, world.links.take
        def fails(gateway, number, begins): return take(gateway, number, begins) if "roof" in begins else [][0]
        links.take = fails
        world.server.says("hello")
        assert "Roof" in (await world.hears("find roof"))[0] and not world.task.done()
        assert any("passed over" in each for each in world.logged)


@pytest.mark.parametrize("approvals", [False, True])
@pytest.mark.parametrize("said", ["archive chemo", "tick oncolog", "untick pathol"])
async def test_what_the_engine_takes_from_a_private_note_does_not_pass_the_company(tmp_path, said, approvals):
    "The person says the beginning of a word; how it goes on stands in a private note only."
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "health.org").write_text("#+FILETAGS: :@private:\n* TODO Chemotherapy\n- [ ] oncologist Dr. Frantz\n- [X] pathology\n")
    async with World(tmp_path) as world:
        assert world.links.allow("telegram", approvals)
        told = await world.hears(said) + await world.hears("/pending")
        assert not any(word in " ".join(told).casefold() for word in ("chemotherapy", "frantz", "oncologist", "pathology")), told
        if approvals: assert "private" in told[0] or said == "archive chemo"          # what is typed exactly is done there, and its words name no title
        else:
            assert "private" in told[0] and ("archive" not in said or "Chemotherapy" in world.agent.pending(source="cli")[0].summary)
            assert "Chemotherapy" in (await world.hears("archive the Chemotherapy"))[0], "what the person says in full may come back"


async def test_what_the_person_forbids_does_not_pass_the_company(tmp_path):
    "A rule that is written meanwhile is told at the terminal; its name says what somebody cares about."
    async with World(tmp_path) as world:
        rules = tmp_path / "config" / "passepartout" / "rules.ini"
        rules.parent.mkdir(parents=True)
        rules.write_text("[nobody reads of the divorce]\ntool = read-file\ntier = allow\nmatches = read-file path=a\nnot = org-find query=x\n"); rules.chmod(0o600)
        await world.hears("find roof")
        await world.porter.push_once()
        assert "private" in world.server.texts()[-1] and not any("divorce" in each for each in world.server.texts())
        assert any("divorce" in each.text for each in world.agent.news())
