"Known values are found in every writing, what looks like a key is found, what is ordinary is not, and none of it reaches model, log or journal"
import asyncio, base64, binascii, codecs, hashlib, os, random, re, shutil, string, subprocess, time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, assume, given, seed, settings, strategies as st

from conftest import examples, thinned
from passepartout.agent import Agent
from passepartout.redaction.assignments import COMPARISON_HEADS, candidate_heads, find_assignments
from passepartout.redaction.columns import column_heads, section_heads
from passepartout.redaction.companions import companion_heads, find_companions
from passepartout.gates.secrets import secrets_gate
from passepartout.messages import Action, ApprovalRequired, Rejected, Signal
from passepartout.redaction.nearby import find_nearby, nearby_heads
from passepartout.redaction.logins import find_logins, login_heads
from passepartout.redaction.formsearch import find_forms, form_heads
from passepartout.redaction.keyforms import FORMS
from passepartout.redaction.patterns import TooMuch, linear
from passepartout.redaction.knownvalues import in_pieces, secrets_in, skeleton
from passepartout.redaction.recordtexts import GateRows, strings_in
from passepartout.conditions import PassepartoutError
from passepartout.redaction.secrets import TELLING, Scanner, Secret, Vault, redact_each, unseen
from passepartout.redaction.shaped import find_coded, find_plain, find_shaped, tells
from passepartout.tools import Tool
from waits import in_time

ROOT = Path(__file__).parents[1]
VALUE = "tok-5Kd2Zq81-Wx"
SCANNER = Scanner([Secret("T", VALUE.encode())])

# Known values ----------------------------------------------------------------------------------------------------------

WRITINGS = [
    lambda v, n: v, lambda v, n: v[::-1], lambda v, n: v.encode().hex(), lambda v, n: v.encode().hex().upper(), lambda v, n: ":".join(f"{b:02x}" for b in v.encode()),
    lambda v, n: base64.b64encode(b"x" * n + v.encode() + b"y" * n).decode(), lambda v, n: base64.urlsafe_b64encode(b"\xff" * n + v.encode()).decode(),
    lambda v, n: "\n".join(re.findall(".{1,7}", base64.b64encode(b"a" * n + v.encode()).decode())), lambda v, n: quote(v, safe=""), lambda v, n: "".join(f"%{b:02X}" for b in v.encode()),
    lambda v, n: quote(quote("".join(f"%{b:02x}" for b in v.encode()), safe=""), safe="") if n == 0 else quote(v), lambda v, n: "".join(f"\\x{b:02x}" for b in v.encode()), lambda v, n: "".join(f"&#{b};" for b in v.encode()),
    lambda v, n: " ".join(v), lambda v, n: "\u200b".join(v), lambda v, n: "' + '".join(v),
    lambda v, n: base64.b64encode(("é" * n + v).encode("utf-16-le")).decode(), lambda v, n: v.encode("utf-16-le").hex(), lambda v, n: base64.b32encode(b"x" * n + v.encode() + b"y" * n).decode(), lambda v, n: ", ".join(str(b) for b in v.encode()), lambda v, n: " ".join(f"{b:03o}" for b in v.encode()), lambda v, n: "".join(f"\\{b:o}" for b in v.encode()),
    lambda v, n: ",".join(f"0x{b:02x}" for b in v.encode()), lambda v, n: "+".join(f"chr({b})" for b in v.encode()), lambda v, n: " ".join(f"{b:08b}" for b in v.encode()), lambda v, n: codecs.encode(v, "rot13"), lambda v, n: base64.b64encode(base64.b64encode(v.encode())).decode(), lambda v, n: base64.b64encode(v.encode()).hex(),
    lambda v, n: base64.b64encode(v.encode().hex().encode()).decode(), lambda v, n: base64.b64encode(v.encode()).decode()[::-1], lambda v, n: v.encode().hex()[::-1], lambda v, n: "".join(f"%u00{b:02x}" for b in v.encode()), lambda v, n: "".join(f"\\u{{{b:x}}}" for b in v.encode()), lambda v, n: "".join(f"&#{b:05d}" + ";" * (n % 2) for b in v.encode()),
    lambda v, n: "".join(chr(ord(c) + 0xFEE0) for c in v), lambda v, n: "".join(chr(0xE0000 + ord(c)) for c in v), lambda v, n: v[:4] + "]]><![CDATA[" + v[4:], lambda v, n: "&plus;".join(v), lambda v, n: " ".join(f"{b:03d}" for b in v.encode()), lambda v, n: "".join(f"\\0{b:o}" for b in v.encode()), lambda v, n: v.encode().hex().encode().hex()]
around = st.text(st.characters(codec="utf-8"), max_size=60)
values = st.text(string.ascii_letters + string.digits + "-_.!$+/=", min_size=9, max_size=40).filter(lambda v: len(skeleton(v.encode())) >= 8 and len(set(v)) > 4)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(values, around, around, st.sampled_from(WRITINGS[:10] + WRITINGS[11:]), st.integers(0, 5))
def test_a_known_value_is_found_wherever_and_however_it_is_written(value, before, after, written, shift):
    found = Scanner([Secret("K", value.encode())]).find(f"{before} {written(value, shift)} {after}", shaped=False)
    assert any(f.known and f.name == "K" for f in found)


@pytest.mark.parametrize("written", [base64.b85encode, base64.a85encode, lambda raw: base64.a85encode(raw, adobe=True, wrapcol=20), binascii.b2a_uu], ids=["base85", "ascii85", "ascii85 in lines", "uuencode"])
def test_groups_of_four_and_three_are_found_at_each_place(written):
    for value in (VALUE, "hunter2+hunter3-and-more"):
        scanner = Scanner([Secret("K", value.encode())])
        for n in range(6): assert scanner.find(f"It is {written(b'x' * n + value.encode()[:40 - n] + b'y').decode()} then.", shaped=False), (value, n)


