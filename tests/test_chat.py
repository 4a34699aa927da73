"The chat in a real terminal: a pty for what is written to it, tmux for what is seen"
import os, pty, re, select, shutil, signal, subprocess, sys, time, uuid
from pathlib import Path

import pytest
from waits import ON_TERMINAL, PATIENCE, away, next_line, wait_for

CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "Call Ana" :KIND "task") :EXPLANATION "You said that somebody has to call Ana"))'
# Importing takes most of a chat's start. This process has done it and forks a chat for each pty it is told of.
FORKS = """
import fcntl, json, os, signal, sys, termios
import passepartout.terminal.commands, passepartout.agent, passepartout.cli, passepartout.terminal.chat, passepartout.toolbelt.notetools, passepartout.undo, rich.console
import passepartout.gates.paths, passepartout.gates.permissions, passepartout.gates.policy, passepartout.providers.reflex, passepartout.providers.scripted
sys.path.append(sys.argv[1])
__import__("run_notebook").practise()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        code = 99
        try:
            os.setsid()
            terminal = os.open(order["terminal"], os.O_RDWR)
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            os.environ.clear(); os.environ.update(order["env"])
            for number in range(3): os.dup2(terminal, number)
            os.closerange(3, 100)
            sys.stdin, sys.stdout, sys.stderr = (open(n, "r" if n == 0 else "w", encoding="utf-8", errors="surrogateescape" if n == 0 else "strict", closefd=False) for n in range(3))
            try: passepartout.cli.main(order["args"])
            except SystemExit as end: code = end.code if isinstance(end.code, int) else 0
            sys.stdout.flush()
        except BaseException: __import__("traceback").print_exc()
        finally: os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def forks():
    process = subprocess.Popen([sys.executable, "-c", FORKS, str(Path(__file__).parents[1] / "tools")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.stdin.close()
    away(process)


def person(folder):
    "A memex, and the environment of somebody who has nothing else."
    (folder / "memex").mkdir(exist_ok=True)
    (folder / "memex" / "inbox.org").write_text("* Inbox\n")
    (folder / "memex" / "house.org").write_text("* Roof\n** TODO Call the roofer\nDEADLINE: <2026-11-20 Fri>\n")
    return {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"),
            "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "INPUTRC": "/dev/null"}


def script(folder, text):
    (folder / "model.script").write_text(text)
    return {"PROVIDER_CASCADE": "scripted", "PASSEPARTOUT_SCRIPTED_FILE": str(folder / "model.script"), "PASSEPARTOUT_PERMISSIONS": "org-capture=ask"}


class Terminal:
    "A chat behind a pty: what is typed, and every byte that is written."
    def __init__(self, forks, folder, env, *args, columns=100):
        import fcntl, json, struct, termios
        self.forks, self.bytes = forks, b""
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        forks.stdin.write(json.dumps({"terminal": os.ttyname(theirs), "env": env, "args": ["chat", "--memex", str(folder / "memex"), "--today", "2026-11-19", *args]}) + "\n"); forks.stdin.flush()
        self.child = int(next_line(forks))
        self.theirs = theirs
        self.prompt()

    def read(self, seconds):
        while select.select([self.ours], [], [], seconds)[0]:
            try: self.bytes += os.read(self.ours, 65536)
            except OSError: return
            seconds = 0.0

    def wait(self, text, seconds=PATIENCE):
        "Wait until `text` is on the screen since the last wait; what came until then."
        end = time.monotonic() + seconds
        while text.encode() not in self.bytes:
            assert time.monotonic() < end, f"{text!r} did not come: {self.bytes.decode(errors='replace')}"
            self.read(0.05)
        at = self.bytes.index(text.encode()) + len(text.encode())
        seen, self.bytes = self.bytes[:at], self.bytes[at:]
        return seen.decode(errors="replace")

    def prompt(self, seconds=PATIENCE):
        "Wait until the chat asks for the next line, at the beginning of one; what came until then."
        end = time.monotonic() + seconds
        while True:
            self.read(0.03)
            seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.bytes.decode(errors="replace"))
            if re.search(r"(^|[\r\n])› $", seen) and not select.select([self.ours], [], [], 0.03)[0]: break
            assert time.monotonic() < end, f"no prompt came: {seen}"
        seen, self.bytes = self.bytes, b""
        return seen.decode(errors="replace")

    def type(self, text): os.write(self.ours, text.encode() if isinstance(text, str) else text)

    def say(self, line):
        "Type a line; what the chat printed until the next prompt."
        self.type(line + "\r")
        self.wait("\n")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.prompt()).replace("\r", "")

    def end(self):
        "The exit code."
        os.close(self.theirs)
        code = int(next_line(self.forks))
        self.read(0.05)
        os.close(self.ours)
        return code


@pytest.fixture
def chat(tmp_path, forks):
    "Starts chats; those that a test leaves open are closed."
    started = []
    def start(text=None, *args, env=None, **options):
        started.append(Terminal(forks, tmp_path, {**person_env, **(script(tmp_path, text) if text else {}), **(env or {})}, *args, **options))
        return started[-1]
    person_env = person(tmp_path)
    yield start
    for each in started:
        try: os.kill(each.child, signal.SIGKILL); each.end()
        except (OSError, ValueError): pass


LINES = "".join(f"note: line number {number} of a long letter\r" for number in range(300))

def test_ctrl_c_stops_three_hundred_lines_of_a_terminal_that_does_not_say_what_was_pasted(chat, tmp_path):
    terminal, inbox = chat(), tmp_path / "memex" / "inbox.org"
    before = inbox.read_text() if inbox.exists() else ""
    terminal.type(LINES)
    terminal.wait("Added the note “line number 1 ")
    terminal.type("\x03")
    told = " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.wait("was done.")).split())
    left = int(re.search(r"(\d+) lines that waited behind it were left out: nothing of them was done", told)[1])
    terminal.prompt()
    done = inbox.read_text()[len(before):].count("line number")
    assert done + left in (299, 300) and left > 100
    assert "Added" in terminal.say("note: and on we go") and inbox.read_text()[len(before):].count("* ") == done + 1


def test_lines_that_come_together_are_each_read_once_and_whole(chat, tmp_path):
    terminal = chat()
    terminal.type("".join(f"note: Zeile {number} für Grüße {'x' * (number * 7)}\r\n" for number in range(60)) + "\nnote: the last")
    terminal.wait("Zeile 59 ", 60)
    terminal.wait("Added", 60)
    terminal.type(" one\r")
    terminal.wait("“the last one”")
    text = (tmp_path / "memex" / "inbox.org").read_text()
    assert [text.count(f"* Zeile {number} für Grüße {'x' * (number * 7)}\n") or text.count(f"* Zeile {number} für") for number in range(60)] == [1] * 60 and "* the last one\n" in text


def test_what_is_typed_during_a_turn_is_read_after_it(chat):
    terminal = chat("!sleep 1\nthe first\n---\nthe second\n---\nthe third")
    terminal.type("work on this\r")
    terminal.type("and this\rand that\r")
    seen = terminal.wait("the third", 60)
    assert seen.index("the first") < seen.rindex("› and this") < seen.index("the second") < seen.rindex("› and that")


def test_a_conversation(chat):
    terminal = chat()
    assert "Call the roofer" in terminal.say("what is due tomorrow?")
    assert "There is no command /hlep. Did you mean /help?" in terminal.say("/hlep")
    assert "/approve CODE" in terminal.say("/help")
    assert "Nothing waits" in terminal.say("/pending")
    assert "nothing to take back" in terminal.say("/undo")
    assert "Which code?" in terminal.say("/approve")
    assert re.search(r"gates     policy ✓  secrets ✓  permissions ✓ (.|\n)*allowed", terminal.say("/trace"))
    assert terminal.say("") == terminal.say("   ")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_ask_approve_deny_undo(chat, tmp_path):
    inbox = tmp_path / "memex" / "inbox.org"
    terminal = chat("\n---\n".join([CAPTURE, "Done.", CAPTURE.replace("Ana", "Rui"), "fine"]))
    asked = terminal.say("take care of Ana")
    code = re.search(r"/approve ([a-z0-9]{6})", asked)[1]
    assert "You said that somebody has to call Ana" in asked and ':TITLE "Call Ana"' in asked and ":DEADLINE NIL" in asked
    assert "does not fit" in terminal.say("/approve zzzzzz") and "the code belongs to it" in terminal.say("yes") and inbox.read_text() == "* Inbox\n"
    assert code in terminal.say("/pending")
    assert "Done." in terminal.say(f"/approve {code.upper()}") and "TODO Call Ana" in inbox.read_text()
    assert "nothing to approve" in terminal.say(f"/approve {code}")
    code = re.search(r"/deny ([a-z0-9]{6})", terminal.say("and of Rui"))[1]
    assert "It was not done." in terminal.say(f"/deny {code}") and "Rui" not in inbox.read_text()
    terminal.say("/undo")
    assert inbox.read_text() == "* Inbox\n"
    assert "exactly this" in terminal.say("/trace") and terminal.say("/trace 3").count("turn ") >= 3
    history = next(tmp_path.glob("state/passepartout/*/history")).read_text()
    assert "take care of Ana" in history and "/pending" in history and code not in history


def test_what_is_said_after_a_no_goes_on(chat, tmp_path):
    inbox = tmp_path / "memex" / "inbox.org"
    terminal = chat("\n---\n".join([CAPTURE, CAPTURE.replace("Ana", "Rui"), "Ana it is, then."]))
    code = re.search(r"/deny ([a-z0-9]{6})", terminal.say("take care of them"))[1]
    said = terminal.say(f"/deny {code} not Ana, Rui is the one to be called")
    code = re.search(r"/deny ([a-z0-9]{6})", said)[1]
    assert "It was not done." in said and ':TITLE "Call Rui"' in said and "does not fit" in terminal.say("/deny zzzzzz because I say so")
    assert "It was not done." in terminal.say(f"/deny {code}") and inbox.read_text() == "* Inbox\n"
    assert "you       not Ana, Rui is the one to be called" in terminal.say("/trace")


@pytest.mark.slow
def test_undo_that_is_undo_right_after_something_was_done(chat, tmp_path):
    inbox, terminal = tmp_path / "memex" / "inbox.org", chat()
    terminal.say("note: milk")
    for said in ("undo that.", "please take that back"):
        terminal.say("note: eggs")
        assert "as it was before" in terminal.say(said)
    terminal.say("note: eggs"); terminal.say("find milk")
    assert "Take back the last edit" in terminal.say("undo that") and "Nothing was taken back." in terminal.say("no") and inbox.read_text().endswith("* eggs\n")
    terminal.say("note: jam")
    assert terminal.say("oh wait, no, undo the last two").count("as it was before") == 2 and inbox.read_text().endswith("* milk\n")
    assert "Take back the last edit" in terminal.say("undo that") and inbox.read_text().endswith("* milk\n"), "what was just taken back was no edit to be taken back"


@pytest.mark.slow
def test_undo_that_is_not_said_of_an_edit_after_a_command_that_ran(chat, tmp_path):
    inbox, terminal = tmp_path / "memex" / "inbox.org", chat()
    terminal.say("note: milk"); terminal.say("$ touch /tmp/nothing")
    assert "Take back the last edit" in terminal.say("undo that") and inbox.read_text().endswith("* milk\n")


@pytest.mark.slow
def test_a_bare_undo_is_offered_whatever_was_said_before(chat, tmp_path):
    inbox, terminal = tmp_path / "memex" / "inbox.org", chat()
    terminal.say("note: milk"); terminal.say("find roof")
    assert "Take back the last edit" in terminal.say("undo") and "No match" not in terminal.say("find roof")
    terminal.say("yes")
    assert inbox.read_text().endswith("* milk\n"), "a yes to something else took an edit back"
    for said, again in (("undo", "yes"), ("undo, please", "undo")):
        terminal.say("note: eggs"); terminal.say("find roof"); terminal.say(said)
        assert inbox.read_text().endswith("* eggs\n")
        assert "as it was before" in terminal.say(again) and inbox.read_text().endswith("* milk\n")


@pytest.mark.slow
def test_undo_asks_no_model(chat):
    terminal = chat("\n---\n".join([CAPTURE, "Done.", "I shall not say what was done."]))
    terminal.say(re.search(r"/approve [a-z0-9]{6}", terminal.say("take care of Ana"))[0])
    assert "as it was before" in terminal.say("/undo")


@pytest.mark.slow
def test_a_code_is_refused_after_five_wrong_tries(chat, tmp_path):
    terminal = chat("\n---\n".join([CAPTURE, "fine"]))
    code = re.search(r"/approve ([a-z0-9]{6})", terminal.say("take care of Ana"))[1]
    for n in range(5): shown = terminal.say("/approve zzzzzz")
    assert "Too many wrong codes" in shown and "nothing to approve" in terminal.say(f"/approve {code}")
    assert (tmp_path / "memex" / "inbox.org").read_text() == "* Inbox\n"


@pytest.mark.slow
def test_lines_are_edited_and_remembered(chat, tmp_path):
    terminal = chat()
    terminal.type("find rofo\x7f\x7fof\x01\x1b[C\x1b[C\x05")            # backspace, to the beginning, right, to the end
    assert "Roof" in terminal.say("")
    terminal.type("/unod\x15")                                          # a line thrown away
    assert "Roof" in terminal.say("\x1b[A")                             # arrow up
    terminal.type("/tr\t"); assert "proposes" in terminal.say("")       # completion
    os.kill(terminal.child, signal.SIGKILL)                             # a window that is closed costs no line
    assert terminal.end() == -9
    path = next(tmp_path.glob("state/passepartout/*/history"))
    assert path.read_text().splitlines() == ["find roof", "/trace"] and path.stat().st_mode & 0o777 == 0o600
    again = chat()
    assert "Roof" in again.say("\x1b[A\x1b[A")


# A prompt in a process in which another thread holds Python's lock for a tenth of a second at a time.
BUSY = """
import threading
from passepartout.terminal.lineediting import LineReader
read_line = LineReader()
def hold():
    while True: max(range(2_000_000))
