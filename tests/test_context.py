"What models are shown: nothing private for one elsewhere, whatever the tag looks like; the focus of a session; the budget; the cost"

from datetime import date

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.awareness.budget import ViewLine, cut, fit, utf8_bound
from passepartout.context import Outlook, assemble_global_awareness, awareness, today_line
from passepartout.loop import loop_process
from passepartout.messages import Label, Signal
from passepartout.org import parse_org
from passepartout.modelprompt import system_prompt
from passepartout.skills import Skill
from passepartout.tools import Effects, Tool, ToolResult

SECRETS = ("Zoster", "Quillfish", "Vexing", "Marzipan")          # title, body, below, file name
PUBLIC = "* Roof\n:PROPERTIES:\n:ID: roof\n:END:\nSlate lasts.\n[[id:n17]]\n** Offers\n"

ORG = "* Health{tag}\n** Zoster\n:PROPERTIES:\n:ID: n17\n:END:\nQuillfish, see [[id:roof]].\n*** Vexing\n"
HOSTILE = {
    **{f"heading {tag}": {"notes.org": PUBLIC + ORG.format(tag=f" :{tag}:")} for tag in ("@personal", "@PERSONAL", "Personal", "@Private", "ＰＥＲＳＯＮＡＬ", "work:@pErsonal")},
    "filetags": {"notes.org": PUBLIC, "Marzipan.org": "#+FILETAGS: :@Personal:\n" + ORG.format(tag="")},
    "filetags without colons": {"notes.org": PUBLIC, "Marzipan.org": "#+filetags: work @personal\n" + ORG.format(tag="")},
    "two filetags": {"notes.org": PUBLIC, "Marzipan.org": "#+FILETAGS: :work:\n#+FILETAGS: :PRIVATE:\n" + ORG.format(tag="")},
    "front matter list": {"notes.org": PUBLIC, "Marzipan.md": "---\ntags:\n  - '@Personal'\n---\n# Zoster\nQuillfish\n## Vexing\n"},
    "front matter words": {"notes.org": PUBLIC, "Marzipan.md": "---\ntags: work, Personal\n---\n# Zoster\nQuillfish\n## Vexing\n"},
    "front matter nested": {"notes.org": PUBLIC, "Marzipan.md": "---\nTags: [personal/health]\n---\n# Zoster\nQuillfish\n## Vexing\n"},
    "hashtag": {"notes.org": PUBLIC, "page.md": "# Zoster #personal\nQuillfish\n## Vexing\n"},
    "hashtag in the body": {"notes.org": PUBLIC, "page.md": "# Zoster\nQuillfish #Personal/health\n## Vexing\n"},
}


class Recorder:
    "A provider that keeps what it was given and answers from a list."
    def __init__(self, *answers): self.answers, self.seen = list(answers), []
    def __call__(self, prompt, system_prompt):
        self.seen.append(prompt + "\n" + system_prompt)
        return self.answers.pop(0) if self.answers else "Done."
    @property
    def all(self): return "\n".join(self.seen)


async def agent_in(tmp_path, notes, *, cascade=("model",), **more):
    memex = tmp_path / "memex"
    memex.mkdir(exist_ok=True)
    for name, text in notes.items(): (memex / name).write_text(text)
    return await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", provider_cascade=cascade, today="2026-11-19", **more)


def call(tool, **args): return "(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL \"%s\" :ARGS (%s) :EXPLANATION \"The person asked for it\"))" % (tool, " ".join(f':{k.upper()} "{v}"' for k, v in args.items()))

def leaked(text): return [word for word in SECRETS if word.casefold() in text.casefold()]


@pytest.mark.parametrize("spelling, indexed", thinned([(spelling, indexed) for n, spelling in enumerate(HOSTILE) for indexed in ((True, False), (False, True))[n % 2]], 2))
async def test_nothing_private_is_shown_elsewhere(tmp_path, spelling, indexed):
    agent = await agent_in(tmp_path, HOSTILE[spelling])
    if not indexed: agent.upkeep.close(); agent.upkeep = None
    elsewhere, here = Recorder(), Recorder()
    register_backend(agent, "model", elsewhere)
    register_backend(agent, "here", here, local=True)
    places = [f"{name}:{line}" for name in HOSTILE[spelling] for line in range(1, 14, 2)] + [*HOSTILE[spelling], "n17", "roof"]
    for n, place in enumerate(places): await agent.handle("hello", session=f"s{n}", focus=place)
    assert "Slate lasts" in elsewhere.all and leaked(elsewhere.all) == []
    agent.provider_cascade = ("here",)
    await agent.handle("hello", session="own", focus="roof")
    assert {"Zoster", "Vexing"} & set(leaked(here.all))          # it was there to be leaked
    await agent.close()


