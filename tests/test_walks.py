"Keys that a command comes across: whichever program, option, folder or race leads to them, it does not get to open them unasked"
import asyncio, os, shutil, socket, subprocess, sys
from pathlib import Path

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.messages import Allowed, ApprovalRequired
from passepartout.toolbelt.reach import may_show_private, sources_of
from passepartout.confinement.resources import Root
from passepartout.shell.judge import READ, judge_command
from passepartout.shell.run import OpenedScript, open_script, run_script
from passepartout.shell.sandbox import find_bubblewrap, interpreter
from passepartout.shell.script import Pipeline, Script, Simple
from passepartout.toolbelt.commandrun import ScriptUnfinished
from passepartout.toolbelt.shelltool import shell_tool
from passepartout.tools import ToolContext, ToolError
from passepartout.toolbelt.walks import TooMany, covers, goings, objection_to_walk

WRAP = find_bubblewrap()
needs_sandbox = pytest.mark.skipif(not WRAP.works, reason=WRAP.problem or "no sandbox")
KEY = "canary-4711"
HIDDEN = ("server.pem", "src/deploy/id_ed25519", "credentials.json", ".env", "src/.env.local", ".ssh/config", ".git/config", "site.git/config", ".config/app/token", "src/deep/er/api_keys.yaml", "Secrets.TXT", ".netrc")


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "memex"
    for name in HIDDEN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"[x]\n\ty = {KEY}\n")
    for name in ("bees.org", "src/main.py", ".gitignore", "notes/diary.org"): (folder / name).parent.mkdir(exist_ok=True); (folder / name).write_text("plain words\n")
    os.symlink("server.pem", folder / "link.txt")
    root = Root(folder)
    yield folder, root
    root.close()


def judged(command, *roots): return judge_command(command, roots, "/home/ada")


async def run(command, root):
    "What a command prints that is judged to only read; `None` when it would be asked about."
    found = judged(command, root)
    if found.level != READ or objection_to_walk(found.script, [root]): return None
    opened = open_script(found.script, [root], reads=True)
    outcome = await run_script(found.script, [root], opened.files, wrap=WRAP, covered=covers(goings(found.script, [root])), writable=False)
    opened.close()
    return outcome


COMMANDS = ["rg -n '' .", "rg -n ''", "rg '' src", "rg -g '*' ''", "rg -g '**' '' .", "rg -g '.*' ''", "rg -g '.env' ''", "rg --iglob '.ENV' ''", "rg --glob '*.pem' ''", "rg --no-ignore ''", "rg -e ''", "rg '' ./", "rg '' src notes",
            "grep -r '' .", "grep -rn '' src", "grep -r --include='*' '' .", "grep -r --include='.env' '' .", "grep -r --include='*.pem' ''", "egrep -r '' .", "fgrep -r x .", "grep -rh '' . | sort", "rg '' | base64", "cd src && rg ''", "cd src && grep -r '' ..",
            "cd .ssh && rg ''", "cd .git; rg ''", "timeout 5 rg ''", "nice rg -g '*' ''", "env LC_ALL=C grep -r '' .", "rg '' . && git status", "git log && rg -g '*' ''", "diff src notes", "cat *", "cat src/*", "head -n5 *", "cat link.txt", "cat < server.pem", "find . -type f",
            "find . -name '*.pem' | xargs cat", "sort *", "strings *", "rg '' -- .", "rg -A 3 '' src/deploy", "rg '' link.txt", "grep '' link.txt", "ls -laR", "wc -c *", "rg --files", "rg -l ''", "rg -c '' ."]


@needs_sandbox
@pytest.mark.parametrize("command", [*COMMANDS[:12], *(pytest.param(c, marks=pytest.mark.slow) for c in COMMANDS[12:])])
async def test_no_key_is_printed_unasked(place, command):
    folder, root = place
    outcome = await run(command, root)
    if outcome is None: return                                   # a person is asked
    assert KEY.encode() not in outcome.stdout and not outcome.ended
    import base64
    assert KEY[:9].encode() not in base64.b64decode(outcome.stdout, validate=False) if "base64" in command else True


