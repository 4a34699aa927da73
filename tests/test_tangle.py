"What tangle must never do: write elsewhere, overwrite what is not its own, run anything, hang, or leave half of it"
import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.tangling.chapter import chapter_cells, code_spans, markdown_text, notebook_text
from passepartout.tangling.headerargs import TangleError, read_arguments, split_arguments
from passepartout.tangling.noweb import Web
from passepartout.skillfiles.skillchild import page_tree
from passepartout.tangling.sourceblocks import cell_lines
from passepartout.tangling.tangle import astray, tangled, without_label
from passepartout.terminal.tanglecommand import run_tangle
from passepartout.tangling.tanglefiles import WrittenDigests, page_of, read_page
from waits import in_time

EXAMPLE = Path(__file__).parents[1] / "examples" / "gatekeeper.org"


def block(target: str, code: str = "x = 1") -> str: return f"#+begin_src python :tangle {target}\n{code}\n#+end_src\n"


def snapshot(folder: Path) -> dict: return {p.relative_to(folder).as_posix(): p.read_bytes() if p.is_file() else "" for p in sorted(folder.rglob("*")) if not p.is_symlink()}


@pytest.mark.parametrize("target", ["../up.py", "/tmp/x.py", "~/x.py", "a/../../up.py", "./../x.py", "link/x.py", "link/deep/x.py", "..", ".", "folder/", "file/x.py", "link", "fifo"])
def test_nothing_is_written_elsewhere(tmp_path, target):
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir(); outside.mkdir()
    (home / "link").symlink_to(outside)
    (home / "file").write_text("")
    os.mkfifo(home / "fifo")
    (home / "page.org").write_text(block(f"{target} :mkdirp yes"))
    before = snapshot(outside), sorted(os.listdir(home)), sorted(os.listdir(tmp_path))
    with pytest.raises(TangleError): run_tangle([home / "page.org"], None, WrittenDigests(tmp_path / "ledger" / "t.json"))
    assert (snapshot(outside), sorted(os.listdir(home)), sorted(os.listdir(tmp_path))) == before


def test_what_somebody_wrote_or_edited_is_left_alone(tmp_path):
    page, ledger = tmp_path / "p.org", lambda: WrittenDigests(tmp_path / "l" / "t.json")
    page.write_text(block("a.py") + block("b.py"))
    (tmp_path / "b.py").write_text("mine\n")
    with pytest.raises(TangleError, match="b.py"): run_tangle([page], None, ledger())
    assert not (tmp_path / "a.py").exists()                                     # all or nothing
    (tmp_path / "b.py").unlink()
    assert run_tangle([page], None, ledger()) == 0 == run_tangle([page], None, ledger(), check=True)
    page.write_text(block("a.py", "x = 2") + block("b.py"))
    assert run_tangle([page], None, ledger(), check=True) == 1
    assert run_tangle([page], None, ledger()) == 0 and "x = 2" in (tmp_path / "a.py").read_text()
    (tmp_path / "a.py").write_text("edited\n")
    page.write_text(block("a.py", "x = 3") + block("b.py"))
    with pytest.raises(TangleError, match="a.py"): run_tangle([page], None, ledger())
    assert run_tangle([page], None, ledger(), force=True) == 0


def test_a_setup_file_sends_nothing_elsewhere_and_a_missing_one_is_told(tmp_path, capsys):
    home = tmp_path / "home"
    home.mkdir()
    (home / "setup.org").write_text("#+PROPERTY: header-args :tangle ../out.py\n")
    (home / "p.org").write_text("#+SETUPFILE: setup.org\n#+begin_src python\nx = 1\n#+end_src\n")
    with pytest.raises(TangleError, match="outside"): run_tangle([home / "p.org"], None, WrittenDigests(tmp_path / "t.json"))
    (home / "setup.org").unlink()
    (home / "p.org").write_text("#+SETUPFILE: setup.org\n" + block("a.py"))
    assert run_tangle([home / "p.org"], None, WrittenDigests(tmp_path / "t.json")) == 0
    assert "names no file" in capsys.readouterr().err and sorted(os.listdir(home)) == ["a.py", "p.org"]


