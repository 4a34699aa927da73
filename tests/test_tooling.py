"tools/nb.py keeps notebooks and their text twins in step: whichever side was edited, in a throw-away git repository"
import importlib.util, io, json, os, shutil, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = """
[project]
name = "passepartout"
version = "0"
requires-python = ">=3.11"
[tool.nbdev]
exec_profile = false
put_version_in_init = false
"""
DEMO = """# demo

> Things to carry over

```python
#| default_exp demo
```

Twice as much is what `double` gives:

```python
#| exports
def double(x):
    return 2 * x
```

So it does:

```python
double(21)
```
"""


@pytest.fixture
def project(tmp_path):
    "A repository with one committed pair and the tool loaded for it."
    if shutil.which("git") is None and "CI" not in os.environ: pytest.skip("git is not installed")
    (tmp_path / "nbs" / "_md").mkdir(parents=True)
    (tmp_path / "passepartout").mkdir()
    (tmp_path / "passepartout" / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    (tmp_path / "nbs" / "_md" / "01_demo.md").write_text(DEMO)
    git(tmp_path, "init", "-q", "-b", "main")
    return Project(tmp_path)


def git(folder, *args):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
    return subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True, timeout=120).stdout


class Project:
    def __init__(self, root):
        spec = importlib.util.spec_from_file_location("nb_under_test", root / "tools" / "nb.py")
        self.tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.tool)
        self.tool.page_faults = lambda nb: []                     # tests/test_site.py has these
        self.root, self.nb, self.twin = root, root / "nbs" / "01_demo.ipynb", root / "nbs" / "_md" / "01_demo.md"

    def run(self, *args):
        self.tool.main(*args)

    def commit(self, *paths):
        git(self.root, "add", *(paths or ["-A"]))
        git(self.root, "commit", "-q", "-m", "step")

    def cells(self):
        return json.loads(self.nb.read_text())["cells"]

    def ids(self):
        return {"".join(c["source"]): c["id"] for c in self.cells()}

    def edit_twin(self, old, new):
        assert old in self.twin.read_text()
        self.twin.write_text(self.twin.read_text().replace(old, new))

    def edit_nb(self, old, new):
        book = json.loads(self.nb.read_text())
        hits = [c for c in book["cells"] if old in "".join(c["source"])]
        hits[0]["source"] = "".join(hits[0]["source"]).replace(old, new).splitlines(True)
        hits[0]["metadata"] = {"editable": True}
        self.nb.write_text(json.dumps(book))

    def refuses(self, *args):
        with pytest.raises(self.tool.Drift) as caught:
            self.run(*args)
        return str(caught.value)


@pytest.fixture
def pair(project):
    project.run("sync")
    project.commit()
    return project


@pytest.mark.parametrize("page, names", [("01_demo", "01_demo nbs/01_demo.ipynb nbs/_md/01_demo.md demo.py passepartout/demo.py passepartout.demo"),
                                         ("08a_demo", "08a_demo room/08a_demo nbs/_md/room/08a_demo.md room/demo passepartout/room/demo.py room.demo")])
def test_a_page_is_found_by_what_a_person_has_before_them(project, page, names):
    "Its name, a path to either side, or the module, as a traceback and an import say it."
    (other := project.root / "nbs" / "_md" / "room" / "08a_demo.md").parent.mkdir()
    other.write_text("x")
    assert {project.tool.pick(name)[0].stem for name in names.split()} == {page}


def test_a_name_that_no_page_has_is_told_with_those_that_are_like_it(project):
    assert project.refuses("one", "dmo") == "No page is called dmo. There are demo, 01_demo." and "lie in nbs" in project.refuses("one", "zzz")


@pytest.mark.slow
def test_an_edit_of_the_text_reaches_the_notebook_as_often_as_one_likes(pair):
    for word in ("Thrice", "Four times", "Five times"):       # no commit in between
        pair.edit_twin(pair.twin.read_text().split("\n")[8].split(" as")[0], word)
        pair.run("sync")
        assert any(word in "".join(c["source"]) for c in pair.cells())


