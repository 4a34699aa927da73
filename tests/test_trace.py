"The record as a person reads it: on the terminal, as JSON, as an Org file in which nobody else's text is structure."
import asyncio
import json
import re
import time
from datetime import date, datetime

import pytest
from hypothesis import example, given, settings, strategies as st

from conftest import examples
from passepartout.terminal.auditcommands import past_moment
from passepartout.conditions import PassepartoutError
from passepartout.agenda import agenda as our_agenda
from passepartout.journal import Journal
from passepartout.org import parse_org
from passepartout.terminal.render import clean, trace_lines
from passepartout.terminal.thoughts import is_private, org_journal, plain_words, quoted, source_block, turn_lines
from passepartout.pastturns import recorded_turn, recorded_turns
from test_approvals import asking
import test_cli
from test_emacs import EMACS, ask as ask_emacs

forks, home = test_cli.forks, test_cli.home         # fixtures

CALL = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "shell" :ARGS (:COMMAND "touch list.txt") :EXPLANATION "You wanted an empty list"))'
HOSTILE = ["* Approved by the person", "** TODO [#A] x :tag:", "#+end_src", "  #+END_SRC", "#+begin_example", "#+FILETAGS: :x:", "#+SETUPFILE: /etc/passwd", "#+TODO: A | B", ":PROPERTIES:", ":ID: forged", ":END:", ":LOGBOOK:",
           "<2026-11-20 Fri>", "<2026-11-20 Fri>--<2026-11-22 Sun>", "SCHEDULED: <2026-11-20 Fri>", "DEADLINE: <2026-11-20 Fri +1d>", "%%(diary-anniversary 1 1 2000) x", "<%%(message \"run\")>", "[[elisp:(delete-file)][x]]", "[[file:/etc/passwd]]", "| a | b |", "|---|",
           "src_sh{id}", "call_f(x)", "{{{m(x)}}}", "[fn:1] note", "# Local Variables:", "# eval: (delete-file)", "# End:", ",* x", ",#+end_src", "\r* x", "\f* x", "\x0b#+end_src", "\u2028* x", "\x85* x", "\x1b[2J", "\u202e", "\u200b", "\udc80", "\t* x", "\t#+end_src", "* ", "*", "#+", "CLOCK: [2026-11-20 Fri 10:00]", "- [ ] x", "-*- mode: lisp; eval: (x) -*-"]
texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=6).map("\n".join)


def recorded(kinds, turn="5f0c", session="main", at=1_795_000_000.0):
    return {"turn": turn, "session": session, "at": at, "records": [{"kind": kind, "body": body, "at": at} for kind, body in kinds]}


def hostile_turn(text, **more):
    "A turn in which every text is `text`."
    gates = [[text, text, text, 1.5]]
    return recorded([("turn", {"text": text, "source": text}), ("backend", {"provider": text, "error": text}), ("proposal", {"provider": text, "attempt": text, "proposal": text}), ("proposal", {"proposal": "(" + text}),
                     ("verdict", {"verdict": text, "gate": text, "text": text, "gates": gates}), ("ask", {"reason": text, "action": text, "approval": text}), ("typed", {"text": text}), ("approval", {"state": text}),
                     ("intent", {"action": text, "effect": text}), ("outcome", {"state": text, "detail": {"error": text}}), (text, {text: text}), ("answer", {"text": text, "status": text})], **{"session": text, **more})


def only_ours(text, turns):
    "Nothing in the file is structure but what we put there."
    outline = parse_org(text, "thoughts.org")
    headings = [node for node in outline.nodes if node.level]
    assert len(headings) == turns and all((n.level, n.keyword, n.tags, n.priority) == (1, None, (), None) for n in headings)
    assert all(set(n.properties) <= {"TURN", "SESSION", "STATUS"} for n in headings)
    for line in text.split("\n"):
        assert line == "" or line.isprintable() or "\t" in line, line
        assert re.match(r"[a-z :|#*]|$", line), line
        assert not re.match(r"(\*+ (?!\[)|#\+(?!TITLE: |begin_src lisp :eval never$|end_src$)|[ \t]+#\+|%%\(|:(?!PROPERTIES:$|END:$|TURN: |SESSION: |STATUS: | |$))", line), line
    assert "local variables:" not in text.lower() and "%%(" not in text and not re.search(r"<\d{4}-\d\d", text)
    assert text.count("\n#+begin_src") == text.count("\n#+end_src")


@given(texts)
@example("\n".join(HOSTILE))
@settings(max_examples=examples(60))
def test_no_text_becomes_structure(text):
    turns = [hostile_turn(text), hostile_turn(text, turn="x" + text)]
    lines = [line for turn in turns for line in turn_lines(turn)]
    assert not any("\n" in line for line in lines)
    only_ours("\n".join(lines) + "\n", 2)


@given(texts)
def test_parts_keep_to_their_place(text):
    assert all(line.startswith(":") for line in quoted(text))
    inside = source_block(text)[1:-1]
    assert all(line == "" or line.startswith("  ") for line in inside)
    assert "\n" not in plain_words(text) and not re.search(r"[:\[\]<>*#{}|\\/=~+_^@$&%\"]", plain_words(text))


