"Forgetting: the bytes are gone from every file, the chain holds, and nothing unfinished is lost."
import json
import os
import sqlite3
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import thinned
from passepartout.agent import Agent, run_anywhere
from passepartout.storage.erasure import as_ranges
from passepartout.journal import Journal, JournalError
from passepartout.storage.store import Draft
from passepartout.retention import Forgotten, drop_versions, forget, forget_old, forget_versions, old_run
import test_cli

forks, home = test_cli.forks, test_cli.home         # fixtures

DAY = 86400
NOW = [2_000_000_000.0]


def opened(folder): return Journal.open(folder / "journal.sqlite", clock=lambda: NOW[0])


def a_turn(journal, n, text, before=None):
    batch = journal.batch("main", f"t{n}")
    batch.record("turn", {"text": text, "sensor": "user-input"})
    batch.record("proposal", {"proposal": f"(:TEXT \"{text}\")", "attempt": 1, "verdict": "allowed", "gate": None, "text": "", "gates": []})
    batch.intend(f"e{n}", "hash", text, before=before)
    batch.settle(f"e{n}", "committed", {"said": text})
    batch.record("answer", {"text": text})
    batch.commit_now()


def everywhere(folder, text):
    "The files below `folder` that hold `text`."
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes())


@pytest.fixture
def journal(tmp_path):
    NOW[0] = 2_000_000_000.0
    journal = opened(tmp_path)
    yield journal
    if not journal.closed: journal.close()


@given(st.sets(st.integers(1, 300)))
def test_ranges_say_the_numbers_and_no_others(numbers):
    ranges = as_ranges(sorted(numbers))
    assert sorted(n for first, last in ranges for n in range(first, last + 1)) == sorted(numbers)
    assert all(a[1] + 1 < b[0] for a, b in zip(ranges, ranges[1:]))


