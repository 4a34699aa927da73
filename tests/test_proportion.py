"What a stranger wrote takes as long as its length allows, whatever its shape: a megabyte of it holds up nobody"
import time

import pytest

from passepartout.headerargs import split_arguments
from passepartout.labels import addresses_in
from passepartout.markdown import parse_markdown
from passepartout.render import wrapped
from passepartout.timestamps import stamps


def repeated(task): return stamps(parse_markdown(f"- [ ] {task}\n", "x.md"))


HOSTILE = {"a word": (addresses_in, "a"), "a mail that is none": (addresses_in, "a+"), "a name that is none": (addresses_in, "a1."), "a scheme without an end": (addresses_in, "http"), "accounts": (addresses_in, "0 "),
           "blanks": (lambda text: wrapped(text, 80), " "), "tabs": (lambda text: wrapped(text, 80), "\t"), "words": (lambda text: wrapped(text, 80), "a "), "keys": (lambda text: wrapped(text, 80), ":a "),
           "brackets": (split_arguments, "[["), "both brackets": (split_arguments, "(["), "quotes": (split_arguments, '"a '), "every": (lambda text: repeated("🔁 every" + text), " "), "every word": (lambda text: repeated("🔁 every" + text), " a")}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_takes_moments(name):
    look, unit = HOSTILE[name]
    began = time.process_time()
    look(unit * (1_000_000 // len(unit)) + "!")
    assert time.process_time() - began < 15          # what is not in proportion takes hours


def test_an_address_is_found_however_long_the_word_is_that_it_stands_in():
    for long in ("x" * 500, "x1." * 200, "1" * 40, "é" * 300, "-" * 100):
        for address in ("http://evil.example/a", "eve@evil.example", "www.evil.example", "pay.evil.example", "a." * 40 + "evil.example"):
            assert any("evil.example" in found for found in addresses_in(f"see {long}{address} soon")), (long[:5], address)
