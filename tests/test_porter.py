"Who stands between a service and the agent, piece by piece: what may be said there, who is heard, and what is begun"
import asyncio
import contextlib
from types import SimpleNamespace as Made

import pytest

from passepartout.agent import Agent as WholeAgent
from passepartout.backends import register_backend
from passepartout.conditions import PassepartoutError
from passepartout.consent.approvals import PendingApproval, Unconfirmed
from passepartout.diary import News
from passepartout.serving import porter as room
from passepartout.serving.gateway import GatewayFailed, Incoming
from passepartout.serving.pairing import GatewayLinks, Linked
from passepartout.serving.porter import HELP, Gone, Porter, asked, shown_name, words_after_no
from passepartout.tools import Parameter, Tool
from passepartout.turns import Reply


def ask(**more): return PendingApproval(**{"id": "a1", "code": "k7f3xq", "summary": "It would write.", "reason": "it writes", "expires": 0.0, **more})


class Service:
    "A service that keeps what it is told, and fails as often as it is given errors."
    name, key, limit = "post", "post-1", 4000
    def __init__(self): self.sent, self.errors, self.came, self.closed = [], [], [], 0

    async def send(self, chat, text):
        if self.errors: raise self.errors.pop(0)
        self.sent.append((chat, text))

    async def receive(self, after):
        if not self.came: await asyncio.Event().wait()
        found = self.came.pop(0)
        if isinstance(found, Exception): raise found
        return found

    async def close(self): self.closed += 1


class Agent:
    "An agent that answers everything, and keeps how it was asked."
    def __init__(self):
        self.settings, self.vault, self.asked, self.answers, self.recent, self.waiting, self.private = Made(gateway_private=False), None, [], [], [], [], {}
        self.log, self.turns = Made(redact=lambda text: text.replace("hunter2", "[secret]")), Made(recent=lambda session: [Made(turn=each) for each in self.recent])
        self.journal = Made(records=lambda turn, kinds, limit: [{"body": self.private[turn]}] if turn in self.private else [])

    def answer(self, *how):
        self.asked.append(how)
        found = self.answers.pop(0) if self.answers else Reply("Fine.")
        if isinstance(found, Exception): raise found
        return found

    async def handle(self, text, *, source, session, typed, unseen): return self.answer("handle", text, source, session, typed, unseen)
    async def approve(self, ident, code, session, *, source, confirm): return self.answer("approve", ident, code, session, source, confirm)
    def deny(self, ident, code, session): return self.answer("deny", ident, code, session)
    def pending(self, session, source): return self.waiting


class House:
    def __init__(self): self.agent, self.before = Agent(), lambda: None

    async def in_turn(self, session, work):
        assert session == "post"
        self.before()
        return await work(self.agent)


@pytest.fixture
def now(): return [1_000_000.0]


@pytest.fixture
def porter(now, monkeypatch):
    said = []
    made = Porter(House(), Service(), GatewayLinks(None, lambda: now[0]), said.append, lambda: now[0])
    made.said, made.news, made.waits = said, Made(found=[], marked=[], told=[], closed=0), []
    class Diary:
        unsent = staticmethod(lambda: made.news.found)
        def mark(self, *what): made.news.marked.append(what)
        def add_news(self, job, text): made.news.told.append((job, text))
        def close(self): made.news.closed += 1
    monkeypatch.setattr(room, "diary_of", lambda agent, clock: Diary())
    async def sleep(seconds): made.waits.append(seconds)
    monkeypatch.setattr(room, "asyncio", Made(**{**vars(asyncio), "sleep": sleep}))
    return made


@pytest.fixture
def ana(porter):
    assert porter.links.bind("post", porter.links.new_code("post"), "ana", "chat", "Ana")
    return porter.links.linked("post")


def message(text="hello", number=1, **more): return Incoming(**{"number": number, "account": "ana", "chat": "chat", "name": "Ana", "text": text, **more})


def told(porter): return [text for _, text in porter.gateway.sent]


async def taken(porter, *messages):
    for each in messages:
        if (task := porter.take(each)) is not None: await task
    return told(porter)


