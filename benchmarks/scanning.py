"""What looking for secrets costs, what it finds and how often it cries wolf, beside detect-secrets when that is installed.

    python benchmarks/scanning.py [FILE.json …]

Each FILE holds samples of others as {"pos": [[source, text], …], "neg": [[source, text], …]}; none is kept here. Without any, the held-out
generator of the tests is used. False alarms are counted on this project, its sample notes and the standard library.
"""
import json, os, statistics, sys, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from passepartout.gates.secrets import secrets_gate
from passepartout.messages import Action, Signal
from passepartout.secrets import Scanner, Secret


def micros(run, times: int = 200) -> float:
    "Median microseconds of `run`."
    run()
    took = []
    for _ in range(times):
        begun = time.perf_counter_ns()
        run()
        took.append((time.perf_counter_ns() - begun) / 1000)
    return statistics.median(took)


def peer():
    "detect-secrets on a text, or None."
    try:
        from detect_secrets.core.scan import scan_line
        from detect_secrets.settings import default_settings
    except ImportError: return None
    def scan(text):
        with default_settings(): return [found for line in text.splitlines() for found in scan_line(line)]
    return scan


def speed(scanner: Scanner, theirs) -> None:
    notes = "\n".join(p.read_text() for p in sorted((ROOT / "passepartout" / "sample").rglob("*.org")))
    code = (ROOT / "passepartout" / "act.py").read_text()
    print(f"{'text':28}{'ours µs':>12}{'detect-secrets µs':>20}")
    for name, text in (("a question, 31 characters", "What is on my agenda for today?"), ("notes, 200 characters", notes[:200]), ("notes, 4 KB", (notes * 3)[:4096]), ("code, 4 KB", code[:4096]), ("code, 256 KB", (code * 30)[:262_144])):
        print(f"{name:28}{micros(lambda: scanner.find(text), 20 if len(text) > 9999 else 200):12.1f}{micros(lambda: theirs(text), 5) if theirs and len(text) < 9999 else float('nan'):20.1f}")
    gate, signal = secrets_gate(scanner), Signal.of({"payload": {"sensor": "user-input", "text": "x"}, "meta": {"source": "cli"}})
    actions = iter([Action.of({"target": "tool", "payload": {"action": "call", "tool": "org-capture", "args": {"text": (notes * 3)[:4096], "n": n}}}) for n in range(300)])
    print(f"{'the gate, 4 KB argument':28}{micros(lambda: gate(next(actions), signal)):12.1f}")
    for hostile in ("key=1 ", "token=Aa1", "api_key: 'q8ZtB2LxWp0RmK4y'\n", "://a:b", "eyJhbGciOiJ9.eyJ", "%41"):
        text = hostile * (250_000 // len(hostile))
        print(f"{'250 KB of ' + hostile.strip()[:17]!s:28}{micros(lambda: scanner.redact(text), 5):12.1f}")


def found(scanner: Scanner, files: list[str], theirs) -> None:
    if files: sets = {Path(f).name: json.loads(Path(f).read_text()) for f in files}
    else:
        from test_secrets import held_out
        sets = {"held-out": {"pos": [["made", text] for text in held_out(1, 2000)], "neg": []}}
    for name, samples in sets.items():
        caught = sum(bool(scanner.find(text)) for _, text in samples["pos"])
        beside = f", detect-secrets {sum(bool(theirs(t)) for _, t in samples['pos'][::10]) / len(samples['pos'][::10]):.1%} of every tenth" if theirs else ""
        print(f"{name}: {caught:,} of {len(samples['pos']):,} caught ({caught / len(samples['pos']):.1%}){beside}")


def alarms(scanner: Scanner) -> None:
    for name, paths in (("this project", [*ROOT.glob("passepartout/**/*.py"), *ROOT.glob("tests/*.py")]), ("its sample notes", [*ROOT.glob("passepartout/sample/**/*.org"), *ROOT.glob("passepartout/sample/**/*.md")]),
                        ("the standard library", [p for p in Path(os.__file__).parent.rglob("*.py") if "site-packages" not in p.parts])):
        lines = [line for path in paths for line in path.read_text(errors="replace").splitlines()]
        wrong = sum(bool(scanner.find(line)) for line in lines)
        print(f"{name}: {wrong} alarms in {len(lines):,} lines ({wrong / max(len(lines), 1):.3%})")


if __name__ == "__main__":
    scanner = Scanner([Secret(f"K{n}", os.urandom(18).hex().encode()) for n in range(50)])
    theirs = peer()
    speed(scanner, theirs)
    found(scanner, sys.argv[1:], theirs)
    alarms(scanner)
