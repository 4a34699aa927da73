"""The daemon as people run it: a process of its own, beside the commands that use it, with signals, deaths, and a Lisp at the other end."""
import fcntl, json, os, re, shlex, shutil, signal, socket, subprocess, sys, termios, time
from pathlib import Path

import pytest

from passepartout.journal import Journal
from passepartout.plist import read_plist
from passepartout.settings import load_settings
from passepartout.serving.sockets import connect_to, socket_path
from passepartout.shell.sandbox import find_bubblewrap
import test_cli
from waits import away, ended, next_line, status

forks, home = test_cli.forks, test_cli.home         # fixtures

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
TODAY = {"PASSEPARTOUT_TODAY": "2026-11-19"}
CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "milk") :EXPLANATION "You asked me to remember the milk."))'


class Running:
    "A daemon on the notes of a home. `env` is what it and the commands see."
    def __init__(self, home, env=(), *args):
        self.home, self.env, self.args = home, {**TODAY, **dict(env)}, args
        self.path = socket_path(load_settings({"memex_dir": home.memex}, environ={**home.env, **self.env}))
        self.log = home.folder / "daemon.log"
        self.start()

    def start(self):
        with open(self.log, "a") as log: self.process = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon", "--memex", str(self.home.memex), *self.args], env={**self.home.env, **self.env}, stderr=log, stdout=log, cwd=ROOT)
        self.wait(lambda: self.connect() is not None)

    def wait(self, done, seconds=30):
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end and self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)

    def connect(self):
        if (opened := connect_to(self.path)) is not None: opened.close()
        return opened

    def says(self, word): return word in self.log.read_text()

    def __call__(self, *args, **options): return self.home(args[0], *args[1:], "--memex", self.home.memex, env={**self.env, **options.pop("env", {})}, **options)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None: self.process.send_signal(number)
        return status(self.process)


@pytest.fixture
def running(home):
    started = []
    def start(*args, **options):
        started.append(Running(home, *args, **options))
        return started[-1]
    yield start
    for each in started:
        away(each.process)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_chat_goes_on_when_the_daemon_dies_under_it(running, home, number):
    "What was typed next has reached nobody, so an agent of the chat's own gets it; a daemon that comes back before that is found instead."
    daemon = running()
    chat = subprocess.Popen([sys.executable, "-m", "passepartout", "chat", "--memex", str(home.memex)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**home.env, **daemon.env})
    def told(line, word, seconds=30):
        chat.stdin.write(line + "\n")
        chat.stdin.flush()
        heard, end = "", time.monotonic() + seconds
        while word not in heard:
            assert time.monotonic() < end and (more := next_line(chat)), heard
            heard += more
        return heard
    told("todo: buy stamps", "buy stamps")
    daemon.stop(number)
    assert "Working alone" in told("todo: buy glue", "buy glue")
    assert "Working alone" not in told("todo: buy tape", "buy tape")
    chat.stdin.close()
    assert status(chat) == 0
    assert all(word in (home.memex / "inbox.org").read_text() for word in ("buy stamps", "buy glue", "buy tape"))


def turnless(text): return re.sub(r"[0-9a-f]{12}", "TURN", text)


def test_commands_say_the_same_with_and_without_a_daemon(running, home):
    daemon = running()
    for args, code in ((["ask", "what is due this week?"], 0), (["ask", "--json", "what is due this week?"], 0), (["ask", "todo: buy stamps"], 0), (["undo"], 0), (["undo", "--json"], 0), (["approvals", "list"], 0), (["ask", " "], 2), (["ask", "read /etc/passwd"], 3), (["ask", "--json", "read /etc/passwd"], 3),
                       (["approvals", "approve", "nope", "abc234"], 1), (["approvals", "deny", "nope"], 1), (["approvals", "revoke", "nope"], 1), (["ask", "\x1b[2J\udcff?"], None)):
        here = daemon(*args, "--no-daemon")
        turns = daemon.log.read_text().count("event=turn")
        there = daemon(*args)
        assert (there.returncode, turnless(there.stdout), there.stderr) == (here.returncode, turnless(here.stdout), here.stderr), args
        assert code in (None, there.returncode), (args, there.returncode, there.stderr)
        if args[0] in ("ask", "undo") and code == 0:
            end = time.monotonic() + 20                     # the line is written after the answer is sent
            while daemon.log.read_text().count("event=turn") == turns and time.monotonic() < end: time.sleep(0.01)
            assert daemon.log.read_text().count("event=turn") == turns + 1, args
    for size in (300_000, 600_000, 3_000_000):
        here, there = (daemon("ask", "-", *alone, input=b"x" * size) for alone in (["--no-daemon"], []))
        assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr), size
    assert daemon.stop() == 0 and not daemon.path.exists()
    assert daemon("ask", "what is due this week?").returncode == 0


