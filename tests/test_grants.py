"A yes for longer: bound to one tool, one shape, one conversation and a time; durable, revocable, and never wider than its words"
import asyncio, json, signal, sqlite3, subprocess, sys, textwrap

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from conftest import examples, thinned
from passepartout.agent import Agent
from passepartout.conditions import PassepartoutError
from passepartout.gates.permissions import opened_verdict
from passepartout.consent.grants import Grant, GrantRefused, Grants, canonical, covers, in_words, offer, read_until, said_scope, usual_scope
from passepartout.journal import Journal
from passepartout.messages import ApprovalRequired, Signal
from passepartout.rulefile import spelled_places
from passepartout.rules import UNREADABLE
from passepartout.sessions import rewind
from passepartout.tools import Effects, Parameter, Tool
from passepartout.verify import judge

WHY = "You asked for this very thing a moment ago"


def propose(tool="org-retitle", **args):
    args = args or {"path": "projects/roof.org", "heading": "Roof", "title": "Shed"}
    return {"target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": WHY}}


def signal_of(session="main"): return Signal.of({"payload": {"sensor": "user-input", "text": "x"}, "meta": {"source": "cli", "session": session}})


@pytest.fixture
def memex(tmp_path):
    for folder in ("memex/projects/old", "memex/people", "config/passepartout"): (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "memex/people/ana.org").write_text("* Ana\n")
    (tmp_path / "memex/projects/roof.org").write_text("* Roof\n* Offers\n")
    (tmp_path / "memex/inbox.org").write_text("* Inbox\n")
    return tmp_path / "memex"


class Clock:
    now = 1_800_000_000.0
    def __call__(self): return self.now


def boot(memex, clock=None, **more):
    top = memex.parent
    agent = asyncio.run(Agent.boot({"memex_dir": memex, "state_dir": top / "state", "config_dir": top / "config", "cache_dir": top / "cache", "today": "2026-11-19", "permissions": {"org-retitle": "ask", "org-find": "ask"}, **more}))
    if clock is not None: agent.journal.clock = clock
    return agent


def ask(agent, proposal=None, session="main"):
    "Have a model propose something; the pending approval."
    from passepartout.backends import register_backend
    from passepartout.plist import write_plist
    script = iter([write_plist({"type": "REQUEST", **(proposal or propose())})])
    register_backend(agent, "model", lambda p, s: next(script, "done"), inline=True, local=True)
    agent.provider_cascade = ("model",)
    reply = agent.run(agent.handle("go", session=session))
    return reply.approvals[0]


def granted(agent, said="for 1 hour", proposal=None):
    pending = ask(agent, proposal)
    grant = agent.offer(pending.id, pending.code, said)
    agent.run(agent.approve(pending.id, pending.code, grant=grant))
    return agent.grants()[0]


def word(agent, proposal=None, session="main"):
    judgement = judge(agent, proposal or propose(), signal_of(session))
    judgement.close()
    return {"Allowed": "allowed", "ApprovalRequired": "asks", "Rejected": "rejected"}[type(judgement.verdict).__name__]


def test_what_is_covered_runs_unasked_and_the_record_says_by_which_grant(memex):
    agent = boot(memex)
    try:
        grant = granted(agent)
        assert "path in projects/" in in_words(grant) and "“main”" in in_words(grant)
        from passepartout.backends import register_backend
        from passepartout.plist import write_plist
        script = iter([write_plist({"type": "REQUEST", **propose(path="projects/roof.org", heading="Offers", title="Bids")})])
        register_backend(agent, "model", lambda p, s: next(script, "done"), inline=True, local=True)
        reply = agent.run(agent.handle("go"))
        assert not reply.approvals and (memex / "projects/roof.org").read_text() == "* Shed\n* Bids\n"
        assert agent.journal.effects(limit=1)[0]["detail"]["grant"] == grant.id
        from passepartout.terminal.render import trace_lines
        assert f"by the grant {grant.id}" in "\n".join(line.text for line in trace_lines(agent.trace(reply.turn)[0]))
        assert [r["body"]["state"] for r in agent.journal.records(kinds=["grant"])] == ["given"] and agent.journal.verify(whole=True).ok
    finally: agent.run(agent.close())


