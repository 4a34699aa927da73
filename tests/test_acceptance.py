"A record that does not hold is gone on with: only what was seen, only by a person at a terminal, and nothing that was allowed before outlives it"
import itertools, json, os, pty, shutil, sqlite3, subprocess, sys, threading

import pytest

from conftest import thinned
from passepartout.acceptance import accept, allowed, damage
from passepartout.consent.attestations import Attestation, Attestations
from passepartout.storage.chain import JournalError
from passepartout.consent.endorsements import ALWAYS, Endorsement, Endorsements
from passepartout.consent.grants import Grant, Grants
from passepartout.journal import ApprovalGone, Journal
from test_cli import warm
from waits import PATIENCE

WHO = {"user": "ana", "terminal": "/dev/pts/1"}


def opened(home): return Journal.open(home / "journal.sqlite")


def turn(journal, n):
    batch = journal.batch("main", f"t{n}"); batch.record("turn", {"text": f"request {n}"}); batch.intend(f"e{n}", "h", "append", before=b"before"); batch.commit_now()
    batch = journal.batch("main", f"t{n}"); batch.settle(f"e{n}", "committed"); batch.record("answer", {"text": "done"}); batch.commit_now()


def ask(journal, id):
    batch = journal.batch("main", "t9")
    batch.ask(id, "h", "delete", code_hash="c", expires=journal.clock() + 600, reason="r", channel="cli")
    batch.commit_now()


def allow(journal):
    "A question, a yes to another, and what is said for longer, one of each kind."
    ask(journal, "a1"); ask(journal, "a2")
    journal.approve("a2", by="person", session="main")
    Grants(journal).give(Grant("edit", "main", journal.clock() + 900), "a2", "person")
    Endorsements(journal).give(Endorsement("send", "to", '"ana"', "", ALWAYS), "person")
    Attestations(journal).give(Attestation("search", "each.id", "x"), "person")


@pytest.fixture
def home(made, tmp_path):
    "A closed journal: three turns, what a person allowed, two turns; each test has a copy of its own."
    return shutil.copytree(made, tmp_path / "one")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "one"
    journal = opened(folder)
    for n in range(3): turn(journal, n)
    allow(journal)
    batch = journal.batch("main", "t3"); batch.remember("m1", "h", '{"title":"Shopping"}'); batch.commit_now()
    for n in (3, 4): turn(journal, n)
    journal.close()
    return folder


def edited(home, *statements):
    with sqlite3.connect(home / "journal.sqlite") as db:
        for each in statements: db.execute(*(each if isinstance(each, tuple) else (each,)))
    db.close()


def older(home):
    journal = opened(home)
    shutil.copy(home / "journal.sqlite", home / "older")
    turn(journal, 7)
    journal.close()
    shutil.copy(home / "older", home / "journal.sqlite")


WAYS = {"changed": "UPDATE chain SET body = '{\"text\":\"else\"}' WHERE seq = 5", "junk": ("UPDATE chain SET body = ?, at = 'noon', turn = x'ff', proof = 'x' WHERE seq = 6", ()), "removed": "DELETE FROM chain WHERE seq = 5", "first": "DELETE FROM chain WHERE seq = 1",
        "end": "DELETE FROM chain WHERE seq > 18", "everything": "DELETE FROM chain", "moved": "UPDATE chain SET seq = 99 WHERE seq = 6", "text": "UPDATE chain SET body = NULL, proof = zeroblob(64) WHERE seq = 7",
        "question": "UPDATE chain SET body = replace(body, 'delete', 'send') WHERE kind = 'ask'", "used": "DELETE FROM chain WHERE kind = 'approval'", "tables": "UPDATE approvals SET state = 'approved', decided = seq", "effects": "DELETE FROM effects",
        "images": "UPDATE images SET before = x'00'", "image": "DELETE FROM images WHERE seq = 2", "memory": "UPDATE memory SET body = '{\"title\":\"Obey\"}'", "key": "INSERT INTO chain SELECT max(seq) + 1, 'key', '', '', 1.0, '{\"now\":\"mine\"}', zeroblob(48) FROM chain"}
FILES = {"older": older, "anchor": lambda home: (home / "journal.anchor").unlink(), "anchor changed": lambda home: (home / "journal.anchor").write_text('{"seq": 2, "head": "00", "seal": "00"}'), "key lost": lambda home: (home / "journal.key").unlink()}


def spoilt(home, how):
    if how in FILES: FILES[how](home)
    else: edited(home, (WAYS[how][0], (b"\x00",)) if isinstance(WAYS[how], tuple) else WAYS[how])


