"The sockets of the daemon: who may listen, who is believed, and what is said of a daemon that cannot be reached"
import contextlib
import errno
import fcntl
import multiprocessing
import os
import socket
import stat
import subprocess
import sys

import pytest

from passepartout.serving import sockets
from passepartout.serving.sockets import (DaemonError, Peer, connect_to, daemon_findings, descends, greets, listen_at, listen_on, lock_holder, peer_of, short_name,
                                          take_lock)


class Settings:
    def __init__(self, folder): self.journal_dir = folder


def descriptors(): return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder / "daemon.sock"


# Who is at the other end

def test_the_kernel_names_the_process_at_the_other_end():
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other: assert peer_of(one) == Peer(os.getpid(), os.getuid(), os.getgid())
    assert peer_of(one) == peer_of(None) == (-1, -1, -1)


def test_children_of_children_descend_and_nobody_else_does():
    script = "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE); print(child.pid, flush=True); input(); child.communicate(b'\\n')"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            grandchild = int(child.stdout.readline())
            assert descends(child.pid, os.getpid()) is descends(grandchild, os.getpid()) is descends(grandchild, child.pid) is True
            assert descends(child.pid, grandchild) is descends(os.getpid(), child.pid) is descends(os.getpid(), os.getpid()) is False
        finally: child.communicate("\n")
    assert descends(grandchild, os.getpid()) is descends(-1, os.getpid()) is descends(1, os.getpid()) is False


def test_who_has_no_parent_descends_from_nobody(monkeypatch):
    "In a namespace of its own a process may be its own first one; the walk up ends there."
    parents = {"7": 6, "6": 1, "1": 0, "9": 9}
    class Stat:
        def __init__(self, path): self.pid = path.split("/")[2]
        def read_bytes(self): return f"{self.pid} (a ) b) S {parents[self.pid]} 0".encode()
    monkeypatch.setattr(sockets, "Path", Stat)
    assert descends(7, 6) and descends(7, 1) and not descends(7, 8) and not descends(9, 1), "the last one would be walked up for ever"
    assert not descends(7, 0), "number 0 is the kernel, of which everything descends"


# Listening

def test_a_listening_socket_is_the_owners_and_takes_the_place_of_a_dead_one(place):
    listen_at(place).close()
    with listen_at(place) as made:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600 and not made.getblocking()
        with connect_to(place) as there: assert peer_of(there).pid == os.getpid() and there.gettimeout() == 5.0


@pytest.mark.parametrize("kind", ["file", "folder", "link", "link to nothing"])
def test_what_is_no_socket_stays(place, kind, tmp_path):
    (other := tmp_path / "other").write_text("mine")
    {"file": lambda: place.write_text("mine"), "folder": place.mkdir, "link": lambda: place.symlink_to(other), "link to nothing": lambda: place.symlink_to(tmp_path / "away")}[kind]()
    before = descriptors()
    with pytest.raises(DaemonError, match="is not a socket, so it is not replaced"): listen_at(place)
    assert os.path.lexists(place) and other.read_text() == "mine" and descriptors() == before


def test_a_link_to_a_socket_is_not_followed(place, tmp_path):
    with listen_at(other := tmp_path / "other.sock"):
        place.symlink_to(other)
        with pytest.raises(DaemonError, match="is not a socket"): listen_at(place)
        assert other.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    before = descriptors()
    with pytest.raises(DaemonError, match="cannot listen at .*away/daemon.sock: No such file"): listen_at(tmp_path / "away" / "daemon.sock")
    assert connect_to(tmp_path / "away" / "daemon.sock") is None and descriptors() == before


def test_a_path_that_is_too_long_for_an_address_is_no_obstacle(tmp_path):
    place = tmp_path.joinpath(*["a" * 60] * 4)
    place.mkdir(parents=True)
    before = descriptors()
    with listen_at(place / "daemon.sock"), connect_to(place / "daemon.sock"): pass
    with short_name(place / "x") as name: assert os.path.samefile(os.path.dirname(name), place)
    assert descriptors() == before, "a connection a second would use all of them up in a quarter of an hour"


def test_a_port_is_said_to_be_taken_or_none():
    before = descriptors()
    with listen_on(0) as made:
        assert made.getsockname()[0] == "127.0.0.1" and not made.getblocking()
        with pytest.raises(DaemonError, match="cannot be used: another program has it. Choose another with --port"): listen_on(made.getsockname()[1])
    with pytest.raises(DaemonError, match="70000 is not a port"): listen_on(70_000)
    assert descriptors() == before


def test_a_port_that_the_system_keeps_is_told_in_its_words(monkeypatch):
    class Refuses(socket.socket):
        def bind(self, address): raise PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(sockets.socket, "socket", Refuses)
    with pytest.raises(DaemonError, match="Port 80 cannot be used: Permission denied"): listen_on(80)


# Connecting

