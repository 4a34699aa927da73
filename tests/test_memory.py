"Laws of memory: random writes against a plain model, transactions, snapshots, and the way through the journal"
import asyncio
import contextvars
import gc
import timeit
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings as budget, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from conftest import examples
from passepartout.changes import BUCKETS, EMPTY, FEW, MemoryChange, bucket, carry_over, ingest, next_state
from passepartout.conditions import PassepartoutError, PipelineError
from passepartout.journal import Journal
from passepartout.memory import Memory, MemoryConflict
from passepartout.messages import Label
from passepartout.objects import canonical, from_row, matches, merkle_hash, plain, read_outline, row

IDS = [f"i{n}" for n in range(7)]
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), st.text(max_size=4), st.sampled_from(["TODO", "1", "a|b", "\ud800"]))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c-d"]), inner, max_size=2), max_leaves=6)
fields = st.dictionaries(st.sampled_from(["TITLE", "TODO", "tags", "dead-line"]), values, max_size=3)


def exact(value):
    "A form in which two values are equal only if they are the same content: with types, without order of names."
    value = plain(value)
    if isinstance(value, dict):
        return ("dict", frozenset((k, exact(v)) for k, v in value.items()))
    if isinstance(value, tuple):
        return ("list", tuple(map(exact, value)))
    return (type(value).__name__, repr(value))


@st.composite
def outlines(draw, ids=tuple(IDS), depth=3, contents=None):
    ident, rest = ids[0], list(ids[1:])
    out = {"type": draw(st.sampled_from(["HEADLINE", "file"])), "properties": {**draw(fields), "ID": ident}, "content": draw(st.text(max_size=5))}
    below = []
    while rest and depth and draw(st.booleans()):
        cut = draw(st.integers(1, len(rest)))
        below.append(draw(outlines(tuple(rest[:cut]), depth - 1)))
        rest = rest[cut:]
    if below or draw(st.booleans()):
        out["contents"] = below
    return out


shuffled = st.permutations(IDS).flatmap(lambda ids: outlines(tuple(ids)))


@given(values, values)
def test_canonical_text_is_equal_exactly_when_content_is(one, two):
    assert (canonical(plain(one)) == canonical(plain(two))) == (exact(one) == exact(two))


@pytest.mark.slow
@given(shuffled, shuffled)
@budget(deadline=None)
def test_hashes_change_exactly_when_content_does(one, two):
    def content(found, memory):
        return (found.id, str(found.type), exact(found.attributes), found.content, found.parent_id, tuple(content(memory.lookup(c), memory) for c in found.children))
    memories = []
    for each in (one, two):
        memories.append(Memory())
        memories[-1].ingest(each)
    for a in memories[0]:
        for b in memories[1]:
            assert (a.hash == b.hash) == (content(a, memories[0]) == content(b, memories[1]))


@given(shuffled)
@budget(deadline=None)
def test_rows_bring_an_object_back(outline):
    memory = Memory()
    memory.ingest(outline, label=Label("network", True, ("x",)))
    for found in memory:
        again = from_row(found.id, row(found)[2])
        assert canonical(again.attributes) == canonical(found.attributes) and again.label == found.label
        assert (again.type, again.content, again.parent_id, again.children) == (found.type, found.content, found.parent_id, found.children)


def check(memory):
    "What holds in every memory: parents and children in step, hashes as from scratch, index as a scan."
    objects = {found.id: found for found in memory}
    assert len(objects) == len(memory)
    for found in objects.values():
        assert found.parent_id is None or found.id in objects[found.parent_id].children
        assert len(set(found.children)) == len(found.children)
        assert all(objects[child].parent_id == found.id for child in found.children)
        assert found.hash == merkle_hash(replace(found, hashed=b""), [objects[child].hash for child in found.children])
    for name in ("title", "TODO", "tags", "dead_line"):
        for value in [found.attributes.get(name) for found in objects.values()] + ["TODO", None, 1, ("a",), {}]:
            scan = sorted(i for i, found in objects.items() if matches(found, name.lower(), plain(value)))
            assert [found.id for found in memory.with_attribute(name, value)] == scan


