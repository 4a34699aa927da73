"""Keep notebooks, text twins, modules, stored outputs, README and CONTRIBUTING in step.

    python tools/nb.py one NAME     carry NAME over, export it, run it, keep its outputs (the editing loop)
    python tools/nb.py build        the same for everything, plus README.md and CONTRIBUTING.md: run this before a commit
    python tools/nb.py sync [NAME]  carry edits between nbs/*.ipynb and nbs/_md/*.md, whichever was edited
    python tools/nb.py export       write passepartout/ from the notebooks
    python tools/nb.py check        compare without writing; exit 1 and say what to run when something drifted
    python tools/nb.py outputs [NAME]  run every notebook, or these, and compare what it prints with what is stored
    nbdev_test 2>&1 | python tools/nb.py promises     say of each page that fails which sentence of it does not hold, and where it stands

`--from twin` or `--from nb` (with `one` and `sync`) says which side wins when the tool cannot know.

A notebook is `nbs/NN_name.ipynb` (or `nbs/gates/name.ipynb`); its twin is `nbs/_md/NN_name.md`. Either may be
edited. Which one was is asked of git, never of file times. The tool notes in the git directory what the pair held
when both sides last agreed; the side that still holds it is the old one. Without such a note, the side that differs
from HEAD is the edited one. When both were edited, nothing is written. A module is always written anew; what somebody
wrote into one by hand is kept in the git directory, and said.
"""
import ast, contextlib, fcntl, functools, hashlib, json, os, random, re, runpy, shutil, subprocess, sys, tempfile
from difflib import SequenceMatcher, get_close_matches, unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NBS, TWINS, LIB = ROOT / "nbs", ROOT / "nbs" / "_md", ROOT / "passepartout"


class Drift(Exception):
    "Something only a person can decide; the message says what and how."


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def notebooks():
    "Every notebook or twin there is, as (notebook, twin) paths, in reading order."
    skip = lambda p, base: any(part[0] in "_." for part in p.relative_to(base).parts)
    names = {p.relative_to(NBS).with_suffix("") for p in NBS.rglob("*.ipynb") if not skip(p, NBS)}
    names |= {p.relative_to(TWINS).with_suffix("") for p in TWINS.rglob("*.md") if not skip(p, TWINS)}
    return [(NBS / n.with_suffix(".ipynb"), TWINS / n.with_suffix(".md")) for n in sorted(names)]


# Reading and writing ------------------------------------------------------------------------------------------------

def write(path: Path, text: str):
    "Write `path` in one step, and only when it changes: somebody else may be reading it."
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def parse_notebook(text: str) -> dict:
    "The notebook as plain JSON, every source joined to one string."
    book = json.loads(text)
    for cell in book["cells"]:
        cell["source"] = "".join(cell["source"])
    return book


def read_notebook(nb: Path) -> dict:
    "The notebook at `nb`. Raises Drift when it cannot be read."
    try:
        return parse_notebook(nb.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise Drift(f"{shown(nb)} is not a readable notebook ({error}); a merge may have left its marks in it. "
                    f"Rebuild it from its twin: python tools/nb.py one {called(nb)} --from twin") from None


def write_notebook(nb: Path, book: dict):
    "Only what belongs in git, in the form `nbdev-clean` leaves: sources, ids, outputs."
    from fastcore.nbio import dict2nb, nb2str
    from nbdev.clean import clean_nb
    cells = [{"cell_type": c["cell_type"], "id": c["id"], "metadata": {}, "source": c["source"],
              **({"execution_count": None, "outputs": [slim(o) for o in c.get("outputs", [])]} if c["cell_type"] == "code" else {})}
             for c in book["cells"]]
    kernel = {"display_name": "python3", "language": "python", "name": "python3"}
    clean = json.loads(nb2str(dict2nb({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})))
    clean_nb(clean)
    write(nb, nb2str(clean))


def cells_of(book: dict):
    "What the two sides have in common: kind and source of every cell that is not empty."
    pairs = [(c["cell_type"], c["source"].strip("\n")) for c in book["cells"]]
    return [(kind, source) for kind, source in pairs if source.strip()]


def from_text(text: str, name: str) -> dict:
    "The cells that a twin's text stands for."
    import jupytext
    book = jupytext.reads(text, fmt="md")
    language = book.metadata.get("jupytext", {}).get("main_language", "python")
    foreign = [language] if language != "python" else re.findall(
        r"^%%(\w+)", "\n".join(c.source.split("\n")[0] for c in book.cells if c.cell_type == "code"), re.M)
    if foreign:
        raise Drift(f"{name}: a ```{foreign[0]} fence would become a cell that runs. "
                    "Write ```console for commands and ```py for code that is only to be read.")
    return {"cells": [{"cell_type": c.cell_type, "source": c.source} for c in book.cells]}


def to_text(book: dict, name: str) -> str:
    "The text that stands for `book`; it reads back as the same cells."
    import jupytext
    from nbformat import v4
    make = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell, "raw": v4.new_raw_cell}
    plain = {"jupytext": {"notebook_metadata_filter": "-all", "cell_metadata_filter": "-all", "main_language": "python"}}
    text = jupytext.writes(v4.new_notebook(cells=[make[k](s) for k, s in cells_of(book)], metadata=plain), fmt="md")
    text = text.rstrip() + "\n"
    if cells_of(from_text(text, name)) != cells_of(book):
        raise Drift(f"{name}: this notebook has no text form that reads back as the same cells; "
                    "the usual reason is a ```python fence inside a prose cell: write ```py there.")
    return text


