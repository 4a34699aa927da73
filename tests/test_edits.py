"""What `edits` promises: no byte that somebody else wrote is lost, whatever they do and wherever we stop."""
import contextlib, errno, fcntl, itertools, json, os, re, resource as limits, subprocess, sys, threading, time
from pathlib import Path
from unittest.mock import patch
import pytest
import passepartout.edits as edits
from conftest import thinned
from passepartout.edits import EditConflict, EditFailed, FileEdit, apply_edit, difference, recover_edit
from passepartout.confinement.resources import Root, resolve
from waits import away, heard, in_vain, next_line, status, wait_for

ROOT = os.geteuid() == 0
need_root = pytest.mark.skipif(not ROOT, reason="needs root to mount, or to give files away")
REPO = Path(__file__).parents[1]


@pytest.fixture(params=[True, False], ids=["exchange", "aside"])
def exchange(request): return request.param


@pytest.fixture
def note(tmp_path):
    path = tmp_path / "note.org"
    path.write_bytes(b"before\n")
    return path


@pytest.fixture
def root(tmp_path):
    root = Root(tmp_path)
    yield root
    root.close()


@pytest.fixture(autouse=True)
def nothing_leaks(tmp_path):
    def held():
        "What is open below the folder of this test; what other threads of this process open is theirs."
        found = []
        for fd in os.listdir("/proc/self/fd"):
            try: found.append(os.readlink(f"/proc/self/fd/{fd}"))          # whole already, as the kernel says it
            except FileNotFoundError: pass          # it was what listed the folder
        return sorted(name for name in found if name.startswith(f"{tmp_path}"))
    yield
    assert len(left := held()) <= 1, left          # one, where the very closing of it was stopped


def change(root, after, before=b"before\n", name="note.org", **options):
    with resolve([root], name, "write") as file:
        edit = FileEdit(file, before, after)
        apply_edit(edit, **options)
    return edit


def strays(folder): return sorted(p.name for p in Path(folder).iterdir() if "passepartout" in p.name or "kept" in p.name)
def everything(folder): return [p.read_bytes() for p in sorted(Path(folder).iterdir()) if p.is_file()]


# The plain cases

def test_change_create_remove_and_back(note, root, exchange, tmp_path):
    change(root, b"after\n", exchange=exchange); assert note.read_bytes() == b"after\n"
    change(root, b"before\n", b"after\n", exchange=exchange); assert note.read_bytes() == b"before\n"
    change(root, None, exchange=exchange); assert not note.exists()
    change(root, b"before\n", None, exchange=exchange); assert note.read_bytes() == b"before\n"
    change(root, b"", exchange=exchange); assert note.read_bytes() == b""
    change(root, b"", b"", exchange=exchange); assert strays(tmp_path) == []


def test_a_new_file_has_ordinary_permissions(root, tmp_path):
    old = os.umask(0o027)
    try: change(root, b"x", None, "new.org")
    finally: os.umask(old)
    assert (tmp_path / "new.org").stat().st_mode & 0o7777 == 0o640


def test_names_at_the_limit(root, tmp_path, exchange):
    for name in ("x" * 255, "é" * 127, "no-suffix", "a.b.c"):
        change(root, b"1", None, name, exchange=exchange); change(root, b"2", b"1", name, exchange=exchange)
        assert (tmp_path / name).read_bytes() == b"2"


@pytest.mark.parametrize("now", [b"other\n", b"", b"before\nmore"])
def test_a_note_that_changed_is_left_alone(note, root, exchange, tmp_path, now):
    note.write_bytes(now); inode = note.stat().st_ino
    with pytest.raises(EditConflict) as conflict: change(root, b"after\n", exchange=exchange)
    assert note.read_bytes() == now and note.stat().st_ino == inode and strays(tmp_path) == [] and not conflict.value.touched
    assert conflict.value.diff.startswith("--- note.org")


@pytest.mark.parametrize("what", ["gone", "folder", "link", "pipe", "appeared"])
def test_a_note_that_became_something_else(note, root, exchange, tmp_path, what):
    with resolve([root], "note.org", "write") as file, resolve([root], "new.org", "write") as new:
        edit = FileEdit(new, None, b"after\n") if what == "appeared" else FileEdit(file, b"before\n", b"after\n")
        if what != "appeared": note.unlink()
        {"gone": lambda: None, "folder": note.mkdir, "link": lambda: note.symlink_to("/etc/passwd"), "pipe": lambda: os.mkfifo(note), "appeared": (tmp_path / "new.org").touch}[what]()
        with pytest.raises(EditFailed): apply_edit(edit, exchange=exchange)
    assert strays(tmp_path) == []


