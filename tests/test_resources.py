"""What `resources` promises, against a second process that swaps, against both ways of resolving, and against collected traversal attempts."""
import errno, json, os, resource as limits, socket, stat, subprocess, sys, tempfile, time
from pathlib import Path
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from conftest import examples
from passepartout.confinement import resources
import passepartout.confinement.openedpath as openedpath
from passepartout.oneline import displayed, shown
from passepartout.confinement.resources import hint, names_below, resolve, where
from passepartout.confinement.roots import PathRefused, Root
from waits import away, in_time, next_line

ROOT = os.geteuid() == 0
need_root = pytest.mark.skipif(not ROOT, reason="needs root to mount, or to own files of others")


@pytest.fixture(params=[True, False], ids=["openat2", "by-hand"])
def kernel(request): return request.param


@pytest.fixture
def tree(tmp_path):
    memex, outside = tmp_path / "memex", tmp_path / "outside"
    for folder in (memex / "a" / "b", memex / ".git", outside): folder.mkdir(parents=True)
    (memex / "inbox.org").write_bytes(b"inbox")
    (memex / "a" / "b" / "deep.org").write_bytes(b"deep")
    (memex / ".git" / "config").write_bytes(b"config")
    (outside / "secret").write_bytes(b"secret")
    return memex


@pytest.fixture
def root(tree, kernel):
    root = Root(tree, kernel=kernel)
    yield root
    root.close()


@pytest.fixture
def fast(tmp_path):
    "A folder in memory where there is one: many small files, on a busy disk, take seconds."
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder: yield Path(folder)


def open_fds(): return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_leaks():
    before = open_fds()
    yield
    assert open_fds() <= before + 1                                             # the root itself may still be open


def reason(roots, text, access="read"):
    with pytest.raises(PathRefused) as refusal: resolve(roots, text, access)
    assert "\x1b" not in refusal.value.message and len(refusal.value.message) < 700
    return refusal.value.reason


# What is inside, what is outside

@pytest.mark.parametrize("text, real", [("inbox.org", "inbox.org"), ("./inbox.org", "inbox.org"), ("a//b/./deep.org", "a/b/deep.org"), ("a/../inbox.org", "inbox.org"),
                                        ("a/b/../../inbox.org", "inbox.org"), ("../memex/inbox.org", "inbox.org"), ("../memex/../memex/a/b/deep.org", "a/b/deep.org")])
def test_spellings_of_one_file(root, text, real):
    with resolve([root], text) as file: assert file.relative == file.display == real and file.kind == "file"


@pytest.mark.slow
@pytest.mark.parametrize("text, why", [
    ("../outside/secret", "outside"), ("a/../../outside/secret", "outside"), ("/etc/passwd", "outside"), ("/", "outside"), ("..", "outside"), ("../memex", "kind"), ("../memex/../outside/secret", "outside"),
    ("inbox.org/", "missing"), ("inbox.org/.", "missing"), ("inbox.org/..", "missing"), ("inbox.org/x", "missing"), ("nothing", "missing"), ("~/inbox.org", "missing"),
    ("", "name"), ("in\0box", "name"), ("inbox.org\0/../../outside/secret", "name"), ("in\nbox", "name"), ("\x1b[2J", "name"), ("\x9b", "name"), ("\ud800", "name"),
    ("x" * 256, "name"), ("a/" * 3000, "name"), ("é" * 200, "name"), ("a", "kind"), (".", "kind"), ("INBOX.ORG", "missing"), ("inbox.org ", "missing")])
def test_refused(root, text, why): assert reason([root], text) == why


@pytest.mark.parametrize("access", ["read", "write", "tree"])
@pytest.mark.parametrize("value", [None, 7, b"inbox.org", Path("inbox.org"), ["inbox.org"]])
def test_only_text_is_a_path(root, value, access): assert reason([root], value, access) == "name"


def test_absolute_paths(tree, root, tmp_path):
    for text in (f"{tree}/inbox.org", f"/{tree}//./inbox.org".replace("//", "/", 1)):
        with resolve([root], text) as file: assert file.display == "inbox.org"
    assert reason([root], f"{tree}-2/inbox.org") == "outside"
    assert reason([root], f"{tree}/../outside/secret") == "outside"
    with resolve([root], str(tree), "tree") as folder: assert folder.relative == "."
    with resolve([root], f"{tree}/", "tree") as folder: assert folder.kind == "dir"


def test_a_root_given_through_a_link(tree, tmp_path, kernel):
    (tmp_path / "notes").symlink_to(tree)
    root = Root(tmp_path / "notes", kernel=kernel)
    for text in (f"{tmp_path}/notes/inbox.org", f"{tree}/inbox.org", "inbox.org"):
        with resolve([root], text) as file: assert (file.display, file.relative) == ("inbox.org", "inbox.org")
    root.close()