class Writes(RuleBasedStateMachine):
    "Random writes, transactions, snapshots, rollbacks, saves and loads."

    @initialize()
    def start(self):
        self.journal = Journal.open(":memory:")
        self.memory = Memory(self.journal, snapshots=3)
        self.kept = []

    def write(self, outline, parent):
        try:
            self.memory.ingest(outline, parent_id=parent)
        except PipelineError:
            return

    @rule(outline=shuffled, parent=st.one_of(st.none(), st.sampled_from(IDS)))
    def ingest(self, outline, parent):
        self.write(outline, parent)

    @rule(ident=st.sampled_from(IDS))
    def remove(self, ident):
        before = len(self.memory)
        assert before - self.memory.remove(ident) == len(self.memory)
        assert self.memory.lookup(ident) is None

    @rule(first=shuffled, second=shuffled, parent=st.sampled_from(IDS), fails=st.booleans())
    def transaction(self, first, second, parent, fails):
        before = self.memory.state
        try:
            with self.memory.transaction():
                self.write(first, None)
                check(self.memory)
                self.write(second, parent)
                check(self.memory)
                assert self.memory.state is before
                if fails:
                    raise KeyError
        except KeyError:
            assert self.memory.state is before

    @rule()
    def snapshot(self):
        self.memory.snapshot()
        self.kept = [{found.id: found for found in self.memory}, *self.kept][:3]

    @precondition(lambda self: self.kept)
    @rule(index=st.integers(0, 2))
    def rollback(self, index):
        if index < len(self.kept):
            self.memory.rollback(index)
            assert {found.id: found for found in self.memory} == self.kept[index]

    @rule()
    def save(self):
        self.memory.save()
        assert self.memory.save() == 0
        fresh = Memory(self.journal)
        assert fresh.load() == len(self.memory)
        assert {f.id: f.hash for f in fresh} == {f.id: f.hash for f in self.memory}

    @rule(outline=shuffled, commits=st.booleans())
    def mirror_an_effect(self, outline, commits):
        try:
            with self.memory.transaction() as work:
                self.memory.ingest(outline)
                batch = self.journal.batch("s", "t")
                for each in work.rows():
                    batch.remember(*each)
                if commits:
                    batch.commit_now()
                else:
                    raise KeyError
        except (KeyError, PipelineError):
            pass

    @invariant()
    def holds(self):
        if hasattr(self, "memory"):
            check(self.memory)

    def teardown(self):
        if hasattr(self, "journal"):
            self.journal.close()


TestWrites = Writes.TestCase
TestWrites.settings = budget(deadline=None, max_examples=12, stateful_step_count=12, suppress_health_check=list(HealthCheck))


class TestManyWrites(Writes.TestCase):
    settings = budget(deadline=None, max_examples=examples(400), stateful_step_count=30, suppress_health_check=list(HealthCheck))
    pytestmark = pytest.mark.slow


def test_an_id_given_twice_is_found_in_one_look_through_the_outline():
    many = [{"properties": {"ID": str(n)}} for n in range(60_000)]
    began = timeit.default_timer()
    with pytest.raises(PipelineError, match="the ID '59999'"): read_outline({"properties": {"ID": "top"}, "contents": [*many, many[-1]]})
    assert timeit.default_timer() - began < 8


