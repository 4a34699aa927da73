"No text holds a gate up, and none makes it fail: what is too much to judge is asked about or rejected"
import pytest

from hostile import judged, texts
from passepartout.agent import Agent, run_anywhere
from passepartout.redaction.assignments import find_assignments
from passepartout.redaction.nearby import find_nearby
from passepartout.redaction.formsearch import find_forms
from passepartout.redaction.patterns import TooMuch
from passepartout.confinement.resources import Root
from passepartout.shell.judge import judge_command


def test_the_same_seed_makes_the_same_texts():
    assert list(texts(3, 20)) == list(texts(3, 20)) != list(texts(4, 20))


@pytest.mark.slow
@pytest.mark.parametrize("said", ["look for the open tasks", ""])
def test_every_gate_answers(tmp_path, said):
    (tmp_path / "memex").mkdir()
    agent = run_anywhere(Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", journal=":memory:"))
    try:
        for kind, gate, took, text, why in judged(agent, said, 1, 10, (120_000,)):
            assert "failed (" not in why, (kind, gate, text[:80], why)
            assert took < 5_000, (kind, gate, text[:80])                         # a guard against hanging, not a measure
    finally: run_anywhere(agent.close())


def test_many_redirections_are_not_read_again_and_again(tmp_path):
    root = Root(tmp_path)
    try: assert judge_command(">a " * 5_000, [root], "/home/ada").level > 0
    finally: root.close()


@pytest.mark.parametrize("unit", ["key 0123456789abcdef ", "token=Aa1", "://a:b", "AZDO", "login a password b1c2d3 "])
@pytest.mark.parametrize("find", [find_forms, find_assignments, find_nearby])
def test_what_cannot_be_looked_through_is_said_to_be_so(find, unit):
    "The work is bounded by a number of candidates, whatever the size."
    try: found = len(find((unit * 40_000).encode()))
    except TooMuch: return
    assert found <= 1_000