@needs_sandbox
@pytest.mark.parametrize("command, expected", thinned([("rg -n plain", "bees.org"), ("grep -rl plain .", "./bees.org"), ("rg -l plain notes", "diary.org"), ("cat bees.org", "plain words"), ("grep plain bees.org", "plain")], 2))
async def test_ordinary_searches_run_and_find_the_rest(place, command, expected):
    outcome = await run(command, place[1])
    assert outcome is not None and expected in outcome.text


@needs_sandbox
async def test_git_reads_its_own_folder(tmp_path):
    folder = tmp_path / "memex"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True, timeout=120)
    (folder / "main.py").write_text("one\n"); (folder / ".github").mkdir(); (folder / ".github" / "ci.yml").write_text("x\n"); (folder / "server.pem").write_text(KEY)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True, timeout=120)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"], cwd=folder, check=True, timeout=120)
    (folder / "main.py").write_text("two\n")
    root = Root(folder)
    try:
        assert "first" in (await run("git log --oneline", root)).text
        assert (await run("git status --short", root)).text.strip() == "M main.py"
        assert await run("git diff", root) is None                    # it would print what stands in server.pem, and is asked about
        assert "+two" in (await run("git diff -- main.py", root)).text
        assert "first" in (await run("git log --oneline && rg -l two", root)).text
        assert "main.py" in (await run("git grep -n two", root)).text
        assert KEY not in (await run("git grep -n canary", root)).text
    finally: root.close()


async def tool_says(top, command, meanwhile=None):
    "The result of the shell tool of a whole agent."
    agent = await Agent.boot(memex_dir=top / "memex", state_dir=top / "state", config_dir=top / "config", cache_dir=top / "cache", permissions={"default": "allow"})
    try:
        if meanwhile is not None:
            import passepartout.toolbelt.commandrun as commandrun
            start = commandrun.run_script
            async def racing(*args, **kwargs):
                meanwhile()
                return await start(*args, **kwargs)
            commandrun.run_script = racing
            try: return str(await agent.handle(f"$ {command}"))
            finally: commandrun.run_script = start
        return str(await agent.handle(f"$ {command}"))
    finally: await agent.close()


@pytest.mark.slow
@needs_sandbox
async def test_through_a_whole_agent(tmp_path, place):
    said = await tool_says(tmp_path, "rg -n ''")
    assert "plain words" in said and KEY not in said


@pytest.mark.slow
@needs_sandbox
async def test_a_key_that_appears_between_the_look_and_the_run_is_not_shown(tmp_path, place):
    late = place[0] / "notes" / "late.pem"
    said = await tool_says(tmp_path, "rg -n ''", lambda: late.write_text(KEY))
    assert KEY not in said and "appeared" in said


@needs_sandbox
async def test_a_key_that_disappears_meanwhile_costs_the_run_and_nothing_else(tmp_path, place):
    said = await tool_says(tmp_path, "rg -n ''", lambda: (place[0] / "server.pem").unlink())
    assert KEY not in said


@needs_sandbox
async def test_a_folder_that_becomes_a_link_shows_nothing(tmp_path, place):
    def swap():
        shutil.move(place[0] / "src" / "deploy", place[0] / "moved")
        os.symlink("../moved", place[0] / "src" / "deploy")
    assert KEY not in await tool_says(tmp_path, "rg -n ''", swap)


@needs_sandbox
async def test_what_a_person_approves_as_such_reads_what_it_names(tmp_path, place):
    assert KEY in await tool_says(tmp_path, "cat .env")


def test_too_much_to_look_through_is_asked_about(tmp_path):
    (tmp_path / "many").mkdir()
    for n in range(60): (tmp_path / "many" / f"{n}.txt").touch()
    for n in range(210): (tmp_path / f"{n}.pem").touch()
    root = Root(tmp_path)
    script = judged("rg x many", root).script
    assert objection_to_walk(script, [root]) is None and "more than" in objection_to_walk(script, [root], entries=50)
    assert "200" in objection_to_walk(judged("rg x", root).script, [root])
    with pytest.raises(TooMany): covers(goings(judged("rg x", root).script, [root]))
    root.close()


