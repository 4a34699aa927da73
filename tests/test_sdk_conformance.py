"""Our side of the wire against the makers' own Python clients: what we send is what their clients send and their types allow; what their response models make, in pieces and whole, both sides understand alike."""
import json

import pytest

pytestmark = pytest.mark.slow
openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
ollama = pytest.importorskip("ollama")
genai = pytest.importorskip("google.genai")

import anthropic.types as A
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming
from google.genai import types as G
from ollama._types import ChatRequest, ChatResponse
from pydantic import ConfigDict, TypeAdapter
from test_providers import KEY, SAID, asked, failing, reply, serving, sse, stream

from passepartout.providers.anthropic import Anthropic
from passepartout.providers.gemini import _STOPS, Gemini
from passepartout.providers.ollama import Ollama
from passepartout.providers.openai_compatible import OpenAICompatible
from passepartout.providers.proposals import printed_proposal

TEXT = json.dumps(SAID, ensure_ascii=False)
PLIST = printed_proposal(SAID)


def checked(kind, body):
    "`body` as the maker's own type of a request reads it: no field that it does not know, none missing, none of another type."
    if hasattr(kind, "model_validate"): return kind.model_validate(body, strict=False)
    kind.__pydantic_config__ = ConfigDict(extra="forbid")
    value = TypeAdapter(kind).validate_python(body)
    return {k: list(v) if hasattr(v, "__next__") or type(v).__name__ == "ValidatorIterator" else v for k, v in value.items()}


def events(models, named=False, last=""):
    text = "".join((f"event: {m.type}\n" if named else "") + f"data: {m.model_dump_json()}\n\n" for m in models)
    return stream((text + last).encode())


async def ours(dialect, answer, **more):
    "What we make of an answer, and what we sent: (text, head, body)."
    async with serving(answer) as server:
        said = await asked(server.url, dialect=dialect, **more)
        return said, *server.asked[0]


# OpenAI -------------------------------------------------------------------------------------------------------------------

def completion(text=None, call=None, refusal=None, stop="stop"):
    calls = [{"id": "call_1", "type": "function", "function": {"name": "propose", "arguments": call}}] if call else None
    return ChatCompletion.model_validate({"id": "chatcmpl-1", "object": "chat.completion", "created": 1761000000, "model": "m-2026-01-01", "service_tier": "default", "system_fingerprint": "fp",
        "choices": [{"index": 0, "finish_reason": stop, "logprobs": None, "message": {"role": "assistant", "content": text, "refusal": refusal, "annotations": [], "tool_calls": calls}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0}}})


def chunks(text="", call="", refusal="", stop="stop"):
    def chunk(delta, end=None, **more): return ChatCompletionChunk.model_validate({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1761000000, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": end}], **more})
    first = {"role": "assistant", "content": "" if text else None, **({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "propose", "arguments": ""}}]} if call else {})}
    cut = lambda whole: [whole[i:i + 7] for i in range(0, len(whole), 7)]
    made = [chunk(first), *(chunk({"content": p}) for p in cut(text)), *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": p}}]}) for p in cut(call)), *(chunk({"refusal": p}) for p in cut(refusal)), chunk({}, stop)]
    usage = ChatCompletionChunk.model_validate({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}})
    return events([*made, usage], last="data: [DONE]\n\n")


