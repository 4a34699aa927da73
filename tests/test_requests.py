"What a guest may ask of a daemon: each action by name, and what may stand in it"
import asyncio
import contextlib
import json
import os
from dataclasses import dataclass
from types import SimpleNamespace as Made

import pytest

from passepartout.serving import reception, requests
from passepartout.serving.reception import Queues
from passepartout.serving.sockets import DaemonError, take_lock
from passepartout.serving.following import drafts_to, followed, step
from passepartout.serving.requests import ACTIONS, Refused, answer_to, approve, ask_payload, deny, handshake, hide_from_others, join, number_in, offer, say, session_of, text_in

import test_daemon

house = test_daemon.house         # a fixture
AT_THE_PORT = {"handshake", "health_check", "metrics", "status", "cancel", "deny", "endorsed", "pending", "grants", "plans", "trace", "undo"}


@dataclass
class Grant:
    scope: str = "an hour"


def guest(via="unix", **more):
    sent = []
    return Made(**{"via": via, "session": "", "sessions": {}, "offered": {}, "shown": set(), "unseen": {}, "asked": {}, "unread": 0, "ended": False, "send": sent.append, "sent": sent, **more})


def held(**agent):
    "A house that knows one approval, `a1` of the session `other`."
    rows = {"a1": {"id": "a1", "session": "other", "state": "pending"}}
    journal = Made(approval=rows.get, records=lambda **_: [])
    async def in_turn(session, work): return await work(made.agent)
    made = Made(agent=Made(**{"journal": journal, **agent}), guests=set(), tokens={}, unshown=set(), in_turn=in_turn)
    return made


async def test_what_the_port_may_ask_is_a_short_list_and_the_rest_is_answered_on_the_machine(house):       # noqa: F811
    daemon = await house(port=0)
    program, person = await daemon.tcp(), await daemon.unix()
    said = {}
    for action in sorted(ACTIONS):
        program.send(action=action.replace("_", "-"), session="mine")
        said[action] = str(await program.read())
    refused = {action for action, text in said.items() if "answered on the machine itself" in text}
    assert refused == set(ACTIONS) - AT_THE_PORT, refused ^ (set(ACTIONS) - AT_THE_PORT)
    for action in sorted(refused - {"approve"}):
        person.send(action=action.replace("_", "-"))
        assert "on the machine itself" not in str(await person.read()), action


@pytest.mark.parametrize("wrong", ["", "a" * 201, "a\nb", "\u202ea", 1, True, ["a"], {"a": "b"}])
def test_a_text_is_short_and_printable(wrong):
    with pytest.raises(Refused, match="1 to 200 printable"): text_in({"name": wrong}, "name")
    assert text_in({}, "name") is None and text_in({"name": "a" * 200}, "name") == "a" * 200 and text_in({"name": "ab"}, "name", 2) == "ab"
    with pytest.raises(Refused): text_in({"name": "abc"}, "name", 2)


@pytest.mark.parametrize("wrong", [0, -1, 1001, True, 1.0, "1", [1]])
def test_a_number_is_whole_and_within_its_limits(wrong):
    with pytest.raises(Refused, match="from 1 to 1000"): number_in({"count": wrong}, "count")
    assert [number_in({"count": each}, "count") for each in (None, 1, 1000)] == [None, 1, 1000]


@pytest.mark.parametrize("via", ["unix", "tcp"])
def test_one_connection_holds_a_hundred_sessions(via):
    full = guest(via, sessions={f"port-{n}": "t" for n in range(99)})
    house = held()                                                             # noqa: F811
    assert join(house, full, "port-a") == "port-a" and len(full.sessions) == 100
    with pytest.raises(Refused, match="100 sessions"): join(house, full, "port-b")
    if via == "unix": assert join(house, full, "port-a") == "port-a"           # one that it holds already


def test_a_session_at_the_port_is_for_whoever_has_its_token():
    house, one, two = held(), guest("tcp"), guest("tcp")                       # noqa: F811
    assert join(house, one, "x") == "port-x" == join(house, one, "port-x", one.sessions["port-x"]) and len(one.sessions["port-x"]) == 32
    for token in (None, "", "00", one.sessions["port-x"][:-1]):
        with pytest.raises(Refused, match="belongs to somebody else"): join(house, two, "x", token)
    assert two.sessions == {} and join(house, two, "x", one.sessions["port-x"]) == "port-x"
    assert join(house, two, None).startswith("port-") and len(two.sessions) == 2
    house.tokens.update({f"port-{n}": "t" for n in range(9_998)})
    join(house, guest("tcp"), "new")
    assert len(house.tokens) == 10_000 and "port-new" in house.tokens and "port-x" not in house.tokens


@pytest.mark.parametrize("taken", ["token", "guest", "record"])
def test_a_session_in_which_something_was_said_is_no_new_one(taken):
    house = held()                                                             # noqa: F811
    if taken == "token": house.tokens["port-x"] = "t"
    if taken == "guest": house.guests.add(SimpleGuest("port-x"))
    if taken == "record": house.agent.journal.records = lambda session, limit: [1] if session == "port-x" else []
    with pytest.raises(Refused): join(house, guest("tcp"), "x")
    assert join(house, guest("tcp"), "y") == "port-y"


class SimpleGuest:
    def __init__(self, *names): self.sessions = dict.fromkeys(names, "")


def test_what_names_no_session_is_about_the_one_it_began_with():
    house, one = held(), guest()                                               # noqa: F811
    assert [session_of(house, one, {"session": each} if each else {}) for each in ("a", None, "b", None)] == ["a", "a", "b", "a"]
    assert session_of(house, guest(), {}) == "main" and sorted(one.sessions) == ["a", "b"]


