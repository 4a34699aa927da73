"What a program carries out of the words it is given counts as if it were typed: nothing refused is only asked about in another program's mouth"
import random
import shlex
import subprocess
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from conftest import examples

from passepartout.confinement.roots import Root
from passepartout.shell.harm import DENY, READ
from passepartout.shell.judge import judge_command


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    memex = tmp_path_factory.mktemp("home") / "memex"
    (memex / "src").mkdir(parents=True)
    for name in ("inbox.org", "a", "b"): (memex / name).write_text("x\n")
    opened = [Root(memex)]
    yield opened
    opened[0].close()


def level(text, roots): return judge_command(text, roots, "/home/ada").level


MOUTHS = ["printf -v 'a[$({})]' x", "PS4='$({})' bash -x -c ls", "git -c alias.x='!{}' x", "git -c core.pager='{}' log", "git config alias.x '!{}'", "GIT_SSH_COMMAND='{}' git fetch", "vim -c '!{}' -c q", "vim '+!{}'", "vim -es -c ':silent !{}'", "emacs --batch --eval '(shell-command \"{}\")'",
          "find . -name x -exec sh -c '{}' \\;", "find . -exec {} \\;", "env -i {}", "[[ -v 'a[$({})]' ]]", "test -v 'a[$({})]'", "read -r 'a[$({})]' < a", "declare 'a[$({})]=1'", "export 'a[$({})]=1'", "unset 'a[$({})]'", "let 'a[$({})]=1'", "bind -x '\"a\":{}'", "PROMPT_COMMAND='{}' bash -i", "BASH_ENV='$({})' bash -c ls",
          "printf 'all:\\n\\t{}\\n' | make -f /dev/stdin", "make -f - <<'E'\nall:\n\t{}\nE", "python3 <<'E'\nimport os; os.system(\"{}\")\nE", "perl <<'E'\nsystem(\"{}\");\nE", "awk 'BEGIN{{system(\"{}\")}}'", "awk 'BEGIN{{print | \"{}\"}}'", "sed '1e {}' a", "tar cf /dev/null --checkpoint-action=exec='{}' .", "tar -I '{}' -xf a",
          "ssh -o ProxyCommand='{}' h", "ssh -oProxyCommand='{}' h", "rsync -e '{}' a b:c", "rsync -e 'sh -c \"{}\"' a b:c", "man -P '{}' ls", "PAGER='{}' man ls", "LESSOPEN='|{}' less a", "less '+!{}' a", "echo '!{}' | dc", "gdb -ex 'shell {}' -batch", "sqlite3 x.db '.shell {}'", "python3 -c 'import os; os.system(\"{}\")'", "perl -e '`{}`'", "ruby -e 'system(\"{}\")'",
          "node -e 'require(\"child_process\").execSync(\"{}\")'", "at now <<< '{}'", "echo '{}' | at now", "echo '* * * * * {}' | crontab -", "echo '{}' | parallel", "echo '{}' | tee /dev/null | sh", "cat <<'E' | sh\n{}\nE", "cat <<E\n`{}`\nE", "sh -c \"$(echo {})\"", "eval \"$(echo {})\"", "source <(echo {})", "bash <(echo {})", "a='{}'; $a", "a='{}'; eval \"$a\"", "a='{}' sh -c '$a'",
          "alias ls='{}'; ls", "complete -C '{}' ls", "mapfile -C '{}' -c 1 a < a", "x='$({})'; echo ${{x@P}}", "x='a[$({})]'; echo $((x))", "[[ 1 -eq 'a[$({})]' ]]", "declare -n r='a[$({})]'; echo $r", "git bisect run {}", "git submodule foreach '{}'", "git rebase -x '{}' HEAD~1", "git grep -O'{}' x", "git difftool --extcmd='{}'", "git clone --upload-pack='{}' a b", "git clone 'ext::sh -c {}' b",
          "rg --pre '{}' x", "sort --compress-program='{}' a", "split --filter='{}' a", "zip -T -TT '{}' a.zip a", "socat - EXEC:'{}'", "nc -e '{}' h 1", "expect -c 'spawn {}'", "m4 <<< 'syscmd(`{}`)'", "ed a <<E\n!{}\nE", "psql -c '\\! {}'", "xterm -e {}", "ls | entr -s '{}'", "npm exec -c '{}'", "make SHELL='{}'", "make --eval='$(shell {})'", "strace -f -- {}", "systemd-run {}",
          "csh -c '{}'", "bash -O extglob -c '{}'", "bash +x -c '{}'", "sh -c 'sh -c \"{}\"'", "echo '{}' > x.sh && sh x.sh", "cat > x.sh <<'E'\n{}\nE\nchmod +x x.sh; ./x.sh", "echo '{}' | tee x.sh; bash x.sh", "odd-program --do '{}'"]
