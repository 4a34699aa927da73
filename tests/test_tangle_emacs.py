"""Emacs is the judge of what an Org page is exported to, byte for byte. Every deliberate difference has a name here.

  Lisp              a value that Emacs would evaluate is refused
  results           <<name()>> runs a block in Emacs, and is refused here
  inner links       `:comments noweb` puts links around what a reference stands for; only those around the block are written here
  blocks in examples  `:comments org` takes prose from the last thing that looks like a block, even within an example; here from the last block
  variables         of other languages than Python are refused, and so is a quote that nothing closes
  quoted data       with names, pairs, vectors or calls in it is refused: only numbers, texts and lists of them are read
  values            a block that would have to be run, a nested list, a quotation or a paragraph is refused where a variable names it
  SETUPFILE         only header arguments are taken from it, no TODO words and no tags; what is no UTF-8, no regular file or very long is refused
  lists             keywords above a block count for it even where they are indented otherwise than the block and a list ends between them

Org 9.5 is followed. What Org 9.7 does otherwise (`CHANGED`): a list in a variable is flat and its numbers are numbers, tabs within a block stay tabs, `-i` keeps the indentation, of several header lines the last counts, and `:tangle` without a name writes nothing, where this refuses the page.
"""
import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from conftest import org_version
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from passepartout.tangling.headerargs import TangleError
from passepartout.tangling.noweb import Web
from passepartout.tangling.setupfiles import Setup
from passepartout.tangling.tangle import tangled
from passepartout.tangling.tanglefiles import page_of

HERE = Path(__file__).parent
EMACS = shutil.which("emacs")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(EMACS is None and "CI" not in os.environ, reason="Emacs is not installed: apt-get install emacs-nox")]
NAMED = re.compile(r"^# p\.org:\d+( .*)?\n", re.M)


def ours(text: str, setup: Setup | None = None) -> dict[str, str] | str:
    "Name and text of each file, or why there is none."
    try:
        page = page_of(Path("p.org"), text.encode(), setup)
        web = Web(page.outline, page.sources)
        plain, named = (tangled(web, "p.org", name_sources=yes) for yes in (False, True))
        for target in plain:
            if "/" in target.name and not target.folders: return "the folder is missing"
    except TangleError as error: return error.message
    assert [t.text for t in plain] == [NAMED.sub("", t.text) for t in named]
    return {t.name: t.text for t in plain}


