"""Keep notebooks, text twins, modules, stored outputs and README in step.

    python tools/nb.py one NAME     carry NAME over, export it, run it, keep its outputs (the editing loop)
    python tools/nb.py build        the same for everything, plus README.md: run this before a commit
    python tools/nb.py sync         carry edits between nbs/*.ipynb and nbs/_md/*.md, whichever was edited
    python tools/nb.py check        compare without writing; exit 1 and say what to run when something drifted
    python tools/nb.py outputs      run every notebook and compare what it prints with what is stored

A notebook is `nbs/NN_name.ipynb` (or `nbs/gates/name.ipynb`); its twin is `nbs/_md/NN_name.md`. Either may be
edited. Which one was is asked of git, never of file times: the side that differs from HEAD is the edited one, and
when both differ and disagree nothing is written.
"""
import re, shutil, subprocess, sys
from pathlib import Path

import jupytext
import nbformat

ROOT = Path(__file__).resolve().parents[1]
NBS, TWINS, LIB = ROOT / "nbs", ROOT / "nbs" / "_md", ROOT / "passepartout"


def notebooks():
    "Every notebook or twin there is, as (notebook, twin) paths, in reading order."
    skip = lambda p, base: any(part[0] in "_." for part in p.relative_to(base).parts)
    names = {p.relative_to(NBS).with_suffix("") for p in NBS.rglob("*.ipynb") if not skip(p, NBS)}
    names |= {p.relative_to(TWINS).with_suffix("") for p in TWINS.rglob("*.md")}
    return [(NBS / n.with_suffix(".ipynb"), TWINS / n.with_suffix(".md")) for n in sorted(names)]


def as_text(nb: Path) -> str:
    "What the twin of `nb` should hold."
    return jupytext.writes(jupytext.read(nb), fmt="md")


def bare(text: str) -> str:
    "A twin without the header that jupytext may add, and with one newline at its end."
    return re.sub(r"\A---\n.*?\n---\n+", "", text, flags=re.S).rstrip() + "\n"


def same(nb: Path, twin: Path) -> bool:
    return nb.exists() and twin.exists() and bare(as_text(nb)) == bare(as_text_twin(twin))


def as_text_twin(twin: Path) -> str:
    return jupytext.writes(jupytext.read(twin, fmt="md"), fmt="md")


def at_head(path: Path):
    "The text that git has for `path` at HEAD, or None."
    out = subprocess.run(["git", "show", f"HEAD:{path.relative_to(ROOT).as_posix()}"], cwd=ROOT, capture_output=True)
    return out.stdout.decode() if out.returncode == 0 else None


def edited(nb: Path, twin: Path):
    "Which of the two differs in substance from HEAD: a set of 'nb' and 'twin'."
    sides = set()
    old_nb, old_twin = at_head(nb), at_head(twin)
    if nb.exists() and (old_nb is None or bare(jupytext.writes(jupytext.reads(old_nb, fmt="ipynb"), fmt="md")) != bare(as_text(nb))):
        sides.add("nb")
    if twin.exists() and (old_twin is None or bare(old_twin) != bare(twin.read_text())):
        sides.add("twin")
    return sides


def to_notebook(nb: Path, twin: Path):
    nb.parent.mkdir(parents=True, exist_ok=True)
    args = ["--update"] if nb.exists() else []
    subprocess.run([sys.executable, "-m", "jupytext", "-q", "--to", "ipynb", *args, "-o", str(nb), str(twin)], check=True)
    tidy(nb)


def tidy(nb: Path):
    "Only what belongs in git: sources, ids and outputs."
    book = nbformat.read(nb, as_version=4)
    book.metadata = nbformat.from_dict({"kernelspec": {"display_name": "python3", "language": "python", "name": "python3"}})
    for cell in book.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.execution_count = None
    book.nbformat_minor = 5
    nb.write_text(nbformat.writes(book).rstrip("\n") + "\n")


def sync(nb: Path, twin: Path):
    if same(nb, twin):
        return
    sides = edited(nb, twin)
    if not twin.exists() or sides == {"nb"}:
        twin.parent.mkdir(parents=True, exist_ok=True)
        twin.write_text(bare(as_text(nb)))
        print(f"{nb.relative_to(ROOT)} -> {twin.relative_to(ROOT)}")
    elif not nb.exists() or sides == {"twin"} or at_head(nb) is None:
        to_notebook(nb, twin)
        print(f"{twin.relative_to(ROOT)} -> {nb.relative_to(ROOT)}")
    else:
        sys.exit(f"{nb.relative_to(ROOT)} and {twin.relative_to(ROOT)} were both edited and differ: "
                 "undo one of them (git checkout -- FILE), then run this again.")


def export(nb: Path):
    from nbdev.export import nb_export
    nb_export(nb, lib_path=LIB)


def export_all():
    from nbdev.doclinks import nbdev_export
    nbdev_export()
    shutil.copyfile(ROOT / "settings.ini", LIB / "settings.ini")