def test_an_edit_of_the_notebook_reaches_the_text_and_leaves_a_clean_notebook(pair):
    for old, new in (("Twice", "Thrice"), ("Thrice", "Four times")):
        pair.edit_nb(old, new)
        pair.run("sync")
        assert new in pair.twin.read_text()
    assert all(c["metadata"] == {} for c in pair.cells())
    before = pair.nb.read_text()
    from nbdev.clean import nbdev_clean
    nbdev_clean.__wrapped__(str(pair.nb))
    assert pair.nb.read_text() == before


def test_sides_take_turns(pair):
    pair.edit_nb("Twice", "Thrice")
    pair.run("sync")
    pair.edit_twin("So it does", "Indeed")
    pair.run("sync")
    pair.edit_nb("Indeed", "Behold")
    pair.run("sync")
    assert "Behold" in pair.twin.read_text() and "Thrice" in pair.twin.read_text()


def test_when_both_were_edited_nothing_is_written_and_the_way_out_is_named(pair):
    pair.edit_nb("Twice", "Thrice")
    pair.edit_twin("So it does", "Indeed")
    before = pair.nb.read_text(), pair.twin.read_text()
    said = pair.refuses("sync")
    assert "nbs/01_demo.ipynb" in said and "nbs/_md/01_demo.md" in said and "git checkout" in said and "nb.py one 01_demo --from twin" in said
    assert before == (pair.nb.read_text(), pair.twin.read_text())
    git(pair.root, "checkout", "--", "nbs/01_demo.ipynb")
    pair.run("sync")
    assert "Twice" in pair.twin.read_text() and "Indeed" in pair.nb.read_text()


@pytest.mark.parametrize("winner, word, lost", [("twin", "Indeed", "Thrice"), ("nb", "Thrice", "Indeed")])
def test_a_person_can_say_which_side_wins(pair, winner, word, lost):
    pair.edit_nb("Twice", "Thrice")
    pair.edit_twin("So it does", "Indeed")
    pair.run("sync", "demo", "--from", winner)
    for text in (pair.nb.read_text(), pair.twin.read_text()):
        assert word in text and lost not in text
    assert "--from needs" in pair.refuses("sync", "--from", "nb")


def test_the_same_edit_on_both_sides_is_no_conflict(pair):
    pair.edit_nb("Twice", "Thrice")
    pair.edit_twin("Twice", "Thrice")
    pair.run("sync")
    pair.edit_twin("Thrice", "Four times")
    pair.run("sync")
    assert "Four times" in pair.nb.read_text()


def test_without_a_note_git_decides(pair):
    shutil.rmtree(pair.root / ".git" / "notebook-twins")          # a fresh clone has none
    pair.edit_nb("Twice", "Thrice")
    pair.run("sync")
    assert "Thrice" in pair.twin.read_text()
    pair.commit()
    pair.edit_twin("Thrice", "Twice")
    shutil.rmtree(pair.root / ".git" / "notebook-twins")
    pair.commit("nbs/_md/01_demo.md")                             # out of step in the newest commit already
    pair.run("sync")
    assert "Twice" in pair.nb.read_text()


def test_a_pair_that_nobody_noted_and_git_does_not_know_is_left_alone(project):
    project.run("sync")
    shutil.rmtree(project.root / ".git" / "notebook-twins")
    project.edit_twin("Twice", "Thrice")
    assert "both edited" in project.refuses("sync") and "Twice" in project.nb.read_text()


def test_a_deleted_side_is_not_silently_brought_back(pair):
    pair.nb.unlink()
    assert "was deleted" in pair.refuses("sync") and not pair.nb.exists()
    pair.run("sync", "demo", "--from", "twin")
    assert pair.nb.exists()


