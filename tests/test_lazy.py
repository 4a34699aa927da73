"Every pattern of every room compiles, and a waiting pattern answers like a compiled one"
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import passepartout
from passepartout.lazy import METHODS, Regex

ROOMS = sorted(m.name for m in pkgutil.walk_packages(passepartout.__path__, "passepartout.") if not m.name.endswith("__main__"))


def patterns(value, depth=0):
    "The waiting patterns in a module's value, also within tuples and mappings."
    if isinstance(value, Regex): yield value
    elif depth < 3 and isinstance(value, dict): yield from (p for pair in value.items() for item in pair for p in patterns(item, depth + 1))
    elif depth < 3 and isinstance(value, (tuple, list, frozenset, set)): yield from (p for item in value for p in patterns(item, depth + 1))


@pytest.mark.slow
def test_every_pattern_of_every_room_compiles():
    count = 0
    for room in ROOMS:
        try: module = importlib.import_module(room)
        except ModuleNotFoundError as missing:
            assert not missing.name.startswith("passepartout")          # an extra that is not installed here
            continue
        for name, value in vars(module).items():
            for pattern in patterns(value):
                count += 1
                assert isinstance(re.compile(pattern.pattern, pattern.asked), re.Pattern), f"{room}.{name}"
    assert count > 200


def test_no_group_is_repeated_possessively():
    "Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) match `(…)*+` wrongly when the group can go back or look ahead; `(?>(…)*)` says the same."
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")
    found = [f"{path}:{number}" for path in Path(passepartout.__file__).parent.rglob("*.py") if path.name != "_modidx.py"
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if possessive.search(line)]
    assert not found
    assert possessive.search(r"(?:a|b)*+") and possessive.search("(ab){2,}+") and not possessive.search(r"[^\)]*+ \(x\)++")


@given(st.sampled_from([r"a+", r"(?P<x>b)|c", r"^\s*$", r"[^ab]{2,}"]), st.sampled_from([0, re.I, re.M, re.S | re.I]), st.text("abcABC \n", max_size=20))
def test_it_answers_as_a_compiled_pattern_does(pattern, flags, text):
    ready, waits = re.compile(pattern, flags), Regex(pattern, flags)
    span = lambda found: found and (found.span(), found.groups())
    for method in ("search", "match", "fullmatch"): assert span(getattr(waits, method)(text)) == span(getattr(ready, method)(text))
    for method in ("findall", "split"): assert getattr(waits, method)(text) == getattr(ready, method)(text)
    assert waits.sub("-", text) == ready.sub("-", text) and waits.subn("-", text) == ready.subn("-", text)
    assert [span(m) for m in waits.finditer(text)] == [span(m) for m in ready.finditer(text)]
    assert (waits.groups, waits.flags, dict(waits.groupindex)) == (ready.groups, ready.flags, dict(ready.groupindex))


def test_it_has_all_that_a_pattern_has_and_nothing_else():
    public = {name for name in dir(re.Pattern) if not name.startswith("_")}
    assert public - METHODS == {"pattern", "scanner"}
    with pytest.raises(AttributeError): Regex("a").compile


def test_pickling_and_copying_do_not_compile():
    import copy
    waits = Regex("a(b)", re.I)
    assert copy.copy(waits).search("xAB")[1] == "B" and copy.deepcopy(Regex("x")).pattern == "x"