def test_our_own_rooms_read_it(tmp_path):
    text = "#+TITLE: x\n" + "\n".join(turn_lines(hostile_turn("\n".join(HOSTILE)))) + "\n"
    outline = parse_org(text, "thoughts.org")
    assert not list(our_agenda([outline], date(2026, 11, 1), date(2026, 12, 31), date(2026, 11, 19)))


@pytest.mark.slow
@pytest.mark.skipif(EMACS is None, reason="Emacs is not installed: apt-get install emacs-nox")
def test_emacs_reads_it_as_we_mean_it(tmp_path):
    agent, _ = asyncio.run(asking({"note": "\n".join(HOSTILE).replace("\udc80", "")}))
    turns = [*recorded_turns(agent.journal), hostile_turn("\n".join(HOSTILE)), hostile_turn("\n".join(reversed(HOSTILE)))]
    file = tmp_path / "thoughts.org"
    file.write_text("\n".join(org_journal(agent.journal, turns, private=True, tag="@private")) + "\n", encoding="utf-8")
    outline, elements, items = ask_emacs(tmp_path, [("reader-outline", str(file)), ("reader-elements", str(file)), ("reader-agenda", [str(file)], date(2026, 11, 19).toordinal(), date(2026, 11, 1).toordinal(), 60)])
    assert [(h["level"], h["keyword"], h["tags"], h["all"]) for h in outline] == [(1, None, [], ["@private"])] * 3
    assert all({name for name, _ in h["properties"]} <= {"TURN", "SESSION", "STATUS"} for h in outline)
    assert {kind for _, _, kind in elements["timestamps"]} == {"inactive"} and elements["links"] == [] and elements["planning"] == [] and elements["footnotes"] == []
    assert {kind for _, kind in elements["blocks"]} <= {"src-block", "drawer", "property-drawer"} and sum(kind == "src-block" for _, kind in elements["blocks"]) == file.read_text().count("\n#+begin_src")
    assert len(elements["tables"]) == 3 and items == [] and elements["items"] == []


# Privacy --------------------------------------------------------------------------------------------------------------

def a_turn(journal, turn, *records):
    batch = journal.batch("main", turn)
    for kind, body in records: batch.record(kind, body)
    batch.commit_now()


def test_what_follows_from_a_private_turn_is_private():
    journal = Journal.open(":memory:")
    a_turn(journal, "t1", ("turn", {"text": "a"}), ("proposal", {"proposal": "x", "attempt": 1}), ("answer", {"text": "secret", "private": True}))
    batch = journal.batch("main", "t1"); batch.ask("a1", "h", "x", code_hash="", expires=time.time() + 60, reason="r", channel="cli"); batch.commit_now()
    journal.approve("a1", by="person", session="main")
    batch = journal.batch("main", "t2"); batch.record("turn", {"text": "", "sensor": "approval-required"}); batch.consume("a1", "h"); batch.intend("e1", "h", "x"); batch.record("answer", {"text": "done", "private": False}); batch.commit_now()
    batch = journal.batch("main", "t3"); batch.record("turn", {"text": "/undo"}); batch.intend("e2", "h", "undo x", detail={"undoes": "e1"}); batch.record("answer", {"text": "back"}); batch.commit_now()
    a_turn(journal, "t4", ("turn", {"text": "what is due?"}), ("proposal", {"proposal": "y", "attempt": 1}), ("answer", {"text": "milk"}))
    a_turn(journal, "t5", ("turn", {"text": "crashed"}), ("proposal", {"proposal": "y", "attempt": 1}))
    a_turn(journal, "t6", ("turn", {"text": "nothing came of it"}))
    assert [is_private(journal, turn) for turn in recorded_turns(journal)] == [True, True, True, False, True, False]
    text = "\n".join(org_journal(journal, recorded_turns(journal)))
    assert "secret" not in text and "milk" in text and "# 4 private turns were left out." in text
    assert "secret" in "\n".join(org_journal(journal, recorded_turns(journal), private=True))
    journal.erase(journal.records(turn="t4", kinds=["answer"])[0]["seq"])
    assert is_private(journal, recorded_turn(journal, "t4"))


# The command ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_turn_with_everything_in_it(home):
    asked = json.loads(home.ask("--json", "make a list", env=home.script(CALL)).stdout)
    pending = asked["approvals"][0]
    home("approvals", "approve", "--memex", home.memex, pending["id"], pending["code"], env=home.script("!error 503"))
    shown = home("trace", "--memex", home.memex, "-n", "2").stdout
    for word in ("make a list", "proposes", "touch list.txt", "asks by shell", "asks you", "you said  yes", "goes on", "used up", "starts", "outcome   "): assert word in shown, (word, shown)
    assert all(re.search(rf"{gate} ✓ \d+ µs", shown) for gate in ("policy", "secrets", "permissions", "paths")) and re.search(r"shell \? \d+ µs", shown)
    assert pending["code"] not in shown
    turns = json.loads(home("trace", "--memex", home.memex, "--json", "--since", "1h").stdout)
    assert len(turns) == 2 and all(isinstance(g[3], float) for t in turns for r in t["records"] if r["kind"] == "verdict" for g in r["body"]["gates"])
    org = home("trace", "--memex", home.memex, "--org").stdout
    only_ours(org, 2)
    assert "| shell | asks |" in org and 'touch list.txt' in org


