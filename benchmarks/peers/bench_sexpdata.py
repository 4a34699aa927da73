"""sexpdata: reading one message, and what it makes of 100,000 open parentheses."""
import textwrap
import time

from scenario import MESSAGE_PLIST, serve, time_call

import sexpdata


def message(seconds):
    return time_call(lambda: sexpdata.loads(MESSAGE_PLIST), seconds) | dict(bytes=len(MESSAGE_PLIST.encode()))


def parentheses(depth=100_000):
    start = time.perf_counter()
    try:
        sexpdata.loads("(" * depth)
        what = "accepted"
    except Exception as error:
        what = textwrap.shorten(f"{type(error).__name__}: {error}", 70, placeholder=" …")
    return dict(us=(time.perf_counter() - start) * 1e6, what=what)


serve({"reader": message, "parentheses": parentheses})