# What may be said

def test_a_code_is_shown_only_where_it_may_be_used(ana):
    may = Linked("ana", "chat", "Ana", True)
    assert asked(ask(), may) == "It would write.\n\nBecause: it writes\n/approve k7f3xq\n/deny k7f3xq"
    assert asked(ask(phrase="all of it"), may).endswith("/approve k7f3xq all of it\n/deny k7f3xq")
    for pending, link, why in ((ask(), ana, "Answer it at your terminal"), (ask(code=""), may, "by an earlier process"), (ask(private=True), may, "holds something private")):
        assert why in (text := asked(pending, link)) and "k7f3xq" not in text and "passepartout approvals list" in text and ("it writes" in text) is not pending.private
    assert "k7f3xq" in asked(ask(private=True), may, private=True)


def test_a_reply_is_told_unless_it_holds_something_private(porter, ana):
    agent = porter.house.agent
    agent.private = {"open": {"private": False}, "shut": {"private": True}, "old": None, "beside": {"private": True, "open": True, "told": "It is Friday."}, "claimed": {"private": True, "open": "yes", "told": "x"}}
    assert porter.worded(Reply("It is Friday. The doctor is on Monday.", turn="beside"), ana).startswith("It is Friday.\n\n(Something private was left out") and "holds something private" in porter.worded(Reply("x", turn="claimed"), ana)
    told = {turn: porter.worded(Reply("It is Friday.", turn=turn), ana) for turn in ("open", "shut", "old", "nowhere", "")}
    assert told["open"] == told["old"] == told[""] == "It is Friday." and all("holds something private" in told[turn] for turn in ("shut", "nowhere"))
    assert porter.worded(Reply("", turn="shut"), ana) == "(nothing came of that)" and porter.holds_private(Reply("x", turn="open")) is False
    assert porter.worded(Reply("x", turn="shut", approvals=(ask(), ask(private=True))), ana).count("This needs your approval") == 2
    agent.settings.gateway_private = True
    assert porter.worded(Reply("It is Friday.", turn="shut"), ana) == "It is Friday." and "It would write" in porter.worded(Reply("", approvals=(ask(private=True),)), Linked("ana", "chat", "", True))


@pytest.mark.parametrize("account, chat", [("eve", "chat"), ("ana", "other"), ("eve", "other")])
def test_another_account_and_another_conversation_are_not_the_linked_one(porter, ana, account, chat):
    assert porter.still("ana", "chat") == ana
    with pytest.raises(Gone, match="post: that account is not linked"): porter.still(account, chat)
    porter.links.unlink("post")
    with pytest.raises(Gone): porter.still("ana", "chat")


async def test_what_is_sent_has_no_secrets_and_drives_no_screen(porter, ana):
    porter.house.agent.vault = Made(scanner=Made(redact=lambda text: text.replace("hunter2", "[secret]")))
    await porter.say(ana, "It is hunter2.\x1b[2J")
    assert told(porter) == ["It is [secret].<U+001B>[2J"] and porter.gateway.sent[0][0] == "chat"
    porter.gateway.limit = 5
    await porter.say(ana, "one two three")
    assert told(porter)[1:] == ["one", "two", "three"]


async def test_what_cannot_be_sent_is_tried_again_and_then_dropped(porter, ana):
    porter.gateway.errors = [GatewayFailed("busy"), GatewayFailed("busy", wait=7.0), GatewayFailed("busy", wait=9_000.0)]
    await porter.say(ana, "one")
    assert told(porter) == ["one"] and porter.waits == [1.0, 7.0, 300.0] and not porter.said
    porter.gateway.errors, porter.waits[:] = [GatewayFailed("busy") for _ in range(9)], []
    await porter.say(ana, "two")
    assert told(porter) == ["one"] and porter.waits == [1.0, 2.0, 4.0, 8.0] and porter.said == ["GATEWAY: post: an answer could not be sent: busy"] and len(porter.gateway.errors) == 4
    porter.gateway.errors, porter.waits[:], porter.said[:] = [GatewayFailed("no such chat", final=True)], [], []
    await porter.say(ana, "three")
    assert porter.waits == [] and len(porter.said) == 1


