"""Whatever a note holds and whatever is asked: an edit touches its own lines, and nothing is read differently than was wanted."""
import re
import time
from datetime import date, datetime

import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from conftest import examples
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.outline.checkboxes import add_item, check
from passepartout.toolbelt.addressing import find_heading
from passepartout.toolbelt.edittools import edit_tools
from passepartout.outline.bodytext import edit_body
from passepartout.outline.filetags import change_file_tags
from passepartout.outline.insertions import insert_headline
from passepartout.outline.moves import archive, refile, refile_to
from passepartout.notes import parse_note
from passepartout.org import parse_org
from passepartout.outline.planning import advanced, schedule, unschedule
from passepartout.outline.priorities import set_priority
from passepartout.outline.rewrite import RewriteError, change_tags, delete_property, facts, retitle, set_property
from passepartout.outline.states import complete, set_state
from passepartout.outline.timestamps import stamps
from test_org import texts as arbitrary

NOW = datetime(2026, 11, 19, 10)
names = st.sampled_from(["a.org", "a.md"])
LINES = ["* word", "* TODO word", "** TODO [#A] x :a:b:", "** Half [50%] x", "*** DONE Move [1/3]", "* COMMENT word", "SCHEDULED: <2026-11-18 Wed 08:00 +1w>", "  DEADLINE: <2026-11-20 Fri -3d> SCHEDULED: <2026-11-17 Tue>",
         "CLOSED: [2026-11-18 Wed 09:00]", ":PROPERTIES:\n:ID: 1\n:END:", ":PROPERTIES:\n:Effort:  0:30\n:LOGGING: logdone DONE(!)\n:END:", ":LOGBOOK:\n- old\n:END:", "text", "  text <2026-11-20 Fri ++1m>  ", "", "", "- [ ] a [0/1]", "  - [X] word",
         "- [X] x", "#+STARTUP: logdone logdrawer", "#+TODO: TODO A | DONE", "#+begin_src\n* no", "# word", "## x #a", "- [ ] word 📅 2026-11-20 #b", "\t- [x] a", "- [/] x 🔁 every week ⏳ 2026-11-20", "```", "---\ndue: 2026-11-20\n---"]
drafts = st.tuples(st.lists(st.sampled_from(LINES), min_size=3, max_size=16), st.sampled_from(["\n", "\n", "\r\n"]), st.booleans()).map(lambda t: t[1].join("\n".join(t[0]).split("\n")) + t[1] * t[2])
texts = st.one_of(drafts, drafts, drafts, arbitrary)
titles = st.one_of(st.sampled_from(["Call Ana", "One / two", "x", "ä 漢字", "TODO", "a :b:", "COMMENT", "[#A] x", "due 2026-11-20", "#tag"]), st.text(max_size=20))
days = st.dates(date(1990, 1, 1), date(2100, 1, 1)) | st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda d: d.replace(second=0, microsecond=0))

LOCAL = st.one_of(
    st.tuples(st.just(retitle), titles), st.tuples(st.just(set_priority), st.sampled_from(["A", "c", "", "high"])), st.tuples(st.just(change_tags), st.lists(st.sampled_from(["a", "b2", "x_y", "bad tag", ":"]), max_size=2), st.lists(st.sampled_from(["a", "b"]), max_size=1)),
    st.tuples(st.just(set_property), st.sampled_from(["Effort", "ID", "due", "DEADLINE", "a b"]), titles), st.tuples(st.just(delete_property), st.sampled_from(["ID", "Effort"])),
    st.tuples(st.just(lambda o, n, when, kind: schedule(o, n, when, kind, now=NOW)), days, st.sampled_from(["scheduled", "deadline"])), st.tuples(st.just(unschedule), st.sampled_from(["scheduled", "deadline"])),
    st.tuples(st.just(edit_body), st.one_of(titles, texts), st.sampled_from(["replace", "append", "prepend"])),
    st.tuples(st.just(lambda o, n, state: set_state(o, n, state, now=NOW)), st.sampled_from(["TODO", "DONE", "A", None])), st.tuples(st.just(lambda o, n: complete(o, n, now=NOW))),
    st.tuples(st.just(check), st.sampled_from(["word", "x", "a"]), st.booleans()).map(lambda t: (lambda o, n, item, on: check(o, n, item, on, now=NOW), *t[1:])), st.tuples(st.just(add_item), titles))