async def test_a_yes_counts_where_its_question_was_asked_and_only_for_what_was_offered(monkeypatch):
    seen = []
    async def approved(*args, **more): seen.append((args, more))
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    house, one = held(offer=lambda *args: seen.append(args) or Grant(), approve=approved), guest()       # noqa: F811
    house.agent.watch = lambda hear: seen.append("watched") or (lambda: seen.append("unwatched"))
    first, second = [offer(house, one, {"approval": "a1", "code": "c", "said": "for 1 hour"})["offer"] for _ in range(2)]
    assert list(one.offered) == [second] and seen == [("a1", "c", "for 1 hour", "other")] * 2
    for gone in (first, "zz"):
        with pytest.raises(Refused, match="not offered on this connection"): approve(house, one, {"approval": "a1", "offer": gone})
    with pytest.raises(Refused, match="not offered on this connection"): approve(house, guest(), {"approval": "a1", "offer": second})
    seen.clear()
    answer = approve(house, one, {"approval": "a1", "code": "c", "offer": second, "confirm": "yes", "watch": True})
    assert one.offered == {}                                                    # it counts once, whatever becomes of it
    assert await answer == "other"
    assert seen == ["watched", (("a1", "c", "other"), {"grant": Grant(), "confirm": "yes"}), "unwatched"]


@pytest.mark.parametrize("via, approval, session", [("unix", "a1", "other"), ("unix", "a2", "mine"), ("unix", None, "mine"), ("tcp", "a1", "port-mine")])
def test_a_no_is_said_in_the_session_of_its_question_and_at_the_port_in_ones_own(monkeypatch, via, approval, session):
    seen = []
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    house = held(deny=lambda *args: seen.append(args))                         # noqa: F811
    assert deny(house, guest(via), {"approval": approval, "code": "c", "session": "mine"}) == session and seen == [(approval, "c", session)]


def test_an_answer_under_way_is_sent_seldom_and_never_on_top_of_what_was_not_read():
    one = guest()
    hear = drafts_to(one, 7, 3600.0)
    for text in ("a", "ab", "", "b"): hear(text)
    assert [each["payload"] for each in one.sent] == [{"action": "draft", "request": 7, "text": text} for text in ("a", "")]
    one.sent.clear()
    hear = drafts_to(one, None, 0.0)
    for one.unread, text in ((0, "a"), (5, "ab"), (5, ""), (0, "abc")): hear(text)
    assert [each["payload"]["text"] for each in one.sent] == ["a", "abc"]


def test_a_guest_is_told_the_steps_of_its_own_turns():
    one, agent = guest(), Made(turns=Made(open={"t": Made(session="a")}))
    for turn, session in (("t", "a"), ("t", "b"), ("u", "a")): step(agent, one, session, 7, "effect", {"é": object}, turn)
    (told,) = one.sent
    assert told["payload"] == {"action": "step", "request": 7, "kind": "effect", "turn": "t", "json": '{"é": "<class \'object\'>"}'}


@pytest.mark.parametrize("asks", [(), ("watch",), ("draft",), ("watch", "draft")])
@pytest.mark.parametrize("value", [True, 1, "yes"])
def test_who_does_not_ask_for_steps_and_drafts_has_none(asks, value):
    seen = []
    begins = lambda name: lambda *args: seen.append(name) or (lambda: seen.append(f"end of {name}"))
    with pytest.raises(ZeroDivisionError), followed(Made(watch=begins("watch"), listen=begins("draft")), guest(), dict.fromkeys(asks, value), "a"): 1 / 0
    assert seen == ([*asks, *(f"end of {name}" for name in asks)] if value is True else [])


def test_what_stands_on_no_other_screen_is_remembered_for_the_others_of_that_session():
    mine, theirs, elsewhere = (guest(sessions={name: ""}) for name in "aab")
    hide_from_others(Made(guests=[mine, theirs, elsewhere]), mine, "a", [str(n) for n in range(60)])
    assert (mine.unseen, elsewhere.unseen) == ({}, {}) and list(theirs.unseen["a"]) == [str(n) for n in range(10, 60)]


@pytest.mark.parametrize("kind", ["REQUEST", "RESPONSE", "LOG", "STATUS", None, "events"])
def test_a_client_says_nothing_but_events(kind):
    with pytest.raises(Refused, match="A client sends events"): answer_to(held(), guest(), {"type": kind, "payload": {"action": "grants"}})


@pytest.mark.parametrize("sensor", ["heartbeat", "tool-output", "approval-required", "", 7, ["user-input"]])
def test_a_client_has_two_sensors_and_no_more(sensor):
    with pytest.raises(Refused, match="Other sensors are the agent's own"): answer_to(held(), guest(), {"type": "EVENT", "payload": {"sensor": sensor, "text": "hello"}})


@pytest.mark.parametrize("action", ["fly", "", None, 7, "__class__"])
def test_an_action_that_is_not_there_is_answered_with_those_that_are(action):
    with pytest.raises(Refused, match=":HEALTH-CHECK"): answer_to(held(), guest(), {"type": "event", "payload": {"action": action}})


@pytest.mark.parametrize("text", ["", " \n", None, 7, ["hello"]])
async def test_nothing_is_no_words(text):
    with pytest.raises(Refused, match="no :TEXT"): await say(held(), guest(), {"sensor": "user-input", "text": text})


@pytest.mark.parametrize("nonce, new", [("ab" * 8, True), ("ab" * 32, True), ("ab" * 7 + "a", False), ("AB" * 8, False), ("g" * 16, False), (None, False)])
def test_a_stranger_brings_a_number_of_its_own(nonce, new):
    stranger = guest("tcp", stranger=True, seal=Made(nonces="ours"))
    if new:
        told = handshake(held(), stranger, {"nonce": nonce})
        assert (stranger.stranger, stranger.seal.nonces) == (False, f"ours:{nonce}") and told["token"] == stranger.sessions[told["session"]]
        return
    with pytest.raises(Refused, match="16 to 64 hexadecimal"): handshake(held(), stranger, {"nonce": nonce})
    assert (stranger.stranger, stranger.seal.nonces, stranger.sessions) == (True, "ours", {})


