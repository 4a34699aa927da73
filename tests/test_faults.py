"""Providers that fail in every way there is, one after the other, as Hypothesis chooses: one answer or one error, in time, the right one blamed, and no key anywhere."""
import asyncio
import json
import os
import shutil
import socket
import struct
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from test_providers import KEY, reply, sse

from passepartout.agent import Agent
from passepartout.cascade.breaker import Rest
from passepartout.net.endpoints import Times

pytestmark = pytest.mark.slow
NAMES, SOON, LATE = ("one", "two"), 0.3, 120.0                   # only what is waited for in vain is given little time, so that a busy machine changes nothing


def chunk(text, end=None, **more): return sse({"id": "c", "choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": end}], **more})

def told(name, n): return f"{name} says number {n}, and that is the whole of it."

def body(name, n): return json.dumps({"proposal": {"action": "message", "text": told(name, n)}})

def parts(name, n, **more):
    "The answer in pieces, of which the first shows some words of it already."
    whole = body(name, n)
    return [chunk(whole[:70], **more), *(chunk(whole[i:i + 3], **more) for i in range(70, len(whole), 3))]

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
GOOD = {"whole", "pieces", "another model", "comments"}
STUCK = {"silent": Times(LATE, SOON, LATE), "pauses": Times(LATE, LATE, SOON), "for ever": Times(LATE, LATE, LATE)}          # nothing, nothing more, and nothing but the deadline ends it
DEAD = {*STUCK, "refused", "reset", "429", "429 with a time", "500", "401", "cut off", "wrong type", "broken JSON", "endless", "twice", "packed", "redirect", "error in the middle"}


class Server:
    "One provider that does what `fault` says."
    def __init__(self, name): self.name, self.fault, self.asked, self.port, self.listening = name, "whole", 0, 0, None

    async def open(self):
        if self.listening is None: self.listening = await asyncio.start_server(self.handle, "127.0.0.1", self.port)
        self.port = self.listening.sockets[0].getsockname()[1]

    async def close(self):
        if self.listening is not None: self.listening.close()
        self.listening = None

    def answer(self, n):
        error = lambda said: {"error": {"message": f"{said}; your key is {KEY}"}}
        return {"whole": [reply({"choices": [{"message": {"content": body(self.name, n)}, "finish_reason": "stop"}]})],
                "pieces": [HEAD, *parts(self.name, n), chunk("", "stop"), b"data: [DONE]\n\n"],
                "another model": [HEAD, *parts(self.name, n, model="somebody-else"), chunk("", "stop", model="a-third"), b"data: [DONE]\n\n"],
                "comments": [HEAD, *[b": wait\n\n"] * 5, *parts(self.name, n), chunk("", "stop"), b"data: [DONE]\n\n"],
                "429": [reply(error("slow down"), "429 Too Many Requests")], "429 with a time": [reply(error("slow down"), "429 Too Many Requests", more="retry-after: 1\r\n")],
                "500": [reply(error("oops"), "500 Internal Server Error")], "401": [reply(error("bad key"), "401 Unauthorized")],
                "cut off": [HEAD, *parts(self.name, n)[:4]], "wrong type": [reply(b"<html>hello</html>", kind="text/html")], "broken JSON": [HEAD, *parts(self.name, n)[:2], b"data: {\"choices\": [\n\n"],
                "twice": [HEAD, *[p for each in parts(self.name, n) for p in (each, each)], chunk("", "stop"), b"data: [DONE]\n\n"],
                "packed": [reply(b"\x1f\x8b" + bytes(999), more="content-encoding: gzip\r\n")], "redirect": [reply(b"", "302 Found", more=f"location: http://127.0.0.1:9/{KEY}\r\n")],
                "error in the middle": [HEAD, *parts(self.name, n)[:3], sse(error("overloaded"))]}[self.fault]

    async def handle(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(int(line.split(":")[1]) for line in head.lower().splitlines() if line.startswith("content-length"))
            await reader.readexactly(length)
            self.asked += 1
            if self.fault == "silent": await asyncio.sleep(2 * LATE)
            if self.fault == "reset":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return writer.transport.abort()
            if self.fault in ("endless", "for ever"):
                writer.write(HEAD)
                while not writer.is_closing():
                    writer.write(chunk("and " * (25_000 if self.fault == "endless" else 1)))
                    await writer.drain()
                    await asyncio.sleep(0.001 if self.fault == "endless" else 0.02)
                return
            if self.fault == "pauses":
                writer.write(HEAD + b"".join(parts(self.name, self.asked)[:4]))
                await asyncio.sleep(2 * LATE)
            for piece in self.answer(self.asked):
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError): pass
        finally: writer.close()