async def test_nothing_is_sent_to_an_account_that_is_not_linked_any_more(porter, ana):
    porter.links.unlink("post")
    await porter.say(ana, "one")
    assert told(porter) == [] and porter.said == ["GATEWAY: post: that account is not linked any more, so nothing was begun for it and nothing sent."]


# Commands

async def test_commands(porter, ana):
    waits = "Nothing waits for your answer here."
    assert await taken(porter, *(message(text, n) for n, text in enumerate(("/link", "/START@bot", "/pending", "/deny", "/approve", "/other x", "/")))) == [
        f"This account is linked. {HELP}.", f"This account is linked. {HELP}.", waits, f"{HELP}.", f"{HELP}.", f"{HELP}.", f"{HELP}."]
    porter.house.agent.waiting = [ask(), ask(private=True)]
    porter.links.allow("post", True)
    both = (await taken(porter, message("/pending", 20), message("/what", 21)))[-2:]
    assert "/approve k7f3xq" in both[0] and "holds something private" in both[0] and both[1] == f"{HELP}, /approve CODE does it."
    assert porter.house.agent.asked == []


async def test_answers_to_asks(porter, ana):
    agent = porter.house.agent
    agent.answers = [Reply("Refused."), Reply("Refused."), Reply("Fine.")]
    assert await taken(porter, message("/deny k7f3xq", 1), message("/deny  k7f3xq  not today ", 2)) == ["Refused.", "Refused.\n\nFine."]
    assert agent.asked == [("deny", None, "k7f3xq", "post"), ("deny", None, "k7f3xq", "post"), ("handle", "not today", "post", "post", False, ())]
    assert "Nothing can be approved here" in (await taken(porter, message("/approve k7f3xq", 3)))[-1] and len(agent.asked) == 3
    porter.links.allow("post", True)
    agent.answers = [Reply("Done."), Unconfirmed("all of it")]
    assert (await taken(porter, message("/approve k7f3xq", 4), message("/approve k7f3xq half", 5)))[-2:] == ["Done.", "This cannot be taken back, so the code alone does not do. Type with it what would be lost: all of it\nAs in: /approve k7f3xq all of it"]
    assert agent.asked[3:] == [("approve", None, "k7f3xq", "post", "post", ""), ("approve", None, "k7f3xq", "post", "post", "half")]


async def test_one_step_of_a_plan_is_left_out_where_a_yes_could_be_given(porter, ana, tmp_path):
    for part in ("memex", "state", "config", "cache"): (tmp_path / part).mkdir()
    (tmp_path / "memex" / "a.org").write_text("* A\n")
    agent, ran = await WholeAgent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("model",)), []
    agent.tools.register(Tool("pay", "Pay", [Parameter("to")], lambda to: ran.append(to) or "paid", effects="open-world", inline=True))
    note = lambda title: f'(:CALL "org-capture" :ARGS (:TITLE "{title}" :FILE "a.org"))'
    register_backend(agent, "model", lambda prompt, system_prompt: f'(:TYPE :PLAN :EXPLANATION "Pay her and write it down" :STEPS ({note("Before")} (:CALL "pay" :ARGS (:TO "Ana")) {note("After")} (:ANSWER "Written down.")))', inline=True)
    porter.house.agent = agent
    (pending,) = (await agent.handle("write down Before and After in a.org, and pay Ana", source="post", session="post")).approvals
    assert asked(pending, porter.links.linked("post")).count(pending.code) == 0
    porter.links.allow("post", True)
    assert f"/skip {pending.code} leaves out this step only" in asked(pending, porter.links.linked("post"))
    porter.links.allow("post", False)
    assert "Nothing can be approved here" in (await taken(porter, message(f"/skip {pending.code}", 1)))[-1] and "After" not in (tmp_path / "memex" / "a.org").read_text()
    porter.links.allow("post", True)
    assert "That code does not fit" in (await taken(porter, message("/skip aaaaaa", 2)))[-1]
    said = (await taken(porter, message(f"/skip {pending.code}", 3)))[-1]
    assert "Written down." in said and ran == [] and (tmp_path / "memex" / "a.org").read_text() == "* A\n* Before\n* After\n"
    assert "/skip" not in asked(ask(), porter.links.linked("post"))
    await agent.close()


