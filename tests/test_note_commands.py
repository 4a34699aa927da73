"agenda, find, show, capture, todo and done as a person, a pipe, a script and a hostile note meet them"
import json, os, pty, re, select, shlex, signal, struct, subprocess, sys, termios, time, fcntl
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.indexing.index import Index
from passepartout.notes import parse_note
from passepartout.confinement.resources import Root
from passepartout.targets import resolve_target
import test_cli
from test_cli import BEGIN, ROOT, sentence
from waits import exit_code

forks, home = test_cli.forks, test_cli.home         # fixtures: a home with two notes, and commands in forks of one warm process

HOSTILE = "\x1b[2J\x1b]0;owned\x07 $(touch pwned) `id` \u202egro.exe \x9b31m"
FIELDS = {"file", "line", "id", "title", "path", "state", "priority", "tags", "scheduled", "deadline", "closed", "edit"}


@pytest.fixture
def notes(home):
    (home.memex / "house.org").write_text("""#+TODO: TODO WAITING | DONE
* Roof
** TODO [#A] Call the roofer :phone:
DEADLINE: <2026-11-20 Fri 10:00>
The number is on the fridge.
** TODO Call Ana about the roof
** WAITING x
* TODO Water the plants
SCHEDULED: <2026-11-17 Tue .+3d>
* Garden
:PROPERTIES:
:ID: 7f-garden
:END:
Fig and [[https://example.org][quince]].
* 東京の屋根 🎉 :日本:
""")
    (home.memex / "bag.md").write_text("# Lisbon\n- [ ] torches 📅 2026-12-01\n- [ ] ferry times\n")
    return home


def run(home, *args, **options): return home(*args, "--memex", home.memex, *([] if "--today" in args else ["--today", "2026-11-19"]), **options)


def on_terminal(home, *args, columns=40, **env):
    "What a terminal of this width is sent, and the exit code."
    pid, fd = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(sys.executable, [*BEGIN, *map(str, args), "--memex", str(home.memex), "--today", "2026-11-19"], {**home.env, "TERM": "xterm-256color", **env})
    out = b""
    while True:
        try: piece = os.read(fd, 65536)
        except OSError: break
        if not piece: break
        out += piece
    os.close(fd)
    return out.decode("utf-8", "replace").replace("\r\n", "\n"), exit_code(pid)


# Reading --------------------------------------------------------------------------------------------------------------

def test_agenda(notes):
    found = json.loads(run(notes, "agenda", "--json").stdout)
    assert [(i["title"], i["kind"], i["day"], i["due"], i["at"]) for i in found["items"] if i["title"] != "Water the plants"] == [("torches", "deadline", "2026-11-19", "2026-12-01", None), ("Call the roofer", "deadline", "2026-11-20", "2026-11-20", "10:00")]
    assert all(FIELDS <= set(item) for item in found["items"]) and (found["from"], found["to"]) == ("2026-11-19", "2026-11-25")
    for options, titles in ((["--tag", "phone"], {"Call the roofer"}), (["--project", "roof"], {"Call the roofer"}), (["--days", "1"], {"Water the plants", "Call the roofer", "torches"}), (["--from", "+12d", "--to", "+0d"], {"torches"}),
                          (["--view", "waiting"], {"x"}), (["--view", "open", "--project", "house"], {"Call the roofer", "Call Ana about the roof", "x", "Water the plants"}), (["--tag", "nothing"], set())):
        assert {i["title"] for i in json.loads(run(notes, "agenda", "--json", *options).stdout)["items"]} == titles, options
    assert {line.split("  ")[0] for line in run(notes, "agenda", "--view", "tags").stdout.splitlines()} == {"house.org:3", "house.org:6", "house.org:7", "house.org:8", "bag.md:2", "bag.md:3"}


