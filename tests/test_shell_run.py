"Scripts as real processes: equal to bash, held to every limit, and gone when they should be"
import asyncio, os, re, shlex, signal, socket, subprocess, sys, textwrap, time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from conftest import thinned
from passepartout.confinement.resources import Root
from passepartout.shell.run import RunLimits, Running, ShellError, open_script, readable, run_script
from passepartout.shell.sandbox import Bubblewrap, find_bubblewrap
from passepartout.shell.script import Pipeline, Redirect, Script, Simple
from waits import away

WRAP = find_bubblewrap()
BARE = Bubblewrap(problem="not asked for")
needs_sandbox = pytest.mark.skipif(not WRAP.works, reason=WRAP.problem or "no sandbox")
BOTH = pytest.mark.parametrize("wrap", [BARE, pytest.param(WRAP, marks=needs_sandbox)], ids=["bare", "sandbox"])
BUILTIN = {"cd", "pwd", "echo", "true", "false", "export", ":"}


def cmd(*words, redirects=(), assignments=()):
    if words[:1] and words[0] in BUILTIN: return Simple("", words, assignments, redirects)
    return Simple(words[0] if words[0].startswith("/") else f"/usr/bin/{words[0]}", words, assignments, redirects)


def script(*parts):
    "Commands, pipelines (tuples) and operators (strings) between them."
    items, operator = [], ""
    for part in parts:
        if isinstance(part, str): operator = part
        else: items.append((operator, Pipeline(part if isinstance(part, tuple) else (part,)))); operator = ";"
    return Script(tuple(items))


def sh(text): return cmd("bash", "-c", text)


def run(root, what, wrap, **more):
    opened = open_script(what, [root])
    try: return asyncio.run(run_script(what, [root], opened.files, wrap=wrap, **more))
    finally: opened.close()


def alive(mark):
    "Processes with `mark` among their words."
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit(): continue
        try: words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError: continue
        if mark.encode() in words and words[0] not in (b"bwrap", b"/usr/bin/bwrap"): found.append(int(name))
    return found


def gone(mark, seconds=10):
    end = time.monotonic() + seconds
    while alive(mark) and time.monotonic() < end: time.sleep(0.02)
    return not alive(mark)


# As bash does it -----------------------------------------------------------------------------------------------------

def up_to(most, each, least=1):
    "Tuples of `least` to `most` values."
    return st.one_of([st.tuples(*[each] * count) for count in range(least, most + 1)])


def with_an_end(commands):
    "The commands of a pipe, with one that stops behind each `yes` of which the next would read all."
    ended = []
    for command, reader in zip(commands, (*commands[1:], None)):
        ended.append(command)
        if command.argv[0] == "yes" and (reader is None or reader.argv[0] in ("cat", "sort", "wc", "grep")): ended.append(cmd("head", "-n1"))
    return tuple(ended)


def as_script(items):
    "A script from (operator, commands, negated); a command that is a tuple holds the words of an `echo`."
    pipes = [with_an_end([cmd("echo", *each) if isinstance(each, tuple) else each for each in commands]) for _, commands, _ in items]
    return Script(tuple(("" if n == 0 else operator, Pipeline(pipe, negated)) for n, ((operator, _, negated), pipe) in enumerate(zip(items, pipes))))


# Neither lists nor `map` may stand inside of their own kind here. Hypothesis puts a copy of such a value into itself, and where that comes out as
# another known example, it takes that for progress: between a few small ones it goes back and forth for as long as chance will have it.
WORDS = st.sampled_from(["a", "b c", "-n", "-e", "\\t", "x\\ny", "\\0101", "\\x41z", "", "*", "$HOME", "ü", "'", "-E", "-nq", "\\c"])
COMMANDS = st.sampled_from([cmd("true"), cmd("false"), cmd(":"), cmd("cd", "sub"), cmd("cd", "nowhere"), cmd("pwd"), cmd("cat"), cmd("sort", "-r"), cmd("wc", "-c"), cmd("head", "-n1"),
    cmd("cat", "data.txt"), cmd("grep", "q"), cmd("printf", "%s\\n", "p", "q"), cmd("yes"), cmd("test", "-d", "sub"), cmd("export", "VV=1"), cmd("printenv", "VV"), cmd("printenv", "VV", assignments=(("VV", "7"),)),
    cmd("/nowhere/prog"), cmd("seq", "20000"), cmd("cat", redirects=(Redirect(0, "text", "here\n"),)), cmd("echo", "e", redirects=(Redirect(1, "dup", 2),)), cmd("ls", "gone", redirects=(Redirect(2, "write", "/dev/null"),)),
    cmd("echo", "w", redirects=(Redirect(1, "write", "out.txt"),)), cmd("echo", "a", redirects=(Redirect(1, "append", "out.txt"),)), cmd("ls", "gone", redirects=(Redirect(1, "write", "all.txt"), Redirect(2, "dup", 1))),
    cmd("cat", redirects=(Redirect(0, "read", "data.txt"),)), cmd("bash", "-c", "kill -9 $$"), cmd("bash", "-c", "exit 7")])
