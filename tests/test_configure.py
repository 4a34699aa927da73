"Setting up: at a real terminal, with every way to stop it, beside files that a person wrote"
import os, pty, select, signal, subprocess, sys, threading, time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from passepartout import filechanges
from passepartout.conditions import PassepartoutError
from passepartout.filechanges import FileChange, FileChanges
from passepartout.inichange import set_values, set_variables
from passepartout.inifile import file_lines
from waits import ON_TERMINAL, in_vain, status


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PASSEPARTOUT_", "MEMEX_")) and not name.endswith("_API_KEY")}
    return kept | {"HOME": str(home), "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "TERM": "dumb"}


class Terminal:
    "The command at a pseudo terminal: wait for what it says, type an answer."
    def __init__(self, home, *args):
        self.master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen([*ON_TERMINAL, sys.executable, "-m", "passepartout", "configure", *args], stdin=slave, stdout=slave, stderr=slave, env=environment(home), cwd=home, start_new_session=True)
        os.close(slave)

    def wait_for(self, words, seconds=60):
        end = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > end: raise in_vain(self.process, f"{words!r}, after {self.text!r},", seconds)
            if select.select([self.master], [], [], 0.2)[0]:
                try: self.text += os.read(self.master, 65_536).decode("utf-8", "replace")
                except OSError: break
        assert words in self.text, self.text
        self.text = self.text.partition(words)[2]

    def type(self, text): os.write(self.master, text.encode())

    def end(self, seconds=60):
        end = time.monotonic() + seconds
        while self.process.poll() is None or select.select([self.master], [], [], 0)[0]:
            if time.monotonic() > end: raise in_vain(self.process, f"The end, after {self.text!r}", seconds)
            if select.select([self.master], [], [], 0.1)[0]:
                try: self.text += os.read(self.master, 65_536).decode("utf-8", "replace")
                except OSError: break
        code = status(self.process, seconds)
        os.close(self.master)
        return code


def picture(home):
    "Every file and folder below home, with mode and content."
    return {str(path.relative_to(home)): (path.stat().st_mode, path.read_bytes() if path.is_file() else None) for path in sorted(home.rglob("*"))}


MINE = "; written by hand\n[ASSISTANT]\nassistant = Ana\t# as my sister\n\n[clock]\nheartbeat_interval = 30\n"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / ".config" / "passepartout"
    folder.mkdir(parents=True)
    (folder / "settings.ini").write_text(MINE)
    return tmp_path


@pytest.mark.slow
def test_a_whole_talk_with_a_typo_keeps_what_the_person_wrote(home):
    terminal = Terminal(home)
    for question, answer in (("call itself", "Bo"), ("Which folder", "~/notes"), ("Who?", "antropic"), ("Did you mean anthropic", None), ("Who?", "anthropic"), ("ANTHROPIC_API_KEY?", "sk-ant-topsecret"),
                             ("Which model", ""), ("Which tags", ""), ("Write this", "perhaps"), ("Answer yes or no", None), ("Write this", "yes")):
        terminal.wait_for(question)
        if answer is not None: terminal.type(answer + "\n")
    assert terminal.end() == 0
    text = (home / ".config/passepartout/settings.ini").read_text()
    assert text.startswith(MINE.replace("Ana\t", "Bo\t").partition("\n\n")[0] + "\n") and "[clock]\nheartbeat_interval = 30\n" in text
    assert (home / "notes").is_dir() and (home / ".config/passepartout/.env").stat().st_mode & 0o777 == 0o600
    assert "topsecret" in (home / ".config/passepartout/.env").read_text() and "topsecret" not in text


@pytest.mark.slow
def test_a_key_is_never_shown(home):
    terminal, seen = Terminal(home, "--provider", "groq", "--no-keyring"), ""
    terminal.wait_for("Write this")
    terminal.type("no\n")
    assert terminal.end() == 1
    terminal = Terminal(home)
    for question, answer in (("call itself", ""), ("Which folder", ""), ("Who?", "groq"), ("GROQ_API_KEY?", "gsk-hidden-0123")):
        terminal.wait_for(question)
        terminal.type(answer + "\n")
    for question in ("Which model", "Which tags"):
        terminal.wait_for(question)
        seen += terminal.text
        terminal.type("\n")
    terminal.wait_for("GROQ_API_KEY (15 characters)")
    terminal.wait_for("Write this")
    terminal.type("n\n")
    assert terminal.end() == 1 and "hidden" not in seen + terminal.text


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_ctrl_c_at_any_question_leaves_everything(home, steps):
    before = picture(home)
    terminal = Terminal(home)
    for question, answer in (("call itself", "Bo"), ("Which folder", "~/n"), ("Who?", "groq"), ("GROQ_API_KEY?", "gsk-0123456"), ("Which model", "x"), ("Which tags", "none"))[:steps]:
        terminal.wait_for(question)
        terminal.type(answer + "\n")
    terminal.wait_for(("call itself", "Which folder", "", "GROQ_API_KEY?", "", "Which tags")[steps])
    time.sleep(0.2)
    terminal.type("\x03")
    assert terminal.end() == 130 and "Nothing was written" in terminal.text
    assert picture(home) == before


@pytest.mark.slow
def test_the_end_of_input_writes_nothing(home):
    before, terminal = picture(home), Terminal(home)
    terminal.wait_for("call itself")
    terminal.type("\x04")
    assert terminal.end() == 1 and "Nothing was written" in terminal.text and picture(home) == before


def run(home, *args, **more):
    return subprocess.run([sys.executable, "-m", "passepartout", "configure", *args], capture_output=True, text=True, env=environment(home), cwd=home, timeout=120, **more)


@pytest.mark.slow
def test_without_a_terminal_it_is_refused_in_a_sentence(home):
    before, done = picture(home), run(home, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "no terminal" in done.stderr and "Traceback" not in done.stderr
    assert run(home, "--name", "Bo", stdin=subprocess.DEVNULL).returncode == 1 and picture(home) == before
    assert run(home, "--name", "Bo", "--yes", stdin=subprocess.DEVNULL).returncode == 0
    assert (home / ".config/passepartout/settings.ini").read_text() == MINE.replace("Ana", "Bo")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a\x1b]0;x\x07b", "x" * 10_000, "Ana\n[permissions]\nshell = allow", "\u202eevil"])
def test_a_hostile_name_becomes_no_other_setting(home, name):
    before, done = picture(home), run(home, "--name", name, "--yes")
    assert done.returncode == 2 and "\x1b" not in done.stderr and picture(home) == before


def test_a_linked_settings_file_stays_a_link(home):
    real, link = home / "dotfiles.ini", home / ".config/passepartout/settings.ini"
    link.rename(real)
    link.symlink_to(real)
    assert run(home, "--name", "Bo", "--yes").returncode == 0
    assert link.is_symlink() and real.read_text() == MINE.replace("Ana", "Bo")


def test_settings_that_cannot_be_written_are_told(home):
    file = home / ".config/passepartout/settings.ini"
    file.unlink()
    file.mkdir()
    done = run(home, "--name", "Bo", "--yes")
    assert done.returncode == 5 and "Traceback" not in done.stderr and "settings.ini" in done.stderr


def test_a_rename_that_fails_gives_back_the_one_before(tmp_path, monkeypatch):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1")
    real, calls = os.replace, []
    def replace(old, new):
        calls.append(new)
        if len(calls) == 2: raise OSError(28, "No space left on device", new)
        return real(old, new)
    monkeypatch.setattr(filechanges.os, "replace", replace)
    changes = FileChanges([FileChange(one, b"1", b"new"), FileChange(two, None, b"2")], [tmp_path / "folder"])
    with pytest.raises(PassepartoutError, match="as it was"): changes.write()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one"] and one.read_bytes() == b"1" and not changes.written


@pytest.mark.parametrize("other", [False, True])
def test_ctrl_c_within_writing_comes_after_it(tmp_path, monkeypatch, other):
    "Also when the system hands the signal to another thread, which it may."
    real, over = os.replace, threading.Event()
    helper = threading.Thread(target=over.wait)
    helper.start()
    def replace(old, new):
        if other: signal.pthread_kill(helper.ident, signal.SIGINT)
        else: os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return real(old, new)
    monkeypatch.setattr(filechanges.os, "replace", replace)
    changes = FileChanges([FileChange(tmp_path / name, None, b"x") for name in ("a", "b", "c")])
    try:
        with pytest.raises(KeyboardInterrupt): changes.write()
    finally: over.set(); helper.join(60)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b", "c"]


lines = st.lists(st.sampled_from(["", "# note", "[assistant]", "[ folders ] # x", "assistant = Ana # c", "assistant='A;B'", "memex_dir=~/x", "MEMEX-DIR = y ; z", "[permissions]", "assistant = deny", "garbage", "today =", "x = \"a\" # \"b\""]), max_size=8)
values = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=20).map(str.strip).filter(bool)