def test_the_folder_was_moved_or_removed(root, tmp_path, exchange):
    (tmp_path / "f").mkdir(); (tmp_path / "f" / "n").write_bytes(b"before\n")
    with resolve([root], "f/n", "write") as file:
        (tmp_path / "f" / "n").unlink(); (tmp_path / "f").rmdir()
        with pytest.raises(EditFailed): apply_edit(FileEdit(file, b"before\n", b"x"), exchange=exchange)
        with pytest.raises(EditFailed) as failure: apply_edit(FileEdit(file, None, b"x"), exchange=exchange)
    assert "folder" in failure.value.message


def test_only_what_was_opened_for_writing(note, root):
    with resolve([root], "note.org") as file, pytest.raises(EditFailed): apply_edit(FileEdit(file, b"before\n", b"x"))
    assert note.read_bytes() == b"before\n"


# Attributes

def test_attributes_are_kept(note, root, exchange):
    note.chmod(0o6755)
    os.setxattr(note, "user.origin", b"phone") if hasattr(os, "setxattr") else None
    change(root, b"after\n", exchange=exchange)
    assert note.stat().st_mode & 0o7777 == 0o755
    if hasattr(os, "getxattr"): assert os.getxattr(note, "user.origin") == b"phone"


@need_root
def test_owner_is_kept(note, root, exchange):
    os.chown(note, 12345, 12346)
    change(root, b"after\n", exchange=exchange)
    assert (note.stat().st_uid, note.stat().st_gid) == (12345, 12346)


@pytest.mark.slow
@need_root
@pytest.mark.parametrize("case", ["theirs", "readonly", "sticky"])
def test_without_the_right_to(tmp_path, case):
    work = tmp_path / "work"; work.mkdir(); (work / "note.org").write_bytes(b"before\n"); os.chmod(work / "note.org", 0o666)
    os.chmod(work, {"theirs": 0o777, "readonly": 0o755, "sticky": 0o1777}[case])
    code = ("import os, sys, difflib, unicodedata\nfrom passepartout.edits import *\nfrom passepartout.confinement.resources import *\nfrom passepartout.confinement.roots import *\nroot = Root(sys.argv[1])\nopened = resolve([root], 'note.org', 'write')\nos.setgroups([]); os.setgid(12345); os.setuid(12345)\n"
            "try: apply_edit(FileEdit(opened, b'before\\n', b'after\\n'))\nexcept EditFailed as e: print(e)")
    run = subprocess.run([sys.executable, "-c", code, work], capture_output=True, text=True, cwd=REPO, timeout=300)
    assert {"theirs": "belongs to another", "sticky": "belongs to another", "readonly": "read-only or protected"}[case] in run.stdout, run.stderr
    assert (work / "note.org").read_bytes() == b"before\n" and strays(work) == []


def test_a_hard_link_elsewhere_keeps_its_text(note, root, tmp_path, exchange):
    os.link(note, tmp_path / "other"); change(root, b"after\n", exchange=exchange)
    assert (tmp_path / "other").read_bytes() == b"before\n"


# Full disks

def test_a_file_that_may_not_grow(note, root, tmp_path, exchange):
    soft, hard = limits.getrlimit(limits.RLIMIT_FSIZE)
    limits.setrlimit(limits.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(EditFailed) as failure: change(root, b"x" * 200_000, exchange=exchange)
    finally: limits.setrlimit(limits.RLIMIT_FSIZE, (soft, hard))
    assert "does not fit" in failure.value.message and not failure.value.touched
    assert note.read_bytes() == b"before\n" and strays(tmp_path) == []


@need_root
def test_a_disk_that_is_full_and_one_that_is_read_only(tmp_path, exchange):
    disk = tmp_path / "disk"; disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True, timeout=120)
    try:
        (disk / "note.org").write_bytes(b"before\n")
        root = Root(disk)
        with pytest.raises(EditFailed, match="does not fit"): change(root, b"x" * 200_000, exchange=exchange)
        change(root, b"after\n", exchange=exchange)
        assert everything(disk) == [b"after\n"]
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True, timeout=120)
        with pytest.raises(EditFailed, match="can only be read now"): change(root, b"x", b"after\n", exchange=exchange)
        assert everything(disk) == [b"after\n"]
        root.close()
    finally: subprocess.run(["umount", disk], check=True, timeout=120)


