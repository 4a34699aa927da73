"No machine behind us is reached, however its address is written, looked up or redirected to; and no answer costs more than it may"
import asyncio, contextlib, gzip, ipaddress, re, ssl, subprocess, shutil, threading, time, zlib

import pytest
from hypothesis import given, settings, strategies as st

from conftest import examples, thinned
from passepartout.net.addresses import AddressRefused, WebAddress, is_public, read_address
from passepartout.agent import Agent
from passepartout.redaction.secrets import Secret, Vault
from passepartout.settings import load_settings
from passepartout.tools import ToolContext, ToolError
from passepartout.net.pagetext import page_text
from passepartout.toolbelt.web import PageReader, web_tool
from passepartout.net import webclient
from passepartout.net.endpoints import HttpFailed
from passepartout.net.httpclient import Http
from passepartout.net.webclient import FetchLimits, Unpacker, WebFailed, get

PRIVATE = ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"]
PRIVATE6 = ["::/128", "::1/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001:db8::/32", "2002::/16", "2001::/32", "100::/64", "64:ff9b:1::/48"]


@st.composite
def private(draw):
    net = ipaddress.IPv4Network(draw(st.sampled_from(PRIVATE)))
    return net[draw(st.integers(0, net.num_addresses - 1))]


def spellings(ip: ipaddress.IPv4Address) -> list[str]:
    a, b, c, d = ip.packed
    n = int(ip)
    return [str(ip), f"{ip}.", str(n), hex(n), f"0{n:o}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{a}.{n & 0xFFFFFF}", f"{a}.{b}.{n & 0xFFFF}", f"{a:03d}.{b}.{c}.{d}", f"[::ffff:{ip}]", f"[::ffff:{n >> 16:x}:{n & 0xFFFF:x}]", f"[::{ip}]",
            f"[64:ff9b::{ip}]", f"[2002:{n >> 16:x}:{n & 0xFFFF:x}::]", f"[::ffff:0:{ip}]", f"[fe80::5efe:{ip}]", str(ip).translate({48 + i: 0xFF10 + i for i in range(10)}), str(ip).replace(".", "。"), str(ip).replace(".", "%2e"), f"user@{ip}", f"example.org@{ip}", f"{ip}%00.example.org"]


@settings(max_examples=examples(300), deadline=None)
@given(private(), st.sampled_from(["http", "https", "HTTP"]), st.sampled_from(["", ":80", ":8080"]), st.data())
def test_no_private_address_is_read_in_any_spelling(ip, scheme, port, data):
    for spelling in spellings(ip):
        with pytest.raises(AddressRefused): read_address(f"{scheme}://{spelling}{port}/")
    assert not is_public(ip)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(PRIVATE6), st.integers(0, 2**128))
def test_no_private_six_is_public(net, n):
    net = ipaddress.IPv6Network(net)
    ip = net[n % net.num_addresses]
    assert not is_public(ip)
    with pytest.raises(AddressRefused): read_address(f"http://[{ip}]/")
    with pytest.raises(AddressRefused): read_address(f"http://[{ip.exploded.upper()}]/")


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(st.one_of(st.text(max_size=80), st.text(st.sampled_from("htp:/@.%[]0x7f1aé。\\?#-_ \t\n"), max_size=40).map(lambda t: "http://" + t), st.from_regex(r"https?://[a-z0-9.\-]{1,30}(:\d{1,6})?(/\S*)?", fullmatch=True)))
def test_whatever_is_read_has_one_reading(text):
    try: address = read_address(text)
    except AddressRefused: return
    assert read_address(str(address)) == address and address.host.isascii() and str(address).isascii()
    import httpx
    assert httpx.URL(str(address)).host == address.host or address.number


# Servers ------------------------------------------------------------------------------------------------------------------

@contextlib.asynccontextmanager
async def serving(handler, tls=None):
    "A real server on loopback: (port, requests seen)."
    seen, tasks = [], set()
    async def handle(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            seen.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            await handler(writer, seen[-1])
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError): pass
        finally: writer.close()
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try: yield server.sockets[0].getsockname()[1], seen
    finally:
        server.close()
        for task in tasks: task.cancel()


def answering(status="200 OK", kind="text/plain", body=b"hello", **headers):
    async def handler(writer, request):
        more = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        writer.write(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}content-length: {len(body)}\r\n\r\n".encode() + body)
    return handler