def test_a_notebook_full_of_merge_marks_can_be_rebuilt(pair):
    pair.nb.write_text("<<<<<<< ours\n" + pair.nb.read_text())
    assert "--from twin" in pair.refuses("sync")
    assert any("not a readable notebook" in line for line in pair.tool.check())
    pair.run("sync", "demo", "--from", "twin")
    assert list(pair.tool.check()) == []


@pytest.mark.parametrize("lost", ["marks", "deleted"])
def test_a_notebook_that_is_rebuilt_keeps_the_ids_that_were_committed(pair, lost):
    "The comments of the module name them: with others, every part of it would differ."
    pair.twin.write_text(DEMO.replace("return 2 * x", "return x + x"))
    pair.run("sync")
    pair.commit()
    before = pair.nb.read_text()
    if lost == "marks": pair.nb.write_text("<<<<<<< ours\n" + before)
    else: pair.nb.unlink()
    pair.run("sync", "demo", "--from", "twin")
    assert pair.nb.read_text() == before


def test_what_a_merge_left_is_told_by_the_check_and_not_by_a_traceback(pair):
    pair.run("export")
    pair.nb.write_text("<<<<<<< ours\n" + pair.nb.read_text())
    (module := pair.root / "passepartout" / "demo.py").write_text("<<<<<<< ours\n" + module.read_text())
    pair.refuses("check")
    told = list(pair.tool.check())
    assert [each.split(" ", 1)[0] for each in told] == ["nbs/01_demo.ipynb", "passepartout/demo.py"] and "one 01_demo --from twin" in told[0]


@pytest.mark.slow
def test_ids_and_outputs_stay_with_their_cells(pair):
    pair.run("one", "demo")
    before = pair.ids()
    pair.edit_twin("So it does:", "A new paragraph.\n\n```python\nassert double(1) == 2\n```\n\nSo it does:")
    pair.edit_twin("return 2 * x", "return x + x")
    pair.run("sync")
    after = pair.ids()
    assert {k: after[k] for k in before if k in after} == {k: before[k] for k in before if k in after}
    changed = [c["id"] for c in pair.cells() if "x + x" in "".join(c["source"])]
    assert changed == [before["#| exports\ndef double(x):\n    return 2 * x"]]
    assert [c["outputs"][0]["data"]["text/plain"] for c in pair.cells() if "".join(c["source"]) == "double(21)"] == [["42"]]


def test_a_moved_cell_keeps_its_id(pair):
    before = pair.ids()
    text = pair.twin.read_text()
    tail = "So it does:\n\n```python\ndouble(21)\n```\n"
    pair.twin.write_text(text.replace(tail, "").replace("Twice as much", tail + "\nTwice as much"))
    pair.run("sync")
    assert pair.ids()["double(21)"] == before["double(21)"]


@pytest.mark.slow
def test_ids_stay_when_jupytext_itself_does_the_update(pair):
    before = pair.ids()
    pair.edit_twin("So it does:", "Indeed:\n\n```python\ndouble(2)\n```\n\nAnd:")
    command = "--to ipynb --update -o nbs/01_demo.ipynb nbs/_md/01_demo.md".split()
    subprocess.run([sys.executable, "-m", "jupytext", "-q", *command], cwd=pair.root, check=True, timeout=120)
    assert {k: v for k, v in pair.ids().items() if k in before} == {k: v for k, v in before.items() if k in pair.ids()}
    pair.run("sync")                                              # agreed already: nothing to carry
    pair.edit_twin("Indeed", "Behold")
    pair.run("sync")
    assert "Behold" in pair.nb.read_text()


def test_two_people_get_the_same_notebook_from_the_same_text(project):
    project.run("sync")
    first = project.nb.read_text()
    project.nb.unlink()
    project.run("sync")
    assert project.nb.read_text() == first
    assert len({c["id"] for c in project.cells()}) == len(project.cells())


def test_a_fence_without_a_blank_line_before_it_is_not_drift(pair):
    pair.edit_twin("gives:\n\n```python", "gives:\n```python")
    pair.run("sync")
    assert list(pair.tool.check()) == []