async def test_the_gate_asks_about_what_cannot_be_covered(tmp_path):
    from passepartout.gates.shell import shell_gate
    from passepartout.messages import Action, Signal
    from passepartout.tools import Parameter, Tool, ToolRegistry
    for n in range(210): (tmp_path / f"{n}.pem").touch()
    tools, root = ToolRegistry(), Root(tmp_path)
    tools.register(Tool("shell", "", [Parameter("command", kind="command")], lambda args: ""))
    gate = shell_gate(tools, [root], "/home/ada")
    for command, kind in (("rg x", ApprovalRequired), ("ls", Allowed), ("rg x", ApprovalRequired)):
        verdict = gate(Action.of({"target": "tool", "payload": {"action": "call", "tool": "shell", "args": {"command": command}}}), Signal.of({"payload": {"sensor": "user-input", "text": "x"}}))
        assert isinstance(verdict, kind) and verdict.resolved["command"].reads is (kind is Allowed)
        verdict.resolved["command"].close()
    root.close()


# Private notes -----------------------------------------------------------------------------------------------------------

@pytest.fixture
def notes(tmp_path):
    for name, text in {"memex/bees.org": "* Bees\n", "memex/private/diary.org": "* Doctor :@personal:\nAt nine.\n", "memex/work/plan.org": "* Plan\n", "code/main.py": "x\n", "code/README.md": "# Code\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True); (tmp_path / name).write_text(text)
    roots = [Root(tmp_path / "memex"), Root(tmp_path / "code")]
    yield roots
    for root in roots: root.close()


@pytest.mark.slow
@pytest.mark.parametrize("command, private", [
    ("rg nine", True), ("rg nine .", True), ("rg nine private", True), ("grep -r nine .", True), ("rg -e nine", True), ("cd private && cat diary.org", True), ("cd private; rg nine", True), ("cd work && rg x ../private", True),
    ("cd work && cat ../private/diary.org", True), ("rg -g '*.org' nine", True), ("rg -g '!*.py' nine", True), ("rg -g '*' nine", True), ("rg -g '*.py' -g '*.md' -g '*.org' nine", True), ("rg -g '*.{py,org}' nine", True), ("rg -t org nine", True),
    ("grep -r --include='*.org' nine .", True), ("grep -r --include='*.o*' nine .", True), ("rg nine work private", True), ("git log -p", True), ("rg --iglob '*.py' nine", True), ("cat private/*", True), ("timeout 5 rg nine", True), ("rg -g private nine", True),
    ("rg -g work nine", True), ("rg x work", False), ("grep -rn x work", False), ("cd work && cat plan.org", False), ("rg -g '*.py' nine", False), ("rg -t py nine", False), ("grep -r --include='*.py' nine .", False), ("cat bees.org", False), ("ls -R", False),
    ("find . -name '*.org'", False), ("rg x {code}", False), ("cat {code}/main.py", False), ("cd {code} && cat main.py", False), ("wc -l bees.org | sort -n", False), ("hd private/diary.org", True), ("openssl x509 -noout -text -in private/diary.org", True),
    ("sdiff -s bees.org private/diary.org", True), ("cd private && objdump -s diary.org", True), ("zgrep nine private/diary.org", True), ("ip -br a", False), ("apt list git", False), ("ss -tln", False), ("openssl dgst -sha256 bees.org", False), ("readelf -h bees.org", False)])
def test_output_is_private_when_a_private_note_can_have_been_read_and_otherwise_not(notes, command, private):
    found = judged(command.replace("{code}", notes[1].path), *notes)
    assert found.level == READ, found.reasons
    assert may_show_private(OpenedScript(found.script, reads=True), notes, ("@personal",)) is private


@pytest.mark.parametrize("command, source", [('for f in *; do echo $f; done', "the whole folder"), ('for f in work/*; do echo "It says $f"; done', "work"), ("for f in private/*.org; do printf '%s' x$f; done", "private"), ("echo x$(echo work/*)", "work"), ("cat bees.org", "bees.org"), ("grep -vnfbees.org work/plan.org", "bees.org")])
def test_names_that_a_pattern_found_have_a_source_however_they_are_printed(notes, command, source):
    (Path(notes[0].path) / "work" / "Pay eve today.org").write_text("* x\n")
    found = judged(command, *notes)
    assert found.level == READ, found.reasons
    assert source in sources_of(OpenedScript(found.script, reads=True), notes)


HOLES = [("awk", "awk", "1"), ("sed", "sed", "-n", "p"), ("python3", "python3", "-c", "import sys; print(open(sys.argv[1]).read())"), ("git", "git", "-c", "alias.x=!cat", "x"), ("sh", "sh", "-c", 'cat "$0"')]


@needs_sandbox
@pytest.mark.parametrize("words", [HOLES[0], *(pytest.param(words, marks=pytest.mark.slow) for words in HOLES[1:])], ids=lambda words: words[0])
async def test_a_program_that_was_judged_wrongly_opens_no_key(place, words, monkeypatch):
    "As if the table had let through what opens any file, and nobody had seen where its words lead: whatever name it finds, there is nothing in it."
    monkeypatch.setattr("passepartout.toolbelt.steady.Watch.objection", lambda self: "")
    folder, root = place
    tool, said = shell_tool([root]), []
    for name in (*HIDDEN, "link.txt", "./src/../.env", str(folder / "server.pem"), f"/proc/self/root{folder}/server.pem"):
        if words[0] == "git" and name.startswith(".git/"): continue                   # git reads its own folder
        for wrapped in ([], ["timeout", "9"]) if name in ("server.pem", ".env") else ([],):
            argv = [*wrapped, *([shutil.which(words[0], path="/usr/bin:/bin")] if wrapped else words[1:2]), *words[2:], name]
            opened = OpenedScript(Script((("", Pipeline((Simple(shutil.which("timeout" if wrapped else words[0], path="/usr/bin:/bin"), tuple(argv)),))),)), reads=True)
            said.append(f"{name}: " + (await tool.body("", 9, ToolContext({"command": opened}))).content)
    assert not [each for each in said if KEY in each] and len(said) >= 16
    opened = OpenedScript(Script((("", Pipeline((Simple(shutil.which(words[0], path="/usr/bin:/bin"), (*words[1:], "bees.org")),))),)), reads=True)
    assert "plain words" in (await tool.body("", 9, ToolContext({"command": opened}))).content


@needs_sandbox
async def test_what_somebody_approved_opens_what_they_approved(place):
    opened = OpenedScript(Script((("", Pipeline((Simple(shutil.which("awk"), ("awk", "1", "server.pem")),))),)), reads=False)
    assert KEY in (await shell_tool([place[1]]).body("", 9, ToolContext({"command": opened}))).content


@pytest.mark.slow
@needs_sandbox
async def test_what_tells_of_files_tells_the_truth_of_keys(place, monkeypatch):
    monkeypatch.setattr("passepartout.toolbelt.steady.Watch.objection", lambda self: "")         # it is asked about, and runs like that when somebody said yes
    size = str((place[0] / "server.pem").stat().st_size)
    for line in ("ls -l server.pem", "stat -c %s server.pem", "wc -c bees.org"):
        found = judged(line, place[1])
        opened = open_script(found.script, [place[1]], reads=True)
        said = (await shell_tool([place[1]]).body("", 9, ToolContext({"command": opened}))).content
        assert (size if "pem" in line else "12") in said, (line, said)


@pytest.mark.slow
@needs_sandbox
async def test_a_note_that_vanishes_while_it_is_read_has_a_source_and_is_private(notes, monkeypatch):
    "Also where nobody looks at the folders; who does, shows nothing of it."
    tool, diary = shell_tool(notes), Path(notes[0].path) / "private" / "diary.org"
    async def vanishing():
        diary.write_text("* Doctor :@personal:\nAt nine.\n")
        opened = open_script(judged("tail -f -s 0.1 private/diary.org", *notes).script, notes, reads=True)
        running = asyncio.create_task(tool.body("", 2, ToolContext({"command": opened})))
        await asyncio.sleep(1)
        diary.unlink()
        await running
    with pytest.raises(ToolError, match="moved or replaced") as ended: await vanishing()
    assert "At nine." not in str(ended.value)
    monkeypatch.setattr("passepartout.toolbelt.steady.Watch.objection", lambda self: "")
    with pytest.raises(ScriptUnfinished) as ended: await vanishing()
    assert "At nine." in str(ended.value) and ended.value.label.private and "private/diary.org" in ended.value.label.sources


def test_what_is_not_known_to_only_read_reaches_everything(notes):
    assert may_show_private(OpenedScript(judged("make", *notes).script, reads=False), notes, ("@personal",))


# Sockets and calls -------------------------------------------------------------------------------------------------------

CONNECT = "import socket, sys\ntry:\n    s = socket.socket(socket.AF_UNIX, {kind}); s.connect({path!r}); print('connected')\nexcept OSError as error: print('refused', error.errno)\n"


@needs_sandbox
@pytest.mark.parametrize("kind", ["socket.SOCK_STREAM", "socket.SOCK_DGRAM"])
@pytest.mark.parametrize("writable", [True, False])
async def test_a_socket_in_the_workspace_cannot_be_connected_to(tmp_path, kind, writable):
    path, root = str(tmp_path / "s"), Root(tmp_path)
    with socket.socket(socket.AF_UNIX, eval(kind)) as ear:
        ear.bind(path)
        if kind.endswith("STREAM"): ear.listen()
        program = CONNECT.format(kind=kind, path=path)
        assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120).stdout == "connected\n"      # it is there
        script = Script((("", Pipeline((Simple(interpreter()[0], (interpreter()[0], "-I", "-S", "-c", program)),))),))
        outcome = await run_script(script, [root], wrap=WRAP, writable=writable)
    root.close()
    assert outcome.text == "refused 97\n"