async def test_a_private_result_goes_to_nobody_elsewhere_and_still_to_the_person(tmp_path):
    agent = await agent_in(tmp_path, HOSTILE["filetags"])
    elsewhere = Recorder(call("read-file", path="Marzipan.org"))
    register_backend(agent, "model", elsewhere)
    reply = await agent.handle("read it")
    assert "Quillfish" in reply and "is not on this machine" in reply and len(elsewhere.seen) == 2
    await agent.handle("and what did it say?")
    assert len(elsewhere.seen) == 3 and leaked(elsewhere.all.replace("Marzipan.org", "")) == []
    await agent.close()
    agent = await agent_in(tmp_path, {})                                # resumed
    register_backend(agent, "model", elsewhere)
    await agent.handle("and now?")
    assert len(elsewhere.seen) == 4 and leaked(elsewhere.seen[3].replace("Marzipan.org", "")) == []
    await agent.close()


async def test_what_a_local_model_wrote_after_reading_private_notes_stays_here(tmp_path):
    agent = await agent_in(tmp_path, HOSTILE["filetags"], cascade=("here", "model"))
    elsewhere, here = Recorder(), Recorder(call("org-find", query="Zoster Quillfish"), {"status": "error", "message": "out of memory near Zoster"})
    register_backend(agent, "model", elsewhere)
    register_backend(agent, "here", here, local=True)
    reply = await agent.handle("look")                                  # proposes with private words, then breaks: nobody else takes over
    assert (len(here.seen), elsewhere.seen) == (2, []) and "Zoster" in reply
    agent.provider_cascade = ("model",)
    for _ in range(2): await agent.handle("what was that?")
    assert len(elsewhere.seen) == 2 and leaked(elsewhere.all) == []
    await agent.close()


async def test_a_rejected_proposal_of_a_local_model_is_not_told_to_another(tmp_path):
    agent = await agent_in(tmp_path, HOSTILE["filetags"], cascade=("here", "model"))
    elsewhere, here = Recorder(), Recorder(call("read-file", path="Zoster.org"), {"status": "error", "message": "down"}, {"status": "error", "message": "down"})
    register_backend(agent, "model", elsewhere)
    register_backend(agent, "here", here, local=True)
    await agent.handle("look")
    assert elsewhere.seen == []
    agent.provider_cascade = ("model",)
    await agent.handle("hello")
    assert leaked(elsewhere.all) == []
    await agent.close()


async def test_a_local_provider_that_is_down_costs_nothing(tmp_path):
    agent = await agent_in(tmp_path, HOSTILE["filetags"], cascade=("here", "model"))
    elsewhere, here = Recorder("I am well."), Recorder({"status": "error", "message": "no connection, while sending: Zoster"})
    register_backend(agent, "model", elsewhere)
    register_backend(agent, "here", here, local=True)
    assert "I am well." in await agent.handle("how are you?")
    agent.provider_cascade = ("model",)
    await agent.handle("hello")
    assert leaked(elsewhere.all) == [] and "I am well." in elsewhere.seen[1]
    await agent.close()


async def test_votes_keep_private_text_here_as_well(tmp_path):
    agent = await agent_in(tmp_path, HOSTILE["filetags"], cascade=("here", "model"))
    elsewhere, here = Recorder(), Recorder(call("read-file", path="Marzipan.org"))
    register_backend(agent, "model", elsewhere)
    register_backend(agent, "here", here, local=True)
    agent.consensus_enabled = True
    await agent.handle("look")
    await agent.handle("again")
    assert leaked(elsewhere.all) == []
    await agent.close()


@pytest.mark.parametrize("claim", [{}, {"local": "yes"}, {"local": 1}, {"local": None}, {"inline": True}])
async def test_who_did_not_say_that_it_is_local_is_not(tmp_path, claim):
    agent = await agent_in(tmp_path, HOSTILE["filetags"])
    elsewhere = Recorder()
    register_backend(agent, "model", elsewhere, **claim)
    await agent.handle("hello", focus="n17")
    assert leaked(elsewhere.all) == []
    await agent.close()


async def test_a_tool_that_labels_its_result_private(tmp_path):
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC}, permissions={"peek": "allow"})
    agent.tools.register(Tool("peek", "looks", [], lambda: ToolResult("Zoster", label=Label("tool", private=True)), effects=Effects(read_only=True)))
    elsewhere = Recorder(call("peek"))
    register_backend(agent, "model", elsewhere)
    assert "Zoster" in await agent.handle("peek")
    await agent.handle("so?")
    assert len(elsewhere.seen) == 2 and leaked(elsewhere.all) == []
    await agent.close()