@pytest.mark.slow
@pytest.mark.parametrize("fence", ["sh", "bash", "html", "javascript"])
def test_a_fence_that_would_run_by_accident_is_refused(pair, fence):
    pair.edit_twin("So it does:", f"```{fence}\nrm -r build\n```\n\nSo it does:")
    assert "```console" in pair.refuses("sync")


def test_a_notebook_without_a_text_form_is_refused(pair):
    pair.edit_nb("So it does:", "So it does:\n\n```python\nfirst()\n```\n\nthen\n<!-- #endregion -->")
    before = pair.twin.read_text()
    assert "reads back" in pair.refuses("sync") and pair.twin.read_text() == before


@pytest.mark.slow
def test_subfolders_export_as_subpackages(project):
    folder = project.root / "nbs" / "_md" / "gates"
    folder.mkdir()
    (folder / "paths.md").write_text(DEMO.replace("# demo", "# paths").replace("default_exp demo", "default_exp gates.paths"))
    project.run("one", "gates/paths")
    module = project.root / "passepartout" / "gates" / "paths.py"
    assert "def double" in module.read_text() and (module.parent / "__init__.py").exists()
    assert (project.root / "nbs" / "gates" / "paths.ipynb").exists()
    assert [nb.name for nb, _ in project.tool.notebooks()] == ["01_demo.ipynb", "paths.ipynb"]
    assert not any("gates" in line for line in project.tool.check())


@pytest.mark.slow
def test_one_build_and_plain_nbdev_export_agree_to_the_byte(pair):
    pair.run("one", "demo")
    one = (pair.root / "passepartout" / "demo.py").read_bytes()
    pair.run("build")
    pair.commit()
    for script in ("from nbdev.doclinks import nbdev_export as f", "from nbdev.clean import nbdev_clean as f"):
        subprocess.run([sys.executable, "-c", f"{script}; f.__wrapped__()"], cwd=pair.root, check=True, timeout=120)
    assert git(pair.root, "status", "--porcelain") == "" and (pair.root / "passepartout" / "demo.py").read_bytes() == one


@pytest.mark.slow
@pytest.mark.parametrize("command", [("one", "demo"), ("export",), ("build",)])
def test_what_was_written_into_a_module_by_hand_is_told_and_kept(pair, capsys, command):
    module = pair.root / "passepartout" / "demo.py"
    pair.run("one", "demo"); pair.run("export"); pair.commit()
    module.write_text(module.read_text().replace("2 * x", "3 * x"))
    assert any("passepartout/demo.py is not what nbs/01_demo.ipynb exports" in line and "nbs/_md/01_demo.md" in line for line in pair.tool.check())
    assert "3 * x" in module.read_text(), "to look changes nothing"
    capsys.readouterr()
    pair.run(*command)
    said = capsys.readouterr().out
    assert "passepartout/demo.py is made from nbs/01_demo.ipynb" in said and "-    return 3 * x" in said and "nbs/_md/01_demo.md" in said
    kept, = (pair.root / ".git" / "notebook-twins").glob("*.by-hand")
    assert "3 * x" in kept.read_text() and str(kept.relative_to(pair.root)) in said and "2 * x" in module.read_text()
    assert not [line for line in pair.tool.check() if "demo.py" in line]
    pair.run(*command)
    assert "by hand" not in capsys.readouterr().out, "once"


@pytest.mark.slow
def test_a_module_that_was_exported_and_one_that_was_checked_out_are_nobodys_handwork(pair, capsys):
    pair.run("one", "demo"); pair.run("export"); pair.commit()
    for number in ("3", "4"):
        pair.edit_twin(f"return {int(number) - 1} * x", f"return {number} * x")
        assert not [line for line in pair.tool.check() if "by hand" in line]
        pair.run("one", "demo")
    git(pair.root, "checkout", "--", "."); pair.edit_twin("So it does", "Indeed"); pair.run("one", "demo")
    assert "by hand" not in capsys.readouterr().out