def leading(*answers):
    "A resolver that gives one answer after the other, and the last one for ever."
    asked = []
    async def resolve(host, port):
        asked.append(host)
        return list(answers[min(len(asked), len(answers)) - 1])
    resolve.asked = asked
    return resolve


def site(port, host="site.example"): return WebAddress("http", host, port, "/a")
LOCAL = ["127.0.0.1"]


async def test_a_page_is_read_from_the_judged_number_and_nothing_else_goes_along(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"): monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving(answering(set_cookie="a=b")) as (port, seen):
        reader = PageReader(resolve=leading(LOCAL), permitted=frozenset({("127.0.0.1", port)}))
        for _ in range(2): where, answer = await reader.read(site(port))
    assert answer.text == "hello" and f"host: site.example:{port}" in seen[1].lower()
    assert not [line for line in seen[1].lower().splitlines() if line.startswith(("cookie", "authorization", "proxy"))]


@pytest.mark.parametrize("numbers", [LOCAL, ["93.184.215.14", "10.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["fe80::1"], ["100.64.1.1"], ["64:ff9b::7f00:1"], ["fe80::1%lo"]])
async def test_a_name_that_leads_inside_is_refused_before_anything_is_sent(numbers):
    async with serving(answering()) as (port, seen):
        with pytest.raises((AddressRefused, ValueError)): await PageReader(resolve=leading(numbers)).read(site(port))
    assert seen == []


async def test_rebinding_changes_nothing():
    "The first answer is judged, and is the one that is used; a second look-up that leads elsewhere is judged as well."
    async with serving(answering("302 Found", location="/b")) as (port, seen):
        resolve = leading(LOCAL, ["10.0.0.1"])
        with pytest.raises(AddressRefused, match="10.0.0.1"): await PageReader(resolve=resolve, permitted=frozenset({("127.0.0.1", port)})).read(site(port))
    assert len(seen) == 1 and resolve.asked == ["site.example", "site.example"]


@pytest.mark.parametrize("location", thinned(["http://127.0.0.1/", "http://[::1]/", "http://2130706433/", "http://localhost/", "//169.254.169.254/latest", "file:///etc/passwd", "http://other.example/", "http://site.example@10.0.0.1/", "ftp://site.example/", "http://[::ffff:10.0.0.1]/", "http:\\\\10.0.0.1\\"], 4))
async def test_a_redirect_inside_or_elsewhere_is_not_followed(location):
    async with serving(answering("302 Found", location=location)) as (port, seen):
        with pytest.raises((AddressRefused, WebFailed)): await PageReader(resolve=leading(LOCAL), permitted=frozenset({("127.0.0.1", port)})).read(site(port))
    assert len(seen) == 1


@pytest.mark.slow
async def test_redirects_end():
    async with serving(answering("302 Found", location="/again")) as (port, seen):
        with pytest.raises(WebFailed, match="redirected more than"): await PageReader(resolve=leading(LOCAL), permitted=frozenset({("127.0.0.1", port)})).read(site(port))
    assert len(seen) == 6


async def dripping(writer, request):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.02)

async def endless(writer, request):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()

async def slow_headers(writer, request):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for n in range(10_000):
        writer.write(f"x-{n}: y\r\n".encode())
        await writer.drain()
        await asyncio.sleep(0.02)

async def endless_headers(writer, request):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x-h: " + b"y" * 4000 + b"\r\n")
        await writer.drain()

async def garbage(writer, request): writer.write(b"\0\1\2 nonsense\r\n\r\n")
async def silence(writer, request): await asyncio.sleep(5)

BOMB = gzip.compress(b"\0" * 20_000_000)

@pytest.mark.parametrize("handler, message", [(dripping, "in time|within"), (endless, "too long"), (slow_headers, "in time|within"), (endless_headers, "could not be read"), (garbage, "could not be read"), (silence, "in time|within"),
    (answering(body=BOMB, content_encoding="gzip"), "too long"), (answering(body=zlib.compress(b"\0" * 20_000_000), content_encoding="deflate"), "too long"), (answering(body=b"junk", content_encoding="gzip"), "unpacked"),
    (answering(body=gzip.compress(b"hello " * 1000)[:-9], content_encoding="gzip"), "breaks off"), (answering(body=gzip.compress(b"hello") + BOMB, content_encoding="gzip"), "too long"), (answering(body=gzip.compress(b"hello") + gzip.compress(b"hello")[:-9], content_encoding="gzip"), "breaks off"),
    (answering(content_encoding="br"), "packed in a way"), (answering(content_encoding="gzip, gzip", body=gzip.compress(BOMB)), "packed in a way"), (answering(kind="image/png"), "not text"), (answering(kind="application/octet-stream"), "not text"), (answering(kind=""), "not text"), (answering(body=b"x" * 600_000), "too long")],
    ids=["dripping", "endless", "slow headers", "endless headers", "garbage", "silence", "gzip bomb", "deflate bomb", "broken gzip", "gzip that breaks off", "bomb behind a part", "part that breaks off", "brotli", "gzip twice", "picture", "octets", "no type", "long"])
async def test_no_answer_costs_more_than_it_may(handler, message):
    async with serving(handler) as (port, _):
        seconds = 0.4 if "in time" in message else 30          # on a busy machine, what is too long may also take that long
        with pytest.raises(WebFailed, match=message): await get(site(port), "127.0.0.1", limits=FetchLimits(seconds=seconds, received=500_000, unpacked=1_000_000))


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_all_parts_of_a_packed_answer_are_read_wherever_it_is_cut(step):
    data, found, unpacker = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two") + b"\0\0", b"", Unpacker("gzip", 7)
    for at in range(0, len(data), step): found += unpacker.feed(data[at:at + step])
    unpacker.finish()
    assert found == b"one two"
    Unpacker("gzip", 7).finish()                                # nothing at all is not packed


async def test_tiny_pieces_hold_up_nobody():
    class Flood:
        status_code, headers = 200, {"content-type": "text/plain"}
        async def aiter_raw(self):
            for _ in range(10_000): yield b"x"
    others, reading = 0, asyncio.ensure_future(webclient._answer(Flood(), FetchLimits()))
    while not reading.done(): others += 1; await asyncio.sleep(0)
    assert len(reading.result().body) == 10_000 and others >= 30


@pytest.fixture
def certified(tmp_path):
    "What a server shows that is `site.example`, and what trusts it."
    if not shutil.which("openssl"): pytest.skip("no openssl to make a certificate with")
    key, cert = tmp_path / "k", tmp_path / "c"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=site.example", "-addext", "subjectAltName=DNS:site.example"], check=True, capture_output=True, timeout=120)
    mine = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    mine.load_cert_chain(cert, key)
    return mine, ssl.create_default_context(cafile=str(cert))


@pytest.fixture
def longest(monkeypatch):
    "How many things the library read in one go at most, without anybody else having had a turn: `longest()`."
    import h11
    real, most, now = h11.Connection.next_event, 0, 0
    def counted(self):
        nonlocal most, now
        most, now = max(most, now := now + 1), now
        return real(self)
    monkeypatch.setattr(h11.Connection, "next_event", counted)
    def turn():
        nonlocal now
        now = 0
        asyncio.get_running_loop().call_soon(turn)
    def begin():
        turn()
        return lambda: most
    return begin


async def interim(writer, request):
    while True:
        writer.write(b"HTTP/1.1 100 \r\n\r\n" * 4096)
        await writer.drain()

async def some_interim(writer, request):
    writer.write(b"HTTP/1.1 100 \r\n\r\n" * 4096)
    await answering(kind="application/json", body=b"{}")(writer, request)

async def crumbs(writer, request):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 20_000 + b"2\r\n{}\r\n0\r\n\r\n")

async def crumbs_of_a_stream(writer, request):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\n:\r\n" * 20_000 + b"b\r\n\ndata: {}\n\n\r\n0\r\n\r\n")

HURRIES = {"interim": (interim, "does not end"), "some interim": (some_interim, ""), "crumbs": (crumbs, ""), "stream": (crumbs_of_a_stream, "")}


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("client", ["page", "model"])
@pytest.mark.parametrize("kind", HURRIES)
async def test_a_server_that_sends_thousands_of_things_at_once_holds_up_nobody(longest, certified, kind, client, tls):
    handler, refused = HURRIES[kind]
    async with serving(handler, certified[0] if tls else None) as (port, _), contextlib.AsyncExitStack() as end:
        http, scheme, trust = Http(certified[1]), "https" if tls else "http", certified[1]
        trust.check_hostname = False
        end.push_async_callback(http.close)
        told = longest()
        async def ask():
            if client == "page": return (await get(WebAddress(scheme, "site.example", port, "/"), "127.0.0.1", verify=trust)).text.strip()
            found = []
            await http.post(f"{scheme}://127.0.0.1:{port}/", {}, {}, lambda data: found.append(data))
            return str(found[0])
        if refused:
            with pytest.raises((WebFailed, HttpFailed), match=refused): await ask()
        else: assert (await ask())[-2:] == "{}"
        assert told() < 700


async def test_a_page_is_asked_for_beside_the_loop_as_far_as_that_takes_long(monkeypatch):
    import httpx
    made = []
    class Client(httpx.AsyncClient):
        def __init__(self, **more): made.append(threading.current_thread()); super().__init__(**more)
    monkeypatch.setattr(httpx, "AsyncClient", Client)
    async with serving(answering()) as (port, _): assert (await get(site(port), "127.0.0.1")).text == "hello"
    assert len(made) == 1 and made[0] is not threading.main_thread()


async def test_the_certificate_is_checked_against_the_name(certified):
    mine, trust = certified
    async with serving(answering(), mine) as (port, seen):
        assert (await get(WebAddress("https", "site.example", port, "/"), "127.0.0.1", verify=trust)).text == "hello"
        with pytest.raises(WebFailed, match="certificate"): await get(WebAddress("https", "other.example", port, "/"), "127.0.0.1", verify=trust)
        with pytest.raises(WebFailed, match="certificate"): await get(WebAddress("https", "site.example", port, "/"), "127.0.0.1")
    assert len(seen) == 1


async def test_a_secret_goes_to_its_host_and_not_along_a_redirect():
    vault = Vault([Secret("A", b"value-1234-xyz")], ["A@site.example"])
    async def handler(writer, request):
        if "/a " in request: await answering("302 Found", location="http://docs.example/b")(writer, request)
        else: await answering()(writer, request)
    async with serving(handler) as (port, seen):
        reader = PageReader(["docs.example"], vault, leading(LOCAL), permitted=frozenset({("127.0.0.1", port), ("127.0.0.1", 80), ("site.example", port)}))
        with pytest.raises(WebFailed): await reader.read(site(port), "Bearer {{secret:A}}")          # nobody listens on port 80: what counts is what the first one saw
        assert "authorization: bearer value-1234-xyz" in seen[0].lower()
        with pytest.raises(AddressRefused): await reader.read(site(port), "Bearer literal-value")
        with pytest.raises(Exception, match="not bound|https only"): await reader.read(site(port, "docs.example"), "Bearer {{secret:A}}")
    assert len(seen) == 1


async def test_the_tool_takes_nothing_but_what_the_gate_read():
    tool = web_tool(PageReader(resolve=leading(LOCAL)))
    for resources in ({}, {"url": "https://example.org/"}):
        with pytest.raises(ToolError): await tool.body("https://example.org/", context=ToolContext(resources))


@settings(max_examples=examples(100), deadline=None)
@given(st.text())
def test_any_page_gives_text(html):
    assert isinstance(page_text(html), str) and isinstance(page_text(html, "https://example.org/", 9), str)
    assert page_text(html.replace("href", "name"), "https://example.org/", 9) == page_text(html, "https://example.org/") == page_text(html)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(["<a ", "<a", "<", "</", "<!--", "<!-", "<![", "<?", "<!DOCTYPE x [", " b='", '"', "=", ">", "-->", "&", "&#9", "&#x" + "1" * 50, "<title>", "</title>", "<script>", "</script", "<p>", "\n", "x", "é"]), min_size=1, max_size=4))