PIPES = up_to(3, up_to(3, WORDS, least=0) | COMMANDS)
SCRIPTS = up_to(4, st.tuples(st.sampled_from([";", "&&", "||"]), PIPES, st.booleans())).map(as_script)


def as_bash(what):
    def word(r):
        if r.kind == "text": return f"{r.fd}<<< {shlex.quote(r.target.removesuffix(chr(10)))}"
        return f"{r.fd}>&{r.target}" if r.kind == "dup" else f"{r.fd}{ {'read': '<', 'write': '>', 'append': '>>'}[r.kind]} {'' if r.target[0] == '/' else '$TOP/'}{r.target}"
    def one(c): return " ".join([f"{k}={v}" for k, v in c.assignments] + [shlex.quote(c.argv[0])] + [shlex.quote(w) for w in c.argv[1:]] + [word(r) for r in c.redirects])
    return "".join((f" {operator} " if operator else "") + ("! " if p.negated else "") + " | ".join(map(one, p.commands)) for operator, p in what.items)


def fresh(folder):
    folder.mkdir()
    (folder / "sub").mkdir()
    (folder / "data.txt").write_text("q1\nz\nq2\n")
    return folder


def files_of(folder): return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(SCRIPTS)
def test_scripts_do_what_bash_does(tmp_path_factory, what):
    top = tmp_path_factory.mktemp("same")
    ours, theirs = fresh(top / "memex"), fresh(top / "bash")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(top), "LANG": "C.UTF-8", "TOP": str(theirs)}
    expected = subprocess.run(["/usr/bin/bash", "-c", as_bash(what)], cwd=theirs, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=60)
    root = Root(ours)
    try: found = run(root, what, BARE, limits=RunLimits(output=10**7))
    finally: root.close()
    assert (found.status, found.stdout.replace(bytes(ours), b"TOP")) == (expected.returncode, expected.stdout.replace(bytes(theirs), b"TOP"))
    assert bool(found.stderr) == bool(expected.stderr) or b"Killed" in expected.stderr
    assert files_of(ours) == files_of(theirs)


# Limits --------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@BOTH
def test_time(opened_memex, wrap):
    mark = f"1000.{os.getpid()}1"
    found = run(opened_memex[1], script(sh(f"setsid sleep {mark} & sleep {mark} & sleep {mark}")), wrap, limits=RunLimits(wall_s=0.5))
    assert (found.status, found.ended) == (None, "time")
    assert gone(mark)


@BOTH
def test_output_is_cut_and_counted_and_a_flood_ended(opened_memex, wrap):
    found = run(opened_memex[1], script(cmd("head", "-c", "1000000", "/dev/zero")), wrap, limits=RunLimits(output=1000))
    assert (found.status, found.kept, found.cut) == (0, 1000, 999_000)
    found = run(opened_memex[1], script(sh("yes >&2")), wrap, limits=RunLimits(flood=1 << 20))
    assert found.ended == "output" and found.kept <= RunLimits().output


@BOTH
@pytest.mark.parametrize("files", [64, 40, 105])
def test_where_few_files_may_be_open_commands_run_all_the_same(opened_memex, wrap, files):
    found = run(opened_memex[1], script((cmd("printf", "b\\na\\n"), cmd("sort"), cmd("head", "-n1"))), wrap, limits=RunLimits(files=files))
    assert (found.status, found.stdout, found.stderr) == (0, b"a\n", b"")
    found = run(opened_memex[1], script(cmd("cat", redirects=(Redirect(0, "text", "word"),))), wrap, limits=RunLimits(files=files))
    assert (found.status, found.stdout) == (0, b"word")


