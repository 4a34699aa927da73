"""What looking for secrets costs, what it finds and how often it cries wolf, beside detect-secrets when that is installed.

    python benchmarks/scanning.py [FILE.json | FOLDER …] [--ordinary FOLDER …] [--missed]

Each FILE holds samples of others as {"pos": [[source, text], …], "neg": [[source, text], …]}, each FOLDER such files; none is kept here. A third
item of a sample, a list of the secrets in it, is used to say in how many samples something else was found. Without any, the held-out
generator of the tests is used. `--missed` prints what was not caught. False alarms are counted on this project, its sample notes and the standard library,
and in the text files of every folder behind `--ordinary`, such as a checkout of somebody's notes or programs.
"""
import argparse, json, os, statistics, sys, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from passepartout.gates.secrets import secrets_gate
from passepartout.messages import Action, Signal
from passepartout.redaction.patterns import TooMuch
from passepartout.redaction.secrets import Scanner, Secret


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


def caught(scanner: Scanner, sample: list) -> str:
    "`yes`, `no`, or `elsewhere` when what was found lies outside the secrets that the sample names."
    try: hits = scanner.find(sample[1])
    except TooMuch: return "yes"                      # it is kept back whole
    if not hits or len(sample) < 3 or not sample[2]: return "yes" if hits else "no"
    raw = sample[1].encode("utf-8", "surrogatepass")
    parts = [raw[f.start:f.end].decode("utf-8", "replace") for f in hits]
    return "yes" if any(w in p or p in w for w in sample[2] for p in parts) else "elsewhere"


def found(scanner: Scanner, files: list[Path], theirs, missed: bool) -> None:
    files = [f for given in files for f in (sorted(given.glob("*.json")) if given.is_dir() else [given])]
    if files: sets = {f.name: json.loads(f.read_text()) for f in files}
    else:
        from test_secrets import held_out
        sets = {"held-out": {"pos": [["made", text] for text in held_out(1, 2000)], "neg": []}}
    whole = right = 0
    for name, samples in sets.items():
        said = [(sample, caught(scanner, sample)) for sample in samples["pos"]]
        hits, elsewhere = sum(word != "no" for _, word in said), sum(word == "elsewhere" for _, word in said)
        whole, right = whole + len(said), right + hits
        beside = f", detect-secrets {sum(bool(theirs(s[1])) for s in samples['pos'][::10]) / len(samples['pos'][::10]):.1%} of every tenth" if theirs and samples["pos"] else ""
        print(f"{name}: {hits:,} of {len(said):,} caught ({hits / max(len(said), 1):.1%}), in {elsewhere:,} of them something other than what is named{beside}")
        for sample, word in said if missed else ():
            if word == "no": print(f"    {sample[0]}: {sample[1][:200]!r}")
    if len(sets) > 1: print(f"all: {right:,} of {whole:,} caught ({right / whole:.1%})")


TEXTS = frozenset(".py .js .ts .rs .go .c .h .rb .md .org .txt .html .css .yml .yaml .toml .json .sh".split())

def alarms(scanner: Scanner, folders: list[Path]) -> None:
    for name, paths in (*((folder.name, [p for p in folder.rglob("*") if p.suffix in TEXTS and p.is_file() and p.stat().st_size < 400_000 and "lock" not in p.name]) for folder in folders), ("this project", [*ROOT.glob("passepartout/**/*.py"), *ROOT.glob("tests/*.py")]), ("its sample notes", [*ROOT.glob("passepartout/sample/**/*.org"), *ROOT.glob("passepartout/sample/**/*.md")]),
                        ("the standard library", [p for p in Path(os.__file__).parent.rglob("*.py") if "site-packages" not in p.parts])):
        lines = wrong = withheld = 0
        for raw in (path.read_text(errors="replace").encode() for path in paths):
            lines += raw.count(b"\n") + 1
            for at in range(0, len(raw), 100_000):
                try: wrong += len({raw.count(b"\n", 0, at + f.start) for f in scanner.find(raw[at:at + 100_000])})
                except TooMuch: withheld += 1
        print(f"{name}: {wrong} lines with alarms in {lines:,} lines of {len(paths):,} files ({wrong / max(lines, 1):.3%})" + (f", and {withheld} pieces of 100 KB that hold too much to be judged" if withheld else ""))


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("samples", nargs="*", type=Path)
    asked.add_argument("--ordinary", nargs="*", type=Path, default=[])
    asked.add_argument("--missed", action="store_true")
    given = asked.parse_args()
    scanner = Scanner([Secret(f"K{n}", os.urandom(18).hex().encode()) for n in range(50)])
    theirs = peer()
    speed(scanner, theirs)
    found(scanner, given.samples, theirs, given.missed)
    alarms(scanner, given.ordinary)
