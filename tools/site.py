"""Check the pages of the documentation site before they are rendered, and write its Markdown edition.

    python tools/site.py check              process every page as the site build does, then read what came out
    python tools/site.py page NOTEBOOK      the same for one page, without the links that leave it
    python tools/site.py markdown FOLDER    put NAME.html.md beside every rendered page NAME.html in FOLDER

`check` needs no browser and no network; `tools/render.py` makes the site. It fails with one line for each broken link, public symbol without a place on
its page, diagram that mermaid would not draw, unbalanced fence, and page that does not say what it promises.
"""
import ast, contextlib, fcntl, functools, json, os, re, shutil, sys, tomllib, warnings
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

tomllib.loads = functools.lru_cache(tomllib.loads)          # nbdev reads pyproject.toml twice for each cell: half of its work went there

ROOT = Path(__file__).resolve().parents[1]
NBS, LIB, PROC = ROOT / "nbs", ROOT / "passepartout", ROOT / "_proc"

# Pages that describe no stage, so they have nothing to promise.
NO_PROMISES = {"index.ipynb", "00_start.ipynb", "80_thesis.ipynb", "81_compare.ipynb", "90_threats.ipynb", "90a_reported.ipynb", "91_change.ipynb", "92_embed.ipynb", "93_reference.ipynb", "94_words.ipynb"}
PROMISES = "What this stage promises"
MADE = {"rooms.html", "names.html"}         # pages that tools/render.py draws from the code

DIAGRAMS = {"flowchart", "graph", "sequenceDiagram", "stateDiagram", "stateDiagram-v2", "classDiagram", "erDiagram", "gantt", "pie",
            "journey", "gitGraph", "mindmap", "timeline", "quadrantChart", "requirementDiagram", "block-beta", "sankey-beta", "xychart-beta"}


def joined(text) -> str:
    return text if isinstance(text, str) else "".join(text)


# Pages --------------------------------------------------------------------------------------------------------------

class Page:
    "One processed page: what a reader of the site would see."

    def __init__(self, name: str, cells: list):
        self.name = name
        self.prose, self.code, self.shown = [], [], []
        for cell in cells:
            source = joined(cell["source"])
            if cell["cell_type"] == "markdown":
                self.prose.append(source)
            elif cell["cell_type"] == "code":
                if not re.search(r"^#\|\s*(?:(?:echo|include):\s*false|folded:)", source, re.M): self.code.append(source)
                for out in cell.get("outputs", []):
                    if "text/markdown" in out.get("data", {}): self.shown.append(joined(out["data"]["text/markdown"]))
        self.anchors = {a for text in self.prose + self.shown for a in anchors(text)} | {"title-block-header"}

    @property
    def html(self) -> str:
        return html_name(self.name)

    def mentions(self, name: str) -> bool:
        "Whether prose or a cell other than the one that defines `name` speaks of it."
        return any(words[name] > (name in made) for words, made in self.words) or name in self.told

    @functools.cached_property
    def words(self) -> list:
        "For each cell of code how often each word stands there, and which names it defines: found once, and not for each name."
        made = re.compile(r"^(?:async )?(?:def|class) (\w+)|^(\w+)\s*(?::[^=\n]+)?=", re.M)
        return [(Counter(re.findall(r"\w+", source)), {name for names in made.findall(source) for name in names}) for source in self.code]

    @functools.cached_property
    def told(self) -> set: return {word for text in self.prose for word in re.findall(r"\w+", text)}

    def defines(self, name: str) -> bool:
        return any(re.search(rf"^{re.escape(name)}\b[^=\n]*=|\b{re.escape(name)}\b.*=", source, re.M) for source in self.code)


def html_name(notebook: str) -> str:
    "The rendered page of a notebook: its number goes, as in nbdev's own rule."
    folder, _, name = notebook.rpartition("/")
    name = re.sub(r"^\d+[a-zA-Z0-9]*_", "", name.lower()).removesuffix(".ipynb") + ".html"
    return f"{folder}/{name}" if folder else name


