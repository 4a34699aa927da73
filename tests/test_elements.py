"""Laws of what stands inside a section: spans lie in their node, say what they are, and cost time in proportion."""
import itertools
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.elements import blocks, footnotes, hidden_subtrees, inline_tags, section_end
from passepartout.lists import checkboxes, cookies, list_items, progress, tables
from passepartout.markdown import parse_markdown
from passepartout.org import parse_org

PIECES = ["* ", "** ", "# ", "## ", "- ", "  - ", "\t+ ", "1. ", " 2) ", "[ ] ", "[X] ", "[x] ", "[-] ", "[/]", "[1/2]", "[50%]", " :: ", "| a | b |", "|-+-|", "|", "\\|", "---|---", "\n", "\r\n", "\n\n", "\n\n\n", " ", "    ",
          "#+begin_src sh :x y\n", "#+end_src\n", "#+begin_quote\n", "#+end_quote\n", "#+begin_example\n", "#+end_example\n", "#+begin: toc x\n", "#+end:\n", ":LOGBOOK:\n", ":END:\n", ": fixed", "> ", "> [!note] ", "```sh\n", "```\n",
          "[fn:1]", "[fn:1] ", "[fn::in [x] line]", "[fn:a:b]", "[^1]", "[^1]: ", "^[in]", "[", "]", "#tag", " :a:b:", ":ARCHIVE:", "COMMENT ", "TODO ", ":PROPERTIES:\n:ID: 1\n:END:\n", "SCHEDULED: <2026-11-20 Fri>\n", "word", "é漢", "\x00", "\u2028"]
texts = st.one_of(st.text(max_size=150), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40).map("".join))
parsers = st.sampled_from([parse_org, parse_markdown])
LOOKS = (list_items, tables, blocks, footnotes, inline_tags, cookies)


@settings(max_examples=examples(250), deadline=None)
@given(texts, parsers)
def test_spans_lie_in_their_node_and_lines_count(text, parse):
    outline = parse(text, "a.org")
    for node in outline.nodes:
        own = list(outline.pieces(node))
        for look in LOOKS:
            found = list(look(outline, node))
            assert [f.start for f in found] == sorted(f.start for f in found)
            for f in found:
                assert f.line == text.count("\n", 0, f.start) + 1
                if look is list_items: assert node.body_start <= f.start < f.end <= section_end(outline, node)
                else: assert any(a <= f.start < f.end <= b for a, b in own) or look is blocks and f.kind == "drawer"
        assert 0 <= progress(outline, node)[0] <= progress(outline, node)[1]


@settings(max_examples=examples(250), deadline=None)
@given(texts, parsers)
def test_spans_reproduce_the_text(text, parse):
    outline = parse(text, "a.org")
    for node in outline.nodes:
        items = list_items(outline, node)
        for i, item in enumerate(items):
            line = text[item.start:item.end].split("\n")[0]
            assert line.lstrip().startswith(item.bullet) and item.text in line
            if item.box: assert text[item.box[0]] == "[" and text[item.box[1] - 1] == "]" and item.box[1] - item.box[0] == 3 and item.state
            if item.parent >= 0:
                above = items[item.parent]
                assert item.parent < i and above.depth == item.depth - 1 and above.start < item.start and item.end <= above.end
            else: assert item.depth == 0
        for table in tables(outline, node):
            for row in table.rows:
                for a, b in row: assert table.start <= a <= b <= table.end and text[a:b] == text[a:b].strip() and "\n" not in text[a:b]
            assert 0 <= table.head <= len(table.rows)
        found = blocks(outline, node)
        for block in found:
            assert block.start <= block.inner[0] <= block.inner[1] <= block.end and block.name.lower() in text.lower() and block.arguments in text
        ends = []
        for block in found:                       # blocks nest or stand side by side
            while ends and ends[-1] <= block.start: ends.pop()
            if block.kind not in ("fixed", "quote"): assert not ends or block.end <= ends[-1]
            if block.kind not in ("fixed", "quote"): ends.append(block.end)
        for note in footnotes(outline, node):
            assert note.label in text[note.start:note.end] and note.start <= note.inner[0] <= note.inner[1] <= note.end
        for tag in inline_tags(outline, node): assert text[tag.start:tag.end].lstrip("#") == tag.name and tag.name in node.tags
        for c in cookies(outline, node): assert text[c.start] == "[" and text[c.end - 1] == "]"