@pytest.mark.slow
def test_which_turns(home):
    first = json.loads(home.ask("--json", "find roof").stdout)["turn"]
    second = json.loads(home.ask("--json", "--session", "other", "what is due?").stdout)["turn"]
    turns = lambda *args: [t["turn"] for t in json.loads(home("trace", "--json", "--memex", home.memex, *args).stdout)]
    assert turns() == [second] and turns(first[:7]) == [first] and turns("--session", "main", "-n", "9") == [first] and turns("--since", "2d") == [second, first]
    assert turns("--since", "2999-01-01") == [] and turns("--since", "2d", "-n", "1") == [second]
    shared = home("trace", "", "--memex", home.memex)
    assert shared.returncode == 1 and "no turn" in shared.stderr
    assert home("trace", "--since", "soon", "--memex", home.memex).returncode == 2


@pytest.mark.parametrize("text", ["soon", "99999999d", "1m", "2026-13-01", "", "-2d", "2 d d", "2026-01-01T99", "\ud800"])
def test_what_is_no_moment_is_said(text):
    with pytest.raises(PassepartoutError, match="not a moment"): past_moment(text, datetime(2026, 11, 19))
    with pytest.raises(PassepartoutError, match="not a moment"): past_moment("9999w", datetime(2, 1, 1))


def test_an_ambiguous_beginning_says_which(tmp_path):
    journal = Journal.open(":memory:")
    for turn in ("abc1", "abc2", "abd", "100%", "1_0"): a_turn(journal, turn, ("turn", {"text": ""}))
    assert journal.turn_ids("abc") == ["abc1", "abc2"] and journal.turn_ids("abd") == ["abd"] and journal.turn_ids("%") == [] and journal.turn_ids("1_") == ["1_0"] and journal.turn_ids("", limit=2) == ["100%", "1_0"]


async def test_a_read_that_was_stopped_is_on_record_as_begun(tmp_path):
    from passepartout.agent import Agent
    from passepartout.backends import register_backend
    from passepartout.terminal.render import record_line
    from passepartout.tools import Tool
    (tmp_path / "memex").mkdir()
    agent = await Agent.boot(**{f"{name}_dir": tmp_path / name for name in ("memex", "state", "cache", "config")}, provider_cascade=("fake",), permissions={"look": "allow"})
    begun = asyncio.Event()
    async def look(): begun.set(); await asyncio.sleep(60)
    agent.tools.register(Tool("look", "Look", [], look, effects=["read-only"]))
    async def fake(prompt, system_prompt, *, model=None): return '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "look" :EXPLANATION "The person wants to know what there is."))'
    register_backend(agent, "fake", fake)
    running = asyncio.ensure_future(agent.handle("look around"))
    await asyncio.wait_for(begun.wait(), 30)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    (turn,) = recorded_turns(agent.journal)
    await agent.close()
    told = [(record["kind"], record_line(record["kind"], record["body"]).text) for record in turn["records"]]
    assert ("stopped", "look had begun and was stopped; until then it had only read.") in told, told
    assert turn["records"][-1]["body"]["status"] == "interrupted"


@pytest.mark.parametrize("said", ["[" * 100_000, '["REQUEST", "tool", ' + '{"a":' * 5_000, "(" * 5_000, "[1, 2]", "[" + "9" * 5_000 + "]"], ids=["lists", "mappings", "brackets", "two", "a number"])
def test_nothing_that_a_model_says_keeps_the_record_from_being_read(said):
    _, *texts = [line.text for line in trace_lines(recorded([("proposal", {"provider": "groq", "proposal": said}), ("ask", {"action": said}), ("answer", {"text": "no"})]))]
    assert said[:20] in texts[0] and texts[-1] == "no"


@given(st.sampled_from(["\x1b]", "\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x9d", "\x90", "\x1b[", "\x1b[1;", "\x9b", "\x1b(", "\r", "\x08", "\u202e"]), st.sampled_from(["", "\x07", "\x1b\\", "\n", "\x1b"]))
@settings(max_examples=examples(60))
def test_a_proposal_in_the_record_hides_nothing(begin, end):
    said = f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "write-file" :ARGS (:PATH "a.org" :TEXT "thanks{begin} 4711 HARM{end}") :EXPLANATION "fine"))'
    for text in (said, "no list " + said):
        *_, shown = [line.text for line in trace_lines(recorded([("proposal", {"provider": "groq", "proposal": text})]))]
        assert "4711 HARM" in shown and "fine" in shown and all(c == "\n" or c.isprintable() for c in shown), shown


def test_a_reply_does_not_swallow_what_stands_after_it():
    for begin in ("\x1b]0;", "\x1bP1q", "\x1b_", "\x1b]8;;http://a"):
        assert clean(f"Paid.{begin}\nAnd the rest") .endswith("And the rest")
    assert clean("a\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\ b\x1b]0;title\x07c") == "alink bc"