@pytest.mark.parametrize("args", thinned([{"path": "people/ana.org"}, {"path": "projects/../people/ana.org"}, {"path": "projects/link.org"}, {"path": "inbox.org"}, {"path": "hop/ana.org"}, {"path": "projects/./../inbox.org"},
                                  {"path": "ｐrojects/roof.org"}, {"path": "projects\u2215roof.org"}, {"path": "Projects/roof.org"}, {"path": "projects%2froof.org"}, {"path": "projects/\u200broof.org"[:9] + "\u200b/roof.org"}], 4))
def test_no_spelling_makes_it_wider(memex, args):
    (memex / "projects/link.org").symlink_to("../people/ana.org")
    (memex / "hop").symlink_to("people")
    agent = boot(memex)
    try:
        granted(agent)
        assert word(agent, propose(**{"path": "projects/roof.org", "heading": "1", "title": "x", **args})) != "allowed"
    finally: agent.run(agent.close())


def test_another_conversation_another_tool_or_a_deny_is_not_covered(memex):
    agent = boot(memex)
    try:
        granted(agent)
        assert word(agent) == "allowed" and word(agent, session="other") == "asks"
        assert word(agent, propose("org-archive", path="projects/roof.org", heading="Offers", archive="projects/roof.org_archive")) == "asks"
        agent.permissions.tiers["org-retitle"] = "deny"
        agent.permissions._ready.clear()
        assert word(agent) == "rejected"
    finally: agent.run(agent.close())


OFFERS = """
[offers]
tool = org-retitle
heading = Offers
tier = ask
because = What others offered is not ours to rename.
matches = org-retitle path=projects/roof.org heading=Offers title=x
not = org-retitle path=projects/roof.org heading=Roof title=x
"""


def test_a_rule_that_asks_is_answered_only_by_a_grant_given_on_its_question(memex):
    "Whether it was written before the grant or after it; and its own grant answers for nothing else."
    offers, rules = propose(path="projects/roof.org", heading="Offers", title="Bids"), memex.parent / "config/passepartout/rules.ini"
    agent = boot(memex)
    try:
        granted(agent)
        assert (word(agent), word(agent, offers)) == ("allowed", "allowed")
    finally: agent.run(agent.close())
    rules.parent.chmod(0o700)
    rules.write_text(OFFERS)
    rules.chmod(0o600)
    agent = boot(memex)
    try:
        assert agent.permissions.problems() == () and (word(agent), word(agent, offers)) == ("allowed", "asks")
        mine = granted(agent, proposal=offers) and agent.grants()[1]
        assert mine.rule == "offers" and "The rule “offers” no longer asks then" in in_words(mine) and word(agent, offers) == "allowed"
        agent.revoke(agent.grants()[0].id)
        assert (word(agent), word(agent, propose(path="projects/roof.org", heading="Bids", title="x"))) == ("asks", "asks")
    finally: agent.run(agent.close())
    rules.unlink()
    agent = boot(memex)
    try: assert word(agent, offers) == "asks" and agent.grants()[0].rule == "offers"
    finally: agent.run(agent.close())


def test_the_yes_that_came_with_a_grant_is_used_up_by_what_it_did(memex):
    "It is not left over, and the record does not call it refused."
    agent = boot(memex)
    try:
        pending = ask(agent)
        agent.run(agent.approve(pending.id, pending.code, grant=agent.offer(pending.id, pending.code, "for 1 hour")))
        assert (memex / "projects/roof.org").read_text().startswith("* Shed") and agent.journal.approval(pending.id)["state"] == "used"
        with pytest.raises(PassepartoutError): agent.run(agent.approve(pending.id, pending.code))
    finally: agent.run(agent.close())