def lasting(journal): return [Grants(journal).standing(), Endorsements(journal).standing(), Attestations(journal).standing()]


@pytest.mark.parametrize("how", thinned([*WAYS, *FILES], 4))
def test_every_break_can_be_accepted_and_nothing_allowed_before_outlives_it(home, how):
    spoilt(home, how)
    journal = opened(home)
    seen = damage(journal)
    assert seen is not None and not seen.verdict.ok and seen.phrase.startswith("accept the break at record ")
    accept(journal, seen, **WHO)
    for again in range(2):
        assert journal.checked.ok and journal.verify(whole=True).ok and damage(journal) is None
        assert lasting(journal) == [[], [], []] and list(allowed(journal)) == []
        assert [row["id"] for row in journal.approvals() if row["state"] in ("pending", "approved")] == []
        for id in ("a1", "a2"):
            batch = journal.batch("main", "t10"); batch.consume(id, "h"); batch.intend(f"use {id} {again}", "h", "delete")
            with pytest.raises(ApprovalGone): batch.commit_now()
        assert "Obey" not in str(list(journal.memory_rows())) and journal.checked.ok
        journal.close()
        journal = opened(home)
    told = journal.records(kinds=["accept"])[0]["body"]
    assert (told["user"], told["terminal"], told["problem"]) == ("ana", "/dev/pts/1", seen.verdict.problem)
    turn(journal, 20)                                           # it can be gone on with, and what is allowed from now on counts, also tomorrow
    Grants(journal).give(Grant("edit", "main", journal.clock() + 900), "a2", "person")
    Endorsements(journal).give(Endorsement("send", "to", '"ana"', "", ALWAYS), "person")
    Attestations(journal).give(Attestation("search", "each.id", "x"), "person")
    ask(journal, "a3"); journal.approve("a3", by="person", session="main")
    journal.close()
    journal = opened(home)
    assert [len(each) for each in lasting(journal)] == [1, 1, 1] and journal.effect("e20")["state"] == "committed"
    batch = journal.batch("main", "t21"); batch.consume("a3", "h"); batch.intend("use", "h", "delete"); batch.commit_now()
    assert journal.verify(whole=True).ok
    journal.close()


LATER = ["UPDATE chain SET turn = 'x' WHERE seq = 4", "UPDATE chain SET body = '{\"text\":\"again\"}' WHERE seq = 6", "DELETE FROM chain WHERE seq = 8", "UPDATE images SET before = x'07' WHERE seq = 10", "DELETE FROM chain WHERE kind = 'accept'",
         "UPDATE chain SET body = replace(body, 'ana', 'eve') WHERE kind = 'accept'", "UPDATE approvals SET state = 'approved' WHERE id = 'a1'"]


@pytest.mark.parametrize("how, later", thinned(itertools.product(["changed", "junk", "removed", "first", "question", "key"], LATER), 5))
def test_what_changes_later_is_an_alarm_again(home, how, later):
    spoilt(home, how)
    journal = opened(home)
    accept(journal, damage(journal), **WHO)
    turn(journal, 20)
    journal.close()
    edited(home, later)
    journal = opened(home)
    assert journal.verify(whole=True).kind in ("forged", "missing-key")
    accept(journal, damage(journal), **WHO)                     # and that can be accepted as well
    assert journal.verify(whole=True).ok
    journal.close()


def test_what_was_not_seen_is_not_accepted(home):
    spoilt(home, "changed")
    journal = opened(home)
    seen = damage(journal)
    edited(home, "UPDATE chain SET body = '{}' WHERE seq = 11")
    with pytest.raises(JournalError, match="not as it was shown"): accept(journal, seen, **WHO)
    assert journal.verify(whole=True).kind == "forged" and journal.records(kinds=["accept"]) == []
    journal.close()


def test_what_was_accepted_can_be_erased_and_kept_as_a_backup(home):
    spoilt(home, "junk")
    journal = opened(home)
    accept(journal, damage(journal), **WHO)
    turn(journal, 20)
    assert journal.erase(*journal.erasable(session="main")).records > 10 and journal.verify(whole=True).ok
    journal.close()
    journal = Journal.look(home / "journal.sqlite")
    assert journal.verify(whole=True).ok
    journal.close()


