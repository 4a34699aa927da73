"Going back: conversation, memory, asks and edits, alone and through a daemon, at any moment and after a death"
import asyncio, contextlib, json, os, random, signal, sqlite3, subprocess, sys

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.desk import ACTIONS, find_place
from passepartout.conditions import PassepartoutError
from passepartout.jobs import put_forward
from passepartout.sessions import list_sessions, offered_edits
from passepartout.tools import Tool
from test_first_hour import play
from waits import away, says, status

CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "{}") :EXPLANATION "You asked me to remember it."))'


@pytest.fixture
def place(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "house.org").write_text("* Roof\n** Slate\n")
    return {"memex_dir": tmp_path / "notes", "state_dir": tmp_path / "state", "cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config", "today": "2026-03-14"}


def remembers(agent):
    "Let every request write an object to memory, as a tool or skill of somebody may."
    def think(prompt, system, model=None): return '(:TYPE :REQUEST :TARGET :CLI :PAYLOAD (:ACTION :MESSAGE :TEXT "noted"))'
    register_backend(agent, "fake", think)
    agent.provider_cascade = ("fake",)
    real = agent.deliver
    def deliver(signal, text):
        words = str(agent.asked(signal))
        agent.memory.ingest({"type": "FACT", "properties": {"ID": words.split()[0], "TITLE": words}, "contents": []})
        return real(signal, text)
    agent.deliver = deliver


def picture(agent): return {each.id: each.hash for each in agent.memory}


async def do(agent, name, session="main", **given): return await ACTIONS[name](agent, session, given, "cli")


async def test_memory_is_as_it_was_to_the_last_hash_also_after_a_restart(place):
    agent = await Agent.boot(place)
    remembers(agent)
    await agent.handle("a one")
    before = picture(agent)
    for words in ("a two", "b three", "a four"): await agent.handle(words)
    assert picture(agent) != before
    await agent.close()
    agent = await Agent.boot(place)
    told = await do(agent, "rewind", count=3)
    assert picture(agent) == before and len(told["turns"]) == 3
    await agent.close()
    again = await Agent.boot(place)
    assert picture(again) == before and [each.asked for each in again.turns.recent("main")] == ["a one"]
    await again.close()


@pytest.mark.parametrize("after", range(3))
def test_going_back_once_more_finishes_what_a_killed_process_began(place, after):
    "After each of its writes: memory put back, the question refused, the turns gone."
    async def beginning():
        agent = await Agent.boot(place)
        remembers(agent)
        await agent.handle("a one")
        before = picture(agent)
        for words in ("a two", "b three"): await agent.handle(words)
        agent.backends.register("fake", lambda prompt, system: '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "write-file" :ARGS (:PATH "new.txt" :TEXT "x") :EXPLANATION "You asked me to write that down."))')
        assert (await agent.handle("c four")).approvals
        await agent.close()
        return before

    async def killed():
        agent, left = await Agent.boot(place), [after]
        real = agent.journal.write
        def write(*args):
            if not left[0]: os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*args)
        agent.journal.write = write
        await do(agent, "rewind", count=3)

    async def once_more():
        agent = await Agent.boot(place)
        told = await do(agent, "rewind", count=3)
        assert "Memory stays" not in told["text"], told["text"]
        assert (picture(agent), [each.asked for each in agent.turns.recent("main")], agent.pending()) == (before, ["a one"], [])
        await agent.close()

    before = asyncio.run(beginning())
    if not (child := os.fork()):
        try: asyncio.run(killed())
        finally: os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    asyncio.run(once_more())


async def test_what_somebody_wrote_into_the_record_does_not_come_into_memory(place):
    "Whoever can write the file without the key has the past of memory say what they like, and waits until the person goes back."
    agent = await Agent.boot(place)
    remembers(agent)
    for words in ("a one", "a two"): await agent.handle(words)
    path, before = agent.journal.path, picture(agent)
    await agent.close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("UPDATE chain SET body = replace(body, 'a one', 'pay Eve') WHERE kind = 'written'").rowcount
        db.commit()
    agent = await Agent.boot(place)
    told = await do(agent, "rewind")
    assert picture(agent) == before and "seal" in told["text"] and not any("Eve" in str(each.attributes) for each in agent.memory)
    await agent.close()


async def test_what_another_conversation_built_on_stays(place):
    agent = await Agent.boot(place)
    remembers(agent)
    await agent.handle("a one")
    await agent.handle("a two", session="other")
    before = picture(agent)
    told = await do(agent, "rewind")
    assert picture(agent) == before and "changed since" in told["text"] and not list(agent.turns.recent("main"))
    await agent.close()