@pytest.mark.parametrize("text", ["/deny k7f3xq", "/approve k7f3xq", "hello"])
async def test_who_is_unlinked_while_they_wait_gets_nothing(porter, ana, text):
    porter.links.allow("post", True)
    porter.house.before = lambda: porter.links.unlink("post")
    assert await taken(porter, message(text)) == [] and porter.house.agent.asked == [] and len(porter.said) == 1


@pytest.mark.parametrize("text, words", [("/deny k7f3xq not today", "not today"), ("/DENY@bot k7f3xq  no ", "no"), ("/deny k7f3xq", ""), ("/deny", ""), ("/approve k7f3xq yes", "")])
def test_what_is_said_after_a_no(text, words): assert words_after_no(text) == words


# Words for the agent

async def test_words_reach_the_agent_as_the_persons(porter, ana):
    agent = porter.house.agent
    agent.answers = [Reply("One.", turn="t1"), Reply("Two.", turn="t2"), PassepartoutError("That failed.")]
    agent.private = {"t1": {"private": False}, "t2": {"private": False}}
    assert await taken(porter, message(" one ", 1), message("two", 2), message("three", 3)) == ["One.", "Two.", "That failed."]
    porter.links.allow("post", True)
    await taken(porter, message("four", 4))
    assert [each[1:] for each in agent.asked] == [("one", "post", "post", False, ()), ("two", "post", "post", False, ()), ("three", "post", "post", False, ()), ("four", "post", "post", True, ())]
    assert porter.links.cut_off("post-1") == [] and list(porter.carried)[:2] == ["t1", "t2"]


async def test_what_somebody_else_wrote_or_is_no_text_is_not_read(porter, ana):
    told = await taken(porter, message("pay Eve", 1, own=False), message("  ", 2))
    assert told[0].startswith("That was written by somebody else") and told[1] == "Only text is read here." and porter.house.agent.asked == []


def test_turns_of_other_windows_are_not_on_the_telephone(porter):
    agent = porter.house.agent
    agent.recent = ["a", "b", "c"]
    assert porter.unseen(agent) == (), "after a start nobody knows what stands there"
    porter.carried.extend(["a", "c"])
    assert porter.unseen(agent) == ("b",)
    agent.recent = ["a", "b"]
    assert porter.unseen(agent) == ("a", "b"), "what stands there last was taken back, and what was said before is not what it follows"
    porter.carried.extend(map(str, range(60)))
    assert len(porter.carried) == 50


# What was not asked for

async def test_what_was_cut_off_is_told_once(porter, ana, now):
    for number in range(7): porter.links.take("post-1", number, f"message {number}" if number else "")
    await porter.tell_cut_off()
    await porter.tell_cut_off()
    (text,) = told(porter)
    assert text.startswith("I was interrupted") and [line for line in text.splitlines() if "·" in line] == [f"· message {n}" for n in range(2, 7)] and text.endswith("how far it came.")
    porter.links.take("post-1", 9, "")
    await porter.tell_cut_off()
    assert "· (no text)" in told(porter)[1]


async def test_what_was_cut_off_for_another_account_is_told_to_nobody(porter, now):
    porter.links.take("post-1", 1, "old")
    await porter.tell_cut_off()
    porter.links.take("post-1", 2, "old")
    now[0] += 60
    porter.links.bind("post", porter.links.new_code("post"), "eve", "chat", "Eve")
    await porter.tell_cut_off()
    assert told(porter) == []