def test_no_other_file_speaks_for_a_skill(tmp_path):
    from passepartout.skillfiles.skillpage import read_skill
    (tmp_path / "setup.org").write_text("#+PROPERTY: header-args :prologue x=stolen() :var y=1\n")
    text = "#+SETUPFILE: setup.org\n#+PROPERTY: skill quiet\n#+PROPERTY: permissions gate\n#+begin_src python\ndef gate(action, signal):\n    return action\n#+end_src\n"
    assert "stolen" not in str(read_skill(tmp_path / "quiet.org", text.encode()).code)


def test_a_forged_or_broken_ledger_is_no_permission(tmp_path):
    (tmp_path / "t.json").write_text('{"x": [1], "y": 5}')
    (tmp_path / "p.org").write_text(block("a.py"))
    (tmp_path / "a.py").write_text("mine\n")
    for text in ('{"a": 1}', "[]", "\0", ""):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(TangleError): run_tangle([tmp_path / "p.org"], None, WrittenDigests(tmp_path / "t.json"))


def test_two_pages_that_write_one_file_are_refused(tmp_path):
    for name in "ab": (tmp_path / f"{name}.org").write_text(block("x.py", name))
    with pytest.raises(TangleError, match="both write x.py"): run_tangle([tmp_path / "a.org", tmp_path / "b.org"], tmp_path, WrittenDigests(tmp_path / "t.json"))


def test_shebang_makes_a_program_and_no_half_files_stay(tmp_path):
    (tmp_path / "p.org").write_text(block("bin/run :mkdirp yes :shebang #!/usr/bin/env python3", "print('hi')"))
    run_tangle([tmp_path / "p.org"], tmp_path, WrittenDigests(tmp_path / "t.json"))
    assert os.access(tmp_path / "bin" / "run", os.X_OK) and sorted(os.listdir(tmp_path / "bin")) == ["run"]
    assert subprocess.run([tmp_path / "bin" / "run"], capture_output=True, text=True, timeout=120).stdout == "hi\n"


def test_the_example_runs_and_its_notebook_exports_the_same(tmp_path):
    page = read_page(EXAMPLE)
    target, = tangled(Web(page.outline, page.sources), page.path.name, name_sources=False)
    (tmp_path / "gatekeeper.py").write_text(target.text)
    code = "import gatekeeper as g; print([g.judge(p, [g.explained, g.reversible]).kind for p in (g.Proposal('read', {}, 'asked'), g.Proposal('send', {}, 'asked'), g.Proposal('read'))])"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120).stdout == "[0, 1, 2]\n"
    book = page_of(Path("gatekeeper.ipynb"), notebook_text(chapter_cells(page)).encode())
    again, = tangled(Web(None, book.sources), "gatekeeper.ipynb", name_sources=False)
    assert again.text == target.text and again.name == target.name == "gatekeeper.py"


def test_a_traceback_points_into_the_page():
    page = page_of(Path("p.org"), b"* A\n#+begin_src python :tangle p.py :noweb yes\ndef f():\n    <<body>>\n#+end_src\ntext\n#+name: body\n#+begin_src python\nx = 1\nraise ValueError(x)\n#+end_src\n")
    target, = tangled(Web(page.outline, page.sources), "p.org")
    space: dict = {}
    exec(compile(page_tree(target.lines, "p.org"), "p.org", "exec"), space)
    with pytest.raises(ValueError) as raised: space["f"]()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == ("p.org", 10)


def test_code_whose_end_stands_further_up_has_places_that_python_takes():
    for lines in ([("x = (1 +", 20), ("2)", 5)], [("def f():", 9), ("    return len([1,", 30), ("2])", 2)]): compile(page_tree(lines, "p.org"), "p.org", "exec")


