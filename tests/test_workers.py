"""What a background job may do through its beat, how it is told, and what is left behind: each of these was once taken out of the program without a test noticing."""
import asyncio
import threading

import pytest

from passepartout.agent import Agent
from passepartout.cascade.prices import Prices
from passepartout.consent.asks import JOB_PATIENCE
from passepartout.diary import DiaryFailed, diary_of
from passepartout.gates.unattended import unattended_skill
from passepartout.jobs import REFUSED, Job, Over, begin, put_forward, run_job, why_not_again
from passepartout.messages import NOTES, Action
from passepartout.notes import parse_note
from passepartout.outline.links import LinkTargets
from passepartout.schedule import Due
from passepartout.skills import Skill, SkillError
from passepartout.storage.ledger import decide
from passepartout.tools import Tool
from passepartout.workers.gardener import dead_links, double_ids, orphans, stale_tasks
from passepartout.workers.keeping import keeping_skills
from passepartout.workers.scribe import Piece, exchanges_since, note_of, scribe_skill

JOT = {"target": "tool", "payload": {"action": "call", "tool": "jot", "args": {"text": "water the fern"}}}


@pytest.fixture
async def agent():
    made = Agent.bare()
    made.jotted, made.moment = [], [1_780_000_000.0]
    made.journal.clock = lambda: made.moment[0]
    made.tools.register(Tool("jot", "", {"text": "string"}, lambda text: made.jotted.append(text) or "noted", effects="idempotent"))
    made.tools.register(Tool("look", "", {}, lambda: "three notes", effects="read-only"))
    made.skills.register(unattended_skill(made.tools, made.journal))
    made.shown = []
    made.watch(lambda kind, body, turn: made.shown.append((kind, body)))
    yield made
    await made.close()


async def run(agent, work, diary=None, **more):
    "(how it ended, the beat) of one run of a job with this work."
    skill = agent.skills.register(Skill(work.__name__, job=Job(work, "every 1m", **more)))
    beat = begin(agent, skill, diary or diary_of(agent), Due("hand"))
    return await run_job(beat), beat


async def test_a_run_that_is_over_can_do_nothing_more(agent):
    let, refused = threading.Event(), []
    def late(beat):
        let.wait(20)
        for what in (lambda: beat.notify("x"), lambda: beat.once("x"), lambda: beat.propose(JOT), lambda: beat.think("x", "y"), beat.check):
            try: what()
            except Over as error: refused.append(error.message)
    state, beat = await run(agent, late, timeout_s=0.05)
    let.set()
    assert await asyncio.to_thread(beat.ended.wait, 60) and state == "late" and len(refused) == 5 and "late" in refused[0]
    assert beat.diary.news() == [] and beat.diary.once("late: x") and agent.pending() == [] and beat.told == []


async def test_what_is_told_is_told_once_and_a_private_text_is_not_shown_to_who_listens(agent):
    said = []
    def tells(beat):
        said.extend([beat.notify("The fern is dry.", "fern"), beat.notify("The fern is dry.", "fern"), beat.notify("Okafor at ten", "okafor", private=True), beat.once("a"), beat.once("a"), list(beat.told)])
    state, beat = await run(agent, tells)
    await asyncio.sleep(0)
    assert (state, said) == ("done", [True, False, True, True, False, ["The fern is dry.", "Okafor at ten"]])
    assert [body for kind, body in agent.shown if kind == "news"] == [{"job": "tells", "text": "The fern is dry.", "private": False}, {"job": "tells", "text": "", "private": True}]
    assert [(each.text, each.private) for each in beat.diary.news()] == [("The fern is dry.", False), ("Okafor at ten", True)]


