"Plans that stand: found again after the end of the process, ended by a refusal, mended step by step, and never done twice"
import json

import pytest

from conftest import thinned
from passepartout.conditions import PassepartoutError
from passepartout.plans.plandesk import PlanBook

from test_plans import FIND, MINE, STOLEN, booted, call, plan

THREE = plan(*(f'(:CALL "send" :ARGS (:TO "{who}" :AMOUNT 5))' for who in ("ana", "bob", "cid")), '(:ANSWER "All three paid.")')


class Broken(list):
    "What was sent; sending to `bob` fails until it is mended."
    mended = False
    def append(self, item):
        if item[0] == "bob" and not self.mended: raise PassepartoutError("The bank is closed.")
        super().append(item)


async def stood(tmp_path, ran, **options):
    agent = await booted(tmp_path, [THREE, "It could not be finished."], ran, **options)
    assert str(await agent.handle("Pay 5 to ana, bob and cid")) == "It could not be finished."
    return agent


@pytest.mark.parametrize("restart, value, sent", thinned([("retry-with", "to=dan", ["ana", "dan", "cid"]), ("retry-with", "", ["ana", "bob", "cid"]), ("use-fallback", "paid in cash", ["ana", "cid"]), ("skip", "", ["ana", "cid"])], 2))
async def test_a_failed_step_has_its_restarts_tomorrow(tmp_path, restart, value, sent):
    ran = Broken()
    await (await stood(tmp_path, ran, journal=None)).close()
    ran.mended, tomorrow = True, await booted(tmp_path, [], ran, journal=None)
    (row,) = tomorrow.plan_rows()
    assert (row["state"], row["at"], [s["mark"] for s in row["steps"]]) == ("failed", "2", ["done", "here", "", ""]) and "The bank is closed" in row["why"]
    reply = await tomorrow.plan_do(row["plan"][:5], restart, value)
    assert (str(reply), [to for to, *_ in ran], tomorrow.plan_rows()) == ("All three paid.", sent, []) and tomorrow.journal.verify(whole=True).ok
    await tomorrow.close()


async def test_a_value_that_a_person_types_runs_and_one_from_a_page_still_asks(tmp_path):
    ran = Broken()
    agent = await booted(tmp_path, [plan(FIND, STOLEN, '(:ANSWER "Done.")'), "eve@evil.example"], ran)
    (asked,) = (await agent.handle("Pay 5 to whom the mail says")).approvals
    with pytest.raises(PassepartoutError, match="must be a number"): await agent.plan_do("", "retry-with", "amount=much")
    with pytest.raises(PassepartoutError, match="not understood"): await agent.plan_do("", "retry-with", "whom=dan")
    assert ran == [] and agent.journal.approval(asked.id)["state"] == "pending"
    assert str(await agent.plan_do("", "retry-with", "to=dan@example.org")) == "Done." and [to for to, *_ in ran] == ["dan@example.org"]
    assert agent.journal.approval(asked.id)["state"] == "denied"
    await agent.close()


async def test_a_refused_step_ends_its_plan_and_says_so(tmp_path):
    agent = await booted(tmp_path, [plan(FIND, MINE, STOLEN), "eve@evil.example"], [])
    (asked,) = (await agent.handle("Pay back, and pay 5 to whom the mail says")).approvals
    assert "The plan ends there, and what it did before stays done" in str(agent.deny(asked.id, asked.code)) and agent.unfinished_plans() == []
    with pytest.raises(PassepartoutError): await agent.go_on("")
    assert [r["body"]["how"] for r in agent.journal.records(kinds=["plan-end"])] == ["stopped"]
    await agent.close()


async def test_a_question_that_ran_out_is_asked_again_when_the_plan_goes_on(tmp_path):
    ran = []
    agent = await booted(tmp_path, [plan(FIND, STOLEN, '(:ANSWER "Done.")'), "eve@evil.example"], ran)
    now = agent.journal.clock
    (asked,) = (await agent.handle("Pay 5 to whom the mail says")).approvals
    agent.journal.clock = lambda: now() + 30 * 86_400
    (row,) = agent.plan_rows()
    assert row["state"] == "failed" and "ran out" in row["why"]
    again = await agent.plan_do("", "go-on")
    assert len(again.approvals) == 1 and again.approvals[0].id != asked.id and ran == []
    await agent.close()


