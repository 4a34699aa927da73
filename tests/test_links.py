"""Laws of links: where they stand, what they say, and that following them never fails."""
import itertools
import time

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.outline.links import LinkTargets, all_links, backlinks, find_in, links, read_address, read_target, trim
from passepartout.outline.rewrite import change_tags, retitle
from passepartout.outline.markdown import parse_markdown
from passepartout.org import parse_org
from waits import in_time

PIECES = ["[[", "]]", "][", "[", "]", "(", ")", "](", "id:", "file:", "https://", "http://a.b/c", "mailto:", "attachment:", "#", "*", "::", "|", "<", ">", "<<a>>", "!", "`", "=", "~", "\\", "\\]", "a", "b.org", "../", "/", "~/", "[1]: x", "[fn:1]", "\n", "\r\n", " ",
          "* ", "# ", "- [ ] ", "[[id:1]]", "[[file:b.org::*a]]", "[[#a]]", "[[*a]]", "[[a][b]]", "[a](b.md#a)", "[[b#a|x]]", "<https://a.b>", ":PROPERTIES:\n:ID: 1\n:CUSTOM_ID: a\n:END:\n", "#+begin_src\n", "#+end_src\n", "```\n", "é", "²", "12", "\x00", "\u2028"]
texts = st.one_of(st.text(max_size=150), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40).map("".join))
parsers = st.sampled_from([(parse_org, "d/a.org"), (parse_markdown, "d/b.md")])


@settings(max_examples=examples(250), deadline=None)
@given(texts, parsers)
def test_spans_lie_in_their_node_and_say_what_they_are(text, parser):
    outline = parser[0](text, parser[1])
    for node in outline.nodes:
        end, own = 0, list(outline.pieces(node))
        for link in links(outline, node):
            shown = text[link.start:link.end]
            assert end <= link.start < link.end and any(a <= link.start and link.end <= b for a, b in own)
            assert link.line == text.count("\n", 0, link.start) + 1 and link.node == node.index
            assert link.label is None or link.label in shown
            if shown[:2] != "[[" and shown[:1] not in "![": assert trim(shown) == shown or shown[0] == "<"
            end = link.end


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(st.tuples(texts, parsers), min_size=1, max_size=3))
def test_following_a_link_never_fails(files):
    outlines = [parse(text, f"{i}/{name}") for i, (text, (parse, name)) in enumerate(files)]
    targets = LinkTargets(outlines)
    for outline in outlines:
        for link in all_links(outline):
            led = targets.resolve(outline, link)
            if led: assert led[0] in outlines and led[0].nodes[led[1].index] is led[1] and link.kind not in ("web", "mail", "other", "attachment")
    assert sum(map(len, backlinks(targets).values())) <= sum(len(all_links(o)) for o in outlines)


words = st.text("abcdefgh XYZüé", min_size=1, max_size=12).map(lambda w: " ".join(w.split())).filter(bool)


@given(words, words, st.sampled_from(["id", "heading", "custom-id", "file", "text", "wiki"]))
def test_every_way_to_write_a_link_leads_there(title, label, kind):
    there = parse_org(f"* other\n* {title}\n:PROPERTIES:\n:ID: 7f-1\n:CUSTOM_ID: here\n:END:\n", "notes/there.org")
    written = {"id": "[[id:7f-1][%s]]", "file": "[[file:../notes/there.org::#here][%s]]", "text": "[[there][%s]]", "wiki": f"[[notes/there#{title}|%s]]", "heading": f"[[*{title}][%s]]", "custom-id": "[[#here][%s]]"}[kind] % label
    if kind in ("heading", "custom-id"): there = here = parse_org(there.text + written, "notes/there.org")
    elif kind == "wiki": here = parse_markdown(written, "else/x.md")
    else: here = parse_org(written, "else/x.org")
    link, = all_links(here)
    outline, node = LinkTargets([there, here]).resolve(here, link)
    assert outline is there and link.label == label
    if kind == "text": assert node.index == 0
    else: assert node.title == title or title == "other" and node.title == "other"


@given(st.text(max_size=60))
def test_any_address_is_read(text):
    for read in (read_target, read_address): assert len(read(text)) == 3


HOSTILE = {"open": "[[" * 100_000, "half": "[[a][" * 60_000, "label": "[[a][" + "b[" * 100_000, "md": "[a](" * 60_000, "nested": "[a[" * 60_000, "angles": "<http:" * 50_000, "bare": "http:" * 60_000, "parens": "http:(" * 50_000,
           "verbatim": "=a " * 80_000, "tildes": " ~a" * 80_000, "ticks": "`a" * 80_000, "one tick": "`" * 200_000, "links": "[[id:a]] " * 20_000, "wiki": "[[a#b|c]] " * 15_000, "escapes": "[[" + "\\" * 200_000, "lines": "[[a][b\n" * 30_000,
           "defs": "[a]: b\n" * 20_000, "refs": "[a]" * 60_000 + "\n[a]: b\n", "targets": "<<a>>\n" * 30_000, "less": "<<<" * 80_000, "quotes": '[a](b "' * 30_000, "schemes": "a:" * 100_000, "line": "x" * 5_000_000, "dots": "http://a" + "." * 200_000}


@pytest.mark.slow
@pytest.mark.parametrize("name, parser", thinned(itertools.product(HOSTILE, ((parse_org, "a.org"), (parse_markdown, "a.md"))), 5))
def test_time_stays_in_proportion_to_the_text(name, parser):
    outline = parser[0](HOSTILE[name], parser[1])
    began = time.perf_counter()
    found = all_links(outline)
    targets = LinkTargets([outline])
    for link in found[:2_000]: targets.resolve(outline, link)
    assert time.perf_counter() - began < 60          # what is not in proportion takes hours


def test_the_place_of_a_link_is_no_tag_and_attributes_are_no_title():
    outline = parse_markdown("# Roof {#the-roof .wide}\n- [Offers](#offers) (#house)\n## Offers {.x}\n## {#bare}\n## Set {a, b}\n## C# ##\nsee [it](#the-roof) and [that](x.md#top)\n", "a.md")
    assert [(n.title, n.tags, n.properties.get("CUSTOM_ID")) for n in outline.nodes[1:]] == [("Roof", ("house",), "the-roof"), ("Offers", (), None), ("", (), "bare"), ("Set {a, b}", (), None), ("C#", (), None)]
    assert find_in(outline, "#the-roof").title == "Roof" and find_in(outline, "#offers").title == "Offers"
    assert retitle(outline, outline.nodes[1], "House").startswith("# House {#the-roof .wide}\n")
    assert change_tags(outline, outline.nodes[1], ["a"]).startswith("# Roof #a {#the-roof .wide}\n")


def test_a_line_full_of_endings_is_read_in_linear_time():
    "`](` and twelve thousand times `.org#` held the reader of the notes for a quarter of a minute: each ending was tried with all that stood after it."
    from passepartout.indexing.entries import read_links
    begun = time.thread_time()
    assert read_links(parse_org("* a\n](" + ".org#" * 12_000 + "\n")) == []
    assert in_time(time.thread_time() - begun, 2)
    assert [each[:2] for each in read_links(parse_org("* a\n[x](b.org#c.d) [y](B.MD) [z](b.orgx) [w](.org) [v](c.org#a.md#b)\n", "n/a.org"))] == [(1, "file:n/b.org"), (1, "file:n/b.org#c d"), (1, "file:n/B.MD"), (1, "file:n/c.org"), (1, "file:n/c.org#a md b")]
