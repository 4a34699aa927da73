"""An agent with its index: the same answers as without, whatever happens to the file, to other processes, and while it is read for the first time."""
import asyncio
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.agent import Agent
from passepartout.indexing.finding import IndexedNotes
from passepartout.indexing.index import Index
from passepartout.indexing.sweep import Refreshed
from passepartout.notes import NoteCache
from passepartout.toolbelt.notesource import ReadNotes
from passepartout.confinement.resources import Root, resolve
from passepartout.indexing.upkeep import Upkeep
from passepartout.awareness.views import VIEWS
from passepartout.indexing.watch import can_watch, watch_notes
from waits import ended, until

TODAY = date(2026, 11, 19)
SAMPLE = Path(__file__).parents[1] / "passepartout" / "sample" / "memex"
ASK = [sys.executable, "-m", "passepartout", "ask", "--today", "2026-11-19"]
QUESTION, ANSWER = "what is due this week?", "Tell Pohl"


@pytest.fixture
def home(tmp_path):
    "A copy of the sample notes, and the folders of an agent on it."
    shutil.copytree(SAMPLE, tmp_path / "memex")
    return tmp_path


def places(home, **more): return {"memex_dir": home / "memex", "state_dir": home / "state", "cache_dir": home / "cache", "config_dir": home / "config", "today": "2026-11-19", **more}

def environment(home): return {**os.environ, "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config"), "HOME": str(home)}

def ask(home, text=QUESTION, **more): return subprocess.Popen([*ASK, "--memex", str(home / "memex"), text, *more.pop("args", ())], env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

def index_file(home): return next((home / "cache").rglob("index.sqlite"))

def many(folder, files=400, each=30):
    "Enough notes that reading them takes a while."
    folder.mkdir(exist_ok=True)
    for n in range(files): (folder / f"n{n:03}.org").write_text("".join(f"* TODO Thing {n}-{k} :tag{k % 7}:\nDEADLINE: <2026-11-{1 + k % 28:02} Mon>\nSome words about it, {n * k}.\n" for k in range(each)))


# The first reading -------------------------------------------------------------------------------------------------------

def slow_agent(home, files, seconds, most):
    "An agent whose tools have `most` seconds and which takes `seconds` for each of `files` notes that it reads."
    many(home / "many", files, 1)
    agent = asyncio.run(Agent.boot(**places(home, memex_dir=home / "many", tool_timeout_s=most)))
    agent.upkeep.show = lambda *far: time.sleep(seconds)
    return agent

def test_a_tool_that_waits_for_the_first_reading_is_not_given_up(home):
    agent = slow_agent(home, files=30, seconds=0.1, most=1.5)
    try: answer = str(agent.run(agent.handle(QUESTION)))
    finally: agent.run(agent.close())
    assert "Thing" in answer and "given up" not in answer, answer

@pytest.mark.slow
def test_a_tool_is_given_up_when_the_reading_stands_still(home):
    agent = slow_agent(home, files=3, seconds=5.0, most=0.4)
    try: answer = str(agent.run(agent.handle(QUESTION)))
    finally:
        agent.upkeep.show = None
        agent.run(agent.close())
    assert "did not finish within 0.4 s" in answer and "nothing was changed" in answer, answer


def test_a_note_that_is_saved_now_and_then_keeps_no_tool_that_hangs(home):
    agent = slow_agent(home, files=3, seconds=0.0, most=0.4)
    try:
        assert not agent.upkeep.known
        agent.upkeep.refresh()
        assert agent.upkeep.read == 3 and agent.files_read() == 0
    finally: agent.run(agent.close())


# The same answers --------------------------------------------------------------------------------------------------------

def both(memex):
    "The two ways to the notes of a folder, and what closes them."
    root = Root(memex)
    index = Index(root)
    with resolve([root], ".", "tree") as folder: return ReadNotes(folder, NoteCache()), IndexedNotes(index, folder), lambda: (index.close(), root.close())


@pytest.mark.slow
def test_every_range_and_view_of_the_sample_is_the_same(home):
    read, indexed, close = both(home / "memex")
    for first in range(-40, 60, 9):
        for length in (0, 1, 6, 30, 366):
            start = TODAY + timedelta(first)
            for today in (TODAY, start, start + timedelta(length)):
                assert indexed.agenda(start, start + timedelta(length), today, 10_000) == read.agenda(start, start + timedelta(length), today, 10_000)
    for name in VIEWS: assert indexed.view(name, TODAY) == read.view(name, TODAY)
    for programs in (False, True): assert sorted(indexed.broken(programs)) == sorted(read.broken(programs))
    assert indexed.report() == read.report()
    close()


stamps = st.tuples(st.sampled_from(["SCHEDULED: ", "DEADLINE: ", "", "- [ ] ", "CLOSED: "]), st.integers(-40, 40),
                   st.sampled_from(["", "", " +1d", " ++1w", " .+2d/4d", " +1m", " -3d", " --2d", " +1w -1d", " +3d --2d", " 10:00", " 10:00-11:30 +1d", ">--<2026-11-30 Mon", ">--<2026-11-21 Sat +1w"]))
headings = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["", "TODO ", "DONE ", "WAITING ", "TODO [#A] ", "COMMENT "]), st.sampled_from(["", "a", "*b* [[id:x][c]]", "<2026-11-20 Fri>", "[2026-11-18 Wed] d", "<2026-11-20 Fri>--<2026-11-22 Sun> e"]),
                              st.sampled_from(["", " :x:", " :project:x:", " :ARCHIVE:", " :@personal:waiting:"]), st.booleans(), st.lists(stamps, max_size=3)), max_size=6)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(headings, headings, st.integers(-45, 45), st.integers(0, 40), st.integers(-10, 10))