async def their_openai(url, body):
    client = openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)
    try:
        result = await client.chat.completions.create(**body)
        if not body["stream"]:
            message = result.choices[0].message
            return message.tool_calls[0].function.arguments if message.tool_calls else message.content
        text = call = ""
        async for piece in result:
            for choice in piece.choices:
                text += choice.delta.content or ""
                for each in choice.delta.tool_calls or (): call += each.function.arguments or ""
        return call or text
    finally: await client.close()


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("form, own", [("schema", True), ("schema", False), ("tool", False), ("plist", False)])
async def test_openai_requests_and_answers(form, own, streamed):
    dialect, tool = OpenAICompatible(own=own, forms=(form,)), form == "tool"
    answer = chunks(**{"call" if tool else "text": TEXT}, stop="tool_calls" if tool else "stop") if streamed else reply(completion(**{"call" if tool else "text": TEXT}, stop="tool_calls" if tool else "stop").model_dump(mode="json"))
    said, head, body = await ours(dialect, answer, stream=streamed)
    assert said == PLIST
    checked(CompletionCreateParamsStreaming if streamed else CompletionCreateParamsNonStreaming, body)
    async with serving(answer) as server:
        assert await their_openai(server.url, body) == TEXT
        (theirs, their_body), = server.asked
    assert their_body == body and theirs.splitlines()[0] == head.splitlines()[0]
    assert f"authorization: bearer {KEY}".lower() in head.lower() and f"authorization: bearer {KEY}".lower() in theirs.lower()


@pytest.mark.parametrize("streamed", [True, False])
async def test_openai_refusals_and_cut_answers(streamed):
    make = chunks if streamed else lambda **more: reply(completion(**more).model_dump(mode="json"))
    assert "refused" in str(await failing(make(refusal="I cannot help with that."), stream=streamed))
    assert "refused" in str(await failing(make(text="Well", stop="content_filter"), stream=streamed))
    assert "cut off" in str(await failing(make(text=TEXT[:9], stop="length"), stream=streamed))


