"The package keeps its shape: rooms import downwards, nothing is shared by accident, nothing heavy loads early, text is never run"
import ast, functools, gc, io, json, re, subprocess, sys, tokenize, tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIB = ROOT / "passepartout"

# A room imports only rooms that stand before it. The rooms of the design's table, in its order, each with the rooms it was
# split into on its line; a name with a star is the rest of a folder, whose rooms do not import each other. A new room is
# placed here before it is written.
ROOMS = """
    lazy unseen records tuples databases collector conditions limits sensitive oneline amounts confinement.roots confinement.descent confinement.openedpath confinement.resources edits filechanges net.addresses net.endpoints net.eventstream net.httpclient net.webclient net.pagetext
    symbols atoms printing plist
    frozen messages labels
    inifile settings inichange redaction.patterns redaction.keyforms redaction.openpasswords redaction.formsearch redaction.assignments redaction.nearby redaction.companions redaction.logins redaction.columns redaction.shaped redaction.knownvalues redaction.disguises redaction.recordtexts redaction.secrets redaction.keyrings
    protocol storage.seal
    storage.chain storage.breaks storage.journalfile storage.images storage.store storage.validity storage.ledger storage.tablecheck storage.erasure journal
    objects changes memory recall
    outline.hashtags outline.codespans org outline.blocks outline.bullets outline.recurrences outline.frontmatter outline.markdown outline.privacy outline.properties awareness.budget awareness.measure outline.elements outline.links outline.live outline.timestamps outline.diarydates outline.datedlines agenda awareness.views wallclock search notes capture daytemplate outline.rewrite outline.filetags outline.renames outline.logbook outline.planning outline.priorities outline.states outline.insertions outline.moves outline.bodytext outline.checkboxes skillfiles.skillchild tangling.headerargs tangling.sourceblocks tangling.noweb tangling.setupfiles tangling.tablevalues tangling.tangle tangling.tanglefiles skillfiles.pagelines tangling.chapter
    indexing.identity indexing.entries indexing.indexfile indexing.identbook indexing.notefiles indexing.database indexing.filerows indexing.sweep indexing.index indexing.query indexing.ranking indexing.finding targets indexing.objectsource indexing.inotify indexing.watch indexing.upkeep awareness.periphery awareness.fovea indexing.embeddings indexing.lent indexing.meaning
    awareness.summaries context
    schedule skills skillfiles.skillpage
    toolbelt.declarations toolbelt.toollines tools rules rulefile toolbelt.veiled toolbelt.notesource toolbelt.findtool toolbelt.firstlines toolbelt.barelines toolbelt.agendatool toolbelt.notetools toolbelt.keyless toolbelt.addressing toolbelt.editor toolbelt.moveedits toolbelt.edittools toolbelt.web
    shell.script shell.words shell.places shell.syscalls shell.sandbox shell.tree shell.reader shell.plain shell.syntax shell.installed shell.calculations shell.values shell.programs shell.table shell.repository shell.changers shell.effort shell.altered shell.ended shell.harm shell.named shell.later shell.standfor shell.talk shell.within shell.offline shell.hostile shell.loss shell.carried shell.writings shell.findings shell.single shell.judge shell.inside shell.run shell.* skillfiles.skilljail toolbelt.walks toolbelt.reach toolbelt.bounds toolbelt.copies toolbelt.steady toolbelt.commandrules toolbelt.commandrun toolbelt.shelltool toolbelt.filesearch toolbelt.filetools toolbelt.serverlist toolbelt.servertools toolbelt.serverbox toolbelt.serverwires toolbelt.serverlogin toolbelt.serverlink
    plans.planforms plans.planreader plan plans.planvalues plans.planrun plans.deciders plans.plantext
    normaliser askgate clearances verify
    cascade.breaker cascade.prices cascade.purse cascade.meter cascade.selector cascade.suppliers cascade.showing cascade.askone backends reflex.dates reflex.spans reflex.whens reflex.repetitions reflex.germandays reflex.german reflex.often reflex.misplaced reflex.doubts reflex.plannedlines reflex.captures reflex.reminders reflex.command reflex.datecommands reflex.commands reflex.lookups reflex.linedates reflex.filenames reflex.statecalls reflex.datecalls reflex.editcalls reflex.edits reflex.references reflex.reading reflex.agendas reflex.searches reflex.tasklists reflex.questions reflex.journals reflex.sequences reflex.asides reflex.answers reflex.dictated reflex.offers reflex.changedmind reflex.birthdays reflex.hours reflex.files reflex.scopes reflex.tables reflex.tabledays reflex.inmonths reflex.tablestats reflex.standing reflex.counts reflex.nights reflex.clocklines reflex.linksto reflex.replies reflex.undoing reflex.reasons reflex.lists reflex.guesses reflex.wishes reflex.paraphrases reflex.passed reflex.below reflex.filestates reflex.sentences reflex.pastes reflex.narrower reflex.followups reflex.persons reflex.corrections reflex.oncemore reflex.grammar providers.reflex providers.proposals providers.dialect providers.failures providers.ahead providers.wire providers.* providers.gguf providers.catalogue
    provenance echoes flow typed
    perceive agreement modelanswer modelprompt
    claims reason lookonly previews lookalikes uncovering recheck actuators results calls
    act exchanges pastturns turns prompts drafts consent.approvals consent.sayings consent.grants consent.endorsements undo sessions services consent.asks consent.attestations plans.planstate plans.planworld plans.planlook plans.planturns plans.plandesk retention archive health skillfiles.skilltalk skillfiles.skillmemory skillfiles.skillfolders skillfiles.skillbook skillfiles.skillwatch skillfiles.skilltools
    loop
    gates.*
    diary jobs
    browser
    workers.*
    conversation opening fitting agent replay learning
    heartbeat
    desk
    serving.sockets backup acceptance
    checkup.patient checkup.rights checkup.machinecheck checkup.recordcheck checkup.notecheck
    doctor
    serving.spans serving.gauges serving.guests serving.following serving.gateway serving.pairing serving.porter serving.telegram serving.requests serving.service configure serving.reception daemon serving.running
    terminal.render terminal.thoughts terminal.costs terminal.progress terminal.draftview terminal.planwords terminal.sessionwords terminal.slash terminal.takeback terminal.lineediting terminal.chat terminal.demo terminal.commandline terminal.client terminal.shelf terminal.listing terminal.completion terminal.notecommands terminal.changecommands terminal.auditcommands terminal.costcommand terminal.doctorcommand terminal.wizard terminal.configurecommand terminal.daemoncommand terminal.backupcommands terminal.sessioncommands terminal.tanglecommand terminal.skillcommands terminal.gatewaycommand terminal.jobscommand terminal.planscommand terminal.rulescommand terminal.serverscommand terminal.approvalscommand
    tui.resident tui.talk tui.entries tui.rows tui.desk tui.entry tui.trial tui.questions tui.picker tui.panes tui.frame tui.hearing tui.app tui.linear tui.* terminal.tuicommand
    terminal.commands terminal.program cli
    __main__
""".split()

