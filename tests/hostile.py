"""Texts made to be slow, for every gate: `python tests/hostile.py [SEED]` prints the slowest of each in milliseconds.

A unit is repeated up to a size, perhaps inside something that opens and never closes; the units are those that parsers, expressions and
comparisons are known to stumble over. The seed decides which are combined.
"""
import asyncio, random, sys, tempfile, time
from pathlib import Path

UNITS = ["a", " ", "0", "a1", "aA1 ", "a|", "a;", "a&&", "(", ")", "$(", "`", "{a,b}", "{", "[", "[a-z]", "[[ a ", "*/", "?*", "../", "./", "//", "~/", "'", '"', "a'b'", "\\", "\\\n", "\n", "\t", "<<A\n", "<(", ">a ", "2>&1 ", "a=(", "a=b ", "$a", "${a", "x=$x ",
         "for x in a; do ", "if a; then ", "bash -c 'x ", "rm x ", "-o x ", "--x=y ", "print>", "s/a/b/;", "key=1 ", "token=Aa1", "password: ", "pw ", "secret is ", "api_key: 'q8ZtB2LxWp0RmK4y'\n", "://a:b", "://a:b@c ", "://a@", "eyJhbGciOiJ9.eyJ", "-----BEGIN PRIVATE KEY-----",
         "AKIA", "ghp_", "sk-", "AZDO", "%41", "%25", "\\u0041", "&#x41;", "key 0123456789abcdef ", "0123456789abcdef", "a0b1c2d3e4f5g6h7", " -u a:b", "login a password ", "mysql -p", "http://a/", "http://a.b@", "xn--a.", "%2e%2e/", "::", "1.", "1,", "1'", "monday ", "2026-11-22 ", "é", "ß", "ﷺ", "\u0301", "日", "😀", "\u202e", "\xa0"]
SIZES = (2_000, 16_000, 250_000)


def texts(seed: int, count: int, sizes=SIZES):
    "`count` hostile texts, the same ones for the same seed."
    made = random.Random(seed)
    for unit in UNITS:
        for size in sizes: yield (unit * (size // len(unit) + 1))[:size]
    for _ in range(count):
        parts = [made.choice(UNITS) for _ in range(made.randint(1, 4))]
        body = "".join(part * made.choice((1, 1, 2, 30)) for part in parts)
        size = made.choice(sizes)
        yield (made.choice(("", "ls ", "echo '", 'grep "', "cat <<X\n")) + body * (size // len(body) + 1))[:size]


def actions(text: str):
    "Actions of every kind with `text` where it hurts."
    call = lambda tool, **args: {"target": "tool", "payload": {"action": "call", "tool": tool, "args": args, "explanation": "Looking for the open tasks in the notes"}}
    yield "command", call("shell", command=text)
    yield "path", call("read-file", path=text)
    yield "address", call("web-fetch", url=f"http://{text}" if "://" not in text[:12] else text)
    yield "text", call("org-capture", text=text)
    yield "explanation", {"target": "tool", "payload": {"action": "call", "tool": "list-files", "args": {}, "explanation": text}}
    yield "message", {"target": "somebody", "payload": {"action": "message", "text": text}}
    yield "tool name", call(text)


def judged(agent, said: str, seed: int, count: int, sizes=SIZES):
    "(kind, gate, milliseconds, text, what a gate said) for every gate on every action; `said` is what the person wrote."
    from passepartout.messages import PERSON, Signal
    from passepartout.verify import judge
    for text in texts(seed, count, sizes):
        for kind, proposal in actions(text):
            signal = Signal(payload={"sensor": "user-input", "text": said or text}, meta={"source": "cli", "session": "main"}, label=PERSON)
            begun = time.perf_counter()
            judgement = judge(agent, proposal, signal)
            took = (time.perf_counter() - begun) * 1000
            judgement.close()
            for gate, verdict, why, micros in judgement.trace: yield kind, gate, micros / 1000, text, f"{verdict} {why}"
            yield kind, "all", took, text, ""


async def main(seed: int, count: int) -> None:
    from passepartout.agent import Agent
    memex, worst = Path(tempfile.mkdtemp()), {}
    (memex / "inbox.org").write_text("* Note\n")
    agent = await Agent.boot(memex_dir=memex, journal=":memory:")
    for said in ("look for the open tasks", ""):
        for kind, gate, took, text, why in judged(agent, said, seed, count):
            if took > worst.get((gate, kind), (0,))[0]: worst[gate, kind] = took, len(text), text[:40], why[:60]
    await agent.close()
    for (gate, kind), found in sorted(worst.items(), key=lambda each: -each[1][0])[:40]: print(f"{found[0]:8.1f} ms  {gate:12} {kind:12} {found[1]:8,} {found[2]!r} {found[3]}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 100))
