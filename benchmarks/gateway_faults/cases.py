"""The combinations of fault, fallback, client API and way, and the configuration of a gateway for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.gateway_faults.judge import PATHS, Case
from benchmarks.gateway_faults.table import FAULTS
from benchmarks.gateway_faults.upstream import Plan

SECONDS = (
    "none", "once", "", "refused", "silent", "status 503", "empty content", "reset in text", "stall in text",
    "end without [DONE] in text", "error event in text", "HTML in 200",
)  # fmt: skip
"""What the fallback does; ``once`` and the empty name are no fallback."""
WAYS = tuple(itertools.product(PATHS, (False, True)))
"""Client API, and whether the response is streamed."""
DEADLINE_S = 10.0
"""Seconds until a request ends."""
SILENCE_S = 1.0
"""Seconds of silence after which a model has failed."""


def all_cases(seconds: Iterable[str] = SECONDS, ways: Iterable[tuple[str, bool]] = WAYS) -> Iterator[Case]:
    """Yield every combination."""
    ways = tuple(ways)
    for second in seconds:
        for name, fault in FAULTS.items():
            for kind in fault.kinds:
                if second == "once" and fault.is_harmless:
                    continue
                for dialect, streams in ways:
                    yield Case(name, kind, second, dialect, streams)


def plans_of(cases: Sequence[Case]) -> Mapping[str, Plan]:
    """Return what the models of the cases do: ``a0`` and its fallback ``b0``, and so on."""
    plans: dict[str, Plan] = {}
    for number, case in enumerate(cases):
        plans[f"a{number}"] = (case.kind, (case.fault, "none") if case.second == "once" else (case.fault,))
        plans[f"b{number}"] = (case.kind, (case.second,))
    return plans


def configuration(cases: Sequence[Case], base_url: str, closed_url: str) -> dict[str, Any]:
    """Return the configuration of a deck in which client model ``mN`` is that of case N.

    :param closed_url: no server listens there.
    """
    limits = {"first_token_timeout_s": SILENCE_S, "idle_timeout_s": SILENCE_S}
    fallback = {}
    for number, case in enumerate(cases):
        first = _model("one", f"a{number}", case.fault)
        fallback[first] = [] if case.second in ("", "once") else [_model("two", f"b{number}", case.second)]
    return {
        "providers": {
            **{name: {"kind": "openai-compatible", "base_url": base_url, **limits} for name in ("one", "two")},
            "closed": {"kind": "openai-compatible", "base_url": closed_url, **limits},
        },
        "fallback": fallback,
        # Cases share a provider, so that the cooldown of one would change the others.
        "recovery": {"cool_down_after": 0, "backoff_s": 0.05},
        "gateway": {
            "models": {f"m{number}": first for number, first in enumerate(fallback)},
            "deadline_s": DEADLINE_S,
        },
    }


def _model(provider: str, name: str, fault: str) -> str:
    return f"{'closed' if fault == 'refused' else provider}/{name}"