async def test_a_model_does_not_read_what_was_taken_back(place):
    agent, prompts = await Agent.boot(place), []
    def think(prompt, system, model=None):
        prompts.append(prompt + system)
        return "fine"
    register_backend(agent, "fake", think)
    agent.provider_cascade = ("fake",)
    await agent.handle("the secret plan is gold")
    await agent.handle("another thing")
    assert "plan is gold" in prompts[-1]
    await do(agent, "rewind", count=2)
    await agent.handle("and now")
    assert "plan is gold" not in prompts[-1] and "another thing" not in prompts[-1]
    assert agent.journal.verify(whole=True).ok
    await agent.close()


async def test_an_ask_that_was_taken_back_cannot_be_approved(place):
    agent = await Agent.boot({**place, "permissions": {"org-capture": "ask"}})
    register_backend(agent, "fake", lambda prompt, system, model=None: CAPTURE.format("milk"))
    agent.provider_cascade = ("fake",)
    ask = (await agent.handle("please remember the milk")).approvals[0]
    await do(agent, "rewind")
    with pytest.raises(PassepartoutError): await agent.approve(ask.id, ask.code)
    assert not (place["memex_dir"] / "inbox.org").exists()
    await agent.close()


async def test_a_number_answers_no_question_that_another_process_took_back(place):
    "The screen still shows the question that is gone; the one before it, of a while ago, is not what is answered."
    tasks = place["memex_dir"] / "house.org"
    tasks.write_text("* TODO Call Ana\n* TODO Call Bob\n* TODO Paint the roof\n* TODO Paint the fence\n")
    here = await Agent.boot(place)
    assert "Paint the fence" in await here.handle("archive paint") and "Call Bob" in await here.handle("done call")
    elsewhere = await Agent.boot(place)
    await do(elsewhere, "rewind")
    before = tasks.read_text()
    assert "No question of mine is open" in await here.handle("2") and tasks.read_text() == before
    await do(elsewhere, "rewind", count=9)
    assert "Paint the fence" in await here.handle("archive paint") and "Call Bob" in await here.handle("done call")
    await do(here, "rewind")                                # taken back where one looks, what stands before it is what is meant
    assert "Paint the fence" in await here.handle("2")
    for each in (elsewhere, here): await each.close()


PAY = '''(:TYPE :PLAN :EXPLANATION "Pay back what they lent me" :STEPS ((:CALL "pay" :ARGS (:TO "ana@example.org")) (:CALL "pay" :ARGS (:TO "bob@example.org")) (:ANSWER "Paid.")))'''


async def test_a_plan_of_a_request_that_was_taken_back_does_not_go_on(place):
    "It had failed in the middle; going on with it would use a yes that was taken back with it."
    paid = []
    def pay(to):
        if "bob" in to and not paid[1:]: paid.append("failed"); raise OSError("no network")
        paid.append(to)
    async def start():
        agent = await Agent.boot(place)
        agent.tools.register(Tool("pay", "Pay", {"to": "string"}, pay, effects="open-world", inline=True))
        register_backend(agent, "fake", lambda prompt, system, model=None: PAY if "failed" not in prompt else "One was not paid.")
        agent.provider_cascade = ("fake",)
        return agent
    agent = await start()
    ask, = (await agent.handle("please pay ana@example.org and bob@example.org")).approvals
    await agent.approve(ask.id, ask.code)
    assert paid == ["ana@example.org", "failed"] and agent.plan_rows()[0]["state"] == "failed"
    told = (await do(agent, "rewind"))["text"]
    assert "plan “Pay back what they lent me” ends there, and what it did before stays done" in told and not agent.plan_rows()
    with pytest.raises(PassepartoutError): await agent.go_on("")
    await agent.close()
    agent = await start()
    assert not agent.plan_rows() and paid == ["ana@example.org", "failed"] and agent.journal.verify(whole=True).ok
    await agent.close()


async def test_what_a_job_asked_meanwhile_is_left_alone(place):
    agent = await Agent.boot(place)
    async def job(title): return (await put_forward(agent, {"target": "tool", "payload": {"action": "call", "tool": "org-capture", "args": {"title": title}, "explanation": "The person wants the fern watered in spring."}}, "gardener")).approval
    await job("from before")
    await agent.handle("todo: mine")
    waits, approved = await job("watering"), await job("repotting")
    await agent.approve(approved, agent.desk.codes[approved])
    told = await do(agent, "rewind", edits=True)
    assert len(told["turns"]) == 1 and agent.journal.approval(waits)["state"] == "pending"
    assert (await do(agent, "rewind-edits"))["left"] == 1                                     # the note has what the job wrote behind it
    inbox = (place["memex_dir"] / "inbox.org").read_text()
    assert "repotting" in inbox and [row["state"] for row in agent.journal.approvals()] == ["used", "pending", "pending"]
    assert "not what you were shown" in await agent.approve(waits, agent.desk.codes[waits])      # it can be answered, and is put again as the note is now
    await agent.close()