def without_fences(text: str) -> str:
    "Markdown with its code taken out, in lines that keep their number."
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})(.*)", line)
        if mark and not fence:
            fence, line = mark[1], ""
        elif fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip(): fence = ""
            line = ""
        lines.append(line)
    return "\n".join(lines)


def anchors(text: str):
    "The ids that pandoc gives to the headings of `text`, and those that stand in it."
    text = without_fences(text)
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", text, re.M):
        if own := re.search(r"\{[^}]*#([\w.:-]+)[^}]*\}\s*$", heading):
            yield own[1]
            continue
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\{[^}]*\}\s*$", "", heading)).replace("`", "").replace("*", "")
        slug = re.sub(r"\s+", "-", re.sub(r"[^\w\s.-]", "", plain.strip()).lower())
        yield re.sub(r"^[^a-z]+", "", slug) or "section"
    yield from re.findall(r"\bid=\"([^\"]+)\"", text)
    yield from re.findall(r"\]\{#([\w.:-]+)", text)


# Checks: each yields one line for each thing that is wrong ------------------------------------------------------------

def links(text: str):
    "Targets of the links and pictures in Markdown, code left out."
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "code", without_fences(text), flags=re.S)
    yield from re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", text)
    yield from re.findall(r"\b(?:href|src)=\"([^\"]+)\"", text)
    yield from re.findall(r"^\[[^\]]+\]:\s*(\S+)", text, re.M)


@functools.cache
def nbdev_targets():
    """(page, fragment) of everything that nbdev itself links when prose names it in backticks.

    For methods and private functions it has no heading to go to: such a link opens the page at its top, and that is accepted."""
    import ast
    path = LIB / "_modidx.py"
    index = next((n.value for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.Assign)), None) if path.exists() else None
    symbols = ast.literal_eval(index)["syms"].values() if index else []
    return {tuple(place.split("#")) for module in symbols for place, _ in module.values()}


def broken_links(page: Page, pages: dict, config):
    "Links of `page` that lead nowhere inside the project. Other people's sites are not asked."
    html = {p.html: p for p in pages.values()}
    site = config.doc_host.rstrip("/") + config.doc_baseurl.rstrip("/") + "/" if config.doc_host else None
    code = f"{config.git_url}/blob/{config.branch}/" if config.git_url else None
    for target in (t for text in page.prose + page.shown for t in links(text)):
        path, _, fragment = unquote(target).partition("#")
        if code and target.startswith(code):
            line = fragment.removeprefix("L")
            source = ROOT / path.removeprefix(code)
            if not source.is_file() or fragment and not (line.isdigit() and int(line) <= source.read_text(encoding="utf-8").count("\n") + 1):
                yield f"{page.name}: {target} is no place in the source"
            continue
        inside = path.removeprefix(site) if site and path.startswith(site) else None
        if inside is None and re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        if inside is None:
            inside = os.path.normpath(os.path.join(os.path.dirname(page.name), path)) if path else page.name
        if inside in MADE: continue
        other = pages.get(inside) or html.get(inside or "index.html") or html.get(inside.removesuffix(".md"))
        if other is None:
            if not (NBS / inside).is_file(): yield f"{page.name}: the link to {target} leads nowhere"
        elif fragment and fragment not in other.anchors and (other.html, fragment) not in nbdev_targets():
            yield f"{page.name}: {target}: {other.name} has no heading or symbol #{fragment}"


def public_symbols(of: str = ""):
    "(module, symbol, notebook, whether it is a function or class) for everything in an `__all__`, or in those that the notebook `of` exports."
    import ast
    for path in sorted(LIB.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        made = re.search(r"AUTOGENERATED! DO NOT EDIT! File to edit: (\S+\.ipynb)", text)
        if not made: continue
        notebook = os.path.relpath(os.path.normpath(path.parent / made[1]), NBS)
        if of and notebook != of: continue
        kinds = set(re.findall(r"^(?:async def|def|class) (\w+)", text, re.M))          # nbdev wrote it, so that this can be read without parsing the whole package
        if listed := re.search(r"^__all__ = (\[[^\]]*\])$", text, re.M):
            for name in ast.literal_eval(listed[1]): yield path.relative_to(LIB).as_posix(), name, notebook, name in kinds


def missing_symbols(pages: dict, of: str = ""):
    "Public names that their page does not show, or shows without a word or an example; only those of the page `of`, when it is given."
    for module, name, notebook, documented in public_symbols(of):
        page = pages.get(notebook)
        if page is None:
            yield f"{module}: {name} has no page ({notebook} was not processed)"
        elif documented and name.lower() not in page.anchors:
            yield f"{notebook}: {name} is public and has no entry on its page: is its cell hidden?"
        elif not page.mentions(name) and not (not documented and page.defines(name)):
            yield f"{notebook}: {name} is public, and neither prose nor example mentions it: show it in use or begin its name with _"


def bad_fences(page: Page):
    "Code fences that do not close, and mermaid that would come out as text."
    for text in page.prose:
        fence = ""
        for line in text.split("\n"):
            mark = re.match(r"(`{3,}|~{3,})(.*)", line)
            if mark and not fence:
                fence = mark[1]
                if mark[2].strip().startswith("mermaid"): yield f"{page.name}: ```mermaid is not drawn: write ```{{mermaid}}"
            elif mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        if fence: yield f"{page.name}: a code fence is not closed: {text.strip()[:60]!r}…"