@pytest.mark.slow
@given(shuffled, shuffled, shuffled, st.sampled_from(IDS))
@budget(deadline=None, max_examples=examples(60))
def test_writes_that_do_not_conflict_commute(base, one, two, parent):
    start = MemoryChange(EMPTY)
    ingest(start, read_outline(base))
    state = next_state(start)

    def both(first, second):
        changes = []
        for outline, parent_id in (first, second):
            changes.append(MemoryChange(state))
            ingest(changes[-1], read_outline(outline, parent_id))
        return next_state(carry_over(changes[1], next_state(changes[0])))

    results = []
    for order in (((one, None), (two, None)), ((two, None), (one, None))):
        try:
            results.append(both(*order))
        except PipelineError as error:
            results.append(type(error))
    if any(isinstance(result, type) for result in results):
        return          # a conflict is an answer too; that it is none where it need not be is tested below
    a, b = ({i: found for i, found in each.objects.items()} for each in results)
    assert {i: (f.type, f.content, canonical(f.attributes), f.parent_id, set(f.children)) for i, f in a.items()} == \
           {i: (f.type, f.content, canonical(f.attributes), f.parent_id, set(f.children)) for i, f in b.items()}


def tree(memory, *ids):
    memory.ingest({"properties": {"ID": "top"}, "contents": [{"properties": {"ID": i, "TITLE": i}} for i in ids]})
    return memory


def test_different_objects_never_conflict():
    memory = tree(Memory(), *"abcdef")

    async def edit(ident, parent=None):
        with memory.transaction():
            memory.ingest({"properties": {"ID": ident}, "content": "new"}, parent)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*[edit(i) for i in "abc"], *[edit(f"n{i}", "top") for i in range(50)], edit("top"), edit("x"))
    asyncio.run(main())
    assert memory.lookup("a").content == "new" and len(memory.lookup("top").children) == 56
    check(memory)


def test_the_later_of_two_writes_of_one_object_fails_and_names_it():
    memory = tree(Memory(), "a", "b")

    async def edit(text):
        with memory.transaction():
            memory.ingest({"properties": {"ID": "a"}, "content": text})
            memory.ingest({"properties": {"ID": "only-" + text}})
            await asyncio.sleep(0)

    async def main():
        return await asyncio.gather(edit("one"), edit("two"), return_exceptions=True)
    done = asyncio.run(main())
    assert done[0] is None and isinstance(done[1], MemoryConflict) and done[1].ids == ("a",)
    assert memory.lookup("a").content == "one" and memory.lookup("only-one") and memory.lookup("only-two") is None
    check(memory)


@pytest.mark.parametrize("theirs, mine", [
    (lambda m: m.remove("a"), lambda m: m.ingest({"properties": {"ID": "a"}, "content": "x"})),
    (lambda m: m.remove("top"), lambda m: m.ingest({"properties": {"ID": "new"}}, "a")),
    (lambda m: m.ingest({"properties": {"ID": "a"}, "content": "x"}), lambda m: m.remove("top")),
    (lambda m: m.ingest({"properties": {"ID": "new"}}, "a"), lambda m: m.remove("a")),
    (lambda m: m.ingest({"properties": {"ID": "new"}}, "top"), lambda m: tree(m, "b", "a")),
    (lambda m: m.ingest({"properties": {"ID": "fresh"}, "content": "1"}), lambda m: m.ingest({"properties": {"ID": "fresh"}, "content": "2"})),
    (lambda m: m.ingest({"properties": {"ID": "a", "TITLE": "a"}}, "b"), lambda m: m.ingest({"properties": {"ID": "b", "TITLE": "b"}}, "a")),
    (lambda m: m.ingest({"properties": {"ID": "a", "n": True}}), lambda m: m.ingest({"properties": {"ID": "a", "n": 2}})),
])
def test_conflicts_leave_everything_as_it_was(theirs, mine):
    memory = tree(Memory(), "a", "b")
    with pytest.raises(MemoryConflict):
        with memory.transaction():
            mine(memory)
            contextvars.Context().run(theirs, memory)
            state = memory.state
    assert memory.state is state
    check(memory)


def test_the_same_content_written_by_two_is_no_conflict():
    memory = tree(Memory(), "a")
    with memory.transaction():
        tree(memory, "a")
        contextvars.Context().run(tree, memory, "a")
    check(memory)