ELSEWHERE = st.one_of(
    st.tuples(st.just(insert_headline), titles), st.tuples(st.just(lambda o, n, t: insert_headline(o, n, t, kind="task", body="b\n", deadline=date(2026, 11, 20), first=True)), titles),
    st.integers(0, 20).map(lambda i: (lambda o, n: refile(o, n, o.nodes[i % len(o.nodes)], now=NOW),)),
    st.just((lambda o, n: "\n".join(archive(o, n, None, now=NOW, where="~/a"))[:0] or archive(o, n, None, now=NOW, where="~/a")[0],)))


def attempt(edit, outline, node):
    "The new text, or None when the edit was refused with a sentence."
    try: return edit[0](outline, node, *edit[1:])
    except RewriteError as refusal:
        assert refusal.message[-1] in ".:" or refusal.message.endswith("are meant") or refusal.message, refusal.message
        assert len(refusal.message.split()) > 3
        return None


def own_span(outline, node):
    "The node's lines down to the next node (in Markdown: to the end of what is below it)."
    if outline.format == "markdown": return node.start, node.end
    return node.start, outline.nodes[node.index + 1].start if node.index + 1 < len(outline.nodes) else len(outline.text)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts, names, st.integers(0, 30), LOCAL)
def test_an_edit_touches_only_its_own_lines(text, file, which, edit):
    outline = parse_note(text, file)
    node = outline.nodes[which % len(outline.nodes)]
    after = attempt(edit, outline, node)
    if after is None: return
    start, stop = own_span(outline, node)
    above = {n.index for n in outline.lineage(node)}                                   # their counters may change
    if not any("[" in outline.nodes[i].title for i in above): assert after.startswith(outline.text[:start])
    if stop < len(text): assert after.endswith(outline.text[stop:])
    new = parse_note(after, file, default=outline.keywords)
    others = lambda o, gone: [{**facts(n), "parent": None, "title": re.sub(r"\[\d*(%|/\d*)\]", "", n.title)} for n in o.nodes if n.index not in gone]
    more = len(new.nodes) - len(outline.nodes)
    if file == "a.md" and edit[1:] and edit[1] in ("word", "x", "a") and len(edit) == 3: return       # an item below it
    assert more in (0, 1) and (file == "a.md" or not more)
    if not more: assert others(new, {node.index}) == others(outline, {node.index})


HEADS = ["", "---\ntags: [a, b]\n---\n", "---\ntags:\n- a\n- '#b'\ntitle: x\n---\n", "---\ntag: a\ntags: b, c\n---\n", "---\ntags: a b # c\n---\n", "---\ntags: [a,\n  b]\n---\n", "tags:: a, [[b c]]\n\n", "#+FILETAGS: :a:b:\n", "#+filetags: a\n#+FILETAGS: b\n", "#+TITLE: x\n\n",
         ":PROPERTIES:\n:ID: 1\n:END:\n#+filetags: a b\n", "+++\ntags = ['a']\n+++\n", "---\ntags: a @p\n---\n", "---\ntags: ['a', \"@p\", #b]\n---\n"]


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(HEADS), texts, names, st.lists(st.sampled_from(["a", "x", "b_c", "@p", "bad tag", "é"]), max_size=2), st.lists(st.sampled_from(["a", "b", "b_c", "x"]), max_size=2))
def test_the_tags_of_a_whole_file_are_those_that_were_asked_for_and_every_heading_stays(head, body, file, add, remove):
    text = head + body
    outline = parse_note(text, file)
    after = attempt((lambda o, n: change_file_tags(o, n, add, remove),), outline, outline.nodes[0])
    if after is None: return
    new = parse_note(after, file, default=outline.keywords)
    assert {*new.nodes[0].tags} == {*outline.nodes[0].tags, *add} - {*remove}
    assert [facts(n) for n in new.nodes[1:]] == [facts(n) for n in outline.nodes[1:]]
    lines = lambda text: text.split("\n")
    before, now = lines(text), lines(after)
    same = sum(1 for line in before if line in now)
    assert same >= len(before) - 1 - len(remove) and len(now) <= len(before) + max(3, len(add))           # one line was changed, or those of the tags that went