def test_several_roots(tree, tmp_path, kernel):
    (tree / "a" / "work").mkdir(); (tree / "a" / "work" / "x").write_bytes(b"x")
    outer, inner, other = roots = [Root(p, kernel=kernel) for p in (tree, tree / "a" / "work", tmp_path / "outside")]
    with resolve(roots, f"{tree}/a/work/x") as file: assert file.root is inner                       # the closest root
    with resolve(roots, f"{tmp_path}/outside/secret") as file: shown = file.display
    with resolve(roots, shown) as again: assert again.root is other and again.display == shown       # what is shown resolves again
    assert reason(roots, "secret") == "missing"                                                       # relative means the first root
    with resolve(roots, f"{tmp_path}/outside", "tree") as top: assert [f.display for f in top.walk()] == [f"{tmp_path}/outside/secret"]
    for each in roots: each.close()


def test_roots_that_cannot_be(tmp_path):
    for bad in ("", tmp_path / "no", tmp_path / "in\0valid"): pytest.raises(PathRefused, Root, bad)
    (tmp_path / "file").write_text("")
    pytest.raises(PathRefused, Root, tmp_path / "file")
    assert reason([], "x") == "outside"


# Links

def test_links(tree, root, tmp_path):
    for name, target in {"near": "a/b/deep.org", "up": "a/b/../../inbox.org", "far": "../outside/secret", "abs": f"{tree}/inbox.org", "absfar": str(tmp_path / "outside" / "secret"),
                         "loop": "loop", "folder": "a", "slash": "inbox.org/", "gone": "nothing", "chain": "near", "etc": "/etc", "back": "../memex/inbox.org", "proc": "/proc/self/root", "dot": "."}.items():
        (tree / name).symlink_to(target)
    for name, real in {"near": "a/b/deep.org", "up": "inbox.org", "abs": "inbox.org", "chain": "a/b/deep.org", "folder/b/deep.org": "a/b/deep.org", "dot/dot/inbox.org": "inbox.org", "folder/../inbox.org": "inbox.org"}.items():
        with resolve([root], name) as file: assert file.relative == real
    for name in ("far", "absfar", "loop", "etc/passwd", "back", "proc/etc/passwd"): assert reason([root], name) == "outside"
    assert reason([root], "slash") == "missing" and reason([root], "gone") == "missing"
    with resolve([root], "gone", "write") as file: assert (file.kind, file.relative) == ("missing", "nothing")


def test_forty_links_at_most(tree, root):
    (tree / "l0").symlink_to("inbox.org")
    for i in range(45): (tree / f"l{i + 1}").symlink_to(f"l{i}")
    resolve([root], "l39").close()
    assert reason([root], "l41") == "outside"


def test_magic_links(kernel):
    root = Root("/proc/self", kernel=kernel)
    for text in ("root/etc/passwd", "cwd", "exe", "fd/0"): assert reason([root], text) in ("outside", "missing")
    root.close()


# What is not a file