def execute(nb: Path):
    "Run `nb` in a fresh process and return it with its outputs."
    code = ("import sys, nbformat, os; os.chdir(sys.argv[1])\n"
            "from execnb.shell import CaptureShell; from execnb.nbio import read_nb, write_nb\n"
            "nb = read_nb(sys.argv[2]); shell = CaptureShell(mpl_format=None)\n"
            "shell.run_all(nb, exc_stop=True); write_nb(nb, sys.argv[3])\n")
    import tempfile
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / nb.name
        run = subprocess.run([sys.executable, "-c", code, str(NBS), str(nb), str(out)], capture_output=True, text=True)
        if run.returncode or not out.exists():
            sys.exit(f"{nb.relative_to(ROOT)} failed:\n{run.stdout[-3000:]}\n{run.stderr[-6000:]}")
        return nbformat.read(out, as_version=4)


def hides(cell):
    return re.search(r"^#\|\s*(hide|eval:\s*false)", cell.source, re.M)


def outputs_of(book):
    "The outputs of each code cell in a form that can be compared."
    pick = lambda o: (o.output_type, "".join(o.get("text", "")), "".join((o.get("data") or {}).get("text/plain", "")))
    return [[pick(o) for o in c.get("outputs", [])] for c in book.cells if c.cell_type == "code"]


def store_outputs(nb: Path):
    book, ran = nbformat.read(nb, as_version=4), execute(nb)
    for cell, new in zip(book.cells, ran.cells):
        if cell.cell_type == "code":
            cell.outputs = [] if hides(cell) else [slim(o) for o in new.get("outputs", [])]
    nb.write_text(nbformat.writes(book).rstrip("\n") + "\n")
    tidy(nb)


def slim(out):
    "Outputs keep their text; transient ids and counters go."
    out.pop("transient", None)
    out.pop("metadata", None)
    if out.output_type in ("display_data", "execute_result"):
        out.metadata = nbformat.from_dict({})
    if out.output_type == "execute_result":
        out.execution_count = None
    return out


def readme_text() -> str:
    "README.md as nbs/index.ipynb says it."
    book, lines = nbformat.read(NBS / "index.ipynb", as_version=4), []
    for cell in book.cells:
        if cell.cell_type == "markdown":
            lines.append(cell.source.replace("](images/", "](nbs/images/").replace('src="images/', 'src="nbs/images/'))
        elif cell.cell_type == "code" and not hides(cell):
            source = re.sub(r"^#\|.*\n?", "", cell.source, flags=re.M).strip()
            if source and not re.search(r"^#\|\s*echo:\s*false", cell.source, re.M):
                lines.append(f"```python\n{source}\n```")
            text = "".join("".join(o.get("text", "")) or "".join((o.get("data") or {}).get("text/plain", "")) for o in cell.outputs)
            if text.strip():
                lines.append("```text\n" + text.rstrip() + "\n```")
    return "<!-- Generated from nbs/index.ipynb by tools/nb.py. Edit the notebook. -->\n\n" + "\n\n".join(lines).rstrip() + "\n"


def pick(name: str):
    found = [(nb, tw) for nb, tw in notebooks() if nb.stem == name or nb.stem.split("_", 1)[-1] == name or nb.relative_to(NBS).with_suffix("").as_posix() == name]
    if len(found) != 1:
        sys.exit(f"{name}: {len(found)} notebooks have that name; there are: " + " ".join(nb.relative_to(NBS).with_suffix("").as_posix() for nb, _ in notebooks()))
    return found[0]


def main(verb="", *names):
    if verb == "one" and names:
        for name in names:
            nb, twin = pick(name)
            sync(nb, twin); export(nb); store_outputs(nb)
    elif verb == "sync":
        for nb, twin in notebooks(): sync(nb, twin)
    elif verb == "export":
        export_all()
    elif verb == "build":
        for nb, twin in notebooks(): sync(nb, twin)
        export_all()
        for nb, _ in notebooks(): store_outputs(nb)
        (ROOT / "README.md").write_text(readme_text())
    elif verb == "check":
        drift = [nb for nb, twin in notebooks() if not same(nb, twin)]
        for nb in drift: print(f"{nb.relative_to(ROOT)} and its text twin differ")
        stale = not (ROOT / "README.md").exists() or (ROOT / "README.md").read_text() != readme_text()
        if stale: print("README.md is not what nbs/index.ipynb says")
        if drift or stale: sys.exit("run: python tools/nb.py build")
    elif verb == "outputs":
        stale = [nb for nb, _ in notebooks() if outputs_of_shown(nbformat.read(nb, as_version=4)) != outputs_of_shown(execute(nb))]
        for nb in stale: print(f"{nb.relative_to(ROOT)} prints something else than it stores")
        if stale: sys.exit("run: python tools/nb.py build")
    else:
        sys.exit(__doc__)


def outputs_of_shown(book):
    shown = [c for c in book.cells if c.cell_type == "code" and not hides(c)]
    return outputs_of(nbformat.from_dict({"cells": shown, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


if __name__ == "__main__":
    main(*sys.argv[1:])
