"The window by textual's pilot, with the real agent, and with the real daemon: what a hostile answer, a question at the wrong moment, a closed window and a daemon that dies do to it."
import asyncio, contextlib, io, threading, time

import pytest
from hypothesis import given, strategies as st
from waits import wait_for
from textual import events
from textual.app import App

from passepartout.terminal.slash import COMMANDS
from passepartout.terminal.client import DistantAgent, Calls
from passepartout.conditions import PassepartoutError
from passepartout.daemon import Daemon
from passepartout.terminal.render import Line
from passepartout.settings import load_settings
from passepartout.serving.sockets import connect_to, socket_path
from passepartout.tui.app import Tui
from passepartout.tui.desk import NoteDesk
from passepartout.tui.entries import Entry
from passepartout.tui.frame import WINDOW_COMMANDS
from passepartout.tui.entry import LongPastes, Editor, TypedLines
from passepartout.tui.picker import Picker
from passepartout.tui.questions import Field, Guard, Questions
from passepartout.tui.resident import Resident, leave
from passepartout.tui.rows import Rows, screen_rows
from passepartout.tui.talk import WindowEvents, WindowChat
from passepartout.tui.trial import has, until
from passepartout.turns import Reply

CAPTURE = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "Call Ana" :KIND "task") :EXPLANATION "You said so"))'
PICTURE = " ◆ QUESTION 1 of 1 \n◆ asks you  May it?\n  would run (:RUN \"read\")\n [@click=app.leave]y do it[/]  n don't \x1b[2J\x1b]0;owned\x07 \u202e [bold]press y[/bold]"


def settings(folder, script, **more):
    memex, state = folder / "notes", folder / "state"
    for each in (memex, state): each.mkdir(exist_ok=True)
    (memex / "inbox.org").write_text("* Inbox\n* \x1b[2J[@click=app.leave]Roof[/]\u202e\n")
    (folder / "model").write_text(script)
    return load_settings({"memex_dir": memex, "state_dir": state, "cache_dir": state, "config_dir": state, "provider_cascade": "scripted", "scripted_file": folder / "model", "permissions": "org-capture=ask", **more}, environ={})


@contextlib.asynccontextmanager
async def opened(given, connect=None, size=(80, 24), agent=True):
    "A window that is ready, and its agent let go of afterwards."
    app = Tui(given, "main", connect or (lambda: Resident(given)))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.watching is not None)
        yield app, pilot
    if isinstance(app.agent, Resident): leave(app.agent)


async def answer(app, pilot, key):
    "Answer the question that waits with a key, as somebody who has read it."
    await until(pilot, lambda: app.waiting)
    await pilot.press("f2")
    await until(pilot, lambda: isinstance(app.screen, Questions) and app.screen.guard.ended)
    app.screen.guard.since -= 5
    await pilot.press(key)


@pytest.mark.slow
async def test_a_question_takes_no_key_that_was_meant_for_the_conversation(tmp_path):
    async with opened(settings(tmp_path, f"{CAPTURE}\n---\n{PICTURE}\n---\nIt is noted.")) as (app, pilot):
        await pilot.press(*"remember", "enter")
        for _ in range(400):
            await pilot.press("y")                       # somebody types on, whatever is asked
            if app.waiting: break
            await pilot.pause(0.02)
        await pilot.press(*"yes", "Y", "y")
        assert app.waiting and len(app.screen_stack) == 1 and app.editor.has_focus and app.editor.text.strip("y").startswith("es")
        assert app.agent.approval(app.waiting[0].id)["state"] == "pending"
        app.editor.text = ""
        await pilot.press(*"say so", "enter"); await until(pilot, lambda: has(app, "QUESTION 1 of 1"))
        await pilot.press("y", "backspace")
        await pilot.click(app.talk, offset=(4, 5))
        rows = [row for row in screen_rows(app) if "QUESTION" in row or "do it[/]" in row]
        assert len(rows) >= 2 and all(row.startswith("  ") or row.startswith("‹ ") for row in rows) and len(app.screen_stack) == 1 and app.is_running
        assert not {"\x1b", "\u202e", "\x07"} & set("".join(screen_rows(app)))
        assert app.agent.approval(app.waiting[0].id)["state"] == "pending"
        await answer(app, pilot, "y"); await until(pilot, lambda: has(app, "It is noted."))
        assert "Call Ana" in (tmp_path / "notes" / "inbox.org").read_text()


