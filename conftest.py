"""The same few examples in every run, so that a failure is about the code and the suite is fast.

``--hypothesis-profile=explore`` tries many new examples; use it after changes to what properties are about.

How long an example takes says something about the machine and is no reason to fail.
"""

from __future__ import annotations

import compileall
import contextlib
import gc
import os
import sys
from pathlib import Path

# Modules and tests are no garbage; pytest_collection_finish turns the collector on again.
gc.disable()
# Rewriting the assertions of modules takes half of the collection; later runs read the result.
writes_bytecode, sys.dont_write_bytecode = not sys.dont_write_bytecode, False

import pytest  # noqa: E402
from _pytest.assertion import rewrite  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from hypothesis.internal.conjecture import providers  # noqa: E402

any_duration = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", any_duration, derandomize=True, max_examples=20)
settings.register_profile("explore", any_duration, max_examples=1_000)
settings.load_profile("repeatable")
# Examples from the constants of the source would change with each edit, and reading them takes a second of each worker.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants  # noqa: SLF001

ROOT = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Share the compilation of a fresh checkout among the workers; each of them would compile all modules for itself."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or not (hasattr(rewrite, "_rewrite_test") and hasattr(rewrite, "_write_pyc")):
        return
    number, workers = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    paths = sorted(
        path for folder in ("helmdeck_core", "plugins", "contrib_*", "tests") for path in ROOT.glob(f"{folder}/**/*.py")
    )
    for path in paths[number::workers]:
        if not path.name.startswith(("test_", "conftest")):
            compileall.compile_file(path, quiet=2)
            continue
        compiled = path.parent / "__pycache__" / f"{path.stem}{rewrite.PYC_TAIL}"
        if not compiled.exists() or compiled.stat().st_mtime < path.stat().st_mtime:
            compiled.parent.mkdir(exist_ok=True)
            with contextlib.suppress(SyntaxError):  # the collection reports it
                status, code = rewrite._rewrite_test(path, session.config)  # noqa: SLF001
                rewrite._write_pyc(session.config.stash[rewrite.assertstate_key], code, status, compiled)  # noqa: SLF001


SLOWEST = (
    "test_batch_recovery", "test_browser", "test_command_pipeline", "test_distribution", "test_docs", "test_durable_runs",
    "test_first_use", "test_gateway_agents", "test_gateway_clients", "test_making", "test_scaffold", "test_secret_leaks",
    "test_workers",
)  # fmt: skip
"""Modules whose tests start programs, or take seconds each."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let every worker begin with some of the slowest modules: one that takes a minute at the end leaves the others idle."""
    if (worker := getattr(config, "workerinput", None)) is None:
        return
    slow: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.path.stem in SLOWEST:
            slow.setdefault(item.path, []).append(item)
    rest = [item for item in items if item.path.stem not in SLOWEST]
    workers, total = worker["workercount"], len(items)
    items.clear()
    for number in range(workers):  # each worker gets a part of the same size at first
        first = [item for module in list(slow.values())[number::workers] for item in module]
        size = max(0, (total - len(items)) // (workers - number) - len(first))
        items += [*first, *rest[:size]]
        rest = rest[size:]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let garbage collections look at what tests make, and not at the modules and thousands of tests: these stay."""
    sys.dont_write_bytecode = not writes_bytecode
    gc.freeze()
    # With the default of 700, a tenth of the suite's time was garbage collection.
    gc.set_threshold(5_000, 10, 10)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """With ``-n auto``, two workers more than there are processors: tests wait for servers and other processes."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return (os.cpu_count() or 1) + 2