ERRORS = [("401 Unauthorized", {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}, "AuthenticationError", "refused the key"),
          ("429 Too Many Requests", {"error": {"message": "Rate limit reached", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}, "RateLimitError", "too many questions"),
          ("429 Too Many Requests", {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}}, "RateLimitError", "no credit or quota"),
          ("404 Not Found", {"error": {"message": "The model `m` does not exist", "type": "invalid_request_error", "param": None, "code": "model_not_found"}}, "NotFoundError", "does not know the model"),
          ("400 Bad Request", {"error": {"message": "This model's maximum context length is 8192 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}, "BadRequestError", "too long"),
          ("500 Internal Server Error", {"error": {"message": "The server had an error", "type": "server_error", "param": None, "code": None}}, "InternalServerError", "in trouble")]


@pytest.mark.parametrize("status, document, theirs, sentence", ERRORS, ids=[e[2] + str(i) for i, e in enumerate(ERRORS)])
async def test_openai_errors(status, document, theirs, sentence):
    assert sentence in str(await failing(reply(document, status)))
    async with serving(reply(document, status)) as server:
        with pytest.raises(getattr(openai, theirs)): await their_openai(server.url, {"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": False})


# Anthropic ----------------------------------------------------------------------------------------------------------------

def message(text=None, call=None, stop="end_turn"):
    content = [*([{"type": "thinking", "thinking": "Hm.", "signature": "s"}]), *([{"type": "text", "text": text, "citations": None}] if text else []), *([{"type": "tool_use", "id": "toolu_1", "name": "propose", "input": json.loads(call)}] if call else [])]
    return A.Message.model_validate({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content, "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 5}})


def message_events(text="", call="", stop="end_turn"):
    usage, cut = {"input_tokens": 9, "output_tokens": 1}, lambda whole: [whole[i:i + 7] for i in range(0, len(whole), 7)]
    made = [A.RawMessageStartEvent.model_validate({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}})]
    def block(n, start, deltas):
        made.append(A.RawContentBlockStartEvent.model_validate({"type": "content_block_start", "index": n, "content_block": start}))
        made.extend(A.RawContentBlockDeltaEvent.model_validate({"type": "content_block_delta", "index": n, "delta": d}) for d in deltas)
        made.append(A.RawContentBlockStopEvent.model_validate({"type": "content_block_stop", "index": n}))
    block(0, {"type": "thinking", "thinking": "", "signature": ""}, [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "s"}])
    if text: block(1, {"type": "text", "text": "", "citations": None}, [{"type": "text_delta", "text": p} for p in cut(text)])
    if call: block(2, {"type": "tool_use", "id": "toolu_1", "name": "propose", "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in cut(call)])
    made.append(A.RawMessageDeltaEvent.model_validate({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}}))
    made.append(A.RawMessageStopEvent.model_validate({"type": "message_stop"}))
    return events(made, named=True)


async def their_anthropic(url, body):
    client = anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0)
    try:
        result = await client.messages.create(**body)
        if not body["stream"]: blocks = [(b.type, getattr(b, "text", None) or getattr(b, "input", None)) for b in result.content]
        else:
            text = call = ""
            async for event in result:
                if event.type == "content_block_delta": text, call = text + (getattr(event.delta, "text", None) or ""), call + (getattr(event.delta, "partial_json", None) or "")
            blocks = [("tool_use", json.loads(call))] if call else [("text", text)]
        return next((value for kind, value in blocks if kind == "tool_use"), None) or next(value for kind, value in blocks if kind == "text")
    finally: await client.close()


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("tool", [True, False])
async def test_anthropic_requests_and_answers(tool, streamed):
    dialect, more = Anthropic(), {"call" if tool else "text": TEXT if tool else "On Friday.", "stop": "tool_use" if tool else "end_turn"}
    answer = message_events(**more) if streamed else reply(message(**more).model_dump(mode="json"))
    said, head, body = await ours(dialect, answer, stream=streamed, form=0 if tool else 1)
    assert said == (PLIST if tool else "On Friday.")
    checked(MessageCreateParamsStreaming if streamed else MessageCreateParamsNonStreaming, body)
    async with serving(answer) as server:
        assert await their_anthropic(server.url, body) == (SAID if tool else "On Friday.")
        (theirs, their_body), = server.asked
    assert their_body == body and theirs.splitlines()[0] == head.splitlines()[0]
    assert f"x-api-key: {KEY}\r\n".lower() in head.lower() and "anthropic-version: 2023-06-01" in head      # an older version of the interface than theirs, which sends the key as a bearer's; the server takes both


@pytest.mark.parametrize("streamed", [True, False])
async def test_anthropic_refusals_and_cut_answers(streamed):
    make = message_events if streamed else lambda **more: reply(message(**more).model_dump(mode="json"))
    assert "refused" in str(await failing(make(text="I cannot", stop="refusal"), dialect=Anthropic(), stream=streamed))
    assert "cut off" in str(await failing(make(text="I can", stop="max_tokens"), dialect=Anthropic(), stream=streamed))


@pytest.mark.parametrize("status, kind, theirs, sentence", [("401 Unauthorized", "authentication_error", "AuthenticationError", "refused the key"), ("429 Too Many Requests", "rate_limit_error", "RateLimitError", "too many questions"),
                                                            ("529 Overloaded", "overloaded_error", "APIStatusError", "too many questions"), ("404 Not Found", "not_found_error", "NotFoundError", "does not know the model")])
async def test_anthropic_errors(status, kind, theirs, sentence):
    document = A.ErrorResponse.model_validate({"type": "error", "error": {"type": kind, "message": "model: m"}, "request_id": "r"}).model_dump(mode="json")
    assert sentence in str(await failing(reply(document, status), dialect=Anthropic()))
    async with serving(reply(document, status)) as server:
        with pytest.raises(getattr(anthropic, theirs)): await their_anthropic(server.url, {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "?"}], "stream": False})


# Ollama -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("form", [0, 1])
async def test_ollama_requests_and_answers(form, streamed):
    text = TEXT if form == 0 else "On Friday."
    cuts = [text[i:i + 7] for i in range(0, len(text), 7)] if streamed else [text]
    part = lambda piece, **more: ChatResponse.model_validate({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": piece}, "done": False, **more}).model_dump(mode="json", exclude_none=True)
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 5}
    answer = stream("".join(f"{json.dumps(p)}\n" for p in ([*map(part, cuts), part("", **end)])).encode(), kind="application/x-ndjson") if streamed else reply(part(text, **end))
    said, head, body = await ours(Ollama(), answer, stream=streamed, form=form)
    assert said == (PLIST if form == 0 else text)
    ChatRequest.model_validate(body)
    async with serving(answer) as server:
        client = ollama.AsyncClient(host=server.url)
        result = await client.chat(**body)
        assert "".join([piece.message.content async for piece in result]) == text if streamed else result.message.content == text
        (theirs, their_body), = server.asked
    assert theirs.splitlines()[0] == head.splitlines()[0]
    assert {k: v for k, v in their_body.items() if v not in ([], None)} == body


# Gemini -------------------------------------------------------------------------------------------------------------------

def generated(parts, stop=None, **more):
    return G.GenerateContentResponse.model_validate({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **({"finish_reason": stop} if stop else {}), "safety_ratings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]}],
        "model_version": "gemini-x-001", "response_id": "r", "usage_metadata": {"prompt_token_count": 90, "cached_content_token_count": 64, "candidates_token_count": 7, "thoughts_token_count": 30, "total_token_count": 127}, **more})


def gemini_answer(text, call, streamed, stop="STOP"):
    thought, cut = {"text": "**Looking**", "thought": True}, [text[i:i + 7] for i in range(0, len(text), 7)]
    last = [{"function_call": {"name": "propose", "args": json.loads(text)}, "thought_signature": b"c2ln"}] if call else None
    wire = lambda response: response.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not streamed: return reply(wire(generated([thought, *(last or [{"text": text}])], stop)))
    made = [generated([thought]), *([] if call else [generated([{"text": piece}]) for piece in cut]), generated(last or [{"text": ""}], stop)]
    return stream("".join(f"data: {json.dumps(wire(each))}\r\n\r\n" for each in made).encode())


async def their_gemini(url, body, streamed):
    "The same question put by their client; what it makes of the answer."
    config = {"system_instruction": body["systemInstruction"]["parts"][0]["text"], "max_output_tokens": body["generationConfig"]["maxOutputTokens"], "response_mime_type": body["generationConfig"].get("responseMimeType"),
              "response_json_schema": body["generationConfig"].get("responseJsonSchema"), "tools": body.get("tools"), "tool_config": body.get("toolConfig"), "automatic_function_calling": {"disable": True}}
    client = genai.Client(api_key=KEY, vertexai=False, http_options={"base_url": url, "api_version": "v1beta"})
    ask = dict(model="gemini-x", contents=body["contents"][0]["parts"][0]["text"], config=G.GenerateContentConfig.model_validate({k: v for k, v in config.items() if v is not None}))
    try:
        found = [each async for each in await client.aio.models.generate_content_stream(**ask)] if streamed else [await client.aio.models.generate_content(**ask)]
        calls = [call.args for each in found for call in each.function_calls or ()]
        return calls[0] if calls else "".join(part.text for each in found for part in (each.candidates[0].content.parts or ()) if part.text and not part.thought)
    finally: await client.aio.aclose()


def plain(value):
    "Without what their client spells in its own way: names of fields, and words for types."
    if isinstance(value, dict): return {k[0].lower() + "".join(w.title() for w in k.split("_"))[1:] if "_" in k else k: plain(v) for k, v in value.items() if v is not None}
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("form", ["schema", "tool", "plist"])
async def test_gemini_requests_and_answers(form, streamed):
    dialect, text = Gemini(), TEXT if form != "plist" else "On Friday."
    answer = gemini_answer(text, form == "tool", streamed)
    said, head, body = await ours(dialect, answer, stream=streamed, form=dialect.forms.index(form), model="gemini-x")
    assert said == (PLIST if form != "plist" else text)
    async with serving(answer) as server:
        assert await their_gemini(server.url, body, streamed) == (SAID if form == "tool" else text)
        (theirs, their_body), = server.asked
    path = "/models/gemini-x:" + ("streamGenerateContent?alt=sse" if streamed else "generateContent")
    assert head.split()[1] == path and theirs.split()[1] == "/v1beta" + path
    assert f"x-goog-api-key: {KEY}" in head.lower().replace(KEY.lower(), KEY) and f"x-goog-api-key: {KEY}" in theirs.lower().replace(KEY.lower(), KEY)
    their_body["systemInstruction"].pop("role", None)                       # which it does not need
    assert plain(their_body) == plain(body)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("reason", [r.name for r in G.FinishReason if r.name not in ("STOP", "FINISH_REASON_UNSPECIFIED")])
async def test_gemini_answers_that_are_none(reason, streamed):
    failure = await failing(gemini_answer(TEXT[:9], False, streamed, reason), dialect=Gemini(), model="gemini-x", stream=streamed)
    assert ("cut off" if reason == "MAX_TOKENS" else "broke off" if streamed and reason in _STOPS else "does not say that its answer is complete" if reason in _STOPS else "refused") in str(failure)


@pytest.mark.parametrize("streamed", [True, False])
async def test_gemini_blocked_prompts(streamed):
    for why in G.BlockedReason:
        data = G.GenerateContentResponse.model_validate({"prompt_feedback": {"block_reason": why, "safety_ratings": []}, "usage_metadata": {"prompt_token_count": 9}}).model_dump(mode="json", by_alias=True, exclude_none=True)
        failure = await failing(stream(sse(data)) if streamed else reply(data), dialect=Gemini(), model="gemini-x", stream=streamed)
        assert ("refused" if why.name != "BLOCKED_REASON_UNSPECIFIED" else "no answer") in str(failure)


@pytest.mark.parametrize("status, code, word, message, sentence", [("429 Too Many Requests", 429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", "asks to wait 34 s"), ("400 Bad Request", 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "refused the key"),
                                                                   ("404 Not Found", 404, "NOT_FOUND", "models/m is not found for API version v1beta", "does not know the model"), ("503 Service Unavailable", 503, "UNAVAILABLE", "The model is overloaded.", "in trouble"),
                                                                   ("400 Bad Request", 400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "too long")])
async def test_gemini_errors(status, code, word, message, sentence):
    document = {"error": {"code": code, "message": message, "status": word, "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}] if code == 429 else []}}
    for body in (document, [document]): assert sentence in str(await failing(reply(body, status), dialect=Gemini(), model="gemini-x"))
    async with serving(reply(document, status)) as server:
        with pytest.raises(genai.errors.ServerError if code >= 500 else genai.errors.ClientError): await their_gemini(server.url, {"systemInstruction": {"parts": [{"text": "?"}]}, "contents": [{"parts": [{"text": "?"}]}], "generationConfig": {"maxOutputTokens": 5}}, False)


async def test_gemini_lists_and_counts():
    listed = {"models": [G.Model.model_validate({"name": "models/gemini-x", "input_token_limit": 1048576}).model_dump(mode="json", by_alias=True, exclude_none=True) | {"supportedGenerationMethods": ["generateContent", "countTokens"]}]}
    assert Gemini().models(listed) == ["gemini-x"] and Gemini().windows(listed) == {"gemini-x": 1048576}
    async with serving(reply({"totalTokens": 7})) as server:
        client = genai.Client(api_key=KEY, vertexai=False, http_options={"base_url": server.url, "api_version": "v1beta"})
        assert (await client.aio.models.count_tokens(model="gemini-x", contents="roof")).total_tokens == 7
        await client.aio.aclose()
        (theirs, body), = server.asked
    path, document = Gemini().tokenizing("roof", "gemini-x")
    assert theirs.split()[1] == "/v1beta" + path and plain(body) == plain(document)
