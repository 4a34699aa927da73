"""What a script may look like, and what becomes of one that is broken."""
import asyncio
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

import passepartout
from passepartout.plist import read_plist
from passepartout.providers.scripted import MOST_SCRIPT, ScriptError, ScriptedStep, load_script, make_scripted, read_script

SAMPLE = Path(passepartout.__file__).parent / "sample"
asked = lambda sensor: SimpleNamespace(payload={"sensor": sensor})


@given(st.lists(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=80).map(str.strip).filter(lambda t: t and t[0] not in "!;-\ufeff"), min_size=1, max_size=8))
def test_answers_come_back_in_order_and_unchanged(answers):
    assert [s.text for s in read_script("\n---\n".join(answers))] == answers


@given(st.text(max_size=300))
def test_any_text_is_a_script_or_a_sentence(text):
    try: steps = read_script(text)
    except ScriptError as problem: assert problem.message.endswith(".")
    else: assert all(s.text or s.error is not None for s in steps)


def test_windows_line_ends_a_byte_order_mark_and_comments_inside():
    assert read_script("\ufeff;; hello\r\n!sleep 0.5\r\n(:A\r\n;; between\r\n 1)\r\n---\r\n!error\r\n") == (ScriptedStep("(:A\n 1)", None, 0.5), ScriptedStep("", "the provider failed"))


def test_a_pause_does_not_hold_up_others():
    async def both():
        began = time.perf_counter()
        await asyncio.gather(*(make_scripted("!sleep 0.1\nhello")("", "") for _ in range(20)))
        return time.perf_counter() - began
    assert asyncio.run(both()) < 0.6


@pytest.mark.parametrize("data, hint", [(b"\xff\xfe", "UTF-8"), (b"hi\0there", "zero bytes"), (b"", "no answers"), (b";; only\n---\n\n", "no answers"), (b"!sleep 99999\nx", "number of seconds"),
                                        (b"!sleep nan\nx", "number of seconds"), (b"!error x\nhello", "not both"), (b"!on\nx", "no directive"), (b"!on tool-output", "without an answer")])
def test_a_file_that_is_no_script(tmp_path, data, hint):
    path = tmp_path / "a.script"; path.write_bytes(data)
    with pytest.raises(ScriptError, match=hint) as caught: make_scripted(path, name="a.script")
    assert caught.value.__cause__ is None and "a.script" in caught.value.message


def test_missing_folder_unreadable_and_huge_files(tmp_path):
    for source, hint in ((tmp_path / "none", "no script at"), (str(tmp_path / "none"), "no script at"), (tmp_path, "is a folder"), ("x" * 5000, "cannot be read"), ("a\0b", "cannot be read")):
        with pytest.raises(ScriptError, match=hint): make_scripted(source, name="x")
    huge = tmp_path / "huge"
    with open(huge, "wb") as f: f.truncate(MOST_SCRIPT + 1)
    with pytest.raises(ScriptError, match="larger than"): make_scripted(huge, name="x")
    if os.geteuid():
        huge.write_text("x"); huge.chmod(0)
        with pytest.raises(ScriptError, match="cannot be read"): make_scripted(huge, name="x")


async def test_sensors_are_recognised_however_they_are_spelt():
    for spelling in ("tool-output", ":TOOL-OUTPUT", "tool_output"):
        assert await make_scripted("!on tool-output\nyes")("", "", context=asked(spelling)) == "yes"
    assert (await make_scripted("!on tool-output\nyes")("", "", context=asked("user-input")))["status"] == "error"
    for context in (None, SimpleNamespace(), SimpleNamespace(payload=None), asked(None)): assert await make_scripted("!on tool-output\nyes")("", "", context=context) == "yes"


@pytest.fixture
def no_pauses(monkeypatch):
    async def at_once(seconds): return None
    monkeypatch.setattr("passepartout.providers.scripted.asyncio.sleep", at_once)


async def test_the_demonstration_goes_as_told(no_pauses):
    a, b = (make_scripted(SAMPLE / f"demo-{x}.script", name=x) for x in "ab")
    quick = lambda backend, sensor: backend("", "", context=asked(sensor))
    first, second = read_plist(await quick(a, "user-input")), read_plist(await quick(a, "user-input"))
    assert first["payload"]["args"]["path"] == "/etc/shadow" and second["payload"]["tool"] == "org-find"
    assert read_plist(await quick(a, "tool-output"))["payload"]["args"]["path"] == "trips/lisbon.org"
    assert "11 December" in await quick(a, "tool-output")
    write = read_plist(await quick(a, "user-input"))
    assert write["payload"]["tool"] == "org-capture" and write["payload"]["args"]["scheduled"] == "2026-11-21"
    assert read_plist(await quick(a, "tool-output"))["payload"]["tool"] == "org-archive"
    assert "inbox" in await quick(a, "tool-output")
    assert (await quick(a, "user-input"))["status"] == "error"
    assert read_plist(await quick(b, "user-input"))["payload"]["tool"] == "org-agenda"
    assert (await quick(a, "tool-output"))["status"] == "error"
    assert "lisbon.org" in await quick(b, "tool-output")


async def test_the_demonstration_does_not_depend_on_an_answer_after_the_approval(no_pauses):
    a = make_scripted(SAMPLE / "demo-a.script", name="a")
    for _ in range(2): await a("", "", context=asked("user-input"))
    for sensor in ("tool-output", "tool-output", "user-input"): await a("", "", context=asked(sensor))
    assert (await a("", "", context=asked("user-input")))["message"].startswith("503")


def test_loading_text_that_looks_like_text():
    for text in ("(:A 1)", "!error x", ";; c\nhello", "one\ntwo", "  (:A 1)"): assert load_script(text) == text
