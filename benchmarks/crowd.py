"""Many clients at one daemon: how long they wait beyond the model, what it costs, and whether anything is lost.

    python benchmarks/crowd.py                        200 clients, 20 turns a second, 5 minutes, a model of 20 ms
    python benchmarks/crowd.py --seconds 20           a short one
    python benchmarks/crowd.py --kill 10              kill -9 in the middle, and start it again
    python benchmarks/crowd.py --deaf 3               three more clients that ask and never read
    python benchmarks/crowd.py --idle 60              no clients: processor and memory of a daemon that nobody asks

The daemon is a process of its own, started by the command that people use; the model is a small HTTP server here that waits
before it answers. Every client has a session of its own. Waiting beyond the model is the time from sending a frame to having read
the answer, less the model's pause. Nothing lost: each question that was sent got its own answer, and the journal holds each of
those. With --kill, questions without an answer are counted; those with one must all be in the journal.
"""
import argparse, asyncio, json, os, random, signal, subprocess, sys, tempfile, time
from pathlib import Path

from passepartout.journal import Journal
from passepartout.protocol import frame_message, read_framed_message
from passepartout.settings import load_settings
from passepartout.serving.sockets import connect_to, socket_path

PAUSE = 0.02


async def answer(reader, writer):
    "One connection of the model server: OpenAI's form, always the same answer after a pause."
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next((int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:")), 0)
            asked = json.loads(await reader.readexactly(length) or b"{}")
            await asyncio.sleep(PAUSE)
            words = str((asked.get("messages") or [{}])[-1].get("content"))[-40:]
            body = json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"You said: {words}"}}],
                               "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError): pass
    finally: writer.close()


class House:
    "A memex, a model, and the daemon on them."
    def __init__(self, folder: Path, port: int):
        self.memex, self.folder = folder / "notes", folder
        self.memex.mkdir(parents=True)
        (self.memex / "inbox.org").write_text("".join(f"* Note {n}\nSome words about it.\n" for n in range(200)))
        self.environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"),
                        "PROVIDER_CASCADE": "local", "PASSEPARTOUT_PROVIDER_URLS": f"local=http://127.0.0.1:{port}/v1", "PASSEPARTOUT_PROVIDER_MODELS": "local=m", "PASSEPARTOUT_STREAM_ANSWERS": "no"}
        self.settings = load_settings({"memex_dir": self.memex}, environ=self.environ)
        self.log, self.process = open(folder / "daemon.log", "w"), None

    async def start(self):
        self.process = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon", "--memex", str(self.memex)], env=self.environ, stderr=self.log)
        began = time.monotonic()
        while time.monotonic() - began < 30:
            if (opened := connect_to(socket_path(self.settings))) is not None: return opened.close()
            if self.process.poll() is not None: raise SystemExit((self.folder / "daemon.log").read_text())
            await asyncio.sleep(0.01)
        raise SystemExit("The daemon did not start.")

    def use(self):
        "Processor seconds and resident megabytes of the daemon."
        found = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK"), int(found[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    async def connect(self):
        while (opened := connect_to(socket_path(self.settings))) is None: await asyncio.sleep(0.05)
        reader, writer = await asyncio.open_connection(sock=opened)
        await read_framed_message(reader)
        return reader, writer

    def stop(self):
        self.process.terminate()
        try: return self.process.wait(10)
        except subprocess.TimeoutExpired: self.process.kill()


class Tally:
    def __init__(self): self.waits, self.answered, self.sent, self.wrong = [], [], 0, 0