def test_a_module_that_lags_behind_its_page_is_drift(pair):
    pair.run("one", "demo"); pair.run("export"); pair.commit()
    pair.edit_twin("2 * x", "5 * x"); pair.run("sync")
    assert [line for line in pair.tool.check() if "demo.py" in line] == ["passepartout/demo.py is not what nbs/01_demo.ipynb exports"]


@pytest.mark.slow
def test_pages_that_were_changed_are_looked_at_without_the_others(pair):
    pair.run("one", "demo"); pair.run("export"); pair.commit()
    assert [*pair.tool.unlike_twins(), *pair.tool.unexported()] == []
    pair.edit_twin("So it does", "Indeed")
    assert list(pair.tool.unlike_twins()) == ["nbs/01_demo.ipynb and its text twin differ"]
    pair.commit()
    assert list(pair.tool.unlike_twins()) == [] and any("differ" in line for line in pair.tool.check()), "what was committed is for the whole check"


def test_names_are_for_the_commands_that_take_them(pair):
    for verb in ("export", "build", "check"): assert "takes no name" in (said := pair.refuses(verb, "demo")) and "one demo" in said
    assert "outputs [NAME]" in pair.refuses("frobnicate", "demo"), "an unknown command is told before an unknown page"


@pytest.mark.slow
def test_outputs_of_one_page_are_those_of_that_page_alone(pair):
    pair.run("one", "demo")
    (pair.root / "nbs" / "_md" / "02_other.md").write_text(DEMO.replace("# demo", "# other").replace("default_exp demo", "default_exp other"))
    pair.run("sync", "other")
    pair.refuses("outputs")                                   # the other page was never run
    pair.run("outputs", "demo")


@pytest.mark.slow
def test_one_page_brings_the_file_that_is_made_of_it(project):
    (project.twin.parent / "index.md").write_text("# Home\n\n> What it is\n\nSee [demo](01_demo.ipynb).\n")
    project.run("one", "demo")
    assert not (project.root / "README.md").exists()
    project.run("one", "index")
    assert "See [demo](nbs/01_demo.ipynb)." in (project.root / "README.md").read_text() and not (project.root / "CONTRIBUTING.md").exists()


@pytest.mark.slow
def test_a_module_that_no_notebook_makes_is_reported(pair):
    pair.run("one", "demo")
    (pair.root / "passepartout" / "gone.py").write_text("x = 1\n")
    assert [line for line in pair.tool.check() if "gone.py" in line] and not [line for line in pair.tool.check() if "demo.py" in line]


@pytest.mark.slow
def test_stored_outputs_are_what_comes_out_again(pair):
    extra = "\n```python\nprint(sorted({'a', 'b'}), {'x', 'y', 'z'})\nobject()\n```\n\n```python\n#| hide\nimport time; print(time.time())\n```\n"
    pair.twin.write_text(pair.twin.read_text() + extra)
    pair.run("one", "demo")
    assert list(pair.tool.stale()) == []
    stored = pair.nb.read_text()
    assert "at 0x" not in stored and "<object>" in stored
    pair.edit_nb("double(21)", "double(4)")
    assert "01_demo.ipynb prints something else" in "".join(pair.tool.stale())


@pytest.mark.slow
def test_of_a_long_output_the_part_that_differs_is_told(pair):
    pair.twin.write_text(pair.twin.read_text() + "\n```python\nprint('x' * 2000, double(3))\n```\n")
    pair.run("one", "demo")
    pair.edit_nb("double(3)", "double(4)")
    stored, now = [line for line in "".join(pair.tool.stale()).splitlines() if line.startswith("  ")]
    assert stored.startswith("  stored …xxx") and "xxx 6" in stored and now.startswith("  now    …xxx") and "xxx 8" in now