async def test_news_are_passed_on_once_if_they_are_not_old(porter, ana, now):
    news = lambda ident, age, private=False: News(ident, None, now[0] - age, "garden", f"text {ident}", private, None, None)
    porter.news.found = [news(1, 43_201), news(2, 43_199), news(3, 0, True)]
    await porter.push_once()
    assert told(porter) == ["[garden] text 2", "[garden] Something private waits at your terminal: passepartout jobs news"] and porter.news.marked == [("sent", 2, 3)] and porter.news.closed == 1
    porter.house.agent.settings.gateway_private, porter.news.found = True, [news(4, 0, True)]
    await porter.push_once()
    assert told(porter)[2:] == ["[garden] text 4"]
    porter.news.found = [news(5, 50_000)]
    await porter.push_once()
    assert len(porter.news.marked) == 2 and porter.news.closed == 3
    porter.links.unlink("post")
    await porter.push_once()
    assert porter.news.closed == 3, "for nobody the diary is not opened"


async def test_news_that_fail_are_tried_again(porter, monkeypatch):
    tries = []
    async def push_once():
        tries.append(1)
        if len(tries) == 1: raise PassepartoutError("The disk is full.")
        raise asyncio.CancelledError
    monkeypatch.setattr(porter, "push_once", push_once)
    with pytest.raises(asyncio.CancelledError): await porter.push_news()
    assert porter.waits == [5.0, 5.0] and porter.said == ["GATEWAY: post: The disk is full."]


# Strangers

@pytest.mark.parametrize("name, shown", [("Ana", "Ana"), ("", "(no name)"), (" \n ", "(no name)"), ("A\x1b[2J", "A<U+001B>[2J"), ("a b" * 60, ("a b" * 60)[:60])])
def test_names_of_strangers_are_harmless(name, shown): assert shown_name(name) == shown


@pytest.mark.parametrize("word", ["/link", "/start"])
async def test_a_stranger_with_the_code_is_linked(porter, word):
    code = porter.links.new_code("post")
    assert await taken(porter, message(f"{word} {code}", account="bo", chat="c2", name="Bo\n")) == [f"Linked. {HELP}."]
    assert (link := porter.links.linked("post")).account == "bo" and link.chat == "c2" and link.name == "Bo" and not link.approvals and porter.strangers == 0
    assert porter.news.told == [("gateway", "post is linked to Bo (account bo). If that was not you: passepartout gateway unlink post")] and porter.news.closed == 1


@pytest.mark.parametrize("wrong", [{"text": "/link wrong"}, {"text": "/link"}, {"text": "/bind CODE"}, {"text": "/link CODE" + " " * 40}, {"own": False}, {"direct": False}], ids=str)
async def test_a_stranger_without_it_gets_nothing(porter, wrong):
    code = porter.links.new_code("post")
    given = {"text": "/link CODE", **wrong}
    assert porter.take(message(given.pop("text").replace("CODE", code), **given)) is None
    assert porter.links.linked("post") is None and porter.strangers == 1 and porter.news.told == []


async def test_nobody_takes_the_place_of_who_is_linked(porter, ana):
    for more in ({"account": "eve"}, {"chat": "other"}, {"direct": False}):
        assert porter.take(message("/link abc", **more)) is None
    assert porter.strangers == 3 and porter.links.linked("post") == ana and porter.house.agent.asked == []


# What is begun

async def test_a_message_is_taken_once_and_without_secrets(porter, ana):
    first = porter.take(message("it is hunter2"))
    assert first is not None and porter.take(message("it is hunter2")) is None and porter.busy == {first}
    assert porter.links.cut_off("post-1") == ["it is [secret]"]
    await first
    await asyncio.sleep(0)
    assert porter.busy == set() and len(porter.house.agent.asked) == 1


async def test_more_than_can_be_taken_is_said_once(porter, ana):
    gate = asyncio.Event()
    async def in_turn(session, work):
        await gate.wait()
        return await work(porter.house.agent)
    porter.house.in_turn = in_turn
    tasks = [porter.take(message(number=n)) for n in range(8)]
    assert await porter.take(message(number=8)) is None and told(porter)[0].startswith("That is more than I can take at once")
    assert porter.take(message(number=9)) is None and len(porter.links.cut_off("post-1")) == 8, "what was not read is not told of after a start"
    gate.set()
    await asyncio.gather(*tasks)
    await asyncio.sleep(0)
    await porter.take(message(number=10))
    assert len(porter.house.agent.asked) == 9 and porter.warned is False