def test_nested_transactions_join_the_outer_one():
    memory = tree(Memory(), "a")
    with pytest.raises(KeyError):
        with memory.transaction() as outer:
            with memory.transaction() as inner:
                assert inner is outer
                memory.ingest({"properties": {"ID": "x"}})
            raise KeyError
    assert memory.lookup("x") is None


def test_two_memories_do_not_share_a_transaction():
    one, two = Memory(), Memory()
    with pytest.raises(KeyError):
        with one.transaction():
            with two.transaction():
                one.ingest({"properties": {"ID": "x"}})
                two.ingest({"properties": {"ID": "y"}})
            assert two.state.objects.get("y") and one.state is EMPTY
            raise KeyError
    assert one.lookup("x") is None and two.lookup("y")


def test_a_task_that_outlives_its_signal_cannot_write():
    memory = Memory()

    async def straggler(go):
        await go.wait()
        assert memory.lookup("x")
        memory.ingest({"properties": {"ID": "late"}})

    async def main():
        go = asyncio.Event()
        with memory.transaction():
            memory.ingest({"properties": {"ID": "x"}})
            task = asyncio.create_task(straggler(go))
        go.set()
        with pytest.raises(PipelineError, match="has ended"):
            await task
    asyncio.run(main())
    assert memory.lookup("late") is None


def test_tasks_of_one_signal_write_into_its_transaction():
    memory = Memory()

    async def main():
        with memory.transaction():
            await asyncio.gather(*[asyncio.to_thread(memory.ingest, {"properties": {"ID": str(i)}}) for i in range(20)])
            assert memory.state is EMPTY
    asyncio.run(main())
    assert len(memory) == 20


@pytest.mark.slow
def test_threads_without_a_transaction_lose_nothing():
    from concurrent.futures import ThreadPoolExecutor
    memory = tree(Memory())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: memory.ingest({"properties": {"ID": f"t{i}"}}, "top"), range(400)))
    assert len(memory) == 401 and len(memory.lookup("top").children) == 400
    check(memory)


def test_a_generator_finalised_elsewhere_does_not_disturb():
    memory = Memory()

    def signals():
        with memory.transaction():
            memory.ingest({"properties": {"ID": "x"}})
            yield

    signal = signals()
    contextvars.copy_context().run(next, signal)
    signal.close()
    del signal
    gc.collect()
    memory.ingest({"properties": {"ID": "y"}})
    assert memory.lookup("x") is None and memory.lookup("y")


def test_cancellation_discards():
    memory = Memory()

    async def signal():
        with memory.transaction():
            memory.ingest({"properties": {"ID": "x"}})
            await asyncio.sleep(10)

    async def main():
        task = asyncio.create_task(signal())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    asyncio.run(main())
    assert len(memory) == 0


def test_rollback_inside_a_signal_is_refused():
    memory = Memory()
    memory.snapshot()
    with memory.transaction():
        with pytest.raises(PipelineError, match="middle of a signal"):
            memory.rollback()


def test_a_rollback_during_a_signal_conflicts_only_where_it_matters():
    memory = tree(Memory(), "a", "b")
    memory.snapshot()
    memory.ingest({"properties": {"ID": "a"}, "content": "later"})
    with memory.transaction():
        memory.ingest({"properties": {"ID": "b"}, "content": "mine"})
        contextvars.Context().run(memory.rollback)
    assert memory.lookup("a").content == "" and memory.lookup("b").content == "mine"


def test_only_so_many_snapshots_are_kept():
    memory = Memory(snapshots=2)
    for i in range(5):
        memory.ingest({"properties": {"ID": "a"}, "content": str(i)})
        memory.snapshot()
    memory.rollback(1)
    assert memory.lookup("a").content == "3"
    with pytest.raises(PipelineError, match="2 are kept"):
        memory.rollback(2)
    with pytest.raises(PipelineError):
        memory.rollback(-1)