def test_no_page_takes_longer_than_its_length_allows(pieces):
    "Also where one thing is begun a hundred thousand times and never ended: the parser of the library needed hours."
    began = time.process_time()
    page_text("".join(pieces) * (200_000 // len("".join(pieces))))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("charset", thinned(["punycode", "idna", "undefined", "unicode_escape", "zlib", "rot13", "utf-7", "x" * 5000, "no-such-thing"], 4))
async def test_no_encoding_that_a_server_names_holds_the_reader_up(charset):
    async with serving(answering(kind=f"text/plain; charset={charset}", body=b"hello" + b"a" * 300_000)) as (port, _):
        began = time.process_time()
        assert (await get(site(port), LOCAL[0])).text.startswith("hello")
        assert time.process_time() - began < 5


@pytest.mark.parametrize("charset, body", thinned([("latin1", b"caf\xe9"), ("Shift_JIS", "café".encode("utf-8")[:3]), ("windows-1252", b"caf\xe9"), ("UTF-8", "café".encode()), ("utf-16", "café".encode("utf-16"))], 2))
async def test_encodings_that_browsers_read_are_read(charset, body):
    async with serving(answering(kind=f"text/plain; charset={charset}", body=body)) as (port, _): assert (await get(site(port), LOCAL[0])).text.startswith("caf")


@pytest.mark.parametrize("url", ["http://[v7.a]/", "http://[v1.fe80::a]/", "http://site.example[2606:4700:4700::1111]/", "http://[2606:4700:4700::1111]site.example:81/", "http://[2606:4700:4700::1111]./", "http://[5f00::1]/", "http://[3fff::1]/", "http://[100:0:0:1::1]/", "http://[4000::1]/"])
def test_brackets_hold_a_public_number_and_nothing_stands_beside_them(url):
    with pytest.raises(AddressRefused): read_address(url)


# In the agent ---------------------------------------------------------------------------------------------------------------

async def booted(tmp_path, propose, **more):
    (tmp_path / "memex").mkdir(exist_ok=True)
    agent = await Agent.boot(memex=tmp_path / "memex", state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", config_dir=tmp_path / "config", journal=":memory:", provider_cascade=["model"], **more)
    agent.backends.register("model", propose)
    return agent


def fetching(url): return lambda prompt, system: f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "web-fetch" :ARGS (:URL "{url}") :EXPLANATION "You asked what the page says.")) ' if "failed" not in prompt and "returned" not in prompt else "done"


@pytest.mark.parametrize("url", ["http://127.0.0.1:22/", "http://169.254.169.254/", "http://localhost/", "file:///etc/passwd", "http://a@site.example/", "http://0x7f000001/"])
async def test_a_proposal_for_a_machine_of_ours_is_rejected(tmp_path, url):
    agent = await booted(tmp_path, fetching(url), allowed_hosts=["127.0.0.1", "localhost", "169.254.169.254"])
    assert (await agent.handle(f"read {url}")).status == "rejected"
    await agent.close()


async def test_a_host_that_nobody_allowed_asks_and_shows_what_leaves(tmp_path):
    agent = await booted(tmp_path, fetching("https://other.example/?q=my-diary"))
    reply = await agent.handle("what does https://other.example/?q=my-diary say?")
    assert reply.status == "requires-approval" and "other.example" in reply.approvals[0].reason and "/?q=my-diary" in reply.approvals[0].reason and not reply.effects
    await agent.close()


def reader_at(port):
    "A `PageReader` in which one thing differs: the port, which is that of a test's own server."
    class Here(PageReader):
        async def once(self, address, headers): return await PageReader.once(self, WebAddress(address.scheme, address.host, port, address.rest), headers)
    return Here


async def test_an_allowed_host_is_read_unasked_and_its_words_are_nobodys_orders(tmp_path):
    prompts = []
    async with serving(answering(body=b"the page says 42")) as (port, seen):
        def propose(prompt, system):
            prompts.append(prompt)
            return fetching("http://site.example/a")(prompt, system)
        agent = await booted(tmp_path, propose, allowed_hosts=["site.example"])
        agent.tools.register(web_tool(reader_at(port)(["site.example"], agent.vault, leading(LOCAL), permitted=frozenset({("127.0.0.1", port)}))))
        reply = await agent.handle("what does http://site.example/a say?")
        await agent.close()
    assert len(seen) == 1 and reply.effects and "the page says 42" in prompts[1], (reply, reply.status)


async def test_a_link_of_a_page_is_told_when_wanted_and_followed_as_any_address_in_somebody_elses_words(tmp_path):
    prompts, page = [], b"<p>See <a href='/b?c=1&amp;d=2'>the second part</a> and <a href='https://other.example/'>the other</a>.</p>"
    call = lambda url, more="": f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "web-fetch" :ARGS (:URL "{url}"{more}) :EXPLANATION "You asked what these pages say."))'
    said = iter([call("http://site.example/a"), call("http://site.example/a", " :LINKS 9"), call("https://other.example/")])
    async with serving(answering(kind="text/html", body=page)) as (port, seen):
        agent = await booted(tmp_path, lambda prompt, system: prompts.append(prompt) or next(said), allowed_hosts=["site.example"])
        agent.tools.register(web_tool(reader_at(port)(["site.example"], agent.vault, leading(LOCAL), permitted=frozenset({("127.0.0.1", port)}))))
        reply = await agent.handle("what does http://site.example/a say, and what stands behind it?")
        await agent.close()
    assert "See the second part and the other." in prompts[1] and "See the second part (http://site.example/b?c=1&d=2) and the other (https://other.example/)." in prompts[2]
    assert reply.status == "requires-approval" and "other.example" in reply.approvals[0].reason and len(seen) == 2