@pytest.mark.slow
def test_find(notes):
    for query, lines in ((["roof", "-ana"], [("house.org", 2), ("house.org", 3)]), (["fridge"], [("house.org", 3)]), (["deadline:<2026-11-21"], [("house.org", 3)]), (["todo:open", "tag:phone"], [("house.org", 3)]),
                         (["call ana OR torches"], [("bag.md", 2), ("house.org", 6)]), (["屋根"], [("house.org", 15)])):
        found = json.loads(run(notes, "find", "--json", *query).stdout)
        assert sorted((i["file"], i["line"]) for i in found["items"]) == lines and all(FIELDS <= set(i) for i in found["items"]), query
    line, = run(notes, "find", "fridge").stdout.splitlines()
    assert line.startswith("house.org:5  ") and "The number is on the fridge." in line


@pytest.mark.slow
def test_show_by_every_form(notes):
    for target in (["garden"], ["house.org:11"], ["house.org::Garden"], ["7f-garden"], ["id:7f-garden"], ["+10", "house.org"], [str(notes.memex / "house.org") + ":10"], [f"+10 '{notes.memex}/house.org'"]):
        assert json.loads(run(notes, "show", "--json", *target).stdout)["line"] == 10, target
    found = json.loads(run(notes, "show", "--json", "garden").stdout)
    assert (found["id"], found["properties"], found["end_line"]) == ("7f-garden", {"ID": "7f-garden"}, 14) and found["text"].startswith("* Garden\n:PROPERTIES:")
    several = run(notes, "show", "call", "--json")
    assert several.returncode == 6 and len(json.loads(several.stdout)["candidates"]) == 2 and "house.org:3" in several.stderr
    assert "Perhaps" in run(notes, "show", "gardne").stderr


# Changing -------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_done_is_recorded_and_taken_back(notes):
    before = (notes.memex / "house.org").read_bytes()
    done = run(notes, "done", "roofer", "--json")
    reply = json.loads(done.stdout)
    assert (done.returncode, reply["status"], reply["item"]["state"], reply["approvals"]) == (0, "answered", "DONE", [])
    kinds = [r["kind"] for r in json.loads(notes("trace", "--json", "--memex", notes.memex).stdout)[0]["records"]]
    assert kinds.index("verdict") < kinds.index("intent") < kinds.index("outcome")
    assert notes("undo", "--memex", notes.memex).returncode == 0 and (notes.memex / "house.org").read_bytes() == before
    assert notes("trace", "--verify", "--memex", notes.memex).returncode == 0


@pytest.mark.slow
def test_done_begins_again_what_repeats(notes):
    done = run(notes, "done", "plants")
    assert done.returncode == 0 and "begins again" in done.stdout and "<2026-11-22 Sun .+3d>" in (notes.memex / "house.org").read_text()
    run(notes, "done", "torches")
    assert "- [x] torches" in (notes.memex / "bag.md").read_text()


def test_a_note_does_not_become_a_task_by_itself(notes):
    before = (notes.memex / "house.org").read_bytes()
    done = run(notes, "done", "garden")
    assert done.returncode == 1 and "not a task" in sentence(done.stderr) and (notes.memex / "house.org").read_bytes() == before
    assert run(notes, "todo", "house.org:10", "TODO").returncode == 0 and "* TODO Garden" in (notes.memex / "house.org").read_text()


def test_two_headings_of_one_name(notes):
    (notes.memex / "twice.org").write_text("* TODO Milk\n* TODO Milk\n* TODO Milk\n")
    assert run(notes, "done", "milk").returncode == 6
    assert run(notes, "done", "twice.org:2").returncode == 0
    assert re.findall(r"^\* (\w+) Milk", (notes.memex / "twice.org").read_text(), re.M) == ["TODO", "DONE", "TODO"]