def test_pipes_sockets_and_devices_are_refused_without_waiting(tree, root):
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tree); server.bind("sock"); os.chdir("/")
        if ROOT: os.mknod(tree / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        begun = time.monotonic()
        for access in ("read", "write", "tree"):
            for name in ("pipe", "sock") + (("null",) if ROOT else ()): assert reason([root], name, access) == "kind"
        assert time.monotonic() - begun < 30           # a pipe would wait for ever


def test_a_pipe_that_appears_in_a_walk_does_not_block(tree, root, monkeypatch):
    def late(folder, limit=200_000, entries=openedpath.entries_of):
        found = entries(folder)
        if ("inbox.org", "file") in found: (tree / "inbox.org").unlink(); os.mkfifo(tree / "inbox.org")
        return found
    monkeypatch.setattr(openedpath, "entries_of", late)
    skipped = []
    with resolve([root], ".", "tree") as top: assert [f.relative for f in top.walk(skipped=skipped)] == ["a/b/deep.org"]
    assert skipped == [("inbox.org", "not an ordinary file")]


@need_root
def test_a_mounted_file_system_is_not_part_of_the_root(tree, root):
    (tree / "usb").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", tree / "usb"], check=True, timeout=120)
    try:
        (tree / "usb" / "x.org").write_text("x")
        (tree / "bound").touch()
        subprocess.run(["mount", "--bind", tree.parent / "outside" / "secret", tree / "bound"], check=True, timeout=120)
        try:
            for text in ("usb/x.org", "bound", "usb/../usb/x.org"): assert reason([root], text) == "outside"
            assert reason([root], "usb", "tree") == "outside"
            with resolve([root], ".", "tree") as top: assert {f.relative for f in top.walk()} == {"inbox.org", "a/b/deep.org"}
        finally: subprocess.run(["umount", tree / "bound"], check=True, timeout=120)
        inner = Root(tree / "usb", kernel=root.kernel is not None)
        resolve([inner], "x.org").close(); inner.close()
    finally: subprocess.run(["umount", tree / "usb"], check=True, timeout=120)


@need_root
def test_files_of_others(tree, root):
    (tree / "theirs").write_bytes(b"t"); os.chown(tree / "theirs", 12345, 12345)
    with resolve([root], "theirs") as file: assert file.read_bytes() == b"t"
    os.link(tree / "theirs", tree.parent / "second")
    assert reason([root], "theirs") == "outside"
    with resolve([root], ".", "tree") as top: assert "theirs" not in {f.relative for f in top.walk()}


def test_hard_links_of_ones_own(tree, root):
    os.link(tree / "inbox.org", tree / "again.org")
    with resolve([root], "again.org") as file: assert file.links == 2


@need_root
def test_no_permission(kernel):
    # In a folder of its own: how deep `tmp_path` lies depends on how many processes test, and each session of pytest closes what is above it to other users again.
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "memex"
        (tree / "a" / "b").mkdir(parents=True); (tree / "a" / "b" / "deep.org").touch(); (tree / "inbox.org").touch()
        (tree / "closed").mkdir(); (tree / "locked").touch(); os.chmod(tree / "locked", 0); os.chmod(tree / "closed", 0)
        for folder in (tree, Path(place)): os.chmod(folder, 0o755)
        if not all(folder.stat().st_mode & stat.S_IXOTH for folder in Path(place).resolve().parents): pytest.skip("the temporary folder is closed to other users")
        code = ("import sys, os, unicodedata, encodings.unicode_escape\nfrom passepartout.confinement.resources import *\nfrom passepartout.confinement.roots import *\nroot = Root(sys.argv[1], kernel=sys.argv[2] == 'True')\nos.setuid(12345)\n"
                "for text in ('locked', 'closed/x'):\n    try: resolve([root], text)\n    except PathRefused as r: print(r.reason)\n"
                "skipped = []\nprint([f.relative for f in resolve([root], '.', 'tree').walk(skipped=skipped)], sorted(skipped))")
        run = subprocess.run([sys.executable, "-c", code, tree, str(kernel)], capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=120)
    assert run.stdout.splitlines() == ["denied", "denied", "['a/b/deep.org', 'inbox.org'] [('closed', 'permission denied'), ('locked', 'permission denied')]"], run.stderr


# Reading and walking

def test_reading(tree, root):
    (tree / "big").write_bytes(b"x" * 100_000); (tree / "empty").touch()
    with open(tree / "sparse", "wb") as f: f.truncate(1 << 40)
    with resolve([root], "big") as file:
        assert file.read_bytes() == file.read_bytes() == b"x" * 100_000
        assert file.read_bytes(100_000) and pytest.raises(PathRefused, file.read_bytes, 99_999).value.reason == "large"
        with open(tree / "big", "ab") as f: f.write(b"more")
        assert len(file.read_bytes()) == 100_004
    with resolve([root], "empty") as file: assert file.read_bytes() == b""
    with resolve([root], "sparse") as file: assert pytest.raises(PathRefused, file.read_bytes).value.reason == "large"
    assert pytest.raises(PathRefused, file.read_bytes).value.reason == "closed"


@pytest.mark.slow
def test_ten_thousand_files(fast, kernel):
    for i in range(10_000): os.mknod(fast / f"{i:05}.org")
    root, before, most, names = Root(fast, kernel=kernel), open_fds(), 0, []
    with resolve([root], ".", "tree") as top:
        for file in top.walk([".org"]):
            names.append(file.name)
            if len(names) % 1000 == 0: most = max(most, open_fds())
        assert names == sorted(names) and len(names) == 10_000 and most < before + 8
        assert len(list(top.walk(max_files=7))) == 7 and len(list(top.walk(max_files=0))) == 0 and len(list(top.walk([".md"]))) == 0
    root.close()


def test_a_walk_that_is_left_early_closes_everything(root):
    with resolve([root], ".", "tree") as top:
        for file in top.walk(): break
        del file
    assert pytest.raises(PathRefused, lambda: list(top.walk())).value.reason == "closed"


def test_walk_of_one_file_and_of_odd_names(tree, root):
    for name in (b"caf\xe9.org", b"new\nline.org", "\u202egro.txt".encode(), b"UPPER.ORG", b".hidden.org"): (tree / os.fsdecode(name)).touch()
    with resolve([root], ".", "tree") as top: seen = {f.display: f.relative for f in top.walk([".org", ".txt"])}
    assert {"caf\\xe9.org", "new\\nline.org", "\\u202egro.txt", "UPPER.ORG"} < set(seen) and not any("hidden" in name for name in seen)
    with resolve([root], os.fsdecode(b"caf\xe9.org")) as file: assert file.kind == "file"
    with resolve([root], "inbox.org", "tree") as top: assert [f.read_bytes() for f in top.walk()] == [b"inbox"]


def test_deep_trees_end(tree, root):
    folder = tree / "d"
    for _ in range(100): folder.mkdir(); folder = folder / "d"
    skipped = []
    with resolve([root], "d", "tree") as top: assert list(top.walk(skipped=skipped)) == []
    assert skipped[0][1] == "too deep"


def test_everything_vanishes_during_a_walk(tree, root):
    import shutil
    (tree / "z").mkdir(); (tree / "z" / "last.org").touch()
    with resolve([root], ".", "tree") as top:
        walk = top.walk()
        assert next(walk).name == "deep.org"
        for name in ("a", "z"): shutil.rmtree(tree / name)
        (tree / "z").symlink_to(tree.parent / "outside")
        assert [f.relative for f in walk] == ["inbox.org"]


def test_hints(tree, root):
    (tree / "caf\u00e9.org").touch()
    for text, near in (("Inbox.org", "inbox.org"), ("cafe\u0301.org", "caf\u00e9.org"), ("A/b", "")):
        assert f"Did you mean {near}" in str(pytest.raises(PathRefused, resolve, [root], text).value) or not near
    assert "Did you mean" not in str(pytest.raises(PathRefused, resolve, [root], ".GIT").value)


def test_a_file_that_is_meant_is_found_in_another_folder_with_another_ending_or_letter(tree, root):
    for name in ("projects/roof.org", "projects/2026/gutter.md", ".hidden/roof.org", "people/ana.org", "people/Samir Ö.org"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("x")
    (tree / "projects" / "elsewhere").symlink_to(tree.parent)
    for text, meant in (("roof.org", "projects/roof.org"), ("project/roof.org", "projects/roof.org"), ("roof.md", "projects/roof.org"), ("notes/Gutter.org", "projects/2026/gutter.md"), ("people/anna.org", "people/ana.org"),
                        ("samir ö.org", "people/Samir Ö.org"), (f"{tree}/roof.org", f"{tree}/projects/roof.org"), ("cellar.org", ""), ("x", ""), ("", ""), ("..", ""), (".hidden/roofs.org", "")):
        said = hint(root, text)
        assert said == (f" Did you mean {meant}?" if meant else ""), (text, said)
    assert str(pytest.raises(PathRefused, resolve, [root], "roof.org").value).endswith(" Did you mean projects/roof.org?")
    assert "Did you mean projects?" in str(pytest.raises(PathRefused, resolve, [root], "project", "tree").value)


def test_a_path_from_the_top_that_is_one_of_the_notes_is_recognised(tree, root):
    (tree / "projects").mkdir(); (tree / "projects" / "roof.org").touch(); (tree / ".hidden").touch()
    (tree / "link").symlink_to("/etc/hostname")
    for text, meant in (("/projects/roof.org", " Did you mean projects/roof.org?"), ("/projects", " Did you mean projects?"), ("/", " The folder of the notes is called . here."), ("/etc/passwd", ""), ("/.hidden", ""), ("/link", ""), ("//projects", ""), ("/projects/../.hidden", "")):
        said = str(pytest.raises(PathRefused, resolve, [root], text).value)
        assert said.endswith(f"in the settings.{meant}"), said


def test_a_hint_is_looked_for_within_bounds(tree, root):
    for n in range(300): (tree / f"d{n}").mkdir()
    for n in range(3000): (tree / "d1" / f"{'many' * 30}{n}.org").touch()
    begun = time.process_time()
    assert hint(root, "x" * 200_000 + ".org") == "" and len(names_below(root)) <= 2_000
    assert in_time(time.process_time() - begun, 2)


def test_shown():
    assert shown("a" * 1000).count("a") < 160 and shown("naïve 👩‍🍳.org") == "naïve 👩‍🍳.org" and shown("\ud800") == "\\ud800" and shown("a\u202eb") == "a\\u202eb"


# Both ways agree, and nothing escapes

PART = st.sampled_from(["a", "b", "f", "..", ".", "", "l", "m", "n", "x", ".git"])
@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(links=st.dictionaries(st.tuples(st.sampled_from(["", "a", "a/b"]), st.sampled_from(["l", "m", "n"])), st.lists(PART, min_size=1, max_size=4), max_size=5),
       absolute=st.booleans(), text=st.lists(PART, min_size=1, max_size=6), access=st.sampled_from(["read", "write", "tree"]))
def test_both_ways_agree_and_stay_inside(fast, links, absolute, text, access):
    import shutil
    base = fast / "base"
    shutil.rmtree(base, ignore_errors=True)
    memex = base / "memex"
    (memex / "a" / "b").mkdir(parents=True)
    for name in ("f", "a/f", "a/b/f"): (memex / name).write_text(name)
    (base / "f").write_text("outside")
    for (folder, name), target in links.items():
        target = "/".join(target)
        (memex / folder / name).symlink_to(f"{memex}/{target}" if absolute else target or ".")
    path, answers = "/".join(text), []
    for way in (True, False):
        root = Root(memex, kernel=way)
        try:
            with resolve([root], path, access) as opened:
                answers.append((opened.relative, opened.kind, opened.identity))
                real = os.path.realpath(memex / path)
                if not (absolute and links): assert real == os.path.normpath(memex / opened.relative)
                assert real == str(memex) or real.startswith(f"{memex}/")
                if opened.fd is not None: assert os.path.samestat(os.fstat(opened.fd), os.stat(real))
        except PathRefused as refusal: answers.append(refusal.reason)
        finally: root.close()
    assert answers[0] == answers[1]


BESIDE = st.sampled_from(["..", "..", "memex", "code", "f", "a", "l", ".", "", "base"])
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(BESIDE, min_size=1, max_size=7), access=st.sampled_from(["read", "write", "tree"]))
def test_what_lies_beside_opens_only_as_a_workspace_and_is_what_the_kernel_finds(fast, text, access):
    import shutil
    base = fast / "base"
    shutil.rmtree(base, ignore_errors=True)
    for folder in ("memex", "code"):
        (base / folder / "a").mkdir(parents=True)
        for name in ("f", "a/f"): (base / folder / name).write_text(folder)
    (base / "f").write_text("outside")
    (base / "memex" / "l").symlink_to(base / "code" / "a")                         # behind a link, `..` is another folder
    path, roots = "/".join(text), [Root(base / "memex"), Root(base / "code")]
    try:
        with resolve(roots, path, access) as opened:
            real = os.path.realpath(base / "memex" / path)
            assert any(real == root.path or real.startswith(root.path + "/") for root in roots), real
            if opened.fd is not None: assert os.path.samestat(os.fstat(opened.fd), os.stat(base / "memex" / path))
            assert os.path.normpath(os.path.join(opened.root.path, opened.relative)) == real
    except PathRefused:
        names = "/".join(text).lstrip("./").split("/")                             # what climbs only at its beginning, through no link, to a file that is open, is no reason to refuse
        plain = os.path.normpath(base / "memex" / path)
        assert ".." in names or "l" in names or path.endswith(("/", ".")) or not os.path.isfile(plain) or plain == str(base / "f"), path
    else: assert opened.root is roots[0] or reason(roots[:1], path, access) == "outside"
    finally:
        for root in roots: root.close()


def test_a_path_that_leaves_a_folder_that_was_moved_is_refused(fast):
    for folder in ("memex", "code", "elsewhere"): (fast / folder).mkdir()
    (fast / "code" / "f").write_text("x")
    roots = [Root(fast / "memex"), Root(fast / "code")]
    with resolve(roots, "../code/f"): pass
    (fast / "memex").rename(fast / "elsewhere" / "memex")
    assert reason(roots, "../code/f") == "astray"
    for root in roots: root.close()


CASES = Path(__file__).parent / "data" / "paths.jsonl"
CASE = [json.loads(line) for line in CASES.read_text().splitlines()] if CASES.exists() else []

@pytest.mark.parametrize("way", [True, False])
def test_collected_traversal_attempts_never_open_anything_outside(tmp_path, way):
    memex = tmp_path / "home" / "user" / "project"; memex.mkdir(parents=True)
    for name in ("etc/passwd", "boot.ini", "home/user/boot.ini"): (tmp_path / name).parent.mkdir(parents=True, exist_ok=True); (tmp_path / name).write_text("outside")
    root = Root(memex, kernel=way)
    for case in CASE:
        if case["kind"] != "payload": continue
        for access in ("read", "write", "tree"):
            try: opened = resolve([root], case["path"], access)
            except PathRefused as refusal: assert not (case["escapes"] and refusal.reason == "kind")
            else:
                assert not case["escapes"]
                with opened: assert os.readlink(f"/proc/self/fd/{opened.parent_fd if opened.fd is None else opened.fd}").startswith(str(memex))
    root.close()


@pytest.mark.parametrize("case", [c for c in CASE if c["kind"] == "pair"], ids=lambda c: c["note"][-40:])
def test_collected_pairs(tmp_path, case):
    place = lambda path: str(tmp_path) + path
    real = os.path.normpath(place(case["path"]).replace("\0", ""))
    too_long = len(place(case["path"])) > 4095 or max(map(len, real.split("/"))) > 255
    roots = []
    for path in case["roots"]:
        if path: os.makedirs(os.path.normpath(place(path)), exist_ok=True); os.makedirs(os.path.dirname(place(path)).replace("project/..", "project"), exist_ok=True); roots.append(Root(place(path)))
    deep = real.count("/") > 300
    if case["inside"] and not too_long and not deep: os.makedirs(real, exist_ok=True)
    if deep: assert reason(roots, place(case["path"]), "tree") == ("missing" if not too_long else "name")
    elif case["inside"] and not too_long: resolve(roots, place(case["path"]), "tree").close()
    else: assert reason(roots, place(case["path"]), "tree") in ("outside", "name")
    for root in roots: root.close()


# Somebody swaps while we look

SWAPPER = """
import ctypes, os, sys
os.chdir(sys.argv[1]); libc = ctypes.CDLL(None)
os.mkdir("dir"); open("dir/file", "w").write("inside"); os.symlink("../outside", "link")
open("note", "w").write("inside"); os.symlink("../outside/file", "note-link")
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"dir", -100, b"link", 2)
    libc.renameat2(-100, b"note", -100, b"note-link", 2)
"""

@pytest.mark.slow
def test_a_second_process_that_swaps_links_never_wins(tree, root, tmp_path):
    (tmp_path / "outside" / "file").write_text("OUTSIDE")
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, tree], stdout=subprocess.PIPE)
    try:
        assert next_line(swapper) == b"ready\n"
        outcomes, end = {"inside": 0, "refused": 0}, time.monotonic() + 0.5
        while time.monotonic() < end:
            for text, access in (("dir/file", "read"), ("note", "read"), ("dir/file", "write"), ("link/file", "read"), ("dir/../dir/file", "read")):
                try:
                    with resolve([root], text, access) as file: got = file.read_bytes() if file.kind == "file" else b"inside"
                except PathRefused: outcomes["refused"] += 1
                else: assert got == b"inside"; outcomes["inside"] += 1
            with resolve([root], ".", "tree") as top:
                for file in top.walk(): assert b"OUTSIDE" not in file.read_bytes()
        assert min(outcomes.values()) > 10, outcomes
    finally: away(swapper)