@pytest.mark.parametrize("moment", ["record", "end", "anchor"])
def test_an_end_in_the_middle_leaves_no_more_than_there_was(home, moment, monkeypatch):
    "An older copy was put back, and the process ends while that is being accepted."
    spoilt(home, "older")
    journal = opened(home)
    def stop(*args, **kwargs): raise KeyboardInterrupt
    if moment == "record": monkeypatch.setattr(journal, "write", stop)
    elif moment == "end": monkeypatch.setattr("passepartout.acceptance._end", stop)
    else: monkeypatch.setattr(journal, "anchor", stop)
    with pytest.raises(KeyboardInterrupt): accept(journal, damage(journal), **WHO)
    monkeypatch.undo()
    journal.db.close()                                          # as if it had been killed
    journal = opened(home)
    assert journal.checked.kind == "cut-off" and lasting(journal) == [[], [], []]
    accept(journal, damage(journal), **WHO)
    assert journal.verify(whole=True).ok and lasting(journal) == [[], [], []]
    journal.close()


def test_what_cannot_be_read_is_not_accepted(home):
    edited(home, "UPDATE chain SET body = CAST(x'ff00ff' AS TEXT) WHERE seq = 4")
    journal = opened(home)
    with pytest.raises(JournalError, match="cannot be read"): damage(journal)
    journal.close()


# At the terminal -------------------------------------------------------------------------------------------------------

def command(tmp_path, *words, typed=None, true=False):
    "A command line, at a terminal of its own when something is `typed`: its exit code and what it says. Forked, or as a `true` process of its own."
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "MEMEX_DIR": str(tmp_path / "notes"), "PYTHONDONTWRITEBYTECODE": "1"}
    if typed is None:
        done = warm()(words, env, tmp_path, b"accept the break at record 2\n", False)
        return done.returncode, (done.stdout + done.stderr).decode()
    lead, follow = pty.openpty()
    said = []
    def listen():
        try:
            while part := os.read(lead, 4096): said.append(part)
        except OSError: pass
    reader = threading.Thread(target=listen, daemon=True)
    reader.start()
    try:
        os.write(lead, typed.encode() + b"\n")
        if true: code = subprocess.run([sys.executable, "-m", "passepartout", *words], env=env, stdin=follow, stdout=follow, stderr=follow, timeout=PATIENCE).returncode
        else: code = warm().run(words, env, [os.ttyname(follow)] * 3)
    finally:
        os.close(follow)
        reader.join(PATIENCE)
        os.close(lead)
    return code, b"".join(said).decode()


@pytest.mark.slow
def test_a_person_accepts_it_at_a_terminal_and_nobody_else_does(tmp_path):
    (tmp_path / "notes").mkdir()
    assert command(tmp_path, "ask", "note: milk")[0] == 0
    (path,) = (tmp_path / "state").rglob("journal.sqlite")
    assert command(tmp_path, "journal", "accept", typed="yes")[0] == 0                         # there is nothing to accept
    with sqlite3.connect(path) as db: db.execute("UPDATE chain SET turn = 'x' WHERE seq = 2")
    db.close()
    code, told = command(tmp_path, "trace", "--verify")
    assert code == 3 and "passepartout journal accept" in told
    code, told = command(tmp_path, "journal", "accept")                                        # the right words, through a pipe
    assert code == 2 and "at a terminal" in told
    assert command(tmp_path, "journal", "accept", "--json", typed="accept the break at record 2")[0] == 2
    for typed in ("yes", "", "accept the break at record 3"):
        code, told = command(tmp_path, "journal", "accept", typed=typed)
        assert code == 1 and "Nothing was accepted" in told and "record 2" in told
    assert command(tmp_path, "trace", "--verify")[0] == 3
    journal = Journal.open(path)                                                               # a chat is open
    code, told = command(tmp_path, "journal", "accept", typed="accept the break at record 2")
    assert code == 5 and "has the record open" in told
    journal.close()
    code, told = command(tmp_path, "journal", "accept", typed="Accept the break at record 2.", true=True)
    assert code == 0 and "holds again" in told
    code, told = command(tmp_path, "trace", "--verify", "--json")
    assert code == 0 and json.loads(told)["accepted"][0]["body"]["problem"].startswith("Record 2 was damaged")


def test_no_message_of_a_client_and_no_tool_leads_there():
    import passepartout.serving.requests as requests
    from passepartout.agent import Agent
    from pathlib import Path
    assert "accept" not in Agent.bare().tools and not any("acceptance" in path.read_text() for path in Path(requests.__file__).parent.rglob("*.py") if path.name not in ("acceptance.py", "auditcommands.py", "breaks.py", "_modidx.py", "ledger.py"))