def differences(folder: Path, texts: list[str], others: dict[str, str] | None = None) -> list[str]:
    "Where we and Emacs write different files. `others` are files that lie beside each page."
    others = others or {}
    for i, text in enumerate(texts):
        (folder / f"{i:04}").mkdir()
        for name, other in others.items(): (folder / f"{i:04}" / name).write_bytes(other.encode())
        (folder / f"{i:04}" / "p.org").write_bytes(text.encode())
    done = subprocess.run([EMACS or "emacs", "--batch", "-Q", "-l", str(HERE / "data" / "tangler.el"), "--", *map(str, sorted(folder.glob("*/p.org")))], capture_output=True, text=True,
                          timeout=600, env={**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr[-2000:]
    found = []
    for i, text in enumerate(texts):
        home = folder / f"{i:04}"
        theirs = {name: p.read_bytes().decode() for p in home.rglob("*") if p.is_file() and (name := p.relative_to(home).as_posix()) not in ("p.org", *others)}
        problem, mine = theirs.pop("p.org.error", None), ours(text, Setup(home / "p.org"))
        if mine != theirs and not (problem and isinstance(mine, str)): found.append(f"{text}\n--- ours\n{mine}\n--- Emacs {problem or ''}\n{theirs}")
    shutil.rmtree(folder)
    folder.mkdir()
    return found


CASES = {
    "a table in a variable": "#+name: t\n| a | 1 |\n| b c | 2.5 |\n|---+---|\n| \"q\" | |\n| 007 | -3 |\n| 1e3 | $x$ |\n| é | a\\b |\n#+begin_src python :tangle a.py :var d=t\nx\n#+end_src\n#+begin_src python :tangle b.py :hlines yes :var d=t e=5\nx\n#+end_src\n#+begin_src python :tangle c.py :rownames yes :var d=t\nx\n#+end_src\n",
    "a table with a heading": "#+begin_src python :tangle a.py :var d=t\nx\n#+end_src\n#+begin_src python :tangle b.py :colnames no :var d=t\nx\n#+end_src\n#+begin_src python :tangle c.py :hlines yes :colnames no :var d=t\nx\n#+end_src\n#+name: t\n#+caption: Costs\n| n | v |\n|---+---|\n| a | 1 |\n| b | 2 |\n",
    "a part of a table": "#+name: t\n| n | v |\n| a | 1 |\n#+TBLFM: $2=1\n#+begin_src python :tangle a.py :var d=t[1,1] e=t[0] f=t[,1] g=t[0:1,0] h=t[-1,0]\nx\n#+end_src\n#+begin_src python :tangle b.py :colnames yes :var d=t\nx\n#+end_src\n",
    "heads of what is no table": "#+name: t\n| n | v |\n| a | 1 |\n#+begin_src python :tangle a.py :colnames yes :var d=t[0] e=t[,1] f=t[0,0]\nx\n#+end_src\n#+name: l\n- one\n- two\n\n#+begin_src python :tangle b.py :colnames yes :var d=l\nx\n#+end_src\n#+begin_src python :tangle c.py :rownames yes :var d=l\nx\n#+end_src\n#+name: o\n| 1 |\n#+begin_src python :tangle d.py :colnames yes :var d=o\nx\n#+end_src\n",
    "lists and texts in variables": "#+name: l\n1. one\n2. 22\n\n#+name: e\n#+begin_example\nline \"1\"\n  ,* 2\n#+end_example\n#+name: f\n: one\n: two\n#+begin_src python :tangle a.py :var l=l e=e f=f\nx\n#+end_src\n",
    "the page's default, languages, headings": "#+PROPERTY: header-args:python :tangle a.py\n* A\n#+begin_src python\nx\n#+end_src\n#+begin_src sh\ny\n#+end_src\n* B\n:PROPERTIES:\n:header-args:sh: :tangle b.sh\n:END:\n#+begin_src sh\nz\n#+end_src\n",
    "appending": "#+property: header-args :tangle a.py\n#+property: header-args+ :noweb yes\n* A\n:PROPERTIES:\n:header-args+: :padline no\n:END:\n#+begin_src python\n<<q>>\n#+end_src\n** B\n:PROPERTIES:\n:HEADER-ARGS: :tangle b.py\n:header-args+: :padline no\n:END:\n#+begin_src python\n<<q>>\n#+end_src\n#+name: q\n#+begin_src python\nq\n#+end_src\n",
    "indentation of references": "#+begin_src python :tangle a.py :noweb yes\nclass A:\n    <<m>>\n  # <<m>> and <<m>>.\n#+end_src\n#+name: m\n#+begin_src python\ndef m():\n\n    pass\n#+end_src\n",
    "shared names and separators": "#+begin_src python :tangle a.py :noweb tangle\nx = [<<s>>]\n<<T>>\n#+end_src\n" + "".join(f"#+begin_src python :noweb-ref s :noweb-sep \", \"\n{i}\n#+end_src\n#+begin_src python :noweb-ref T\nt{i}\n#+end_src\n" for i in range(3)),
    "references in references": "#+begin_src python :tangle a.py :noweb no-export\n<<a>>\n#+end_src\n#+name: a\n#+begin_src python :noweb yes\n1\n  <<b>>\n#+end_src\n#+name: b\n#+begin_src python :noweb tangle\n2 <<c>>\n#+end_src\n#+name: c\n#+begin_src python\n3\n#+end_src\n",
    "commas": "#+begin_src python :tangle a.py\n,* a\n,,* b\n ,#+c\n,d\n,#+end_src\n#+end_src\n",
    "commented and archived": "* COMMENT A\n#+begin_src python :tangle a.py\n1\n#+end_src\n** B\n#+begin_src python :tangle a.py\n2\n#+end_src\n* C :ARCHIVE:\n#+begin_src python :tangle a.py\n3\n#+end_src\n* COMMENTED\n#+begin_src python :tangle a.py\n4\n#+end_src\n* COMMENT N\n#+name: n\n#+begin_src python\nn\n#+end_src\n* E\n#+begin_src python :tangle b.py :noweb yes\n<<n>>\n#+end_src\n",
    "shebang, folders, empty": "#+begin_src python :tangle bin/a :mkdirp yes :shebang #!/usr/bin/env python\n1\n#+end_src\n#+begin_src python :tangle bin/a :shebang #!/other\n\n\n  2\n\n#+end_src\n#+begin_src python :tangle c.py\n#+end_src\n",
    "comments": "* A head [1/2] :tag:\nSome prose.\n#+begin_src python :tangle a.py :comments both\n1\n#+end_src\n\nMore /prose/.\n\n#+name: n\n#+begin_src python :tangle s/a.py :mkdirp yes :comments link\n2\n#+end_src\n#+begin_src python :tangle a.py :comments org\n3\n#+end_src\n* TODO [#A] B\n:PROPERTIES:\n:CUSTOM_ID: b\n:END:\n#+begin_src python :tangle a.py :comments yes\n4\n#+end_src\n",
    "tabs": "#+begin_src python :tangle a.py\n\tif x:\n\t\ty\n        z\n#+end_src\n#+begin_src python :tangle a.py\n    a\n\tb\n#+end_src\n#+begin_src python -i :tangle a.py\n   a\n  b\n#+end_src\n",
    "header lines": "#+header: :tangle a.py\n#+name: x\n#+headers: :tangle b.py :padline no\n#+begin_src python :tangle c.py\nx\n#+end_src\n",
    "variables, prologue": "#+begin_src python :tangle a.py :var x=1 y=\"two\" :prologue \"import z\" :epilogue # end\nx\n#+end_src\n#+begin_src python :tangle b.py :var x=1 :no-expand\nx\n#+end_src\n",
    "yes, no, quotes": "#+begin_src python :tangle yes\n1\n#+end_src\n#+begin_src python :tangle \"two words.py\"\n2\n#+end_src\n#+begin_src python :exports none :tangle no\n3\n#+end_src\n#+begin_src python :eval never :tangle e.py\n4\n#+end_src\n",
    "lists, quotes, drawers": "- item\n  #+begin_src python :tangle a.py\n    1\n  #+end_src\n  - deeper\n\n    #+begin_src python :tangle a.py\n    2\n    #+end_src\n#+begin_quote\n#+begin_src python :tangle a.py\n3\n#+end_src\n#+end_quote\n:DRAWER:\n#+begin_src python :tangle a.py\n4\n#+end_src\n:END:\n#+begin_example\n#+begin_src python :tangle a.py\n5\n#+end_src\n#+end_example\n: #+begin_src python :tangle a.py\n",
    "a heading's text": "#+begin_src python :tangle a.py :noweb yes\n# <<sec>>\n#+end_src\n* S\n:PROPERTIES:\n:CUSTOM_ID: sec\n:END:\nfirst\nsecond\n* T\n",
    "coderefs": "#+begin_src python -r :tangle a.py\nx = 1 (ref:one)\n#+end_src\n#+begin_src python -n :tangle a.py\nx = 1 (ref:one)\n#+end_src\n#+begin_src python -r -l \"%s\" :tangle a.py\nx = 1; y z\n#+end_src\n#+begin_src python -r -l \"# %s\" :tangle a.py\nx = 1  # one\n#+end_src\n",
    "letters": "* Ünïcode\n#+name: grüß dich\n#+begin_src python :tangle ä.py :noweb yes\nprint('☃') # <<Grüß Dich 2>>\n#+end_src\n#+name: grüß dich 2\n#+begin_src python\n漢字\n#+end_src\n",
    "property lines without a value": "#+PROPERTY: header-args :tangle a.py\n#+PROPERTY: header-args\n** A\n#+begin_src python\n1\n#+end_src\n",
    "a drawer at the top": ":PROPERTIES:\n:header-args: :tangle a.py\n:END:\n#+title: x\n#+begin_src python\n1\n#+end_src\n* A\n#+begin_src python\n2\n#+end_src\n",
}


CHANGED = ("heads of what is no table", "lists and texts in variables", "tabs", "header lines")     # by Org 9.7


def changed(text: str) -> bool:
    "Does a generated page hold something that newer versions of Org export otherwise?"
    return org_version() >= (9, 6) and bool(re.search(r"begin_src[^\n]* -i|\t|:tangle[ \t]*(?:$|:)|(?:^[ \t]*#\+headers?:[^\n]*\n\s*){2}", text, re.I | re.M))


def test_hand_written_pages(tmp_path):
    (tmp_path / "w").mkdir()
    newer = org_version() >= (9, 6)
    assert differences(tmp_path / "w", [page for name, page in CASES.items() if not newer or name not in CHANGED]) == []
    if newer: assert len(differences(tmp_path / "w", [CASES[name] for name in CHANGED])) == len(CHANGED)


NUMBERS = ["1", "-3", "+3", "007", "1e3", ".5", "1.", "-.5", "2.50", "1e15", "123456789012345678", "1.0e-7", "0.1", "-0.0"]
WRITTEN = ["'(1 2 3)", "'(1 (2 \"a\") nil)", "'((1 2) (3 4))", "'()", "`(1 (2))", "'\"s t\"", "'5", "'((\"a b\" 1) (\"c)\" 2))", "'((\"n\" \"v\") (\"x\" 1) (\"y\" 2))", "'(1  2 )", '\'("é☃" "a\\"b\\\\c" "t\\tt" "n\\nn")',
           '"a b"', '"a\\"b"', '"a\\\\b"', '"a\\nb"', '""', "'(((1)))", "'(1 . 2)", "'nil", "'(nil (nil))"] + [f"'({n} (x{n}))".replace("x", "") for n in NUMBERS]


def test_values_in_the_line(tmp_path):
    (tmp_path / "w").mkdir()
    page = lambda value, more: f"#+begin_src python :tangle a.py {more} :var d={value} e=1\nx\n#+end_src\n"
    texts = [page(value, "") for value in NUMBERS + WRITTEN] + [page(value, more) for value in [*WRITTEN[:9], "'(7)"] for more in (":colnames yes", ":rownames yes", ":hlines yes")]
    assert [each for each in differences(tmp_path / "w", texts)] == []
    assert all(isinstance(ours(page(value, "")), dict) for value in NUMBERS + WRITTEN if " . " not in value)


def test_the_example(tmp_path):
    (tmp_path / "w").mkdir()
    assert differences(tmp_path / "w", [(HERE.parent / "examples" / "gatekeeper.org").read_text()]) == []


SETUP = {
    "house.org": "#+title: ignored\n#+PROPERTY: header-args :tangle house.py :noweb yes\n  #+property: header-args:sh :tangle house.sh\n* A heading\n:PROPERTIES:\n:header-args: :tangle never.py\n:END:\n#+PROPERTY: header-args:python+ :padline no\n",
    "two words.org": "#+begin_example\n#+PROPERTY: header-args :tangle dead.py\n#+end_example\n#+PROPERTY: header-args :tangle quoted.py\n",
    "a.org": "#+PROPERTY: header-args :tangle a1.py\n#+SETUPFILE: b.org\n#+PROPERTY: header-args+ :noweb yes\n",
    "b.org": "#+SETUPFILE: a.org\n#+SETUPFILE: p.org\n#+PROPERTY: header-args :tangle b.py\n",
    "dos.org": "#+PROPERTY: header-args :tangle dos.py\r\n#+PROPERTY: header-args+ :padline no\r\n",
}
BLOCKS = "#+begin_src python\n1 <<q>>\n#+end_src\n* A\n#+begin_src python\n2\n#+end_src\n** B\n:PROPERTIES:\n:header-args+: :padline yes\n:END:\n#+begin_src sh\n3\n#+end_src\n#+begin_src python\n4\n#+end_src\n#+name: q\n#+begin_src python :tangle no\nq\n#+end_src\n"
TOPS = ["#+SETUPFILE: house.org", "#+setupfile: ./house.org  ", "#+SETUPFILE: \"two words.org\"", "#+SETUPFILE: two words.org", "#+SETUPFILE: a.org", "#+SETUPFILE: dos.org", "#+SETUPFILE: gone.org", "#+SETUPFILE:", "#+SETUPFILE: .",
        "#+SETUPFILE: ~/0000/house.org", "#+SETUPFILE: ../0001/a.org", "#+SETUPFILE: https://example.org/x.org", "#+SETUPFILE: p.org", "#+PROPERTY: header-args :tangle top.py", "#+PROPERTY: header-args+ :comments link", "#+begin_example\n#+SETUPFILE: house.org\n#+end_example"]


def test_setup_files(tmp_path, monkeypatch):
    (tmp_path / "w").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "w"))
    pages = ["\n".join(tops) + "\n" + BLOCKS for tops in [(top,) for top in TOPS] + [pair for pair in product(TOPS, repeat=2)][::7]]
    pages.append(BLOCKS + "#+SETUPFILE: house.org\n")
    assert differences(tmp_path / "w", pages, SETUP) == []