# The bytes ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("compact, size", [(True, 10), (False, 900), (False, 10), pytest.param(True, 900, marks=pytest.mark.slow), pytest.param(True, 30_000, marks=pytest.mark.slow), pytest.param(False, 30_000, marks=pytest.mark.slow)])
def test_the_bytes_are_gone_from_all_files(journal, tmp_path, size, compact):
    "Short texts share pages, long ones overflow; some lie in the database, some in its log."
    for n in range(24):
        a_turn(journal, n, f"pineapple{n} " + "pineapple " * (size // 10), b"pineapple before " * (size // 10 + 1))
        a_turn(journal, 100 + n, f"cherry{n} " * (size // 10 + 1))
        if n == 12: sqlite3.connect(tmp_path / "journal.sqlite").execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert {"journal.sqlite", "journal.sqlite-wal"} <= set(everywhere(tmp_path, "pineapple"))
    wanted = [seq for n in range(24) for seq in journal.erasable(turn=f"t{n}")]
    done = journal.erase(*wanted, compact=compact)
    assert done == (120, 24, True)
    assert everywhere(tmp_path, "pineapple") == [] and everywhere(tmp_path, "cherry23")
    assert journal.verify(whole=True)
    journal.close()
    assert everywhere(tmp_path, "pineapple") == []
    again = opened(tmp_path)
    assert again.checked and again.verify(whole=True) and again.records(turn="t123")[0]["body"]["text"].startswith("cherry23")
    again.close()


def test_a_reader_delays_the_end_of_the_bytes_and_that_is_said(journal, tmp_path):
    a_turn(journal, 1, "pineapple")
    sqlite3.connect(tmp_path / "journal.sqlite").execute("PRAGMA wal_checkpoint(TRUNCATE)")
    a_turn(journal, 2, "cherry")
    reader = sqlite3.connect(tmp_path / "journal.sqlite")
    reader.execute("BEGIN"); reader.execute("SELECT count(*) FROM chain").fetchone()
    journal.db.execute("PRAGMA busy_timeout=50")
    done = journal.erase(*journal.erasable(turn="t1"), compact=False)
    assert done.records == 5 and not done.gone and journal.records(turn="t1")[0]["body"] is None
    reader.rollback(); reader.close()
    assert journal.erase(compact=True).gone and everywhere(tmp_path, "pineapple") == [] and journal.verify(whole=True)


# The chain ------------------------------------------------------------------------------------------------------------

@given(st.lists(st.sets(st.integers(1, 30), min_size=1), min_size=1, max_size=4))
@settings(max_examples=25)
def test_whatever_is_erased_the_chain_holds(requests):
    journal = Journal.open(":memory:")
    for n in range(6): a_turn(journal, n, f"text {n}", b"before")
    for request in requests: journal.erase(*request)
    gone = set.union(*requests)
    assert {r["seq"] for r in journal.records() if r["body"] is None} == gone
    assert journal.verify(whole=True)
    assert [e["state"] for e in journal.effects()] == ["committed"] * 6
    assert [e["id"] for e in journal.effects() if e["hash"] is None] == [e["id"] for e in journal.effects() if e["seq"] in gone]


@pytest.mark.parametrize("statement", thinned(["UPDATE effects SET state = 'failed' WHERE id = 'e1'", "UPDATE effects SET settled = 3 WHERE id = 'e1'", "DELETE FROM effects WHERE id = 'e1'", "INSERT INTO effects VALUES (900, 'e9', 'started', 'x', NULL)",
                                       "UPDATE chain SET body = '{}' WHERE seq = 1", "UPDATE chain SET body = NULL, proof = substr(proof, 1, 32) || zeroblob(32) WHERE turn = 't2'", "DELETE FROM chain WHERE kind = 'erase'",
                                       "UPDATE chain SET body = '{\"ranges\":[[1,999999999999]]}' WHERE kind = 'erase'", "UPDATE approvals SET state = 'pending'"], 4))
def test_tampering_after_forgetting_is_found(journal, tmp_path, statement):
    batch = journal.batch("main", "t0"); batch.ask("a1", "h", "x", code_hash="", expires=NOW[0] + 60, reason="r", channel="cli"); batch.commit_now()
    journal.deny("a1", by="person", session="main")
    a_turn(journal, 1, "one"); a_turn(journal, 2, "two")
    journal.erase(*journal.erasable(turn="t1"), *journal.erasable(turn="t0"))
    assert journal.verify(whole=True)
    journal.close()
    edit_file = sqlite3.connect(tmp_path / "journal.sqlite"); edit_file.execute(statement); edit_file.commit(); edit_file.close()
    again = opened(tmp_path)
    assert again.verify(whole=True).kind in ("forged", "cut-off")
    again.close()


def test_an_endless_range_from_somebody_without_the_key_costs_nothing(tmp_path):
    "After a lost key old records are not checked, so their ranges may say anything."
    journal = opened(tmp_path)
    batch = journal.batch("main", "t"); batch.record("note", {"x": 1}); batch.commit_now()
    journal.erase(1); journal.close()
    (tmp_path / "journal.key").unlink()
    again = opened(tmp_path); again.close()
    db = sqlite3.connect(tmp_path / "journal.sqlite"); db.execute("UPDATE chain SET body = '{\"ranges\":[[1,9223372036854775807],[1,1e300],\"x\"]}' WHERE kind = 'erase'"); db.commit(); db.close()
    again = opened(tmp_path)
    assert again.verify(whole=True).kind == "missing-key"
    again.close()


def test_what_is_unfinished_stays(journal):
    batch = journal.batch("main", "t1")
    batch.record("turn", {"text": "x"}); batch.intend("e1", "h", "under way", before=b"held")
    batch.ask("a1", "h", "asked", code_hash="", expires=NOW[0] + 600, reason="r", channel="cli"); batch.commit_now()
    batch = journal.batch("main", "t2"); batch.ask("a2", "h", "asked", code_hash="", expires=NOW[0] + 600, reason="r", channel="cli"); batch.commit_now()
    journal.approve("a2", by="person", session="main")
    assert journal.erasable() == [1] and len(journal.with_text()) == 5
    assert journal.erase(*journal.erasable()).records == 1
    assert journal.approval("a2")["state"] == "approved" and journal.effect("e1")["before"] == b"held"
    batch = journal.batch("main", "t2"); batch.consume("a2", "h"); batch.settle("e1", "committed"); batch.commit_now()
    NOW[0] += 601
    journal.erase(*journal.erasable())
    assert journal.with_text() == [] and journal.verify(whole=True) and journal.effect("e1")["before"] is None and journal.approval("a2")["state"] == "used"


def test_two_processes_forget_the_same(journal, tmp_path):
    for n in range(4): a_turn(journal, n, "pineapple")
    other = opened(tmp_path)
    numbers = other.erasable()
    assert journal.erase(*journal.erasable()).records == 20 and other.erase(*numbers).records == 0
    a_turn(other, 9, "after"); a_turn(journal, 10, "after")
    assert other.verify(whole=True) and journal.verify(whole=True) and len(journal.records(kinds=["erase"])) == 1
    other.close()


def test_a_failing_write_erases_nothing(journal, tmp_path):
    a_turn(journal, 1, "pineapple")
    for n in range(60): a_turn(journal, 10 + n, "x" * 700)
    journal.db.executescript("CREATE TEMP TRIGGER no BEFORE UPDATE ON main.chain BEGIN SELECT RAISE(FAIL, 'disk'); END")
    with pytest.raises(JournalError): journal.erase(*journal.erasable())
    journal.db.executescript("DROP TRIGGER no")
    assert journal.records(turn="t1")[0]["body"]["text"] == "pineapple" and journal.verify(whole=True) and not journal.records(kinds=["erase"])
    assert journal.erase(*journal.erasable()).records == 305 and journal.verify(whole=True)


# By itself ------------------------------------------------------------------------------------------------------------

@given(st.lists(st.integers(0, 100), max_size=12), st.integers(0, 100), st.sets(st.integers(1, 12)))
def test_only_a_run_of_old_records_goes(times, cutoff, needed):
    rows = list(enumerate(times, 1))
    run = old_run(rows, cutoff, 80, needed)
    assert run == [seq for seq, _ in rows if seq not in needed and seq <= max(run, default=0)]
    assert all(times[seq - 1] < cutoff or times[seq - 1] > 80 for seq in run) and (not run or times[run[-1] - 1] < cutoff)


def test_what_is_needed_for_long_holds_nothing_else_back(journal):
    "A grant for a year: all around it goes, and it goes itself when it has run out."
    a_turn(journal, 1, "before")
    draft = Draft("main", "", journal.clock)
    draft.record("grant", {"id": "g", "expires": NOW[0] + 365 * DAY, "state": "given"})
    draft.change(lambda store, seq, draft: store.execute("CREATE INDEX chain_grants ON chain(seq) WHERE kind = 'grant'"))
    journal.write([draft])
    for n in range(2, 30):
        a_turn(journal, n, "after")
        NOW[0] += 30 * DAY
        forget_old(journal, 45)
        grant = journal.records(kinds=["grant"])[0]["body"]
        assert (grant is None) == (NOW[0] - 2_000_000_000.0 >= 365 * DAY)
        assert len([r for r in journal.records(kinds=["turn"]) if r["body"]]) <= 3
    assert journal.verify(whole=True)


def test_years_of_use_with_ninety_days_of_memory(journal, tmp_path):
    for n in range(30):
        a_turn(journal, n, f"week number {n}.")
        NOW[0] += 30 * DAY
        forget_old(journal, 90)
    kept = [r["turn"] for r in journal.records(kinds=["turn"]) if r["body"]]
    assert kept == ["t26", "t27", "t28", "t29"] and journal.verify(whole=True)
    assert everywhere(tmp_path, "week number 3.") == []


@pytest.mark.parametrize("versions", [False, True])
def test_a_clock_that_is_wrong_at_several_starts_destroys_nothing_and_one_that_is_right_after_a_long_pause_ends_it_a_week_later(journal, versions):
    "The newest record bears the time of the wrong clock as well."
    look = (lambda: forget_versions(journal, 30).images) if versions else (lambda: forget_old(journal, 30).records)
    for n in range(3): a_turn(journal, n, "of last week", b"before")
    NOW[0] += 400 * DAY
    for n in range(3, 9):
        a_turn(journal, n, "under the wrong clock", b"before")
        assert look() == 0
        NOW[0] += DAY
    NOW[0] -= 406 * DAY
    a_turn(journal, 9, "put right", b"before")
    assert look() == 0
    NOW[0] += 400 * DAY
    for n in range(10, 19):
        a_turn(journal, n, "after a long pause", b"before")
        assert bool(look()) == (n == 18), n
        NOW[0] += DAY
    assert journal.verify(whole=True)


def test_a_start_with_nothing_to_do_writes_nothing(journal):
    for n in range(3): a_turn(journal, n, "x")
    before = journal.seq, journal.commits
    for _ in range(3): assert forget_old(journal, 30) == Forgotten()
    assert (journal.seq, journal.commits) == before


@pytest.fixture
def boot(tmp_path):
    "Boots an agent on the memex of the test, with settings of one's own."
    return lambda **more: run_anywhere(Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", **more))


def test_booting_applies_the_setting(tmp_path, boot):
    (tmp_path / "memex").mkdir(); (tmp_path / "memex" / "inbox.org").write_text("* Inbox\n")
    agent = boot()
    agent.journal.clock = lambda: time.time() - 40 * DAY
    agent.run(agent.handle("find pineapple"))                     # what is written to a note stands in the images of later edits of it
    agent.journal.clock = lambda: time.time() - 20 * DAY          # a clock that jumps by more than a month is not believed at once
    agent.run(agent.handle("what is due?"))
    agent.journal.clock = time.time
    agent.run(agent.handle("todo: buy cherries"))
    agent.run(agent.close())
    for days in (None, 90):
        agent = boot(journal_keep_days=days) if days else boot()
        agent.run(agent.close())
        assert everywhere(tmp_path / "state", "pineapple")
    agent = boot(journal_keep_days=30)
    assert [line for line in agent.log.lines() if "RETENTION" in line] and agent.journal.verify(whole=True)
    agent.run(agent.close())
    assert everywhere(tmp_path / "state", "pineapple") == [] and everywhere(tmp_path / "state", "cherries")


def test_what_notes_held_is_erased_by_itself(tmp_path, boot):
    (tmp_path / "memex").mkdir()
    note = tmp_path / "memex" / "inbox.org"
    note.write_text("* Router, password hunter2\n")
    agent = boot()
    agent.journal.clock = lambda: time.time() - 40 * DAY
    agent.run(agent.handle("todo: buy pineapple"))                 # keeps what the note held before
    agent.journal.clock = lambda: time.time() - 20 * DAY
    agent.run(agent.handle("what is due?"))
    agent.journal.clock = time.time
    agent.run(agent.close())
    note.write_text(note.read_text().replace("hunter2", "(gone)"))
    for days in (90, 30):
        assert everywhere(tmp_path / "state", "hunter2")
        agent = boot(undo_keep_days=days)
        agent.run(agent.handle("what is due?"))
        agent.run(agent.close())
    assert everywhere(tmp_path / "state", "hunter2") == []
    agent = boot()
    assert agent.journal.verify(whole=True).ok and agent.journal.records(kinds=["turn"])[0]["body"]["text"] == "todo: buy pineapple"
    said = str(agent.run(agent.handle("/undo")))
    agent.run(agent.close())
    assert "hunter2" not in note.read_text() and "pineapple" in note.read_text(), said


@pytest.mark.parametrize("how", [forget, drop_versions])
def test_a_prompt_that_another_process_wrote_meanwhile_goes_as_well(journal, tmp_path, monkeypatch, how):
    "It is written by who does not know yet, after the file was removed and before the texts are."
    a_turn(journal, 1, "pineapple", before=b"* Pineapple\n")
    (tmp_path / "prompts.log").write_text("said before")
    def then(erase):
        def erases(*numbers, **more):
            assert not (tmp_path / "prompts.log").exists()
            (tmp_path / "prompts.log").write_text("pineapple")
            return erase(*numbers, **more)
        return erases
    for name in ("erase", "erase_versions"): monkeypatch.setattr(journal, name, then(getattr(journal, name)), raising=True)
    done = how(journal, journal.erasable())
    assert (done.records if how is forget else done.images) and not (tmp_path / "prompts.log").exists()


def test_a_prompt_is_not_kept_longer_than_what_the_notes_held(tmp_path):
    "The prompt showed the note as it was; it stood in `prompts.log` for good."
    said, prompts = ["A router."], []
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").write_text("* Router in the cellar of the windmill\n")
    for days, before, held in ((30, 40, True), (30, 20, True), (None, 0, True), (60, 0, True), (30, 0, False)):
        if not before: (tmp_path / "memex" / "inbox.org").write_text("* Router in the cellar\n")
        agent = a_life(tmp_path, said, prompts, undo_keep_days=days)
        agent.journal.clock = lambda: time.time() - before * DAY
        agent.run(agent.handle("What do you say about the router in the cellar?" if before else "what is due?"))
        assert "windmill" in "".join(prompts)
        agent.run(agent.close())
        assert any("windmill" in each for each in asked_models(tmp_path)) is held, (days, before)


# What others still hold ------------------------------------------------------------------------------------------------

def a_life(folder, said, prompts, **more):
    "An agent whose model answers `said` and notes what it was asked."
    from passepartout.backends import register_backend
    (folder / "memex").mkdir(exist_ok=True)
    agent = run_anywhere(Agent.boot(memex_dir=folder / "memex", state_dir=folder / "state", config_dir=folder / "config", cache_dir=folder / "cache", provider_cascade=("model",), **more))
    register_backend(agent, "model", lambda prompt, system_prompt: (prompts.append(system_prompt + prompt), said[0])[1])
    return agent


def from_outside(agent, **which):
    "Another process forgets."
    other = Journal.open(agent.journal.path)
    which = which or {"before": other.clock() + 60}
    done = forget(other, other.erasable(**which))
    other.close()
    return done


def asked_models(folder):
    "All that was kept of what models were asked."
    from passepartout.prompts import unpacked
    found, bases = [], {}
    for path in folder.rglob("prompts.*"):
        for line in map(json.loads, path.read_text().splitlines()):
            held = list(unpacked(line, bases.get(line.get("base"), "")))
            if "is" in line: bases[line["is"]] = held[0].system + held[0].prompt
            found += [each.system + each.prompt for each in held]
    return found


def test_an_agent_that_runs_tells_no_model_what_another_process_erased(tmp_path):
    said, prompts = ["It is the pineapple answer."], []
    agent = a_life(tmp_path, said, prompts)
    for text in ("tell me about the pineapple", "and then?"): agent.run(agent.handle(text))
    assert "pineapple" in prompts[-1]
    assert from_outside(agent).records
    said[0] = "Hm."
    agent.run(agent.handle("what else is there?"))
    assert "pineapple" not in prompts[-1]
    agent.run(agent.handle("and now?"))
    assert "what else is there?" in prompts[-1]
    agent.run(agent.close())
    assert len(asked_models(tmp_path / "state")) >= 2 and not any("pineapple" in each for each in asked_models(tmp_path / "state"))


def test_what_waits_to_be_written_is_not_written_after_it_was_erased(tmp_path):
    said, prompts = ["Hm."], []
    agent = a_life(tmp_path, said, prompts)
    agent.run(agent.handle("hello there, who are you?"))
    agent.kept_prompts.flush()
    agent.kept_prompts.next = time.monotonic() + 3600             # the next ones wait
    agent.run(agent.handle("tell me about the pineapple"))
    assert from_outside(agent).records and asked_models(tmp_path / "state") == []
    agent.run(agent.close())
    assert asked_models(tmp_path / "state") == []


def test_erasing_by_the_agents_own_hand_is_noticed_as_well(tmp_path):
    said, prompts = ["It is the pineapple answer."], []
    agent = a_life(tmp_path, said, prompts)
    agent.run(agent.handle("tell me about the pineapple"))
    forget(agent.journal, agent.journal.erasable(before=agent.journal.clock() + 60))
    said[0] = "Hm."
    agent.run(agent.handle("what else is there?"))
    assert "pineapple" not in prompts[-1]
    agent.run(agent.close())


def test_what_another_process_took_back_is_told_to_no_model(tmp_path):
    from passepartout.sessions import rewind
    said, prompts = ["It is the pineapple answer."], []
    agent, other = a_life(tmp_path, said, prompts), a_life(tmp_path, said, prompts)
    agent.run(agent.handle("tell me about the pineapple"))
    rewind(other, "main")
    said[0] = "Hm."
    agent.run(agent.handle("what else is there?"))
    assert "pineapple" not in prompts[-1]
    for each in (agent, other): each.run(each.close())


def test_a_turn_that_was_taken_back_and_erased_stands_nowhere(tmp_path):
    from passepartout.sessions import rewind
    agent = a_life(tmp_path, ["Hm."], [])
    turn = agent.run(agent.handle("tell me about the pineapple")).turn
    rewind(agent, "main")
    forget(agent.journal, agent.journal.erasable(turn=turn))
    agent.run(agent.close())
    assert everywhere(tmp_path / "state", "pineapple") == []


@pytest.mark.parametrize("typed", ["tell me  about\tthe pineapple", "  the pineapple ", "two lines\nabout the pineapple", "x" * 10_500 + " pineapple", "the pineapple has the token ghp_" + "aB3dE5gH7jK9" * 3])
def test_a_line_of_the_history_goes_however_it_was_typed(tmp_path, typed):
    from passepartout.terminal.lineediting import remember_lines
    agent = a_life(tmp_path, ["Hm."], [])
    history = agent.journal.path.parent / "history"
    remember = remember_lines(history, harmless=lambda line: True)          # as before lines with secrets were left out
    agent.run(agent.handle("something else"))
    for line in ("something else", typed): remember(line)
    turn = agent.run(agent.handle(typed)).turn
    assert len(history.read_text().splitlines()) == 2
    assert forget(agent.journal, agent.journal.erasable(turn=turn)).lines == 1 and history.read_text() == "something else\n"
    agent.run(agent.close())


def test_a_typed_secret_stands_in_no_file(tmp_path):
    from passepartout.redaction.secrets import Secret, Vault
    from passepartout.terminal.lineediting import append_line, cleaner
    from passepartout.tui.entry import TypedLines
    history, token = tmp_path / "history", "ghp_" + "aB3dE5gH7jK9" * 3
    window, agent = TypedLines(history), Agent.bare()
    agent.vault = Vault([Secret("OWN_KEY", b"seven-quiet-otters", ())])
    for line in ("find roof", f"my token is {token}"): window.add(line)
    for line in ("find fig", f"again {token}", "it is seven-quiet-otters"): append_line(history, line, cleaner(agent))
    assert history.read_text() == "find roof\nfind fig\n" and window.lines[-1].endswith(token)
    agent.run(agent.close())


def test_who_is_killed_while_forgetting_can_say_it_again(tmp_path, journal, monkeypatch):
    a_turn(journal, 1, "pineapple", before=b"* the pineapple\n")
    batch = journal.batch("main", "t1")
    batch.ask("aa", "hash", "pineapple", code_hash="…", expires=NOW[0] - 1, reason="it removes a file", channel="cli")
    batch.commit_now()
    (tmp_path / "flight-plans").mkdir()
    (tmp_path / "flight-plans" / "aa.org").write_text("* PLAN pineapple\n")
    (tmp_path / "history").write_text("pineapple\n")
    (tmp_path / "prompts.log").write_text("pineapple\n")
    class Killed(BaseException): pass
    def dies(function, moment):
        def step(*args, **more):
            if moment == "after": function(*args, **more)
            raise Killed
        return step
    import passepartout.retention as retention
    for name in ("drop_lines", "drop_plans", "erase"):
        for moment in ("before", "after"):
            with monkeypatch.context() as patched, pytest.raises(Killed):
                patched.setattr(retention, name, dies(getattr(retention, name), moment))
                forget(journal, journal.erasable(turn="t1"))
    for moment in ("before", "after"):
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(Journal, "erase", dies(Journal.erase, moment))
            forget(journal, journal.erasable(turn="t1"))
    journal.close()
    assert everywhere(tmp_path, "pineapple") == []


# The command ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_versions_are_forgotten_from_the_command_line(home):
    (home.memex / "inbox.org").write_text("* Router, password hunter2\n")
    home.ask("todo: buy pineapple")
    home.ask("find windmill")
    (home.memex / "inbox.org").write_text("* Router\n")
    assert everywhere(home.journal.parent, "hunter2") and everywhere(home.folder / "cache", "hunter2")
    forget = lambda *args: home("journal", "forget", "--memex", home.memex, "--versions", *args)
    refused = forget()
    assert refused.returncode == 2 and "--yes" in refused.stderr
    assert "Erased: 1 earlier version of notes." in forget("--yes").stdout
    assert everywhere(home.journal.parent, "hunter2") == [] and everywhere(home.journal.parent, "pineapple")
    assert everywhere(home.folder / "cache", "hunter2") == [], "the search index kept the word"
    assert "Router" in home.ask("find router").stdout
    assert "nothing to erase" in forget("--yes").stdout
    assert home("trace", "--verify", "--memex", home.memex).returncode == 0

@pytest.mark.slow
def test_forgetting_everything_from_the_command_line(home):
    home.ask("todo: buy pineapple")
    asked = json.loads(home.ask("--json", "make a list", env=home.script('(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "shell" :ARGS (:COMMAND "touch pineapple.txt") :EXPLANATION "You wanted pineapple"))')).stdout)["approvals"][0]
    (home.journal.parent / "history").write_text("todo: buy pineapple\nfind cherries\n")
    forget = lambda *args, **more: home("journal", "forget", "--memex", home.memex, *args, **more)
    refused = forget("--before", "0h")
    assert refused.returncode == 2 and "--yes" in refused.stderr and everywhere(home.state, "pineapple")
    assert forget("--yes").returncode == 2 and forget("--turn", "nowhere", "--yes").returncode == 1
    done = json.loads(forget("--before", "0h", "--yes", "--json").stdout)
    assert done["held"] == 1 and done["images"] == 1 and done["lines"] == 1 and done["gone"] and "stayed" in done["text"]
    home("approvals", "deny", "--memex", home.memex, asked["id"])
    assert json.loads(forget("--before", "0h", "--yes", "--json").stdout)["plans"] == 1
    assert everywhere(home.state, "pineapple") == [] and (home.journal.parent / "history").read_text() == "find cherries\n"
    assert "pineapple" in (home.memex / "inbox.org").read_text()
    undone = home("undo", "--memex", home.memex)
    assert "erased from the record" in undone.stdout and "pineapple" in (home.memex / "inbox.org").read_text()
    assert home("trace", "--verify", "--memex", home.memex).returncode == 0
    assert "nothing to erase" in forget("--before", "0h", "--yes").stdout
    home.ask("find cherries")
    assert home("trace", "--verify", "--memex", home.memex).returncode == 0


def test_a_tampered_journal_is_not_touched(home):
    home.ask("find roof")
    db = sqlite3.connect(home.journal); db.execute("UPDATE chain SET body = '{}' WHERE seq = 1"); db.commit(); db.close()
    done = home("journal", "forget", "--before", "0h", "--yes", "--memex", home.memex)
    assert done.returncode == 3 and "does not hold" in done.stderr
    assert sqlite3.connect(home.journal).execute("SELECT count(*) FROM chain WHERE body IS NULL").fetchone() == (0,)


@pytest.mark.slow
def test_a_person_is_asked(home):
    "On a terminal: what would go, and a yes or no."
    import pty
    home.ask("find pineapple")
    def answer(word):
        lead, follow = pty.openpty()
        child = home.start("journal", "forget", "--before", "0h", "--memex", home.memex, stdin=follow)
        os.write(lead, word + b"\n")
        out, err = child.communicate(timeout=30)
        os.close(lead); os.close(follow)
        return child.returncode, (out + err).decode()
    code, shown = answer(b"n")
    assert code == 1 and "for good" in shown and "Nothing was erased" in shown and everywhere(home.state, "pineapple")
    code, shown = answer(b"y")
    assert code == 0 and "Erased" in shown and everywhere(home.state, "pineapple") == []


@pytest.mark.slow
def test_a_year_goes_in_a_moment(tmp_path):
    journal = Journal.open(tmp_path / "journal.sqlite", clock=lambda: NOW[0])
    for n in range(4000):
        batch = journal.batch("main", f"t{n}")
        for kind in ("turn", "proposal", "note", "answer"): batch.record(kind, {"text": "pineapple " * 40})
        batch.commit_now(durable=False)
    begun = time.perf_counter()
    assert forget(journal, journal.erasable()).records == 16000 and journal.verify(whole=True)
    print(f"{time.perf_counter() - begun:.2f} s")
    assert everywhere(tmp_path, "pineapple") == [] and len(journal.records(kinds=["erase"])) == 8
    journal.close()
