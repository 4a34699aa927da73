"What a walk through the commands found, one small thing each"
import shutil, signal
from pathlib import Path

import pytest

from test_acceptance import command

SAMPLE = Path(__file__).parents[1] / "passepartout/sample/memex"


def test_undo_of_several_edits_says_with_its_code_that_none_was_taken_back(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "notes")
    for text in ("milk", "bread"): assert command(tmp_path, "ask", f"todo: {text}")[0] == 0
    (tmp_path / "notes/inbox.org").rename(tmp_path / "notes/moved.org")
    for count in ("1", "2"):
        code, told = command(tmp_path, "undo", count)
        assert code == 1 and "left alone" in told, (count, told[:300])
    (tmp_path / "notes/moved.org").rename(tmp_path / "notes/inbox.org")
    assert command(tmp_path, "undo", "2")[0] == 0 and command(tmp_path, "undo", "2")[0] == 0 and "nothing to take back" in command(tmp_path, "undo", "2")[1]


def test_a_hang_up_while_a_daemon_starts_does_not_end_it(monkeypatch):
    "`kill -HUP` means: read the settings again. They are being read just then."
    from passepartout import daemoncommand
    before, seen = signal.getsignal(signal.SIGHUP), []
    def start(*args):
        seen.append(signal.getsignal(signal.SIGHUP))
        if callable(seen[0]): signal.raise_signal(signal.SIGHUP)
        return None
    monkeypatch.setattr(daemoncommand, "trouble_of", start)
    try:
        daemoncommand.daemon(tcp=False, port=4711, log_json=False, unit=False, metrics=False, memex=None)
        assert callable(seen[0])                                     # a function and not "ignore": that would be handed on to every program the agent starts
    finally: signal.signal(signal.SIGHUP, before)
