"Who waits for changes sleeps until there is one, hears of each, and says so where that is not possible"
import asyncio, errno, os, threading, time
from pathlib import Path

import pytest
from waits import until

from passepartout.indexing import watch
from passepartout.indexing.index import Index
from passepartout.indexing.sweep import Refreshed
from passepartout.indexing.inotify import Notice, Watching, calls
from passepartout.confinement.resources import Root
from passepartout.skillfiles.skillwatch import SkillWatch
from passepartout.indexing.upkeep import Upkeep
from passepartout.indexing.watch import watch_notes, worth_a_look

pytestmark = pytest.mark.skipif(calls() is None, reason="there is no inotify here")
PATIENCE = 60


@pytest.fixture
def notes(tmp_path):
    (place := tmp_path / "notes").mkdir()
    (place / "a.org").write_text("* First\n")
    return place


@pytest.fixture
def kept(notes):
    "An index of the notes that follows them, and knows the first one."
    root = Root(notes)
    upkeep = Upkeep(Index(root))
    upkeep.follow()
    wait_for(upkeep, "First")
    yield upkeep
    upkeep.close(); root.close()


def titles(upkeep): return {title for title, in upkeep.index.guarded(lambda: upkeep.index.db.execute("SELECT title FROM node").fetchall())}


def wait_for(upkeep, title, there=True):
    "Nobody asks; so it can only be known because somebody told of it."
    until = time.monotonic() + PATIENCE
    while (title in titles(upkeep)) != there:
        assert time.monotonic() < until, f"nobody told of {title}"
        time.sleep(0.01)


def save_by_rename(path, text):
    (spare := path.with_name(".spare.tmp")).write_text(text)
    spare.rename(path)


@pytest.mark.parametrize("change", [
    lambda notes: (notes / "a.org").write_text("* New\n"),
    lambda notes: save_by_rename(notes / "a.org", "* New\n"),
    lambda notes: (notes / "b.md").write_text("# New\n"),
    lambda notes: ((notes / "deep" / "er").mkdir(parents=True), (notes / "deep" / "er" / "b.org").write_text("* New\n")),
    lambda notes: os.replace(save_elsewhere(notes), notes / "moved"),
], ids=["in place", "renamed over it", "a new file", "folders that were not there", "a folder from elsewhere"])
def test_every_way_of_writing_is_heard(notes, kept, change):
    change(notes)
    wait_for(kept, "New")


def save_elsewhere(notes):
    (folder := notes.parent / "elsewhere" / "x").mkdir(parents=True)
    (folder / "b.org").write_text("* New\n")
    return folder.parent


def test_what_is_written_into_a_folder_that_came_later_is_heard(notes, kept):
    (notes / "deep" / "er").mkdir(parents=True)
    (notes / "deep" / "er" / "b.org").write_text("* Second\n")
    wait_for(kept, "Second")
    (notes / "deep").rename(notes / "other")
    (notes / "c.org").write_text("* Third\n")
    wait_for(kept, "Third")
    with open(notes / "other" / "er" / "b.org", "a") as file: file.write("* Fourth\n")
    wait_for(kept, "Fourth")


def test_what_was_removed_is_heard(notes, kept):
    (notes / "b.org").write_text("* Second\n")
    wait_for(kept, "Second")
    (notes / "b.org").unlink()
    wait_for(kept, "Second", there=False)


def woken(others):
    "How often each thread has been woken, but for the `others`."
    read = lambda task: next(int(line.split()[1]) for line in (task / "status").read_text().splitlines() if line.startswith("voluntary"))
    return {task.name: read(task) for task in Path("/proc/self/task").iterdir() if task.name not in others}


@pytest.mark.slow
def test_nobody_is_woken_while_nothing_changes(notes, tmp_path):
    "The library that this replaced looked for notices twenty times a second, and fifty times in the folders of skills."
    class Book:
        folders = [type("Folder", (), {"path": tmp_path / "skills"}), type("Folder", (), {"path": notes})]
        reloads = 0
        def reload(self): Book.reloads += 1
    others, until, root = set(os.listdir("/proc/self/task")), time.monotonic() + PATIENCE, Root(notes)
    upkeep, watching, before = Upkeep(Index(root)), SkillWatch(Book()), None
    upkeep.follow()
    watching.start()
    wait_for(upkeep, "First")
    while not Book.reloads: assert time.monotonic() < until; time.sleep(0.01)
    while before != (before := woken(others)): assert time.monotonic() < until; time.sleep(0.5)             # until all of ours are asleep
    assert len(before) >= 2
    watching.close(); upkeep.close(); root.close()