def test_a_daemon_of_somebody_else_is_told_nothing(place, monkeypatch):
    with listen_at(place):
        for uid in (os.geteuid(), 0):
            monkeypatch.setattr(sockets, "peer_of", lambda connection: Peer(1, uid, 0))
            connect_to(place).close()
        monkeypatch.setattr(sockets, "peer_of", lambda connection: Peer(1, 54_321, 0))
        before = descriptors()
        with pytest.raises(DaemonError, match="belongs to another user .number 54321."): connect_to(place)
        assert descriptors() == before
        (only,) = daemon_findings(Settings(place.parent))
        assert only.severity == "unhealthy" and "another user" in only.what


def test_only_who_speaks_first_greets():
    one, other = socket.socketpair(socket.AF_UNIX)
    other.settimeout(0.01)
    assert not greets(None) and not greets(other)
    one.send(b"hello")
    assert greets(other) is True and other.recv(9) == b"hello", "what was looked at is still to be read"
    one.close()
    assert greets(other) is False
    other.close()
    assert not greets(other)


# Who has the lock

def test_the_holder_of_a_lock_is_named_while_it_holds_it(place):
    folder = place.parent
    assert lock_holder(folder) == ""
    handle = take_lock(folder)
    assert lock_holder(folder) == str(os.getpid())
    os.close(handle)
    assert (folder / "daemon.lock").read_text().strip() == str(os.getpid()) and lock_holder(folder) == "", "who only wrote its number there has ended"
    with open(folder / "daemon.lock", "r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        assert lock_holder(folder) == "", "a lock of another kind is not the daemon's"


@pytest.mark.parametrize("said", [b"no number", b"\xff\xfe", b"", "²".encode()])
def test_a_lock_that_names_nobody_names_nobody(place, said):
    (lock := place.parent / "daemon.lock").write_bytes(said)
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock_holder(place.parent) == ""


def test_a_link_in_the_place_of_the_lock_is_not_followed(place, tmp_path):
    (other := tmp_path / "other").write_text("1\n")
    (place.parent / "daemon.lock").symlink_to(other)
    with open(other) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock_holder(place.parent) == ""


# What the doctor says

def said(place, patience=0.05): return [each if isinstance(each, str) else (each.severity, each.what, each.fix) for each in daemon_findings(Settings(place.parent), patience)]


@contextlib.contextmanager
def locked(folder):
    handle = take_lock(folder)
    try: yield os.getpid()
    finally: os.close(handle)


def test_what_is_said_where_nothing_listens(place):
    assert said(place) == ["No daemon runs; commands work alone."]
    with locked(place.parent) as pid:
        (told,) = said(place)
        assert told[0] == "note" and f"process {pid}" in told[1] and "its socket" in told[1] and told[2].endswith(f"kill {pid}")


def test_what_is_said_of_a_socket_that_was_left_behind(place):
    listen_at(place).close()
    assert said(place) == [("note", "A daemon ended without cleaning up.", "Start it again: passepartout daemon")]


def test_what_is_said_of_a_daemon_that_hangs(place):
    before = descriptors()
    with listen_at(place), locked(place.parent) as pid:
        assert said(place) == [("note", f"A daemon runs (process {pid}) and does not answer.", f"If that lasts, end it, and start another: kill -9 {pid}")]
    assert descriptors() == before


@pytest.mark.parametrize("mode, count", [(0o600, 1), (0o622, 2), (0o660, 2), (0o604, 2)])
def test_what_is_said_of_one_that_answers(place, mode, count):
    class Greeting:
        def __init__(self, made): self.made = made
        def recv(self, size, flags): return b"h"
        def close(self): closed.append(self.made.close())
        def getsockopt(self, *args): return self.made.getsockopt(*args)
    closed, real = [], connect_to
    with listen_at(place), pytest.MonkeyPatch.context() as patched:
        patched.setattr(sockets, "connect_to", lambda path, patience: Greeting(real(path, patience)))
        place.chmod(mode)
        told = said(place)
        assert told[0] == f"A daemon answers (process {os.getpid()})." and len(told) == count and len(closed) == 1
        if count == 2: assert told[1] == ("degraded", f"Others may write to the socket of the daemon, {place}.", f"chmod 600 '{place}'")


# A pipe in the place of a file --------------------------------------------------------------------------------------------

def typed_before(path):
    import readline
    from passepartout.terminal.lineediting import load_lines
    load_lines(readline, path, 10)


def typed_now(path):
    from passepartout.terminal.lineediting import append_line
    append_line(path, "find fig")


def typed_in_the_window(path):
    from passepartout.tui.entry import read_history
    assert read_history(path, 10) == []


def prompts_of_a_turn(path):
    from passepartout.prompts import read
    assert list(read(path, "0123456789ab")) == []


def holder_of_the_lock(path):
    path.rename(path.with_name("daemon.lock"))
    assert sockets.lock_holder(path.parent) == ""


@pytest.mark.parametrize("reads", [typed_before, typed_now, typed_in_the_window, prompts_of_a_turn, holder_of_the_lock])
def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(tmp_path, reads):
    "Opening a pipe waits for somebody at its other end, for ever: a chat that does not begin, a doctor that says nothing."
    os.mkfifo(path := tmp_path / "pipe.log")
    child = multiprocessing.get_context("fork").Process(target=reads, args=(path,), daemon=True)          # GNU readline holds all threads while it waits
    child.start()
    child.join(10)
    ended = child.exitcode
    child.kill()
    assert ended == 0
