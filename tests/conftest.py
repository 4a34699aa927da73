"""What holds for all tests.

Hypothesis looks for counterexamples in new places with every run, which is what one wants at home, where it takes an eighth of the
examples each time (`CI=true pytest` takes them all). In CI a run must mean the same twice: there the examples are derived from the
tests themselves, so that a change fails for what it did and for nothing else.

Nothing that runs here, in this process or in one that it starts, may see the agent of the person who runs the tests: their skills and
rules would decide, their settings would count, their keys would be spent, and the index of the tests' notes would lie in their cache.

What the tests write lies in memory where there is room for it, and of tests that fail it stays there; `TMPDIR=DIR pytest` has it on a disk.

The notebooks (test_notebooks.py) run beside the other tests, which often wait and leave a core idle: they begin with the first test
and are asked how it went at the end.
"""
import atexit
import collections
import faulthandler
import functools
import gc
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from concurrent.futures import Future
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import settings


def examples(n):
    "How many examples a law is tried with: `n` in CI, an eighth of it at home, where each run looks in other places and there are many runs."
    return n if os.environ.get("CI") else max(20, n // 8)


@functools.cache
def org_version() -> tuple[int, ...]:
    "Which Org the Emacs of this machine has, as in (9, 7, 11)."
    done = subprocess.run(["emacs", "--batch", "-Q", "--eval", "(progn (require 'org) (princ (org-version)))"], capture_output=True, text=True, timeout=120)
    return tuple(map(int, re.findall(r"\d+", done.stdout)))


def thinned(values, every):
    """The parameters of a family of tests: each `every`-th is for every run, the others are slow ones, which CI runs with the rest of these.

    Two members of such a family seldom fail apart. In a table of all pairs take a number that has no divisor in common with the length of its rows, so that every row and every column has one in every run."""
    mark = lambda value, number: pytest.param(*value if isinstance(value, tuple) else (value,), marks=[pytest.mark.slow] if number % every else [])
    return [mark(value, number) for number, value in enumerate(values)]


MANY, EACH = 2, 12
PLAYED, ONE_IN = {"test_first_hour", "test_first_day", "test_first_use", "test_wishes", "test_reflex_turns", "test_sentences", "test_walked", "test_obsidian"}, 5          # hundreds of conversations with the embedded engine, an agent for each


@pytest.hookimpl(specname="pytest_collection_modifyitems", tryfirst=True)
def pytest_thin_out(items):
    """Of a family of more than `MANY` tests that is not `thinned`, one in `EACH` is for every run and the others are slow ones, so that what is left takes less than two minutes.
    Of the conversations in `PLAYED` one in `ONE_IN` is, and of their families one in `ONE_IN` has one: two of them that break alone are rare, since all go through the same grammar, and CI runs them all.
    Notebooks are no family.

    Which ones their names decide: the same in every process and in every run, and of a table of all pairs some in each row and column."""
    families = collections.defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and "notebook" not in item.callspec.params: families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        if len(family) > MANY and not any(item.get_closest_marker("slow") for item in family):
            first, *others = sorted(family, key=lottery)          # one stays in any case
            for item in others:
                if lottery(item) % EACH: item.add_marker(pytest.mark.slow)
    for item in items:
        if item.path.stem in PLAYED and drawn(item.nodeid.partition("[")[0]) % ONE_IN: item.add_marker(pytest.mark.slow)


def drawn(name: str) -> int: return zlib.crc32(name.encode())


def lottery(item) -> int: return drawn(item.nodeid)


settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("home", deadline=None, max_examples=examples(100))
settings.load_profile("ci" if os.environ.get("CI") else "home")

# Hundreds of processes import the package, which takes twice as long when nothing that is compiled may be kept, as many containers have it. Git ignores what is kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False



def memory(needed=2 << 30):
    "A folder in memory with room for the tests, where programs can be started as well; None without one."
    shm = "/dev/shm"
    try: found = os.statvfs(shm)
    except OSError: return None
    return shm if os.access(shm, os.W_OK) and found.f_bavail * found.f_frsize >= needed and not found.f_flag & os.ST_NOEXEC else None


# Each of the thousand agents that are booted makes two databases and waits for the disk. Nothing here cuts the power, so what is in memory does as well: the same tests wait for a tenth.
# CI takes the disk, as people do.
if "TMPDIR" not in os.environ and not os.environ.get("CI") and (found := memory()): os.environ["TMPDIR"] = tempfile.tempdir = found

NOBODY, HERE = tempfile.mkdtemp(prefix="passepartout-tests-"), os.getpid()


@atexit.register          # not when pytest ends its work: after --help, or an option that it does not know, it never began
def tidy():
    if os.getpid() == HERE: shutil.rmtree(NOBODY, ignore_errors=True)


for name, place in {"PIP_CONFIG_FILE": ".config/pip/pip.conf", "NPM_CONFIG_USERCONFIG": ".npmrc", "GIT_CONFIG_GLOBAL": ".gitconfig"}.items():        # other programs keep what they need
    if (Path.home() / place).is_file(): os.environ.setdefault(name, str(Path.home() / place))
os.environ["HOME"] = NOBODY
for kind in ("CACHE", "CONFIG", "DATA", "STATE"): os.environ[f"XDG_{kind}_HOME"] = os.path.join(NOBODY, kind.lower())
from passepartout.settings import KINDS, variable_name                  # after the line above, so that nothing imported looks at home
for name in {*map(variable_name, KINDS), *(name for name in os.environ if name.endswith("_API_KEY"))}: os.environ.pop(name, None)
for size in ("COLUMNS", "LINES"): os.environ.pop(size, None)          # the width of a test's own terminal counts, not what pytest-xdist tells its workers


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN: signal.signal(signal.SIGINT, signal.default_int_handler)          # as for what a script started with `&`: the programs under test would inherit it


def pytest_unconfigure(config):
    for runs in started: runs.end()


LIMIT_S = 300 if os.environ.get("CI") else 600          # for one test; most take milliseconds, the longest two minutes on a machine of its own
STUCK_S = 120          # for all threads of a process together: so long no Python ran in it at all


def hung(signum, frame): pytest.fail(f"It did not come to an end within {LIMIT_S} s. The traceback shows where it waited; what the other threads did is on standard error.")


class Watch(threading.Thread):
    """Rings for the test that runs too long. One thread looks every few seconds: a timer for each test was a thread for each, which on a
    machine with nothing to spare is waited for longer than most tests take.

    What waits in a library and lets nobody else run cannot be rung for, neither in a test nor when the interpreter ends after the last one: the destructor of a model did so.
    Then nobody tells faulthandler any more that somebody looks. Its own thread, which needs no Python, says where everybody is and ends the process."""
    test, said = None, sys.__stderr__

    def run(self, sleep=time.sleep, now=time.monotonic):          # what a test puts in their place does not matter here
        while True:
            self.looks()
            sleep(min(5, LIMIT_S))
            if (test := self.test) is not None and now() > test[1]:
                self.test = None
                faulthandler.dump_traceback(sys.__stderr__)
                signal.pthread_kill(test[0], signal.SIGUSR2)


    def looks(self): faulthandler.dump_traceback_later(STUCK_S, exit=True, file=self.said)


watch, now = Watch(daemon=True), time.monotonic


@pytest.hookimpl(trylast=True)
def pytest_exception_interact():
    "A test has failed, and pytest has told faulthandler to look no more: a debugger may be used. That runs in Python."
    if watch.is_alive(): watch.looks()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test that hangs fails, names itself and shows where, and the others go on.

    pytest-timeout has two ways to do this: with the alarm signal, which `limits` leaves alone when it is wound, so that the tests would try another way than
    the program; or by ending the process, and then all that can be said of the other tests in it is that they did not run. pytest's own setting,
    `faulthandler_timeout`, says where a test is and lets it hang."""
    signal.signal(signal.SIGUSR2, hung)
    if not watch.is_alive():
        watch.said = item.config.stash.get(fault_handler_stderr_fd_key, sys.__stderr__)          # not what is read while a test runs
        watch.start()
    watch.test = threading.get_ident(), now() + LIMIT_S
    try: return (yield)
    finally: watch.test = None


@pytest.fixture
def opened_memex(tmp_path):
    "An empty memex: its folder, and the `Root` that holds it open."
    from passepartout.confinement.resources import Root
    folder = tmp_path / "memex"
    folder.mkdir()
    root = Root(folder)
    yield folder, root
    root.close()


@pytest.fixture
def roots(memex):
    "The folder that a file of tests calls its `memex`, held open, as the gates get it."
    from passepartout.confinement.resources import Root
    found = [Root(memex)]
    yield found
    for root in found: root.close()


@functools.cache
def notebook_tool():
    spec = importlib.util.spec_from_file_location("nb_tool", Path(__file__).parents[1] / "tools" / "nb.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def pytest_ignore_collect(collection_path, config):
    """A file in which every test is slow is not even imported where those are left out, unless it was named: the clients of four makers of models
    take longer to import than most files to run, and every worker would import them for tests that it leaves out."""
    if config.getoption("markexpr") != "not slow" or not collection_path.match("test_*.py"): return None
    if any(Path(config.invocation_params.dir, asked.partition("::")[0]) == collection_path for asked in config.args): return None
    return True if re.search(r"^pytestmark = \[?pytest\.mark\.slow\b", collection_path.read_text(encoding="utf-8"), re.MULTILINE) else None


def of_notebook(item): return item.path.name == "test_notebooks.py"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    "What is collected stays to the end, so the garbage collector need not look at thousands of tests again and again, neither now nor later."
    gc.disable()
    try: return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)          # an agent that is booted makes thousands of things that stay until its test ends
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items): items.sort(key=of_notebook)


class Stopped(Exception):
    "The tests are over before the notebooks are."


class Runs:
    """The runs of all notebooks that were asked for, in the background: `result` waits for one and has what `run_each` gave for it.

    nbdev's own test shares one process between notebooks; here a notebook that changes a module cannot help or harm the next."""
    behind = False

    def __init__(self, asked, workers):
        self.futures, self.workers = {notebook: Future() for notebook in asked if notebook.exists()}, workers
        self.over, self.thread = threading.Event(), None

    def start(self):
        if self.thread is None and self.futures:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()

    def run(self):
        try: notebook_tool().run_each(list(self.futures), self.done, workers=self.workers, behind=self.behind)
        except Stopped: pass
        finally:
            for future in self.futures.values():
                if not future.done(): future.set_result(notebook_tool().Drift("the runner ended before this notebook did"))

    def done(self, notebook, result):
        self.futures[notebook].set_result(result)
        if self.over.is_set(): raise Stopped

    def result(self, notebook):
        self.start()
        return self.futures[notebook].result()

    def end(self):
        self.over.set()
        if self.thread is not None: self.thread.join()


def said_of(folder, notebook): return Path(folder) / notebook.relative_to(notebook_tool().NBS).as_posix().replace("/", ",")


WAIT = "tui/questions", "91_change", "00_start", "33_run_it_for_good", "indexing/08qa_lent", "tui/app", "14ba_echoes", "terminal/20b_demo", "net/11c_endpoints"          # begun late, one of them would be waited for at the end


class Told(Runs):
    """The same, with a file for each notebook that has run in `folder`: empty, or what went wrong.

    The tests go first on the processor. Many of them wait, for a process or a disk, and so do some notebooks; with notebooks left to the end there is always something that
    can run meanwhile. Those that wait or start processes themselves begin first, so that the last ones are short."""
    behind = True

    def __init__(self, asked, workers, folder):
        super().__init__(asked, workers)
        self.folder = folder
        for notebook, future in self.futures.items(): future.add_done_callback(functools.partial(self.tell, notebook))

    def tell(self, notebook, future):
        result, file = future.result(), said_of(self.folder, notebook)
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(str(result) or "it failed" if isinstance(result, notebook_tool().Drift) else "", encoding="utf-8")
        unfinished.replace(file)


class Elsewhere:
    "What a worker of pytest-xdist knows of the notebooks, which the process that gives out the tests runs: what is said in `folder`."
    def __init__(self, folder): self.folder = folder

    def result(self, notebook):
        file = said_of(self.folder, notebook)
        while not file.exists(): time.sleep(0.02)
        said = file.read_text(encoding="utf-8")
        return notebook_tool().Drift(said) if said else None


TOLD, started = os.path.join(NOBODY, "notebooks"), []


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node): node.workerinput["notebooks"] = TOLD


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    """A worker of pytest-xdist tells each step of each test, and each telling costs both sides what a small test takes. That one began, was set up, taken down and ended
    well, and printed nothing, changes no letter on the screen: it is told only where somebody asked for names, durations or a report."""
    option = session.config.option
    if not hasattr(session.config, "workerinput") or option.verbose > 0 or option.durations is not None or option.xmlpath or option.reportchars not in ("", "fE"): return
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor": plugin.sendevent = functools.partial(told_briefly, plugin.sendevent)


