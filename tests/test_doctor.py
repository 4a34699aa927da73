"The doctor on installations that are really broken: modes, keys, pages, rules, processes, links, servers"
import http.server, json, os, shutil, sqlite3, stat, subprocess, sys, threading, time
from pathlib import Path

import pytest

import passepartout

from conftest import thinned
from passepartout.checkup.recordcheck import left_behind
from passepartout.checkup.rights import close_off
import test_cli

forks, home = test_cli.forks, test_cli.home         # fixtures

ROOT = os.geteuid() == 0


def doctor(home, *args, **options):
    done = home("doctor", "--memex", home.memex, "--json", *args, **options)
    told = json.loads(done.stdout)
    assert done.returncode == {"healthy": 0, "degraded": 1, "unhealthy": 5}[told["health"]]
    return told


def of(told, check): return [f for f in told["findings"] if f["check"] == check]


def files(folder): return {p.relative_to(folder).as_posix(): (stat.S_IMODE(p.lstat().st_mode), p.read_bytes() if p.is_file() else b"") for p in sorted(folder.rglob("*")) if not p.name.startswith(".std") and not p.name.endswith(("-wal", "-shm"))}


@pytest.fixture
def used(home):
    assert home.ask("what is due this week?").returncode == 0
    return home


def test_a_new_installation_is_looked_at_and_nothing_is_made(home):
    before = files(home.folder)
    told = doctor(home)
    assert [f for f in told["findings"] if f["check"] not in ("agent", "sandbox")] == [] and any("no record yet" in f["text"] for f in told["facts"])
    assert files(home.folder) == before


def test_looking_changes_nothing_in_state(used):
    before = files(used.state)
    told = doctor(used)
    assert any("audit chain holds" in f["text"] for f in told["facts"]) and of(told, "journal") == []
    assert files(used.state) == before


@pytest.mark.slow
def test_json_has_the_same_fields_always_and_people_get_the_command(used):
    told = doctor(used)
    assert list(told) == ["health", "findings", "facts", "mended"] and all(list(f) == ["check", "text"] for f in told["facts"])
    (used.memex / "bad.org").write_text("* a\n:PROPERTIES:\n:ID: same\n:END:\n* b\n:PROPERTIES:\n:ID: same\n:END:\n#+begin_example\n:ID: other\n:ID: other\n#+end_example\n")
    said = used("doctor", "--memex", used.memex).stdout
    assert "same at bad.org:1, bad.org:5" in " ".join(said.split()) and "other" not in said and "→" in said and "\x1b" not in said


@pytest.mark.slow
def test_what_others_may_read_is_closed_and_what_they_may_write_is_left(used):
    key, folder = used.journal.with_suffix(".key"), used.journal.parent
    key.chmod(0o644); folder.chmod(0o755); used.journal.chmod(0o640)
    told = doctor(used)
    assert told["health"] == "unhealthy" and {f["what"].rpartition("/")[2] for f in of(told, "files") if f["mendable"]} >= {"journal.key.", "journal.sqlite."}
    told = doctor(used, "--fix")
    assert len(told["mended"]) >= 3 and of(told, "files") == [] and [stat.S_IMODE(p.stat().st_mode) for p in (key, folder, used.journal)] == [0o600, 0o700, 0o600]
    key.chmod(0o602)
    told = doctor(used, "--fix")
    assert stat.S_IMODE(key.stat().st_mode) == 0o602 and told["health"] == "unhealthy" and not any(f["mendable"] for f in of(told, "files"))


@pytest.mark.slow
def test_settings_that_everybody_may_write_to_are_not_followed(used):
    folder = used.folder / "config" / "passepartout"
    folder.mkdir(parents=True)
    (settings := folder / "settings.ini").write_text("[permissions]\norg-capture = allow\n")
    for mode, code in ((0o644, 0), (0o646, 5)):
        settings.chmod(mode)
        done = used.ask("todo: buy stamps")
        assert done.returncode == code and ("chmod go-w" in done.stderr) == (code == 5), done.stderr
    told = doctor(used)
    assert told["health"] == "unhealthy" and "chmod go" in str(told["findings"])


