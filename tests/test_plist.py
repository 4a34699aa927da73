"The reader and printer against hostile text, and against a real Lisp as judge"
import copy, json, os, pickle, random, shutil, subprocess, time, types, unicodedata
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conftest import examples
from waits import away, in_time, next_line, status
from passepartout.conditions import PassepartoutError, ProtocolError
from passepartout.plist import Keyword, Plist, PlistError, Symbol, key_name, read_plist, write_plist
from passepartout.printing import KEYWORD_FIELDS
from passepartout.symbols import VOCABULARY, SingleFloat

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

# --- a Lisp as judge ---------------------------------------------------------------------------------------------

SBCL = shutil.which("sbcl")
LISP = r"""
(setf *print-pretty* nil)
(defun say (text) (format t "~d~%~a~%" (length text) text) (finish-output))
(defun only-space (text end)
  (unless (every (lambda (c) (member c '(#\Space #\Tab #\Newline #\Return #\Page))) (subseq text end)) (error "something follows")))
(defun name-of (value) (if (keywordp value) (format nil "K~a" (symbol-name value)) (format nil "?~s" value)))
(defun judge (op text)
  (ecase op
    (#\R (let ((default (prin1-to-string (read-from-string text)))   ; whole text must be one value
               (safe (let ((*read-eval* nil)) (multiple-value-bind (v end) (read-from-string text)
                       (only-space text end) (prin1-to-string v)))))
           (unless (string= default safe) (error "the two readers differ"))
           default))
    (#\N (let ((*read-eval* nil)) (multiple-value-bind (v end) (read-from-string text)
           (only-space text end) (name-of v))))
    (#\K (prin1-to-string (intern text :keyword)))
    (#\L (let ((*read-eval* nil)) (format nil "~{~a~^ ~}" (mapcar (lambda (s) (format nil "~{~x~^.~}" (map 'list #'char-code (symbol-name s)))) (read-from-string text)))))))
(loop for head = (read-line *standard-input* nil) while head do
  (let ((text (make-string (parse-integer head :start 1))))
    (read-sequence text *standard-input*) (read-line *standard-input*)
    (say (handler-case (format nil "=~a" (judge (char head 0) text))
           (error (e) (format nil "!~a" (type-of e)))))))
"""


