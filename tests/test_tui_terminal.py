"The window in a real terminal, driven through tmux: kinds of terminals, sizes, pastes, signals and sudden ends."
import json, os, shutil, signal, subprocess, sys, time, uuid
from pathlib import Path

import pytest

from passepartout.journal import Journal
from passepartout.terminal.render import columns
from waits import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")]
CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "Call Ana" :KIND "task") :EXPLANATION "You said so"))'


class Screen:
    "A window in tmux."
    def __init__(self, folder, script, *args, term="xterm-16color", size=(80, 24)):
        self.folder, self.base = folder, ["tmux", "-L", f"pp-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
        self.memex = folder / "notes"
        self.memex.mkdir(exist_ok=True)
        (self.memex / "house.org").write_text("* Roof\n** TODO Call the roofer\nDEADLINE: <2026-11-20 Fri>\n")
        (folder / "model").write_text(script)
        self.env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"),
                    "LC_ALL": "C.UTF-8", "PROVIDER_CASCADE": "scripted", "PASSEPARTOUT_SCRIPTED_FILE": str(folder / "model"), "PASSEPARTOUT_PERMISSIONS": "org-capture=ask"}
        line = f"env -u TMUX TERM={term} {sys.executable} -m passepartout tui --memex {self.memex} {' '.join(args)}; echo ended with $?; sleep 600"
        subprocess.run([*self.base, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), line], env={**self.env, "TERM": "xterm-256color"}, check=True, timeout=20)

    def run(self, *args): return subprocess.run([*self.base, *args], capture_output=True, text=True, check=True, timeout=20).stdout
    def keys(self, *keys): self.run("send-keys", *keys)
    def lines(self, *more): return self.run("capture-pane", "-p", *more).rstrip().splitlines()

    def wait(self, *words, seconds=60):
        end = time.monotonic() + seconds
        while not all(word in "\n".join(self.lines()) for word in words):
            assert time.monotonic() < end, "\n".join(self.lines())
            time.sleep(0.05)
        return self.lines()

    def pid(self):
        shell = self.run("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def statuses(self):
        (path,) = (self.folder / "state").rglob("journal.sqlite")
        journal = Journal.open(path)
        try: return [(r["body"] or {}).get("status") for r in journal.records(kinds=["answer"])]
        finally: journal.close()

    def close(self): subprocess.run([*self.base, "kill-server"], capture_output=True, timeout=20)


@pytest.fixture
def window(tmp_path):
    started = []
    def start(*args, **options):
        started.append(Screen(tmp_path, *args, **options))
        return started[-1]
    yield start
    for each in started: each.close()


def test_a_day_in_sixteen_colours(window):
    screen = window(f"Slate [bold]it[/bold] \x1b[31mis\n---\n{CAPTURE}\n---\nIt is noted.")
    screen.wait("scripted · alone")
    screen.keys("what about the roof?", "Enter")                                   # in one piece
    screen.wait("Slate [bold]it[/bold] <U+001B>[31mis")
    screen.keys("remember Ana", "Enter")
    screen.wait("1 question waits")
    for size in ((1, 1), (2, 3), (200, 60), (80, 24)): screen.run("resize-window", "-x", str(size[0]), "-y", str(size[1])); time.sleep(0.1)
    screen.keys("y", "Enter"); screen.wait("So that nobody else can say yes")
    screen.keys("F2"); screen.wait("QUESTION 1 of 1", "+* TODO Call Ana")
    for _ in range(100):
        screen.keys("y"); time.sleep(0.8)
        if any("It is noted." in line for line in screen.lines()): break
    assert "Call Ana" in (screen.memex / "inbox.org").read_text()
    screen.keys("/agnda", "Enter"); screen.wait("Did you mean /agenda?")
    colours = "\n".join(screen.lines("-e"))
    assert "38;2;" not in colours and "48;2;" not in colours and "38;5;" not in colours and "\x1b[" in colours
    (screen.folder / "long").write_text("lorem ipsum\n" * 5_000)
    screen.run("load-buffer", str(screen.folder / "long"))
    screen.run("paste-buffer", "-p"); screen.wait("[pasted 1: 5,000 lines]")
    screen.keys("C-c"); screen.keys("C-q"); screen.wait("ended with 0")


def test_nothing_stands_beyond_the_edge_of_a_question(window):
    for sign in ("\U0001f3fb", "\u0903", "\u302e"):
        hidden = CAPTURE.replace("Call Ana", "touch ok " + sign * 30 + " and delete it")
        screen = window(hidden)
        screen.wait("scripted · alone"); screen.keys("remember Ana", "Enter"); screen.wait("1 question waits")
        screen.keys("F2"); screen.wait("QUESTION 1 of 1", "exactly")
        asked = "".join("".join(screen.lines()).split())
        assert asked.count("deleteit") == 3, "\n".join(screen.lines())            # in the reason, in the action, in what it comes down to
        screen.close()
        shutil.rmtree(screen.folder / "state")


MEASURE = """
import json, os, sys, tty
from passepartout.tui.entries import shown
out, terminal = {}, os.open("/dev/tty", os.O_RDWR)
tty.setraw(terminal)
for char in map(chr, [*range(0xa0, 0x3400), *range(0x4dc0, 0x4e10), *range(0xa000, 0xac10), *range(0xf900, 0x20010)]):
    if not char.isprintable() or shown(char) != char: continue
    os.write(terminal, b"\\r\\x1b[2Ka" + char.encode() + b"b\\x1b[6n")
    answer = b""
    while not answer.endswith(b"R"): answer += os.read(terminal, 1)
    out[char] = int(answer[:-1].rpartition(b";")[2]) - 3
with open(sys.argv[1] + ".part", "w") as file: json.dump(out, file)
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""


def test_no_sign_is_drawn_wider_than_it_is_counted(tmp_path):
    base, found = ["tmux", "-L", f"pp-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"], tmp_path / "found"
    (tmp_path / "measure.py").write_text(MEASURE)
    subprocess.run([*base, "new-session", "-d", "-x", "80", "-y", "24", sys.executable, str(tmp_path / "measure.py"), str(found)],
                   env={**os.environ, "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}, check=True, timeout=20)
    wait_for(found.exists, "The measuring of all signs")
    subprocess.run([*base, "kill-server"], capture_output=True, timeout=20)
    drawn = json.loads(found.read_text())
    assert len(drawn) > 15_000
    assert {f"{ord(char):X}": width for char, width in drawn.items() if columns(char) < width} == {}


def test_signals_and_sudden_ends(window):
    screen = window("!sleep 60\nnever")
    screen.wait("scripted · alone"); screen.keys("think", "Enter"); screen.wait("thinking")
    os.kill(screen.pid(), signal.SIGTERM)
    screen.wait("The turn was stopped, and is on record", "ended with 0")
    assert screen.statuses() == ["interrupted"]
    screen.close()
    screen = window("!sleep 60\nnever")
    screen.wait("scripted · alone", "so far in this session"); screen.keys("once more", "Enter"); screen.wait("thinking")
    os.kill(screen.pid(), signal.SIGKILL)
    screen.wait("ended with 137"); screen.close()
    screen = window("Here.")
    screen.wait("scripted · alone"); screen.keys("hello", "Enter"); screen.wait("‹ Here.")
    beside = Screen(screen.folder, "Here too.", "--session", "kitchen", term="screen")
    try: beside.wait("kitchen · scripted · alone"); beside.keys("hello", "Enter"); beside.wait("‹ Here too.")
    finally: beside.close()
    screen.keys("C-q"); screen.wait("ended with 0")


@pytest.mark.parametrize("term, args", [("dumb", ()), ("xterm", ("--linear",))])
def test_plain_lines(window, term, args):
    screen = window(f"Yes.\n---\n{CAPTURE}", *args, term=term)
    screen.wait("/help lists the commands"); screen.keys("hello", "Enter"); screen.wait("Yes.")
    screen.keys("remember Ana", "Enter"); screen.wait("asks you:", "would run:", "/deny")
    assert not any("\x1b" in line for line in screen.lines("-e"))
    screen.keys("/quit", "Enter"); screen.wait("ended with 0")
