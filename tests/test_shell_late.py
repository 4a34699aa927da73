"Words that come while a command runs are judged like words that were typed, and nothing hostile gets in with them"
import asyncio, json, random, subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from conftest import examples, thinned
from passepartout.shell import inside
from passepartout.shell.harm import ASK, DENY, READ
from passepartout.shell.judge import judge_command
from passepartout.shell.single import judge_late
from passepartout.shell.values import _sed
from passepartout.shell.run import RunLimits, Running, answer, open_script, run_script
from passepartout.shell.sandbox import find_bubblewrap
from passepartout.shell.script import script_text
from passepartout.toolbelt.commandrun import judge_again
from passepartout.toolbelt.shelltool import shell_tool
from passepartout.toolbelt.steady import Watch
from passepartout.tools import ToolContext

HOME = "/home/ada"
boxed = pytest.mark.skipif(not find_bubblewrap().works, reason="without a sandbox every command is asked about")


@pytest.fixture
def memex(tmp_path):
    top = tmp_path.resolve() / "memex"
    for folder in ("src", "odd"): (top / folder).mkdir(parents=True)
    for name, text in (("a.txt", "one\ntwo\n"), ("b.txt", "two\nthree\n"), ("src/main.py", "def one(): pass\n"), ("src/util.py", "import main\n"), ("names", "a.txt\nb.txt\n"), ("two words.txt", "one\n"), ("pattern", "two\n")): (top / name).write_text(text)
    (top / ".env").write_text("KEY=SECRET-4711\n")
    (top / "server.pem").write_text("SECRET-4712\n")
    (top / "leads-out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").write_text("SECRET-4713\n")
    return top


def level(text, roots): return judge_command(text, roots, HOME).level


def run(text, roots, again=None):
    "What a command prints that is allowed; it must be allowed."
    judged = judge_command(text, roots, HOME)
    assert judged.level == READ, (text, judged.reasons)
    opened = open_script(judged.script, roots, reads=True)
    try: return asyncio.run(run_script(opened.script, roots, opened.files, wrap=find_bubblewrap(), writable=False, limits=RunLimits(wall_s=120), again=again or judge_again(roots, Watch(roots))))
    finally: opened.close()


