"""Laws of what stands inside a section, blocks and items of lists: spans lie in their node, say what they are, and cost time in proportion."""
import itertools
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.outline.checkboxes import list_items
from passepartout.outline.elements import blocks
from passepartout.outline.markdown import parse_markdown
from passepartout.org import parse_org

PIECES = ["* ", "** ", "# ", "## ", "- ", "  - ", "\t+ ", "1. ", " 2) ", "[ ] ", "[X] ", "[x] ", "[-] ", "[/]", "[1/2]", "[50%]", " :: ", "| a | b |", "|-+-|", "|", "\\|", "---|---", "\n", "\r\n", "\n\n", "\n\n\n", " ", "    ",
          "#+begin_src sh :x y\n", "#+end_src\n", "#+begin_quote\n", "#+end_quote\n", "#+begin_example\n", "#+end_example\n", "#+begin: toc x\n", "#+end:\n", ":LOGBOOK:\n", ":END:\n", ": fixed", "> ", "> [!note] ", "```sh\n", "```\n",
          "[fn:1]", "[fn:1] ", "[fn::in [x] line]", "[fn:a:b]", "[^1]", "[^1]: ", "^[in]", "[", "]", "#tag", " :a:b:", ":ARCHIVE:", "COMMENT ", "TODO ", ":PROPERTIES:\n:ID: 1\n:END:\n", "SCHEDULED: <2026-11-20 Fri>\n", "word", "é漢", "\x00", "\u2028"]
texts = st.one_of(st.text(max_size=150), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40).map("".join))
parsers = st.sampled_from([parse_org, parse_markdown])


@settings(max_examples=examples(250), deadline=None)
@given(texts, parsers)
def test_blocks_lie_in_their_node_and_lines_count(text, parse):
    outline = parse(text, "a.org")
    for node in outline.nodes:
        own, found = list(outline.pieces(node)), blocks(outline, node)
        assert [b.start for b in found] == sorted(b.start for b in found)
        for b in found:
            assert b.line == text.count("\n", 0, b.start) + 1
            assert any(a <= b.start < b.end <= z for a, z in own) or b.kind == "drawer"


@settings(max_examples=examples(250), deadline=None)
@given(texts, parsers)
def test_blocks_reproduce_the_text_and_nest(text, parse):
    outline = parse(text, "a.org")
    for node in outline.nodes:
        ends = []
        for block in blocks(outline, node):
            assert block.start <= block.inner[0] <= block.inner[1] <= block.end and block.name.lower() in text.lower() and block.arguments in text
            while ends and ends[-1] <= block.start: ends.pop()
            if block.kind not in ("fixed", "quote"):
                assert not ends or block.end <= ends[-1]
                ends.append(block.end)


@settings(max_examples=examples(250), deadline=None)
@given(texts)
def test_items_of_a_list_lie_in_their_node_and_reproduce_the_text(text):
    outline = parse_org(text, "a.org")
    for node in outline.nodes:
        items, end = list_items(outline, node), next((n.start for n in outline.nodes[node.index + 1:node.index + 2]), len(text))
        assert [i.start for i in items] == sorted(i.start for i in items)
        for item in items:
            line = text[item.start:item.end].split("\n")[0]
            assert node.body_start <= item.start < item.end <= end and line.lstrip(" \t").startswith(item.bullet) and item.text in line
            if item.box is not None: assert text[item.at - 1:item.at + 2] == f"[{item.box}]"
            if item.parent is not None: assert item.parent.indent < item.indent and item.parent.start < item.start and item.end <= item.parent.end


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([None, " ", "X", "-"]), st.text("abc", min_size=1, max_size=5)), max_size=12))
def test_a_list_is_read_as_it_was_written(items):
    outline = parse_org("".join(f"{'  ' * depth}- {f'[{box}] ' if box else ''}{word}\n" for depth, box, word in items))
    found = list_items(outline, outline.nodes[0])
    assert [(i.text, i.box) for i in found] == [(word, box) for _, box, word in items]
    for i, item in enumerate(found):
        before = [j for j in range(i) if items[j][0] < items[i][0] and all(items[k][0] > items[j][0] for k in range(j + 1, i))]
        assert item.parent is (found[before[-1]] if before else None)


HOSTILE = {
    "formulas": "- x\n" + "  \\begin{a}\n" * 10_000 + "y\n  \\end{a}\n", "names": "".join(f"\\begin{{a{i}}}\n" for i in range(1_500)) + "\\end{a}\n" * 5_000,
    "items": "- a\n" * 10_000, "deep": "".join(" " * i + "- a\n" for i in range(700)), "boxes": "- [ ] " * 30_000, "open": "#+begin_quote\n" * 8_000, "many": "".join(f"#+begin_q{i}\n" for i in range(10_000)),
    "drawers": ":a:\n" * 10_000, "ends": "#+end_quote\n" * 10_000, "bars": "|" * 200_000, "rows": "| a\n" * 10_000, "dashes": "a|b\n" + "-" * 200_000 + "|", "rules": "a|b\n-|-\n" * 10_000, "rule": "- " * 200_000,
    "notes": "[fn::" * 80_000, "brackets": "[" * 200_000, "closing": "[fn:1]" * 30_000, "carets": "^[" * 100_000, "tags": "#a " * 100_000, "colons": "* " + ":" * 300_000, "cookies": "* " + "[1/" * 100_000, "fences": "```\n" * 10_000, "ticks": "`a" * 150_000,
    "quotes": "> [!a" * 30_000, "blank": "\n" * 30_000, "examples": "#+begin_src\n#+end_src\n" * 8_000, "line": "- [ ] " + "x" * 5_000_000, "nul": "\x00" * 1_000_000}


@pytest.mark.slow
@pytest.mark.parametrize("name, parse", thinned(itertools.product(HOSTILE, (parse_org, parse_markdown)), 5))
def test_time_stays_in_proportion_to_the_text(name, parse):
    outline = parse(HOSTILE[name], "x.org")
    began = time.perf_counter()
    for look in (blocks, *[list_items] * (parse is parse_org)):
        for node in outline.nodes[:1] + outline.nodes[-1:]: look(outline, node)
    assert time.perf_counter() - began < 15          # a hang, not a slow machine


def test_code_that_is_only_indented_is_no_block():
    "It has no line that opens it. Hypothesis found this one: every Markdown page with such code could not be tangled."
    outline = parse_markdown("# T\n\n    code\n    more\n\n```python\nx\n```\n", "a.md")
    assert [(block.kind, block.name, block.line) for node in outline.nodes for block in blocks(outline, node)] == [("src", "python", 6)]