@pytest.mark.slow
async def test_notes_are_shown_as_they_are(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        await pilot.press("f5"); await until(pilot, lambda: app.side.rows("notes").entries)
        await pilot.press("enter"); await until(pilot, lambda: len(app.side.rows("notes").entries) == 3)
        assert any("<U+001B>[2J[@click=app.leave]Roof[/]<U+202E>" in row for row in screen_rows(app))
        await pilot.press("down", "down", "enter"); await until(pilot, lambda: len(app.screen_stack) == 2)
        assert any("[@click=app.leave]Roof[/]<U+202E>" in row for row in screen_rows(app))
        await pilot.click(offset=(20, 2))
        assert app.is_running
        await pilot.press("escape"); await pilot.press("f7", *"roof"); await until(pilot, lambda: any("Roof[/]" in row for row in screen_rows(app)[2:]))
        assert not {"\x1b", "\u202e"} & set("".join(screen_rows(app)))


@pytest.mark.slow
async def test_a_thread_that_hangs_does_not_stop_the_screen(tmp_path):
    given, entered, over = settings(tmp_path, "Yes."), threading.Event(), threading.Event()
    async with opened(given) as (app, pilot):
        def hangs(prompt, system): entered.set(); over.wait(30); return "late"
        app.agent.agent.backends.register("slow", hangs, inline=True)          # holds the agent's own loop
        app.agent.agent.provider_cascade = ("slow",)
        await pilot.press(*"think", "enter"); await until(pilot, entered.is_set)
        await pilot.press(*"typed"); await pilot.press("f4"); await until(pilot, lambda: app.side.rows("agenda").entries); await pilot.press("escape", *" on", "ctrl+p")
        await until(pilot, lambda: any("/approve"[1:] in row for row in screen_rows(app)[2:])); await pilot.press("escape")
        assert app.editor.text == "typed on" and not leave(app.agent, 0.1)
        over.set()
        await until(pilot, lambda: not app.busy)


def test_the_commands_are_those_of_the_chat():
    assert set(WINDOW_COMMANDS) & set(COMMANDS) == {"pending"} and all(each.usage.startswith("/") for each in WINDOW_COMMANDS.values())


class Served:
    "A daemon in a thread, that can be ended and begun again."
    def __init__(self, given):
        self.settings = given
        self.begin()

    def begin(self):
        started, given = threading.Event(), {name: getattr(self.settings, name) for name in ("memex_dir", "state_dir", "cache_dir", "config_dir", "scripted_file")} | {"provider_cascade": "scripted", "permissions": "org-capture=ask"}
        async def serve():
            self.daemon, ended = Daemon(given, stream=io.StringIO()), asyncio.Event()
            await (daemon := self.daemon).start()
            self.ending = (asyncio.get_running_loop(), ended)
            started.set()
            await ended.wait()
            await daemon.stop(grace=0.1)
        self.thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
        self.thread.start()
        assert started.wait(30)

    def connect(self):
        agent = DistantAgent(Calls(path := socket_path(self.settings), connect_to(path)), self.settings)
        agent.meet()
        return agent

    def end(self):
        self.ending[0].call_soon_threadsafe(self.ending[1].set)
        self.thread.join(30)


@pytest.mark.slow
async def test_with_a_daemon_a_closed_window_ends_nothing_and_another_takes_over(tmp_path):
    given, held, answers = settings(tmp_path, "Still here."), threading.Event(), iter([CAPTURE, "It is noted."])
    served = Served(given)
    async def holds(prompt, system):
        await asyncio.to_thread(held.wait, 300)          # longer than two windows take to open on any machine: a turn that is over leaves no old guest to wait for
        return next(answers)
    served.daemon.agent.backends.register("held", holds)
    served.daemon.agent.provider_cascade = ("held",)
    try:
        async with opened(given, served.connect) as (app, pilot):
            await pilot.press(*"remember", "enter"); await until(pilot, lambda: app.side.rows("gates").entries)
            await pilot.press("ctrl+q")
        assert app.return_value == "leave" and app.chat.busy
        app.agent.link.close(); app.watching.agent.link.close()
        async with opened(given, served.connect) as (app, pilot), opened(given, served.connect) as (other, beside):
            await until(pilot, lambda: sum(guest.ended for guest in tuple(served.daemon.guests)) == 1)         # the old one waits for its answer, and does not listen
            held.set()
            await answer(app, pilot, "y"); await until(pilot, lambda: has(app, "It is noted."))
            await until(beside, lambda: has(other, "It is noted.") and not other.waiting)
            looks, look, app.watching.every = [], app.watching.look, 1000.0             # after one more look only the line finds the daemon gone, which may be back before anybody looks
            app.watching.look = lambda: looks.append(look())
            app.watching.poke(); await until(pilot, lambda: looks)
            served.end()
            await pilot.press(*"are you there?", "enter"); await until(pilot, lambda: app.editor.text == "are you there?")
            served.begin()
            app.watching.every = 0.1; app.watching.poke()
            await until(pilot, lambda: has(app, "The daemon is there again."))
            await pilot.press("enter"); await until(pilot, lambda: has(app, "Still here."))
            assert app.editor.text == "" and (tmp_path / "notes" / "inbox.org").read_text().count("Call Ana") == 1
    finally: held.set(); served.end()


@pytest.mark.slow
async def test_stopped_through_the_daemon(tmp_path):
    given = settings(tmp_path, "!sleep 60\nnever\n---\nStill here.")
    served = Served(given)
    try:
        async with opened(given, served.connect) as (app, pilot):
            await pilot.press(*"think", "enter"); await until(pilot, lambda: app.side.rows("gates").entries)
            await pilot.press("ctrl+c"); await until(pilot, lambda: has(app, "Stopped."))
            await pilot.press(*"go on", "enter"); await until(pilot, lambda: has(app, "Still here."))
            assert [r["body"]["status"] for r in app.watching.agent.trace(limit=2)[1]["records"] if r["kind"] == "answer"] == ["interrupted"]
    finally: served.end()


# What a key, a size, a paste or a second window must not do ------------------------------------------------------------------

class Clock:
    now = 100.0
    def __call__(self): return self.now


def test_a_yes_counts_only_when_it_can_be_meant():
    clock = Clock()
    guard = Guard(clock)
    def presses(after):
        clock.now += after
        guard.pressed()
        return guard.objection()
    guard.seen((80, 24), range(20), 60)
    assert "Read it first" in presses(0.5) and "more below" in presses(1)
    guard.seen((80, 24), range(40, 60), 60); assert "21 to 40 of 60" in presses(5)
    guard.seen((80, 24), range(20, 40), 60)
    assert presses(1) == "" and "too fast" in presses(0.05) and presses(1) == ""
    guard.seen((60, 24), range(20), 20)                               # another size shows other lines
    assert "Read it first" in presses(0.2) and presses(1) == ""
    guard.seen((29, 24), range(20), 20); assert "too small" in presses(5)
    guard.seen((80, 7), range(20), 20); assert "too small" in presses(5)


@pytest.mark.slow
async def test_what_is_on_the_screen_of_questions_stays_there(tmp_path):
    "Others come and are listed first; the one that is read is not exchanged under the finger. A paste is no answer."
    async with opened(settings(tmp_path, f"{CAPTURE}\n---\n{CAPTURE.replace('Call Ana', 'Call Bo')}\n---\nNoted.")) as (app, pilot):
        await pilot.press(*"one", "enter"); await until(pilot, lambda: len(app.waiting) == 1)
        await pilot.press(*"two", "enter"); await until(pilot, lambda: len(app.waiting) == 2)
        await pilot.press("f2"); await until(pilot, lambda: isinstance(app.screen, Questions) and app.screen.guard.ended)
        asked = app.screen
        read = asked.pending
        asked.update(sorted(app.waiting, key=lambda each: each.id == read.id))
        assert asked.pending.id == read.id and len(asked.waiting) == 2
        asked.guard.clock = clock = Clock()
        asked.guard.since = 0.0
        asked.post_message(events.Paste("yyyy")); await until(pilot, lambda: asked.guard.key == clock.now)
        await pilot.press("y")
        assert asked.guard.objection() == "That came too fast for a key." and app.agent.approval(read.id)["state"] == "pending"
        asked.update([each for each in app.waiting if each.id != read.id])
        assert asked.pending.id == read.id and "answered already" in asked.said
        clock.now += 5
        await pilot.press("n"); await until(pilot, lambda: app.agent.approval(read.id)["state"] == "denied")       # a no needs no code, and does nothing
        assert "Call" not in (tmp_path / "notes" / "inbox.org").read_text()


def heard(events, *kinds):
    "Take from `events` until all these kinds came; what was told."
    got = []
    while not set(kinds) <= {kind for kind, _ in got}:
        got += events.take()
        time.sleep(0.005)
    return got


def test_an_answer_goes_to_the_session_that_asked_and_only_once(tmp_path):
    resident, told = Resident(settings(tmp_path, f"{CAPTURE}\n---\nNoted.\n---\n{CAPTURE}\n---\nNoted.")), WindowEvents()
    window = WindowChat(resident, "main", told)
    (first,) = resident.handle("remember", session="elsewhere").approvals
    window.answer(first, first.code); heard(told, "said")
    assert [record["session"] for record in resident.call(lambda: resident.agent.journal.records(kinds=["outcome"]))] == ["elsewhere"]
    (second,) = resident.handle("remember", session="elsewhere").approvals
    resident.deny(second.id, None, "elsewhere")
    window.answer(second, second.code)
    assert any("was answered before (denied)" in value.text for kind, value in heard(told, "line") if kind == "line")
    assert (tmp_path / "notes" / "inbox.org").read_text().count("Call Ana") == 1
    leave(resident)


def test_who_answers_too_late_is_told_that_the_time_is_over_and_not_that_somebody_answered(tmp_path):
    resident, told = Resident(settings(tmp_path, f"{CAPTURE}\n---\nNoted.", approval_ttl_s=0.2)), WindowEvents()
    window = WindowChat(resident, "main", told)
    (late,) = resident.handle("remember", session="main").approvals
    time.sleep(0.3)
    resident.call(lambda: resident.agent.pending())
    window.answer(late, late.code)
    said = [value.text for kind, value in heard(told, "line") if kind == "line"]
    assert any("has expired" in text and "Ask again" in text for text in said) and not any("answered" in text for text in said), said
    screen, words = Questions([late]), []
    screen.tell = lambda said=None: words.append(said)
    screen.update([])
    assert "time of this one is over" in words[0] and "answered" not in words[0]
    leave(resident)


def test_what_waits_behind_a_stopped_turn_is_forgotten(tmp_path):
    resident, told = Resident(settings(tmp_path, "!sleep 60\nnever\n---\nLate.")), WindowEvents()
    window = WindowChat(resident, "main", told)
    window.submit("first"); window.submit("second")
    wait_for(lambda: resident.turn is not None, "the first turn")
    assert window.halt()
    got = heard(told, "stopped")
    wait_for(lambda: not window.busy, "the end of the turn")
    assert "said" not in {kind for kind, _ in got + told.take()} and len(resident.trace(limit=9)) == 1
    leave(resident)


def turn_on_record(name, asked, answered=None):
    return {"turn": name, "session": "main", "at": 0.0, "records": [{"kind": "turn", "body": {"text": asked}}] + ([{"kind": "answer", "body": {"text": answered, "status": "answered"}}] if answered else [])}


@pytest.mark.slow
async def test_what_was_said_in_another_window_is_shown_once(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        await until(pilot, lambda: app.before is not None)
        app.watching.end()
        count = lambda words: sum(words in entry.line.text for entry in app.talk.entries)
        app.mine.add("own")
        theirs = [turn_on_record("own", "my question", "my answer"), turn_on_record("theirs", "their question", "their answer")]
        app.hear_turns(theirs); assert count("their answer") == 0          # it may be ours, and not known as such yet
        for _ in range(3): app.hear_turns(theirs)
        assert (count("their question"), count("their answer"), count("my answer")) == (1, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("job, who", [("gardener", "The job gardener asked"), ("", "A background job asked")])
async def test_what_a_job_asked_is_shown_under_its_name(tmp_path, job, who):
    asked = {"turn": "jobs", "session": "main", "at": 0.0, "records": [{"kind": "turn", "body": {"text": "", "sensor": "worker", "job": job}},
             {"kind": "answer", "body": {"text": "This needs your approval. The link is dead.", "status": "requires-approval"}}]}
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        await until(pilot, lambda: app.before is not None)
        app.watching.end()
        for _ in range(3): app.hear_turns([asked])
        assert has(app, who) and not has(app, "it waits for your answer")


@pytest.mark.slow
async def test_of_an_answer_that_is_cut_off_stays_what_was_shown(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        for kind, value in (("draft", "Half"), ("busy", True), ("draft", "Half of it")): app.events(kind, value)
        app.drain()
        assert app.talk.drafted.text == "Half of it"
        app.events("stopped"); app.drain()
        assert has(app, "Half of it …") and has(app, "Stopped.") and app.talk.drafted is None
        app.hear_draft("x" * 20_000)
        assert len(app.talk.drafted.text) < 10_000 and app.talk.drafted.text.startswith("… ")


@pytest.mark.slow
async def test_of_many_pieces_few_are_drawn_and_the_newest_is_never_lost(tmp_path, monkeypatch):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        drawn, draft = [], app.talk.draft
        app.talk.draft = lambda line: (drawn.append(line and line.text), draft(line))
        monkeypatch.setattr("passepartout.tui.hearing.DRAFT_INTERVAL_S", 3600)
        for n in range(200): app.events("draft", f"piece {n}"); app.drain()
        assert drawn == ["piece 0"]                                         # the first at once, and none of the others yet
        app.events("failed", PassepartoutError("It broke.")); app.drain()
        assert has(app, "piece 199 …") and app.talk.drafted is None         # what was not drawn yet stays too
        monkeypatch.setattr("passepartout.tui.hearing.DRAFT_INTERVAL_S", 0.05)
        app.hear_draft("a"); app.hear_draft("b")
        await until(pilot, lambda: drawn[-1] == "b")                        # nothing more comes, and still it is drawn
        app.hear_draft("c"); app.hear_said(Reply("The answer.", "answered"))
        app.hear_draft("d"); app.hear_draft("e"); app.hear_draft("")
        count = len(drawn)
        await pilot.pause(0.2)
        assert app.talk.drafted is None and len(drawn) == count and drawn[-1] is None             # and nothing is drawn after the end


async def test_who_is_new_reads_what_to_type_and_which_keys_lead_on_and_out(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        await until(pilot, lambda: has(app, "Type what you want"))
        for size in ((80, 24), (40, 16), (100, 30), (80, 24)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: all(words in screen_rows(app)[-1] for words in ("F1 help", "^P commands", "^Q leave")))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press("a", "g")
        await until(pilot, lambda: app.screen.query_one(Rows).entries and app.screen.query_one(Rows).entries[0].key == "agenda")
        assert [each.key for each in app.screen.query_one(Rows).entries][1:]              # those that only speak of it come after


@pytest.mark.slow
async def test_a_window_in_which_nothing_happens_draws_nothing(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        await until(pilot, lambda: has(app, "Type what you want"))
        drawn, draw = [], app.editor.render_line
        app.editor.render_line = lambda y: (drawn.append(y), draw(y))[1]
        app.editor.refresh()
        await until(pilot, lambda: drawn)
        await pilot.pause(0.3)
        drawn.clear()
        await pilot.pause(1.5)                                              # a cursor that blinks is drawn three times meanwhile
        assert drawn == []


@pytest.mark.slow
async def test_a_text_that_grows_has_the_window_laid_out_only_for_the_scroll_bar(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        app.watching.end()
        for n in range(60): app.tell(f"line {n}")
        await until(pilot, lambda: app.talk.show_vertical_scrollbar and app.talk.scroll_offset.y == app.talk.max_scroll_y > 20)
        await pilot.pause(0.3)
        made, lay_out = [], app.screen._refresh_layout
        app.screen._refresh_layout = lambda *given, **named: (made.append(1), lay_out(*given, **named))
        for n in range(20):
            app.talk.draft(Line("‹", "", f"row {n}\n" * (n + 1)))
            await pilot.pause(0.02)
        await until(pilot, lambda: "row 19" in "\n".join(screen_rows(app)))
        assert made == [] and app.talk.scroll_offset.y == app.talk.max_scroll_y
        assert app.talk.vertical_scrollbar.window_virtual_size == len(app.talk.rows) + len(app.talk.tail)
        app.talk.draft(None)
        app.talk.fill([])
        await until(pilot, lambda: not app.talk.show_vertical_scrollbar and made)


@pytest.mark.slow
async def test_the_window_follows_its_size_and_the_end_only_from_the_end(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        marks = lambda: {name for name in ("-wide", "-small") if app.screen_stack[0].has_class(name)}
        for size, wanted in (((120, 40), {"-wide"}), ((40, 10), {"-small"}), ((80, 13), {"-small"}), ((80, 24), set())):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: marks() == wanted)
        for n in range(60): app.tell(f"line {n}")
        await until(pilot, lambda: app.talk.max_scroll_y > 20 and app.talk.scroll_offset.y == app.talk.max_scroll_y)
        app.action_scroll_talk(-1)
        await until(pilot, lambda: app.talk.scroll_offset.y < app.talk.max_scroll_y - 1)
        stays = app.talk.scroll_offset.y
        app.tell("one more")
        await pilot.pause()
        assert app.talk.scroll_offset.y == stays
        app.talk.most = 50
        app.tell("and one")
        assert len(app.talk.entries) <= 60


@pytest.mark.slow
async def test_a_turn_that_leaving_would_end_is_not_left_by_one_key(tmp_path):
    async with opened(settings(tmp_path, "!sleep 60\nnever")) as (app, pilot):
        await pilot.press(*"think", "enter"); await until(pilot, lambda: app.agent.turn is not None and app.chat.busy)
        await pilot.press("ctrl+q"); await until(pilot, lambda: has(app, "A turn is running"))
        assert app.is_running and app.return_value is None
        await pilot.press("ctrl+q")
        assert app.return_value == "leave"


@pytest.mark.slow
async def test_what_is_typed_before_the_agent_is_there_is_asked_of_it(tmp_path):
    given, ready = settings(tmp_path, "Yes."), threading.Event()
    def connect():
        ready.wait()
        return Resident(given)
    app = Tui(given, "main", connect)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"early", "enter")
        assert app.early == ["early"] and app.chat is None
        ready.set()
        await until(pilot, lambda: has(app, "Yes."))
    leave(app.agent)


@pytest.mark.slow
async def test_a_command_that_wants_words_waits_for_them(tmp_path):
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        await pilot.press("ctrl+p", *"approve"); await until(pilot, lambda: any("/ approve" in row or "approve CODE" in row for row in screen_rows(app)[2:]))
        await pilot.press("enter"); await until(pilot, lambda: app.editor.text.startswith("/"))
        assert app.editor.text == "/approve " and not app.talk.drafted and len(app.screen_stack) == 1
        app.hear_undelivered("another line"); assert app.editor.text == "/approve "           # what was begun is not overwritten
        app.editor.text = ""
        app.hear_undelivered("another line"); assert app.editor.text == "another line"


def test_history_keeps_no_code_and_follows_no_link(tmp_path):
    past = TypedLines(tmp_path / "history")
    past.add("/approve 3F2A", {"3f2a"}); past.add("hello"); past.add("hello")
    assert past.lines == ["hello"] and (tmp_path / "history").read_text() == "hello\n"
    (tmp_path / "link").symlink_to(tmp_path / "history")
    assert TypedLines(tmp_path / "link").lines == [] and TypedLines(tmp_path / "history").lines == ["hello"]


def test_a_short_paste_cannot_drive_the_terminal():
    assert "\x1b" not in LongPastes().put("a\x1b[2Jb") and LongPastes().put("a\r\nb\rc") == "a\nb\nc"


async def test_what_was_sent_is_not_undone_into_the_editor_without_its_paste():
    "Ctrl-Z brought the mark of a long paste back after Enter, and nothing stood behind it: the mark itself was sent."
    class Desk(App):
        sent = []
        def compose(self): yield Editor(TypedLines())
        def on_editor_sent(self, message): self.sent.append(message.text)
    app = Desk()
    async with app.run_test(size=(40, 8)) as pilot:
        app.query_one(Editor).post_message(events.Paste("line\n" * 100)); await pilot.pause()
        await pilot.press("enter", "ctrl+z", "o", "k", "enter"); await pilot.pause()
    assert app.sent == ["line\n" * 100, "ok"]


async def test_a_phrase_cannot_be_pasted_with_ctrl_v_either():
    "Ctrl-V takes what was cut in this window, and where that came from a page the phrase would not have been read."
    class Two(App):
        def compose(self): yield from (Field(typed=True), Field())
    app = Two()
    async with app.run_test(size=(40, 4)) as pilot:
        app.copy_to_clipboard("delete 1 file")
        for field in app.query(Field):
            field.focus()
            await pilot.press("ctrl+v"); await pilot.pause()
        assert [field.value for field in app.query(Field)] == ["", "delete 1 file"]


async def test_a_list_that_does_not_follow_its_end_keeps_its_beginning():
    "Of six thousand lines of a question the first thousand went without a word, and a yes counted all the same."
    class Both(App):
        def compose(self): yield from (Rows(slim=True), Rows(slim=True, follow=True))
    app, lines = Both(), [Entry(Line("+", "", f"line {n}")) for n in range(6_000)]
    async with app.run_test(size=(40, 20)) as pilot:
        for kept in app.query(Rows):
            kept.fill(lines); await pilot.pause()
            assert (len(kept.rows), kept.rows[0].text) == ((5_000, "line 1000") if kept.follow else (6_000, "line 0"))


def test_a_section_that_is_too_long_to_show_says_so(tmp_path):
    given = settings(tmp_path, "Yes.")
    (tmp_path / "notes" / "long.org").write_text("* Log\n" + "One more line of it.\n" * 30_000)
    desk = NoteDesk(given)
    shown = list(desk.section("long.org", 1))
    assert "more characters" in shown[-1].line.text and "long.org" in shown[-1].line.text and len(shown) > 10_000
    desk.close()


def test_a_line_that_a_note_no_longer_has_shows_no_other_heading(tmp_path):
    given = settings(tmp_path, "Yes.")
    (tmp_path / "notes" / "short.org").write_text("* Roof\nSlate.\n* Garden\n")
    desk = NoteDesk(given)
    assert [entry.line.text for entry in desk.section("short.org", 3)][1:] == ["* Garden"]
    with pytest.raises(PassepartoutError, match="short.org has changed"): list(desk.section("short.org", 5))
    desk.close()


async def test_what_was_typed_comes_back_with_all_its_lines(tmp_path):
    "Sent and not delivered while something else was begun, or cleared with Ctrl-C: in one row and cut at ten thousand letters, or as the mark of a paste without the paste."
    text = "for Ana:\n" + "- a line\n" * 2_000
    class Desk(App):
        def compose(self): yield Editor(TypedLines(tmp_path / "history"))
    app = Desk()
    async with app.run_test(size=(40, 8)) as pilot:
        editor = app.query_one(Editor)
        editor.past.add(text)
        editor.put("begun"); editor.give_back(text)
        await pilot.press("up"); await pilot.pause()
        assert editor.pastes.whole(editor.text) == text
        await pilot.press("down"); await pilot.pause()
        assert editor.text == "begun"
    assert (tmp_path / "history").read_text() == " ".join(text.split())[:10_000] + "\n"
    async with opened(settings(tmp_path, "Yes.")) as (app, pilot):
        app.editor.post_message(events.Paste(text)); await pilot.pause()
        await pilot.press("ctrl+c"); await until(pilot, lambda: not app.editor.text)
        assert app.past.lines[-1] == text


@given(st.lists(st.sampled_from(["a", "1", " ", "\u0645", "\u064a", "\u0915", "\u0915\u094d", "\u200c", "\u200d", "\u200b", "\u202e", "\n", "-"]), max_size=12).map("".join))
def test_a_joiner_is_shown_as_it_is_between_two_letters_of_a_script_that_has_them_and_spelled_out_anywhere_else(text):
    from passepartout.previews import visible
    from passepartout.tui.entries import shown
    joins = lambda at: 0 < at < len(text) - 1 and all(c in "\u0645\u064a\u0915\u094d" for c in (text[at - 1], text[at + 1]))
    assert shown(text) == "".join(f"<U+{ord(c):04X}>" if c in "\u200b\u202e" or c in "\u200c\u200d" and not joins(at) else c for at, c in enumerate(text))
    assert not set("\u200c\u200d\u200b\u202e") & set(visible(text))                  # where something is approved, none is left


def test_a_long_list_of_what_was_typed_says_what_it_leaves_out():
    from passepartout.tui.app import MOST_RECALLED, recalled
    lines = [f"line {n}" for n in range(MOST_RECALLED + 3)]
    found = recalled(lines, "line")
    assert [found[0].key, found[MOST_RECALLED - 1].key, found[-1].key] == [lines[-1], lines[3], None] and "3 older" in found[-1].line.text
    assert [entry.key for entry in recalled(lines, "LINE 1")][-1] == "line 1" and recalled(lines[:MOST_RECALLED], "")[-1].key == "line 0"


@pytest.mark.slow
async def test_a_long_answer_is_shown_from_its_beginning_and_what_comes_next_at_the_end(tmp_path):
    given = settings(tmp_path, "", provider_cascade="reflex", permissions="")
    (tmp_path / "notes" / "long.org").write_text("* Long\n" + "".join(f"word {n}\n" for n in range(60)))
    async with opened(given, size=(120, 24)) as (app, pilot):
        await until(pilot, lambda: app.talk.columns)                    # before that it is not known which answer is long
        async def answered(line, words, shown):
            app.send(line)
            await until(pilot, lambda: has(app, words) and any(shown in row for row in screen_rows(app)))
            await pilot.pause(0.2)
            return [row[:60] for row in screen_rows(app)], app.side.rows("gates").entries
        rows, gates = await answered("read long.org", "word 59", "long.org, lines")
        assert "long.org, lines" in rows[1] and "word 5" in "\n".join(rows) and "word 59" not in "\n".join(rows), rows
        assert not any("word 5" in entry.line.text for entry in gates) and any("read-file" in entry.line.text for entry in gates)
        rows, _ = await answered("thanks", "welcome", "welcome")
        assert any("thanks" in row for row in rows[-4:]) and any("welcome" in row for row in rows[-4:]), rows


@pytest.mark.slow
async def test_an_answer_that_went_wrong_stands_beside_the_gates_too(tmp_path):
    async with opened(settings(tmp_path, "")) as (app, pilot):
        before = len(app.side.rows("gates").entries)
        for status in ("answered", "declined", "failed"): app.side.step("answer", {"text": f"It {status}.", "status": status}, "t")
        assert [entry.line.text for entry in app.side.rows("gates").entries[before:]] == ["It failed."]
