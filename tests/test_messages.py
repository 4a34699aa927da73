"""Messages against everybody who would like to change one."""
import copy
import json
import pickle
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from conftest import examples
from passepartout.conditions import ProtocolError
from passepartout.frozen import KEYWORD_FIELDS
from passepartout.messages import PERSON, Action, Allowed, ApprovalRequired, FrozenDict, Label, Rejected, Signal, freeze
from passepartout.plist import Keyword
from waits import in_time

calm = settings(deadline=None, max_examples=examples(40))
text = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=12)
key = st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,3})?", fullmatch=True)
word = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,3})?", fullmatch=True)
scalar = st.none() | st.just(True) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text | word.map(Keyword)


def fields(values, least=0):
    "A payload in which the fields that name things hold names."
    return st.dictionaries(key, values, min_size=least, max_size=5).map(lambda d: {k: (v if k not in KEYWORD_FIELDS else "name") for k, v in d.items()})

# A list that begins with a keyword and has an even length *is* a property list in print, so lists here hold no keywords.
values = st.recursive(scalar, lambda inner: st.lists(inner.filter(lambda v: type(v) is not Keyword), min_size=1, max_size=4) | fields(inner, 1), max_leaves=10)
payloads = fields(values)


def containers(value, at=()):
    if isinstance(value, dict):
        yield value
        for item in value.values(): yield from containers(item)
    elif isinstance(value, (list, tuple)):
        yield value
        for item in value: yield from containers(item)


CHANGES = [lambda d: d.__setitem__("x", 1), lambda d: d.__delitem__("x"), lambda d: d.clear(), lambda d: d.pop("x", None), lambda d: d.popitem(), lambda d: d.setdefault("x", 1),
           lambda d: d.update(x=1), lambda d: d.update({}), lambda d: d.__ior__({"x": 1}), lambda d: setattr(d, "x", 1), lambda d: d.__init__({"x": 1}) or d.__init__(x=2)]


@pytest.mark.slow
@calm
@given(payloads)
def test_nothing_in_a_message_can_be_changed_at_any_depth(payload):
    action = Action.of({"payload": payload, "meta": {"nested": payload}})
    before = str(action)
    for found in [*containers(action.payload), *containers(action.meta)]:
        assert type(found) in (FrozenDict, tuple)
        if type(found) is FrozenDict:
            for change in CHANGES[:-1]:
                with pytest.raises((TypeError, AttributeError)): change(found)
    for name in ("payload", "meta", "target", "type", "new"):
        with pytest.raises((ValidationError, AttributeError, TypeError)): setattr(action, name, None)
        with pytest.raises((ValidationError, AttributeError, TypeError)): delattr(action, name)
    assert str(action) == before



@pytest.mark.slow
@calm
@given(payloads)
def test_what_a_caller_keeps_does_not_reach_into_the_message(payload):
    mine = copy.deepcopy(payload)
    action = Action.of({"payload": mine})
    before = action.hash, str(action)
    for found in list(containers(mine)):
        if isinstance(found, dict): found["added"] = 1
        elif isinstance(found, list): found.append(1)
    fresh = Action.of({"payload": payload})
    assert (action.hash, str(action)) == before == (fresh.hash, str(fresh))


@calm
@given(payloads, st.none() | word, st.none() | word)
def test_printing_and_reading_is_the_identity(payload, target, source):
    for message in (Action.of({"target": target, "payload": payload, "meta": {"source": source} if source else {}}),
                    Signal.of({"payload": payload, "meta": {"source": source} if source else {}, "depth": len(payload)})):
        again = type(message).of(str(message))
        assert str(again) == str(message)
        if isinstance(message, Action): assert again.hash == message.hash and again.canonical == message.canonical
        assert type(message).of(again) is again


@pytest.mark.parametrize("empty", [False, [], {}, ()])
def test_what_prints_as_nil_hashes_as_nil(empty):
    "What was asked is stored as text: an action that hashes otherwise once it was read could never be approved."
    action = Action.of({"payload": {"done": empty}})
    assert Action.of(str(action)).hash == action.hash