@settings(max_examples=examples(200), deadline=None)
@given(texts, parsers)
def test_what_is_hidden_is_found_once(text, parse):
    outline = parse(text, "a.org")
    below = [i for node in hidden_subtrees(outline) for i in range(node.index, node.after)]
    assert below == [n.index for n in outline.nodes if n.hidden]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([None, " ", "X"]), st.text("abc", min_size=1, max_size=5)), max_size=12))
def test_a_list_is_read_as_it_was_written(items):
    text = "".join(f"{'  ' * depth}- {f'[{box}] ' if box else ''}{word}\n" for depth, box, word in items)
    outlines = [parse_org(text)] + ([parse_markdown(text)] if all(box is None for _, box, _ in items) else [])
    for outline in outlines:
        found = list_items(outline, outline.nodes[0])
        assert [(i.text, i.state) for i in found] == [(word, {None: None, " ": "TODO", "X": "DONE"}[box]) for _, box, word in items]
        assert len(checkboxes(outline, outline.nodes[0])) == sum(box is not None for _, box, _ in items)
        for i, item in enumerate(found):
            before = [j for j in range(i) if items[j][0] < items[i][0] and all(items[k][0] > items[j][0] for k in range(j + 1, i))]
            assert item.parent == (before[-1] if before else -1)


@given(st.lists(st.lists(st.text("abc ü", max_size=4), min_size=2, max_size=4), min_size=1, max_size=5))
def test_a_table_is_read_as_it_was_written(rows):
    rows = [[cell.strip() for cell in row] for row in rows]
    org = parse_org("".join("| " + " | ".join(row) + " |\n" for row in rows))
    assert tables(org, org.nodes[0])[0].cells(org.text) == rows
    rows = [(row + [""] * 4)[:2] for row in rows]
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    page = parse_markdown("".join([lines[0], "|---|---|\n", *lines[1:]]))
    table, = tables(page, page.nodes[0])
    assert table.cells(page.text) == rows and table.head == 1


HOSTILE = {
    "items": "- a\n" * 10_000, "deep": "".join(" " * i + "- a\n" for i in range(700)), "boxes": "- [ ] " * 30_000, "open": "#+begin_quote\n" * 8_000, "many": "".join(f"#+begin_q{i}\n" for i in range(10_000)),
    "drawers": ":a:\n" * 10_000, "ends": "#+end_quote\n" * 10_000, "bars": "|" * 200_000, "rows": "| a\n" * 10_000, "dashes": "a|b\n" + "-" * 200_000 + "|", "rules": "a|b\n-|-\n" * 10_000, "rule": "- " * 200_000,
    "notes": "[fn::" * 80_000, "brackets": "[" * 200_000, "closing": "[fn:1]" * 30_000, "carets": "^[" * 100_000, "tags": "#a " * 100_000, "colons": "* " + ":" * 300_000, "cookies": "* " + "[1/" * 100_000, "fences": "```\n" * 10_000, "ticks": "`a" * 150_000,
    "quotes": "> [!a" * 30_000, "blank": "\n" * 30_000, "examples": "#+begin_src\n#+end_src\n" * 8_000, "line": "- [ ] " + "x" * 5_000_000, "nul": "\x00" * 1_000_000}


@pytest.mark.parametrize("name, parse", thinned(itertools.product(HOSTILE, (parse_org, parse_markdown)), 5))
def test_time_stays_in_proportion_to_the_text(name, parse):
    outline = parse(HOSTILE[name], "x.org")
    began = time.perf_counter()
    for look in LOOKS:
        for node in outline.nodes[:1] + outline.nodes[-1:]: list(look(outline, node))
    assert time.perf_counter() - began < 15          # a hang, not a slow machine
