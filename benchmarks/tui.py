"""How long a key takes to the screen while an answer streams into the window: the real window, the real agent, a real terminal.

    python benchmarks/tui.py [--keys 200] [--size 80x24] [--daemon]

A server on this machine sends an answer in small pieces for as long as the measurement lasts. The window runs behind a pty. A letter is
written to the pty; measured is the time until it stands in what the window writes back, after which the next one waits a little. So the time
holds everything: reading the key, the editor, drawing, and whatever the agent's thread was doing at that moment. The goal is 30 ms.
"""
import argparse
import fcntl
import json
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Model(BaseHTTPRequestHandler):
    "An answer that goes on and on, a piece every 15 ms."
    def log_message(self, *given): pass

    def do_GET(self): self.whole(json.dumps({"data": [{"id": "m"}]}).encode())

    def whole(self, data):
        self.send_response(200); self.send_header("content-type", "application/json"); self.send_header("content-length", str(len(data))); self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("content-type", "text/event-stream"); self.send_header("connection", "close"); self.end_headers()
        text = json.dumps({"proposal": {"action": "message", "text": " ".join(f"word{n % 90}" for n in range(20_000))}})
        try:
            for at in range(0, len(text), 8):
                self.wfile.write(b"data: " + json.dumps({"choices": [{"delta": {"content": text[at:at + 8]}, "finish_reason": None}]}).encode() + b"\n\n"); self.wfile.flush()
                time.sleep(0.015)
        except OSError: pass


class Window:
    "The program behind a pty."
    def __init__(self, folder, url, size, daemon):
        columns, rows = size
        (folder / "notes").mkdir()
        for n in range(20): (folder / "notes" / f"note{n}.org").write_text("".join(f"* TODO Task {n} {m}\nSome words about it.\n" for m in range(50)))
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder / "s"), "XDG_CONFIG_HOME": str(folder / "c"), "XDG_CACHE_HOME": str(folder / "k"), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
               "PROVIDER_CASCADE": "near", "PASSEPARTOUT_PROVIDER_URLS": f"near={url}", "PASSEPARTOUT_PROVIDER_MODELS": "near=m"}
        self.daemon = subprocess.Popen([sys.executable, "-m", "passepartout", "daemon", "--memex", str(folder / "notes")], env=env, stderr=subprocess.DEVNULL) if daemon else None
        if daemon: time.sleep(4)
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([sys.executable, "-m", "passepartout", "tui", "--memex", str(folder / "notes")], stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
        os.close(theirs)
        self.got = b""

    def read(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]: self.got += os.read(self.ours, 1 << 16)

    def until(self, words, seconds=60):
        end = time.monotonic() + seconds
        while words.encode() not in self.got:
            self.read(0.05)
            if time.monotonic() > end: raise SystemExit(f"{words!r} did not come")
        self.got = b""

    def key(self, letter):
        "Milliseconds from a letter to its place on the screen."
        while select.select([self.ours], [], [], 0)[0]: self.read(0)
        self.got, begun = b"", time.perf_counter()
        os.write(self.ours, letter.encode())
        plain = lambda: re.sub(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]", b"", self.got)
        while letter.encode() not in plain():
            self.read(1.0)
            if time.perf_counter() - begun > 5: raise SystemExit("a key was never shown")
        return (time.perf_counter() - begun) * 1000

    def close(self):
        self.process.kill(); self.process.wait()
        if self.daemon: self.daemon.terminate(); self.daemon.wait()


def measured(keys, size, daemon):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        window = Window(Path(folder), f"http://127.0.0.1:{server.server_port}", size, daemon)
        try:
            window.until("daemon" if daemon else "alone")
            os.write(window.ours, b"go on\r")
            window.until("word7")
            times = []
            for n in range(keys):
                times.append(window.key("ZQXJ"[n % 4]))          # letters that the answer does not have
                if n % 40 == 39: os.write(window.ours, b"\x15"); time.sleep(0.3)
                until = time.perf_counter() + 0.037
                while (left := until - time.perf_counter()) > 0: window.read(left)
            return times
        finally: window.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=200); parser.add_argument("--size", default="80x24"); parser.add_argument("--daemon", action="store_true")
    given = parser.parse_args()
    times = sorted(measured(given.keys, tuple(map(int, given.size.split("x"))), given.daemon))
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))]
    print(f"key to screen while an answer streams, {given.size}, {'with a daemon' if given.daemon else 'alone'}, {len(times)} keys: median {statistics.median(times):.1f} ms, 95 % {at(0.95):.1f} ms, 99 % {at(0.99):.1f} ms, most {times[-1]:.1f} ms (goal 30)")


if __name__ == "__main__": main()