def diagrams(text: str):
    return re.findall(r"^```\{mermaid\}[^\n]*\n(.*?)^```\s*$", text, re.M | re.S)


TAKEN = "call|href|click|style|class|classDef|linkStyle|interpolate|graph|flowchart|subgraph"


def diagram_faults(source: str):
    "What mermaid would stumble over, as far as that can be seen without it."
    lines = [line for line in source.split("\n") if line.strip() and not line.lstrip().startswith("%%")]
    if lines and lines[0].strip() == "---":
        lines = lines[lines.index(next(l for l in lines[1:] if l.strip() == "---"), 1) + 1:] if any(l.strip() == "---" for l in lines[1:]) else []
    keyword = lines[0].split()[0].rstrip(";") if lines else ""
    if keyword not in DIAGRAMS:
        yield f"begins with {keyword!r}, which is no kind of diagram"
        return
    body = [line.strip() for line in lines[1:]]
    starts = r"(subgraph)\b" if keyword in ("flowchart", "graph") else r"(alt|opt|loop|par|critical|break|rect|box)\b"
    if keyword in ("flowchart", "graph", "sequenceDiagram"):
        opened, closed = sum(bool(re.match(starts, line)) for line in body), body.count("end")
        if opened != closed: yield f"opens {opened} blocks and closes {closed}"
    if keyword in ("flowchart", "graph"):
        if not re.fullmatch(r"(?:flowchart|graph)(?:-elk)?(?: (?:TB|TD|BT|RL|LR))?;?", lines[0].strip()): yield f"has no direction that mermaid knows: {lines[0].strip()!r}"
        for line in body:
            if line.count('"') % 2:
                yield f"leaves a quote open: {line!r}"
                continue
            bare = re.sub(r'"[^"]*"', "", line)
            if any(bare.count(a) != bare.count(b) for a, b in ("()", "[]", "{}")) and not re.search(r">[^\]]*\]", bare): yield f"leaves a bracket open: {line!r}"
            elif re.search(r"\[(?![(\[/\\])[^\]]*[(){}]|\|[^|]*[()\[\]{}][^|]*\||(?<![(\[])\((?![(\[])[^)]*[\[\]{}(]", bare): yield f"has brackets inside a label without quotes: {line!r}"
            if re.search(r"(?:^|[\s>\-])end(?:$|[\s\[({\-])", bare) and bare != "end": yield f"uses the word end as a node: {line!r}"
            if taken := re.search(rf"(?:^|>\s*)({TAKEN})\s*(?:$|--|==|-\.)", bare): yield f"uses the word {taken[1]} as a node, which means something to mermaid: {line!r}"
    if keyword == "sequenceDiagram":
        for line in body:
            if ";" in line: yield f"has a semicolon, which ends a statement: {line!r}"


