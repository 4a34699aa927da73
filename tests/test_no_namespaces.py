"User namespaces are really forbidden: bubblewrap is there and cannot work, so commands ask, and both the doctor and the question say why"
import os, shutil, subprocess, sys
from pathlib import Path

import pytest

from waits import PATIENCE

SAMPLE = Path(__file__).parents[1] / "passepartout/sample/memex"
# A user namespace in which no more of them may be made, and a process in it without any power: what a locked-down kernel looks like from inside. The limit counts in there only.
FORBIDDEN = ("unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$0" "$@"')
BARE = ("setpriv", "--inh-caps=-all")         # a program that starts after the bounding set was emptied has no powers left


def forbidden(*words, **options): return subprocess.run([*FORBIDDEN, *BARE, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, **options)


@pytest.fixture(scope="module")
def locked_down():
    if not all(map(shutil.which, ("bwrap", "unshare", "setpriv"))): pytest.skip("bwrap, unshare or setpriv is not here")
    if forbidden("true").returncode: pytest.skip("no namespace can be made here in which to forbid them")
    if not forbidden("bwrap", "--ro-bind", "/", "/", "true").returncode: pytest.skip("bubblewrap works all the same")


@pytest.fixture
def passepartout(locked_down, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "memex")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "MEMEX_DIR": str(tmp_path / "memex"), "COLUMNS": "500", "PYTHONDONTWRITEBYTECODE": "1"}
    return lambda *words: forbidden(sys.executable, "-m", "passepartout", *words, env=env)


COMMAND = '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "shell" :ARGS (:COMMAND "cat inbox.org") :EXPLANATION "The person wants to see the inbox file"))'


@pytest.mark.slow
def test_the_tier_rises_to_ask_and_it_is_said_why(passepartout):
    done = passepartout("gate", "check", COMMAND)
    assert done.returncode == 4 and "asks: bubblewrap does not work here" in done.stdout and "forbids user namespaces" in done.stdout
    done = passepartout("ask", "what is due this week?")
    assert done.returncode == 0 and done.stderr == ""                                          # the notes can be asked about as ever
    done = passepartout("doctor")
    assert done.returncode == 1 and "bubblewrap does not work here" in done.stdout and "Allow user namespaces" in done.stdout


@pytest.mark.slow
def test_what_is_denied_with_a_sandbox_is_denied_without(passepartout):
    done = passepartout("gate", "check", COMMAND.replace("cat inbox.org", "rm -r /etc"))
    assert done.returncode == 3 and "rejected" in done.stdout