async def client(house, number, every, ends, tally, seed):
    "One client: a question now and then, until the end; connects again when the daemon died."
    dice, connection, count = random.Random(seed * 1000 + number), None, 0
    await asyncio.sleep(dice.random() * every)
    while time.monotonic() < ends:
        try:
            if connection is None: connection = await house.connect()
            count, came, words = count + 1, time.monotonic(), f"client {number} asks {count + 1}"
            connection[1].write(frame_message({"type": "EVENT", "payload": {"sensor": "user-input", "text": words, "session": f"s{number}", "request": count}}))
            tally.sent += 1
            told = await asyncio.wait_for(read_framed_message(connection[0]), 30)
            if told is None: raise ConnectionError
            told = told["payload"]
            tally.waits.append(time.monotonic() - came - PAUSE)
            if told.get("status") == "answered" and words in told["text"] and told["request"] == count: tally.answered.append(told["turn"])
            else: tally.wrong += 1
        except (ConnectionError, TimeoutError): connection = None
        await asyncio.sleep(min(dice.expovariate(1 / every), max(0.0, ends - time.monotonic())))
    if connection: connection[1].close()


async def deaf(house, number):
    "Asks and asks, and never reads an answer; begins again when it is thrown out."
    while True:
        reader, writer = await house.connect()
        writer.transport.pause_reading()
        try:
            for n in range(100_000):
                writer.write(frame_message({"type": "EVENT", "payload": {"action": "metrics", "session": f"deaf{number}", "request": n}}))
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError: await asyncio.sleep(0.2)


async def run(options) -> dict:
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
        house, tally, memory = House(Path(folder), server.sockets[0].getsockname()[1]), Tally(), []
        await house.start()
        if options.idle:
            await asyncio.sleep(5)
            before, began = house.use()[0], time.monotonic()
            await asyncio.sleep(options.idle)
            told = {"idle_percent_of_a_core": round(100 * (house.use()[0] - before) / (time.monotonic() - began), 3), "resident_mb": round(house.use()[1], 1)}
            house.stop()
            return told
        ends = time.monotonic() + options.seconds
        every = options.clients / options.rate
        clients = [asyncio.create_task(client(house, n, every, ends, tally, options.seed)) for n in range(options.clients)]
        pests = [asyncio.create_task(deaf(house, n)) for n in range(options.deaf)]
        killed, began = 0, time.monotonic()
        while time.monotonic() < ends:
            await asyncio.sleep(min(2.0, max(0.05, ends - time.monotonic())))
            memory.append(house.use()[1])
            if options.kill and not killed and tally.answered and time.monotonic() - began > options.kill:     # a death before the first answer shows nothing
                house.process.send_signal(signal.SIGKILL)
                house.process.wait()
                killed = len(tally.answered)
                await house.start()
        await asyncio.gather(*clients)
        for each in pests: each.cancel()
        processor = house.use()[0]
        code = house.stop()
        journal = Journal.look(house.settings.journal_dir / "journal.sqlite")
        recorded = {r["turn"] for r in journal.records(kinds=["answer"])}
        verdict = journal.verify(whole=True)
        journal.close()
        server.close()
        waits = sorted(tally.waits) or [0.0]
        at = lambda share: round(1000 * waits[min(len(waits) - 1, int(share * len(waits)))], 1)
        return {"clients": options.clients, "seconds": options.seconds, "sent": tally.sent, "answered": len(tally.answered), "wrong": tally.wrong, "unanswered": tally.sent - len(tally.waits),
                "answered_and_not_in_the_journal": len(set(tally.answered) - recorded), "chain_holds": verdict.ok, "exit_code": code, "killed_after": killed or None,
                "beyond_the_model_ms": {"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "most": round(1000 * waits[-1], 1)}, "percent_of_a_core": round(100 * processor / options.seconds, 1),
                "resident_mb": {"first": round(memory[0], 1), "after_a_tenth": round(memory[len(memory) // 10], 1), "last": round(memory[-1], 1), "most": round(max(memory), 1)}}


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind, default in (("clients", int, 200), ("rate", float, 20.0), ("seconds", float, 300.0), ("kill", float, 0.0), ("deaf", int, 0), ("idle", float, 0.0), ("seed", int, 1)):
        ask.add_argument(f"--{name}", type=kind, default=default)
    print(json.dumps(asyncio.run(run(ask.parse_args())), indent=1))


if __name__ == "__main__": main()