@pytest.mark.slow
def test_secrets_are_not_told(used):
    config = used.folder / "config" / "passepartout"
    config.mkdir(parents=True)
    (config / ".env").write_text("ANTHROPIC_API_KEY=sk-ant-a-very-secret-key-indeed\n"); (config / ".env").chmod(0o644)
    done = used("doctor", "--memex", used.memex, "--json")
    assert "very-secret" not in done.stdout + done.stderr and any(".env" in f["what"] and f["mendable"] for f in json.loads(done.stdout)["findings"])


@pytest.mark.slow
def test_a_lost_key_stays_lost(used):
    used.journal.with_suffix(".key").unlink()
    before = files(used.state)
    told = doctor(used, "--fix")
    assert "key" in of(told, "journal")[0]["what"] and "makes a new one" in of(told, "journal")[0]["why"] and told["health"] == "unhealthy" and files(used.state) == before


@pytest.mark.parametrize("harm, word", thinned([
    (lambda j: j.write_bytes(b"nonsense" * 500), "not a journal"),
    (lambda j: _sql(j, "UPDATE chain SET body = replace(body, 'due', 'hue')"), "does not hold"),
    (lambda j: _sql(j, "DELETE FROM chain WHERE seq > 1"), "does not hold"),
    (lambda j: j.write_bytes(b""), "no journal"),
    (lambda j: j.with_suffix(".anchor").write_text("{}"), "does not hold"),
    (lambda j: _sql(j, "CREATE TRIGGER t AFTER INSERT ON chain BEGIN SELECT 1; END"), "trigger")], 2))
def test_a_damaged_journal_is_told_and_left_as_it_is(used, harm, word):
    for log in used.journal.parent.glob("*-wal"): log.unlink()
    harm(used.journal)
    told = doctor(used, "--fix")
    assert told["health"] == "unhealthy" and word in of(told, "journal")[0]["what"], told["findings"]
    assert {name for name in [f["check"] for f in told["facts"]]} >= {"python", "index", "notes"}


def _sql(path, sql):
    db = sqlite3.connect(path); db.execute(sql); db.commit(); db.close()


@pytest.mark.slow
def test_a_clock_that_went_back(used):
    _, state = used, used.journal
    from passepartout.journal import Journal
    journal = Journal.open(state, clock=lambda: time.time() + 7200)
    batch = journal.batch("main", "t"); batch.record("note", {"text": "later"}); batch.commit_now(); journal.close()
    assert "clock" in of(doctor(used), "journal")[0]["what"]


@pytest.mark.slow
def test_a_damaged_index_is_made_anew_only_when_asked(used):
    index = next((used.folder / "cache").glob("passepartout/*/index.sqlite"))
    for log in index.parent.glob("*-*"): log.unlink()
    data = bytearray(index.read_bytes()); data[100:8000] = b"\xff" * 7900; index.write_bytes(data)
    damaged = index.read_bytes()
    told = doctor(used)
    assert "damaged" in of(told, "index")[0]["what"] and told["health"] == "degraded" and index.read_bytes() == damaged
    assert any("2 files" in f["text"] for f in told["facts"])
    told = doctor(used, "--fix")
    assert of(told, "index") == [] and any("anew" in m for m in told["mended"])


@pytest.mark.slow
def test_locks_of_the_dead_are_removed_and_those_of_the_living_stay(used):
    child = used.start("ask", "--memex", used.memex, "think", env=used.script("!sleep 50\nnever"))
    owners = used.journal.with_suffix(".owners")
    until = time.monotonic() + 20
    while not list(owners.glob("*")) and time.monotonic() < until: time.sleep(0.02)
    alive, = owners.glob("*")
    while os.utime(alive, (0, 0)) or left_behind(alive) and time.monotonic() < until: time.sleep(0.02)          # it is made first and locked a moment later
    (owners / "dead").touch(); os.utime(owners / "dead", (0, 0)); (owners / "young").touch()
    assert left_behind(owners / "dead") and not left_behind(alive) and not left_behind(owners / "young")
    told = doctor(used, "--fix")
    assert sorted(p.name for p in owners.iterdir()) == sorted([alive.name, "young"]) and len(told["mended"]) == 1
    child.kill(); child.communicate(timeout=20)
    assert left_behind(alive)