def test_the_disk_does_not_confirm_the_swap(note, root, tmp_path):
    real, calls = os.fsync, []
    def failing(fd):
        calls.append(fd)
        if len(calls) == 2: raise OSError(errno.EIO, "Input/output error")
        real(fd)
    with patch.object(os, "fsync", failing), pytest.raises(EditFailed) as failure: change(root, b"after\n")
    assert failure.value.touched and note.read_bytes() == b"after\n"


CALLS = ("open", "pread", "fstat", "write", "fchmod", "fsync", "rename", "link", "unlink", "stat")

@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("before, after", [(b"before\n", b"after\n"), (None, b"after\n"), (b"before\n", None)], ids=["changed", "new", "removed"])
def test_what_is_said_of_an_edit_that_the_disk_broke_off_is_so(root, exchange, tmp_path, before, after, lasting):
    "At each call of the system in turn: what was read back after the swap had failed, and the note was said to be as before."
    where, done = tmp_path / "note.org", []
    for number in itertools.count(1):
        for path in tmp_path.iterdir(): path.unlink()
        if before is not None: where.write_bytes(before)
        count = [0]
        with resolve([root], "note.org", "write") as file, contextlib.ExitStack() as stack:
            edit = FileEdit(file, before, after)
            for name in CALLS:
                def call(*args, real=getattr(os, name), **keywords):
                    count[0] += 1
                    if count[0] == number or lasting and count[0] > number: raise OSError(errno.EIO, "Input/output error")
                    return real(*args, **keywords)
                stack.enter_context(patch.object(os, name, call))
            try: apply_edit(edit, exchange=exchange)
            except EditFailed as failure: said = failure
            else: said = None
        now = where.read_bytes() if where.exists() else None
        if said is None: assert now == after
        elif said.done: assert now == after and "did not confirm" in said.message and said.touched
        elif not said.touched: assert now == before and ("as it was before" in said.message or "changed by another" in said.message), (number, said.message)
        done.append(said)
        if count[0] < number: break
    assert len(done) > 5 and done[-1] is None and any(said and said.done for said in done) is not lasting


# Somebody writes in the middle: staged at every step

STEPS = ["_draft", "_swap_in", "exchange_names", "_hold", "_place", "_put_back"]

@pytest.mark.parametrize("step, when, way", thinned(itertools.product(STEPS, ["ahead", "behind"], ["rename", "in-place", "append", "remove"]), 5))
def test_a_save_at_any_step_survives(note, root, exchange, tmp_path, step, when, way):
    real, count = getattr(edits, step), [0]
    def save():
        count[0] += 1
        if count[0] > 3 or way == "remove" and not note.exists(): return
        text = b"saved %d\n" % count[0]
        if way == "rename": (tmp_path / "new").write_bytes(text); (tmp_path / "new").rename(note)
        elif way == "in-place": note.write_bytes(text)
        elif way == "append":
            with open(note, "ab") as f: f.write(text)
        else: note.rename(tmp_path / f"removed-{count[0]}")
    def wrapped(*args, **keywords):
        if when == "ahead": save()
        try: return real(*args, **keywords)
        finally:
            if when == "behind": save()
    try:
        with patch.object(edits, step, wrapped): change(root, b"after\n", exchange=exchange)
    except EditFailed: pass
    found = b"".join(everything(tmp_path))
    if count[0] and way in ("rename", "in-place"): assert b"saved %d\n" % min(count[0], 3) in found
    if way == "append": assert all(b"saved %d\n" % n in found for n in range(1, min(count[0], 3) + 1))
    if way == "remove" and count[0]: assert b"before\n" in found or b"after\n" in found
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".passepartout")]


def test_a_writer_with_the_file_open_is_seen(note, root, exchange):
    with open(note, "r+b") as editor:
        with pytest.raises(EditConflict): change(root, b"after\n", exchange=exchange)
        editor.write(b"mine!!!\n")
    assert note.read_bytes() == b"mine!!!\n"