@pytest.mark.parametrize("head", ["", "---\ntags: [a]\n---\n", "---\ntags:\n- a\n---\n", "---\ntags: a @b\n---\n", "---\ntitle: x\n---\n"])
def test_a_tag_that_yaml_takes_for_a_sign_is_quoted(head):
    "A program that reads the head strictly, as Obsidian does, shows none of it otherwise."
    yaml = pytest.importorskip("yaml")
    outline = parse_note(head + "# A\n", "a.md")
    after = change_file_tags(outline, outline.nodes[0], ["@personal"], ["a"] * ("a" in outline.nodes[0].tags))
    assert "@personal" in yaml.safe_load(after.split("---")[1])["tags"]


@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts, names, st.integers(0, 30), ELSEWHERE)
def test_moving_and_inserting_lose_no_node_and_change_none(text, file, which, edit):
    outline = parse_note(text, file)
    node = outline.nodes[which % len(outline.nodes)]
    after = attempt(edit, outline, node)
    if after is None: return
    new = parse_note(after, file, default=outline.keywords)
    plain = lambda nodes: sorted(re.sub(r"\[\d*(%|/\d*)\]", "", repr((n.kind, n.title, n.keyword, n.priority, n.tags, dict(n.properties)))) for n in nodes)
    old, now = plain(outline.nodes), plain(new.nodes)
    gone = plain(outline.nodes[node.index:node.after])
    rest = list(old)
    for one in gone: rest.remove(one)
    assert now == old or len(now) == len(old) + 1 and not set(old) - set(now) or now == rest
    count = lambda t: sorted(line.strip() for line in t.replace("\r\n", "\n").split("\n") if line.strip())
    if len(now) >= len(old) and file == "a.org": assert len(count(after)) >= len(count(text))


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(drafts, names, st.integers(0, 30), st.integers(0, 30), LOCAL, LOCAL)
def test_edits_of_different_headings_commute(text, file, one, other, first, second):
    outline = parse_note(text, file)
    assume(len(outline.nodes) > 2)
    a, b = outline.nodes[1:][one % (len(outline.nodes) - 1)], outline.nodes[1:][other % (len(outline.nodes) - 1)]
    assume(a.index != b.index and not (a.index < b.index < a.after) and not (b.index < a.index < b.after))
    assume("[" not in "".join(n.title for x in (a, b) for n in outline.lineage(x)[1:-1]))
    def both(x, x_edit, y, y_edit):
        middle = attempt(x_edit, outline, x)
        if middle is None: return None
        there = parse_note(middle, file, default=outline.keywords)
        if len(there.nodes) != len(outline.nodes): return None
        return attempt(y_edit, there, there.nodes[y.index])
    there, back = both(a, first, b, second), both(b, second, a, first)
    # Whether a date is put behind a box that is ticked follows the boxes of the page that are ticked already, so there the order counts.
    undated = lambda text: text and re.sub(r" ✅ \d{4}-\d\d-\d\d", "", text)
    if there is not None and back is not None: assert undated(there) == undated(back)