TABLE = """conditions plist messages settings protocol journal memory org context skills tools verify plan backends
    perceive reason act loop agent doctor daemon cli""".split()

EXCEPTIONS = {
    ("loop", "cli"): "the contract promises loop.main; it lives in cli and is reached when called",
}

# Only these functions may rebind a module's global, and why.
REBINDING = {}


def modules():
    "Dotted name below the package, path: every exported module."
    for path in sorted(LIB.rglob("*.py")):
        parts = path.relative_to(LIB).with_suffix("").parts
        if path.name not in ("__init__.py", "_modidx.py") and parts[0] != "sample":
            yield ".".join(parts), path


NAMES = [name for name, _ in modules()]
FOLDERS = {name.split(".")[0] for name in NAMES if "." in name}


def rank(room: str) -> int:
    "Where a room stands; -1 when nobody has placed it."
    key = room if room in ROOMS else f"{room.split('.')[0]}.*"
    return ROOMS.index(key) if key in ROOMS else -1


@functools.cache
def text_of(path): return path.read_text()


@functools.cache
def tree_of(path):
    "Without the garbage collector, which would look at every node so far again and again."
    gc.disable()
    try: return ast.parse(text_of(path))
    finally: gc.enable()


@functools.cache
def walked(tree): return tuple(ast.walk(tree))


def nodes_of(path, *words):
    "The nodes of a module in which one of `words` stands: only those are read."
    return walked(tree_of(path)) if any(word in text_of(path) for word in words) else ()


