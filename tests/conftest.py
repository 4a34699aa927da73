"""What holds for all tests.

Hypothesis looks for counterexamples in new places with every run, which is what one wants at home. In CI a run must mean the
same twice: there the examples are derived from the tests themselves, so that a change fails for what it did and for nothing else.
"""
import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("home", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")