async def test_what_a_yes_allowed_for_longer_goes_with_the_question(place):
    agent = await Agent.boot({**place, "permissions": {"org-capture": "ask"}})
    register_backend(agent, "fake", lambda prompt, system, model=None: CAPTURE.format("milk"))
    agent.provider_cascade = ("fake",)
    async def allowed(session):
        ask = (await agent.handle("please remember the milk", session=session)).approvals[0]
        await agent.approve(ask.id, ask.code, session=session, grant=agent.offer(ask.id, ask.code, "for 1 hour", session=session))
    for session in ("main", "other"): await allowed(session)
    assert len(agent.grants()) == 2
    assert "asks again about org-capture" in (await do(agent, "rewind"))["text"]
    assert [each.session for each in agent.grants()] == ["other"]
    assert (await agent.handle("please remember the milk")).approvals
    await agent.close()


@pytest.mark.slow
def test_a_request_that_another_window_works_on_is_not_taken_back(tmp_path):
    "Its question, or its deed, would come a moment after it was taken back."
    (tmp_path / "notes").mkdir()
    environ = {**{k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MEMEX", "PASSEPARTOUT"))}, "HOME": str(tmp_path), "MEMEX_DIR": str(tmp_path / "notes")}
    begin = lambda *args: subprocess.Popen([sys.executable, "-m", "passepartout", *args], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert status(begin("ask", "todo: slate")) == 0
    asking = begin("ask", "$ tail -f inbox.org")
    try:
        journal, begun = next((tmp_path / ".local/state/passepartout").glob("*/journal.sqlite")), 0
        while begun < 2:
            assert asking.poll() is None
            with contextlib.closing(sqlite3.connect(journal)) as db: begun, = db.execute("SELECT count(*) FROM chain WHERE kind = 'turn'").fetchone()
        going = begin("sessions", "rewind", "main", "--yes")
        told = going.communicate(timeout=120)[0]
        assert going.returncode == 1 and "still at work" in told, told
        asking.kill()
        asking.wait()
        assert status(begin("sessions", "rewind", "main", "--yes")) == 0
    finally: away(asking)


async def test_edits_of_one_file_are_taken_back_in_order_and_one_refusal_stops_no_other(place):
    agent = await Agent.boot(place)
    house = place["memex_dir"] / "house.org"
    original = house.read_bytes()
    await agent.handle("todo: one")
    await agent.handle("mark slate as todo")
    for words in ("todo: two", "todo: three"): await agent.handle(words)
    inbox = place["memex_dir"] / "inbox.org"
    inbox.write_text(inbox.read_text() + "mine\n")
    await do(agent, "rewind", count=4)
    told = await do(agent, "rewind-edits")
    assert "mine" in inbox.read_text() and "-mine" in told["text"]
    assert told["left"] == 3 and (house.read_bytes() == original or told["done"] == 0)
    inbox.write_text(inbox.read_text().replace("mine\n", ""))
    told = await do(agent, "rewind-edits")
    assert told["left"] == 0 and not inbox.exists() and not offered_edits(agent.journal, "main")
    await agent.close()


@pytest.mark.slow
async def test_any_sequence_ends_where_the_shorter_one_ended(place):
    agent = await Agent.boot(place)
    remembers(agent)
    chance, states = random.Random(20260314), [({}, [])]
    for n in range(60):
        if chance.random() < 0.6 or len(states) == 1:
            await agent.handle(f"{chance.choice('abc')} {n}")
            states.append((picture(agent), [each.asked for each in agent.turns.recent("main")]))
        else:
            back = chance.randrange(1, len(states))
            await do(agent, "rewind", count=back)
            states = states[:-back]
            agent.turns.spoken.clear()
            assert (picture(agent), [each.asked for each in agent.turns.recent("main")]) == states[-1]
    assert agent.journal.verify(whole=True).ok
    await agent.close()


@pytest.mark.parametrize("wanted", thinned(["", "'; DROP TABLE node; --", "%", "_", "\x00", "../../etc/passwd", "x" * 100_000, "\\", "house.org:99999999999999"], 4))
async def test_no_name_of_a_note_does_harm(place, wanted):
    agent = await Agent.boot(place)
    try: row = find_place(agent, wanted)
    except PassepartoutError as error: assert len(error.message) < 400
    else: assert row.path == "house.org"
    for name, key in (("focus", "note"), ("push", "place")):
        try: await do(agent, name, **{key: wanted})
        except PassepartoutError as error: assert len(error.message) < 400
    assert (await agent.handle("find slate")).status == "answered"
    await agent.close()


async def test_focus_and_project_belong_to_one_session(place):
    (place["memex_dir"] / "tax").mkdir()
    (place["memex_dir"] / "tax" / "2026.org").write_text("* Forms\n")
    agent = await Agent.boot(place)
    await do(agent, "push", "one", place="tax")
    await do(agent, "focus", "two", note="Slate")
    assert agent.foci.stack("two") == [] and agent.foci.of("one") == ""
    await agent.handle("find slate", session="one")
    await do(agent, "push", "one", place="house.org")
    await do(agent, "rewind", "one")
    assert [place for place, _, _ in agent.foci.stack("one")] == ["tax"]
    assert [row.name for row in list_sessions(agent.journal)] == ["one"]
    await agent.close()


@pytest.mark.slow
def test_through_a_daemon_it_is_the_same(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "house.org").write_text("* Roof\n** Slate\n")
    environ = {**{k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MEMEX", "PASSEPARTOUT"))}, "HOME": str(tmp_path), "MEMEX_DIR": str(tmp_path / "notes")}
    run = lambda *args, given=None: subprocess.run([sys.executable, "-m", "passepartout", *args], env=environ, capture_output=True, text=True, timeout=120, input=given)
    daemon = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon"], env=environ, stderr=subprocess.PIPE, text=True)
    try:
        says(daemon, "event=listening")
        assert run("ask", "-s", "work", "todo: slate").returncode == 0
        assert "work" in run("sessions").stdout and run("sessions", "focus", "work", "Roof").stdout.strip() == "In focus: Roof (house.org:1)."
        assert "inbox.org is gone again" in run("sessions", "rewind", "work", "--yes", "--edits").stdout
        chat = run("chat", "-s", "work", given="/rewind\n/push house.org\n/focus\n/sessions\n/session other\n/rewind\n/pop\n")
        assert chat.stdout.count("came through a pipe") == 2 and "Session other begins" in chat.stdout, chat.stdout + chat.stderr
        assert run("sessions", "pop", "work").stdout.startswith("Left house.org")
        assert json.loads(run("sessions", "--json").stdout)[0]["name"] == "work"
        assert run("sessions", "push", "work", "house.org").stdout.strip().endswith("passepartout sessions pop work leaves it.")
        for alone in ((), ("--no-daemon",)):
            asked = run("ask", "-s", "work", "todo: slate", *alone)
            assert asked.returncode == 0, asked.stdout + asked.stderr
            back = run("sessions", "rewind", "work", "--yes", "--edits", *alone)
            assert back.returncode == 0 and "edits stand" not in back.stdout and "inbox.org is gone again" in back.stdout, back.stdout + back.stderr
        daemon.send_signal(signal.SIGTERM)
        assert status(daemon) == 0
    finally: away(daemon)
    assert run("trace", "--verify").returncode == 0


@pytest.mark.parametrize("body", thinned(['{"sensor": "x"}', '[]', '{"text": 5}', '"text"', '{"text": "So.", "told": 7}'], 2))
async def test_an_exchanged_body_of_an_answer_costs_what_is_remembered_and_no_turn(tmp_path, body):
    places = dict(memex_dir=tmp_path / "notes", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", provider_cascade=("reflex",))
    places["memex_dir"].mkdir()
    agent = await Agent.boot(**places)
    await agent.handle("hello")
    file = agent.journal.path
    await agent.close()
    with contextlib.closing(sqlite3.connect(file)) as db, db: assert db.execute("UPDATE chain SET body = ? WHERE kind = 'answer'", (body,)).rowcount == 1
    agent = await Agent.boot(**places)
    reply = await agent.handle("hello")
    assert reply.status == "answered" and "No model" not in reply
    await agent.close()


async def test_a_file_is_looked_at_by_its_name_and_words_come_before_letters(place):
    (place["memex_dir"] / "projects").mkdir()
    (place["memex_dir"] / "projects" / "gutter.org").write_text("#+TITLE: Rain\n* Zinc\n")
    (place["memex_dir"] / "other.org").write_text("* The guttering of candles\n* Mend the zincs\n* Ask about zinc prices\n")
    agent = await Agent.boot(place)
    assert [(row := find_place(agent, wanted)).path + f":{row.place and row.line}" for wanted in ("gutter", "rain", "zinc", "prices", "zincs")] == ["projects/gutter.org:0", "projects/gutter.org:0", "projects/gutter.org:2", "other.org:3", "other.org:2"]
    for wanted in ("%", "_", "x" * 100_000, "\\", "(", "\x00"):
        with pytest.raises(PassepartoutError): find_place(agent, wanted)
    await agent.close()

async def answered(folder, *turns, restart=False):
    "The edits after these turns: (what the person says, what a model answers, or nothing when it is not to be reached)."
    memex = folder / "memex"
    memex.mkdir()
    (memex / "taxes.org").write_text("* TODO Taxes 2026\n")
    (memex / "milk.org").write_text("* TODO Milk\n")
    begin = lambda: Agent.boot(memex_dir=memex, state_dir=folder / "state", cache_dir=folder / "cache", today="2026-11-19", provider_cascade=("model", "reflex"))
    agent, said, answers = await begin(), "", []
    def model(prompt, system_prompt, *, model=None):
        return f'(:TYPE :REQUEST :PAYLOAD (:ACTION :MESSAGE :TEXT "{said}"))' if said else {"status": "error", "message": "I am gone."}
    try:
        register_backend(agent, "model", model)
        for n, (line, said) in enumerate(turns):
            if restart and n:
                await agent.close()
                register_backend(agent := await begin(), "model", model)
            answers.append(str(await agent.handle(line, session="s")))
    finally: await agent.close()
    return answers, (memex / "taxes.org").read_text() + (memex / "milk.org").read_text()


LISTED = "2 tasks are open:\n1. taxes.org:1  TODO Taxes 2026\n2. milk.org:1  TODO Milk"


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("told, word", [("1 section matches “milk”:\n1. taxes.org:1  Taxes 2026", "archive it"), ("Set “Taxes 2026” in taxes.org to WAITING", "done"),
    ("Set “Taxes 2026” in taxes.org to WAITING", "move it to friday"), ("I didn't understand that. Did you mean “done Taxes 2026”? Say “yes”, and I'll do it.", "yes"), (LISTED, "done 1"), (LISTED, "archive the first one")])
async def test_a_model_does_not_choose_what_a_short_word_is_about(tmp_path, told, word, restart):
    answers, notes = await answered(tmp_path, ("what is with the milk?", told), (word, ""), restart=restart)
    assert notes == "* TODO Taxes 2026\n* TODO Milk\n" and told in answers[0], answers


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("asked, word", [("find taxes", "done"), ("what is open?", "done 2"), ("find taxes", "move it to friday")])
async def test_nor_is_it_about_what_stands_above_the_answer_of_a_model_and_it_is_about_the_last_answer_of_the_program(tmp_path, asked, word, restart):
    answers, notes = await answered(tmp_path, (asked, ""), ("hm?", "Your milk is sour."), (word, ""), restart=restart)
    assert notes == "* TODO Taxes 2026\n* TODO Milk\n", answers
    (again := tmp_path / "again").mkdir()
    answers, notes = await answered(again, ("hm?", "Your milk is sour."), (asked, ""), (word, ""), restart=restart)
    assert notes != "* TODO Taxes 2026\n* TODO Milk\n", answers


@pytest.mark.parametrize("shows, word", [("$ cat mail.org", "done 1"), ("$ sed -n 1,3p mail.org", "done the first one"), ("$ cat state.txt", "done"), ("$ cat state.txt", "move it to friday")])
def test_nor_what_a_command_printed(tmp_path, shows, word):
    notes = {"taxes.org": "* TODO Taxes 2026\n", "milk.org": "* TODO Milk\n", "mail.org": LISTED + "\n", "state.txt": "Set “Taxes 2026” in taxes.org to WAITING\n"}
    answers, files = play(tmp_path, notes, shows, word)
    assert files == notes and "Taxes 2026" in answers[0], answers
    answers, files = play(tmp_path / "again", notes, shows, "what is open?", "done 1")
    assert files != notes, answers


@pytest.mark.slow
async def test_edits_are_taken_back_as_long_as_there_are_any(tmp_path):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").write_text("* Inbox\n")
    agent = await Agent.boot(**{f"{name}_dir": tmp_path / name for name in ("memex", "state", "cache", "config")}, today="2026-11-19")
    try:
        for n in range(130): await agent.handle(f"note: line {n}")
        for n in range(5):
            reply = await agent.undo(26)
            assert len(reply.effects) == 26, (n, reply[-300:])
        assert (tmp_path / "memex" / "inbox.org").read_text() == "* Inbox\n" and "nothing" in await agent.undo()
    finally: await agent.close()
