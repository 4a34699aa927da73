"Somebody without the key edits, cuts, swaps and forges; the journal notices, and says which it was."
import json, shutil, sqlite3
from types import SimpleNamespace

import pytest
from passepartout.consent.grants import Grant, Grants
from passepartout.journal import ApprovalGone, Journal, JournalError
from passepartout.storage.ledger import is_after_break, whole_since
from passepartout.storage.validity import outlived

NOW = [1000.0]


@pytest.fixture
def home(made, tmp_path):
    "A closed journal with twelve records of several kinds; each test has a copy of its own."
    NOW[0] = 1000.0
    return shutil.copytree(made, tmp_path / "one")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    NOW[0] = 1000.0
    folder = tmp_path_factory.mktemp("made") / "one"
    journal = Journal.open(folder / "journal.db", clock=lambda: NOW[0])
    for n in range(3):
        batch = journal.batch("main", f"t{n}")
        batch.record("turn", {"text": f"request {n}"})
        batch.intend(f"e{n}", "h", "append", before=b"before")
        batch.commit_now()
        batch = journal.batch("main", f"t{n}")
        batch.settle(f"e{n}", "committed", {"n": n})
        batch.record("answer", {"text": "done"})
        batch.commit_now()
    journal.close()
    return folder


def opened(folder):
    return Journal.open(folder / "journal.db", clock=lambda: NOW[0])


def edit(folder, *statements):
    db = sqlite3.connect(folder / "journal.db")
    for statement in statements:
        db.execute(*(statement if isinstance(statement, tuple) else (statement,)))
    db.commit()
    db.close()


def verdict_on(folder, whole=True):
    journal = opened(folder)
    verdict = journal.verify(whole=whole)
    journal.close()
    return verdict


def test_untouched(home):
    verdict = verdict_on(home)
    assert verdict and verdict.kind == "ok" and verdict.checked == 12


@pytest.mark.parametrize("seq", [1, 7, 12])
@pytest.mark.parametrize("column, value", [
    ("kind", "log"), ("session", "other"), ("turn", "t9"), ("at", 999.0), ("at", None), ("body", '{"text":"else"}'), ("body", 5),
    ("body", b"\xff"), ("body", None), ("proof", b""), ("proof", bytes(48)), ("proof", "text"), ("seq", 99), ("seq", 0)])
def test_every_column(home, seq, column, value):
    try:
        edit(home, (f"UPDATE chain SET {column} = ? WHERE seq = ?", (value, seq)))
    except sqlite3.IntegrityError:
        return
    verdict = verdict_on(home)
    assert not verdict and verdict.kind in ("forged", "cut-off")
    assert verdict.kind == "forged" or (column, seq) == ("seq", 12)


@pytest.mark.parametrize("statements", [
    ["DELETE FROM chain WHERE seq = 5"],
    ["DELETE FROM chain WHERE seq = 1"],
    ["UPDATE chain SET seq = -1 WHERE seq = 4", "UPDATE chain SET seq = 4 WHERE seq = 5", "UPDATE chain SET seq = 5 WHERE seq = -1"],
    ["INSERT INTO chain SELECT 13, kind, session, turn, at, body, proof FROM chain WHERE seq = 12"],
    ["UPDATE chain SET body = (SELECT body FROM chain WHERE seq = 2), proof = (SELECT proof FROM chain WHERE seq = 2) WHERE seq = 6"],
    ["INSERT INTO chain VALUES (13, 'erase', '', '', 1.0, '{\"seq\":2}', zeroblob(48))", "UPDATE chain SET body = NULL WHERE seq = 2"],
    ["INSERT INTO chain VALUES (13, 'key', '', '', 1.0, '{\"now\":\"mine\"}', zeroblob(48))"],
])
def test_records_moved_or_put_in(home, statements):
    edit(home, *statements)
    verdict = verdict_on(home)
    assert not verdict and verdict.kind == "forged"


@pytest.mark.parametrize("statements", [["UPDATE meta SET value = '0123456789abcdef' WHERE name = 'first_key'"],
                                        ["UPDATE chain SET kind = 'key', body = '{\"now\":\"0123456789abcdef\"}' WHERE seq = 3", "UPDATE chain SET body = '{}' WHERE seq > 3"],
                                        ["UPDATE meta SET value = '0123456789abcdef' WHERE name = 'first_key'", "UPDATE chain SET body = '{}'"]])
