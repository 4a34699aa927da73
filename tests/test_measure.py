"""Tokens that somebody counts: what is asked of whom, that the context fits into budget and window in the model's own tokens, and that a count changes the beginning of a prompt only when it must."""
import asyncio
import json
import math
import re
from dataclasses import replace

import pytest
from conftest import thinned
from test_providers import agent_on, reply, says, serving, stream, sse

from passepartout.awareness.measure import read_measures
from passepartout.messages import Signal
from passepartout.net.endpoints import Endpoint
from passepartout.modelprompt import read_ahead, system_prompt

SAID = json.dumps({"proposal": {"action": "message", "text": "Fine."}})
NOTES = {"english": "* The roof wants slate, and Ana said so in {n}\n", "japanese": "* 屋根は瓦にする、と{n}年にアナが言った\n", "mixed": "* Slate {n} 屋根 ![]{{}}==\n"}


def tokens_of(text): return sum(math.ceil(len(word.strip().encode()) / (4 if word.isascii() else 1)) or 1 for word in re.findall(r" ?\w+|[^\w\s]{1,3}|\s+", text))

def context_in(system): return system[system.index("\n\nCONTEXT:\n") + 11:system.index("\n\nLOGS:\n")]

def fill(memex, kind="english", files=12):
    for n in range(files): (memex / f"{kind}{n}.org").write_text("".join(NOTES[kind].format(n=1000 + 37 * i + n) for i in range(60)))


class Counting:
    "A server that counts tokens in its own way, answers, bills, and refuses what is longer than its window."
    def __init__(self, window=10**9, counts=True, bills=True): self.window, self.counts, self.bills, self.counted, self.refused, self.sent = window, counts, bills, [], 0, []
    def __call__(self, head, body):
        if head.startswith("POST /tokenize "):
            if not self.counts: return reply({"error": "not found"}, "404 Not Found")
            self.counted.append(body["content"])
            return reply({"tokens": list(range(tokens_of(body["content"])))})
        system, prompt = (m["content"] for m in body["messages"])
        if (size := tokens_of(system) + tokens_of(prompt)) > self.window - 50:
            self.refused += 1
            return reply({"error": {"code": 400, "message": "request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": size, "n_ctx": self.window}}, "400 Bad Request")
        self.sent.append(system)
        return stream(sse({"choices": [{"delta": {"content": SAID}, "finish_reason": "stop"}]}, *([{"choices": [], "usage": {"prompt_tokens": size, "completion_tokens": 9}}] if self.bills else []), "[DONE]"))


async def looked_at(agent):
    agent.indexed()
    agent.seen_at = float("-inf")


def near(server, **more): return dict(provider_cascade="near", provider_urls=f"near={server.url}/v1", provider_models="near=m", **more)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOTES)
async def test_a_context_is_as_long_as_the_budget_in_tokens_of_the_model(tmp_path, kind):
    counting = Counting()
    async with serving(counting) as server, agent_on(tmp_path, **near(server, context_budget=3000)) as agent:
        fill(tmp_path / "memex", kind)
        await looked_at(agent)
        for n in range(4): assert await agent.handle(f"question {n} about the roof?", focus=f"{kind}1.org") == "Fine."
        sizes = [tokens_of(context_in(system)) for system in counting.sent]
        assert all(size <= 3000 for size in sizes) and sizes[-1] > 1000, sizes          # an eighth is for the log, 40 % of the rest for the notes from afar, and one note in focus is short
        assert all(a[:a.index("TODAY")][:2000] == b[:2000] for a, b in zip(counting.sent, counting.sent[1:]))
        notes = [system.split("EARLIER")[0].split("TODAY")[0] for system in counting.sent]
        assert len(set(notes)) <= 1 + (kind == "mixed")                                 # the beginning stays, unless the rate was too low
        (name, known), = read_measures(next((tmp_path / "state").rglob("measures.json"))).items()
        assert name == "near/m" and known.sure and known.rate.per_byte < 1


async def test_what_is_read_ahead_holds_the_list_of_tools_that_the_first_question_will_hold(tmp_path):
    "Who has a small window was made to read the long list in vain each time that a chat was opened."
    class Small(Counting):
        props = True
        def __call__(self, head, body): return reply({"default_generation_settings": {"n_ctx": self.window}}) if head.startswith("GET /props") else super().__call__(head, body)
    small = Small(3500)
    async with serving(small) as server:
        for n in range(2):
            async with agent_on(tmp_path, **near(server, read_ahead=True)) as agent:
                (begun := read_ahead(agent)).join(0.01)
                while begun.is_alive(): await asyncio.sleep(0.01)
                assert await agent.handle("how is the roof coming along?") == "Fine."
    heads = [system[:system.index("\n\nCONTEXT:\n")] for system in small.sent]
    assert len(heads) == 4 and len(heads[0]) > len(heads[1]) and heads[1] == heads[2] == heads[3]


