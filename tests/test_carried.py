"What a program carries out of the words it is given counts as if it were typed: nothing refused is only asked about in another program's mouth"
import base64
import random
import re
import shlex
import shutil
import subprocess
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from conftest import examples, thinned

from passepartout.confinement.roots import Root
from passepartout.shell.harm import ASK, CONFIRM, DENY, READ
from passepartout.shell.judge import judge_command
from waits import in_time


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    memex = tmp_path_factory.mktemp("home") / "memex"
    (memex / "src").mkdir(parents=True)
    for name in ("inbox.org", "a", "b"): (memex / name).write_text("x\n")
    opened = [Root(memex)]
    yield opened
    opened[0].close()


def level(text, roots): return judge_command(text, roots, "/home/ada").level


SQL = ["DROP TABLE x", "drop  materialized view x;", "delete\tfrom x where a = 1", "select 1; truncate x", "/* tidy */ drop table x", "begin;\n  drop table x;\ncommit", "with a as (delete from x returning *) select * from a", "update x set a = 1", "FLUSHALL", "db.x.deleteMany({})"]
CLIENTS = ["echo '{}' | psql db", "printf '%s' '{}' | sqlite3 a.db", "printf 'select 1;\\n{}\\n' | sqlite3 a.db", "mysql db <<< '{}'", "psql db <<'E'\n{}\nE", "cat <<'E' | psql db\n{}\nE", "echo '{}' | tee /dev/null | redis-cli", "echo '{}' | ssh host psql", "psql -c '{}'", "python3 -c 'run(\"{}\")'",
           "python3 <<'E'\ndb.execute(\"{}\")\nE", "node -e 'db.query(`{}`)'", "echo '{}' > x.sql; psql -f x.sql", "docker exec -i pg psql <<< '{}'", "sudo -u postgres psql -c '{}'", "echo '{}' | newclient"]

@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_confirmed_alone_is_confirmed_in_another_mouth(roots, client):
    assert {text: level(client.replace("{}", text), roots) for text in SQL} == dict.fromkeys(SQL, CONFIRM)


@pytest.mark.parametrize("line", ["echo 'DROP TABLE x' > new.sql", "echo 'drop table x' | git commit -F -", "echo 'drop table x' | mail ana", "gh pr create -b 'why we delete from x'", "psql -c 'select 1'", "echo 'select a from x' | psql db", "psql <<< 'insert into x values (1)'", "python3 -c \"print(open('inbox.org').read())\"",
                                  "python3 -c \"import os; os.rename('inbox.org', 'x')\"", "python3 -c \"a.remove(1); b.update(c)\"", "python3 -c \"open('new.org', 'w')\"", "python3 -m pytest -k 'delete or update'", "node -e 'console.log(1)'"])
def test_what_destroys_nothing_is_only_asked_about(roots, line): assert level(line, roots) == ASK


@pytest.mark.parametrize("line", ["python3 -c \"import shutil; shutil.rmtree('src')\"", "python3 -c \"shutil.rmtree(folder)\"", "python3 -c \"import os; os.remove('inbox.org')\"", "python3 -c \"Path('inbox.org').unlink()\"", "python3 -c \"open('inbox.org', 'w')\"", "python3 <<'E'\nimport os\nos.unlink('src/../inbox.org')\nE",
                                  "echo \"import shutil; shutil.rmtree('src')\" | python3", "perl -MFile::Path -e 'rmtree(\"src\")'", "perl -e 'unlink \"inbox.org\"'", "node -e \"fs.rmSync('src', {recursive: true})\"", "node -e \"require('fs').writeFileSync('inbox.org', '')\"", "ruby -e \"FileUtils.rm_rf 'src'\"",
                                  "php -r \"unlink('inbox.org');\"", "awk '{print > \"inbox.org\"}' a", "python3 <<< \"os.remove('inbox.org')\""])
def test_what_a_script_in_a_line_deletes_is_confirmed(roots, line): assert level(line, roots) == CONFIRM


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
def test_and_after_a_backslash_in_quotes(line, roots): assert level(line, roots) == DENY, line


@pytest.mark.parametrize("line", ["x=build; (rm -rf $x)", "for d in a b; do rm -rf \"$d\"; done &", "ls /usr | (rm -rf \"$BUILD\")", "f() { rm -rf \"$1\"; }; f src; ls /usr", "(cd /usr && ls); rm -rf src", "x=/tmp/y; (rm -rf $x)", "read d < a; rm -rf \"src/$d\"", "PREFIX=/usr; ./configure --prefix=$PREFIX; rm -rf build &", "rm -rf $(cat a) &", "rm -rf \"$TMPDIR/build\" &", "{ ls; } >> \"$top/.ci/log\""])
def test_a_variable_of_which_the_line_says_nothing_bad_is_asked_about(line, roots): assert READ < level(line, roots) < DENY


WRITES = ["echo x > /etc/passwd", "echo x >> ../x", "ls &> /etc/x", "echo x >| ~/.bashrc", "echo x > .env", "echo x >> .git/config"]

