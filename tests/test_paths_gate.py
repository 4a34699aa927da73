"""What the gate for paths promises, alone and inside the whole chain."""
import json, os, subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace
import pytest
from passepartout.gates.paths import paths_gate, paths_skill
from passepartout.messages import Action, Allowed, ApprovalRequired, Rejected, Signal
from passepartout.confinement.openedpath import kind_of
from passepartout.confinement.resources import PathRefused, Root
from passepartout.skills import SkillRegistry
from passepartout.tools import Parameter, Tool, ToolRegistry
from waits import away, next_line

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "paths.jsonl").read_text().splitlines()]
SIGNAL = Signal.of({"payload": {"sensor": "user-input", "text": "hi"}, "meta": {"source": "cli"}})


def call(tool, **args): return Action.of({"target": "tool", "payload": {"action": "call", "tool": tool, "args": args}})


@pytest.fixture
def memex(tmp_path):
    memex = tmp_path / "memex"
    for folder in (memex / "a" / ".keys", tmp_path / "outside", memex / ".git"): folder.mkdir(parents=True)
    for name in ("inbox.org", "a/n.org", "a/.keys/k", ".git/config", ".env"): (memex / name).write_text(name)
    (tmp_path / "outside" / "secret").write_text("secret")
    return memex


@pytest.fixture
def tools():
    tools = ToolRegistry()
    for access in ("read", "write", "tree"):
        tools.register(Tool(access, "", [Parameter("path", kind="path", access=access, required=False), Parameter("text", required=False)], lambda args: ""))
    tools.register(Tool("many", "", [Parameter("paths", "list", kind="path"), Parameter("into", kind="path", access="write", required=False)], lambda args: ""))
    return tools


@pytest.fixture
def gate(tools, roots): return paths_gate(tools, roots)


def opened_at(fd):
    try: return os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError: return ""                                  # closed meanwhile


@pytest.fixture(autouse=True)
def nothing_leaks(tmp_path):
    yield
    left = [name for fd in os.listdir("/proc/self/fd") if (name := opened_at(fd)).startswith(f"{tmp_path.resolve()}")]          # what other threads open is theirs
    assert len(left) <= 1, left


@pytest.mark.parametrize("path", ["\u200b.git/hooks", "git~1/hooks", "server.pem.", "ＩＤ_rsa", "id_rsa\u200b", "．env", "bashrc.."])
def test_a_name_that_some_disk_takes_for_a_hidden_one_is_not_written(gate, memex, path):
    if "/" in path: (memex / path).parent.mkdir()
    for access, verdict in (("write", Rejected), ("read", ApprovalRequired)):
        if access == "read": (memex / path).write_text("x")
        found = gate(call(access, path=path), SIGNAL)
        for file in getattr(found, "resolved", {}).values(): file.close()
        assert type(found) is verdict, found


@pytest.mark.parametrize("path", ["A\u0301gent/x", "\u00e1gent/x", "\u00c1GENT\u200b/x", "ágent./x"])
def test_the_agents_own_folder_is_closed_under_every_name_that_a_disk_may_know_it_by(tools, memex, path):
    (memex / "\u00e1gent").mkdir()
    (memex / path).parent.mkdir(exist_ok=True)
    (memex / path).write_text("x")
    assert type(paths_gate(tools, [Root(memex, closed=(str(memex / "\u00e1gent"),))])(call("read", path=path), SIGNAL)) is Rejected


@pytest.mark.parametrize("tool, path, verdict", [
    ("read", "inbox.org", Allowed), ("read", "a/n.org", Allowed), ("read", "../outside/secret", Rejected), ("read", "/etc/passwd", Rejected), ("read", "none", Rejected), ("read", "a", Rejected),
    ("read", ".env", ApprovalRequired), ("read", "a/.keys/k", ApprovalRequired), ("read", "a/../.git/config", ApprovalRequired), ("read", "./.git/../inbox.org", Allowed),
    ("write", "inbox.org", Allowed), ("write", "new.org", Allowed), ("write", ".env", Rejected), ("write", ".new", Rejected), ("write", ".git/hooks", Rejected), ("write", "a/.keys/k2", Rejected),
    ("write", "none/new.org", Rejected), ("write", "a", Rejected), ("tree", ".", Allowed), ("tree", "a", Allowed), ("tree", ".git", ApprovalRequired), ("tree", "a/.keys", ApprovalRequired), ("tree", "..", Rejected)])
def test_verdicts(gate, tool, path, verdict):
    found = gate(call(tool, path=path), SIGNAL)
    assert type(found) is verdict and (getattr(found, "text", None) or getattr(found, "reason", None) or verdict is Allowed)
    for resource in getattr(found, "resolved", {}).values(): resource.close()


def test_links_are_judged_by_where_they_lead(gate, memex):
    for name, target in {"friendly.org": ".env", "folder": ".git", "out.org": "../outside/secret"}.items(): (memex / name).symlink_to(target)
    for tool, path, verdict in (("read", "friendly.org", ApprovalRequired), ("write", "friendly.org", Rejected), ("read", "folder/config", ApprovalRequired), ("write", "folder/new", Rejected),
                                ("tree", "folder", ApprovalRequired), ("read", "out.org", Rejected), ("write", "out.org", Rejected)):
        assert type(gate(call(tool, path=path), SIGNAL)) is verdict, (tool, path)


