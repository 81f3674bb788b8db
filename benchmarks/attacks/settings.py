"""The gateway that the cases attack: its configuration, keys, and the servers behind it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import attrs

from benchmarks.attacks.cases import Stage
from benchmarks.attacks.hostile import HostileUpstream, hostile_upstream
from benchmarks.attacks.victim import Victim, create_key, gateway

DEADLINE_S = 3.0
HEADER_S, BODY_S, KEEP_ALIVE_S = 2.0, 3.0, 5.0
MAX_RESPONSE_BYTES = 4_000_000


def configuration(upstream: HostileUpstream, *, gateway_lines: str = "", more: str = "", provider: str = "") -> str:
    """A configuration with one provider, short limits and a price of 1 and 2 dollars per million tokens."""
    return f"""\
[providers.up]
kind = "openai-compatible"
base_url = "{upstream.base_url}"
{provider}
[recovery]
max_attempts = 1
deadline_s = {DEADLINE_S}
cool_down_after = 0
[budgets."up/"]
input_cost_usd_per_mtok = 1.0
output_cost_usd_per_mtok = 2.0
[gateway]
header_s = {HEADER_S}
body_s = {BODY_S}
keep_alive_s = {KEEP_ALIVE_S}
{gateway_lines}
{more}
"""


@attrs.frozen
class Door:
    """A gateway with keys.

    :ivar ann: a key that may use every model.
    :ivar bob: a key of another caller, for ``up/ok`` only.
    """

    victim: Victim
    upstream: HostileUpstream
    ann: str
    bob: str
    revoked: str
    expired: str


@contextlib.contextmanager
def door(stage: Stage) -> Iterator[Door]:
    """A gateway that requires keys, and whose metrics have a key of their own."""
    folder = stage.new_folder()
    with hostile_upstream() as upstream:
        lines = 'requires_keys = true\nmetrics_key = "env:METRICS"'
        environ = {"METRICS": "metrics-key-of-the-operator"}
        with gateway(folder, configuration(upstream, gateway_lines=lines), environ=environ) as victim:
            keys = {
                "ann": create_key(folder, "ann"),
                "bob": create_key(folder, "bob", models=["up/ok"]),
                "revoked": create_key(folder, "revoked"),
                "expired": create_key(folder, "expired", expires_s=1.0),
            }
            yield Door(victim, upstream, **keys)


@attrs.frozen
class Open:
    """A gateway without keys, on loopback."""

    victim: Victim
    upstream: HostileUpstream


@contextlib.contextmanager
def open_gateway(stage: Stage) -> Iterator[Open]:
    """A gateway without keys."""
    provider = f"max_response_bytes = {MAX_RESPONSE_BYTES}"
    with (
        hostile_upstream() as upstream,
        gateway(stage.new_folder(), configuration(upstream, provider=provider)) as victim,
    ):
        yield Open(victim, upstream)
