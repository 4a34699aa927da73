"""A command line is looked at in full or refused: what stands behind much that is harmless counts as it does alone, and no line holds up the gate."""
import base64
import random
import time

import pytest

from passepartout.confinement.roots import Root
from passepartout.shell.effort import MOST, UnreadCommand, limited, spend
from passepartout.shell.harm import CONFIRM, DENY
from passepartout.shell.judge import judge_command
from passepartout.shell.script import Simple
from passepartout.shell.single import judge_late
from passepartout.shell.standfor import without_braces

from conftest import thinned
from waits import in_time


@pytest.fixture
def roots(tmp_path):
    (tmp_path / "inbox.org").write_text("* TODO x\n")
    return [Root(str(tmp_path))]


def level(line, roots): return judge_command(line, roots, "/home/ana").level


def many(piece, count=300): return "".join(piece.replace("%", str(n)) for n in range(count))


HIDDEN = {
    "commands of a loop": "while :; do " + many("foo a%; ") + "rm -rf /usr; done",
    "commands of a line": many('foo "a b%/"; ') + 'foo "rm -rf /usr"',
    "more than can be parsed": many("foo a; ", 1_500) + "rm -rf /usr",
    "texts for one program": "foo " + many('"a b%/" ') + '"rm -rf /usr"',
    "commands of a text": 'foo "' + many("a b%/; ") + 'rm -rf /usr"',
    "words of a text": 'foo "rm -rf ' + many("a% ") + '/usr"',
    "words of a command": "while :; do rm -rf " + many("a% ", 500) + "/usr; done",
    "destroyers that destroy nothing": 'foo "' + many("rm -rf /tmp/a%; ") + 'rm -rf /usr"',
    "destroyers near by": 'foo "' + many("rm a%; ") + 'rm -rf /usr"',
    "texts with names of files": "while :; do " + many("foo 'x y%/a'; ") + "python3 -c \"import os; os.system('rm -rf /usr')\"; done",
    "quoted parts of a text": "vim -c '" + many('a("x/$y%"); ') + 'system("rm -rf /usr")\'',
    "files that a program removes": "python3 -c '" + many('os.remove("/nowhere/a%"); ') + 'os.remove("/etc/passwd")\'',
    "files that a text writes": "foo '" + many("a > /dev/null; ") + "a > /etc/passwd'",
    "words of a starter": "sudo " + many("env A%=1 ") + "rm -rf /usr",
    "values in front of a shell": "env " + many("A%=1 ", 20) + "bash <<< 'rm -rf /usr'",
    "folders of env": "env " + many("-C /tmp/a% ", 9) + "-C / rm -rf usr",
    "things that find starts": "find /usr " + many("-exec ls {} \\; ") + "-exec chmod -R 0 {} \\;",
    "alternatives in braces": "while :; do rm -rf {" + many("a%,", 100) + "/usr}; done",
    "braces that multiply": "while :; do rm -rf " + "{a,b}" * 8 + "{c,/usr}; done",
    "values of a loop": "for d in " + many("a% ", 200) + "/usr; do rm -rf $d; done",
    "values for a program": "case $x in " + many("%) a=c%;; ", 40) + "99) a=rm;; esac; $a -rf /usr",
    "letters of a program": many("[ -f a% ] && a=x%; [ -f b% ] && b=y%; ", 15) + "[ -f c ] && a=r; [ -f d ] && b=m; $a$b -rf /usr",
    "letters of a program behind sudo": many("[ -f a% ] && a=x%; [ -f b% ] && b=y%; ", 15) + "[ -f c ] && a=r; [ -f d ] && b=m; sudo -n $a$b -rf /usr",
    "ten variables for a program": "".join(f"{v}=x; [ -f q ] && {v}={w}; " for v, w in zip("abcdefgh", "/bin/rm ")) + "while :; do $a$b$c$d$e$f$g -rf /usr; done",
    "a long value": "x='" + "a " * 400 + "/usr'; while :; do rm -rf $x; done",
    "texts in another writing": "foo '" + " ".join(base64.b64encode(f"number {n}!".encode()).decode() for n in range(60)) + " cm0gLXJmIC91c3I='",
    "a long text in another writing": "foo '" + "x " * 3_000 + "cm0gLXJmIC91c3I='",
    "what a shell is given": "bash -c '" + many("ls a%; ") + "rm -rf /usr'",
    "texts for eval": many("eval 'ls a%'; ", 200) + "eval 'rm -rf /usr'",
    "one of many variables": many("v%=x%; ", 30) + "u=/usr; while :; do rm -rf " + many("$v% ", 30) + "$u; done",
    "one of many variables with more behind it": many("v%=x%; ", 30) + "u=/us; w=${u}r; while :; do rm -rf " + many("$v%/ ", 30) + "$w/; done",
    "a variable at the end of a long word": "u=../../../../../../../usr; while :; do rm -rf " + "./" * 400 + "$u; done",
    "a variable behind many words": "u=/usr; while :; do rm -rf " + many("x% ", 300) + "$u; done",
    "another folder behind much": "cd /; " + many("ls a%; ", 200) + "while :; do rm -rf usr; done",
    "a variable behind much": "x=/usr; " + many("[ -f a% ] && ls a% || ls b%; ", 150) + "while :; do rm -rf $x; done",
    "targets of a move": "mv " + many("a% ", 100) + "/usr /tmp/x",
    "files that tee writes": "ls | tee " + many("a% ", 100) + "/etc/passwd",
}


