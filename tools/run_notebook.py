"""Run notebooks as `nbdev-test` would, each in a process of its own, some at a time, and write them with their outputs.

    python tools/run_notebook.py FOLDER WORKERS NOTEBOOK…

The first notebook is written to FOLDER/0.ipynb, or what its failing cell said to FOLDER/0.err, and so on; a line
`NUMBER STATUS` is printed as each ends. `tools/nb.py` and `tests/test_notebooks.py` use this. What every notebook needs is
imported once and forked, the program too: no notebook sees modules that another one has changed, since none runs in the process that is forked.
"""
import asyncio, contextlib, gc, importlib, os, pkgutil, shutil, sys, tempfile, threading, traceback
from pathlib import Path


def made_shell():
    """The shell in which a notebook's cells run, made once and forked: that is half of what a short page costs. Its event loop has a thread, which a fork does not take along,
    so it ends here and `awake` gives each page one of its own. No cell has run in it, so its names and numbers are those of a new one."""
    from execnb.shell import CaptureShell
    shell = CaptureShell(mpl_format=None)
    shell.close()
    shell.loop.close()
    return shell


def awake(shell, path: Path):
    "Give the forked shell its loop, as its own constructor does, and the folder of the page to import from."
    shell.loop = asyncio.new_event_loop()
    shell._thread = threading.Thread(target=shell.loop.run_forever, daemon=True, name="CaptureShell-loop")
    shell._thread.start()
    shell.set_path(path)
    return shell


def run(path: Path, out: Path, shell, config) -> int:
    "Run one notebook in this process; 1 and the failing cell's traceback on standard error when a cell raises."
    from fastcore.nbio import read_nb, write_nb
    from nbdev.test import nb_test_cells
    os.chdir(path.parent)
    runs = {cell.id for cell in nb_test_cells(path, config.tst_flags.split())}
    notebook, shell = read_nb(path), awake(shell, path)
    try:
        shell.run_all(notebook, exc_stop=True, preproc=lambda cell: cell.id not in runs, cell_timeout=config.cell_timeout)
    except BaseException as error:
        print(shell.prettytb(fname=path) or repr(error), file=sys.stderr)
        return 1
    write_nb(notebook, out)
    return 0


def child(path: Path, folder: Path, number: int, *made):
    "What happens after the fork: folders and standard error of its own, then the notebook, then nothing more."
    status = 1
    try:
        with open(folder / f"{number}.err", "w") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        os.environ.update({f"XDG_{kind}_HOME": str(folder / f"{number}-{kind.lower()}") for kind in ("CONFIG", "STATE", "CACHE", "DATA")})
        status = run(path, folder / f"{number}.ipynb", *made)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)            # a notebook's own threads must not keep the process alive


def warm_up():
    "Do once what every notebook would do first: import what all of them need, and have a first model and a first cell, which import and compile the rest. No thread may be left, since a fork does not take it along."
    import concurrent.futures, hmac, secrets, sqlite3, zoneinfo                           # noqa: F401
    import execnb.shell, fastcore.nbio, fastcore.test, nbdev.config, nbdev.test                    # noqa: F401
    from IPython.core.interactiveshell import InteractiveShell
    from pydantic import BaseModel
    class Model(BaseModel): number: int = 0
    InteractiveShell(warn_venv=False).transform_cell("a, b = 'text', {1: [2]}")
    with contextlib.suppress(Exception): import passepartout.agent          # noqa: F401    most pages need its rooms; one that cannot be imported is for the page to tell


def warm_up_all():
    "For many notebooks every room, once, and what the rooms import late; a single one is sooner done without."
    import bdb, ctypes, resource, encodings.utf_8_sig, IPython.core.logger                         # noqa: F401
    import passepartout
    for room in pkgutil.walk_packages(passepartout.__path__, "passepartout."):
        if room.name.rpartition(".")[2] in ("__main__", "_modidx"): continue
        with contextlib.suppress(Exception): importlib.import_module(room.name)
    for late in ("re2", "typer.main", "rich.text", "pydantic.dataclasses"):
        with contextlib.suppress(ImportError): importlib.import_module(late)
    with contextlib.suppress(Exception): practise()
    gc.collect()


def practise():
    """Compile what is compiled when it is first used, in a process that will be forked: the regular expressions of all rooms that are imported, and, by a few requests
    to an agent with the sample notes, what no table holds. Each fork would do it again, and most of what a short command costs is that.

    The agent has a home of its own, since whose process this is may have settings, and its threads have ended with it: a fork does not take one along."""
    from passepartout.agent import Agent
    from passepartout.lazy import Regex
    for name, module in [*sys.modules.items()]:
        if name.startswith("passepartout."):
            for each in [*vars(module).values()]:
                if isinstance(each, Regex): each.flags          # noqa: B018    asking is what compiles it
    async def requests(home):
        agent = await Agent.boot(memex_dir=f"{home}/memex", state_dir=f"{home}/state", cache_dir=f"{home}/cache", today="2026-11-19")
        try:
            for request in ("what is due this week?", "add milk to inbox.org", "find roof"): await agent.handle(request, session="main")
        finally: await agent.close()
    before = {name: os.environ.get(name) for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CONFIG", "STATE", "CACHE", "DATA")))}
    with tempfile.TemporaryDirectory() as home:
        os.environ.update({name: home for name in before})
        try:
            shutil.copytree(Path(__file__).parents[1] / "passepartout" / "sample" / "memex", f"{home}/memex")
            asyncio.run(requests(home))
        finally:
            for name, value in before.items(): os.environ.pop(name) if value is None else os.environ.update({name: value})


def main(folder, workers, *paths):
    warm_up()
    if len(paths) > 50: warm_up_all()
    from nbdev.config import get_config
    made = made_shell(), get_config(Path(paths[0]).resolve().parent)
    gc.freeze()                     # what is there by now stays, so a child need not look at it again
    folder, running = Path(folder).resolve(), {}

    def wait_for_one():
        pid, status = os.wait()
        print(running.pop(pid), os.waitstatus_to_exitcode(status), flush=True)

    for number, path in enumerate(paths):
        if len(running) >= int(workers): wait_for_one()
        if (pid := os.fork()) == 0: child(Path(path).resolve(), folder, number, *made)
        running[pid] = number
    while running: wait_for_one()


if __name__ == "__main__":
    main(*sys.argv[1:])
