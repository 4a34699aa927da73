"""How many ordinary commands of others run unasked: `python benchmarks/asking.py FILE … [--as-they-stand] [--all] [--half 0|1] [--show 20]`.

Each FILE holds one command a line, such as `data/bash/all.cm` of NL2Bash; none is kept here. Which of them are ordinary and only read is said by a rule
that knows nothing of the project's tables: every program in the line, also behind xargs, -exec and in substitutions, is one of a list of usual readers, nothing
is redirected into a file, and no option or word writes, deletes, packs or runs with other rights. The rule is wrong now and then, in both directions. `--all`
takes every line. Paths outside are moved into the folder, because reading outside of it is asked about for another reason; `--as-they-stand` leaves them.
`--half` takes the lines of one half, told by their hash: one to work with, and one that is looked at at the end.
"""
import argparse, collections, re, sys, tempfile
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from passepartout.confinement.resources import Root
from passepartout.shell.judge import judge_command

READERS = frozenset("""[ [[ ack ag apropos apt-cache arch awk base64 basename bc bzcat bzip2 cal case cat ccal cd cksum cmp column comm command cut date declare df diff dirname dmesg do done dpkg du echo egrep else env esac expand export expr factor false fd fgrep fi file find fmt fold for free gawk getconf getent git grep groups gunzip gzip head help hexdump hostname iconv id if ifconfig in iostat ip jobs join jq last ldd less locate look ls lsblk lscpu lsof lspci lsusb man mawk md5 md5sum more mount netstat nice nl nm nproc numfmt objdump od paste pgrep pr printenv printf ps pstree pwd readelf readlink realpath return rev rg rpm sed seq sha1sum sha256sum sha512sum shuf size sleep sort ss stat strings sysctl tac tail tar test then time timeout top tput tr tree true tsort type ulimit uname unexpand uniq unzip uptime users vmstat w wc whatis whereis which who whoami xargs xmllint xxd xzcat yes yq zcat zgrep zipinfo""".split())
WRITES = re.compile(r"(?<![0-9&])>(?!\s*/dev/null|&|\()|[12&]>>?(?!\s*/dev/null|&[12-])|>>|-delete|-fprint|-fls|--in-place|-ok\b|\bsudo\b|\beval\b|(?<!-)\bexec\b|\bsource\b|\bsystem\("
                    r"|sed\s+(?:-[a-zA-Z]+\s+)*-[a-zA-Z]*i|perl|python|ruby|ssh|curl|wget|rsync|scp|\b(?:tar|zip|cpio)\b\s+-?-?[a-z]*[crux]|\b(?:bzip2|gzip|gunzip|bunzip2|xz)\b(?!\s+-\w*[clt])|\bmv\b|\brmdir\b|sort\s[^|]*-o\b|git pull|\bmount\b[^|;]*\s\w+\s+\S|ifconfig\s+\w+\s+\w|\b(?:un)?(?:tar|zip)\b\s+(?!-?\w*[tlZv])|\./\w")
PARTS = re.compile(r"\|\||&&|[|;]|\$\(|`|<\(|>\(|\bdo\b|\bthen\b|\belse\b|\(|\{(?=\s)")
UNKNOWN = re.compile(r"\$\(|`|[<>]\(|\bxargs\b|-exec|-ok|\b(?:ba)?sh -c|\$[\w{]|\beval\b|\benv\b|\bwatch\b")       # words that nobody knows before it runs, and what starts other programs
SCRIPT = re.compile(r"\b(?:sed|[gm]?awk)(?:\s+-\S+)*\s+$")                     # what follows in quotes is an expression, as /x/p is
QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\$`]|\\.)*\"""")


def ordinary(line: str) -> bool:
    "Whether a command is an ordinary one that only reads, by the rule above."
    plain = QUOTED.sub("Q", line)
    if len(line) > 400 or WRITES.search(plain): return False
    programs = []
    for part in PARTS.split(plain):
        words = part.strip(" \t)}`\"").split()
        while words and (re.match(r"[A-Za-z_]\w*=", words[0]) or words[0] in ("!", "time", "then", "do", "if")): words.pop(0)
        if not words: continue
        programs.append(words[0])
        if words[0] == "for": continue
        if words[0] == "xargs": programs += [word for word in words[1:] if not word.startswith("-") and not re.fullmatch(r"\d+|\{\}|%|Q|[A-Z]+|\\?n|@", word)][:1]
        programs += [after for word, after in zip(words, words[1:]) if word in ("-exec", "-execdir")]
    return bool(programs) and all(program.rpartition("/")[2] in READERS for program in programs)


def inside(line: str) -> str:
    "The same command with its absolute paths below the folder."
    line = re.sub(r"""(?:(?<=[\s="'(<:])|^)(?:~|\$HOME|\$\{HOME\})(?=/)""", "src", line)
    line = re.sub(r"""((?:^|[\s(])["']?)/(?!dev/null|proc/)(?=[A-Za-z_])""", lambda found: found[0] if SCRIPT.search(line[:found.start() + 1]) else found[1] + "src/", line)
    return re.sub(r"""(?<=\s)(?:/\.?|\.\.|~|\$HOME|"\$HOME")(?=\s|/|$|\))""", ".", line)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("files", nargs="+", type=Path)
    asked.add_argument("--as-they-stand", action="store_true")
    asked.add_argument("--all", action="store_true")
    asked.add_argument("--half", type=int, choices=(0, 1))
    asked.add_argument("--show", type=int, default=0)
    given = asked.parse_args()
    lines = sorted({line.strip() for file in given.files for line in file.read_text(errors="replace").splitlines() if line.strip()})
    lines = [line for line in lines if (given.all or ordinary(line)) and given.half in (None, sha256(line.encode()).digest()[0] & 1)]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("src", "tests", "docs"): (Path(folder).resolve() / name).mkdir()
        for name in ("README.md", "file.txt", "a.txt", "src/main.py"): (Path(folder).resolve() / name).write_text("x\n")
        known = collections.Counter()
        root, levels, why = Root(Path(folder).resolve()), collections.Counter(), collections.defaultdict(list)
        for line in lines:
            judged = judge_command(line if given.as_they_stand else inside(line), [root], "/home/ada")
            levels["late" if not judged.level and judged.late else judged.level] += 1
            if not UNKNOWN.search(line): known[judged.level or judged.late] += 1
            if judged.level: why[re.sub(r"/\S+|'[^']*'", "…", judged.reasons[-1])[:90]].append(line)
        root.close()
    share = lambda found: f"{found:,} ({100 * found / max(1, len(lines)):.1f} %)"
    print(f"{len(lines):,} commands: {share(levels[0])} unasked, {share(levels[0] + levels['late'])} with late_words = yes, {levels[1] + levels[2]:,} asked about in any case, {levels[3]} denied")
    print(f"Of the {known.total():,} whose words are all known before: {known[0]:,} ({100 * known[0] / max(1, known.total()):.1f} %) unasked")
    for reason, found in sorted(why.items(), key=lambda item: -len(item[1]))[:given.show]: print(f"{len(found):6}  {reason}  e.g. {found[0][:80]}")


if __name__ == "__main__": main()