class Sbcl:
    "One long-lived Lisp behind a pipe: `ask(op, text)` returns its answer, or None when it signals an error."

    def __init__(self, script):
        env = dict(os.environ, LC_ALL="C.UTF-8")
        self.process = subprocess.Popen([SBCL, "--script", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def ask(self, op, text):
        self.process.stdin.write(f"{op}{len(text)}\n{text}\n".encode())
        self.process.stdin.flush()
        count, answer = int(next_line(self.process)), ""
        while len(answer) <= count:                                   # an answer may have several lines
            assert (line := next_line(self.process)), "the Lisp ended in the middle of an answer"
            answer += line.decode()
        return answer[1:-1] if answer[0] == "=" else None


@pytest.fixture(scope="module")
def sbcl(tmp_path_factory):
    if SBCL is None and not os.environ.get("CI"):
        pytest.skip("sbcl is not installed")
    assert SBCL, "sbcl is the judge of the reader; CI must have it"
    script = tmp_path_factory.mktemp("lisp") / "judge.lisp"
    script.write_text(LISP)
    judge = Sbcl(script)
    yield judge
    judge.process.stdin.close()
    try: status(judge.process)
    finally: away(judge.process)


def same(a, b):
    "Equality that distinguishes types, signs of zero and spellings; anything empty is None."
    if isinstance(a, (list, tuple, dict)) and not a: a = None
    if isinstance(b, (list, tuple, dict)) and not b: b = None
    if type(a) is not type(b): return False
    if isinstance(a, dict): return [str(k) for k in a] == [str(k) for k in b] and all(same(x, y) for x, y in zip(a.values(), b.values()))
    if isinstance(a, list): return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float): return repr(a) == repr(b)
    if isinstance(a, str): return str(a) == str(b)
    return a == b


def kept(make):
    "A strategy's values for which `make` succeeds."
    def attempt(text):
        try: return make(text)
        except PlistError: return None
    return lambda strategy: strategy.map(attempt).filter(lambda v: v is not None)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
def known_to_lisp(text):
    "No character that NFKC or another case makes into another one, when either is younger than the tables of the Lisp at hand: it leaves what it does not know without bars."
    others = lambda c: {unicodedata.normalize("NFKC", c), c.upper(), c.lower()} - {c}
    return not any(unicodedata.ucd_3_2_0.category(each) == "Cn" for c in text for other in others(c) for each in c + other)


names = st.one_of(st.sampled_from(sorted(VOCABULARY)), st.from_regex(r"[a-z][a-z0-9_-]{0,12}", fullmatch=True), st.text(max_size=6).filter(known_to_lisp))
keywords = kept(lambda t: Keyword.exact(t.translate({c: c + 32 for c in range(65, 91)})))(names)
symbols = kept(Symbol)(names).filter(lambda s: s not in ("quote", "function", "sb-int:quasiquote"))
floats = st.floats(allow_nan=False, allow_infinity=False)
singles = kept(SingleFloat)(st.floats(width=32, allow_nan=False, allow_infinity=False))
atoms = st.one_of(st.none(), st.just(True), st.integers(), st.integers(-10**300, 10**300), floats, singles, texts, keywords, symbols)
plain_list = lambda items: len(items) % 2 or not all(type(k) is Keyword for k in items[::2])
worded = lambda pairs: Plist([(k, Keyword("word") if type(v) is str and k in KEYWORD_FIELDS else v) for k, v in pairs])  # text prints as a word there
values = st.recursive(atoms, lambda inner: st.one_of(
    st.lists(inner, max_size=5).filter(plain_list),
    st.lists(st.tuples(keywords, inner), max_size=5, unique_by=lambda pair: key_name(pair[0])).map(worded)), max_leaves=15)
quick = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=examples(6000), deadline=None, suppress_health_check=list(HealthCheck))


def us_sbcl_us(sbcl, value):
    text = write_plist(value)
    printed = sbcl.ask("R", text)
    assert printed is not None, f"Lisp refuses {text!r}"
    assert same(read_plist(printed), value), (text, printed)
    assert same(read_plist(text), value), text
    assert sbcl.ask("R", write_plist(read_plist(printed))) == printed      # and Lisp -> us -> Lisp


def never_misread(sbcl, text):
    "Whatever we accept, Lisp accepts with the same meaning."
    try:
        value = read_plist(text)
    except PlistError:
        return
    printed = sbcl.ask("R", text)
    assert printed is not None, f"we read {text!r} as {value!r} and Lisp refuses it"
    assert sbcl.ask("R", write_plist(value)) == printed, (text, value, printed)


def keyword_of_any_name(sbcl, name):
    printed = sbcl.ask("K", name)
    try:
        keyword = read_plist(printed)
    except PlistError as error:
        assert error.position == 0
        odd = not name or name[0] == ":" or not name.isprintable()
        assert odd or any("a" <= c <= "z" for c in name) or any(ord(c) > 127 for c in name), (name, printed, error)
    else:
        assert type(keyword) is Keyword and sbcl.ask("N", keyword.printed) == "K" + name


@pytest.mark.slow
@given(value=values)
@quick
def test_values_survive_lisp(sbcl, value): us_sbcl_us(sbcl, value)


@pytest.mark.slow
@given(value=values)
@thorough
def test_values_survive_lisp_thoroughly(sbcl, value): us_sbcl_us(sbcl, value)


# text that is nearly right: where two readers are most likely to disagree
lispy = st.text(st.sampled_from(list("""():::"'`,;#|\\.+-/0123459eEdDfsl aAbBtTnNiIlL_é\u00c9ßﬁ日\u212a\u0301 \n\t""")), max_size=12)


@given(text=st.one_of(lispy, lispy.map(":{}".format), lispy.map("(:a {})".format)))
@quick
def test_what_is_accepted_means_the_same_in_lisp(sbcl, text): never_misread(sbcl, text)


