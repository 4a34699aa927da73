"What both benchmarks on AgentDojo do at their end: read the command line, and run in an environment that has the package."
import argparse
import asyncio
import importlib.util
import subprocess
import sys
import tempfile

import environments


def arguments(doc, show, tasks=""):
    "The options of the command line. `show`, `tasks`: what these options do; without a text for it there is no `--tasks`."
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", help="only this one: workspace, travel, banking or slack")
    if tasks: parser.add_argument("--tasks", action="store_true", help=tasks)
    parser.add_argument("--show", action="store_true", help=show)
    return parser.parse_args()


def has_agentdojo():
    "Is the package here, and not only the benchmark of its name?"
    try: return importlib.util.find_spec("agentdojo.task_suite") is not None
    except ModuleNotFoundError: return False


def launch(main, options, file):
    "Run `main(options)` here, or `file` in the environment that has the package."
    if not has_agentdojo(): sys.exit(subprocess.run([str(environments.agentdojo()), file, *sys.argv[1:]], cwd=tempfile.gettempdir()).returncode)
    asyncio.run(main(options))
