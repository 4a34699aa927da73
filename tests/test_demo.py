"The demonstration, and the README's picture of it"
import io, os, re, subprocess, sys
from html import unescape
from pathlib import Path

import pytest

from conftest import thinned
from passepartout.terminal.demo import SAMPLE, run_demo
from passepartout.terminal.render import screen

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "nbs" / "images" / "demo.svg"


def words(svg):
    "What stands on the picture, whatever the version of rich that drew it."
    return re.sub(r"\s+", " ", " ".join(unescape(text).replace("\xa0", " ") for text in re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL))).strip()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.svg"
    assert run_demo(svg=path) == 0
    return path.read_text(encoding="utf-8")


def test_the_picture_is_current(drawn):
    assert words(drawn) == words(PICTURE.read_text(encoding="utf-8")), "Draw it again: passepartout demo --svg nbs/images/demo.svg"


def test_the_picture_is_the_same_on_every_run_and_asks_nobody_for_anything(drawn, tmp_path):
    run_demo(svg=tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == drawn
    assert "url(http" not in drawn and "@import" not in drawn and "href" not in drawn and "passepartout-demo-" not in drawn and len(drawn) < 100_000


def test_no_line_of_the_picture_is_wider_than_it(drawn):
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn)[1])
    for x, length in re.findall(r'<text[^>]* x="([\d.]+)"[^>]* textLength="([\d.]+)"', drawn): assert float(x) + float(length) <= width


def play(width=None, **options):
    file = io.StringIO()
    code = run_demo(yes=True, hurry=True, console=screen(file, **({"width": width, "force_terminal": True, "color_system": None} if width else {})), **options)
    assert code == 0
    return file.getvalue()


@pytest.mark.parametrize("width", thinned([20, 40, 80, 200], 2))
def test_every_width(width):
    from rich.cells import cell_len
    shown = play(width)
    assert max(cell_len(line) for line in shown.splitlines()) <= width
    text = re.sub(r"\s+", "", shown)
    for word in ("rejectedbypaths", "FrauKessler", "committed", "Mama'strain"): assert word in text, word


def test_each_thing_is_said_once(tmp_path):
    "The question is not printed three times, nor an answer as a proposal as well; the exact action is shown in full."
    shown = play()
    assert shown.count("You fly on Friday 11 December") == 1 and shown.count("This needs your approval") == 0 and shown.count("It would use org-archive") == 1 and "garden.org_archive" in shown
    assert ":DEADLINE NIL" in shown and "goes on   with your approval" in shown and "sensor" not in shown and "/tmp" not in shown
    assert all(re.match(r"$|\d\. |[›?·◆✓▸■‹!] |  would run|  exactly|            |Every line|Sample notes", line) for line in shown.splitlines()), "only records begin at the margin"


@pytest.mark.slow
def test_the_demonstration_leaves_nothing_behind(tmp_path):
    env = {**os.environ, "TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "TERM": "dumb"}
    done = subprocess.run([sys.executable, "-m", "passepartout", "demo", "--svg", tmp_path / "x.svg"], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and [p.name for p in tmp_path.iterdir()] == ["x.svg"]
    assert "Kessler to feed" not in (SAMPLE / "memex" / "inbox.org").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_picture_that_cannot_be_written(tmp_path):
    done = subprocess.run([sys.executable, "-m", "passepartout", "demo", "--svg", tmp_path / "no" / "x.svg"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 5 and "cannot be written" in done.stderr and "Traceback" not in done.stderr