@pytest.mark.slow
@given(text=st.one_of(lispy, lispy.map(":{}".format), lispy.map("(:a {})".format)))
@thorough
def test_what_is_accepted_means_the_same_in_lisp_thoroughly(sbcl, text): never_misread(sbcl, text)


@given(name=st.one_of(st.text(max_size=8), st.text(st.sampled_from(list("ABZ09-_.:|\\ \"'#aé\u00c9ﬁ日(\n")), max_size=6)))
@quick
def test_a_keyword_of_any_name_is_kept_or_refused(sbcl, name):
    if not any("\ud800" <= c <= "\udfff" for c in name): keyword_of_any_name(sbcl, name)


@pytest.mark.slow
@given(name=st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
@thorough
def test_a_keyword_of_any_name_is_kept_or_refused_thoroughly(sbcl, name): keyword_of_any_name(sbcl, name)


def compare_characters(sbcl, codes):
    "Each character as a bare keyword: what we accept, Lisp keeps."
    accepted = []
    for code in codes:
        try: accepted.append((code, read_plist(":" + chr(code))))
        except PlistError: continue
    text = "(" + " ".join(":" + chr(code) for code, _ in accepted) + ")"
    for (code, keyword), found in zip(accepted, sbcl.ask("L", text).split(), strict=True):
        assert keyword.printed.strip(":|") == chr(int(found, 16)), hex(code)


def test_each_letter_as_a_keyword(sbcl): compare_characters(sbcl, [*range(33, 128), *range(161, 0x0600)])


@pytest.mark.slow
def test_each_character_as_a_keyword(sbcl):
    for start in range(128, 0x110000, 0x8000):
        compare_characters(sbcl, [c for c in range(start, min(start + 0x8000, 0x110000)) if not 0xD800 <= c <= 0xDFFF])


@pytest.mark.parametrize("text", ["5d-324", "1d-310", "-0.0d0", "1d308", "0.1", "1e38", "1.4012985e-45", "1.1754944e-38", "16777217.0", "+7", "7.", ".5", "1l0",
    "1s0", "5.e3", "1d+5", "1+", "2024-05-06", "-", ":123", ":1e5", ":a.b", ":|A B|", "(:a)", "((:a 1) :b)", "()", '"a\\\\b\\"\\c"', '"\x00\x1b\r\n"', "|NIL|"])
def test_edges_mean_the_same_in_lisp(sbcl, text):
    assert sbcl.ask("R", write_plist(read_plist(text))) == sbcl.ask("R", text) is not None


def test_lisp_agrees_on_the_handshake(sbcl):
    text = write_plist({"type": "EVENT", "payload": {"action": "HANDSHAKE"}})
    assert text == "(:TYPE :EVENT :PAYLOAD (:ACTION :HANDSHAKE))" and len(text) == 44 and sbcl.ask("R", text) == text


# --- hostile text ------------------------------------------------------------------------------------------------

def refusal(text, **bounds):
    with pytest.raises(PlistError) as caught: read_plist(text, **bounds)
    error = caught.value
    assert isinstance(error, ProtocolError) and isinstance(error, PassepartoutError) and error.raw_message is text or error.position is None
    assert len(error.message) < 400 and error.message.isprintable() and error.message.endswith((".", "|."))
    return error


@pytest.mark.parametrize("text,position,word", [
    ("", 0, "ends"), ("  \n ", 4, "ends"), ("(", 0, "never closed"), ("(:a (:b 1)", 0, "never closed"), ("(:a 1\n  (:b 2", 8, "never closed"),
    (")", 0, "closes nothing"), ("(:a 1))", 6, "follows"), ("(:a 1) x", 7, "follows"), ("a b", 2, "follows"), ("Sure, here:", 4, "follows"),
    ("'a", 0, "macro"), ("(a `b)", 3, "macro"), ("(a ,b)", 3, "macro"), ("#.(quit)", 0, "macro"), ("(:a #.(quit))", 4, "macro"), ("#'car", 0, "macro"),
    ("#\\a", 0, "macro"), ("#(1 2)", 0, "macro"), ("#|x|# 1", 0, "macro"), ("#1=(a . #1#)", 0, "macro"), ("#P\"/etc\"", 0, "macro"), ("(a . b)", 3, "dot"), ("(:a .)", 4, "dot"), ("...", 0, "dots"),
    ("1/2", 0, "ratio"), ("(:a -1/2)", 4, "ratio"), ("cl:car", 0, "package"), ("sb-ext::quit", 0, "package"), ("::a", 0, "package"), ("keyword:a", 0, "package"),
    ("a:", 0, "package"), (":", 0, "without a name"), ("(: 1)", 1, "without a name"), ("; hi\n1", 0, "semicolon"), ("(:a 1 ; hi\n)", 6, "semicolon"),
    ('"abc', 0, "never ends"), ('(:a "b\\")', 4, "never ends"), (":|abc", 0, "never closed"), ("|abc", 0, "never closed"), ("(a\\", 2, "backslash"),
    (":|foo|", 0, "lower-case"), ("|foo|", 0, "lower-case"), (":f\\oo", 0, "lower-case"), (":||", 0, "empty"), ("||", 0, "empty"), (":|:TYPE|", 0, "second colon"),
    (":|A\nB|", 0, "invisible"), (":|A\u202eB|", 0, "invisible"), (":é", 0, "would change"), (":ﬁ", 0, "would change"), ("e\u0301", 0, "would change"), (":a\u200bb", 0, "would change"),
    ("(:a\u00a01)", 3, "U+00A0"), ("(:a \x00)", 4, "U+0000"), ("\x1b[2J", 0, "U+001B"), ("(:a 1)\x7f", 6, "follows"), ("\ufeff(:a 1)", 0, "would change"),
    ('(:a "\ud800")', 5, "U+D800"), ("\udcff", 0, "U+DCFF"),
    ("(:a 1 :a 2)", 6, "twice"), ("(:a 1 :A 2)", 6, "twice"), ("(:a 1 :|A| 2)", 6, "twice"), ("(:a-b 1\n :a_b 2)", 9, "twice"), ("((:x 1) (:b (:a 1) :b 2))", 19, "twice"),
    ("1e39", 0, "single"), ("1e-60", 0, "single"), ("1d400", 0, "double"), ("1d-400", 0, "double"), ("1" * 4001, 0, "4,001"), ("(:a " + "9" * 10**6 + ")", 4, "1,000,000"),
    ("1." + "0" * 5000 + "d0", 0, "5,004"), (":" + "a" * 5000, 0, "5,001"),
])
def test_refusals_say_where_and_why(text, position, word):
    error = refusal(text)
    assert (error.position, word in error.message) == (position, True), error
    assert error.line == text.count("\n", 0, position) + 1 and error.column == position - (text.rfind("\n", 0, position)) and f"column {error.column}:" in error.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parens", "mixed", "strings", "bars", "quotes", "closers", "long", "backslashes", "deep keywords", "binary", "one string", "duplicates"])
def test_hostile_size_costs_little(name):
    text = {"parens": "(" * 100_000, "mixed": "(a " * 100_000, "strings": "(" + '"a" ' * 200_000, "bars": "|" * 999_999, "quotes": '"' * 999_999, "closers": ")" * 1_000_000,
            "long": "x" * 10_000_000, "backslashes": "\\" * 999_999, "deep keywords": "(:a " * 100_000, "one string": '"' + "a" * 1_000_000,
            "binary": random.Random(1).randbytes(1_000_000).decode("latin-1"), "duplicates": "(" + " ".join(f":k{i} 1" for i in range(49_000)) + " :k48999 1)"}[name]
    start = time.perf_counter()
    error = refusal(text)
    assert time.perf_counter() - start < 30          # a hang guard
    if name in ("parens", "mixed", "deep keywords"): assert error.position == 64 * (text.index("a ") + 2 if "a " in text else 1)
    if name == "long": assert "10,000,000" in error.message


def timed(function):
    start = time.process_time()
    function()
    return time.process_time() - start


@pytest.mark.slow
def test_time_grows_with_length_and_not_with_shape():
    entry = '(:type :event :payload (:text "some \\"quoted\\" text" :n 12 :tags ("a" "b")))'
    small, large = (f"({' '.join([entry] * n)})" for n in (500, 5000))
    ratio = min(timed(lambda: read_plist(large)) for _ in range(5)) / min(timed(lambda: read_plist(small)) for _ in range(5))
    assert ratio < 50          # ten times the length; with the square of it a hundred times the time


@pytest.mark.slow
def test_bounds_are_exact():
    assert read_plist("(" * 64 + ")" * 64) and refusal("(" * 65 + ")" * 65).position == 64
    assert read_plist("((()))", max_depth=3) == [[[]]] and refusal("((()))", max_depth=2).position == 2
    assert read_plist("(1 2 3)", max_nodes=4) == [1, 2, 3] and refusal("(1 2 3)", max_nodes=3).position == 5
    assert read_plist("(1)", max_chars=3) == [1] and refusal("(1)", max_chars=2).position == 2
    assert read_plist("9" * 4000) == int("9" * 4000)
    many = "(" + "1 " * 99_999 + ")"
    assert len(read_plist(many)) == 99_999 and refusal(many[:-1] + "1 1)").position == 199_999


@pytest.mark.parametrize("value", [b"(:a 1)", None, 3, bytearray(b"x")])
def test_what_is_no_text_is_refused(value):
    assert type(value).__name__ in refusal(value).message


@given(text=st.text(st.sampled_from(list("()(): \"\\|aA1.#'\n;_-é")), max_size=60))
@settings(max_examples=examples(400), deadline=None)
def test_any_text_is_read_or_refused_inside_it(text):
    try: value = read_plist(text)
    except PlistError as error: assert 0 <= error.position <= len(text)
    else: assert same(read_plist(write_plist(value)), value)


# --- keywords and property lists in Python -----------------------------------------------------------------------

@given(name=names.filter(lambda n: n.isascii()))
def test_a_keyword_equals_every_spelling_of_its_name(name):
    try: keyword = Keyword(name)
    except PlistError: return
    for spelling in (name, name.upper(), ":" + name.upper(), name.replace("-", "_"), Keyword(name.upper())):
        if name[:1] != ":":
            assert keyword == spelling and spelling == keyword and not keyword != spelling and not spelling != keyword
    assert keyword != name + "x" and keyword != 3 and keyword != None and hash(keyword) == hash(str(keyword))


@pytest.mark.parametrize("keyword", [Keyword("event"), Keyword("quite-other"), Keyword.exact("a_b"), Keyword("größe"), Keyword("two words")])
def test_keywords_copy_pickle_and_dump(keyword):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(keyword, protocol))
        assert type(again) is Keyword and str(again) == str(keyword) and again.printed == keyword.printed
    assert copy.copy(keyword) is keyword and copy.deepcopy([keyword])[0] is keyword
    assert json.loads(json.dumps({keyword: [keyword]})) == {str(keyword): [str(keyword)]} and f"{keyword}" == str(keyword) and type(str(keyword)) is str