def test_too_many_open_files_is_a_sentence(tree, root):
    soft, hard = limits.getrlimit(limits.RLIMIT_NOFILE)
    limits.setrlimit(limits.RLIMIT_NOFILE, (open_fds() + 4, hard))
    held = []
    try:
        with pytest.raises(PathRefused) as refusal:
            for _ in range(20): held.append(resolve([root], "inbox.org"))
        assert "too many" in refusal.value.message.lower()
    finally:
        limits.setrlimit(limits.RLIMIT_NOFILE, (soft, hard))
        for each in held: each.close()


@pytest.mark.slow
def test_many_folders_are_refused_before_they_eat_all_descriptors(tree, kernel):
    fd = os.open(tree, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d", dir_fd=fd); inner = os.open("d", os.O_RDONLY, dir_fd=fd); os.close(fd); fd = inner
    os.symlink(".", "here", dir_fd=fd); os.close(fd)
    root = Root(tree, kernel=kernel)
    assert reason([root], "d/" * 400 + "here", "tree") == "name"
    root.close()


def test_without_proc_the_name_is_opened_again_and_compared(tree, root, monkeypatch):
    real = os.open
    def no_proc(path, *args, **keywords):
        if str(path).startswith("/proc/self/fd/"): raise FileNotFoundError(errno.ENOENT, "no /proc")
        return real(path, *args, **keywords)
    monkeypatch.setattr(os, "open", no_proc)
    with resolve([root], "a/b/deep.org", "write") as file: assert file.read_bytes() == b"deep"


def test_dropped_resources_close_themselves(root):
    before = open_fds()
    for _ in range(50): resolve([root], "inbox.org", "write")
    assert open_fds() == before


LETTERS = st.text(st.sampled_from("a\\u03xnt/\u3000\u200b\n\x1b\udce9é"), min_size=1, max_size=12)


@settings(max_examples=examples(600), deadline=None)
@given(LETTERS, LETTERS)
def test_no_two_files_look_the_same(one, other):
    """The blank of Japanese is spelled out for people; a file that is really called so looked the same, and an undo once wrote into it."""
    assert (displayed(one) == displayed(other)) == (one == other)
    assert displayed(one).isprintable() or any(c in "\u200c\u200d" for c in one)


def test_a_walk_says_why_it_left_something_out(tree, root, monkeypatch):
    monkeypatch.setattr(openedpath, "MOST_NAMES", 2)
    skipped = []
    with resolve([root], ".", "tree") as top: list(top.walk(skipped=skipped))
    assert any("holds more than 2 names" in why for _, why in skipped)


def test_without_proc_only_the_file_that_was_judged_is_opened(tmp_path, monkeypatch):
    "Where `/proc` cannot be used, the name is opened once more, and another file may stand there by then."
    from passepartout.confinement.descent import search
    from passepartout.confinement.resources import _readable
    (tmp_path / "note.org").write_text("judged")
    root, opening = Root(tmp_path), os.open
    found = search(root, ["note.org"])
    def without_proc(path, *more, **where):
        if str(path).startswith("/proc/self/fd/"): raise FileNotFoundError(path)
        return opening(path, *more, **where)
    monkeypatch.setattr(os, "open", without_proc)
    fd = _readable(found)
    assert os.read(fd, 9) == b"judged"
    os.close(fd)
    (tmp_path / "note.org").rename(tmp_path / "elsewhere.org")
    (tmp_path / "note.org").write_text("another")
    with pytest.raises(OSError, match="replaced"): _readable(found)
    found.close()
    root.close()


def test_a_folder_that_holds_the_agents_own_record_is_not_opened_and_its_places_inside_one_are_closed(tree, kernel):
    "Who opens their whole home does not open the record with it; who opens the record is told, under whatever name they reach it."
    state = tree.parent / "state" / "passepartout"
    (state / "a").mkdir(parents=True)
    (state / "a" / "journal.key").write_bytes(b"key")
    (tree.parent / "link").symlink_to(state / "a")
    for opened in (state, state / "a", tree.parent / "link"):
        for closed in ([str(state)], [str(tree), str(state)]):
            with pytest.raises(PathRefused, match="holds the agent's own record"): Root(opened, kernel=kernel, closed=closed).close()
    beside = tree.parent / "state" / "passepartout-notes"
    beside.mkdir()
    Root(beside, kernel=kernel, closed=[str(state)]).close()                    # a name that only begins alike
    with pytest.raises(PathRefused, match="path is empty"): Root("", kernel=kernel)
    home = Root(tree.parent, kernel=kernel, closed=[str(state), str(tree)])
    assert home.closed == ("state/passepartout", "memex") and Root(tree, kernel=kernel).closed == ()
    for name in ("state/passepartout/a/journal.key", "state/./passepartout/a/journal.key", "State/Passepartout/a/journal.key", "link/journal.key", "memex/inbox.org"):
        with pytest.raises(PathRefused): resolve([home], name).close()
    home.close()


def test_an_absolute_link_in_a_folder_leads_to_what_it_names_and_to_nothing_closed(tree, kernel):
    "Told as lying in the folder of the link, the key would not be where the closed places are."
    (tree / "keys").mkdir()
    (tree / "keys" / "journal.key").write_bytes(b"key")
    for name, leads in (("in", tree / "inbox.org"), ("key", tree / "keys" / "journal.key"), ("folder", tree / "keys"), ("out", tree.parent / "outside" / "secret")): (tree / "a" / "b" / name).symlink_to(leads)
    root = Root(tree, kernel=kernel, closed=[str(tree / "keys")])
    before = len(os.listdir("/proc/self/fd"))
    with resolve([root], "a/b/in") as found: assert (found.display, found.read_bytes(100)) == ("inbox.org", b"inbox")
    for name in ("a/b/key", "a/b/folder/journal.key", "a/b/out"):
        with pytest.raises(PathRefused): resolve([root], name).close()
    assert len(os.listdir("/proc/self/fd")) == before
    root.close()


@pytest.mark.parametrize("text, kind, path", [("inbox.org", "file", "inbox.org"), ("a/b", "dir", "a/b"), (".", "dir", ""), ("pipe", "other", "pipe"), ("new.org", "missing", "new.org"), ("new/./er//x.org", "missing", "new/er/x.org"), ("inbox.org/x", "missing", "inbox.org/x"),
                                             ("to-deep", "file", "a/b/deep.org"), ("a/../inbox.org", "file", "inbox.org"), ("{top}/inbox.org", "file", "inbox.org")])
def test_where_a_name_leads_is_said_without_opening_it(tree, root, text, kind, path):
    os.mkfifo(tree / "pipe"); (tree / "to-deep").symlink_to("a/b/deep.org")
    found = where([root], text.format(top=tree))
    assert (found.kind, os.path.normpath(found.path)) == (kind, os.path.normpath(f"{root.path}/{path}"))


@pytest.mark.parametrize("text, says", [("../outside/secret", "lies outside"), ("out/secret", "lies outside"), ("round", "too many links"), ("new/../inbox.org", "goes up from a folder that is not there"), ("new/../../outside/secret", "goes up from a folder"),
                                        ("own/x.org", "closed to it"), ("own", "closed to it"), ("own/new/x.org", "closed to it"), ("a/../own/x.org", "closed to it"), ("to-own/x.org", "closed to it"), ("", "is empty"), ("a\x07b", "control characters"), ("a\x85b", "control characters"), ("a\u2028b", "control characters")])
def test_where_a_name_leads_outside_or_to_what_is_closed_it_is_refused(tree, kernel, text, says):
    (tree / "own").mkdir(); (tree / "own/x.org").write_text("x"); (tree / "out").symlink_to("../outside"); (tree / "to-own").symlink_to("own"); (tree / "round").symlink_to("round")
    root = Root(tree, closed=[tree / "own"], kernel=kernel)
    with pytest.raises(PathRefused, match=says): where([root], text)
    root.close()


def test_a_name_with_odd_letters_that_are_no_control_characters_is_a_name(tree, root):
    for name in ("caf\u00e9.org", "a\u200db.org", "a\u00a0b.org", "\u65e5\u8a18.org"):
        (tree / name).write_text("x")
        assert where([root], name).kind == "file"
        resolve([root], name).close()


def test_no_hint_names_what_is_closed(tmp_path):
    for name in ("diary.org", ".passepartout/rules.org", "state/journal.sqlite"): (tmp_path / name).parent.mkdir(exist_ok=True); (tmp_path / name).touch()
    root = Root(str(tmp_path), closed=[str(tmp_path / "state")])
    assert names_below(root) == ["diary.org"] and hint(root, "diry.org") == " Did you mean diary.org?"
    assert hint(root, "journal") == hint(root, "journal.sqlite") == hint(root, "state/journl.sqlite") == ""
    root.close()


@pytest.mark.parametrize("text, long", [("a" * 4095, False), ("é" * 2047 + "a", False), ("a" * 4096, True), ("é" * 2048, True)])
def test_a_path_is_as_long_as_the_system_allows(tmp_path, text, long):
    root = Root(str(tmp_path))
    with pytest.raises(PathRefused) as told: resolve([root], text)
    assert ("4,095 bytes" in str(told.value)) == long
    root.close()


@pytest.mark.parametrize("letter, refused", [("\0", True), ("\x1f", True), (" ", False), ("~", False), ("\x7f", True), ("\x80", True), ("\x9f", True), ("\xa0", False), ("\u2028", True), ("\u2029", True), ("\u202a", False)])
def test_control_characters_are_refused_and_nothing_beside_them(tree, root, letter, refused):
    said = str(pytest.raises(PathRefused, resolve, [root], f"no{letter}te.org").value)
    assert ("contains control characters" in said) == refused
    assert "4,095 bytes" in str(pytest.raises(PathRefused, resolve, [root], letter * 4096).value)              # which nobody looks through for anything else


def test_a_path_from_the_top_is_not_said_to_be_one_that_is_closed(tmp_path):
    for name in ("diary.org", "state/journal.sqlite"): (tmp_path / name).parent.mkdir(exist_ok=True); (tmp_path / name).touch()
    root = Root(str(tmp_path), closed=[str(tmp_path / "state")])
    for text, meant in (("/diary.org", " Did you mean diary.org?"), ("/state", ""), ("/state/journal.sqlite", ""), ("/nothing.org", ""), ("/diary.org/below", "")):
        said = str(pytest.raises(PathRefused, resolve, [root], text).value)
        assert said.endswith(f"in the settings.{meant}"), said
    root.close()


SAID = [((errno.ENOENT, "x"), "write", "There is no folder for a.org"), ((errno.ENOENT, "x"), "read", "There is no a.org in"), ((errno.ENOTDIR, "x"), "read", "is not a folder"), ((errno.EACCES, "x"), "read", "You have no permission to open a.org"),
        ((errno.EPERM, "x"), "write", "You have no permission to open a.org"), ((errno.ENAMETOOLONG, "x"), "read", "longer name in it"), ((errno.ELOOP, "x"), "read", "too many links"), ((errno.EXDEV, "leads out"), "read", "lies outside the folders"),
        ((errno.EXDEV, "x"), "read", "another file system that is mounted inside"), ((errno.EIO, "Input/output error"), "read", "a.org cannot be opened (input/output error)."), ((errno.ELOOP, "leads out"), "read", "too many links"), ((77777,), "read", "a.org cannot be opened (77777).")]


@pytest.mark.parametrize("error, access, said", SAID)
def test_what_the_kernel_says_is_said_with_what_to_do(tree, root, monkeypatch, error, access, said):
    def search(*given): raise OSError(*error)
    monkeypatch.setattr(resources, "search_fast", search)
    assert said in str(pytest.raises(PathRefused, resolve, [root], "a.org", access).value)


def test_names_are_looked_for_in_so_many_folders_and_no_more(tree, root, monkeypatch):
    for n in range(6): (tree / f"d{n}").mkdir(); (tree / f"d{n}" / "note.org").touch()
    below = lambda: [name for name in names_below(root) if name.startswith("d")]
    assert [name for name in below() if "/" in name] == [f"d{n}/note.org" for n in range(6)]
    monkeypatch.setattr(resources, "MOST_FOLDERS", 7)                          # the root, a, and the six are eight
    assert [name for name in below() if "/" in name] == []
    monkeypatch.setattr(resources, "MOST_FOLDERS", 9)                          # with a/b, in which nobody has looked, nine
    assert [name for name in below() if "/" in name] == [f"d{n}/note.org" for n in range(6)]
    monkeypatch.setattr(resources, "MOST_NEAR", 5)
    assert len(names_below(root)) == 5


def test_a_folder_that_cannot_be_looked_into_hides_no_other(tree, root, monkeypatch):
    for name in ("c/note.org", "d/note.org"): (tree / name).parent.mkdir(); (tree / name).touch()
    real = resources.search
    for error in (OSError(errno.EACCES, "no"), PathRefused("no")):
        def search(root, parts):
            if parts[0] == "c": raise error
            return real(root, parts)
        monkeypatch.setattr(resources, "search", search)
        assert "d/note.org" in names_below(root) and "c/note.org" not in names_below(root)


@pytest.mark.parametrize("places, told", [(1, " Did you mean p0/roof.org?"), (3, " Did you mean p0/roof.org or p1/roof.org or p2/roof.org?"), (4, "")])
def test_as_many_as_three_that_may_be_meant_are_named(tree, root, places, told):
    for n in range(places): (tree / f"p{n}").mkdir(); (tree / f"p{n}" / "roof.org").touch()
    assert [hint(root, text) for text in ("roof.org", "./roof.org", "nowhere/roof.org", "roof.org/")] == [told] * 4
    if places > 1: assert hint(root, "p1/Roof.org") == " Did you mean p1/roof.org?"