def test_every_range_and_view_of_any_notes_is_the_same(tmp_path_factory, one, other, first, length, now):
    memex = tmp_path_factory.mktemp("notes")
    for name, plan in (("a.org", one), ("b.org", other)):
        lines = ["#+TODO: TODO WAITING | DONE"]
        for stars, word, title, tags, habit, dates in plan:
            lines.append(f"{'*' * stars} {word}{title}{tags}")
            planning = [f"{kind}<{TODAY + timedelta(day)} Xyz{more}>" for kind, day, more in dates if kind.endswith(": ")]
            if planning: lines.append(" ".join(planning))
            if habit: lines += [":PROPERTIES:", ":STYLE: habit", ":END:"]
            lines += [f"{kind}seen <{TODAY + timedelta(day)} Xyz{more}>" for kind, day, more in dates if not kind.endswith(": ")]
        (memex / name).write_text("\n".join(lines) + "\n")
    read, indexed, close = both(memex)
    start, today = TODAY + timedelta(first), TODAY + timedelta(now)
    assert indexed.agenda(start, start + timedelta(length), today, 10_000) == read.agenda(start, start + timedelta(length), today, 10_000)
    for name in VIEWS: assert indexed.view(name, today) == read.view(name, today)
    close()


# The file of the index ---------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_two_processes_at_the_same_time_and_a_third_later(home):
    runs = [ask(home, args=("--session", name)) for name in "ab"]
    said = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0] and said[0][0] == said[1][0] and ANSWER in said[0][0], said
    before = index_file(home).stat().st_ino
    later = ask(home)
    assert later.communicate(timeout=60)[0] == said[0][0] and index_file(home).stat().st_ino == before
    assert index_file(home).stat().st_mode & 0o777 == 0o600 and index_file(home).parent.stat().st_mode & 0o777 == 0o700
    assert not list((home / "cache").rglob("*-wal"))               # the last one out leaves one file, whole