@pytest.mark.parametrize("what", HIDDEN)
def test_what_stands_behind_much_that_is_harmless_is_refused_as_it_is_alone(what, roots): assert level(HIDDEN[what], roots) == DENY


@pytest.mark.parametrize("line", ['foo "' + many("rm /tmp/a%; ") + 'rm inbox.org"', "while :; do " + many("foo a%; ", 100) + "rm inbox.org; done", "gh api " + many("-f a%=b ", 40) + "-X DELETE"])
def test_and_is_confirmed_as_it_is_alone(line, roots): assert level(line, roots) == CONFIRM


PROGRAM = "\n".join(f"def work_{n}(words, places):\n    'Sort, find and install what a person removes: see /usr/share/doc.'\n    return [each for each in words if each[{n}:] not in {{'a', \"b\"}}]" for n in range(80))
HONEST = {
    "a program": f"python3 - <<'E'\n{PROGRAM}\nE", "a program in a word": "python3 -c '" + PROGRAM.replace("'", '"')[:8_000] + "'",
    "a file": f"cat > new.py <<'E'\n{PROGRAM}\nE", "a hundred files": "pandoc " + many("'ch %/a b.md' ", 100) + "-o out.pdf",
    "data": "curl -d '" + str([{"a": n, "b": {"path": "/usr/x", "c": [1, 2]}} for n in range(100)]).replace("'", '"').replace(" ", "") + "' localhost",
    "steps": many("mkdir -p b/% && cp src/% b/ && gcc -o b/%/f b/%.c\n", 60), "a loop": "for f in " + many("file%.md ", 100) + '; do pandoc "$f" -o "${f%.md}.html"; done',
    "patterns": "awk '" + many('/pat%/ { n%++; print $1, "x/%" }\n', 80) + "' data.txt", "a message": "git commit -m '" + PROGRAM.replace("'", "’") + "'",
    "settings": many('V%="$HOME/x/%"; ', 30) + many('echo "$V%"; ', 30)}


@pytest.mark.parametrize("what", HONEST)
def test_what_is_only_long_is_not_refused(what, roots): assert level(HONEST[what], roots) < DENY


SIGNS = [")", "a=(", "f() ", "----", "for((", "<<E\n", "${*^}", "$@", "''", '""', "${@//a/b}", "\\", "$'\\x72'", "${!#}", "${*%x}", "(( 3 + 4 ))", "e", "val ", '"$( ', ")", "`", "A=( ", " h l k ", "for x in ", "; do ", "done", "{a,b}", "<<< ", "| ", "&& ", " ", "/", "~", "rm ", "$x", "${x:-", "}", "printf %s ", "[[ ", "]]", "\n"]


@pytest.mark.parametrize("seed", thinned(range(12), 6))
def test_no_line_holds_up_the_gate(roots, seed):
    "An obfuscated command of 3,500 characters took 3.5 seconds, one of 15,000 took ten."
    chance = random.Random(seed)
    for size in (60, 300, 1_500, 6_000):
        line = "".join(chance.choice(SIGNS) for _ in range(size))[:16_384]
        begun = time.process_time()
        level(line, roots)
        assert in_time(time.process_time() - begun, 2), line


def test_a_line_that_holds_more_than_is_looked_at_says_so(roots):
    judged = judge_command("while :; do " + many('foo "$a% /x" "${b%:-/usr}"; ', 400) + "done", roots, "/home/ana")
    assert judged.level == DENY and judged.script is None and "Split it" in judged.reasons[0]


def test_names_that_come_while_it_runs_count_too(roots, monkeypatch):
    monkeypatch.setattr("passepartout.shell.single.limited", lambda: limited(10))
    made, why = judge_late(Simple("", ("sudo", "rm", "-rf", "/usr")), roots, {})
    assert made is None and "more than can be looked at" in why


def test_what_is_left_is_of_one_judgement_and_what_was_known_too(roots):
    with pytest.raises(UnreadCommand), limited(1_000): spend(1_000)
    spend(10 * MOST)
    assert [level("foo 'rm -rf /usr'", roots) for _ in range(3)] == [DENY] * 3


def test_every_alternative_in_braces_is_seen():
    assert without_braces("/{usr,opt}") == ["/usr", "/opt"] and without_braces("{a,b}{c,d}") == ["ac", "ad", "bc", "bd"]
    assert {"/usr", "x9"} <= set(without_braces("{" + ",".join(f"x{n}" for n in range(300)) + ",/usr}"))
    assert "/usr" in without_braces("{a,b}" * 8 + "{/usr,c}") and len(without_braces('{"a":1,"b":2},' * 500)) < 20_000


def test_what_was_worked_out_counts_for_the_variables_with_which_it_was(roots, monkeypatch):
    "A line is judged with the variables that it will have, and with none known; what a text says may differ."
    looked = []
    inner = __import__("passepartout.shell.findings", fromlist=["_said"])._said
    monkeypatch.setattr("passepartout.shell.findings._said", lambda findings, text, depth: (looked.append((text, "PATH" in findings.known)), inner(findings, text, depth))[1])
    level("while :; do python3 <<E\nrm -rf $PATH/x\nE\nfoo 'rm -rf a/b'; done", roots)
    assert {("rm -rf $PATH/x\n", True), ("rm -rf $PATH/x\n", False)} <= set(looked) and [text for text, _ in looked].count("rm -rf a/b") == 1, looked