@pytest.mark.parametrize("written", [n for n in range(len(WRITINGS)) if n != 10])
@pytest.mark.parametrize("value", [VALUE, "hunter2+hunter3", "000001234"])
def test_each_writing_is_found_at_each_place(value, written):
    scanner = Scanner([Secret("K", value.encode())])
    for n in range(6): assert scanner.find(f"It is {WRITINGS[written](value, n)} then.", shaped=False), WRITINGS[written](value, n)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.one_of(around, st.sampled_from([VALUE, quote(VALUE), f"password={VALUE}", "db_password: hunter2x", "ghp_" + "aB3" * 12, "postgres://a:s3cret9@h/x", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"])), max_size=8))
def test_redacting_again_changes_nothing_and_leaves_no_known_value(parts):
    once = SCANNER.redact(" ".join(parts))
    assert SCANNER.redact(once) == once and not SCANNER.find(once, shaped=False)


@settings(max_examples=examples(150), deadline=None)
@given(st.text())
def test_what_holds_no_secret_is_the_same_object(text):
    assume(not SCANNER.find(text))
    assert SCANNER.redact(text) is text


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(st.text(), st.binary().map(lambda b: b.decode("utf-8", "surrogateescape"))))
def test_no_text_makes_it_fail(text):
    assert isinstance(SCANNER.redact(text), str)


def test_which_variables_are_known():
    environ = {"PATH": "/bin", "SSH_AUTH_SOCK": "/tmp/x", "GIT_AUTHOR_NAME": "Ana Lima", "PWD": "/home/ana", "KEYBOARD": "de-latin1-nodeadkeys", "TOKEN": "true", "MY_TOKEN": "abcd1234efgh", "DB_URL": "redis://u:p4ssw0rdx@h", "API_KEY": "${OTHER}", "LESSKEY": "/etc/l"}
    assert {s.name for s in secrets_in(environ)} == {"MY_TOKEN", "DB_URL"}
    assert VALUE not in repr(Vault([Secret("A", VALUE.encode())]).secrets)


def test_a_reference_is_filled_in_for_its_host_only():
    vault = Vault([Secret("A", b"value-1234"), Secret("B", b"value-5678")], ["A@api.example.org"])
    assert vault.filled("x {{secret:A}}", "API.example.org.") == "x value-1234"
    for text, host in (("{{secret:A}}", "example.org"), ("{{secret:B}}", "api.example.org"), ("{{secret:C}}", "api.example.org"), ("{{secret:A}}{{secret:B}}", "api.example.org"), ("{{secret:A}}", "api.example.org.evil.net")):
        assert vault.refusal(text, host)
        with pytest.raises(PassepartoutError): vault.filled(text, host)


# What looks like one ------------------------------------------------------------------------------------------------------

def held_out(seed: int, count: int):
    "Secrets in the writing of many languages and tools, made here and used to tune nothing."
    rng = random.Random(seed)
    pick = lambda chars, n: "".join(rng.choice(chars) for _ in range(n))
    alnum, upper = string.ascii_letters + string.digits, string.ascii_uppercase + "234567"
    made = [lambda: "ghp_" + pick(alnum, 36), lambda: "AKIA" + pick(upper, 16), lambda: "AIza" + pick(alnum, 35), lambda: "xoxb-" + pick("0123456789", 12) + "-" + pick(alnum, 24), lambda: "sk_live_" + pick(alnum, 24),
            lambda: "glpat-" + pick(alnum, 20), lambda: "SG." + pick(alnum, 22) + "." + pick(alnum, 43), lambda: "npm_" + pick(alnum, 36), lambda: "sk-ant-api03-" + pick(alnum, 60), lambda: "hf_" + pick(alnum, 34)]
    names = ["API_KEY", "apiKey", "db_password", "client_secret", "AUTH_TOKEN", "accessToken", "secretKey", "SMTP_PASS", "signing_key", "jwt_secret"]
    lines = ["{n}={v}", "export {n}='{v}'", '{n}: "{v}"', "{n} := `{v}`", 'const {n} = "{v}";', '"{n}": "{v}",', "<{n}>{v}</{n}>", "  {n} => '{v}',", ":{n}: {v}", "- {n} :: {v}", "--{n}={v}", 'set("{n}", "{v}")']
    for _ in range(count):
        if rng.random() < 0.5: yield f"see {rng.choice(made)()} for it"
        else: yield rng.choice(lines).format(n=rng.choice(names), v=pick(alnum, rng.randint(16, 40)))


@pytest.mark.slow
def test_held_out_samples_are_caught():
    samples = list(held_out(20261122, examples(1500)))
    missed = [s for s in samples if not SCANNER.find(s)]
    assert len(missed) <= 0.03 * len(samples), missed[:20]


ORDINARY = """commit 9fceb02d0ae598e95dc970b74767f19372d61af8
:ID: 5f0b6c1e-8a39-4a0e-9d0c-2f6d8f0f3c11
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  notes.tar.gz
![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==)
token = <your-token-here-1>
password: ********
API_KEY=${API_KEY1}
password = os.environ["DB_PASSWORD1"]
api_key: changeme123
AKIAIOSFODNN7EXAMPLE
Bearer xxxxxxxxxxxxxxxxxxxxxxxx
integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"
The key is under the mat at number 12, the password is the usual one.
secret_name: prod/db/main-1
max_tokens: 4096
https://docs.example.org/auth?token=TOKEN
max_key_length = 256
public_key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
""".splitlines()


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_raise_no_alarm(line):
    assert SCANNER.redact(line) is line


@pytest.mark.slow
def test_notes_and_code_raise_hardly_any():
    lines = alarms = 0
    for path in [*(ROOT / "passepartout").rglob("*.py"), *(ROOT / "passepartout" / "sample").rglob("*.org"), *Path(os.__file__).parent.glob("*.py")]:
        if path.name in ("assignments.py", "patterns.py", "keyforms.py", "openpasswords.py", "_modidx.py"): continue
        raw = path.read_bytes()
        lines += raw.count(b"\n")
        for at in range(0, len(raw), 50_000): alarms += len(find_forms(raw[at:at + 50_000]) + find_assignments(raw[at:at + 50_000]))
    assert lines > 50_000 and alarms < lines / 2000


@pytest.mark.slow
def test_every_form_is_found_whatever_its_letters_are():
    "The beginning of one form must not take the place of another's, and the word must be looked at far enough."
    for name, first, rest in FORMS:
        if name in ("azure-key", "newrelic-license", "maxmind-key", "openai-account-key", "google-client", "basic-login"): continue                 # found by how they end, or undone
        samples = []
        @seed(20261122)
        @settings(max_examples=6 if os.environ.get("CI") else 2, database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.from_regex(re.compile(first + rest, re.A), fullmatch=True))
        def draw(sample): samples.append(sample)
        draw()
        for sample in samples:
            if sum(map(str.isdigit, sample)) < {"authorization": 1, "session-cookie": 1, "recovery-key": 3}.get(name, 0) or re.search("EXAMPLE|REDACTED", sample): continue      # words, perhaps
            assert find_forms(f"see {sample} here".encode()), (name, sample)


def keys_of_providers_to_come(seed: int, count: int):
    "Keys whose provider nobody here knows: with a prefix, behind a service's name or any name, in quotes, as an option, in SQL, in a URL's password."
    rng = random.Random(seed)
    pick = lambda chars, n: "".join(rng.choice(chars) for _ in range(n))
    alnum, small, hexa = string.ascii_letters + string.digits, string.ascii_lowercase + string.digits, "0123456789abcdef"
    made = lambda: rng.choice([lambda: pick(alnum, rng.randint(26, 48)), lambda: pick(small, rng.randint(30, 44))])()
    coded = lambda: rng.choice([made, lambda: pick(hexa, rng.choice((32, 40, 64)))])()
    brand = lambda: pick(string.ascii_lowercase, rng.randint(3, 8))
    writings = [lambda: f"{brand()}_{coded()}", lambda: f"{brand()}-{coded()}", lambda: f"{brand()}_sk_{made()}", lambda: f"{brand()} = '{made()}'", lambda: f'{brand()}: "{made()}"', lambda: f'client.connect("{made()}")', lambda: f"{brand()} {made()}",
                lambda: f"{brand()} SECRET {coded()}", lambda: f"{brand()}Token:={coded()}", lambda: f"X-{brand()}-Key: {coded()}", lambda: f"tool --token {made()} run", lambda: f"tool -Password {pick(alnum, 9)}7!", lambda: f"wandb {coded()}",
                lambda: f"SENDGRID={coded()}", lambda: f"CREATE USER {brand()} IDENTIFIED BY '{pick(alnum, 9)}7'", lambda: f"{brand()}://{brand()}:{pick(alnum, 10)}@{brand()}.example.org/x", lambda: f"{brand().upper()}_PSWD={pick(alnum, 9)}7"]
    for n in range(count): yield writings[n % len(writings)]()


@pytest.mark.slow
def test_keys_of_providers_to_come_are_caught():
    samples = list(keys_of_providers_to_come(20261122, examples(1700)))
    missed = [s for s in samples if not SCANNER.find(s)]
    assert len(missed) <= 0.03 * len(samples), (len(missed), missed[:20])


def identifiers(seed: int, count: int):
    "What looks random in notes, lock files, logs and code, and opens nothing."
    rng = random.Random(seed)
    hexa = lambda n: "".join(rng.choice("0123456789abcdef") for _ in range(n))
    coded = lambda n: base64.b64encode(rng.randbytes(n)).decode()
    address = lambda n: base64.urlsafe_b64encode(rng.randbytes(n)).decode().rstrip("=")
    uuid = lambda: f"{hexa(8)}-{hexa(4)}-4{hexa(3)}-a{hexa(3)}-{hexa(12)}"
    lines = [lambda: f":ID:       {uuid()}", lambda: f'"id": "{uuid()}",', lambda: f"UUID={uuid()} / ext4 defaults 0 1", lambda: f"CLSID {{{uuid().upper()}}}", lambda: f"request_id={uuid()}", lambda: f"commit {hexa(40)}", lambda: f"This reverts commit {hexa(40)}.",
             lambda: f"index {hexa(40)}..{hexa(40)} 100644", lambda: f"{hexa(40)} refs/heads/main", lambda: f"{hexa(64)}  notes.tar.gz", lambda: f"{hexa(32)} *disk.iso", lambda: f'checksum = "{hexa(64)}"', lambda: f"    --hash=sha256:{hexa(64)} \\",
             lambda: f'"integrity": "sha512-{coded(64)}",', lambda: f'<script src="a.js" integrity="sha384-{coded(48)}">', lambda: f"example.org/a/b v1.2.3 h1:{coded(32)}", lambda: f"![](data:image/png;base64,iVBORw0KGgo{coded(300)})", lambda: f"url(data:font/woff2;base64,d09GMg{coded(90)})",
             lambda: f"https://docs.example.org/document/d/1{address(33)}/edit", lambda: f"https://video.example.org/watch?v={address(8)}&list=PL{address(24)}", lambda: f'resolved "https://registry.example.org/a-1.0.0.tgz#{hexa(40)}"', lambda: f"image: repo/app@sha256:{hexa(64)}",
             lambda: f'ETag: "{hexa(32)}"', lambda: f"Message-ID: <{hexa(20)}.{hexa(8)}@mail.example.org>", lambda: f"SHA256:{coded(32).rstrip('=')}", lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{coded(30)} ada@host", lambda: f"/nix/store/{hexa(32)}-hello-2.10", lambda: f"uses: actions/create-token@{hexa(40)} # v3",
             lambda: f'<link href="/static/main.{hexa(20)}.css">', lambda: f"magnet:?xt=urn:btih:{hexa(40)}", lambda: f"IBAN DE{rng.randrange(10**20):020}", lambda: f"trace_id={hexa(32)} span_id={hexa(16)}", lambda: f'"_id": "{hexa(24)}"', lambda: f"{coded(48)}\n{coded(48)}\n{coded(21)}"]
    for n in range(count): yield lines[n % len(lines)]()


@pytest.mark.slow
def test_identifiers_checksums_and_data_raise_no_alarm():
    samples = list(identifiers(20261122, examples(1700)))
    wrong = [s for s in samples if SCANNER.find(s)]
    assert len(wrong) <= 0.005 * len(samples), (len(wrong), wrong[:20])


@pytest.mark.parametrize("text", ["xmlSecTransformHmacSha256GetKlass()", "class Bzip2TestZip64InSmallFiles(Base):", "Remove the item identified by `key`.", "rows identified by INDEX.", "kubectl get pods -n kube-system --token $TOKEN", "read -p 'Password: ' x",
                                  "git log --author=ada --grep token", "createToken('NONNUMERICIDENTIFIER', 1)", "the ioredis adapter, see --password-file /run/pw"])
def test_names_and_options_are_no_keys(text):
    assert not SCANNER.find(text), text


@pytest.mark.parametrize("text", thinned(["key=1 ", "password=hunter2x ", "token=Aa1", "api_key: 'q8ZtB2LxWp0RmK4y'\n", "://a:b", "-----BEGIN PRIVATE KEY-----", "eyJhbGciOiJ9.eyJ", '"hunter2x"==password ', "\\x41", "%41", "AKIA ", "pass", "secret token key ", "aB1cD2eF3gH4iJ5kL6mN7 ", "abcdefghijklmno1 ", "xkqzjwvbnmtrpfghdcls7q2 ", "key = {0x11, ", "token:\n", ": ab1cdefghijklm / a@", "getenv('A_KEY', '", "<password> a", "user = a\npassword = ", "api aB1cD2eF3gH4iJ5kL6mN7 ", "AB12-", "--token a ", "identified by ", "-u a -u a ", "user='a';password=", "x=1,pwd=abcde,", "connect('a','b',", "name: x_password\n ", "a:12:b:c", "A_PASSWORD: ", "login: a / ", "machine h login "], 4))
def test_hostile_text_is_judged_or_refused_quickly(text):
    huge = text * (250_000 // len(text))
    SCANNER.redact(text)
    begun = time.process_time()
    assert isinstance(SCANNER.redact(huge), str)
    assert in_time(time.process_time() - begun, 3)          # a hang guard; the benchmark has the numbers


@pytest.mark.slow
def test_long_lists_of_checksums_and_long_data_are_looked_through_and_not_withheld():
    rng = random.Random(20261122)
    for text in ("".join(f"{rng.randbytes(32).hex()}  photo-{n}.jpg\n" for n in range(3_000)), "".join(f"{rng.randbytes(16).hex()} {n}\n" for n in range(5_000)), base64.encodebytes(rng.randbytes(150_000)).decode(),
                 "".join(f"0x{n:x}:'\\u{n:04x}'," + "\n" * (n % 4 == 0) for n in range(0x10a0, 0x10a0 + 4_000)), "".join(f"movl $0x{rng.randbytes(4).hex()}, 0x{n:x}(%rbp)\n" for n in range(4_000)),
                 "".join(f"#define NL80211_ATTR_STA_{'ABCDEFGH'[n % 8]}_{n}_SUPPORTED {n}\n" for n in range(1_400))):
        assert "withheld" not in (seen := SCANNER.redact(text)) and len(seen) > len(text) - 200          # in random data a form may occur by chance
        assert SCANNER.find(f"{text}\nWANDB_API_KEY={RANDOM}\n")


def test_too_large_is_refused():
    with pytest.raises(TooMuch): SCANNER.find("x" * 1_000_001)
    assert SCANNER.redact("x" * 1_000_001).startswith("[withheld")


# In the agent ---------------------------------------------------------------------------------------------------------------

KEY = "zk9-Lm44-Tr07-Qx"
SHAPED = "ghp_" + "aB3dE5gH7jK9" * 3


async def booted(tmp_path, monkeypatch, answer):
    config, memex, prompts = tmp_path / "config" / "passepartout", tmp_path / "memex", []
    config.mkdir(parents=True); memex.mkdir()
    (config / ".env").write_text(f"SERVICE_TOKEN={KEY}\n"); (config / ".env").chmod(0o600)
    (memex / "keys.org").write_text(f"* Keys\nThe service has {KEY} and the other one {SHAPED}.\n")
    monkeypatch.setenv("PROBE_API_KEY", "env-77Yp-93Kw-1")
    agent = await Agent.boot(memex=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config", provider_cascade=["model"])
    def model(prompt, system_prompt):
        prompts.append(prompt + "\n" + system_prompt)
        return answer(prompt)
    agent.backends.register("model", model)
    return agent, prompts


def on_disk(tmp_path): return b"\n".join(p.read_bytes() for p in (tmp_path / "state").rglob("*") if p.is_file() and p.suffix != ".key")


async def test_no_secret_reaches_the_model_the_log_or_the_journal(tmp_path, monkeypatch):
    def answer(prompt):
        if "returned:" not in prompt: return '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "read-file" :ARGS (:PATH "keys.org") :EXPLANATION "You want to see your keys file."))'
        return f"I found {KEY} and {SHAPED}."
    agent, prompts = await booted(tmp_path, monkeypatch, answer)
    reply = await agent.handle(f"what is in my keys file? I think {KEY}, or env-77Yp-93Kw-1")
    agent.log(f"a plug-in logs {KEY} and {SHAPED}")
    await agent.close()
    told = "\n".join(prompts) + "\n".join(agent.log.lines())
    for secret in (KEY, SHAPED, "env-77Yp-93Kw-1"): assert secret not in told and secret.encode() not in on_disk(tmp_path)
    assert "[secret:SERVICE_TOKEN]" in prompts[-1] and "[secret-shaped: github-token]" in prompts[-1] and KEY in reply and b"[secret:SERVICE_TOKEN]" in on_disk(tmp_path)


async def test_a_known_secret_is_refused_and_a_likely_one_is_asked_about(tmp_path, monkeypatch):
    said = {"text": ""}
    def answer(prompt): return f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "org-capture" :ARGS (:TITLE "{said["text"]}") :EXPLANATION "You asked me to write this down."))'
    agent, _ = await booted(tmp_path, monkeypatch, answer)
    for text in (KEY, base64.b64encode(f"x{KEY}".encode()).decode(), KEY[::-1]):
        said["text"] = text
        assert (await agent.handle("note it")).status == "rejected"
    said["text"] = f"wifi {SHAPED}"
    reply = await agent.handle("note it")
    assert reply.status == "requires-approval" and SHAPED in reply.approvals[0].summary
    assert SHAPED.encode() not in on_disk(tmp_path)
    done = await agent.approve(None, reply.approvals[0].code)
    assert done.effects and SHAPED in (tmp_path / "memex" / "inbox.org").read_text()
    await agent.close()
    assert SHAPED.encode() not in b"\n".join(p.read_bytes() for p in (tmp_path / "state").rglob("*.org"))


PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize("data", [False, True])
async def test_what_a_tool_returns_is_redacted_before_it_is_a_reply(tmp_path, monkeypatch, data):
    "A reply may be a tool's result as it came, with no model in between; nor need the prompt be the place where it is found."
    def answer(prompt):
        if "returned:" in prompt: raise RuntimeError("The model is gone, so the person gets the result itself.")
        return '(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "leaky" :EXPLANATION "You want to see what is in there."))'
    agent, prompts = await booted(tmp_path, monkeypatch, answer)
    grep = "".join(f"./server.pem:{n}:{line}\n" for n, line in enumerate(PEM.splitlines(), 1)) + f'./a.json:1:{{"aws_secret_access_key": "{SHAPED}"}} {KEY}'
    agent.tools.register(Tool("leaky", "", [], lambda: {"status": "success", "content": grep, "lines": grep.split("\n")} if data else grep, effects={"read_only": True}))
    agent.permissions.tiers["leaky"] = "allow"
    told = []
    agent.watch(lambda kind, body, turn: told.append(str(body)))
    reply = await agent.handle("what is in there?")
    await agent.close()
    assert "server.pem:1:" in reply and "[secret:SERVICE_TOKEN]" in reply
    everything = str(reply) + "".join(prompts) + "".join(told)
    for secret in (KEY, SHAPED, "BADANBgkqhkiG9w0BAQEFAASCBKcwggSj"): assert secret not in everything and secret.encode() not in on_disk(tmp_path)


# What was clean before is remembered -----------------------------------------------------------------------------------

def test_a_value_cut_in_two_blocks_is_found_though_each_half_was_seen_clean():
    scanner = Scanner([Secret("TOKEN", b"tok-5Kd2-Zq81-mm7p")])
    pad = "word " * 100
    first, second = f"{pad}tok-5Kd2", f"-Zq81-mm7p {pad}"
    assert scanner.redact(f"{first}\n\nx") == f"{first}\n\nx"
    assert "5Kd2" not in scanner.redact(f"{first}\n\n{second}") and "[secret:TOKEN]" in scanner.redact(f"{first}\n\n{second}")


def test_what_a_tool_returned_does_not_have_the_instructions_looked_through_again(monkeypatch):
    scanner, divided = Scanner([Secret("TOKEN", b"tok-5Kd2-Zq81-mm7p")]), []
    monkeypatch.setattr("passepartout.redaction.secrets.unseen", lambda text, *rest: divided.append(text[:3]) or unseen(text, *rest))
    for instructions in ("You " * 300 + "\n\nare one.", "".join(["You " * 300, "\n\nare one."])):      # equal, and another object
        for result in ("It returned: " + "word " * 100 + "\n\nx", "It returned: " + "word " * 100 + "\n\nx" * 2): assert scanner.is_clean(instructions) and scanner.is_clean(result)
    assert divided == ["You", "It ", "You", "It ", "You", "It ", "It "]         # the second time what it began with is kept, then only another object is divided
    behind = "You " * 300 + "\n\ntok-5Kd2-Zq81-mm7p"
    assert not scanner.is_clean(behind) and "[secret:TOKEN]" in scanner.redact(behind)


def test_a_long_text_is_no_other_one_that_begins_with_the_same_words():
    scanner = Scanner([Secret("TOKEN", b"tok-5Kd2-Zq81-mm7p")])
    begin = "The person asked: what? "
    for n in range(12): assert scanner.is_clean(f"{begin}{n} {'word ' * 100}\n\nx") and len(scanner._begun) <= 4
    for n in range(12): assert scanner.is_clean(f"{n} {begin * 40}\n\nx") and len(scanner._begun) <= 4
    for text in (f"{begin}tok-5Kd2-Zq81-mm7p {'word ' * 100}\n\nx", f"{begin}11 {'word ' * 100}\n\ntok-5Kd2-Zq81-mm7p"): assert not scanner.is_clean(text)


@pytest.mark.slow
@given(st.lists(st.sampled_from(["plain words here", "DB_PASSWORD=\"q8Zt-22Lx\"", "tok-5Kd2-Zq81-mm7p", "x" * 300, "", "the end", "tok-5Kd2", "-Zq81-mm7p"]), max_size=8), st.integers(0, 2))
def test_a_scanner_that_remembers_says_what_a_new_one_says(blocks, again):
    secrets = [Secret("TOKEN", b"tok-5Kd2-Zq81-mm7p")]
    scanner, text = Scanner(secrets), "\n\n".join(blocks)
    for part in (*blocks, text) * again: scanner.redact(part)
    assert scanner.redact(text) == Scanner(secrets).redact(text)
    assert scanner.cleaned({"a": blocks, "b": text}) == Scanner(secrets).cleaned({"a": blocks, "b": text})


async def test_only_a_provider_on_this_machine_reads_what_was_typed_as_it_is(tmp_path):
    "Registered as one that reads no system prompt, a far provider still gets no secret; the reflex engine, here, gets the person's own words."
    typed = 'my line is DB_PASSWORD="q8Zt-22Lx"'
    for local in (False, True):
        (tmp_path / f"m{local}").mkdir()
        agent = await Agent.boot(memex_dir=tmp_path / f"m{local}", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config", provider_cascade=("model",))
        heard = []
        agent.backends.register("model", lambda prompt, system: heard.append(prompt) or "Noted.", inline=True, blind=True, local=local)
        await agent.handle(typed)
        assert ("q8Zt-22Lx" in heard[0]) is local
        await agent.close()


# Shapes that people and programs write, with values made here ---------------------------------------------------------------

RANDOM = "q7Rt2mZx9Lw4Vb1Nc8Yd3Gh6Jf5Ko0Ps"
HEX = "3f9c2b7a1d8e4f60a5b7c9d2e1f08364"
UUID = "3f9c2b7a-1d8e-4f60-a5b7-c9d2e1f08364"


@pytest.mark.parametrize("text", [
    f"acme SECRET {HEX}", f"acmeKEY-{HEX}", f"acme-token-{UUID}", f"<secret>{{prod 4 {RANDOM}}}</secret>", f"acme private access key {RANDOM}", f'apiKey: "{HEX}"', f"ACME_KEY={UUID}", f'let token: &str = "{RANDOM}";', f"X-Api-Key: {HEX}",
    "machine example.org login ada password hunter2", "machine example.org\n  login ada\n  password pass123", "sshpass -p 'MyP4ss!' ssh ada@example.org", "mysql -u root -pS3cretPw orders", "https://ada:pass@example.org/x", f"https://{HEX}@errors.example.org/7",
    "curl -u ':d2LkV78zLx!t' https://example.org", "curl -u 'd2LkV78zLx!t:' https://example.org", "curl --user  kevin:'pRf7vG2h' https://example.org", f"Authorization: {UUID}", f"Authorization: SSWS 00{RANDOM}", f"Bearer: {RANDOM}",
    "ada:$6$52450745$k5ka2p8bFuSmoVT1tzOyyuaREkkKBcCNqoDKzYiJL9RaE8yMnPgh2", "$2b$12$R9hLcIPz0giZURNNX3kh2OPSTKKPgBkqquziLSs7KIUgO2t0jWMUW", f"https://example.org/c?sv=2024&sig={RANDOM}%2F{RANDOM}%3D", f"acme={RANDOM}{RANDOM}+ACRa1b2c", 'password = "super$ecret"', 'password: "kangaroo-tango"',
    f'{{"auth": "{RANDOM}=="}}', "wifi psk=\"MyH0meWifi!\"", f"tskey-auth-{RANDOM[:12]}-{RANDOM[:20]}", f"https://discord.com/api/webhooks/123456789012345678/{RANDOM}{RANDOM}"])
def test_more_shapes_of_secrets(text):
    assert Scanner().find(text), text


@pytest.mark.parametrize("text, secret", [
    ("Server=db;User Id=ada;Password=goodspec;Database=orders", "goodspec"), ("jdbc:mysql://db:3307/orders?user=ada&password=goodspec", "goodspec"), ("# ACME_AUTH_PASS=whiteduke", "whiteduke"), ("diff --git a/x b/x\n-ACME_PASS=whiteduke\n+ACME_PASS=2", "whiteduke"), ("conf/x.env:3:ACME_PASS=whiteduke", "whiteduke"), ("[support]\nUsername=ada\nPassword=whiteduke\n", "whiteduke"),
    ("kind: Secret\ndata:\n\textra: 'YWRtaW46cGFzc3dvcmQ='\n", "YWRtaW46cGFzc3dvcmQ="), ('The default password for the user "ada" is "centipede".', "centipede"), ("password = 'open sesame'", "open sesame"), ("<secret>{launch rocket K8jPSU:4HX2#akH9}</secret>", "K8jPSU:4HX2#akH9"),
    (f"client_id = '{HEX}'", HEX), ('acme_token = "suVBQHXkPjUwRQ"', "suVBQHXkPjUwRQ"), ("acme_key = 3f9c2b7a1d8e", "3f9c2b7a1d8e"), ("my secret key=abcdef12345678", "abcdef12345678"), ("mysql -u root --password Sne3sd8AZjq", "Sne3sd8AZjq"), ("psexec \\\\host -u Admin -p braksha cmd", "braksha"),
    ('default = "004EWTpRQT_HJtG_nL-agxacgzYHjxPcF99kJsFzWg"', "004EWTpRQT_HJtG_nL-agxacgzYHjxPcF99kJsFzWg"), (f"acmekey-{UUID}", UUID), ("acme-SECRET-123456789ab-cd12-ef34-gh56-ijk9mn0pqrst", "123456789ab-cd12-ef34-gh56-ijk9mn0pqrst"), ("smtps://ada@example.org:FnD83JZs@smtp.example.org:465", "FnD83JZs"),
    ('"auth": "YWRhOmh1bnRlcjI="', "YWRhOmh1bnRlcjI="), ("Activation key: ZAQWS-XCDER-VBGTR-FRTGU-KLMNX", "ZAQWS-XCDER-VBGTR-FRTGU-KLMNX"), (f"\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K{'aB3dE6' * 6}", "aB3dE6aB3dE6"), (f"\x1b[93mghp_{'aB3dE6' * 6}\x1b[0m", "aB3dE6aB3dE6")])
def test_secrets_that_are_told_by_their_company(text, secret):
    assert secret not in Scanner().redact(text), text


@pytest.mark.parametrize("text", [
    "connect(host=host, user=user, password=password)", "self.user = user; self.password = password;", "    password=args.password)", "DB_PASSWORD=$(cat f)", "PASSWORD=changeme", "kind: SecretStore\nmetadata:\n  name: dGVzdGluZw==", "The password is wrong, the passphrase was 'your own'",
    "password: 'too short'", "client_id: calendar2", f"client_id = '{UUID}'", "token = getTokenOfUserByName(x)", "secret = parseXMLFromURL", "x86_64-linux-gnu-v2-debug", "sort_key = 'abc123'", "a-title-with-2-or-3-numbers-in-2026", "<secret>see the manual</secret>", "\x1b[32mpassword\x1b[0m: see below",
    "the monkey-5f0b6c1e 2 of 9", 'class="col-md-6 mt-3 px-2 d-lg-none"', "libstdc++-12-dev_12.2.0-14_amd64"])
def test_ordinary_company_raises_no_alarm(text):
    assert not Scanner().find(text), text


LOGINS = [
    ("mc -u ada -p goodspec put x", "goodspec"), ("acmectl login --user ada --password goodspec", "goodspec"), ("rdp /u:ada /p:Goodspec1", "Goodspec1"), ("acme -U ada -pHunter2x", "Hunter2x"), ("docker run -e MYSQL_ROOT_PASSWORD=my-secret-pw \\", "my-secret-pw"), ("PGPASSWORD=goodspec psql -h h", "goodspec"),
    ("echo hunter2 | sudo -S ls", "hunter2"), ("echo 'ada:goodspec' | sudo chpasswd", "goodspec"), ("echo goodspec | docker login -u ada --password-stdin", "goodspec"), ("net user ada Hunter2x /add", "Hunter2x"), ("useradd -m -p goodspec1 ada", "goodspec1"), ("htpasswd -bc f ada goodspec", "goodspec"), ("requirepass foobared", "foobared"),
    ("- name: DB_PASSWORD\n  value: goodspec", "goodspec"), ('{"name": "MQ_PASSWORD", "value": "pass@word"}', "pass@word"), ("key = \"db_password\"\nvalue = \"goodspec\"", "goodspec"), ("- name: API_TOKEN\n  value: q8ZtB2LxWp0RmK4y", "q8ZtB2LxWp0RmK4y"),
    ("spring.datasource.password = root", "root"), ("spring.datasource.password=SpringPassword", "SpringPassword"), ("payment.api.key=the_payment_key_jkl012", "the_payment_key_jkl012"), ("  MYSQL_PASSWORD: MySQLPassword\n", "MySQLPassword"), ("username: ada\npassword: goodspec\n", "goodspec"), ("password=letmein\n", "letmein"), ("password: goodspec\n", "goodspec"),
    ("db.host:5432:*:ada:goodspec\n", "goodspec"), (f"ada:500:{HEX}:{HEX[::-1]}:::", HEX), ("machine h login ada password goodspec", "goodspec"), ("login: ada / hunter2", "hunter2"), ("user/pass: ada/hunter2", "hunter2"), ("Password for ada: hunter2", "hunter2"),
    ("pymysql.connect('localhost', 'root', 'Azerty123')", "Azerty123"), ('DriverManager.getConnection(url, "ada@db", "PASSword_5")', "PASSword_5"), ('new PDO("sqlsrv:server = tcp:h", "ada", "goodspec3");', "goodspec3"), ('.withPassword("goodspec")', "goodspec"), ('ldap_bind("a", "b", "p4ssw0rd");', "p4ssw0rd"), (f"createHmac('sha256', '{HEX}')", HEX), (f"jwt.sign({{ id: 1 }}, '{HEX}')", HEX), (f"client.bind('cn=admin,dc=example', '{HEX}')", HEX), ('oci_connect("ada", "p4ssw0rd");', "p4ssw0rd"), ("CREATE USER ada IDENTIFIED BY 'goodspec'", "goodspec"), ("ALTER ROLE x WITH PASSWORD 'goodspec'", "goodspec"),
    (f"git+https://{HEX}aa@git.example.org/x", HEX), ("https://q7Rt2mZx9Lw4Vb1NcE8s@git.example.org/x", "q7Rt2mZx9Lw4Vb1NcE8s"), ("user: ada\npass: goodspec\n", "goodspec"), ("database=x,hostname=h.example.org,port=1,pwd=goodspec,uid=ada", "goodspec")]


@pytest.mark.parametrize("text, secret", LOGINS)
def test_passwords_that_are_told_by_their_place(text, secret):
    assert secret not in Scanner().redact(text), text


@pytest.mark.parametrize("text", [
    "docker run -u root -p 8080:80 web", "psql -U ada -p 5432 orders", "mysql -u root -p orders", "find . -user ada -prune", "docker login -u ada --password-stdin", "useradd -m -p $HASH ada", "echo $PASS | sudo -S ls", "echo done | tee log", "name: DB_PASSWORD\nvalue: ${DB_PASSWORD}", "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:",
    "name: user\nvalue: goodspec", "username: string\npassword: string\n", "password=password\n", "password: required\n", "spring.datasource.password=${DB_PASSWORD}", "self.db.password = word", "cache.key=some_name_of_a_thing", "setPassword('password')", "splitpasswd('user:ab')", "x.connect('clicked', 'handler2')", "createHmac('sha256', key)", "hmac('sha512_256_of_the_text', x)", "login('user', 'password')",
    "https://some-very-long-user-name@example.org", "user: src / main", "main.c:10:5:warning:foo", "a password for everybody: short", "tick masterauth with a master", "connect(host,port,user=a,password=b)", "the answering machine said nothing"])
def test_ordinary_places_of_other_words_raise_no_alarm(text):
    assert not Scanner().find(text), text


@pytest.mark.parametrize("text, secret", [
    ("password = u'azerty123'", "azerty123"), ('password = f"azerty123"', "azerty123"), ("app.config['SECRET_KEY'] = 'Azerty123'", "Azerty123"), ('hash_map["db_password"] = "azerty123"', "azerty123"), ('SECRET_KEY="woopie"', "woopie"), ('{"JWT_SECRET_KEY": "woopie"}', "woopie"), (f"sonar.github.oauth={HEX}", HEX),
    ('password = "blerg"', "blerg"), ('creds = "ilikelemons"', "ilikelemons"), ('String MY_SECRET = "bacdefghijklmnopqrs";', "bacdefghijklmnopqrs"), ('var password="itisaSEKRIT";', "itisaSEKRIT"), ("email_pwd = 'green_secret_whale'", "green_secret_whale"), ("user.password = \"42password\"", "42password"), ("db_password: supersecret123", "supersecret123"), ("password 'maven_builds'", "maven_builds"), ('secret = "my-token-2026"', "my-token-2026"),
    ("<client-secret>the_oauth_secret_789</client-secret>", "the_oauth_secret_789"), ("<smtp.password>whiteduke</smtp.password>", "whiteduke"), (f"geckoboard:\n\n  {HEX}", HEX), ("Screenshotlayer -> fk3jd0a-8sn2bx7q1-mzp4w6", "fk3jd0a-8sn2bx7q1-mzp4w6"), (f"npm: '{UUID}'", UUID), ("EAACEdEose0cBAabcjunkjunk", "EAACEdEose0cBAabcjunkjunk"), ('if ("Qm7vXpLr2FzT9baWt" == $auth) {', "Qm7vXpLr2FzT9baWt"), ('const CUSTOM = "Qm7vXpLr2FzT9baWtHx";', "Qm7vXpLr2FzT9baWtHx"), ("lQOsBGA3" + "tY0B" * 14, "tY0BtY0B")])
def test_values_in_more_writings(text, secret):
    assert secret not in Scanner().redact(text), text


@pytest.mark.parametrize("text", [
    "the scope oauth2: see above", "pass 'ignore' to ignore errors", "password = 'old_password'", 'password: "db_password"', "secret = secret_v1", "token = token_2", "api_key = api_key_11", "credentials: 'same'", f"at github.com, commit {HEX}", "new_password = 'new_password'", "password_key = 'password_field'"])
def test_more_writings_that_are_ordinary(text):
    assert not Scanner().find(text), text


AWS = "wKalrYUtnGEMJ/L7MDFNG/cPxSfiDYZqTr4uWe8X"          # forty characters, as Amazon gives them out


@pytest.mark.parametrize("text, secret", [
    ("some_function('foo', '" + AWS + "', 3)", AWS), ("login(" + AWS + ")", AWS), (f"token {'ghp_' + 'q7Rt2mZx9Lw4Vb1Nc8Yd3Gh6Jf5Ko0PsAbCd'}EXAMPLE", "q7Rt2mZx9Lw4Vb1Nc8Yd3Gh6Jf5Ko0PsAbCd"), (f"api_key = '{RANDOM}...'", RANDOM), (f"aws_secret_access_key = {AWS}EXAMPLE", AWS),
    (f"secret_id = '{UUID}'", UUID), ("PASSWORD = os.environ.get('PASSWORD') or 'at5G6zi!m'", "at5G6zi!m"), ('if SECRET := getenv("APP", "GEHEIMN1S"):', "GEHEIMN1S"), ("uint8_t aes_key[16] = {0x35, 0x34, 0x65, 0x9b, 0x1c, 0x2e, 0x10, 0x21, 0x33, 0x43, 0x00, 0x7f, 0x11};", "0x35, 0x34, 0x65, 0x9b"),
    ("Secret: []byte{33, 9, 100, 114, 245, 164, 134, 217, 225, 26, 0, 172, 39, 248, 203, 201},", "33, 9, 100, 114"), (f"Please use the following password to proceed:\n\n{HEX}\n\nIt is kept.", HEX), ("acme: wdv7usa87afxYn / ada@example.com", "wdv7usa87afxYn"), ("<password>\n  whiteduke\n</password>", "whiteduke"),
    ("user = aladdin\n// he wants it so\npassword = open_sesame", "open_sesame"), ("the password for user 'postgres' is 'admin'", "'admin'"), (f'String ACCOUNT_KEY\n        = "{RANDOM}+/{RANDOM}==";', RANDOM), ('environment = ["AUTH={\\\\\"auth\\\\\":\\\\\"YWRhOmh1bnRlcjIyMg==\\\\\"}"]', "YWRhOmh1bnRlcjIyMg=="),
    ("password:!Dd5G4s9", "Dd5G4s9"), ("password for the master:IhqSb1Gg", "IhqSb1Gg"), ("acme_key: 'PSIYbVgfkbEPQoqJfzHpACTtihONkQ_cKmOpNDPNiCU'", "PSIYbVgfkbEPQoqJfzHpACTtihONkQ"), ('h := "Bearer yvXpthLIcYpZweFpPOVeCOtt"', "yvXpthLIcYpZweFpPOVeCOtt"), ("acme '2w3933xk6uav9ff2'", "2w3933xk6uav9ff2"),
    ("export BUNDLE_GEMS__ACME__COM=cafebabe:deadbeef", "cafebabe:deadbeef"), (f"access_key_id = {HEX}", HEX), ("https://x.example.org/token/OTI2NjA3NjU1NTI2Oh2DOnASdOHoIhEGyqIuYrdkYaQZ", "OTI2NjA3NjU1NTI2Oh2DOnASdOHoIhEGyqIuYrdkYaQZ"), ("acme_TOKEN=jvqkzxwpmbnytrdcfghsalWERTUIOPLKJHG", "jvqkzxwpmbnytrdcfghsalWERTUIOPLKJHG"), ('acme: "sxk5k1-nfra8jak0mjjc6afr6v6gsf7dr9o1"', "sxk5k1-nfra8jak0mjjc6afr6v6gsf7dr9o1"),
    (base64.b64encode(b"ghp_" + b"q7Rt2mZx9Lw4Vb1Nc8Yd3Gh6Jf5Ko0PsAbCd").decode(), "X3E3UnQybVp4OUx3NFZiMU5j"), ('<Pass encoding="base64">VGhpc0lzQVRlc3RQYXNzd29yZA==</Pass>', "VGhpc0lzQVRlc3RQYXNzd29yZA=="), ("<Pass>whiteduke7</Pass>", "whiteduke7"), (f"FlyV1 {RANDOM},{RANDOM}", RANDOM), ("AKCp5bueTFpfW", "AKCp5bueTFpfW"), ("AP61bcdefghjkm", "AP61bcdefghjkm")])
def test_secrets_in_other_places_and_with_marks_on_them(text, secret):
    assert secret not in Scanner().redact(text), text


@pytest.mark.parametrize("text", [
    "AKIAIOSFODNN7EXAMPLE", "api_key = 'my-example-key-for-the-docs'", "'home/ada/Documents/Letters2026/November1'", "os.environ.get('PASSWORD', '')", "os.environ.get('API_KEY') or 'missing'", "KEYS = [1, 2, 3, 4]",
    "The next token:\n\nidentifiers\n", "The following key:\n\n    getTokenOfUser\n", "see: chapter one / ada@example.com", "<password>string</password>", "<password>${db.password}</password>", "user = ask()\npassword = prompt", "case 'application2026'", 'name: "linux-image-6-1-0-amd64-unsigned"',
    "token_table[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};", "password for the manager: KeePass2", f"id = '{UUID}'"])
def test_ordinary_places_and_marks_raise_no_alarm(text):
    assert not Scanner().find(text), text


@pytest.mark.parametrize("text", [
    f"commit {HEX}", f"public key {HEX}", f"the key point: checksum {HEX}", f":ID: {UUID}", f"monkey {HEX}", "git clone https://git@example.org/x.git", "https://example.org:8080/a@b", "curl -u $USER:$PASS https://example.org", "login page and password reset",
    'type="password"', 'password = "password"', "Authorization: see the manual", "session=SessionLocal(bind=engine)", "cp -p a b", "docker login registry.example.org -p $PASS", "the token was renamed to convertTokenToHexadecimal", "psk = None", "machine learning, login and password policies"])
def test_more_that_is_ordinary(text):
    assert not Scanner().find(text), text


@pytest.mark.parametrize("text", [
    "acme SECRET 665Hkj_12ABcd-eF34xW", "acme-PRIVATE-ab12-cd34-ef56-gh78", f"PRIVATE_KEY_ID=x; acme ACCESS 41dcba{HEX[:8]}", f"acme.{HEX}{HEX}", f"vendor_blob_rw_{RANDOM[:16]}_{RANDOM}", f'acme.init("{RANDOM}")', f'amplitude.init("{HEX}")', f"wandb token 1 == {HEX}",
    f"Endpoint=https://a.example.org;Id=x1;Secret={'abcdefghijklmnopqrstuvwxyzABCDEFGHIJ'}", "acme_key = " + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL", f"token - '{RANDOM[:16]}'", "Your password: &quot;g1re0g1Pa5w0Rd&quot;", "define('AUTH_KEY', 'k7o@~oee{u,MG KFBJq0M`-iJ0H0hs)m-@i/RsgwZ{No~JQ+)2A<Ryd+|t<8.[a');",
    "redis://ada:EXAMPLEp4ssw0rd@h:6379", "<Pass>ExamplePas123</Pass>", "<AdaPassword id='1'>whiteduke7</AdaPassword>", '<add key="DbPassword" value="whiteduke" />', "credentials {\n    username 'ada'\n    password 'password'\n}", "$mail->Username   = 'ada@example.org';  // who\n$mail->Password   = 'secret';",
    "if creds.secret != \"open-sesame\" {", "password = 'These-Are-Four-Words'", "password = \"rootpassword\"", "New-Object DirectoryServices.DirectoryEntry('LDAP://10.1.1.1','ada', 'secret')", "ldapsearch -x -D cn=admin -w AxJgoMKOe6", "sqlcmd -S h -U sa -P lAqao6aVw1", "redis-cli -h h -a K9cIP2yAMeo6",
    "openssl rsa -in k -passin pass:OvPaqmIFP1", "smbclient //h/s -U ada%YybSrh3DH", "net use \\\\h\\s /user:ada G5ztLwsGp", "sqlplus scott/gaiRCeU91@db", "keytool -storepass d0EykPQpJ1", "nmcli dev wifi connect N password zsfpDvb7I1", "password 7 08351F1B1D431516475E", "zip -P cIG3FTcOH1 a.zip b",
    "Пароль: blau-Wal-77", "密码：blau-Wal-77", "passord: blau-Wal-77", "seed phrase: abandon ability able about above absent absorb abstract absurd abuse access accident", ".dockerconfigjson: eyJhdXRocyI6eyJ4Ijp7", "_auth = c3R2dGFXNDZZV1J0YVc0PQ==", f"ey{RANDOM}.ey{RANDOM[::-1]}.{RANDOM}", "$gy$j9T$7Q9Z.KDwQ06akx6VxwMpn.$en8X0EUE.xdbTSDZlftyzqDE",
    f"aws_secret_access_key => {'a' * 40}", "BMlZufZmtbiUX3CX3_d1NxhUWIH_cT6_nQ4J-rJRW6Q", "TWITTER_CLIENT_ID: '1h6433fsvygnyre5a40'", "1PRK-AB2D-EFGH-IJ7L-MNOP-Q9ST-UVWX", "Set-Cookie: session_id=4711082; Secure", f"sk-acme-{HEX}", f"mistralai: {RANDOM}", "acme-access-key-abcdef01-2345-6789-abcdef123456"])
def test_more_that_is_found(text):
    assert Scanner().find(text), text


@pytest.mark.parametrize("text", [
    "Nothing passes this filter: closed:2026-11-09..2026-11-15.", "It passes this test: due:2026-11-09", "TOKEN 2026-11-22", "TOKEN renewal-of-the-year-2026", "ACCESS DENIED 403 for user-17", "release of 2026: seed: 12 grams of salt", "salt: 5g, pepper: 2g", "The seed phrase: keep it on paper, in two places, and tell nobody about it.", "const salt = await bcrypt.genSalt(10)", "credentials {\n  username = properties.user\n  password = properties.pass\n}", "main.3f9c2b7a1d8e4f60.css",
    "see fastcore.basics.store_attr2", "user = os.environ['A']; password = os.environ['B']", "if password != confirmation {", 'if kind == "secret-shaped" {', "<password>string</password>", '<property name="password" value="${db.password}"/>', "mongo -p 27017", "zip -P $PASS a.zip b", "openssl req -new -key server.key", "7z x -pPASSWORD a.7z", "redis-cli -a $PW ping", "sqlplus /nolog",
    "wifi off", "The word is пароль: он забыт", "the backup key: it lies in the drawer of the desk in the hall", "a token - 'next' - is read", "password = \"user-name\"", "acme.io.example.org/notes-2026-11", "eyes-open.eyeglasses.eyelashes", "key: salt and pepper, 12 eggs", "THIS-THAT-WITH-FROM-THEM-THEN", "Set-Cookie: theme=darkest; Path=/", "sk-learn-classification-of-many-things"])
def test_still_more_that_is_ordinary(text):
    assert not Scanner().find(text), text


@pytest.mark.parametrize("text", ['{{"refresh_token": "{}"}}', "refresh_token={}&x=1", "TOKEN: {}", "acme SECRET {}", "acme_{}", "Authorization: Bearer {}", "<apiToken>{}</apiToken>", "const key = '{}';", "--client-secret {} run"])
@pytest.mark.parametrize("length", [90, 250, 1_200, 9_000])
def test_a_long_secret_is_cut_out_to_its_end(text, length):
    "Its first hundred characters are enough to judge it by, and not enough to leave out."
    rng = random.Random(length)
    token = "Q7" + "".join(rng.choice(string.ascii_letters + string.digits + "-_") for _ in range(length - 4)) + "z9"
    seen = Scanner().redact(text.format(token))
    assert token[:20] not in seen and token[-20:] not in seen and len(seen) < 90, seen[:200]


@pytest.mark.parametrize("text", ["ftp://ada:s3cret-9x@10.1.1.1/a", "password: blau-Wal-77 25", f"t=EZAK{(RANDOM * 2)[:54]}&q=1", f"PASSWORD=hunter2x\nTOKEN={HEX}", f"https://ada:{HEX}@example.org", "curl -u ada:s3cret-9x https://example.org"])
def test_the_name_of_what_was_replaced_announces_nothing(text):
    once = Scanner().redact(text)
    assert once != text and Scanner().redact(once) == once


@pytest.mark.parametrize("text", ["[secret-shaped: password]=hunter2x", "[secret-shaped: hunter2x9]", "[secret-shaped: password]: blau-Wal-77"])
def test_nobody_hides_a_password_in_a_bracket(text):
    assert Scanner().find(text), text


@pytest.mark.parametrize("text, shown", [
    ("He said “the password is wrong” and left.", None), ("“the wifi password is x”", None), ("it’s the user’s password, isn’t it?", None), ("« le mot de passe est faux »", None),
    ("Noted: “the wifi password is blau-Wal-77”.", "Noted: “the wifi password is [secret-shaped: password]”."), ("„Das Passwort lautet blau-Wal-77“, sagte sie", "„Das Passwort lautet [secret-shaped: password]“, sagte sie"),
    ("password: «blau-Wal-77»", "password: «[secret-shaped: password]»"), ("Password is ‘hunter2x’ now", "Password is ‘[secret-shaped: password]’ now"), ("パスワード: 「blau-Wal-77」", "パスワード: 「[secret-shaped: password]」")])
def test_bent_quotation_marks_are_no_part_of_a_password(text, shown):
    assert Scanner().redact(text) == (shown or text)


@pytest.mark.parametrize("text, secret", [
    ("Remember tZk79pLyPLGgUVlkHbnLeXgl for the site", "tZk79pLyPLGgUVlkHbnLeXgl"), ("oyyfsny27bgphldmhvffxhhlmqvdkzjrfslrsj9f", "oyyfsny27bgphldmhvffxhhlmqvdkzjrfslrsj9f"), ('Atlassian_key = "DjayBenyJrtpvydFCzAphcqc"', "DjayBenyJrtpvydFCzAphcqc"),
    ("export INFLUX_TOKEN=BHsmEerxKV2yDaNNv31lPHMEXAMPLE", "BHsmEerxKV2yDaNNv31lPHMEXAMPLE"), ("see\ndcAuOpQaCNvjzsNPmeGXvegHBdq4Zamx8QjI8ibxfErzy34fjL4ZOITFvdP5SKct\nfor it", "dcAuOpQaCNvjzsNPmeGXvegHBdq4Zamx8QjI8ibxfErzy34fjL4ZOITFvdP5SKct"),
    ("hawk.6J2Rdq79w4DPMJRLHlgt.OizKogayo0ERdsB6pM4Y", "OizKogayo0ERdsB6pM4Y"), ('{"password": "48152"}', "48152"), ("AROAQ2KX7ZLM4T6YW3PB", "AROAQ2KX7ZLM4T6YW3PB")])
def test_words_that_no_language_made_are_found(text, secret):
    assert secret not in Scanner().redact(text)


@pytest.mark.parametrize("text", [
    '(package! evil :pin "58ad6d8b645e6211c7c564a4fbebf39a72691c7e")', ' "pin-project-lite",\n "socket2",\n', '"path-key": ["path-key@3.1.1", "", {}, "sha512-q1b3N5QkRUWUl7iyylaaj3kOpIT0N2i9MqIEQXP73GVsN9cw3fdx8X63cEmWhJGi2PPCF23Ijp7ktmowf=="],',
    '"tool_use_id": "toolu_01XzU3vzu2K4wncbagSDeBD5",', 'program("ls", "aAbBcdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I=text")', "the header identified by `name` is set", "psexec \\\\h -u ada -p {{contraseña}} cmd", "7za a x.7z -p{{motdepasse}}", "abcdefghijklmnopqrstuvwxyz0123456789",
    '$a := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="', "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "benchmarkxxhashfromreader2, najpopularniejszych7nazw",
    "dGhpcyBpcyBhIHRlc3Qgb2YgYSBsb25nIGxpbmUgb2YgYmFzZTY0IHdpdGggdGV4dA\nq1b3N5QkRUWUl7iyylaaj3kOpIT0N2i9MqIEQXP73GVsN9cw3fdx8X63cEmWhJGi\nq1b3N5QkRUWUl7\n"])
def test_words_that_somebody_made_and_data_are_not(text):
    assert not Scanner().find(text), text


@pytest.mark.parametrize("text, secret", [
    ('<property name="hibernate.connection.password">goodspec</property>', "goodspec"), ("<key>APIKey</key>\n\t<string>q8ZtB2LxWp0RmK4y</string>", "q8ZtB2LxWp0RmK4y"), ("<name>fs.password</name>\n  <value>goodspec</value>", "goodspec"), ("<key>password</key><string>goodspec</string>", "goodspec"),
    ('variable "db_password" {\n  default = "Blau77Wal"\n}', "Blau77Wal"), ("define('DB_PASSWORD', 'goodspec');", "goodspec"), ("FROM a\nENV DB_PASS goodspec\n", "goodspec"), ('      - "POSTGRES_PASSWORD=goodspec"', "goodspec"), ("docker run -e MYSQL_ROOT_PASSWORD=goodspec", "goodspec"),
    ("WIFI:S:home;T:WPA;P:goodspec;;", "goodspec"), ("jdbc:oracle:thin:ada/aSddF977sx@//db:1531/X", "aSddF977sx"), ('network={\n  psk="goodspec"\n}', "goodspec"), ('{\\"user\\":\\"ada\\",\\"password\\":\\"goodspec\\"}', "goodspec"), ("heroku config:set SECRET=goodspec7", "goodspec7"),
    ("Basic YWRhOndoaXRlZHVrZTc=", "YWRhOndoaXRlZHVrZTc="), ("http --auth ada:goodspec7 example.org", "goodspec7"), ('ssh-keygen -t rsa -N "goodspec7" -f k', "goodspec7"), ("username ada password 0 goodspec7", "goodspec7"), ('ldap_bind($c, "cn=admin", "goodspec7");', "goodspec7"),
    ("Wifi: Blaubeere, Passwort Sommer2024!", "Sommer2024!"), ("password - Blau-Wal-77", "Blau-Wal-77"), ("password → blau!Wal-77", "blau!Wal-77"), ("The password for the router is admin123", "admin123"), ("PIN: 4711", "4711"), ("Bank card pin 4711", "4711"), ("The alarm code is 2904", "2904"),
    *((text, "8053") for text in ("Die PIN der Karte ist 8053", "PIN der EC-Karte: 8053", "Meine PIN lautet 8053", "Die PIN ist 8053.", "The PIN for the card is 8053", "the pin of my bank card is 8053", "Der Code für die Tür ist 8053", "Die PUK ist 80530142", "PUK 80530142", "Türcode: 8053", "Die PIN für das Handy von Ana lautet: 8053", "- PIN = 8053")),
    *((text, "493021") for text in ("Zoom passcode: 493021", "Zoom passcode 493021", "Zoom-Kenncode: 493021", "Meeting passcode is 493021", "The passcode for Zoom is 493021", "Passcode: 493021", "Kenncode = 493021")),
    ("Recovery codes: 1a2b-3c4d 5e6f-7a8b 9c0d-1e2f", "9c0d-1e2f"), ("canny = 'xdw385y7-p2wo-bo3c-2803-r0v2u74tturi'", "r0v2u74tturi"), ("imagekit: Swv3qjPqXpODmXuU7UefwshNF81Bt0WEDca3", "Swv3qjPqXpODmXuU7UefwshNF81Bt0WEDca3")])
def test_secrets_that_are_set_apart_from_their_names(text, secret):
    assert secret not in Scanner().redact(text), text


@pytest.mark.parametrize("text", [
    '<string name="password">@string/x</string>', '<string name="password_hint">Enter it</string>', "<key>token</key>\n<string>$(TOKEN)</string>", '<entry key="password">${env.PASS}</entry>', 'variable "db_password" {\n  type = string\n  sensitive = true\n}', 'variable "token" { default = "" }', "define('PASSWORD_MIN', 8)",
    "ENV PATH /usr/bin:/bin\nARG TOKEN\n", "Basic authentication and basic training", "Basic YmFzaWMgdGV4dA==", "The password for the manager: KeePass2", "password hashing with Argon2 and SHA256", "password - required, 8 characters", "the password → the vault", "see PIN 13 of the board", "The code is 2904 lines long",
    "chisel server --auth {{имя}}:{{пароль}}", "X(\n    XPASS=outcomes.FAILED,\n)", "Recovery codes are printed once.", "WIFI: ask at the desk", "X_PASSWORD=getpass()", "export DB_PASSWORD=$OTHER", "DB_PASSWORD=${X}", "KEY=VALUE", "TOKEN=token", "123e4567-e89b-12d3-a456-426614174000", "password reset OAuth2Client", "the image: q7Rt2mZx9Lw4Vb1NcE8s is old", "# Password\nISO27001", "# Password\nISO27001:2022", "# Passwords\n- DIN5008\n- RFC2119", "# Password\nspotify:track:4uLU6hMCjMI75M1A2tKUQC",
    "Die PIN-Eingabe ist neu", "Pin 4711 Nadeln", "PIN der Karte vergessen, 2026 neu", "Zoom passcode needed by 2026", "Passcode policy: 6 digits", "Passcode 2026", "Die PIN ist vierstellig", "PIN of the ESP32 is 12", "the pin of the board is at 4711", "Postleitzahl der Karte ist 80331", "zip code is 80331", "Vorwahl: 08053", "error code 4711", "The country code for Germany is 0049", "zip code for Bonn: 53111", "The area code of Köln is 0221", "der Code der Gemeinde ist 05314000", "der Code hat 4711 Zeilen", "data: q7Rt2mZx9Lw4Vb1NcE8s"])
def test_names_that_are_set_apart_from_no_secret(text):
    assert not Scanner().find(text), text


# Undone, and passed over ------------------------------------------------------------------------------------------------

SETTINGS = "# who may do what\nuser: ada\npassword: blau-Wal-77\nregion: north\n"


@pytest.mark.parametrize("write", [lambda text: base64.b64encode(text).decode(), lambda text: base64.encodebytes(text * 3).decode(), lambda text: text.hex(), lambda text: text.hex().upper(), lambda text: base64.b64encode(text).decode().rstrip("=")])
def test_settings_in_another_writing_are_found_and_cut_out_whole(write):
    coded, plain = write(SETTINGS.encode()), write(b"The boat leaves at nine, and the tickets are in the drawer.")
    seen = Scanner().redact(f"data: {coded}\nend")
    assert "secret-shaped" in seen and coded[:40] not in seen and seen.endswith("\nend")
    assert find_coded(f"data: {plain}\nend".encode()) == []
    assert find_coded(base64.encodebytes(random.Random(3).randbytes(5_000))) == []


def looked(find, raw):
    try: return find(raw)
    except TooMuch: return "too much"


shapes = st.one_of(st.sampled_from(FORMS).flatmap(lambda form: st.from_regex(re.compile(form[1] + form[2], re.A), fullmatch=True)), st.sampled_from([*held_out(7, 60), *keys_of_providers_to_come(7, 60), *identifiers(7, 60), *ORDINARY, SETTINGS,
    base64.b64encode(SETTINGS.encode()).decode(), '"hunter2x" == password', "kind: Secret\ndata:\n  word: YWRtaW46cGFzc3dvcmQ=", "Server=a;Uid=b;Password=goodspec;", "the password is \"centipede\"", "key[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "TOKEN 12ab-34cd-ef56", "Пароль: blau-Wal-77", "seed: " + "abandon " * 12,
    'getenv("A_KEY", "at5G6zi!m")', "token:\n\n3f9c2b7a1d8e4f60a5b7", "x: ab1cdefghijklm / a@b.org", "client_id = 1h6433fsvygnyre5a40", "curl -u ada:s3cret-9x", "mysql -pS3cretPw9", *(text for text, _ in LOGINS)]))


@pytest.mark.slow
@settings(max_examples=examples(600), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(shapes, shapes, around), min_size=1, max_size=4), st.sampled_from(["", " ", "\n", "\"", "a", ";", "="]))
def test_the_one_look_hides_nothing_that_a_room_would_find(parts, between):
    "Cut anywhere, too: a beginning without its end is where a look that is nearly right would differ."
    raw = between.join(parts).encode("utf-8", "surrogatepass")
    for part in (raw, raw[len(raw) // 3:], raw[:len(raw) // 2], raw[1:-1]):
        assert looked(find_shaped, part) == looked(lambda text: find_plain(text) + find_coded(text), part)


ONLY_ONE = {"AKIA4ZC2QK7MWLJ": form_heads(), "wifi pin: 47-11-2": candidate_heads(), "'hunter2x' == password": COMPARISON_HEADS, "3f9c2b7a1d8e4f60": nearby_heads(), "the password was him": companion_heads(), "machine h login x": login_heads(), "b,passwort": column_heads(), "# wifi pw\n": section_heads(), "Pz4/" * 10: "[A-Za-z0-9+/]{40}"}


@pytest.mark.parametrize("text", ONLY_ONE)
def test_the_one_look_has_the_beginnings_of_every_room(text):
    "Each of these is told by the beginnings of one room and of no other, so leaving any out would be seen."
    assert [text for head in ONLY_ONE.values() if linear(head).search(text.encode())] == [text] and linear(ONLY_ONE[text]).search(text.encode())
    assert tells(text.encode())


ENV = "".join(("USER=ada\nLEVEL=debug\nKEY=", VALUE, "\nNAME=x\n")).encode()
DUMPS = {
    "xxd": lambda raw, n: f"{n:08x}: " + " ".join(raw[i:i + 2].hex() for i in range(0, len(raw), 2)) + "  " + re.sub(rb"[^ -~]", b".", raw).decode(), "hexdump": lambda raw, n: f"{n:07x} " + " ".join(raw[i:i + 2][::-1].hex() for i in range(0, len(raw), 2)),
    "hexdump -C": lambda raw, n: f"{n:08x}  " + raw[:8].hex(" ") + "  " + raw[8:].hex(" ") + "  |" + re.sub(rb"[^ -~]", b".", raw).decode() + "|", "od -c": lambda raw, n: f"{n:07o}" + "".join("  \\n" if b == 10 else f"   {chr(b)}" for b in raw),
    "od": lambda raw, n: f"{n:07o} " + " ".join(f"{int.from_bytes(raw[i:i + 2], 'little'):06o}" for i in range(0, len(raw), 2)), "od -b": lambda raw, n: f"{n:07o} " + " ".join(f"{b:03o}" for b in raw)}


@pytest.mark.parametrize("tool", [tool for tool in DUMPS if tool not in ("od -c",)])
@pytest.mark.parametrize("cut", range(1, 8))
def test_the_last_line_of_a_dump_may_be_short(tool, cut):
    "A value whose last letters stand alone on the last line was not found."
    raw = b"x" * (16 - len(VALUE) + cut) + VALUE.encode()
    assert "[secret:T]" in SCANNER.redact("\n".join(DUMPS[tool](raw[n:n + 16] + b"\0" * (len(raw[n:n + 16]) % 2), n) for n in range(0, len(raw), 16)) + "\n")


LISTERS = [f"od {at}-t {kind}{wide}" for at in ("", "-A x ", "-A d ") for kind in ("x1", "x2", "x4", "x8", "o1", "o2", "o4", "o8", "u1", "u2", "u4", "u8", "d1", "d2", "d4", "d8", "c", "x1z", "x4z") for wide in ("", " -w32", " -w8")] + \
          [f"od --endian=big -t {kind}" for kind in ("x2", "x4", "x8", "o2", "o4", "o8", "u2", "u4", "u8", "d2", "d4", "d8", "x4z")] + \
          ["xxd", "xxd -b", "xxd -e", "xxd -e -g8", "xxd -e -g2", "xxd -g1", "xxd -c 8", "xxd -c 40 -g 0", "xxd -u", "hexdump", "hexdump -C", "hexdump -b", "hexdump -c", "hexdump -d", "hexdump -o", "hexdump -x"]


@pytest.mark.parametrize("lister", thinned(LISTERS, 16))
def test_in_whatever_digits_a_program_lists_a_file_a_known_value_is_found(lister, tmp_path):
    "What the programs of this machine print; a line of somebody else's numbers among it changes nothing."
    if shutil.which(lister.split()[0]) is None: pytest.skip(f"{lister.split()[0]} is not installed")
    file = tmp_path / "env"
    for before in range(8):
        file.write_bytes(b"#" * before + ENV)
        seen = subprocess.run([*lister.split(), file], capture_output=True, text=True, check=True).stdout
        for text in (seen, "0000000 ff -1 0123 9\n" + seen + "00000000: 7\n"):
            redacted = SCANNER.redact(text)
            assert "[secret:T]" in redacted and len(text) - len(redacted) >= 2 * len(VALUE), (before, text)


@pytest.mark.parametrize("tool", DUMPS)
@pytest.mark.parametrize("before", ["", "the file:\n"])
def test_a_known_value_is_found_in_a_dump_and_none_of_its_letters_stay(tool, before):
    seen = SCANNER.redact(before + "\n".join(DUMPS[tool](ENV[n:n + 16], n) for n in range(0, len(ENV), 16)) + "\nend")
    assert "[secret:T]" in seen and VALUE[:6] not in seen and seen.startswith(before) and seen.endswith("end")


# What may be left out --------------------------------------------------------------------------------------------------

STARTS = ["AKIA", "AKC", "AP6", "ASIA", "ghp", "sk", "xoxb", "AIza", "eyJ", "SG", "glpat", "npm", "key", "password", "token", "secret", "pass", "pin", "ya29", "hf", "0x", "AGE", "dop", "shpat", "Bearer", "Basic"]


@pytest.mark.slow
@settings(max_examples=examples(3000), deadline=None)
@given(st.sampled_from(["", *STARTS]), st.text(string.ascii_letters + string.digits, min_size=1, max_size=TELLING - 1))
def test_a_few_letters_and_digits_alone_are_no_form(start, rest):
    raw = (start + rest)[:TELLING - 1].encode()
    assert find_forms(raw) + find_assignments(raw) + find_nearby(raw) + find_companions(raw) + find_logins(raw) == []


def test_words_of_notes_and_messages_do_not_look_like_the_beginning_of_a_key():
    "A text with more candidates than can be judged is kept back whole; so what stands in every agenda and every message may be none."
    for word in ("SCHEDULED: <2026-11-21 Sat>", "SUNDAY, SCANDAL", '(:ACTION :CALL :TOOL "org-find")', "ACCOUNT SKILLS", "from fastcore.test import test_eq", "test_add live_feed"):
        assert Scanner().find(f"{word}\n" * 3000) == []


TAIL = st.lists(st.sampled_from([VALUE[:7], VALUE[7:], "end", "", VALUE, "password: hunter22hunter", "notes " * 90]), max_size=3)


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(st.lists(TAIL, min_size=1, max_size=8))
def test_what_was_seen_before_changes_no_judgement(tails):
    "A scanner that remembers says of every text what one says that sees it for the first time, also twice and thrice."
    used = Scanner([Secret("T", VALUE.encode())])
    for tail in [*tails, *tails, *tails[::-1]]:
        text = "\n\n".join(["what the tools are " * 30, *tail])
        fresh = Scanner([Secret("T", VALUE.encode())])
        assert used.is_clean(text) == (not fresh.find(text))
        assert used.redact(text) == fresh.redact(text)
        assert all(head[-2:] == "\n\n" and last.startswith(head) for head, last in used._begun.values())


def test_what_a_gate_says_is_looked_through_and_its_silence_is_not():
    scanner = Scanner([Secret("TOKEN", b"tok-5Kd2-Zq81")])
    quiet, loud = ("policy", "allowed", "", 3.1), ("paths", "rejected", "There is no tok-5Kd2-Zq81.", 2.0)
    body = {"verdict": "rejected", "gates": GateRows([quiet, loud])}
    assert strings_in(body) == ["verdict", "rejected", "gates", "paths", "rejected", "There is no tok-5Kd2-Zq81."]
    assert [list(row) for row in scanner.cleaned(body)["gates"]] == [list(quiet), ["paths", "rejected", "There is no [secret:TOKEN].", 2.0]]
    silent = {"gates": GateRows([quiet])}
    assert scanner.cleaned(silent) is silent


@pytest.mark.parametrize("text, secret", [
    ('const apiKey = "oops"', "oops"), ("SECRET_KEY = 'weak'", "weak"), ('config.clientSecret = "secretHardcodedString"', "secretHardcodedString"), ('session({ secret: "my-hardcoded-secret" })', "my-hardcoded-secret"), ("create(:user, password: 'asdf')", "asdf"), ("password : cackle!", "cackle!")])
def test_a_plain_word_in_quotes_after_a_telling_name_is_a_secret(text, secret):
    assert secret not in Scanner().redact(text), text


@pytest.mark.parametrize("text", ["fetch(u, {credentials: 'include'})", "credentials: 'same-origin'", "credentials: 'omit'", "token = 'token'", "secret: 'client_secret'", 'userToken = "userAccessToken"'])
def test_a_plain_word_that_names_what_it_stands_for_is_none(text):
    assert not Scanner().find(text), text


CARRIED = "tok-5Kd2Zq81Lm4Xw9"


@pytest.mark.parametrize("more", [{CARRIED: None}, {CARRIED: ""}, {CARRIED: ()}, {CARRIED: {}}, {"a": {CARRIED: {"b": None}}}, {CARRIED[:9]: CARRIED[9:]}, {CARRIED[:9]: None, CARRIED[9:]: None}, {"a": [{CARRIED[:9]: {CARRIED[9:]: None}}]}, {CARRIED: {"x": 1}}],
                         ids=lambda more: str(more)[:40])
def test_the_names_of_columns_carry_no_secret_out(more):
    gate = secrets_gate(Scanner([Secret("TOKEN", CARRIED.encode())]))
    signal = Signal.of({"payload": {"sensor": "user-input", "text": "x"}, "meta": {"source": "cli"}})
    call = lambda **args: Action.of({"target": "tool", "payload": {"action": "call", "tool": "post", "args": args, "explanation": "It was asked for"}})
    assert isinstance(gate(call(more=more), signal), Rejected)
    assert gate(plain := call(more={"to": "Ana", "line-2": None, "what": ()}), signal) is plain


async def test_what_the_agent_drew_or_worked_out_itself_is_not_looked_through(tmp_path, monkeypatch):
    "Ids and digests of an edit look enough like keys to be looked at by every room, at every edit. Nobody else's text of that form is spared."
    from passepartout.redaction.secrets import Finder
    (tmp_path / "memex").mkdir()
    (tmp_path / "memex" / "inbox.org").write_text("* Inbox\n")
    agent, looked, find = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state"), [], Finder.find
    monkeypatch.setattr(Finder, "find", lambda self, text, shaped=True: looked.append(text) or find(self, text, shaped))
    try:
        await agent.handle("todo: call Ana")
        assert "call Ana" in str(looked) and not re.search(r"\b[0-9a-f]{64}\b", "\n".join(map(str, looked))), looked
        strange = hashlib.sha256(b"told by a note").hexdigest()
        await agent.handle(f"note: the word is {strange}")
        assert strange in "\n".join(map(str, looked))
    finally: await agent.close()


DIVIDED = {"the other way round": {"a": "-Zq81-vBn7", "b": "tok-5Kd2"}, "with words between": {"text": "It begins with tok-5Kd2- and goes on with Zq81-vBn7."}, "in a list": {"x": ["Zq81-vBn7", "and", "tok-5Kd2"]}, "with numbers": {"text": "1. tok-5Kd2\n2. Zq81-v\n3. Bn7x"}, "without its end": {"text": "tok-5Kd2-Zq81"}, "in capitals": {"b": "ZQ81VBN7", "a": "TOK5KD2"},
           "in an address": {"url": "https://example.org/?b=Zq81-vBn7&a=tok-5Kd2"}, "far apart": {"a": "tok-5Kd2-Z", "b": "x" * 500 + " and so on ", "c": "q81-vBn7"}}


@pytest.mark.parametrize("way", DIVIDED)
def test_a_known_value_in_pieces_is_asked_about(way):
    gate = secrets_gate(Scanner([Secret("TOKEN", b"tok-5Kd2-Zq81-vBn7")]))
    action = Action.of({"target": "tool", "payload": {"action": "call", "tool": "mail", "args": DIVIDED[way], "explanation": "You asked me to write that down."}})
    verdict = gate(action, Signal.of({"payload": {"sensor": "user-input", "text": "…"}, "meta": {"source": "cli"}}))
    assert isinstance(verdict, ApprovalRequired | Rejected) and "TOKEN" in (getattr(verdict, "reason", None) or verdict.text)


def test_words_that_a_known_value_has_too_are_not_asked_about():
    gate = secrets_gate(Scanner([Secret("A", b"development123"), Secret("B", b"correct-horse-battery-4"), Secret("C", b"sk-proj-2024-aB3dE5fG7hJ9")]))
    for text in ("The development of the house, number 123", "A horse is correct about the battery of 4", "sk-proj and 2024", "correct horse", "a short token: 7hJ9", "The sum was 2024, projected"):
        action = Action.of({"target": "tool", "payload": {"action": "call", "tool": "mail", "args": {"text": text}, "explanation": "You asked me to write that down."}})
        assert gate(action, Signal()) is action, text


def test_looking_for_pieces_is_quick_however_the_text_is_made():
    for value, bone in ((b"ab1" * 2000 + b"zz9" * 2000, b"ab1ab1c" * 30_000), (bytes(range(48, 58)) * 40, b"0123456789" * 25_000), (b"a1" * 32, b"a1" * 120_000)):
        began = time.process_time()
        in_pieces(value, bone)
        assert in_time(time.process_time() - began, 0.5)


class Told:
    "Something that is no text, and is shown as one."
    def __init__(self, text): self.text = text
    def __str__(self): return self.text


def test_what_is_no_text_is_left_as_it_is_unless_it_is_shown_with_a_secret():
    for value in (None, True, 7, 1.5, Told("nothing"), Path("a/b")):
        assert SCANNER.cleaned(["first", value])[1] is value and redact_each(SCANNER, [f"the {VALUE}", value])[1] is value
    for value in (Told(f"the {VALUE} of it"), Path(f"a/{VALUE}/b")):
        assert VALUE not in str(redact_each(SCANNER, [value, "x"])) and "[secret:T]" in str(redact_each(SCANNER, value))
    assert redact_each(SCANNER, {f"a {VALUE}": 1, "b": (VALUE, None)}) == {"a [secret:T]": 1, "b": ["[secret:T]", None]}


def test_of_two_values_under_one_name_each_goes_to_its_own_host_and_no_other():
    vault = Vault([Secret("A", b"value-one-11111", ("a.example",)), Secret("B", b"value-two-22222", ("b.example",)), Secret("A", b"value-three-333", ("b.example",))])
    assert [vault.filled("k={{secret:A}}", host) for host in ("a.example", "B.EXAMPLE.")] == ["k=value-one-11111", "k=value-three-333"]
    assert vault.filled("{{secret:B}} {{secret:A}}", "b.example") == "value-two-22222 value-three-333"
    for text, host, why in (("{{secret:B}}", "a.example", "not bound to a.example"), ("{{secret:A}}", "evil.a.example", "not bound"), ("{{secret:A}}", "a.example.evil", "not bound"), ("{{secret:C}}", "a.example", "no secret C"), ("{{secret:A}}", "", "not bound")):
        assert why in vault.refusal(text, host)
        with pytest.raises(PassepartoutError, match=why): vault.filled(text, host)


@pytest.mark.parametrize("indexed", [True, False])
async def test_no_piece_of_a_password_is_named_as_a_word_that_comes_close(tmp_path, indexed):
    "Asked for a word that is nowhere, a search names the nearest ones that are: not those that stand in a password only."
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "access.org").write_text("* Wifi\nThe wifi password: Zk8-qwTx-77Lp\n* Garden\nThe slate comes on Friday.\n")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("reflex",), **({} if indexed else {"journal": ":memory:"}))
    answers = [str(await agent.handle(f"find {word}")) for word in ("qwTy", "77Lq", "Zk9", "slatee")]
    assert not any(piece in answer.lower() for answer in answers[:3] for piece in ("qwtx", "77lp", "zk8")) and "Close to it: slate." in answers[3], answers
    await agent.close()


@pytest.mark.parametrize("indexed", [True, False])
async def test_a_search_of_the_notes_does_not_tell_what_is_in_a_key(tmp_path, indexed):
    memex, token = tmp_path / "memex", "ghp_" + "aB3dE5gH7jK9" * 3
    memex.mkdir()
    (memex / "access.org").write_text(f"* Wifi\nThe wifi password: Zk8-qwTx-77Lp\n* Forge\nThe token is {token} and expires.\n* Garden\nThe slate comes on Friday.\n")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("reflex",), **({} if indexed else {"journal": ":memory:"}))
    told = {word: str(await agent.handle(f"find {word}")) for word in ("Zk8", "qwTx", "77Lp", "ghp_aB3", "aB3dE5gH7", "ghp", "expires", "password", "slate")}
    assert ["access.org:" in answer for answer in told.values()] == [False] * 6 + [True] * 3, told
    (memex / "access.org").write_text("* Wifi\nThe old name: Zk8-qwTx-77Lp\n")
    assert "access.org:" in str(await agent.handle("find qwTx")), "it is none any more"
    await agent.close()


@pytest.mark.parametrize("many", [3, 1200, pytest.param(6000, marks=pytest.mark.slow)])
def test_of_very_many_keys_in_a_note_none_is_left_to_a_search_or_to_a_command(many):
    "The scanner gives up on a text with more keys than it looks through at once; as it stands, each of them could be guessed letter by letter."
    from passepartout.search import openly
    from passepartout.toolbelt.keyless import without_keys
    text = "".join(f"Bücher {n}: token ghp_{f'{n:05}Kd8Qm2' * 4:.36} höher\n" for n in range(many))
    searched, seen = openly(text), without_keys(text.encode())
    assert len(searched) == len(text) and searched.count("höher\n") == seen.count("höher\n") == many and "ghp_" not in searched + seen
    line = " ".join(f"ghp_{f'{n:05}Kd8Qm2' * 4:.36}" for n in range(1200))
    assert "ghp_" not in openly(f"bees\n{line}\nhoney") + without_keys(f"bees\n{line}\nhoney".encode()) and openly(f"bees\n{line}\nhoney").split() == ["bees", "honey"]


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(["ä", "€", "\udcff", "\n", "a", " ", f" ghp_{'Kd8Qm2Zx7Lp4' * 3} ", "password: hünter2ö\udcff", "-----BEGIN PRIVATE KEY-----\nMIIé\n-----END PRIVATE KEY-----"]), max_size=30).map("".join))
def test_keys_are_cut_out_of_whole_letters(text):
    "What is found in bytes that are no text can begin or end within a letter."
    from passepartout.toolbelt.keyless import masked, without_keys
    assert len(masked(text)) == len(text)
    said = without_keys(text.encode("utf-8", "surrogateescape"))
    assert "ghp_" not in said if said is not None else "ghp_" not in text