def test_capture(notes):
    made = json.loads(run(notes, "capture", "call", "Graça", "--deadline", "fri 9:30", "--tags", "phone,house", "--json").stdout)["item"]
    assert (made["title"], made["state"], made["deadline"], made["tags"], made["file"]) == ("call Graça", "TODO", "2026-11-20T09:30", ["phone", "house"], "inbox.org")
    assert run(notes, "capture", "-", "--file", "ideas.md", input="an idea\nand more of it\n".encode()).returncode == 0 and "and more of it" in (notes.memex / "ideas.md").read_text()
    assert run(notes, "capture", "plain words", "--file", notes.memex / "ideas.md").returncode == 0
    assert run(notes, "capture", HOSTILE).returncode == 0 and not {"\x1b", "\x07"} & set((notes.memex / "inbox.org").read_text())


def test_a_permission_that_denies_is_not_overruled(notes):
    before = (notes.memex / "house.org").read_bytes()
    done = run(notes, "done", "roofer", env={"PASSEPARTOUT_PERMISSIONS": "org-set-todo=deny"})
    assert done.returncode == 3 and (notes.memex / "house.org").read_bytes() == before


# Bad input ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args, code", thinned([
    (["find", ""], 2), (["find", "?!"], 2), (["find", "x" * 10_000], 2), (["find", "due:<soon"], 2), (["find", "zzzz"], 1), (["find"], 2), (["show", "zzzz"], 1), (["show", "x" * 10_000], 1), (["show", "nowhere.org:3"], 1), (["show", "../../etc/passwd"], 1),
    (["agenda", "soonish"], 2), (["agenda", "--from", "31 nov"], 2), (["agenda", "--view", "mine"], 2), (["agenda", "--days", "0"], 2), (["agenda", "--days", "3", "week"], 2), (["todo", "roofer", "MAYBE"], 1), (["todo", "roofer"], 2), (["done", "zzzz"], 1), (["done", "call"], 6),
    (["capture", "x", "--deadline", "31 nov"], 2), (["capture", "x", "--scheduled", "soon"], 2), (["capture", " "], 2), (["capture", "x", "--file", "../x.org"], 3), (["capture", "x", "--file", "x.sh"], 1), (["todo", "house.org", "DONE"], 1)], 4))