def test_a_forgery_is_not_passed_off_as_a_lost_key(home, statements):
    """One record of the kind `key` was enough, and nothing after it was looked at."""
    edit(home, *statements)
    (home / "journal.anchor").unlink(missing_ok=True)
    assert [verdict_on(home, whole=whole).kind for whole in (True, False)] == ["forged"] * 2


@pytest.mark.parametrize("index", ["chain_turn", "chain_session"])
def test_an_index_that_leaves_a_record_out_is_found(home, index):
    """What is shown goes by the indexes, which no seal covers."""
    db = sqlite3.connect(home / "journal.db")
    sql, = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    db.execute(f"DROP INDEX {index}")
    db.execute(f"{sql} WHERE seq <> 5")
    db.execute("PRAGMA writable_schema=ON")
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, index))
    db.commit(); db.close()
    verdict = verdict_on(home)
    assert verdict.kind == "damaged" and "REINDEX" in verdict.problem
    db = sqlite3.connect(home / "journal.db")
    db.execute("REINDEX"); db.close()
    assert verdict_on(home)


def test_recomputed_digest_is_of_no_use_without_the_key(home):
    import hashlib
    salt, body = b"s" * 16, '{"text":"else"}'
    edit(home, ("UPDATE chain SET body = NULL, proof = substr(proof, 1, 32) || ? WHERE seq = 1", (hashlib.sha256(salt + body.encode()).digest(),)))
    assert verdict_on(home).kind == "forged"


def test_start_check_sees_what_came_after_the_anchor(home):
    journal = opened(home)
    batch = journal.batch("main", "t9"); batch.record("note", {"text": "after"}); batch.commit_now()
    shutil.copytree(home, home.parent / "crashed", ignore=shutil.ignore_patterns("journal.owners"))
    journal.close()
    crashed = home.parent / "crashed"
    edit(crashed, "UPDATE chain SET body = '{}' WHERE seq = 13")
    verdict = verdict_on(crashed, whole=False)
    assert verdict.kind == "forged" and verdict.seq == 13


def test_cut_off_is_not_forged(home):
    edit(home, "DELETE FROM chain WHERE seq > 10")
    journal = opened(home)
    assert journal.checked.kind == "cut-off" and "had reached 12" in journal.checked.problem
    journal.close()
    assert verdict_on(home, whole=False).kind == "cut-off", "closing must not hide the cut"
    journal = opened(home)
    journal.anchor()                                        # the person accepts what is there
    journal.close()
    assert verdict_on(home, whole=False)


def test_older_copy_put_back_and_continued(home):
    older = home.parent / "older.db"
    shutil.copyfile(home / "journal.db", older)
    journal = opened(home)
    for n in range(5):
        batch = journal.batch("main", "more"); batch.record("note", {"n": n}); batch.commit_now()
    journal.close()
    shutil.copyfile(older, home / "journal.db")
    journal = opened(home)
    assert journal.checked.kind == "cut-off"
    for n in range(9):
        batch = journal.batch("main", "other"); batch.record("note", {"n": -n}); batch.commit_now()
    journal.close()
    assert verdict_on(home).kind == "cut-off" and "continued" in verdict_on(home).problem


def test_whole_journal_gone(home):
    (home / "journal.db").unlink()
    assert verdict_on(home, whole=False).kind == "cut-off"


def test_anchor_gone_or_changed(home):
    note = home / "journal.anchor"
    good = note.read_text()
    note.unlink()
    assert verdict_on(home, whole=False).kind == "missing-anchor"
    note.write_text(good.replace('"seq": 12', '"seq": 5'))
    assert verdict_on(home, whole=False).kind == "forged"
    for junk in ("", "[]", '{"seq": "x"}', '{"seq": -4, "head": "", "seal": 5}', "\udcff"):
        note.write_bytes(junk.encode("utf-8", "surrogateescape"))
        assert verdict_on(home, whole=False).kind == "forged"