@pytest.mark.slow
def test_a_module_whose_names_are_not_in_the_index_is_told_while_its_page_is_open(pair, capsys):
    pair.run("export")
    pair.run("one", "demo")
    assert "_modidx" not in capsys.readouterr().out
    pair.edit_twin("def double(x)", "def twice(x)"); pair.edit_twin("`double`", "`twice`"); pair.edit_twin("double(21)", "twice(21)")
    pair.run("one", "demo")
    assert "note: passepartout/demo.py has other names than passepartout/_modidx.py: run python tools/nb.py export" in capsys.readouterr().out
    said = pair.refuses("check")
    assert said == "do what is said above" and "run python tools/nb.py export" in capsys.readouterr().out, "building everything takes minutes, and is not what is missing"


@pytest.mark.slow
def test_a_failing_cell_is_reported_and_keeps_the_old_outputs(pair):
    pair.run("one", "demo")
    pair.edit_twin("double(21)", "double()")
    said = pair.refuses("one", "demo")
    assert "missing 1 required positional argument" in said and "nbs/01_demo.ipynb failed" in said
    assert "double()" in said and "execnb" not in said and "IPython/" not in said and len(said.splitlines()) < 16, "what runs the cells is not in the way"
    line = pair.twin.read_text().splitlines().index("double()") + 1
    assert f"nbs/_md/01_demo.md, line {line}.\nThe page says there: So it does:\n" in said       # the file that people edit, not only a cell's number, and what does not hold there
    assert not list(pair.root.rglob("*.ipynb.*")), "no half-written file is left"


@pytest.mark.slow
def test_of_what_nbdev_test_says_the_broken_promise_is_told(pair, monkeypatch, capsys):
    "It prints the cell and the assertion. Which promise that was stands above the cell, and who reads a log has no page beside it."
    pair.edit_twin("double(21)\n```", "kept = double(21)\n```\n\n```python\nassert kept == 43\n```")
    pair.run("sync"); capsys.readouterr()
    done = subprocess.run([Path(sys.executable).with_name("nbdev_test")], cwd=pair.root, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(pair.root)})
    assert done.returncode == 1 and "So it does" not in done.stdout + done.stderr
    monkeypatch.setattr(sys, "stdin", io.StringIO(done.stdout + done.stderr))
    pair.run("promises")
    line = pair.twin.read_text().splitlines().index("assert kept == 43") + 1
    assert capsys.readouterr().out == f"nbs/01_demo.ipynb failed, nbs/_md/01_demo.md, line {line}.\nThe page says there: So it does:\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("Success.\n"))
    pair.run("promises")
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_notebook_that_kills_its_process_stops_no_other(pair):
    (pair.twin.parent / "02_room.md").write_text(DEMO.replace("default_exp demo", "default_exp room"))
    pair.edit_twin("double(21)", "import os\nos._exit(7)")
    pair.run("sync")
    died, ran = pair.tool.run_all([pair.nb, pair.nb.with_name("02_room.ipynb")])
    assert "status 7" in str(died) and ran["cells"][-1]["outputs"]


@pytest.mark.slow
def test_outputs_do_not_overwrite_what_was_edited_meanwhile(pair):
    [ran] = pair.tool.run_all([pair.nb])
    pair.edit_twin("double(21)", "double(4)")
    pair.run("sync")
    pair.tool.store_outputs(pair.nb, ran)
    assert [c["outputs"] for c in pair.cells() if "".join(c["source"]) == "double(4)"] == [[]]