def test_a_folder_of_skills_that_comes_later_is_heard_of(tmp_path):
    heard, saved = threading.Event(), threading.Event()
    class Book:
        folders = [type("Folder", (), {"path": tmp_path / "config" / "passepartout" / "skills"})]
        def reload(self):
            heard.set()
            if (tmp_path / "config" / "passepartout" / "skills" / "page.md").exists(): saved.set()
    watching = SkillWatch(Book(), every=3600)
    watching.start()
    assert heard.wait(PATIENCE)
    Book.folders[0].path.mkdir(parents=True)
    (Book.folders[0].path / "page.md").write_text("x")
    assert saved.wait(PATIENCE)
    began = watching.thread
    watching.close()
    assert not began.is_alive() and watching.watching is None


class Looked:
    "An index that counts its looks, and ends the watching after some."
    def __init__(self, place, stop, most): self.root, self.stop, self.most, self.looks, self.loop = Root(place), stop, most, [], asyncio.get_running_loop()
    def refresh(self, only=None):
        self.looks.append(only)
        if len(self.looks) >= self.most: self.loop.call_soon_threadsafe(self.stop.set)
        return Refreshed()


async def test_a_kernel_that_has_no_more_watches_is_said_and_the_notes_are_looked_at(notes, monkeypatch):
    def full(self, *given, **named): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(Watching, "watch", full)
    stop, lines = asyncio.Event(), []
    looked = Looked(notes, stop, 3)
    await asyncio.wait_for(watch_notes(looked, every=0.01, stop=stop, log=lines.append), PATIENCE)
    assert len(lines) == 1 and "cannot be watched" in lines[0] and "No space left" in lines[0]


@pytest.mark.skipif(not __import__("importlib.util").util.find_spec("watchfiles"), reason="the extra `watch` is not installed")
async def test_without_inotify_the_library_tells(notes, monkeypatch):
    monkeypatch.setattr(watch, "calls", lambda: None)
    stop = asyncio.Event()
    looked = Looked(notes, stop, 2)
    task = asyncio.create_task(watch_notes(looked, every=3600, stop=stop))
    await until(lambda: looked.looks, "a look at the notes")
    (notes / "a.org").write_text("* Changed\n")
    await asyncio.wait_for(task, PATIENCE)
    assert looked.looks[1:] in ([["a.org"]], [None])


async def test_stopping_wakes_it(notes):
    stop = asyncio.Event()
    looked = Looked(notes, stop, 99)
    task = asyncio.create_task(watch_notes(looked, every=3600, stop=stop))
    await until(lambda: looked.looks, "a look at the notes")
    stop.set()
    await asyncio.wait_for(task, PATIENCE)


def test_a_folder_that_left_is_not_listened_to(notes, tmp_path):
    (notes / "deep" / "er").mkdir(parents=True)
    watching = Watching()
    watching.watch_tree(str(notes))
    (notes / "deep").rename(tmp_path / "away")
    watching.read()
    (tmp_path / "away" / "er" / "b.org").write_text("* Not ours any more\n")
    assert watching.read() == [] and [path for path, _ in watching.folders.values()] == [str(notes)]
    watching.close()


def test_more_than_the_kernel_can_keep_is_a_reason_to_look_at_everything():
    assert worth_a_look("/notes", [Notice("/notes/a.org", written=True), Notice("", lost=True)]) is None
    assert worth_a_look("/notes", [Notice("/notes/a.org", written=True)]) == ["a.org"]


@pytest.mark.slow
def test_an_overflow_is_told(notes):
    watching = Watching()
    watching.watch(str(notes))
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for n in range(most // 2 + 10): os.utime(notes / "a.org", ns=(n, n)); (notes / "b.org").touch(); (notes / "b.org").unlink()
    assert any(each.lost for each in watching.read())
    watching.close()


@pytest.mark.parametrize("hears", [True, False])
def test_the_doctor_advises_the_extra_only_where_the_kernel_is_not_heard_without(hears, monkeypatch):
    from passepartout.checkup import machinecheck
    monkeypatch.setattr(machinecheck, "can_watch", lambda: hears)
    said = [str(each) for each in machinecheck.check_python(None)]
    assert any("extra watch" in each for each in said) is not hears
    assert any("The kernel tells" in each for each in said) is hears


def test_a_glance_does_not_wait_for_a_long_look_where_the_kernel_tells(notes):
    upkeep, go, began = Upkeep(Index(Root(notes))), threading.Event(), threading.Event()
    def hold(*file):
        began.set()
        go.wait(120)
    try:
        upkeep.show = hold
        upkeep.follow()
        assert began.wait(60)
        glance = threading.Thread(target=lambda: upkeep.glance(wait=600.0, every=0.0), daemon=True)
        glance.start()
        glance.join(60)
        assert not glance.is_alive()
    finally:
        go.set()
        upkeep.close()