def test_anchor_moves_on_every_256_records(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    read = lambda: json.loads((tmp_path / "journal.anchor").read_text())["seq"]
    for n in range(300):
        batch = journal.batch("main", "t"); batch.record("note", {}); batch.commit_now(durable=n % 2 == 0)
    assert read() == 257 and journal.verify().checked == 43     # number 256 was not durable, so the next one is noted
    journal.close()
    assert read() == 301 or read() == 300


def test_erase(home):
    journal = opened(home)
    journal.erase(2)
    with pytest.raises(JournalError, match="no record 99"):
        journal.erase(99)
    with pytest.raises(JournalError, match="stays"):
        journal.erase(13)
    journal.erase(2)                                        # twice is once
    assert journal.seq == 13 and journal.records(after=1, limit=1)[0]["body"] is None
    assert journal.verify(whole=True) and journal.effect("e0") is not None
    journal.close()
    assert verdict_on(home)


def test_erased_text_is_off_the_disk(tmp_path):
    journal = Journal.open(tmp_path / "journal.db")
    for text in ("before", "secret " + "pineapple" * 700, "after"):
        batch = journal.batch("main", "t"); batch.record("note", {"text": text}); batch.commit_now()
    seen = lambda: any(b"pineapple" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert seen()
    journal.erase(2)
    assert not seen() and journal.verify(whole=True)
    journal.close()
    assert not seen()


def test_lost_key(home):
    (home / "journal.key").unlink()
    journal = opened(home)
    assert journal.checked.kind == "missing-key"
    batch = journal.batch("main", "t9"); batch.record("note", {}); batch.commit_now()
    assert [row["kind"] for row in journal.records(after=12)] == ["key", "note"]
    journal.anchor()
    journal.close()
    assert verdict_on(home, whole=False) and verdict_on(home).kind == "missing-key"
    edit(home, "UPDATE chain SET body = '{\"n\":1}' WHERE kind = 'note'")
    assert verdict_on(home).kind == "forged"


def test_lost_key_of_an_empty_journal(tmp_path):
    Journal.open(tmp_path / "journal.db").close()
    (tmp_path / "journal.key").unlink()
    journal = Journal.open(tmp_path / "journal.db")
    assert journal.checked and journal.verify()
    journal.close()


@pytest.mark.parametrize("damage, words", [
    (lambda key: key.write_bytes(b"short"), "damaged"), (lambda key: key.chmod(0o640), "chmod 600"),
    (lambda key: key.write_bytes(b"x" * 32), "another key")])
def test_bad_key_file(home, damage, words):
    damage(home / "journal.key")
    with pytest.raises(JournalError, match=words):
        opened(home)


def ask_and_approve(journal, id="a1", action_hash="h", answer=True, turn="t9"):
    batch = journal.batch("main", turn)
    batch.ask(id, action_hash, "delete", code_hash="c", expires=NOW[0] + 600, reason="r", channel="cli")
    batch.commit_now()
    return journal.approve(id, by="person", session="main") if answer else None


def use(journal, id="a1", action_hash="h", effect="use"):
    batch = journal.batch("main", "t9")
    batch.consume(id, action_hash)
    batch.intend(effect, action_hash, "delete")
    batch.commit_now()


def test_approval_is_used_once(home):
    journal = opened(home)
    assert ask_and_approve(journal)["by"] == "person"
    use(journal)
    with pytest.raises(ApprovalGone, match="is used"):
        use(journal, effect="again")
    assert journal.effect("again") is None and journal.verify(whole=True)


@pytest.mark.parametrize("statement", [
    "UPDATE approvals SET state = 'approved' WHERE id = 'a1'",
    "UPDATE approvals SET state = 'approved', decided = (SELECT min(seq) FROM chain WHERE kind = 'approval') WHERE id = 'a1'",
    "UPDATE approvals SET state = 'approved', decided = seq WHERE id = 'a1'",
    "UPDATE approvals SET state = 'approved', decided = NULL WHERE id = 'a1'"])
def test_used_approval_put_back(home, statement):
    journal = opened(home)
    ask_and_approve(journal)
    use(journal)
    edit(home, statement)
    with pytest.raises(ApprovalGone):
        use(journal, effect="again")
    assert journal.verify(whole=True).kind == "forged"


USED = "(SELECT max(seq) FROM chain WHERE kind = 'approval')"


@pytest.mark.parametrize("statement", [f"DELETE FROM chain WHERE seq = {USED}", f"UPDATE chain SET kind = 'log' WHERE seq = {USED}", f"UPDATE chain SET body = NULL WHERE seq = {USED}",
                                       f"UPDATE chain SET body = '{{}}' WHERE seq = {USED}", f"UPDATE chain SET body = '5' WHERE seq = {USED}", f"DELETE FROM chain WHERE seq >= {USED}"])
@pytest.mark.parametrize("again", [False, True])
def test_used_approval_put_back_and_its_use_taken_out_of_the_chain(home, statement, again):
    journal = opened(home)
    ask_and_approve(journal)
    use(journal)
    if again: journal.close()
    edit(home, statement, "UPDATE approvals SET state = 'approved', decided = (SELECT min(seq) FROM chain WHERE kind = 'approval') WHERE id = 'a1'")
    if again: journal = opened(home)
    with pytest.raises(JournalError):
        use(journal, effect="again")
    assert journal.effect("again") is None
    ask_and_approve(journal, "a2")                  # what is approved from now on counts
    use(journal, "a2", effect="other")
    journal.close()


@pytest.mark.parametrize("stand_in", [True, False], ids=["descriptor", "names"])
@pytest.mark.parametrize("how", ["exchanged", "removed", "moved", "log", "log exchanged", "log moved"])
def test_nothing_goes_into_a_file_that_has_lost_its_name(home, how, stand_in, monkeypatch):
    "Another file is renamed over the open journal, or it or its log is removed: what would be recorded could never be found again."
    import os, shutil
    if not stand_in: monkeypatch.delattr(os, "O_PATH")                  # as on systems that have no such descriptor
    journal, path = opened(home), home / "journal.db"
    file = path.with_name("journal.db-wal") if how.startswith("log") else path
    ask_and_approve(journal)
    if how.endswith("exchanged"):
        shutil.copy(file, home / "copy")
        os.replace(home / "copy", file)
    elif how.endswith("moved"): os.replace(file, home / "away")
    else: os.unlink(path if how == "removed" else f"{path}-wal")
    with pytest.raises(JournalError, match="moved, removed or exchanged"):
        use(journal)
    assert journal.effect("use") is None
    batch = journal.batch("main", "t10")
    batch.record("answer", {"text": "which nobody would find again"})
    with pytest.raises(JournalError, match="moved, removed or exchanged"): batch.commit_now(durable=False)
    if how.endswith("moved"):
        os.replace(home / "away", file)
        use(journal)
    journal.close()


def test_the_times_of_the_log_are_not_asked_for_while_it_is_written(home, monkeypatch):
    "Whoever asks makes the next sync wait for the file system's own journal: 60 to 100 µs a commit on Linux 6.13 and newer."
    import os
    journal, asked, stat = opened(home), [], os.stat
    monkeypatch.setattr(os, "stat", lambda path, *rest, **more: (asked.append(str(path)), stat(path, *rest, **more))[1])
    for n in range(3):
        batch = journal.batch("main", f"t{n}")
        batch.record("note", {"n": n})
        batch.commit_now()
    monkeypatch.undo()
    held = journal.places.held
    journal.close()
    assert asked and not [path for path in asked if path.endswith("-wal")]
    with pytest.raises(OSError): os.readlink(f"/proc/self/fd/{held}")


def test_one_approval_does_not_serve_another_request(home):
    journal = opened(home)
    ask_and_approve(journal)
    batch = journal.batch("main", "t9")
    batch.ask("a2", "other", "delete all", code_hash="c", expires=NOW[0] + 600, reason="r", channel="cli")
    batch.commit_now()
    edit(home, "UPDATE approvals SET state = 'approved', decided = (SELECT decided FROM approvals WHERE id = 'a1') WHERE id = 'a2'")
    with pytest.raises(ApprovalGone, match="seal"):
        use(journal, "a2", "other")
    edit(home, "UPDATE approvals SET id = 'a3' WHERE id = 'a1'")
    with pytest.raises(ApprovalGone, match="seal"):
        use(journal, "a3", "h")


def test_asked_text_cannot_be_swapped(home):
    journal = opened(home)
    ask_and_approve(journal)
    edit(home, "UPDATE chain SET body = replace(body, '\"hash\":\"h\"', '\"hash\":\"z\"') WHERE kind = 'ask'")
    with pytest.raises(ApprovalGone, match="seal"):
        use(journal, "a1", "z")


def test_states_of_an_approval(home):
    journal = opened(home)
    ask_and_approve(journal)
    with pytest.raises(ApprovalGone, match="is approved already, and what it allows is being done"):       # in another window, for instance
        journal.approve("a1", by="person", session="main")
    assert journal.deny("a1", by="person", session="main")["state"] == "denied"      # taken back before use
    with pytest.raises(ApprovalGone, match="is denied"):
        use(journal)
    with pytest.raises(ApprovalGone, match="no request"):
        journal.approve("nothing", by="person", session="main")
    ask_and_approve(journal, "a2")
    for jump, words in ((601, "expired"), (-4000, "the clock says .* now: it was set")):      # a clock set forward, and one set back
        NOW[0] = 1000.0 + jump
        with pytest.raises(ApprovalGone, match=words):
            use(journal, "a2")
        assert journal.approval("a2")["state"] == "expired" and [row["id"] for row in journal.approvals("expired")] == ["a2"]
    NOW[0] = 1000.0
    assert journal.approvals("approved", session="main")[0]["id"] == "a2" and journal.approvals("approved", session="x") == []
    use(journal, "a2")


@pytest.mark.parametrize("later, over", [([(1599.9, "t")], False), ([(1600.0, "t")], True), ([(940.0, "t")], False), ([(939.9, "t")], True), ([(1200.0, "t"), (900.0, "u")], True),
                                         ([(900.0, "t"), (1200.0, "t")], False), ([(900.0, ""), (1200.0, "")], True), ([(1700.0, "t"), (1200.0, "t")], True)])
def test_what_the_records_since_say_about_the_time_of_something(home, later, over):
    "A request writes its first records late, and its last one says when; what belongs to none says so for itself. Nothing is looked through twice."
    NOW[0] = 1000.0
    journal = opened(home)
    ask_and_approve(journal)
    seq = journal.approval("a1")["seq"]
    assert not outlived(journal, [(seq, 1000.0, 1600.0)]) and journal.looked[seq] == journal.seq
    batches = {turn: journal.batch("other", turn) for _, turn in later}
    for at, turn in later:
        NOW[0] = at
        batches[turn].record("note", {"n": at})
    for batch in batches.values(): batch.commit_now()
    assert outlived(journal, [(seq, 1000.0, 1600.0), (journal.seq, at, at + 1)]) == {seq} - ({seq} if not over else set())
    journal.close()


def test_of_several_that_wait_each_is_judged_by_the_records_after_its_own(home):
    NOW[0] = 1000.0
    journal = opened(home)
    for n, later in enumerate((0, 200, 300, -250, 50, 250)):          # the fourth is asked by a clock that was set back
        NOW[0] += later
        ask_and_approve(journal, f"a{n}", answer=False, turn=f"t9{n}")
    assert [row["id"] for row in journal.approvals("pending")] == ["a5", "a4", "a3", "a1", "a0"] and [row["id"] for row in journal.run_out()] == ["a2"]
    journal.close()
    journal = opened(home)
    rows = [(row["seq"], row["at"], row["expires"]) for row in journal.approvals()]
    for told in (rows, rows[::-1], rows[2:] + rows[:2]):
        journal.looked.clear()
        assert outlived(journal, told) == {journal.approval("a2")["seq"]}
    journal.close()


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("jumps, words", [((-1e7, 1e7), "clock that ran ahead or was set since"), ((1e7, -1e7), "clock that ran ahead or was set since"), ((-50, 50), "")])
def test_what_was_void_by_the_record_once_is_not_good_again_when_the_clock_shows_its_time(home, answered, jumps, words):
    "Asked under a clock that ran ahead, it would be good for its ten minutes when that time comes; no process has to have looked in between."
    NOW[0] = 1e9
    journal = opened(home)
    ask_and_approve(journal, "a1", answer=answered)
    for n, jump in enumerate(jumps):
        NOW[0] += jump
        batch = journal.batch("other", f"later {n}")
        batch.record("turn", {"text": "something else"})
        batch.commit_now()
    journal.close()
    journal = opened(home)
    state = "expired" if words else "approved" if answered else "pending"
    assert journal.approval("a1")["state"] == state and [row["id"] for row in journal.run_out()] == ["a1"] * bool(words)
    act = lambda: use(journal, "a1") if answered else journal.approve("a1", by="person", session="main")
    if words:
        with pytest.raises(ApprovalGone, match=words): act()
        assert journal.lapse(journal.run_out()[0]) and journal.run_out() == []
    else: act()
    assert journal.verify(whole=True)
    journal.close()


def test_what_is_on_record_as_run_out_is_not_read_again_and_an_answer_that_came_first_stands(home):
    journal = opened(home)
    for each in ("a1", "a2"): ask_and_approve(journal, each)
    NOW[0] = 1000.0 - 4000                                  # a clock that was set back makes them void as well
    assert [row["id"] for row in journal.run_out()] == [row["id"] for row in journal.approvals("expired")] == ["a2", "a1"]
    NOW[0] = 1000.0 + 601
    found = journal.run_out()
    assert [row["id"] for row in found] == ["a2", "a1"]
    NOW[0] = 1000.0
    use(journal, "a1")                                      # in another process, whose clock is behind
    NOW[0] = 1000.0 + 601
    assert journal.lapse(found[0]) and not journal.lapse(found[0])
    NOW[0] = 1000.0
    assert not journal.lapse(found[1]) and journal.approval("a1")["state"] == "used"
    with pytest.raises(ApprovalGone, match="has expired"): use(journal, "a2")
    assert journal.db.execute("SELECT count(*) FROM approvals WHERE state IN ('pending', 'approved')").fetchone() == (0,)
    assert [row["id"] for row in journal.approvals("expired")] == ["a2"] and journal.verify(whole=True)
    journal.close()


@pytest.mark.parametrize("statement", [
    "UPDATE effects SET state = 'started' WHERE id = 'e1'", "UPDATE effects SET state = 'failed' WHERE id = 'e1'",
    "UPDATE effects SET settled = 1 WHERE id = 'e1'", "DELETE FROM effects WHERE id = 'e1'", "UPDATE effects SET id = 'e9' WHERE id = 'e1'",
    "INSERT INTO effects VALUES (99, 'e9', 'committed', '', NULL)"])
def test_tables_are_compared_with_the_chain(home, statement):
    edit(home, statement)
    verdict = verdict_on(home)
    assert verdict.kind == "forged" and "effects" in verdict.problem


def test_memory_rows_bear_a_seal(home):
    journal = opened(home)
    batch = journal.batch("main", "m")
    for id in "abc":
        batch.remember(id, "h", json.dumps({"label": "network", "id": id}))
    batch.commit_now()
    edit(home, "UPDATE memory SET body = replace(body, 'network', 'person') WHERE id = 'b'", "INSERT INTO memory VALUES ('d', 'h', '{}', zeroblob(32))")
    assert [id for id, _, _ in journal.memory_rows()] == ["a", "c"] and journal.checked.kind == "forged"


def test_trigger_is_refused(home):
    edit(home, "CREATE TRIGGER t AFTER INSERT ON approvals BEGIN UPDATE approvals SET state = 'approved'; END")
    with pytest.raises(JournalError, match="trigger"):
        opened(home)


def test_foreign_record_is_noticed_while_open(home):
    "Another connection appends a record without the key: the next write sees it, and the anchor does not bless it."
    journal = opened(home)
    edit(home, "INSERT INTO chain VALUES (13, 'note', '', '', 1.0, '{}', zeroblob(48))")
    batch = journal.batch("main", "t9"); batch.record("note", {}); batch.commit_now()
    assert journal.checked.kind == "forged" and journal.checked.seq == 13
    journal.close()
    assert verdict_on(home, whole=False).kind == "forged"


# What stands beside the chain ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("statement", ["UPDATE images SET before = x'00' WHERE seq = 2", "UPDATE images SET before = 'before' WHERE seq = 2", "DELETE FROM images WHERE seq = 2", "INSERT INTO images VALUES (3, x'00')", "UPDATE images SET seq = 99 WHERE seq = 2"])
def test_what_a_note_held_before_cannot_be_changed_unnoticed(home, statement):
    assert verdict_on(home)
    edit(home, statement)
    assert verdict_on(home).kind == "forged"


@pytest.mark.parametrize("image", [b"\x00", "text", 5])
def test_a_new_note_is_given_no_past(home, image):
    journal = opened(home)
    batch = journal.batch("main", "t9"); batch.intend("e9", "h", "create"); batch.commit_now()
    journal.close()
    edit(home, ("INSERT INTO images VALUES (13, ?)", (image,)))
    assert verdict_on(home).kind == "forged"


def test_an_effect_that_is_set_back_to_begun_is_not_taken_for_the_work_of_a_crash(home):
    "The recovery would write *unknown* into the chain, and the table and the chain would agree about something that never happened."
    edit(home, "UPDATE effects SET state = 'started', settled = NULL")
    journal = opened(home)
    assert journal.orphans() == []
    assert "says started of" in journal.verify(whole=True).problem
    journal.close()


@pytest.mark.parametrize("statement", ["DROP TABLE images", "DROP TABLE chain", "ALTER TABLE chain ADD COLUMN more", "DROP INDEX chain_turn", "ALTER TABLE effects RENAME TO others"])
def test_a_journal_of_another_layout_is_refused_before_a_turn_begins(home, statement):
    edit(home, statement)
    with pytest.raises(JournalError, match="laid out in another way"): opened(home)


JUNK = ["not json", "[1, 2]", "5", '"text"', b"\xff\x00", "[" * 50_000, "null"]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:12])
def test_whatever_stands_in_the_place_of_a_record_can_be_looked_at(home, junk):
    edit(home, ("UPDATE chain SET body = ?", (junk,)))
    journal = opened(home)
    assert {record["body"] for record in journal.records()} == {None}
    assert len(journal.effects()) == 3 and journal.effect("e1")["action"] is None and journal.approvals() == []
    assert journal.verify(whole=True).kind == "forged"
    journal.close()