@settings(max_examples=examples(200), deadline=None)
@example("* 0\u2028", "a.org", 1)
@given(texts, names, st.integers(0, 30))
def test_what_is_so_already_changes_nothing(text, file, which):
    outline = parse_note(text, file)
    node = outline.nodes[which % len(outline.nodes)]
    same = [(retitle, node.title), (change_tags, node.tags), (lambda o, n: set_state(o, n, n.keyword, now=NOW),)]
    same += [(set_property, name, value) for name, value in node.properties.items() if isinstance(value, str)][:2]
    for edit in same:
        after = attempt(edit, outline, node)
        assert after is None or after == text


@pytest.mark.parametrize("sign", [*"\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\xa0\u3000\ufeff"], ids=ascii)
@pytest.mark.parametrize("file", ["a.org", "a.md"])
def test_what_only_python_calls_white_space_stays(file, sign):
    "Around a title or a value, and whatever else in the heading is edited."
    mark = "*" if file == "a.org" else "#"
    for title in (f"x{sign}", f"{sign}x", f"x{sign}y", sign):
        outline = parse_note(text := f"{mark} TODO {title}\n:PROPERTIES:\n:A:        {title}\n:END:\n", file)
        node = outline.nodes[1]
        assert retitle(outline, node, node.title) == text
        if file == "a.md": continue
        assert node.title == node.properties["A"] == title
        assert set_property(outline, node, "A", title) == text
        assert set_property(outline, node, "B", "1") == text.replace(":END:", ":B:        1\n:END:")
        assert change_tags(outline, node, ["t"]) == text.replace(f" {title}\n", f" {title} :t:\n", 1)
        assert title in set_state(outline, node, None, now=NOW)


@settings(max_examples=examples(150), deadline=None)
@given(texts, names, texts, st.integers(0, 30))
def test_a_subtree_arrives_whole_in_another_file(text, file, other, which):
    here, there = parse_note(text, file), parse_note(other, "b" + file[1:])
    node = here.nodes[which % len(here.nodes)]
    both = attempt((refile_to, there, there.nodes[which % len(there.nodes)], ), here, node)
    if both is None: return
    titles = lambda o: sorted(n.title for n in o.nodes[1:])
    left, grown = parse_note(both[0], file), parse_note(both[1], there.file)
    assert titles(left) == sorted(n.title for n in here.nodes[1:node.index] + here.nodes[node.after:])
    assert titles(grown) == sorted(titles(there) + [n.title for n in here.nodes[node.index:node.after]])


@settings(max_examples=examples(300), deadline=None)
@given(st.dates(date(1990, 1, 1), date(2080, 1, 1)), st.sampled_from(["+", "++", ".+"]), st.integers(1, 400), st.sampled_from("dwmy"), st.sampled_from(["", " 08:00", " 09:00-10:00"]))
def test_a_repeated_date_moves_on(day, mark, count, unit, hours):
    old = f"<{day} {day:%a}{hours} {mark}{count}{unit}>"
    new = advanced(old, NOW)
    stamp, = stamps(parse_note(f"* a {new}\n", "a.org"))
    assert stamp.day > day or mark == ".+"
    if mark != "+": assert stamp.day >= NOW.date()
    assert new.endswith(f"{hours} {mark}{count}{unit}>") and new[12:15] == f"{stamp.day:%a}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings_stay(encoding, ending):
    text = "#+STARTUP: logdone logdrawer\n* TODO Döben [0/1]\n** TODO ring\nDEADLINE: <2026-11-20 Fri +1w>\n\n  text \t\n- [ ] a\n\n* b\n".replace("\n", ending)
    outline = parse_note(text, "a.org")
    for after in (complete(outline, outline.nodes[2], now=NOW), set_property(outline, outline.nodes[1], "A", "1"), add_item(outline, outline.nodes[2], "new"),
                  insert_headline(outline, outline.nodes[1], "new", kind="task", body="one\ntwo"), edit_body(outline, outline.nodes[2], "one\ntwo"), *archive(outline, outline.nodes[2], None, now=NOW, where="~/a.org")):
        assert after.count("\n") == after.count(ending) and after != text