@pytest.mark.parametrize("around", ["bash -c '{}'", "( {} ) | cat", "while ls; do {}; done", "{} &", "f() {{ {}; }}; f", "eval '{}'", "trap '{}' EXIT", "sh <<< '{}'", "bash <<E\n{}\nE", "vim -c '!{}'", "python3 -c 'import os; os.system(\"{}\")'", "git -c alias.x='!{}' x", "find . -exec sh -c '{}' \\;", "ls | xargs -I% sh -c '{}'", "[[ -d a ]] && {}", "su -c '{}'", "case a in a) {};; esac"])
def test_what_may_not_be_written_may_not_be_written_within_something(around, roots):
    (folder := roots[0].path) and __import__("os").makedirs(f"{folder}/.git", exist_ok=True)
    for command in WRITES: assert level(command, roots) == DENY and level(around.format(command), roots) == DENY, around.format(command)


@pytest.mark.parametrize("line", ["cp a /etc/passwd", "mv a /etc/passwd", "cp -t /etc a passwd", "tee /etc/passwd", "ls | tee -a /etc/passwd", "ln -sf a /etc/passwd", "sort -n -o /etc/passwd a", "mv /usr /tmp/x", "mv /etc src", "cd / && mv usr /tmp/x"])
def test_what_destroys_outside_by_copying_is_refused(line, roots): assert level(line, roots) == DENY


@pytest.mark.parametrize("line", ["( ls > /tmp/x ) | cat", "while ls; do echo x > /dev/null; done", "ls > new & ls", "while ls; do echo x >> a; done", "python3 -c 'import os; print(1 > 2)'", "vim -c 's/>/</'", "python3 -c 'import os; x = \"<p>/usr</p>\"'", "cp a /tmp/x", "cp a /opt/not-there", "mv a b", "ls 2>&1 | tee /tmp/x", "cp -n a /etc/passwd", "awk '$1 > 3 {system(\"ls\")}' a", "gem install rails --version '~> 7.0'", "gem install rails -v '~>7.0'"])
def test_what_may_be_written_is_asked_about(line, roots): assert READ < level(line, roots) < DENY


@pytest.mark.parametrize("line", ["git commit -m 'rm -rf /usr'", "git commit -am 'rm -rf /usr was wrong' && git push", "gh pr create --body 'rm -rf /usr'", "echo 'rm -rf /usr' > notes.txt", "echo 'rm -rf /usr' >> inbox.org && git add inbox.org", "echo 'rm -rf /usr' | tee log", "cat > new <<'E'\nrm -rf /usr\nE", "git commit -F - <<E\nrm -rf /usr\nE", "grep 'rm -rf /usr' /var/log/syslog",
                                  "grep -rn 'rm -rf /usr' . > found.txt", "rg -e 'rm -rf /usr' /var/log", "echo rm -rf /usr | wc -c > n", "mail -s 'never say rm -rf /usr' ada", "docker run --rm image x rm -rf /app", "npm rm x", "git rm -r src", "make clean", "curl https://example.org -o x", "python3 -c 'print(1)'", "python3 script.py --name 'Ada Lovelace'", "awk '/rm -rf \\/usr/ {print}' a > b2",
                                  "find . -name '*.pyc' -exec touch {} +", "for f in a b; do convert $f; done", "x='a b'; touch \"$x\"", "pip install rm", "echo 'rm -rf /tmp/x' | sh", "ssh host 'df -h'"])
def test_what_only_speaks_of_it_is_not_refused(line, roots): assert level(line, roots) < DENY


@pytest.mark.parametrize("line", ["touch 'rm -rf /usr'", "mkdir 'rm a'", "cp a 'rm b'", "(mkdir 'rm -rf /usr')"])
def test_what_takes_names_starts_nothing(line, roots): assert level(line, roots) == READ + 1


@pytest.mark.parametrize("line", ["echo 'rm -rf /usr'", "grep 'rm -rf /usr' a", "printf 'rm -rf /usr\\n'", "echo 'rm -rf /usr' | wc -c", "cat <<'E'\nrm -rf /usr\nE", "awk '/rm -rf .usr/ {print}' a", "grep -c 'rm -rf /' a | cat"])
def test_and_what_only_reads_runs(line, roots): assert level(line, roots) == READ


@pytest.mark.parametrize("line", ["x '" + "rm " * 5_000 + "'", "x " + "'rm -rf a;' " * 900, "x " + "".join(f"'rm -rf a{n};' " for n in range(200)), "x '" + "(" * 8_000 + "'", "x '" + "\"'" * 4_000 + "'", "x \"" + "a[" * 5_000 + "\"", "; ".join(["x 'rm -rf a' 'rm b'"] * 60), "declare " + "'rm -rf a' " * 1_000, "(x=$y$y; y=$x$x; rm -rf $x$y)", "x \"a/b, B=$B, C=$C\" &", "(" + "; ".join(f"x{n}=$x{n + 1}$x{n + 1}" for n in range(60)) + "; rm -rf $x0)"])
def test_long_texts_are_looked_at_in_time(line, roots):
    begun = time.process_time()
    level(line, roots)
    assert in_time(time.process_time() - begun, 0.25)