# Which side was edited ----------------------------------------------------------------------------------------------

def called(nb: Path) -> str:
    "The name of a page, as one says it to this tool."
    return nb.relative_to(NBS).with_suffix("").as_posix()


def git(*args, check=False):
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, check=check)


@functools.cache
def git_dir():
    "A directory of ours inside git's own, or None outside a repository."
    out = git("rev-parse", "--git-path", "notebook-twins")
    return ROOT / out.stdout.decode().strip() if out.returncode == 0 else None


def digest(cells) -> str:
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def note(nb: Path):
    folder = git_dir()
    return folder / shown(nb).replace("/", "%") if folder else None


def remember(nb: Path, cells):
    "Note what both sides of the pair hold now."
    if path := note(nb):
        write(path, digest(cells) + "\n")


def remembered(nb: Path):
    path = note(nb)
    return path.read_text().strip() if path and path.exists() else None


def at_head(path: Path):
    "The text that git has for `path` at HEAD, or None."
    out = git("show", f"HEAD:./{shown(path)}")
    return out.stdout.decode() if out.returncode == 0 else None


def cells_at_head(path: Path):
    text = at_head(path)
    if text is None:
        return None
    return cells_of(from_text(text, shown(path)) if path.suffix == ".md" else parse_notebook(text))


def last_committed(nb: Path, twin: Path):
    "Which side the newest commit that touched the pair changed, when it changed only one."
    paths = git("log", "-1", "--format=", "--name-only", "--relative", "--", shown(nb), shown(twin)).stdout.decode().split()
    sides = {"twin" if p.endswith(".md") else "nb" for p in paths}
    return sides.pop() if len(sides) == 1 else None


def same(nb: Path, twin: Path) -> bool:
    return nb.exists() and twin.exists() and cells_of(read_notebook(nb)) == cells_of(from_text(twin.read_text(encoding="utf-8"), shown(twin)))


def edited(nb: Path, twin: Path) -> str:
    "The side that was edited, 'nb' or 'twin', of a pair that differs. Raises Drift when that cannot be known."
    how = f"or say which one wins: python tools/nb.py one {called(nb)} --from twin (or --from nb)."
    for here, other, side in ((nb, twin, "twin"), (twin, nb, "nb")):
        if not here.exists():
            if at_head(here) is None:
                return side
            raise Drift(f"{shown(here)} was deleted and {shown(other)} was not: delete it as well, restore the first, {how}")
    cells = {"nb": cells_of(read_notebook(nb)), "twin": cells_of(from_text(twin.read_text(encoding="utf-8"), shown(twin)))}
    agreed = remembered(nb)
    old = {side for side in cells if digest(cells[side]) == agreed}
    if not old:
        head = {"nb": cells_at_head(nb), "twin": cells_at_head(twin)}
        old = {side for side in cells if cells[side] == head[side] or cells[side] in (head["nb"], head["twin"])}
        if old == {"nb", "twin"} and (side := last_committed(nb, twin)):
            return side
    if len(old) == 1:
        return "twin" if old == {"nb"} else "nb"
    raise Drift(f"{shown(nb)} and {shown(twin)} were both edited and differ, so nothing was written. "
                f"Undo one of them (git checkout -- FILE) and run this again, {how}")


# Carrying over ------------------------------------------------------------------------------------------------------

