"Commands through a whole agent: typed, proposed, asked about, cut off, and recorded"
import asyncio, os, subprocess, sys, textwrap, time

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.conditions import PassepartoutError
from passepartout.shell.sandbox import Bubblewrap, find_bubblewrap
from waits import away

WRAP = find_bubblewrap()
needs_sandbox = pytest.mark.skipif(not WRAP.works, reason=WRAP.problem or "no sandbox")


def places(top):
    (top / "memex").mkdir()
    (top / "memex" / "bees.org").write_text("* Bees\n* Wasps\n")
    return {"memex_dir": top / "memex", **{f"{kind}_dir": top / kind for kind in ("state", "config", "cache")}}


def talk(top, *lines, proposals=(), made=None):
    "(status, text) for each line, the effects, and how many asks stay open."
    async def go():
        agent = await Agent.boot(made or places(top))
        try:
            if proposals:
                left = list(proposals)
                def model(prompt, system_prompt): return left.pop(0) if left else "That is all."
                register_backend(agent, "model", model, inline=True)
                agent.provider_cascade = ("model",)
            said = [await agent.handle(line) for line in lines]
            return [(r.status, str(r)) for r in said], agent.journal.effects(limit=20), agent.pending()
        finally: await agent.close()
    return asyncio.run(go())


def proposal(command): return f'(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "shell" :ARGS (:COMMAND "{command}") :EXPLANATION "To see how many headings there are in the note."))'


@needs_sandbox
def test_what_only_reads_runs_unasked_and_is_no_effect(tmp_path):
    said, effects, pending = talk(tmp_path, "$ grep -c Bees bees.org", "run: cat nothing.org")
    assert said[0][1].strip() == "1" and "exit status 1" in said[1][1]
    assert (effects, pending) == ([], [])


def test_a_typed_command_answers_its_own_ask_on_the_record(tmp_path):
    said, effects, pending = talk(tmp_path, "$ touch new.org")
    assert (tmp_path / "memex" / "new.org").exists() and not pending
    assert [e["state"] for e in effects] == ["committed"]
    assert effects[0]["detail"]["command"]["argv"] == [["/usr/bin/touch", "touch", "new.org"]] and effects[0]["outcome"]["status"] == 0


def test_what_cannot_be_taken_back_asks_although_it_was_typed(tmp_path):
    said, effects, pending = talk(tmp_path, "$ rm bees.org")
    assert said[0][0] == "requires-approval" and "cannot be taken back" in said[0][1] and len(pending) == 1
    assert (tmp_path / "memex" / "bees.org").exists() and not effects


@pytest.mark.parametrize("line", ["$ rm -rf /etc", "run: rm -rf ~", "$ echo x > /etc/passwd"])
def test_what_is_denied_stays_denied_when_typed(tmp_path, monkeypatch, line):
    monkeypatch.setenv("HOME", "/home/ana")               # wherever the home of the tests lies
    said, effects, pending = talk(tmp_path, line)
    assert "exit status" not in said[0][1] and not pending and not effects and (tmp_path / "memex" / "bees.org").exists()


def test_a_proposed_command_asks_unless_it_reads(tmp_path):
    said, effects, pending = talk(tmp_path, "how many headings?", proposals=[proposal("touch new.org")])
    assert said[0][0] == "requires-approval" and not effects and not (tmp_path / "memex" / "new.org").exists()


def test_approved_it_runs_once(tmp_path):
    async def go():
        agent = await Agent.boot(places(tmp_path))
        try:
            await agent.handle("$ rm bees.org")
            ask = agent.pending()[0]
            with pytest.raises(PassepartoutError, match="delete bees.org"): await agent.approve(ask.id, ask.code)
            first = await agent.approve(ask.id, ask.code, confirm="delete bees.org")
            (tmp_path / "memex" / "bees.org").write_text("again")
            try: await agent.approve(ask.id, ask.code, confirm="delete bees.org")
            except PassepartoutError: pass                      # refused or answered, it must not run again
            return first.status, agent.journal.effects(limit=5)
        finally: await agent.close()
    status, effects = asyncio.run(go())
    assert (status, [e["state"] for e in effects]) == ("answered", ["committed"])
    assert (tmp_path / "memex" / "bees.org").read_text() == "again"