@BOTH
def test_where_too_few_files_may_be_open_a_sentence_says_so(opened_memex, wrap):
    found = run(opened_memex[1], script(cmd("echo", "x")), wrap, limits=RunLimits(files=8))
    assert found.status is None and b"Traceback" not in found.stderr and b"Too many open files" in found.stderr, found.stderr


@pytest.mark.slow
@BOTH
def test_memory_of_one_and_of_all(opened_memex, wrap):
    found = run(opened_memex[1], script(sh("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}")), wrap, limits=RunLimits(memory=100 << 20))
    assert found.ended == "memory" or found.status not in (0, None) and not found.stdout
    many = "for i in 1 2 3 4 5 6; do (x=$(head -c 30000000 /dev/zero | tr '\\0' x); sleep 30) & done; wait"
    assert run(opened_memex[1], script(sh(many)), wrap, limits=RunLimits(memory=100 << 20)).ended == "memory"


@pytest.mark.slow
@BOTH
def test_processes(opened_memex, wrap):
    mark = f"1000.{os.getpid()}2"
    found = run(opened_memex[1], script(sh(f"for i in $(seq 200); do sleep {mark} & done; wait")), wrap, limits=RunLimits(processes=40, wall_s=20))
    assert found.ended == "processes" or b"fork" in found.stderr or found.ended == "time"
    assert found.ended in ("processes", "") and gone(mark)


@BOTH
def test_file_size_and_open_files(opened_memex, wrap):
    found = run(opened_memex[1], script(cmd("head", "-c", "5000000", "/dev/zero", redirects=(Redirect(1, "write", "big"),))), wrap, limits=RunLimits(file_size=1_000_000))
    assert found.status == 128 + signal.SIGXFSZ and (opened_memex[0] / "big").stat().st_size == 1_000_000
    assert run(opened_memex[1], script(sh("ulimit -n; ulimit -c")), wrap).text.split() == ["256", "0"]


@pytest.mark.slow
@BOTH
def test_processor_time(opened_memex, wrap):
    assert run(opened_memex[1], script(sh("while :; do :; done")), wrap, limits=RunLimits(cpu_s=1)).status in (128 + signal.SIGXCPU, 128 + signal.SIGKILL)


# What goes wrong -----------------------------------------------------------------------------------------------------

@pytest.mark.slow
@BOTH
def test_what_cannot_start(opened_memex, wrap):
    folder, root = opened_memex
    (folder / "plain").write_text("echo no\n"); (folder / "text").write_text("\0\1no program"); (folder / "text").chmod(0o755)
    for program, status in (("/nowhere/tool", 127), (str(folder / "plain"), 126), (str(folder / "text"), 126), ("/usr", 126), (str(folder / "plain" / "x"), 126)):
        assert run(root, script(cmd(program)), wrap).status == status, program
    assert run(root, script(cmd("/nowhere/tool"), "||", cmd("echo", "after")), wrap).stdout == b"after\n"


@BOTH
def test_standard_input_is_empty_and_output_may_be_anything(opened_memex, wrap):
    assert run(opened_memex[1], script((cmd("cat"), cmd("wc", "-c"))), wrap).text == "0\n"
    found = run(opened_memex[1], script(cmd("printf", r"\377\376\000\033]0;owned\007\033[2Jend")), wrap)
    assert found.stdout.startswith(b"\xff\xfe\0") and found.text.endswith("end")
    assert "\x1b" not in found.text and "\x07" not in found.text and "owned" not in found.text and "(5 characters for the terminal)" in found.text


@BOTH
def test_the_folder_may_vanish(opened_memex, wrap):
    found = run(opened_memex[1], script(sh("mkdir gone; :"), ";", cmd("cd", "gone"), ";", sh("rmdir ../gone"), ";", cmd("pwd"), "||", cmd("echo", "lost")), wrap)
    assert found.status == 0 and found.stdout == b"lost\n"


@BOTH
def test_arguments_are_never_read_again(opened_memex, wrap):
    nasty = ("; echo owned", "$(echo owned)", "`echo owned`", "| cat", "&& ls", "\udcff", "-", "", "a\nb")
    found = run(opened_memex[1], script(cmd("printf", "[%s]", *nasty)), wrap)
    assert found.stdout == b"".join(b"[" + os.fsencode(w) + b"]" for w in nasty)