threading.Thread(target=hold, daemon=True).start()
for _ in range(4):
    try: print("line", read_line("now? "), flush=True)
    except KeyboardInterrupt: print("interrupted", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_is_heard_when_it_comes_before_readline_waits(tmp_path):
    "Between the prompt and the wait for a key, readline hears no signal; nothing is typed after it that would wake it up. Being brought back is heard there too."
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*ON_TERMINAL, sys.executable, "-c", BUSY], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=person(tmp_path))
    os.close(theirs)
    seen = b""
    def until(text, n):
        nonlocal seen
        end = time.monotonic() + PATIENCE
        while seen.count(text) < n:
            assert select.select([ours], [], [], max(0.0, end - time.monotonic()))[0], f"{text!r} did not come {n} times: {seen!r}"
            seen += os.read(ours, 65536)
    try:
        for n in range(1, 4):
            until(b"now?", n); os.write(ours, b"\x03"); until(b"interrupted", n)
        until(b"now?", 4); os.kill(process.pid, signal.SIGCONT); until(b"now?", 5)
        os.write(ours, b"good\r"); until(b"line good", 1)
        assert process.wait(PATIENCE) == 0
    finally: process.kill(); process.wait(); os.close(ours)


@pytest.mark.slow
def test_ctrl_c(chat):
    terminal = chat("!sleep 60\nnever\n---\n!sleep 60\nnever\n---\nstill here")
    terminal.type("half a li\x03"); terminal.wait("(Ctrl-D leaves.)"); terminal.prompt()
    for _ in range(2):
        terminal.type("think about it\r"); terminal.wait("\n"); time.sleep(0.15)
        started = time.monotonic()
        terminal.type("\x03"); terminal.wait("Stopped."); terminal.prompt()
        assert time.monotonic() - started < 30          # the model sleeps for a minute
    assert "still here" in terminal.say("are you there?")
    assert "stopped before there was an answer" in terminal.say("/trace 3")
    for _ in range(5): terminal.type("\x03")
    terminal.wait("leaves"); time.sleep(0.1); terminal.read(0.1)
    terminal.type("\x04")
    assert terminal.end() == 0