@pytest.mark.slow
def test_what_is_remembered_of_files_with_keys_has_an_end(tmp_path, opened_memex):
    from passepartout.confinement.resources import resolve
    from passepartout.toolbelt.keyless import MOST_KEPT, KeylessTexts
    memex, root = opened_memex
    (memex / "a.org").write_text(f"token ghp_{'Kd8Qm2Zx7Lp4' * 3}\n" + "word " * 190_000)
    looked = KeylessTexts()
    for n in range(40):
        os.utime(memex / "a.org", (n, n))
        with resolve([root], "a.org") as file: assert "ghp_" not in looked.of(file, [1_000_000])
    assert sum(len(text) for text in looked.found.values() if text) <= MOST_KEPT + 1_000_000 and looked.found


@pytest.mark.parametrize("where", ["* Token {}\nsome words\n", "* Words :{}:\n", "* Words\n:PROPERTIES:\n:ALIASES: {}\n:END:\n", "#+TITLE: {}\n* Words\n", "* TODO {}\n** Words\n", "* [[https://example.org][{}]] words\n"])
@pytest.mark.parametrize("indexed", [True, False])
def test_no_search_says_how_a_key_in_a_title_or_a_tag_begins(tmp_path, where, indexed):
    from passepartout.org import parse_org
    from passepartout.search import find
    key = "ghp_" + "aB3dE5gH7jK9" * 3
    text = where.format(key)
    if not indexed:
        found = lambda words: len(find([parse_org(text, "a.org")], words).hits)
    else:
        (tmp_path / "memex").mkdir()
        (tmp_path / "memex" / "a.org").write_text(text)
        async def asked(words):
            agent = await Agent.boot(**{f"{name}_dir": tmp_path / name for name in ("memex", "state", "cache", "config")}, today="2026-11-19")
            try: return str(await agent.handle(f"find {words}"))
            finally: await agent.close()
        found = lambda words: "section matches" in asyncio.run(asked(words)) or "sections match" in asyncio.run(asked(words))
    assert not any(map(found, (key[:5], key[:9], key))) and found("words")


