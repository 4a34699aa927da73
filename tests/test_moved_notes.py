"""The folder of the notes is moved away or removed and made anew while a daemon runs on it: it is noticed, it is said, nothing is written into the wrong one, and it goes on."""
import asyncio, json, os, shutil, subprocess, sys, time

import pytest

from passepartout.agent import Agent
from passepartout.conditions import PassepartoutError
from passepartout.daemon import Daemon
from passepartout.confinement.resources import Root
from passepartout.confinement.roots import astray
from passepartout.settings import load_settings
from passepartout.serving.sockets import connect_to, socket_path
from waits import away


class Home:
    "A memex, a daemon on it in a process of its own, and commands that use it."
    def __init__(self, folder):
        self.memex, self.log, self.process = folder / "notes", folder / "daemon.log", None
        self.memex.mkdir()
        (self.memex / "house.org").write_text("* Roof\nTiles are loose.\n")
        self.env = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"), "MEMEX_DIR": str(self.memex), "PASSEPARTOUT_TODAY": "2026-11-19"}

    def begin(self):
        with open(self.log, "w") as log: self.process = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon"], env=self.env, stderr=log, stdout=log)
        path = socket_path(load_settings({"memex_dir": self.memex}, environ=self.env))
        self.wait(lambda: (found := connect_to(path)) is not None and found.close() is None)
        return self

    def wait(self, done, seconds=90):
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end and self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def says(self, *words): return subprocess.run([sys.executable, "-m", "passepartout", *words], env=self.env, capture_output=True, text=True, timeout=120).stdout

    def told(self, event): return [line for line in self.log.read_text().splitlines() if f"event={event}" in line]


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path)
    try: yield made.begin()
    finally:
        if made.process is not None: away(made.process)


def moved(home): home.memex.rename(home.memex.with_name("away"))
def removed(home): shutil.rmtree(home.memex)


@pytest.mark.slow
@pytest.mark.parametrize("leave", [moved, removed])
def test_a_daemon_misses_its_notes_says_it_and_goes_on_with_new_ones(home, leave):
    assert "Roof" in home.says("ask", "find roof")
    leave(home)
    home.wait(lambda: home.told("notes_missing"))
    assert "nothing stands in its place" in home.told("notes_missing")[0]
    refused = home.says("ask", "add todo Lamp")
    assert "was moved or removed while it was in use" in refused and "Lamp" not in "".join(path.read_text() for path in home.memex.parent.rglob("*.org"))
    found = json.loads(home.says("doctor", "--json"))
    assert found["health"] == "unhealthy" and any(each["what"].startswith("The daemon says: The folder") for each in found["findings"]), found
    home.memex.mkdir()
    (home.memex / "car.org").write_text("* Tyres\n")
    home.wait(lambda: home.told("notes_there"))
    assert "Tyres" in home.says("ask", "find tyres") and "Tyres" in home.says("ask", "find tyres")
    home.says("ask", "add todo Lamp")
    assert "Lamp" in "".join(path.read_text() for path in home.memex.rglob("*.org"))
    assert not any("The daemon says: The folder" in each["what"] for each in json.loads(home.says("doctor", "--json"))["findings"])
    assert "find roof" in home.says("trace", "--limit", "9"), "what was said before is still on record"


@pytest.fixture
async def daemon(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "house.org").write_text("* Roof\n* Boat\n")
    made = Daemon({"memex_dir": tmp_path / "notes", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config"}, stream=open(os.devnull, "w"))
    await made.start()
    made.memex = tmp_path / "notes"
    yield made
    await made.stop(0.1)


def idents(daemon): return sorted(daemon.agent.upkeep.index.guarded(lambda: daemon.agent.upkeep.index.db.execute("SELECT title, ident FROM node WHERE place > 0").fetchall()))


async def test_headings_are_who_they_were_when_the_same_notes_stand_in_a_new_folder(daemon):
    daemon.agent.upkeep.refresh()
    before = idents(daemon)
    shutil.copytree(daemon.memex, daemon.memex.with_name("copy"))
    shutil.rmtree(daemon.memex)
    with pytest.raises(PassepartoutError, match="What is known of the notes is kept"): daemon.agent.upkeep.refresh()
    assert await daemon.look_after_notes() == "gone" and idents(daemon) == before and daemon.agent.health == "unhealthy"
    daemon.memex.with_name("copy").rename(daemon.memex)
    first = daemon.agent
    assert await daemon.look_after_notes() == "" and daemon.agent is not first
    told = [each.text for each in daemon.agent.news() if each.job == "daemon"]
    assert len(told) == 2 and "nothing stands in its place" in told[0] and "is read from now on" in told[1]
    daemon.agent.upkeep.refresh()
    assert idents(daemon) == before and len(before) == 2


async def test_notes_that_come_back_are_taken_up_without_a_new_agent(daemon):
    first = daemon.agent
    daemon.memex.rename(daemon.memex.with_name("away"))
    assert await daemon.look_after_notes() == "gone"
    daemon.memex.with_name("away").rename(daemon.memex)
    assert await daemon.look_after_notes() == "" and daemon.agent is first and first.health != "unhealthy" and daemon.missing == ""


async def test_one_that_cannot_be_used_leaves_the_daemon_as_it_was(daemon):
    daemon.memex.rename(daemon.memex.with_name("away"))
    daemon.memex.mkdir()
    config = daemon.agent.settings.config_dir / "passepartout"
    config.mkdir(parents=True)
    (config / "settings.ini").write_text("[assistant]\nassistent = Ana\n")
    first = daemon.agent
    assert await daemon.look_after_notes() == "another" and daemon.agent is first and "another one stands" in daemon.missing
    (config / "settings.ini").unlink()
    assert await daemon.look_after_notes() == "" and daemon.agent is not first


async def test_whoever_finds_the_notes_gone_rings(daemon):
    heard = []
    daemon.agent.upkeep.lost.append(lambda: heard.append(astray(daemon.agent.roots[0])))
    daemon.memex.rename(daemon.memex.with_name("away"))
    with pytest.raises(PassepartoutError): daemon.agent.upkeep.refresh()
    assert heard == ["gone"]
    await asyncio.wait_for(daemon.strayed.wait(), 60)


def test_a_link_that_leads_elsewhere_now_is_another_folder(tmp_path):
    for name in ("one", "two"): (tmp_path / name).mkdir()
    (tmp_path / "notes").symlink_to("one")
    root = Root(tmp_path / "notes")
    assert astray(root) == ""
    (tmp_path / "notes").unlink()
    (tmp_path / "notes").symlink_to("two")
    assert astray(root) == "another"
    (tmp_path / "notes").unlink()
    assert astray(root) == "gone"
    root.close()


async def test_an_agent_without_a_daemon_refuses_and_says_why(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "inbox.org").write_text("* Roof\n")
    agent = await Agent.boot({"memex_dir": tmp_path / "notes", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config"})
    (tmp_path / "notes").rename(tmp_path / "away")
    (tmp_path / "notes").mkdir()
    assert "another one stands in its place" in await agent.handle("add todo Lamp")
    assert "Lamp" not in (tmp_path / "away" / "inbox.org").read_text() and not list((tmp_path / "notes").iterdir())
    await agent.close()
