"A backup is of one moment while others write; what is put back brings no powers with it; a hostile archive gets nothing anywhere"
import gzip, hashlib, io, json, os, sqlite3, stat, subprocess, sys, tarfile, tempfile, time
from pathlib import Path

import pytest

from conftest import thinned
from passepartout import backup as room
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.archive import LIST, ArchiveError, ArchiveReader
from passepartout.backup import NAMES, backup, look_into, restore, scratch
from passepartout.conditions import PassepartoutError
from passepartout.journal import Journal
from passepartout.settings import load_settings
from waits import away, next_line, says, status


CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "milk") :EXPLANATION "You asked me to remember the milk."))'


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.org").write_text("* Roof\n")
    return load_settings({"memex_dir": tmp_path / "notes", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config"}, environ={"HOME": str(tmp_path)})


def write(journal, text="hello", session="main"):
    batch = journal.batch(session, os.urandom(6).hex())
    batch.record("turn", {"text": text})
    batch.record("answer", {"text": "yes", "status": "answered"})
    batch.commit_now()


def journal_of(settings):
    settings.journal_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Journal.open(settings.journal_dir / "journal.sqlite")


def picture(folder): return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and "-shm" not in path.name and "-wal" not in path.name}


@pytest.mark.slow
def test_copies_made_while_others_write_are_each_of_one_moment(settings, tmp_path):
    journal_of(settings).close()
    code = f"""
import os, sys
from passepartout.journal import Journal
journal = Journal.open({str(settings.journal_dir / 'journal.sqlite')!r})
print("ready", flush=True)
n = 0
while True:
    batch = journal.batch("main", os.urandom(6).hex())
    batch.record("turn", {{"text": "x" * 300, "n": n}}); batch.record("answer", {{"text": "y", "n": n}})
    batch.commit_now(durable=n % 3 == 0)
    n += 1
"""
    writers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for each in writers: assert next_line(each) == "ready\n"
        seen = []
        for n in range(4):
            found = backup(settings, tmp_path / f"b{n}.tar.gz")
            seen.append(found.records)
            assert found.verdict.ok, found.verdict.problem
            with scratch(tmp_path / "look") as folder:
                again = look_into(tmp_path / f"b{n}.tar.gz", folder)
                kinds = [row[0] for row in sqlite3.connect(folder / "journal.sqlite").execute("SELECT kind FROM chain WHERE kind IN ('turn', 'answer')")]
                assert again.records == found.records and kinds.count("turn") == kinds.count("answer")
        assert seen == sorted(seen) and seen[-1] > seen[0]
    finally: away(*writers)


def test_a_record_with_everything_that_is_said_for_longer_is_backed_up_and_comes_back_without_it(settings, tmp_path):
    "Indexes are made with the first record of a kind, so a journal that has them is one all the same."
    from passepartout.consent.attestations import Attestation, Attestations
    from passepartout.consent.endorsements import ALWAYS, Endorsement, Endorsements
    from passepartout.consent.grants import Grant, Grants
    from passepartout.plans.plandesk import PlanBook
    from passepartout.plans.planstate import index_plans
    def standing(journal): return len(Grants(journal).standing()) + len(Endorsements(journal).standing()) + len(Attestations(journal).standing()) + len(PlanBook(journal).read())
    journal = journal_of(settings)
    write(journal)
    Grants(journal).give(Grant("write-file", "main", time.time() + 900), "a1", "person")
    Endorsements(journal).give(Endorsement("pay", "to", '"Ana"', "main", ALWAYS), "person")
    Attestations(journal).give(Attestation("mail-search", "each.id", ""), "person")
    batch = journal.batch("main", "t")
    batch.change(index_plans)
    batch.record("plan", {"plan": "p1", "steps": [], "explanation": "", "said": [], "planned": "", "approved": False, "declared": []})
    batch.commit_now()
    assert standing(journal) == 4
    assert backup(settings, tmp_path / "b.tar.gz").verdict.ok
    journal.close()
    assert restore(settings, tmp_path / "b.tar.gz", lambda *told: True)
    journal = journal_of(settings)
    assert standing(journal) == 0 and journal.verify(whole=True).ok
    journal.close()


@pytest.mark.slow
def test_a_backup_beside_a_daemon_and_back(settings, tmp_path):
    environ = {**{k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MEMEX", "PASSEPARTOUT"))}, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"),
               "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "MEMEX_DIR": str(tmp_path / "notes")}
    run = lambda *args, **more: subprocess.run([sys.executable, "-m", "passepartout", *args], env=environ, capture_output=True, text=True, timeout=120, **more)
    daemon = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon"], env=environ, stderr=subprocess.PIPE, text=True)
    try:
        says(daemon, "event=listening")
        assert run("ask", "todo: call the roofer").returncode == 0
        saved = run("backup", str(tmp_path / "b.tar.gz"))
        assert saved.returncode == 0 and stat.S_IMODE((tmp_path / "b.tar.gz").stat().st_mode) == 0o600
        assert run("ask", "todo: call the plumber").returncode == 0
        refused = run("restore", str(tmp_path / "b.tar.gz"), "--yes")
        assert refused.returncode == 5 and "daemon" in refused.stderr.lower()
        daemon.terminate()
        status(daemon)
    finally: away(daemon)
    done = run("restore", str(tmp_path / "b.tar.gz"), "--yes")
    assert done.returncode == 0, done.stderr
    verified = run("trace", "--verify")
    assert verified.returncode == 0 and "holds" in verified.stdout
    told = json.loads(run("trace", "-n", "9", "--json").stdout)
    texts = [r["body"].get("text") for turn in told for r in turn["records"] if r["kind"] == "turn"]
    assert texts == ["todo: call the roofer"]
    new = settings.journal_dir
    assert stat.S_IMODE(new.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in new.rglob("*") if path.is_file()} == {0o600}
    kept = [each for each in new.parent.iterdir() if ".before-" in each.name]
    assert len(kept) == 1 and (kept[0] / "journal.sqlite").exists()


async def test_an_approval_used_after_the_backup_is_not_there_again(settings, tmp_path):
    agent = await Agent.boot(settings, permissions={**settings.permissions, "org-capture": "ask"})
    register_backend(agent, "fake", lambda prompt, system, model=None: CAPTURE)
    agent.provider_cascade = ("fake",)
    reply = await agent.handle("please remember the milk")
    assert reply.approvals
    backup(settings, tmp_path / "b.tar.gz")
    row = reply.approvals[0]
    await agent.approve(row.id, row.code)
    await agent.close()
    assert restore(settings, tmp_path / "b.tar.gz", lambda *a: True) is not None
    again = await Agent.boot(settings)
    try:
        with pytest.raises(PassepartoutError): await again.approve(row.id, row.code)
        assert again.pending(source="cli") == [] and again.journal.verify(whole=True).ok
    finally: await again.close()


def test_a_restore_that_is_cut_off_leaves_the_old_state_or_the_new_one(settings, tmp_path, monkeypatch):
    journal = journal_of(settings)
    write(journal)
    journal.close()
    backup(settings, tmp_path / "b.tar.gz")
    journal = journal_of(settings)
    write(journal, "later")
    journal.close()
    before = picture(settings.journal_dir)
    def full(*args): raise OSError(28, "No space left on device")
    monkeypatch.setattr(room, "exchange", full)
    with pytest.raises(OSError): restore(settings, tmp_path / "b.tar.gz", lambda *a: True)
    assert {k: v for k, v in picture(settings.journal_dir).items() if k != "daemon.lock"} == before
    assert [each.name for each in settings.journal_dir.parent.iterdir()] == [settings.journal_dir.name]


def test_into_an_empty_state_nothing_is_kept(settings, tmp_path):
    journal = journal_of(settings)
    write(journal)
    journal.close()
    backup(settings, tmp_path / "b.tar.gz")
    settings.journal_dir.rename(tmp_path / "away")
    assert restore(settings, tmp_path / "b.tar.gz", lambda *a: True) is None
    assert [each.name for each in settings.journal_dir.parent.iterdir()] == [settings.journal_dir.name]


def archive(*members, told=None, raw=b""):
    "A foreign archive: (name, bytes) or a TarInfo with its bytes."
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb") as out:
        rows = {name: body for name, body in members if isinstance(name, str)}
        listing = json.dumps(told if told is not None else {"format": 1, "members": {name: {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()} for name, body in rows.items()}}).encode()
        for name, body in ((LIST, listing), *members):
            head = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if not isinstance(name, tarfile.TarInfo) or head.isreg(): head.size = len(body)
            out.write(head.tobuf(tarfile.GNU_FORMAT) + body + bytes(-len(body) % 512))
        out.write(raw or bytes(1024))
    return data.getvalue()


def info(name, kind, link=""):
    head = tarfile.TarInfo(name)
    head.type, head.linkname = kind, link
    return head


def listing(*members): return {"format": 1, "members": {name: {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()} for name, body in members}}


HOSTILE = {          # g: the members of a backup that is in order
    "above": lambda g: archive(*g, ("../evil", b"x")), "absolute": lambda g: archive(*g, ("/tmp/evil", b"x")), "hidden above": lambda g: archive(*g, ("flight-plans/../../evil.org", b"x")),
    "odd name": lambda g: archive(*g, ("history\0/../x", b"")), "a line": lambda g: archive(*g, ("history\n", b"")), "unlisted above": lambda g: archive(*g, ("../evil", b"x"), told=listing(*g)),
    "a link": lambda g: archive(*g, (info("history", tarfile.SYMTYPE, "/etc"), b""), told=listing(*g, ("history", b""))),
    "a hard link": lambda g: archive(*g, (info("history", tarfile.LNKTYPE, "/etc/passwd"), b""), told=listing(*g, ("history", b""))),
    "a device": lambda g: archive(*g, (info("history", tarfile.CHRTYPE), b""), told=listing(*g, ("history", b""))),
    "a folder": lambda g: archive(*g, (info("history", tarfile.DIRTYPE), b""), told=listing(*g, ("history", b""))),
    "a pipe": lambda g: archive(*g, (info("history", tarfile.FIFOTYPE), b""), told=listing(*g, ("history", b""))),
    "a long name": lambda g: archive(*g, (info("history", tarfile.GNUTYPE_LONGNAME), b""), told=listing(*g, ("history", b""))),
    "unlisted": lambda g: archive(*g, ("history", b"k"), told=listing(*g)), "twice": lambda g: archive(*g, ("history", b"a"), ("history", b"a")), "missing": lambda g: archive(*g, told=listing(*g, ("history", b""))),
    "other bytes": lambda g: archive(*g, ("history", b"b"), told=listing(*g, ("history", b"a"))), "longer": lambda g: archive(*g, ("history", b"bb"), told=listing(*g, ("history", b"b"))),
    "a terabyte": lambda g: archive(*g, told={"format": 1, "members": {**listing(*g)["members"], "history": {"size": 10 ** 13, "sha256": ""}}}),
    "below zero": lambda g: archive(*g, told={"format": 1, "members": {**listing(*g)["members"], "history": {"size": -1, "sha256": ""}}}),
    "no list": lambda g: archive(*g, told=[1]), "nonsense": lambda g: os.urandom(2000), "empty": lambda g: b"", "cut off": lambda g: archive(*g)[:-200], "a list in a list": lambda g: archive(*g, told={"format": 1, "members": {"history": [1]}}),
    "deep": lambda g: gzip.compress(b"[" * 200_000), "another format": lambda g: archive(*g, told=listing(*g) | {"format": 99}), "no key": lambda g: archive(*[each for each in g if each[0] != "journal.key"]),
    "another key": lambda g: archive(*[(name, os.urandom(32) if name == "journal.key" else body) for name, body in g]),
    "no database": lambda g: archive(*[(name, b"SQLite format 3\0" + os.urandom(5000) if name == "journal.sqlite" else body) for name, body in g]),
    "another table": lambda g: archive(*[(name, with_statement(body, "ALTER TABLE meta ADD COLUMN more TEXT DEFAULT 1") if name == "journal.sqlite" else body) for name, body in g]),
    "a trigger": lambda g: archive(*[(name, with_statement(body, "CREATE TRIGGER t AFTER INSERT ON chain BEGIN DELETE FROM chain; END") if name == "journal.sqlite" else body) for name, body in g]),
    "a record less": lambda g: archive(*[(name, with_statement(body, "DELETE FROM chain WHERE seq = 1") if name == "journal.sqlite" else body) for name, body in g]),
}


def with_statement(body, statement):
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        db = sqlite3.connect(file.name)
        db.execute(statement)
        db.commit()
        db.close()
        return Path(file.name).read_bytes()


def members_of(path):
    with tarfile.open(path) as found: return [(each.name, found.extractfile(each).read()) for each in found.getmembers() if each.name != LIST]


@pytest.mark.parametrize("name", thinned(HOSTILE, 4))
def test_a_hostile_archive_changes_nothing(name, settings, tmp_path):
    journal = journal_of(settings)
    write(journal)
    journal.close()
    backup(settings, tmp_path / "good.tar.gz")
    good = members_of(tmp_path / "good.tar.gz")
    (tmp_path / "b.tar.gz").write_bytes(HOSTILE[name](good))
    before = picture(tmp_path)
    with scratch(tmp_path / "look") as folder: assert look_into(tmp_path / "good.tar.gz", folder).records == 2
    with pytest.raises(PassepartoutError): restore(settings, tmp_path / "b.tar.gz", lambda *a: True)
    assert picture(tmp_path) == before and not Path("/tmp/evil").exists()


def test_every_byte_that_is_changed_is_noticed(settings, tmp_path):
    journal = journal_of(settings)
    write(journal)
    journal.close()
    backup(settings, tmp_path / "b.tar.gz")
    plain = gzip.decompress((tmp_path / "b.tar.gz").read_bytes())
    for at in range(0, len(plain) - 1024, 997):
        changed = bytearray(plain)
        changed[at] ^= 1
        (tmp_path / "c.tar.gz").write_bytes(gzip.compress(bytes(changed), 1))
        try:
            with scratch(tmp_path / "look") as folder: found = look_into(tmp_path / "c.tar.gz", folder)
        except PassepartoutError: continue
        # what may differ are words of the list that say nothing about the members, and unused fields of a header
        assert found.verdict.ok and found.records == 2


def test_a_pipe_or_folder_in_place_of_a_backup_does_not_hang(settings, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for bad in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(PassepartoutError): restore(settings, bad, lambda *a: True)


def test_the_list_is_read_within_bounds():
    many = archive(told={"format": 1, "members": {f"flight-plans/{n:x}.org": {"size": 0, "sha256": ""} for n in range(20_000)}})
    with pytest.raises(ArchiveError): ArchiveReader(io.BytesIO(many), NAMES)


def test_a_list_that_is_nested_without_end_is_no_list():
    head = tarfile.TarInfo(LIST)
    head.size = 100_000
    with pytest.raises(ArchiveError, match="cannot be read"): ArchiveReader(io.BytesIO(gzip.compress(head.tobuf(tarfile.GNU_FORMAT) + b"[" * 100_000 + bytes(2_000))), NAMES)


def test_a_backup_that_is_not_used_leaves_the_record_and_says_so(settings, tmp_path):
    from typer.testing import CliRunner
    from passepartout.terminal.program import build_app
    write(journal := journal_of(settings)); journal.close()
    before = picture(settings.journal_dir)
    (tmp_path / "bad").write_bytes(gzip.compress(b"no backup"))
    env = {"XDG_STATE_HOME": str(settings.state_dir), "MEMEX_DIR": str(settings.memex_dir), "XDG_CONFIG_HOME": str(tmp_path / "c"), "XDG_CACHE_HOME": str(tmp_path / "k")}
    said = CliRunner().invoke(build_app(), ["restore", str(tmp_path / "bad"), "--yes"], env=env)
    assert said.exit_code == 5 and "The record that is here was left as it is." in " ".join(said.output.split()) and picture(settings.journal_dir) == before, said.output


@pytest.mark.parametrize("where", ["the backup", "the state"])
def test_a_name_that_no_database_can_be_given_is_told_in_a_sentence(settings, tmp_path, where):
    write(journal := journal_of(settings)); journal.close()
    odd = os.fsdecode(bytes([98, 0x9B]))
    target = tmp_path / (odd if where == "the backup" else "there") / "b.tar.gz"
    target.parent.mkdir()
    if where == "the state":
        (moved := tmp_path / odd).mkdir(mode=0o700)
        os.rename(tmp_path / "state", moved / "state")
        settings = load_settings({"memex_dir": tmp_path / "notes", "state_dir": moved / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config"}, environ={"HOME": str(tmp_path)})
        assert backup(settings, target).verdict.ok                  # only what is written is named to the database
    else:
        with pytest.raises(ArchiveError, match="Choose another"): backup(settings, target)
        assert not list(target.parent.iterdir())