async def answers(home, text=QUESTION, **more):
    agent = await Agent.boot(**places(home, **more))
    try: return str(await agent.handle(text)), agent
    finally: await agent.close()


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"garbage" * 5000, None], ids=["empty", "garbage", "middle"])
async def test_a_damaged_index_is_made_anew(home, damage):
    good, before = await answers(home)
    file = index_file(home)
    if damage is None:
        with open(file, "r+b") as f: f.seek(4096); f.write(os.urandom(file.stat().st_size - 8192))
    else: file.write_bytes(damage)
    again, agent = await answers(home)
    assert again == good and ANSWER in good and agent.health == before.health != "unhealthy"          # without a sandbox it is degraded
    assert sqlite3.connect(index_file(home)).execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_without_a_place_for_the_index_the_notes_are_read(home):
    good, _ = await answers(home)
    shutil.rmtree(home / "cache")
    (home / "cache").write_text("not a folder")
    again, agent = await answers(home)
    assert again == good and agent.upkeep is None and agent.health == "degraded" and "index" in agent.diagnostics[0].what


MERE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []      # root may write everywhere


@pytest.mark.skipif(bool(MERE) and not shutil.which("setpriv"), reason="root, and no setpriv")
@pytest.mark.parametrize("what", thinned(["file", "folder"], 2))
def test_a_cache_that_cannot_be_written(home, what):
    if what == "folder": (home / "cache").mkdir(mode=0o500)
    else:
        ask(home).communicate(timeout=60)
        index_file(home).chmod(0o400); index_file(home).parent.chmod(0o500)
    run = subprocess.run([*MERE, *ASK, "--memex", str(home / "memex"), QUESTION], env=environment(home), capture_output=True, text=True, timeout=60)
    index_file(home).parent.chmod(0o700) if what == "file" else (home / "cache").chmod(0o700)
    assert run.returncode == 0 and ANSWER in run.stdout and "index of the notes" in run.stderr and "Traceback" not in run.stderr, run


async def test_an_index_that_fails_in_the_middle_of_the_day_costs_no_answer(home):
    agent = await Agent.boot(**places(home))
    good = str(await agent.handle(QUESTION))
    agent.upkeep.index.db.execute("PRAGMA max_page_count = 1")      # as full as a disk can be
    (home / "memex" / "new.org").write_text("* TODO Something new\nDEADLINE: <2026-11-20 Fri>\n" * 500)
    full = str(await agent.handle(QUESTION))
    assert "Something new" in full and ANSWER in good
    await agent.close()


async def test_no_record_means_no_file(home):
    agent = await Agent.boot(journal=":memory:", **places(home))
    assert ANSWER in str(await agent.handle(QUESTION)) and not (home / "cache").exists()
    await agent.close()
    assert Agent.bare().upkeep is None


@pytest.mark.slow
def test_killed_in_the_middle_of_the_first_reading(home):
    many(home / "memex" / "many")
    for pause in (0.3, 0.5, 0.7, 0.9):
        run = ask(home)
        time.sleep(pause)
        run.send_signal(signal.SIGKILL)
        ended(run)
    run = ask(home, "find Lisbon")
    said, wrong = run.communicate(timeout=120)
    assert run.returncode == 0 and "Lisbon" in said, wrong
    fresh = Index(Root(home / "memex"))
    fresh.refresh()
    with sqlite3.connect(index_file(home)) as db: assert db.execute("SELECT count(*), sum(level) FROM node").fetchone() == fresh.db.execute("SELECT count(*), sum(level) FROM node").fetchone()


def test_two_agents_in_one_process_use_one_index(home):
    async def both():
        one, two = await Agent.boot(**places(home)), await Agent.boot(**places(home, state_dir=home / "other"))
        said = await asyncio.gather(one.handle(QUESTION), two.handle(QUESTION))
        await one.close()
        (home / "memex" / "new.org").write_text("* TODO Milk\nDEADLINE: <2026-11-20 Fri>\n")
        later = str(await two.handle(QUESTION))
        await two.close()
        return *map(str, said), later
    one, two, later = asyncio.run(both())
    assert one == two and ANSWER in one and "Milk" in later


