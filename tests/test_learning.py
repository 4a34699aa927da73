"Learned rules: from equal answers of the person only, exactly as wide as what was asked, and without effect until the person takes them over"
import os

import pytest

from conftest import thinned
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.conditions import PassepartoutError
from passepartout.learning import adopt_rule, proposals, record_rule, shadows, try_rule, would_have
from passepartout.rulefile import read_rules
from passepartout.tools import Parameter, Tool


async def asking(tmp_path, **options):
    for part in ("memex", "state", "config", "cache"): (tmp_path / part).mkdir(exist_ok=True)
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", config_dir=tmp_path / "config", cache_dir=tmp_path / "cache", journal=":memory:", provider_cascade=("played",), permissions={"default": "ask"}, **options)
    agent.tools.register(Tool("post", "Post", [Parameter("to"), Parameter("text", target=False)], lambda to, text: "posted", effects="open-world", inline=True))
    agent.tools.register(Tool("wipe", "Wipe", [Parameter("what")], lambda what: "gone", effects=["open-world", "destructive"], inline=True))
    agent.tools.register(Tool("theirs", "Post", [Parameter("to")], lambda to: "posted", effects="open-world", inline=True, foreign=True))
    return agent


async def answer(agent, tool="post", yes=True, **args):
    said = [f'(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "{tool}" :ARGS ({" ".join(f":{k.upper()} {chr(34)}{v}{chr(34)}" for k, v in args.items())}) :EXPLANATION "Do what the person asked for"))']
    register_backend(agent, "played", lambda prompt, system_prompt, *, model=None: said.pop(0) if said else "Done.", inline=True)
    (ask,) = (await agent.handle(f"do it with {' '.join(args.values())}")).approvals
    if yes: await agent.approve(ask.id, ask.code, confirm=ask.phrase)
    else: agent.deny(ask.id)


async def test_an_open_world_call_is_learned_only_with_every_word_of_it(tmp_path):
    agent = await asking(tmp_path)
    for text in ("hello", "hello", "good evening"): await answer(agent, to="ana@example.org", text=text)
    assert proposals(agent) == []                                # three calls, but no three equal ones: the text leaves the machine
    await answer(agent, to="ana@example.org", text="hello")
    (found,) = proposals(agent)
    assert dict(found.rule.where) == {"to": ("ana@example.org",), "text": ("hello",)} and found.rule.tools == ("post",)
    assert "You allowed this 3 times" in found.text
    with agent.permissions.as_if(found.rule): assert proposals(agent) == []             # what a rule answers already is no habit to be learned
    await agent.close()


async def test_refusals_are_learned_as_well_and_one_other_answer_ends_it(tmp_path):
    agent = await asking(tmp_path)
    for _ in range(3): await answer(agent, yes=False, to="eve@example.org", text="hello")
    (found,) = proposals(agent)
    assert found.rule.tier == "deny" and "You refused this 3 times" in found.text
    await answer(agent, to="eve@example.org", text="hello")
    assert proposals(agent) == []
    await agent.close()


@pytest.mark.parametrize("tool, args", [("wipe", {"what": "all"}), ("theirs", {"to": "ana"})])
async def test_nothing_is_learned_about_what_is_gone_for_good_or_belongs_to_others(tmp_path, tool, args):
    agent = await asking(tmp_path)
    for _ in range(4): await answer(agent, tool, **args)
    assert proposals(agent) == []
    await agent.close()


@pytest.mark.parametrize("value", thinned(["a]\n[all", "x\ntier = allow", "*", "?", "ana ; tier = allow", "ana # x", "%(home)s", "  ana", "a=b", "ana, *", "\\u202eana"], 4))
async def test_no_argument_writes_a_line_of_its_own(tmp_path, value):
    agent = await asking(tmp_path)
    for _ in range(3): await answer(agent, to=value.replace("\\u202e", "\u202e"), text="hello")
    assert proposals(agent) == []
    await agent.close()


async def test_answers_that_no_person_gave_count_for_nothing(tmp_path):
    agent = await asking(tmp_path)
    for _ in range(4):
        said = ['(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "post" :ARGS (:TO "ana" :TEXT "x") :EXPLANATION "Do what the person asked for"))']
        register_backend(agent, "played", lambda prompt, system_prompt, *, model=None: said.pop(0) if said else "Done.", inline=True)
        (ask,) = (await agent.handle("write x to ana")).approvals
        agent.journal.deny(ask.id, by="too many wrong codes", session="main")
    assert proposals(agent) == []
    await agent.close()


async def test_the_shadow_decides_nothing_and_a_rule_is_not_wider_than_the_other_gates(tmp_path):
    agent = await asking(tmp_path)
    for _ in range(3): await answer(agent, to="ana@example.org", text="hello")
    (found,) = proposals(agent)
    try_rule(agent, found.name)
    await answer(agent, to="ana@example.org", text="hello")              # still asked
    assert would_have(agent, found.rule)["questions"] == 4 and list(shadows(agent)) == [found.name]
    adopt_rule(agent, found.name)
    taken = read_rules((tmp_path / "config" / "passepartout" / "rules.ini").read_text()).rules
    assert [r.name for r in taken] == [found.name]
    said = ['(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "post" :ARGS (:TO "ana@example.org" :TEXT "hello") :EXPLANATION "Do what the person asked for"))']
    register_backend(agent, "played", lambda prompt, system_prompt, *, model=None: said.pop(0) if said else "Done.", inline=True)
    with agent.permissions.as_if(taken[0]): reply = await agent.handle("look at the weather", session="fresh")
    assert len(reply.approvals) == 1 and "which you may not have written" in reply.approvals[0].reason         # the rule answers the permissions; whose words these are is still asked
    await agent.close()


@pytest.mark.parametrize("lies", ["pipe", "link"])
async def test_a_rule_that_cannot_be_written_is_still_tried_and_told_in_full(tmp_path, lies):
    agent = await asking(tmp_path)
    for _ in range(3): await answer(agent, to="ana@example.org", text="hello")
    (found,) = proposals(agent)
    try_rule(agent, found.name)
    (path := tmp_path / "config" / "passepartout" / "rules.ini").parent.mkdir(exist_ok=True)
    os.mkfifo(path) if lies == "pipe" else path.symlink_to(tmp_path / "elsewhere.ini")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if lies == "pipe" else None          # with a reader a pipe can be opened to be written to
    with pytest.raises(PassepartoutError, match="The rule was not written") as told: adopt_rule(agent, found.name)
    assert found.text.strip() in told.value.message and list(shadows(agent)) == [found.name] and not (tmp_path / "elsewhere.ini").exists()
    if reader is not None: os.close(reader)
    await agent.close()


async def test_what_was_not_tried_is_not_taken_over(tmp_path):
    agent = await asking(tmp_path)
    for _ in range(3): await answer(agent, to="ana@example.org", text="hello")
    with pytest.raises(Exception, match="was tried"): adopt_rule(agent, "allow")
    record_rule(agent, "allow", "dropped")
    assert not (tmp_path / "config" / "passepartout" / "rules.ini").exists()
    await agent.close()


async def test_a_rule_that_was_tried_leaves_nothing_behind(tmp_path):
    "What is wrong with a rule locks effects; what was wrong with one that was only tried did so as well, until the tools changed."
    agent = await asking(tmp_path)
    (broken,) = read_rules("[odd]\ntool = post\ncolour = red\ntier = allow\nmatches = post to=a\nnot = post to=b\n").rules
    assert agent.permissions.problems() == ()
    with agent.permissions.as_if(broken): assert agent.permissions.problems()
    assert agent.permissions.problems() == ()
    await agent.close()
