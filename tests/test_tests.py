"The tests see nothing of the agent of whoever runs them"
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SEEN = """
import os
from passepartout.settings import load_settings
def test_seen():
    found = load_settings()
    print("SEEN", found.assistant, found.provider_cascade, os.path.exists(found.config_dir), any(name.endswith("_API_KEY") for name in os.environ))
    assert load_settings(environ={}).assistant == found.assistant
    assert not str(found.config_dir).startswith(os.environ["THEIRS"]) and not str(found.state_dir).startswith(os.environ["THEIRS"])
"""


@pytest.mark.slow
def test_settings_skills_and_keys_of_a_person_do_not_count(tmp_path):
    for folder in (tmp_path / "config" / "passepartout", tmp_path / ".config" / "passepartout"):
        folder.mkdir(parents=True)
        (folder / "settings.ini").write_text("[passepartout]\nassistant = Mrs Theirs\n")
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "test_seen.py").write_text(SEEN)
    env = {**os.environ, "HOME": str(tmp_path), "THEIRS": str(tmp_path / "config"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "config"), "PROVIDER_CASCADE": "anthropic", "ANTHROPIC_API_KEY": "k",
           "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path / "test_seen.py")], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Mrs Theirs" not in done.stdout and "anthropic" not in done.stdout, done.stdout + done.stderr
    assert "False False" in done.stdout.split("SEEN")[1].splitlines()[0]


HANGS = """
import ctypes, threading
def test_before(): pass
def test_that_waits(): threading.Event().wait()
def test_that_lets_nobody_run(): ctypes.PyDLL(None).sleep(600)
def test_after(): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_test_that_hangs_is_named(tmp_path, workers):
    "Also one that waits in a library and lets no other thread run. Beside pytest-xdist the tests after it are run as well, and it is not run again."
    limits = {"LIMIT_S = 300": "LIMIT_S = 2", "else 600": "else 2", "STUCK_S = 120": "STUCK_S = 8"}
    text = (HERE / "conftest.py").read_text()
    for was, becomes in limits.items():
        assert text.count(was) == 1
        text = text.replace(was, becomes)
    for folder in ("tests", "tools"): (tmp_path / folder).mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(text)
    (tmp_path / "tools" / "nb.py").write_text((HERE.parent / "tools" / "nb.py").read_text())
    (tmp_path / "tests" / "test_hangs.py").write_text(HANGS)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-n", workers, "--dist", "loadfile", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path / "tests")], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "FAILED" in said and "in test_that_lets_nobody_run" in said, said
    if workers == "1": assert "2 failed, 2 passed" in said and "It did not come to an end within 2 s" in said, said