async def test_objects_of_memory_in_focus(tmp_path):
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC})
    elsewhere = Recorder()
    register_backend(agent, "model", elsewhere)
    agent.memory.ingest({"type": "HEADLINE", "properties": {"ID": "open", "TITLE": "Plan"}, "contents": [{"type": "HEADLINE", "properties": {"ID": "below", "TITLE": "Step one"}, "contents": []}]})
    agent.memory.ingest({"type": "HEADLINE", "properties": {"ID": "shut", "TITLE": "Zoster"}, "contents": []}, label=Label("notes", private=True))
    for focus in ("open", "shut"): await agent.handle("hello", focus=focus)
    assert "Step one" in elsewhere.all and leaked(elsewhere.all) == []
    await agent.close()


# Focus ----------------------------------------------------------------------------------------------------------------------

async def test_the_focus_belongs_to_the_session_and_comes_back_with_it(tmp_path):
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC})
    model = Recorder()
    register_backend(agent, "model", model)
    await agent.handle("hello", focus="roof")
    await agent.handle("hello")
    await agent.handle("hello", session="other")
    await agent.close()
    agent = await agent_in(tmp_path, {})
    register_backend(agent, "model", model)
    await agent.handle("hello")
    await agent.handle("hello", focus="")
    await agent.handle("hello")
    assert ["IN FOCUS: Roof" in seen for seen in model.seen] == [True, True, False, True, False, False]
    assert [r["body"]["id"] for r in agent.journal.records(kinds=["focus"])] == ["roof", ""]
    await agent.close()


async def test_a_client_looks_and_does_not_decide_where_others_look(tmp_path):
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC + ORG.format(tag=" :@personal:")})
    model = Recorder()
    register_backend(agent, "model", model)
    said = {"payload": {"sensor": "user-input", "text": "hi"}, "meta": {"source": "web", "session": "main"}}
    for focus in ("roof", "n17", "x" * 100_000, "../../etc/passwd", "notes.org:99999999", "notes.org:0"): await loop_process(agent, {**said, "foveal_focus": focus})
    await agent.handle("hello")
    assert ["IN FOCUS" in seen for seen in model.seen] == [True, False, False, False, False, True, False]
    assert leaked(model.all) == [] and agent.journal.records(kinds=["focus"]) == []
    await agent.close()


# Budget ---------------------------------------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).map(lambda t: " ".join(t.split()) or "x")

@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), words, st.lists(words, max_size=3)), min_size=1, max_size=15), st.integers(0, 3000), st.booleans())
def test_no_budget_is_exceeded_and_the_heading_is_not_lost(page, most, local):
    text = "* Focus\n:PROPERTIES:\n:ID: here\n:END:\n" + "".join(f"{'*' * level} {title}\n" + "".join(f"- {line}\n" for line in body) for level, title, body in page)
    sights = Outlook(("@personal",), most)
    sights.update([parse_org(text, "a.org")])
    far = sights.periphery(local, most)
    near = sights.fovea("here", local, most)
    assert utf8_bound(far.text) <= most and utf8_bound(near.text) <= most
    assert near.text.startswith("IN FOCUS: Focus"[:most - 3].rstrip()) if most > 3 else not near.text          # a beginning ends with a word or a letter of it, not with a blank
    again = Outlook(("@personal",), most)
    again.update([parse_org(text, "a.org")])
    assert (again.fovea("here", local, most), again.periphery(local, most)) == (near, far)


async def test_the_beginning_of_the_prompt_stays_while_people_talk(tmp_path, monkeypatch):
    monkeypatch.setattr("passepartout.context.PATIENCE", 30)          # a busy machine takes longer to read the notes at first
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC, "many.org": "".join(f"* Heading {n}\n" for n in range(900))}, context_budget=3000)
    model = Recorder(*[f"Answer {n}. " + "and so on " * 90 for n in range(9)])
    register_backend(agent, "model", model)
    for n in range(9): await agent.handle(f"Question {n}", focus="roof")
    starts = {seen.split("CONTEXT:\n")[1].split("EARLIER IN")[0].split("TODAY:")[0] for seen in model.seen}
    assert len(starts) == 1 and "IN FOCUS: Roof" in starts.pop()
    worlds = [seen.split("CONTEXT:\n")[1].split("\n\nLOGS:\n")[0] for seen in model.seen]
    assert max(map(utf8_bound, worlds)) <= 3000 - 3000 // 8 and "Question 8" not in worlds[-1] and "Question 7" in worlds[-1]
    await agent.close()