# Nobody waits ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("line", ["find thing", "done with thing 7", "todo: thing 7 by friday"])
async def test_closing_does_not_wait_for_the_first_reading(tmp_path, line):
    many(tmp_path / "memex")
    agent = await Agent.boot(**places(tmp_path))
    reading = threading.Event()
    def show(done, of, path):
        if done != 20: return
        reading.set()
        agent.upkeep.ended.wait(30)          # a quick disk would be done with the other 380 before anybody says that it is enough
    agent.upkeep.show = show
    task = asyncio.create_task(agent.handle(line))
    await until(reading.is_set, "that the notes are read")
    task.cancel()
    with pytest.raises(asyncio.CancelledError): await task
    await agent.close()
    known = sqlite3.connect(index_file(tmp_path)).execute("SELECT count(*) FROM file").fetchone()[0]
    assert known < 400 and not [t for t in threading.enumerate() if t.name in ("passepartout-look", "passepartout-watch")]


async def test_who_is_read_while_somebody_reads_many_new_notes_keeps_nobody_waiting(tmp_path):
    many(tmp_path / "memex", files=3)
    agent, reading, go = await Agent.boot(**places(tmp_path)), threading.Event(), threading.Event()
    agent.upkeep.refresh()
    assert agent.in_moments()
    (tmp_path / "memex" / "new.org").write_text("* TODO Quince\n")
    agent.upkeep.show = lambda *file: (reading.set(), go.wait(30))
    look = agent.upkeep.start(agent.upkeep.refresh, "look")
    await until(reading.is_set, "that the new note is read")
    assert not agent.in_moments()
    task = asyncio.create_task(agent.handle("done with quince"))
    for _ in range(5): await asyncio.sleep(0.02)                # the loop is free meanwhile
    assert not task.done()
    go.set()
    assert "Quince" in await task and "DONE Quince" in (tmp_path / "memex" / "new.org").read_text()
    look.join(30)
    await agent.close()


@pytest.mark.slow
async def test_memory_answers_while_the_notes_are_read_for_the_first_time(tmp_path):
    many(tmp_path / "memex", files=3)
    agent, go = await Agent.boot(**places(tmp_path)), threading.Event()
    agent.upkeep.show = lambda *file: go.wait(30)
    agent.memory.ingest({"properties": {"ID": "mine", "TITLE": "Mine", "TAGS": ["tag1"]}})
    assert [o.id for o in agent.memory.with_attribute("tags", "tag1")] == ["mine"]
    assert agent.log.lines()[-1].startswith("INDEX: the notes are just being read")
    go.set(); agent.upkeep.looking.join(60)
    assert len(agent.memory.with_attribute("tags", "tag1")) == 16
    await agent.close()


# Memory ------------------------------------------------------------------------------------------------------------------

async def test_headings_are_objects_of_memory_and_are_never_saved(home):
    agent = await Agent.boot(**places(home))
    roof, = [found for found in agent.memory.with_attribute("file", "projects/roof.org") if found.type == "file"]
    assert roof.label.origin == "notes" and len(roof.hash) == 24
    below = [agent.memory.lookup(child) for child in roof.children]
    assert below and all(child.parent_id == roof.id for child in below)
    assert agent.memory.lookup(below[0].id, scope=f"project:{roof.id}") == below[0] and agent.memory.lookup(roof.id, scope="session:main") is None
    agent.memory.snapshot(); agent.memory.rollback()
    assert agent.memory.save() == 0 and len(agent.memory) == 0 and agent.memory.lookup(roof.id) == roof
    file = home / "memex" / "projects" / "roof.org"
    file.write_text(file.read_text().replace("House from 1912", "House from 1913"))
    agent.upkeep.refresh()
    assert agent.memory.lookup(roof.id).hash != roof.hash
    await agent.close()