def test_a_mapped_file_is_seen(note, root, exchange):
    import mmap
    with open(note, "r+b") as f: view = mmap.mmap(f.fileno(), 0)
    with pytest.raises(EditConflict): change(root, b"after\n", exchange=exchange)
    view[0:6] = b"mapped"; view.close()
    assert note.read_bytes() == b"mapped\n"


@pytest.mark.parametrize("waits", [False, True])
def test_a_writer_that_comes_too_late_is_waited_for_and_kept(note, root, exchange, tmp_path, waits):
    "On a busy machine it may come to its write long after its open: what it has open keeps a name."
    real, late, refused = os.fsync, [], threading.Event()
    def opening(fd):                                                           # after the swap, in the folder's fsync: somebody opens the old file
        if os.path.isdir(f"/proc/self/fd/{fd}") and not late:
            old = [n for n in os.listdir("/proc/self/fd") if _link(n).endswith((".swap", ".swap (deleted)"))]
            def write():
                with open(f"/proc/self/fd/{old[0]}", "r+b") as f:
                    if waits: refused.wait(60)
                    f.write(b"late!!\n")
            late.append(threading.Thread(target=write)); late[0].start()
            wait_for(lambda: not late[0].is_alive() or not any(map(_leased, old)), "The kernel's word that somebody wants to write")
        real(fd)
    with patch.object(os, "fsync", opening):
        try:
            with pytest.raises(EditConflict) as conflict: change(root, b"after\n", exchange=exchange)
        finally:
            refused.set()
            for thread in late: thread.join(60)
    assert conflict.value.touched and note.read_bytes() == b"after\n" and (tmp_path / conflict.value.kept).read_bytes() == b"late!!\n"


def _link(n):
    try: return os.readlink(f"/proc/self/fd/{n}")
    except OSError: return ""


def _leased(n):
    try: return fcntl.fcntl(int(n), fcntl.F_GETLEASE) == fcntl.F_RDLCK
    except OSError: return False


def test_without_leases_the_bytes_are_compared_again(note, root, tmp_path):
    with patch.object(fcntl, "fcntl", side_effect=OSError(errno.EINVAL, "no leases here")): change(root, b"after\n")
    assert note.read_bytes() == b"after\n" and strays(tmp_path) == []


def test_file_systems_that_can_do_neither(note, root, tmp_path):
    with patch.object(edits, "_renameat2", lambda: None):
        change(root, b"after\n"); change(root, b"new", None, "new.org")
        with pytest.raises(EditConflict):
            with resolve([root], "other.org", "write") as file: (tmp_path / "other.org").touch(); apply_edit(FileEdit(file, None, b"x"))
    assert note.read_bytes() == b"after\n" and strays(tmp_path) == []


# Real processes at once

WRITER = """
import os, sys, time
path, way, n = sys.argv[1], sys.argv[2], 0
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    n += 1
    if way == "append":
        with open(path, "ab") as f: f.write(b"line %d\\n" % n)
    else:
        try: text = open(path, "rb").read()
        except FileNotFoundError: n -= 1; continue                              # moved aside for an instant
        with open(path + ".tmp", "wb") as f: f.write(text + b"line %d\\n" % n)
        os.rename(path + ".tmp", path)
    time.sleep(0.0007)
print(n)
"""

@pytest.mark.parametrize("way", ["append", "rename"])
@pytest.mark.parametrize("seconds", [0.3, pytest.param(6, marks=pytest.mark.slow)])
def test_a_busy_writer_loses_nothing(note, root, exchange, tmp_path, way, seconds):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, note, way, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert next_line(writer) == "ready\n"
    made, conflicts, end = 0, 0, time.monotonic() + seconds + 120
    while writer.poll() is None:
        if time.monotonic() > end: raise in_vain(writer, "The end", seconds + 120)
        try:
            with resolve([root], "note.org", "write") as file:
                before = file.read_bytes()
                apply_edit(FileEdit(file, before, before + b"agent %d\n" % made), exchange=exchange)
            made += 1
        except EditConflict: conflicts += 1
        except Exception as error:
            if "There is no" not in str(error): raise                          # moved aside for an instant
    out = heard(writer.stdout).all(60)
    away(writer)
    lines = b"".join(everything(tmp_path)).splitlines()
    if way == "append": assert {b"line %d" % n for n in range(1, int(out.split()[-1]) + 1)} <= set(lines)   # a person's appended line is never lost
    else: assert b"line %d" % int(out.split()[-1]) in lines
    assert made + conflicts > (5 if seconds > 1 else 0) and not [p for p in tmp_path.iterdir() if p.name.startswith(".passepartout")]