@pytest.fixture(scope="module", autouse=True)
def trees_are_let_go():
    "The nodes of all modules are half a million objects, which would be looked through whenever a later test in this process has the garbage collected."
    yield
    for each in (text_of, tree_of, walked, imports_of): each.cache_clear()


FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
BLOCKS = "body", "orelse", "finalbody", "handlers", "cases"
LEAVES = ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop


def runtime_nodes(tree, calls):
    """Every statement, and with `calls` every call as well, with whether it is part of a function; but those below `if TYPE_CHECKING:`, which never run.

    Most modules have nothing to look for within a statement, where most of their nodes are."""
    todo = [(tree, False)]
    while todo:
        node, late = todo.pop()
        late = late or isinstance(node, FUNCTIONS)
        yield node, late
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test): todo += [(child, late) for child in node.orelse]
        elif calls: todo += [(child, late) for child in ast.iter_child_nodes(node) if not isinstance(child, LEAVES)]
        else: todo += [(child, late) for name in BLOCKS for child in getattr(node, name, ())]


@functools.cache
def imports_of(name, path): return tuple(imported(name, tree_of(path), "import_module" in text_of(path)))


def imported(room: str, tree, calls=True):
    """(module, line, at import time) of every import in `room`, in any function too; relative ones in full.

    nbdev writes `from .plist import x` where the notebook says `from passepartout.plist import x`."""
    packages = {"passepartout", *(f"passepartout.{folder}" for folder in FOLDERS)}
    for node, late in runtime_nodes(tree, calls):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = f"passepartout.{room}".split(".")[:-node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            names = [f"{module}.{a.name}" for a in node.names] if module in packages else [module]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module" and node.args:
            names = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
        else:
            continue
        for name in names:
            yield name, node.lineno, not late


def upward(room: str, imports):
    "Those of what `room` imports that go to rooms which do not stand before it."
    for name, line, _ in imports:
        if name.split(".")[0] != "passepartout" or name.count(".") == 0:
            continue
        parts = name.split(".")[1:]
        other = ".".join(parts[:2]) if parts[0] in FOLDERS else parts[0]
        if other in ("__version__", room) or (room, other) in EXCEPTIONS:
            continue
        if rank(other) < 0 or rank(other) >= rank(room):      # a whole folder stands in one place
            yield f"line {line}: {room} imports {other}, which does not stand before it"


def test_a_room_imports_only_rooms_above_it():
    assert [name for name in NAMES if rank(name) < 0] == [], f"These have no place yet: put them into ROOMS in {Path(__file__).name}"
    assert [wrong for name, path in modules() for wrong in upward(name, imports_of(name, path))] == []


def test_every_folder_is_told_to_who_looks_for_a_room():
    assert set(re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.M)) == FOLDERS


def test_the_notebooks_are_numbered_in_the_order_of_the_rooms():
    numbered = [re.fullmatch(r"\d+[a-z]*_(\w+)", p.stem) for p in sorted((ROOT / "nbs").glob("[0-9]*.ipynb"))]
    order = [m[1] for m in numbered if m[1] in TABLE]
    assert order == sorted(order, key=rank)


# Shared state -------------------------------------------------------------------------------------------------------

MAKERS = {"dict", "list", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque", "ChainMap", "WeakValueDictionary",
          "WeakKeyDictionary", "WeakSet", "SimpleNamespace", "Queue", "LifoQueue", "PriorityQueue"}
CHANGERS = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "popleft", "remove", "discard", "clear"}


def mutable(value) -> bool:
    "A dict, list or set, written out, comprehended or called for."
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in MAKERS
    return isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp))


