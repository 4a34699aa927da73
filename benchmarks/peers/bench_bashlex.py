"""bashlex: parsing one command. It judges nothing."""
from scenario import COMMAND, serve, time_call

import bashlex


def command(seconds):
    return time_call(lambda: bashlex.parse(COMMAND), seconds)


serve({"command": command})