UNITS = ["rm -rf /usr", "'", "\"", "$x", "${x%/}", "$(", "`", ")", "x=$y", "y=$x$x", "; ", "&& ", "| ", "xargs rm", "bash -c ", "eval ", "<<E\n", "E\n", "{a,b}", "f() { ", "}; f ", "for d in ", "; do ", "done", "(", "[[ -v ", "]]", "\\\n", "$'\\x72'", "!", "vim -c ", "'!rm /x'", ">", "> /etc/x ", "python3 -c ", "\"rm\",", "cd /", "echo ",
         "tee x", "git -c alias.x=", "\u00e9", "*", "read a <<< ", "env -C / ", "/usr", "~", "a b c", " ", "\n", "=(", "{", "}", "#", "%", "@", "_"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(3), 3))
def test_a_heap_of_such_pieces_is_looked_at_in_time_and_breaks_nothing(roots, seed):
    "What holds up a gate holds up everybody; one such line took 1.9 seconds, and another 2.6."
    chance = random.Random(seed)
    for _ in range(120):
        pool = chance.sample(UNITS, chance.choice([3, 6, len(UNITS)]))
        line = "".join(chance.choice(pool) for _ in range(chance.choice([5, 20, 60, 200, 1_000])))[:chance.choice([400, 2_000, 16_000])]
        begun = time.process_time()
        level(line, roots)
        assert in_time(time.process_time() - begun, 0.6), line


@pytest.mark.parametrize("line", ["while true; do ! export 'a[$(rm -rf /usr)]=1'; done", "if ! unset 'a[$(rm -rf /usr)]'; then ls; fi", "env A=1 python3 <<< 'import os; os.system(\"rm -rf /usr\")'", "nice -n 5 timeout 5 printf 'rm -rf /usr' | sh"])
def test_what_stands_after_a_word_of_the_shell_counts(line, roots): assert level(line, roots) == DENY, line


@pytest.mark.parametrize("line", ["awk -v c='rm -rf /usr' 'BEGIN{system(c)}'", "awk 'BEGIN{system(ARGV[1])}' 'rm -rf /usr'", "date '+rm -rf /usr' | sh", "grep 'rm -rf /usr' log | sh", "find . -printf 'rm -rf /usr\\n' | sh", "git log --format='rm -rf /usr' | sh", "seq -f 'rm -rf /usr' 1 | bash",
                                  "eval \"$(date '+rm -rf /usr')\"", "bash <(date '+rm -rf /usr')", "$(date '+rm -rf /usr')", "date '+rm -rf /usr' > x.sh; sh x.sh", "(date '+rm -rf /usr' > x.sh; sh x.sh)", "sed -i 's#.*#rm -rf /usr#' x.sh; sh x.sh", "(sed -i 's#.*#rm -rf /usr#' x.sh; sh x.sh)", "python3 -c 'print(\"rm -rf /usr\")' | sh", "eval \"$(python3 -c 'print(\"rm -rf /usr\")')\"", "python3 -c 'print(\"rm -rf /usr\")' > x; sh x"])
def test_a_program_that_only_reads_says_its_words_to_whoever_reads_it(line, roots): assert level(line, roots) == DENY


@pytest.mark.parametrize("line", [": 'rm -rf /usr'; $_", "test 'rm -rf /usr'; eval $_", "touch 'rm -rf /usr'; ${_}", "true 'rm -rf /usr'; sh -c \"$_\""])
def test_the_last_word_of_a_command_is_a_variable_too(line, roots): assert level(line, roots) == DENY


@pytest.mark.parametrize("line", ["git bisect run bash -c 'eval \"$1\"' -m 'rm -rf /usr'", "git -c 'alias.x=!f() { eval \"$2\"; }; f' x -m 'rm -rf /usr'", "env -S 'bash -c eval\\ \"$3\"' git commit -m 'rm -rf /usr'", "su -c 'eval \"$3\"' git commit -m 'rm -rf /usr'", "sudo sh -c 'eval \"$2\"' git -m 'rm -rf /usr'", "hg --config alias.x='!eval \"$2\"' x -m 'rm -rf /usr'", "echo 'rm -rf /usr' | git -c alias.x='!sh' x", "git -c alias.x='!sh' x <<< 'rm -rf /usr'"])
def test_a_message_is_one_only_to_a_command_that_takes_messages(line, roots): assert level(line, roots) == DENY


