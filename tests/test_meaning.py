"Search by meaning with the model that its package carries: no network, no leak, and nothing lost without it"
import asyncio
import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples
from passepartout.agent import Agent
from passepartout.backends import register_backend
from passepartout.context import awareness
from passepartout.indexing.embeddings import Embedder, Vectors, best_rows, packed, signs
from passepartout.indexing.index import Index
from passepartout.indexing.meaning import fuse
from passepartout.messages import Signal
from passepartout.confinement.resources import Root
from waits import away, next_line

carried = pytest.mark.skipif(find_spec("wordllama") is None, reason="wordllama is not installed; for this Python it has to be built: pip install -e '.[semantic]'")

TRAVEL = "* Flights to Lisbon\n:PROPERTIES:\n:ID: flights\n:END:\nThe plane leaves on friday morning from the airport.\n"


async def until(ready):
    for _ in range(400):
        if ready(): return True
        await asyncio.sleep(0.02)

async def agent_in(tmp_path, **notes):
    (tmp_path / "memex").mkdir()
    for name, text in notes.items(): (tmp_path / "memex" / f"{name}.org").write_text(text)
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", context_semantic_threshold=0.4)
    agent.upkeep.refresh()
    agent.follow_notes()
    assert await until(lambda: agent.meaning.vectors is not None and len(agent.meaning.vectors.done) == len(notes))
    return agent


@carried
async def test_an_agent_finds_and_shows_what_is_meant(tmp_path):
    agent = await agent_in(tmp_path, travel=TRAVEL, trip="* Flights to Porto\nThe plane leaves on friday evening.\n", health="* Flights to the clinic :@personal:\nThe plane leaves on friday, nobody knows.\n", house="* Roof\nWater drips through the ceiling into the attic.\n")
    assert "Roof" in await agent.handle("find ceiling leaks")
    sight = {local: awareness(agent, Signal(foveal_focus="flights"), local).text for local in (False, True)}
    assert "SIMILAR TO IT:\n- Flights to Porto (trip.org)" in sight[False] and "clinic" not in sight[False] and "Flights to the clinic" in sight[True]
    await agent.close()
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19")
    assert agent.meaning.vectors is None and "Roof" in await agent.handle("find attic")          # one question needs no model
    await agent.close()


@pytest.mark.slow
@carried
async def test_a_private_hit_by_meaning_is_private(tmp_path):
    agent = await agent_in(tmp_path, travel=TRAVEL, health="* Dentist :@personal:\nA bad tooth hurts, the doctor pulls it.\n")
    seen = []
    call = '(:TYPE :REQUEST :TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-find" :ARGS (:QUERY "toothache doctor") :EXPLANATION "To answer what the person asked"))'
    register_backend(agent, "elsewhere", lambda prompt, system: seen.append(prompt + system) or (call if len(seen) == 1 else "I found nothing."))
    agent.provider_cascade = ("elsewhere",)
    answer = await agent.handle("my teeth")
    assert answer.startswith("I found nothing.") and "Dentist" in answer and len(seen) == 2 and not any("Dentist" in each or "tooth hurts" in each for each in seen)
    await agent.close()


@pytest.mark.slow
@carried
def test_the_model_is_loaded_without_any_network(tmp_path):
    code = ("import socket\ndef no(*a, **k): raise SystemExit('tried the network')\nsocket.socket.connect = socket.getaddrinfo = socket.create_connection = no\n"
            "from passepartout.indexing.embeddings import packaged_embedder\nprint(packaged_embedder().embed(['roof', 'slate']).shape)")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"HOME": str(tmp_path), "PATH": ""}, timeout=120)
    assert out.stdout == "(2, 256)\n", out.stderr
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.slow
def test_without_the_extra_a_sentence_says_so():
    code = ("import sys\nsys.modules['wordllama'] = sys.modules['numpy'] = None\nimport importlib.util as u\nfind = u.find_spec\n"
            "u.find_spec = lambda name, *a: None if name == 'wordllama' else find(name, *a)\nfrom passepartout.indexing.embeddings import packaged_embedder, semantic_state\n"
            "import passepartout.agent\nprint(semantic_state(packaged_embedder()))")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "pip install 'passepartout[semantic]'" in out.stdout, out.stderr


@pytest.mark.parametrize("rows", [lambda texts: np.full((len(texts), 4), np.nan), lambda texts: np.zeros((len(texts), 4)), lambda texts: np.full((len(texts), 4), np.inf), lambda texts: [[1e30, -1e30, 0, 0]] * len(texts)])
def test_a_function_that_returns_nonsense_finds_nothing_and_breaks_nothing(tmp_path, rows):
    (tmp_path / "a.org").write_text(TRAVEL)
    index = Index(Root(tmp_path)); index.refresh()
    vectors = Vectors(None, Embedder("odd", rows, True))
    assert vectors.keep_up(index) == 1 and all(score <= 1.01 for _, score in vectors.about("plane") + vectors.similar("flights"))


