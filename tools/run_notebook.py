"""Run one notebook in this process as `nbdev-test` would, and write it with its outputs.

    python tools/run_notebook.py NOTEBOOK OUT

`tools/nb.py` and `tests/test_notebooks.py` start this once for each notebook, so that no notebook sees modules another
one has changed. Exit status 1 and the failing cell's traceback on standard error when a cell raises.
"""
import os, sys
from pathlib import Path


def main(path, out):
    path, out = Path(path).resolve(), Path(out).resolve()
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


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)      # a notebook's own threads must not keep the process alive