async def test_an_edit_changes_what_is_to_come_and_nothing_that_was_begun(tmp_path):
    ran = Broken()
    agent = await stood(tmp_path, ran)
    for wrong in ("1 amount=9", "2 amount=9", "9 amount=9", "3 amount=much", "3", "x y", '3 (:CALL "fly")', '3 (:CALL "send" :ARGS (:TO (:REF "nobody")))', "3 to='x"):
        with pytest.raises(PassepartoutError): await agent.plan_do("", "edit", wrong)
    assert "“dan”" in str(await agent.plan_do("", "edit", '3 (:CALL "send" :ARGS (:TO "dan" :AMOUNT 77))'))
    ran.mended = True
    assert str(await agent.plan_do("", "go-on")) == "All three paid." and ran == [("ana", 5, None), ("bob", 5, None), ("dan", 77, None)]
    await agent.close()


async def test_a_model_can_neither_resume_nor_edit_a_plan(tmp_path):
    ran = Broken()
    agent = await stood(tmp_path, ran)
    (state,) = agent.unfinished_plans()
    ran.mended = True
    resume = f'(:TYPE :PLAN :RESUME "{state.id}" :EXPLANATION "Go on with what was begun")'
    from passepartout.backends import register_backend
    answers = [resume, f'(:TYPE :PLAN :ACTION :EDIT :PLAN "{state.id}" :EXPLANATION "Pay me instead of them")', "No."]
    register_backend(agent, "played", lambda prompt, system_prompt, *, model=None: answers.pop(0) if answers else "No.", inline=True)
    await agent.handle("hello")
    assert [to for to, *_ in ran] == ["ana"] and len(agent.unfinished_plans()) == 1
    await agent.close()


async def test_the_trace_tells_what_became_of_a_plan(tmp_path):
    from passepartout.terminal.render import trace_lines
    ran = Broken()
    agent = await stood(tmp_path, ran)
    ran.mended = True
    await agent.plan_do("", "edit", "3 amount=7")
    await agent.plan_do("", "retry-with", "to=dan")
    lines = [str(part) for turn in agent.trace(limit=10) for line in trace_lines(turn) for part in line]
    told = " | ".join(lines)
    assert "| stands | Step 2: send failed: The bank is closed" in told and "| you edit | a step that is still to come" in told and "| you edit | the step that stands, with to dan" in told and "| goes on | where the plan stood" in told, told
    await agent.close()


async def test_a_step_that_was_left_out_is_shown_as_such(tmp_path):
    again = STOLEN.replace('"who"', '"whom"')
    agent = await booted(tmp_path, [plan(FIND, STOLEN, again, MINE), "eve@evil.example", "eve@evil.example"], [])
    (asked,) = (await agent.handle("Pay 5 to whom the mail says")).approvals
    await agent.skip(asked.id)
    (row,) = agent.plan_rows()
    assert [step["mark"] for step in row["steps"]] == ["done", "done", "left out", "done", "here", ""]
    await agent.close()


async def test_the_plans_of_one_conversation_are_none_of_another(tmp_path):
    agent = await booted(tmp_path, [plan(FIND, STOLEN), "eve@evil.example", plan(FIND, STOLEN), "eve@evil.example"], [])
    for session in ("one", "other"): await agent.handle("Pay 5 to whom the mail says", session=session)
    (mine,), (theirs,) = agent.plan_rows("one"), agent.plan_rows("other")
    assert mine["plan"] != theirs["plan"] and agent.plan_rows("third") == [] and len(agent.plan_rows()) == 2
    await agent.plan_do("", "stop", session="one")
    assert agent.plan_rows("one") == [] and agent.unfinished_plans("third") == [] and [row["plan"] for row in agent.plan_rows()] == [theirs["plan"]]
    await agent.close()


async def test_a_plan_at_work_is_not_edited(tmp_path):
    class Meddles(list):
        said = ""
        def append(self, item):
            super().append(item)
            (state,) = self.agent.unfinished_plans()
            try: self.agent.edit_step(state.id, 3, "amount=900")
            except PassepartoutError as error: self.said = error.message
    ran = Meddles()
    ran.agent = agent = await booted(tmp_path, [THREE], ran)
    assert str(await agent.handle("Pay 5 to ana, bob and cid")) == "All three paid." and [amount for _, amount, _ in ran] == [5, 5, 5]
    assert "runs just now" in ran.said and not list(agent.journal.records(kinds=["plan-edit"]))
    await agent.close()