AGENT = """
import sys
from passepartout.edits import *
from passepartout.confinement.resources import *
from passepartout.confinement.roots import *
root, who, made = Root(sys.argv[1]), sys.argv[2], 0
while made < 30:
    with resolve([root], "note.org", "write") as file:
        before = file.read_bytes()
        try: apply_edit(FileEdit(file, before, before + f"{who} {made}\\n".encode())); made += 1
        except EditConflict as c: assert c.kept is None
"""

@pytest.mark.slow
def test_agents_on_the_same_note(note, tmp_path):
    agents = [subprocess.Popen([sys.executable, "-c", AGENT, tmp_path, str(n)], cwd=REPO) for n in range(3)]
    try: assert [status(a) for a in agents] == [0, 0, 0]
    finally: away(*agents)
    assert sorted(note.read_bytes().splitlines()) == sorted([b"before"] + [b"%d %d" % (a, n) for a in range(3) for n in range(30)])
    assert strays(tmp_path) == []


# Crashes

VICTIM = """
import json, os, sys
from passepartout.edits import *
from passepartout.confinement.resources import *
from passepartout.confinement.roots import *
root, n = Root(sys.argv[1]), 0
options = dict(exchange=sys.argv[2] == "True")
while True:
    with resolve([root], "note.org", "write") as file:
        before = file.read_bytes()
        edit = FileEdit(file, before, b"%d\\n" % n * 50)
        print(json.dumps(edit.record()), flush=True)
        apply_edit(edit, **options); n += 1
"""

def crash(note, tmp_path, exchange, rounds, seed):
    import json, random
    rng, root = random.Random(seed), Root(tmp_path)
    for _ in range(rounds):
        victim = subprocess.Popen([sys.executable, "-c", VICTIM, tmp_path, str(exchange)], stdout=subprocess.PIPE, text=True, cwd=REPO)
        try:
            next_line(victim)
            time.sleep(rng.random() * 0.02)
            victim.kill()
            records = heard(victim.stdout).all(60).splitlines(keepends=True)
        finally: away(victim)
        record = json.loads([r for r in records if r.endswith(("}", "}\n"))][-1])
        assert recover_edit(record, [root]) in ("before", "after")
        assert strays(tmp_path) == []
    root.close()


@pytest.mark.slow
def test_killed_at_any_moment(note, tmp_path, exchange): crash(note, tmp_path, exchange, 5, 1)


@pytest.mark.slow
def test_killed_very_often(note, tmp_path, exchange): crash(note, tmp_path, exchange, 150, 2)


class Stop(BaseException): pass

def stop_at(number):
    "Raise `Stop` at the nth system call that matters."
    names, count = ("rename", "unlink", "link", "fsync", "fchmod", "write"), [0]
    patches = []
    for name in names:
        real = getattr(os, name)
        def call(*args, real=real, **keywords):
            count[0] += 1
            if count[0] == number: raise Stop()
            return real(*args, **keywords)
        patches.append(patch.object(os, name, call))
    return patches


@pytest.mark.parametrize("number", range(1, 12))
@pytest.mark.parametrize("dies", [False, True], ids=["interrupted", "dies"])
def test_stopped_at_each_call(note, root, exchange, tmp_path, number, dies):
    from contextlib import ExitStack
    with resolve([root], "note.org", "write") as file:
        edit = FileEdit(file, b"before\n", b"after\n")
        with ExitStack() as stack:
            for each in stop_at(number): stack.enter_context(each)
            if dies: stack.enter_context(patch.object(edits, "_tidy", lambda *a: None))
            try: apply_edit(edit, exchange=exchange)
            except Stop: pass
    if not dies: assert [p.name for p in tmp_path.iterdir()] == ["note.org"]
    state = recover_edit(edit.record(), [root])
    assert note.read_bytes() == {"before": b"before\n", "after": b"after\n"}[state] and [p.name for p in tmp_path.iterdir()] == ["note.org"]