async def test_bytes_that_prove_it_are_not_counted(tmp_path):
    counting = Counting()
    async with serving(counting) as server, agent_on(tmp_path, **near(server)) as agent:
        for n in range(3): await agent.handle(f"question {n}?")
    assert counting.counted == [] and len(counting.sent) == 3


async def test_where_nobody_counts_the_bills_do(tmp_path):
    counting = Counting(counts=False)
    async with serving(counting) as server, agent_on(tmp_path, **near(server, context_budget=3000)) as agent:
        fill(tmp_path / "memex")
        await looked_at(agent)
        for n in range(3): await agent.handle(f"question {n} about the roof?")
        assert sum(head.startswith("POST /tokenize") for head, _ in server.asked) == 1  # asked once, and never again
    sizes = [tokens_of(context_in(system)) for system in counting.sent]
    long = [len(context_in(system).split("EARLIER")[0].encode()) for system in counting.sent]
    assert max(sizes) <= 3000 and long[0] <= 3000 * 0.4 and long[1] == long[2] > 1.5 * long[0]
    async with serving(counting) as server, agent_on(tmp_path, **near(server, context_budget=3000)) as agent:     # the next process
        await looked_at(agent)
        await agent.handle("and now?")
    assert len(context_in(counting.sent[3]).split("EARLIER")[0].encode()) > 0.9 * long[2]


@pytest.mark.slow
@pytest.mark.parametrize("counts", [True, False])
async def test_what_is_too_long_for_the_model_is_asked_again_shorter(tmp_path, counts):
    counting = Counting(window=5000, counts=counts, bills=counts)
    async with serving(counting) as server, agent_on(tmp_path, **near(server, context_budget=20_000, answer_tokens=1000)) as agent:
        fill(tmp_path / "memex")
        await looked_at(agent)
        for n in range(3):
            answer = await agent.handle(f"question {n} about the roof?")
            assert answer == "Fine.", answer
        assert counting.refused in (0, 1) and not any("PROBABILISTIC" in line for line in agent.log.lines())
        assert all(body["max_tokens"] <= 1250 for head, body in server.asked[-1:])
        assert agent.backends.get("near").breaker.rests == {}


async def test_what_stays_too_long_ends_in_a_sentence(tmp_path):
    counting = Counting(window=700)
    async with serving(counting) as server, agent_on(tmp_path, **near(server)) as agent:
        answer = await agent.handle("how are you?")
        assert "too long for m. Lower context_budget, or name a model that reads more" in answer and answer.status == "failed"
        assert counting.refused <= 3


@pytest.mark.parametrize("answer", thinned(["many", [], {"count": True}, {"input_tokens": 10**30}], 2))
async def test_a_count_that_is_none_costs_nothing(tmp_path, answer):
    counting = Counting()
    lying = lambda head, body: reply(answer if isinstance(answer, dict) else {"tokens": answer}) if head.startswith("POST /tokenize") else counting(head, body)
    async with serving(lying) as server, agent_on(tmp_path, **near(server, context_budget=3000)) as agent:
        fill(tmp_path / "memex")
        await looked_at(agent)
        for n in range(2): assert await agent.handle(f"question {n}?") == "Fine."
    assert all(tokens_of(context_in(system)) <= 3000 for system in counting.sent)