def bad_diagrams(page: Page):
    for number, source in enumerate((d for text in page.prose for d in diagrams(text)), 1):
        for fault in diagram_faults(source): yield f"{page.name}: diagram {number} {fault}"


def exposed(page: Page):
    "Whether a page shows the environment of whoever made it. As the default of a parameter it stood in eight signatures, with every key that was set."
    if any(re.search(r"environ\(\{", text) for text in page.shown + page.prose): yield f"{page.name}: the environment of this machine, with whatever keys are set, would be published"


def addressed(page: Page):
    "Signatures that show where an object lay in memory: it tells a reader nothing, and is another place each time the site is made."
    for text in page.shown:
        if re.search(r"\bat 0x[0-9a-fA-F]{6,}", text):
            name = (re.findall(r"^#+ +(\w+)", text, re.M) or ["an entry"])[0]
            yield f"{page.name}: {name} shows the address of an object: make the default None, or give it a __repr__ that says what it is"


def foreign_sources(page: Page):
    "Entries whose source is in another module than the one that the page exports."
    if not (NBS / page.name).is_file(): return
    book = json.loads((NBS / page.name).read_text(encoding="utf-8"))["cells"]
    for text in page.shown:
        for each, right in zip(SOURCE.findall(text), SOURCE.findall(joined(from_own_module([{"outputs": [{"data": {"text/markdown": text}}]}], book)[0]["outputs"][0]["data"]["text/markdown"]))):
            if each[1] != right[1]: yield f"{page.name}: a source is said to be in {each[1]} and is in {right[1]}"


def silent_pages(pages: dict):
    "Pages that do not say what may be relied on."
    for page in pages.values():
        says = any(re.search(rf"^##\s+{PROMISES}\s*$", without_fences(text), re.M) for text in page.prose)
        if not says and page.name not in NO_PROMISES: yield f"{page.name}: has no section '## {PROMISES}'"
        if says and page.name in NO_PROMISES: yield f"{page.name}: promises something; take it out of NO_PROMISES in tools/site.py"


def same_place(pages: dict):
    "Pages of which only one would be on the site."
    there = {}
    for page in pages.values():
        if (other := there.setdefault(page.html.lower(), page.name)) != page.name: yield f"{page.name} and {other} would both be {page.html}: rename one"


def faults(pages: dict, config):
    yield from same_place(pages)
    for page in pages.values():
        yield from broken_links(page, pages, config)
        yield from bad_fences(page)
        yield from bad_diagrams(page)
        yield from exposed(page)
        yield from addressed(page)
        yield from foreign_sources(page)
    yield from missing_symbols(pages)
    yield from silent_pages(pages)


# The commands -------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def alone():
    "One at a time: nbdev processes pages in one folder of the project, and two who do so at once read each other's halves."
    with open(ROOT / ".site.lock", "w") as lock:
        try: fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build of the site is running here, or what is left of one that was killed; this one waits until it ends.", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


ENTRY = re.compile(r"^show_doc\((\w+)\)", re.M)


def in_code_order(cells: list, book: list) -> list:
    """The cells of a processed page, with the entries of each block in the order in which the notebook `book` defines their names.

    nbdev puts each entry right behind its cell, so the last function of a cell came first, and the code behind it."""
    defined = [name for cell in book for name in re.findall(r"^(?:async )?(?:def|class) (\w+)", joined(cell["source"]), re.M)]
    entry = lambda cell: (found := ENTRY.search(joined(cell["source"]))) and found[1] in defined and found[1]
    cells, block = list(cells), []
    for place, cell in enumerate([*cells, {"cell_type": "markdown", "source": ""}]):
        if cell["cell_type"] == "code" and (entry(cell) or "#| exports: true" in joined(cell["source"])): block.append(place)
        else:
            places = [each for each in block if entry(cells[each])]
            for each, moved in zip(places, sorted((cells[each] for each in places), key=lambda c: defined.index(entry(c)))): cells[each] = moved
            block = []
    return cells