def test_a_note_with_another_name_asks_before_it_is_written(gate, memex, tmp_path):
    os.link(memex / "inbox.org", tmp_path / "outside" / "backup.org")
    assert type(gate(call("read", path="inbox.org"), SIGNAL)) is Allowed
    assert "2 names" in gate(call("write", path="inbox.org"), SIGNAL).reason


def test_absent_paths_are_no_paths(gate):
    for action in (call("read"), call("read", path=None), call("read", text="/etc/passwd"), call("many", paths=[])): assert gate(action, SIGNAL) is action
    for path in ("", 7, True, {"a": 1}): assert type(gate(call("read", path=path), SIGNAL)) is Rejected


def test_lists(gate):
    found = gate(call("many", paths=["inbox.org", "a/n.org"], into="new.org"), SIGNAL)
    assert [r.relative for r in found.resolved["paths"]] == ["inbox.org", "a/n.org"] and found.resolved["into"].kind == "missing"
    found.resolved["paths"].close(); found.resolved["into"].close()
    assert all(r.fd is None for r in found.resolved["paths"])
    for args in (dict(paths=["inbox.org", "../x"]), dict(paths=["inbox.org"], into=".env"), dict(paths=["inbox.org"], into="../x"), dict(paths=["inbox.org", None])):
        assert type(gate(call("many", **args), SIGNAL)) is Rejected


def test_other_targets_and_unknown_tools(gate):
    for action in (Action.of({"target": "cli", "payload": {"action": "message", "text": "/etc/passwd"}}), Action.of({"payload": {"text": "x"}})): assert gate(action, SIGNAL) is action
    for strange in (call("nobody", path="inbox.org"), Action.of({"target": "tool", "payload": {"action": "call"}}), Action.of({"target": "tool", "payload": {"action": "call", "tool": "read", "args": "inbox.org"}})):
        assert type(gate(strange, SIGNAL)) is Rejected


def test_collected_attempts(gate, memex):
    for case in CASES:
        for tool in ("read", "write", "tree"):
            found = gate(call(tool, path=case["path"]), SIGNAL)
            if case.get("escapes"): assert type(found) is Rejected
            for resource in getattr(found, "resolved", {}).values():
                fd = resource.parent_fd if resource.fd is None else resource.fd
                assert os.readlink(f"/proc/self/fd/{fd}").startswith(str(memex)); resource.close()


def test_in_the_chain(tools, roots):
    from passepartout.verify import judge
    agent = SimpleNamespace(skills=SkillRegistry(), tools=tools, manifest=None)
    agent.skills.register(paths_skill(tools, roots))
    allowed = judge(agent, call("read", path="inbox.org"), SIGNAL)
    assert type(allowed.verdict) is Allowed and allowed.resolved["path"].read_bytes() == b"inbox.org"
    allowed.close(); assert allowed.resolved == {}
    asks = judge(agent, call("read", path=".env"), SIGNAL)
    assert type(asks.verdict) is ApprovalRequired and asks.resolved["path"].read_bytes() == b".env"      # answered, it is this very file
    asks.close()


def test_what_was_judged_is_what_is_read(gate, memex, tmp_path):
    found = gate(call("read", path="a/n.org"), SIGNAL)
    (memex / "a").rename(memex / "b"); (memex / "a").symlink_to(tmp_path / "outside"); (tmp_path / "outside" / "n.org").write_text("OUTSIDE")
    assert found.resolved["path"].read_bytes() == b"a/n.org"
    found.resolved["path"].close()


SWAPPER = """
import ctypes, os, sys
os.chdir(sys.argv[1]); libc = ctypes.CDLL(None)
os.symlink(".env", "swap.org"); open("plain.org", "w").write("plain")
print("ready", flush=True)
while True: libc.renameat2(-100, b"swap.org", -100, b"plain.org", 2)
"""

@pytest.mark.slow
def test_a_swap_never_turns_an_ask_into_a_pass(gate, memex):
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, memex], stdout=subprocess.PIPE)
    try:
        assert next_line(swapper)
        seen, end = set(), time.monotonic() + 0.4
        while time.monotonic() < end:
            found = gate(call("read", path="swap.org"), SIGNAL)
            seen.add(type(found))
            if type(found) is Allowed: assert found.resolved["path"].read_bytes() == b"plain"
            if type(found) is ApprovalRequired: assert found.resolved["path"].read_bytes() == b".env"
            for resource in getattr(found, "resolved", {}).values(): resource.close()
        assert {Allowed, ApprovalRequired} <= seen
    finally: away(swapper)


@pytest.mark.parametrize("names, whose, folder, me, opens", [(1, 7, 1000, 1000, True), (2, 7, 1000, 1000, False), (2, 1000, 1000, 1000, True), (2, 7, 7, 1000, True), (2, 1000, 7, 1000, True), (2, 0, 7, 0, False), (1, 0, 7, 0, True), (2, 0, 0, 0, True)])
def test_a_strangers_file_with_a_second_name_is_not_opened(monkeypatch, names, whose, folder, me, opens):
    "Who may make a link in a shared folder gives a file there that the person may read, and they may not, a name within the notes."
    monkeypatch.setattr(os, "geteuid", lambda: me)
    info = SimpleNamespace(st_mode=0o100644, st_nlink=names, st_uid=whose)
    if opens:
        assert kind_of(SimpleNamespace(uid=folder), "a.org", info) == "file"
        return
    with pytest.raises(PathRefused, match="belongs to somebody else and has a second name"): kind_of(SimpleNamespace(uid=folder), "a.org", info)
