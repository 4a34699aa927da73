"""Render the documentation site: the processed pages, the map of the rooms, the list of names, and the gates in the browser.

    python tools/render.py FOLDER              the whole site
    python tools/render.py FOLDER --only NAME  one page only, 16_reason.ipynb: links to others lead nowhere, and diagrams stay text
    python tools/render.py FOLDER --processed  the pages as `site.py check` has left them
    python tools/render.py --serve FOLDER      look at a rendered site: http://127.0.0.1:8123/

The theme, its search and everything a page loads stand in the folder: no other host is asked when the site is read. What is not in
git (the interpreter for the browser, the program that draws diagrams) comes from npm and PyPI with the versions below and is kept in
build/web. pip install -e '.[dev]' brings the rest; npm has to be installed.
"""
import argparse, ast, functools, html, importlib.util, json, os, posixpath, re, shutil, subprocess, sys, tempfile, zipfile
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
LIB, KEPT, THEME = ROOT / "passepartout", ROOT / "build" / "web", ROOT / "tools" / "theme"
spec = importlib.util.spec_from_file_location("site_pages", Path(__file__).with_name("site.py"))
site_pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(site_pages)

PYODIDE, MERMAID, PYDANTIC = "314.0.7", "11.17.2", "2.14.3"
PLATFORM = ("--python-version", "3.14", "--abi", "cp314", "--platform", "pyemscripten_2026_0_wasm32")     # what that Pyodide is

# The order in which pages are offered: a heading, and what the names of its pages begin with; the longest beginning counts. What fits none comes last. A page that has
# a number stands by that, in whatever folder it is.
PARTS = [
    ("Home", ["index"]), ("Start here", ["00_start"]),
    ("Why", ["80_", "81_", "90_", "90b_"]),
    ("Try", ["82_"]),
    ("Do it yourself", ["3"]),
    ("Work on it", ["91_", "92_"]),
    ("Look it up", ["93_", "94_", "rooms", "names"]),
    ("The rooms: what moves", ["01", "02", "03", "04", "05_"]),
    ("The rooms: what is remembered", ["05", "06", "07"]),
    ("The rooms: notes", ["08"]),
    ("The rooms: what a model is shown", ["08m_", "08n_budget", "08na", "08o", "08p", "09"]),
    ("The rooms: skills and tools", ["10", "11", "12"]),
    ("The rooms: who decides", ["13_", "14b_", "14c_", "14d_", "gates/", "shell/"]),
    ("The rooms: who thinks", ["13", "14", "providers/", "reflex/"]),
    ("The rooms: the pipeline", ["15", "16", "17", "18_"]),
    ("The rooms: on the clock", ["18a", "18b", "18c", "19k", "workers/"]),
    ("The rooms: the agent and the ways in", ["19", "2", "tui/"]),
]
LAST = PARTS[-1][0]


# From a processed notebook to Markdown --------------------------------------------------------------------------------

joined = site_pages.joined


def fenced(text: str, language: str) -> str:
    "`text` in a fence that nothing in it closes."
    ticks = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{ticks} {language}\n{text.rstrip()}\n{ticks}"


def output(out: dict, as_is: bool) -> str:
    "What a cell printed."
    data = out.get("data", {})
    if "text/markdown" in data: return joined(data["text/markdown"])
    if "image/svg+xml" in data: return joined(data["image/svg+xml"])
    if "text/html" in data: return joined(data["text/html"])
    text = re.sub(r"\x1b\[[0-9;]*m", "", joined(out.get("text") or data.get("text/plain", "") or "\n".join(out.get("traceback", []))))
    kind = "console" if text.startswith("$ ") else "text"          # what a command printed is broken at the edge: a sentence in it is one line
    return text if as_is or not text.strip() else fenced(text, f"{{ .{kind} .output }}")