@pytest.mark.slow
def test_notes_and_models_cannot_drive_the_terminal(chat, tmp_path):
    hostile = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;cm0gLXJm\x07\x9b31mhostile\x1bP1q\x1b\\\u202e\x08"
    terminal = chat("\n---\n".join([f"a model says {hostile}", CAPTURE.replace("Call Ana", "Call \u202eanA \u200b"), "fine"]))
    (tmp_path / "memex" / "evil.org").write_text(f"* Roof {hostile}\n")
    for line in ("hello", "do it", "/pending", "/trace 5"):
        terminal.type(line + "\r"); terminal.wait("\n")
        shown = terminal.prompt().encode()
        rest = re.sub(rb"\x1b\[[0-9;]*m|\x1b\[\?2004[hl]", b"", shown)          # colours of our own, and readline's paste mode
        assert not set(rest) & {*range(9), 11, 12, *range(14, 32), 127} and b"\xc2\x9b" not in rest and "\u202e".encode() not in rest, (line, rest)
        if line in ("do it", "/pending"): assert b"<U+202E>" in rest and b"<U+200B>" in rest


@pytest.mark.slow
def test_what_is_pasted_is_one_message(chat, tmp_path):
    terminal = chat(env={"PROVIDER_CASCADE": "reflex", "TERM": "xterm-256color"})
    before = (tmp_path / "memex" / "inbox.org").read_text()
    terminal.type("\x1b[200~todo: milk\ntodo: bread\n\x1b[201~"); terminal.read(1.0)
    assert (tmp_path / "memex" / "inbox.org").read_text() == before
    answer = terminal.say("")                           # nothing until Enter, and then both at once
    assert "task “milk”" in answer and "task “bread”" in answer
    added = (tmp_path / "memex" / "inbox.org").read_text().removeprefix(before)
    assert added == "* TODO milk\n* TODO bread\n", added


