"""Somebody else on the machine who can write where the agent keeps its own, and links by which its own lies where a model writes."""
import os
import subprocess
import sys

import pytest

from passepartout.agent import Agent
from passepartout.journal import Journal, JournalError
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


SWAPS = {"a pipe": lambda path: os.mkfifo(path), "a device without an end": lambda path: path.symlink_to("/dev/zero"), "a folder": lambda path: path.mkdir(), "a file without an end": lambda path: (path.touch(mode=0o600), os.truncate(path, 1 << 33)),
         "a file in the dark": lambda path: path.write_bytes(bytes(5_000))}

@pytest.mark.parametrize("how", SWAPS)
@pytest.mark.parametrize("name", ["journal.key", "journal.anchor", "cascade.json", "measures.json", "skills.json"])
def test_nothing_waits_or_fills_up_where_a_small_file_of_its_own_was_exchanged(tmp_path, name, how):
    "In a process that may take 2 GB and a minute: an agent either starts, or says in a sentence why it does not."
    program = f"""if True:
        import asyncio, resource
        from pathlib import Path
        from passepartout.agent import Agent
        from passepartout.cascade.breaker import read_rests
        from passepartout.awareness.measure import read_measures
        from passepartout.skillfiles.skillmemory import Stored
        from passepartout.conditions import PassepartoutError
        from passepartout.settings import load_settings
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        top, name = Path({str(tmp_path)!r}), {name!r}
        settings = load_settings({{"memex_dir": top / "memex", **{{f"{{kind}}_dir": top / kind for kind in ("state", "config", "cache")}}}}, environ={{}})
        async def main():
            agent = await Agent.boot(settings)
            print(await agent.handle("what can you do?"))
            await agent.close()
        try: 
            if name.startswith("journal"): asyncio.run(main())
            else: print({{"cascade.json": read_rests, "measures.json": read_measures, "skills.json": lambda path: Stored.at(path.parent)}}[name](settings.journal_dir / name))
        except PassepartoutError as error: print("told:", error)
    """
    (tmp_path / "memex").mkdir()
    run = lambda: subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run().returncode == 0
    folder = load_settings(places(tmp_path), environ={}).journal_dir
    folder.mkdir(parents=True, exist_ok=True)
    if (path := folder / name).exists(): path.unlink()
    SWAPS[how](path)
    done = run()
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr[-500:]


@pytest.mark.parametrize("which", ["journal", "index"])
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("link", [os.link, os.symlink])
async def test_no_note_is_written_over_that_bears_the_name_of_a_log(tmp_path, which, end, link):
    settings = load_settings(places(tmp_path), environ={})
    (note := settings.memex_dir / "note.org").write_text("* Mine\n" * 100)
    await (await Agent.boot(settings)).close()
    beside = (settings.journal_dir / "journal.sqlite" if which == "journal" else settings.index_path)
    (beside := beside.with_name(beside.name + end)).unlink(missing_ok=True)
    link(note, beside)
    if which == "journal":
        with pytest.raises(JournalError, match="no file of its own"): await Agent.boot(settings)
    else:
        agent = await Agent.boot(settings)
        await agent.handle("find mine")
        await agent.close()
    assert note.read_text() == "* Mine\n" * 100


def test_what_is_said_of_a_log_with_a_second_name_loses_nothing_of_it(tmp_path):
    "The folder was copied with hard links while the agent ran, and the agent was killed."
    import re
    import shutil
    (folder := tmp_path / "it's here").mkdir()
    journal = Journal.open(running := folder / "journal.sqlite")
    for turn in ("t1", "t2"):
        (batch := journal.batch("main", turn)).record("turn", {"text": turn})
        batch.commit_now()
    shutil.copytree(folder, tmp_path / "copied")
    shutil.copytree(tmp_path / "copied", tmp_path / "backup", copy_function=os.link)
    journal.close()
    logs = [path for path in (tmp_path / "backup").iterdir() if path.name.endswith(("-wal", "-shm"))]
    before = {path.name: path.read_bytes() for path in logs}
    assert running.exists() and len(logs) == 2
    with pytest.raises(JournalError) as refused: Journal.open(tmp_path / "copied" / "journal.sqlite")
    subprocess.run(re.search("say  (.*)  and start again", str(refused.value))[1], shell=True, check=True)
    journal = Journal.open(tmp_path / "copied" / "journal.sqlite")
    assert [record["turn"] for record in journal.records(kinds=["turn"])] == ["t1", "t2"] and journal.verify(whole=True)
    journal.close()
    assert {path.name: path.read_bytes() for path in logs} == before
