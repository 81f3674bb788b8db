"""The same few examples in every run, so that a failure is about the code and the suite is fast.

``--hypothesis-profile=explore`` tries many new examples; use it after changes to what properties are about.

How long an example takes says something about the machine and is no reason to fail.
"""

from __future__ import annotations

import gc
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests import registration_support

registration_support.install()

# Rewriting the assertions of all test modules takes half of the collection; later runs read the result.
writes_bytecode, sys.dont_write_bytecode = not sys.dont_write_bytecode, False

any_duration = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", any_duration, derandomize=True, max_examples=50)
settings.register_profile("explore", any_duration, max_examples=1_000)
settings.load_profile("repeatable")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let garbage collections look at what tests make, and not at the modules and thousands of tests: these stay."""
    sys.dont_write_bytecode = not writes_bytecode
    gc.collect()
    gc.freeze()
