"What a person would not expect. What still happens is marked, and the mark says where it lives"
import pytest

from passepartout.agent import Agent
from passepartout.edits import FileEdit
from passepartout.indexing import sweep
from passepartout.indexing.notefiles import Tree
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
        edits = [FileEdit(r := context.resources[name], before := r.read_bytes(), before + b"* moved\n", f"Wrote {r.display}.") for name in ("path", "other")]
        (memex / "other.org").write_text("* Other\n* from my editor, just now\n")
        return edits
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


async def test_a_folder_that_cannot_be_read_is_not_one_without_notes_and_nothing_is_forgotten(tmp_path, monkeypatch):
    agent = await boot(tmp_path, provider_cascade="reflex")
    await agent.handle("remember that the boiler is blue")
    assert "inbox.org:2" in await agent.handle("find boiler")
    known = dict(agent.upkeep.index.known)
    with monkeypatch.context() as later:
        later.setattr(sweep, "poll", lambda *given: None)
        later.setattr(sweep, "walk", lambda root: Tree({}, (Remark(".", "too many open files"),), False))
        said = [str(await agent.handle(line)) for line in ("find boiler", "what is due today?")]
    assert known and agent.upkeep.index.known == known and not any("no notes" in each for each in said), said
    assert "inbox.org:2" in await agent.handle("find boiler")
    await agent.close()