def test_words_after_a_code_that_mean_nothing_are_no_yes(memex):
    agent = boot(memex)
    try:
        pending = ask(agent)
        for words in ("untli 18:00", "no", "delete 1 file"):
            with pytest.raises(PassepartoutError, match="not understood"): agent.run(agent.approve(pending.id, pending.code, confirm=words))
        assert (memex / "projects/roof.org").read_text().startswith("* Roof") and agent.journal.approval(pending.id)["state"] == "pending"
    finally: agent.run(agent.close())


def test_no_other_gate_is_answered(memex):
    agent = boot(memex)
    try:
        granted(agent)
        from passepartout.skills import Skill
        agent.skills.register(Skill("careful", deterministic=lambda action, signal: ApprovalRequired(action, "May I?") if action.target == "tool" else action))
        assert word(agent) == "asks"
        pending = ask(agent)
        agent.permissions.tiers["org-retitle"] = "allow"
        agent.permissions._ready.clear()
        with pytest.raises(GrantRefused, match="no grant answers another gate"): agent.offer(pending.id, pending.code, "for 1 hour")
    finally: agent.run(agent.close())


def test_a_rule_that_denies_wins_over_a_grant(memex):
    (memex.parent / "config/passepartout/rules.ini").write_text("[no]\ntool = org-retitle\ntitle = Secret*\ntier = deny\nmatches = org-retitle title=Secrets\nnot = org-retitle title=x\n")
    (memex.parent / "config/passepartout/rules.ini").chmod(0o600)
    agent = boot(memex)
    try:
        granted(agent)
        assert word(agent) == "allowed" and word(agent, propose(path="projects/roof.org", heading="Roof", title="SECRET plan")) == "rejected"
    finally: agent.run(agent.close())


def test_it_ends_by_time_and_by_word(memex):
    clock = Clock()
    agent = boot(memex)
    try:
        agent.journal.clock = clock
        grant = granted(agent, "for 30 min")
        assert word(agent) == "allowed"
        clock.now += 1801
        assert word(agent) == "asks" and agent.grants() == []
        clock.now -= 1700                                        # a clock that was put back brings nothing back
        assert word(agent) == "asks"
        with pytest.raises(GrantRefused): agent.revoke(grant.id)
        offers = propose(path="projects/roof.org", heading="Offers", title="Bids")
        grant = granted(agent, "for 30 min", offers)
        assert word(agent, offers) == "allowed" and "Taken back" in agent.revoke(grant.id) and word(agent, offers) == "asks"
        with pytest.raises(GrantRefused): agent.revoke(grant.id)
    finally: agent.run(agent.close())


YEAR = 365 * 86_400.0


@pytest.mark.parametrize("jumps", [(-YEAR, YEAR + 300), (YEAR, 300 - YEAR)])
def test_a_grant_that_a_clock_made_void_once_does_not_count_when_the_clock_shows_its_hour_again(memex, jumps):
    "Given under a clock that ran a year ahead, it would count for an hour a year later; the agent was started anew each time, and did something in between."
    clock = Clock()
    agent = boot(memex, clock)
    try: granted(agent)
    finally: agent.run(agent.close())
    for jump in jumps:
        clock.now += jump
        agent = boot(memex, clock)
        try:
            assert word(agent) == "asks" and agent.grants() == []
            agent.run(agent.handle("agenda"))
        finally: agent.run(agent.close())


def test_a_request_that_took_long_before_it_was_written_down_ends_no_grant_given_meanwhile(memex):
    "Its records bear the time at which it began, and are written with those of its end."
    clock = Clock()
    agent = boot(memex, clock)
    try:
        batch = agent.journal.batch("other", "slow")
        batch.record("turn", {"text": "think about it"})
        clock.now += 600
        granted(agent)
        clock.now += 300
        batch.record("answer", {"text": "I did."})
        batch.commit_now()
        assert word(agent) == "allowed" and len(agent.grants()) == 1
    finally: agent.run(agent.close())