def test_a_question_is_answered_through_the_daemon(running, home):
    daemon = running(home.script(f"{CAPTURE}\n---\nIt is noted.\n---\n{CAPTURE}\n"))
    asked = daemon("ask", "--json", "remember the milk")
    told = json.loads(asked.stdout)
    assert asked.returncode == 4 and told["approvals"][0]["code"]
    ask = told["approvals"][0]
    listed = daemon("approvals", "list")
    assert ask["id"] in listed.stdout and ask["code"] not in listed.stdout
    assert daemon("approvals", "approve", ask["id"], "wrong2").returncode == 1
    done = daemon("approvals", "approve", ask["id"], ask["code"], "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["effects"] and "milk" in (home.memex / "inbox.org").read_text()
    chat = daemon("chat", input=b"remember more\n/pending\n/trace\n/deny xxxxxx\n/help\n/quit\n")
    assert chat.returncode == 0 and "/approve" in chat.stdout and "org-capture" in chat.stdout


def test_another_environment_works_alone(running, home):
    daemon = running()
    turns = daemon.log.read_text().count("event=turn")
    other = daemon("ask", "hello", env=home.script("Hello from the script.\n"))
    assert "Hello from the script." in other.stdout and "Working alone" in other.stderr and daemon.log.read_text().count("event=turn") == turns
    assert "hello" not in daemon.log.read_text()


def test_ctrl_c_stops_the_turn_in_the_daemon(running, home):
    daemon = running(home.script("!sleep 20\nToo late.\n---\nIn time.\n"))
    asking = home.start("ask", "--memex", home.memex, "think long", env=daemon.env)
    journal = lambda kind: [r["body"] for r in Journal.look(home.journal).records(kinds=[kind])]
    daemon.wait(lambda: "passepartout_turns_running 1" in home("daemon", "--metrics", "--memex", home.memex, env=daemon.env).stdout)
    asking.send_signal(signal.SIGINT)
    out, err = ended(asking)
    assert asking.returncode == 130 and b"Stopped" in err and out == b""
    assert daemon("ask", "again").stdout.strip() == "In time."
    assert [each["status"] for each in journal("answer")] == ["interrupted", "answered"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_seconds_whatever_runs(running, home, number):
    daemon = running(home.script("!sleep 60\nToo late.\n"))
    asking = home.start("ask", "--memex", home.memex, "think long", env=daemon.env)
    daemon.wait(lambda: "passepartout_turns_running 1" in home("daemon", "--metrics", "--memex", home.memex, env=daemon.env).stdout)
    began = time.monotonic()
    assert daemon.stop(number) == 0 and time.monotonic() - began < 10                  # a guard; it takes about three
    assert status(asking) in (1, 130) and daemon.says("event=stopped")
    journal = Journal.look(home.journal)
    assert [r["body"]["status"] for r in journal.records(kinds=["answer"])] == ["interrupted"] and journal.verify(whole=True).ok
    journal.close()
    daemon.start()
    assert daemon("approvals", "list").returncode == 0


def test_kill_9_loses_no_turn_that_was_answered(running, home):
    daemon = running(home.script("\n---\n".join(f"Answer {n}." for n in range(50))))
    turns = [json.loads(daemon("ask", "--json", f"question {n}").stdout)["turn"] for n in range(3)]
    daemon.stop(signal.SIGKILL)
    assert daemon.path.exists() and daemon("ask", "alone").returncode == 0
    daemon.start()
    assert daemon("ask", "and on").returncode == 0
    journal = Journal.look(home.journal)
    assert set(turns) <= {r["turn"] for r in journal.records(kinds=["answer"])} and journal.verify(whole=True).ok
    journal.close()
    greeted = home("chat", "--memex", home.memex, env=daemon.env, input=b"/trace 5\n/quit\n")
    assert "question 2" in greeted.stdout


def test_sighup_reads_the_settings_again(running, home):
    daemon = running()
    folder = home.folder / "config" / "passepartout"
    folder.mkdir(parents=True)
    (folder / "settings.ini").write_text("[assistant]\nprovider_cascade = \n[limits]\nmax_deptj = 3\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait(lambda: daemon.says("event=reload_failed"))
    assert daemon.says("max_deptj") and daemon("ask", "what is due this week?").returncode == 0
    (folder / "settings.ini").write_text("[permissions]\norg-capture = deny\norg-add-headline = deny\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait(lambda: daemon.says("event=reloaded"))
    assert "switched off in the settings" in daemon("ask", "todo: buy stamps").stdout
    (folder / "settings.ini").write_text("")
    for rules, code, times in (("[no stamps]\ntier = perhaps\n", 3, 2), ("", 0, 3)):
        (folder / "rules.ini").write_text(rules)
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait(lambda: daemon.log.read_text().count("event=reloaded") == times)
        done = daemon("ask", "todo: buy stamps")
        assert done.returncode == code and ("kill -HUP" in done.stderr) == (code == 3), done.stdout + done.stderr
    assert daemon.stop() == 0


def test_a_daemon_ends_with_its_terminal_and_leaves_nothing_behind(home):
    "It was left running, with nobody to see it, when the window was closed: the system says so with the signal that has settings read again."
    ours, its = os.openpty()
    daemon = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon", "--memex", str(home.memex)], env={**home.env, **TODAY}, stdin=its, stdout=its, stderr=its, cwd=ROOT,
                              start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(its)
    heard, path = b"", socket_path(load_settings({"memex_dir": home.memex}, environ={**home.env, **TODAY}))
    while b"event=listening" not in heard: heard += os.read(ours, 4096)
    os.kill(daemon.pid, signal.SIGHUP)
    while b"event=reloaded" not in heard: heard += os.read(ours, 4096)
    os.close(ours)
    assert status(daemon) == 0 and not path.exists()


def test_systemd_hears_when_it_is_ready_and_takes_the_unit(running, home):
    where = home.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(where)); manager.settimeout(20)
        daemon = running({"NOTIFY_SOCKET": str(where)})
        assert b"READY=1" in manager.recv(1000)
        daemon.process.send_signal(signal.SIGHUP)
        assert b"RELOADING=1" in manager.recv(1000) and b"READY=1" in manager.recv(1000)
        assert daemon.stop() == 0 and b"STOPPING=1" in manager.recv(1000)
    if shutil.which("systemd-analyze"):
        (unit := home.folder / "passepartout.service").write_text(daemon("daemon", "--unit").stdout)
        told = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", str(unit)], capture_output=True, text=True, timeout=120, env={**home.env, "XDG_RUNTIME_DIR": str(home.folder)})
        assert not [line for line in told.stderr.splitlines() if "passepartout.service" in line], told.stderr


def test_a_file_where_the_unit_starts_becomes_no_part_of_the_daemon(running, home):
    words = shlex.split(next(line for line in home("daemon", "--unit", "--memex", home.memex).stdout.splitlines() if line.startswith("ExecStart=")).removeprefix("ExecStart="))
    for name in ("json", "passepartout"): (home.folder / f"{name}.py").write_text("raise SystemExit('a file that lay there was run')\n")
    done = subprocess.run([*words[:words.index("daemon")], "doctor", "--json", *words[words.index("--memex"):]], cwd=home.folder, env=home.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == (0 if find_bubblewrap().works else 1) and json.loads(done.stdout)["health"], done.stderr


def families(text):
    "What a page of Prometheus's text format holds: family -> (type, samples). Its rules are asserted."
    assert text.endswith("\n") and "\r" not in text
    found, helped = {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in helped and name not in found and re.fullmatch(r"# HELP [a-zA-Z_:][a-zA-Z0-9_:]* .+", line), line
            helped.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name in helped and name not in found and kind in ("counter", "gauge", "summary"), line
            found[name] = (kind, {})
        else:
            sample, labels, value = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="[^"\\\n]*"\})? (\S+)', line).groups()
            name, (kind, samples) = list(found.items())[-1]                      # the lines of a family stand together
            assert sample == name if kind != "summary" else sample in (f"{name}_sum", f"{name}_count"), line
            assert name.endswith("_total") == (kind == "counter") and (sample, labels) not in samples, line
            samples[sample, labels] = float(value)
    return found


def test_the_numbers_are_as_prometheus_reads_them(running, home):
    daemon = running()
    for text in ("what is due this week?", "read /etc/passwd"): daemon("ask", text)
    found = families(daemon("daemon", "--metrics").stdout)
    assert found["passepartout_turns_total"][1]["passepartout_turns_total", '{kind="answered"}'] == 2 == found["passepartout_turn_seconds"][1]["passepartout_turn_seconds_count", None]
    assert found["passepartout_turn_seconds"][1]["passepartout_turn_seconds_sum", None] > 0 and found["passepartout_healthy"] == ("gauge", {("passepartout_healthy", None): float(find_bubblewrap().works)})


def test_one_daemon_and_what_the_doctor_says(running, home):
    daemon = running()
    second = daemon("daemon")
    assert second.returncode == 5 and str(daemon.process.pid) in second.stderr
    facts = lambda: json.dumps(json.loads(daemon("doctor", "--json").stdout))
    assert f"A daemon answers (process {daemon.process.pid})" in facts()
    daemon.path.unlink()
    assert f"A daemon runs (process {daemon.process.pid}), and its socket" in facts() and "No daemon runs" not in facts()
    daemon.stop(signal.SIGTERM)
    daemon.start()
    daemon.process.send_signal(signal.SIGSTOP)
    assert f"A daemon runs (process {daemon.process.pid}) and does not answer" in facts() and "A daemon answers" not in facts()
    daemon.process.send_signal(signal.SIGCONT)
    daemon.stop(signal.SIGKILL)
    assert "ended without cleaning up" in facts() and daemon("daemon", "--metrics").returncode == 5


def test_a_crowd_a_deaf_client_and_a_death_cost_no_answer():
    def crowd(least, *options):
        done = subprocess.run([sys.executable, "benchmarks/crowd.py", *options], capture_output=True, text=True, cwd=ROOT, timeout=120)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["wrong"] == told["answered_and_not_in_the_journal"] == 0 and told["chain_holds"] and told["answered"] > least, told
        return told
    calm = crowd(20, "--seconds", "4", "--clients", "200", "--deaf", "3")
    assert calm["unanswered"] == 0 and calm["exit_code"] == 0 and calm["sent"] == calm["answered"], calm
    assert crowd(0, "--seconds", "6", "--clients", "50", "--kill", "1")["killed_after"]              # how many were answered by then is the machine's affair


# A client that nobody here wrote ------------------------------------------------------------------------------------------

LISP = r"""
(require :asdf) (require :sb-bsd-sockets)
(defvar *args* (cdr sb-ext:*posix-argv*))
(defvar *key* (and (third *args*) (with-open-file (in (third *args*)) (read-line in))))
#+#.(cl:if (cl:third (cl:cdr sb-ext:*posix-argv*)) '(:and) '(:or))
(let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream)))
  (asdf:load-system :ironclad/mac/hmac) (asdf:load-system :ironclad/digest/sha256))
(setf *print-pretty* nil *read-eval* nil)
(defun connect ()
  (let ((socket (if *key* (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp) (make-instance 'sb-bsd-sockets:local-socket :type :stream))))
    (if *key* (sb-bsd-sockets:socket-connect socket #(127 0 0 1) (parse-integer (first *args*))) (sb-bsd-sockets:socket-connect socket (first *args*)))
    (sb-bsd-sockets:socket-make-stream socket :input t :output t :element-type :default :external-format :utf-8 :buffering :full)))
(defvar *stream* (connect))
(defvar *nonces* nil) (defvar *sent* 0) (defvar *got* 0)
(defun seal (side count text)
  (let ((mac (funcall (read-from-string "ironclad:make-hmac") (funcall (read-from-string "ironclad:hex-string-to-byte-array") *key*) :sha256)))
    (funcall (read-from-string "ironclad:update-hmac") mac (sb-ext:string-to-octets (format nil "passepartout frame 1~%~a~%~a~%~d~%~a" side *nonces* count text) :external-format :utf-8))
    (funcall (read-from-string "ironclad:byte-array-to-hex-string") (funcall (read-from-string "ironclad:hmac-digest") mac))))
(defun chars (n) (let ((text (make-string n))) (read-sequence text *stream*) text))
(defun receive ()
  (let* ((text (chars (parse-integer (chars 6) :radix 16))) (message (read-from-string text)))
    (when *key*
      (unless *nonces* (setf *nonces* (getf (getf message :payload) :nonce)))
      (unless (string= (chars 64) (seal "server" *got* text)) (error "wrong seal")))
    (incf *got*)
    message))
(defun send (message)
  (let ((text (prin1-to-string message)))
    (format *stream* "~6,'0x~a" (length text) text)
    (when *key* (write-string (seal "client" *sent* text) *stream*))
    (incf *sent*)
    (finish-output *stream*)))
(defun show (message) (format t "~a~%" (substitute #\Space #\Newline (prin1-to-string message))))
(show (receive))
(send '(:TYPE :EVENT :PAYLOAD (:ACTION :HANDSHAKE :NONCE "00112233445566778899aabbccddeeff")))
(when *key* (setf *nonces* (concatenate 'string *nonces* ":00112233445566778899aabbccddeeff")))
(show (receive))
(send '(:TYPE :HEALTH-CHECK))
(show (receive))
(send (list :TYPE :EVENT :PAYLOAD (list :SENSOR :USER-INPUT :TEXT (second *args*) :REQUEST 7)))
(show (receive))
"""


@pytest.mark.parametrize("way", ["unix", "tcp"])
def test_a_lisp_speaks_with_it(running, home, way):
    if not shutil.which("sbcl"): pytest.skip("sbcl is not installed")
    if way == "tcp" and not Path("/usr/share/common-lisp/source/ironclad").exists(): pytest.skip("cl-ironclad is not installed")
    with socket.socket() as free: free.bind(("127.0.0.1", 0)); port = free.getsockname()[1]
    daemon = running(home.script("Grüße, \"Zoë\" 🥣 \\ and\nanother line.\n"), *(["--tcp", "--port", str(port)] if way == "tcp" else []))
    (script := home.folder / "client.lisp").write_text(LISP)
    here = os.path.relpath(daemon.path, home.folder)
    args = [here, "Müsli für Zoë 🥣"] if way == "unix" else [str(port), "Müsli für Zoë 🥣", str(daemon.path.with_name("daemon.key"))]
    done = subprocess.run(["sbcl", "--noinform", "--script", str(script), *args], capture_output=True, timeout=120, cwd=home.folder, env={**home.env, "HOME": os.environ.get("HOME", "/tmp"), "XDG_CACHE_HOME": "/tmp/passepartout-lisp-cache"})
    assert done.returncode == 0, done.stderr.decode()[-2000:] + daemon.log.read_text()
    hello, entered, health, answer = map(read_plist, done.stdout.decode().splitlines())
    assert (hello["type"], hello["payload"]["action"], health["type"], health["status"]) == ("EVENT", "HANDSHAKE", "HEALTH-RESPONSE", "HEALTHY")
    assert answer["payload"]["text"] == "Grüße, \"Zoë\" 🥣 \\ and another line." and answer["payload"]["request"] == 7 and answer["payload"]["status"] == "ANSWERED"