@given(lines, values, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_is_written_is_what_is_read_and_nothing_else_changes(rows, value, end, last):
    text = end.join(rows) + (end if last and rows else "")
    try: changed = set_values(text, {"assistant": value})
    except PassepartoutError: return
    plain = lambda found: [(section, name, read) for _, section, name, read in file_lines(found) if section == "permissions" or name.lower() != "assistant"]
    assert [read for _, section, name, read in file_lines(changed) if name == "assistant" and section != "permissions"][-1] == value
    assert plain(changed) == plain(text)
    assert set_values(changed, {"assistant": value}) == changed


@given(values)
def test_a_key_is_read_as_it_was_written(value):
    try: text = set_variables("A=1\nexport K = 'old' # c", {"K": value, "L": value})
    except PassepartoutError: return
    assert {name.removeprefix("export ").strip(): read for _, _, name, read in file_lines(text)} == {"A": "1", "K": value, "L": value}


def test_the_unit_has_the_name_that_systemd_is_asked_for_and_every_page_tells(tmp_path, monkeypatch):
    "It was written under another name once, when the modules were sorted into folders and the letters looked like a module's."
    from passepartout.configure import Present
    from passepartout.terminal.wizard import manage
    (tmp_path / "systemctl").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n')
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for what in (("daemon-reload",), ("enable", "--now")): manage(*what)
    name = Present.of({"HOME": str(tmp_path)}).unit.name
    assert (tmp_path / "asked").read_text().splitlines() == ["--user daemon-reload", f"--user enable --now {name}"]
    pages = Path(__file__).parents[1] / "nbs" / "_md"
    for page in ("index.md", "33_run_it_for_good.md", "terminal/20de_daemoncommand.md"): assert f"systemd/user/{name}" in (pages / page).read_text(), page


def test_without_systemd_a_service_is_refused_and_it_is_said_that_nothing_else_was_written(tmp_path):
    (tmp_path / "notes").mkdir()
    env = environment(tmp_path) | {"PATH": str(tmp_path)}                  # no systemctl there
    done = subprocess.run([sys.executable, "-m", "passepartout", "configure", "--memex", str(tmp_path / "notes"), "--provider", "auto", "--service", "--yes"], env=env, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, [each.name for each in tmp_path.rglob("settings.ini")]) == (5, [])
    assert "Nothing was written" in done.stderr and "without --service" in done.stderr


@pytest.mark.parametrize("options, code, said", [(("--model", "gpt"), 2, "reflex has no model to choose"), (("--address", "http://127.0.0.1:1", "--provider", "gguf"), 2, "gguf has no address to choose"), (("--provider", "openai"), 0, "There is no key for openai yet"), (("--provider", "auto", "--model", "x"), 2, "auto has no model"),
                                                 (("--provider", "ollama", "--model", "llama"), 0, 'passepartout ask "what is due this week?"')])
def test_what_would_do_nothing_is_refused_and_what_is_missing_is_said(tmp_path, options, code, said):
    done = subprocess.run([sys.executable, "-m", "passepartout", "configure", *options, "--memex", str(tmp_path / "notes"), "--yes"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(tmp_path), cwd=tmp_path)
    assert done.returncode == code and said in done.stdout + done.stderr and ("no key" in done.stdout + done.stderr) == (options == ("--provider", "openai")), done
    assert (tmp_path / ".config/passepartout/settings.ini").exists() == (code == 0)
