"""One virtual environment for each peer and one for this project, below `benchmarks/.venvs/`.

Peers need environments of their own because their dependencies conflict. Versions are pinned so that a figure can be
repeated; when a pinned version cannot be installed any more, the newest one that can be is taken, and the report says so.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
VENVS = HERE / ".venvs"

# environment name -> what pip installs there; the first requirement gives the environment its version in the table
PEERS = {
    "agent-framework": ("agent-framework-core==1.23.0",),
    "openai-agents": ("openai-agents==0.24.0",),
    "pydantic-ai": ("pydantic-ai-slim==2.68.0",),
    "langchain": ("langchain==1.4.7", "langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2", "aiosqlite"),
    "llm": ("llm==0.36", "sqlite-utils"),
    "sexpdata": ("sexpdata==1.0.2",),
    "bashlex": ("bashlex==0.18",),
}
OURS = "passepartout"


@dataclass
class Environment:
    """An installed environment: `python` is its interpreter, `versions` what pip put there, `problem` why it is missing."""
    name: str
    python: Path | None = None
    versions: dict[str, str] = field(default_factory=dict)
    problem: str | None = None
    note: str | None = None

    @property
    def version(self) -> str:
        return next(iter(self.versions.values()), "")


def run(command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def last_line(process: subprocess.CompletedProcess) -> str:
    "What a process that failed says about it."
    lines = [line.strip() for line in (process.stderr + "\n" + process.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no output"])[-1][:200]


def make(directory: Path) -> Path:
    """Create the virtual environment if it is not there yet; return its interpreter."""
    python = directory / "bin" / "python"
    if not python.exists():
        done = run([sys.executable, "-m", "venv", directory])
        if done.returncode:
            raise RuntimeError(f"cannot create {directory.name}: {last_line(done)}")
    return python


def pip(python: Path, *arguments) -> None:
    done = run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])
    if done.returncode:
        raise RuntimeError(last_line(done))


def installed(python: Path, requirements) -> dict[str, str]:
    names = [requirement.split("==")[0] for requirement in requirements]
    code = "import json,sys\nfrom importlib.metadata import version\nprint(json.dumps({n: version(n) for n in sys.argv[1:]}))"
    done = run([python, "-c", code, *names])
    if done.returncode:
        raise RuntimeError(last_line(done))
    return json.loads(done.stdout)


def peer(name: str) -> Environment:
    """The environment of one peer, created when it is missing. A failure is an Environment with a `problem`."""
    requirements, directory = PEERS[name], VENVS / name
    marker = directory / "requirements.json"
    environment = Environment(name)
    try:
        if not marker.exists() or json.loads(marker.read_text())["asked"] != list(requirements):
            python = make(directory)
            try:
                pip(python, *requirements)
            except RuntimeError as pinned:
                pip(python, "--upgrade", *(requirement.split("==")[0] for requirement in requirements))
                environment.note = f"not the pinned version ({pinned})"
            marker.write_text(json.dumps({"asked": list(requirements), "note": environment.note}))
        environment.note = json.loads(marker.read_text())["note"]
        environment.python = directory / "bin" / "python"
        environment.versions = installed(environment.python, requirements)
    except (RuntimeError, OSError) as error:
        environment.python, environment.problem = None, f"cannot be installed: {error}"
    return environment


def source_files() -> list[Path]:
    """What a wheel of this project is built from."""
    files = [REPOSITORY / name for name in ("pyproject.toml", "README.md", "LICENSE", "settings.ini")]
    package = (p for p in (REPOSITORY / "passepartout").rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return [p for p in (*files, *sorted(package)) if p.exists()]


def install_copy(python: Path) -> None:
    """Install this project into an environment, from a copy of the working tree."""
    with tempfile.TemporaryDirectory() as scratch:
        for path in source_files():
            copy = Path(scratch) / path.relative_to(REPOSITORY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        (Path(scratch) / "README.md").touch()
        pip(python, scratch)
        pip(python, "--force-reinstall", "--no-deps", scratch)


def agentdojo() -> Path:
    """The interpreter of an environment with AgentDojo and this project. `RuntimeError` when it cannot be installed."""
    python = make(VENVS / "agentdojo")
    try:
        installed(python, ("agentdojo",))
    except RuntimeError:
        pip(python, "agentdojo==0.1.35")
    install_copy(python)
    return python


def ours() -> Environment:
    """This project, built from a copy of the working tree and installed like any package (not editable).

    A copy, because building leaves folders behind, and because an installed package is what a person starts. Without a
    network the interpreter that runs this program is used, if it has the dependencies; the report says so.
    """
    environment, directory = Environment(OURS), VENVS / OURS
    files = source_files()
    digest = hashlib.sha256()
    for path in files:
        digest.update(str(path.relative_to(REPOSITORY)).encode() + b"\0" + path.read_bytes())
    marker = directory / "source.sha256"
    try:
        if not marker.exists() or marker.read_text() != digest.hexdigest():
            install_copy(make(directory))
            marker.write_text(digest.hexdigest())
        environment.python = directory / "bin" / "python"
    except (RuntimeError, OSError) as error:
        done = run([sys.executable, "-c", "import pydantic, rpds"])
        if done.returncode:
            environment.problem = f"cannot be installed: {error}"
            return environment
        environment.python = Path(sys.executable)
        environment.note = f"run from the working tree, because it cannot be installed: {error}"
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    try:
        environment.versions = installed(environment.python, (OURS, "pydantic", "rpds-py"))
    except RuntimeError:
        environment.versions = {OURS: "working tree"}
    return environment