OF_THE_SHELL = ("eval", "source", "alias", "declare", "export", "unset", "let", "read", "[[", "complete", "mapfile", "bind")          # no programs that another could start
COMMANDS = ["rm -rf /usr", "rm -fr ../outside", "dd if=a of=/dev/sda", "chmod -R 777 /etc", "mkfs.ext4 /dev/sda", "find / -delete", "/bin/rm -r /opt"]


@pytest.mark.parametrize("mouth", MOUTHS)
def test_what_is_refused_alone_is_refused_in_every_mouth(mouth, roots):
    for command in COMMANDS: assert level(mouth.format(command), roots) == DENY, mouth.format(command)


@given(st.sampled_from(MOUTHS), st.sampled_from(COMMANDS), st.sampled_from(["{}", "ls; {}", "if ls; then {}; fi", "( {} )", "{} &", "timeout 5 {}", "env A=1 {}", "{} && ls", "! {}"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(150))
def test_and_whatever_surrounds_that(roots, mouth, command, around):
    line = around.format(mouth.format(command))
    if line.startswith("! export "): return                                          # is not given to bash, which alone would expand it
    if subprocess.run(["bash", "-n", "-c", line], capture_output=True).returncode or "\n" in line and not around.endswith("}") or around.startswith(("timeout", "env")) and ("='" in mouth.split(" ")[0] or mouth.split(" ")[0] in OF_THE_SHELL): return
    assert level(line, roots) == DENY, line


@pytest.mark.parametrize("line", ["rm -rf ${x:-/usr}", "rm -rf ${x-/usr} &", "$'\\x72m' -rf /usr", "$'\\162\\155' -rf /usr", "rm -rf ~root", "rm -rf ~nobody/x", "echo /usr | xargs rm -rf", "find /usr -print0 | xargs -0 rm -rf", "ls / | xargs -I{} rm -rf /{}", "echo '/usr' | parallel rm -rf",
                                  "python3 -c 'import shutil; shutil.rmtree(\"/usr\")'", "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"/usr\"])'", "ruby -e 'FileUtils.rm_rf(\"/usr\")'", "node -e 'fs.rmSync(\"/usr\", {recursive: true})'", "emacs --batch --eval '(delete-directory \"/usr\" t)'", "sed 's/.*/rm -rf \\/usr/e' a", "gcc -wrapper 'rm,-rf,/usr' x.c",
                                  "start-stop-daemon -S -x /bin/rm -- -rf /usr", "perl -e 'system \"rm\", \"-rf\", \"/usr\"'"])
def test_other_ways_to_write_it(line, roots): assert level(line, roots) == DENY


FORMS = ["rm -rf /usr", "r''m -rf /usr", "\\rm -r\\f /usr", "$'\\x72\\x6d' -rf /usr", "rm $'\\x2d\\x72\\x66' \"/usr\"", "rm -rf ${nothing:-/usr}", "x=/usr; rm -rf $x", "x=/us; rm -rf \"${x}r\"", "for d in a /usr; do rm -rf \"$d\"; done", "rm -rf {a,/usr}", "rm -rf /us{r,x}", "set -- /usr; rm -rf \"$1\"",
         "f() { rm -rf \"$1\"; }; f /usr", "a=(b /usr); rm -rf \"${a[@]}\"", "c=rm; $c -rf /usr", "c='rm -rf /usr'; $c", "read d <<< /usr; rm -rf $d", "echo /usr | while read d; do rm -rf $d; done", "rm -rf $(echo /usr)", "rm -rf `printf %s /usr`", "xargs rm -rf <<< /usr", "printf '/usr' | xargs -0 rm -rf", "find /usr | xargs rm -rf",
         "rm -rf ${PWD%%/*}/usr", "( cd /; rm -rf usr )", "pushd /; rm -rf usr", "env -C / rm -rf usr", "mapfile -t a <<< /usr; rm -rf ${a[0]}", "case a in a) rm -rf /usr;; esac"]
AROUND = ["( {} )", "{{ {}\n}} &", "if true; then {}\nfi | cat", "f1() {{ {}\n}}; f1", "while true; do {}\nbreak; done", "eval Q", "bash -c Q", "bash <<'END'\n{}\nEND", "cat <<'END' | bash\n{}\nEND", "bash <<< Q", "echo Q | sh", "trap Q EXIT", "a[$( {} )]=1", "PS4=Q; set -x; eval \"$PS4\"", "v=Q; eval \"$v\"", "source <(echo Q)",
          "echo 1 | xargs -I% bash -c Q", "find . -exec bash -c Q ';'", "[[ -v 'a[$( 'Q' )]' ]]", "sudo bash -c Q", "vim -c '!'Q", "awk 'BEGIN{{system(\"'Q'\")}}'", "echo Q > x.sh; sh x.sh", "(echo Q > x.sh; sh x.sh)", "{ echo Q | tee x.sh; chmod +x x.sh; ./x.sh; } &"]


@pytest.mark.parametrize("form", FORMS)
def test_what_the_shell_makes_of_it_counts_in_a_line_that_goes_to_a_shell(form, roots):
    "The line itself says what its variables hold; each of these was carried out by a bash whose rm only writes down what it is told."
    for around in AROUND:
        line = around.replace("Q", shlex.quote(form)) if "Q" in around else around.format(form)
        line = line.replace("{{", "{").replace("}}", "}") if "Q" in around else line
        assert level(line, roots) == DENY, line


@pytest.mark.parametrize("line", ["eval \"rm -rf \\$(echo /usr)\"", "eval \"\\$'\\\\x72m' -rf /usr\"", "x=/usr; eval \"rm -rf \\$x\""])
def test_and_behind_a_backslash_in_quotes(line, roots): assert level(line, roots) == DENY, line


@pytest.mark.parametrize("line", ["x=build; (rm -rf $x)", "for d in a b; do rm -rf \"$d\"; done &", "ls /usr | (rm -rf \"$BUILD\")", "f() { rm -rf \"$1\"; }; f src; ls /usr", "(cd /usr && ls); rm -rf src", "x=/tmp/y; (rm -rf $x)", "read d < a; rm -rf \"src/$d\"", "PREFIX=/usr; ./configure --prefix=$PREFIX; rm -rf build &", "rm -rf $(cat a) &", "rm -rf \"$TMPDIR/build\" &", "{ ls; } >> \"$top/.ci/log\""])
def test_a_variable_of_which_the_line_says_nothing_bad_is_asked_about(line, roots): assert READ < level(line, roots) < DENY


WRITES = ["echo x > /etc/passwd", "echo x >> ../x", "ls &> /etc/x", "echo x >| ~/.bashrc", "echo x > .env", "echo x >> .git/config"]

@pytest.mark.parametrize("around", ["bash -c '{}'", "( {} ) | cat", "while ls; do {}; done", "{} &", "f() {{ {}; }}; f", "eval '{}'", "trap '{}' EXIT", "sh <<< '{}'", "bash <<E\n{}\nE", "vim -c '!{}'", "python3 -c 'import os; os.system(\"{}\")'", "git -c alias.x='!{}' x", "find . -exec sh -c '{}' \\;", "ls | xargs -I% sh -c '{}'", "[[ -d a ]] && {}", "su -c '{}'", "case a in a) {};; esac"])
def test_what_may_not_be_written_may_not_be_written_within_something(around, roots):
    (folder := roots[0].path) and __import__("os").makedirs(f"{folder}/.git", exist_ok=True)
    for command in WRITES: assert level(command, roots) == DENY and level(around.format(command), roots) == DENY, around.format(command)


@pytest.mark.parametrize("line", ["cp a /etc/passwd", "mv a /etc/passwd", "cp -t /etc a passwd", "tee /etc/passwd", "ls | tee -a /etc/passwd", "ln -sf a /etc/passwd", "sort -n -o /etc/passwd a", "mv /usr /tmp/x", "mv /etc src", "cd / && mv usr /tmp/x"])
def test_what_destroys_outside_by_copying_is_refused(line, roots): assert level(line, roots) == DENY


@pytest.mark.parametrize("line", ["( ls > /tmp/x ) | cat", "while ls; do echo x > /dev/null; done", "ls > new & ls", "while ls; do echo x >> a; done", "python3 -c 'print(1 > 2)'", "vim -c 's/>/</'", "python3 -c 'x = \"<p>/usr</p>\"'", "cp a /tmp/x", "cp a /opt/not-there", "mv a b", "ls 2>&1 | tee /tmp/x", "cp -n a /etc/passwd", "awk '$1 > 3 {system(\"ls\")}' a"])
def test_what_may_be_written_is_asked_about(line, roots): assert READ < level(line, roots) < DENY


@pytest.mark.parametrize("line", ["git commit -m 'rm -rf /usr'", "git commit -am 'rm -rf /usr was wrong' && git push", "gh pr create --body 'rm -rf /usr'", "echo 'rm -rf /usr' > notes.txt", "echo 'rm -rf /usr' >> inbox.org && git add inbox.org", "echo 'rm -rf /usr' | tee log", "cat > new <<'E'\nrm -rf /usr\nE", "git commit -F - <<E\nrm -rf /usr\nE", "grep 'rm -rf /usr' /var/log/syslog",
                                  "grep -rn 'rm -rf /usr' . > found.txt", "rg -e 'rm -rf /usr' /var/log", "echo rm -rf /usr | wc -c > n", "mail -s 'never say rm -rf /usr' ada", "docker run --rm image x rm -rf /app", "npm rm x", "git rm -r src", "make clean", "curl https://example.org -o x", "python3 -c 'print(1)'", "python3 script.py --name 'Ada Lovelace'", "awk '/rm -rf \\/usr/ {print}' a > b2",
                                  "find . -name '*.pyc' -exec touch {} +", "for f in a b; do convert $f; done", "x='a b'; touch \"$x\"", "pip install rm", "echo 'rm -rf /tmp/x' | sh", "ssh host 'df -h'"])
def test_what_only_speaks_of_it_is_not_refused(line, roots): assert level(line, roots) < DENY


@pytest.mark.parametrize("line", ["touch 'rm -rf /usr'", "mkdir 'rm a'", "cp a 'rm b'", "(mkdir 'rm -rf /usr')"])
def test_what_takes_names_starts_nothing(line, roots): assert level(line, roots) == READ + 1


@pytest.mark.parametrize("line", ["echo 'rm -rf /usr'", "grep 'rm -rf /usr' a", "printf 'rm -rf /usr\\n'", "echo 'rm -rf /usr' | wc -c", "cat <<'E'\nrm -rf /usr\nE", "awk '/rm -rf .usr/ {print}' a", "grep -c 'rm -rf /' a | cat"])
def test_and_what_only_reads_runs(line, roots): assert level(line, roots) == READ


@pytest.mark.parametrize("line", ["x '" + "rm " * 5_000 + "'", "x " + "'rm -rf a;' " * 900, "x '" + "(" * 8_000 + "'", "x '" + "\"'" * 4_000 + "'", "x \"" + "a[" * 5_000 + "\"", "; ".join(["x 'rm -rf a' 'rm b'"] * 60), "declare " + "'rm -rf a' " * 1_000, "(x=$y$y; y=$x$x; rm -rf $x$y)", "x \"a/b, B=$B, C=$C\" &", "(" + "; ".join(f"x{n}=$x{n + 1}$x{n + 1}" for n in range(60)) + "; rm -rf $x0)"])
def test_long_texts_are_looked_at_in_time(line, roots):
    begun = time.process_time()
    level(line, roots)
    assert time.process_time() - begun < 0.25


UNITS = ["rm -rf /usr", "'", "\"", "$x", "${x%/}", "$(", "`", ")", "x=$y", "y=$x$x", "; ", "&& ", "| ", "xargs rm", "bash -c ", "eval ", "<<E\n", "E\n", "{a,b}", "f() { ", "}; f ", "for d in ", "; do ", "done", "(", "[[ -v ", "]]", "\\\n", "$'\\x72'", "!", "vim -c ", "'!rm /x'", ">", "> /etc/x ", "python3 -c ", "\"rm\",", "cd /", "echo ",
         "tee x", "git -c alias.x=", "\u00e9", "*", "read a <<< ", "env -C / ", "/usr", "~", "a b c", " ", "\n", "=(", "{", "}", "#", "%", "@", "_"]


@pytest.mark.parametrize("seed", range(3))
def test_a_heap_of_such_pieces_is_looked_at_in_time_and_breaks_nothing(roots, seed):
    "What holds up a gate holds up everybody; one such line took 1.9 seconds, and another 2.6."
    chance = random.Random(seed)
    for _ in range(120):
        pool = chance.sample(UNITS, chance.choice([3, 6, len(UNITS)]))
        line = "".join(chance.choice(pool) for _ in range(chance.choice([5, 20, 60, 200, 1_000])))[:chance.choice([400, 2_000, 16_000])]
        begun = time.process_time()
        level(line, roots)
        assert time.process_time() - begun < 0.6, line


@pytest.mark.parametrize("line", ["while true; do ! export 'a[$(rm -rf /usr)]=1'; done", "if ! unset 'a[$(rm -rf /usr)]'; then ls; fi", "env A=1 python3 <<< 'import os; os.system(\"rm -rf /usr\")'", "nice -n 5 timeout 5 printf 'rm -rf /usr' | sh"])
def test_what_stands_behind_a_word_of_the_shell_counts(line, roots): assert level(line, roots) == DENY, line
