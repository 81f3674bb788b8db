"""Announces the transports that are distributions of their own, so that a configuration that needs one names what to install."""

from __future__ import annotations

from helmdeck_core import InvalidRequest, Transport, TransportSettings, TransportSpec, hookimpl

DISTRIBUTIONS = {"aiohttp": "helmdeck-transport-aiohttp"}
"""Names of transports and their distributions, whose plugins replace what is contributed here."""


def announced(name: str, distribution: str) -> TransportSpec:
    """Return a specification that says what to install."""

    def refuse(_: TransportSettings) -> Transport:  # where no other transport is left
        detail = f"pip install {distribution}"
        raise InvalidRequest(f"the transport {name!r} is not installed", sub_cause="misconfigured", detail=detail)

    return TransportSpec(name=name, open=refuse, summary=f"needs {distribution}", order=100, needs=distribution)


@hookimpl
def helmdeck_transports() -> list[TransportSpec]:
    """Contribute one specification for each distribution."""
    return [announced(*names) for names in DISTRIBUTIONS.items()]