@pytest.mark.parametrize("via, ended, known, shown, unshown, code", [("unix", False, True, (), (), "c"), ("unix", False, False, (), (), ""), ("unix", False, False, ("a1",), (), "c"),
    ("unix", False, False, (), ("a1",), "c"), ("unix", True, True, (), (), ""), ("tcp", False, True, (), (), ""), ("tcp", False, False, (), ("a1",), "")])
def test_a_code_is_told_to_who_may_see_it_and_kept_for_the_next_where_nobody_did(via, ended, known, shown, unshown, code):
    house, one = held(), guest(via, ended=ended, shown=set(shown))             # noqa: F811
    house.unshown |= set(unshown)
    asked = Made(id="a1", code="c", summary="s", reason="r", expires=1.0, action="a", preview="p", phrase="f")
    told = ask_payload(house, one, asked, known)
    assert told == {"id": "a1", "code": code, "summary": "s", "reason": "r", "expires": 1.0, "proposal": "a", "preview": "p", "phrase": "f"}
    assert ("a1" in one.shown) == bool(code) and ("a1" in house.unshown) == (bool(unshown) or ended or via == "tcp")


@pytest.mark.parametrize("status, only, refused", [("answered", True, True), ("declined", True, True), ("done", True, False), ("answered", False, False)])
def test_a_reply_tells_whether_nothing_but_refusals_came_of_it(monkeypatch, status, only, refused):
    monkeypatch.setattr(requests, "only_refused", lambda journal, turn: only)
    monkeypatch.setattr(requests, "only_tried", lambda journal, turn: ())
    reply = Made(status=status, turn="t", effects=("e",), approvals=())
    told = requests.reply_payload(held(), guest(), reply, "a")
    assert (told["refused"], told["status"], told["effects"], told["session"]) == (refused, status, ["e"], "a")


@pytest.mark.parametrize("turns, ahead, read", [((), None, True), ((), False, True), ((), True, False), (("t",), None, False)])
def test_a_model_reads_ahead_when_it_has_nothing_else_to_do_and_does_not_yet(monkeypatch, turns, ahead, read):
    monkeypatch.setattr(requests, "read_ahead", lambda agent: "begun")
    house = held(turns=Made(open=turns))                                       # noqa: F811
    house.ahead = None if ahead is None else Made(is_alive=lambda: ahead)
    assert requests.read_on(house, guest(), {})["begun"] == (read or ahead is not None) and (house.ahead == "begun") == read


@pytest.mark.parametrize("via, named, seen", [("unix", None, None), ("unix", "a", "a"), ("tcp", None, "port-own"), ("tcp", "a", "port-a"), ("tcp", "port-a", "port-a")])
def test_the_person_may_look_at_everything_and_the_port_at_its_own(via, named, seen):
    assert requests.seen_session(held(), guest(via, session="port-own" if via == "tcp" else "main", sessions={"port-own": "", "port-a": ""}), {"session": named}) == seen


@pytest.mark.parametrize("approval, session", [("a1", "other"), ("a2", "mine"), (None, "mine")])
@pytest.mark.parametrize("what", ["offer", "endorse"])
def test_what_leads_to_more_than_one_yes_is_about_the_session_of_its_question(monkeypatch, what, approval, session):
    seen = []
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    house = held(offer=lambda *args: seen.append(args) or Grant(), endorse=lambda *args: seen.append(args))       # noqa: F811
    getattr(requests, what)(house, guest(), {"approval": approval, "code": "c", "said": "s", "argument": "to", "session": "mine"})
    assert seen == [(approval, "c", "s", session) if what == "offer" else (approval, "c", "to", "s", session)]


@pytest.mark.parametrize("approval, told", [("a1", {"id": "a1", "session": "other", "state": "pending"}), ("a2", {}), (None, {})])
def test_where_a_question_stands_is_told(approval, told):
    assert requests.asked(held(), guest(), {"approval": approval}) == {"action": "asked", **told}


@pytest.mark.parametrize("via, given, asked, told", [("unix", {"turn": "t", "limit": 7}, ("t", None, 7), ["a", "port-own"]), ("unix", {}, (None, None, 1), ["a", "port-own"]), ("tcp", {}, (None, "port-own", 1), ["port-own"])])
def test_a_trace_tells_the_port_of_its_own_turns_only(via, given, asked, told):
    seen = []
    house = held(trace=lambda *args: seen.append(args) or [{"session": "a"}, {"session": "port-own"}])            # noqa: F811
    found = requests.trace(house, guest(via, session="port-own", sessions={"port-own": ""}), given)
    assert seen == [asked] and [each["session"] for each in json.loads(found["json"])] == told


@pytest.mark.parametrize("given, done", [({}, ["all"]), ({"peek": 1}, ["all"]), ({"peek": True}, ["news", "close"]), ({"seen": 5}, [("seen", 5), "close"]), ({"seen": 5, "peek": True}, [("seen", 5), "close"])])
def test_news_count_as_read_when_they_were_told_or_said_to_be_seen(monkeypatch, given, done):
    seen, item = [], Made(_asdict=lambda: {"id": 5})
    diary = Made(mark=lambda *args: seen.append(args), news=lambda: seen.append("news") or [item], close=lambda: seen.append("close"))
    monkeypatch.setattr(requests, "diary_of", lambda agent: diary)
    told = requests.news(held(news=lambda: seen.append("all") or [item]), guest(), given)
    assert seen == done and json.loads(told["json"]) == ([] if "seen" in given else [{"id": 5}])


async def test_a_word_to_a_plan_is_said_in_the_session_of_the_plan(monkeypatch):
    seen = []
    async def plan_do(*args): seen.append(args)
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    house = held(plan_named=lambda *args: seen.append(args) or Made(session="other"), plan_do=plan_do)            # noqa: F811
    assert await requests.plan(house, guest(), {"plan": "p", "do": "skip", "value": "v", "session": "mine"}) == "other"
    assert await requests.plan(house, guest(), {}) == "other"
    assert seen == [("p", "mine"), ("p", "skip", "v", "other", requests.CLI), ("", None), ("", "", "", "other", requests.CLI)]