def new_id(source: str, taken: set) -> str:
    "An id that depends on the source only, so that two people who carry the same text over get the same notebook."
    for n in range(10_000):
        if (name := hashlib.sha256(f"{n} {source}".encode()).hexdigest()[:8]) not in taken:
            taken.add(name)
            return name


def align(new: list, old: list) -> list:
    """Give the cells of `new` the ids of the cells in `old` they come from, and the outputs where nothing changed.

    Unchanged cells keep theirs in order, moved ones are found by their source, changed ones by likeness."""
    key = lambda c: (c["cell_type"], c["source"].strip("\n"))
    origin, free = {}, set(range(len(old)))
    blocks = SequenceMatcher(None, [key(c) for c in old], [key(c) for c in new], autojunk=False).get_opcodes()
    pair = lambda j, i: (origin.__setitem__(j, i), free.discard(i))
    for tag, i1, i2, j1, j2 in blocks:
        if tag == "equal":
            for i, j in zip(range(i1, i2), range(j1, j2)): pair(j, i)
    for j, cell in enumerate(new):
        if j not in origin and (moved := [i for i in sorted(free) if key(old[i]) == key(cell)]):
            pair(j, moved[0])
    for tag, i1, i2, j1, j2 in blocks:
        if tag != "equal":
            likeness = lambda i, j: SequenceMatcher(None, old[i]["source"], new[j]["source"], autojunk=False).ratio()
            scores = sorted(((-likeness(i, j), i, j) for i in range(i1, i2) for j in range(j1, j2)
                             if old[i]["cell_type"] == new[j]["cell_type"] and i in free and j not in origin))
            for score, i, j in scores:
                if score <= -0.4 and i in free and j not in origin: pair(j, i)
    taken, done = {old[i]["id"] for i in origin.values() if "id" in old[i]}, []
    for j, cell in enumerate(new):
        was = old[origin[j]] if j in origin else {}
        kept = was.get("outputs", []) if was and key(was) == key(cell) else []
        done.append({**cell, "id": was.get("id") or new_id(cell["source"], taken), "outputs": kept})
    return done


def carry_text_over(nb: Path, twin: Path):
    "Twin to notebook. What is missing or full of a merge's marks gets the ids that were committed: the module names them."
    old = {"cells": []}
    for text in (lambda: nb.read_text(encoding="utf-8"), lambda: at_head(nb)):
        try:
            old = parse_notebook(text())
            break
        except (OSError, ValueError, KeyError, TypeError):
            continue
    book = from_text(twin.read_text(encoding="utf-8"), shown(twin))
    book["cells"] = align([c for c in book["cells"] if c["source"].strip()], old["cells"])
    write_notebook(nb, book)


def carry_notebook_over(nb: Path, twin: Path):
    "Notebook to twin; the notebook is cleaned on the way."
    book = read_notebook(nb)
    text = to_text(book, shown(nb))
    book["cells"] = align([c for c in book["cells"] if c["source"].strip()], book["cells"])
    write(twin, text)
    write_notebook(nb, book)


def sync(nb: Path, twin: Path, winner=None):
    "Carry the edited side over. Raises Drift when both were edited."
    with locked():
        if winner is None and same(nb, twin):
            remember(nb, cells_of(read_notebook(nb)))
            return
        side = winner or edited(nb, twin)
        if side == "nb":
            carry_notebook_over(nb, twin)
            print(f"{shown(nb)} -> {shown(twin)}")
        else:
            carry_text_over(nb, twin)
            print(f"{shown(twin)} -> {shown(nb)}")
        remember(nb, cells_of(read_notebook(nb)))


@contextlib.contextmanager
def locked():
    "One writer at a time in this working tree."
    folder = git_dir()
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# Exporting ----------------------------------------------------------------------------------------------------------

def exported(nb: Path) -> dict:
    "What the modules of one notebook should hold, by their paths. Each is made beside the old one, so that nobody imports half of it."
    from nbdev.export import nb_export
    from nbdev.maker import ModuleMaker
    made = {}

    class Beside(ModuleMaker):
        def make(self, *args, **kwargs):
            target, self.fname = self.fname, self.fname.with_name(f"_new_{os.getpid()}_{self.fname.name}")
            try:
                super().make(*args, **kwargs)
                made[Path(target).resolve()] = self.fname.read_text(encoding="utf-8")
            finally:
                self.fname.unlink(missing_ok=True)

    with inside(ROOT):
        nb_export(nb, lib_path=LIB, mod_maker=Beside)
    return made