def told_briefly(tell, name, **what):
    report = what.get("data", {})
    if name in ("logstart", "logfinish") or name == "testreport" and report["when"] != "call" and report["outcome"] == "passed" and not report["sections"]: return
    tell(name, **what)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node, ids):
    "The first worker that knows which tests there are is the sign to begin with the notebooks among them."
    if started: return
    tool = notebook_tool()
    found = [re.fullmatch(r".*test_notebooks\.py::test_notebook\[(.*)\]", name) for name in ids]
    os.makedirs(TOLD, exist_ok=True)
    asked = sorted((name[1] for name in found if name), key=lambda name: name.removesuffix(".ipynb") not in WAIT)
    started.append(Told([tool.NBS / name for name in asked], 2, TOLD))
    started[0].start()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Files of tests in one piece, long ones first, and each notebook by itself at the end.

    As one piece they came early, and the worker that had them waited for all of them while the other went on alone."""
    if config.getoption("dist") != "loadfile": return None
    from xdist.scheduler import LoadFileScheduling
    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid): return nodeid if "test_notebooks.py::" in nodeid else super()._split_scope(nodeid)

        def remove_node(self, node):
            "What a worker that has ended was at, and has failed with it, is not given to the next: that would end as well, and so on. The rest of its files is."
            left = {scope: unit for scope, unit in self.assigned_work.pop(node).items() if not all(unit.values())}
            if not left: return None
            unit = next(iter(left.values()))
            unit[failed := next(test for test, over in unit.items() if not over)] = True
            self.workqueue.update({scope: unit for scope, unit in left.items() if not all(unit.values())})
            for other in self.assigned_work: self._reschedule(other)
            return failed
    return Files(config, log)


@pytest.fixture(scope="session", autouse=True)
def notebooks(request):
    "From the first test on. One at a time beside other tests in the same process, else two at a time."
    if hasattr(request.config, "workerinput"):
        yield Elsewhere(request.config.workerinput["notebooks"])
        return
    items = request.session.items
    asked = [item.callspec.params["notebook"] for item in items if of_notebook(item) and hasattr(item, "callspec")]
    runs = Runs(asked, 2 if len(asked) == len(items) else 1)
    runs.start()
    yield runs
    runs.end()
