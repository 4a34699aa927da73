"What the pages tell people to type works when they type it: every cell that is shown, and none that is hidden, in an empty folder"
import ast
import codeop
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TYPED = """
import ast, inspect, asyncio, json, sys
async def main(space={}):
    for cell in json.load(sys.stdin):
        await made if inspect.isawaitable(made := eval(compile(cell, "<typed>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)) else None
asyncio.run(main())
"""


def shown(name):
    cells = [cell["source"] for cell in json.loads((ROOT / "nbs" / name).read_text())["cells"] if cell["cell_type"] == "code"]
    return [text for cell in cells if not (text := "".join(cell)).startswith(("#| hide", "#| echo: false"))]


@pytest.mark.slow
@pytest.mark.parametrize("name, promises", [("31_write_a_gate.ipynb", False), ("31a_write_a_tool.ipynb", True), ("32_write_a_provider.ipynb", True), ("92_embed.ipynb", True)])
def test_what_is_shown_can_be_typed(tmp_path, name, promises):
    cells = shown(name) if promises else [cell for cell in shown(name) if "SkillBook" not in cell]          # the gate of a page is shown on the command line
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-c", TYPED], input=json.dumps(cells), cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and len(cells) > 2, done.stderr[-2000:]


@pytest.mark.parametrize("name", ["31a_write_a_tool.ipynb", "32_write_a_provider.ipynb", "92_embed.ipynb"])
def test_what_is_typed_line_by_line_is_understood(name):
    "These pages say that they can be typed at a prompt. There a block ends with an empty line, and only with one."
    for cell in shown(name):
        read, lines = codeop.CommandCompiler(), []
        read.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        for line in [*cell.splitlines(), ""]:
            lines.append(line)
            if read("\n".join(lines)) is not None: lines.clear()
        assert not lines, cell


@pytest.mark.parametrize("name", ["00_start.ipynb", "30_write_a_skill.ipynb", "31_write_a_gate.ipynb", "91_change.ipynb"])
def test_commands_stand_there_as_they_are_typed(name):
    cells = json.loads((ROOT / "nbs" / name).read_text())["cells"]
    said = ["".join(out.get("text", "")) for cell in cells if cell["cell_type"] == "code" for out in cell["outputs"]]
    assert any(text.startswith("$ ") for text in said)
    assert not [text for text in shown(name) if text.startswith(("run(", "passepartout("))]