@pytest.mark.slow
@pytest.mark.parametrize("name, text", [("settings.ini", b"gate_timeout_s = soon\n"), ("rules.ini", b"[one]\ntier = maybe\n"), ("rules.org", b"\xff\xfe\xff")])
def test_settings_and_rules_that_are_wrong(home, name, text):
    config = home.folder / "config" / "passepartout"
    config.mkdir(parents=True); (config / name).write_bytes(text)
    told = doctor(home)
    assert any(name in f["what"] for f in told["findings"]) and told["health"] != "healthy"


def test_without_notes_without_settings(home):
    told = doctor(home, "--memex", home.folder / "gone", "--fix")
    assert told["health"] == "unhealthy" and "does not exist" in of(told, "agent")[0]["what"] and not (home.folder / "gone").exists()
    config = home.folder / "config" / "passepartout"
    (config / "settings.ini").mkdir(parents=True)
    told = doctor(home)
    assert "settings" in of(told, "agent")[0]["what"] and {"python", "sqlite"} >= {f["check"] for f in told["facts"]} - {"sandbox", "rules"}


def test_notes_in_trouble(home):
    (home.memex / "binary.org").write_bytes(b"\0\1\2" * 99)
    (home.memex / "latin.org").write_bytes("* Größe\n".encode("latin-1"))
    (home.memex / "a.sync-conflict-20260101-120000.org").write_text("* A\n")
    (home.memex / "b\x1b[2J.org").write_text("* <2026-02-30 Mon>\n")
    told = doctor(home)
    text = " ".join(f["what"] for f in of(told, "notes"))
    assert told["health"] == "degraded" and all(word in text for word in ("binary.org", "latin.org", "conflict")) and "\x1b" not in home("doctor", "--memex", home.memex).stdout


@pytest.mark.slow
def test_a_provider_that_is_not_there_and_one_that_refuses_the_key(home):
    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_GET(self): seen.append(self.path); self.send_response(401); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
        def log_message(self, *args): pass
    seen, server = [], http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        env = {"PROVIDER_CASCADE": "near,off,reflex", "PASSEPARTOUT_PROVIDER_URLS": f"near=http://127.0.0.1:{server.server_port}/v1,off=http://127.0.0.1:9/v1"}
        told = doctor(home, env=env)
    finally: server.shutdown(); server.server_close()
    assert seen == ["/v1/models"] and ["near" in f["what"] or "off" in f["what"] for f in of(told, "models")] == [True, True] and told["health"] == "degraded"
    assert not any(end in f["what"] for f in of(told, "models") for end in ("?.", "..", "!."))


def test_links_and_strangers_are_not_followed(tmp_path):
    secret = tmp_path / "secret"; secret.write_text("x"); secret.chmod(0o644)
    (tmp_path / "link").symlink_to(secret)
    with pytest.raises(OSError): close_off(tmp_path / "link")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o644
    if ROOT:
        os.chown(secret, 12345, 12345)
        with pytest.raises(OSError): close_off(secret)


@pytest.mark.slow
def test_a_true_process(home):
    done = home("doctor", "--memex", home.memex, true=True)
    assert done.stdout.splitlines()[-1].startswith("Health:")