def shared_state(tree):
    """What two agents in one process would share, one line each.

    Allowed is a table: written in capitals, filled where it is assigned, changed nowhere. Anything else that can change
    belongs to the agent. Class attributes without annotation count as well; `global` does, wherever it stands."""
    tables, nodes = set(), walked(tree)
    for scope in [tree, *(n for n in nodes if isinstance(n, ast.ClassDef))]:
        for node in scope.body:
            if isinstance(node, ast.Assign) or isinstance(node, ast.AnnAssign) and scope is tree and node.value:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Tuple): continue          # what is taken apart is not kept
                    name = ast.unparse(target)
                    if not mutable(node.value) or re.fullmatch(r"_(_\w+_|all)_", name):
                        continue
                    tables.add(name)
                    if not re.fullmatch(r"_*[A-Z][A-Z0-9_]*", name):
                        yield f"line {node.lineno}: {name} is shared and can change: make it the agent's, or a tuple, frozenset or TABLE"
    for node in nodes:
        if isinstance(node, ast.Global):
            if not set(node.names) <= set(REBINDING):
                yield f"line {node.lineno}: global {', '.join(node.names)}: keep it in an object somebody owns"
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.value, ast.Name) and node.value.id in tables:
            written = isinstance(node.ctx, (ast.Store, ast.Del)) or isinstance(node, ast.Attribute) and node.attr in CHANGERS
            if written:
                yield f"line {node.lineno}: {node.value.id} is a table and is changed here"


def test_modules_hold_no_registries():
    assert {name: found for name, path in modules() if (found := list(shared_state(tree_of(path))))} == {}


# What runs text -----------------------------------------------------------------------------------------------------

RUNNERS = {"eval", "exec", "compile", "__import__"}
LOADERS = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code", "codeop"}


def dotted(node):
    "A name with what it is taken from, as it was written; nothing for what is not written as names with dots."
    parts = []
    while isinstance(node, ast.Attribute): node, parts = node.value, [node.attr, *parts]
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def runs_text(tree):
    "Every place where text could become code, or a line for a shell."
    for node in walked(tree):
        if isinstance(node, ast.Call):
            called = dotted(node.func)
            if called in RUNNERS or called.removeprefix("builtins.") in RUNNERS:
                yield f"line {node.lineno}: {called}(…)"
            if called in ("os.system", "os.popen", "subprocess.getoutput", "asyncio.create_subprocess_shell", "yaml.load", "yaml.unsafe_load"):
                yield f"line {node.lineno}: {called}(…)"
            if any(k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value) for k in node.keywords):
                yield f"line {node.lineno}: shell=… in {called}"
        elif isinstance(node, ast.Name) and node.id in RUNNERS and isinstance(node.ctx, ast.Load):
            if not any(isinstance(c, ast.Call) and c.func is node for c in walked(tree)):
                yield f"line {node.lineno}: {node.id} is passed on"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if bad := [n for n in names if n.split(".")[0] in LOADERS]:
                yield f"line {node.lineno}: import {', '.join(bad)}"


# The program in which a skill's code runs. The agent starts it in a process of its own and never calls it.
RUNS_SKILLS = "skillfiles.skillchild"
# A program for people who export their own modules: it runs the one they name, as Python would. No room may bring it into the agent.
RUNS_MODULES = "skillfiles.pagelines"
# Writes the function that makes a record, from the names of its fields and nothing else, as the standard library does.
WRITES_ONE = "records"


def test_text_is_never_run():
    assert {name: found for name, path in modules() if name not in (RUNS_SKILLS, RUNS_MODULES, WRITES_ONE) and (found := list(runs_text(tree_of(path))))} == {}


def test_nobody_forgets_that_he_was_cancelled():
    "`asyncio.wait_for` of Python 3.11 does, when what it waits for comes at the same moment: then who cancelled it waits for ever. `asyncio.timeout` is the same without that."
    assert [f"{name}, line {node.lineno}" for name, path in modules() for node in nodes_of(path, "wait_for") if isinstance(node, ast.Attribute) and node.attr == "wait_for" and ast.unparse(node) == "asyncio.wait_for"] == []


def test_numbered_placeholders_are_given_names():
    "From Python 3.14 on, SQL with ?1 wants a mapping and no sequence: names say that, and say more."
    found = [f"{path.name}: {node.value[:60]}" for path in LIB.rglob("*.py") for node in nodes_of(path, *(f"?{digit}" for digit in range(10)))
             if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"(?:=|\b(?:LIMIT|MATCH|IN|AND|VALUES)\b)[ (]*\?[0-9]", node.value)]
    assert not found, found