def test_without_a_sandbox_reading_asks_and_the_doctor_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("passepartout.shell.sandbox.find_bubblewrap", lambda: Bubblewrap(problem="bubblewrap is not installed."))
    async def go():
        agent = await Agent.boot(places(tmp_path))
        try:
            register_backend(agent, "model", lambda prompt, system: proposal("cat bees.org"), inline=True)
            agent.provider_cascade = ("model",)
            return await agent.handle("how many headings?"), agent.health, [f.what for f in agent.diagnostics]
        finally: await agent.close()
    reply, health, found = asyncio.run(go())
    assert reply.status == "requires-approval" and "bubblewrap is not installed" in str(reply)
    assert health == "degraded" and any("bubblewrap" in what for what in found)


@needs_sandbox
def test_the_agents_own_things_are_absent_even_within_the_notes(tmp_path):
    async def go():
        agent = await Agent.boot({**places(tmp_path), "state_dir": tmp_path / "memex" / "state"})
        try: return [str(await agent.handle(line)) for line in ("$ ls state/passepartout", "$ bash -c 'cat state/passepartout/*/journal.*; true'")]
        finally: await agent.close()
    for text in asyncio.run(go()): assert "journal.sqlite" not in text.replace("journal.*", "") and "SQLite format" not in text


@pytest.mark.slow
def test_a_crash_in_the_middle_is_unknown_and_told(tmp_path):
    settings, mark = places(tmp_path), f"1000.{os.getpid()}9"
    program = textwrap.dedent(f"""
        import asyncio
        from passepartout.agent import Agent
        async def go():
            agent = await Agent.boot({ {k: str(v) for k, v in settings.items()} !r})
            await agent.handle("$ sh -c 'touch half; sleep {mark}'")
        asyncio.run(go())
    """)
    agent = subprocess.Popen([sys.executable, "-c", program])
    end = time.monotonic() + 30
    while not (tmp_path / "memex" / "half").exists() and time.monotonic() < end: time.sleep(0.02)
    away(agent)
    async def after():
        agent = await Agent.boot(settings)
        try: return [e["state"] for e in agent.journal.effects(limit=5)], [f.what for f in agent.diagnostics]
        finally: await agent.close()
    states, found = asyncio.run(after())
    assert states == ["unknown"] and any("unknown" in what for what in found)


async def test_an_approval_of_a_pattern_holds_only_for_the_files_it_showed(tmp_path):
    "`rm *.tmp` was approved while there was one such file; then there are two."
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "a.tmp").write_text("x")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config")
    ask = (await agent.handle("$ rm *.tmp")).approvals[0]
    (memex / "b.tmp").write_text("mine")
    reply = await agent.approve(ask.id, ask.code, confirm=ask.phrase)
    assert (memex / "a.tmp").exists() and (memex / "b.tmp").exists() and reply.approvals and "b.tmp" in reply.approvals[0].reason
    again = reply.approvals[0]
    assert (ask.phrase, again.phrase) == ("delete a.tmp", "delete 2 files")
    await agent.approve(again.id, again.code, confirm=again.phrase)
    assert not (memex / "a.tmp").exists() and not (memex / "b.tmp").exists()
    await agent.close()


@pytest.mark.parametrize("command, name, text, made", thinned([
    ("sh build.sh", "build.sh", "echo {} > out.txt\n", "out.txt"), ("cd src && sh build.sh", "src/build.sh", "echo {} > out.txt\n", "src/out.txt"),
    (". ./build.sh", "build.sh", "echo {} > out.txt\n", "out.txt"), ("sed -i -f b.sed bees.org", "b.sed", "s/Wasps/{}/\n", "bees.org"),
    ("xargs touch < names", "names", "{}.txt\n", "theirs.txt"), ("awk -fa.awk bees.org > out.txt", "a.awk", "{{ print \"{}\" }}\n", "out.txt")], every=3))