async def test_a_proposal_is_on_record_is_told_and_leaves_no_turn_open(agent):
    said = []
    def proposes(beat): said.extend([beat.propose(JOT, "The fern is dry."), beat.propose({"target": "tool", "payload": {"action": "call", "tool": "look", "args": {}}}), beat.propose(JOT), beat.propose({"target": "tool"}), beat.propose("no (list")])
    state, beat = await run(agent, proposes, effects=9)
    assert state == "done" and [each.state for each in said] == ["asked", "done", "again", "rejected", "rejected"] and all(each.text for each in said)
    assert said[0].text == "The fern is dry." and "three notes" in said[1].text and agent.turns.open == {} and agent.jotted == []
    ask, = agent.pending()
    assert [body["approval"] for kind, body in agent.shown if kind == "job-ask"] == [ask.id] == [said[0].approval]
    recorded = [record["body"] for record in agent.journal.records(kinds=["proposal"])]
    assert len(recorded) >= 2 and {body["provider"] for body in recorded} == {"job proposes"} and "water the fern" in recorded[0]["proposal"]
    found = await put_forward(agent, {"target": "tool", "payload": {"action": "call", "tool": "jot", "args": {"text": "x"}}}, "silent")
    assert found.text == "The job silent proposes it."


async def test_more_than_its_share_is_not_looked_at(agent):
    said = []
    def greedy(beat): said.extend(beat.propose({**JOT, "payload": {**JOT["payload"], "args": {"text": str(n)}}}) for n in range(4))
    await run(agent, greedy, effects=2)
    assert [each.state for each in said] == ["asked", "asked", "rejected", "rejected"] and "may propose 2" in said[3].text and len(agent.pending()) == 2


async def test_only_what_a_person_refused_lately_is_not_proposed_again(agent):
    "What nobody answered, and what was refused a month ago or under a clock that ran ahead, may come again."
    action = Action.of({**JOT, "payload": {**JOT["payload"], "explanation": "The job gardener proposes it."}})
    async def ask():
        found = await put_forward(agent, JOT, "gardener")
        assert found.state == "asked", found
        return found.approval
    first = await ask()
    assert "waits" in why_not_again(agent, action)
    agent.deny(first)
    assert "refused" in why_not_again(agent, action)
    agent.moment[0] += REFUSED - 1
    assert "refused" in why_not_again(agent, action)
    agent.moment[0] += 2
    assert why_not_again(agent, action) == ""
    await ask()
    agent.moment[0] += JOB_PATIENCE + 1                    # nobody answers
    assert why_not_again(agent, action) == ""
    decide(agent.journal, await ask(), "denied", by="rule", session="main")
    assert why_not_again(agent, action) == ""
    agent.moment[0] += 4e7
    agent.deny(await ask())
    agent.moment[0] -= 4e7
    assert why_not_again(agent, action) == ""


async def test_what_is_private_is_asked_of_a_model_here_and_of_no_other_afterwards(agent):
    asked = {"near": [], "far": []}
    def backend(name):
        async def answers(prompt, system_prompt, *, model=None): asked[name].append(prompt); return "- Something."
        return answers
    agent.backends.register("near", backend("near"), local=True)
    agent.backends.register("far", backend("far"))
    agent.provider_cascade, agent.prices = ("far", "near"), Prices(["far=0/0"])
    said = []
    def thinks(beat): said.extend([beat.think("one", "s"), beat.think("two", "s", private=True), beat.think("three", "s")])
    state, beat = await run(agent, thinks)
    assert (state, said, asked) == ("done", ["- Something."] * 3, {"far": ["one"], "near": ["two", "three"]})
    assert agent.allowances == {} and agent.turns.open == {} and beat.turn is None
    agent.provider_cascade = ("far",)
    def alone(beat): said.extend([beat.think("four", "s", private=True)])
    await run(agent, alone)
    assert said[-1] is None and asked["far"] == ["one"]


async def test_how_a_run_ended_is_written_down_or_at_least_logged(agent):
    def fails(beat):
        beat.kept["n"], beat.wake = 1, 5.0
        raise ValueError("no such note")
    state, beat = await run(agent, fails)
    standing = beat.diary.standing("fails")
    assert (state, standing.failures, standing.kept, standing.wake) == ("failed", 1, "{}", None) and any("fails failed: ValueError: no such note" in line for line in agent.log.lines(9))
    def well(beat): beat.kept["n"] = 2
    many = len(agent.log.lines(99))
    state, beat = await run(agent, well)
    assert (state, beat.diary.kept("well"), len(agent.log.lines(99))) == ("done", {"n": 2}, many)
    diary = diary_of(agent)
    def full(*given, **more): raise DiaryFailed("The disk is full.")
    def unwritten(beat): diary.finish = full
    assert (await run(agent, unwritten, diary))[0] == "done" and any("The disk is full." in line for line in agent.log.lines(3))


