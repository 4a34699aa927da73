"What a person would not expect. What still happens is marked, and the mark says where it lives"
import errno, json, os, shutil, subprocess, sys

import pytest

from passepartout import edits
from passepartout.agent import Agent
from passepartout.edits import FileEdit
from passepartout.indexing import sweep
from passepartout.indexing.notefiles import WalkedTree
from passepartout.notes import Remark
from passepartout.tools import Parameter, Tool


async def boot(tmp_path, **settings):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").write_text("* Inbox\n")
    return await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path, today="2026-11-19", **settings)


async def test_an_addition_survives_an_edit_in_the_same_moment(tmp_path):
    agent, inbox, times = await boot(tmp_path, permissions={"add": "allow"}), tmp_path / "memex" / "inbox.org", []
    def add(path, context):
        before = context.resources["path"].read_bytes()
        if not times: inbox.write_bytes(before + b"* from my editor, just now\n")
        times.append(1)
        return FileEdit(context.resources["path"], before, before + b"* added\n", "Added.")
    agent.tools.register(Tool("add", "Add a line", [Parameter("path", kind="path", access="write")], add, effects={"destructive": False, "open_world": False}, edits=True, inline=True))
    agent.backends.register("model", lambda prompt, system: "Done." if times else '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "add" :ARGS (:PATH "inbox.org") :EXPLANATION "You wanted a line there"))', inline=True)
    agent.provider_cascade = ("model",)
    reply = await agent.handle("add a line")
    await agent.close()
    assert inbox.read_text() == "* Inbox\n* from my editor, just now\n* added\n" and reply.effects


async def test_who_watches_cannot_break_a_turn(tmp_path):
    agent = await boot(tmp_path)
    def gone(kind, body, turn): raise BrokenPipeError("nobody reads this any more")
    unwatch = agent.watch(gone)
    reply = await agent.handle("todo: buy milk")
    unwatch()
    await agent.close()
    assert reply.status == "answered" and "TODO buy milk" in (tmp_path / "memex" / "inbox.org").read_text()


async def test_an_action_of_two_edits_is_never_made_again_by_half(tmp_path):
    agent, memex = await boot(tmp_path, permissions={"move": "allow"}), tmp_path / "memex"
    (memex / "other.org").write_text("* Other\n")
    def move(path, other, context):
        both = [FileEdit(r := context.resources[name], before := r.read_bytes(), before + b"* moved\n", f"Wrote {r.display}.") for name in ("path", "other")]
        (memex / "other.org").write_text("* Other\n* from my editor, just now\n")
        return both
    both = [Parameter("path", kind="path", access="write"), Parameter("other", kind="path", access="write")]
    agent.tools.register(Tool("move", "Move a line", both, move, effects={"destructive": False, "open_world": False}, edits=True, inline=True))
    told = []
    def model(prompt, system):
        told.append(prompt)
        return "Done." if len(told) > 1 else '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "move" :ARGS (:PATH "inbox.org" :OTHER "other.org") :EXPLANATION "You wanted it moved there"))'
    agent.backends.register("model", model, inline=True)
    agent.provider_cascade = ("model",)
    await agent.handle("move it")
    assert (memex / "inbox.org").read_text() == "* Inbox\n* moved\n" and "Only a part was done: inbox.org was written, 1 of 2 files. The rest was not: other.org was changed" in told[1]
    assert (memex / "other.org").read_text() == "* Other\n* from my editor, just now\n"
    await agent.undo()
    assert (memex / "inbox.org").read_text() == "* Inbox\n"
    await agent.close()


NO_MORE_FILES = """
import asyncio, json, os, resource, sys
from pathlib import Path
from passepartout.agent import Agent
top = Path(sys.argv[1])
async def main():
    agent = await Agent.boot(memex_dir=top / "notes", state_dir=top / "state", cache_dir=top / "cache", config_dir=top, today="2026-11-19", provider_cascade="reflex")
    await agent.handle("remember that the boiler is blue")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = []
    for room in (0, 1, 2, 3, 4, 5, 6, 7):
        held = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            while True: held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError: pass
        for fd in held[:room]: os.close(fd)
        for line in (f"remember that the car {room} is red", "find boiler", "what is due today?"):
            reply = await agent.handle(line)
            told.append([line, str(reply), reply.status])
        for fd in held[room:]: os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    told.append(["", str(await agent.handle("find boiler")), ""])
    await agent.close()
    print(json.dumps(told))
asyncio.run(main())
"""


@pytest.mark.slow
def test_a_process_that_may_open_no_more_files_says_so_loses_nothing_and_goes_on_when_it_may(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "inbox.org").write_text("* Inbox\n")
    done = subprocess.run([sys.executable, "-c", NO_MORE_FILES, str(tmp_path)], capture_output=True, text=True, timeout=300)
    told = json.loads(done.stdout)
    added = [line.removeprefix("remember that ") for line, said, _ in told if said.startswith("Added the note")]
    assert (tmp_path / "notes" / "inbox.org").read_text() == "".join(f"* {each}\n" for each in ("Inbox", "the boiler is blue", *added)) and 0 < len(added) < 8
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["inbox.org"]
    assert all(said for _, said, _ in told) and told[0][2] == "failed" and "Something went wrong, and nothing more was done" in told[0][1]
    wrong = [said for _, said, _ in told if "no notes" in said or "lost its folder" in said]
    assert wrong == [] and any("as many files open as there may be" in said for _, said, _ in told)
    assert "the boiler is blue" in told[-1][1]