@pytest.mark.parametrize("line", ["grep() { eval \"$1\"; }; grep 'rm -rf /usr'", "function touch { $1; }; touch 'rm -rf /usr'", "shopt -s expand_aliases; alias grep=eval\ngrep 'rm -rf /usr'", "echo() { eval \"$@\"; }; echo 'rm -rf /usr'", "logger() { eval \"$1\"; }; logger 'rm -rf /usr'", "./grep 'rm -rf /usr'", "./touch 'rm -rf /usr'", "./git commit -m 'rm -rf /usr'", "./logger 'rm -rf /usr'", "(./grep 'rm -rf /usr')", "hash -p ./x grep; grep 'rm -rf /usr'"])
def test_a_name_that_the_line_gives_to_something_else_says_nothing(line, roots): assert level(line, roots) == DENY


SPEAKS = ["perl -ne 'print if m#{}#' a", "perl -lne 'print unless m|{}$|i; last if /x/' a b", "perl -pe 's#{}#x#g' a | sort > b", "timeout 5 perl -n -e 'next if m!{}!; print' a", "perl -wpe 's,x,{},' a", "export LC_ALL=C X=1; grep '{}' a; touch b", "python3 -Ic 'x = \"{}\"; print(x.upper())'", "sed -i 's#{}#x#' notes.org", "sed -n -i.bak -e 's|{}|x|g' -e 's|a|b|' a", "sed -i '\\|{}|d' a", "sed -Ei 's#(a|{})#x#' a", "logger '{}'", "wall '{}'", "notify-send 'beware' '{}'", "zenity --info --text '{}'", "curl -d '{}' https://localhost:1", "pkill -f '{}'",
          "espeak '{}'", "figlet '{}'", "less +/'{}' a", "less -p '{}' a", "more +/'{}' a", "mail -s '{}' ada", "echo '{}' | logger", "echo '{}' | xclip", "xclip <<< '{}'", "echo '{}' | shellcheck -", "git stash push -m '{}'", "git -C . commit -m '{}'", "timeout 5 git commit -m '{}'", "grep -rn '{}' . | logger", "[ \"$(cat a)\" = '{}' ] && touch y", "case \"$1\" in '{}') touch x;; esac", "gh issue create -t '{}' --body '{}'"]


@pytest.mark.parametrize("line", SPEAKS)
def test_what_shows_sends_or_compares_a_text_is_asked_about_and_not_refused(line, roots):
    for command in ["rm -rf /usr", "mkfs.ext4 /dev/sda", "chmod -R 777 /etc"]: assert READ < level(line.format(command, command), roots) < DENY, line.format(command, command)


@pytest.mark.parametrize("line", ["python3 -c 'print(\"{}\")'", "python3 -c 'for n in range(3): print(n, \"{}\", sep=\": \")'", "python3 -c 'print(1 > 2)'", "python3 -c 'x = \"<p>/usr</p>\"'"])
def test_a_program_that_only_calculates_may_hold_any_text(line, roots):
    for command in ["rm -rf /usr", "mkfs.ext4 /dev/sda", "chmod -R 777 /etc"]:
        said = line.replace("{}", command)
        assert level(said, roots) == READ and level(f"{said} | sh", roots) > READ, said


DOES = ["perl -pe 's#.*#{}#e' a", "perl -pe 's#.*#{}#' a | sh", "perl -i -pe 's#x#{}#' x.sh; sh x.sh", "perl -pie 's#x#{}#' a", "perl -ne 'print' '{}|'", "perl -ne 'print if m#@{{[`{}`]}}#' a", "perl -ne 'm#(?{{`{}`}})#' a", "perl -ne 'print if m#x# or `{}`' a", "perl -MX -pe 's#{}#x#g' a", "perl -ne 'print; `{}`' a", "perl -ne 'print if m#$x[`{}`]#' a", "perl -spe 's#x#y#' -- a '{}'", "perl -pe 's#x#y#' -e '`{}`' a",
        "export X='{}'; grep y a; bash b.sh", "export X='{}' LC_ALL=C; bash b.sh", "export X=1; grep '{}' a | sh", "export X=1; grep '{}' a > x.sh; sh x.sh", "export X=1; grep '{}' a; eval $_", "python3 -c 'import os as print; print.system(\"{}\")'", "python3 -c 'from os import system as print; print(\"{}\")'", "python3 -c 'print(__import__(\"os\").system(\"{}\"))'", "python3 -c 'print(eval(\"{}\"))'", "python3 -c 'print(1) or __builtins__.__import__(\"os\").system(\"{}\")'", "python3 -c 'print(\"{}\", file=open(\"x.sh\", \"w\"))'", "python3 -c 'print = exec; print(\"{}\")'", "python3 -c 'print(list(map(exec, [\"{}\"])))'",
        "python3 -c 'print(\"{}\".__class__)'", "python3 -c 'print(sorted([\"{}\"], key=exec))'", "python3 -i -c 'print(1)' '{}'", "python3 -m x -c 'print(\"{}\")'", "sed -i '1e {}' a", "sed -i 's#.*#{}#e' a", "sed -i -f x.sed 's#{}#x#' a", "sed -i -e 's#a#{}#' -e e a", "sed -i 's#.*#{}#;e' a", "sed -i '/{}/e' a", "sed --expression='e {}' -i a", "less '+!{}' a", "less +/'x\n!{}' a", "less '+|$ {}' a",
        "less '+/x' '+!{}' a", "less --lesskey-content='shell {}' +/x a", "mail -E '{}' ada", "echo '{}' | mail -~ ada", "mail '|{}'", "mutt -e '{}' -s x ada", "gh alias set x '!{}'", "gh x --body '{}'", "perl -ne 'print if /{}/' a", "find . -exec logger {{}} + -exec {} \\;", "logger $({})", "xargs logger < <({})", "logger 'x' | sh -c '{}'", "echo '{}' | logger -s 2>&1 | sh", "logger -s '{}' 2>&1 | sh"]