@pytest.mark.slow
@pytest.mark.parametrize("harm", [lambda gate: gate.unlink(), lambda gate: gate.write_text("def broken(:\n"), lambda gate: gate.write_text("raise RuntimeError('boom')\n")])
def test_an_installation_that_lost_a_gate_starts_nothing_and_says_so(home, harm):
    there = home.folder / "site"
    shutil.copytree(Path(passepartout.__file__).parent, there / "passepartout", ignore=shutil.ignore_patterns("__pycache__", "sample"))
    harm(there / "passepartout" / "gates" / "network.py")
    run = lambda *args: subprocess.run([sys.executable, "-m", "passepartout", *args, "--memex", str(home.memex)], env=home.env | {"PYTHONPATH": str(there)}, cwd=home.folder, capture_output=True, text=True, timeout=120)
    told = json.loads(run("doctor", "--json").stdout)
    assert told["health"] == "unhealthy" and "A mandatory gate cannot be loaded" in str(told["findings"])
    for words in (("ask", "todo: buy stamps"), ("capture", "stamps"), ("daemon",)):
        done = run(*words)
        assert done.returncode == 5 and "A mandatory gate cannot be loaded" in done.stderr and "unexpected" not in done.stderr, done.stderr
    assert (home.memex / "inbox.org").read_text() == "* Inbox\n"


def test_what_obsidian_counts_as_a_task_otherwise_is_remarked(home):
    plugin = home.memex / ".obsidian" / "plugins" / "obsidian-tasks-plugin" / "data.json"
    plugin.parent.mkdir(parents=True)
    plugin.write_text('{"globalFilter": "#task", "statusSettings": {"coreStatuses": [{"symbol": "x", "type": "DONE"}], "customStatuses": [{"symbol": "k", "type": "TODO"}, {"symbol": "/", "type": "IN_PROGRESS"}]}}')
    found = of(doctor(home), "notes")
    assert [each["severity"] for each in found] == ["note", "note"] and "#task" in found[0]["what"] and "[k]" in found[1]["what"] and "[/]" not in found[1]["what"], found
    for broken in ("", "[]", '{"globalFilter": ""}', '{"statusSettings": {"customStatuses": [1]}}', "[" * 100_000):
        plugin.write_text(broken)
        assert of(doctor(home), "notes") == [], broken


def instead(path, kind):
    "Something else in the place of a file of ours."
    path.unlink()
    if kind == "pipe": os.mkfifo(path)
    elif kind == "folder": path.mkdir()
    else: path.symlink_to("/nowhere/at/all")


@pytest.mark.parametrize("name, kind", [("journal.sqlite", "pipe"), ("journal.sqlite", "link"), ("journal.sqlite", "folder"), ("journal.key", "link"), ("jobs.sqlite", "pipe"), ("jobs.sqlite", "folder"), ("index.sqlite", "pipe"), ("index.sqlite", "folder"), ("index.sqlite", "link")])
def test_what_is_no_file_is_said_and_nobody_waits_for_it(used, name, kind):
    "A pipe in the place of a file would be waited for, and not even Ctrl-C ends that."
    used("jobs", "run", "agenda", "--memex", used.memex)
    path, = used.folder.rglob(name)
    instead(path, kind)
    for words in (["ask", "todo: call Ana"], ["jobs"], ["doctor"]):
        done = subprocess.run([sys.executable, "-m", "passepartout", *words, "--memex", str(used.memex)], env=used.env, capture_output=True, text=True, timeout=30)
        assert "Traceback" not in done.stdout + done.stderr and "unexpected" not in done.stdout + done.stderr and done.returncode in (0, 1, 5), (words, done.stderr)
        if words == ["doctor"] and name != "jobs.sqlite": assert done.returncode in (1, 5) and name in "".join(done.stdout.split()), done.stdout
        if words[0] == "ask" and name == "index.sqlite": assert done.returncode == 0


def test_a_record_that_was_exchanged_under_a_daemon_is_told(used):
    from passepartout.journal import Journal
    held = Journal.open(used.journal)
    try:
        copy = used.folder / "copy.sqlite"
        shutil.copy(used.journal, copy)
        os.replace(copy, used.journal)
        told = doctor(used)
        assert told["health"] == "unhealthy" and "is another file than the one that process" in str(of(told, "journal"))
    finally: held.close()


def test_a_default_actuator_that_is_not_there_is_told(used):
    assert "DEFAULT_ACTUATOR" not in used("doctor").stdout
    told = used("doctor", env={"DEFAULT_ACTUATOR": "nobody"}).stdout
    assert "There is no actuator nobody, which DEFAULT_ACTUATOR names." in " ".join(told.split()) and "cli" in told, told