# Through a whole agent ------------------------------------------------------------------------------------------------

NOTES = {"house.org": "#+STARTUP: logdone\n* Roof [0/1]\n** TODO Call the roofer :phone:\nDEADLINE: <2026-11-20 Fri 10:00>\nMornings.\n* Garden\n- [ ] rake\n* Pay :@personal:\n", "packing.md": "# Bags\r\n- [ ] socks\r\n"}
CALLS = [("org-add-headline", {"path": "house.org", "heading": "Garden", "title": "Buy bulbs", "kind": "task", "tags": ["spring"]}), ("org-set-todo", {"path": "house.org", "heading": "Call the roofer", "state": "done"}),
         ("org-set-property", {"path": "house.org", "heading": "Garden", "name": "Effort", "value": "1:00"}), ("org-set-tags", {"path": "house.org", "heading": "Garden", "add": ["outside"]}),
         ("org-schedule", {"path": "house.org", "heading": "3", "date": "2026-11-23"}), ("org-retitle", {"path": "house.org", "heading": "Garden", "title": "The garden"}),
         ("org-refile", {"path": "house.org", "heading": "Call the roofer", "target": "old.org"}), ("org-archive", {"path": "house.org", "heading": "Call the roofer", "archive": "house.org_archive"}),
         ("org-edit-body", {"path": "house.org", "heading": "Call the roofer", "text": "Before ten."}), ("org-check", {"path": "packing.md", "heading": "Bags", "item": "socks"}),
         ("org-rename-file", {"path": "house.org", "target": "home.org"})]


def proposal(tool, args):
    from passepartout.plist import Keyword, write_plist
    return write_plist({"target": "tool", "payload": {"action": Keyword("call"), "tool": tool, "args": args, "explanation": "Ana asked for this on the phone this morning"}})


ASK = {name: "ask" for name, _ in CALLS}           # edits need not ask; here every one of them is to


async def booted(tmp_path, permissions=ASK):
    memex = tmp_path / "memex"
    memex.mkdir()
    for name, text in NOTES.items(): (memex / name).write_bytes(text.encode())
    return memex, await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", today="2026-11-19", permissions=permissions)


def contents(memex): return {p.name: p.read_bytes() for p in memex.iterdir()}


@pytest.mark.parametrize("tool, args", CALLS, ids=[tool for tool, _ in CALLS])
async def test_an_edit_asks_is_made_and_can_be_undone(tool, args, tmp_path):
    memex, agent = await booted(tmp_path)
    before, said = contents(memex), [proposal(tool, args)]
    register_backend(agent, "model", lambda prompt, system: said.pop() if said else "Done.", inline=True)
    agent.provider_cascade = ("model",)
    reply = await agent.handle("please")
    assert reply.status == "requires-approval" and contents(memex) == before
    reply = await agent.approve(reply.approvals[0].id, reply.approvals[0].code)
    after = contents(memex)
    assert after != before and len(reply.effects) == (2 if tool in ("org-refile", "org-archive", "org-rename-file") else 1), reply
    undone = await agent.undo(len(reply.effects))
    assert contents(memex) == before, undone
    await agent.close()


async def test_a_refusal_reaches_the_model_and_nothing_changes(tmp_path):
    memex, agent = await booted(tmp_path, permissions={"default": "allow"})
    before, prompts, said = contents(memex), [], [proposal("org-retitle", {"path": "house.org", "heading": "Rooof", "title": "x"})]
    register_backend(agent, "model", lambda prompt, system: (prompts.append(prompt), said.pop() if said else "It is not there.")[1], inline=True)
    agent.provider_cascade = ("model",)
    await agent.handle("please")
    assert contents(memex) == before and "There is no heading 'Rooof'" in prompts[-1] and "line 2: Roof" in prompts[-1]
    await agent.close()


