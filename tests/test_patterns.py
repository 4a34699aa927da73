"No pattern of any room takes twice as long for each letter more: each is tried with texts that are made from itself, so that what it repeats goes on and then does not end as it should"
import ast
import builtins
import contextlib
import functools
import importlib
import itertools
import math
import random
import re
import re._constants as is_
import re._parser as reading
import signal
import time
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from test_lazy import ROOMS, patterns

SAMPLES = [chr(n) for n in range(33, 127)] + [" ", "\t", "\n", "é"]
REPEATS = {op for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if (op := getattr(is_, name, None))}
AGAIN = 26                              # times; what doubles each time takes more than a second then, what grows with its third power a hundredth


def all_patterns():
    "(where it stands, the pattern compiled) of each room: those that wait, and those that are written down where they are used."
    found = {}
    for room in ROOMS:
        try: module = importlib.import_module(room)
        except ModuleNotFoundError: continue                         # an extra that is not installed here
        for name, value in vars(module).items():
            for pattern in patterns(value): found.setdefault((pattern.pattern, pattern.asked), f"{room}.{name}")
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re" and node.args and isinstance(node.args[0], ast.Constant):
                flags = [ast.unparse(each) for each in (*node.args[1:], *[word.value for word in node.keywords if word.arg == "flags"])]
                found.setdefault((node.args[0].value, sum(eval(each, {"re": re}) for each in flags if re.fullmatch(r"re\.[A-Z]+( \| re\.[A-Z]+)*", each))), f"{room}, line {node.lineno}")
    return [(where, re.compile(*key)) for key, where in found.items() if isinstance(key[0], str)]


LOOKS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
PARTS = {          # what may stand in a pattern that a function puts together, for what does not come out of `re.escape`
    "passepartout.awareness.summaries.in_our_words": {"pattern": lambda room: [each[1] for each in room._KINDS]},
    "passepartout.inifile.read_amount": {"whole": lambda room: [True, False]},
    "passepartout.lazy.__getattr__": {"self": lambda room: []},          # the waiting patterns themselves, which are all tried
    "passepartout.outline.checkboxes.formula_end": {"closing": lambda room: [r"\\end\{a\}[ \t]*\r?(?:\n|\Z)"]},
    "passepartout.outline.frontmatter.unquote": {"item": lambda room: [True, False]},
    "passepartout.outline.logbook.drawer_log": {"logging": lambda room: [room.Logging(drawer="LOGBOOK")]},
    "passepartout.outline.rewrite.property_lines": {"more": lambda room: ["", r"\+?"]},
    "passepartout.redaction.logins._calls": {"sure": lambda room: [True, False]},
    "passepartout.reflex.command.cuts": {"joints": lambda room: ["to|into|in", "and"]},
    "passepartout.reflex.editcalls.plain_list": {"found": lambda room: [room._PLAIN_ITEM.fullmatch(text) for text in ("1. a", "        12) a")]},
    "passepartout.reflex.editcalls.propose_item": {"command": lambda room: [SimpleNamespace(args={"item": text}) for text in WRITTEN], "mark": lambda room: [r"\-", r"[ ]{0,8}\d{1,2}[.)]"]},
    "passepartout.reflex.files.day_in_a_tree": {"day": lambda room: [date(2026, 11, 20)]},
    "passepartout.reflex.replies.help_about": {"word": lambda room: ["every", "task", *room._HELP_WORDS.values()]},
    "passepartout.shell.past._tagged": {"either": lambda room: ["personal|private", re.escape("a b")]},
    "passepartout.shell.standfor.called": {"base": lambda room: ["r?", "*a*b*c*", "[a-z]*", "?*?*?*"]},
    "passepartout.shell.words.component": {"made": lambda room: ["a.*b.*c", ".*a", "[a-z].*.", ".*.*"], "text": lambda room: ["a", "."], "mask": lambda room: ["a", "."]},
    "passepartout.toolbelt.filesearch._named": {"files": lambda room: ["", "*", "*a*b*c*", "**.[a-z]*"]},
    "passepartout.tui.entry.whole": {"self": lambda room: [SimpleNamespace(kept={"a": "b", "aa": "c"})]},
}
WRITTEN = ["ab", " ", "*", "a b", "-" * 3]          # what `re.escape` may be given


def put_together():
    """(where it stands, the pattern compiled, its expression) of each pattern that a function puts together, once for everything that its parts may be.

    The expression is taken out of the function. A part that comes out of `re.escape` may be any text; what another part may be has to be said in `PARTS`: a NameError says which."""
    for room in ROOMS:
        try: module = importlib.import_module(room)
        except ModuleNotFoundError: continue
        for function in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)): continue
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Constant) and made_by(node.func):
                    where = f"{room}.{function.name}"
                    flags = [each for each in (*node.args[1:], *[word.value for word in node.keywords if word.arg == "flags"]) if re.fullmatch(r"re\.[A-Z]+( \| re\.[A-Z]+)*", ast.unparse(each))]
                    for value in values(where, node.args[0], module):
                        yield where, re.compile(value, eval(ast.unparse(flags[0]), {"re": re}) if flags else 0), ast.unparse(node.args[0])


def made_by(function): return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re" and function.attr in LOOKS or isinstance(function, ast.Name) and function.id == "Regex"


