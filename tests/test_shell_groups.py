"Conditions and groups: what runs of them, and in which order, is what bash would run; every command of them is judged"
import asyncio, subprocess

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conftest import examples
from passepartout.confinement.resources import Root
from passepartout.shell.judge import ASK, READ, judge_command
from passepartout.shell.run import open_script, run_script
from passepartout.shell.sandbox import Bubblewrap, find_bubblewrap
from passepartout.shell.script import script_text
from passepartout.toolbelt.commandrun import judge_again
from passepartout.toolbelt.steady import Watch

WRAP = find_bubblewrap()


@pytest.fixture(scope="module")
def memex(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups").resolve() / "memex"
    (folder / "src").mkdir(parents=True)
    for name in ("a.txt", "b.txt"): (folder / name).write_text(f"{name}\n")
    return folder


def ours(memex, text, wrap=Bubblewrap(problem="not asked for")):
    roots = [Root(memex)]
    try:
        judged = judge_command(text, roots, "/home/ada")
        assert judged.level == READ, (text, judged.reasons)
        opened = open_script(judged.script, roots, reads=True)
        try: outcome = asyncio.run(run_script(judged.script, roots, opened.files, wrap=wrap, again=judge_again(roots, Watch(roots))))
        finally: opened.close()
        return outcome.stdout, outcome.status, script_text(judged.script)
    finally: roots[0].close()


def bash(memex, text):
    done = subprocess.run(["/bin/bash", "--norc", "--noprofile", "-c", text], cwd=memex, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    return done.stdout, done.returncode


LEAVES = st.sampled_from(["true", "false", "test -f a.txt", "test -f none", "! true", "! false", "grep -q x a.txt", "cat none 2>/dev/null", "cat", "echo e >&2", "head -1"]) | st.integers(0, 9).map(lambda n: f"echo {n}") | st.just("echo $?")
WHOLE = st.lists(st.sampled_from(["2>&1", ">/dev/null", "2>/dev/null", "< a.txt", "<b.txt", ">&2", "1>&2", "<<< here", "0<&1", "<&0", "&>/dev/null"]), min_size=1, max_size=3).map(" ".join)
CHAINS = st.recursive(LEAVES, lambda inner: st.one_of(
    st.tuples(inner, WHOLE).map(lambda each: "{ %s; } %s" % each), st.tuples(inner, WHOLE).map(lambda each: "(%s) %s" % each),
    st.tuples(inner, inner, inner, WHOLE).map(lambda each: "if %s; then %s; else %s; fi %s" % each),
    st.tuples(inner, st.sampled_from(["; ", " && ", " || ", "\n"]), inner).map("".join),
    inner.map(lambda text: "{ %s; }" % text), inner.map(lambda text: "(%s)" % text),
    st.tuples(inner, inner).map(lambda each: "if %s; then %s; fi" % each),
    st.tuples(inner, inner, inner).map(lambda each: "if %s\nthen %s\nelse %s\nfi" % each),
    st.tuples(inner, inner, inner, inner).map(lambda each: "if %s; then %s; elif %s; then %s; fi" % each),
    st.tuples(inner, inner, inner, inner, inner).map(lambda each: "if %s; then %s; elif %s; then %s; else %s; fi" % each),
    inner.map(lambda text: "for n in a b; do %s; done" % text)), max_leaves=9)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(CHAINS)
def test_what_runs_is_what_bash_runs(memex, text):
    if "for n" in text and any(f"{sign} for" in text or f"done{sign}" in text.replace("\n", ";") for sign in (" &&", " ||")): return       # a loop in a chain goes to bash
    roots = [Root(memex)]
    try: judged = judge_command(text, roots, "/home/ada")
    finally: roots[0].close()
    if judged.level == ASK and "goes to bash" in judged.reasons[0]: return
    stdout, status, shown = ours(memex, text)
    assert (stdout, status) == bash(memex, text), text
    assert (stdout, status) == bash(memex, shown), "what is shown means something else"


@pytest.mark.skipif(not WRAP.works, reason="no sandbox")
@pytest.mark.parametrize("text", ["if test -f a.txt; then cat a.txt; else ls; fi", "{ ls; cat b.txt; } && (pwd >/dev/null; echo done)", "for f in *.txt; do if [ -f $f ]; then wc -l $f; fi; done", "if cat $(echo none) 2>/dev/null; then echo yes; else echo $?; fi", "if false; then cat $(ls); fi; ls | head -1"])
def test_in_the_sandbox_too(memex, text):
    stdout, status, _ = ours(memex, text, WRAP)
    assert (stdout, status) == bash(memex, text)


@pytest.mark.parametrize("text", ["if ls; then touch x; fi", "{ ls; touch x; }", "false && { touch x; }", "(ls; touch x)", "if false; then ls; else touch x; fi", "for f in a; do if ls; then touch $f; fi; done", "if ls; then cat .env; fi", "{ ls; } > x", "if ls; then pwd; fi 2> x", "(ls) >> a.txt", "{ cat; } < .env", "if ls; then cat; fi < /etc/passwd", "false && { ls; } &> x", "{ { ls; } 2>&1; } > x", "{ ls; } | sh", "! { touch x; }", "while ls; do pwd; done", "{ touch x; } &"])
def test_nothing_within_runs_unasked_that_does_more_than_read(memex, text):
    roots = [Root(memex)]
    try: assert judge_command(text, roots, "/home/ada").level >= ASK
    finally: roots[0].close()


@pytest.mark.parametrize("text", ["{ echo a; echo b; } > out", "{ echo a; if true; then echo b; fi >> out; } >> out", "(echo a; echo b >&2) > out 2>&1", "(echo a; echo b >&2) 2>&1 > out", "if echo a; then echo b; fi > out; cat out", "false && { echo a; } > out; echo b", "false || { echo a; } > two && cat < two",
                                  "{ echo a; { echo b; } > inner; echo c; } > out; cat inner out", "{ head -1; cat; } < two > out", "{ echo a; } > out; { echo b; } > out", "echo a > out; { cat out; echo b; } >> out", "if false; then echo a; fi > out; test -s out || echo no", "{ cat; cat; } <<'E' > out\na\nb\nE"])
def test_what_a_construct_writes_as_a_whole_is_what_bash_writes(tmp_path, text):
    "Such a line asks; with a yes it does what bash does, files included."
    seen = []
    for name in ("ours", "theirs"):
        (folder := tmp_path / name).mkdir()
        (folder / "two").write_text("one\ntwo\n")
        roots = [Root(folder.resolve())]
        try:
            if name == "theirs": done = bash(folder, text)
            else:
                judged = judge_command(text, roots, "/home/ada")
                assert "bash" not in " ".join(judged.reasons), judged.reasons
                opened = open_script(judged.script, roots)
                try: outcome = asyncio.run(run_script(judged.script, roots, opened.files))
                finally: opened.close()
                done = outcome.stdout, outcome.status
        finally: roots[0].close()
        seen.append((done, {each.name: each.read_text() for each in folder.iterdir()}))
    assert seen[0] == seen[1]


def test_what_cannot_be_opened_for_a_construct_keeps_it_from_running(tmp_path):
    folder = tmp_path.resolve()
    (folder / "a").write_text("a\n")
    roots = [Root(folder)]
    try:
        judged = judge_command("{ echo a; { echo b; } < a; echo $?; } 2>&1", roots, "/home/ada")
        assert judged.level == READ
        opened = open_script(judged.script, roots, reads=True)
        opened.files[0].close()                                  # as if it could not be read any more
        outcome = asyncio.run(run_script(judged.script, roots, opened.files, again=judge_again(roots, Watch(roots))))
        said = outcome.stdout.decode().split("\n")
        assert (said[0], said[-2], "b" in said, outcome.status) == ("a", "1", False, 0)
        opened.close()
    finally: roots[0].close()
