"""What a program that embeds the agent is told by its own type checker, and that a name stands where the pages say.

A checker takes a name that a room only imports for one of that room's own affairs, and refuses to import it from there; an import
that no line of the room uses looks like one that can go. So a room says which names it passes on (`_all_`)."""
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PUBLIC = """
conditions PassepartoutError PipelineError ProtocolError LLMError GateError BudgetError restart_case handler_bind signal_condition invoke_restart compute_restarts
plist read_plist write_plist Keyword
messages Signal Action Allowed Rejected ApprovalRequired Label FrozenDict
protocol frame_message read_framed_message validate_message
daemon frame_message read_framed_message validate_message
memory Memory
context assemble_global_awareness get_system_logs
skills Skill SkillRegistry
tools Tool ToolRegistry Parameter Effects ToolError ToolResult tool_belt_prompt
verify cognitive_verify Clearance
backends register_backend backend_cascade_call consensus_call BackendFailure
reason think reason_gate loop_gate_reason markdown_strip plist_keywords_normalize distill_prompt
act register_actuator act_gate dispatch_action execute_system_action execute_tool_action format_tool_result
loop loop_process process_signal stimulus_inject heartbeat_start diagnostics_startup_run
journal Journal JournalError
agent Agent
"""
NAMES = [(room, name) for room, *names in map(str.split, PUBLIC.split("\n")[1:-1]) for name in names]


@pytest.mark.parametrize("room, name", NAMES, ids=".".join)
def test_a_public_name_is_passed_on_by_its_room(room, name):
    module = importlib.import_module(f"passepartout.{room}")
    assert hasattr(module, name) and name in module.__all__


def guides():
    "What the pages for people who build on the agent import, page by page."
    for page in [*sorted((ROOT / "nbs/_md").glob("3*_*.md")), *sorted((ROOT / "nbs/_md").glob("9*_*.md")), ROOT / "nbs/_md/index.md"]:
        for room, names in re.findall(r"^from (passepartout[\w.]*) import (.+)$", page.read_text(), re.M):
            for name in names.split(","): yield page.stem, room, name.strip()


@pytest.mark.parametrize("page, room, name", list(guides()))
def test_a_guide_imports_what_the_room_passes_on(page, room, name):
    assert name in importlib.import_module(room).__all__


PROGRAM = '''
import asyncio
from pathlib import Path
from passepartout.agent import Agent
from passepartout.backends import BackendFailure, register_backend
from passepartout.messages import Action, ApprovalRequired, Rejected, Signal
from passepartout.plist import Keyword, read_plist, write_plist
from passepartout.skills import Skill
from passepartout.tools import Parameter, Tool, ToolError

def tide(harbour: str) -> str:
    if not harbour: raise ToolError("Which harbour?")
    return {"Husum": "high water at 14:10"}.get(harbour, "no such harbour")

def ashore(action: Action, signal: Signal) -> Action | Rejected:
    return Rejected("The boat is ashore.") if action.payload.get("tool") == "berth" else action

def model(prompt: str, system_prompt: str) -> str:
    if not prompt: raise BackendFailure("nothing was asked")
    return write_plist(read_plist("(:A 1)"))

def watch(kind: str, body: dict[str, object], turn: str) -> None: print(kind)

async def main() -> None:
    agent = await Agent.boot({"memex_dir": Path("notes")}, provider_cascade=("reflex",), permissions={"tide": "allow"})
    agent.tools.register(Tool("tide", "When", [Parameter("harbour", description="its name")], tide, effects="read-only"))
    agent.skills.register(Skill("season", priority=300, deterministic=ashore))
    register_backend(agent, "model", model)
    agent.provider_cascade = ("model",)
    stop = agent.watch(watch)
    reply = await agent.handle("who is Frau Kessler?", session="demo")
    print(reply.status, reply.splitlines()[0], Keyword("a"))
    done = await agent.approve(reply.approvals[0].id, reply.approvals[0].code, session="demo")
    outcomes, verdict = await agent.check("(:TARGET :TOOL)")
    if isinstance(verdict, (Rejected, ApprovalRequired)): print(verdict.gate)
    print([record["kind"] for record in agent.trace(done.turn)[0]["records"]])
    await agent.undo()
    await agent.close()
    came = Signal(payload={"sensor": "user-input", "text": "hi"}, meta={"session": "demo"})
    wanted: Action = Action(target=Keyword("tool"), payload={"action": "call"}).model_copy(update={"meta": {}})
    read: Signal = Signal.of("(:TYPE :EVENT)")
    print(came.session, wanted.hash, read.payload)
    async with await Agent.boot(memex_dir="notes") as other: print(other.hint)

asyncio.run(main())
'''


@pytest.mark.slow
def test_a_strict_checker_accepts_a_program_that_embeds_the_agent(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert (ROOT / "passepartout/py.typed").exists()
    found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", "program.py"],
                           cwd=tmp_path, env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert found.stdout == "Success: no issues found in 1 source file\n", found.stdout + found.stderr


@pytest.mark.slow
def test_and_finds_what_is_wrong_in_it(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace('agent.handle("who', 'agent.handel("who').replace('Rejected("The boat is ashore.")', "Rejected(5)").replace('meta={"session": "demo"})', "depht=1)"))
    found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", "program.py"],
                           cwd=tmp_path, env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert "handel" in found.stdout and "Rejected" in found.stdout and "depht" in found.stdout, found.stdout + found.stderr