def idle(tree, wanted=frozenset()):
    "The names that a module imports and does not use, but for those `wanted` from it by others."
    given = {(alias.asname or alias.name).split(".")[0] for node in walked(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    quoted = [ast.parse(node.value, mode="eval") for node in walked(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w.\[\], |]{1,80}", node.value) and parses(node.value)]      # annotations may be texts
    return given - {node.id for nodes in (walked(tree), *map(ast.walk, quoted)) for node in nodes if isinstance(node, ast.Name)} - wanted


def parses(text):
    try: ast.parse(text, mode="eval")
    except SyntaxError: return False
    return True


def test_nothing_is_imported_that_nobody_uses():
    "An import says what a room depends on. Some rooms are doors: what others take from them counts as used."
    taken = {}
    for source in (*LIB.rglob("*.py"), *Path(__file__).parent.glob("*.py"), *(ROOT / "nbs" / "_md").rglob("*.md")):
        for room, names in re.findall(r"^\s*from (?:passepartout)?\.*([\w.]+) import (\([^)]*\)|[^\n#]*)", source.read_text(), re.M): taken.setdefault(room.rpartition(".")[2], set()).update(re.findall(r"\w+", names))
    assert {name: left for name, path in modules() if (left := idle(tree_of(path), taken.get(name.rpartition(".")[2], set())))} == {}


@pytest.mark.parametrize("source, left", [("import os", {"os"}), ("import os\nos.sep", set()), ("from a import b as c\nb", {"c"}), ("from a import b\ndef f(x: 'b'): ...", set()), ("from a import b\ndef f(x: 'list[b]'): ...", set()), ("import a.b\na.b.c", set())])
def test_idle_imports_are_found(source, left): assert idle(ast.parse(source)) == left


def test_what_is_public_says_what_it_is():
    "The site and an editor show these sentences where a name is met for the first time."
    public = [(name, node) for name, path in modules() for node in tree_of(path).body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_")]
    assert len(public) > 2000
    assert (silent := [f"{name}.{node.name}" for name, node in public if not ast.get_docstring(node)]) == [], f"These do not say what they are; each needs a docstring: {', '.join(silent)}"


SPELT_BY_OTHERS = {"_replace", "_asdict", "_fields", "_make", "_mint"}          # what named tuples call theirs; and what one room alone may call, see below


def private_names(tree):
    "Of a module: the private names it makes, and those it imports from another of ours or reads from an object that is not itself."
    made, taken = set(), set()
    for node in walked(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)): made.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store): made.add(node.id)
        elif isinstance(node, ast.ImportFrom) and node.level: taken |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls", "super()"): taken.add(node.attr)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store): made.add(node.attr)
    return [{name for name in names if name.startswith("_") and not name.startswith("__")} - SPELT_BY_OTHERS for names in (made, taken)]


def twice_named(sources):
    "The names of classes that two of `sources` (room -> tree) have, with these rooms."
    found = {}
    for name, tree in sources:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef): found.setdefault(node.name, []).append(name)
    return {name: rooms for name, rooms in found.items() if len(rooms) > 1}


def test_a_class_has_a_name_of_its_own():
    "A reader, a traceback and the list of names on the site know a class by its name alone."
    assert twice_named((name, tree_of(path)) for name, path in modules()) == {}


def test_classes_of_one_name_are_found():
    source = ast.parse("class Rows: pass\ndef f():\n    class Program: pass")
    assert twice_named([("tui.rows", source), ("verify", source)]) == {"Rows": ["tui.rows", "verify"], "Program": ["tui.rows", "verify"]}


def test_no_room_uses_a_name_that_another_keeps_to_itself():
    "A name with an underscore can be changed by who reads one page. What a second room needs has a name without, and says what it is."
    told = {name: private_names(tree_of(path)) for name, path in modules() if re.search(r"\b_[a-zA-Z]", text_of(path))}
    ours = {each for made, _ in told.values() for each in made}
    assert {name: left for name, (made, taken) in told.items() if (left := (taken - made) & ours)} == {}


@pytest.mark.parametrize("source, taken", [("from .b import _c", {"_c"}), ("from os import _exit", set()), ("x._run()", {"_run"}), ("self._run()", set()), ("x._replace(a=1)", set()), ("x._a = 1", {"_a"}), ("self._a = 1", set()), ("x.__doc__", set())])
def test_names_that_others_keep_are_found(source, taken): assert private_names(ast.parse(source))[1] == taken


def raised_in(body, caught=frozenset()):
    "The names of what these statements raise by calling it, and do not catch themselves; functions within them speak for themselves."
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)): continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name) and node.exc.func.id not in caught: yield node.exc.func.id
        within = caught | {name.id for each in getattr(node, "handlers", ()) if each.type for name in ast.walk(each.type) if isinstance(name, ast.Name)}
        for block in BLOCKS: yield from raised_in([each for part in getattr(node, block, ()) for each in (part.body if isinstance(part, (ast.ExceptHandler, ast.match_case)) else [part])], within if block == "body" else caught)


