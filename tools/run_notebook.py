"""Run notebooks as `nbdev-test` would, each in a process of its own, some at a time, and write them with their outputs.

    python tools/run_notebook.py FOLDER WORKERS NOTEBOOK…

The first notebook is written to FOLDER/0.ipynb, or what its failing cell said to FOLDER/0.err, and so on; a line
`NUMBER STATUS` is printed as each ends. `tools/nb.py` and `tests/test_notebooks.py` use this. What every notebook needs is
imported once and forked, the program too: no notebook sees modules that another one has changed, since none runs in the process that is forked.
"""
import contextlib, gc, importlib, os, pkgutil, sys, traceback
from pathlib import Path


def run(path: Path, out: Path) -> int:
    "Run one notebook in this process; 1 and the failing cell's traceback on standard error when a cell raises."
    from execnb.shell import CaptureShell
    from fastcore.nbio import read_nb, write_nb
    from nbdev.config import get_config
    from nbdev.test import nb_test_cells
    os.chdir(path.parent)
    config = get_config(path.parent)
    runs = {cell.id for cell in nb_test_cells(path, config.tst_flags.split())}
    notebook, shell = read_nb(path), CaptureShell(path, mpl_format=None)
    try:
        shell.run_all(notebook, exc_stop=True, preproc=lambda cell: cell.id not in runs, cell_timeout=config.cell_timeout)
    except BaseException as error:
        print(shell.prettytb(fname=path) or repr(error), file=sys.stderr)
        return 1
    write_nb(notebook, out)
    return 0


def child(path: Path, folder: Path, number: int):
    "What happens after the fork: folders and standard error of its own, then the notebook, then nothing more."
    status = 1
    try:
        with open(folder / f"{number}.err", "w") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        os.environ.update({f"XDG_{kind}_HOME": str(folder / f"{number}-{kind.lower()}") for kind in ("CONFIG", "STATE", "CACHE", "DATA")})
        status = run(path, folder / f"{number}.ipynb")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)            # a notebook's own threads must not keep the process alive


def warm_up():
    "Do once what every notebook would do first: import what all of them need, and have a first model and a first cell, which import and compile the rest. No thread may be left, since a fork does not take it along."
    import asyncio, concurrent.futures, hmac, secrets, sqlite3, zoneinfo                           # noqa: F401
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
    gc.collect()


def main(folder, workers, *paths):
    warm_up()
    if len(paths) > 50: warm_up_all()
    gc.freeze()                     # what is there by now stays, so a child need not look at it again
    folder, running = Path(folder).resolve(), {}

    def wait_for_one():
        pid, status = os.wait()
        print(running.pop(pid), os.waitstatus_to_exitcode(status), flush=True)

    for number, path in enumerate(paths):
        if len(running) >= int(workers): wait_for_one()
        if (pid := os.fork()) == 0: child(Path(path).resolve(), folder, number)
        running[pid] = number
    while running: wait_for_one()


if __name__ == "__main__":
    main(*sys.argv[1:])