@pytest.mark.parametrize("code, told", [(errno.EROFS, "can only be read now"), (errno.ENOSPC, "does not fit on the disk"), (errno.EMFILE, "as many files open"), (errno.EACCES, "Change its permissions"), (errno.EIO, "look at the disk")])
async def test_what_the_disk_says_is_told_with_what_to_do(tmp_path, monkeypatch, code, told):
    agent = await boot(tmp_path, provider_cascade="reflex")
    def draft(*given): raise OSError(code, os.strerror(code))
    monkeypatch.setattr(edits, "_draft", draft)
    reply = await agent.handle("todo: buy milk")
    await agent.close()
    assert told in reply and "It is as it was before." in reply and not reply.effects
    assert (tmp_path / "memex" / "inbox.org").read_text() == "* Inbox\n" and len(list((tmp_path / "memex").iterdir())) == 1


async def test_a_folder_that_cannot_be_read_is_not_one_without_notes_and_nothing_is_forgotten(tmp_path, monkeypatch):
    agent = await boot(tmp_path, provider_cascade="reflex")
    await agent.handle("remember that the boiler is blue")
    assert "inbox.org:2" in await agent.handle("find boiler")
    known = dict(agent.upkeep.index.known)
    with monkeypatch.context() as later:
        later.setattr(sweep, "poll", lambda *given: None)
        later.setattr(sweep, "walk", lambda root: WalkedTree({}, (Remark(".", "too many open files"),), False))
        said = [str(await agent.handle(line)) for line in ("find boiler", "what is due today?")]
    assert known and agent.upkeep.index.known == known and not any("no notes" in each for each in said), said
    assert "inbox.org:2" in await agent.handle("find boiler")
    await agent.close()


@pytest.mark.parametrize("copied", [False, True])
async def test_what_was_written_into_a_folder_that_was_moved_in_this_moment_is_said_to_be_there(tmp_path, monkeypatch, copied):
    agent, real = await boot(tmp_path, provider_cascade="reflex"), edits._draft
    def draft(*given):
        (tmp_path / "memex").rename(tmp_path / "away")
        if copied: shutil.copytree(tmp_path / "away", tmp_path / "memex")
        return real(*given)
    monkeypatch.setattr(edits, "_draft", draft)
    reply = await agent.handle("todo: buy milk")
    await agent.close()
    assert "TODO buy milk" in (tmp_path / "away" / "inbox.org").read_text() and len(reply.effects) == 1
    assert f"What was written stands in the folder that was moved, {tmp_path / 'away'}." in reply


@pytest.mark.parametrize("how", ["moved", pytest.param("another", marks=pytest.mark.slow), pytest.param("turned", marks=pytest.mark.slow)])
@pytest.mark.parametrize("said", ["I added the note Milk.", "I am done.", "I could not do that."])
async def test_who_moves_the_notes_during_a_turn_hears_what_happened_and_what_helps(tmp_path, how, said):
    "Only that nothing was changed was told, or what the model made of it."
    from passepartout.agent import Agent
    from passepartout.backends import register_backend
    real, memex = tmp_path / "real", tmp_path / "notes"
    real.mkdir(); (real / "a.org").write_text("* Bees\n"); (tmp_path / "other").mkdir()
    memex.symlink_to(real) if how == "turned" else real.rename(memex)
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config", provider_cascade=("model", "reflex"))
    script = ['(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "Milk") :EXPLANATION "You wanted to be reminded of the milk"))']
    def model(prompt, system):
        if script and memex.exists() and how != "turned": memex.rename(real)
        if script and how == "turned": memex.unlink(); memex.symlink_to(tmp_path / "other")
        if how == "another": memex.mkdir(exist_ok=True)
        return script.pop() if script else said
    register_backend(agent, "model", model, inline=True)
    told = str(await agent.handle("milk should not be forgotten by me"))
    assert told.startswith(said) and f"The folder {memex} was moved or removed while it was in use" in told and f"lies in {real} now" in told and "Put it back" in told, told
    assert not list(real.glob("inbox*")) and not list((tmp_path / "other").iterdir())
    register_backend(agent, "model", lambda prompt, system: "Bees are insects.", inline=True)
    assert str(await agent.handle("what are bees?")) == "Bees are insects."                  # which claims nothing, and needed no notes
    register_backend(agent, "model", lambda prompt, system: {"status": "error", "message": "off"}, inline=True)
    told = str(await agent.handle("tag bees with x"))
    assert "Nothing in your notes is called" in told and "was moved or removed" in told
    await agent.close()