@pytest.mark.parametrize("via, given, undone, turn", [("unix", {}, (1, None), "main"), ("unix", {"count": 3, "session": "a"}, (3, "a"), "a"), ("tcp", {}, (1, "port-own"), "port-own")])
async def test_what_is_taken_back_is_of_the_conversation_that_was_named(monkeypatch, via, given, undone, turn):
    seen = []
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    async def undo(count, session, source): seen.append((count, session))
    house = held(undo=undo)                                                    # noqa: F811
    async def in_turn(session, work): seen.append(session); return await work(house.agent)
    house.in_turn = in_turn
    assert await requests.undo(house, guest(via, session="port-own" if via == "tcp" else "main", sessions={"port-own": "", "main": ""}), given) == turn and seen == [turn, undone]


@pytest.mark.parametrize("which, stopped", [(None, ["1", "b"]), (1, ["1"]), ("b", ["b"]), ("1", []), (2, [])])
def test_a_guest_stops_the_request_that_it_names(which, stopped):
    seen = []
    one = guest(asked={each: Made(cancel=lambda each=each: seen.append(str(each))) for each in (1, "b")})
    assert requests.cancel(held(), one, {"request": which})["count"] == len(stopped) and seen == stopped


@pytest.mark.parametrize("health, checked", [("healthy", True), ("unknown", False)])
def test_a_daemon_that_was_not_looked_at_says_so(health, checked):
    assert requests.health(held(health=health), guest(), {}) == {"type": "HEALTH-RESPONSE", "status": health, "checked-p": checked}


@pytest.mark.parametrize("nonce", [None, "ab"])
def test_a_seal_is_asked_for_where_there_is_one(nonce):
    told = requests.hello(nonce)["payload"]
    assert ("auth" in [str(each).lower().lstrip(":") for each in told["capabilities"]], told.get("nonce")) == (nonce is not None, nonce)


@pytest.mark.parametrize("cascade, told", [(("local", "reflex"), ["local", "reflex"]), (lambda: ("local",), [])])
def test_the_port_is_told_who_thinks_and_not_where_the_notes_lie(cascade, told):
    house = held(provider_cascade=cascade, turns=Made(recent=lambda session: [Made(asked=session)]), hint="h", health="healthy")       # noqa: F811
    found = requests.status(house, guest("tcp", session="port-own", sessions={"port-own": ""}), {})
    assert found == {"action": "status", "session": "port-own", "cascade": told, "hint": "h", "last": "port-own", "health": "healthy"}


def test_what_is_attested_and_taken_back_is_what_was_named(monkeypatch):
    seen = []
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    house = held(attest=lambda *args: seen.append(args), revoke=lambda *args: seen.append(args))                  # noqa: F811
    assert requests.attest(house, guest(), {"tool": "t", "fields": "f", "confirm": "c", "session": "a"}) == "a" and requests.attest(house, guest(), {}) == "main"
    assert requests.revoke(house, guest(), {"grant": "g"}) == "" == requests.revoke(house, guest(), {})
    assert seen == [("t", "f", "c"), ("", "", ""), ("g",), ("",)]
    for do in (requests.attest, requests.revoke, requests.endorse, requests.offer, requests.approve):
        with pytest.raises(Refused, match="on the machine itself"): do(house, guest("tcp"), {})


# name of the action, of the text, how long it may be, and what else stands in the message
LONGEST = [("approve", "confirm", 1000), ("offer", "said", 2000), ("endorse", "said", 2000), ("attest", "tool", 200), ("attest", "fields", 2000), ("attest", "confirm", 64), ("plan", "session", 100), ("plan", "value", 10_000),
           ("rewind", "note", 1000), ("rewind", "place", 1000), ("handshake", "session", 100), ("status", "session", 100), ("handshake", "nonce", 64)]


@pytest.mark.parametrize("action, name, most", LONGEST)
def test_a_text_may_be_as_long_as_is_said_for_it(action, name, most):
    seen = []
    def began(*args, **more): seen.append(args); raise ZeroDivisionError                # it was read, and something is begun with it
    made = held(**dict.fromkeys(("approve", "offer", "endorse", "attest", "plan_do", "provider_cascade"), began), plan_named=lambda *given: Made(session="a"))
    one = guest("unix", stranger=action == "handshake" and name == "nonce", seal=Made(nonces="ours"))
    with pytest.raises(Refused, match=f"The {name} of a message is a text of 1 to {most} "): start(ACTIONS[action](made, one, {name: "a" * (most + 1)}))
    try: start(ACTIONS[action](made, one, {name: "a" * most}))
    except (ZeroDivisionError, AttributeError): pass


def start(answer):
    "Begin a coroutine, as far as it goes without anybody else."
    if hasattr(answer, "send"):
        try: answer.send(None)
        finally: answer.close()


@pytest.mark.parametrize("action, most", [("trace", 100), ("log", 500), ("news", 1 << 53)])
def test_a_number_may_be_as_large_as_is_said_for_it(monkeypatch, action, most):
    name = "seen" if action == "news" else "limit"
    monkeypatch.setattr(requests, "get_system_logs", lambda agent, limit: [limit])
    monkeypatch.setattr(requests, "diary_of", lambda agent: Made(mark=lambda *given: None, close=lambda: None))
    made = held(trace=lambda turn, session, limit: [{"session": limit}])
    with pytest.raises(Refused, match=f"a number from 1 to {most}"): ACTIONS[action](made, guest(), {name: most + 1})
    assert json.loads(ACTIONS[action](made, guest(), {name: most})["json"]) == {"trace": [{"session": most}], "log": [most], "news": []}[action]
    if action == "log": assert ACTIONS[action](made, guest(), {}) == {"action": "log", "json": "[20]"}