def test_the_vocabulary_is_interned():
    for name in VOCABULARY:
        word = Keyword(name)
        assert Keyword(":" + name.upper()) is word is Keyword(name.upper().replace("-", "_")) is read_plist(":" + name) is read_plist(f":|{name.upper()}|")
        assert pickle.loads(pickle.dumps(word)) is word
    assert read_plist(":USER_INPUT") is not Keyword("user-input") and read_plist(":USER_INPUT") == Keyword("user-input") and write_plist(read_plist(":USER_INPUT")) == ":USER_INPUT"


def test_plist_lookups_forgive_and_keys_stay_unique():
    p = read_plist('(:TYPE :EVENT :reply_stream "a" :two-part_key 1)')
    assert p["type"] == p[":TYPE"] == p["Type"] == "event" and p["REPLY-STREAM"] == p["reply_stream"] == p.get(":Reply_Stream") == "a" and p["two_part-key"] == 1
    p["reply-stream"] = "b"; p[":TYPE"] = "log"; p["two_part_key"] = 2; p |= {"TYPE": "x", "new_one": 3}
    assert len(p) == 4 and write_plist(p) == '(:TYPE :X :REPLY_STREAM "b" :TWO-PART_KEY 2 :NEW-ONE 3)'
    assert p.setdefault("Type", 1) == "x" and p.pop("REPLY-stream") == "b" and "reply_stream" not in p and p.pop("gone", None) is None
    del p[":new_one"]
    assert [type(k) for k in p] == [Keyword, Keyword] and type(p.copy()) is Plist and type(copy.deepcopy(p)) is Plist and pickle.loads(pickle.dumps(p)) == p
    for missing in ("gone", 3, None, ()):
        assert missing not in p and p.get(missing) is None
        with pytest.raises(KeyError): p[missing]
    with pytest.raises(PlistError): p[""] = 1