async def test_a_model_cannot_make_a_plan_go_on_that_waits_for_the_person(tmp_path):
    ran = []
    script = [plan(FIND, STOLEN, MINE), "eve@evil.example"]
    agent = await booted(tmp_path, script, ran)
    (asked,) = (await agent.handle("Pay 5 to whom the mail says")).approvals
    (state,) = agent.unfinished_plans()
    script[:] = [f'(:TYPE :PLAN :RESUME "{state.id}" :EXPLANATION "Go on with what was begun")', "No."]
    again = await agent.handle("hello")
    assert ran == [] and again.approvals == () and [row["approval"] for row in agent.plan_rows()] == [asked.id]
    await agent.close()


async def test_two_processes_cannot_both_take_up_a_plan(tmp_path):
    ran = Broken()
    one = await stood(tmp_path, ran, journal=None)
    other = await booted(tmp_path, [], ran, journal=None)
    ran.mended = True
    plan_id = one.plan_rows()[0]["plan"]
    seen = other.planbook.read()[plan_id]
    one.write_plan_records(one.plan_named(plan_id), taking=True)                 # the first is on its way, and cut off before its first step
    with pytest.raises(PassepartoutError, match="Another window|another window"): other.write_plan_records(seen, taking=True)
    with pytest.raises(PassepartoutError, match="another window"): await other.go_on(plan_id)
    assert other.plan_rows()[0]["state"] == "runs" and [to for to, *_ in ran] == ["ana"]
    await one.close()
    assert str(await other.go_on(plan_id)) == "All three paid." and [to for to, *_ in ran] == ["ana", "bob", "cid"]      # its owner is gone
    await other.close()


async def test_an_approved_step_under_way_is_seen_elsewhere_and_left_alone(tmp_path):
    class Looks(list):
        other, seen, said = None, None, ""
        def append(self, item):
            super().append(item)
            if self.seen is not None: return
            (self.seen,) = self.other.plan_rows()
            try: self.other.write_plan_records(self.other.plan_named(""), taking=True)
            except PassepartoutError as error: self.said = error.message
    ran = Looks()
    agent = await booted(tmp_path, [plan(FIND, STOLEN, '(:CALL "send" :ARGS (:TO "bob" :AMOUNT 7))', '(:ANSWER "Done.")'), "eve@evil.example"], ran, journal=None)
    ran.other = await booted(tmp_path, [], ran, journal=None)
    (asked,) = (await agent.handle("Pay 5 to whom the mail says, and 7 to bob")).approvals
    assert ran.other.plan_rows()[0]["state"] == "waits"
    assert str(await agent.approve(asked.id, asked.code)) == "Done." and [to for to, *_ in ran] == ["eve@evil.example", "bob"]
    assert ran.seen["state"] == "runs" and "another window" in ran.said and ran.other.plan_rows() == [] == agent.plan_rows()
    await ran.other.close()
    await agent.close()


async def test_nothing_is_no_value_to_go_on_with(tmp_path):
    agent = await stood(tmp_path, Broken())
    for nothing in ("", "  "):
        with pytest.raises(PassepartoutError, match="skip the step"): await agent.plan_do("", "use-fallback", nothing)
    assert agent.plan_rows()[0]["state"] == "failed" and not agent.journal.records(kinds=["plan-on"])
    await agent.close()


def test_a_chat_says_that_a_plan_stands_whatever_its_model_says(tmp_path):
    import asyncio, io
    from passepartout.terminal.chat import Chat
    from rich.console import Console
    agent = asyncio.run(booted(tmp_path, [THREE, "Lovely weather today.", "Indeed."], Broken()))
    chat = Chat(agent, console=Console(file=(out := io.StringIO()), width=200))
    for line in ("Pay 5 to ana, bob and cid", "And now?"): chat.one(line)
    assert "Lovely weather" in out.getvalue() and "Indeed." in out.getvalue() and out.getvalue().count("A plan stands at step 2: /plans shows it") == 1, out.getvalue()
    agent.run(agent.close())


LOOK = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "find" :ARGS (:QUERY "lunch") :EXPLANATION "Look for the mail about lunch"))'