@pytest.mark.slow
def test_notebooks_see_neither_the_person_nor_each_other(pair, monkeypatch):
    monkeypatch.setenv("MEMEX_DIR", "/somewhere")
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
    monkeypatch.setenv("PROVIDER_CASCADE", "anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "theirs")
    pair.edit_twin("double(21)", "import os\nos.environ.get('MEMEX_DIR') or os.environ.get('PROVIDER_CASCADE') or os.environ.get('ANTHROPIC_API_KEY'), os.environ['XDG_STATE_HOME'] == '/elsewhere', os.getcwd().split('/')[-1]")
    pair.run("one", "demo")
    assert "(None, False, 'nbs')" in pair.nb.read_text()


@pytest.mark.slow
def test_several_at_once_end_in_a_whole_tree(project):
    (project.twin.parent / "02_room.md").write_text(DEMO.replace("default_exp demo", "default_exp room"))
    call = lambda *args: subprocess.run([sys.executable, "tools/nb.py", *args], cwd=project.root, capture_output=True, text=True, timeout=300)
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda name: call("one", name), ["demo", "room", "demo"]))
    assert [r.stderr for r in results if r.returncode] == []
    assert [line for line in project.tool.check() if "README" not in line] == []


@pytest.mark.slow
def test_the_readme_stands_at_the_top_of_the_repository(project):
    index = "# Passepartout\n\n> An agent\n\n\n[rooms](01_demo.ipynb) [web](https://example.org/x) [part](#use) ![picture](images/a.svg)\n\n" \
            "```{mermaid}\nflowchart LR\n  a --> b\n```\n\n```console\ncat nbs](x)\n```\n\n## Use\n\n```python\n6 * 7\n```\n\n" \
            "```python\n#| hide\n8 * 8\n```\n"
    (project.twin.parent / "index.md").write_text(index)
    (project.twin.parent / "91_change.md").write_text("# Change it\n\n> How\n\n\n[home](index.ipynb)\n")
    project.run("build")
    readme = (project.root / "README.md").read_text()
    assert "[rooms](nbs/01_demo.ipynb) [web](https://example.org/x) [part](#use) ![picture](nbs/images/a.svg)" in readme
    assert "```mermaid\n" in readme and "cat nbs](x)" in readme and "```text\n42\n```" in readme and "64" not in readme
    assert list(project.tool.check()) == []
    (project.root / "README.md").write_text(readme + "x")
    assert "[home](nbs/index.ipynb)" in (project.root / "CONTRIBUTING.md").read_text()
    (project.root / "CONTRIBUTING.md").unlink()
    assert list(project.tool.check()) == ["README.md is not what nbs/index.ipynb says", "CONTRIBUTING.md is not what nbs/91_change.ipynb says"]


@pytest.mark.slow
@pytest.mark.parametrize("old, new, said", [
    ("double(21)", "import os\ndouble(21)", "import shares a cell"),
    ("double(21)", "def f():\n    import os\nf()", "import shares a cell"),
    ("> Things to carry over", "> Things to carry over\n> and more", "first cell"),
    ("> Things to carry over", "> Things to carry over\n\nAnd prose that the page would lose.", "first cell")])
def test_what_breaks_the_documentation_is_said_before_it_does(pair, capsys, old, new, said):
    assert not any(said in line for line in pair.tool.check())
    pair.edit_twin(old, new)
    pair.run("one", "demo")
    assert said in capsys.readouterr().out and any(said in line for line in pair.tool.check())


def test_imports_of_their_own_and_exported_ones_are_fine(pair):
    pair.edit_twin("double(21)", "#| hide\nimport os, sys")
    pair.edit_twin("    return 2 * x", "    import math\n    return math.prod((2, x))")
    pair.run("sync")
    assert list(pair.tool.unfit(pair.nb)) == []


def test_an_unknown_verb_is_answered_with_the_known_ones(pair):
    assert "build" in pair.refuses("what")


def test_a_process_that_has_practised_can_be_forked_and_has_the_home_it_had(tmp_path):
    "A thread would be missing in each fork, and a page that is forked would look for settings where the sample agent had its own."
    code = "import os, sys, threading; sys.path.append(sys.argv[1]); import run_notebook; before = dict(os.environ); run_notebook.practise(); print(threading.active_count(), dict(os.environ) == before, os.listdir(os.environ['HOME']))"
    env = {**{name: value for name, value in os.environ.items() if not name.startswith("XDG_")}, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parents[1] / "tools")], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout == "1 True []\n", done.stderr