@pytest.mark.slow
def test_a_session_goes_on(chat):
    first = chat()
    first.say("find roof"); first.type("\x04"); assert first.end() == 0
    second = chat()
    assert "Roof" in second.say("/trace")
    second.type("\x04"); assert second.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=["dumb", "no colour"])
def test_without_colour(chat, env):
    terminal = chat(env=env)
    terminal.type("/trace\r"); terminal.wait("\n")
    assert "\x1b[3" not in terminal.prompt()
    terminal.type("find roof\r"); terminal.wait("\n")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", terminal.prompt())


@pytest.mark.slow
def test_enormous_and_broken_lines(chat):
    terminal = chat()
    terminal.say("x" * 3000)
    terminal.type(b"find \xff\xfe roof\r"); terminal.wait("\n"); terminal.prompt()
    assert "Call the roofer" in terminal.say("what is due tomorrow?")


@pytest.mark.slow
def test_two_chats_on_one_memex(chat, tmp_path):
    # The forks come one after the other, so the second is a process of its own, without a terminal.
    terminal = chat()
    done = subprocess.run([sys.executable, "-m", "passepartout", "chat", "--memex", tmp_path / "memex"], input="todo: from the pipe\n/trace\n", capture_output=True, text=True, env=person(tmp_path), timeout=30)
    assert done.returncode == 0 and "Added the task" in done.stdout and "proposes" in done.stdout and "›  " not in done.stdout
    assert "from the pipe" in terminal.say("find pipe")