def with_folded_code(cells: list, book: list) -> list:
    """The cells of a processed page, with the code of the notebook `book` that nbdev leaves out: each `#| export` cell behind the entries of its names, to be opened by who wants it.

    nbdev shows `#| exports` and leaves the other out, which was two fifths of all code: a page about a table had no table, and a heading stood above nothing."""
    names = lambda cell: re.findall(r"^(?:async )?(?:def|class) (\w+)|^(?!_all_\b)(\w+)(?:: .*)? = ", joined(cell["source"]), re.M)       # what a module passes on stands with its imports
    places = {cell["id"]: place for place, cell in enumerate(book) if "id" in cell}
    defined = {name: place for place, cell in enumerate(book) if EXPORTED.search(joined(cell["source"])) for pair in names(cell) for name in pair if name}
    owners, owner = [], -1
    for cell in cells:
        entry = ENTRY.search(joined(cell["source"]))
        owner = max(owner, places.get(cell.get("id"), -1), defined.get(entry[1], -1) if entry else -1)
        owners.append(owner)
    made = list(zip(owners, (0 for _ in cells), cells))
    for place, cell in enumerate(book):
        source = joined(cell["source"])
        if cell["cell_type"] != "code" or not FOLDED.search(source): continue
        told = ", ".join(list(dict.fromkeys(name for pair in names(cell) for name in pair if name))[:6]) or "Imports"
        made.append((place, 1, {"cell_type": "code", "metadata": {}, "outputs": [], "source": f"#| folded: {told}\n" + re.sub(r"^#\|.*\n?", "", source, flags=re.M)}))
    return [cell for _, _, cell in sorted(made, key=lambda each: each[:2])]


def beside_their_code(cells: list) -> list:
    """The cells of a page, with the code of each shown definition right behind its entry, and entries without the signature that the code begins with.

    nbdev prints a cell as a whole: of two functions the second stood below the heading of the first, and its own heading above nothing."""
    made, rest = [], list(cells)
    while rest:
        cell = rest.pop(0)
        pieces = definitions(joined(cell["source"])) if cell["cell_type"] == "code" and SHOWN.search(joined(cell["source"])) else {}
        named = lambda other: (found := ENTRY.search(joined(other["source"]))) and found[1] in pieces and found[1]
        entries = {}
        while made and (name := named(made[-1])): entries[name] = made.pop()
        while rest and (name := named(rest[0])): entries[name] = rest.pop(0)
        if not entries: made.append(cell); continue
        text = ""
        for name, piece in pieces.items():
            if name in entries and text: made.append({**cell, "source": text}); text = ""
            if name in entries: made.append(without_signature(entries[name]))
            text = f"{text}\n\n{piece}" if text else options(cell) + piece
        made.append({**cell, "source": text})
    return made


SHOWN = re.compile(r"^#\|\s*exports: true$", re.M)


def options(cell: dict) -> str:
    "What stands above the code of a cell."
    return "".join(re.findall(r"^#\|.*\n", joined(cell["source"]), re.M))


def definitions(source: str) -> dict:
    "The code of a cell, cut behind each function and class, by their names; empty when it is not Python or defines none."
    try: tree = ast.parse(source)
    except SyntaxError: return {}
    lines, made, at = re.sub(r"^#\|.*$", "", source, flags=re.M).split("\n"), {}, 0
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            last, start, at = node.name, at, node.end_lineno
            made[last] = "\n".join(lines[start:at]).strip("\n")
    if made: made[last] = "\n".join([made[last], *lines[at:]]).strip("\n")          # what follows belongs to the last one
    return made


def without_signature(entry: dict) -> dict:
    "An entry without the signature below its heading."
    def mended(output: dict) -> dict:
        text = joined(output.get("data", {}).get("text/markdown", ""))
        return {**output, "data": {**output["data"], "text/markdown": SIGNATURE.sub(r"\1", text)}} if text else output
    return {**entry, "outputs": [mended(output) for output in entry["outputs"]]}


