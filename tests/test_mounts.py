"""A file system that somebody mounted among the notes is no part of them: no command that runs unasked shows what lies there, and what was approved does."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from passepartout.confinement.resources import Root
from passepartout.shell.sandbox import Cover, mounted

INSIDE = """
import asyncio, json, subprocess, sys
from pathlib import Path
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.plist import write_plist

top = Path(sys.argv[1])
for source, target in (("disk", "memex/vault"), ("disk/x.org", "memex/one file.org")): subprocess.run(["mount", "--bind", top / source, top / target], check=True)
subprocess.run(["mount", "-t", "tmpfs", "none", top / "memex/wide"], check=True)
(top / "memex/wide/mine").mkdir(); (top / "memex/wide/mine/list.org").write_text("canary mine\\n"); (top / "memex/wide/other.org").write_text("canary other\\n")

async def main():
    agent = await Agent.boot(memex_dir=top / "memex", state_dir=top / "state", config_dir=top / "config", cache_dir=top / "cache", workspaces=(top / "memex/wide/mine",), provider_cascade=("model",))
    seen, say, told = [], [], {}
    register_backend(agent, "model", lambda prompt, system: (seen.append(prompt), say.pop(0) if say else "done")[1])
    for n, command in enumerate(json.loads(sys.argv[2])):
        seen.clear()
        say[:] = [write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "shell", "args": {"command": command}, "explanation": "You asked me to look what is in there, so I do."}})]
        reply = await agent.handle("look please", session=f"s{n}")
        status = reply.status
        if reply.approvals: reply = await agent.approve(reply.approvals[0].id, reply.approvals[0].code, session=f"s{n}")
        told[command] = [status, sorted({word for word in ("outside", "private", "env", "pem", "mine", "other", "here") if f"canary {word}" in "".join(seen[1:]) + reply.text}), "vault/x.org" in "".join(seen[1:])]
    print(json.dumps(told))
    await agent.close()
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    if not all(map(shutil.which, ("bwrap", "unshare", "mount", "rg"))): pytest.skip("bwrap, unshare, mount or rg is not here")
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode: pytest.skip("nothing can be mounted here")
    top = tmp_path_factory.mktemp("mounts").resolve()
    for folder in ("memex/vault", "memex/wide", "disk"): (top / folder).mkdir(parents=True)
    (top / "memex/one file.org").write_text("")
    for name, text in {"memex/a.org": "canary here", "disk/x.org": "canary outside", "disk/diary.org": "* Doctor :@personal:\ncanary private", "disk/.env": "canary env", "disk/server.pem": "canary pem"}.items(): (top / name).write_text(f"{text}\n")
    commands = [*UNASKED, *ASKED]
    done = subprocess.run(["unshare", "-Urm", sys.executable, "-c", INSIDE, str(top), json.dumps(commands)], capture_output=True, text=True, timeout=120, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


UNASKED = {"rg canary": ["here", "mine"], "grep -r canary .": ["here", "mine"], "find . -name '*.org'": [], "rg --files": [], "sort a.org": ["here"]}
ASKED = {"cat wide/mine/list.org": ["mine"], "cat vault/x.org": ["outside"], "wc -l 'one file.org'": []}


@pytest.mark.parametrize("command", UNASKED)
def test_what_runs_unasked_does_not_see_what_is_mounted(told, command): assert told[command] == ["answered", UNASKED[command], False]


@pytest.mark.parametrize("command", ASKED)
def test_what_lies_there_is_asked_about_and_then_shown(told, command): assert told[command][:2] == ["requires-approval", ASKED[command]]


def test_the_list_of_the_kernel_is_read_as_it_is_written(tmp_path, monkeypatch):
    (tmp_path / "a b").mkdir(); (tmp_path / "new\nline").mkdir(); (tmp_path / "file").write_text("")
    root, lines = Root(tmp_path), [f"36 35 98:0 / {place} rw - ext4 /dev/x rw" for place in ("/", tmp_path, rf"{tmp_path}/a\040b", rf"{tmp_path}/a\040b/deeper", rf"{tmp_path}/new\012line", f"{tmp_path}/file", f"{tmp_path}-beside")]
    monkeypatch.setattr(Path, "read_bytes", lambda path: "\n".join(lines).encode())
    assert mounted([root]) == [Cover(f"{tmp_path}/a b", True), Cover(f"{tmp_path}/file"), Cover(f"{tmp_path}/new\nline", True)]
    assert mounted([root, Root(tmp_path / "a b")])[0] == Cover(f"{tmp_path}/a b/deeper")        # gone meanwhile: covering it fails, and the command with it
    root.close()
