"""The names of endpoints, to which keys and teams can be limited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helmdeck_core import Runtime

ENDPOINTS: Final = ("chat", "completions", "responses", "messages", "gemini", "embeddings", "rerank")
"""Those of the gateway itself."""


def endpoint_names(runtime: Runtime) -> tuple[str, ...]:
    """Return the names of all endpoints: those of the gateway, and the applications of plugins.

    >>> from helmdeck_core import Helmdeck
    >>> from helmdeck_gateway import endpoint_names
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     print(endpoint_names(deck.runtime)[:3])
    ('chat', 'completions', 'responses')
    """
    from helmdeck_core import GatewayApp

    return tuple(dict.fromkeys((*ENDPOINTS, *(app.name for app in runtime.contributions.values_of(GatewayApp)))))


def endpoint_problem(names: Iterable[str], endpoints: Sequence[str]) -> str:
    """Return what is wrong with names of endpoints; empty for nothing."""
    from helmdeck_core import did_you_mean

    wrong = [name for name in names if name not in endpoints]
    if not wrong:
        return ""
    return f"unknown endpoint {wrong[0][:80]!r}{did_you_mean(wrong[0], endpoints)}; allowed: {', '.join(endpoints)}"