def test_redirections_open_what_was_cleared_and_nothing_put_in_its_place(opened_memex, tmp_path):
    folder, root = opened_memex
    (tmp_path / "victim").write_text("kept"); (folder / "in.txt").write_text("cleared")
    os.mkfifo(folder / "pipe")
    what = script(cmd("echo", "x", redirects=(Redirect(1, "write", "out.txt"),)), ";", cmd("cat", redirects=(Redirect(0, "read", "in.txt"),)))
    for trick in (lambda: (folder / "out.txt").symlink_to(tmp_path / "victim"), lambda: os.link(tmp_path / "victim", folder / "out.txt"), lambda: os.mkfifo(folder / "out.txt"), lambda: (folder / "out.txt").mkdir()):
        opened = open_script(what, [root])
        trick()
        (folder / "in.txt").unlink(); (folder / "in.txt").symlink_to(tmp_path / "victim")
        found = asyncio.run(run_script(what, [root], opened.files))
        opened.close()
        assert found.stdout == b"cleared" and (tmp_path / "victim").read_text() == "kept"
        (folder / "out.txt").rmdir() if (folder / "out.txt").is_dir() else (folder / "out.txt").unlink()
        (folder / "in.txt").unlink(); (folder / "in.txt").write_text("cleared")
    with pytest.raises(ShellError): asyncio.run(run_script(what, [root], ()))


def test_messages_from_inside_are_not_believed(opened_memex):
    async def play(*said):
        running = Running(script(cmd("true")), (), RunLimits())
        try:
            running.attend()
            for message in said: running.theirs.send(message); running.hear()
            return running.report, running.theirs.recv(100, socket.MSG_DONTWAIT) if b"open\":" in said[0] else b""
        finally: running.close()
    for message in (b'{"open": 0}', b'{"open": -1}', b'{"open": "x"}', b'{"open": null}'): assert asyncio.run(play(message))[1] not in (b"", b"ok")
    for message in (b"[]", b"3", b"nonsense", b'"open"', b"\xff"): assert asyncio.run(play(message))[0] in ({}, )


# Ends ----------------------------------------------------------------------------------------------------------------

@BOTH
def test_cancelling_leaves_nothing(opened_memex, wrap):
    mark = f"1000.{os.getpid()}3"
    async def go():
        task = asyncio.create_task(run_script(script(sh(f"(setsid sleep {mark} &) ; sleep {mark}")), [opened_memex[1]], wrap=wrap))
        end = time.monotonic() + 120
        while not alive(mark): assert time.monotonic() < end and not task.done(), "the script did not begin"; await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError): await task
    before = len(os.listdir("/proc/self/fd"))
    asyncio.run(go())
    assert gone(mark)
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.slow
@BOTH
def test_the_event_loop_stays_free_and_scripts_run_at_once(opened_memex, wrap):
    async def go():
        ticks = 0
        async def tick():
            nonlocal ticks
            while True: await asyncio.sleep(0.01); ticks += 1
        ticking = asyncio.create_task(tick())
        found = await asyncio.gather(*(run_script(script(cmd("sleep", "0.3"), "&&", cmd("echo", str(n))), [opened_memex[1]], wrap=wrap) for n in range(3)))
        ticking.cancel()
        return ticks, [f.stdout for f in found]
    ticks, said = asyncio.run(go())
    assert ticks > 5 and said == [b"0\n", b"1\n", b"2\n"]


@pytest.mark.slow
@BOTH
def test_a_killed_agent_leaves_no_child(opened_memex, wrap, tmp_path):
    mark = f"1000.{os.getpid()}4"
    program = textwrap.dedent(f"""
        import asyncio
        from passepartout.confinement.resources import Root
        from passepartout.shell.run import run_script, RunLimits
        from passepartout.shell.sandbox import Bubblewrap, find_bubblewrap
        from passepartout.shell.script import Script, Pipeline, Simple
        wrap = find_bubblewrap() if {wrap.works} else Bubblewrap(problem="no")
        line = Simple("/usr/bin/bash", ("bash", "-c", "(setsid sleep {mark} &); sleep {mark}"))
        asyncio.run(run_script(Script((("", Pipeline((line,))),)), [Root({str(opened_memex[0])!r})], wrap=wrap))
    """)
    agent = subprocess.Popen([sys.executable, "-c", program])
    try:
        end = time.monotonic() + 30
        while len(alive(mark)) < 2 and time.monotonic() < end: time.sleep(0.02)
        assert len(alive(mark)) >= 2
    finally: away(agent)
    assert gone(mark)