def test_a_model_that_breaks_off_goes_on_where_it_was(tmp_path):
    for n in range(5): (tmp_path / f"{n}.org").write_text(f"* Heading {n}\n")
    index = Index(Root(tmp_path)); index.refresh()
    calls = []
    def embed(texts):
        calls.append(texts)
        if len(calls) == 3: raise MemoryError
        return np.ones((len(texts), 4))
    vectors = Vectors(None, Embedder("weak", embed, True))
    with pytest.raises(MemoryError): vectors.keep_up(index)
    assert (len(vectors.done), vectors.keep_up(index), len(calls)) == (2, 3, 6)
    for n in range(5): (tmp_path / f"{n}.org").rename(tmp_path / f"moved-{n}.org")
    index.refresh()
    assert vectors.keep_up(index) == 10 and len(vectors.similar(index.db.execute("SELECT ident FROM node WHERE place = 1").fetchone()[0])) > 0


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=4))
def test_fusion_keeps_all_and_prefers_what_all_prefer(lists):
    found = fuse(*lists)
    assert {what for what, _ in found} == {what for each in lists for what in each}
    assert [points for _, points in found] == sorted([points for _, points in found], reverse=True)
    firsts = {each[0] for each in lists if each}
    if lists and all(lists) and len(firsts) == 1: assert found[0][0] in firsts


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1, 2, 63, 64, 70]), st.integers(1, 20), st.integers(0, 9), st.randoms(use_true_random=False))
def test_best_rows_are_those_of_a_plain_loop(width, count, most, source):
    rows = np.array([[source.gauss(0, 1) for _ in range(width)] for _ in range(count)])
    block = np.stack([np.frombuffer(packed(row), np.float16) for row in rows])
    split = source.randrange(count + 1)
    found = best_rows([(part, signs(part)) for part in (block[:split], block[split:]) if len(part)], block[0].tobytes(), most, 0.1)
    plain = sorted(((n, float(row.astype(np.float32) @ block[0].astype(np.float32))) for n, row in enumerate(block)), key=lambda each: -each[1])
    assert len(found) == len([1 for _, score in plain[:most] if score >= 0.1]) and all(abs(a[1] - b[1]) < 1e-3 for a, b in zip(found, plain))


@pytest.mark.slow
def test_the_model_leaves_logging_alone():
    code = "import logging; from passepartout.indexing.embeddings import packaged_embedder; packaged_embedder(); print(logging.root.handlers, logging.root.level)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout == "[] 30\n"


HOLDER = """
import asyncio, json, sys
from passepartout.agent import Agent
async def main():
    agent = await Agent.boot(memex_dir=sys.argv[1], state_dir=sys.argv[2], cache_dir=sys.argv[2], today="2026-11-19")
    agent.upkeep.refresh(); agent.follow_notes()
    while agent.meaning.vectors is None or not agent.meaning.vectors.done: await asyncio.sleep(0.02)
    found = await agent.handle("find ceiling leaks")
    print(json.dumps(["Roof" in found, sorted({"wordllama", "tokenizers", "safetensors"} & set(sys.modules)), agent.meaning.vectors.embedder.embed.__self__.process.pid]), flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""

@pytest.mark.slow
@carried
def test_the_model_is_in_a_process_that_ends_with_the_agent_however_that_ends(tmp_path):
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "house.org").write_text("* Roof\nWater drips through the ceiling into the attic.\n")
    process = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path / "memex", tmp_path / "state"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        found, held, pid = json.loads(next_line(process))
        assert (found, held) == (True, [])
        assert Path(f"/proc/{pid}/cmdline").read_bytes()
    finally:
        away(process)
    for _ in range(3_000):
        if not running(pid): return
        time.sleep(0.02)
    raise AssertionError("it stayed")


def running(pid):
    "Whether there is such a process that has not ended."
    try: return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError: return False


@pytest.mark.slow
@carried
async def test_who_is_asked_for_by_name_stands_first_and_no_likeness_before_a_title(tmp_path):
    agent = await agent_in(tmp_path, ana="#+TITLE: Ana Carvalho\nMet in 2009.\n* TODO Call Ana\n* Ana's birthday\n", words="* Uma mesa para sete\n* Olá, bom dia\n* A person, a friend, a woman\n", house="* Roof\nAna looked at it.\n")
    found = await agent.handle("find ana")
    assert [line.split(":")[0][3:] for line in found.split("\n") if line[1:2] == "."][:3] == ["ana.org"] * 3 and "ana.org:1 " in found.split("\n")[1], found
    await agent.close()