# --- printing ----------------------------------------------------------------------------------------------------

class Odd(str):
    pass


@pytest.mark.parametrize("value,text", [
    (None, "NIL"), (False, "NIL"), ([], "NIL"), ({}, "NIL"), ((), "NIL"), (True, "T"), (0, "0"), (-7, "-7"), (0.1, "0.1d0"), (-0.0, "-0.0d0"), (1e300, "1d300"), (SingleFloat(2.5), "2.5"),
    ("", '""'), ('a"b\\', '"a\\"b\\\\"'), (Odd("x"), '"x"'), (Keyword("a-b"), ":A-B"), (Symbol("x"), "X"), ((1, [2]), "(1 (2))"), ({"a_b": {}}, "(:A-B NIL)"),
    ({"level": "approval_required", "sensor": "two words", "text": "EVENT"}, '(:LEVEL :APPROVAL-REQUIRED :SENSOR :|TWO WORDS| :TEXT "EVENT")'), ({"status": ""}, '(:STATUS "")'),
    ({"type": None, "target": 3, "SOURCE": Keyword("cli")}, "(:TYPE NIL :TARGET 3 :SOURCE :CLI)"), (types.MappingProxyType({"a": 1}), "(:A 1)"), ({Keyword.exact("a_b"): 1}, "(:A_B 1)"),
])
def test_printed_forms(value, text): assert write_plist(value) == text


