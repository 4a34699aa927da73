"What the journal must stand: odd bodies, bad files, full disks, other writers, interrupts, ended loops, thousands of turns."
import asyncio, contextlib, errno, gc, json, os, sqlite3, subprocess, sys, threading

import pytest
from hypothesis import given, settings, strategies as st
from conftest import examples
from passepartout.databases import open_private
from passepartout.storage import journalfile as file_room
from passepartout.storage.chain import START, check, encode_body, head_of, keyed, seal
from passepartout.storage.store import Draft, Store
from passepartout.journal import ApprovalGone, Journal, JournalBusy, JournalError
from passepartout.redaction.recordtexts import new_texts, strings_in
from waits import away, ended, heard, next_line, status


@pytest.fixture
def journal(tmp_path):
    opened = Journal.open(tmp_path / "journal.db")
    yield opened
    opened.close()


def noted(journal, turn="t", **body):
    batch = journal.batch("main", turn)
    batch.record("note", body)
    return batch


# Records

texts = st.text(st.characters(exclude_categories=()), max_size=40)
values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
                      lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(texts, values, max_size=5))
def test_any_body_is_read_as_it_was_written(body):
    journal = Journal.open(":memory:", key=b"k" * 32)
    noted(journal, **{"body": body}).commit_now()
    assert journal.records()[0]["body"] == {"body": body}
    assert journal.verify(whole=True)
    journal.close()


odd = st.sampled_from([b"bytes", os, {1, 2}, range(3), 1 << 63, -(1 << 63), float("inf"), float("nan"), 1e-7, 1e22, type("Text", (str,), {})("a"), type("Number", (int,), {})(5), {1: 2}, {None: 1}, {("a",): 1}])

@settings(max_examples=examples(200), deadline=None)
@given(st.dictionaries(texts, values | odd | st.lists(odd | values, max_size=3), max_size=5), st.sets(texts, max_size=3))
def test_the_quick_writer_says_what_the_thorough_one_says_of_all_that_it_is_given(body, known):
    def written(*how):
        try: text, raw = encode_body(*how)
        except JournalError as problem: return str(problem)
        assert raw == text.encode()
        return repr(json.loads(text))
    found, plain = new_texts(body, clean := {*body, *known})
    assert found == [text for text in strings_in(body) if text not in clean]
    assert not plain or written(body, True) == written(body)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(texts, st.floats(allow_nan=False)), min_size=1, max_size=6), texts.filter(lambda t: t.isascii()), st.data())
def test_a_chain_accepts_its_own_rows_and_no_others(records, name, data):
    mac = keyed(b"k")
    drafts = [(kind.encode("utf-8", "replace").decode(), at, *encode_body({"n": n})) for n, (kind, at) in enumerate(records)]
    drafts = [draft for draft in drafts if draft[0] not in ("key", "erase")]
    rows = seal(mac, 0, START, name, name[::-1], drafts) if drafts else []
    assert check(mac, rows).ok
    if len(rows) > 1:
        cut = data.draw(st.integers(0, len(rows) - 2))
        assert not check(mac, rows[:cut] + rows[cut + 1:]).ok
        assert head_of(rows) == rows[-1][6][:32]


def test_odd_bodies_and_names(journal):
    class Odd(dict):
        pass
    batch = journal.batch("séance \udcff", "t\0")
    batch.record("note", Odd(a=(1, 2), b=Odd(c=object), d=b"bytes", e=float("inf"), f="\0", g="x" * 200_000))
    batch.commit_now()
    body = journal.records()[0]["body"]
    assert body["a"] == [1, 2] and body["f"] == "\0" and len(body["g"]) == 200_000 and body["e"] == float("inf")
    assert journal.verify(whole=True)
    circle = {}
    circle["self"] = circle
    for bad in (circle, {(1, 2): 3}):
        with pytest.raises(JournalError, match="plain values"):
            noted(journal, bad=bad)


def test_kinds_that_keep_tables_in_step_have_methods(journal):
    batch = journal.batch("main", "t")
    for kind in ("intent", "outcome", "ask", "approval", "memory", "erase", "key"):
        with pytest.raises(JournalError, match="are made by"):
            batch.record(kind, {})
    with pytest.raises(JournalError, match="committed, failed or unknown"):
        batch.settle("e", "done")


def test_what_begins_and_ends_in_one_commit_is_one_row_and_keeps_its_rules(journal):
    def together(*steps):
        batch = journal.batch("main", "t")
        for effect, state in steps:
            if state == "started": batch.intend(effect, "h", "x", before=b"old")
            else: batch.settle(effect, state)
        batch.commit_now()

    together(("a", "started"), ("b", "started"), ("a", "committed"), ("c", "started"), ("c", "unknown"), ("c", "failed"))
    assert [journal.effect(each)["state"] for each in "abc"] == ["committed", "started", "failed"]
    assert journal.db.execute("SELECT id, settled FROM effects ORDER BY seq").fetchall() == [("a", 3), ("b", None), ("c", 6)]
    assert journal.effect("a")["before"] == b"old"
    together(("b", "committed"), ("d", "started"))
    assert journal.effect("b")["state"] == "committed" and journal.verify(whole=True)
    refused = [(("e", "started"), ("e", "committed"), ("e", "failed")), (("e", "started"), ("e", "unknown"), ("e", "unknown")), (("e", "started"), ("e", "started")),
               (("e", "started"), ("d", "started")), (("e", "started"), ("z", "failed"))]
    for steps in refused:
        with pytest.raises(JournalError): together(*steps)
        assert journal.seq == 8 and journal.effect("e") is None
    together(("e", "started"))
    assert journal.effect("e")["seq"] == 9 and journal.verify(whole=True)


@pytest.mark.parametrize("many", (1, 15, 16, 17, 33, 64))
def test_a_commit_of_many_records_is_written_whole_or_not_at_all(journal, many):
    noted(journal, n=-1).commit_now()
    batch = journal.batch("main", "t")
    for n in range(many): batch.record("note", {"n": n})
    spoil = [lambda store, seq, draft: store.execute("INSERT INTO chain VALUES (?, 'x', '', '', 0, '', x'')", (1 + many,))]
    batch.change(lambda *given: spoil and spoil.pop()(*given))
    with pytest.raises(JournalError, match="contradicts"): batch.commit_now()
    assert journal.seq == 1 == journal.db.execute("SELECT max(seq) FROM chain").fetchone()[0]
    batch.commit_now()
    assert [each["body"]["n"] for each in journal.records()] == [*range(-1, many)] and journal.verify(whole=True)


