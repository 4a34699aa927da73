"""Somebody else on the machine who can write where the agent keeps its own, and links by which its own lies where a model writes."""
import os

import pytest

from passepartout.agent import Agent
from passepartout.journal import JournalError
from passepartout.plist import write_plist
from passepartout.serving.sockets import DaemonError, take_lock
from passepartout.settings import load_settings
from passepartout.shell.sandbox import find_bubblewrap


def places(top, **more):
    (top / "memex").mkdir(exist_ok=True)
    return {"memex_dir": top / "memex", **{f"{kind}_dir": top / kind for kind in ("state", "config", "cache")}, **more}


def open_up(folder, how):
    "Let somebody else write in `folder`, in one way or the other."
    if how != "theirs": return os.chmod(folder, 0o777 if how == "everybody" else 0o770)
    if os.geteuid(): pytest.skip("only root can give a folder away")
    os.chown(folder, 65534, 65534)


@pytest.mark.parametrize("how", ["everybody", "a group", "theirs"])
@pytest.mark.parametrize("above", [False, True])
async def test_no_record_is_used_that_somebody_else_can_exchange(tmp_path, how, above):
    settings = load_settings(places(tmp_path), environ={})
    await (await Agent.boot(settings)).close()
    folder = settings.journal_dir.parent if above else settings.journal_dir
    open_up(folder, how)
    with pytest.raises(JournalError, match="older record") as told: await Agent.boot(settings)
    assert str(folder) in str(told.value)
    if not above:
        with pytest.raises(DaemonError): take_lock(folder)
    os.chown(folder, os.geteuid(), -1); os.chmod(folder, 0o700)
    agent = await Agent.boot(settings)
    assert agent.journal_verdict.ok
    await agent.close()


@pytest.mark.parametrize("how", ["everybody", "theirs"])
async def test_no_index_is_believed_that_somebody_else_can_exchange(tmp_path, how):
    settings = load_settings(places(tmp_path), environ={})
    (settings.memex_dir / "diary.org").write_text("* Bees :@personal:\n")
    await (await Agent.boot(settings)).close()
    open_up(settings.index_path.parent, how)
    agent = await Agent.boot(settings)
    assert agent.upkeep is None and any(str(settings.index_path.parent) in str(problem) for problem in agent.problems)
    assert "Bees" in await agent.handle("find bees")
    await agent.close()


@pytest.mark.parametrize("name", ["settings.ini", ".env", "rules.ini", "skills/page.org", "skills"])
async def test_what_a_link_of_the_settings_leads_to_is_as_closed_as_they_are(tmp_path, name):
    config, kept = tmp_path / "config" / "passepartout" / name, tmp_path / "memex" / "dotfiles" / name
    for path in (config, kept): path.parent.mkdir(parents=True)
    if name == "skills": kept.mkdir()
    else: kept.write_text("# mine\n"); kept.chmod(0o600)
    config.symlink_to(kept)
    inside = kept / "new.org" if name == "skills" else kept
    agent = await Agent.boot(places(tmp_path, provider_cascade=("model",), permissions="default=allow"))
    say = [write_plist({"type": "REQUEST", "target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "You asked to have that in the file of your settings."}})
           for tool, args in (("write-file", {"path": str(inside), "text": "[permissions]\ndefault = allow\n"}), ("shell", {"command": f"echo x >> {inside.relative_to(tmp_path / 'memex')}"}))]
    agent.backends.register("model", lambda prompt, system: say.pop(0) if say else "done", inline=True)
    await agent.handle("put it into my settings")
    assert not agent.pending() and not agent.journal.effects()
    if find_bubblewrap().works:
        await agent.handle(f"$ sh -c 'echo x >> {inside.relative_to(tmp_path / 'memex')}; cat {inside.relative_to(tmp_path / 'memex')}; true'")          # a program that the gates cannot look into
        for ask in agent.pending(): await agent.approve(ask.id, ask.code)
    await agent.close()
    assert not inside.exists() if name == "skills" else inside.read_text() == "# mine\n"