def test_what_is_put_aside_in_the_middle_of_a_line_goes_on_with_it(chat):
    import termios
    terminal = chat()
    shell = termios.tcgetattr(terminal.theirs)
    shell[3] |= termios.ICANON | termios.ECHO
    for line in ("what is due tomo", "what is due tomox\x7f"):
        terminal.type(line)
        terminal.wait("tomo")
        state = lambda: Path(f"/proc/{terminal.child}/stat").read_text().rpartition(")")[2].split()[0]
        terminal.read(0.2)
        os.kill(terminal.child, signal.SIGSTOP)
        wait_for(lambda: state() == "T", "The stop")
        termios.tcsetattr(terminal.theirs, termios.TCSANOW, shell)           # as the shell does, which has a line to read of its own
        os.kill(terminal.child, signal.SIGCONT)
        terminal.wait("› what is due tomo")
        assert "Call the roofer" in terminal.say("x\x7frrow?")


# What is seen: tmux draws the screen that the bytes make --------------------------------------------------------------

class Screen:
    def __init__(self, folder, columns):
        self.base = ["tmux", "-L", f"passepartout-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
        command = f"{sys.executable} -m passepartout chat --memex {folder / 'memex'} --today 2026-11-19"
        subprocess.run([*self.base, "new-session", "-d", "-x", str(columns), "-y", "40", "sh", "-c", f"trap : INT; {command}; echo ended $?; sleep 60"], env={**person(folder), "TERM": "screen-256color"}, check=True, timeout=10)

    def keys(self, *keys): subprocess.run([*self.base, "send-keys", *keys], check=True, timeout=10)
    def resize(self, columns): subprocess.run([*self.base, "resize-window", "-x", str(columns), "-y", "40"], check=True, timeout=10)
    def lines(self): return subprocess.run([*self.base, "capture-pane", "-p"], capture_output=True, text=True, check=True, timeout=10).stdout.rstrip().splitlines()

    def wait(self, text, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not any(text in line for line in self.lines()):
            assert time.monotonic() < end, "\n".join(self.lines())
            time.sleep(0.05)
        return self.lines()

    def ready(self):
        "Wait until the chat waits for a line: a Ctrl-C before that ends nothing, and nothing is said about it."
        end = time.monotonic() + PATIENCE
        while not (lines := self.lines()) or lines[-1].strip() != "›":
            assert time.monotonic() < end, "\n".join(lines)
            time.sleep(0.05)

    def close(self): subprocess.run([*self.base, "kill-server"], capture_output=True, timeout=10)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_narrow_wide_and_resized_in_tmux(tmp_path):
    tall = Screen(tmp_path, 40)
    try:
        tall.wait("›")
        tall.keys("find roof", "Enter"); tall.wait("Roof")
        tall.keys("/trace", "Enter")
        lines = tall.wait("answers")
        narrow = [line for line in lines if line.startswith(("›", "?", "·", "‹"))]
        assert "· gates" in [line.strip() for line in narrow] and any(line.startswith("  (:TYPE") for line in lines)     # the text stands below its word
        tall.resize(120)
        tall.keys("/trace", "Enter"); tall.wait("· gates     policy ✓"); tall.ready()
        tall.keys("C-c"); tall.wait("(Ctrl-D leaves.)")
        tall.keys("C-d"); tall.wait("ended 0")
    finally: tall.close()


def test_on_a_narrow_screen_an_agenda_has_no_padding_and_a_question_keeps_its_blanks():
    from passepartout.terminal.render import Line, line_rows, tightened, wrapped
    item = "  18:30 scheduled       TODO Japanese with Haruka  (languages/japanese.org:6)"
    assert wrapped(tightened(item, 40), 40)[0] == "  18:30 scheduled  TODO Japanese with" and tightened(item, 80) == item
    assert tightened("a  b      c\n    code     here", 40) == "a  b      c\n    code     here"
    assert line_rows(Line("?", "run", "  rm      x", ""), 40)[-1][2] == "  rm      x"


def test_a_placeholder_in_an_answer_is_explained_once(chat):
    terminal = chat()
    first = terminal.say("note: gate code 4711")
    assert "[secret-shaped: " in first and "In the note it stands" in " ".join(first.split())
    again = terminal.say("find gate code")
    assert "[secret-shaped: " in again and "In the note" not in again
    terminal.type("\x04")
    assert terminal.end() == 0


@pytest.mark.slow
def test_a_locale_without_its_letters_costs_a_line_its_place_in_the_history_and_not_the_chat():
    code = "from passepartout.terminal.lineediting import remember_lines; remember = remember_lines(None); remember('note: f\u00fcr Ana'); remember('hello'); print('went on')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    assert done.stdout == "went on\n", done.stderr


@pytest.mark.parametrize("number", [3, 2000])
def test_lines_that_wait_are_read_whatever_number_their_terminal_has_and_one_that_is_gone_is_the_end(number):
    "`select` knows no number above 1,023, and where the window was closed reading is an error."
    import fcntl
    import resource
    from passepartout.terminal.lineediting import LinesAhead
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= number: pytest.skip("no descriptor has such a number here")
    ours, theirs = pty.openpty()
    ahead = LinesAhead(fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, number))
    os.close(theirs)
    os.write(ours, b"note: one\nnote: two\n")
    ahead.take_in()
    assert list(ahead.lines) == ["note: one", "note: two"] and ahead.forget() == 2
    os.close(ours)
    ahead.take_in()
    assert list(ahead.lines) == [None]
    with pytest.raises(EOFError): ahead.shown("> ")
    os.close(ahead.fd)


def test_the_first_screen_of_the_help_fits_on_a_small_terminal_and_every_command_is_found_from_it():
    from passepartout.reflex.replies import ALL_HELP, HELP, TOPICS, help_with
    from passepartout.terminal.slash import COMMANDS, first_help, help_on, topics_of
    from passepartout.tui.frame import WINDOW_COMMANDS
    import textwrap
    rows = lambda text, wide: sum(max(1, len(textwrap.wrap(line, wide))) for line in text.split("\n"))
    for commands in (COMMANDS, {**COMMANDS, **WINDOW_COMMANDS}):
        first = first_help(commands)
        assert rows(first, 80) <= 25
        told = "\n".join(help_on(commands, topic) for topic in topics_of(commands) if f"/help {topic} " in first)
        assert all(each.usage in told for each in commands.values())
        assert help_on(commands, "all").count("\n") > 25 and help_on(commands, "/undo").startswith("/undo [N]") and "every monday" in help_on(commands, "repeat")
    assert "nothing about “xyzzy”" in help_on(COMMANDS, "xyzzy") and "Did you mean /undo?" in help_on(COMMANDS, "undoo")
    assert rows(HELP, 80) <= 25 and all(f"help {topic}" in HELP and lines in help_with(topic).replace("\n  ", "\n") for topic, (_, lines) in TOPICS.items())
    assert all(line in ALL_HELP for topic in TOPICS for line in help_with(topic).split("\n"))
