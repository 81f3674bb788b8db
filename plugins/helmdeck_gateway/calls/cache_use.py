"""Whether a request uses response caches: by the settings of its key, team and model, and by what its headers ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from helmdeck_cache import CacheOutcome, CacheSettings, CacheUse
from helmdeck_gateway.calls.work import Work
from helmdeck_gateway.problems import invalid

HEADER: Final = "x-helmdeck-cache"
"""The header of a request that asks for caches, and of a response that reports what they did."""
_RAW: Final = HEADER.encode()
_VALUES: Final = ("on", "off", "refresh")


def cache_use(settings: CacheSettings, work: Work, headers: Mapping[bytes, bytes]) -> CacheUse | None:
    """Return how a request uses the caches; ``None`` for not at all.

    :raises Problem: a header has an unknown value.
    """
    asked = headers[_RAW].decode("latin-1").strip().lower() if _RAW in headers else ""
    if asked and asked not in _VALUES:
        raise invalid(f"the header {HEADER} is one of {', '.join(_VALUES)}, found {asked[:40]!r}")
    key = work.principal.key
    mode = settings.mode_of(work.name, *((key.name, key.team) if key is not None else ()))
    if work.is_plan or asked == "off" or mode == "never" or not (asked or mode == "on"):
        if asked in ("on", "refresh"):
            work.headers[HEADER] = str(CacheOutcome(status="skipped", reason="plan" if work.is_plan else "never"))
        return None
    has_team = settings.tenant == "team" and key is not None and key.team
    use = CacheUse(tenant=f"team:{key.team}" if has_team and key is not None else f"caller:{work.principal.caller}")
    use.reads = asked != "refresh"
    for directive in headers.get(b"cache-control", b"").decode("latin-1").lower().split(","):
        name, _, value = directive.strip().partition("=")
        if name == "no-store":
            work.headers[HEADER] = str(CacheOutcome(status="skipped", reason="no-store"))
            return None
        if name == "no-cache":
            use.reads = False
        elif name == "max-age":
            use.max_age_s = _seconds(value)
            use.reads = use.reads and use.max_age_s > 0
    return use


def _seconds(value: str) -> float:
    if not (value := value.strip().strip('"')).isascii() or not value.isdigit():
        raise invalid(f"cache-control: max-age is a number of seconds, found {value[:40]!r}")
    return float(value[:12])
