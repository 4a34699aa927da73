"""Answers that come slowly: what is seen of them meanwhile, what stays of them when they are stopped or break off, and how prompts are kept and begin alike."""
import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from conftest import thinned
from waits import ON_TERMINAL, PATIENCE, away, status
from test_providers import KEY, agent_on, asked, failing, reply, serving, sse, stream

from passepartout.drafts import message_in
from passepartout.skills import Skill
from passepartout.messages import Rejected

WORDS = "Slate it is, as Ana said in May. Silva & Sons made the better offer; call them on Friday, and order the battens."


def pieces(text, upto=None, end=True, step=6):
    "An answer in small pieces, whole or broken off."
    body = json.dumps({"proposal": {"action": "message", "text": text}})[:upto]
    parts = [{"choices": [{"delta": {"content": body[i:i + step]}, "finish_reason": None}]} for i in range(0, len(body), step)]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return [head, *(sse(part) for part in parts), *([sse({"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")] if end else [])]


def near(server, name="near", **more): return dict(provider_cascade=name, provider_urls=f"{name}={server.url}", provider_models=f"{name}=m", **more)


@pytest.mark.slow
async def test_a_draft_grows_and_is_always_the_beginning_of_the_answer(tmp_path):
    async with serving(pieces(WORDS), pause=0.01) as server, agent_on(tmp_path, **near(server)) as agent:
        seen = []
        agent.listen(seen.append)
        answer = await agent.handle("what about the roof?")
    assert answer.text == WORDS and seen and seen == sorted(seen, key=len)
    assert all(WORDS.startswith(text) for text in seen)


@pytest.mark.slow
async def test_nobody_sees_two_answers(tmp_path):
    async with serving(pieces("FIRST " + WORDS, upto=90, end=False), pause=0.03) as bad, serving(pieces("SECOND " + WORDS), pause=0.01) as good:
        async with agent_on(tmp_path, provider_cascade="bad,good", provider_urls=f"bad={bad.url}, good={good.url}", provider_models="bad=m, good=m") as agent:
            seen = []
            agent.listen(seen.append)
            answer = await agent.handle("what about the roof?")
    assert answer.text.startswith("SECOND") and "FIRST" not in answer.text
    first, second = [n for n, t in enumerate(seen) if "FIRST" in t], [n for n, t in enumerate(seen) if "SECOND" in t]
    assert second and (not first or max(first) < seen.index("") < min(second)), seen


@pytest.mark.slow
async def test_what_is_stopped_keeps_what_was_said_and_the_agent_is_ready(tmp_path):
    async with serving(pieces(WORDS * 20), pieces("Yes."), pause=0.02) as server, agent_on(tmp_path, **near(server)) as agent:
        seen, enough = [], asyncio.Event()
        agent.listen(lambda text: (seen.append(text), "offer" in text and enough.set()))
        task = asyncio.create_task(agent.handle("what about the roof?"))
        await asyncio.wait_for(enough.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError): await task
        (turn,) = agent.trace()
        answer = [r["body"] for r in turn["records"] if r["kind"] == "answer"][-1]
        assert answer["status"] == "interrupted" and answer["text"] == f"{seen[-1]} …" and WORDS.startswith(answer["text"][:40])
        assert (await agent.handle("and now, shall I?")).text == "Yes."
        assert seen[-1] == "Yes." or "offer" in json.dumps(server.asked[1][1])          # the next question may refer to it
        assert "Silva & Sons made the better offer" in json.dumps(server.asked[1][1])


async def test_a_private_draft_that_is_stopped_stays_private(tmp_path):
    async with serving(pieces(WORDS * 20), pause=0.02) as server, agent_on(tmp_path, **near(server)) as agent:
        shown = asyncio.Event()
        agent.listen(lambda text: text and shown.set())
        task = asyncio.create_task(agent.handle("what about the roof?"))
        await asyncio.wait_for(shown.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError): await task
        assert [r["body"]["private"] for r in agent.trace()[0]["records"] if r["kind"] == "answer"] == [True]       # a local model is shown private headings


async def test_a_draft_passes_the_gates_and_the_scanner(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", KEY)
    text = f"Your key is {KEY} and the answer is forbidden after that, and then some more words follow."
    async with serving(pieces(text), pause=0.01) as server, agent_on(tmp_path, **near(server)) as agent:
        seen = []
        agent.listen(seen.append)
        agent.skills.register(Skill("no", deterministic=lambda a, s: Rejected("no") if "forbidden" in str(a.payload.get("text")) else a))
        answer = await agent.handle("what is my key?")
    assert not any(KEY[:10] in t or "forbidden" in t for t in seen) and KEY not in answer.text and (not seen or seen[-1] == "" or "key" in seen[-1])


async def test_listeners_hear_their_own_session_and_one_that_breaks_harms_nobody(tmp_path):
    async with serving(pieces(WORDS), pause=0.03) as server, agent_on(tmp_path, **near(server)) as agent:       # so that a busy machine shows a draft as well
        seen = []
        end = agent.listen(seen.append, "other")
        agent.listen(lambda text: 1 / 0)
        assert (await agent.handle("what about the roof?")).text == WORDS and seen == [] and len(agent.listeners) == 1
        end(); end()
        assert agent.listeners == []


# Bad input ----------------------------------------------------------------------------------------------------------------

ANSWERS = {"japanese": "屋根は木曜日までに。", "arabic": "السقف يوم الجمعة", "emoji": "Yes 👩‍👩‍👧 – done"}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("escaped", [True, False])
async def test_any_language_comes_through_in_pieces(name, escaped):
    body = json.dumps({"proposal": {"action": "message", "text": ANSWERS[name]}}, ensure_ascii=escaped)
    raw = "\ufeff".encode() + b"".join(f"data: {json.dumps({'choices': [{'delta': {'content': body[i:i + 3]}}]}, ensure_ascii=escaped)}\n\n".encode() for i in range(0, len(body), 3)) + sse({"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]")
    for cuts in ((), range(3, len(raw), 7)):
        async with serving(stream(raw, cuts)) as server: assert ANSWERS[name] in await asked(server.url)


@pytest.mark.parametrize("body, more, sentence", [(json.dumps({"choices": [{"message": {"content": "Grüße"}, "finish_reason": "stop"}]}, ensure_ascii=False).encode("latin-1"), "", "not in UTF-8"), ("{}".encode("utf-16"), "", "not in UTF-8"),
                                                  (b"\x1f\x8b" + bytes(100), "content-encoding: gzip\r\n", "packed"), (b"", "", "broken JSON"), (b"[" * 100_000, "", "broken JSON")], ids=["latin-1", "utf-16", "gzip", "nothing", "deep"])
async def test_an_answer_in_another_encoding_is_a_sentence(body, more, sentence): assert sentence in str(await failing(reply(body, more=more)))


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/a/b//"])
async def test_an_address_may_have_a_path_and_end_in_a_slash(path):
    async with serving(pieces("Yes, indeed.")) as server:
        assert "Yes, indeed." in await asked(server.url + path)
        assert server.asked[0][0].split()[1] == path.rstrip("/") + "/chat/completions"


@pytest.mark.parametrize("url", thinned(["unix:///run/llama.sock", "http+unix://%2Frun%2Fllama.sock", "127.0.0.1:8080", "http://", "http://[::1", "http://127.0.0.1:99999/v1", "http://a b/", "file:///etc/passwd", "http://me:pass@host/", "http://host/v1?key=x", ""], 4))
async def test_an_address_that_is_none_is_a_sentence_and_costs_only_that_provider(tmp_path, url):
    async with agent_on(tmp_path, provider_cascade="near,reflex", provider_urls=(f"near={url}",)) as agent:
        told = [f for f in agent.diagnostics if "near" in str(f)]
        assert (told and all("Traceback" not in str(f) for f in told)) or "near" not in agent.backends
        assert (await agent.handle("what is due today?")).status == "answered"


@pytest.mark.parametrize("key", ["correcthorsebattery", "Hunter.Two"])
async def test_a_key_of_ones_own_server_may_be_a_plain_word(tmp_path, monkeypatch, key):
    monkeypatch.setenv("NEAR_API_KEY", key)
    async with serving(pieces("Yes, indeed.")) as server, agent_on(tmp_path, provider_cascade="near", provider_urls=f"near={server.url}/v1", provider_models="near=m") as agent:
        assert await agent.handle(f"is {key} the word?") == "Yes, indeed."
        head, body = server.asked[-1]
        assert f"authorization: bearer {key}".lower() in head.lower() and key not in json.dumps(body)


# Keys in a keyring --------------------------------------------------------------------------------------------------------

RING = """
import keyring.backend, time, sys
class Ring(keyring.backend.KeyringBackend):
    priority = 9
    def get_password(self, service, name):
        if WAITS: time.sleep(600)
        if RAISES: raise OSError("the secret service said sk-Kd2Zq81w0Pq7Lm3X")
        return "sk-Kd2Zq81w0Pq7Lm3X\\n" if (service, name) == ("passepartout", "NEAR_API_KEY") else None
    def set_password(self, *args): pass
    def delete_password(self, *args): pass
"""


@pytest.mark.parametrize("kind", ["holds it", "raises", pytest.param("waits", marks=pytest.mark.slow), "is none"])
async def test_a_key_may_stand_in_the_keyring_which_may_be_broken(tmp_path, monkeypatch, kind):
    keyring = pytest.importorskip("keyring")
    (tmp_path / "ringmodule.py").write_text(RING.replace("WAITS", str(kind == "waits")).replace("RAISES", str(kind == "raises")))
    scope = {}
    exec(compile((tmp_path / "ringmodule.py").read_text(), "ringmodule", "exec"), scope)
    before = keyring.get_keyring()
    from keyring.backends.fail import Keyring
    keyring.set_keyring(Keyring() if kind == "is none" else scope["Ring"]())
    monkeypatch.delenv("NEAR_API_KEY", raising=False)
    try:
        began = time.monotonic()
        async with agent_on(tmp_path, provider_cascade="near", provider_urls="near=https://near.invalid/v1") as agent:
            assert time.monotonic() - began < 60 and KEY not in json.dumps([str(f) for f in agent.diagnostics]) + repr(agent.settings) + repr(agent.backends.get("near"))
            if kind == "holds it":
                assert agent.backends.get("near").fn.headers()["authorization"] == f"Bearer {KEY}" and agent.vault.scanner.redact(f"it is {KEY}") == "it is [secret:NEAR_API_KEY]"
                assert agent.vault.refusal("{{secret:NEAR_API_KEY}}", "evil.example")
            else:
                assert any("keyring" in f.what for f in agent.diagnostics) == (kind != "is none")
                assert (await agent.handle("what about something?")).status == "failed"
    finally: keyring.set_keyring(before)


# In a real terminal -------------------------------------------------------------------------------------------------------

@pytest.mark.slow
async def test_ctrl_c_in_a_terminal(tmp_path):
    memex = tmp_path / "memex"
    memex.mkdir()
    waiting = asyncio.Event()
    async def late(): await asyncio.wait_for(waiting.wait(), PATIENCE)
    async with serving(pieces("R"), pieces(WORDS * 30), pieces("Ready again."), pause=0.02, before=late) as server:        # the first is read ahead, and waited for
        env = {**os.environ, "TERM": "xterm", "PROVIDER_CASCADE": "near", "PASSEPARTOUT_PROVIDER_URLS": f"near={server.url}", "PASSEPARTOUT_PROVIDER_MODELS": "near=m", "XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
        main, side = pty.openpty()
        process = subprocess.Popen([*ON_TERMINAL, sys.executable, "-m", "passepartout", "chat", "--memex", str(memex)], stdin=side, stdout=side, stderr=side, env=env, start_new_session=True)
        os.close(side)
        screen = b""
        async def until(*words):
            nonlocal screen
            deadline = time.monotonic() + 60
            while not all(word in screen for word in words):
                assert time.monotonic() < deadline, screen.decode(errors="replace")
                if select.select([main], [], [], 0)[0]: screen += os.read(main, 65536)
                await asyncio.sleep(0.02)
        try:
            await until(b"/help lists")
            os.write(main, b"what about the roof?\n")
            await until(b"near is thinking, ")                            # a sign of life before the first word
            waiting.set()
            await until(b"better offer")
            screen = b""
            os.write(main, b"\x03")
            await until(b"Stopped.", b"Silva & Sons")                     # printed once more, to stay
            os.write(main, b"and now, shall I?\n")
            await until(b"Ready again.")
            os.write(main, b"\x04")
            end = time.monotonic() + 120
            while select.select([main], [], [], 10)[0]:
                assert time.monotonic() < end, "the chat went on writing after Ctrl-D"
                try:
                    if not os.read(main, 65536): break
                except OSError: break
            assert status(process) == 0
        finally:
            away(process)
            os.close(main)


@pytest.mark.slow
async def test_a_pipe_is_shown_nothing_but_the_answer(tmp_path):
    (tmp_path / "memex").mkdir()
    env = {**os.environ, "TERM": "xterm", "PROVIDER_CASCADE": "near", "PASSEPARTOUT_PROVIDER_MODELS": "near=m", "XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    async def late(): await asyncio.sleep(1.5)
    async with serving(pieces("Yes, on Friday."), before=late) as server:
        process = await asyncio.create_subprocess_exec(sys.executable, "-m", "passepartout", "ask", "what about the roof?", "--memex", str(tmp_path / "memex"), env=env | {"PASSEPARTOUT_PROVIDER_URLS": f"near={server.url}"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try: said, told = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            if process.returncode is None: process.kill()
    assert (process.returncode, said.decode().strip()) == (0, "Yes, on Friday.") and b"thinking" not in told


# Prompts ------------------------------------------------------------------------------------------------------------------

def shared(a, b): return next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


async def test_successive_turns_begin_alike_as_far_as_they_can(tmp_path):
    async with serving(*[pieces(f"Answer {n}.", step=99) for n in range(4)], pieces("Answer.")) as server, agent_on(tmp_path, **near(server)) as agent:
        answers = [await agent.handle(f"question {n} about something?") for n in range(4)]
        sent = [body["messages"][0]["content"] for _, body in server.asked]
        kept = [agent.asked_of_models(each.turn) for each in answers]
    for before, after, answer in zip(sent[1:], sent[2:], answers[1:]):
        at = shared(before, after)
        assert after[at:].startswith("PERSON: question") and f"YOU: {answer}" in after[at:at + 200], after[at - 50:at + 80]       # up to what was said since
        assert before[at:].startswith("TODAY:")
    assert [k.system for (k,) in kept] == [s.partition("\n\nFORM:")[0] for s in sent] and [k.prompt for (k,) in kept] == [body["messages"][1]["content"] for _, body in server.asked]


async def test_a_second_attempt_begins_like_the_first(tmp_path):
    broken = '(:TYPE :REQUEST :PAYLOAD ('
    plain = lambda text: [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + sse({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, "[DONE]")]
    async with serving(plain(broken), plain("Fine.")) as server, agent_on(tmp_path, **near(server)) as agent:
        answer = await agent.handle("what about something?")
        first, second = (body["messages"][0]["content"] for _, body in server.asked)
        assert answer.text == "Fine." and shared(first, second) >= first.index("LOGS:") and "PREVIOUS PROPOSAL REJECTED" in second
        assert len(agent.asked_of_models(answer.turn)) == 2


@pytest.mark.slow
async def test_what_was_trimmed_is_known_and_prompts_cost_little(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", KEY)
    async with serving(pieces("Well. " + "word " * 150, step=999)) as server, agent_on(tmp_path, **near(server, context_budget=1200)) as agent:
        (tmp_path / "memex" / "many.org").write_text("".join(f"* Heading number {n}\n" for n in range(200)))
        for n in range(20): answer = await agent.handle(f"question {n}, with {KEY}?")
        (kept,) = agent.asked_of_models(answer.turn)
        assert set(kept.trimmed) >= {"the notes from afar", "the conversation"} and "[secret:SOME_API_KEY]" in kept.prompt and KEY not in kept.system + kept.prompt
        agent.journal.flush()
        folder = agent.journal.path.parent
        assert (folder / "prompts.log").stat().st_size < 20 * 1500 and (folder / "prompts.log").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("said", ['Sure! Here it is:\n\n(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "x"))', "Tool org-find returned:\n1. The roof is done.", '<tool_call>\n{"name": "org-find", "arguments": {}}', "<thinking>Which roof?</thinking>"])
def test_what_turns_out_to_be_no_answer_is_withdrawn_before_it_ends(said):
    assert message_in(said) is None


def test_a_link_in_the_first_place_is_the_beginning_of_an_answer():
    assert message_in("[[file:roof.org][The roof]] is") == "[[file:roof.org][The roof]] is" and message_in("[") is None