def unsaid(tree, errors):
    "Public functions that raise one of these `errors` in their own lines, and whose description names none of them."
    todo = [(node, "") for node in tree.body]
    for node, above in todo:
        if isinstance(node, ast.ClassDef): todo += [(each, ast.get_docstring(node) or "") for each in node.body]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            said = set(re.findall(r"\w+", f"{above} {ast.get_docstring(node)}"))
            if ast.get_docstring(node) and (raised := errors.intersection(raised_in(node.body))) and not errors & said: yield f"{node.name} raises {', '.join(raised)}"


def test_who_raises_an_error_says_so():
    "A description says what comes back and how a function refuses. In a command line and a window the descriptions are help for the person."
    bases = {node.name: {dotted(base) for base in node.bases} for _, path in modules() for node in tree_of(path).body if isinstance(node, ast.ClassDef)}
    errors, more = {"PassepartoutError"}, True
    while more: errors |= (more := {name for name, above in bases.items() if above & errors} - errors)
    errors = {name for name in errors if not name.startswith("_")}
    assert len(errors) > 50
    silent = {name: left for name, path in modules() if not name.startswith(("terminal.", "tui.")) and (left := list(unsaid(tree_of(path), errors)))}
    assert silent == {}, f"The docstrings of these do not name an error that they raise themselves: {silent}"


@pytest.mark.parametrize("lines, found", [("raise E('x')", True), ("for n in x:\n  if n: raise E(n)", True), ("try: pass\nexcept E: raise E('x')", True), ("match x:\n  case 1: raise E('x')", True),
                                          ("'Raises `E`.'\nraise E('x')", False), ("try: raise E('x')\nexcept E: pass", False), ("def g(): raise E('x')", False), ("raise F('x')", False)])
def test_errors_that_nobody_speaks_of_are_found(lines, found):
    text = "".join(f"\n  {line}" for line in lines.split("\n"))
    assert bool(list(unsaid(ast.parse("def f():" + text if "Raises" in text else f"def f():\n  'text'{text}"), {"E"}))) is found
    assert not list(unsaid(ast.parse(f"def _f():\n  'text'{text}"), {"E"}))


def test_no_room_reaches_what_runs_a_module():
    for name, path in modules():
        if name != RUNS_MODULES: assert "pagelines" not in path.read_text().replace(f"python -m passepartout.{RUNS_MODULES}", ""), name


def test_records_are_the_one_place_that_writes_a_function():
    assert len(list(runs_text(tree_of(dict(modules())[WRITES_ONE])))) == 1


def test_nobody_calls_what_runs_a_skill():
    taken = [(name, alias.name) for name, path in modules() for node in nodes_of(path, "skillchild") if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("skillchild") for alias in node.names]
    assert {what for _, what in taken} <= {"page_tree", "PARTS"}


def test_one_room_mints_clearances():
    "Complete mediation: who reads the chain has read every way to a permit."
    callers = {name for name, path in modules() for node in nodes_of(path, "_mint") if isinstance(node, ast.Attribute) and node.attr == "_mint"}
    makers = {name for name, path in modules() for node in nodes_of(path, "Clearance(") if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "Clearance"}
    assert (callers, makers) == ({"verify"}, {"clearances"})


# What loads when ----------------------------------------------------------------------------------------------------

HEAVY = {"httpx", "httpcore", "requests", "aiohttp", "typer", "click", "rich", "textual", "prompt_toolkit", "http.server", "socketserver",
         "uvicorn", "tree_sitter", "re2", "watchfiles", "keyring", "mcp", "numpy", "wordllama", "tokenizers", "safetensors", "IPython", "fastcore", "nbdev", "execnb", "jupytext", "pytest"}