def test_turns_and_effects_have_their_names_from_one_place(journal):
    "So that what a turn writes into two indexes stands beside what the one before it wrote; by chance alone they would share their first digits once in 256 times."
    journal.drawn = 256 * 300 + 10
    names = [name for _ in range(100) for name in (journal.draw(), journal.batch("main", "t").draw(), journal.batch("main", "t").next().draw())]
    assert {name[:2] for name in names} == {"2c", "2d"} and len({name[2:] for name in names}) == len(names)
    journal.drawn = 256 * 256 - 1
    assert journal.draw()[:2] == "00"


def test_body_is_taken_when_recorded(journal):
    body = {"text": "first"}
    batch = journal.batch("main", "t")
    batch.record("note", body)
    body["text"] = "changed later"
    batch.commit_now()
    assert journal.records()[0]["body"] == {"text": "first"}


def test_reading(journal):
    for n in range(6):
        batch = journal.batch(f"s{n % 2}", f"t{n}")
        batch.record("turn", {"n": n}), batch.record("note", {"n": n}), batch.commit_now(False)
    assert [row["seq"] for row in journal.records(after=3, limit=2)] == [4, 5]
    assert [row["seq"] for row in journal.records(limit=3, newest=True)] == [12, 11, 10]
    assert [row["body"]["n"] for row in journal.records(session="s1", kinds=("note",))] == [1, 3, 5]
    assert [row["kind"] for row in journal.records(turn="t2")] == ["turn", "note"] and journal.records(turn="t") == []
    assert [row["turn"] for row in journal.turns("s0", limit=2)] == ["t4", "t2"]
    assert [(row["session"], row["first"], row["last"]) for row in journal.sessions()] == [("s1", 3, 12), ("s0", 1, 10)]


def test_a_jumping_clock_changes_nothing_but_the_times():
    times = iter([5e9, 100.0, -1e9, 4e9])
    journal = Journal.open(":memory:", clock=lambda: next(times))
    for n in range(4):
        noted(journal, n=n).commit_now()
    assert [row["body"]["n"] for row in journal.records()] == [0, 1, 2, 3] and journal.verify(whole=True)


def test_memory_rows(journal):
    batch = journal.batch("main", "t")
    for n in range(1200):
        batch.remember(f"o{n:04}", "1", "{}")
    batch.commit_now()
    batch = journal.batch("main", "t")
    batch.remember("o0001", "2", '{"new":1}'), batch.remember("o0002", "2", None), batch.remember("o0003", "2", "x"), batch.remember("o0003", "3", "y")
    batch.commit_now()
    rows = {id: (hash, body) for id, hash, body in journal.memory_rows()}
    assert len(rows) == 1199 and rows["o0001"] == ("2", '{"new":1}') and "o0002" not in rows and rows["o0003"] == ("3", "y")
    assert journal.checked and [row["body"]["count"] for row in journal.records(kinds=["memory"])] == [1200, 4]


# Batches

async def test_a_failing_batch_fails_alone(journal):
    first = journal.batch("main", "t0")
    first.intend("e", "h", "text"), first.commit_now()
    batches = [journal.batch("main", f"t{n}") for n in range(1, 6)]
    for n, batch in enumerate(batches):
        batch.record("note", {})
        {1: lambda: batch.intend("e", "h", "the same id"), 2: lambda: batch.consume("none", "h"), 3: lambda: batch.settle("none", "failed")}.get(n, lambda: 0)()
    results = await asyncio.gather(*(batch.commit() for batch in batches), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), JournalError, ApprovalGone, JournalError, type(None)]
    assert [row["turn"] for row in journal.records()] == ["t0", "t1", "t5"] and journal.verify(whole=True)


async def test_one_commit_for_all_that_ask_together(journal):
    async def talk(n):
        for step in range(5):
            await noted(journal, turn=f"{n}", step=step).commit(durable=n == 0)
    await asyncio.gather(*(talk(n) for n in range(40)))
    assert journal.commits == (5, 5) and journal.seq == 200


async def test_batches_cannot_be_written_twice(journal):
    batch = noted(journal)
    await asyncio.gather(batch.commit(), batch.commit())
    assert journal.seq == 1
    with pytest.raises(JournalError, match="written already"):
        batch.commit_now()
    await journal.batch("main", "empty").commit()
    assert journal.seq == 1


async def test_cancelled_waiters_lose_nothing(journal):
    batches = [noted(journal, n=n) for n in range(20)]
    tasks = [asyncio.ensure_future(batch.commit()) for batch in batches]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert journal.seq == 20 and all(batch.written for batch in batches)