def spelled(draw, name):
    shown = "".join(draw(st.sampled_from([c, c.upper()])) if c != "_" else draw(st.sampled_from("-_")) for c in name)
    return draw(st.sampled_from(["", ":"])) + shown


@pytest.mark.slow
@calm
@given(payloads, st.data())
def test_any_spelling_of_the_keys_is_the_same_action(payload, data):
    def respell(value):
        if isinstance(value, dict): return {spelled(data.draw, k): respell(v) for k, v in value.items()}
        return [respell(v) for v in value] if isinstance(value, list) else value
    one = Action.of({"target": "tool", "payload": payload})
    other = Action.of(respell({"target": "tool", "payload": payload}))
    assert other.hash == one.hash and other.payload == one.payload
    for name, value in one.payload.items():
        for spelling in (name, f":{name}", name.upper(), name.replace("_", "-"), Keyword(name)):
            assert one.payload[spelling] is value and spelling in one.payload and one.payload.get(spelling) is value


@pytest.mark.parametrize("twice", [{"a-b": 1, "a_b": 2}, {"A": 1, "a": 2}, {":a": 1, "a": 2}, {"x": {"a": 1, ":A": 2}}, {"x": [{"a": 1, "A": 2}]}, {1: 1, "1": 2}])
def test_two_spellings_of_one_key_are_an_error(twice):
    with pytest.raises(ProtocolError): Action.of({"payload": twice})


def test_top_level_fields_given_twice_are_an_error():
    with pytest.raises(ProtocolError): Action.of({"type": "request", ":TYPE": "log"})
    with pytest.raises(ProtocolError): Action.of("(:TYPE :REQUEST :type :LOG)")


@pytest.mark.slow
@calm
@given(payloads)
def test_the_hash_is_that_of_the_effect_alone(payload):
    payload = {k: v for k, v in payload.items() if k != "explanation"}
    action = Action.of({"target": "tool", "payload": payload})
    assert action.model_copy(update={"payload": {**payload, "explanation": "why"}, "meta": {"source": "cli"}}).hash == action.hash
    assert action.model_copy(update={"target": "mail"}).hash != action.hash
    assert action.model_copy(update={"payload": {**payload, "more": 1, "more_still": 2}}).hash != action.hash
    assert json.loads(action.canonical)


@pytest.mark.slow
@calm
@given(payloads)
def test_the_order_of_keys_does_not_matter(payload):
    backwards = dict(reversed(payload.items()))
    assert Action.of({"payload": payload}).hash == Action.of({"payload": backwards}).hash


@pytest.mark.slow
@calm
@given(payloads)
def test_copies_and_pickles_are_equal_and_frozen(payload):
    action, signal = Action.of({"target": "tool", "payload": payload}), Signal.of({"payload": payload, "meta": {"source": "cli"}})
    action.hash
    for message in (action, signal):
        for other in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message)), message.model_copy(), message.model_copy(deep=True)):
            assert other == message and str(other) == str(message) and type(other.payload) is FrozenDict
            assert other.type is message.type
            for found in containers(other.payload): assert type(found) in (FrozenDict, tuple)
            if isinstance(message, Action): assert other.hash == message.hash and other.target is message.target


def test_a_copy_with_changes_does_not_keep_the_old_hash():
    action = Action.of({"payload": {"cmd": "ls"}})
    action.hash
    assert action.model_copy(update={"payload": {"cmd": "rm"}}).hash == Action.of({"payload": {"cmd": "rm"}}).hash != action.hash


def test_model_copy_freezes_and_checks_what_it_is_given():
    action = Action.of({"payload": {"cmd": "ls"}})
    copied = action.model_copy(update={"payload": {"CMD": ["ls"]}})
    assert type(copied.payload) is FrozenDict and copied.payload["cmd"] == ("ls",)
    for wrong in ({"payload": 5}, {"payload": {"a": 1, "A": 2}}, {"target": 7}, {"approved": True}, {"payload": {"f": open}}):
        with pytest.raises((ProtocolError, ValidationError)): action.model_copy(update=wrong)