@pytest.mark.parametrize("answers, step", [([plan(FIND, MINE, STOLEN), "eve@evil.example"], "This is step 4 of 4 of a plan. "), ([LOOK, call(to="eve@evil.example", amount=5)], "")])
def test_a_question_of_a_plan_says_which_step_asks_and_that_it_can_be_left_out(tmp_path, answers, step):
    import asyncio, io
    from passepartout.terminal.chat import Chat
    from rich.console import Console
    agent = asyncio.run(booted(tmp_path, [*answers, "As you like."], []))
    chat = Chat(agent, console=Console(file=(out := io.StringIO()), width=200))
    chat.one("Pay back, and pay 5 to whom the mail says")
    (asked,) = chat.asked
    assert asked.reason.startswith(step or "This step was proposed") and ("or   /skip for this step only" in out.getvalue()) is bool(step), out.getvalue()
    if step: chat.one("/skip")
    assert agent.plan_rows() == [] and agent.journal.approval(asked.id)["state"] == ("denied" if step else "pending")
    agent.run(agent.close())


async def test_a_record_of_a_plan_that_was_changed_or_erased_takes_the_plan_away(tmp_path):
    ran = Broken()
    agent = await stood(tmp_path, ran, journal=None)
    path = agent.journal.path
    await agent.close()
    import sqlite3
    with sqlite3.connect(path) as db:
        (seq, body), = db.execute("SELECT seq, body FROM chain WHERE kind = 'plan-step'").fetchall()
        db.execute("UPDATE chain SET body = ? WHERE seq = ?", (json.dumps({**json.loads(body), "number": 9}), seq))
    again = await booted(tmp_path, [], ran, journal=None)
    assert again.plan_rows() == []                       # with its first reply gone, ana would be paid twice
    await again.close()


async def test_reading_the_record_again_costs_only_what_is_new(tmp_path):
    agent = await stood(tmp_path, Broken())
    book = PlanBook(agent.journal)
    assert len(book.read()) == 1
    taken = []
    book.take = lambda *args: taken.append(args)
    for _ in range(3): book.read()
    assert taken == []
    await agent.close()


SCRIPT = """(:TYPE :PLAN :EXPLANATION "Mark the roof and note the call about it" :STEPS ((:CALL "org-set-todo" :ARGS (:PATH "nowhere.org" :HEADING "Roof" :STATE "DONE")) (:CALL "org-add-headline" :ARGS (:PATH "house.org" :TITLE "Call the roofer")) (:ANSWER "Noted.")))
---
It could not be finished.
"""


@pytest.mark.slow
def test_from_the_shell_a_plan_is_seen_edited_and_mended_in_other_processes(tmp_path):
    import os, subprocess, sys
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "house.org").write_text("* TODO Roof\n")
    (tmp_path / "script").write_text(SCRIPT)
    env = {**{k: v for k, v in os.environ.items() if not k.startswith(("PASSEPARTOUT", "PROVIDER", "MEMEX"))}, "MEMEX_DIR": str(tmp_path / "memex"), **{f"XDG_{n}_HOME": str(tmp_path / n.lower()) for n in ("STATE", "CONFIG", "CACHE")}}
    def run(*words, text=None, **more):
        return subprocess.run([sys.executable, "-m", "passepartout", *words], input=text, capture_output=True, text=True, timeout=120, env={**env, **more})
    assert "could not be finished" in run("ask", "mark the roof done and note that I call the roofer", PROVIDER_CASCADE="scripted", PASSEPARTOUT_SCRIPTED_FILE=str(tmp_path / "script")).stdout
    (row,) = json.loads(run("plans", "list", "--json").stdout)
    assert row["state"] == "failed" and "→ 1." in run("plans").stdout
    assert "Call Ana" in run("plans", "edit", row["plan"][:6], "2", "title=Call Ana").stdout
    assert "Noted." in run("chat", text="/plans\n/retry path=house.org\n").stdout
    assert (tmp_path / "memex" / "house.org").read_text() == "* DONE Roof\n* Call Ana\n" and "No plan" in run("plans").stdout
    assert run("plans", "skip", row["plan"]).returncode == 1