# Generated pages ----------------------------------------------------------------------------------------------------

NAMES = ["foo", "bar", "a b", "Baz", "é"]
VALUES = {":tangle": ["yes", "no", "m.py", "m.py", "m.py", "sub/n.py", '"q r.py"', "", "o.sh"], ":noweb": ["yes", "no", "tangle", "no-export", "strip-export", "eval"], ":padline": ["yes", "no"],
          ":comments": ["no", "no", "org", "link", "both", "yes"], ":mkdirp": ["yes", "yes", "no"], ":shebang": ["#!/usr/bin/env python", '"#!/bin/sh"', ""], ":noweb-ref": NAMES,
          ":noweb-sep": ['""', '" "', r'"\n\n"', ""], ":prologue": ["# pro", '"import x"'], ":epilogue": ["# epi"], ":exports": ["none", "code"], ":eval": ["no", "never"], ":no-expand": ["", "yes"]}
KEYS = [":tangle"] * 8 + [":noweb"] * 5 + [":mkdirp"] * 4 + [":noweb-ref"] * 5 + [":padline", ":comments"] * 2 + list(VALUES)


@st.composite
def pages(draw):
    pick = lambda *options: draw(st.sampled_from(options))
    one_in = lambda n: draw(st.integers(1, n)) == n
    some = lambda low, high: range(draw(st.integers(low, high)))
    prose = one_in(2)                            # a page with :comments org has no example with a block in it

    def arguments(most):
        found = []
        for _ in some(0, most):
            key = pick(*KEYS)
            value = pick(*VALUES[key])
            if key == ":comments" and not prose and value in ("org", "both"): value = "link"
            found.append(f"{key} {value}".strip())
        return pick(" ", "  ").join(found)

    def code():
        base = pick("", "", "  ", "    ", "\t")
        for _ in some(0, 5):
            kind = pick(*"blank reference reference escaped plain plain plain".split())
            if kind == "blank": yield pick("", "  ", "\t")
            elif kind == "reference": yield f"{base}{pick('', '  ', '# ', 'x = ')}<<{pick(*NAMES)}>>{pick('', ' + 1', ', <<foo>>')}"
            elif kind == "escaped": yield base + pick(",* star", ",#+begin_src", "  ,,* two", ",,#+x", ",y")
            else: yield base + pick("", "  ", "\t", "        ") + pick("x = 1", "def f():", 'return "a"', "# comment", "é = '<<'", "a << b") + pick("", "", "  ")

    def block():
        indent = pick("", "", "  ")
        if one_in(3): yield indent + pick("#+name: ", "#+NAME: ", "#+Name:") + pick(*NAMES)
        for _ in range(pick(0, 0, 0, 1, 2)): yield indent + pick("#+header: ", "#+HEADERS: ") + arguments(2)
        if one_in(8): yield indent + "#+caption: hello"
        yield f"{indent}{pick('#+begin_src', '#+BEGIN_SRC')} {(language := pick(*['python'] * 8, 'sh'))}{pick('', '', '', ' -n', ' -i', ' -n -r', ' -r')} {pick('', '', '', ':var x=1 ', ':var a=1 b=2 ', ':var z = 3 ') if language == 'python' else ''}{arguments(3)}"
        yield from code()
        yield indent + pick("#+end_src", "#+END_SRC")

    lines = [":PROPERTIES:", f":header-args{pick('', '+')}: {arguments(2)}", ":END:"] if one_in(5) else []
    if one_in(3): lines.append("#+title: T")
    for _ in range(pick(0, 1, 1, 2)): lines.append(f"#+{pick('PROPERTY', 'property')}: header-args{pick('', '+', ':python', ':python+')} {arguments(3)}")
    lines.append("")
    for _ in some(1, 6):
        kind = pick(*"heading heading heading example list quote text block block block block".split())
        if kind == "heading":
            lines.append(f"{pick('*', '**', '***')} {pick('', 'TODO ', 'DONE [#A] ', 'COMMENT ')}{pick('Head', 'Other [1/2] x', 'L  [[a][b]]')}{pick('', '', '  :tag:', ' :ARCHIVE:')}")
            if one_in(5): lines.append("DEADLINE: <2026-11-20>")
            if one_in(3): lines += ["  :PROPERTIES:", *(f"  :{pick('header-args', 'header-args+', 'HEADER-ARGS', 'header-args:python', 'header-args:python+')}: {arguments(2)}" for _ in some(1, 2)), *pick([], ["  :CUSTOM_ID: cid"]), "  :END:"]
        elif kind == "example" and not prose: lines += ["#+begin_example", "#+begin_src python :tangle m.py", "x", "#+end_src", "#+end_example"]
        elif kind == "list": lines += ["- item", "", "  text", ""]
        elif kind == "quote": lines += ["#+begin_quote", *block(), "#+end_quote"]
        elif kind == "text": lines += ["Some prose *here*.", pick("", "# comment")]
        else: lines += [*block(), *pick([], [""])]
    return "\n".join(lines) + "\n"


@settings(max_examples=int(os.environ.get("TANGLE_ROUNDS", "6")), deadline=None, derandomize="TANGLE_ROUNDS" not in os.environ, phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=list(HealthCheck))
@given(texts=st.lists(pages(), min_size=12, max_size=12))
def test_generated_pages(tmp_path_factory, texts):
    assert differences(tmp_path_factory.mktemp("pages"), [text for text in texts if not changed(text)]) == []