@pytest.mark.parametrize("page", ["".join(f"<p>Part {n} says little.</p>" for n in range(4000)), "<p>" + " ".join(f"Part {n} says little." for n in range(4000)), "<p>" + "".join(f"Part{n}." for n in range(9000))], ids=["paragraphs", "one line", "one word"])
async def test_a_long_page_is_read_on_as_told_and_odd_places_to_begin_are_answered(tmp_path, page):
    prompts = []
    def propose(prompt, system):
        prompts.append(prompt.rpartition("Tool web-fetch returned:\n")[2])
        on = re.search(r"\(cut off here, there was no room for more: read on with web-fetch and start (\d+)\.\)", prompts[-1])
        begin = {1: "-3", 2: "99999999999999999", 3: "0"}.get(len(prompts)) or on and on[1]
        if re.search(r"Part(?: 1500 |3000\.)", prompts[-1]) or not begin: return "Read."
        return f'(:TARGET :TOOL :PAYLOAD (:ACTION :CALL :TOOL "web-fetch" :ARGS (:URL "http://site.example/a" :START {begin}) :EXPLANATION "You asked what this page says."))'
    async with serving(answering(kind="text/html", body=page.encode())) as (port, seen):
        agent = await booted(tmp_path, propose, allowed_hosts=["site.example"])
        agent.tools.register(web_tool(reader_at(port)(["site.example"], agent.vault, leading(LOCAL), permitted=frozenset({("127.0.0.1", port)}))))
        reply = await agent.handle("what does http://site.example/a say?")
        await agent.close()
    assert reply == "Read." and prompts[1] == prompts[3] and "there is no line 99999999999999999." in prompts[2], (reply, prompts)
    assert prompts[1].startswith("http://site.example/a answered 200 (text/html):\nPart") and re.search(r"Part(?: 1500 |3000\.)", prompts[-1]) and len(prompts) > 4