CALLS = {"ptrace": "ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0)", "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)", "unshare": "libc.unshare(0x10000000)", "keyctl": "libc.syscall(250, 0, -3, 0, 0, 0)", "bpf": "libc.syscall(321, 0, 0, 0)",
         "userfaultfd": "libc.syscall(323, 0)", "perf": "libc.syscall(298, 0, 0, -1, -1, 0)", "io_uring": "libc.syscall(425, 1, ctypes.create_string_buffer(256))", "sockets": "libc.socket(1, 1, 0)", "vsock": "libc.socket(40, 1, 0)", "alg": "libc.socket(38, 5, 0)",
         "tiocsti": "libc.ioctl(0, 0x5412, b'x')", "tiocsti with bits above": "libc.ioctl(0, ctypes.c_ulong(0x100005412), b'x')", "x32": "libc.syscall(0x40000000 + 41, 1, 1, 0)"}


@needs_sandbox
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
async def test_calls_that_no_command_needs_are_not_made(tmp_path):
    root = Root(tmp_path)
    lines = ["import ctypes, socket", "libc = ctypes.CDLL(None, use_errno=True)"]
    for name, call in CALLS.items(): lines += [f"ctypes.set_errno(0); r = {call.replace('ctypes.CDLL(None, use_errno=True)', 'libc')}; print({name!r}, r, ctypes.get_errno())"]
    lines += ["a, b = socket.socketpair(); a.send(b'pair'); print(b.recv(9).decode())", "s = socket.socket(); s.bind(('127.0.0.1', 0)); print('inet')"]
    outcome = await run_script(Script((("", Pipeline((Simple(interpreter()[0], (interpreter()[0], "-I", "-S", "-c", "\n".join(lines))),))),)), [root], wrap=WRAP)
    root.close()
    told = dict(line.rsplit(" ", 2)[0::2] for line in outcome.text.splitlines() if line.count(" ") >= 2)
    assert outcome.status == 0, outcome.text
    for name in CALLS: assert int(told[name]) in ({38} if name == "x32" else {97} if name in ("sockets", "vsock", "alg") else {1}), (name, outcome.text)
    assert outcome.text.endswith("pair\ninet\n")