def export(nb: Path) -> list:
    "Write the modules of one notebook, and give them back."
    made = exported(nb)
    for module, text in made.items():
        keep(module, text, nb)
        write(module, text)
        remember_module(module)
        for folder in module.relative_to(LIB).parents:
            if not (LIB / folder / "__init__.py").exists(): (LIB / folder / "__init__.py").touch()
    return list(made)


def remember_module(module: Path):
    "Note what this tool wrote into a module."
    if path := note(module):
        write(path, hashlib.sha256(module.read_bytes()).hexdigest() + "\n")


def by_hand(module: Path) -> bool:
    "Does a module hold what neither this tool nor a commit put there?"
    if not module.exists() or git_dir() is None: return False
    text = module.read_text(encoding="utf-8", errors="replace")
    return "\n<<<<<<< " not in text and hashlib.sha256(module.read_bytes()).hexdigest() != remembered(module) and text != at_head(module)


def keep(module: Path, text: str, nb: Path):
    "Before a module is written anew as `text`: keep what somebody wrote into it by hand, and say so."
    if not by_hand(module) or (was := module.read_text(encoding="utf-8", errors="replace")) == text: return
    kept = git_dir() / f"{shown(module).replace('/', '%')}.by-hand"
    write(kept, was)
    print(f"{shown(module)} is made from {shown(nb)}, and was edited by hand. It is written anew. What belongs into it has to stand in "
          f"{shown(TWINS / nb.relative_to(NBS).with_suffix('.md'))}; what stood in it is kept in {os.path.relpath(kept, ROOT)}:")
    lost = [line for line in unified_diff(was.splitlines(), text.splitlines(), n=0, lineterm="") if line[:1] == "-" and line[:3] != "---"]
    print(*(f"    {line[:160]}" for line in lost[:8]), *([f"    … {len(lost) - 8} more lines"] if len(lost) > 8 else []), sep="\n")


def unlike_head() -> set:
    "The files of notebooks and modules that are not as they were committed."
    said = git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", shown(NBS), shown(LIB)).stdout.decode()
    top = Path(git("rev-parse", "--show-toplevel").stdout.decode().strip() or ROOT)
    return {(top / each[3:]).resolve() for each in said.split("\0") if each}


def unlike_twins():
    "Pages that differ from their texts, where either was changed since the last commit."
    if not (changed := unlike_head()): return
    for nb, twin in notebooks():
        if {nb.resolve(), twin.resolve()} & changed and not same(nb, twin): yield f"{shown(nb)} and its text twin differ"


def unexported():
    "Modules that are not what their notebooks export, where either was changed since the last commit."
    if not (changed := unlike_head()): return
    for nb, _ in notebooks():
        if not nb.exists(): continue
        name = re.search(r"^#\|\s*default_exp\s+([\w.]+)", "\n".join(c["source"] for c in read_notebook(nb)["cells"]), re.M)
        if name is None or not {nb.resolve(), (LIB / (name[1].replace(".", "/") + ".py")).resolve()} & changed: continue
        for module, text in exported(nb).items():
            if module.exists() and module.read_text(encoding="utf-8") != text:
                yield (f"{shown(module)} is not what {shown(nb)} exports" + (", and was edited by hand: write that into "
                       f"{shown(TWINS / nb.relative_to(NBS).with_suffix('.md'))} instead" if by_hand(module) else ""))


def export_all():
    "What `nbdev-export` does, and the packaged copy of settings.ini."
    from nbdev.doclinks import nbdev_export
    modules = [path for path in unlike_head() if path.suffix == ".py" and path.is_relative_to(LIB) and path.exists()]
    if mine := [module for module in modules if by_hand(module)]:
        for nb, _ in notebooks():
            for module, text in (exported(nb).items() if nb.exists() else ()):
                if module in mine: keep(module, text, nb)
    with inside(ROOT):
        nbdev_export()
    for module in unlike_head():
        if module.suffix == ".py" and module.is_relative_to(LIB) and module.exists(): remember_module(module)
    copy_settings()


def copy_settings():
    if (ROOT / "settings.ini").exists():
        write(LIB / "settings.ini", (ROOT / "settings.ini").read_text(encoding="utf-8"))


@contextlib.contextmanager
def inside(folder: Path):
    "nbdev finds its configuration from the working directory."
    was = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(was)


