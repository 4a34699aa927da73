"""Another process exchanges what a command was given while it is judged and run: nothing is shown that a person would have been asked about."""
import asyncio
import ctypes
import os
import signal
import sys
import time

import pytest

from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.plist import write_plist
from passepartout.shell.sandbox import find_bubblewrap
from passepartout.shell.script import Simple
from passepartout.toolbelt.steady import given_paths

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux") or not find_bubblewrap().works, reason="there is no sandbox here")

SECRETS = {"diary.org": "* Doctor :@personal:\ncanary\n", ".env": "canary=1\n", "server.pem": "canary\n"}


def exchanging(one, other, gap):
    "A process that exchanges two names until it is killed."
    child = os.fork()
    if child: return child
    try:
        call = ctypes.CDLL(None).renameat2
        while True:
            call(-100, os.fsencode(one), -100, os.fsencode(other), 2)
            time.sleep(gap)
    finally: os._exit(1)


@pytest.mark.parametrize("target, command, gap, seconds", [
    (".env", "cat list.txt", 0.03, 1), *[pytest.param(*case, marks=pytest.mark.slow) for case in (
        (".env", "cat list.txt", 0.004, 12), ("server.pem", "sort list.txt", 0.03, 12), ("diary.org", "cat list.txt", 0.03, 12), (".env", "cat names | xargs cat", 0.02, 12), (".env", "cat there/list.txt", 0.03, 12))]])
def test_what_is_exchanged_for_a_moment_is_not_shown(tmp_path, target, command, gap, seconds):
    memex = tmp_path / "memex"
    (memex / "work").mkdir(parents=True)
    for name, text in {**SECRETS, "list.txt": "bread\n", "names": "list.txt\n", "work/list.txt": "bread\n"}.items(): (memex / name).write_text(text)
    (memex / "there").symlink_to("work"); (memex / "hidden").mkdir(); (memex / "hidden" / "list.txt").symlink_to(f"../{target}"); (memex / ".link").symlink_to(target); (memex / ".there").symlink_to("hidden")
    asked = shown = 0

    async def try_it():
        nonlocal asked, shown
        agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("model",))
        seen, say, end = [], [], time.monotonic() + seconds
        register_backend(agent, "model", lambda prompt, system: (seen.append(prompt), say.pop(0) if say else "done")[1])
        while time.monotonic() < end:
            asked, say[:] = asked + 1, [write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "shell", "args": {"command": command}, "explanation": "You asked what stands in the shopping list."}})]
            seen.clear()
            reply = await agent.handle("what is in the list?", session=f"s{asked}")
            shown += "canary" in "".join(seen[1:]) + reply.text * (target != "diary.org")          # the person may see their own diary
        await agent.close()

    child = exchanging(*(memex / name for name in (("there", ".there") if "there" in command else ("list.txt", ".link"))), gap)
    try: asyncio.run(try_it())
    finally: os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
    assert asked and not shown


def test_nothing_is_withheld_when_nothing_moves(tmp_path):
    (tmp_path / "memex").mkdir(); (tmp_path / "memex/list.txt").write_text("bread\n")
    async def try_it():
        agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("model",))
        say, seen = [write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": "shell", "args": {"command": "cat list.txt | sort && wc -l list.txt"}, "explanation": "You asked what stands in the shopping list."}})], []
        register_backend(agent, "model", lambda prompt, system: (seen.append(prompt), say.pop(0) if say else "done")[1])
        reply = await agent.handle("what is in the list?")
        assert reply.status == "answered" and "bread" in seen[-1] and "1 list.txt" in seen[-1]
        await agent.close()
    asyncio.run(try_it())


@pytest.mark.parametrize("words, paths", [("strings a", ["a"]), ("nm -D a", ["a"]), ("addr2line -e a 0x10", ["a"]), ("sqlite3 a.db .tables", ["a.db"]), ("git diff -- a", ["a"]), ("git blame a", ["a"]), ("yq .a b", [".a", "b"]), ("cat a b", ["a", "b"]), ("grep x a", ["a"]), ("diff a b", ["a", "b"])])
def test_whatever_kind_of_file_a_command_is_given_is_watched(words, paths):
    "A key or a private note that is put in its place for a moment is as private for `strings` as for `cat`."
    assert given_paths(Simple(f"/usr/bin/{words.split()[0]}", tuple(words.split()))) == paths