def test_what_permits_loopback_cannot_be_set(tmp_path):
    found = load_settings(environ={"HOME": str(tmp_path), "PASSEPARTOUT_ALLOWED_HOSTS": "127.0.0.1, localhost"})
    assert not any("permitted" in name for name in found.__dataclass_fields__)
    reader = PageReader(found.allowed_hosts)
    assert reader.permitted == frozenset()
    with pytest.raises(AddressRefused): reader.onward(read_address("https://example.org/"), "https://127.0.0.1/")


RULES = """
[no deleting]
tool = web-fetch
url = http://site.example/admin/*
tier = {tier}
because = Nothing there is ever called.
matches = web-fetch url=http://site.example/admin/x
not = web-fetch url=http://site.example/go
"""


@pytest.mark.parametrize("tier, status, asked", [("deny", "failed", ["/go"]), ("ask", "failed", ["/go"]), ("allow", "answered", ["/go", "/admin/delete?all=1"])])
async def test_a_redirect_does_not_lead_past_the_rules_of_the_person(tmp_path, monkeypatch, tier, status, asked):
    """What was denied when it was proposed was fetched when a server redirected to it."""
    (tmp_path / "config/passepartout").mkdir(parents=True)
    (tmp_path / "config/passepartout/rules.ini").write_text(RULES.format(tier=tier))
    async def handler(writer, request):
        head = b"302 Found\r\nlocation: /admin/delete?all=1" if b"GET /go" in request.encode() else b"200 OK\r\ncontent-type: text/plain"
        writer.write(b"HTTP/1.1 " + head + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    async with serving(handler) as (port, seen):
        async def numbers(self, address): return ["127.0.0.1"]
        async def once(self, address, headers, real=PageReader.once): return await real(self, WebAddress(address.scheme, address.host, port, address.rest), headers)
        monkeypatch.setattr(PageReader, "numbers", numbers); monkeypatch.setattr(PageReader, "once", once)
        agent = await booted(tmp_path, fetching("http://site.example/go"), allowed_hosts=["site.example"], permissions={"web-fetch": "allow"})
        reply = await agent.handle("what does http://site.example/go say?")
        assert [request.split()[1] for request in seen] == asked and not reply.approvals
        await agent.close()