def test_a_sandbox_that_is_ended_before_it_has_named_its_first_process_leaves_nobody_behind(opened_memex, tmp_path):
    slow = tmp_path / "bwrap"                                     # bubblewrap between making that process and telling it to go on
    slow.write_text(f"#!/bin/sh\nsleep 1000.{os.getpid()}6 &\nwait\n")
    slow.chmod(0o755)
    assert run(opened_memex[1], script(cmd("echo")), Bubblewrap(str(slow)), limits=RunLimits(wall_s=1.0)).ended == "time"
    assert gone(f"1000.{os.getpid()}6")


# The sandbox ---------------------------------------------------------------------------------------------------------

@needs_sandbox
def test_what_goes_with_the_sandbox_is_told_and_what_stays_is_not(opened_memex, tmp_path):
    "pytest's own folder lies in a temporary folder, and so do the notes: what is mounted there stays, what lies beside it goes."
    from passepartout.toolbelt.commandrun import told
    folder, root = opened_memex
    def left(text): return run(root, script(sh(text)), WRAP).left
    assert left(f"echo a > {root.path}/stays; mkdir ~/mine; echo b > ~/mine/x; sort /etc/passwd > /dev/null") == [] and Path(root.path, "stays").read_text() == "a\n"
    outcome = run(root, script(cmd("cp", "/usr/bin/true", str(tmp_path / "copy"))), WRAP)
    assert outcome.status == 0 and not (tmp_path / "copy").exists() and outcome.left == [str(tmp_path / "copy")] and f"Not kept, since a temporary folder goes with the sandbox: {tmp_path / 'copy'}" in told(outcome)
    assert left("mkdir /tmp/many; touch /tmp/many/{1..9}; exit 3")[5:] == ["and more"]
    assert left("echo > $'/tmp/a\\e[31mb'") == ["/tmp/ab"] and left("echo > /tmp/one; echo > /dev/shm/two") == ["/tmp/one", "/dev/shm/two"]


@needs_sandbox
def test_outside_is_absent_and_the_network_too(opened_memex, tmp_path):
    folder, root = opened_memex
    state = folder / "state"; state.mkdir(); (state / "key").write_text("sesame")
    (tmp_path / ".ssh").mkdir(); (tmp_path / ".ssh" / "id").write_text("secret")
    os.environ["A_TOKEN"] = "sesame"
    tcp = socket.create_server(("127.0.0.1", 0))
    unix = socket.socket(socket.AF_UNIX); unix.bind(str(tmp_path / "s")); unix.listen()
    abstract = socket.socket(socket.AF_UNIX); abstract.bind(f"\0passepartout-{os.getpid()}"); abstract.listen()
    python = "import socket,sys\nfor family, to in ((2, ('127.0.0.1', %d)), (1, %r), (1, %r)):\n    try: socket.socket(family).connect(to); print('connected', to)\n    except OSError: print('no')" % (tcp.getsockname()[1], str(tmp_path / "s"), f"\0passepartout-{os.getpid()}")
    try:
        def out(*words): return run(root, script(cmd(*words)), WRAP, hidden=[str(state)])
        for path in (tmp_path / ".ssh" / "id", state / "key", "/etc/shadow", Path(__file__)): assert out("cat", str(path)).status == 1, path
        out("touch", str(tmp_path / "x"))                        # a private /tmp takes it, and goes
        for path in ("/usr/x", "/etc/x", "/x", state / "x", "/dev/x"): assert out("touch", str(path)).status == 1, path
        assert b"sesame" not in out("bash", "-c", "env; cat /proc/*/environ /proc/*/cmdline; grep -r s[e]same . /tmp 2>/dev/null").stdout
        assert out("bash", "-c", "echo x > /proc/sys/kernel/core_pattern").status == 1
        assert out("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{tcp.getsockname()[1]}").status == 1
        if Path("/usr/bin/python3").exists(): assert out("/usr/bin/python3", "-c", python).text.split() == ["no"] * 3
        assert out("bash", "-c", "ls /proc/*/root/ >/dev/null 2>&1; readlink /proc/self/fd/*").stdout.count(b"memex") == 0
        assert not list(tmp_path.glob("x")) and sorted(os.listdir(state)) == ["key"]
    finally:
        del os.environ["A_TOKEN"]
        for s in (tcp, unix, abstract): s.close()