def values(where, expression, module):
    "What the `expression` may come to: with everything that `PARTS` says of the names in it, and all others, which have to stand within `re.escape` alone, of every kind of text."
    known, said = {**vars(builtins), **vars(module)}, PARTS.get(where, {})
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    escaped = {name.id for node in ast.walk(expression) if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.escape" for name in ast.walk(node) if isinstance(name, ast.Name)}
    free = {name: said[name](module) if name in said else WRITTEN for name in names if name in said or name in escaped and name not in known}
    code = compile(ast.Expression(expression), where, "eval")
    return dict.fromkeys(eval(code, known | dict(zip(free, chosen))) for chosen in itertools.product(*free.values()))


KINDS = {is_.CATEGORY_DIGIT: r"\d", is_.CATEGORY_SPACE: r"\s", is_.CATEGORY_WORD: r"\w", is_.CATEGORY_NOT_SPACE: r"\S", is_.CATEGORY_NOT_WORD: r"\W", is_.CATEGORY_NOT_DIGIT: r"\D"}

def fits(items, sign):
    "Whether a set of signs, as the parser gives it, has this one."
    hit = any(op is is_.LITERAL and ord(sign) == value or op is is_.RANGE and value[0] <= ord(sign) <= value[1] or op is is_.CATEGORY and re.match(KINDS[value], sign) for op, value in items)
    return bool(hit) != (items[0][0] is is_.NEGATE)


@functools.cache
def signs(items): return [sign for sign in SAMPLES if fits(items, sign)] or ["a"]


class Maker:
    "Makes texts that parts of a pattern match."
    def __init__(self, seed): self.any = random.Random(seed)

    def text(self, parts, least=0):
        "A text that these parts match, as far as that can be said without looking around; what may be left out is, unless `least` says otherwise."
        return "".join(self.part(op, value, least) for op, value in parts)

    def part(self, op, value, least):
        if op is is_.LITERAL: return chr(value)
        if op is is_.NOT_LITERAL: return self.any.choice(signs(((is_.NEGATE, None), (is_.LITERAL, value))))
        if op is is_.ANY: return self.any.choice("a 1")
        if op is is_.IN: return self.any.choice(signs(tuple(value)))
        if op is is_.BRANCH: return self.text(self.any.choice(value[1]))
        if op is is_.SUBPATTERN: return self.text(value[3])
        if op is is_.ATOMIC_GROUP: return self.text(value)
        if op in REPEATS: return "".join(self.text(value[2]) for _ in range(min(3, max(value[0], least, self.any.random() < 0.3))))
        return ""

    def repeated(self, parts, before=""):
        "(what may stand before it, its parts) of everything that may be repeated many times."
        for op, value in parts:
            if op in REPEATS:
                if value[1] is is_.MAXREPEAT or value[1] > AGAIN: yield before, value[2]
                yield from self.repeated(value[2], before)
            elif op is is_.SUBPATTERN: yield from self.repeated(value[3], before)
            elif op is is_.ATOMIC_GROUP: yield from self.repeated(value, before)
            elif op is is_.BRANCH:
                for each in value[1]: yield from self.repeated(each, before)
            before += self.part(op, value, 0)


@contextlib.contextmanager
def within(seconds):
    "Raise `TimeoutError` when so many seconds of the processor were used up: a pattern looks for signals."
    def late(*_): raise TimeoutError
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try: yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def slowest(pattern, seed, tries=3):
    "(seconds of the processor, the text) of the text that this pattern looked through longest."
    maker = Maker(seed)
    parts = reading.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    texts = {before + pump * AGAIN + end for before, inside in maker.repeated(parts) for pump in (" ", *[maker.text(inside, 1) or "a" for _ in range(tries)]) for end in ("\n\0", "\0")}
    worst = 0.0, ""
    for text in sorted(texts):
        for look in (pattern.match, pattern.fullmatch):
            begun = time.thread_time()
            try:
                with within(1.0): look(text)
            except TimeoutError: return math.inf, text
            worst = max(worst, (time.thread_time() - begun, text))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("bad", [r"(?:a|an?)+x", r"(?:(?:to|a|the|an?)\s+)*x", r"(?:\.[^\s=]+)+", r"(?:\[\]?[^\]]*\]|[^\[])*/", r"(?:(?:\\.|[^$])*|\$\d)*#"])
def test_patterns_that_double_their_time_are_found(bad):
    assert any(slowest(re.compile(bad), seed, 8)[0] > 0.3 for seed in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_pattern_doubles_its_time(seed):
    found = all_patterns()
    assert len(found) > 1_000
    assert not [(where, text) for where, pattern in found for seconds, text in [slowest(pattern, seed)] if seconds > 0.3]


@pytest.mark.slow
def test_no_pattern_that_a_function_puts_together_doubles_its_time():
    found = {(pattern.pattern, pattern.flags): (where, pattern) for where, pattern, _ in put_together() if isinstance(pattern.pattern, str)}
    assert len(found) > 60 and len({where for where, _ in found.values()}) > 25
    assert not [(where, text) for where, pattern in found.values() for seconds, text in [slowest(pattern, 0)] if seconds > 0.3]


def test_a_part_of_a_pattern_that_nobody_spoke_of_is_named():
    import passepartout.desk as room
    expression = lambda text: ast.parse(text, mode="eval").body
    assert {r"(?<!\w)ab", r"(?<!\w)\*"} < set(values("passepartout.desk.new", expression('rf"(?<!\\w){re.escape(wanted)}"'), room))
    with pytest.raises(NameError, match="'wanted'"): values("passepartout.desk.new", expression('rf"(?<!\\w){wanted}"'), room)