def test_states(note, root, tmp_path):
    with resolve([root], "note.org", "write") as file: record = FileEdit(file, b"before\n", b"after\n").record()
    assert "before\\n" not in str(record)
    assert recover_edit(record, [root]) == "before"
    note.write_bytes(b"after\n"); assert recover_edit(record, [root]) == "after"
    note.write_bytes(b"x"); assert recover_edit(record, [root]) == "other"
    note.unlink(); assert recover_edit(record, [root]) == "other"
    assert recover_edit({**record, "path": "no/such"}, [root]) == recover_edit({**record, "path": "../x"}, [root]) == "other"
    assert recover_edit({**record, "before": None}, [root]) == "before"
    (tmp_path / f".passepartout-{record['mark']}.swap").write_bytes(b"before\n")
    assert recover_edit(record, [root]) == "before" and note.read_bytes() == b"before\n"


def test_what_is_no_file_is_no_text_either(note, root, tmp_path):
    "An empty note and a pipe read alike."
    with resolve([root], "note.org", "write") as file: record = FileEdit(file, b"before\n", b"").record()
    note.unlink(); os.mkfifo(note)
    assert recover_edit(record, [root]) == "other"


def test_a_file_that_comes_back_has_its_permissions_again(note, root, tmp_path):
    note.chmod(0o640)
    with resolve([root], "note.org", "write") as file:
        assert not {"mode"} & {*FileEdit(file, b"before\n", b"after\n").record(), *FileEdit(file, None, b"").record(), *FileEdit(file, None, None).record()}
        record = FileEdit(file, b"before\n", None).record()
    assert record["mode"] == 0o640
    change(root, None)
    for umask in (0o077, 0):
        old = os.umask(umask)
        try:
            with resolve([root], "note.org", "write") as file: apply_edit(FileEdit(file, None, b"before\n", mode=record["mode"]))
        finally: os.umask(old)
        assert note.stat().st_mode & 0o777 == 0o640
        note.unlink()


@pytest.mark.parametrize("second", [b"second\n", None])
def test_somebody_who_saves_twice_while_an_edit_goes_on_has_the_last_text_in_the_note(note, root, tmp_path, second):
    "Once before the edit takes the note out, and once more before it puts back what it found."
    texts, exchange = iter([b"first\n", second]), edits.exchange_names
    def saves(folder, one, other):
        if (text := next(texts, ...)) is None: note.unlink()
        elif text is not ...:
            (tmp_path / "new").write_bytes(text)
            (tmp_path / "new").rename(note)
        return exchange(folder, one, other)
    with patch.object(edits, "exchange_names", saves), pytest.raises(EditConflict) as conflict: change(root, b"after\n")
    assert note.read_bytes() == (second or b"first\n")
    kept = [each for each in strays(tmp_path) if "kept" in each]
    assert [(tmp_path / each).read_bytes() for each in kept] == ([b"first\n"] if second else []) and all(each in conflict.value.message for each in kept)
    assert strays(tmp_path) == kept


def test_a_version_that_nobody_accounts_for_in_the_working_file_is_told(note, root, tmp_path):
    with resolve([root], "note.org", "write") as file: record = FileEdit(file, b"before\n", b"after\n").record()
    note.write_bytes(b"after\n")
    for held, state in ((b"before\n", "after"), (b"after\n", "after"), (b"somebody else's\n", "other")):
        (tmp_path / f".passepartout-{record['mark']}.swap").write_bytes(held)
        assert recover_edit(record, [root]) == state


def test_differences():
    assert difference(None, b"a\n", "n").startswith("--- /dev/null\n+++ n\n") and difference(b"a", None, "n").splitlines()[1].startswith("+++ /dev/null")
    assert "No newline" in difference(b"a", b"b", "n") and "bytes before" in difference(b"a" * 10**6, b"b", "n") and difference(b"\xff\n", b"a\n", "n")


def test_a_lock_that_is_never_released(note, root, tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY); fcntl.flock(fd, fcntl.LOCK_EX)
    real = edits._locked
    with patch.object(edits, "_locked", lambda folder: real(folder, 0.02)), pytest.raises(EditFailed, match="another agent"): change(root, b"after\n")
    os.close(fd)
    assert note.read_bytes() == b"before\n"