@pytest.mark.parametrize("tool, args, said, after", [
    ("org-read", {"heading": "Ana Carvalho"}, "lines 1-3 of 3", None), ("org-read", {"heading": "line 1"}, "lines 1-3 of 3", None), ("org-read", {"heading": "ana.org"}, "lines 1-3 of 3", None),
    ("org-add-headline", {"heading": "Ana Carvalho", "title": "Gift"}, "Added", "#+TITLE: Ana Carvalho\nLisboa\n* Talk\n* Gift\n"),
    ("org-check", {"heading": "Ana Carvalho", "item": "cake", "add": True}, "Added the item", "#+TITLE: Ana Carvalho\nLisboa\n- [ ] cake\n* Talk\n"),
    ("org-retitle", {"heading": "Ana Carvalho", "title": "Ana"}, "That is the file itself", None), ("org-set-todo", {"heading": "Ana", "state": "DONE"}, "That is the file itself", None)])
async def test_the_title_of_a_file_names_the_file_where_no_heading_has_it(tmp_path, tool, args, said, after):
    "A search shows the title beside titles of headings, and whoever asked for it heard that there was no such heading."
    memex, agent = await booted(tmp_path, permissions={"default": "allow"})
    (memex / "ana.org").write_text(text := "#+TITLE: Ana Carvalho\nLisboa\n* Talk\n")
    prompts, answers = [], [proposal(tool, {"path": "ana.org", **args})]
    register_backend(agent, "model", lambda prompt, system: (prompts.append(prompt), answers.pop() if answers else "So it is.")[1], inline=True)
    agent.provider_cascade = ("model",)
    await agent.handle("please")
    assert said in prompts[-1] and (memex / "ana.org").read_text() == (after or text), prompts[-1]
    await agent.close()


@pytest.mark.parametrize("file, after, said", [("Boat.md", None, "but Projects/Boat.md"), ("boat.md", None, "but Projects/Boat.md"), ("./Boat.md", "Boat.md", "(a new file)"), ("Projects/Boat.md", "Projects/Boat.md", "Added"), ("Ship.md", "Ship.md", "(a new file)")])
async def test_a_model_begins_no_file_beside_one_of_its_name(tmp_path, file, after, said):
    memex, agent = await booted(tmp_path, permissions={"default": "allow"})
    (memex / "Projects").mkdir()
    (memex / "Projects" / "Boat.md").write_text("# Boat\n")
    prompts, answers = [], [proposal("org-capture", {"title": "varnish", "kind": "task", "file": file})]
    register_backend(agent, "model", lambda prompt, system: (prompts.append(prompt), answers.pop() if answers else "So it is.")[1], inline=True)
    agent.provider_cascade = ("model",)
    await agent.handle("please")
    assert said in prompts[-1] and [str(each.relative_to(memex)) for each in memex.rglob("*.md") if "varnish" in each.read_text()] == [after] * bool(after), prompts[-1]
    await agent.close()


async def test_a_note_changed_meanwhile_is_left_alone(tmp_path):
    memex, agent = await booted(tmp_path)
    said = [proposal(*CALLS[1])]
    register_backend(agent, "model", lambda prompt, system: said.pop() if said else "Done.", inline=True)
    agent.provider_cascade = ("model",)
    reply = await agent.handle("please")
    (memex / "house.org").write_text(NOTES["house.org"].replace("Mornings", "Evenings"))
    again = await agent.approve(reply.approvals[0].id, reply.approvals[0].code)          # judged again: it would not be the change that was shown, so it asks anew
    assert again.status == "requires-approval" and "DONE" not in (memex / "house.org").read_text()
    await agent.approve(again.approvals[0].id, again.approvals[0].code)
    text = (memex / "house.org").read_text()
    assert "Evenings" in text and "** DONE Call the roofer :phone:\nCLOSED: [2026-11-19 " in text and "* Roof [1/1]" in text
    await agent.close()


