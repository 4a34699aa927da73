"The program as a script and a person meet it: real processes, real files, and everything that can be wrong with them"
import atexit, contextlib, errno, functools, json, os, re, shlex, signal, sqlite3, subprocess, sys, time
from pathlib import Path

import pytest

from conftest import thinned
from passepartout.shell.sandbox import find_bubblewrap
from waits import PATIENCE, away, heard, next_line

SAMPLE, TOOLS = Path(__file__).parents[1] / "passepartout" / "sample" / "memex", Path(__file__).parents[1] / "tools"
BEGIN = [sys.executable, "-m", "passepartout"]
ROOT = os.geteuid() == 0
CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "Call Ana" :KIND "task") :EXPLANATION "You said that somebody has to call Ana"))'


# Starting Python, importing everything and compiling what is compiled at its first use takes most of a command's time. This process has done it, and forks for each command:
# the fork gets streams, environment and arguments of its own and ends as a program does. What depends on a true start runs one.
FORKS = """
import importlib, io, json, os, pkgutil, sys
import passepartout, rich.console
for module in pkgutil.walk_packages(passepartout.__path__, "passepartout."):
    if not module.name.endswith("__main__"): importlib.import_module(module.name)
passepartout.shell.sandbox.find_bubblewrap()
sys.path.append(sys.argv[1])
__import__("run_notebook").practise()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        code = 99
        try:
            os.environ.clear(); os.environ.update(order["env"])
            for number, name in enumerate(order["files"]): os.dup2(os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
            os.closerange(3, 100)
            sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(open(n, "rb" if n == 0 else "wb", buffering=-1 if n < 2 else 0), encoding="utf-8", write_through=n == 2) for n in range(3))
            if order["powers"]:
                import ctypes
                libc = ctypes.CDLL(None, use_errno=True)
                data = (ctypes.c_uint32 * 6)()
                libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), data)
                for word in (0, 1, 2): data[word] &= ~0b1110        # what lets root ignore permissions
                libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), data)
            try: passepartout.cli.main(order["args"])
            except SystemExit as end: code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            sys.stdout.flush()
        except BaseException: __import__("traceback").print_exc()
        finally: os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Forks:
    "Runs command lines in forks of one warm process."
    def __init__(self): self.first = subprocess.Popen([sys.executable, "-c", FORKS, str(TOOLS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, args, env, folder, input, powers):
        files = [folder / f".std{n}" for n in range(3)]
        files[0].write_bytes(input)
        code = self.run(args, env, files, powers)
        return subprocess.CompletedProcess(args, code, *(f.read_bytes() for f in files[1:]))

    def run(self, args, env, files, powers=False):
        "The exit code of a command line whose three streams are these files, or three times the same terminal."
        self.first.stdin.write(json.dumps({"args": args, "env": env, "files": [str(f) for f in files], "powers": powers}) + "\n"); self.first.stdin.flush()
        child = int(next_line(self.first))
        if (code := heard(self.first.stdout).line(time.monotonic() + PATIENCE)) is None:
            os.kill(child, signal.SIGKILL)
            next_line(self.first)
            raise AssertionError(f"The end of {args} was awaited in vain for {PATIENCE:g} seconds, and it was killed. It had said: {[f.read_bytes()[-2000:] for f in map(Path, files[1:]) if f.is_file()]}")
        return int(code)

    def close(self): self.first.stdin.close(); away(self.first)


@functools.cache
def warm():
    "One for all files of tests that this process runs: what it starts with takes longer than most commands."
    forks = Forks()
    atexit.register(forks.close)
    return forks


@pytest.fixture
def forks(): return warm()


class Home:
    "A person's home: a memex, and nothing else that this machine's user has."
    def __init__(self, folder, forks):
        self.folder, self.memex, self.state, self.forks = folder, folder / "memex", folder / "state", forks
        self.memex.mkdir()
        (self.memex / "inbox.org").write_text("* Inbox\n")
        (self.memex / "house.org").write_text("* Roof\n** TODO Call the roofer\nDEADLINE: <2026-11-20 Fri>\n")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MEMEX", "PASSEPARTOUT", "PROVIDER_", "NO_COLOR", "LC_", "LANG"))}
        self.env |= {"XDG_STATE_HOME": str(self.state), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder), "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}

    def __call__(self, *args, input=b"", env=None, powers=False, true=False):
        "Run a command line to its end: forked, or as a `true` process of its own. `powers` are taken away from root. No traceback, whatever happens."
        env, args = {**self.env, **(env or {})}, [str(a) for a in args]
        done = subprocess.run([*BEGIN, *args], input=input, capture_output=True, env=env, timeout=60) if true else self.forks(args, env, self.folder, input, powers)
        done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        assert "Traceback" not in done.stdout + done.stderr and "unexpected" not in done.stderr, done.stderr
        return done

    def ask(self, *args, **options): return self("ask", "--memex", self.memex, "--today", "2026-11-19", *args, **options)
    def start(self, *args, env=None, **options): return subprocess.Popen([*BEGIN, *map(str, args)], env={**self.env, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    def script(self, text):
        "The environment in which a scripted model gives these answers."
        (self.folder / "model.script").write_text(text)
        return {"PROVIDER_CASCADE": "scripted", "PASSEPARTOUT_SCRIPTED_FILE": str(self.folder / "model.script"), "PASSEPARTOUT_PERMISSIONS": "org-capture=ask"}

    @property
    def journal(self): return next(self.state.glob("passepartout/*/journal.sqlite"))


@pytest.fixture
def home(tmp_path, forks): return Home(tmp_path, forks)


def sentence(text):
    "Something a person can read, and not a page of it."
    text = text.strip()
    assert text and "\0" not in text and " " in text and len(text) < 1200, text
    return text


# Exit codes -----------------------------------------------------------------------------------------------------------

def test_each_exit_code(home):
    assert home.ask("what is due this week?").returncode == 0
    assert "Call the roofer" in home.ask("what is due this week?").stdout
    assert home.ask("do something", env=home.script("!error 503: overloaded")).returncode == 1
    for wrong in (("ask",), ("ask", "--nothing"), ("nonsense",), ("gate",), ("undo", "0"), ("ask", "  ")):
        assert home(*wrong, "--memex", home.memex).returncode == 2, wrong
    assert home("gate", "check", "--memex", home.memex, "(:TYPE").returncode == 3
    done = home.ask("call Ana", env=home.script(CAPTURE))
    assert done.returncode == 4 and "approvals approve" in done.stdout
    assert home("ask", "--memex", home.folder / "nowhere", "hello").returncode == 5


@pytest.mark.slow
@pytest.mark.skipif(not find_bubblewrap().works, reason="no sandbox")
def test_a_gate_of_a_page_that_could_not_be_asked_is_not_told_as_one_that_allows(home):
    folder = home.folder / "config" / "passepartout" / "skills"
    folder.mkdir(parents=True)
    (folder / "odd.md").write_text('---\nskill: odd\npermissions: gate\n---\n# Odd\n\n```python\ndef gate(action, signal): return {"verdict": "perhaps"}\n```\n\n```python\ndef test_it(): assert True\n```\n')
    read = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "read-file" :ARGS (:PATH "inbox.org") :EXPLANATION "You asked me to read this file."))'
    done = home("gate", "check", "--memex", home.memex, read)
    assert done.returncode == 4 and "The skill odd could not be asked" in done.stdout and "Until it answers again, you are asked" in done.stdout, done
    told = json.loads(home("gate", "check", "--json", "--memex", home.memex, read).stdout)
    assert told["verdict"] == "asks" and "Until it answers again, you are asked" in told["unasked"][0], told


@pytest.mark.slow
def test_a_refusal_that_is_told_in_an_answer_is_a_refusal_for_scripts(home):
    read = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "read-file" :ARGS (:PATH "%s") :EXPLANATION "You asked me to read this file."))'
    for script, code, status in ((None, 3, "rejected"), (read % "/etc/passwd" + "\n---\nI may not read that.\n", 3, "rejected"),
                                 (read % "/etc/passwd" + "\n---\n" + read % "inbox.org" + "\n---\nIt says Inbox.\n", 0, "answered"), ("(:TYPE\n---\nHello.\n", 0, "answered")):
        env = home.script(script) if script else None
        said, told = home.ask("read /etc/passwd", env=env), home.ask("--json", "read /etc/passwd", env=env)
        assert (said.returncode, told.returncode, json.loads(told.stdout)["status"]) == (code, code, status) and said.stdout.strip(), (said.stdout, told.stdout)


def asked_on_record(home):
    "Does a question stand in the journal?"
    for path in home.state.glob("passepartout/*/journal.sqlite"):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db: return db.execute("SELECT count(*) FROM chain WHERE kind = 'turn'").fetchone()[0] > 0
        except sqlite3.Error: return False
    return False


@pytest.mark.slow
def test_ctrl_c_stops_a_question(home):
    child = home.start("ask", "--memex", home.memex, "think", env=home.script("!sleep 50\nnever"))
    deadline = time.monotonic() + 60
    while not asked_on_record(home) and time.monotonic() < deadline: time.sleep(0.02)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130 and b"Stopped" in err and b"Traceback" not in err
    last = json.loads(home("trace", "--memex", home.memex, "--json").stdout)[0]["records"]
    assert [r["kind"] for r in last] == ["turn", "answer"] and last[1]["body"]["status"] == "interrupted"


def test_every_json_answer_is_one_document(home):
    commands = [("ask", "what is due?"), ("trace",), ("trace", "--verify"), ("trace", "nowhere"), ("undo",), ("approvals", "list"), ("approvals", "approve", "a", "b"), ("gate", "check", "(:TYPE"), ("ask", "--today", "someday", "hello"), ("ask", " ")]
    for command in commands: json.loads(home(*command, "--json", "--memex", home.memex).stdout)
    assert json.loads(home("ask", "--json", "--memex", home.folder / "nowhere", "hello").stdout)["status"] == "unusable"


def test_an_ask_is_answered_once_with_its_code_from_another_process(home):
    asked = json.loads(home.ask("--json", "call Ana", env=home.script(CAPTURE)).stdout)["approvals"][0]
    answer = lambda how, code: home("approvals", how, "--memex", home.memex, asked["id"], code, env=home.script("!error 503"))
    assert answer("approve", "aaaaaa").returncode == 1 and "Call Ana" not in (home.memex / "inbox.org").read_text()
    done = answer("approve", asked["code"])
    assert done.returncode == 0 and (home.memex / "inbox.org").read_text().count("TODO Call Ana") == 1     # done, though no model was left to say so
    for how in ("approve", "deny"): assert "answered before" in answer(how, asked["code"]).stderr
    late = json.loads(home.ask("--json", "call Ana", env=home.script(CAPTURE) | {"PASSEPARTOUT_APPROVAL_TTL_S": "1e-3"}).stdout)["approvals"][0]
    for how in ("approve", "deny"):
        said = home("approvals", how, "--memex", home.memex, f" {late['id'].upper()}", late["code"])
        assert said.returncode == 1 and "has expired" in said.stderr and len(home("approvals", how, "--memex", home.memex, "A" * 50_000, "x").stderr) < 200
    assert (home.memex / "inbox.org").read_text().count("TODO Call Ana") == 1
    assert home("undo", "--memex", home.memex).returncode == 0 and (home.memex / "inbox.org").read_text() == "* Inbox\n"


def test_what_stands_before_the_command_counts_for_it(home):
    assert home("--memex", home.memex, "--today", "2026-11-19", "ask", "what is due tomorrow?").stdout.startswith("Fri 20 November")
    assert home("--memex", home.memex, "approvals", "list").stdout.startswith("Nothing waits")
    assert home("--version", "--memex", home.memex).stdout.startswith("passepartout ")


@pytest.mark.slow
@pytest.mark.parametrize("group", ["approvals", "skills", "jobs", "plans", "rules", "gateway"])
def test_a_group_without_a_command_says_what_there_is(home, group):
    alone, word = home("--memex", home.memex, group), "status" if group == "gateway" else "list"
    told = "No daemon runs for these notes, so nothing runs by itself: passepartout daemon\n" if group == "jobs" else ""
    assert (alone.returncode, alone.stderr) == (0, told) and alone.stdout.strip() and "Usage" not in alone.stdout
    assert alone.stdout == home(group, word, "--memex", home.memex).stdout == home("--memex", home.memex, group, word).stdout == home(group, "--memex", home.memex, word).stdout
    both = [re.sub(r"T\d\d:\d\d:\d\d", "T", said.stdout) for said in (home(group, "--memex", home.memex, "--json"), home(group, word, "--json", "--memex", home.memex))]       # when a job is due next, counted from now
    assert both[0] == both[1] != ""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("plans", "skip", "c0ffee"), ("plans", "list"), ("rules", "drop", "a1"), ("rules", "list"), ("jobs", "news"), ("gateway", "unlink"), ("sessions", "focus", "main"), ("skills", "list"), ("approvals", "deny", "a1")])
def test_the_notes_before_a_word_of_a_group_are_those_of_the_word(home, words):
    nowhere = home.folder / "nowhere"
    for given in ((words[0], "--memex", nowhere, *words[1:]), ("--memex", nowhere, *words), (*words, "--memex", nowhere)):
        done = home(*given)
        assert done.returncode == 5 and str(nowhere) in done.stderr, given


@pytest.mark.slow
def test_completion(home):
    done = home(env={"_PASSEPARTOUT_COMPLETE": "complete_bash", "COMP_WORDS": "passepartout a", "COMP_CWORD": "1"}, true=True)
    assert done.stdout.split() == ["ask", "agenda", "approvals"]


def test_every_option_before_a_word_of_a_group_is_one_of_the_word_or_a_mistake(home):
    "It was passed over, all but the folder: a script got a list for people, and was served by the daemon that it had turned down."
    before, after = (home("--memex", home.memex, *words) for words in (("jobs", "--json", "news"), ("jobs", "news", "--json")))
    assert json.loads(before.stdout) == json.loads(after.stdout)
    wrong = home("--memex", home.memex, "gateway", "--json", "link", "telegram")
    assert wrong.returncode == 2 and "--json is no option of link" in wrong.stderr


# The memex ------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize("given", [("--memex", ""), ("-m", ""), ("--memex=",)])
def test_an_empty_name_is_not_the_folder_one_stands_in(home, given):
    for words in (("todo", *given), (*given, "agenda"), ("ask", *given, "todo buy milk")):
        done = home(*words)
        assert done.returncode == 2 and "names no folder" in done.stderr and not done.stdout
    assert home("capture", "--", "-m", "").returncode == 0


@pytest.mark.slow
def test_a_memex_that_is_no_folder(home):
    for place in (home.folder / "nowhere", home.memex / "inbox.org", "/dev/null", home.folder / "x\x1b[2Jy", "x" * 5000):
        done = home("ask", "--memex", place, "hello")
        assert done.returncode == 5 and "\x1b" not in done.stderr and ("memex" in done.stderr or "your notes" in done.stderr) and sentence(done.stderr)


@pytest.mark.slow
def test_a_read_only_memex_is_read_and_not_written(home):
    os.chmod(home.memex / "inbox.org", 0o444); os.chmod(home.memex, 0o555)
    assert "Call the roofer" in home.ask("what is due?", powers=True).stdout
    done = home.ask("todo: buy milk", powers=True)
    assert done.returncode == 1 and "read-only" in done.stdout and (home.memex / "inbox.org").read_text() == "* Inbox\n"
    os.chmod(home.memex, 0o755)


# Two at once ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_many_processes_on_one_memex(home):
    "Two that edit the same note at the same moment cannot both: the later one is told, and no capture is lost or made twice."
    children = [home.start("ask", "--memex", home.memex, f"todo: item {n}") for n in range(3)]
    told = [(child.communicate(timeout=60)[0].decode(), child.returncode) for child in children]
    text = (home.memex / "inbox.org").read_text()
    for n, (answer, code) in enumerate(told):
        assert code == (0 if answer.startswith("Added") else 1) and (code == 0 or "changed by another program" in answer), answer
        assert text.count(f"TODO item {n}\n") == (1 if code == 0 else 0)
    assert any(code == 0 for _, code in told)
    done = home("trace", "--verify", "--memex", home.memex)
    assert done.returncode == 0 and done.stdout.startswith("The chain holds"), done.stdout + done.stderr


# The journal ----------------------------------------------------------------------------------------------------------

def damaged(home, how):
    "A journal of one turn to which something was done; then a question."
    assert home.ask("hello").returncode == 0
    how(home.journal)
    return home.ask("what is due?")


def test_a_journal_from_a_newer_version(home):
    def newer(path):
        with sqlite3.connect(path) as db: db.execute("PRAGMA user_version = 9999")
    done = damaged(home, newer)
    assert done.returncode == 5 and "newer" in sentence(done.stderr)


def test_a_journal_that_is_damaged(home):
    def scribble(path):
        with open(path, "r+b") as file:
            for place in range(4096, path.stat().st_size, 4096): file.seek(place); file.write(b"\xa5" * 4096)
    done = damaged(home, scribble)
    assert done.returncode == 5 and "journal" in sentence(done.stderr).lower()
    assert (home.memex / "inbox.org").read_text() == "* Inbox\n"


def test_a_journal_that_is_something_else(home):
    done = damaged(home, lambda path: path.write_bytes(b"this is a letter to my aunt\n" * 1000))
    assert done.returncode == 5 and sentence(done.stderr)


def test_a_journal_that_was_cut_off(home):
    def cut(path):
        with open(path, "r+b") as file: file.truncate(path.stat().st_size // 2)
    done = damaged(home, cut)
    assert done.returncode == 5 and sentence(done.stderr)


@pytest.mark.slow
def test_a_journal_that_lost_its_last_records_is_reported(home):
    def forget(path):
        with sqlite3.connect(path) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall(): db.execute(f"DROP TRIGGER {name}")
            db.execute("DELETE FROM chain WHERE seq > (SELECT max(seq) - 3 FROM chain)")
    done = damaged(home, forget)
    assert "chain" in done.stderr or done.returncode == 5, done.stderr
    checked = home("trace", "--verify", "--memex", home.memex)
    assert checked.returncode in (3, 5) and ("cut" in checked.stdout + checked.stderr or "chain" in checked.stdout + checked.stderr)


def test_a_state_folder_that_cannot_be_written(home):
    home.state.mkdir(); os.chmod(home.state, 0o555)
    done = home.ask("todo: buy milk", powers=True)
    assert done.returncode == 5 and "XDG_STATE_HOME" in sentence(done.stderr) and (home.memex / "inbox.org").read_text() == "* Inbox\n"


def test_a_journal_folder_that_became_read_only(home):
    assert home.ask("hello", powers=True).returncode == 0
    folder = home.journal.parent
    for path in [*folder.iterdir(), folder]: os.chmod(path, 0o555 if path == folder else 0o444)
    done = home.ask("todo: buy milk", powers=True)
    assert done.returncode == 5 and sentence(done.stderr) and (home.memex / "inbox.org").read_text() == "* Inbox\n"
    os.chmod(folder, 0o755)


@pytest.fixture
def small_disk(home):
    "A disk of 600 KB for the state; needs root."
    home.state.mkdir()
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", home.state], capture_output=True, timeout=120).returncode: pytest.skip("needs root, to mount a small disk")
    yield home.state
    subprocess.run(["umount", "-l", home.state], timeout=120)


@pytest.mark.slow
def test_a_full_disk(home, small_disk):
    assert home.ask("todo: before").returncode == 0
    with open(small_disk / "filler", "wb", buffering=0) as file:
        try:
            while True: file.write(b"x" * 4096)
        except OSError: pass
    done = home.ask("todo: meanwhile " + "word " * 3000)
    assert done.returncode in (1, 5) and "disk" in sentence(done.stderr or done.stdout), (done.stdout, done.stderr)
    assert "meanwhile" not in (home.memex / "inbox.org").read_text()
    (small_disk / "filler").unlink()
    assert home.ask("todo: after").returncode == 0
    text = (home.memex / "inbox.org").read_text()
    assert text.count("TODO before\n") == text.count("TODO after\n") == 1
    assert home("trace", "--verify", "--memex", home.memex).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [32, 48, 64, 96])
def test_a_first_start_on_a_disk_that_is_nearly_full(home, size):
    "There is not even room for the tables. SQLite ends the transaction by itself then; that none is active any more is not what the person is to read."
    home.state.mkdir()
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", home.state], capture_output=True, timeout=120).returncode: pytest.skip("needs root, to mount a small disk")
    try: done = home.ask("todo: pay the rent")
    finally: subprocess.run(["umount", "-l", home.state], timeout=120)
    told = sentence(done.stderr or done.stdout)
    assert done.returncode in (1, 5) and "disk" in told and "transaction" not in told, done


@pytest.mark.slow
@pytest.mark.parametrize("words", [["ask", "what is due?"], ["--version"], ["--help"]])
def test_output_onto_a_full_disk(home, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*BEGIN, *words, *(["--memex", str(home.memex)] if words[0] == "ask" else [])], stdout=full, stderr=subprocess.PIPE, env=home.env, timeout=30)
    assert done.returncode == 1 and b"could not be written" in done.stderr and b"Traceback" not in done.stderr


# The clock ------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_clock_that_jumped_back_is_noticed_and_nothing_else(home, tmp_path):
    "The journal was written by a clock an hour ahead."
    code = "import asyncio, time; from passepartout.journal import Journal; import sys; j = Journal.open(sys.argv[1], clock=lambda: time.time() + 7200); b = j.batch('main', 't'); b.record('turn', {'text': 'x'}); b.commit_now(); j.close()"
    assert home.ask("hello").returncode == 0
    subprocess.run([sys.executable, "-c", code, home.journal], check=True, env=home.env, timeout=120)
    done = home.ask("todo: buy milk")
    assert done.returncode == 0 and "clock" in done.stderr and "TODO buy milk" in (home.memex / "inbox.org").read_text()
    assert home("trace", "--verify", "--memex", home.memex).returncode == 0
    assert "buy milk" in home("trace", "--memex", home.memex).stdout             # the latest turn is the latest recorded, whatever the clock said


def test_pretending_another_day(home):
    assert home("ask", "--memex", home.memex, "--today", "2026-11-20", "what is due today?").stdout.startswith("Fri 20 November")
    assert home("ask", "--memex", home.memex, "--today", "0000-99-99", "what is due today?").returncode == 5


# Input ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, code", [("blorp the frobnicator", 7), ("note:", 7), ("done zzyzx", 7), ("x" * 30_000, 7), ("thanks", 0), ("note: the fig is wrapped", 0)], ids=["unknown", "empty", "no such task", "too long", "thanks", "kept"])
def test_a_script_sees_that_nothing_was_done(home, words, code):
    "Words are an answer for people; whoever pipes a note in has to learn from the exit code that it was not kept."
    done = home("ask", "-", "--json", "--memex", home.memex, input=words.encode())
    assert (done.returncode, json.loads(done.stdout)["status"]) == (code, "declined" if code else "answered"), done


@pytest.mark.parametrize("words, kept", [(["note this"], "* Roof offer\nThe drive has to be free.\n"), (["note", "this", "in", "house.org"], "* Roof offer\nThe drive has to be free.\n"), (["todo:"], "* TODO Roof offer\nThe drive has to be free.\n"), (["please make a note"], "* Roof offer\nThe drive has to be free.\n")])
def test_what_is_piped_in_is_what_this_means(home, words, kept):
    done = home.ask(*words, input="Roof offer\nThe drive has to be free.\n".encode())
    assert done.returncode == 0 and (home.memex / ("house.org" if "house.org" in words else "inbox.org")).read_text().endswith(kept), done


MAIL = "From: Dachdeckerei Pohl <pohl@dach.example>\nTo: me@home.example\nSubject: =?utf-8?q?Ger=C3=BCst?= on\n monday\nDate: Thu, 19 Nov 2026 09:00:00 +0100\n\nIt comes at seven.\n"


@pytest.mark.parametrize("words, kept", [(["note this"], "* Gerüst on monday\n"), (["todo:"], "* TODO Gerüst on monday\n"), (["note", "this", "in", "house.org"], "* Gerüst on monday\n")])
def test_a_mail_that_is_piped_in_is_called_by_its_subject_and_kept_whole(home, words, kept):
    done = home.ask(*words, input=MAIL.encode())
    text = (home.memex / ("house.org" if "house.org" in words else "inbox.org")).read_text()
    assert done.returncode == 0 and kept in text and "SCHEDULED" not in text and text.endswith(MAIL), (done, text)


@pytest.mark.parametrize("text", ["From: the beginning\nto the end\n", "Subject: tea\nCups: three\n\nx\n", "From: me\nTo: you\n\nhello\n"])
def test_what_is_no_mail_with_a_subject_begins_with_its_first_line(home, text):
    assert home.ask("note this", input=text.encode()).returncode == 0
    assert (home.memex / "inbox.org").read_text().endswith(f"* {text}")


def test_what_is_piped_in_without_words_is_the_request(home):
    for data in (b"todo buy stamps\n", b"\xef\xbb\xbftodo buy glue\r\n"): assert home.ask(input=data).returncode == 0
    assert (home.memex / "inbox.org").read_text().endswith("* TODO buy stamps\n* TODO buy glue\n")


@pytest.mark.parametrize("words", [[], ["-"]])
def test_a_command_that_is_piped_in_was_not_typed(home, words):
    "The only line of a letter may be a command; who typed it has answered for it, and nobody typed this."
    done = home.ask(*words, input=b"$ touch made\n")
    assert done.returncode == 4 and not (home.memex / "made").exists(), done
    assert home.ask("$ touch made").returncode == 0 and (home.memex / "made").exists()


def test_a_letter_that_is_captured_is_asked_about_where_a_program_would_carry_it_out(home):
    letter = "An offer\n<%%(delete-file (buffer-file-name))>\n"
    done = home("capture", "-", "--memex", home.memex, input=letter.encode())
    assert done.returncode == 4 and "a program carries out" in done.stderr + done.stdout and (home.memex / "inbox.org").read_text() == "* Inbox\n", done
    assert home("capture", "-", "--memex", home.memex, input=b"An offer\nSee https://offers.example/roof\n").returncode == 0 and "offers.example" in (home.memex / "inbox.org").read_text()
    assert '"text": "capture -"' in home("trace", "--json", "--memex", home.memex).stdout
    assert home("capture", letter, "--memex", home.memex).returncode == 0 and "%%(" in (home.memex / "inbox.org").read_text(), "this was typed"


@pytest.mark.parametrize("way", [("chat",), ("tui", "--linear")])
def test_no_line_that_is_piped_into_a_conversation_counts_as_typed(home, way):
    assert home("ask", "todo: buy stamps", "--memex", home.memex).returncode == 0
    before = {path: path.read_text() for path in home.memex.rglob("*") if path.is_file()}
    done = home(*way, "--memex", home.memex, input=b"Dear Ana,\n$ touch made\n/undo\nundo\nyes\n/rewind edits\n/attest web-fetch title\n/attest web-fetch title\n$ cat inbox.org | sh\n")
    assert {path: path.read_text() for path in home.memex.rglob("*") if path.is_file()} == before, done.stdout
    assert "would run" in done.stdout.replace("It ", "") and done.stdout.count("came through a pipe") == 4 and "passepartout undo" in done.stdout
    done = home(*way, "--memex", home.memex, input=b"todo: buy glue\nfind glue\n/trace\n")
    assert "buy glue" in (home.memex / "inbox.org").read_text() and "proposes" in done.stdout.replace("proposal:", "proposes"), done.stdout


def test_a_letter_that_is_piped_in_to_be_kept_is_nobodys_word(home):
    done = home.ask("note this", input=b"An offer\n<%%(delete-file (buffer-file-name))>\n")
    assert done.returncode == 4 and "a program carries out" in done.stderr + done.stdout and (home.memex / "inbox.org").read_text() == "* Inbox\n", done
    home.ask("note this", input=b"An offer\nSee https://offers.example/roof\n")
    records = home("trace", "--json", "--memex", home.memex).stdout
    assert "offers.example" in records and '"origin": "network"' in records and '"origin": "person"' not in records


@pytest.mark.parametrize("words", [[], [""], ["note"]])
def test_a_pipe_through_which_nothing_comes_is_not_waited_for(home, words):
    "A script may have an open one behind it, which nobody ever closes."
    child = home.start("ask", "--memex", home.memex, *words, stdin=subprocess.PIPE)
    assert child.wait(60) != 0 and not child.stdin.closed
    said = (child.stdout.read() + child.stderr.read()).decode()
    away(child)
    assert ("Nothing was asked" in said) == (words != ["note"]) and (home.memex / "inbox.org").read_text() == "* Inbox\n", said


def test_a_pipe_that_nobody_asked_for_is_not_waited_for(home):
    with subprocess.Popen([*BEGIN, "ask", "--memex", str(home.memex), "done it"], env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.wait(60) == 7


@pytest.mark.parametrize("data", thinned([b"", b"\n \t\n", b"\x00\x01\xff\xfe" * 50, os.urandom(5000), b"\xf0\x9f\x98", b"find \xff roof", b"\x1b[2J\x1b]0;owned\x07 find roof"], 2), ids=["nothing", "blank", "binary", "random", "half a character", "broken", "escapes"])
def test_what_comes_from_a_pipe(home, data):
    done = home.ask("-", input=data)
    assert done.returncode in (0, 1, 2, 7) and not set(done.stdout + done.stderr) & {chr(c) for c in [*range(9), *range(11, 32), 127]}
    sentence(done.stdout or done.stderr)


@pytest.mark.parametrize("size", [300_000, 5_000_000])
def test_gigantic_input(home, size):
    done = home.ask("-", input=b"word " * (size // 5))
    assert done.returncode == 1 and "note" in sentence(done.stdout + done.stderr) and len(done.stdout) < 1000


@pytest.mark.slow
def test_an_argument_that_is_no_text(home):
    done = subprocess.run([*BEGIN, "ask", "--memex", str(home.memex), b"find \xff\xfe roof"], capture_output=True, env=home.env, timeout=30)
    assert done.returncode == 0 and b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_locale_that_knows_only_ascii(home):
    (home.memex / "trip.org").write_text("* Graça\nÀ beira do Tejo, 日本 ✓\n")
    done = home.ask("find Graça", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, true=True)
    assert done.returncode == 0 and "Graca" in done.stdout and done.stdout.isascii()
    done = home("trace", "--memex", home.memex, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, true=True)
    assert done.returncode == 0 and "answers" in done.stdout and done.stdout.isascii()


@pytest.mark.slow
def test_closed_streams_do_not_become_the_journal(home):
    line = " ".join([*BEGIN, "ask", "--memex", str(home.memex), "'what is due?'"])
    assert subprocess.run(["bash", "-c", f"{line} <&- >&- 2>&-"], env=home.env, timeout=30).returncode == 0
    assert home("trace", "--verify", "--memex", home.memex).returncode == 0


def test_notes_cannot_drive_the_terminal(home):
    (home.memex / "evil.org").write_text("* Roof \x1b[2J\x1b]0;owned\x07\x9b31m hostile\n\u202egnp.exe roof\n")
    for args in (["find roof"], ["--json", "find roof"]):
        done = home.ask(*args)
        assert "hostile" in done.stdout and not set(done.stdout) & {chr(c) for c in [*range(9), *range(11, 32), *range(127, 160), 0x202e]}


# Settings -------------------------------------------------------------------------------------------------------------

def test_settings_that_make_no_sense_are_told_and_the_defaults_count(home):
    (home.folder / "config" / "passepartout").mkdir(parents=True)
    (home.folder / "config" / "passepartout" / "settings.ini").write_text("[assistant]\nmax_deepth = 3\nmax_attempts = many\n[[[\n")
    done = home.ask("what is due?", env={"HEARTBEAT_INTERVAL": "0"})
    assert done.returncode == 0 and "Call the roofer" in done.stdout and "max_deepth" in done.stderr and "max_attempts" in done.stderr


def test_a_provider_that_is_not_there_and_a_script_that_is_not_there(home):
    done = home.ask("hello", env={"PROVIDER_CASCADE": "nobody"})
    assert done.returncode == 1 and "nobody" in done.stderr and "provider_cascade" in done.stderr
    done = home.ask("hello", env={"PROVIDER_CASCADE": "scripted", "PASSEPARTOUT_SCRIPTED_FILE": "/nowhere/x"})
    assert done.returncode == 1 and "/nowhere/x" in done.stderr and "Traceback" not in done.stderr


# Output ---------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_reader_that_goes_away(home):
    for n in range(3): home.ask("what is due?")
    line = " ".join([*BEGIN, "trace", "-n", "900", "--json", "--memex", str(home.memex)])
    done = subprocess.run(["bash", "-c", f"{line} | head -c 5; exit ${{PIPESTATUS[0]}}"], env=home.env, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"[\n  {", b"")


@pytest.mark.slow
@pytest.mark.parametrize("both", ["", "2>&1"])
def test_what_nobody_reads_ends_as_if_somebody_did(home, both):
    "The exit code is that of the command, and a turn is not left in the middle because its answer cannot be printed."
    for words, code in ((["gate", "check", COMMAND_OUT], 3), (["ask", "note: the boiler man comes"], 0), (["trace", "-n", "x"], 2)):
        line = " ".join(map(shlex.quote, [*BEGIN, *words, "--memex", str(home.memex)]))
        done = subprocess.run(["bash", "-c", f"{line} {both} | (exec <&-; sleep 0.1); exit ${{PIPESTATUS[0]}}"], env=home.env, capture_output=True, timeout=60)
        assert done.returncode == code and b"Traceback" not in done.stderr and b"BrokenPipe" not in done.stderr, (words, done)
    assert "boiler man" in (home.memex / "inbox.org").read_text()


COMMAND_OUT = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "read-file" :ARGS (:PATH "/etc/passwd") :EXPLANATION "The person wants to see who has an account"))'


def test_no_colour_in_a_pipe(home):
    for args in (("trace",), ("gate", "check", "(:TYPE")):
        assert "\x1b" not in home(*args, "--memex", home.memex, env={"TERM": "xterm-256color"}).stdout


def test_lines_in_a_pipe_stay_whole(home):
    home.ask("what is due?")
    shown = home("trace", "--memex", home.memex, env={"COLUMNS": "40"}).stdout
    assert any(line.startswith("? proposes") and ":EXPLANATION" in line for line in shown.splitlines())


def test_the_last_line_of_help_is_whole(home):
    "One line a command, none cut off with dots."
    shown = home("--help", env={"COLUMNS": "80"}).stdout
    assert "..." not in shown.partition("Commands:")[2] and "demo" in shown


@pytest.mark.slow
def test_no_plug_in_of_pydantic_sees_what_is_said(home, tmp_path):
    package = tmp_path / "site"
    (package / "eager-1.0.dist-info").mkdir(parents=True)
    (package / "eager-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: eager\nVersion: 1.0\n")
    (package / "eager-1.0.dist-info" / "entry_points.txt").write_text("[pydantic]\neager = eager:plugin\n")
    (package / "eager.py").write_text(f"open({str(tmp_path / 'seen')!r}, 'w')\nclass Plugin:\n    def new_schema_validator(self, *a, **k): return None, None, None\nplugin = Plugin()\n")
    env = {**home.env, "PYTHONPATH": str(package)}
    checked = "from passepartout.messages import Action, Signal; Action(target='cli'); Signal(payload={'sensor': 'user-input'})"
    subprocess.run([sys.executable, "-c", checked], env=env, check=True, timeout=120)
    assert (tmp_path / "seen").exists(), "the plug-in of this test is none"
    (tmp_path / "seen").unlink()
    assert subprocess.run([*BEGIN, "ask", "--memex", str(home.memex), "what is due?"], env=env, capture_output=True, timeout=120).returncode == 0
    assert not (tmp_path / "seen").exists()
    late = f"from passepartout.cli import begin; begin(); {checked}"             # validators are made when they are first needed, long after the start
    assert subprocess.run([sys.executable, "-c", late], env=env, capture_output=True, timeout=120).returncode == 0
    assert not (tmp_path / "seen").exists()


# Walked by hand on a fresh installation -----------------------------------------------------------------------------------

@pytest.mark.parametrize("named", ["option", "variable"])
def test_a_memex_that_cannot_be_read(home, named):
    os.chmod(home.memex, 0)
    done = home.ask("find roof", powers=True) if named == "option" else home("ask", "find roof", env={"MEMEX_DIR": str(home.memex)}, powers=True)
    assert done.returncode == 5 and "cannot be read" in done.stderr and "chmod" in sentence(done.stderr)
    os.chmod(home.memex, 0o755)


@pytest.mark.slow
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_stands_in_the_place_of_the_journal(home, make):
    home.ask("hello")
    journal = home.journal
    journal.unlink(); make(journal)
    done = home.ask("todo: buy milk")
    assert done.returncode == 5 and "no journal" in done.stderr and "Errno" not in done.stderr and (home.memex / "inbox.org").read_text() == "* Inbox\n"


@pytest.mark.slow
def test_nobody_else_can_write_above_the_journal(home):
    "Who may write to a folder above it can put another journal in its place."
    subprocess.run(["sh", "-c", 'umask 000; exec "$@"', "-", *BEGIN, "ask", "--memex", str(home.memex), "hello"], env=home.env, check=True, capture_output=True, timeout=120)
    for folder in (home.state, home.state / "passepartout", home.journal.parent): assert not folder.stat().st_mode & 0o077, folder
    made = [Path(top) for each in (home.state, home.state.parent / "cache") for top, _, _ in os.walk(each)]
    assert len(made) > 4 and not [each for each in made if each.stat().st_mode & 0o077]


@pytest.mark.slow
def test_a_note_is_not_written_damaged(home):
    for done in (home("capture", "-", "--memex", home.memex, input="café".encode("latin-1")), home("capture", "caf\udce9", "--memex", home.memex, true=True)):
        assert done.returncode == 2 and "iconv" in sentence(done.stderr)
    for text in (b"note: caf\xe9", b"remind me on friday to buy caf\xe9"):
        assert "Nothing was" in home.ask("-", input=text).stdout.replace("nothing", "Nothing")
    assert (home.memex / "inbox.org").read_text() == "* Inbox\n"
    assert home("capture", "-", "--memex", home.memex, input="café".encode()).returncode == 0 and "café" in (home.memex / "inbox.org").read_text()


@pytest.mark.parametrize("words, hint", thinned([(["what", "is", "due?"], "passepartout ask 'what is due?'"), (["what is due this week?"], "passepartout ask 'what is due this week?'"), (["note:", "buy", "milk"], "passepartout ask 'note: buy milk'"), (["aks", "hello"], ""), (["trce"], ""), (["--memx", "x", "what is due"], "")], 2))
def test_who_forgets_the_word_ask_is_told(home, words, hint):
    done = home(*words)
    assert done.returncode == 2 and (hint in done.stderr if hint else "To ask something" not in done.stderr), done.stderr
    assert not hint or "Did you mean" not in done.stderr


ENDING = """
import atexit, os, re2, sys, threading, time
from passepartout import cli
end = time.monotonic() + float(sys.argv[2])
def work():
    while time.monotonic() < end:
        for n in range(5, 40): re2.compile(r"(?i)[a-d]{1,%d}[a-z0-9_]{20,60}(?:foo|bar)+" % n).search("a" * 200)
        re2.purge()