loop = []; loop.append(loop)
shared = "x"
for _ in range(40): shared = [shared, shared]


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), "\ud800", {"a": "b\udfff"}, {"\udfff": 1}, {1: 2}, {None: 1}, {1, 2}, object(), b"bytes", loop, {"a": loop}, shared,
    10**4000, -10**4000, 1j, {"a_b": 1, "a-b": 2}, {"A": 1, "a": 2}, {Keyword.exact("a_b"): 1, Keyword("a-b"): 2}, {"": 1}, {"a\nb": 1}, [1] * 100_001])
def test_what_cannot_be_read_again_is_not_printed(value):
    start = time.process_time()
    with pytest.raises(PlistError) as caught: write_plist(value)
    assert caught.value.position is None and caught.value.message.endswith(".") and in_time(time.process_time() - start, 1)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 1e39, -1e39, 1e-60, "nan"])
def test_single_floats_have_their_range(number):
    with pytest.raises(PlistError): SingleFloat(number)


def test_names_that_cannot_be_kept_are_no_keywords():
    for name in ("", ":", "::a", "a\nb", "a\u202eb", "\ud800"):
        with pytest.raises(PlistError): Keyword(name)
    for name in ("nil", "T", ""):
        with pytest.raises(PlistError): Symbol(name)


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(refusal("(:a")))
    assert (error.position, error.line, error.column) == (0, 1, 1) and str(error).startswith("Line 1, column 1:")


@pytest.mark.parametrize("text, todo", [('(:TOOL “find”)', 'straight double quotes, as in "text"'), ("(:TOOL, 1)", ", would begin a reader macro"), ("(:TOOL 'find')", "text in double quotes"), ("(:ÉTÉ É :|é| é)", "between bars")])
def test_a_refusal_says_what_to_write_instead(text, todo):
    with pytest.raises(PlistError) as caught: read_plist(text)
    assert todo in str(caught.value)