@pytest.mark.parametrize("ast", [None, [], "text", 3, {"contents": 3}, {"contents": [3]}, {"contents": "text"}, {"properties": []}, {"properties": {"x": {1, 2}}},
                                 {"properties": {"ID": "a", "id": "b"}}, {"properties": {"ID": "a\x1b[2J"}}, {"properties": {"ID": "a\ud800"}},
                                 {"properties": {"x": b"bytes"}}, {"type": ""}, {"type": "a b\n"}, {"contents": [{"properties": {"ID": "q"}}] * 2}])
def test_wrong_outlines_are_refused_with_a_sentence_or_taken(ast):
    memory = tree(Memory(), "a")
    before = memory.state
    try:
        memory.ingest(ast)
    except PassepartoutError as error:
        assert error.message.endswith(".") and memory.state is before
    check(memory)


def test_a_missing_parent_is_refused():
    with pytest.raises(PipelineError, match="no object 'nobody'"):
        Memory().ingest({"properties": {"ID": "a"}}, "nobody")


def test_an_outline_without_an_id_gets_a_fresh_one():
    memory = Memory()
    one, two = memory.ingest({"type": "note"}), memory.ingest({"type": "note"})
    assert one != two and memory.lookup(one).attributes["ID"] == one


def test_labels_are_kept_and_stored():
    journal = Journal.open(":memory:")
    memory = Memory(journal)
    memory.ingest({"properties": {"ID": "a"}}, label=Label("network", True, ("https://example.org",)))
    memory.ingest({"properties": {"ID": "a"}, "content": "edited"})
    memory.save()
    again = Memory(journal)
    again.load()
    assert again.lookup("a").label == Label("network", True, ("https://example.org",))
    journal.close()


def test_a_change_of_label_alone_is_saved():
    journal = Journal.open(":memory:")
    memory = Memory(journal)
    memory.ingest({"properties": {"ID": "a"}})
    memory.save()
    memory.ingest({"properties": {"ID": "a"}}, label=Label("model"))
    assert memory.save() == 1
    journal.close()


def test_going_back_and_forward_between_saves_is_saved():
    journal = Journal.open(":memory:")
    memory = Memory(journal)
    memory.snapshot()
    memory.ingest({"properties": {"ID": "a"}})
    memory.snapshot()
    memory.rollback(1); memory.save()
    memory.snapshot()
    memory.rollback(1); memory.save()
    again = Memory(journal)
    assert again.load() == len(memory) == 1
    journal.close()


def test_a_failed_save_is_made_up_for(monkeypatch):
    from passepartout.storage.chain import JournalError
    journal = Journal.open(":memory:")
    memory = tree(Memory(journal), "a")
    with monkeypatch.context() as broken:
        broken.setattr(type(journal.batch("a", "b")), "commit_now", lambda self, durable=True: (_ for _ in ()).throw(JournalError("full")))
        with pytest.raises(JournalError):
            memory.save()
    assert memory.save() == 2 and memory.save() == 0
    journal.close()


def test_unchanged_notes_that_are_indexed_again_are_not_saved_again():
    journal = Journal.open(":memory:")
    memory = tree(Memory(journal), *"abcdef")
    assert memory.save() == 7
    tree(memory, *"abcdef")
    assert memory.save() == 0
    journal.close()


@pytest.mark.parametrize("rows", [
    [("a", "", '{"type":"n","attributes":{},"content":"","parent_id":"b","children":["b"],"label":["notes",false,[]]}'),
     ("b", "", '{"type":"n","attributes":{},"content":"","parent_id":"a","children":["a"],"label":["notes",false,[]]}')],
    [("a", "", '{"type":"n","attributes":{},"content":"","parent_id":"gone","children":["gone","gone"],"label":["notes",false,[]]}')],
    [("a", "", '{"type":"n","attributes":{},"content":"","parent_id":null,"children":[],"label":["notes",false,[]]}'),
     ("b", "", '{"type":"n","attributes":{},"content":"","parent_id":"a","children":[],"label":["notes",false,[]]}')],
])
def test_rows_that_do_not_fit_together_are_repaired(rows):
    class Rows:
        def memory_rows(self): return iter(rows)
    memory = Memory(Rows())
    assert memory.load() == len(rows)
    check(memory)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"label":3}', "nonsense", '{"type":"n","attributes":3,"content":"","parent_id":null,"children":[],"label":["notes",false,[]]}',
                                  '{"type":"n","attributes":{},"content":"","parent_id":null,"children":[],"label":["martian",false,[]]}'])