class Faults(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder, self.loop, self.wall = Path(tempfile.mkdtemp()), asyncio.new_event_loop(), time.time()
        (self.folder / "memex").mkdir()
        self.servers = {name: Server(name) for name in NAMES}
        self.agent = self.loop.run_until_complete(self.start())
        self.now, self.shown = 0.0, []
        self.agent.listen(self.shown.append)
        for name in NAMES:                                        # as if they were elsewhere: one on this machine has a time of its own
            backend = self.agent.backends.get(name)
            self.agent.backends.register(name, backend.fn, breaker=backend.breaker)
            backend.breaker.clock = lambda: self.wall + self.now

    async def start(self):
        for server in self.servers.values(): await server.open()
        os.environ |= {f"{name.upper()}_API_KEY": KEY for name in NAMES}
        try: return await Agent.boot(memex=self.folder / "memex", state_dir=self.folder, cache_dir=self.folder, config_dir=self.folder, provider_cascade=",".join(NAMES), cascade_timeout_s=LATE, backend_timeout_s=LATE, first_word_timeout_s=LATE, connect_timeout_s=LATE,
                                     provider_urls=", ".join(f"{s.name}=http://127.0.0.1:{s.port}" for s in self.servers.values()), provider_models="one=m, two=m")
        finally:
            for name in NAMES: del os.environ[f"{name.upper()}_API_KEY"]

    @rule(name=st.sampled_from(NAMES), fault=st.sampled_from(sorted(GOOD | DEAD)))
    def change(self, name, fault):
        server = self.servers[name]
        server.fault = fault
        self.agent.backends.get(name).fn.times = STUCK.get(fault, Times(LATE, LATE, LATE))
        self.loop.run_until_complete(server.close() if fault == "refused" else server.open())

    @rule(seconds=st.sampled_from([1, 60, 3600]))
    def time_passes(self, seconds): self.now += seconds

    @rule()
    def ask(self):
        before = {name: server.asked for name, server in self.servers.items()}
        rests = {name: bool(self.agent.backends.get(name).breaker.refusal(name)) for name in NAMES}
        self.shown.clear()
        failures = {name: self.agent.backends.get(name).breaker.rests.get(name, Rest()).failures for name in NAMES}
        reached = [name for name in NAMES if not rests[name]]
        ended = next((name for name in reached if self.servers[name].fault in GOOD or self.servers[name].fault == "for ever"), None)
        late = ended is not None and self.servers[ended].fault == "for ever"                 # then the deadline ends the turn, and must
        self.agent.settings = replace(self.agent.settings, cascade_timeout_s=2 * SOON if late else LATE)
        answer = self.loop.run_until_complete(asyncio.wait_for(self.agent.handle("tell me something new about it all"), LATE))
        blamed = {r["body"]["provider"]: r["body"]["error"] for r in self.agent.trace(turn=answer.turn)[0]["records"] if r["kind"] == "backend"}
        able = [ended] if ended is not None and not late else []
        if able:                                                  # the first that can answer does, and everybody before it is blamed
            winner = able[0]
            assert answer.status == "answered" and str(answer) == told(winner, self.servers[winner].asked), (answer, blamed)
            assert set(blamed) == set(NAMES[:NAMES.index(winner)])
        else:
            assert answer.status == "failed" and list(blamed) == list(NAMES) and all(f"{name}: " in answer for name in NAMES), (answer, blamed)
        for name in blamed: assert self.servers[name].fault in DEAD or rests[name] or late and NAMES.index(name) > NAMES.index(ended) and "was not asked" in blamed[name], (name, blamed)
        if late: assert self.agent.backends.get(ended).breaker.rests.get(ended, Rest()).failures == failures[ended]                  # it had not the time that it is promised
        for name in NAMES: assert self.servers[name].asked - before[name] <= (0 if rests[name] else 2)
        words = [text for text in self.shown if text]
        for first, second in zip(self.shown, self.shown[1:]): assert not second or second.startswith(first[:20])       # withdrawn before another begins
        if able and self.shown: assert told(winner, self.servers[winner].asked).startswith(self.shown[-1])          # nothing of the others stands there, nor anything when it came too quickly to be shown
        assert KEY not in str(answer) + json.dumps(blamed) + json.dumps(words)

    @invariant()
    def no_key_is_anywhere(self):
        assert KEY not in "\n".join(self.agent.log.lines()) + repr(self.agent.backends.get("one")) + repr(self.agent.settings)

    def teardown(self):
        async def end():
            await self.agent.close()
            for server in self.servers.values(): await server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}: task.cancel()
            await asyncio.sleep(0)
        kept = [text for turn in self.agent.journal.turn_ids("", limit=9) for asked in self.agent.asked_of_models(turn) for text in (asked.system, asked.prompt)]
        self.loop.run_until_complete(end())
        self.loop.close()
        assert KEY not in "\n".join(kept)
        for file in self.folder.rglob("*"): assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
        shutil.rmtree(self.folder)


TestFaults = Faults.TestCase
TestFaults.settings = settings(max_examples=int(os.environ.get("PASSEPARTOUT_FAULTS") or 15), stateful_step_count=14, deadline=None, derandomize="PASSEPARTOUT_FAULTS" not in os.environ, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("fault", sorted(GOOD | DEAD))
def test_each_fault_once(fault):
    "What the machine may not come to in its few examples: each fault of the first provider, while the second is well."
    machine = Faults()
    try:
        machine.change("one", fault)
        machine.ask()
    finally: machine.teardown()