@pytest.mark.parametrize("query", ["SELECT data FROM newtable WHERE path = '.'", "select * From t", "select a fRoM t"])
def test_a_query_may_go_anywhere_however_it_is_spelled(place, query):
    "The program has tables that open files, and a release may bring one that nobody has listed."
    folder, root = place
    (folder / "a.db").write_text("")
    found = judged(f"sqlite3 a.db \"{query}\"", root)
    assert found.level == READ
    assert {os.path.relpath(cover.path, folder) for cover in covers(goings(found.script, [root]))} >= {"server.pem", ".env", "credentials.json"}


@pytest.mark.slow
@needs_sandbox
async def test_a_repository_inside_the_repository_starts_nothing(tmp_path):
    "Its settings came with it and may name programs; git enters it to see whether something changed there, unless it is told not to."
    outer, inner = tmp_path / "memex", tmp_path / "memex" / "inner"
    inner.mkdir(parents=True)
    def git(folder, *words): subprocess.run(["git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words], check=True, capture_output=True)
    def kept(folder, name):
        (folder / name).write_text("1\n")
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "1")
    kept(inner, "a")
    kept(outer, "b")
    with (inner / ".git" / "config").open("a") as file: file.write('[filter "x"]\n\tclean = "echo STARTED >&2; cat"\n')
    (inner / ".gitattributes").write_text("* filter=x\n")
    (inner / "a").write_text("2\n")                       # of the same length, so that git has to look inside
    os.utime(inner / "a", (1, 1))
    started = subprocess.run(["git", "-C", str(outer), "diff"], capture_output=True)
    assert b"STARTED" in started.stderr, "the trap does not work"
    root = Root(outer)
    ran = 0
    for words in ("status", "status -vv", "status --porcelain=v2", "diff", "diff HEAD", "diff --stat -- inner", "diff-files -p", "diff-index HEAD", "describe --always", "describe --always --dirty", "ls-files -m", "clean -n", "log -p", "stash show", "grep x"):
        os.utime(inner / "a", (1, 1))
        outcome = await run(f"git {words}", root)
        assert outcome is None or "STARTED" not in outcome.text, words
        ran += outcome is not None
    root.close()
    assert ran >= 13


TOKEN = "ghp_" + "aB3dE5gH7jK9" * 3
TAKEN_APART = ["cut -c 22-40 access.org", "cut -c 20-22 access.org", "rev access.org", "fold -w 8 access.org", "grep -o . access.org", "grep -oE '.{4}' access.org", "sed 's/./& /g' access.org", "xxd access.org", "od -c access.org", "tail -c 20 access.org", "awk '{print substr($0,15,12)}' access.org",
               "tr 'a-zA-Z' 'b-zaB-ZA' < access.org", "cut -d_ -f2 access.org", "grep -c ghp_aB3 access.org", "grep -l ghp_aB3 access.org", "rg -o . access.org", "rg -c ghp_aB3", "grep -rho . .", "cat access.org | rev", "ls | xargs rev", "for f in *.org; do rev $f; done", "head -c 25 access.org | tail -c 8", "base64 < access.org | cut -c 12-20"]


@needs_sandbox
@pytest.mark.parametrize("command", TAKEN_APART)
async def test_no_key_in_a_note_is_taken_apart_by_a_command(tmp_path, command):
    "`rev` and `cut` need no question, and what they print of a key does not look like one."
    folder = tmp_path / "memex"
    folder.mkdir()
    root = Root(folder)
    async def printed(text):
        (folder / "access.org").write_text(text)
        found = judged(command, root)
        opened = open_script(found.script, [root], reads=found.level == READ)
        if not opened.reads: return None
        try: return (await shell_tool([root]).body("", 9, ToolContext({"command": opened}))).content.partition("(A key stands in")
        finally: opened.close()
    with_one, with_another = await printed(f"The token is {TOKEN}.\n"), await printed(f"The token is {TOKEN[:4]}{TOKEN[4:].swapcase()[::-1]}.\n")
    assert with_one is None or with_one == with_another and with_one[2], "what it prints does not depend on the key"
    root.close()


@needs_sandbox
async def test_a_note_without_a_key_is_the_note_itself(tmp_path):
    folder = tmp_path / "memex"
    folder.mkdir()
    (folder / "bees.org").write_text("* Bees\nThe token is missing.\n")
    root, tool = Root(folder), shell_tool([Root(folder)])
    for command in ("rev bees.org", "tr a b < bees.org", "rg -o . bees.org"):
        opened = open_script(judged(command, root).script, [root], reads=True)
        said = (await tool.body("", 9, ToolContext({"command": opened}))).content
        opened.close()
        assert "A key stands" not in said and said.strip(), said
    root.close()