cli.run = lambda args: print("done", end="") or 3
atexit.register(lambda: os.write(2, b"registered"))
threading.Thread(target=work, daemon=sys.argv[1] == "daemon").start()
time.sleep(0.02)
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind, seconds", [("daemon", "60"), ("waited for", "0.2")])
def test_a_thread_at_work_does_not_abort_the_end(kind, seconds):
    "One that is inside a library in C++ when Python ends would take the process with it, after all was done."
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", ENDING, kind, seconds], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (3, "done", "registered")


def test_a_placeholder_in_an_answer_is_explained(home):
    told = home("ask", "note: gate code 4711")
    assert "[secret-shaped: " in told.stdout and "In the note it stands" in " ".join((told.stdout + told.stderr).split())
    assert "4711" in home("show", "gate code").stdout and "In the note" not in home("ask", "note: milk").stdout


def test_a_file_that_cannot_be_read_is_not_told_as_the_output(capsys, monkeypatch, tmp_path):
    from passepartout.cli import explained
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))          # `TMPDIR` is read once, before any test
    assert explained(OSError(errno.EIO, "Input/output error", "/notes/house.org")) == 1
    told = capsys.readouterr().err
    assert "/notes/house.org" in told and "output could not" not in told
    assert len([*tmp_path.glob("passepartout-error-*.txt")]) == 1          # and not among the files of everybody


def test_a_sandbox_that_cannot_even_be_tried_is_a_finding(capsys, monkeypatch):
    "The traceback of its thread stood in the midst of an answer."
    from passepartout.fitting import try_sandbox
    from passepartout.shell import sandbox
    def broken(): raise OSError(errno.EIO, "Input/output error")
    monkeypatch.setattr(sandbox, "find_bubblewrap", broken)
    found = try_sandbox()()
    assert not found.works and "could not be tried" in found.problem and "Input/output error" in found.problem and not capsys.readouterr().err


@pytest.mark.parametrize("words, said", [("find", "passepartout find roof"), ("done", "passepartout done"), ("skills new", "passepartout skills new"), ("approvals approve", "listed by: passepartout approvals"), ("gate check", "gate check '(:TARGET")])
def test_a_missing_argument_is_told_with_an_example(words, said, capsys):
    from passepartout.cli import run as run_line
    assert run_line(words.split()) == 2 and said in capsys.readouterr().err