@pytest.mark.parametrize("ident", thinned(["", "~", "\0", "\ud800", "a' OR '1'='1", "x" * 100_000, "💥"], 2))
async def test_no_id_breaks_a_look(home, ident):
    agent = await Agent.boot(journal=":memory:", **places(home))
    assert agent.memory.lookup(ident) is None and agent.memory.with_attribute("tags", ident) == []
    await agent.close()


# Following ---------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not can_watch(), reason="the extra `watch` is not installed")
async def test_a_note_that_changes_right_after_the_first_look_is_noticed(tmp_path):
    "The kernel has to watch before the first look. Else what changes between the two is in neither, and nobody looks again."
    loop, stop, looks = asyncio.get_running_loop(), asyncio.Event(), []
    class Looked:
        root = Root(tmp_path)
        def refresh(self, only=None):
            looks.append(only)
            if len(looks) == 1: (tmp_path / "late.org").write_text("* Late\n")
            else: loop.call_soon_threadsafe(stop.set)
            return Refreshed()
    await asyncio.wait_for(watch_notes(Looked(), every=0.1, stop=stop), 20)
    assert len(looks) == 2


@pytest.mark.slow
@pytest.mark.skipif(not can_watch(), reason="the extra `watch` is not installed")
def test_a_chat_hears_of_changes_and_a_rename_is_no_new_note(home):
    root = Root(home / "memex")
    upkeep, waiting = Upkeep(Index(root)), time.monotonic() + 20
    idents = lambda path: {i for i, in upkeep.index.guarded(lambda: upkeep.index.db.execute("SELECT ident FROM node JOIN file f ON f.id = node.file WHERE path = ?", (path,)).fetchall())}
    upkeep.follow()
    while not (before := idents("projects/roof.org")): assert time.monotonic() < waiting; time.sleep(0.02)
    time.sleep(0.2)
    (home / "memex" / "projects" / "roof.org").rename(home / "memex" / "house-roof.org")
    while not idents("house-roof.org"): assert time.monotonic() < waiting; time.sleep(0.02)
    assert idents("house-roof.org") == before and not idents("projects/roof.org")
    upkeep.close(); root.close()
    assert not [t for t in threading.enumerate() if t.name == "passepartout-watch"]


@pytest.mark.slow
def test_a_process_that_asks_a_model_one_question_shows_it_the_notes_also_the_first_time(home):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    heard = []
    class Model(BaseHTTPRequestHandler):
        def log_message(self, *_): pass
        def reply(self, data):
            self.send_response(200); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(data))); self.end_headers(); self.wfile.write(data)
        def do_GET(self): self.reply(b'{"data": [{"id": "m"}]}')
        def do_POST(self):
            heard.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.reply(b'{"choices": [{"message": {"role": "assistant", "content": "I see."}, "finish_reason": "stop"}]}')
    many(home / "memex")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = subprocess.run([*ASK, "--memex", str(home / "memex"), "what do my notes say about the roof?"], capture_output=True, text=True, timeout=60,
                          env={**environment(home), "PROVIDER_CASCADE": "near", "PASSEPARTOUT_PROVIDER_URLS": f"near=http://127.0.0.1:{server.server_port}/v1"})
    server.shutdown(); server.server_close()
    assert done.stdout == "I see.\n" and heard and "notes are just being read" not in "".join(heard) and re.search(r"- n\d+\.org", heard[-1]), (done, [each[:300] for each in heard])


def test_how_far_a_reading_is_is_known_while_it_lasts_and_no_longer(home):
    upkeep, seen = Upkeep(Index(Root(home / "memex"))), []
    upkeep.show = lambda done, of, path: seen.append((upkeep.far, (done, of)))
    try:
        upkeep.refresh()
        assert len(seen) > 40 and all(far == told for far, told in seen) and upkeep.far is None
        def broken(done, of, path): raise OSError("the disk is gone")
        (home / "memex" / "inbox.org").write_text("* more\n")
        upkeep.show = broken
        with pytest.raises(OSError, match="the disk is gone"): upkeep.refresh()
        assert upkeep.far is None
    finally: upkeep.close()