async def test_a_yes_holds_for_the_text_of_the_files_that_the_line_names(tmp_path, command, name, text, made):
    "Between question and yes a model, or a synced folder, puts other text there."
    agent = await Agent.boot(places(tmp_path))
    (memex := tmp_path / "memex").joinpath("src").mkdir()
    (memex / name).write_text(text.format("mine"))
    register_backend(agent, "model", lambda prompt, system: proposal(command) if "returned" not in prompt else "That is all.", inline=True)
    agent.provider_cascade = ("model",)
    ask, = (await agent.handle("do it")).approvals
    (memex / name).write_text(text.format("theirs"))
    (memex / name).touch()
    reply = await agent.approve(ask.id, ask.code)
    assert not reply.effects and "changed since you were asked" in str(reply)
    assert not (memex / made).exists() or "theirs" not in (memex / made).read_text()
    (memex / name).write_text(text.format("mine"))
    reply = await agent.approve(*[(each.id, each.code) for each in (await agent.handle("do it again")).approvals][0])
    assert reply.effects, reply
    await agent.close()


OF_THE_CALLER = {"RIPGREP_CONFIG_PATH": "{}/rg", "GIT_EXTERNAL_DIFF": "{}/run", "GIT_SSH_COMMAND": "{}/run", "GIT_PAGER": "{}/run", "GIT_EDITOR": "{}/run", "GIT_ASKPASS": "{}/run", "GIT_CONFIG_GLOBAL": "{}/gitconfig", "GIT_TRACE": "{}/ran", "GIT_TRACE2": "{}/ran", "PAGER": "{}/run", "MANPAGER": "{}/run", "LESSOPEN": "|{}/run %s",
                 "EDITOR": "{}/run", "VISUAL": "{}/run", "BASH_ENV": "{}/run", "ENV": "{}/run", "PROMPT_COMMAND": "{}/run", "TAR_OPTIONS": "--to-command={}/run", "GREP_OPTIONS": "--include=x", "GZIP": "-9", "AWKPATH": "{}", "PYTHONSTARTUP": "{}/run", "PYTHONPATH": "{}", "XDG_CONFIG_HOME": "{}", "TMPDIR": "{}", "IFS": "x", "LC_ALL": "x", "CDPATH": "/", "POSIXLY_CORRECT": "1"}

@needs_sandbox
def test_neither_the_callers_variables_nor_a_hostile_repository_have_anything_run(tmp_path, monkeypatch):
    "Reading, listing, searching, editing, undoing and asking git, in notes that are a repository made to run something."
    (ran := tmp_path / "ran").parent.mkdir(exist_ok=True)
    (run := tmp_path / "run").write_text(f"#!/bin/sh\necho ran >> {ran}\n"); run.chmod(0o755)
    (tmp_path / "rg").write_text(f"--pre={run}\n"); (tmp_path / "gitconfig").write_text(f"[core]\n\tfsmonitor = {run}\n\tpager = {run}\n"); (tmp_path / "sitecustomize.py").write_text(f"open({str(ran)!r}, 'w').write('x')\n")
    given = places(tmp_path)
    subprocess.run(["git", "init", "-q", given["memex_dir"]], check=True)
    (given["memex_dir"] / ".git" / "config").open("a").write(f"[core]\n\tfsmonitor = {run}\n\tpager = {run}\n\tsshCommand = {run}\n\thooksPath = {tmp_path}\n[diff]\n\texternal = {run}\n[diff \"x\"]\n\ttextconv = {run}\n\tcommand = {run}\n[filter \"x\"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n[alias]\n\tstatus = !{run}\n[credential]\n\thelper = {run}\n")
    (given["memex_dir"] / ".gitattributes").write_text("* filter=x diff=x\n"); (given["memex_dir"] / ".rgignore").write_text("!.env\n"); (given["memex_dir"] / ".editorconfig").write_text("root = true\n")
    for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"): (path := given["memex_dir"] / ".git" / "hooks" / hook).write_text(run.read_text()); path.chmod(0o755)
    subprocess.run(["sh", "-c", str(run)], check=True); assert ran.exists(); ran.unlink()                    # it would be seen
    for name, value in OF_THE_CALLER.items(): monkeypatch.setenv(name, value.format(tmp_path))
    call = lambda tool, args: f'(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "{tool}" :ARGS ({args}) :EXPLANATION "To see what stands in the notes today."))'
    async def go():
        agent = await Agent.boot(given)
        try:
            for proposed in (call("read-file", ':PATH "bees.org"'), call("list-files", ":DEEP T"), call("search", ':PATTERN "Bees"'), call("org-find", ':QUERY "bees"'), call("org-capture", ':TITLE "Honey"'), proposal("git status"), proposal("git log -p"), proposal("git diff"), proposal("tar -tf bees.org; man ls | head -3; rg Bees; grep -rn Bees .; printenv")):
                left = [proposed]
                register_backend(agent, "model", lambda prompt, system: left.pop(0) if left else "That is all.", inline=True)
                agent.provider_cascade = ("model",)
                await agent.handle("What stands in my notes?", session=proposed[-40:])
            agent.provider_cascade = ()
            return str(await agent.handle("$ printenv")), str(await agent.handle("/undo"))
        finally: await agent.close()
    printed, _ = asyncio.run(go())
    assert not ran.exists() and "LANG=" in printed and not {line.partition("=")[0] for line in printed.splitlines()} & (OF_THE_CALLER.keys() - {"PAGER", "EDITOR", "GIT_CONFIG_GLOBAL"})
    assert str(tmp_path / "run") not in printed and str(tmp_path / "gitconfig") not in printed