async def test_anthropic_counts_once_and_is_told_what_to_keep(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-Kd2Zq81w0Pq7Lm3X")
    counted, sent = [], []
    def server_of(head, body):
        if head.startswith("POST /v1/messages/count_tokens "):
            counted.append(body)
            return reply({"input_tokens": tokens_of(body["messages"][0]["content"])})
        sent.append(body)
        return reply({"type": "message", "content": [{"type": "tool_use", "name": "propose", "input": {"action": "message", "text": "Fine."}}], "stop_reason": "tool_use", "usage": {"input_tokens": 40, "cache_read_input_tokens": 3000, "cache_creation_input_tokens": 0, "output_tokens": 9}})
    async with serving(server_of) as server, agent_on(tmp_path, provider_cascade="anthropic", provider_urls=f"anthropic={server.url}", stream_answers="no", context_budget=3000, provider_prices="anthropic=3/15") as agent:
        fill(tmp_path / "memex")
        await looked_at(agent)
        for n in range(3): assert await agent.handle(f"question {n}?") == "Fine."
        assert [(row["read"], row["written"]) for row in agent.purse.report()] == [(3 * 3040, 3 * 9)]
    assert len(counted) in (1, 2) and len(sent) == 3                      # once, and once more to see whether it fits
    for body in sent:
        head, notes, rest = body["system"]
        assert [("cache_control" in block) for block in body["system"]] == [True, True, False]
        assert head["text"].endswith("CONTEXT:\n") and "english" in notes["text"] and "TODAY" in rest["text"] and tokens_of(context_in("".join(b["text"] for b in body["system"]))) <= 3000
    assert sent[1]["system"][:2] == sent[2]["system"][:2] and "question 0" in sent[1]["system"][2]["text"]


async def test_nothing_is_sent_to_be_counted_when_nothing_may_be_spent(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-Kd2Zq81w0Pq7Lm3X")
    async with serving(reply({"input_tokens": 9})) as server, agent_on(tmp_path, provider_cascade="anthropic", provider_urls=f"anthropic={server.url}", context_budget=3000, provider_prices="anthropic=3/15", day_budget="0") as agent:
        fill(tmp_path / "memex")
        await looked_at(agent)
        assert "day_budget is 0" in await agent.handle("what about the roof?")
        assert server.asked == []


@pytest.mark.slow
async def test_openai_is_counted_here(tmp_path, monkeypatch):
    pytest.importorskip("bpe_openai")
    from passepartout.awareness.measure import openai_tokens
    monkeypatch.setenv("OPENAI_API_KEY", "sk-Kd2Zq81w0Pq7Lm3X")
    counting, count = Counting(), openai_tokens("gpt-5-mini")
    async with serving(counting) as server, agent_on(tmp_path, provider_cascade="openai", provider_urls=f"openai={server.url}/v1", context_budget=3000) as agent:
        fill(tmp_path / "memex", "japanese")
        await looked_at(agent)
        for n in range(2): assert await agent.handle(f"question {n}?") == "Fine."
    assert counting.counted == [] and all(800 < count(context_in(system)) <= 3000 for system in counting.sent)


async def test_a_secret_is_not_sent_to_be_counted_either(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-Kd2Zq81w0Pq7Lm3X")
    counting = Counting()
    async with serving(counting) as server, agent_on(tmp_path, **near(server, context_budget=3000)) as agent:
        fill(tmp_path / "memex")
        (tmp_path / "memex" / "a.org").write_text("* The key is sk-Kd2Zq81w0Pq7Lm3X\n")
        await looked_at(agent)
        await agent.handle("what is it?", focus="a.org")
    assert counting.counted and not any("sk-Kd2Zq81w0Pq7Lm3X" in text for text in (*counting.counted, *counting.sent))
    assert any("[secret:SOME_API_KEY]" in text for text in counting.counted)


async def test_without_a_measure_the_bytes_are_the_bound(tmp_path):
    async with agent_on(tmp_path, context_budget=3000) as agent:
        fill(tmp_path / "memex", "japanese")
        await looked_at(agent)
        composed = system_prompt(agent, Signal(payload={"sensor": "user-input", "text": "?"}))
        assert 800 < len(composed.context.encode()) <= 3000 and composed.tight and not composed.private
        assert composed.text[:composed.marks[0]].endswith("CONTEXT:\n")


def listing(window):
    "A server that says how much its model reads, and answers with `answers` in order."
    def answer(head, body):
        if head.startswith("GET"): return reply({"data": [{"id": "m", "max_model_len": window}]})
        if head.startswith("POST /tokenize"): return reply({}, "404 Not Found")
        answer.sent.append(body)
        return says(answer.answers.pop(0) if answer.answers else "Fine.")
    answer.sent, answer.answers = [], []
    return answer


async def test_a_schema_that_is_only_a_grammar_takes_no_room_from_the_notes(tmp_path):
    model = listing(8192)
    async with serving(model) as server, agent_on(tmp_path, provider_cascade="near", provider_urls=f"near={server.url}/v1") as agent:
        fill(tmp_path / "memex")
        await looked_at(agent)
        assert await agent.handle("how is the roof doing, all in all?") == "Fine."
        (body,) = model.sent
        system = body["messages"][0]["content"]
        assert len(json.dumps(body["response_format"])) > 3 * 8192 and len(context_in(system)) > 1000 and body["max_tokens"] == 2048
        near = agent.backends.get("near").fn
        assert near.schema_read() == 0 and replace(near, form=1).schema_read() > 8192 and replace(near, endpoint=Endpoint.of("https://api.example.org/v1")).schema_read() > 8192


async def test_the_window_that_the_list_of_a_server_on_this_machine_tells_counts(tmp_path):
    from passepartout.providers.catalogue import Service
    model = listing(6000)
    async with serving(model) as server, agent_on(tmp_path, provider_cascade="local") as agent:
        agent.backends.get("local").fn.places = (Service("http://127.0.0.1:9", "compatible"), Service(f"{server.url}/v1", "compatible"))
        fill(tmp_path / "memex")
        await looked_at(agent)
        assert await agent.handle("how is the roof doing, all in all?") == "Fine."
        (body,) = model.sent
        assert body["max_tokens"] == 1500 and sum(tokens_of(m["content"]) for m in body["messages"]) + 1500 <= 6000


READS = json.dumps({"proposal": {"action": "call", "explanation": "The person wants to know what stands in that file.", "tool": "read-file", "args": {"path": "long.org", "lines": 400}}})
ASKED = "what stands in long.org of the roof, the gutter and the chimney, and when did Ana and Pohl say so?"


@pytest.mark.parametrize("window", [6000, 8192, 16_384])
async def test_long_results_are_cut_for_a_small_window_and_the_question_is_not(tmp_path, window):
    model = listing(window)
    model.answers = [READS, READS.replace("400", "399"), READS.replace("400", "398"), SAID]
    async with serving(model) as server, agent_on(tmp_path, provider_cascade="near", provider_urls=f"near={server.url}/v1") as agent:
        (tmp_path / "memex" / "long.org").write_text("".join(f"* The roof wants slate, and Ana said so in {n}\n" for n in range(900, 1300)))
        reply_ = await agent.handle(ASKED)
        assert reply_ == "Fine.", reply_
        prompts = [[m["content"] for m in body["messages"]] for body in model.sent]
        assert len(prompts) == 4 and prompts[0][1] == ASKED
        for system, prompt in prompts[1:]:
            assert prompt.startswith(f"The person asked: {ASKED}\n\n") and prompt.endswith("\n\nAnswer the person, or propose the next call.")
            assert tokens_of(system) + tokens_of(prompt) + model.sent[0]["max_tokens"] <= window and "said so in 900" in prompt
        cut = ["(cut off here, there was no room for more: read on with read-file and start " in prompt.rpartition("You proposed: ")[2] for _, prompt in prompts]
        assert prompts[3][1].count("You proposed: ") == 3
        trimmed = ["what tools returned" in each.trimmed for each in agent.kept_prompts.of(reply_.turn)]
        assert cut == trimmed == [False, True, True, True] if window < 16_384 else not cut[1] and trimmed[3]


@pytest.mark.parametrize("window, at", [(6000, 8_000), (16_384, 34_000)])
@pytest.mark.parametrize("filling", ["# A part\nThe gutter is of zinc.\n", "word ", "größte "], ids=["lines", "one line", "umlauts"])
async def test_what_stands_in_the_middle_of_a_long_note_is_reached_by_reading_on_as_told(tmp_path, window, at, filling):
    on, told = re.compile(r"read on with (?:read-file and )?start (\d+)(?: and column (\d+))?"), []
    def answer(head, body):
        if head.startswith("GET "): return reply({"data": [{"id": "m", "max_model_len": window}]})
        if len(body["messages"]) == 1 or body.get("max_tokens") == 1: return says("x")
        prompt = body["messages"][1]["content"]
        told.append(prompt.rpartition("Tool read-file returned:\n")[2])
        if prompt == ASKED: return says(READS.replace("long.org", "long.md"))
        if "The needle." in told[-1] or not (found := on.findall(told[-1])): return says(SAID)
        start, column = found[-1]
        return says(READS.replace("long.org", "long.md").replace('"lines": 400', f'"lines": 400, "start": {start}' + f', "column": {column}' * bool(column)))
    async with serving(answer) as server, agent_on(tmp_path, provider_cascade="near", provider_urls=f"near={server.url}/v1", provider_models="near=m") as agent:
        (tmp_path / "memex" / "long.md").write_text(filling * (at // len(filling)) + "The needle." + filling * 9_000)
        assert await agent.handle(ASKED) == "Fine."
        assert "The needle." in told[-1] and not any("The needle." in each for each in told[:-1]) and 2 < len(told) < 10


async def test_where_nobody_says_how_much_a_model_reads_nothing_is_cut_until_it_refuses(tmp_path):
    model = Counting(window=6000, counts=False, bills=False)
    answers, model_says = [READS, READS, SAID], Counting.__call__
    def answering(head, body):
        answer = model_says(model, head, body)
        if isinstance(answer, bytes): return answer
        return stream(sse({"choices": [{"delta": {"content": answers.pop(0)}, "finish_reason": "stop"}]}, "[DONE]"))
    async with serving(answering) as server, agent_on(tmp_path, **near(server)) as agent:
        (tmp_path / "memex" / "long.org").write_text("".join(f"* The roof wants slate, and Ana said so in {n}\n" for n in range(900, 1300)))
        assert await agent.handle(ASKED) == "Fine." and 0 < model.refused <= 3


def small(window, props=True):
    "A server of llama.cpp, started with a small context: it says so at `/props`, counts tokens, and refuses what is longer."
    model = Counting(window=window)
    def answer(head, body):
        if head.startswith("GET /props"): return reply({"default_generation_settings": {"n_ctx": window}, "total_slots": 1}) if props else reply({}, "404 Not Found")
        if head.startswith("GET"): return reply({"data": [{"id": "m", "meta": {"n_ctx": window, "n_ctx_train": 131_072}}]})
        if head.startswith("POST /tokenize "): return model(head, body)
        if isinstance(refused := model(head, body), bytes): return refused
        answer.sent.append(body)
        return says(answer.answers.pop(0) if answer.answers else SAID)
    answer.sent, answer.answers, answer.model, answer.props = [], [], model, True
    return answer


@pytest.mark.parametrize("window, short", [(2048, True), (4096, True), (16_384, False)])
@pytest.mark.parametrize("named", ["near=m", ""], ids=["named", "listed"])
async def test_a_small_window_is_known_beforehand_and_the_tools_leave_room_in_it(tmp_path, window, short, named):
    server_ = small(window, props=bool(named))
    server_.answers = [READS, SAID, SAID]
    async with serving(server_) as server, agent_on(tmp_path, provider_cascade="near", provider_urls=f"near={server.url}/v1", provider_models=named) as agent:
        fill(tmp_path / "memex")
        (tmp_path / "memex" / "long.org").write_text("".join(f"* The roof wants slate, and Ana said so in {n}\n" for n in range(900, 1300)))
        await looked_at(agent)
        assert await agent.handle(ASKED) == "Fine." and await agent.handle("and the garden?") == "Fine."
        assert server_.model.refused == 0 and len(server_.sent) == 3
        for body in server_.sent:
            system, prompt = (m["content"] for m in body["messages"])
            belt = system[system.index("TOOLS:"):system.index("\n\nCONTEXT:\n")]
            assert all(f"- {tool.name}(" in belt for tool in agent.tools) and ("|overdue|" in belt) is not short
            assert tokens_of(belt) <= max(window // 2, 900) and tokens_of(system) + tokens_of(prompt) + body["max_tokens"] <= window
        told = server_.sent[1]["messages"][1]["content"]
        assert "said so in 900" in told and ("read on with read-file and start " in told) is short
        assert ("english" if window > 2048 else "TODAY: ") in context_in(server_.sent[0]["messages"][0]["content"])


async def test_who_calls_a_tool_in_a_wrong_way_is_told_how_it_is_called(tmp_path):
    server_ = small(2048)
    call = lambda tool, **args: json.dumps({"proposal": {"action": "call", "explanation": "The person wants to know what is late.", "tool": tool, "args": args}})
    for wrong in (call("org-agenda", view="late"), call("agenda", view="late"), call("org-agnda")):
        server_.answers, server_.sent[:] = [wrong, SAID], []
        async with serving(server_) as server, agent_on(tmp_path, **near(server)) as agent:
            assert await agent.handle("what is late, all in all?") == "Fine."
            again = server_.sent[1]["messages"][0]["content"]
            assert "\n- org-agenda(start: date, optional, " in again[again.index("PREVIOUS PROPOSAL REJECTED"):] and again.count("|overdue|") == 1