# Code stands on the page and not in its search: it is two thirds of all text, and a reader would wait for it. A function is found by its heading, its signature and its prose.
PYTHON = "{ .python data-search-exclude }"


def code_cell(cell: dict):
    source = joined(cell["source"])
    said = dict(re.findall(r"^#\|\s*([\w-]+)(?::\s*(.*))?$", source, re.M))
    if said.get("include") == "false": return
    text = re.sub(r"^#\|.*\n?", "", source, flags=re.M).strip("\n")
    code = fenced(text, "{ .text }" if said.get("eval") == "false" and text.startswith("$") else PYTHON)
    unsought = " data-search-exclude" * (said.get("folded") == "Imports")           # else they stand in the results before what was looked for
    if "folded" in said: yield f"<details class=\"code\"{unsought} markdown><summary>{said['folded']}</summary>\n\n{code}\n\n</details>"
    elif said.get("echo") != "false" and text: yield code
    for out in cell.get("outputs", []): yield output(out, said.get("output") == "asis")


def markdown_of(name: str, cells: list, link) -> str:
    "One page as the Markdown that MkDocs reads. `link` turns the target of a link into that of the site."
    parts, head = [], {}
    for cell in cells:
        source = joined(cell["source"])
        if cell["cell_type"] == "raw": head |= dict(re.findall(r"^(\w[\w-]*):\s*['\"]?(.*?)['\"]?$", re.sub(r"\n[ \t]+", " ", source), re.M))
        elif cell["cell_type"] == "code": parts += code_cell(cell)
        else: parts.append(source)
    title = head.get("title", name).replace("''", "'")
    lead = f"*{head['description']}*".replace("''", "'") + "{ .lead }" if head.get("description") else ""
    top = "---\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in (("title", title), ("description", head.get("description", "")))) + "---\n"
    body = "\n\n".join(part for part in parts if part.strip())
    return top + f"\n# {title}\n\n{lead}\n\n" + tidy(body, link) + "\n"