@pytest.mark.parametrize("at", ["noon", b"x", 9e999, -1.0, 1e300])
def test_a_time_that_is_none_is_the_beginning_of_time(home, at):
    edit(home, ("UPDATE chain SET at = ?", (at,)))
    journal = opened(home)
    assert {record["at"] for record in journal.records()} == {0.0} == {effect["at"] for effect in journal.effects()}
    journal.close()


@pytest.mark.parametrize("junk", [*JUNK, '{"expires":"never"}', '{"expires":1e999}'], ids=lambda junk: repr(junk)[:12])
def test_a_question_that_was_changed_is_over(home, junk):
    journal = opened(home)
    ask_and_approve(journal)
    edit(home, ("UPDATE chain SET body = ? WHERE kind = 'ask'", (junk,)))
    assert journal.approval("a1")["state"] == "expired" and journal.approvals(state="pending") == []
    journal.close()


def test_nothing_is_taken_back_by_the_word_of_a_record_that_somebody_changed(home):
    "Who can write the file could otherwise have any text put into any note, at the person's next undo."
    from passepartout.edits import digest
    from passepartout.tools import ToolError
    from passepartout.undo import undo_edit
    class Note:
        display, spelled, kind = "note.org", "note.org", "file"
        def read_bytes(self): return b"now"
    told = {"path": "note.org", "before": digest(b"old"), "after": digest(b"now")}
    journal = opened(home)
    batch = journal.batch("main", "t9"); batch.intend("e9", "h", "edit", before=b"old", detail={"edit": told}); batch.settle("e9", "committed"); batch.commit_now()
    assert undo_edit(journal, "e9", Note()).after == b"old"
    edit(home, ("UPDATE chain SET body = replace(body, ?, ?) WHERE seq = 13", (digest(b"old"), digest(b"evil"))), ("UPDATE images SET before = ? WHERE seq = 13", (b"evil",)))
    with pytest.raises(ToolError, match="seal"): undo_edit(journal, "e9", Note())
    journal.close()