@needs_sandbox
def test_no_way_out_through_descriptors_or_new_namespaces(opened_memex):
    folder, root = opened_memex
    found = run(root, script(sh("for f in /proc/[0-9]*/fd/*; do readlink $f; done; for f in /proc/[0-9]*/fd/*; do ls $f/.. 2>/dev/null; done | sort -u | head")), WRAP)
    assert str(folder).encode() not in found.stdout and b"/root" not in found.stdout
    if WRAP.full: assert run(root, script(cmd("unshare", "-Ur", "true")), WRAP).status == 1


@needs_sandbox
def test_a_folder_swapped_after_it_was_opened_does_not_get_in(opened_memex, tmp_path):
    folder, root = opened_memex
    (folder / "mine").write_text("mine")
    folder.rename(tmp_path / "moved"); folder.mkdir(); (folder / "theirs").write_text("theirs")
    assert run(root, script(cmd("ls")), WRAP).stdout == b"mine\n"
    assert b"theirs" not in run(root, script(cmd("ls", str(folder))), WRAP).stdout


@pytest.mark.slow
def test_no_process_slips_through_while_its_parents_go(opened_memex):
    "Chains of processes that fork and go at once, ended while they do: a list of processes is always a little old, the kernel's word is not."
    mark = f"{time.time_ns() % 10**6 + 10**6}"
    chain = f"setsid sh -c 'setsid sh -c \"sleep {mark} & sleep {mark} &\" & sleep {mark} &' & echo left"
    for _ in range(25): assert run(opened_memex[1], script(sh(chain)), BARE).chunks == [(1, b"left\n")]
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in (p.read_bytes() if p.exists() else b"")]
    assert left == []


@pytest.mark.parametrize("text", thinned(["cd src; cat ../a", "cd src || cat ../a", "cd src && ls || cat ../a", "cat a | wc -c; cd src; cat ../a"], 2))
def test_what_was_judged_for_a_folder_does_not_run_in_another_one(tmp_path, text):
    "A folder may be gone, or closed, when it is entered: `../a` was looked at as seen from it, and would lead outside from here."
    from passepartout.shell.judge import judge_command
    (tmp_path / "top" / "memex" / "src").mkdir(parents=True)
    (tmp_path / "top" / "memex" / "a").write_text("inside\n")
    (tmp_path / "top" / "a").write_text("OUTSIDE\n")
    root = Root(tmp_path / "top" / "memex")
    judged = judge_command(text, [root], "/home/ada")
    assert judged.level == 0
    assert b"OUTSIDE" not in run(root, judged.script, BARE).stdout
    (tmp_path / "top" / "memex" / "src").rmdir()
    done = run(root, judged.script, BARE)
    assert b"OUTSIDE" not in done.stdout and b"cd: " in done.stderr and done.status == 1
    root.close()


@pytest.mark.parametrize("before", ["\x1b]", "\x1bP", "\x1b_", "\x1bX", "\x1b^", "\x9d", "\x1b]8;;", "\x1b]0;\x1b[", "\x1b[", "\x1b[?", "\x1b(", "\x1b# ", "\x1b ", "\x1b", "\x1b%", "\x1b[1;", "\x1b[38;2;1;2;3;", "\x1b\x1b]", "\x1b]52;c;"])
@pytest.mark.parametrize("after", ["", "\x07", "\x1b\\", "\x9c", "\x1b[0m"])
def test_no_sequence_hides_text_or_gets_to_a_terminal(before, after):
    for words in ("Pay 10000 EUR to Eve, now", "4929 1234 1234 1234", "10000 EUR", "x" * 5_000, "!!!! a ####"):
        said = readable(f"A {before}{words}{after} Z".encode())
        whole = words[words[0].isalpha():]                       # behind `ESC [` a single letter is a whole movement
        assert whole.replace(" ", "") in said.replace(" ", "") or (told := re.search(r"\((\d+) characters for the terminal\)", said)) and int(told[1]) >= len(words), (before, words, said)
        assert not any(c < " " or "\x7f" <= c < "\xa0" for c in said) and said.startswith("A ") and said.endswith(" Z")


def test_colours_and_movements_leave_nothing_behind():
    for sign in ("[m", "[0m", "[1;31m", "[38;5;196m", "[38:2::255:0:10m", "[2J", "[?25l", "[?1049h", "[10;20H", "[K", "[!p", "[2 q", "(B", ")0", "7", "8", "=", ">", "\\"):
        assert readable(f"a\x1b{sign}b".encode()) == "ab", sign
    assert readable("".join(chr(0xe0000 + ord(c)) for c in "obey me").encode()) == "obey me"
