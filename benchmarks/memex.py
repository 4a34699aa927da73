"""A generated memex of realistic sizes: the same seed gives the same files, byte for byte. Standard library only.

    python benchmarks/memex.py FOLDER [--headings 100000] [--files 500] [--seed 7]

Words follow Zipf's law over 30,000 invented ones; bodies are log-normal (median 45 words, a few with thousands); one heading in
three is a task, one in four has a date, one in eight a drawer, one in ten a link. Nine files in ten are Org, the others Markdown.
"""
import argparse
import datetime
import itertools
import random
from pathlib import Path

SYLLABLES = "ba be bi bo da de di fa fe ga ge ka ke ki ko la le li lo ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te ti to va ve vo wa we zi zo".split()
TAGS = "house work garden trip money health music people someday reading office boat".split()
STATES = ("TODO", "TODO", "WAITING", "NEXT", "DONE", "DONE", "DONE", "CANCELLED")
TODAY = datetime.date(2026, 11, 19)
KNOWN = "roof", "Lisbon", "offer", "dentist", "Ana", "東京の屋根"


class Words:
    "Invented words, the frequent ones short, drawn by Zipf's law."

    def __init__(self, source: random.Random, count: int = 30_000):
        made: dict[str, None] = {}
        while len(made) < count:
            made["".join(source.choices(SYLLABLES, k=1 + min(4, 1 + len(made) // 400 + source.randrange(2))))] = None
        self.source, self.words = source, list(made)
        self.weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(count)))

    def some(self, count: int) -> list[str]:
        found = self.source.choices(self.words, cum_weights=self.weights, k=count)
        if self.source.random() < 0.03: found[self.source.randrange(count)] = self.source.choice(KNOWN)
        return found

    def text(self, count: int) -> str:
        found, lines = self.some(count), []
        for at in range(0, count, 14):
            line = " ".join(found[at:at + 14]).capitalize()
            lines.append(line + ("," if self.source.random() < 0.3 else "."))
        return "\n".join(lines) + "\n"


def stamp(source: random.Random, repeats: bool = True) -> str:
    day = TODAY + datetime.timedelta(int(source.gauss(-250, 300)))
    clock = f" {source.randrange(8, 20):02}:{source.choice('0030')}{source.choice('05')}"[:6] if source.random() < 0.4 else ""
    return f"{day} {day:%a}{clock}" + (f" +{source.choice(('1w', '1m', '1y', '3d'))}" if repeats and source.random() < 0.03 else "")


def org_heading(source: random.Random, words: Words, level: int, number: int) -> str:
    state, planned, when = source.choice(STATES) + " " if source.random() < 0.33 else "", source.random() < 0.45, stamp(source)
    if state and planned and when[:10] < TODAY.isoformat() and source.random() < 0.95: state = "DONE "
    tags = f" :{':'.join(source.sample(TAGS, 1 + (source.random() < 0.2)))}:" if source.random() < 0.2 else ""
    text = f"{'*' * level} {state}{' '.join(words.some(source.randrange(2, 8))).capitalize()}{tags}\n"
    if state and planned: text += f"{source.choice(('SCHEDULED', 'DEADLINE'))}: <{when}>\n"
    if source.random() < 0.125: text += f":PROPERTIES:\n:ID: {source.getrandbits(128):032x}\n:CREATED: [{stamp(source, False)}]\n:END:\n"
    text += words.text(max(3, min(3000, int(source.lognormvariate(3.8, 0.8)))))
    if source.random() < 0.1: text += f"<{stamp(source)}>\n"
    if source.random() < 0.1: text += f"See [[file:note-{source.randrange(500):03}.org][{words.some(1)[0]}]].\n"
    return text


def markdown_heading(source: random.Random, words: Words, level: int, number: int) -> str:
    text = f"{'#' * min(level, 6)} {' '.join(words.some(source.randrange(2, 8))).capitalize()}\n"
    if source.random() < 0.4: text += f"- [{'x' if (when := stamp(source, False)[:10]) < TODAY.isoformat() and source.random() < 0.95 else ' '}] {' '.join(words.some(5))} 📅 {when} #{source.choice(TAGS)}\n\n"
    return text + words.text(max(3, min(3000, int(source.lognormvariate(3.8, 0.8))))) + "\n"


def write_memex(folder: Path, headings: int = 100_000, files: int = 500, seed: int = 7) -> dict:
    "Write the notes below `folder`; returns {files, headings, bytes}."
    source = random.Random(seed)
    words, total = Words(source), 0
    for number in range(files):
        markdown = number % 10 == 9
        place = folder / f"area-{number % 20:02}" / f"note-{number:03}.{'md' if markdown else 'org'}"
        place.parent.mkdir(parents=True, exist_ok=True)
        parts, level = [f"#+TITLE: {' '.join(words.some(3))}\n#+FILETAGS: :{source.choice(TAGS)}:\n#+TODO: TODO NEXT WAITING | DONE CANCELLED\n" if not markdown else f"---\ntags: [{source.choice(TAGS)}]\n---\n"], 1
        for each in range(headings * (number + 1) // files - headings * number // files):
            level = max(1, min(6, level + source.choice((-2, -1, 0, 0, 0, 1, 1))))
            parts.append((markdown_heading if markdown else org_heading)(source, words, level, each))
        data = "".join(parts).encode()
        place.write_bytes(data)
        total += len(data)
    return {"files": files, "headings": headings, "bytes": total}


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--headings", type=int, default=100_000)
    options.add_argument("--files", type=int, default=500)
    options.add_argument("--seed", type=int, default=7)
    print(write_memex(**{("folder" if k == "folder" else k): v for k, v in vars(options.parse_args()).items()}))