@needs_sandbox
@pytest.mark.parametrize("line", ["echo x >> log.txt", "{ echo x; ls; } >> log.txt", "for n in 1 2; do echo $n; done >> log.txt", "bash -c 'echo x >> log.txt'", "echo x | tee -a log.txt"])
@pytest.mark.parametrize("how", ["a link to the diary", "a second name of a file outside", "other text"])
def test_a_yes_to_writing_in_a_file_is_none_to_writing_in_another_one_under_its_name(tmp_path, line, how):
    where, outside, log = places(tmp_path), tmp_path / "outside.txt", tmp_path / "memex" / "log.txt"
    (tmp_path / "memex" / "diary.org").write_text("* Doctor :@personal:\n")
    outside.write_text("theirs\n")
    log.write_text("mine\n")
    async def go():
        agent = await Agent.boot(where, provider_cascade=("model",))
        left = [proposal(line)]
        register_backend(agent, "model", lambda prompt, system: left.pop() if left else "That is all.", inline=True)
        try:
            ask, = (await agent.handle("please note that")).approvals
            if how != "other text": log.unlink()
            if how == "a link to the diary": log.symlink_to("diary.org")
            elif how == "other text": log.write_text("mine, and more\n")
            else: os.link(outside, log)
            return await agent.approve(ask.id, ask.code, confirm=ask.phrase)
        finally: await agent.close()
    reply = asyncio.run(go())
    if how == "other text": assert reply.effects and "mine, and more" in log.read_text() or reply.approvals         # where a shell reads the line, what the file held counts as well
    else: assert reply.approvals and not reply.effects and "asked once more" in reply
    assert (tmp_path / "memex" / "diary.org").read_text() == "* Doctor :@personal:\n" and outside.read_text() == "theirs\n"


def test_a_file_with_a_second_name_is_not_written_in_on_a_mere_yes(tmp_path):
    from passepartout.confinement.resources import Root
    from passepartout.shell.judge import judge_command
    (tmp_path / "a.txt").write_text("x\n")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    (tmp_path / "c.txt").write_text("x\n")
    judged = [judge_command(f"ls {sign} {name}.txt", [Root(tmp_path)], "/root") for sign, name in ((">>", "a"), (">>", "c"), (">", "b"))]
    assert [each.level for each in judged] == [2, 1, 2] and all("another name" in judged[at].reasons[0] for at in (0, 2))


KEY = "ghp_" + "aB3dE5gH7jK9" * 3
HOLD = {"plain.org": f"* Access\n{KEY}\n", "zero.org": f"* Access\n{KEY}\n\0", "latin.org": b"* caf\xe9\n" + KEY.encode() + b"\n", "wide.txt": KEY.encode("utf-16-le"), "page.json": f'{{"token": "{KEY}"}}\n', "none": f"{KEY}\n", "long.org": "bees and honey\n" * 120_000 + KEY + "\n", "long.csv": "1,2,3\n" * 300_000 + KEY + "\n"}