@pytest.mark.parametrize("line", DOES)
def test_and_what_could_carry_it_out_is_refused_as_before(line, roots):
    for command in ["rm -rf /usr", "dd if=a of=/dev/sda"]: assert level(line.format(command), roots) == DENY, line.format(command)


@pytest.mark.parametrize("line", [r"perl -ne 'print if /rm -rf \/usr/' a", "export X=1; grep 'rm -rf /usr' log | head; sh a.sh", "grep 'rm -rf /usr' log | head; LC_ALL=C sh a.sh"])
def test_nobody_has_to_write_it_in_one_way(line, roots): assert READ < level(line, roots) < DENY


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    "A function that runs a line in a bash, pagers on a terminal, in which the programs that destroy only write down how they were called; it gives what they wrote."
    folder = tmp_path_factory.mktemp("notes")
    (folder / "bin").mkdir()
    for name in ("rm", "mkfs.ext4", "chmod"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\nprintf '%s\\n' \"${{0##*/}} $*\" >> {folder}/taken\n")
        (folder / "bin" / name).chmod(0o755)
    def run(line):
        for left in folder.iterdir():                                # what one line wrote is no file of the next
            if left.name != "bin": shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        (folder / "taken").write_text("")
        for name in ("a", "notes.org", "log"): (folder / name).write_text("one\ntwo\n" * 40)
        environment = {"PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "HOME": str(folder), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        words = ["timeout", "--foreground", "3", "bash", "-c", line]
        if line.startswith(("less", "more")): words = ["script", "-qec", shlex.join(words), "/dev/null"]                # only these ask for a terminal
        subprocess.run(words, cwd=folder, env=environment, input=b"\nq\n:q\n", capture_output=True, timeout=20)
        return (folder / "taken").read_text()
    return run


@pytest.mark.parametrize("line", [line for line in SPEAKS if not line.startswith(("pkill", "gh "))])
def test_it_is_not_carried_out_indeed(line, notes):
    if not shutil.which(line.split(" ")[0].replace("case", "bash")) or line.startswith(("less", "more")) and not shutil.which("script"): pytest.skip("the program, or a terminal for it, is not at hand")
    for command in ["rm -rf /usr/not-there", "mkfs.ext4 /not-there"]: assert notes(line.format(command, command)) == "", line


@pytest.mark.parametrize("line", ["python3 -c 'import os; os.system(\"{}\")'", "sed -i '1e {}' a", "sed 's#.*#{}#e' a", "less '+!{}\n' a", "less +/'x\n!{}\n' a", "awk -v c='{}' 'BEGIN{{system(c)}}'", "date '+{}' | sh", ": '{}'; $_", "git -c 'alias.x=!f() {{ eval \"$2\"; }}; f' x -m '{}'", "grep() {{ eval \"$1\"; }}; grep '{}'"])
def test_and_what_is_refused_would_be(line, notes):
    if line.startswith("less") and not (shutil.which("less") and shutil.which("script")): pytest.skip("less, or a terminal for it, is not at hand")
    assert "/usr/not-there" in notes(line.format("rm -rf /usr/not-there")), line


HIDDEN = {"base64": lambda t: base64.b64encode(t.encode()).decode(), "in lines": lambda t: re.sub("(.{4})", "\\1\n", base64.b64encode(t.encode()).decode()), "digits": lambda t: t.encode().hex(), "escapes": lambda t: "".join(f"\\x{ord(c):02x}" for c in t), "octal": lambda t: "".join(f"\\{ord(c):03o}" for c in t), "backwards": lambda t: t[::-1]}
UNHIDES = [("base64", "echo {} | base64 -d | sh"), ("base64", "base64 --decode <<< {} | bash"), ("base64", 'eval "$(echo {} | base64 -d)"'), ("base64", "python3 -c 'import base64, os; os.system(base64.b64decode(\"{}\"))'"), ("base64", "base64 -d > x.sh <<'E'\n{}\nE\nsh x.sh"), ("in lines", "base64 -d <<'E' | sh\n{}\nE"), ("in lines", "echo '{}' | base64 -d | bash"), ("digits", "echo {} | xxd -r -p | sh"),
           ("digits", "python3 -c 'import os; os.system(bytes.fromhex(\"{}\"))'"), ("escapes", "printf '{}' | sh"), ("escapes", "echo -e '{}' | bash"), ("escapes", "perl -e 'system(\"{}\")'"), ("octal", "printf '{}' | sh"), ("octal", "bash -c \"$(printf '{}')\""), ("backwards", "echo '{}' | rev | sh"), ("backwards", "python3 -c 'import os; os.system(\"{}\"[::-1])'")]


@pytest.mark.parametrize("way, line", UNHIDES)
def test_a_disguise_is_seen_through_where_something_carries_it_out(way, line, roots, notes):
    "Another way to write what is refused, which the line itself undoes; what is harmless stays a question in the same disguise."
    assert level(line.format(HIDDEN[way]("rm -rf /usr/not-there")), roots) == DENY
    assert level(line.format(HIDDEN[way]("ls -la /usr/not-there")), roots) < DENY
    if all(shutil.which(program) or program not in line for program in ("xxd", "rev")): assert "/usr/not-there" in notes(line.format(HIDDEN[way]("rm -rf /usr/not-there"))), "it is carried out indeed"


@pytest.mark.parametrize("line", ["echo '{}' | base64 -d", "printf '{}'", "grep -rn '{}' .", "git commit -m '{}'"])
@pytest.mark.parametrize("way", HIDDEN)
def test_what_nothing_carries_out_may_be_disguised(line, way, roots): assert level(line.format(HIDDEN[way]("rm -rf /usr/not-there")), roots) < DENY


@pytest.mark.parametrize("line", ["touch 'rm -rf ~'; eval *", "touch 'rm -rf ~'; *", ": > 'rm -rf ~'; eval *", "mkdir -p 'rm -rf /usr'; eval */*", "touch 'rm -rf ~'; for f in r*; do $f; done", "touch 'rm -rf ~'; for f in r*; do eval $f; done", "cp a 'rm -rf ~'; eval r*", "touch 'rm -rf ~'; set -- r*; eval \"$1\"", "ln -s a 'rm -rf ~'; sh -c r*"])
def test_the_name_of_a_file_is_a_text_too(line, roots): assert level(line, roots) == DENY

@pytest.mark.parametrize("line", ["touch 'notes about rm -rf ~'; ls *", "touch 'a b'; eval *", "grep 'rm -rf /usr' *.log; bash build.sh", "mkdir 'rm -rf ~'; ls"])
def test_and_a_pattern_alone_is_no_reason_to_refuse(line, roots): assert level(line, roots) < DENY


@pytest.mark.parametrize("line", ["grep 'T' log | head; bash a", "grep -rn 'T' .; make test", "echo 'never T'; ./a; python3 a", "date '+T' && sh a", "find . -name 'T'; touch b; sh b", "wc -l a; printf '%s\\n' 'T' | sort; perl a"])
def test_what_nobody_hears_is_asked_about_and_not_refused(line, roots, notes):
    "Parts of a line that run without a shell and only read say nothing to the others."
    line = line.replace("T", "rm -rf /usr/not-there")
    assert READ < level(line, roots) < DENY
    assert notes(line) == ""


@pytest.mark.parametrize("line", ["grep 'T' log > x; bash x", "grep 'T' log | bash", "grep 'T' log; bash -c 'T'", "date '+T' | tee x; sh x", "grep 'T' log; sed -i 's#one#T#' a; sh a", "x='T'; sh -c \"$x\"", "date '+T'; $_", "{ date '+T'; } | sh", "if date '+T'; then true; fi | sh", "f() { date '+T'; }; f | sh", "exec > >(sh); date '+T'", "export X='T'; ls | head; sh a", "X='T'; ls | head; sh a"])
def test_and_what_somebody_may_hear_is_refused(line, roots): assert level(line.replace("T", "rm -rf /usr/not-there"), roots) == DENY


# S is a command that says T, T a text that would be refused
SAYS = ["date '+T'", "echo 'T'", "printf '%s\\n' 'T'", "sed -n '1s#.*#T#p' a", "sed -i 's#.*#T#' a && cat a", "awk 'BEGIN{print \"T\"}'", "grep -h 'T' c", "grep -o 'T' c", "python3 -c 'print(\"T\")'", "logger -s 'T' 2>&1 | sed 's/.*: //'",
          "find a -printf 'T\\n'", "touch 'T'", ": 'T'", "test -n 'T'", "[ -n 'T' ]", "git commit -m 'T'", 'head -1 c', "expr 'T' : '\\(.*\\)'", "jq -nr '\"T\"'", "cat <<'E'\nT\nE", "cat <<< 'T'", "git log --format='T' -1", "stat -c 'T' a",
          "ls --time-style='+T' -l a", 'sort -m c', "printf -v y '%s' 'T'", "read -r y <<< 'T'", "x='T'", "case 'T' in *) true;; esac", "logger 'T'", "curl -s -d 'T' http://127.0.0.1:1", "less +/'T' a", "sed 's#one#T#;q' a",
          "tr x y <<< 'T'", "cut -d% -f1 <<< 'T'", 'echo T', "basename 'x/T' ''", "nl -s 'T' a", "diff --line-format='T%c'\\''\\012'\\''' a b", "paste -d'T' a b", 'uniq c', "echo 'T' | logger -s", "echo 'T' | tee d", "printf '%s' T",
          "seq -f 'T%g' 1", "sqlite3 :memory: \"select 'T'\"", "perl -e 'print \"T\"'", "env echo 'T'", "timeout 5 date '+T'", 'fold -w200 c', "xargs echo <<< 'T'", "xargs -I% echo % <<< 'T'", "find . -name a -exec echo 'T' ';'"]
REACHES = ['S | sh', 'S | bash', 'S | cat | sh', 'S > x.sh; sh x.sh', 'S > x.sh; . ./x.sh', "eval \"$(S)\"", "sh -c \"$(S)\"", '$(S)', '`S`', 'S; $_', "S; eval \"$_\"", 'y=$(S); $y', "y=$(S); eval \"$y\"", 'S; $y', "S; eval \"$y\"", 'S; $x',
          "S; eval \"$x\"", 'read z < <(S); $z', 'S | while read l; do $l; done', "S | while read l; do eval \"$l\"; done", "S | xargs -I{} sh -c '{}'", "S | xargs -d'\\n' -n1 sh -c", 'mapfile -t q < <(S); ${q[0]}',
          "mapfile -t q < <(S); eval \"${q[@]}\"", 'bash <(S)', 'source <(S)', "source /dev/stdin <<< \"$(S)\"", 'S | tee x.sh > /dev/null; sh x.sh', 'f() { S; }; f | sh', '(S) | sh', '{ S; } | sh', 'S |& sh', 'sh < <(S)', 'cat <(S) | sh',
          "env sh -c \"$(S)\"", "trap \"$(S)\" EXIT", "printf '%s' \"$(S)\" | sh", "declare z=\"$(S)\"; eval $z", ': ${z:=$(S)}; eval $z', "for z in \"$(S)\"; do eval $z; done", "S | tr '[:lower:]' '[:lower:]' | sh", "S | sed 's/q/z/' | sh",
          'S | timeout 5 sh', 'S | env bash -s', 'S | nice sh', 'exec 3< <(S); sh <&3', 'S > x.sh; bash < x.sh', 'S > x.sh; cat x.sh | sh', 'S > x.sh; cp x.sh y.sh; sh y.sh', "S > x.sh; eval \"$(cat x.sh)\"", 'S > x.sh; source x.sh',
          'S >> x.sh; sh ./x.sh', "export z=\"$(S)\"; sh -c \"$z\"", 'S | head -1 | sh', '! S | sh', 'S | sudo sh', 'S | (cat; true) | sh', 'S | if true; then sh; fi', 'S | { sh; }', 'S | (sh)',
          "case \"$(S)\" in x) ;; *) eval \"$(S)\";; esac", "S | python3 -c 'import os,sys; os.system(sys.stdin.read())'", "S | perl -ne 'system($_)'", "S | awk '{system($0)}'", "z=\"$(S)\" sh -c '$z'", 'S; sh a', 'S; . ./a', 'S; sh d',
          'S | xargs -0 sh -c', "S | xargs sh -c 'eval \"$*\"' _", 'S | xargs env', "set -- \"$(S)\"; eval \"$1\"", 'while read l; do $l; done < <(S)', "while read l; do eval $l; done <<< \"$(S)\"", 'S | sh -s', 'S | exec sh',
          'S | busybox sh', 'S | dash', "[[ \"$(S)\" =~ (.*) ]]; eval \"${BASH_REMATCH[1]}\"", 'S | parallel', 'S | cat - | cat | tail -1 | bash -']


SPLITS = ["c='rm -rf'; $c T", "a=(rm -rf); \"${a[@]}\" T", "a=(rm -rf T); ${a[*]}", "a=(-rf T); rm \"${a[@]}\"", "o='-rf T'; rm $o", "f() { rm \"$@\"; }; f -rf T", "f() { rm $1 $2; }; f -rf T", "set -- -rf T; rm \"$@\"", "read c <<< 'rm -rf'; $c T", "printf -v c 'rm -rf'; $c T",
          "declare -a x=(rm -rf T); \"${x[@]}\"", "x[0]=rm; x[1]=-rf; x[2]=T; \"${x[@]}\"", "x+=(rm); x+=(-rf T); \"${x[@]}\"", "for c in 'rm -rf'; do $c T; done", "rm $(echo -rf T)", "rm $(echo -rf) T", "rm `echo -rf T`", "xargs rm -rf < <(echo T)", "mapfile -t -C 'rm -rf' -c 1 x <<< T", "readarray -tc1 -C 'rm -rf' x < <(echo T)",
          "shopt -s lastpipe; echo T | mapfile -t -C 'rm -rf' -c1 x", "[[ a ]] && o=-rf && rm $o T"]


@pytest.mark.parametrize("line", SPLITS)
def test_an_expansion_may_be_several_words_and_an_option(line, roots, notes):
    assert level(line.replace("T", "/usr/not-there"), roots) == DENY


def said(command, reaches):
    if "\n" in command: command = f"{{ {command}\n}}"
    return reaches.replace("S", command).replace("T", "rm -rf /usr/not-there")


@pytest.mark.parametrize("reaches", REACHES)
def test_what_a_shell_reads_of_a_line_is_refused_by_whatever_way_it_comes(reaches, roots):
    assert level(said("echo 'T'", reaches), roots) == DENY or reaches.startswith(("S; ", "[["))
    for command in ("date '+T'", "sed 's#one#T#;q' a", "python3 -c 'print(\"T\")'", "find a -printf 'T\\n'"):
        if not reaches.startswith("S; ") and not reaches.startswith("[["): assert level(said(command, reaches), roots) == DENY, said(command, reaches)


def test_what_is_not_refused_is_not_carried_out(roots, notes):
    "Lines made by chance out of ways to say something and ways by which that reaches a shell."
    chance = random.Random()
    for _ in range(examples(400)):
        line = said(chance.choice(SAYS), chance.choice(REACHES))
        if level(line, roots) < DENY: assert "/usr/not-there" not in notes(line), line


@pytest.mark.parametrize("line, maker, shell", [("echo 'ez -es ~' | tr a-z n-za-m | sh", "tr", "sh"), ("gzip -d < notes.gz | bash", "gzip", "bash"), ("base64 -d notes.txt | /bin/sh -x", "base64", "sh"), ("cat notes.org | sudo bash -s", "cat", "bash"),
    ("ls; X=1 rev notes.org 2>&1 |& zsh", "rev", "zsh"), ("(xxd -r -p notes.org | dash)", "xxd", "dash")])
def test_a_question_says_that_what_a_shell_would_carry_out_cannot_be_seen(line, maker, shell, roots):
    judged = judge_command(line, roots, "/home/ada")
    assert judged.level > READ and any(f"{shell} carries out what {maker} gives it" in reason for reason in judged.reasons), judged.reasons


@pytest.mark.parametrize("line", ["echo ls | sh", "ls | sh -c cat", "ls | bash count.sh", "touch 'a | sh'", "touch b || sh", "ls | tee sh"])
def test_and_does_not_say_so_where_it_is_not_so(line, roots):
    assert not any("carries out what" in reason for reason in judge_command(line, roots, "/home/ada").reasons)


@pytest.mark.parametrize("choices", ["6", "6|7", "(6|7", "a | b | c", "*.org|*.md", "'x'|sh", "bash|sh"])
def test_the_words_of_a_choice_hear_nobody_and_what_stands_behind_them_does(choices, roots):
    told = lambda body: " ".join(judge_command(f"case x in {choices}) {body};; y|z) ls;; esac", roots, "/home/ada").reasons)
    assert "gives it" not in told("touch b") and "sh carries out what gzip gives it" in told("gzip -d a | sh")


@pytest.mark.parametrize("line, said", [("base64 -d a.txt | python3", True), ("base64 -d a.txt | lua -", True), ("gunzip -c a.gz | perl 2>/dev/null", True), ("gunzip -c a.gz | sh 2> /dev/null", True), ("curl -s https://e.example | some-program-of-mine", True),
                                        ("echo 'print(1)' | python3", False), ("base64 -d a.txt | python3 a.py", False), ("curl -s https://e.example | wl-copy", False), ("curl -s https://e.example | sort", False), ("perl -ne 'print' a.txt | sort", False)])
def test_what_another_program_makes_for_whatever_carries_it_out_is_said_to_be_unseen(tmp_path, line, said):
    judged = judge_command(line, [Root(tmp_path)], "/home/ada")
    assert ("cannot be seen in this line" in " ".join(judged.reasons)) is said, judged.reasons


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["a", "é", "1", "x!", "I", "_", "+", "- ", "{$"])
def test_one_long_word_is_read_in_proportion_to_it(sign, roots):
    "Which sign a name stands behind was looked for from each letter of a word: half a minute for one of sixteen thousand."
    begun = time.thread_time()
    for line in ("awk '{} b' a.org", "python3 -c 'x{}'", "yq '!m,[$,{}' a", "tool {} b"): level(line.replace("{}", sign * (15_000 // len(sign))), roots)
    assert time.thread_time() - begun < 8


def test_a_name_after_signs_and_a_line_end_is_seen(roots):
    assert level("tool 'x!\nrm' -rf /usr", roots) == DENY
    assert level("tool 'a!b\nc!rm' -rf /usr", roots) == DENY


@pytest.mark.parametrize("line", ['rm -rf "${PWD##*/}"', "bash -c 'rm -rf \"${PWD##*/}-tmp\"'", "bash -c 'rm -f \"${PWD##*/}.tgz\"'"])
def test_the_last_name_of_a_path_leads_nowhere_else(line, roots): assert level(line, roots) < DENY
