"""Budgets that hold: whatever runs at once, is killed, claims nonsense, or turns the clock, what is spent and set aside stays below the limit."""
import asyncio
import json
import os
import signal as signals
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from passepartout.agent import Agent
from passepartout.backends import backend_cascade_call, consensus_call, register_backend
from passepartout.conditions import BudgetError, compute_restarts, handler_bind, invoke_restart
from passepartout.messages import Label, Signal
from passepartout.cascade.prices import NANO, Prices, Usage, listed_cost, price_table
from passepartout.cascade.purse import Call, Reckoning
from passepartout.cascade.selector import ModelTiers
from passepartout.settings import load_settings
from passepartout.skills import Skill

from test_providers import reply, serving, sse, stream
from waits import away, next_line, status, until

DAY, NOON = 86_400.0, 1_795_262_400.0
LIMITS = {("day", "money"): 1000, ("session", "money"): 600, ("turn", "money"): 300, ("day", "tokens"): 5000, ("turn", "tokens"): 900}


# The purse, by a machine that does what it likes ------------------------------------------------------------------------

class Spending(RuleBasedStateMachine):
    "Three processes on one file, of which any may die at any moment, with a clock that goes both ways."
    numbers = Bundle("numbers")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.file, self.now = Path(self.folder.name, "spending.sqlite"), NOON
        self.purses = [self.fresh() for _ in range(3)]
        self.rows = {}                                        # number -> [day, session, turn, tokens, money, settled?, since]: what must stand
        self.newest = ""

    def fresh(self): return Reckoning(self.file, LIMITS, lambda: self.now)

    def wake(self, who):
        "Whoever opens the file takes what is older than an hour for lost."
        if self.purses[who]._db is None:
            for row in self.rows.values(): row[5] = row[5] or row[6] < self.now - 3600
        return self.purses[who]

    def sums(self, scope, which):
        found = {}
        for row in self.rows.values(): found[row[scope]] = found.get(row[scope], 0) + row[which]
        return found

    @rule(target=numbers, who=st.integers(0, 2), session=st.sampled_from("ab"), turn=st.sampled_from(["1", "2", "3", ""]), read=st.integers(0, 400), written=st.integers(0, 200), money=st.integers(0, 200))
    def reserve(self, who, session, turn, read, written, money):
        today = time.strftime("%Y-%m-%d", time.localtime(self.now))
        day = max(today, self.newest)
        stands = {("day", "money"): self.sums(0, 4).get(day, 0), ("session", "money"): self.sums(1, 4).get(session, 0), ("turn", "money"): self.sums(2, 4).get(turn, 0) if turn else 0,
                  ("day", "tokens"): self.sums(0, 3).get(day, 0), ("turn", "tokens"): self.sums(2, 3).get(turn, 0) if turn else 0}
        fits = all(stands[key] + (money if key[1] == "money" else read + written) <= limit for key, limit in LIMITS.items())
        try: number = self.wake(who).reserve(Call("p", "m", "notes", session, turn), read, written, money)
        except BudgetError as error:
            assert not fits and error.setting and error.remaining < error.requested
            return None
        assert fits
        self.rows[number], self.newest = [day, session, turn, read + written, money, False, self.now], day
        return number

    @rule(who=st.integers(0, 2), number=numbers, read=st.integers(-5, 10**25), written=st.integers(-5, 500), money=st.one_of(st.none(), st.integers(-5, 300), st.just(10**25)))
    def settle(self, who, number, read, written, money):
        done = self.wake(who).settle(number or 10**6, read, written, money)
        row = self.rows.get(number)
        assert done == (row is not None and not row[5])
        if done:
            row[3], row[5] = min(row[3], min(max(read, 0), 2**60) + max(written, 0)), True
            if money is not None: row[4] = min(row[4], max(money, 0))

    @rule(who=st.integers(0, 2), number=numbers)
    def presume(self, who, number):
        assert self.wake(who).presume(number or 10**6) == (number in self.rows and not self.rows[number][5])
        if number in self.rows: self.rows[number][5] = True

    @rule(who=st.integers(0, 2), number=consumes(numbers))
    def give_back(self, who, number):
        done = self.wake(who).give_back(number or 10**6)
        assert done == (number in self.rows and not self.rows[number][5])
        if done: del self.rows[number]

    @rule(who=st.integers(0, 2))
    def die(self, who):
        "A process that is killed leaves its file handles and nothing else; the next one begins."
        self.purses[who].close()
        self.purses[who] = self.fresh()

    @rule(days=st.sampled_from([-400, -1, 0.01, 0.05, 1, 3]))
    def turn_clock(self, days): self.now += days * DAY

    @invariant()
    def nothing_is_overdrawn_and_nothing_counts_twice(self):
        if not self.file.exists(): return
        db = sqlite3.connect(self.file)
        try: found = {(scope, key): (money, tokens) for scope, key, money, tokens in db.execute("SELECT scope, key, money, tokens FROM total")}
        finally: db.close()
        for scope, place in (("day", 0), ("session", 1), ("turn", 2)):
            for key, tokens in self.sums(place, 3).items():
                if scope == "turn" and not key: continue
                assert found[scope, f"notes/{key}" if scope == "session" else key] == (self.sums(place, 4)[key], tokens)
        for (scope, _), (money, tokens) in found.items():
            assert 0 <= money <= LIMITS.get((scope, "money"), money) and 0 <= tokens <= LIMITS.get((scope, "tokens"), tokens)

    def teardown(self):
        for purse in self.purses: purse.close()
        self.folder.cleanup()