def test_successive_loops(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")

    async def leave_behind():
        asyncio.ensure_future(noted(journal, turn="left").commit())
        await asyncio.sleep(0)
        asyncio.get_running_loop().stop()

    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.create_task(leave_behind())
        loop.run_forever()
        asyncio.run(noted(journal, turn="next").commit())
    left = noted(journal, turn="last").commit()
    left.send(None)
    journal.close()
    left.close()
    for task in asyncio.all_tasks(loop):
        task.get_coro().close()
    loop.close()
    journal = Journal.open(tmp_path / "journal.db")
    assert [row["turn"] for row in journal.records()].count("left") == 3 and journal.records(newest=True)[0]["turn"] == "last"
    journal.close()


@pytest.mark.parametrize("moment", ["BEGIN IMMEDIATE", "COMMIT"])
@pytest.mark.parametrize("after", [True, False])
def test_interrupt_in_the_middle(journal, moment, after):
    "Ctrl-C at the worst instruction: the batch is written once, now or with the next commit."
    run, armed = journal.execute, [True]

    def interrupted(statement, *values):
        if statement != moment or not armed:
            return run(statement, *values)
        armed.clear()
        if after:
            run(statement, *values)
        raise KeyboardInterrupt

    journal.execute = interrupted
    batch = noted(journal, text="once")
    with pytest.raises(KeyboardInterrupt):
        batch.commit_now()
    noted(journal, text="next").commit_now()
    assert sorted(row["body"]["text"] for row in journal.records()) == ["next", "once"] and journal.verify(whole=True)


async def test_interrupt_while_writing_one_by_one(journal):
    batches = [noted(journal, text=str(n)) for n in range(4)]
    batches[0].settle("none", "failed")                     # makes the group fail
    write, calls = journal.write, []

    def interrupted(drafts, durable=True):
        calls.append(len(drafts))
        write(drafts, durable)
        if len(calls) == 3:
            raise KeyboardInterrupt
    journal.write = interrupted
    [journal._enqueue(batch, True) for batch in batches]
    with pytest.raises(KeyboardInterrupt):
        journal.flush()
    journal.flush()
    assert calls == [4, 1, 1, 2] and [row["body"]["text"] for row in journal.records()] == ["1", "2", "3"]
    assert [bool(batch.error) for batch in batches] == [True, False, False, False]


def test_threads(journal):
    batches = [[noted(journal, turn=f"{n}") for _ in range(50)] for n in range(4)]
    seen = []

    def work(mine):
        for batch in mine:
            batch.commit_now(durable=False)
            seen.append(batch.written)
    threads = [threading.Thread(target=work, args=(mine,)) for mine in batches]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert journal.seq == 200 and seen == [True] * 200 and journal.verify(whole=True)


def test_before_images(journal):
    batch = journal.batch("main", "t")
    batch.intend("e1", "h", "x", before=b"\0\xff" * 100_000), batch.intend("e2", "h", "x", before=b""), batch.intend("e3", "h", "x")
    batch.commit_now()
    assert [journal.effect(id)["before"] for id in ("e1", "e2", "e3")] == [b"\0\xff" * 100_000, b"", None]
    assert journal.effect("e2")["before_sha256"].startswith("e3b0c442") and journal.effect("none") is None
    assert [row["id"] for row in journal.effects(limit=2)] == ["e3", "e2"] and journal.effects(state="failed") == []


# Cost

def steps_of(journal, work):
    count = [0]
    journal.db.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 1)
    work()
    journal.db.set_progress_handler(None, 1)
    return count[0]


def one_turn(journal, n):
    turn = f"t{n:06}"
    for step in range(2):
        batch = journal.batch(f"s{n % 7}", turn)
        for kind in ("turn", "verdict", "note") if step == 0 else ("answer",):
            batch.record(kind, {"n": n})
        batch.intend(f"e{n}", "h", "x") if step == 0 else batch.settle(f"e{n}", "committed")
        batch.commit_now(durable=False)
    journal.flush()
    return turn


@pytest.mark.parametrize("path", [":memory:", "journal.sqlite"])
def test_what_this_process_is_at_is_nobodys_orphan(tmp_path, path):
    journal = Journal.open(path if path == ":memory:" else tmp_path / path)
    batch = journal.batch("main", "t1"); batch.intend("e1", "hash", "(edit)"); batch.commit_now()
    assert journal.effect("e1")["state"] == "started" and journal.orphans() == []
    journal.execute("UPDATE effects SET owner = 'somebody else'")
    assert [each["id"] for each in journal.orphans()] == ["e1"]
    journal.db.close()


@pytest.mark.slow
def test_turn_ten_thousand_costs_what_turn_ten_does():
    "Counted in instructions of SQLite's machine, so that a busy computer cannot change the answer."
    journal = Journal.open(":memory:")
    looks = [lambda: journal.turns("s3", limit=5), lambda: journal.records(session="s3", limit=5, newest=True), lambda: journal.sessions(),
             lambda: journal.effects("s3", limit=2), lambda: journal.approvals("pending", session="s3"), lambda: journal.orphans()]
    costs = []
    for n in range(10_000):
        if n in (50, 9_999):
            costs.append([steps_of(journal, lambda: one_turn(journal, n)), *(steps_of(journal, look) for look in looks)])
        else:
            one_turn(journal, n)
    assert all(late <= early * 1.3 + 20 for early, late in zip(*costs)), costs


# Files

@pytest.mark.parametrize("make, words", [
    (lambda path: path.write_text("shopping list " * 500), "not a journal"),
    (lambda path: sqlite3.connect(path).execute("CREATE TABLE t(x)").connection.close(), "another program"),
    (lambda path: sqlite3.connect(path).execute("PRAGMA user_version=3").connection.close(), "newer passepartout"),
    (lambda path: path.mkdir(), "and no journal")])
