"""Reading the notes for the first time: a bar on a terminal, nothing in a pipe, and Ctrl-C costs what was not read yet."""
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from test_index_agent import index_file
from waits import PATIENCE

FILES = 1_500


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many") / "memex"
    folder.mkdir()
    text = "".join(f"* TODO Heading {n} about a roof\nDEADLINE: <2026-11-20 Fri>\nSome words about it, and more of them.\n" for n in range(12))
    for n in range(FILES): (folder / f"{n:04}.org").write_text(text)
    return folder


def begin(home, memex, *args, terminal=True, **options):
    "(process, our end of its terminal)"
    env = {**os.environ, **{f"XDG_{name.upper()}_HOME": str(home / name) for name in ("state", "cache", "config")}, "TERM": "xterm", "PYTHONUNBUFFERED": "1"}
    ours, theirs = pty.openpty() if terminal else (None, subprocess.PIPE)
    child = subprocess.Popen([sys.executable, "-m", "passepartout", *args, "--memex", memex, "--today", "2026-11-19"], stdin=subprocess.DEVNULL if not terminal else theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True, **options)
    if terminal: os.close(theirs)
    return child, ours


def until(ours, sign=None):
    "What the terminal shows, up to `sign` or the end."
    seen, end = b"", time.monotonic() + PATIENCE
    while sign is None or sign not in seen:
        assert select.select([ours], [], [], max(0.0, end - time.monotonic()))[0], f"{sign or 'the end'} was awaited in vain for {PATIENCE:g} seconds, after {seen[-3000:]!r}"
        try: more = os.read(ours, 65536)
        except OSError: break
        if not more: break
        seen += more
    return seen


def files_known(home):
    with sqlite3.connect(index_file(home)) as db: return db.execute("SELECT count(*) FROM file").fetchone()[0]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["find", "roof", "-n", "2"], ["agenda", "today"], ["ask", "find roof"]], ids=lambda c: c[0])
def test_a_terminal_shows_a_bar_that_goes_away(many, tmp_path, command):
    child, ours = begin(tmp_path, many, *command)
    seen = until(ours)
    os.close(ours)
    assert child.wait(60) in (0, 1) and b"Reading your notes" in seen and f"/{FILES}".encode() in seen
    after = seen[seen.rindex(b"Reading your notes"):]
    assert b"\x1b[2K" in after and b"\x1b[?25h" in after and b"roof" in after                       # wiped, the cursor shown, then the answer
    again, ours = begin(tmp_path, many, *command)
    assert b"Reading" not in until(ours) and again.wait(60) == child.returncode
    os.close(ours)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["find", "roof", "-n", "2"], ["ask", "find roof"]], ids=lambda c: c[0])
def test_a_pipe_is_shown_nothing_of_it(many, tmp_path, command):
    child, _ = begin(tmp_path, many, *command, terminal=False)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0 and b"Reading" not in out + err and b"\x1b" not in out + err and b"roof" in out


@pytest.mark.slow
@pytest.mark.parametrize("command", [["find", "roof"], ["ask", "find roof"]], ids=lambda c: c[0])
def test_ctrl_c_keeps_what_was_read(many, tmp_path, command):
    child, ours = begin(tmp_path, many, *command)
    seen, begun = until(ours, b"Reading your notes"), time.monotonic()
    while files_known(tmp_path) == 0 and time.monotonic() - begun < 20: time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    seen += until(ours)
    os.close(ours)
    assert child.wait(30) == 130 and b"Traceback" not in seen and b"Stopped." in seen and b"\x1b[?25h" in seen
    known = files_known(tmp_path)
    assert 0 < known < FILES
    again, ours = begin(tmp_path, many, *command)
    seen = until(ours)
    os.close(ours)
    assert again.wait(60) == 0 and files_known(tmp_path) == FILES and f"/{FILES}".encode() not in seen     # only the rest was read


def test_the_line_of_who_waits_for_a_daemon_says_how_far_the_reading_is():
    import io
    from types import SimpleNamespace
    from passepartout.terminal.draftview import draft_shown
    from passepartout.terminal.render import screen
    file, told = io.StringIO(), []
    console = screen(file, force_terminal=True, color_system=None, width=60, height=8)
    def hear(fn):
        told.append(fn)
        return lambda: told.remove(fn)
    agent = SimpleNamespace(listen=lambda fn, session: lambda: None, watch=lambda fn: lambda: None, hear_reading=hear)
    before, os.environ["TERM"] = os.environ.get("TERM", "dumb"), "xterm"
    try:
        with draft_shown(agent, "main", console) as view:
            told[0](3_400, 9_000)
            assert "reading your notes, 3,400 of 9,000" in file.getvalue()
            told[0](0, 0)
            assert view.waiting() == "" or "at work" in view.waiting()
            told[0](5, 9_000); view.asks("groq")
            assert "reading" not in view.waiting()
    finally: os.environ["TERM"] = before
    assert not told
