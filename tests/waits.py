"""Waits for other processes that come to an end: what is awaited in vain fails with a sentence that says what it was, and what the process had said.

A wait without an end stops the whole suite, and nobody learns which test it was. `PATIENCE` is long, because only what never comes takes so long; a busy machine is late, not wrong."""
import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from weakref import WeakKeyDictionary

PATIENCE = 120.0
# A program that takes the terminal at its standard input as its own, and becomes what the arguments say. (No `preexec_fn`: between fork and exec of a process with threads no Python may run.)
ON_TERMINAL = (sys.executable, "-c", "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])")


class Heard:
    "What a stream says, read in a thread from now on, so that its process never waits because a pipe is full."
    def __init__(self, stream):
        self.stream, self.end, self.lines, self.taken, self.over, self.news = stream, stream.read(0), [], 0, False, threading.Condition(threading.RLock())
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            for line in iter(self.stream.readline, self.end):
                with self.news: self.lines.append(line); self.news.notify_all()
        except (OSError, ValueError): pass                                       # it was closed here
        finally:
            with self.news: self.over = True; self.news.notify_all()

    def line(self, until):
        "The next line; empty at the end; `None` when there was none until then."
        with self.news:
            self.news.wait_for(lambda: len(self.lines) > self.taken or self.over, max(0.0, until - time.monotonic()))
            if len(self.lines) > self.taken: self.taken += 1; return self.lines[self.taken - 1]
            return self.end if self.over else None

    def text(self):
        "All that was said so far."
        with self.news: return "".join(line if isinstance(line, str) else line.decode(errors="replace") for line in self.lines)


    def all(self, seconds):
        "All that is said until the end of the stream."
        with self.news: assert self.news.wait_for(lambda: self.over, seconds), f"After {seconds:g} seconds there was no end to what a process says:\n{self.text()[-3000:]}"
        return self.text()


_HEARD: WeakKeyDictionary = WeakKeyDictionary()

def heard(stream):
    "What is heard of a stream. From the first call on nobody else may read it."
    if stream not in _HEARD: _HEARD[stream] = Heard(stream)
    return _HEARD[stream]


def in_time(took, seconds):
    """Are `took` seconds of processor time less than so many `seconds` of a quick machine, put into those of this one as it is just now? For what must not get out of all proportion, and take a hundred times as long.

    A million additions take a quick one 50 ms. The same machine is three times slower while others use it, and what a bound in plain seconds measures then is who else is at work."""
    def lap(n=0):
        began = time.process_time()
        while n < 200_000: n += 1
        return time.process_time() - began
    return took < seconds or took < seconds * max(lap() for _ in range(3)) / 0.01


def stuck_in(pid):
    "What the threads of a process wait for, as far as the kernel tells: `futex` is a lock, `pipe_read` somebody's words, `do_wait` a child, `locks_lock` a file."
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        try: found.append((task / "wchan").read_text().strip("0 ") or (task / "stat").read_text().rpartition(")")[2].split()[0])
        except OSError: continue
    return ", ".join(found) or "nothing that could be seen"


def in_vain(process, awaited, seconds):
    "Kill a process that did not do what was awaited; the error that says so."
    state = process.poll()
    state = f"still ran after {seconds:g} seconds (its threads: {stuck_in(process.pid)}), and was killed" if state is None else f"had ended with {state}"
    if process.poll() is None: process.kill()
    said = ""
    for each in filter(None, (process.stdout, process.stderr)):
        with (found := heard(each)).news: found.news.wait_for(lambda: found.over, 5.0)
        said += found.text()[-3000:]
    return AssertionError(f"{awaited} was awaited in vain of {' '.join(map(str, process.args))[:300]}, which {state}. It had said:\n{said or 'nothing'}")


def next_line(process, stream=None, seconds=PATIENCE):
    "The next line that a process says; empty when it has ended."
    stream = stream or process.stdout
    if (line := heard(stream).line(time.monotonic() + seconds)) is None: raise in_vain(process, "A line", seconds)
    return line


def says(process, words, stream=None, seconds=PATIENCE):
    "The first line, from the one after the last on, that holds `words`. A process that ends without it is an error."
    stream, end = stream or process.stderr, time.monotonic() + seconds
    while line := heard(stream).line(end):
        if words in line: return line
    raise in_vain(process, f"A line with {words!r}", seconds)


def ended(process, given=None, seconds=PATIENCE):
    "(what a process says on standard output, what on standard error) until it ends."
    try: return process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        stuck = stuck_in(process.pid)
        process.kill()
        raise AssertionError(f"The end of {' '.join(map(str, process.args))[:300]} was awaited in vain for {seconds:g} seconds (its threads: {stuck}), and it was killed. It had said:\n{(error.output or b'')[-3000:]!r}\n{(error.stderr or b'')[-3000:]!r}") from None


def status(process, seconds=PATIENCE):
    "The exit status of a process that ends by itself, or of a signal that it was sent."
    try: return process.wait(seconds)
    except subprocess.TimeoutExpired: raise in_vain(process, "The end", seconds) from None


def away(*processes):
    "Kill these processes, those that were only stopped as well, and let go of their pipes."
    for each in processes:
        if each.poll() is None: each.kill()
    for each in processes:
        each.wait(PATIENCE)
        for stream in (each.stdin, each.stdout, each.stderr):
            if stream is None: continue
            if stream in _HEARD:                                            # a grandchild may hold the other end: then it is left to the one who listens
                with (found := _HEARD[stream]).news: found.news.wait_for(lambda: found.over, 10.0)
                if not found.over: continue
            try: stream.close()
            except OSError: pass                                            # nobody was there to take what was not sent yet


async def until(done, awaited, seconds=PATIENCE):
    "Wait until `done()`, in an event loop."
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"{awaited} was awaited in vain for {seconds:g} seconds"
        await asyncio.sleep(0.01)


def wait_for(done, awaited, seconds=PATIENCE):
    "The same, in a thread of its own."
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"{awaited} was awaited in vain for {seconds:g} seconds"
        time.sleep(0.005)


def exit_code(pid, seconds=PATIENCE):
    "The exit code of a child that is known by its number only; it is killed when it does not end."
    end = time.monotonic() + seconds
    while True:
        if (found := os.waitpid(pid, os.WNOHANG))[0]: return os.waitstatus_to_exitcode(found[1])
        if time.monotonic() > end:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            raise AssertionError(f"The end of process {pid} was awaited in vain for {seconds:g} seconds, and it was killed.")
        time.sleep(0.005)