SIGNATURE = re.compile(r"\A(.*?^#+ \w+\n\n)```python\n.*?\n```\n*", re.M | re.S)
EXPORTED = re.compile(r"^#\|\s*exports?\b", re.M)
FOLDED = re.compile(r"^#\|\s*export\b(?!s)", re.M)


LINK_IN_LINK = re.compile(r"\[([^\[\]]*)\[(`[^`]+`)\]\([^)\s]*\)([^\[\]]*)\](?=\()")


def own_words_unlinked(cells: list, book: list, name: str, base: str) -> list:
    """The cells of the page `name`, with links from words that are its own taken off, or led to their entry here; `base` is where the site stands.

    nbdev links a word in backticks, in prose and in docstrings, to whichever room has a public name like it: a parameter, a method or a function of this page went to another's.
    It does so too in what is a link already, which then is read as none, with its brackets and its address in the text: there the one that was written stays."""
    code = "\n".join(joined(cell["source"]) for cell in book if cell["cell_type"] == "code")
    imported = {word for names in re.findall(r"^from passepartout[\w.]* import (\([^)]*\)|.*)$", code, re.M) for word in re.findall(r"\w+", names)}
    own, entries = set(re.findall(r"\w+", code)) - imported, {found[1] for cell in cells if (found := ENTRY.search(joined(cell["source"])))}
    def mended(link: re.Match) -> str:
        word, page, fragment = link.groups()
        if word not in own or page == html_name(name): return link[0]
        return f"[`{word}`]({base}{html_name(name)}#{fragment})" if word in entries else f"`{word}`"
    linked = re.compile(rf"\[`(\w+)`\]\({re.escape(base)}([\w/]+\.html)#([^)\s]*)\)")
    def in_output(output: dict) -> dict:
        text = joined(output.get("data", {}).get("text/markdown", ""))
        return {**output, "data": {**output["data"], "text/markdown": linked.sub(mended, text)}} if text else output
    return [{**cell, "source": linked.sub(mended, LINK_IN_LINK.sub(r"[\1\2\3]", joined(cell["source"])))} if cell["cell_type"] == "markdown"
            else {**cell, "outputs": [in_output(each) for each in cell["outputs"]]} if cell.get("outputs") else cell for cell in cells]


SOURCE = re.compile(r"(\[source\]\([^)#\s]*/blob/[^/)#\s]*/)([\w/]+\.py)#L\d+")


def from_own_module(cells: list, book: list) -> list:
    """The cells of a processed page, with each entry's source in the module that its notebook `book` exports.

    nbdev finds a source by its name alone, and where several rooms have one of that name, in the first of them: every eighth link led into another room."""
    found = next((name for cell in book for name in re.findall(r"^#\|\s*default_exp (\S+)", joined(cell["source"]), re.M)), None)
    module = LIB / f"{found.replace('.', '/')}.py" if found else None
    if module is None or not module.is_file(): return cells
    lines = {}
    for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), 1):
        if made := re.match(r"(?:async )?(?:def|class) (\w+)", line): lines.setdefault(made[1], number)
    def mended(output: dict) -> dict:
        text = joined(output.get("data", {}).get("text/markdown", ""))
        name = (re.findall(r"^#+ +(\w+)\s*$", text, re.M) or [""])[0]
        if name not in lines or not SOURCE.search(text): return output
        place = f"{module.relative_to(ROOT).as_posix()}#L{lines[name]}"
        return {**output, "data": {**output["data"], "text/markdown": SOURCE.sub(lambda link: link[1] + place, text)}}
    return [{**cell, "outputs": [mended(output) for output in cell["outputs"]]} if cell.get("outputs") else cell for cell in cells]


def mend_pages(base: str):
    "Rewrite the processed pages: entries in the order of the code, no link from a word of a page to another's, every source in the page's own module, and all of its code, each definition behind its entry."
    for path in sorted(PROC.rglob("*.ipynb")):
        name = path.relative_to(PROC).as_posix()
        if not (NBS / name).exists(): continue
        page, book = json.loads(path.read_text(encoding="utf-8")), json.loads((NBS / name).read_text(encoding="utf-8"))["cells"]
        cells = beside_their_code(with_folded_code(from_own_module(own_words_unlinked(in_code_order(page["cells"], book), book, name, base), book), book))
        if cells != page["cells"]: path.write_text(json.dumps({**page, "cells": cells}, ensure_ascii=False, indent=1), encoding="utf-8")