@needs_sandbox
@pytest.mark.parametrize("name", HOLD)
def test_no_command_that_reads_sees_a_key_whatever_file_it_stands_in(tmp_path, name):
    made, text = places(tmp_path), HOLD[name]
    (tmp_path / "memex" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    guess = "g.h.p._.a" if name == "wide.txt" else "ghp_a"
    lines = [f"$ grep -ac {guess} {name}", f"$ grep -rac {guess} .", f"$ tail -n 3 {name} | tr -d '\\\\000' | rev", f"$ cat < {name} | grep -ac {guess}"]
    said, effects, pending = talk(tmp_path, *lines, made=made)
    assert not pending and all(status == "answered" for status, _ in said), said
    assert "1" not in [line.rpartition(":")[2] for _, text in said for line in text.splitlines()] and KEY[::-1][:12] not in str(said), said


@needs_sandbox
def test_what_cannot_be_looked_through_is_not_run(tmp_path, monkeypatch):
    from passepartout.toolbelt import copies, keyless
    for room in (copies, keyless): monkeypatch.setattr(room, "MOST_NEW", 50_000)
    made = places(tmp_path)
    for n in range(4): (tmp_path / "memex" / f"{n}.txt").write_text("bees\n" * 6_000 + (KEY if n == 3 else ""))
    (tmp_path / "memex" / "more").mkdir()
    (tmp_path / "memex" / "more" / "large.txt").write_text("bees\n" * 60_000)
    (tmp_path / "memex" / "picture.png").write_bytes(b"\x89PNG\0" * 90_000)
    lines = ["$ grep -c bees more/large.txt", "$ grep -rc bees more", "$ cat 0.txt 1.txt | grep -c bees", "$ ls -l more/large.txt", "$ file picture.png", "$ wc -c bees.org"]
    said = talk(tmp_path, *lines, made=made)[0]
    assert ["not run" in text for _, text in said] == [True, True, True, False, False, False] and "looked through for keys" in said[0][1] and "folder further down" in said[1][1] and "1.txt" in said[2][1], said
    (tmp_path / "memex" / "more" / "large.txt").unlink()
    said = [text for _, text in talk(tmp_path, *["$ grep -rc ghp_ ."] * 6, made=made)[0]]
    assert "not run" in said[0] and "Run it again" in said[0] and "3.txt:0" in said[-1] and "copy without it" in said[-1], said


@needs_sandbox
def test_a_search_through_more_than_is_looked_through_at_once_comes_to_its_end_in_later_processes(tmp_path, monkeypatch):
    from passepartout.toolbelt import copies, keyless
    for room in (copies, keyless): monkeypatch.setattr(room, "MOST_NEW", 50_000)
    monkeypatch.setattr(keyless, "SETTLED_S", 0.0)
    made = places(tmp_path)
    for n in range(4): (tmp_path / "memex" / f"{n}.txt").write_text("bees\n" * 6_000)
    said = [talk(tmp_path, "$ grep -rc bees .", made=made)[0][0][1] for _ in range(5)]
    assert "not run" in said[0] and "Run it again" in said[0] and "3.txt:6000" in said[-1], said


@needs_sandbox
def test_where_there_is_no_place_for_a_copy_nothing_is_run(tmp_path, monkeypatch):
    from passepartout.toolbelt import copies
    made = places(tmp_path)
    (tmp_path / "memex" / "plain.org").write_text(HOLD["plain.org"])
    def full(*given, **more): raise OSError(28, "No space left on device")
    monkeypatch.setattr(copies.tempfile, "TemporaryDirectory", full)
    (_, text), = talk(tmp_path, "$ rev plain.org", made=made)[0]
    assert "not run" in text and "No space left" in text and KEY[::-1] not in text


@needs_sandbox
def test_beside_git_no_file_with_a_key_is_opened(tmp_path):
    made = places(tmp_path)
    (tmp_path / "memex" / "plain.org").write_text(HOLD["plain.org"])
    subprocess.run(["git", "init", "-q", tmp_path / "memex"], check=True)
    said = [text for _, text in talk(tmp_path, "$ git status --short; rev plain.org", "$ git status --short; rev bees.org", "$ git status --short", made=made)[0]]
    assert "run the two apart" in said[0] and KEY[::-1] not in said[0] and "seeB *" in said[1] and "plain.org" in said[2], said