@pytest.mark.parametrize("sensor", ["user-input", "chat-message"])
async def test_words_are_a_turn_with_what_the_client_looks_at_and_those_of_others_count_as_theirs(monkeypatch, sensor):
    seen = []
    async def handle(text, **more): seen.append((text, more)); return Made(turn="t")
    async def process(signal): seen.append(signal); return Made(turn="t")
    monkeypatch.setattr(requests, "reply_payload", lambda house, guest, reply, session: (reply.turn, session))
    one, made = guest(unseen={"main": ["t0"]}), held(handle=handle, process=process)
    message = {"type": "EVENT", "foveal_focus": "roof", "payload": {"sensor": sensor, "text": "hello"}}
    assert await answer_to(made, one, message) == ("t", "main")
    if sensor == "user-input": assert seen == [("hello", {"source": requests.CLI, "session": "main", "focus": "roof", "typed": True, "handed": False, "unseen": ("t0",)})]
    else: assert seen[0].payload["text"] == "hello" and str(seen[0].sensor) == str(requests.receive({"type": "EVENT", "payload": {"sensor": "chat-message", "text": "x"}}, source=requests.CLI, session="main").sensor)


@pytest.mark.parametrize("approval, session", [("a1", "other"), ("a2", "mine"), (None, "mine")])
async def test_a_yes_without_a_known_question_is_said_in_ones_own_session(monkeypatch, approval, session):
    seen = []
    async def approved(*args, **more): seen.append(args)
    monkeypatch.setattr(requests, "reply_payload", lambda *args: args[-1])
    assert await approve(held(approve=approved), guest(), {"approval": approval, "code": "c", "session": "mine"}) == session and seen == [(approval, "c", session)]


@pytest.mark.parametrize("via, source", [("unix", True), ("tcp", False)])
def test_who_looks_at_what_waits_is_told_apart_from_the_port(via, source):
    seen = []
    requests.pending(held(pending=lambda *args: seen.append(args) or []), guest(via, session="port-a", sessions={"port-a": ""}), {})
    assert seen == [(None, requests.CLI) if source else ("port-a", None)]


def test_what_json_has_no_word_for_goes_as_text():
    made = held(plan_rows=lambda session: [{"at": SimpleGuest}], trace=lambda *args: [{"session": None, "at": SimpleGuest}])
    for action in ("plans", "trace"): assert json.loads(ACTIONS[action](made, guest(), {})["json"])[0]["at"] == str(SimpleGuest)


def test_the_settings_are_told_without_the_secrets():
    @dataclass
    class Settings:
        memex_dir: str = "/notes"
        secrets: str = "hunter2"
        origin: str = "o"
        warnings: str = "w"
    agent = {"settings": Settings(), "provider_cascade": ("local",), "turns": Made(recent=lambda session: []), "hint": "", "health": "healthy",
             "diagnostics": [Made(in_place=True, __str__=None), "told"]}
    agent["diagnostics"] = [type("Finding", (), {"in_place": there, "__str__": lambda self: self.text, "text": text})() for there, text in ((True, "at its place"), (False, "to all"))]
    told = requests.status(held(**agent), guest(), {})
    assert json.loads(told["settings"]) == {"memex_dir": "/notes"} and told["findings"] == ["to all"] and told["memex"] == "/notes"


@pytest.mark.parametrize("via, token", [("unix", False), ("tcp", True)])
def test_a_token_is_given_at_the_port_only(via, token): assert ("token" in handshake(held(), guest(via, stranger=False), {"session": "a"})) == token


@pytest.mark.parametrize("nonce", ["0123456789abcdeg", "A123456789abcdef", "0123456789abcdef "])
def test_every_sign_of_a_nonce_is_a_digit(nonce):
    with pytest.raises(Refused): handshake(held(), guest("tcp", stranger=True, seal=Made(nonces="ours")), {"nonce": nonce})


def test_who_is_not_at_the_port_is_asked_for_no_seal(): assert "nonce" not in requests.hello()["payload"] and requests.hello("ab")["payload"]["nonce"] == "ab"


ALL_OF_IT = {"edits": True, "count": 2, "turn": "t", "note": "n", "place": "p", "limit": 3}


@pytest.mark.parametrize("asked, given, hidden", [({}, {}, True), ({"dry": True}, {"dry": True}, False), ({"dry": 1, "edits": 1}, {}, True), (ALL_OF_IT, ALL_OF_IT, True)])
async def test_who_goes_back_leaves_the_others_with_what_they_look_at(monkeypatch, asked, given, hidden):
    seen = []
    async def rewind(agent, session, given, source): seen.append((session, given, source)); return {"text": "back"}
    monkeypatch.setitem(requests.desk.ACTIONS, "rewind", rewind)
    made, other = held(turns=Made(recent=lambda session: [Made(turn="t1"), Made(turn="t2")])), guest(sessions={"a": ""})
    made.guests = [one := guest(sessions={"a": ""}), other]
    assert await ACTIONS["rewind"](made, one, {"session": "a", **asked}) == {"action": "rewind", "text": "back"}
    assert seen == [("a", given, requests.CLI)]
    assert (list(other.unseen.get("a", ())) == ["t1", "t2"]) == hidden and one.unseen == {}


@pytest.mark.parametrize("action, payload", [("approve", {"approval": "a1", "code": "c"}), ("deny", {"approval": "a1"}), ("endorse", {"approval": "a1"}), ("attest", {"tool": "t"}), ("revoke", {"grant": "g"}), ("plan", {"plan": "p"}), ("undo", {})])
async def test_what_the_agent_answers_is_what_the_guest_gets(monkeypatch, action, payload):
    reply = object()
    async def later(*args, **more): return reply
    monkeypatch.setattr(requests, "reply_payload", lambda house, guest, reply, session: {"the reply": reply})
    made = held(approve=later, plan_do=later, undo=later, plan_named=lambda *given: Made(session="a"), **dict.fromkeys(("deny", "endorse", "attest", "revoke"), lambda *args, **more: reply))
    told = ACTIONS[action](made, guest(), payload)
    assert (await told if hasattr(told, "send") else told)["the reply"] is reply


class Took:
    def __init__(self): self.names = []
    def took(self, name, seconds): self.names.append((name, seconds >= 0))


async def settled():
    for _ in range(20): await asyncio.sleep(0)