async def test_somebody_who_writes_without_end_is_not_read(porter, ana, monkeypatch):
    monkeypatch.setattr(porter, "bucket", Made(take=lambda: 0.1))
    await porter.take(message())
    assert told(porter)[0].startswith("That is more") and porter.house.agent.asked == []


async def test_what_goes_wrong_in_a_task_is_logged(porter):
    async def fails(): raise ValueError("odd")
    async def fine(): pass
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: porter.said.append(context["message"]))
    one, two, three = porter.start(fails()), porter.start(fine()), porter.start(asyncio.Event().wait())
    three.cancel()
    await asyncio.gather(one, two, three, return_exceptions=True)
    await asyncio.sleep(0)
    assert len(porter.said) == 1 and porter.said[0].startswith("GATEWAY: post: ") and "odd" in porter.said[0] and porter.busy == set()


# The whole

async def test_each_message_is_passed_whatever_becomes_of_it(porter, ana, monkeypatch):
    seen = []
    def take(message):
        seen.append(message.number)
        if message.number == 2: raise ValueError("odd")
        if message.number == 4: raise GatewayFailed("The disk is full.")
    monkeypatch.setattr(porter, "take", take)
    porter.gateway.came = [[message(number=n) for n in (1, 2, 3)], [message(number=n) for n in (4, 5)]]
    await porter.once()
    assert seen == [1, 2, 3] and porter.links.place("post-1") == 3 and len(porter.said) == 1 and "passed over" in porter.said[0]
    with pytest.raises(GatewayFailed): await porter.once()
    assert seen == [1, 2, 3, 4] and porter.links.place("post-1") == 3, "what could not be written down comes again"


async def test_a_service_that_fails_is_tried_again_later_each_time(porter, monkeypatch):
    errors = [GatewayFailed("away")] * 8 + [None] + [ValueError("odd"), GatewayFailed("wait", wait=0.1), GatewayFailed("wait", wait=9_999.0), GatewayFailed("gone", final=True)]
    async def once():
        if not errors: raise asyncio.CancelledError
        if (error := errors.pop(0)) is not None: raise error
    async def push_news(): await asyncio.Event().wait()
    monkeypatch.setattr(porter, "once", once)
    monkeypatch.setattr(porter, "push_news", push_news)
    with pytest.raises(asyncio.CancelledError): await porter.run()
    assert porter.waits == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 2.0, 1.0, 3600.0, 600.0] and porter.gateway.closed == 1
    assert [line.partition(": ")[2] for line in porter.said] == ["post: away", "post: It failed in a way that nobody foresaw (odd).", "post: gone"]


async def test_the_tenth_failure_in_a_row_is_said_again(porter, monkeypatch):
    errors = [GatewayFailed("away")] * 11
    async def once():
        if not errors: raise asyncio.CancelledError
        raise errors.pop()
    monkeypatch.setattr(porter, "once", once)
    with pytest.raises(asyncio.CancelledError): await porter.run()
    assert len(porter.said) == 2


async def test_whoever_is_at_work_ends_with_the_porter(porter, ana, monkeypatch):
    ended = []
    async def waits():
        try: await asyncio.Event().wait()
        except asyncio.CancelledError: ended.append(1); raise
    async def close(): ended.append("closed")
    monkeypatch.setattr(porter.gateway, "close", close)
    monkeypatch.setattr(porter, "push_news", waits)
    monkeypatch.setattr(porter, "answer", lambda message, link: waits())
    porter.links.take("post-1", 9, "cut off before")
    porter.gateway.came = [[message()]]
    running = asyncio.ensure_future(porter.run())
    for _ in range(20): await asyncio.sleep(0)
    assert len(porter.busy) == 1 and not ended and "I was interrupted" in told(porter)[0]
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError): await running
    assert ended == [1, 1, "closed"], "who still sends must not find the connection closed"
