"Spans: of whole turns with real gates and effects, in the memory of the SDK; never a text; nothing at all when nobody wants them"
import os, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.serving.spans import MOST, Spans, tool_of

SECRET = "sk-ant-api03-" + "Q" * 80


@pytest.fixture
def place(tmp_path):
    (tmp_path / "notes").mkdir()
    return {"memex_dir": tmp_path / "notes", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config", "today": "2026-03-14"}


def collected():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter, provider.get_tracer("test")


async def test_a_turn_with_an_effect_has_all_its_spans(place):
    exporter, tracer = collected()
    agent = await Agent.boot(place)
    spans = Spans(agent, tracer).begin()
    await agent.handle("todo: call the roofer about private things")
    spans.end()
    found = {}
    for span in exporter.get_finished_spans(): found.setdefault(span.name, []).append(span)
    turn = found["turn"][0]
    assert turn.attributes["passepartout.status"] == "answered"
    assert {f"gate {name}" for name in agent.manifest.gates} <= set(found) if hasattr(agent.manifest, "gates") else len([n for n in found if n.startswith("gate ")]) >= 8
    effect = found["effect org-capture"][0]
    assert effect.attributes["passepartout.state"] == "committed" and "chat reflex" in found
    for name, each in found.items():
        for span in each:
            assert span.end_time >= span.start_time and (span is turn or span.parent.span_id == turn.context.span_id)
    for gate in found["gate policy"]: assert turn.start_time - 10**7 <= gate.start_time <= gate.end_time <= turn.end_time
    await agent.close()


async def test_no_text_of_anybody_is_in_a_span(place):
    exporter, tracer = collected()
    agent = await Agent.boot(place)
    hostile = f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "{SECRET} zebra") :EXPLANATION "zebra {SECRET}"))'
    answers = iter([hostile, f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "zebra {SECRET}" :ARGS () :EXPLANATION "zebra"))', f"zebra {SECRET}", "zebra"])
    def think(prompt, system, model=None):
        if (text := next(answers, None)) is None: raise RuntimeError(f"zebra {SECRET}")
        return text
    register_backend(agent, "fake", think)
    agent.provider_cascade = ("fake",)
    spans = Spans(agent, tracer).begin()
    for _ in range(4): await agent.handle(f"zebra {SECRET}", session="zebra-session")
    spans.end()
    told = "\n".join(span.to_json() for span in exporter.get_finished_spans())
    assert "chat fake" in told and "zebra" not in told and "Q" * 20 not in told
    assert any(span.status.status_code.name == "ERROR" for span in exporter.get_finished_spans() if span.name == "chat fake")
    await agent.close()


async def test_what_nobody_ends_is_bounded(place):
    exporter, tracer = collected()
    agent = Agent.bare()
    spans = Spans(agent, tracer).begin()
    for n in range(MOST + 50): spans.see("turn", {"sensor": "x", "source": "y"}, str(n))
    assert len(spans.turns) == MOST
    spans.end()
    assert not spans.turns and len(exporter.get_finished_spans()) == MOST + 50


@pytest.mark.parametrize("text", ["", "(", "(:PAYLOAD 1)", "x" * 10_000, '(:PAYLOAD (:TOOL "two words of a secret"))', '(:PAYLOAD (:TOOL (1 2)))'])
def test_of_an_action_only_the_name_of_a_tool_is_read(text): assert tool_of(text) == "unknown"


@pytest.mark.slow
def test_nothing_is_imported_when_nobody_wants_spans(place):
    code = f"""
import asyncio, sys
from passepartout.terminal.commandline import booted
with booted({str(place['memex_dir'])!r}, state_dir={str(place['state_dir'])!r}) as agent:
    agent.run(agent.handle("find roof"))
    assert "asking" not in vars(agent) and not agent.turns.watchers
print([name for name in sys.modules if name.startswith("opentelemetry") or name == "passepartout.serving.spans"])
"""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    assert subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120).stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False])
def test_a_command_sends_to_a_collector_and_does_not_mind_one_that_is_gone(place, there):
    got = []
    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
        def log_message(self, *args): pass
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    port = server.server_address[1]
    if there: Thread(target=server.serve_forever, daemon=True).start()
    else: server.server_close()
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "XDG_STATE_HOME": str(place["state_dir"]), "XDG_CONFIG_HOME": str(place["config_dir"]), "XDG_CACHE_HOME": str(place["cache_dir"])}
    done = subprocess.run([sys.executable, "-m", "passepartout", "ask", "--memex", str(place["memex_dir"]), "todo: zebra"], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "zebra" in done.stdout and "Traceback" not in done.stderr and "xport" not in done.stderr, done.stderr
    if there:
        server.shutdown()
        assert got[0][0] == "/v1/traces" and b"effect org-capture" in got[0][1] and b"zebra" not in got[0][1]