async def test_a_run_that_is_cut_off_says_so_and_is_cut_off(agent):
    let, started = threading.Event(), threading.Event()
    def hangs(beat): started.set(); let.wait(20)
    skill = agent.skills.register(Skill("hangs", job=Job(hangs, "every 1m")))
    beat = begin(agent, skill, diary_of(agent), Due("hand"))
    task = asyncio.create_task(run_job(beat))
    await asyncio.to_thread(started.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError): await task
    let.set()
    assert (beat.diary.standing("hangs").state, beat.diary.standing("hangs").failures) == ("interrupted", 0)
    with pytest.raises(SkillError): Job("no function", "every 1m")


async def test_what_keeps_the_agent_in_order_does_it(agent, monkeypatch):
    done = []
    monkeypatch.setattr(agent.memory, "save", lambda: done.append("memory"))
    monkeypatch.setattr(agent.kept_prompts, "flush", lambda: done.append("prompts"))
    monkeypatch.setattr(agent.journal, "flush", lambda: done.append("journal"))
    monkeypatch.setattr("passepartout.workers.keeping.loop_process", lambda agent, signal: beats(signal))
    async def beats(signal): done.append(signal["payload"]["sensor"])
    for skill in keeping_skills(agent.settings)[:2]:
        assert await run_job(begin(agent, agent.skills.register(skill), diary_of(agent), Due("hand"))) == "done"
    assert [str(each).strip(":").lower() for each in done] == ["heartbeat", "memory", "prompts", "journal"]


# The gardener ----------------------------------------------------------------------------------------------------------

def weeds(text, exists=(), file="house.org", *more):
    targets = LinkTargets([parse_note(text, file), *more])
    return [weed.what for weed in dead_links(targets, lambda path: path in exists)]


def test_only_what_surely_leads_nowhere_is_dead():
    assert weeds("[[file:a.pdf]] [[file:b.pdf]]\n", ["a.pdf"]) == ["[[file:b.pdf]]"]
    assert weeds("[[file:a.org]] [[file:sub/b.pdf]]\n", ["a.org", "sub/b.pdf"]) == []
    assert weeds("[[file:a.org::*Gone]]\n", ["a.org"]) == ["[[file:a.org::*Gone]]"]          # the file is there, and the heading is not
    assert weeds("[[file:a.pdf::3]]\n", ["a.pdf"]) == []                                     # a page of what is no note
    assert weeds("[[file:../out.org]] [[file:/etc/x]] [[file:~/x.org]] [[wiki]] [[https://x.example]]\n") == []
    assert weeds("[[file:here.org]]\n", ["sub/here.org"], "sub/house.org") == []


def test_a_repair_is_offered_only_where_there_is_no_doubt():
    def repair(text, file="house.org", *others):
        targets = LinkTargets([parse_note(text, file), *[parse_note("* x\n", each) for each in others]])
        return next((weed.repair for weed in dead_links(targets, lambda path: False)), None)
    assert repair("[[file:a.org]]\n", "house.org", "old/a.org")[1] == {"path": "house.org", "old": "[[file:a.org]]", "new": "[[file:old/a.org]]"}
    assert repair("[[file:a.org]]\n", "sub/house.org", "a.org")[1]["new"] == "[[file:../a.org]]"
    assert repair("[[file:A.org]]\n", "house.org", "old/a.org")[1]["new"] == "[[file:old/a.org]]"
    for text, file, *others in (("[[file:a.org::*H]]\n", "house.org", "old/a.org"), ("[[id:a.org]]\n", "house.org", "old/a.org"), ("[[file:gone/house.org]]\n", "house.org"), ("[[file:a.org][a.org]]\n", "house.org", "old/a.org")):
        assert repair(text, file, *others) is None, text


def test_an_id_is_mended_only_in_a_heading_of_org():
    twice = "* A\n:PROPERTIES:\n:ID: one\n:END:\n"
    assert [weed.repair is not None for weed in double_ids([parse_note(twice, "a.org"), parse_note(twice, "b.org")])] == [True]
    assert [weed.repair for weed in double_ids([parse_note(twice, "a.org"), parse_note(":PROPERTIES:\n:ID: one\n:END:\n* B\n", "b.org")])] == [None]