async def test_who_runs_and_who_waits_is_counted_whatever_becomes_of_a_turn():
    places, gates, ran = Queues(2, took := Took()), {}, []
    async def turn(name):
        ran.append(name)
        gates[name] = asyncio.get_running_loop().create_future()
        return await gates[name]
    assert (places.running, places.waiting, places.idle.is_set(), places.open.is_set()) == (0, 0, True, True)
    tasks = {name: asyncio.ensure_future(places.run(name[0], lambda name=name: turn(name))) for name in ("a1", "a2", "b1", "c1")}
    await settled()
    assert (ran, places.running, places.waiting, places.idle.is_set()) == (["a1", "b1"], 2, 2, False)           # one of a session, two in all
    tasks["a2"].cancel()
    gates["b1"].set_exception(ZeroDivisionError())
    await settled()
    assert (ran, places.running, places.waiting) == (["a1", "b1", "c1"], 2, 0)
    places.open.clear()
    later = asyncio.ensure_future(places.run("d", lambda: turn("d1")))
    gates["a1"].set_result("done")
    gates["c1"].cancel()
    await settled()
    assert (ran, places.running, places.waiting, places.idle.is_set()) == (["a1", "b1", "c1"], 0, 1, True)      # closed: whoever comes waits
    places.open.set()
    await settled()
    assert (ran[-1], places.running, places.waiting) == ("d1", 1, 0)
    gates["d1"].set_result(None)
    await settled()
    assert later.done() and await tasks["a1"] == "done" and (places.running, places.waiting, places.idle.is_set()) == (0, 0, True)
    for name in ("b1", "c1", "a2"):
        with pytest.raises((ZeroDivisionError, asyncio.CancelledError)): await tasks[name]
    assert sorted(took.names) == [("turn_seconds", True)] * 4 + [("wait_seconds", True)] * 4


async def test_one_that_waits_for_quiet_lets_others_go_on_between_two_tries():
    places, first = Queues(2, Took()), asyncio.get_running_loop().create_future()
    async def wait(): return await first
    async def short(): return "short"
    long = asyncio.ensure_future(places.run("a", wait))
    await settled()
    quiet = asyncio.ensure_future(places.quiet(0.01))
    await settled()
    assert not places.open.is_set()
    assert await asyncio.wait_for(places.run("b", short), 60) == "short" and not quiet.done()
    first.set_result("long")
    assert await asyncio.wait_for(quiet, 60) and await long == "long" and not places.open.is_set()
    closed = asyncio.ensure_future(places.run("b", short))
    await settled()
    assert not closed.done()
    places.open.set()
    assert await asyncio.wait_for(closed, 60) == "short"


@pytest.mark.parametrize("given, name", [(7, 7), ("a", "a"), ("a" * 64, "a" * 64), ("a" * 65, None), (True, None), (1.0, None), ([1], None), (None, None), ("", "")])
def test_a_request_has_the_name_that_its_guest_gave_it(given, name): assert reception.number_of({"request": given}) == name and type(reception.number_of({"request": given})) is type(name)


@pytest.mark.parametrize("reply, status", [({"status": "declined"}, "declined"), ({}, "answered"), ({"status": ""}, "answered"), (Made(status="done"), "done"), (Made(), "answered"), (None, "answered")])
def test_what_has_no_status_was_answered(reply, status): assert reception.how_it_ended(reply) == status


@pytest.mark.parametrize("payload, request_, told", [({"a": 1}, 7, {"type": "RESPONSE", "payload": {"a": 1, "request": 7}}), ({"a": 1}, None, {"type": "RESPONSE", "payload": {"a": 1}}), ({"a": 1}, 0, {"type": "RESPONSE", "payload": {"a": 1, "request": 0}}),
    ({"type": "HEALTH-RESPONSE"}, 7, {"type": "HEALTH-RESPONSE"})])
def test_an_answer_bears_the_name_of_its_request(payload, request_, told): assert reception.response(payload, request_) == told


async def test_thirty_times_the_others_go_on_and_then_they_wait(monkeypatch):
    places, asked = Queues(2, Took()), []
    places.idle.clear()
    @contextlib.asynccontextmanager
    async def timeout(seconds):
        asked.append((seconds, places.open.is_set()))
        if seconds is not None: raise TimeoutError
        places.idle.set()
        yield
    async def sleep(seconds): asked.append((seconds, places.open.is_set()))
    monkeypatch.setattr(reception, "asyncio", Made(timeout=timeout, sleep=sleep))
    await places.quiet(3.0)
    assert asked == [(3.0, False), (6.0, True)] * 30 + [(None, False)] and not places.open.is_set()


def door(guests=(), most=4, strangers=2, stopping=False):
    made = reception.Refusing()
    made.guests, made.limits, made.stopping = set(guests), Made(guests=most, strangers=strangers), stopping
    return made


def comer(number, **more):
    "Somebody at the door: a plain object, so that it can stand in a set."
    class Comer:
        spoke = gone = stranger = False
        seal, pid, dropped = None, None, ""
        def drop(self, why): self.gone = self.dropped = why
    one = Comer()
    one.number = number
    vars(one).update(more)
    return one


@pytest.mark.parametrize("uid, child, why", [(os.geteuid(), False, ""), (0, False, ""), (os.geteuid() + 1, False, "with nobody else"), (-1, False, "with nobody else"), (os.geteuid(), True, "no say here")])
def test_at_the_socket_the_user_it_belongs_to_comes_in_and_no_child_of_the_daemon(monkeypatch, uid, child, why):
    monkeypatch.setattr(reception, "peer_of", lambda connection: Made(pid=77, uid=uid))
    monkeypatch.setattr(reception, "descends", lambda pid, ancestor: child and (pid, ancestor) == (77, os.getpid()))
    one = comer(1)
    said = door().refusal(one, None)
    assert (why in said if why else said == "") and one.pid == 77


def test_a_daemon_that_stops_lets_nobody_in_and_one_that_is_full_neither():
    assert door(stopping=True).refusal(comer(1), None) == "The daemon is stopping."
    assert "too many connections" in door([comer(n, spoke=True) for n in range(4)]).refusal(comer(9), None)