def test_what_is_wrong_is_a_sentence(notes, args, code):
    before = {path: path.read_bytes() for path in notes.memex.rglob("*") if path.is_file()}
    done, programs = run(notes, *args), run(notes, *args, "--json")
    assert (done.returncode, programs.returncode) == (code, code), (done.stderr, programs.stdout)
    assert code == 6 or sentence(done.stderr + done.stdout)
    if args != ["find"] and args[:2] != ["agenda", "--days"] or "week" in args: assert json.loads(programs.stdout)["text"]
    assert {path: path.read_bytes() for path in notes.memex.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("args", [["agenda"], ["find", "x"], ["show", "x"], ["todo"], ["done", "x"], ["capture", "x"]])
def test_no_memex(home, args):
    done = home(*args, "--memex", home.folder / "nowhere", "--json")
    assert done.returncode == 5 and "does not exist" in json.loads(done.stdout)["text"]


def test_a_memex_that_cannot_be_written(notes):
    os.chmod(notes.memex, 0o500); os.chmod(notes.memex / "house.org", 0o400)
    try:
        assert run(notes, "agenda", powers=ROOT).returncode == 0
        done = run(notes, "done", "roofer", powers=ROOT)
        assert done.returncode == 1 and sentence(done.stdout + done.stderr)
    finally: os.chmod(notes.memex, 0o700); os.chmod(notes.memex / "house.org", 0o600)
    assert "TODO [#A] Call the roofer" in (notes.memex / "house.org").read_text()


def test_reading_needs_no_place_to_write(notes):
    env = {"XDG_STATE_HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    for args in (["agenda"], ["find", "roof"], ["show", "garden"], ["todo"]): assert run(notes, *args, env=env).returncode == 0, args
    assert run(notes, "done", "roofer", env=env).returncode == 5


def test_a_note_that_changes_or_goes_away_after_it_was_indexed(notes):
    run(notes, "agenda")
    text = (notes.memex / "house.org").read_text()
    (notes.memex / "house.org").write_text("* New\n" + text)
    assert json.loads(run(notes, "show", "garden", "--json").stdout)["line"] == 11
    (notes.memex / "house.org").unlink()
    assert run(notes, "show", "garden").returncode == 1 and run(notes, "done", "roofer").returncode == 1


@pytest.mark.slow
def test_two_programs_complete_one_task_at_once(notes):
    (notes.memex / "many.org").write_text("".join(f"* TODO Errand {n}\n" for n in range(200)) + "* TODO Last one\n")
    run(notes, "agenda")
    both = [notes.start("done", "last", "one", "--memex", notes.memex) for _ in range(3)]
    codes = sorted([child.communicate(timeout=60) and child.returncode for child in both])
    assert codes == [0, 1, 1]
    text = (notes.memex / "many.org").read_text()
    assert (text.count("* DONE Last one"), text.count("* TODO Errand"), text.count("Last one")) == (1, 200, 1)
    assert notes("trace", "--verify", "--memex", notes.memex).returncode == 0


@pytest.mark.slow
def test_ctrl_c_while_a_text_is_awaited(notes):
    child = notes.start("capture", "-", "--memex", notes.memex, stdin=subprocess.PIPE)
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130 and b"Traceback" not in err and (notes.memex / "inbox.org").read_text() == "* Inbox\n"


@pytest.mark.slow
def test_a_reader_that_goes_away(notes):
    (notes.memex / "many.org").write_text("".join(f"* TODO Errand {n} of many\n" for n in range(3000)))
    for line, said in (("todo --json", b""), ("find errand -n 900", b"100 more: add a word, or --limit 1000.\n"), ("show many.org", b"")):
        done = subprocess.run(["bash", "-c", f"{shlex.join(BEGIN)} {line} --memex {notes.memex} | head -c 20; exit ${{PIPESTATUS[0]}}"], env=notes.env, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, said), line


# On a terminal, in a pipe, in a shell --------------------------------------------------------------------------------

def hostile(home): (home.memex / "mail.org").write_text(f"* TODO {HOSTILE}\nDEADLINE: <2026-11-19 Thu>\n{HOSTILE}\n* TODO a\tb  c\n* TODO {'x' * 300}\n* TODO -rf\n")


@pytest.mark.slow
def test_text_cannot_drive_the_terminal(notes):
    hostile(notes)
    for args in (["agenda"], ["todo"], ["find", "touch"], ["show", "mail.org:1"], ["show", "mail.org"], ["done", "gro"], ["show", "touhc"]):
        for done in (run(notes, *args), run(notes, *args, "--json")):
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.stdout + done.stderr), args
    for line in run(notes, "todo").stdout.splitlines(): assert len(line.split("  ")) == 8 and "\t" not in line
    assert "x" * 300 in run(notes, "todo").stdout


@pytest.mark.slow
def test_a_narrow_terminal(notes):
    from rich.cells import cell_len
    hostile(notes)
    run(notes, "agenda")                  # reads the notes once, so that no progress has to be shown on the terminal
    for args in (["agenda"], ["todo"], ["find", "call"], ["show", "house.org"]):
        shown, code = on_terminal(notes, *args)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert code == 0 and plain != shown and "\x1b" not in plain and "\u202e" not in plain
        for line in plain.splitlines(): assert cell_len(line) <= 40 or "$EDITOR" in line, line
        assert not re.search(r"\x1b(?!\[[0-4;]*m)", on_terminal(notes, *args, NO_COLOR="1")[0])         # bold and dim are no colours


@pytest.mark.slow
def test_the_hint_opens_the_note(notes):
    folder = notes.memex / "it's $(touch pwned) a folder"
    folder.mkdir()
    (folder / "a b.org").write_text("* One\n* Two is here\n")
    shown, _ = on_terminal(notes, "show", "two", "is", "here", columns=400)
    hint = re.sub(r"\x1b\[[0-9;]*m", "", re.search(r"\$EDITOR (.*)", shown)[1]).strip()
    done = subprocess.run(["bash", "-c", f"$EDITOR {hint}"], env={**os.environ, "EDITOR": "printf %s\\n"}, capture_output=True, text=True, cwd=notes.folder, timeout=120)
    assert done.stdout.splitlines() == ["+2", str(folder / "a b.org")] and not list(notes.folder.rglob("pwned"))


def completed(home, *words): return home(*[], env={"_PASSEPARTOUT_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["passepartout", *words]), "COMP_CWORD": str(len(words)), "MEMEX_DIR": str(home.memex)}).stdout.split("\n")[:-1]


@pytest.mark.slow
def test_completion(notes):
    hostile(notes)
    assert completed(notes, "done", "ro") in ([], [""])        # there is no index yet
    run(notes, "agenda")
    for words, expected in ((["done", "ro"], ["roof", "roofer"]), (["done", "call", "the", "r"], ["roof", "roofer"]), (["agenda", "--tag", "ph"], ["phone"]), (["agenda", "--view", "wa"], ["waiting"]), (["todo", "plants", "WA"], ["WAITING", "Water"]), (["show", "ba"], ["bag.md"])):
        assert set(completed(notes, *words)) <= {*expected, "WAter"} and completed(notes, *words) != [""], words
    offered = {word for begun in ("", "$", "`", "t", "-") for word in completed(notes, "done", begun)}
    assert not any(re.search(r"[^\w.,@%+/-]", word) for word in offered) and "touch" not in {w for w in offered if "(" in w}


@pytest.mark.slow
def test_completion_in_a_real_shell(notes):
    run(notes, "agenda")
    (notes.folder / "bin").mkdir()
    (notes.folder / "bin" / "passepartout").write_text(f"#!/bin/sh\nexec {shlex.join(BEGIN)} \"$@\"\n"); (notes.folder / "bin" / "passepartout").chmod(0o755)
    pid, fd = pty.fork()
    if not pid: os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**notes.env, "PATH": f"{notes.folder}/bin:{os.environ['PATH']}", "MEMEX_DIR": str(notes.memex), "PS1": "> ", "TERM": "dumb"})
    def until(text, seconds=30):
        out, end = "", time.monotonic() + seconds
        while text not in out and time.monotonic() < end:
            if select.select([fd], [], [], 0.2)[0]: out += os.read(fd, 65536).decode("utf-8", "replace")
        return out
    os.write(fd, b'eval "$(passepartout --show-completion bash)"; echo REA""DY\n'); until("READY")
    os.write(fd, b"passepartout done about ro\t")
    shown = until("roof ")
    os.write(fd, b"\x03"); os.write(fd, b"exit\n"); os.close(fd); exit_code(pid)
    assert "done about roof " in shown


# Which heading ---------------------------------------------------------------------------------------------------------

TITLES = st.lists(st.text(st.sampled_from("ab cé東屋-/:›[]%_*'\"()12\u0301🎉"), min_size=1, max_size=12).map(str.strip).filter(lambda t: t and not t.startswith(("*", "#", ":"))), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(TITLES, st.integers(0, 5), st.text(st.sampled_from("ab cé東屋-/:›%_*'\"()\x00🎉"), max_size=12))
def test_both_sources_mean_the_same(tmp_path_factory, titles, which, words):
    place = tmp_path_factory.mktemp("notes")
    text = "".join(f"{'*' * (1 + n % 2)} TODO {title}\n" for n, title in enumerate(titles))
    (place / "n.org").write_text(text)
    root = Root(place); index = Index(root); index.refresh()
    try:
        outline = parse_note(text, "n.org")
        node = outline.nodes[1 + which % len(titles)]
        for asked in (words, node.title, f"n.org:{node.line}", titles[which % len(titles)][:3]):
            one, two = resolve_target(index, asked, date(2026, 11, 19)), resolve_target([outline], asked, date(2026, 11, 19))
            if one.kind != "none" or two.kind != "none": assert (one.kind, [(p.line, p.title) for p in one.places]) == (two.kind, [(p.line, p.title) for p in two.places]), asked
        assert node.line in {p.line for p in resolve_target([outline], f"n.org:{node.line}").places}
    finally: index.close(); root.close()


@pytest.mark.slow
def test_who_looks_for_something_hears_of_files_that_are_not_read(notes):
    assert "not read" not in run(notes, "find", "zeppelin").stderr
    (notes.memex / "nul.org").write_bytes(b"* TODO zeppelin\0\n")
    for args in (["show", "nul.org"], ["done", "nul.org:1"], ["show", "nul.org::zeppelin"]): assert "nul.org is not read: it holds NUL bytes" in run(notes, *args).stderr, args
    for args in (["find", "zeppelin"], ["done", "zeppelin"]): assert "1 file is not read and may say it" in run(notes, *args).stderr, args
    assert "1 file is not read" in json.loads(run(notes, "find", "zeppelin", "--json").stdout)["text"]
    assert "1 file is not read" in run(notes, "find", "fig").stderr, "what was found need not be all"


@pytest.mark.parametrize("place, name, command, words", [("indexing.finding", "make_found", "find", ["roof"]), ("indexing.finding", "items_of", "agenda", ["month"]), ("indexing.finding", "open_facts", "agenda --view", "open"),
                                                         ("indexing.finding", "broken_indexed", "agenda", ["month"]), ("terminal.shelf", "file_facts", "find", ["roof"]), ("targets", "index_places", "show", ["tell pohl"])])
def test_an_index_that_fails_in_the_middle_of_a_command_costs_no_answer(tmp_path, monkeypatch, capsys, place, name, command, words):
    "Once, as when the disk is full or another program holds it."
    import importlib
    from passepartout.indexing.indexfile import IndexFailed
    from passepartout.terminal import notecommands
    for kind in ("CACHE", "CONFIG", "STATE"): monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    def answer():
        given = {"view": words} if "--view" in command else {"target" if command == "show" else "span" if command == "agenda" else "query": words}
        getattr(notecommands, command.split()[0])(**given, memex=Path(__file__).parents[1] / "passepartout/sample/memex", today="2026-11-19", json_=True)
        return capsys.readouterr()
    good, room, times = answer(), importlib.import_module(f"passepartout.{place}"), []
    real = getattr(room, name)
    def failing(*args, **more):
        times.append(name)
        if len(times) == 1: raise IndexFailed("The disk is full.")
        return real(*args, **more)
    monkeypatch.setattr(room, name, failing)
    told = answer()
    def plain(text):
        "Without the scores, which the two work out each in its own way, and the order by them."
        found = json.loads(text)
        return found, sorted(str(item | {"score": 0}) for item in found.pop("items", ()))
    assert times and plain(told.out) == plain(good.out) and "The disk is full. What follows was found by reading the notes." in " ".join(told.err.split())


def test_a_folder_without_notes_is_told_by_every_list(home):
    for path in home.memex.iterdir(): path.unlink()
    (home.memex / "IMG_1.jpg").write_bytes(b"\xff\xd8")
    for command in (("agenda",), ("todo",), ("agenda", "--view", "waiting"), ("done", "x"), ("show", "x")):
        got = run(home, *command)
        assert "There are no notes in this folder" in got.stdout + got.stderr, (command, got)


def test_bare_days_are_told_below_the_agenda_and_are_no_rows_of_it(home):
    (home.memex / "cal.md").write_text("# Cal\n- 2026-11-20 lantern walk\n")
    got = run(home, "agenda", "tomorrow")
    assert "lantern" not in got.stdout and "cal.md:2  - 2026-11-20 lantern walk" in got.stderr, got
    assert "lantern walk" in json.loads(run(home, "agenda", "tomorrow", "--json").stdout)["remarks"][0]