def test_evolve_keeps_the_original():
    signal = Signal.of({"payload": {"sensor": "user-input"}, "meta": {"source": "cli"}})
    deeper = signal.evolve(depth=3, status=Keyword("reasoned"), label=PERSON)
    assert (signal.depth, signal.status, signal.label.origin, deeper.depth, deeper.label) == (0, None, "network", 3, PERSON)
    assert deeper.payload is signal.payload and deeper.evolve(depth=0, status=None, label=signal.label) == signal
    with pytest.raises((ValidationError, TypeError)): deeper.depth = 9
    assert pickle.loads(pickle.dumps(deeper)) == deeper


@pytest.mark.parametrize("value", [None, 5, 1.5, True, b"(:TYPE :EVENT)", [], ["a"], (), "", "()", "(1 2)", "hello", "(:TYPE", "#.(evil)", "(:TYPE :EVENT) x", {"payload": 5}, {"payload": [1]}, {"depth": "deep"},
                                   {"type": 5}, {"type": ""}, {"type": [1]}, {"meta": "x"}, {"unknown": 1}, {5: 1}, {"payload": {"x": {1, 2}}}, {"payload": {"x": object()}}, {"payload": {"x": b"x"}}, {"label": "person"}])
def test_what_is_no_message_is_a_protocol_error(value):
    with pytest.raises(ProtocolError) as caught: Signal.of(value)
    assert 10 < len(caught.value.message) < 500


def test_nesting_has_an_end_also_when_it_has_none():
    deep = value = {}
    for _ in range(500): value["x"] = value = {}
    endless = []; endless.append(endless)
    loop = {}; loop["me"] = loop
    for payload in (deep, {"x": endless}, loop):
        with pytest.raises(ProtocolError): Action.of({"payload": payload})


def test_dates_and_paths_become_text():
    payload = freeze({"on": date(2026, 11, 19), "at": datetime(2026, 11, 19, 8, 30), "file": Path("a/b.org")})
    assert payload == {"on": "2026-11-19", "at": "2026-11-19T08:30:00", "file": "a/b.org"}


def test_names_are_folded_but_texts_are_not():
    action = Action.of({"target": "TOOL", "payload": {"action": "Call_Now", "text": "Call_Now", "args": {"path": "Notes/My_File.org"}}})
    assert action.payload["action"] is not None and str(action.payload["action"]) == "call-now" and action.payload["text"] == "Call_Now" and action.payload["args"]["path"] == "Notes/My_File.org"


labels = st.builds(Label, st.sampled_from(["person", "settings", "notes", "tool", "model", "network"]), st.booleans(), st.lists(text, max_size=3).map(tuple))


@calm
@given(labels, labels, labels)
def test_labels_only_get_worse(a, b, c):
    from passepartout.messages import ORIGINS
    joined = a.join(b)
    assert ORIGINS.index(joined.origin) == max(ORIGINS.index(a.origin), ORIGINS.index(b.origin)) and joined.private == (a.private or b.private)
    assert (joined.origin, joined.private, set(joined.sources)) == (b.join(a).origin, b.join(a).private, set(b.join(a).sources))
    left, right = a.join(b).join(c), a.join(b.join(c))
    assert (left.origin, left.private, set(left.sources)) == (right.origin, right.private, set(right.sources))
    assert a.join(a) == a


def test_verdicts_cannot_be_changed_and_hide_what_they_hold():
    action = Action.of({"payload": {"text": "x"}})
    for verdict in (Allowed(action, {"path": open}), Rejected("no"), ApprovalRequired(action, "hm", resolved={"path": open})):
        with pytest.raises((AttributeError, TypeError)): verdict.action = None
        assert "built-in function open" not in repr(verdict)


def test_a_megabyte_is_frozen_in_a_moment():
    import time
    payload = {"text": "x" * 1_000_000, "list": list(range(50_000)), "map": {f"k{i}": i for i in range(20_000)}}
    begun = time.process_time()
    Action.of({"payload": payload}).hash
    assert in_time(time.process_time() - begun, 2)