def test_who_never_spoke_and_came_first_makes_way():
    some = [comer(1, spoke=True), comer(2, gone="x"), comer(3), comer(4)]
    assert door(some[:3]).room() and not any(each.dropped for each in some)
    assert door(some).room() and [each.dropped for each in some] == ["", "", "it said nothing, and made way", ""]
    assert not door([some[0], some[1], comer(5, spoke=True), comer(6, spoke=True)]).room()


def test_the_port_fills_half_of_the_room_and_its_strangers_make_way_for_each_other():
    sealed = [comer(n, seal="s") for n in (1, 2)]
    assert "too many connections on the port" in door(sealed, most=5).refusal(comer(3, seal="s"), None)
    assert door(sealed[:1] + [comer(8)], most=5).refusal(comer(3, seal="s"), None) == ""
    assert door([], most=1).crowding() == "" and "on the port" in door(sealed[:1], most=1).crowding()
    strangers = [comer(n, seal="s", stranger=True) for n in (4, 2)]
    assert door([*strangers[:1], *sealed], most=50).crowding() == "" and not strangers[0].dropped              # who has shown a seal is none
    assert door(strangers, most=50).crowding() == "" and [each.dropped for each in strangers] == ["", "it made way for the next stranger"]


class Ringing:
    "A guest at the door: what it says, how that ends, and what it is told."
    said, error, held, gone, made = (), None, (), "", []
    def __init__(self, number, reader, writer, limits, seal, *, big, stranger):
        self.number, self.reader, self.limits, self.seal, self.big, self.stranger = number, reader, limits, seal, big, stranger
        self.pid, self.via, self.asked, self.told, self.left = 77, "tcp" if seal else "unix", {}, [], []
        self.sessions, self.messages = dict.fromkeys(self.held, ""), list(self.said)
        self.made.append(self)

    def send(self, message): self.told.append(message)
    def leave(self, why): self.left.append(why)

    async def next(self):
        if self.messages: return self.messages.pop(0)
        if self.error is not None: raise self.error
        return None


def rung(monkeypatch, refused="", **guest):
    "A daemon with a door, and what it counted and logged."
    monkeypatch.setattr(reception, "Guest", kind := type("Rings", (Ringing,), {**guest, "made": []}))
    made = reception.Door()
    made.numbers, made.limits, made.big, made.guests, made.stopping, made.counted, made.logged, made.taken = 4, "limits", "big", set(), False, [], [], []
    made.gauges, made.agent = Made(count=lambda *names: made.counted.append(names)), Made(turns=Made(spoken={"a": 1, "b": 2, "c": 3}))
    made.log = lambda *words, **named: made.logged.append((words, named))
    made.take = lambda guest, message: made.taken.append((guest in made.guests, message))
    made.refusal = lambda guest, connection: refused and f"{refused} {connection}"
    made.rings = kind.made
    return made


async def ring(made, key=None): await made.receive("reader", Made(get_extra_info={"socket": "connection"}.get), key)


async def test_a_guest_is_greeted_heard_to_its_end_and_let_go(monkeypatch):
    made = rung(monkeypatch, said=("one", "two"), held=("a", "b"))
    made.guests.add(other := comer(9, sessions={"b": ""}))
    await ring(made)
    (one,) = made.rings
    assert (one.number, one.reader, one.limits, one.big, one.seal, one.stranger) == (5, "reader", "limits", "big", None, False) and made.numbers == 5
    assert one.told == [reception.hello(None)] and made.taken == [(True, "one"), (True, "two")] and one.left == ["it has ended"]
    assert made.guests == {other} and made.agent.turns.spoken == {"b": 2, "c": 3}, "what is said in a session that another one holds is kept"
    assert made.counted == [("connections_total", "unix")] and made.logged == []


async def test_one_at_the_port_is_a_stranger_with_a_seal(monkeypatch):
    made = rung(monkeypatch)
    await ring(made, b"k" * 32)
    (one,) = made.rings
    assert one.stranger is True and isinstance(one.seal, reception.Seal) and made.counted == [("connections_total", "tcp")]
    assert (nonce := one.told[0]["payload"].get("nonce")) and one.told == [reception.hello(nonce)]


async def test_one_that_is_refused_hears_why_and_is_never_among_the_guests(monkeypatch):
    made = rung(monkeypatch, "No,", said=("one",), held=("a",))
    await ring(made)
    (one,) = made.rings
    assert one.told == [reception.trouble("No, connection")] and one.left == ["No, connection"] and not made.guests and not made.taken
    assert made.counted == [("connections_total", "unix"), ("refused_total", "door")] and made.agent.turns.spoken == {"a": 1, "b": 2, "c": 3}
    assert made.logged == [(("refused", "warning"), {"guest": 5, "via": "unix", "pid": 77, "why": "No, connection"})]


@pytest.mark.parametrize("error, kind", [(reception.FramingError("The form is wrong."), "framing"), (reception.WrongSeal("The seal is wrong."), "seal"), (ConnectionResetError(), "")])
async def test_what_was_wrong_with_a_frame_is_said_counted_and_logged(monkeypatch, error, kind):
    made = rung(monkeypatch, error=error)
    await ring(made)
    (one,) = made.rings
    assert one.left == ["it has ended"] and not made.guests
    if not kind: assert len(one.told) == 1 and not made.logged
    else:
        assert one.told[1:] == [reception.trouble(error.message)] and ("refused_total", kind) in made.counted
        assert made.logged == [(("closed", "warning"), {"guest": 5, "via": "unix", "pid": 77, "why": error.message})]


async def test_one_that_was_dropped_stands_in_the_log_with_the_reason(monkeypatch):
    made = rung(monkeypatch, gone="it made way")
    await ring(made)
    assert made.logged == [(("dropped", "warning"), {"guest": 5, "via": "unix", "pid": 77, "why": "it made way"})]