@pytest.mark.parametrize("statement", thinned(["DELETE FROM chain WHERE kind = 'plan-step'", "UPDATE chain SET kind = 'log' WHERE kind = 'plan-step'", "DELETE FROM chain WHERE kind = 'plan-end'", "UPDATE chain SET kind = 'log' WHERE kind = 'plan-end'"], 2))
async def test_a_plan_of_which_a_record_is_missing_does_not_go_on(tmp_path, statement):
    "Somebody without the key takes out that a step was done, or that the plan ended: it would be done a second time."
    import sqlite3
    ran = Broken()
    agent = await stood(tmp_path, ran, journal=None)
    path = agent.journal.path
    if "plan-end" in statement:
        ran.mended = True
        await agent.plan_do("", "retry-with")
        assert agent.unfinished_plans() == []
    sent = list(ran)
    await agent.close()
    with sqlite3.connect(path) as db: assert db.execute(statement).rowcount
    db.close()
    again = await booted(tmp_path, [], ran, journal=None)
    assert again.unfinished_plans() == [] == again.plan_rows()
    with pytest.raises(PassepartoutError): await again.plan_do("", "skip", "")
    assert ran == sent
    await again.close()


async def test_an_older_copy_of_the_journal_brings_no_plan_back(tmp_path):
    import shutil
    ran = Broken()
    agent = await stood(tmp_path, ran, journal=None)
    path = agent.journal.path
    await agent.close()
    shutil.copy(path, tmp_path / "older")
    ran.mended, agent = True, await booted(tmp_path, [], ran, journal=None)
    await agent.plan_do("", "retry-with")
    await agent.close()
    shutil.copy(tmp_path / "older", path)
    agent = await booted(tmp_path, [], ran, journal=None)
    assert agent.journal.checked.kind == "cut-off" and agent.unfinished_plans() == [] and [to for to, *_ in ran] == ["ana", "bob", "cid"]
    await agent.close()


WRITES = plan('(:CALL "write-file" :ARGS (:PATH "house.txt" :TEXT "one"))', '(:CALL "send" :ARGS (:TO "ana" :AMOUNT 5))', '(:CALL "write-file" :ARGS (:PATH "list.txt" :TEXT "bread"))', '(:ANSWER "Written.")')
ASKS = {"permissions": {"write-file": "ask"}}


async def test_a_yes_to_a_plan_holds_for_the_files_as_they_are(tmp_path):
    "A single edit that is asked about is asked again when its note changed meanwhile; several at once are no less."
    agent = await booted(tmp_path, [WRITES], [], **ASKS)
    (tmp_path / "memex" / "list.txt").write_text("milk\n")
    (asked,) = (await agent.handle("Write that down")).approvals
    (tmp_path / "memex" / "list.txt").write_text("milk\nwhat I wrote meanwhile\n")
    again = await agent.approve(asked.id, asked.code)
    assert len(again.approvals) == 1 and "meanwhile" in (tmp_path / "memex" / "list.txt").read_text() and not (tmp_path / "memex" / "house.txt").exists(), str(again)
    assert str(await agent.approve(again.approvals[0].id, again.approvals[0].code)) == "Written." and (tmp_path / "memex" / "list.txt").read_text() == "bread"
    await agent.close()


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_step_that_comes_later_asks_when_its_file_changed_since_the_yes(tmp_path, restarted):
    "A plan may stand for days between two of its steps."
    ran = Broken()
    script = [WRITES.replace('"ana"', '"bob"'), "It could not be finished."]
    agent = await booted(tmp_path, script, ran, **ASKS, journal=None)
    (asked,) = (await agent.handle("Write that down")).approvals
    await agent.approve(asked.id, asked.code)
    assert (tmp_path / "memex" / "house.txt").read_text() == "one" and agent.plan_rows()[0]["state"] == "failed"
    (tmp_path / "memex" / "list.txt").write_text("what I wrote meanwhile\n")
    ran.mended = True
    if restarted:
        await agent.close()
        agent = await booted(tmp_path, [], ran, **ASKS, journal=None)
    reply = await agent.plan_do("", "retry-with", "")
    assert len(reply.approvals) == 1 and "meanwhile" in reply.approvals[0].preview and "meanwhile" in (tmp_path / "memex" / "list.txt").read_text(), str(reply)
    await agent.close()


async def test_a_plan_may_write_twice_in_the_file_that_it_wrote_itself(tmp_path):
    agent = await booted(tmp_path, [WRITES.replace('"list.txt"', '"house.txt"')], [], **ASKS)
    (asked,) = (await agent.handle("Write that down")).approvals
    assert str(await agent.approve(asked.id, asked.code)) == "Written." and (tmp_path / "memex" / "house.txt").read_text() == "bread"
    await agent.close()