def test_what_is_done_repeats_or_lies_ahead_is_not_stale_and_what_has_dates_is_no_orphan():
    from datetime import date
    note = parse_note("* TODO Old\nSCHEDULED: <2026-03-02 Mon>\n* DONE Done\nSCHEDULED: <2026-03-02 Mon>\n* TODO Soon\nSCHEDULED: <2026-11-20 Fri>\n* TODO Met\n<2026-03-02 Mon>\n* TODO Daily\nDEADLINE: <2026-03-02 Mon +1d>\n", "todo.org")
    assert [weed.what.split(" (")[0] for weed in stale_tasks([note], date(2026, 11, 22))] == ["Old"]
    lone = [parse_note("* A thought\n[[*A thought]]\n", "lone.org"), parse_note("* TODO Call\n", "open.org"), parse_note("* Met Ana\n<2026-03-02 Mon>\n", "dated.org"), parse_note("just text\n", "text.org")]
    assert [(weed.file, weed.what) for weed in orphans(LinkTargets(lone))] == [("lone.org", "lone"), ("text.org", "text")]


# The scribe ------------------------------------------------------------------------------------------------------------

async def test_only_what_the_person_said_and_got_an_answer_to_is_distilled(agent):
    def talk(turn, text, status="answered", origin="person", sensor="user-input"):
        batch = agent.journal.batch("main", turn)
        batch.record("turn", {"sensor": sensor, "text": text, "origin": origin}); batch.record("answer", {"text": f"Heard {turn}.", "status": status})
        batch.commit_now()
    talk("t1", "Who mends roofs?"); talk("t2", "/news"); talk("t3", ""); talk("t4", "x", status="failed"); talk("t5", "x", origin="network"); talk("t6", "x", sensor="worker"); talk("t7", "x", sensor="tool-output"); talk("t8", "Whose roof?", sensor="chat-message")
    assert [piece.line for piece in exchanges_since(agent.journal, 0)[0]] == ["Who mends roofs? → Heard t1.", "Whose roof? → Heard t8."]


def test_what_is_too_much_for_one_evening_comes_on_the_next():
    "More than fifty marked headings, and more than two hundred exchanges: the others counted as distilled, and nobody ever saw them."
    from passepartout.journal import Journal
    from passepartout.workers.scribe import marked_headings
    note, known, seen = parse_note("".join(f"* Bee {n} :scribe:\nIt swarmed.\n" for n in range(7)), "bees.org"), (), []
    for _ in range(4):
        found, known = marked_headings([note], known, (), 3)
        seen.append([piece.line.partition(":")[0] for piece in found])
    assert seen == [["Bee 0", "Bee 1", "Bee 2"], ["Bee 3", "Bee 4", "Bee 5"], ["Bee 6"], []]
    journal, after, said = Journal.open(":memory:"), 0, []
    for n in range(7):
        batch = journal.batch("main", f"t{n}")
        batch.record("turn", {"sensor": "user-input", "text": f"Question {n}?", "origin": "person"}); batch.record("answer", {"text": "Yes.", "status": "answered"})
        batch.commit_now()
    for _ in range(4):
        found, after = exchanges_since(journal, after, 3)
        said.append([piece.line[9] for piece in found])
    assert said == [["0", "1", "2"], ["3", "4", "5"], ["6"], []]


def test_an_exchange_is_not_lost_where_an_evening_ends_between_its_question_and_its_answer():
    "Two conversations that overlap, and an evening after each of their records: every exchange is told once, and one that lost its seal or its text never."
    from types import SimpleNamespace
    from passepartout.journal import Journal
    journal, body = Journal.open(":memory:"), lambda text: {"sensor": "user-input", "text": text, "origin": "person"}
    for turn, kind, said in (("a", "turn", body("A?")), ("b", "turn", body("B?")), ("b", "answer", {"text": "Bee.", "status": "answered"}), ("c", "turn", body("C?") | {"origin": "network"}), ("e", "turn", body("E?")),
                             ("a", "answer", {"text": "Ay.", "status": "answered"}), ("c", "answer", {"text": "Sea.", "status": "answered"}), ("e", "answer", {"text": "Eh.", "status": "answered"})):
        batch = journal.batch("main", turn); batch.record(kind, said); batch.commit_now()
    journal.erase(next(each["seq"] for each in journal.records(turn="e", kinds=["turn"])))
    for cut in range(1, journal.seq + 1):
        whole, after = [], 0
        while after < journal.seq:
            found, last = [], min(after + cut, journal.seq)
            until = SimpleNamespace(path=journal.path, db=journal.db, mac=journal.mac, records=lambda **how: [each for each in journal.records(**how) if each["seq"] <= last])
            found, after = exchanges_since(until, after)
            whole += [piece.line for piece in found]
            after = max(after, last)
        assert whole == ["B? → Bee.", "A? → Ay."], cut


