"What some tests need of the machine. Where it is missing they are skipped and say so; .ci/run brings it, and there nothing is skipped for that reason."
import os
import shutil

import pytest

from passepartout.shell.sandbox import find_bubblewrap


def program(name):
    return pytest.mark.skipif(shutil.which(name) is None and "CI" not in os.environ, reason=f"{name} is not installed")


git = program("git")
sandbox = pytest.mark.skipif(not find_bubblewrap().works and "CI" not in os.environ, reason=f"commands ask and skills do not run: {find_bubblewrap().problem}")