def process(only: str = ""):
    "Process every page the way the site build does, which runs their imports and exported cells; or those whose file name is `only`."
    sys.path[0] = str(ROOT)         # the package, and not this folder: its site.py is not Python's
    from fastcore.parallel import parallel
    from nbdev import serve
    # nbdev's workers begin anew. These are forked: what every page needs is imported once, and settings are read once.
    serve.parallel = lambda work, files, n_workers, **options: parallel(work, files, n_workers=n_workers, method="fork")
    with contextlib.suppress(Exception): import execnb.shell, nbdev.showdoc, passepartout.agent          # noqa: F401    a page whose rooms cannot be imported says so itself
    os.chdir(ROOT)
    warnings.simplefilter("ignore")          # they would stand on the pages
    type(os.environ).__repr__ = lambda environ: "os.environ"          # and so would the keys of whoever makes them: the signature of a function shows its defaults
    shutil.rmtree(PROC, ignore_errors=True)
    try:
        serve.proc_nbs(file_glob=only)
        from nbdev.config import get_config
        config = get_config()
        mend_pages(config.doc_host.rstrip("/") + config.doc_baseurl.rstrip("/") + "/")
    except Exception as error:
        sys.exit(f"The documentation build fails. It runs exported cells and cells with imports, and nothing else:\n{error}")


def read_pages() -> dict:
    paths = [p for p in sorted(PROC.rglob("*.ipynb")) if not any(part[0] in "_." for part in p.relative_to(PROC).parts)]
    return {name: Page(name, json.loads(path.read_text(encoding="utf-8"))["cells"]) for path in paths for name in [path.relative_to(PROC).as_posix()]}


def check_page(notebook: str):
    "Process one page in memory and print what is wrong with it."
    from fastcore.nbio import nb2dict, read_nb
    from nbdev.processors import FilterDefaults
    path = Path(notebook).resolve()
    name = path.relative_to(NBS).as_posix()
    sys.path[0] = str(ROOT)
    os.chdir(ROOT)
    os.environ["IN_TEST"] = "1"
    book = read_nb(path)
    try:
        FilterDefaults()(book)
    except Exception as error:
        print(f"{name}: the documentation build fails. It runs exported cells and cells with imports, and nothing else:\n{error}")
        return
    page = Page(name, json.loads(json.dumps(nb2dict(book)))["cells"])
    for line in (*bad_fences(page), *bad_diagrams(page), *silent_pages({name: page}), *missing_symbols({name: page}, name)): print(line)


def check():
    from nbdev.config import get_config
    with alone():
        process()
        pages = read_pages()
    found = list(dict.fromkeys(faults(pages, get_config(ROOT))))
    for line in found: print(line)
    if found: sys.exit(f"{len(found)} faults on {len(pages)} pages")
    symbols = sum(1 for _ in public_symbols())
    drawn = sum(len(diagrams(text)) for page in pages.values() for text in page.prose)
    print(f"{len(pages)} pages, {symbols} public symbols, {drawn} diagrams: in order")


def markdown(folder: str):
    "The text twins, under the names that the modules' docstrings link to."
    for twin in sorted((NBS / "_md").rglob("*.md")):
        page = Path(folder) / (html_name(twin.relative_to(NBS / "_md").with_suffix(".ipynb").as_posix()) + ".md")
        if page.with_suffix("").exists():
            text = twin.read_text(encoding="utf-8")
            near = lambda m: m[1] + html_name(m[2]) + (m[3] or "") + ")"
            page.write_text(re.sub(r"(\]\()((?![a-z]+:)[^)#\s]+\.ipynb)(#[^)]*)?\)", near, text), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]: check()
    elif len(sys.argv) == 3 and sys.argv[1] == "page": check_page(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "markdown": markdown(sys.argv[2])
    else: sys.exit(__doc__)
