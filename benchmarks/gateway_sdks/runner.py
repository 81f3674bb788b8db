"""Runs the checks with one SDK over the gateway."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.gateway_clients.gateway import serving
from benchmarks.gateway_sdks.checks import ALIAS, CHECKS, CheckFailed, Client, UnsupportedByClient
from benchmarks.gateway_sdks.clients import Sdk
from benchmarks.gateway_sdks.stored_checks import STORED_CHECKS
from benchmarks.gateway_sdks.upstream import ScriptedUpstream

KEY_VARIABLE: Final = "GATEWAY_CHECKS_KEY"
PASSED: Final = "✓"
UNSUPPORTED: Final = "–"
FAILED: Final = "✗"


class Result(NamedTuple):
    """The outcome of one check.

    :ivar mark: one of ``PASSED``, ``UNSUPPORTED`` and ``FAILED``.
    :ivar reason: empty if it passed.
    """

    mark: str
    reason: str


def settings(upstream: ScriptedUpstream) -> dict[str, Any]:
    """Return the gateway's configuration: a key, an alias, and the shortest waits."""
    return {
        "providers": {"up": {"kind": "openai-compatible", "base_url": upstream.base_url}},
        "recovery": {"backoff_s": 0.01, "cool_down_after": 0, "max_wait_s": 0.01},
        "gateway": {"key": f"env:{KEY_VARIABLE}", "models": {ALIAS: "up/plain"}},
    }


@contextlib.contextmanager
def scripted_upstream() -> Iterator[ScriptedUpstream]:
    """Run the model within a ``with`` block."""
    upstream = ScriptedUpstream()
    try:
        yield upstream
    finally:
        upstream.close()


def run_checks(sdk: Sdk, names: Sequence[str]) -> Mapping[str, Result]:
    """Run checks with one SDK."""
    os.environ[KEY_VARIABLE] = "right-key-0123456789"
    results = {}
    with tempfile.TemporaryDirectory() as scratch, scripted_upstream() as upstream:
        folders = [Path(scratch, name) for name in ("gateway", "client")]
        for folder in folders:
            folder.mkdir()
        with serving(settings(upstream), folders[0]) as url, sdk.running(url, upstream, folders[1]) as adapter:
            for name in names:
                results[name] = _outcome(name, adapter)
                print(f"{sdk.name}: {name}: {' '.join(results[name])}", flush=True)
    return results


def _outcome(name: str, client: Client) -> Result:
    try:
        {**CHECKS, **STORED_CHECKS}[name](client)
    except UnsupportedByClient as exc:
        return Result(UNSUPPORTED, str(exc))
    except CheckFailed as exc:
        return Result(FAILED, str(exc))
    except Exception as exc:  # a reply of another shape than expected
        return Result(FAILED, f"{type(exc).__name__}: {exc}")
    return Result(PASSED, "")