def test_nothing_is_offered_without_the_code_and_nothing_is_on_record_before(memex):
    agent = boot(memex)
    try:
        pending = ask(agent)
        with pytest.raises(PassepartoutError, match="does not fit"): agent.offer(pending.id, "aaaaaa", "for 1 hour")
        with pytest.raises(PassepartoutError, match="another session"): agent.offer(pending.id, pending.code, "for 1 hour", session="other")
        grant = agent.offer(pending.id, pending.code, "for 1 hour")
        assert agent.grants() == [] and not agent.journal.records(kinds=["grant"])
        with pytest.raises(PassepartoutError, match="does not fit"): agent.run(agent.approve(pending.id, "aaaaaa", grant=grant))
        assert agent.grants() == []
        other = Grant("org-find", "main", grant.expires, exact=(("query", canonical("x")),))
        with pytest.raises(GrantRefused, match="something else"): agent.run(agent.approve(pending.id, pending.code, grant=other))
        assert agent.grants() == [] and agent.journal.approval(pending.id)["state"] == "pending"
    finally: agent.run(agent.close())


def test_no_message_note_or_tool_gives_one(memex):
    "Fields that claim a grant, and records that are written by the ordinary door."
    from passepartout.storage.chain import JournalError
    agent = boot(memex)
    try:
        pending = ask(agent)
        for claim in ({"grant": "x"}, {"granted": True}, {"until": "18:00"}):
            reply = agent.run(agent.process(Signal.of({"payload": {"sensor": "approval-required", "approval": pending.id, **claim}, "meta": {"source": "cli", "session": "main"}})))
            assert not reply.effects and agent.grants() == []
        batch = agent.journal.batch("main", "t")
        with pytest.raises(JournalError, match="the room grants"): batch.record("grant", {"state": "given"})
    finally: agent.run(agent.close())


def test_a_link_that_is_moved_after_the_look_is_not_covered(memex):
    "The grant covers the folder where the file was looked up; what was opened lies elsewhere."
    agent = boot(memex)
    try:
        granted(agent)
        action = judge(agent, propose(), signal_of()).verdict.action
        assert agent.permissions.grant_for(action)
        from passepartout.confinement.resources import resolve
        with resolve(agent.roots, "people/ana.org", "write") as file:
            assert isinstance(opened_verdict(agent.permissions, action, signal_of(), {"path": file}), ApprovalRequired)
    finally: agent.run(agent.close())


# Other processes -----------------------------------------------------------------------------------------------------

OTHER = textwrap.dedent("""
    import asyncio, json, os, signal, sys
    from pathlib import Path
    sys.path.insert(0, os.path.dirname(sys.argv[1]))
    from test_grants import Agent, boot, granted, ask, word
    memex, what = Path(sys.argv[2]), sys.argv[3]
    agent = boot(memex)
    if what == "give": print(granted(agent).id)
    if what == "word": print(word(agent))
    if what == "revoke": agent.revoke(sys.argv[4]); print("revoked")
    if what == "killed":                                       # between the record of the grant and that of the approval
        pending = ask(agent)
        grant = agent.offer(pending.id, pending.code, "for 1 hour")
        agent.journal.approve = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
        agent.run(agent.approve(pending.id, pending.code, grant=grant))
    if what == "early":                                        # in the middle of writing the grant
        pending = ask(agent)
        grant = agent.offer(pending.id, pending.code, "for 1 hour")
        agent.journal.write = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
        agent.run(agent.approve(pending.id, pending.code, grant=grant))
    agent.run(agent.close())
""")