def orphans():
    "Modules that no notebook exports any more."
    from nbdev.processors import _default_exp
    from fastcore.nbio import read_nb
    made = {LIB / (name.replace(".", "/") + ".py") for nb, _ in notebooks() if nb.exists() and (name := _default_exp(read_nb(nb)))}
    return [p for p in sorted(LIB.rglob("*.py")) if p.name not in ("__init__.py", "__main__.py", "_modidx.py") and p not in made
            and "sample" not in p.relative_to(LIB).parts]


def unfit(nb: Path):
    """What would break the documentation or the export of `nb` although its cells run, one line each.

    The documentation build runs exported cells and every cell that holds an import, and nothing else. It takes the first cell
    for the title, whatever else stands in it. A second line of purpose makes nbdev rewrite passepartout/__init__.py."""
    cells = read_notebook(nb)["cells"]
    if not cells or not re.fullmatch(r"# [^\n]+\n+> [^\n]+\n*", cells[0]["source"]):
        yield (f"{shown(nb)}: the first cell must hold '# name' and one line '> purpose' and nothing else; more would not be "
               "on the page (two blank lines, or a code cell, begin the next cell)")
    for cell in cells:
        if cell["cell_type"] != "code" or re.search(r"^#\|\s*(export|eval:\s*false)", cell["source"], re.M):
            continue
        try:
            tree = ast.parse(cell["source"])
        except SyntaxError:
            continue
        imports, harmless = (ast.Import, ast.ImportFrom), (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        rest = [n for n in tree.body if not isinstance(n, harmless) and not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
        if rest and any(isinstance(n, imports) for n in ast.walk(tree)):
            yield (f"{shown(nb)}: an import shares a cell with other code; give it a cell of its own, because the documentation build "
                   f"runs this cell without the ones before it:\n    " + cell["source"].strip()[:160].replace("\n", "\n    "))


# Running ------------------------------------------------------------------------------------------------------------

def run_each(notebooks, done, workers=2, behind=False):
    """Run notebooks in processes of their own, `workers` at a time, and call `done(notebook, result)` as each ends. Stops when `done` raises.
    With `behind`, what else runs here goes first.

    A result is the notebook with its outputs, or a Drift with the failing cell's traceback. The person's own
    configuration is out of reach, and what depends on hash order or width comes out the same every time."""
    with tempfile.TemporaryDirectory() as tmp:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MEMEX_", "PASSEPARTOUT_", "PROVIDER_")) and not k.endswith("_API_KEY")}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        os.mkdir(left := f"{tmp}/left{'-' * random.randrange(12)}")     # goes with what pages leave in it; no output may hang on how long its name is
        env |= {"TMPDIR": left, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "TZ": "UTC", "COLUMNS": "100", "IN_TEST": "1", "IPYTHONDIR": f"{tmp}/ipython"}
        command = [sys.executable, str(script := ROOT / "tools" / "run_notebook.py"), tmp, str(workers), *map(str, notebooks)]
        if behind and shutil.which("nice"): command[:0] = ["nice", "-n", "5"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT) as runner:
            for line in runner.stdout:
                number, status = map(int, line.split())
                nb, out = notebooks[number], Path(tmp) / f"{number}.ipynb"
                if status == 0 and out.exists():
                    done(nb, json.loads(out.read_text(encoding="utf-8")))
                else:
                    said = (Path(tmp) / f"{number}.err").read_text(errors="replace")
                    done(nb, Drift(f"{shown(nb)} failed (status {status}){place_in_twin(nb, said)}\n{of_ours(said)[-8000:]}"))
        if runner.returncode: raise Drift(f"{script.name} ended with status {runner.returncode}")


def of_ours(said: str) -> str:
    "A traceback without the frames of what runs the cells: they are the same in each, and stand between a person and the line that failed."
    return re.sub(r'  File "[^"\n]*(?:run_notebook\.py|/execnb/[^"\n]*|/IPython/[^"\n]*)", line [^\n]*\n(?:    [^\n]*\n)*', "", said)


def place_in_twin(nb: Path, said: str) -> str:
    """Where in the text twin, which is what people edit, a notebook failed that `said` this, and the sentence above that cell, which is
    what does not hold any more; empty when that cannot be told."""
    cell, line = re.search(r"While Executing Cell #(\d+)", said), re.search(r'File "<ipython-input[^"]*>", line (\d+)', said)
    twin = TWINS / nb.relative_to(NBS).with_suffix(".md")
    try: source = "".join(json.loads(nb.read_text(encoding="utf-8"))["cells"][int(cell[1]) - 1]["source"])
    except (OSError, ValueError, LookupError, TypeError): return ""
    before, found, _ = twin.read_text(encoding="utf-8").partition(f"```python\n{source}\n```") if twin.exists() else ("", "", "")
    if not found: return ""
    above = re.sub(r"^```.*?^```$", "", before, flags=re.M | re.S).rstrip().rpartition("\n\n")[2].replace("\n", " ")         # of the cells between, none says why
    sentence = "" if above.startswith(("#", "`", "|")) else f".\nThe page says there: {above}"
    return f", {shown(twin)}, line {before.count(chr(10)) + 1 + int(line[1] if line else 1)}{sentence}"


def broken_promises(said: str):
    "Of what `nbdev_test` said: for each page that failed, where in the text that is, and the sentence that does not hold."
    for page, part in dict(re.findall(r"^\w+ in ([^\n]+\.ipynb):\n=+\n(.*?)(?=^\w+ in [^\n]+\.ipynb:\n=|\Z)", said, re.M | re.S)).items():
        if NBS in (nb := Path(page)).parents: yield f"{shown(nb)} failed{place_in_twin(nb, part)}"


def run_all(notebooks) -> list:
    "The results of `run_each`, in the order asked for."
    results = {}
    run_each(notebooks, results.__setitem__)
    return [results[nb] for nb in notebooks]


def page_faults(nb: Path):
    "What tools/site.py says of this page, so that its author hears it while the page is open."
    done = subprocess.run([sys.executable, "-W", "ignore", str(ROOT / "tools" / "site.py"), "page", str(nb)], capture_output=True, text=True,
                          cwd=ROOT, stdin=subprocess.DEVNULL)
    return (done.stdout if done.returncode == 0 else done.stderr[-2000:]).splitlines()


def hides(cell) -> bool:
    return bool(re.search(r"^#\|\s*(hide\b|eval:?\s*false|notest)", cell["source"], re.M))


def joined(text) -> str:
    return text if isinstance(text, str) else "".join(text)


def slim(out: dict) -> dict:
    "Outputs keep their text; transient ids, counters and object addresses go."
    kind = out["output_type"]
    address = lambda text: re.sub(r"(<[^\n]*?) at 0x[0-9a-fA-F]+(?=>)", r"\1", joined(text))
    if kind == "stream":
        return {"output_type": kind, "name": out["name"], "text": address(out["text"])}
    if kind == "error":
        return {"output_type": kind, "ename": out["ename"], "evalue": out["evalue"], "traceback": []}
    data = {k: address(v) if k.startswith("text/") else v for k, v in out.get("data", {}).items()}
    return {"output_type": kind, "data": data, "metadata": {}, **({"execution_count": None} if kind == "execute_result" else {})}


def outputs_of(book) -> list:
    "What the reader sees below each cell, in a form that can be compared: (kind, text) pairs."
    text = lambda o: joined(o["text"]) if "text" in o else o.get("evalue") or "\n".join(
        f"{k} {joined(v) if isinstance(v, (str, list)) else json.dumps(v)}" for k, v in sorted(o.get("data", {}).items()))
    return [[(o["output_type"], text(o)) for o in map(slim, c.get("outputs", []))]
            for c in book["cells"] if c["cell_type"] == "code" and not hides({"source": joined(c["source"])})]


def store_outputs(nb: Path, ran: dict):
    "Keep what `nb` printed when it ran, unless somebody edited it meanwhile."
    outputs = {c["id"]: c.get("outputs", []) for c in ran["cells"] if c["cell_type"] == "code"}
    sources = {c["id"]: joined(c["source"]) for c in ran["cells"]}
    with locked():
        book = read_notebook(nb)
        for cell in book["cells"]:
            if cell["cell_type"] == "code" and sources.get(cell["id"]) == cell["source"]:
                cell["outputs"] = [] if hides(cell) else outputs[cell["id"]]
        write_notebook(nb, book)


def run_and_store(notebooks):
    "Run every notebook, keep the outputs of those that run through, and give back what went wrong."
    results = run_all(notebooks)
    for nb, ran in zip(notebooks, results):
        if not isinstance(ran, Drift): store_outputs(nb, ran)
    return [ran for ran in results if isinstance(ran, Drift)]


def complain(problems):
    "Stop with everything that went wrong."
    if problems: raise Drift("\n\n".join(map(str, problems)))


# README -------------------------------------------------------------------------------------------------------------

def for_github(text: str) -> str:
    "Prose of a page as it must stand at the top of the repository: links from there, mermaid the way GitHub has it."
    lines, fence = [], ""
    for line in text.split("\n"):
        if mark := re.match(r"(`{3,}|~{3,})(.*)", line):
            if not fence:
                fence, line = mark[1], re.sub(r"^(`+|~+)\{(\w+)\}", r"\1\2", line)
            elif line.startswith(fence) and not mark[2].strip():
                fence = ""
        elif not fence:
            near = lambda m: m[1] + os.path.normpath("nbs/" + m[2]) if not re.match(r"[a-z][a-z+.-]*:|[#/]", m[2]) else m[0]
            line = re.sub(r"(\]\(|\b(?:src|href)=\")([^)\s\"]+)", near, line)
        lines.append(line)
    return "\n".join(lines)


TOP = {"README.md": "index.ipynb", "CONTRIBUTING.md": "91_change.ipynb"}        # pages that stand at the top of the repository as well


def top_text(page: str) -> str:
    "A page of `nbs/` as the file at the top of the repository has it."
    lines = []
    for cell in read_notebook(NBS / page)["cells"]:
        if cell["cell_type"] == "markdown":
            lines.append(for_github(cell["source"]))
        elif cell["cell_type"] == "code" and not hides(cell):
            source = re.sub(r"^#\|.*\n?", "", cell["source"], flags=re.M).strip()
            if source and not re.search(r"^#\|\s*(echo:\s*false|default_exp|export)", cell["source"], re.M):
                lines.append(f"```python\n{source}\n```")
            for out in cell["outputs"]:
                data = out.get("data", {})
                if "text/markdown" in data:
                    lines.append(for_github(joined(data["text/markdown"]).rstrip()))
                elif text := joined(out.get("text") or data.get("text/plain", "")).rstrip():
                    lines.append(f"```text\n{text}\n```")
    return f"<!-- Generated from nbs/{page} by tools/nb.py. Edit the notebook. -->\n\n" + "\n\n".join(lines).rstrip() + "\n"


def write_tops(pages: list):
    "Write the files at the top that are made of any of these pages."
    for file, page in TOP.items():
        if NBS / page in pages and (NBS / page).exists(): write(ROOT / file, top_text(page))


# The command --------------------------------------------------------------------------------------------------------

def pick(name: str):
    "The one pair that `name` means: `verify`, `13_verify`, `gates/paths`, a path to either side or to the module, as a traceback shows it."
    path = Path(name).with_suffix("") if name.endswith((".ipynb", ".md", ".py")) else Path(name)
    if path.is_absolute() and path.is_relative_to(ROOT): path = path.relative_to(ROOT)
    key = lambda nb: nb.relative_to(NBS).with_suffix("").as_posix()
    plain = lambda nb: re.sub(r"(^|/)\d+[a-z]*_", r"\1", key(nb))
    name = re.sub(r"^(nbs/(_md/)?|passepartout[/.])", "", path.as_posix())
    pairs = notebooks()
    for wanted in (lambda nb: key(nb), lambda nb: plain(nb), lambda nb: plain(nb).replace("/", "."), lambda nb: nb.stem, lambda nb: plain(nb).split("/")[-1]):
        found = [pair for pair in pairs if wanted(pair[0]) == name]
        if len(found) == 1: return found[0]
        if found: raise Drift(f"{name} is the name of several pages: {', '.join(key(nb) for nb, _ in found)}. Say which.")
    near = get_close_matches(name, {form(nb): None for nb, _ in pairs for form in (key, plain)}, 5, 0.6)
    raise Drift(f"No page is called {name}. " + (f"There are {', '.join(near)}." if near else f"They lie in {shown(NBS)}; the name is what stands there, without the ending."))


def unindexed(modules=None):
    "Modules, of all or of these, whose functions and classes are not those that nbdev's index has for them: `one` exports a module, `export` the index as well."
    if not (LIB / "_modidx.py").exists(): return
    index = runpy.run_path(str(LIB / "_modidx.py"))["d"]["syms"]
    defines = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    for module in sorted(LIB.rglob("*.py") if modules is None else modules):
        if module.name.startswith("_"): continue
        name, found = ".".join(module.relative_to(LIB.parent).with_suffix("").parts), set()
        try: body = ast.parse(module.read_text(encoding="utf-8")).body
        except SyntaxError as error:
            yield f"{shown(module)} cannot be read (line {error.lineno}); a merge may have left its marks in it: run python tools/nb.py export"
            continue
        for each in body:
            if isinstance(each, defines): found.add(f"{name}.{each.name}")
            if isinstance(each, ast.ClassDef): found |= {f"{name}.{each.name}.{inner.name}" for inner in each.body if isinstance(inner, defines)}
        if found != set(index.get(name, ())): yield f"{shown(module)} has other names than {shown(LIB / '_modidx.py')}: run python tools/nb.py export"


def check():
    "What drifted, one line each; nothing is written."
    readable = True
    for nb, twin in notebooks():
        try:
            if not nb.exists() or not twin.exists():
                yield f"{shown(nb if nb.exists() else twin)} has no {'text twin' if nb.exists() else 'notebook'}"
            elif not same(nb, twin):
                yield f"{shown(nb)} and its text twin differ"
            if nb.exists(): yield from unfit(nb)
        except Drift as problem:
            readable = False
            yield str(problem)
    for module in orphans() if readable else ():
        yield f"{shown(module)} comes from no notebook: delete it, or name it in a notebook's default_exp"
    if readable: yield from unexported()
    yield from unindexed()
    if (ROOT / "settings.ini").exists() and (not (LIB / "settings.ini").exists() or (LIB / "settings.ini").read_bytes() != (ROOT / "settings.ini").read_bytes()):
        yield "passepartout/settings.ini is not a copy of settings.ini"
    for file, page in TOP.items():
        if (NBS / page).exists() and (not (ROOT / file).exists() or (ROOT / file).read_text(encoding="utf-8") != top_text(page)): yield f"{file} is not what nbs/{page} says"


def stale(wanted=None):
    "Notebooks that print something else than they store: of all, or of the `wanted` pairs."
    pairs = [nb for nb, _ in wanted or notebooks() if nb.exists()]
    for nb, ran in zip(pairs, run_all(pairs)):
        if isinstance(ran, Drift):
            yield str(ran)
            continue
        stored, now = outputs_of(read_notebook(nb)), outputs_of(ran)
        if stored != now:
            old, new = map(str, next((pair for pair in zip(stored, now) if pair[0] != pair[1]), (stored, now)))
            same = len(os.path.commonprefix((old, new)))
            begin = max(same - 100, 0) if same > 200 else 0            # a table of a page is long, and what differs may stand at its end
            cut = lambda text: f"{'…' * bool(begin)}{text[begin:begin + 300]}{'…' * (len(text) > begin + 300)}"
            yield f"{shown(nb)} prints something else than it stores:\n  stored {cut(old)}\n  now    {cut(new)}"


def main(*args):
    winner = None
    if "--from" in args:
        at = args.index("--from")
        winner, args = (args[at + 1:at + 2] or ("",))[0], args[:at] + args[at + 2:]
        if winner not in ("nb", "twin"): raise Drift("--from takes nb or twin")
    verb, *names = args or ("",)
    if verb not in ("one", "build", "sync", "export", "check", "outputs", "promises") or verb == "one" and not names: raise Drift(__doc__)
    if names and verb not in ("one", "sync", "outputs"): raise Drift(f"{verb} is for all pages at once, and takes no name. For one page: python tools/nb.py one {names[0]}")
    pairs = [pick(name) for name in names] if names else notebooks()
    if winner and not names: raise Drift("--from needs the names of the notebooks it is for")
    if verb == "promises":
        for line in broken_promises(sys.stdin.read()): print(line)
    elif verb == "one":
        for nb, twin in pairs: sync(nb, twin, winner)
        modules = [module for nb, _ in pairs for module in export(nb)]
        copy_settings()
        problems = run_and_store([nb for nb, _ in pairs])
        write_tops([nb for nb, _ in pairs])
        complain(problems)
        for line in (*(line for nb, _ in pairs for line in (*unfit(nb), *page_faults(nb))), *unindexed(modules)): print(f"note: {line}")
    elif verb == "sync":
        problems = []
        for nb, twin in pairs:
            try: sync(nb, twin, winner)
            except Drift as problem: problems.append(problem)
        complain(problems)
    elif verb == "export":
        export_all()
    elif verb == "build":
        main("sync")
        export_all()
        problems = run_and_store([nb for nb, _ in notebooks()])
        write_tops([NBS / page for page in TOP.values()])
        complain(problems)
    else:
        drift = list(check() if verb == "check" else stale(pairs))
        for line in drift: print(line)
        if all(": run python " in line for line in drift) and drift: raise Drift("do what is said above")
        if drift: raise Drift("mend what is named above, then run: python tools/nb.py build")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Drift as problem:
        sys.exit(str(problem))