def tidy(text: str, link) -> str:
    "Prose as Python-Markdown wants it (a blank line before a list or table), links of the site, diagrams as their fence."
    lines, fence, before = [], "", ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})(.*)", line)
        if mark and not fence:
            fence = mark[1]
            line = line.replace("{mermaid}", "mermaid").replace("{.", "{ .")
            if before.strip(): lines.append("")
        elif fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip(): fence = ""
        else:
            item = r"\s*(?:[-*+]|\d+\.)\s"
            if re.match(item, line) and before.strip() and not re.match(item, before) and not before.startswith("  "): lines.append("")
            if line.startswith("|") and before.strip() and not before.startswith("|"): lines.append("")
            if deep := re.match(r"( +)(?=[-*+\d])", line): line = " " * (4 * ((len(deep[1]) + 1) // 2)) + line.lstrip() if len(deep[1]) < 4 else line
            if line.startswith("[source](") and line.endswith("}"): line = line.replace("){", "){data-search-exclude ", 1)      # thousands of them, and no answer to anything
            line = re.sub(r"(\]\(<?)([^)\s>]+)", lambda m: m[1] + link(m[2]), line)
            line = re.sub(r"(\b(?:href|src)=\")([^\"]+)", lambda m: m[1] + link(m[2]), line)
        lines.append(line)
        before = line
    return "\n".join(lines)


def md_name(notebook: str) -> str:
    return site_pages.html_name(notebook).removesuffix(".html") + ".md"


def there_is(path: str, fragment: str, headings: dict) -> str:
    "The fragment, or what is nearest to it: nbdev links methods and private functions as well, which have no heading of their own."
    if not fragment or fragment in headings.get(path, {fragment}) or (path.removesuffix(".md") + ".html", fragment) not in site_pages.nbdev_targets(): return fragment
    above = fragment.rpartition(".")[0]
    return above if above in headings[path] else ""


def linker(page: str, headings: dict, base: str):
    "How the links of `page` are written: to notebooks, and to the site's own address, as files beside this one."
    def link(target: str) -> str:
        path, _, fragment = target.partition("#")
        if base and path.startswith(base): path, here = path.removeprefix(base) or "index.html", ""
        elif re.match(r"[a-z][a-z0-9+.-]*:", path) or not path: return target
        else: here = posixpath.dirname(page)
        path = posixpath.normpath(posixpath.join(here, path))
        if path.endswith(".ipynb"): path = md_name(path)
        elif path.endswith(".html") and path.removesuffix(".html") + ".md" in headings: path = path.removesuffix(".html") + ".md"
        fragment = there_is(path, fragment, headings)
        return posixpath.relpath(path, posixpath.dirname(page) or ".") + ("#" + fragment if fragment else "")
    return link


# What is drawn from the code -------------------------------------------------------------------------------------------

@functools.cache
def rooms() -> dict:
    "Every exported module: its page, its public names, and which of all names have an entry on the page. Nothing is parsed but the list of names, so that one page is made quickly."
    found = {}
    for path in sorted(LIB.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        made = re.search(r"AUTOGENERATED! DO NOT EDIT! File to edit: (\S+\.ipynb)", text)
        if not made: continue
        public = re.search(r"^__all__ = (\[.*?\])", text, re.M | re.S)
        found[path.relative_to(LIB).with_suffix("").as_posix()] = {"notebook": os.path.relpath(os.path.normpath(path.parent / made[1]), site_pages.NBS), "names": ast.literal_eval(public[1]) if public else [],
                                                                    "described": set(re.findall(r"^(?:async def|def|class) (\w+)", text, re.M))}
    return found


def drawn_rooms() -> dict:
    "The same with the first line of each, and the rooms that it imports, whenever it does."
    found = {}
    for name, room in rooms().items():
        tree = ast.parse((path := LIB / f"{name}.py").read_text(encoding="utf-8"))
        found[name] = room | {"line": (ast.get_docstring(tree) or "").split("\n")[0], "uses": imported(tree, path) & set(rooms())}
    return found


def imported(tree, path: Path) -> set:
    "The modules of the package that are imported anywhere in `tree`."
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom): continue
        base = path.parent.relative_to(LIB).parts
        if node.level: where = "/".join((*base[:len(base) + 1 - node.level], *(node.module or "").split("."))).strip("/")
        elif (node.module or "").split(".")[0] == "passepartout": where = "/".join(node.module.split(".")[1:])
        else: continue
        found |= {where, *(f"{where}/{alias.name}".strip("/") for alias in node.names)}
    return found


def reading_order(notebook: str) -> tuple:
    "Where a page stands among the others: by its number, and those without one behind, by their folder."
    name = notebook.rpartition("/")[2]
    return (0, name) if name[0].isdigit() else (1, notebook)


def part_of(notebook: str) -> str:
    "The heading under which a page stands."
    name = reading_order(notebook)[1]
    return max(((len(start), part) for part, starts in PARTS for start in starts if name.startswith(start)), default=(0, LAST))[1]


FIRST = "The rooms: what moves"


def rooms_page() -> str:
    "The map: which part uses which, drawn, and each room with what it uses and who uses it."
    known, short = drawn_rooms(), lambda part: part.removeprefix("The rooms: ")
    parts = [part for part, _ in PARTS]
    of = {name: part_of(room["notebook"]) for name, room in known.items()}
    many = {}
    for name, room in known.items():
        for other in room["uses"]:
            if of[other] not in (of[name], FIRST): many[of[name], of[other]] = many.get((of[name], of[other]), 0) + 1
    drawn = [f'  p{parts.index(a)} --> p{parts.index(b)}' for (a, b), count in sorted(many.items(), key=lambda i: (parts.index(i[0][0]), parts.index(i[0][1]))) if count >= 12]
    boxes = [f'  p{n}["{short(part)}: {(count := sum(1 for p in of.values() if p == part))} room{"s" * (count != 1)}"]' for n, part in enumerate(parts) if any(part in pair for pair, count in many.items() if count >= 12)]
    text = ["# The map of the rooms", "*Drawn from the imports of the modules when this site was built*{ .lead }",
            f"There are {len(known)} rooms. One may use only rooms above it, and a test holds that order, so what you read from top to bottom never depends on what comes later. "
            f"The diagram has an arrow where a part uses another at least a dozen times. All of them use *{short(FIRST)}*, which is left out: its arrows would hide the others.", "``` mermaid\nflowchart TD\n" + "\n".join(boxes + drawn) + "\n```"]
    used = {name: [other for other, room in known.items() if name in room["uses"]] for name in known}
    there = lambda name: f"[{name.split('/')[-1]}]({md_name(known[name]['notebook'])})"
    for part in parts:
        if part not in of.values(): continue
        text.append(f"## {short(part)[0].upper() + short(part)[1:]}")
        for name in sorted((n for n in known if of[n] == part), key=lambda n: reading_order(known[n]["notebook"])):
            room = known[name]
            listed = lambda names: ", ".join(map(there, sorted(names))) or "nothing"
            text.append(f"**{there(name)}** {room['line']}\n\n<details class=\"code\" markdown><summary>uses {len(room['uses'])}, used by {len(used[name])}</summary>\n\nUses {listed(room['uses'])}.\n\nUsed by {listed(used[name])}.\n\n</details>")
    return "\n\n".join(text) + "\n"


def names_page() -> str:
    "Every public name, with the page that explains it."
    entries = sorted(((n, notebook, module.removesuffix(".py"), documented) for module, n, notebook, documented in site_pages.public_symbols()), key=lambda e: (e[0].lower(), e))
    text, letter = ["# Every public name", f"*{len(entries)} names, each linked to the page that explains it*{{ .lead }}"], ""
    for name, notebook, module, documented in entries:
        if name[0].upper() != letter: text.append(f"## {(letter := name[0].upper())}\n")
        text.append(f"[`{name}`]({md_name(notebook)}{'#' + name.lower() if documented else ''}) <small>{module}</small>  ")
    return "\n".join(text) + "\n"


# Names in code lead to their pages -------------------------------------------------------------------------------------

def names_for(page_html: str) -> dict:
    "The names that the code of a page imports from the package, or that its own room exports, with where they lead."
    plain, known = html.unescape(re.sub(r"<[^>]+>", "", page_html)), rooms()
    found = {}
    for module, listed in re.findall(r"^(?:    )*from passepartout\.([\w.]+) import (.+)$", plain, re.M):
        room = known.get(module.replace(".", "/"))
        for name in re.findall(r"\w+", listed.split("#")[0]):
            if room and name in room["names"]: found[name] = site_pages.html_name(room["notebook"]) + (f"#{name.lower()}" if name in room["described"] else "")       # a constant has no heading
    return found


def link_names(page_html: str, here: str) -> str:
    "The same page with those names as links, in code only."
    places = names_for(page_html)
    if not places: return page_html
    def linked(m):
        target, _, anchor = places[m[2]].partition("#")
        return f'{m[1]}<a href="{posixpath.relpath(target, posixpath.dirname(here) or ".")}{anchor and "#" + anchor}">{m[2]}</a>{m[3]}'
    span = re.compile(rf'(<span class="n[a-z]?">)({"|".join(sorted(map(re.escape, places), key=len, reverse=True))})(</span>)')
    return re.sub(r"<pre.*?</pre>", lambda block: span.sub(linked, block[0]), page_html, flags=re.S)


def wide_diagrams(page_html: str) -> str:
    "Diagrams in a box that scrolls, so that a phone need not shrink them."
    return re.sub(r'<pre class="mermaid">.*?</pre>', lambda found: f'<div class="diagram">{found[0]}</div>', page_html, flags=re.S)


# The gates in the browser ---------------------------------------------------------------------------------------------

def from_npm(name: str, version: str) -> Path:
    "The folder of an npm package, fetched once."
    kept = KEPT / f"{name}-{version}"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["tar", "-xzf", next(Path(folder).glob("*.tgz")).name], cwd=folder, check=True)
            os.rename(Path(folder) / "package", kept)
    return kept


def wheels() -> list:
    "Pydantic and what it needs, as Pyodide runs it."
    kept = KEPT / f"pydantic-{PYDANTIC}-pyodide-{PYODIDE}"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary=:all:", "--implementation", "cp", *PLATFORM, "-d", "wheels", f"pydantic=={PYDANTIC}"], cwd=folder, check=True)
            os.rename(Path(folder) / "wheels", kept)
    return sorted(kept.glob("*.whl"))


def browser_files(folder: Path) -> None:
    "Everything that the page of the gates loads, below FOLDER/browser."
    there = folder / "browser"
    there.mkdir(parents=True, exist_ok=True)
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"): shutil.copy(from_npm("pyodide", PYODIDE) / name, there)
    for wheel in wheels(): shutil.copy(wheel, there)
    with zipfile.ZipFile(there / "passepartout.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        for path in sorted(LIB.rglob("*.py")): pack.write(path, path.relative_to(ROOT).as_posix())
        for path in sorted((LIB / "sample" / "memex").rglob("*")): pack.write(path, "memex/" + path.relative_to(LIB / "sample" / "memex").as_posix())
    for path in sorted((THEME / "browser").iterdir()): shutil.copy(path, there)
    (there / "wheels.json").write_text(json.dumps([wheel.name for wheel in wheels()]))


# The command ----------------------------------------------------------------------------------------------------------

UNSOUGHT = "---\nsearch: {exclude: true}\n---\n"          # lists of what stands elsewhere: a search would find each name once more


def write_pages(source: Path, pages: list, config, drawn: bool = True) -> list:
    "Put the Markdown of all pages below `source`, and those that are drawn from the code; returns the navigation."
    base = (config.doc_host.rstrip("/") + config.doc_baseurl.rstrip("/") + "/") if config.doc_host else ""
    made = {"rooms.md": rooms_page, "names.md": names_page}
    headings = {md_name(name): page.anchors for name, page in site_pages.read_pages().items()} | dict.fromkeys(made, set())
    nav = {}
    for path in pages:
        name = path.relative_to(site_pages.PROC).as_posix()
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        target = source / md_name(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markdown_of(name, cells, linker(name, headings, base)), encoding="utf-8")
        nav.setdefault(part_of(name), []).append(md_name(name))
    for name, write in made.items() if drawn else ():
        (source / name).write_text(UNSOUGHT + write(), encoding="utf-8")
        nav.setdefault(part_of(name.removesuffix(".md")), []).append(name)
    for path in site_pages.PROC.rglob("*"):
        if path.is_file() and path.suffix in (".svg", ".png", ".jpg", ".gif"):
            (target := source / path.relative_to(site_pages.PROC)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return [{part: nav[part][0] if len(nav[part]) == 1 else nav[part]} for part, _ in PARTS if part in nav]


def slug(text: str, separator: str) -> str:
    "The id of a heading, as `site.py check` reads it."
    return next(iter(site_pages.anchors("# " + html.unescape(text))), "section")


def mkdocs(source: Path, folder: Path, nav: list, config) -> list:
    "Run MkDocs; returns what it warned of."
    import logging
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    warned = []
    class Count(logging.Handler):
        def emit(self, record): warned.append(record.getMessage())
    logger = logging.getLogger("mkdocs")
    logger.propagate = False
    logger.addHandler(counter := Count(logging.WARNING))
    made = load_config(str(THEME / "mkdocs.yml"), docs_dir=str(source), site_dir=str(folder), nav=nav, site_url=config.doc_host and config.doc_host + config.doc_baseurl, repo_url=config.git_url or None)
    made["theme"].dirs.insert(0, str(THEME / "pages"))
    made["mdx_configs"]["toc"]["slugify"] = slug
    made.plugins.events["page_content"].append(lambda text, page, **more: wide_diagrams(link_names(text, page.file.dest_uri)))
    try: build(made)
    finally: logger.removeHandler(counter)
    return warned


def tags(page: str) -> str:
    "The tags of a finished page without what stands between them: a page of this site may show a link as text."
    return "\n".join(re.findall(r'<[A-Za-z](?:[^<>"]|"[^"]*")*>', page))


def dead_links(folder: Path) -> list:
    "Links of the finished pages that lead nowhere: to no file of the site, or to a place that its page does not have. Links to names in code are made last, so only here they can be looked at."
    pages = {path.relative_to(folder).as_posix(): tags(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html") if path.name != "404.html"}
    places = {name: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for name, text in pages.items()}
    wrong = set()
    for name, text in pages.items():
        for said in set(re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            link = urlsplit(html.unescape(said))
            if link.scheme or link.netloc: continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(link.path))) if link.path else name
            if (folder / path).is_dir(): path = posixpath.normpath(posixpath.join(path, "index.html"))
            if not (folder / path).exists() or link.fragment and path in places and unquote(link.fragment) not in places[path]: wrong.add(f"{name}: {said} leads nowhere")
    return sorted(wrong)


def page_file(asked: str) -> str:
    "The file name of the page that is asked for by its name or a path, with or without its ending; empty for all pages. Ends with a sentence when there is none."
    if not asked: return ""
    name = re.sub(r"(\.ipynb|\.md)?$", ".ipynb", Path(asked).name, count=1)
    known = {path.name for path in site_pages.NBS.rglob("*.ipynb")}
    near = get_close_matches(name, sorted(known), 3, 0.6)
    if name not in known: sys.exit(f"No page is called {asked}, so none was made." + (f" There are {', '.join(near)}." if near else ""))
    return name


def render(folder: Path, only: str = "", processed: bool = False) -> None:
    from nbdev.config import get_config
    only = page_file(only)
    config = get_config(ROOT)
    with site_pages.alone():
        if not processed: site_pages.process(only)
        pages = sorted((path for path in site_pages.PROC.rglob("*.ipynb") if not any(part[0] in "_." for part in path.relative_to(site_pages.PROC).parts)),
                       key=lambda path: reading_order(path.relative_to(site_pages.PROC).as_posix()))
        with tempfile.TemporaryDirectory() as temporary:
            source = Path(temporary) / "pages"
            nav = write_pages(source, pages, config, not only)
            shutil.copy(THEME / "extra.css", source)
            (source / "assets").mkdir(exist_ok=True)
            if not only: shutil.copy(from_npm("mermaid", MERMAID) / "dist" / "mermaid.min.js", source / "assets")
            if (source / "browser.md").exists(): browser_files(source)
            wrong = mkdocs(source, folder.resolve(), nav, config)
    site_pages.markdown(str(folder))
    print(f"{len(pages)} pages in {folder}" if len(pages) != 1 else f"{folder}/{md_name(pages[0].name).removesuffix('.md')}.html")
    if not only: wrong += dead_links(folder)
    if wrong and not only: sys.exit("\n".join([*wrong, f"{len(wrong)} warnings"]))


def serve(folder: Path) -> None:
    import http.server
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    print("http://127.0.0.1:8123/")
    http.server.ThreadingHTTPServer(("127.0.0.1", 8123), handler).serve_forever()


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--only", default="")
    asked.add_argument("--processed", action="store_true")
    asked.add_argument("--serve", action="store_true")
    said = asked.parse_args()
    serve(said.folder) if said.serve else render(said.folder, said.only, said.processed)