FAILS = """
import sys, traceback, gatekeeper
try: eval(sys.argv[1], vars(gatekeeper))
except Exception as error: print([(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)][-1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("code, line", [("reversible(None)", "    if proposal.action in"), ("judge(None, [1])", "    answer = Answer(REFUSE, rule.__name__, f")])
def test_an_exported_module_blames_the_line_of_its_page(tmp_path, code, line):
    (tmp_path / "gatekeeper.org").write_text(EXAMPLE.read_text())
    assert run_tangle([tmp_path / "gatekeeper.org"], None, WrittenDigests(tmp_path / "t.json")) == 0
    (tmp_path / "fails.py").write_text(FAILS)
    said = [subprocess.run([sys.executable, *how, "fails.py", code], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(EXAMPLE.parents[1])}, timeout=120).stdout.strip() for how in ((), ("-m", "passepartout.skillfiles.pagelines"))]
    at = next(number for number, text in enumerate(EXAMPLE.read_text().splitlines(), 1) if text.startswith(line))
    assert said[1] == str((str(tmp_path / "gatekeeper.org"), at)) and said[0] != said[1]


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), min_size=1, max_size=6), st.data())
def test_every_line_of_code_keeps_its_number_or_is_counted(shape, data):
    text, marks = "", 0
    for prose, lines, other in shape:
        text += "prose\n" * prose + f"#+begin_src python :tangle {'b' if other else 'a'}.py{data.draw(st.sampled_from(['', ' :padline no', ' :comments org']))}\n"
        for _ in range(lines): text, marks = text + f"here = {marks}\n", marks + 1
        text += "#+end_src\n"
    page = page_of(Path("p.org"), text.encode())
    for target in tangled(Web(page.outline, page.sources), "p.org", name_sources=data.draw(st.booleans()), same_lines=True):
        at = {number: there for number, there in enumerate(target.text.splitlines(), 1) if there.startswith("here")}
        wrong = [number for number, there in at.items() if text.splitlines()[number - 1:number] != [there]]
        assert len(wrong) == astray(target)
        if ":comments" not in text: assert not wrong


@pytest.mark.parametrize("data, why", [(b"#+begin_src python :tangle a.py\nx", "never ends"), (b"* caf\xe9\n", "UTF-8"), (b"\0", "NUL"), (b"\xff\xfe\xff", "damaged"), (block("(shell-command)").encode(), "Lisp"), (block("").encode(), "no file"),
                                       (block("a.py :noweb yes", "<<a(x=1)>>").encode(), "result|prints"), (block("a.py :var x=(f)").encode(), "worked out")])
def test_what_cannot_be_exported_is_one_sentence(tmp_path, data, why):
    (tmp_path / "p.org").write_bytes(data)
    with pytest.raises(TangleError, match=why) as told: run_tangle([tmp_path / "p.org"], None, WrittenDigests(tmp_path / "t.json"))
    assert "p.org" in told.value.message and "\n" not in told.value.message


@pytest.mark.slow
def test_long_pages_and_lines_are_no_attack():
    many = page_of(Path("p.org"), ("#+PROPERTY: header-args :tangle a.py :noweb yes\n" + "".join(f"* H{i}\n#+name: n{i}\n#+begin_src python\n<<n{i + 1}>>x\n#+end_src\n" for i in range(1500))).encode())
    with pytest.raises(TangleError, match="nested"): tangled(Web(many.outline, many.sources), "p.org")
    long = page_of(Path("p.org"), (block("a.py", "<<" * 50_000 + "\n" + ">>" * 50_000) + "#+begin_src python :tangle b.py " + ":x (" * 3000 + "\ny\n#+end_src\n").encode())
    assert [t.name for t in tangled(Web(long.outline, long.sources), "p.org")] == ["a.py", "b.py"]


def tables(many: int, used: str) -> str:
    "A page with so many tables, and a block for each, which is given the table that `used` names."
    return "".join(f"#+name: t{i}\n| {i} |\n\n#+begin_src python :tangle a.py :var x={used.format(i)}\nx\n#+end_src\n" for i in range(many))


def test_a_page_of_many_tables_is_read_once():
    "A hundred lines take as long in a page of ten times as many."
    def seconds(many):
        page = page_of(Path("p.org"), tables(many, "t{}").encode())
        begun = time.process_time()
        target, = tangled(Web(page.outline, page.sources), "p.org")
        assert [line.text for line in target.lines if line.text[:1] == "x"][-2] == f"x=[[{many - 1}]]"
        return time.process_time() - begun
    few = min(seconds(200) for _ in range(3))
    assert seconds(2000) < 30 * few


@pytest.mark.slow
def test_a_table_that_is_wanted_by_every_block_does_not_fill_the_disk():
    page = page_of(Path("p.org"), ("#+name: big\n" + "| abcdefghij | 1 |\n" * 5_000 + "\n" + tables(200, "big")).encode())
    with pytest.raises(TangleError, match="grows beyond"): tangled(Web(page.outline, page.sources), "p.org")
    small = page_of(Path("p.org"), ("#+name: big\n" + "| abcdefghij | 1 |\n" * 5_000 + "\n" + tables(200, "big[7,1]")).encode())
    target, = tangled(Web(small.outline, small.sources), "p.org", name_sources=False)
    assert [line.text for line in target.lines if line.text[:2] == "x="] == ["x=1"] * 200


@settings(max_examples=examples(200))
@given(st.text(alphabet=':ab "()[]\\\t=', max_size=60))
def test_arguments_of_any_shape_are_read(text):
    assert all(isinstance(name, str) for name, _ in read_arguments(text))
    assert sum(map(len, split_arguments(text))) <= len(text)


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(["* H", "#+begin_src python :tangle a.py :noweb yes", "#+end_src", "<<x>>", "#+name: x", "x = 1", "  y", "```python", "```", "#+begin_example", "#+end_example", ":PROPERTIES:", ":header-args: :tangle b.py", ":END:", ""]), max_size=30), st.sampled_from(["p.org", "p.md"]))
def test_any_page_is_exported_or_refused_and_lines_are_true(lines, name):
    text = "\n".join(lines) + "\n"
    try:
        page = page_of(Path(name), text.encode())
        for target in tangled(Web(page.outline, page.sources), name):
            for line in target.lines:
                if line.at and line.text.strip(): assert any(word in text.split("\n")[line.at - 1] for word in line.text.split()) or line.text.strip() == ""
    except TangleError: pass


@given(st.lists(st.sampled_from(["<<", ">>", "<", ">", " ", "\t", "a", "ab"]), max_size=16).map("".join))
@settings(max_examples=examples(1_000), deadline=None)
def test_references_are_those_that_emacs_finds(text):
    from passepartout.tangling.noweb import references
    assert list(references(text)) == [(m.start(), m[1], m.end()) for m in re.finditer(r"<<([^ \t\n](?:.*?[^ \t\n])?)>>", text)]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["<<a " * 50_000, "<" * 200_000, "<<a >> " * 30_000, "<<" + "(" * 200_000 + ">>", "<<" + " >>" * 60_000, "<<a" + " <<b >>" * 30_000, "<<a>> " * 30_000, "\t" * 50_000 + "x", " " * 100_000 + "<<a>>"])
def test_a_long_line_full_of_beginnings_is_read_once(line):
    "Each beginning was followed to the end of the line: for eighty thousand letters a minute and a half, as soon as such a page lay among the skills."
    from passepartout.skillfiles.skillpage import code_and_cells
    from passepartout.tangling.tangle import code_of
    page = page_of(Path("evil.org"), f"* Evil\n#+begin_src python :noweb yes\n{line}\n#+end_src\n".encode())
    began = time.process_time()
    code_and_cells(page)
    for source in page.sources: code_of(Web(page.outline, page.sources), source)
    assert in_time(time.process_time() - began, 3)


@given(st.text(alphabet=" \t", max_size=12), st.integers(0, 30))
def test_a_line_loses_the_columns_that_all_have_in_common(blank, columns):
    from passepartout.tangling.sourceblocks import _dedented
    width = len(blank.expandtabs(8))
    made = _dedented(f"{blank}x", columns := min(columns, width))
    assert made.endswith("x") and len(made[:-1].expandtabs(8)) == width - columns and (made[:-1].rstrip(" ").count("\t") == len(made[:-1].rstrip(" ")) or " " in blank)


@settings(max_examples=examples(2_000))
@given(st.text(" \tab-;(:)%é", max_size=20), st.text("a (;:%", max_size=3), st.text("a );", max_size=3))
def test_a_label_is_what_orgs_own_expression_says(line, before, after):
    "Which is in proportion to the square of a long line, and so is not used."
    named = re.compile(r"(?<![ \t])[ \t]*" + re.escape(before) + "[-a-zA-Z0-9_][-a-zA-Z0-9_ ]*" + re.escape(after) + r"\Z")
    bare = named.sub("", shown := line.rstrip(" \t"))
    assert without_label(line, before, after) == (line if bare == shown else bare)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet="=~ ab*/\\", max_size=24))
def test_code_of_a_chapter_is_what_one_expression_would_find(line):
    "The expression says what is meant; it is not used, since it looks from each sign to the end of the line."
    plain = re.compile(r"(?<![\w=~])([=~])(?! )([^\n]+?)(?<! )\1(?![\w=~])")
    assert code_spans(line) == [m.span() for m in plain.finditer(line)]


def test_a_line_of_signs_for_code_takes_linear_time():
    "Sixteen thousand times `=a ` took ten seconds."
    begun = time.thread_time()
    for sign in "=~": assert markdown_text(f"{sign}a " * 16_000) == f"{sign}a " * 16_000
    assert in_time(time.thread_time() - begun, 2)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(st.text(alphabet='ab\n"\\é ', min_size=1, max_size=8), max_size=4), max_size=5), st.booleans())
def test_each_line_of_a_notebook_knows_where_it_stands(cells, plain):
    "However it is written: each line of a cell on a line of its own, as Jupyter does it, with another key of that name before it."
    made = {"cells": [{"cell_type": "code", "metadata": {"source": ["a"]}, "source": pieces} for pieces in cells]}
    text = json.dumps(made, indent=1, ensure_ascii=plain)
    for pieces, lines in zip(cells, cell_lines(text, made["cells"])):
        assert "".join(line.text + "\n" for line in lines) == "".join(piece.removesuffix("\n") + "\n" for piece in pieces)
        of_pieces = iter(lines)
        for piece in pieces:
            for _ in piece.removesuffix("\n").split("\n"): assert text.split("\n")[next(of_pieces).at - 1].strip().rstrip(",") == json.dumps(piece, ensure_ascii=plain)


@pytest.mark.parametrize("cells", [[["\\u0061%d" % n for n in range(20_000)]], [["x"]] * 12_000], ids=["lines", "cells"])
def test_a_notebook_that_is_written_in_its_own_way_takes_linear_time(cells):
    "Letters or keys as escapes: each line was looked for to the end of the file, a minute for a megabyte."
    key = '"sourc\\u0065"' if len(cells) > 1 else '"source"'
    text = '{"cells":[' + ",".join('{"cell_type":"code",%s:[%s]}' % (key, ",".join(f'"{line}"' for line in lines)) for lines in cells) + "]}"
    begun = time.thread_time()
    assert len(page_of(Path("a.ipynb"), text.encode()).sources) == len(cells)
    assert in_time(time.thread_time() - begun, 2)