def test_what_is_no_journal(tmp_path, make, words):
    make(tmp_path / "journal.db")
    with pytest.raises(JournalError, match=words):
        Journal.open(tmp_path / "journal.db")


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError):
        Journal.open(tmp_path / "file" / "journal.db")
    with pytest.raises(JournalError):
        Journal.open("/proc/nothing/journal.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match="writable"):
        Journal.open(tmp_path / "journal.db")


def test_read_only_database(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    journal.db.execute("PRAGMA query_only=1")
    with pytest.raises(JournalError, match="cannot be written to"):
        noted(journal).commit_now()
    journal.db.execute("PRAGMA query_only=0")
    noted(journal).commit_now()
    journal.close()


def filled(path, turns=200):
    journal = Journal.open(path)
    for n in range(turns):
        one_turn(journal, n)
    journal.close()
    return path.read_bytes()


def test_damaged_pages(tmp_path):
    whole = filled(tmp_path / "journal.db")
    for page in range(1, len(whole) // 2048, 9):
        (tmp_path / "journal.db").write_bytes(whole[:page * 2048] + b"\xa5" * 2048 + whole[(page + 1) * 2048:])
        try:
            journal = Journal.open(tmp_path / "journal.db")
        except JournalError as error:
            assert "damaged" in error.message or "not a journal" in error.message or "changed" in error.message
            continue
        verdict = journal.verify(whole=True)
        assert not verdict and verdict.kind in ("damaged", "forged", "cut-off"), page
        journal.db.close(), os.close(journal._owner)


def test_truncated_file(tmp_path):
    whole = filled(tmp_path / "journal.db")
    for size in (0, 1, 100, 2048, 5000, len(whole) // 2, len(whole) - 2048, len(whole.rstrip(b"\0")) - 1):      # zeros at the end are read as if they were there
        (tmp_path / "journal.db").write_bytes(whole[:size])
        try:
            journal = Journal.open(tmp_path / "journal.db")
        except JournalError as error:
            assert error.message.endswith((".", "`")) and "journal" in error.message
            continue
        assert journal.verify(whole=True).kind in ("cut-off", "damaged", "forged"), size
        journal.db.close(), os.close(journal._owner)


def test_log_cut_short(tmp_path):
    "The write-ahead log of a crashed process loses its last bytes: the last commit is gone, nothing else."
    journal = Journal.open(tmp_path / "journal.db")
    for n in range(10):
        noted(journal, n=n).commit_now()
    for name in ("journal.db", "journal.db-wal", "journal.key", "journal.anchor"):
        data = (tmp_path / name).read_bytes()
        target = tmp_path / "crashed" / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data[:-100] if name.endswith("-wal") else data)
        target.chmod(0o600)
    journal.close()
    crashed = Journal.open(tmp_path / "crashed" / "journal.db")
    assert crashed.seq == 9 and crashed.verify(whole=True)
    crashed.close()


def test_locked_by_another_process(journal):
    journal.db.execute("PRAGMA busy_timeout=60")
    other = sqlite3.connect(journal.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    batch = noted(journal, text="waits")
    with pytest.raises(JournalBusy, match="locked"):
        batch.commit_now()
    other.execute("ROLLBACK")
    batch.commit_now()                                      # a batch that failed may be committed again
    assert journal.seq == 1
    other.close()


async def test_locked_group_waits_once(journal):
    import time
    journal.db.execute("PRAGMA busy_timeout=60")
    other = sqlite3.connect(journal.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    results = await asyncio.gather(*(noted(journal).commit() for _ in range(300)), return_exceptions=True)
    assert time.monotonic() - begun < 10 and all(isinstance(result, JournalBusy) for result in results)
    other.close()


FULL = """
import resource, signal, sys
from passepartout.journal import Journal, JournalError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal.open(sys.argv[1])
def note(size):
    batch = journal.batch("main", "t"); batch.record("note", {"text": "x" * size}); batch.commit_now()
note(10)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
written, failed = 1, None
while failed is None and written < 200:
    try: note(20_000); written += 1
    except JournalError as error: failed = error
print(failed)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
note(20_000)
print(journal.seq == written + 1, journal.verify(whole=True).ok)
journal.close()
"""


def test_full_disk(tmp_path):
    "A limit on the size of files stands for a full disk: the batch fails with a sentence, nothing is half written, and it goes on afterwards."
    out = subprocess.run([sys.executable, "-c", FULL, tmp_path / "journal.db"], capture_output=True, text=True, timeout=120)
    assert out.stderr == "" and ("disk" in out.stdout.split("\n")[0]), out
    assert out.stdout.split("\n")[1] == "True True"


TWO = """
import sys
from passepartout.journal import Journal
journal = Journal.open(sys.argv[1])
print("ready", flush=True); sys.stdin.readline()
for n in range(150):
    batch = journal.batch(sys.argv[2], f"{sys.argv[2]}{n}"); batch.record("turn", {"n": n}); batch.record("note", {}); batch.commit_now(n % 9 == 0)
print(journal.checked.ok); journal.close()
"""


@pytest.mark.slow
def test_two_processes_write_at_once(tmp_path):
    start = lambda name: subprocess.Popen([sys.executable, "-c", TWO, tmp_path / "journal.db", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    both = [start("a"), start("b")]
    try:
        assert [next_line(child) for child in both] == ["ready\n"] * 2
        [(child.stdin.write("go\n"), child.stdin.flush()) for child in both]
        assert [next_line(child) for child in both] == ["True\n"] * 2 and [status(child) for child in both] == [0] * 2
    finally: away(*both)
    journal = Journal.open(tmp_path / "journal.db")
    assert journal.checked and journal.verify(whole=True).checked == 600
    for name in "ab":
        assert [row["body"]["n"] for row in journal.records(session=name, kinds=["turn"])] == list(range(150))
    journal.close()


@pytest.mark.slow
def test_first_start_of_many(tmp_path):
    "Six processes create the same journal at the same moment: one key, one schema, one chain."
    code = "import sys; from passepartout.journal import Journal; j = Journal.open(sys.argv[1]); b = j.batch('m', 't'); b.record('turn', {}); b.commit_now(); j.close()"
    children = [subprocess.Popen([sys.executable, "-c", code, tmp_path / "journal.db"], stderr=subprocess.PIPE) for _ in range(6)]
    try: assert [ended(child)[1] for child in children] == [b""] * 6
    finally: away(*children)
    journal = Journal.open(tmp_path / "journal.db")
    assert journal.seq == 6 and journal.verify(whole=True), journal.verify(whole=True)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("journal.db-")) == ["journal.anchor", "journal.db", "journal.key", "journal.owners"]
    assert len(list((tmp_path / "journal.owners").iterdir())) == 1
    journal.close()


def test_files_are_private(journal):
    assert all(path.stat().st_mode & 0o077 == 0 for path in journal.path.parent.iterdir() if path.name.startswith("journal"))


def test_closed(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    journal.close()
    journal.close()
    for use in (lambda: noted(journal).commit_now(), lambda: journal.records(), lambda: journal.verify(), lambda: journal.approve("a", by="p", session="s")):
        with pytest.raises(JournalError, match="closed"):
            use()
    assert sorted(os.listdir(tmp_path)) == ["journal.anchor", "journal.db", "journal.key", "journal.owners"] and os.listdir(tmp_path / "journal.owners") == []


def test_log_does_not_grow(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    for n in range(600):
        one_turn(journal, n)
    assert (tmp_path / "journal.db-wal").stat().st_size < 3_000_000
    journal.close()


def test_a_journal_is_closed_where_its_claim_can_not_be_taken_back(tmp_path):
    "The folder had been made read-only meanwhile, and the end of the program was a trace of calls."
    import shutil
    journal = Journal.open(tmp_path / "journal.db")
    one_turn(journal, 1)
    shutil.rmtree(tmp_path / "journal.owners"); (tmp_path / "journal.owners").write_text("a file where a folder was")
    journal.close()
    (tmp_path / "journal.owners").unlink()
    again = Journal.open(tmp_path / "journal.db")
    assert again.checked.ok and len(again.turns()) == 1
    again.close()


def test_errors_are_translated_once():
    plain = JournalError("said already")
    assert file_room.explain(plain, "x") is plain
    assert "failed" in file_room.explain(OSError("odd"), "journal.db").message


@pytest.mark.parametrize("name, refuses, told", [("SQLITE_CORRUPT", True, "may be whole"), ("SQLITE_CORRUPT", False, "damaged page"), ("SQLITE_NOTADB", True, "may be whole"), ("SQLITE_IOERR_READ", False, "refused to read"), ("SQLITE_IOERR_CORRUPTFS", False, "may be whole"), ("SQLITE_IOERR_WRITE", False, "refused to write"), ("SQLITE_FULL", True, "disk is full"), ("SQLITE_IOERR_SHMSIZE", False, "disk is full")])
def test_a_disk_that_does_not_give_back_what_it_has_is_told_as_a_disk(tmp_path, monkeypatch, name, refuses, told):
    "Who reads that a page is damaged moves the journal away, and it was whole."
    path, error = tmp_path / "journal.sqlite", sqlite3.DatabaseError("odd")
    Journal.open(path).close()
    error.sqlite_errorname = name
    (tmp_path / "cat").write_text("#!/bin/sh\necho \"cat: $2: Input/output error\" >&2\nexit 1\n" if refuses else "#!/bin/sh\nexit 0\n")
    (tmp_path / "cat").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    said = file_room.explain(error, path).message
    assert told in said and ("Input/output error" in said) == (refuses and name != "SQLITE_FULL")


FIRST = "import sys; from pathlib import Path; from passepartout.journal import Journal\nprint('ready', flush=True); sys.stdin.readline()\nJournal.open(Path(sys.argv[1])).close()"


@pytest.mark.slow
def test_several_processes_begin_the_same_journal(tmp_path):
    for n in range(6):
        children = [subprocess.Popen([sys.executable, "-c", FIRST, str(tmp_path / f"{n}.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        try:
            assert [next_line(child) for child in children] == ["ready\n"] * 4
            for child in children: child.stdin.write("go\n"); child.stdin.flush()
            assert [(status(child), heard(child.stderr).all(60)) for child in children] == [(0, "")] * 4
        finally: away(*children)


@pytest.mark.parametrize("when", range(3))
def test_a_journal_that_is_made_while_it_is_looked_at_is_not_taken_for_a_foreign_one(tmp_path, when):
    """Once the number of before was read and then the tables of after, and the second of two first starts was refused."""
    class Watched(sqlite3.Connection):
        asked = 0
        def execute(self, *words):
            if Watched.asked == when: file_room.set_up(sqlite3.connect(tmp_path / "new.db", isolation_level=None), "new.db")
            Watched.asked += 1
            return super().execute(*words)
    file_room.refuse_foreign(sqlite3.connect(tmp_path / "new.db", factory=Watched), "new.db")
    assert Watched.asked or when


def test_a_database_of_another_program_is_refused_all_the_same(tmp_path):
    db = sqlite3.connect(tmp_path / "other.db")
    db.execute("CREATE TABLE recipes(name)")
    with pytest.raises(JournalError, match="another program"): file_room.refuse_foreign(db, "other.db")


@pytest.fixture
def small(tmp_path):
    "The path of a closed journal with one turn in it."
    journal = Journal.open(path := tmp_path / "journal.db")
    (batch := journal.batch("main", "t1")).record("turn", {"text": "first"})
    batch.commit_now()
    journal.close()
    return path


@pytest.mark.parametrize("tables", [1, 40])
@pytest.mark.parametrize("page", [1024, 2048, 4096])
def test_a_log_of_another_database_is_told_and_does_nothing_to_the_journal(small, page, tables):
    "Whoever closes a database last copies its log into it, so a journal was lost by being refused."
    kept, beside = small.read_bytes(), small.with_name("journal.db-wal")
    db = sqlite3.connect(small.with_name("other.db"), isolation_level=None)
    db.executescript(f"PRAGMA page_size={page}; PRAGMA journal_mode=WAL; " + "".join(f"CREATE TABLE recipes{n}(name); " for n in range(tables)))
    beside.write_bytes(small.with_name("other.db-wal").read_bytes())
    db.close()
    with pytest.raises(JournalError, match="the file is whole.*move the log to some other place"): Journal.open(small)
    gc.collect()
    assert small.read_bytes() == kept
    beside.rename(small.with_name("moved away"))
    journal = Journal.open(small)
    assert [record["turn"] for record in journal.records(kinds=["turn"])] == ["t1"]
    journal.close()


@pytest.fixture(scope="module", params=[(1, 3), (40, 3), (300, 3), (300, 60)])
def half(request, tmp_path_factory):
    """A journal, what it is later, the log that it has then, and its file by now: put back beside the log, the older file makes a database of two days."""
    first, last = request.param
    journal = Journal.open(path := tmp_path_factory.mktemp("half") / "journal.db")
    kept = None
    for n in range(first + last + 1):
        (batch := journal.batch("main", f"{n * 7919 % 997:03x}")).record("turn", {"text": "later " * 40})
        batch.commit_now(durable=False)
        if n in (0, first): journal.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        kept = kept or path.read_bytes()
    log, later = path.with_name("journal.db-wal").read_bytes(), path.read_bytes()
    journal.close()
    return path.with_suffix(".key").read_bytes(), path.with_suffix(".anchor").read_bytes(), kept, later, log


def put(folder, half, older):
    key, anchor, kept, later, log = half
    for name, data in {"key": key, "anchor": anchor, "db": kept if older else later, "db-wal": log}.items(): (folder / f"journal.{name}").write_bytes(data); (folder / f"journal.{name}").chmod(0o600)
    return folder / "journal.db"


def contradict(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        try: return db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error: return str(error)


def test_an_older_copy_beside_a_later_log_is_told_at_the_start_and_nothing_is_written_to_either(half, tmp_path):
    "It was opened as if nothing were wrong, with the last records and without some before them, and the first turn made that the journal."
    path = put(tmp_path, half, older=True)
    (tmp_path / "asked").mkdir()
    if contradict(put(tmp_path / "asked", half, older=True)) == "ok":       # a log that holds all that changed, or nothing that the older file leads to
        journal = Journal.open(path)
        assert journal.verify(whole=True).kind == journal.checked.kind == ("ok" if len(journal.records()) == 5 else "cut-off")
        return journal.close()
    with pytest.raises(JournalError, match="the file is whole.*move the log to some other place"): Journal.open(path)
    gc.collect()
    assert path.read_bytes() == half[2] and path.with_name("journal.db-wal").read_bytes() == half[4]
    path.with_name("journal.db-wal").rename(tmp_path / "moved away")
    journal = Journal.open(path)
    assert journal.checked.kind == "cut-off" and "an older copy was put back" in journal.checked.problem and len(journal.records(kinds=["turn"])) == 1
    journal.close()


def test_the_log_of_a_killed_process_is_taken_up_and_one_that_is_in_use_is_not_asked_about(half, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(file_room, "refuse_apart", lambda db, path, really=file_room.refuse_apart: asked.append(really(db, path)))
    journal = Journal.open(put(tmp_path, half, older=False))
    noted(journal).commit_now()
    assert journal.checked.ok and journal.verify(whole=True).ok and len(asked) == 1
    other = Journal.open(journal.path)                   # the log is that of a process that lives
    other.close(); journal.close()
    Journal.open(journal.path).close()                   # nor is there anything to ask after an orderly end
    assert len(asked) == 1


HOLDS = """import sys; from passepartout.journal import Journal
journal = Journal.open(sys.argv[1])
for n in range(int(sys.argv[2])):
    (batch := journal.batch("main", f"{n * 7919 % 997:03x}")).record("turn", {"text": "later " * 40}); batch.commit_now()
journal.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
(batch := journal.batch("main", "last")).record("turn", {"text": "the last one"}); batch.commit_now(durable=False)
print("open", flush=True)
for line in sys.stdin:
    try: (batch := journal.batch("main", "more")).record("turn", {"text": "more"}); batch.commit_now(); print("written", flush=True)
    except Exception as error: print(error.message, flush=True)
"""


@pytest.mark.parametrize("change, turns", [("replaced", 0), ("replaced", 400), ("removed", 3), ("moved", 3), ("written over", 400), ("written over", 1000)])
def test_nobody_joins_in_where_the_file_is_another_one_than_a_process_that_runs_has_open(small, change, turns):
    "A program for synchronising puts an older file there: the log of the other one is beside it, and the first who wrote mixed them for good."
    if change == "written over":
        journal = Journal.open(small)
        for n in range(400): one_turn(journal, n)
        journal.close()
    older, files = small.read_bytes(), lambda: {path.name: path.read_bytes() for path in small.parent.iterdir() if path.is_file() and path.suffix != ".db-shm"}
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(small), str(turns)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    say = lambda: (holder.stdin.write("go on\n"), holder.stdin.flush(), next_line(holder))[-1]
    try:
        assert next_line(holder) == "open\n"
        if change != "written over":
            Journal.open(small).close()                      # somebody else may, as long as it is the same file
            assert say() == "written\n"
        if change == "replaced": (small.parent / "put back").write_bytes(older); (small.parent / "put back").chmod(0o600); (small.parent / "put back").replace(small)
        elif change == "removed": small.unlink()
        elif change == "moved": small.rename(small.with_name("elsewhere.db"))
        else: subprocess.run(["dd", f"of={small}", "status=none"], input=older, check=True)
        before = files()
        with pytest.raises(JournalError, match="contradict each other.*the file is whole|has a damaged page.*the file is whole" if change == "written over" else f"another file than the one that process {holder.pid} has open.*Nothing was written"): Journal.open(small)
        gc.collect()
        assert files() == before and len(list((small.parent / "journal.owners").iterdir())) == 1
        if change != "written over":
            assert "was moved, removed or exchanged while it was open" in say()
            away(holder)
            if change == "moved": small.with_name("elsewhere.db").rename(small)
            if turns < 400: Journal.open(small).close()      # nobody holds it any more
    finally: away(holder)


def test_what_a_killed_process_or_an_older_program_left_keeps_nobody_from_joining_in(small):
    owners = small.with_suffix(".owners")
    (owners / "killed").write_text("1:2 4711")
    held = [file_room.claim(owners, "older"), file_room.claim(owners, "same", small)]
    Journal.open(small).close()
    held.append(file_room.claim(owners, "other", small.with_suffix(".key")))
    with pytest.raises(JournalError, match=f"that process {os.getpid()} has open"): Journal.open(small)
    for each in held: os.close(each)
    Journal.open(small).close()


ELSEWHERE = "import sys; from passepartout.storage.store import Store; Store.open(sys.argv[1]).close()"
ELSEWHERE_SMALL = "import sys; from pathlib import Path; from passepartout.databases import open_private; open_private(Path(sys.argv[1]), 'CREATE TABLE t(x);', OSError()).close()"


def test_a_second_opening_in_one_process_takes_no_lock_from_the_first(tmp_path):
    "To open and close a file drops all locks that the process has on it. Then another process thinks that it is the last, and removes the log that is written to."
    path = tmp_path / "journal.sqlite"
    first = Store.open(path)
    Store.open(path).close()
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(path)], check=True)
    draft = Draft("s", "t")
    draft.record("turn", {"text": "still here"})
    first.write([draft])
    first.close()
    again = Store.open(path)
    assert again.verify(whole=True).ok and again.seq == draft.first
    again.close()


def test_neither_does_one_of_a_small_file(tmp_path):
    path = tmp_path / "small.sqlite"
    first = open_private(path, "CREATE TABLE t(x);", OSError())
    open_private(path, "CREATE TABLE t(x);", OSError()).close()
    subprocess.run([sys.executable, "-c", ELSEWHERE_SMALL, str(path)], check=True)
    first.execute("INSERT INTO t VALUES (1)")
    with contextlib.closing(open_private(path, "CREATE TABLE t(x);", OSError())) as other:
        assert other.execute("SELECT count(*) FROM t").fetchone() == (1,)
    first.close()
    (tmp_path / "link.sqlite").symlink_to(path)
    with pytest.raises(OSError): open_private(tmp_path / "link.sqlite", "CREATE TABLE t(x);", OSError())
    (tmp_path / "loose.sqlite").symlink_to(tmp_path / "nothing")
    with pytest.raises(OSError): open_private(tmp_path / "loose.sqlite", "CREATE TABLE t(x);", OSError())
    assert not (tmp_path / "nothing").exists() and path.stat().st_mode & 0o777 == 0o600


def test_what_is_durable_is_on_the_disk_before_the_write_returns(tmp_path):
    "With FULL SQLite waits for the disk at each commit, with NORMAL at a checkpoint only. What the setting is counts when the commit is made."
    store = Store.open(tmp_path / "journal.db")
    at_commit = []
    def written(statement):
        if statement == "COMMIT": at_commit.append(store.db.execute("PRAGMA synchronous").fetchone()[0])
    for durable in (True, False, True, True, False, False, True):
        draft = Draft("main", "t", store.clock)
        draft.record("note", {"durable": durable})
        store.db.set_trace_callback(written)
        store.write([draft], durable=durable)
        store.db.set_trace_callback(None)
    assert at_commit == [2, 1, 2, 2, 1, 1, 2]
    store.close()


NOTE = b"".join(b"* Note %d\nwith some words about it\n" % n for n in range(2_000))


def announced(journal, versions):
    "Announce an edit for each of these versions, in transactions of three."
    batch = journal.batch("main", "t")
    for n, before in versions:
        batch.intend(f"e{n}", "h", "x", before=before)
        if n % 3 == 2: batch.commit_now(); batch = batch.next()
    batch.commit_now()


def versions(seed=1, count=120):
    import random
    dice, text, found = random.Random(seed), NOTE, []
    for n in range(count):
        found.append((n, text))
        at = len(text) if n % 4 else dice.randrange(len(text))
        text = text[:at] + dice.choice([b"* Milk\n", b"\xff\0" * 9, b"x" * 5_000 if n % 17 == 0 else b"* Tea\n"]) + text[at + dice.choice([0, 0, 0, 300]):]
    return found


def held(journal, wanted): return [n for n, before in wanted if journal.effect(f"e{n}")["before"] != before]


@pytest.mark.slow
def test_a_line_that_is_added_adds_a_line_to_the_journal_and_every_version_comes_back(tmp_path):
    journal, wanted = Journal.open(tmp_path / "journal.db"), versions()
    announced(journal, wanted)
    assert not held(journal, wanted) and journal.verify(whole=True).ok
    journal.close()
    journal = Journal.open(tmp_path / "journal.db")
    assert not held(journal, wanted) and journal.verify(whole=True).ok
    journal.close()
    journal, wanted = Journal.open(tmp_path / "lines.db"), [(n, NOTE + b"* TODO Milk and bread\n" * n) for n in range(600)]
    announced(journal, wanted)
    size = journal.db.execute("SELECT sum(length(before)) FROM images").fetchone()[0]
    assert not held(journal, wanted) and size < sum(len(before) for _, before in wanted) / 20 and size < 600 * 4_000, size
    journal.close()


@pytest.mark.parametrize("seed", range(3))
def test_what_is_erased_takes_no_other_version_with_it_and_leaves_none_of_its_bytes(tmp_path, seed):
    import random
    dice, journal, wanted = random.Random(seed), Journal.open(tmp_path / "journal.db"), versions(seed)
    secret = b"Only this version said so."
    wanted = [(n, before + secret) if n == 40 else (n, before) for n, before in wanted]
    announced(journal, wanted)
    assert secret in b"".join(journal.effect("e40")["before"] for _ in "x")
    while len(wanted) > 5:
        gone = [wanted.pop(dice.randrange(len(wanted)))[0] for _ in range(dice.choice([1, 5, 20])) if len(wanted) > 1] + [0] * (wanted[0][0] == 0 and bool(wanted.pop(0)))
        journal.erase_versions(*[journal.effect(f"e{n}")["seq"] for n in gone])
        assert not held(journal, wanted) and all(journal.effect(f"e{n}")["before"] is None for n in gone) and journal.verify(whole=True).ok
        if 40 not in dict(wanted):
            kept = b"".join(before if isinstance(before, bytes) else before.encode() for before, in journal.db.execute("SELECT before FROM images"))
            import base64
            assert secret not in kept and not any(base64.b64encode(b"x" * k + secret)[4:20] in kept for k in range(3))
    journal.close()


def test_a_journal_of_the_first_format_is_read_and_becomes_one_of_the_second_with_the_first_difference(tmp_path):
    path, wanted = tmp_path / "journal.db", versions(2, 30)
    journal = Journal.open(path)
    journal.db.execute("PRAGMA user_version=1")
    announced(journal, wanted[:1])
    with contextlib.closing(sqlite3.connect(path)) as old: assert old.execute("PRAGMA user_version").fetchone() == (1,)
    journal.close()
    journal = Journal.open(path)
    assert not held(journal, wanted[:1]) and journal.db.execute("PRAGMA user_version").fetchone() == (1,)
    announced(journal, wanted[1:])
    assert not held(journal, wanted) and journal.db.execute("PRAGMA user_version").fetchone() == (2,) and journal.verify(whole=True).ok
    journal.close()


@pytest.mark.parametrize("change", ["UPDATE images SET before = CAST('x' || substr(before, 2) AS BLOB) WHERE seq = (SELECT min(seq) FROM images)", "DELETE FROM images WHERE seq = (SELECT min(seq) FROM images)",
                                    "UPDATE images SET before = replace(before, ', ', ',  ') || ' ' WHERE typeof(before) = 'text'", "UPDATE images SET before = replace(before, '[', '[1') WHERE typeof(before) = 'text'", "UPDATE images SET before = '[]' WHERE typeof(before) = 'text'"])
def test_a_version_that_somebody_changed_is_told_and_never_put_back(tmp_path, change):
    path, wanted = tmp_path / "journal.db", versions(3, 12)
    journal = Journal.open(path)
    announced(journal, wanted)
    journal.close()
    with contextlib.closing(sqlite3.connect(path)) as db, db: assert db.execute(change).rowcount
    journal = Journal.open(path)
    if "',  '" in change: assert journal.verify(whole=True).ok and not held(journal, wanted)        # the same difference, written otherwise
    else:
        assert not journal.verify(whole=True).ok
        for n, before in wanted:
            with contextlib.suppress(JournalError):
                kept = journal.effect(f"e{n}")
                assert kept["before"] == before or kept["before"] is None or __import__("hashlib").sha256(kept["before"]).hexdigest() != kept["before_sha256"]
    journal.close()


@pytest.mark.parametrize("odd", ['[{"a": 1}, 0, 0, ""]', '[99999999999999999999999, 0, 0, ""]', "[" * 100_000])
def test_what_is_no_difference_ends_neither_the_check_nor_erasing(tmp_path, odd):
    path, wanted = tmp_path / "journal.db", versions(3, 12)
    journal = Journal.open(path)
    announced(journal, wanted)
    journal.close()
    with contextlib.closing(sqlite3.connect(path)) as db, db: assert db.execute("UPDATE images SET before = ? WHERE seq = (SELECT max(seq) FROM images WHERE typeof(before) = 'text')", (odd,)).rowcount
    journal = Journal.open(path)
    assert journal.verify(whole=True).kind == "forged"
    first = wanted[0][0]
    journal.erase_versions(journal.effect(f"e{first}")["seq"])
    assert journal.effect(f"e{first}")["before"] is None and not held(journal, wanted[1:-1])
    with pytest.raises(JournalError, match="cannot be put together"): journal.effect(f"e{wanted[-1][0]}")
    journal.close()


@pytest.mark.parametrize("refused", ["replace", "fsync", "link"])
def test_a_new_journal_begins_with_its_anchor_or_not_at_all(tmp_path, monkeypatch, refused):
    "Without the first one every later look said that somebody had taken it away."
    def full(*args, **kw): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with monkeypatch.context() as patch:
        patch.setattr(os, refused, full)
        with pytest.raises(JournalError, match="The disk is full, so nothing was written"): Journal.open(tmp_path / "journal.db")
    assert [name for name in os.listdir(tmp_path) if name.count(".") > 1] == []
    journal = Journal.open(tmp_path / "journal.db")
    asyncio.run(noted(journal).commit())
    assert journal.verify().ok and journal.verify(whole=True).ok
    journal.close()


def test_an_anchor_that_the_disk_refuses_later_leaves_the_old_one(tmp_path, monkeypatch):
    journal = Journal.open(tmp_path / "journal.db")
    asyncio.run(noted(journal).commit())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(errno.EIO, "no")))
        journal.close()
    assert sorted(os.listdir(tmp_path)) == ["journal.anchor", "journal.db", "journal.key", "journal.owners"]
    with contextlib.closing(Journal.open(tmp_path / "journal.db")) as journal: assert journal.verify(whole=True).ok


def in_a_copy(what):
    "What `what` gives in a process that was forked off here."
    reads, writes = os.pipe()
    if (copy := os.fork()) == 0:
        try: said = what()
        except BaseException as error: said = f"{type(error).__name__}: {error}"
        os.write(writes, str(said).encode())
        os._exit(0)
    os.close(writes)
    with open(reads) as file: said = file.read()
    os.waitpid(copy, 0)
    return said


def test_a_copy_of_the_process_neither_reads_nor_writes_nor_takes_the_claim_along(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    def noted(n):
        batch = journal.batch("main", f"t{n}")
        batch.record("note", {"n": n})
        batch.commit_now()
        return "written"
    noted(1)
    for what in (lambda: noted(2), lambda: journal.turns(), lambda: journal.verify(), lambda: journal.approvals(), journal.flush):
        assert "made by fork" in in_a_copy(what)
    assert in_a_copy(journal.close) == "None"
    assert [each.name for each in (tmp_path / "journal.owners").iterdir()] == [journal.boot]
    noted(3)
    assert [each["body"]["n"] for each in journal.records(kinds=["note"])] == [1, 3] and journal.verify(whole=True).ok
    journal.close()


def test_an_agent_answers_nothing_in_a_copy_of_its_process(tmp_path):
    import asyncio
    from passepartout.agent import Agent
    for name in ("memex", "state", "config", "cache"): (tmp_path / name).mkdir()
    async def booted(): return await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache")
    agent = asyncio.run(booted())
    said = in_a_copy(lambda: (agent.run(agent.handle("add a task: call Ada")), agent.run(agent.close()))[0])
    assert "made by fork" in said and not list((tmp_path / "memex").iterdir())
    assert "Added" in agent.run(agent.handle("add a task: call Ben"))
    assert len(agent.journal.turns()) == 1 and agent.journal.verify(whole=True).ok
    asyncio.run(agent.close())


def _cut(log): os.truncate(log, 0)
def _noise(log): log.write_bytes(b"noise" * 20_000)
def _anothers(log): log.write_bytes(log.with_name("other.db-wal").read_bytes() + bytes(log.stat().st_size))


@pytest.mark.parametrize("harm", [_cut, _noise, _anothers])
def test_a_log_that_another_program_writes_over_is_noticed_and_does_not_go_into_the_file(tmp_path, harm):
    other, journal = Journal.open(tmp_path / "other.db"), Journal.open(tmp_path / "journal.db")
    def noted(n, journal=journal):
        batch = journal.batch("main", f"t{n}")
        batch.record("note", {"n": n})
        batch.commit_now()
    noted(0, other)
    for n in range(5): noted(n)
    journal.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    for n in range(5, 10): noted(n)
    harm(tmp_path / "journal.db-wal")
    for n in range(2):
        with pytest.raises(JournalError, match="written over"): noted(n)
    journal.close()
    if sys.version_info < (3, 12): return            # SQLite cannot be told there to leave the log alone
    again = Journal.open(tmp_path / "journal.db")
    assert [each["body"]["n"] for each in again.records(kinds=["note"])][:5] == [0, 1, 2, 3, 4]
    again.close(); other.close()


def test_what_sqlite_itself_does_to_its_log_is_not_taken_for_that(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    second = Journal.open(tmp_path / "journal.db")
    journal.db.execute("PRAGMA wal_autocheckpoint=5")
    def noted(journal, n):
        batch = journal.batch("main", f"t{n}")
        batch.record("note", {"text": "x" * (n % 7) * 1000})
        batch.commit_now(durable=n % 3 > 0)
    for n in range(200):
        noted(journal, n)
        if n % 17 == 0: noted(second, n)
        if n % 23 == 0: second.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if n % 41 == 0: journal.erase(*journal.erasable(), compact=n % 2 == 0)
        if n % 53 == 0: journal.db.execute("PRAGMA wal_checkpoint(RESTART)")
        if n % 61 == 0: sqlite3.connect(tmp_path / "journal.db").execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert journal.verify(whole=True).ok
    second.close(); journal.close()