@pytest.mark.slow
def test_whichever_page_is_damaged_it_is_a_sentence(home):
    "Not an error of the database library, in whichever table it is, and whatever is looked at."
    from passepartout.consent.attestations import Attestations
    from passepartout.consent.endorsements import Endorsements
    from passepartout.consent.grants import Grant, Grants
    journal = opened(home)
    for n in range(40):
        batch = journal.batch("main", f"more{n}")
        batch.intend(f"m{n}", "h", "append", before=b"x" * 3000); batch.settle(f"m{n}", "committed"); batch.remember(f"o{n}", "h", '"%s"' % ("y" * 400)); batch.commit_now()
    ask_and_approve(journal)
    Grants(journal).give(Grant("edit", "main", NOW[0] + 60), "a1", "person")
    journal.close()
    good, told = (home / "journal.db").read_bytes(), 0
    for page in range(1, len(good) // 2048):
        (home / "journal.db").write_bytes(good[:page * 2048] + b"\x5a" * 2048 + good[(page + 1) * 2048:])
        try: journal = opened(home)
        except JournalError:
            told += 1
            continue
        looks = (journal.orphans, lambda: journal.effects(), lambda: [journal.effect(f"m{n}") for n in range(40)], journal.approvals, lambda: list(journal.memory_rows()), lambda: use(journal),
                 Grants(journal).standing, Endorsements(journal).standing, Attestations(journal).standing, lambda: journal.records(), journal.turns, journal.sessions, lambda: journal.erasable(turn="more1"))
        for look in looks:
            try: look()
            except JournalError: told += 1
        journal.verify(whole=True)                              # a free page may be what it likes
        journal.close()
    assert told > 20


@pytest.mark.parametrize("seq, ok, after", [(5, True, True), (0, True, True), (4, False, False), (5, False, False), (6, False, True)])
def test_what_stands_after_a_break_counts_and_the_broken_record_does_not(seq, ok, after):
    assert is_after_break(SimpleNamespace(checked=SimpleNamespace(ok=ok, seq=5)), seq) is after


def test_a_question_that_is_not_answered_yet_goes_by_no_other_name(home):
    "Somebody who may write the file, and nothing else, has a yes to a small question answer a large one."
    journal = opened(home)
    for id, what in (("a1", "delete all"), ("a2", "add bread")):
        batch = journal.batch("main", "t9")
        batch.ask(id, "h", what, code_hash="c", expires=NOW[0] + 600, reason="r", channel="cli")
        batch.commit_now()
    edit(home, "UPDATE approvals SET id = 'a3' WHERE id = 'a2'", "UPDATE approvals SET id = 'a2' WHERE id = 'a1'")
    with pytest.raises(ApprovalGone, match="seal"): journal.approve("a2", by="person", session="main")
    journal.close()


@pytest.mark.parametrize("gone", ["seq = {0}", "seq >= {0}"])
def test_nothing_is_whole_since_a_record_that_is_gone(home, gone):
    journal = opened(home)
    Grants(journal).give(Grant("edit", "main", NOW[0] + 900), "a1", "person")
    given = journal.seq
    batch = journal.batch("main", "t9"); batch.record("note", {}); batch.commit_now()
    assert whole_since(journal, [given], "chain_grants", "kind = 'grant'") == {given}
    edit(home, f"DELETE FROM chain WHERE {gone.format(given)}")
    assert whole_since(journal, [given], "chain_grants", "kind = 'grant'") == set()
    journal.close()


def test_nothing_is_whole_by_an_index_that_leaves_something_out(home):
    "Somebody who may write the file, and nothing else, takes the end of a grant out of the list of grants, and leaves every record where it is."
    journal = opened(home)
    for n in range(2): Grants(journal).give(Grant("edit", "main", NOW[0] + 900), f"a{n}", "person")
    given = journal.seq
    Grants(journal).give(Grant("edit", "main", NOW[0] + 900), "a3", "person")
    assert whole_since(journal, [given], "chain_grants", "kind = 'grant'") == {given}
    (sql,) = journal.db.execute("SELECT sql FROM sqlite_schema WHERE name = 'chain_grants'").fetchone()
    journal.close()
    edit(home, "DROP INDEX chain_grants", sql.replace("kind = 'grant'", f"kind = 'grant' AND seq <= {given}"), "PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = '{}' WHERE name = 'chain_grants'".format(sql.replace("'", "''")))
    journal = opened(home)
    assert whole_since(journal, [given], "chain_grants", "kind = 'grant'") == set()
    journal.close()


def test_a_journal_with_a_page_that_the_disk_lost_is_not_gone_on_with(home):
    "What is written after records that cannot be read would stand on nothing. The page is one of a long text: whoever only counts the records does not meet it."
    journal = opened(home)
    batch = journal.batch("main", "t9"); batch.record("note", {"text": "".join(f"number {n:04} " for n in range(2000))}); batch.commit_now()
    batch = journal.batch("main", "t9"); batch.record("note", {}); batch.commit_now()
    journal.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = (home / "journal.db").read_bytes()
    (home / "journal.anchor").unlink()
    journal.db.close()
    with open(home / "journal.db", "r+b") as file: file.seek(data.index(b"number 1000 ") // 2048 * 2048); file.write(b"\xff" * 4)
    before = (home / "journal.db").read_bytes()
    with pytest.raises(JournalError, match="damaged page.*restore FILE"): opened(home)
    assert (home / "journal.db").read_bytes() == before