async def test_one_that_has_said_all_still_gets_its_answers(monkeypatch):
    made, gate = rung(monkeypatch, said=("one",)), asyncio.get_running_loop().create_future()
    async def fails(): raise ValueError("odd")
    def take(guest, message): guest.asked.update({1: gate, 2: asyncio.ensure_future(fails())})
    made.take = take
    ringing = asyncio.ensure_future(ring(made))
    await settled()
    assert not ringing.done() and made.rings[0] in made.guests and not made.rings[0].left
    gate.set_result(None)
    await ringing
    assert made.rings[0].left == ["it has ended"]


async def test_whatever_goes_wrong_a_guest_is_let_go(monkeypatch):
    made = rung(monkeypatch, held=("a",), error=KeyError("odd"))
    with pytest.raises(KeyError): await ring(made)
    assert not made.guests and made.rings[0].left == ["it has ended"] and "a" not in made.agent.turns.spoken


def intake(monkeypatch, answer, **more):
    seen = []
    made = reception.Counter()
    made.limits, made.stopping, made.gauges = Made(asked=2), False, Made(count=lambda name: None, counts={("frames_total", ""): 3})
    made.log = lambda *args, **named: seen.append((args, named))
    made.logged = seen
    monkeypatch.setattr(reception, "answer_to", answer)
    vars(made).update(more)
    return made


async def test_each_request_is_answered_under_its_name_and_not_more_than_so_many_at_once(monkeypatch):
    gates = [asyncio.get_running_loop().create_future() for _ in range(5)]
    async def wait(number): return await gates[number]
    made, one = intake(monkeypatch, lambda house, guest, message: wait(message["payload"]["n"])), guest(stranger=False, number=5)
    take = lambda n, **more: made.take(one, {"payload": {"n": n, **more}})
    take(0, request="a"); take(1, request="a"); take(1); take(2, request="c")
    said = [each["payload"]["text"] for each in one.sent]
    assert said[0].startswith("There is a request with that number already.") and said[1].startswith("2 requests wait") and len(said) == 2 and list(one.asked) == ["a", "unnamed 3"]
    gates[0].set_result({"action": "reply", "status": "declined"}); gates[1].set_exception(ValueError("odd"))
    await settled()
    assert one.sent[2] == {"type": "RESPONSE", "payload": {"action": "reply", "status": "declined", "request": "a"}} and one.asked == {}
    assert "Something went wrong in the daemon" in one.sent[3]["payload"]["text"] and "odd" not in one.sent[3]["payload"]["text"]
    assert [(args[0], named.get("status")) for args, named in made.logged] == [("turn", "declined"), ("failed", None), ("turn", "failed")] and all(named["guest"] == 5 for _, named in made.logged)
    take(2, request="c"); take(3, request="d")
    await settled()
    one.asked["c"].cancel(); made.stopping = True
    await settled()
    assert one.sent[4]["payload"] == {"action": "reply", "text": "The daemon is stopping; the turn was cut off.", "status": "interrupted", "request": "c"}
    made.stopping = False
    take(4, request="f")
    await settled()
    one.asked["f"].cancel(); await settled()
    assert one.sent.pop()["payload"]["text"] == "Stopped."
    made.stopping = True
    assert "odd" in dict(made.logged[1][1])["why"]
    gates[3].set_exception(Refused("not that"))
    await settled()
    assert one.sent[5]["payload"] == {"level": "error", "text": "not that", "request": "d"}
    take(0, request="e")
    assert one.sent[6]["payload"]["text"] == "The daemon is stopping." and one.asked == {}


@pytest.mark.parametrize("payload, shown_out", [({"action": "handshake"}, False), ({"action": "HANDSHAKE"}, False), ({"action": "status"}, True), ({}, True), ({"sensor": "user-input", "action": "handshake"}, True)])
def test_a_stranger_begins_with_a_handshake(monkeypatch, payload, shown_out):
    made, one = intake(monkeypatch, lambda house, guest, message: {"action": "handshake"}), guest("tcp", stranger=True, number=5)
    if shown_out:
        with pytest.raises(reception.FramingError, match="is a :HANDSHAKE"): made.take(one, {"payload": payload})
    else: made.take(one, {"payload": payload})
    assert [each["payload"] for each in one.sent] == ([] if shown_out else [{"action": "handshake"}])


@pytest.mark.parametrize("error, kept", [(Refused("not that"), True), (reception.FramingError("no more"), False)])
def test_what_cannot_be_had_is_a_sentence_and_a_broken_frame_is_the_end(monkeypatch, error, kept):
    def answer(*given): raise error
    made, one = intake(monkeypatch, answer), guest(stranger=False, number=5)
    if kept: made.take(one, {"payload": {"request": 7}})
    else:
        with pytest.raises(reception.FramingError): made.take(one, {"payload": {"request": 7}})
    assert [each["payload"] for each in one.sent] == ([{"level": "error", "text": "not that", "request": 7}] if kept else [])


def test_one_daemon_has_the_lock_and_the_next_is_told_which(tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir(mode=0o700)
    (folder / "daemon.lock").write_text("123456789012345\n")                   # of one that has ended
    held = take_lock(folder)
    try:
        assert (folder / "daemon.lock").read_text() == f"{os.getpid()}\n"
        with pytest.raises(DaemonError, match=f"runs already .process {os.getpid()}.. To stop it: kill {os.getpid()}"): take_lock(folder)
    finally: os.close(held)
    os.close(take_lock(folder))


@pytest.mark.parametrize("wrong", ["a file", "a link", "open to others"])
def test_a_folder_that_is_not_only_ones_own_has_no_daemon(tmp_path, wrong):
    folder = tmp_path / "journal"
    if wrong == "a file": folder.write_text("x")
    else: folder.mkdir(mode=0o700)
    if wrong == "a link": (folder / "daemon.lock").symlink_to(tmp_path / "elsewhere")
    if wrong == "open to others": folder.chmod(0o777)
    with pytest.raises(DaemonError): take_lock(folder)
    assert not (tmp_path / "elsewhere").exists()
