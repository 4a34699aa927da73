"Kill a process that writes turns, at random moments, and look at what is left."
import os, random, subprocess, sys, time
from collections import Counter

import pytest
from passepartout.journal import Journal
from waits import away, heard, next_line, says

# Each turn does what the pipeline does, and its effect is a line in a second file. What was committed is told to the parent.
WRITER = """
import os, sys
from passepartout.journal import Journal
journal = Journal.open(sys.argv[1])
world = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
start = sys.argv[3]
tell = lambda *words: os.write(1, (" ".join(words) + "\\n").encode())
batch = journal.batch("recovery", start)
for orphan in journal.orphans():
    batch.settle(orphan["id"], "unknown", {})
batch.record("note", {"found": len(batch.records)})
batch.commit_now()
for n in range(100000):
    turn, effect = f"{start}.{n}", f"{start}.{n}.e"
    batch = journal.batch("main", turn); batch.record("turn", {"n": n}); batch.commit_now(False); tell("turn", turn)
    batch = journal.batch("main", turn)
    for kind in ("proposal", "verdict", "verdict"): batch.record(kind, {"n": n, "text": "x" * (n * 97 % 3000)})
    batch.intend(effect, "hash", "append a line", before=b"y" * (n * 31 % 5000)); batch.commit_now(); tell("intent", effect)
    os.write(world, (effect + "\\n").encode())
    batch = journal.batch("main", turn); batch.settle(effect, "committed", {"n": n}); batch.remember(f"o{n % 50}", str(n), "{}")
    batch.commit_now(); tell("outcome", effect)
    batch = journal.batch("main", turn); batch.record("answer", {"n": n}); batch.commit_now(False); tell("answer", turn)
"""


def run_and_kill(folder, n, delay):
    "Start a writer, kill it `delay` seconds after its first words; returns what it said."
    child = subprocess.Popen([sys.executable, "-c", WRITER, folder / "journal.db", folder / "world", f"p{n}"], stdout=subprocess.PIPE)
    try:
        assert next_line(child), "the writer did not start"
        time.sleep(delay)
        child.kill()
        said = heard(child.stdout).all(60)
    finally: away(child)
    return [line.split() for line in said.split("\n") if line.count(" ") == 1]


def look(folder, told):
    "What was told is on record, nothing is damaged, and no effect happened twice or unannounced."
    journal = Journal.open(folder / "journal.db")
    assert journal.checked, journal.checked.problem
    verdict = journal.verify(whole=True)
    assert verdict, verdict.problem
    kinds = Counter((row["turn"], row["kind"]) for row in journal.records())
    effects = {row["id"]: row["state"] for row in journal.effects()}
    for kind, name in told:
        if kind in ("turn", "answer"):
            assert kinds[name, kind] == 1, (kind, name)
        else:
            assert name in effects and (kind == "intent" or effects[name] == "committed"), (kind, name)
    world = Counter((folder / "world").read_text().split("\n")[:-1]) if (folder / "world").exists() else {}
    assert all(times == 1 for times in world.values()) and set(world) <= set(effects)
    assert {id for id, state in effects.items() if state == "committed"} <= set(world)
    orphans = {row["id"] for row in journal.orphans()}
    assert orphans == {id for id, state in effects.items() if state == "started"} and len(orphans) <= 1
    assert all(kinds[id.removesuffix(".e"), "intent"] == 1 for id in effects)
    journal.close()


def rounds(folder, count, longest, seed, least):
    "Kill `count` writers, and more where a slow machine let them do too little; how much they told."
    choose, told, n = random.Random(seed), [], 0
    while n < count or len(told) < least:
        told += run_and_kill(folder, n, choose.uniform(0, longest) * (1 + n // count))
        n += 1
        if n % 5 == 0 or n >= count:
            look(folder, told)
    return len(told)


@pytest.mark.slow
def test_five_kills(tmp_path):
    rounds(tmp_path, 5, 0.03, 1, 20)


@pytest.mark.slow
def test_hundreds_of_kills(tmp_path):
    rounds(tmp_path, 240, 0.06, int(os.environ.get("CRASH_SEED", "2")), 2000)


def test_killed_between_intent_and_outcome(tmp_path):
    "The one moment that matters most, hit on purpose: the effect is found by the next process and by nobody else before."
    code = WRITER.replace('os.write(world, (effect', 'import time; time.sleep(60); os.write(world, (effect')
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path / "journal.db", tmp_path / "world", "p"], stdout=subprocess.PIPE)
    says(child, b"intent", child.stdout)
    journal = Journal.open(tmp_path / "journal.db")
    assert journal.orphans() == [] and len(journal.effects(state="started")) == 1
    away(child)
    assert [row["id"] for row in journal.orphans()] == ["p.0.e"]
    journal.close()
    look(tmp_path, [])