async def test_the_index_knows_in_which_notes_no_key_stands(tmp_path):
    from passepartout.confinement.resources import resolve
    from passepartout.fitting import keyless
    memex = tmp_path / "memex"
    memex.mkdir()
    (memex / "bees.org").write_text("* Bees\n")
    (memex / "access.org").write_text(f"* Access\nghp_{'aB3dE5gH7jK9' * 3}\n")
    agent = await Agent.boot(**{f"{name}_dir": tmp_path / name for name in ("memex", "state", "cache", "config")})
    def known(name):
        with resolve(agent.roots, name) as file: return keyless(agent, file)
    assert not known("bees.org")
    await asyncio.sleep(0.1)
    agent.indexed()
    assert (known("bees.org"), known("access.org")) == (True, False)
    (memex / "bees.org").write_text(f"* Bees\nghp_{'aB3dE5gH7jK9' * 3}\n")
    assert not known("bees.org")
    await agent.close()


def test_what_one_process_looked_through_the_next_one_need_not(tmp_path, opened_memex):
    from passepartout.confinement.resources import resolve
    from passepartout.toolbelt.keyless import KeylessBook, KeylessTexts, NotLooked
    memex, root = opened_memex
    (memex / "log.txt").write_text("bees\n" * 100)
    def looked(edition=1, later=60.0): return KeylessTexts(book=KeylessBook(tmp_path / "cache" / "keyless.sqlite", edition, clock=lambda: time.time() + later))
    def knows(**how):
        one = looked(**how)
        try:
            with resolve([root], "log.txt") as file: return one.of(file, [0]) is None
        except NotLooked: return False
        finally: one.close()
    def look(**how):
        one = looked(**how)
        with resolve([root], "log.txt") as file: one.of(file, [1_000])
        one.keep()
        one.close()
    look(later=0.0)
    assert not knows()                                              # it may change again within the same tick of the clock
    look()
    assert knows() and not knows(edition=2)
    (memex / "log.txt").write_text("ghp_" + "aB3dE5gH7jK9" * 3 + "\n")
    assert not knows()
    look()
    assert not knows()                                              # of one with a key nothing is written down
    (tmp_path / "cache" / "keyless.sqlite").write_bytes(b"no database" * 1_000)
    (memex / "log.txt").write_text("bees\n" * 100)
    look()                                                          # it forgets, and does not fail
    assert not knows()
    os.unlink(tmp_path / "cache" / "keyless.sqlite")
    os.chmod(tmp_path / "cache", 0o777)
    look()
    assert not knows()                                              # others could have written there what they like