def loaded_by(*names):
    "The modules that importing `names` one after the other brings in: a list of sets."
    code = ("import sys, importlib, json\nsteps = []\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\n"
            "    steps.append(sorted(sys.modules))\nprint(json.dumps(steps))")
    out = subprocess.run([sys.executable, "-c", code, *names], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stderr
    return [set(step) for step in json.loads(out.stdout)]


def test_import_passepartout_loads_only_the_standard_library_and_little_of_it():
    new = loaded_by("sys", "passepartout")
    brought = {name.split(".")[0] for name in new[1] - new[0]}
    assert brought - {"passepartout"} <= sys.stdlib_module_names
    assert not brought & {"asyncio", "sqlite3", "ssl", "http", "email", "urllib", "logging", "pydantic"}


def test_the_rooms_of_the_core_load_no_network_terminal_or_parser():
    core = [name for name in sorted(NAMES, key=rank) if 0 <= rank(name) <= rank("agent")]
    problems, before = {}, set()
    for name, now in zip(core, loaded_by(*("passepartout." + n for n in core))):
        if heavy := HEAVY & (now - before):
            problems[name] = sorted(heavy)
        before = now
    assert problems == {}


def test_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plain = lambda needs: {re.match(r"[\w.-]+", need)[0].lower().replace("-", "_") for need in needs}
    needed = plain(project["dependencies"])
    extras = set().union(*(plain(v) for k, v in project.get("optional-dependencies", {}).items() if k != "dev"))
    dist = {"rpds": "rpds_py", "re2": "google_re2", "annotated_types": "pydantic", "pydantic_core": "pydantic", "click": "typer", "opentelemetry": "opentelemetry_sdk", "mcp_types": "mcp", "httpx2": "mcp", "anyio": "mcp"}
    wrong = []
    for name, path in modules():
        for module, line, eager in imports_of(name, path):
            top = module.split(".")[0]
            allowed = needed if eager and rank(name) <= rank("agent") else needed | extras
            if top not in sys.stdlib_module_names and top != "passepartout" and dist.get(top, top) not in allowed:
                wrong.append(f"{name} line {line}: {module} is in no dependency of pyproject.toml")
    assert wrong == []


# The checks themselves ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("source", [
    "tools = {}", "seen: list = []", "CACHE = dict()\ndef f(k): CACHE[k] = 1", "class A:\n    known = []", "import collections\nlast = collections.deque()",
    "NAMES = []\nNAMES.append(1)", "x = 1\ndef f():\n    global x\n    x = 2", "all_of = {k: k for k in 'ab'}"])
def test_shared_state_is_found(source):
    assert list(shared_state(ast.parse(source)))


@pytest.mark.parametrize("source", [
    "NAMES = {'a': 1}", "_TABLE = {k: 1 for k in 'ab'}", "__all__ = ['a']", "names = ('a', 'b')", "names = frozenset({'a'})",
    "from types import MappingProxyType\nnames = MappingProxyType({'a': 1})", "def f():\n    seen = []\n    seen.append(1)", "class A:\n    items: list = []"])
def test_what_cannot_change_is_allowed(source):
    assert not list(shared_state(ast.parse(source)))


@pytest.mark.parametrize("source", [
    "eval('1')", "exec(text)", "import pickle", "from pickle import loads", "import subprocess\nsubprocess.run(text, shell=True)",
    "import os\nos.system(text)", "import builtins\nbuiltins.eval(text)", "run = eval", "compile(text, '', 'exec')"])
def test_running_text_is_found(source):
    assert list(runs_text(ast.parse(source)))


@pytest.mark.parametrize("source", ["import re\nre.compile('a')", "connection.exec(sql)", "import subprocess\nsubprocess.run(['ls'], shell=False)", "'eval(x)'"])
def test_what_only_looks_like_it_is_allowed(source):
    assert not list(runs_text(ast.parse(source)))


@pytest.mark.parametrize("room, source", [
    ("plist", "from passepartout.messages import Signal"), ("act", "def f():\n    from passepartout.agent import Agent"), ("gates.paths", "import passepartout.cli"),
    ("gates.paths", "from passepartout.gates import shell"), ("plist", "import importlib\nimportlib.import_module('passepartout.cli')"),
    ("plist", "from passepartout import reason"), ("messages", "import passepartout.nowhere"), ("plist", "from .messages import Signal"), ("gates.paths", "from ..agent import Agent"),
    ("gates.paths", "from .shell import x"), ("reflex.dates", "from .grammar import x")])