def test_damaged_rows_are_named(body):
    class Rows:
        def memory_rows(self): return iter([("a", "", body)])
    with pytest.raises(PassepartoutError):
        Memory(Rows()).load()


def big(size):
    memory = Memory()
    for part in range(max(1, size // 1000)):
        memory.ingest({"properties": {"ID": f"f{part}"}, "contents": [{"properties": {"ID": f"n{part}-{i}", "TITLE": f"note {part} {i}"}} for i in range(999)]})
    return memory


def cost(call, number=200):
    return min(timeit.repeat(call, number=number, repeat=5)) / number


def flat(small, large):
    one, two = big(small), big(large)
    for memory in (one, two):
        memory.snapshot()
    for call in (lambda memory: memory.snapshot(), lambda memory: memory.rollback(0), lambda memory: memory.lookup("n0-5"),
                 lambda memory: memory.with_attribute("title", "note 0 5")):
        assert cost(lambda: call(two)) < 10 * cost(lambda: call(one)) + max(1e-3, large * 4e-9)      # a copy of a million references alone takes longer, and a busy machine is no fault


@pytest.mark.slow
def test_snapshot_rollback_and_lookup_cost_the_same_at_any_size():
    flat(1_000, 20_000)


@pytest.mark.slow
def test_snapshot_rollback_and_lookup_cost_the_same_at_a_million():
    flat(1_000, 1_000_000)


def test_many_objects_with_one_value_are_found_and_lost_again():
    "The bucket of a common value grows into a set and shrinks back; values whose hashes are equal stand in one bucket and are told apart."
    memory, many = Memory(), 3 * FEW
    memory.ingest({"properties": {"ID": "top"}, "contents": [{"properties": {"ID": f"o{n:03}", "TODO": "TODO", "pages": n * BUCKETS}} for n in range(many)]})
    assert len(memory.with_attribute("TODO", "TODO")) == many
    assert [each.id for each in memory.with_attribute("pages", 7 * BUCKETS)] == ["o007"]
    for n in range(many - 2): memory.ingest({"properties": {"ID": f"o{n:03}", "TODO": "DONE"}})
    assert [each.id for each in memory.with_attribute("TODO", "TODO")] == [f"o{many - 2:03}", f"o{many - 1:03}"] == sorted(memory.state.index["todo"].get(bucket("TODO")))
    assert len(memory.with_attribute("TODO", "DONE")) == many - 2 and memory.with_attribute("pages", 7 * BUCKETS) == []
    memory.remove("top")
    assert not len(memory.state.index) and not len(memory)


def test_an_object_of_memory_cannot_be_changed():
    import dataclasses
    memory = Memory()
    memory.ingest({"properties": {"ID": "a", "TITLE": "A"}})
    found = memory.lookup("a")
    for name in (*(each.name for each in dataclasses.fields(found)), "new"):
        with pytest.raises((AttributeError, TypeError)): setattr(found, name, getattr(found, name, 1))
    assert memory.lookup("a") == found == dataclasses.replace(found, hashed=b"anything")


# --- conditions that nothing else told apart ---------------------------------------------------------------------

def test_hashes_are_right_inside_of_a_signal_already():
    "However it is asked: by id, by attribute, or for the record of an effect, which holds what was written and nothing above it."
    memory = tree(Memory(), "a")
    memory.ingest({"properties": {"ID": "b", "tag": "x"}}, "a")
    for ask in (lambda work: memory.lookup("a").hash, lambda work: memory.with_attribute("ID", "a")[0].hash, lambda work: work.rows() and memory.lookup("a").hash):
        with memory.transaction() as work:
            memory.ingest({"properties": {"ID": "b", "tag": "x"}, "content": str(ask)})
            inside = ask(work)
        assert inside == memory.lookup("a").hash == matches_again(memory, "a")


def matches_again(memory, ident):
    "The hash of an object, computed from what it and those below it are."
    found = memory.lookup(ident)
    return merkle_hash(found, [matches_again(memory, child) for child in found.children])


def test_a_task_that_outlives_its_signal_can_read():
    memory, ended = tree(Memory(), "a"), asyncio.Event()
    async def late():
        await ended.wait()
        return memory.lookup("a").id, len(memory.with_attribute("ID", "a"))
    async def main():
        with memory.transaction(): task = asyncio.create_task(late())
        ended.set()
        return await task
    assert asyncio.run(main()) == ("a", 1)


def test_what_was_promised_to_the_record_by_a_signal_that_failed_is_put_right():
    "The rows were committed with an outcome, and the signal failed after that: memory does not have what the record says."
    journal = Journal.open(":memory:")
    memory = tree(Memory(journal), "a")
    memory.save()
    with pytest.raises(KeyError), memory.transaction() as work:
        memory.ingest({"properties": {"ID": "a"}, "content": "never"})
        memory.ingest({"properties": {"ID": "new"}})
        batch = journal.batch("main", "t")
        for each in work.rows(): batch.remember(*each)
        batch.commit_now()
        raise KeyError
    memory.save()
    again = Memory(journal)
    assert again.load() == len(memory) and again.lookup("a").content == "" and again.lookup("new") is None
    journal.close()


def test_loading_is_refused_in_a_signal_and_forgets_what_was_before():
    journal = Journal.open(":memory:")
    memory = tree(Memory(journal), "a", "b")
    memory.snapshot()
    memory.save()
    memory.remove("b")
    memory.save()
    with memory.transaction(), pytest.raises(PipelineError, match="middle of a signal"): memory.load()
    assert memory.load() == len(memory) and "b" not in {each.id for each in memory}
    with pytest.raises(PipelineError, match="0 are kept"): memory.rollback()
    journal.close()


class Elsewhere:
    "A source whose objects stand below each other, round and round."
    def __init__(self):
        memory = tree(Memory(), "n1", "n2")
        self.objects = {ident: replace(memory.lookup(ident), parent_id=other) for ident, other in (("n1", "n2"), ("n2", "n1"))}
    def lookup(self, ident): return self.objects.get(ident)
    def with_attribute(self, key, value): return [each for each in self.objects.values() if each.attributes.get(key) == value]


def test_scopes_hold_what_is_in_them_and_nothing_else():
    memory = Memory(sources=[Elsewhere()])
    memory.ingest({"properties": {"ID": "p", "session": "work"}, "contents": [{"properties": {"ID": "c"}}]})
    tree(memory, "free")
    inside = lambda scope: [ident for ident in ("p", "c", "free", "n1") if memory.lookup(ident, scope=scope) is not None]
    listed = lambda scope: [ident for ident in ("p", "c", "free", "n1") if memory.with_attribute("ID", ident, scope=scope)]
    for scope, found in (("", ["p", "c", "free", "n1"]), ("memex", ["n1"]), ("session:work", ["p", "c"]), ("session:home", []), ("project:p", ["p", "c"]), ("project:c", ["c"]), ("project:n2", ["n1"]), ("project:none", [])):
        assert inside(scope) == listed(scope) == found, scope


@pytest.mark.parametrize("scope", ["session", "project", "session:", "memex:x", "memex:", "everything", "SESSION:x", ":x"])
def test_a_scope_that_there_is_not_is_an_error(scope):
    for ask in (lambda: Memory().lookup("a", scope=scope), lambda: Memory().with_attribute("ID", "a", scope=scope)):
        if scope == "memex:": ask()                     # nothing stands after the colon, so this is the memex
        else:
            with pytest.raises(PipelineError, match="is not a scope"): ask()