@pytest.mark.slow
async def test_nothing_that_a_crash_is_recovered_by_is_taken_for_a_secret(tmp_path):
    "The journal redacts what looks like a key: what it says of an edit must be there when somebody has to finish it."
    from passepartout.agent import Agent
    (tmp_path / "memex").mkdir()
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("reflex",))
    try:
        for n in range(40): await agent.handle(f"todo: item {n}")
        await agent.undo(3)
        records = agent.journal.records()
        assert sum(r["kind"] == "intent" for r in records) == 43 and not [r for r in records if "[secret" in json.dumps(r["body"])]
        assert all(re.fullmatch("[0-9a-f]{16}", e["detail"]["edit"]["mark"]) for e in agent.journal.effects())
    finally: await agent.close()


# Identities ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("where, named", [("here.org", "line 5 of here.org"), ("there.org", "A heading of another note")])
def test_no_tool_gives_a_heading_an_id_that_another_one_has(tmp_path, where, named):
    import asyncio
    from passepartout.agent import Agent
    from passepartout.backends import register_backend
    for part in ("memex", "state", "config", "cache"): (tmp_path / part).mkdir()
    owner = "* Secret plan :@private:\n:PROPERTIES:\n:ID: one-1\n:END:\n"
    (tmp_path / "memex/here.org").write_text("* Bees\nHoney.\n\n" + "\n" + (owner if where == "here.org" else ""))
    if where == "there.org": (tmp_path / "memex/there.org").write_text(owner)
    before = (tmp_path / "memex/here.org").read_bytes()
    agent = asyncio.run(Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("played",), permissions={"default": "allow"}))
    try:
        call = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-set-property" :EXPLANATION "Give the bees an ID so that they can be linked to" :ARGS (:PATH "here.org" :HEADING "Bees" :NAME "%s" :VALUE "%s")))'
        seen, script = [], [call % ("Id", "one-1"), "It has one.", call % ("ID", "free-3"), "Done.", call % ("ID", "free-3"), "Still."]
        register_backend(agent, "played", lambda prompt, system_prompt: seen.append(prompt) or (script.pop(0) if script else "Nothing more."), inline=True, local=True)
        if agent.upkeep: agent.upkeep.index.refresh()
        reply = agent.run(agent.handle("Give the bees in here.org the ID one-1"))
        told = reply.text + " ".join(map(str, seen))
        assert (tmp_path / "memex/here.org").read_bytes() == before and not reply.approvals
        assert named in told and "has the ID one-1 already" in told and "Secret plan" not in told, told
        for _ in range(2):                                      # a free one, and the one that it has by then
            agent.run(agent.handle("Give the bees in here.org the ID free-3"))
            assert (tmp_path / "memex/here.org").read_text().count("free-3") == 1
    finally: agent.run(agent.close())


@pytest.mark.parametrize("name", ["買い物\u3000メモ.org", "a\u00a0b.org", "a\u200bb.org", "soft\u00adhyphen.org", r"a\u3000b.org", r"AC\DC.org", os.fsdecode(b"caf\xe9.org")])
def test_a_crash_is_settled_whatever_the_note_is_called(tmp_path, name):
    """The record named the file as screens spell it, so after a crash nobody found it."""
    (tmp_path / name).write_text("* Old\n")
    root = Root(tmp_path)
    with resolve([root], name, "write") as file:
        edit = FileEdit(file, b"* Old\n", b"* New\n")
        record = json.loads(json.dumps(edit.record()))
        assert recover_edit(record, [root]) == "before"
        apply_edit(edit)
    assert recover_edit(record, [root]) == "after"
    root.close()
    assert (tmp_path / name).read_text() == "* New\n" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("after", [b"* TODO a\n* b\n", None])
def test_a_note_that_is_read_only_is_left_alone(tmp_path, after):
    root, note = Root(tmp_path), tmp_path / "a.org"
    note.write_bytes(b"* TODO a\n"); note.chmod(0o444)
    with resolve([root], "a.org", "write") as file:
        with pytest.raises(EditFailed, match="is read-only, so it was left as it is"): apply_edit(FileEdit(file, file.read_bytes(), after))
    assert note.read_bytes() == b"* TODO a\n" and os.listdir(tmp_path) == ["a.org"]
    note.chmod(0o644)
    with resolve([root], "a.org", "write") as file: apply_edit(FileEdit(file, file.read_bytes(), after))
    assert (note.read_bytes() if note.exists() else None) == after