def test_a_note_names_thirty_pieces_and_the_number_of_the_others():
    pieces = [Piece(f"conversation main, {n}", f"line {n}", NOTES) for n in range(33)]
    def body(*given): return note_of(*given)["payload"]["args"]["body"].splitlines()
    assert body(pieces, "2026-11-22")[30] == "- and 3 more" and "- line 29" in body(pieces, "2026-11-22") and "- line 30" not in body(pieces, "2026-11-22")
    assert not any("more" in line for line in body(pieces[:30], "2026-11-22") + body(pieces, "2026-11-22", ["What came of it."]))


async def test_the_scribe_goes_on_where_it_left_off_and_says_nothing_private_in_its_reason(tmp_path):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "bees.org").write_text("* Bees :scribe:\nThe hive swarmed.\n* Okafor :@personal:scribe:\nLetters\n")
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config", provider_cascade=())
    skill, diary = agent.skills.register(scribe_skill()), diary_of(agent)
    async def evening():
        beat = begin(agent, skill, diary, Due("hand"))
        return await run_job(beat), [each for each in agent.pending(source="cli")]
    state, asks = await evening()
    assert state == "done" and sorted("private" in ask.reason for ask in asks) == [False, True] and not any("Okafor" in ask.reason for ask in asks)
    for ask in asks: agent.deny(ask.id)
    assert (await evening())[1] == []
    (tmp_path / "memex" / "more.org").write_text("* Wasps :scribe:\nUnder the roof.\n")
    (ask,) = (await evening())[1]
    assert "Wasps" in ask.action and "Bees" not in ask.action and "1 piece)" in ask.reason
    diary.close()
    await agent.close()


@pytest.mark.parametrize("private", [{"label": True}, {"turn": True}, {}])
async def test_what_expired_is_told_without_its_words_when_it_was_private(agent, private):
    from passepartout.context import confide
    from passepartout.messages import ApprovalRequired, Label, Signal
    signal = agent.in_turn(Signal(payload={"sensor": "user-input", "text": "x"}, meta={"source": "cli"}, label=Label("notes", "label" in private)))
    if "turn" in private: confide(agent, signal)
    await agent.file_flight_plan(signal, ApprovalRequired(Action.of(JOT), "Okafor is to be called.", "permissions"))
    await agent.end_turn(signal)
    agent.moment[0] += 10 * 86_400
    expiry = agent.skills.register(keeping_skills(agent.settings)[2])
    assert await run_job(beat := begin(agent, expiry, diary_of(agent), Due("hand"))) == "done"
    news, = beat.diary.news()
    assert (news.private, "Okafor" in news.text) == (bool(private), not private)


async def test_what_waits_when_the_clock_is_set_back_is_told_once_and_does_not_wait_for_the_day_that_the_clock_showed(agent):
    expiry = agent.skills.register(keeping_skills(agent.settings)[2])
    diary, year = diary_of(agent), 365 * 86_400.0
    found = await put_forward(agent, JOT, "gardener")
    agent.moment[0] -= year
    assert await run_job(begin(agent, expiry, diary, Due("hand"))) == "done"
    (told,) = diary.news()
    assert "The clock was set since it was asked" in told.text and "so it was not done" in told.text
    agent.moment[0] += year + 60
    assert await run_job(begin(agent, expiry, diary, Due("hand"))) == "done"
    assert len(diary.news()) == 1 and agent.pending() == [] and agent.journal.approval(found.approval)["state"] == "expired"