def test_an_undo_of_a_state_is_not_needed_when_nothing_was_changed():
    outline = parse_note(NOTES["house.org"], "house.org")
    assert {t.name for t in edit_tools() if t.edits} == {tool for tool, _ in CALLS}
    assert find_heading(outline, "Roof › Call the roofer").index == 2


def test_a_heading_in_markdown_that_cannot_have_a_date_says_why():
    outline = parse_note("# Roof\n\ntext\n", "a.md")
    for when in (date(2026, 12, 1), datetime(2026, 12, 1, 9, 30)):
        with pytest.raises(RewriteError, match="“Roof” is a heading; in Markdown only list items with a box have dates"): schedule(outline, outline.nodes[1], when, now=datetime(2026, 11, 27))


def test_a_tag_that_a_property_names_is_said_to_stand_there_and_the_tags_of_the_line_are_edited_without_it():
    outline = parse_note("* Roof :a:\n:PROPERTIES:\n:TAGS: house\n:END:\n* Door\n:PROPERTIES:\n:TAGS: house\n:END:\n", "a.org")
    with pytest.raises(RewriteError, match="among the properties of “Roof”, line 1"): change_tags(outline, outline.nodes[1], remove=["house"])
    assert change_tags(outline, outline.nodes[2], add=["b"]).splitlines()[4] == "* Door :b:"
    assert retitle(outline, outline.nodes[2], "Gate").splitlines()[4] == "* Gate"


@pytest.mark.parametrize("wanted, line", [("** TODO Call the roofer", 2), ("TODO Call the roofer", 2), ("** TODO [#A] Pay :money:", 4), ("TODO [#A] Pay", 4), ("TODO [#A]  Pay  :money:", 4), ("* Roof", 1), ("DONE Call the roofer", 3), ("TODO Call", None), ("* ", None), ("TODO Twice", None)])
def test_a_heading_is_found_by_the_line_in_which_it_stands(wanted, line):
    outline = parse_org("* Roof\n** TODO Call the roofer\n** DONE Call the roofer\n** TODO [#A] Pay :money:\n** TODO Twice\n** TODO Twice\n")
    if line is not None: assert find_heading(outline, wanted).line == line
    else: pytest.raises(RewriteError, find_heading, outline, wanted)
    markdown = parse_note("# Roof\n\n- [ ] Call Ana\n- [x] Call Ana\n", "a.md")
    assert [find_heading(markdown, wanted).line for wanted in ("# Roof", "- [x] Call Ana")] == [1, 4]


@pytest.mark.slow
def test_a_line_is_looked_for_in_moments():
    outline = parse_org("".join(f"* TODO {n} {' :a' * 60}{'x ' * 2000}\n" for n in range(2_000)))
    began = time.process_time()
    for wanted in ("* " * 100_000, "TODO 7 " + ": " * 100_000, "*" * 200_000): pytest.raises(RewriteError, find_heading, outline, wanted)
    assert time.process_time() - began < 8


@pytest.mark.parametrize("line, file, after", [("* TODO [[https://y.example/z][Watch]] :fun:\n", "a.org", "* TODO [[https://y.example/z][See]] :fun:\n"), ("## [Book](https://b.example \"the whole\")\n", "a.md", "## [See](https://b.example \"the whole\")\n"),
    ("- [ ] [Read](https://x.example) 📅 2026-12-01\n", "a.md", "- [ ] [See](https://x.example) 📅 2026-12-01\n"), ("* [[Page]]\n", "a.org", "* See\n"), ("* [[id:7][One]] and [[id:8][two]]\n", "a.org", "* See\n"), ("* f(x)[1](y)\n", "a.org", "* See\n")])
def test_another_title_leaves_the_address_behind_it(line, file, after):
    outline = parse_note(line, file)
    node = outline.nodes[-1]
    assert retitle(outline, node, "See") == after
    for own in ("[New](https://n.example)", "x ] y", "a|b"): assert own in retitle(outline, node, own) and "y.example" not in retitle(outline, node, own)