async def test_two_agents_with_the_same_notes_say_the_same(tmp_path):
    texts = []
    for name in ("a", "b"):
        place = tmp_path / name
        place.mkdir()
        agent = await agent_in(place, {"notes.org": PUBLIC, "house.md": "# House\n- [ ] Paint\n"})
        for note in (place / "memex").iterdir(): __import__("os").utime(note, (1, 1))
        texts.append(assemble_global_awareness(agent, Signal(foveal_focus="roof")))
        await agent.close()
    assert texts[0] == texts[1] and "Paint" in texts[0]


async def test_an_edit_is_seen(tmp_path):
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC})
    before = awareness(agent, Signal(foveal_focus="roof"))
    (tmp_path / "memex/notes.org").write_text(PUBLIC.replace("Slate lasts", "Tiles it is"))
    agent.seen_at = agent.upkeep.looked = float("-inf")
    assert "Tiles it is" in awareness(agent, Signal(foveal_focus="roof")).text and "Slate" in before.text
    await agent.close()


async def test_notes_that_cannot_be_read_are_a_sentence(tmp_path):
    agent = await agent_in(tmp_path, {"notes.org": PUBLIC})
    agent.upkeep.close(); agent.upkeep = None
    for note in (tmp_path / "memex").iterdir(): note.unlink()
    (tmp_path / "memex").rmdir()
    assert "TODAY" in assemble_global_awareness(agent, Signal())
    await agent.close()


async def test_a_prompt_that_is_kept_is_shown_to_nobody_else_and_is_anew_with_whatever_changes(tmp_path):
    agent = await agent_in(tmp_path, HOSTILE["filetags"])
    register_backend(agent, "model", Recorder("Slate, I think."))
    signal = lambda session="main", **more: Signal.of({"payload": {"sensor": "user-input", "text": "x"}, "meta": {"session": session}, **more})
    prompts = lambda: [system_prompt(agent, signal(), local) for local in (True, False, True, False, False)]
    def anew(word, local=(True, False)):
        now, after = prompts(), system_prompt(agent, signal())
        assert [word in each.text for each in now] == [each in local for each in (True, False, True, False, False)] and after is now[-1] and now[3] == now[1]
        assert [bool(leaked(each.text)) for each in now] == [each.private for each in now] == [True, False, True, False, False]
    anew("Roof")
    agent.log("the kettle whistles"); anew("kettle whistles")
    agent.log("the diary lies open", private=True); anew("diary lies open", local=(True,))
    await agent.handle("what lasts?"); anew("YOU: Slate, I think.")
    agent.tools.register(Tool("count-tiles", "Count them.", [], lambda: "7")); anew("count-tiles")
    agent.skills.register(Skill("brief", system_prompt_augment=lambda s: "Be brief.")); anew("Be brief.")
    agent.foci.move("main", "n17"); anew("Quillfish", local=(True,))
    agent.foci.move("main", "roof"); anew("Slate lasts.")
    assert "YOU: Slate" not in system_prompt(agent, signal("other")).text and "Slate lasts." not in system_prompt(agent, signal("other"), True).text
    (tmp_path / "memex" / "notes.org").write_text(PUBLIC + "* Chimney\n")
    agent.seen_at = agent.upkeep.looked = float("-inf"); anew("Chimney")
    await agent.close()


# The budget, whatever the texts are -------------------------------------------------------------------------------------

@settings(max_examples=examples(200))
@given(st.text(), st.integers(0, 60))
def test_what_is_cut_is_short_enough_and_a_beginning(text, most):
    short = cut(text, most)
    assert utf8_bound(short) <= most and text.startswith(short.removesuffix("…"))


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 20), st.text(st.characters(exclude_characters="\n…"), max_size=60)), max_size=20), st.integers(0, 400))
def test_what_is_shown_fits_and_is_the_beginning_of_what_matters(page, most):
    lines = [ViewLine((place, n), f"{n}:{text}") for n, (place, text) in enumerate(page)]
    sight = fit(iter(lines), most)
    assert utf8_bound(sight.text) == sight.tokens <= most and sight == fit(lines, most)
    shown = sorted(int(line.split(":")[0]) for line in sight.text.split("\n") if ":" in line)
    assert shown == list(range(len(shown))) and (shown or not lines or most < 6)


@pytest.mark.parametrize("today, said", [(date(2026, 11, 19), "TODAY: Thursday 2026-11-19 (then Fri 20, Sat 21, Sun 22, Mon 23, Tue 24, Wed 25)"), (date(2026, 12, 29), "TODAY: Tuesday 2026-12-29 (then Wed 30, Thu 31, Fri 1, Sat 2, Sun 3, Mon 4)"),
    (date(9999, 12, 30), "TODAY: Thursday 9999-12-30 (then Fri 31)")])
def test_the_days_that_follow_are_told_with_the_day(today, said):
    assert today_line(today) == said