TestSpending = Spending.TestCase
TestSpending.settings = hypothesis_settings(max_examples=int(os.environ.get("PASSEPARTOUT_TEST_EXAMPLES", 25)), stateful_step_count=30, deadline=None, derandomize=not os.environ.get("PASSEPARTOUT_TEST_RANDOM"))


GRAB = """
import sys, time
from pathlib import Path
from passepartout.cascade.purse import Call, Purse
from passepartout.conditions import BudgetError
purse, got = Purse(Path(sys.argv[1]), {("day", "money"): 1000}), 0
print("ready", flush=True); sys.stdin.readline()
while True:
    try: number = purse.reserve(Call("p", "m"), 1, 1, 10)
    except BudgetError: break
    got += 1
    if got % 2: purse.settle(number, 1, 1, 5)
    print(got, flush=True)
"""

@pytest.mark.slow
def test_processes_that_are_killed_leave_what_they_set_aside(tmp_path):
    file = tmp_path / "spending.sqlite"
    for round_ in range(4):
        crew = [subprocess.Popen([sys.executable, "-c", GRAB, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        for each in crew: assert next_line(each) == "ready\n"
        for each in crew: each.stdin.write("\n"); each.stdin.flush()
        for each in crew[:2]: next_line(each); each.send_signal(signals.SIGKILL)
        if round_ < 3: next_line(crew[2]); crew[2].send_signal(signals.SIGKILL)
        try: [status(each) for each in crew]
        finally: away(*crew)
        purse = Reckoning(file, {("day", "money"): 1000})
        stands, rows = purse.standing(Call("p", "m"))[0].stands, purse.report()
        assert stands == rows[0]["money"] <= 1000
        purse.close()
    assert stands > 985                                       # whoever was left alone took what there was, and no more


# Whole calls, over a server --------------------------------------------------------------------------------------------

SAID = json.dumps({"proposal": {"action": "message", "text": "Tea at four."}})
TOOK = {"prompt_tokens": 500, "completion_tokens": 20}

def whole(usage=TOOK, text=SAID): return reply({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], **({"usage": usage} if usage is not None else {})})

def boot(tmp_path, url, **more):
    (tmp_path / "notes").mkdir(exist_ok=True)
    return Agent.boot(memex_dir=tmp_path / "notes", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config", provider_urls=f"mine={url}/v1", provider_models="mine=small",
                      **{"provider_cascade": "mine", "provider_prices": "mine=1/4", "stream_answers": "no", "answer_tokens": 1000, **more})

def stands(agent): return agent.purse.report()


async def test_what_the_server_says_it_took_is_charged_and_the_next_process_knows(tmp_path):
    async with serving(whole()) as server:
        agent = await boot(tmp_path, server.url, day_budget="1")
        assert "Tea at four." in await agent.handle("when is tea?")
        await agent.close()
        agent = await boot(tmp_path, server.url, day_budget="1")
        row = stands(agent)[0]
        assert (row["provider"], row["model"], row["session"], row["calls"], row["read"], row["written"], row["money"], row["open"]) == ("mine", "small", "main", 1, 500, 20, 580_000, 0)
        await agent.close()
    assert (tmp_path / "state" / "passepartout" / "spending.sqlite").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("setting, value", [("day_budget", "0"), ("turn_budget", "0"), ("session_budget", "0.001"), ("day_tokens", 0), ("turn_tokens", 100), ("day_budget", "0.000001")])
async def test_a_budget_that_is_too_small_asks_nobody_and_says_which(tmp_path, setting, value):
    async with serving(whole()) as server:
        agent = await boot(tmp_path, server.url, **{setting: value})
        heard = []
        with handler_bind((BudgetError, lambda error: heard.append((error, [r.name for r in compute_restarts()])))): answer = await agent.handle("when is tea?")
        await agent.close()
    assert server.asked == [] and server.props == 0 and f"Raise {setting}" in answer and answer.status == "failed"
    error, restarts = heard[0]
    assert error.setting == setting and error.remaining < error.requested and {"next_provider", "use_fallback", "abort_pipeline"} <= set(restarts)
    assert (error.resets is not None) == setting.startswith("day")


async def test_a_handler_can_answer_in_the_place_of_a_provider_that_is_too_dear(tmp_path):
    async with serving(whole()) as server:
        agent = await boot(tmp_path, server.url, day_budget="0")
        with handler_bind((BudgetError, lambda error: invoke_restart("use_fallback", "I have no money left."))):
            for agent.consensus_enabled in (False, True): assert "I have no money left." in await agent.handle("when is tea?")
        await agent.close()


@pytest.mark.parametrize("wrong", ["-1", "5,-", "nan", "inf", "1e9999", "lots", "٥"])
def test_a_budget_that_cannot_be_read_spends_nothing_and_says_so(tmp_path, wrong):
    found = load_settings(environ={"HOME": str(tmp_path), "PASSEPARTOUT_DAY_BUDGET": wrong, "PASSEPARTOUT_TURN_TOKENS": wrong, "PASSEPARTOUT_CONSENSUS": wrong})
    assert (found.day_budget, found.turn_tokens, found.consensus) == (0, 0, "unanimous")
    assert sum("Until it is corrected" in warning for warning in found.warnings) == 3


async def test_a_price_that_nobody_knows_refuses_under_a_budget_of_money_and_is_told_without_one(tmp_path):
    for entry, budget, asked in (("mine=cheap", "1", 0), ("mine=cheap", "", 1), ("mine=1/4", "1", 1)):
        async with serving(whole()) as server:
            agent = await boot(tmp_path, server.url, provider_prices=entry, day_budget=budget)
            answer = await agent.handle("when is tea?")
            assert len(server.asked) == asked
            if not asked: assert "provider_prices = mine=3/15" in answer
            if entry.endswith("cheap"): assert any("provider_prices" in finding.what for finding in agent.diagnostics)
            if asked and not budget: assert stands(agent)[0]["unpriced"] == 1 and any("nobody knows what small costs" in line for line in agent.log.lines())
            await agent.close()


ODD = {"turned away": (reply({"error": {"message": "busy"}}, "429 Too Many Requests"), 0, 0), "in trouble": (reply(b"no", "500 Internal Server Error", "text/plain"), 0, 0), "gateway gave up": (reply(b"no", "504 Gateway Timeout", "text/plain"), 1, 1),
       "no bill": (whole(None), 1, 0), "bill of nothing": (whole({}), 1, 0), "negative": (whole({"prompt_tokens": -9, "completion_tokens": 1}), 1, 0), "no numbers": (whole({"prompt_tokens": "many", "completion_tokens": [1]}), 1, 0),
       "a list": (whole([1]), 1, 0), "true": (whole({"prompt_tokens": True, "completion_tokens": True}), 1, 0), "fortune": (whole({"prompt_tokens": 10**11, "completion_tokens": 10**11}), 1, 0),
       "cut off": (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 999\r\n\r\n{", 1, 1), "nonsense": (reply(b"{{{"), 1, 1), "long answer": (whole(TOOK, "x" * 50_000), 1, 0)}

@pytest.mark.slow
async def test_whatever_a_server_says_the_budget_holds(tmp_path):
    async with serving(b"") as server:
        agent = await boot(tmp_path, server.url, day_budget="0.05")
        limits = agent.purse.limits
        for name, (answer, calls, still_open) in ODD.items():
            server.answers, agent.purse = [answer], Reckoning(limits=limits)
            for _ in range(3):
                agent.backends.get("mine").breaker.rests.clear()
                await agent.handle("when is tea?")
            rows = stands(agent)
            assert sum(row["money"] for row in rows) <= 50_000_000, name
            assert bool(sum(row["calls"] for row in rows)) == bool(calls) and bool(sum(row["open"] for row in rows)) == bool(still_open), name
            assert [each.stands for each in agent.purse.standing(Call("", "", agent.memex_slug))] == [sum(row["money"] for row in rows)], name
        await agent.close()


async def test_a_stream_is_asked_for_its_bill_and_a_server_that_cannot_say_is_asked_without(tmp_path):
    part = lambda delta, end=None: {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
    pieces = [part({"content": SAID}), part({}, "stop")]
    told = stream(sse(*pieces, {"choices": [], "usage": TOOK}, "[DONE]"))
    def picky(head, body): return reply({"error": {"message": "Unrecognized request argument supplied: stream_options"}}, "400 Bad Request") if "stream_options" in body else stream(sse(*pieces, "[DONE]"))
    for answer, asked, counted in ((told, 1, 0), (picky, 2, 1)):
        async with serving(answer) as server:
            agent = await boot(tmp_path / str(asked), server.url, stream_answers="yes", day_budget="1") if (tmp_path / str(asked)).mkdir() is None else None
            assert "Tea at four." in await agent.handle("when is tea?")
            assert len(server.asked) == asked and stands(agent)[0]["counted"] == counted and stands(agent)[0]["calls"] == 1
            await agent.close()


@pytest.mark.parametrize("counted, asks", [({"input_tokens": 700}, True), ({"input_tokens": 10**9}, False), ({"input_tokens": -1}, False), ({"input_tokens": True}, False), ([], False), ({}, False)])
async def test_where_bytes_are_too_many_the_provider_counts_for_nothing(counted, asks):
    from passepartout.net.endpoints import Endpoint, Times
    from passepartout.net.httpclient import Http
    from passepartout.cascade.meter import Meter
    from passepartout.providers.anthropic import Anthropic
    from passepartout.providers.wire import Provider
    from passepartout.tools import ToolRegistry
    said = {"type": "message", "content": [{"type": "tool_use", "name": "propose", "input": {"action": "message", "text": "hi"}}], "stop_reason": "tool_use", "usage": {"input_tokens": 650, "cache_creation_input_tokens": 40, "output_tokens": 12}}
    async with serving(lambda head, body: reply(counted if "count_tokens" in head else said)) as server:
        http, purse = Http(), Reckoning(limits={("turn", "tokens"): 4000})
        p = Provider("anthropic", Anthropic(), Endpoint.of(server.url), http, ToolRegistry(), model="m", times=Times(60, 60, 60), tokens=1000)
        meter = Meter(purse, Prices(["anthropic=3/15"]), Call("anthropic", "", "n", "main", "t"), log=lambda text: None)
        try:
            if asks: assert "hi" in await p("x" * 20_000, "", meter=meter)
            else:
                with pytest.raises(BudgetError): await p("x" * 20_000, "", meter=meter)
        finally: await http.close()
    assert [("count_tokens" in head) for head, _ in server.asked] == [True] + [False] * asks
    assert sum(row["read"] + row["written"] for row in purse.report()) == (702 if asks else 0)


@pytest.mark.parametrize("limits", [{("day", "money"): 0}, {("turn", "tokens"): 0}, {("turn", "tokens"): 1500}])
async def test_a_budget_without_room_for_an_answer_sends_nothing_not_even_to_be_counted(limits):
    from passepartout.net.endpoints import Endpoint, Times
    from passepartout.net.httpclient import Http
    from passepartout.cascade.meter import Meter
    from passepartout.providers.gemini import Gemini
    from passepartout.providers.wire import Provider
    from passepartout.tools import ToolRegistry
    async with serving(reply({"totalTokens": 1})) as server:
        http = Http()
        p = Provider("gemini", Gemini(), Endpoint.of(server.url), http, ToolRegistry(), model="m", times=Times(60, 60, 60), tokens=1000)
        with pytest.raises(BudgetError): await p("x", "", meter=Meter(Reckoning(limits=limits), Prices(["gemini=3/15"]), Call("gemini", ""), log=lambda text: None))
        await http.close()
    assert server.asked == []


async def test_a_turn_that_is_cut_off_leaves_the_most(tmp_path):
    async with serving([b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"] * 9, pause=1) as server:
        agent = await boot(tmp_path, server.url, day_budget="1")
        turn = asyncio.ensure_future(agent.handle("when is tea?"))
        await until(lambda: server.asked, "a question to the server")
        turn.cancel()
        with pytest.raises(asyncio.CancelledError): await turn
        row = stands(agent)[0]
        assert row["open"] == 1 and row["money"] > 4_000_000 and row["written"] == 1000
        await agent.close()


async def test_every_voice_of_a_vote_reserves_for_itself(tmp_path):
    agent = await boot(tmp_path, "http://127.0.0.1:9", day_budget="0.016", provider_prices="a=1/4, b=1/4, c=1/4")
    async def one(prompt, system_prompt): return await asyncio.sleep(0.1, "yes")
    for name in "abc": register_backend(agent, name, one)
    prompt = "x" * 1000                                       # 1,000 + 1,024 read, 1,000 written: some 6 thousandths of a dollar
    votes = await consensus_call(agent, prompt, cascade="a,b,c", system_prompt="")
    assert [vote.content for vote in votes].count("yes") == 2 and "day_budget" in next(vote.error for vote in votes if vote.error)
    await agent.close()


async def test_a_purse_that_cannot_be_written_stops_what_costs_money_and_nothing_else(tmp_path):
    async with serving(whole()) as server:
        agent = await boot(tmp_path, server.url)
        file = tmp_path / "state" / "passepartout" / "spending.sqlite"
        file.write_bytes(b"this is no database" * 100)
        assert "no provider that costs money is asked" in await agent.handle("when is tea?") and server.asked == []
        register_backend(agent, "near", lambda prompt, system_prompt: "for nothing", local=True)
        agent.provider_cascade = ("mine", "near")
        assert "for nothing" in await agent.handle("when is tea?")
        await agent.close()


async def test_the_person_is_told_who_was_passed_over_once_and_gets_an_answer(tmp_path):
    async with serving(whole()) as server:
        agent = await boot(tmp_path, server.url, day_budget="0.001")
        register_backend(agent, "near", lambda prompt, system_prompt: "for nothing", local=True)
        for agent.provider_cascade, agent.consensus_enabled in ((("mine", "near"), False), (("mine", "near"), True)):
            reply = await agent.handle("when is tea?")
            assert "for nothing" in reply and reply.count("mine was passed over") == 1 and "Raise day_budget" in reply and reply.status == "answered"
        await agent.close()
    assert server.asked == []


async def test_on_this_machine_it_is_free(tmp_path):
    async with serving(whole()) as server:
        agent = await boot(tmp_path, server.url, day_budget="0", day_tokens=0, provider_prices="")
        assert "Tea at four." in await agent.handle("when is tea?") and stands(agent) == []
        assert not (tmp_path / "state" / "passepartout" / "spending.sqlite").exists()
        await agent.close()


def test_the_table_comes_with_its_package_and_is_not_fetched(monkeypatch):
    def no_network(*args, **more): raise AssertionError("somebody wants the network")
    monkeypatch.setattr("socket.socket.connect", no_network)
    price_table.cache_clear()
    assert listed_cost("claude-sonnet-4-5", Usage(1_000_000, 0), "https://api.anthropic.com") > NANO
    assert listed_cost("no-such-model", Usage(1, 1), "https://api.anthropic.com") is None and Prices().cost("anthropic", "claude-sonnet-4-5", Usage(1, 1), "https://evil.example") is None


# The heartbeat --------------------------------------------------------------------------------------------------------

async def test_a_heartbeat_asks_nobody_unless_a_trigger_fires_whatever_it_says_of_itself():
    agent, asked = Agent.bare(), []
    register_backend(agent, "near", lambda prompt, system_prompt: asked.append(prompt) or "hm", local=True)
    beat = {"type": "EVENT", "payload": {"sensor": "heartbeat", "text": "go on", "triggered": True, "trigger": "x"}, "meta": {"trigger": "x"}}
    try:
        for signal in (Signal.of(beat), agent.in_turn(Signal.of(beat)), agent.in_turn(Signal.of(beat)).evolve(payload={"sensor": "tool-output", "content": "x"})):
            assert "heartbeat" in (await backend_cascade_call(agent, "x", context=signal)).payload["text"]
            assert all("heartbeat" in vote.error for vote in await consensus_call(agent, "x", context=signal))
        assert asked == []
        agent.skills.register(Skill("no", trigger=lambda signal: False, probabilistic=lambda signal: "x"))
        agent.skills.register(Skill("breaks", trigger=lambda signal: 1 / 0, probabilistic=lambda signal: "x"))
        agent.skills.register(Skill("always", probabilistic=lambda signal: "x"))
        await backend_cascade_call(agent, "x", context=Signal.of(beat))
        assert asked == []
        agent.skills.register(Skill("yes", trigger=lambda signal: signal.sensor == "heartbeat", probabilistic=lambda signal: "x"))
        for signal in (Signal.of(beat), agent.in_turn(Signal.of(beat)).evolve(payload={"sensor": "tool-output", "content": "x"})): await backend_cascade_call(agent, "x", context=signal)
        assert len(asked) == 2
    finally: await agent.close()


# Tiers cannot open what is closed --------------------------------------------------------------------------------------

async def test_no_tier_sends_private_text_away():
    agent, asked = Agent.bare(), []
    for name, local in (("far", False), ("near", True)): register_backend(agent, name, lambda prompt, system_prompt, name=name: asked.append(name) or "hm", local=local)
    agent.model_selector = ModelTiers({"tool-output": "small"}, {"far": "tiny"}, {"far": "huge"})
    try:
        for sensor in ("tool-output", "user-input", "odd"): await backend_cascade_call(agent, "x", context=Signal(payload={"sensor": sensor}, label=Label("notes", private=True)))
        assert asked == ["near"] * 3
        await backend_cascade_call(agent, "x", context=Signal(payload={"sensor": "tool-output"}))
        assert asked[3:] == ["far"]
    finally: await agent.close()


async def test_the_tiers_of_the_settings_choose_the_model_and_exact_forms_need_none(tmp_path):
    def wire(head, body):
        found = {"action": "call", "tool": "org-find", "explanation": "It looks for the tea.", "args": {"query": "tea"}} if "small" != body["model"] else {"action": "message", "text": "said by small"}
        return whole(text=json.dumps({"proposal": found}))
    async with serving(wire) as server:
        agent = await boot(tmp_path, server.url, provider_cascade="mine,reflex", tier_small="mine=small", tier_large="mine=large")
        (tmp_path / "notes" / "a.org").write_text("* tea\n")
        reply = await agent.handle("could you perhaps look where I keep the tea?")
        assert [body["model"] for _, body in server.asked] == ["large", "small"] and "said by small" in reply
        await agent.handle("todo buy tea")
        assert len(server.asked) == 2 and "buy tea" in "".join(path.read_text() for path in (tmp_path / "notes").rglob("*.org"))
        await agent.close()


async def test_a_sentence_that_may_be_an_exact_form_keeps_nobody_waiting_while_the_notes_are_read(tmp_path):
    async with serving(lambda head, body: whole(text="A model's words.")) as server:
        agent = await boot(tmp_path, server.url, provider_cascade="mine,reflex", tiers="exact=reflex")
        (tmp_path / "notes" / "new.org").write_text("* TODO Quince\n")
        reading, go = threading.Event(), threading.Event()
        agent.upkeep.show = lambda *file: (reading.set(), go.wait(30))
        task = asyncio.create_task(agent.handle("done Quince"))
        for _ in range(1_000):
            if reading.is_set(): break
            await asyncio.sleep(0.01)
        assert reading.is_set() and not task.done()
        go.set()
        await task
        assert not server.asked and "DONE Quince" in (tmp_path / "notes" / "new.org").read_text()
        await agent.close()


async def test_exact_forms_need_no_model_when_no_tier_names_anybody(tmp_path):
    async with serving(lambda head, body: whole(text="A model's words.")) as server:
        for tiers, asked in (("exact=reflex, tool-output=small", 0), ("tool-output=small", 1)):
            agent = await boot(tmp_path, server.url, provider_cascade="mine,reflex", tiers=tiers)
            await agent.handle("todo buy tea")
            assert len(server.asked) == asked
            assert "A model's words." in await agent.handle("find tea") and len(server.asked) == asked + 1      # a question is for the model
            server.asked.clear()
            await agent.close()
        assert "buy tea" in "".join(path.read_text() for path in (tmp_path / "notes").rglob("*.org"))
        agent = await boot(tmp_path, server.url, provider_cascade="mine")
        assert agent.model_selector is None                         # nobody there to whom it would make a difference
        await agent.close()


async def test_a_selector_that_names_somebody_else_or_breaks_changes_nothing():
    agent = Agent.bare()
    register_backend(agent, "near", lambda prompt, system_prompt: "hm", local=True)
    class Odd:
        def __init__(self, answer): self.answer = answer
        def __call__(self, provider, context): return None
        def order(self, names, context): return self.answer(names)
    try:
        for answer in (lambda names: ("evil", *names, *names[:0]), lambda names: 1 / 0, lambda names: None):
            agent.model_selector = Odd(answer)
            assert await backend_cascade_call(agent, "x") == "hm"
    finally: await agent.close()


# The command -----------------------------------------------------------------------------------------------------------

def test_cost_shows_what_was_spent_and_what_is_left(tmp_path, monkeypatch, capsys):
    import typer
    from passepartout.terminal.costcommand import cost
    for name in [name for name in os.environ if name.endswith("_API_KEY")]: monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path), "PASSEPARTOUT_DAY_BUDGET": "1", "PROVIDER_CASCADE": "anthropic"}.items(): monkeypatch.setenv(name, value)
    cost()
    assert "Nothing was spent." in capsys.readouterr().out and not (tmp_path / "state").exists()
    purse = Reckoning(tmp_path / "state" / "passepartout" / "spending.sqlite", {})
    purse.settle(purse.reserve(Call("anthropic", "claude", "notes-1", "main", "t"), 1000, 8000, NANO), 900, 100, NANO // 4)
    purse.reserve(Call("mine", "big\x1b[31m", "notes-1", "main", "t"), 1000, 8000, None)
    purse.close()
    cost()
    shown = capsys.readouterr().out
    assert "day_budget: $0.75 of $1.00 left until" in shown and "1 call whose price nobody knows" in shown and "\x1b" not in shown
    cost(since="1d", json_=True)
    found = json.loads(capsys.readouterr().out)
    assert found["total"] == 0.25 and [row["money"] for row in found["rows"]] == [0.25, None] and found["prices"][0]["read"] == 2
    cost(memex=tmp_path, json_=True)
    assert json.loads(capsys.readouterr().out)["rows"] == []
    with pytest.raises(typer.Exit): cost(since="yesterday")
    assert "is not a moment of the past" in capsys.readouterr().err


def test_cost_mends_what_a_clock_that_was_ahead_has_done(tmp_path):
    now = [NOON + 40 * 365 * DAY]
    purse = Reckoning(tmp_path / "spending.sqlite", {("day", "money"): 1000}, lambda: now[0])
    purse.reserve(Call("p", "m"), 1, 1, 900)
    now[0] = NOON
    with pytest.raises(BudgetError) as caught: purse.reserve(Call("p", "m"), 1, 1, 200)
    assert "--mend-clock" in str(caught.value) and purse.mend_clock() == 1
    with pytest.raises(BudgetError) as caught: purse.reserve(Call("p", "m"), 1, 1, 200)
    assert "--mend-clock" not in str(caught.value)
    now[0] += DAY
    purse.reserve(Call("p", "m"), 1, 1, 200)
    purse.close()