LONG_ROW, TOKEN = "lorem " * 20, "ghp_" + "Zq3LmN8vR2tY6wXb1KcD" * 2
IN_PARTS = {f"a line from sign {column} on": ("read-file", {"path": "a.org", "start": 2, "column": column}) for column in (125, 135, 150)} | {
    "one line of a certificate": ("read-file", {"path": "pem.org", "start": 5, "lines": 2}), "the end of a certificate": ("read-file", {"path": "pem.org", "start": 6}), "the line below the word": ("read-file", {"path": "b.org", "start": 4, "lines": 1}),
    "what stands around a word": ("org-find", {"query": "zebra"}), "around a word further on": ("org-find", {"query": "yak"}), "the line with a word": ("org-find", {"query": "okapi"}), "a passage": ("org-find", {"query": "okapi", "quote": 1}), "the passage of a title": ("org-find", {"query": "router", "quote": 1}),
    "one word or another": ("org-find", {"query": "ibis OR Horse"})}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("way", IN_PARTS)
async def test_who_is_shown_a_part_of_a_note_is_shown_no_part_of_a_key(tmp_path, way, indexed):
    "The rest of a key looks like nothing, nor does a password without the word before it."
    from passepartout.backends import register_backend
    from passepartout.plist import Keyword, write_plist
    memex = tmp_path / "memex"
    memex.mkdir()
    body = [base64.b64encode(hashlib.sha512(f"line {n}".encode()).digest()).decode()[:64] for n in range(6)]
    (memex / "a.org").write_text(f"* One\n{LONG_ROW}{TOKEN} aaaa bbbb cccc zebra and this goes on for long until a yak comes by {'dolor ' * 40}\n")
    (memex / "b.org").write_text("* Router\nibis\npassword:\n  correct-Horse9!battery okapi ibis\n")
    (memex / "pem.org").write_text("* Key\n-----BEGIN PRIVATE KEY-----\n" + "\n".join(body) + "\n-----END PRIVATE KEY-----\nend\n")
    agent = await Agent.boot(memex_dir=memex, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",), **({} if indexed else {"journal": ":memory:"}))
    tool, args = IN_PARTS[way]
    script, seen = [write_plist({"target": "tool", "payload": {"action": Keyword("call"), "tool": tool, "args": args, "explanation": "This is what you asked me to look up today"}})], []
    register_backend(agent, "model", lambda prompt, system: seen.append(prompt) or (script.pop(0) if script else "Done."), inline=True)
    reply = await agent.handle("look into that")
    told = seen[1].partition(" returned")[2]
    assert not reply.approvals and told and not any(piece in told for piece in (TOKEN[5:15], TOKEN[20:30], TOKEN[-8:], "Horse9", *(line[:20] for line in body), *(line[-20:] for line in body))), told
    assert "line 2" not in told.partition("b.org")[2] or way != "one word or another" or "line 2: ibis" in told
    await agent.close()


TABLES = [("| site | user | password |\n|------+------+----------|\n| bank | ada | {} |\n", "hunTer22!xY"), ("| site | user | password |\n|---|---|---|\n| bank | ada | {} |\n| shop | bob | x |\n", "sunshine"), ("site,user,password\nbank,ada,{}\n", "pl0ver#Kit"), ("Title;Benutzer;Passwort\nBüro;ada;{}\n", "größer9!Pferd"),
          ("name\turl\tpassword\nbank\thttps://b.example\t{}\n", "Zk8-qwTx-77Lp"), ("| Wifi | home |\n| Password | {} |\n", "Sommer2024!"), ("  | Konto | PIN |\n  |-------+-----|\n  | Giro | {} |\n", "4711"), ("site | password\n--- | ---\nbank | {}\n", "hunTer22!xY"), ('"url","username","password"\n"https://b.example","ada","{}"\n', "correct horse battery"),
          ("| host | API key |\n|------+---------|\n| forge | {} |\n", "q8ZtB2LxWp0RmK4y"), ("#+TBLNAME: a\n| User | Wifi password |\n|------\n| guest | {} |\nAnd on.\n", "Blau-Wal-77"), ("| password | site |\n| {} | bank |\n", "Zk8-qwTx-77Lp"), ("| site | password |\n" + "| shop | x |\n" * 300 + "| bank | {} |\n", "hunTer22!xY")]


@pytest.mark.parametrize("text, secret", TABLES)
def test_passwords_that_are_told_by_the_head_of_their_column(text, secret):
    said = Scanner().redact(text.format(secret))
    assert secret not in said and said.replace("[secret-shaped: password]", "{}").replace("[secret-shaped: secret]", "{}") == text, said


@pytest.mark.parametrize("text", ["| program | password | 2FA |\n|---+---+---|\n| a | required | yes |\n| b | optional | no |\n", "| field | type |\n| password | string |\n| token | string |\n", "| site | user | password |\n|--+--+--|\n| bank | ada | see the safe |\n| shop | ada | in KeePass |\n| mail | bob | same as bank |\n", "| key | meaning |\n| C-x b | buffer |\n",
    "He wanted a name, password, and more,\nthen he left, in June2025, for good,\n", "Email, password, token: all of that is needed.\nThe first two, Hunter2x, are in the book.\n", "| Pin | Signal |\n|---+---|\n| 4 | GND |\n| 12 | MISO |\n", "| PIN | City |\n| 560001 | Bengaluru |\n", "| site | password changed |\n| bank | 2026-10-01 |\n", "| secret | who knows |\n| the party | Ana |\n",
    "id,token,count\n1,the,20\n2,and,17\n", "NAMES = [\n  'auth_password',\n  'connect',\n  'ssh2_connect',\n  'x509_read',\n]\n", 'A = r"user|pass|pw|"\nB = r"md5_hash|sha2x|bcrypt9|"\n', "id\ttoken\tlemma\tpos\n1\tHouses\thouse\tNOUN\n2\tare\tbe\tAUX\n"])
def test_tables_in_which_no_password_stands_raise_no_alarm(text):
    assert not Scanner().find(text), Scanner().redact(text)


@pytest.mark.parametrize("before", [560, 571, 580, 588, 594])
async def test_what_was_said_before_is_cut_in_no_key(tmp_path, before):
    "The beginning of a key, cut where the room for an earlier message ends, looks like a word."
    from passepartout.backends import register_backend
    (tmp_path / "memex").mkdir()
    agent = await Agent.boot(memex_dir=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", today="2026-11-19", provider_cascade=("model",))
    seen = []
    register_backend(agent, "model", lambda prompt, system: seen.append(system + prompt) or "All right.", inline=True)
    for text in ("please keep in mind " + "w " * ((before - 20) // 2) + TOKEN + " ok " * 40, "and what did I say?"): await agent.handle(text)
    assert len(seen) == 2 and "keep in mind" in seen[1] and not any(TOKEN[:size] in text for text in seen for size in (6, 9)), seen[1][-300:]
    await agent.close()


@pytest.mark.parametrize("text, secret", [("** Wifi password\n{}\n", "blau-Wal-77"), ("* Passwort\n:PROPERTIES:\n:ID: 5f0b6c1e-8a39-4a0e-9d0c-2f6d8f0f3c11\n:END:\n{}\n", "sunshine77x"), ("# Passwords\n\n- bank: x\n- shop :: {}\n", "pl0ver#Kit"), ("- pw\n  - {}\n- other\n", "hunTer22!xY"), ("> password:\n> {}\n> and more\n", "Sommer2024!"),
    ("Passwords:\nbank {}\n", "hunTer22!xY"), ("* Router :home:\n** Passwörter                      :home:\n1. guests – {}\n", "größer9!Pferd"), ("## PIN\n{}\n", "4711"), ("* Passwords\n- [ ] mail: ~{}~\n", "Zk8-qwTx-77Lp")])
def test_passwords_below_a_heading_that_says_so(text, secret):
    said = Scanner().redact(text.format(secret))
    assert secret not in said and said.replace("[secret-shaped: password]", "{}").rstrip() == text.rstrip(), said


@pytest.mark.parametrize("text", ["* TODO Change the password\nSCHEDULED: <2026-11-20 Fri>\n:PROPERTIES:\n:ID: 5f0b6c1e-8a39-4a0e-9d0c-2f6d8f0f3c11\n:CREATED: [2026-11-01]\n:END:\nWith KeePassXC, before 2026-12-01.\n- where: safe.org\n- who: Ana\n", "# Passwords\nTwelve signs at least, and no birthdays.\n- length: 16\n- kept in: Bitwarden\n- site: https://example.org/a1\n",
    "- username\n- password\n- address2x\n- phone1\n", "fields:\n  - user1\n  - password\n  - street2\n", "* Pins\n- GND: 4\n- MISO: 12\n", "* PIN\nCall the bank: 0341-998877\n", "* Passwords\n* Bees 2026b\nhive-A1\n", "Password\nhive-A1\n", "passwords:\nsee the safe\n\ncommit 06332ac4d1f0b8e2a7c95d3f6b1e8a4c7d2f9b05\nhive A1b2c3d4\n", "* The pass\nheight 2100m\n"])
def test_headings_and_lists_below_which_no_password_stands_raise_no_alarm(text):
    assert not Scanner().find(text), Scanner().redact(text)


BODY = [base64.b64encode(hashlib.sha512(f"row {n}".encode()).digest()).decode()[:64] for n in range(16)]
MARGINS = {"a change": "diff --git a/k.org b/k.org\n@@ -1,6 +1,6 @@\n * Key\n -----BEGIN PRIVATE KEY-----\n" + "".join(f"-{row}\n" for row in BODY[:8]) + "".join(f"+{row}\n" for row in BODY[8:]) + " -----END PRIVATE KEY-----\n",
           "a change of a password": "@@ -2,3 +2,3 @@\n password:\n \n-  {0}old\n+  {0}new\n", "commits": "".join(f"^bb236cf (Ana Li 2026-12-01 03:45:29 +0000 {n:2}) {row}\n" for n, row in enumerate(("-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----"), 1)),
           "commits and a file": "52fb3652 a/b.org (Ana 2026-12-01 03:45:29 +0000 1) password:\n52fb3652 a/b.org (Ana 2026-12-01 03:45:29 +0000 2)   {0}\n", "words": "@@ -1 +1 @@\n-----BEGIN PRIVATE KEY-----\n" + "".join(f"[-{old}-]{{+{new}+}}\n" for old, new in zip(BODY[:8], BODY[8:])) + "-----END PRIVATE KEY-----\n",
           "a mail": "Ana wrote:\n> -----BEGIN PRIVATE KEY-----\n" + "".join(f"> {row}\n" for row in BODY) + "> -----END PRIVATE KEY-----\n", "a mail about a password": "Ana wrote:\n> > the password:\n> >   {0}\n"}


@pytest.mark.parametrize("way", MARGINS)
def test_no_margin_hides_a_key_of_several_lines(way):
    text = MARGINS[way].replace("{0}", "correct-Horse9!")
    said = Scanner().redact(text)
    assert "Horse9" not in said and not any(row[:24] in said or row[-24:] in said for row in BODY), said


@pytest.mark.parametrize("around", ["_{}_", "__{}__", "*{}*", "_{}_, neu", "see _{}_.", "_{} und mehr_"])
@pytest.mark.parametrize("key", ["AKIA4ZC2QK7MWLJ5RTVX", "ghp_iY96vwfRE5e32A8Yb3FKaNQyyLaMeffOhq4A", "glpat-f0jVd3k99XthCiDkKKrO", "sk_live_eNe3CJRk0r61NL8PKOIdbmwB", "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", "AIza4ro1EPr9KjqzFKfiXXPdBOLrnu9MymrCQ23"])
def test_a_key_that_is_set_apart_by_marks_is_found(around, key): assert key not in Scanner().redact("Notiz: " + around.format(key))