def test_imports_upwards_are_found(room, source):
    assert list(upward(room, imported(room, ast.parse(source))))


@pytest.mark.parametrize("room, source", [
    ("messages", "from passepartout.plist import Keyword"), ("gates.paths", "from passepartout.verify import x"), ("agent", "from passepartout.gates.paths import paths_gate"),
    ("act", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from passepartout.agent import Agent"), ("cli", "from passepartout import __version__"),
    ("gates.paths", "from ..verify import x"), ("reflex.grammar", "from .dates import x"), ("messages", "from .plist import Keyword")])
def test_imports_downwards_are_allowed(room, source):
    assert not list(upward(room, imported(room, ast.parse(source))))


def test_the_http_library_has_one_door():
    found = [name for name, path in modules() for module, *_ in imports_of(name, path) if module.split(".")[0] == "httpx"]
    assert found == ["net.httpclient"]


TABLES = {"shell/syscalls.py", "shell/table.py"}             # rows, one below the other


BEGINS, ENDS = ("FSTRING_START", "TSTRING_START"), ("FSTRING_END", "TSTRING_END")          # from Python 3.12 on an f-string is many tokens, others inside it


def too_wide(text):
    "The numbers of the lines whose code, without texts and remarks, is wider than 170 characters. A cell without a long line is not looked at."
    before = 0
    for cell in re.split(r"^(?=# %% )", text, flags=re.M):
        lines, spared, begun, first_line = cell.splitlines(), Counter(), [], before
        before += len(lines)
        if all(len(line) <= 170 for line in lines): continue
        for token in tokenize.generate_tokens(io.StringIO(cell).readline):
            if tokenize.tok_name[token.type] in BEGINS: begun.append(token.start)
            if token.type not in (tokenize.STRING, tokenize.COMMENT) and tokenize.tok_name[token.type] not in ENDS: continue
            (first, left), (last, right) = token.start if token.type in (tokenize.STRING, tokenize.COMMENT) else begun.pop(), token.end
            for line in range(first, last + 1) if not begun else (): spared[line] += right - left if first == last else 10_000
        yield from [first_line + number for number, line in enumerate(lines, 1) if len(line) - spared[number] > 170]


def test_nobody_has_to_scroll_sideways_to_read_code():
    "Texts, expressions and remarks may be long; the code around them is folded at 140 characters, and 170 are too many."
    paths = [path for path in sorted(LIB.rglob("*.py")) if path.name != "_modidx.py" and path.relative_to(LIB).as_posix() not in TABLES]
    wide = [f"{path.relative_to(ROOT)}:{number}" for path in paths for number in too_wide(path.read_text(encoding="utf-8"))]
    assert not wide, "fold these lines: " + ", ".join(wide)


def test_lines_that_are_too_wide_are_found():
    code = " + ".join(["number"] * 30)
    assert list(too_wide(f"# %% one\nx = 1\n\n# %% two\ny = {code}\nz = '{code}'\nw = 1  # {code}\n\n# %% three\nf(f'{{x}} {code}')\nv = {code}\n")) == [5, 11]


# Pages that can be read ---------------------------------------------------------------------------------------------

ONE_FILE = {"shell/inside"}             # runs as a file of its own within the sandbox, which is shown nothing else of the project; its page says so


def told_code():
    "Name, lines: every cell that a page exports, as its text twin has it."
    for path in sorted((ROOT / "nbs" / "_md").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for cell in re.findall(r"^```python\n(#\| ?exports?\b.*?)\n```$", text, re.M | re.S):
            yield path.relative_to(ROOT / "nbs" / "_md").with_suffix("").as_posix(), cell.count("\n") + 1


def test_a_page_and_a_cell_end_before_their_reader_does():
    "A page that exports more than 350 lines is two rooms, and a cell of more than 45 lines does more than the paragraph before it says."
    cells = list(told_code())
    pages = Counter()
    for name, lines in cells: pages[name] += lines
    assert len(pages) > 400
    assert {name: lines for name, lines in pages.items() if lines > 350 and name not in ONE_FILE} == {}
    assert [cell for cell in cells if cell[1] > 45] == []
