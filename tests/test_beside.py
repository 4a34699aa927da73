"Commands that work alone beside a daemon: nothing is lost or done twice, the chain holds, and each sees what the other did"
import json, os, signal, subprocess, sys

import pytest

import waits
from waits import away, says, status

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "house.org").write_text("* Roof\n** Slate\n* Garden\n")
    environ = {**{k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MEMEX", "PASSEPARTOUT", "OTEL_"))}, "HOME": str(tmp_path), "MEMEX_DIR": str(tmp_path / "notes")}
    daemon = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon"], env=environ, stderr=subprocess.PIPE, text=True)
    started = [daemon]
    def start(*args):
        started.append(subprocess.Popen([sys.executable, "-m", "passepartout", *args], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]
    try:
        says(daemon, "event=listening")
        yield tmp_path / "notes", start, daemon
    finally: away(*started)


def ended(process):
    out, err = waits.ended(process)
    return process.returncode, out, err


def test_alone_and_through_the_daemon_at_once(place):
    notes, start, daemon = place
    running = [start("capture", f"alone {n}") for n in range(2)] + [start("ask", f"todo: together {n}") for n in range(2)] + [start("todo", "Slate", "TODO"), start("gate", "check", "(:TYPE :EVENT)"), start("trace", "-n", "5", "--json")]
    done = [ended(each) for each in running]
    assert all("Traceback" not in err and "database is locked" not in err for _, _, err in done), done
    inbox = (notes / "inbox.org").read_text()
    for (code, out, err), words in zip(done, [f"alone {n}" for n in range(2)] + [f"together {n}" for n in range(2)]):
        assert inbox.count(words) == (1 if code == 0 else 0), (words, code, out, err)
        assert code == 0 or "changed" in (out + err), (words, code, out, err)          # who lost the race is told so, and nothing is half done
    assert sum(code == 0 for code, *_ in done[:4]) >= 2
    assert ("** TODO Slate" in (notes / "house.org").read_text()) == (done[4][0] == 0)
    code, out, _ = ended(start("trace", "--verify"))
    assert code == 0 and "holds" in out
    # the daemon knows what was done beside it: it finds it, shows it, and takes it back
    assert all(words in ended(start("ask", f"find {words}"))[1] for words in ("alone 0", "together 1") if words in inbox)
    told = json.loads(ended(start("trace", "-n", "50", "--json"))[1])
    texts = [str(record["body"]) for turn in told for record in turn["records"]]
    assert any("alone" in text for text in texts) and any("together" in text for text in texts)
    daemon.send_signal(signal.SIGTERM)
    assert status(daemon) == 0
    code, out, _ = ended(start("trace", "--verify"))
    assert code == 0 and "holds" in out


def test_undo_through_the_daemon_takes_back_what_was_done_alone(place):
    notes, start, daemon = place
    assert ended(start("capture", "alone"))[0] == 0 and (notes / "inbox.org").exists()
    code, out, err = ended(start("undo"))
    assert code == 0 and not (notes / "inbox.org").exists(), (out, err)


def test_kill_9_of_the_daemon_while_others_write_alone(place):
    notes, start, daemon = place
    running = [start("capture", f"alone {n}") for n in range(3)]
    daemon.kill()
    done = [ended(each) for each in running]
    inbox = (notes / "inbox.org").read_text() if (notes / "inbox.org").exists() else ""
    for n, (code, out, err) in enumerate(done): assert inbox.count(f"alone {n}") == (1 if code == 0 else 0), (code, out, err)
    code, out, _ = ended(start("trace", "--verify"))
    assert code == 0 and "holds" in out