def fingerprint(folder): return sha256(repr([(str(p), p.lstat().st_mode, p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in sorted(Path(folder).rglob("*"))]).encode()).hexdigest()


# What comes of it is what a shell would make of it ----------------------------------------------------------------------

SAME = ["cat names | xargs wc -l", "cat names | xargs -n1 head -1", "cat names | xargs -I{} echo 'file {} here'", "find . -name '*.txt' -print0 | sort -z | xargs -0 grep -c o", "find src -name '*.py' -exec grep -l main {} +", "find src -type f -name 'm*' -exec head -1 {} ';'", "wc -l $(cat names)", "echo \"$(cat names)\"",
        "echo $(cat names)", "echo `cat names | head -1`!", "X=$(head -1 names); echo $X \"<$X>\"; cat $X", "diff <(sort a.txt) <(sort b.txt)", "comm -12 <(sort a.txt) <(sort b.txt)", "cat <(echo x) <(echo y)", "grep -n \"$(cat pattern)\" a.txt b.txt", "echo $(basename $(pwd))", "false; echo $?", "false || echo $?; true; echo $?",
        "echo a$(echo b c)d", "echo $UNSET. \"$UNSET\" $1 end", "cat nothing-here | xargs wc -l", "cat names | xargs -r -n 1 basename | sort -r", "seq 5 | xargs -n 2", "seq 5 | xargs -L 2 echo", "printf 'a b\\n\"c d\" e\\\\ f\\n' | xargs -n 1 echo", "printf 'a,b,c' | xargs -d , -n 1", "ls *.txt | xargs -d '\\n' wc -c", "for f in a b; do echo $(cat $f.txt | wc -l); done",
        "cat names | xargs grep -l three | xargs cat", "cat names | xargs cat | sort | uniq -c", "echo $(false) x; echo $(echo 1; echo 2)", "[ $(wc -l < a.txt) -eq 2 ] && echo two", "test \"$(cat pattern)\" = two && echo same", "cat $(echo a.txt) | tr a-z A-Z", "echo $(<pattern)", "echo x | xargs -I% echo % %", "cat names | xargs echo -n", "head -n $(cat pattern | wc -l) a.txt",
        "find . -maxdepth 1 -name '*.txt' -print0 | xargs -0 -n1 echo | sort", "cat names | xargs false; echo $?", "X=$(false) || echo failed", "echo \"$(echo 'a  b')\" $(echo 'a  b')", "cat names | xargs -I {} sh-is-not-here {} | cat; echo {}"]


@boxed
@pytest.mark.parametrize("text", thinned([text for text in SAME if "sh-is-not-here" not in text], 4))
def test_what_is_printed_is_what_bash_prints(text, roots, memex):
    outcome = run(text, roots)
    bash = subprocess.run(["/bin/bash", "--norc", "--noprofile", "-c", text], cwd=memex, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"})
    assert (outcome.stdout, outcome.status) == (bash.stdout, bash.returncode), outcome.text


@pytest.mark.slow
def test_names_are_taken_apart_as_xargs_does(tmp_path):
    made = random.Random(5)
    plain = {"end": "", "put": "", "most": 1, "lines": 0, "always": False}
    for _ in range(examples(150)):
        text = "".join(made.choice(["a", "b", "é", " ", "  ", "\t", "\n", "'x y'", '"q r"', "\\ ", "\\n", "\\\\", "''", "-", "*"]) for _ in range(made.randint(0, 12))) + "\n"
        for words, each in ((["-n1"], plain), (["-0", "-n1"], {**plain, "end": "\0"}), (["-d", "\\n", "-n1"], {**plain, "end": "\n"}), (["-I{}"], {**plain, "put": "{}"})):
            real = subprocess.run(["xargs", "-r", *words, "printf", r"%s\0", *(["{}"] if each["put"] else [])], input=text.encode(), capture_output=True, timeout=60)
            if real.returncode or text.endswith("\\"): continue
            assert [name for group in inside.names_in(text, each) for name in group] == real.stdout.decode().split("\0")[:-1], (text, words)


# What is asked about stays so --------------------------------------------------------------------------------------------

ASKED = ["ls | xargs rm", "ls | xargs -n1 rm -rf", "ls | xargs -I{} sh -c '{}'", "ls | xargs bash -c 'x'", "ls | xargs -I{} {} x", "ls | xargs sudo cat", "ls | xargs tee", "ls | xargs touch", "ls | xargs -a names rm", "ls | xargs -a names cat", "ls | xargs -p cat", "ls | xargs --arg-file=/etc/passwd cat", "ls | xargs python3", "ls | xargs curl",
         "ls | xargs env", "ls | xargs env A=b", "ls | xargs xargs cat", "ls | xargs cd", "ls | xargs export", "ls | xargs timeout 5 export", "timeout 5 export A", "ls | xargs sed -i s/a/b/", "ls | xargs cat .env", "ls | xargs cat /etc/passwd", "LD_PRELOAD=x xargs cat", "ls | xargs --process-slot-var=LD_PRELOAD cat", "ls | xargs find . -exec cat {} +", "ls | xargs git push", "ls | xargs kill",
         "find . -exec rm {} ';'", "find . -exec sh -c 'cat {}' ';'", "find . -exec {} ';'", "find . -execdir cat {} ';'", "find . -ok cat {} ';'", "find . -exec cat {} ';' -delete", "find . -exec cat {} ';' -exec rm {} ';'", "find . -delete -exec cat {} +", "find . -fprint x -exec cat {} +", "find . -exec cat .env ';'", "find / -exec cat {} +", "find -L . -exec cat {} +",
         "cat $(rm a.txt)", "cat $(cat .env)", "echo $(touch x)", "echo `touch x`", "echo \"$(touch x)\"", "$(echo rm) a.txt", "echo x > $(cat names)", "cat < $(cat names)", "cd $(cat names) && ls", "X=$(cat names) ls", "LC_ALL=$(cat names) sort a.txt", "X=$(cat names); LD_PRELOAD=$X ls", "X=$(cat names); $X", "X=$(cat names); export X; ls", "export PATH=$(pwd)",
         "cat <(rm a.txt)", "cat >(ls)", "tee >(cat)", "diff <(cat .env) a.txt", "cat <(cat /etc/passwd)", "rm $(ls)", "rm <(ls)", "cp $(ls) x", "echo $(cd / && ls)", "echo $(ls; cd ..)", "timeout 5 $(cat names)", "timeout 5 find . -exec cat {} +", "timeout 5 xargs cat", "env A=b find . -exec cat {} ';'", "env $(cat names)", "nice $(cat names)", "xargs -I{} timeout 5 {}", "awk -f <(echo 1) a.txt", "sed -f <(echo p) a.txt", "bash <(ls)", ". <(ls)", "source <(ls)", "python3 <(ls)",
         "sh -c \"$(cat names)\"", "eval $(cat names)", "echo $((1+a))", "cat $((1+a))", "echo $(($(touch x)))", "echo ${X:-$(touch x)}", "echo $(ls", "echo `ls", "cat <(ls", "for f in $(ls); do cat $f; done", "echo $RANDOM", "$CMD test", "$A$B$C", "\"$X\" ls", "echo $(id -un)@$(uname -n)", "echo $(echo .e)$(echo nv)", "touch $UNSET", "cat $OLDPWD", "true && X=$(ls); touch $X", "git -C $(cat names) log", "git -c $(cat names) log", "git $(cat names)", "ls *$(cat names)", "ls {a,$(touch x)}", "cat <<< $(touch x)", "cat <<E\n$(touch x)\nE"]


@pytest.mark.parametrize("text", ASKED)
def test_what_writes_starts_or_leaves_is_asked_about_wherever_it_stands(text, roots): assert READ < level(text, roots) < DENY


@pytest.mark.parametrize("text", ["ls | xargs rm -rf /", "rm -rf / $(ls)", "echo $(rm -rf /)", "find / -exec rm -rf {} +", "ls | xargs -I{} rm -rf /", "echo $(ls \u202e)"])
def test_what_is_refused_stays_refused(text, roots): assert level(text, roots) >= (DENY if "\u202e" in text or "/ $" in text or text.startswith("ls") else ASK)


def test_a_variable_that_is_not_set_makes_nothing_worse(roots):
    "`$TMPDIR/x` is `/x` here, and a person means something else by it."
    for text in ("rm -rf $TMPDIR/x", "rm -rf $X", "mv \"$FILE.tmp\" \"$FILE\"", "echo x > $FILE.tmp"): assert READ < level(text, roots) < DENY, text
    assert level("find \"$dir\" -name x", roots) == READ == level("echo \"$FILE\" | cut -d. -f1", roots)


# What comes in late ------------------------------------------------------------------------------------------------------

LATE = [("cat $(head -1 names)", value) for value in (".env", "/etc/passwd", "../outside", "leads-out", "server.pem", "src/../.env", "a.txt .env", "-x", "--help=x")] + [
    ("sort a.txt $(head -1 names)", value) for value in ("-o x", "--output=x", "--compress-program=touch", "-T /tmp", "--files0-from=names")] + [
    ("git log $(head -1 names)", value) for value in ("--output=x", "--ext-diff", "-p -- .env", "--format=%GG")] + [
    ("grep $(head -1 names) a.txt", value) for value in ("-r x .", "-rn one", "-f .env", "-R x /", "-rh SECRET .")] + [
    ("sed -n \"$(cat names)\" a.txt", value) for value in ("w x", "1e touch x", "r .env", "/[/p;s,]/w x,,")] + [
    ("awk \"$(cat names)\" a.txt", value) for value in ("BEGIN{system(\"touch x\")}", "{print > \"x\"}", "BEGIN{while((getline l < \".env\") > 0) print l}")] + [
    ("find . $(cat names)", value) for value in ("-delete", "-exec touch x ;", "-fprint x", "-newer ../outside", "-exec cat {} +")] + [
    ("ls $(cat names)", value) for value in ("/", "..", "/proc/self/environ", "~/.ssh", "\x055\x03 /etc")] + [
    ("cat names | xargs sort a.txt", value) for value in ("-o\nx", "--output=x", "--compress-program=touch")] + [
    ("cat names | xargs cat", value) for value in (".env", "/etc/passwd", "../outside", "leads-out", "server.pem")] + [
    ("cat names | xargs -I{} cat src/{}", value) for value in ("../.env", "../../outside", "../leads-out")] + [
    ("cat names | xargs find .", value) for value in ("-delete", "-exec touch x ;", "-fprint x")] + [
    ("cat names | xargs sed", value) for value in ("-i s/one/x/ a.txt", "w\\ x a.txt", "-n e a.txt")] + [("cat names | xargs git log", "--output=x"), ("cat names | xargs git show", "HEAD:.env"), ("cat names | xargs grep one", "-r ."), ("cat names | xargs awk", "'{print > \"x\"}' a.txt"), ("head -n $(cat names) a.txt", "1 .env"), ("date -d x $(cat names)", "-s 1"), ("X=$(cat names); cat \"$X\" $X", ".env"), ("cat <(cat $(cat names))", ".env"), ("echo $(cat $(cat names))", ".env"),
    ("find . -name names -exec cat $(cat names) ';'", ".env")]


@boxed
@pytest.mark.parametrize("text, value", thinned(LATE, 4))
def test_what_comes_in_late_is_no_milder_than_what_is_typed(text, value, roots, memex):
    (memex / "names").write_text(value + "\n")
    if level(text, roots) > READ: return                         # asked about even without knowing the words
    before = fingerprint(memex.parent)
    outcome = run(text, roots)
    assert fingerprint(memex.parent) == before and b"SECRET" not in outcome.stdout and b"root:" not in outcome.stdout, outcome.text
    assert not (memex / "x").exists() and not Path("/tmp/x").is_file()


@pytest.mark.slow
@boxed
def test_names_that_need_a_yes_are_left_out_and_the_rest_is_read(roots, memex):
    for text in ("find . -type f | xargs -d '\\n' grep -h .", "find . -type f -print0 | xargs -0 cat", "find . -type f -exec cat {} +", "find . -type f -exec cat {} ';'"):
        outcome = run(text, roots)
        assert b"SECRET" not in outcome.stdout, text
        assert "a person's yes" in outcome.text or b"three" in outcome.stdout and "server.pem" in outcome.text, text


@boxed
def test_an_option_that_is_found_as_a_name_is_left_out(roots, memex):
    for name in ("-o", "--output=x", "--compress-program=touch x"): (memex / "odd" / name).write_text("z\n")
    before = fingerprint(memex)
    outcome = run("cd odd && ls | xargs -d '\\n' sort", roots)
    assert fingerprint(memex) == before and ("left out" in outcome.text or "not run" in outcome.text)


@pytest.mark.slow
@boxed
def test_without_a_second_judgement_nothing_late_runs(roots):
    from passepartout.shell.run import never
    for text in ("echo $(cat names)", "cat names | xargs cat", "find . -name a.txt -exec cat {} +", "echo $?"):
        outcome = run(text, roots, never)
        assert outcome.stdout == b"" and outcome.status in (126, 0, 1) and "not run" in outcome.text, text


@boxed
def test_a_second_judgement_that_fails_lets_nothing_run(roots):
    def broken(command, values, names): raise RuntimeError("broken")
    assert run("echo $(cat names)", roots, broken).stdout == b"" == run("cat names | xargs cat", roots, broken).stdout


@pytest.mark.parametrize("said", [{"judge": 7}, {"judge": "0", "values": {}, "names": None}, {"judge": 0, "values": [], "names": None}, {"judge": 0, "values": {"1": 5}, "names": None}, {"judge": 0, "values": {}, "names": [{}]}, {"judge": -5, "values": {}, "names": None}, {"judge": 0, "values": {}, "names": None}, {"judge": None}])
def test_odd_questions_from_inside_are_answered_with_no(said, roots):
    script = judge_command("cat $(cat names)", roots, HOME).script
    answers = []
    running = Running.__new__(Running)
    running.late, running.again = [next(c for c in script.commands() if c.fills)], judge_again(roots, Watch(roots))
    running.control = type("Control", (), {"send": lambda self, data: answers.append(json.loads(data))})()
    answer(running, said)
    assert answers[0]["run"] is None and answers[0]["said"]


def test_a_value_cannot_hold_a_hole_of_its_own(roots):
    late = next(c for c in judge_command("cat $(cat names)", roots, HOME).script.commands() if c.fills)
    made, why = judge_late(late, roots, {"1": "\x042\x03", "2": ".env"})
    assert made is None or made.argv == ("cat", "\x042\x03")


@boxed
def test_endless_and_large_outputs_have_an_end(roots, memex):
    (memex / "large").write_text("x" * 200_000)
    outcome = run("echo $(cat large)", roots)
    assert outcome.stdout == b"" and "longer than" in outcome.text
    (memex / "many").write_text("".join(f"name-{n}\n" for n in range(3_000)))
    outcome = run("cat many | xargs echo", roots)
    assert outcome.stdout.split() == [f"name-{n}".encode() for n in range(3_000)]


def test_what_is_shown_has_no_signs_that_do_not_show(roots):
    for text in SAME:
        shown = script_text(judge_command(text, roots, HOME).script)
        assert shown.isprintable(), text
        opened = open_script(judge_command(text, roots, HOME).script, roots, reads=True)
        assert json.dumps(opened.record()).isprintable() and not any(ord(c) < 32 for words in opened.record()["argv"] for word in words for c in word if c not in "\n\t"), text
        opened.close()


@boxed
@pytest.mark.parametrize("text", thinned(["cat $(cat names)", "cat names | xargs cat", "find . -name '*.org' -exec cat {} +", "cat <(cat $(cat names))", "grep . $(cat names)"], 2))
def test_what_reads_files_that_nobody_knew_of_counts_as_private(text, roots, memex):
    (memex / "diary.org").write_text("* Doctor :@personal:\nAt nine.\n")
    (memex / "names").write_text("diary.org\n")
    tool = shell_tool(roots)
    opened = open_script(judge_command(text, roots, HOME).script, roots, reads=True)
    result = asyncio.run(tool.body(text, 120, ToolContext({"command": opened})))
    opened.close()
    assert "nine" in result.content and result.label.private


@pytest.mark.slow
@boxed
def test_what_goes_through_folders_with_late_words_sees_no_keys(roots):
    tool = shell_tool(roots)
    for text in ("rg -n $(cat pattern) .", "cat pattern | xargs -I{} rg SECRET {} .", "grep -rn $(cat pattern) .", "ls | xargs grep -rh SECRET", "ls | xargs rg SECRET", "rg $(echo SECRET) ."):
        judged = judge_command(text, roots, HOME)
        if judged.level > READ: continue
        opened = open_script(judged.script, roots, reads=True)
        assert "SECRET-" not in asyncio.run(tool.body(text, 120, ToolContext({"command": opened}))).content, text
        opened.close()


@pytest.mark.parametrize("script", ["/[/p;s,]/w x,,", "/[/p;y/]/w x/", "s/[/a/w f;/]x", "s/[\\]/a/w f;#]/x/", "s,[,a,w f;,],x,", "s/[[:alpha:]/]w f/x/", "/[^]/w f/]/p;w f"])
def test_a_sign_between_brackets_ends_no_expression(script, tmp_path):
    "Whatever passes leaves no file behind when sed runs it."
    (tmp_path / "in").write_text("a/b [x]\n")
    if _sed(script, None) is None: subprocess.run(["sed", "-n", script, "in"], cwd=tmp_path, capture_output=True, timeout=60)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert _sed("s/\\/[^/]*$//", None) is None and _sed("/[/]/d", None) is None and _sed("/[/p;s,]/w x,,", None) is not None


# Programs that were opened, and what lies beside ---------------------------------------------------------------------------

@pytest.mark.parametrize("text", ["bash -lc 'ls -la'", "sh -c 'cat a.txt | sort'", "bash -c 'wc -l $(cat names)'", "sqlite3 -header a.txt 'select count(*) from t'", "sqlite3 a.txt .schema", "yq -r '.a[0].b' a.txt", "python3 -m json.tool a.txt", "cat /proc/cpuinfo /etc/os-release", "head -c 8 /dev/urandom | xxd", "ps aux | less -S", "yes | head -3", "ls | tee", "systemctl is-active ssh", "docker ps -a",
                                 "getent passwd root", "sysctl kernel.ostype", "iconv -f latin1 -t UTF-8 a.txt", "bat -n a.txt", "xmllint --noout a.txt", "7z l a.7z", "who am i", "cal nov 2026", "ss -tn state established", "lsof -iTCP -sTCP:LISTEN -nP", "openssl req -in a.csr -noout -text", "cargo metadata --no-deps --format-version 1", "echo $? $$ $PATH"])
def test_more_that_only_reads_runs_unasked(text, roots): assert level(text, roots) == READ, judge_command(text, roots, HOME).reasons


@pytest.mark.slow
@pytest.mark.parametrize("text", ["bash -c 'touch x'", "bash -ic ls", "bash -c ls > x", "X=1 bash -c ls", "bash -c 'cat .env'", "bash --rcfile x -c ls", "bash -c ls x", "bash -s", "sudo bash -c ls", "sqlite3 a.txt", "sqlite3 a.txt '.shell id'", "sqlite3 a.txt '.testcase x'", "sqlite3 a.txt '.trace x'", "sqlite3 a.txt \"select writefile('x','y')\"", "sqlite3 a.txt 'attach x as b'", "sqlite3 a.txt 'select 1' '.output x'",
                                 "sqlite3 a.txt 'delete from t'", "yq -i .a=1 a.txt", "yq . .env", "yq /etc/passwd", "yq 'load(\"x\")' a.txt", "yq 'env(HOME)' a.txt", "python3 -m json.tool a.txt b.txt", "python3 -m json", "cat /proc/self/environ", "cat /proc/1/cmdline", "cat /etc/passwd", "cat /dev/sda", "tee x", "yes > x", "systemctl restart x", "systemctl show x", "systemctl -H h status", "journalctl", "docker logs x", "docker inspect x",
                                 "docker run x", "docker -H tcp://h ps", "getent shadow", "getent hosts x", "sysctl a=b", "sysctl -w a=b", "iconv -o x a.txt", "bat --pager sh a.txt", "bat cache --build", "xmllint --shell a.txt", "xmllint --noent a.txt", "7z x a.7z", "7z l @x", "7z l /x.7z", "who /etc/x", "ss -K", "openssl req -new", "openssl s_client -connect h:1", "cargo metadata --config x", "ack --pager x y", "ack --output '$x' y", "ag --pager x y",
                                 "pidstat -e id", "sar -o x", "modinfo ./x.ko", "pip config list", "pip download x", "npm version patch", "rpm -q --eval '%(id)'", "ldd a.txt", "csvgrep -f a.txt b", "units -f x a b", "less +!id", "less -o x"])
def test_what_lies_beside_it_is_asked_about(text, roots): assert READ < level(text, roots) < DENY


@pytest.mark.slow
def test_substitutions_within_substitutions_and_in_loops_have_an_end(roots):
    "Nothing that is deep or long ends in an exception, which the gate would have to take for a refusal."
    assert level("echo $(echo $(echo $(id -un)))", roots) == READ
    for text in ("echo " + "$(echo " * 40 + "x" + ")" * 40, "echo " + "$(echo " * 90 + "x" + ")" * 90, "for a in {1,2,3,4,5,6,7,8}{1,2,3,4,5,6,7,8}; do echo $(id) $(id); done", "cat " + "<(cat " * 30 + "a.txt" + ")" * 30, "ls | " + "xargs " * 20 + "cat", "echo " + "$(id) " * 80): assert READ < level(text, roots) < DENY, text
    assert "more than can be looked at" in judge_command("ls | " + "xargs " * 400 + "cat", roots, "/home/ada").reasons[0]