def other(memex, *args): return subprocess.run([sys.executable, "-c", OTHER, __file__, str(memex), *args], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("how", ["refused", "taken back"])
def test_nothing_is_allowed_for_longer_by_a_yes_to_a_question_that_is_over(memex, how):
    "Another window ends it in the moment between the two records."
    agent, window = boot(memex), boot(memex)
    asked = ask(agent)
    def watch(kind, body, turn):
        if kind != "grant": return
        if how == "refused": window.deny(asked.id)
        else: rewind(window, "main")
    agent.watch(watch)
    try:
        with pytest.raises(PassepartoutError): agent.run(agent.approve(asked.id, asked.code, grant=agent.offer(asked.id, asked.code, "for 1 hour")))
        assert not agent.grants() and not agent.journal.effects() and word(agent) == "asks"
    finally:
        for each in (window, agent): each.run(each.close())


@pytest.mark.slow
def test_another_process_gives_uses_and_takes_back(memex):
    agent = boot(memex)
    try:
        assert word(agent) == "asks"
        ident = other(memex, "give").stdout.strip()
        assert word(agent) == "allowed" and agent.grants()[0].id == ident      # heard without a restart
        assert other(memex, "word").stdout.strip() == "allowed"
        assert other(memex, "revoke", ident).stdout.strip() == "revoked"
        assert word(agent) == "asks"
    finally: agent.run(agent.close())


@pytest.mark.slow
@pytest.mark.parametrize("when, after", [("killed", "allowed"), ("early", "asks")])
def test_a_crash_leaves_a_whole_grant_or_none(memex, when, after):
    assert other(memex, when).returncode == -signal.SIGKILL
    agent = boot(memex)
    try:
        assert word(agent) == after and agent.journal.verify(whole=True).ok
        assert (memex / "projects/roof.org").read_text() == "* Roof\n* Offers\n" and not agent.journal.approvals(state="approved")
    finally: agent.run(agent.close())


def test_who_writes_the_file_without_the_key_gives_nothing(memex):
    import sqlite3
    agent = boot(memex)
    granted(agent)
    path = agent.journal.path
    agent.run(agent.close())
    db = sqlite3.connect(path)
    last, body, proof = db.execute("SELECT seq, body, proof FROM chain WHERE kind = 'grant'").fetchone()
    wider = json.loads(body)
    wider["where"] = [["path", ["**"]]]
    db.execute("UPDATE chain SET body = ? WHERE seq = ?", (json.dumps(wider), last))
    db.commit(); db.close()
    agent = boot(memex)
    try: assert agent.grants() == [] and word(agent) == "asks" and not agent.journal.verify(whole=True).ok
    finally: agent.run(agent.close())


def edited(path, *statements):
    import sqlite3
    db = sqlite3.connect(path)
    for statement in statements: db.execute(statement)
    db.commit(); db.close()


@pytest.mark.parametrize("statement", ["DELETE FROM chain WHERE kind = 'grant' AND body LIKE '%revoked%'", "UPDATE chain SET kind = 'log' WHERE kind = 'grant' AND body LIKE '%revoked%'"])
@pytest.mark.parametrize("again", [False, True])
def test_a_grant_that_was_taken_back_does_not_stand_up_when_that_record_is_removed(memex, statement, again):
    agent = boot(memex)
    agent.revoke(granted(agent).id)
    path = agent.journal.path
    if again: agent.run(agent.close())
    edited(path, statement)
    if again: agent = boot(memex)
    try: assert agent.grants() == [] and word(agent) == "asks"
    finally: agent.run(agent.close())


def test_an_older_copy_of_the_journal_brings_no_grant_back(memex):
    import os, shutil
    agent = boot(memex)
    given = granted(agent)
    path = agent.journal.path
    agent.run(agent.close())
    shutil.copy(path, path.with_suffix(".old"))
    agent = boot(memex)
    assert word(agent) == "allowed"                             # it survives a restart, when nobody touched the file
    agent.revoke(given.id)
    agent.run(agent.close())
    os.replace(path.with_suffix(".old"), path)
    agent = boot(memex)
    try: assert agent.journal.checked.kind == "cut-off" and agent.grants() == [] and word(agent) == "asks"
    finally: agent.run(agent.close())


def test_another_tool_that_took_the_name_meanwhile_does_not_run_on_the_yes_for_an_edit(memex):
    agent, ran = boot(memex), []
    try:
        pending = ask(agent)
        agent.tools.register(Tool("org-retitle", "", [Parameter("path"), Parameter("heading"), Parameter("title")], lambda path, heading, title: ran.append(title) or "done", effects="open-world", inline=True))
        reply = agent.run(agent.approve(pending.id, pending.code))
        (again,) = agent.pending()
        assert not ran and "not what you were shown" in again.reason and again.id != pending.id and "not what you were shown" in reply.text
        agent.run(agent.approve(again.id, agent.pending()[0].code))
        assert ran == ["Shed"]                                  # asked about once more, it is the person's word
    finally: agent.run(agent.close())


# Laws ---------------------------------------------------------------------------------------------------------------

EDIT = Tool("edit", "", [Parameter("path", kind="path", access="write"), Parameter("text"), Parameter("flag", "boolean", default=False), Parameter("tags", "list", required=False)], lambda args: "", effects=Effects(False, True, False, False), edits=True)
SEND = Tool("send", "", [Parameter("to"), Parameter("text"), Parameter("copy", required=False), Parameter("when", "integer", default=1)], lambda args: "")
def PLACES(name, value):
    for found in spelled_places(name, value): yield found if found is UNREADABLE or len(found) == 1 else ("/memex/" + found[1], found[1])
sends = st.fixed_dictionaries({"to": st.text(max_size=4), "text": st.text(max_size=4), "copy": st.none() | st.text(max_size=3), "when": st.integers(0, 2)})
edits = st.fixed_dictionaries({"path": st.text(alphabet="ab/.*é", min_size=1, max_size=6), "text": st.text(max_size=4), "flag": st.booleans(), "tags": st.none() | st.lists(st.sampled_from("ab"), max_size=2).map(tuple)})


@given(sends, sends)
def test_what_goes_out_is_covered_only_as_it_was_asked(asked, other):
    assert covers(offer(SEND, asked, PLACES, "main", 1.0), SEND, other, PLACES, "main") == (asked == other)


def test_a_grant_is_for_its_tool_and_its_conversation_and_words_that_go_out_are_not_free():
    "Each of these conditions could be left out, and no test fell: others look before they ask."
    asked = {"to": "ana", "text": "hi", "copy": None, "when": 1}
    grant, other = offer(SEND, asked, PLACES, "main", 1.0), Tool("other", "", SEND.parameters, lambda args: "")
    assert [covers(grant, tool, asked, PLACES, session) for tool, session in ((SEND, "main"), (other, "main"), (SEND, "work"))] == [True, False, False]
    inside, outside = (Tool("look", "", [Parameter("words")], lambda args: "", effects=Effects(read_only=True, destructive=False, open_world=outside)) for outside in (False, True))
    assert [usual_scope(tool, {"words": "x"}, PLACES) for tool in (inside, outside)] == [{"words": None}, {}]


@given(edits, edits)
@hypothesis_settings(max_examples=examples(200))
def test_an_edit_is_covered_only_in_its_folder(asked, other):
    try: grant = offer(EDIT, asked, PLACES, "main", 1.0)
    except GrantRefused: return
    assert covers(grant, EDIT, asked, PLACES, "main")
    if covers(grant, EDIT, other, PLACES, "main"):
        there, here = (next(iter(PLACES("path", each["path"])))[-1] for each in (asked, other))
        folder = there.rpartition("/")[0]
        assert here.startswith(folder + "/") if folder else here == there


@given(st.text(max_size=30))
def test_any_words_are_a_scope_that_covers_the_question_or_are_refused(text):
    asked = {"path": "projects/a.org", "text": "x", "flag": False, "tags": None}
    try: grant = offer(EDIT, asked, PLACES, "main", 1.0, text)
    except PassepartoutError: return
    assert covers(grant, EDIT, asked, PLACES, "main") and in_words(grant).isprintable()


@given(st.text(max_size=30) | st.from_regex(r"(for|until) [0-9a-z:\- ]{1,20}", fullmatch=True))
def test_any_words_are_a_time_within_a_month_or_are_refused(text):
    from datetime import datetime, timedelta
    now = datetime(2026, 11, 19, 12)
    try: end, _ = read_until(text, now)
    except GrantRefused: return
    assert now < end <= now + timedelta(days=30)


def test_of_two_grants_the_one_that_is_named_is_taken_back():
    grants = Grants(Journal.open(":memory:", clock=lambda: 1000.0))
    first, second = (grants.give(offer(SEND, {"to": name, "text": "hi", "copy": None, "when": 1}, PLACES, "main", 5000.0), name, "person") for name in ("ana", "bob"))
    assert grants.revoke(second.id, "person") == second and grants.standing() == [first]


def test_words_are_free_in_what_can_be_taken_back_and_in_nothing_else():
    "A tool of this machine that neither edits notes nor only reads may do anything with its words."
    asked = {"path": "a/b.org", "text": "hi", "flag": False, "tags": None}
    other = Tool("save", "", [*EDIT.parameters], lambda args: "", effects=EDIT.effects)
    assert [offer(tool, asked, PLACES, "main", 5000.0).free for tool in (EDIT, other)] == [("text", "flag", "tags"), ()]


def test_a_secret_is_not_put_on_the_record(memex):
    agent = boot(memex)
    try:
        from passepartout.redaction.secrets import Secret, Vault
        vault = Vault([Secret("token", b"correct-horse-battery-staple-4711")], ())
        agent.journal.scanner = vault.scanner
        grant = Grant("send", "main", agent.journal.clock() + 60, exact=(("to", canonical("correct-horse-battery-staple-4711")),))
        with pytest.raises(GrantRefused, match="secret"): agent.permissions.grants.give(grant, "a", "person")
        assert not agent.journal.records(kinds=["grant"])
    finally: agent.run(agent.close())


# At the screen ------------------------------------------------------------------------------------------------------

def test_in_chat_the_words_come_before_the_yes(memex):
    import io
    from passepartout.terminal.chat import Chat
    from passepartout.terminal.render import screen
    agent = boot(memex)
    try:
        pending = ask(agent)
        file = io.StringIO()
        chat = Chat(agent, "main", console=screen(file, width=200), read=None)
        line = f"/approve {pending.code} for 1 hour in projects/"
        chat.one(line)
        assert "in projects/" in file.getvalue() and "once more" in file.getvalue() and agent.grants() == [] and "Roof" in (memex / "projects/roof.org").read_text()
        chat.one(f"/approve {pending.code} for 2 hours in projects/")          # other words: said again, not given
        assert agent.grants() == []
        chat.one(line); chat.one(line)
        grant, = agent.grants()
        assert (memex / "projects/roof.org").read_text().startswith("* Shed")
        chat.one("/grants")
        assert grant.id in file.getvalue()
        chat.one(f"/revoke {grant.id}")
        assert agent.grants() == [] and "Taken back" in file.getvalue()
    finally: agent.run(agent.close())


@pytest.mark.slow
def test_on_the_command_line_the_words_come_before_the_yes(memex, monkeypatch):
    from typer.testing import CliRunner
    from passepartout.terminal.program import build_app
    top = memex.parent
    agent = boot(memex)
    pending = ask(agent)
    agent.run(agent.close())
    (top / "config" / "passepartout").mkdir(exist_ok=True)
    (top / "config" / "passepartout" / "settings.ini").write_text("[permissions]\norg-retitle = ask\n")
    env = {"XDG_STATE_HOME": str(top / "state"), "XDG_CONFIG_HOME": str(top / "config"), "XDG_CACHE_HOME": str(top / "cache")}
    for name, value in env.items(): monkeypatch.setenv(name, value)
    run = lambda *args: CliRunner().invoke(build_app(), ["approvals", *args, "--memex", str(memex)], env=env)
    shown = run("approve", pending.id, pending.code, "--until", "1 hour", "--for", "org-retitle in projects/")
    assert shown.exit_code == 4 and "in projects/" in shown.output and "Shed" not in (memex / "projects/roof.org").read_text()
    assert run("approve", pending.id, pending.code, "--for", "in projects/", "--yes").exit_code == 2
    given = run("approve", pending.id, pending.code, "--until", "1 hour", "--for", "org-retitle in projects/", "--yes")
    assert given.exit_code == 0 and "Shed" in (memex / "projects/roof.org").read_text(), given.output
    listed = json.loads(run("list", "--json").output)
    assert "in projects/" in listed[0]["grant"] and listed[0]["id"] in run("list").output
    assert run("revoke", listed[0]["id"]).exit_code == 0 and json.loads(run("list", "--json").output) == []
    assert run("revoke", listed[0]["id"]).exit_code == 1


def test_what_was_taken_back_stays_so_when_the_index_forgets_it(memex):
    """The record stays and the chain holds; but the index by which grants are found can be made anew without it by whoever can write the file."""
    agent = boot(memex)
    agent.revoke(granted(agent).id)
    assert (word(agent), agent.grants()) == ("asks", [])
    path = agent.journal.path
    agent.run(agent.close())
    db = sqlite3.connect(path)
    sql, = db.execute("SELECT sql FROM sqlite_master WHERE name = 'chain_grants'").fetchone()
    (revoked,), = db.execute("SELECT seq FROM chain WHERE kind = 'grant' AND body LIKE '%revoked%'").fetchall()
    db.execute("DROP INDEX chain_grants")
    db.execute(f"{sql.replace('IF NOT EXISTS ', '')} AND seq <> {revoked}")
    db.execute("PRAGMA writable_schema=ON")
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'chain_grants'", (sql,))
    db.commit(); db.close()
    agent = boot(memex)
    try: assert (word(agent), agent.grants()) == ("asks", []) and not agent.journal.verify(whole=True)
    finally: agent.run(agent.close())


def test_a_yes_for_longer_is_for_a_folder_itself_and_never_for_any_file_of_the_disk():
    "A tool that walks a folder was asked about this folder, not about the one around it; and a star for a path is a pattern, where for a text it means anything."
    walks = Tool("walks", "", [Parameter("path", kind="path", access="tree")], lambda path: "", effects="read-only")
    edits = Tool("edits", "", [Parameter("path", kind="path", access="write"), Parameter("words")], lambda path, words: "", effects="idempotent")
    named = lambda name, value: [(value,)] if value else []
    assert usual_scope(walks, {"path": "projects/sub"}, named) == {"path": ("projects/sub",)} and usual_scope(edits, {"path": "projects/a.org", "words": "x"}, named)["path"] == ("projects/",)
    scope = said_scope(edits, {"path": "projects/a.org", "words": "x"}, named, "path=* words=*")
    assert scope["path"] is not None and scope["words"] is None
    for said in ("words", "path", "elsewhere=x", "in", "path="):
        with pytest.raises(GrantRefused): said_scope(edits, {"path": "projects/a.org", "words": "x"}, named, said)


@pytest.mark.parametrize("now, said, minutes", [("2026-10-25T01:30", "for 2 hours", 120), ("2026-10-25T02:40", "for 5 min", 5), ("2026-10-25T02:40+", "for 5 min", 5), ("2026-10-25T02:40", "for 1 hour", 60), ("2026-03-29T01:30", "for 2 hours", 120), ("2026-10-24T12:00", "for 1 day", 1500), ("2026-11-19T12:00", "for 2 hours", 120)])
def test_an_hour_is_an_hour_also_in_the_night_in_which_the_clocks_change(monkeypatch, now, said, minutes):
    import time
    from datetime import datetime
    from passepartout.consent.grants import read_until
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        begun = datetime.fromisoformat(now.rstrip("+")).replace(fold=now.endswith("+"))
        assert read_until(said, begun)[0].timestamp() - begun.timestamp() == 60 * minutes
    finally:
        monkeypatch.undo()
        time.tzset()
