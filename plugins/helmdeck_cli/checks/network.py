"""The checks of ``helmdeck doctor`` over the network: reachability, latency and clock, and whether a key is accepted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import attrs

from helmdeck_cli.checks.configured_providers import ConfiguredProvider, failure_text
from helmdeck_cli.checks.findings import Finding, fail, ok, warn
from helmdeck_cli.printing.wording import counted
from helmdeck_cli.sources import refresh_sources, source_status
from helmdeck_core import (
    CallFailed,
    ConfigError,
    FailureClass,
    HelmdeckError,
    InstructionPattern,
    ListingProvider,
    ModelInfo,
    ProviderPool,
    find_instructions,
)
from helmdeck_providers import HttpConnection, HttpResponse

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

CHECK_TIMEOUT_S = 10.0
"""Seconds that each of the two requests to a provider may take."""
MAX_SKEW_S = 60.0
"""A larger difference between the clocks is a warning: ``Date`` counts whole seconds, and caches keep it for a while."""
BROKEN_SKEW_S = 300.0
"""A larger difference makes signed requests fail."""

Skew = tuple[float, str]
"""The seconds by which the clock of a server is ahead, and the name of its provider."""


def check_descriptions(deck: Helmdeck) -> Iterator[Finding]:
    """Entries of the catalog whose texts contain instructions for a model."""
    patterns = deck.runtime.contributions.values_of(InstructionPattern)
    for found in find_instructions(deck.catalog.entries, patterns):
        remedy = f"read it with `helmdeck catalog show {found.entry}`; remove its source if you do not trust it"
        yield warn("catalog", found.entry, str(found), remedy)


async def check_servers(deck: Helmdeck) -> list[Finding]:
    """Start the servers of the catalog, and report how many entries each has."""
    if not deck.runtime.config.catalog.mcp:
        return []
    try:
        await asyncio.to_thread(getattr, deck, "catalog")
        await asyncio.to_thread(refresh_sources, deck)
    except HelmdeckError:  # a mistake of the configuration, which is reported already
        return []
    except ImportError:  # the status of the source reports it
        pass
    remedy = "correct its table in the configuration, or start the server; its entries are missing until then"
    return [
        warn("server", name, f"{counted(count, 'entry', 'entries')}; {problem}", remedy)
        if problem
        else ok("server", name, counted(count, "entry", "entries"))
        for name, count, problem in source_status(deck)
    ]


async def check_providers(
    deck: Helmdeck,
    providers: Sequence[ConfiguredProvider],
    update: Callable[[str], None],
    now: Callable[[], float] = time.time,
) -> list[Finding]:
    """Check all providers at the same time.

    :param update: replaces the text of the progress line.
    :param now: the local clock, in seconds since 1970.
    """
    routes = [route for provider in providers for route in provider.each]
    waiting = {route.label for route in routes}
    skews: list[Skew] = []

    async def check(provider: ConfiguredProvider) -> list[Finding]:
        try:
            return await _check(deck, provider, skews, now)
        finally:
            waiting.discard(provider.label)
            update(f"waiting for {', '.join(sorted(waiting))}")

    results = await asyncio.gather(*map(check, routes))
    return [finding for result in results for finding in result] + _clock(skews)


async def _check(
    deck: Helmdeck, provider: ConfiguredProvider, skews: list[Skew], now: Callable[[], float]
) -> list[Finding]:
    name = provider.label
    if provider.settings.base_url is None:
        return [ok("provider", name, "no URL is configured, so no server was called")]
    try:
        start, before = time.perf_counter(), now()
        response = await _head(provider)
        latency_s = time.perf_counter() - start
    except (CallFailed, ConfigError) as exc:
        return [_unreachable(provider, exc)]
    if (date := _date(response)) is not None:
        skews.append((date - (before + now()) / 2, name))
    findings = [ok("provider", name, f"reachable in {latency_s * 1000:,.0f} ms")]
    if not provider.key_problem:
        findings.append(await _check_list(deck, provider))
    return findings


async def _head(provider: ConfiguredProvider) -> HttpResponse:
    """The response to a request without the key; its status does not matter."""
    timeout_s = min(provider.settings.timeout_s, CHECK_TIMEOUT_S)
    connect_s = min(provider.settings.connect_timeout_s, CHECK_TIMEOUT_S)
    connection = HttpConnection(attrs.evolve(provider.settings, timeout_s=timeout_s, connect_timeout_s=connect_s))
    try:
        return await connection.get("/models")
    finally:
        await connection.aclose()


async def _check_list(deck: Helmdeck, provider: ConfiguredProvider) -> Finding:
    """Whether the provider lists its models to this key, and whether the default model is one of them."""
    name = provider.label
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            listed = {f"{provider.name}/{info.id}" for info in await _list(deck, provider)}
    except TimeoutError:
        return warn(
            "models", name, f"no list of models within {CHECK_TIMEOUT_S:g} s", "try again; the server may be busy"
        )
    except CallFailed as exc:
        if exc.failure_class in (FailureClass.AUTH_FAILED, FailureClass.QUOTA_EXHAUSTED):
            return fail("models", name, failure_text(exc), exc.advice()[1])
        remedy = "none is needed if plans work; some servers have no list of models"
        return warn("models", name, f"the models cannot be listed: {failure_text(exc)}", remedy)
    except HelmdeckError as exc:
        return fail("models", name, str(exc), "update or disable the plugin")
    model = deck.runtime.config.model
    if listed and provider.is_default and model not in listed:
        remedy = f"`helmdeck models {provider.name}` lists them; set `model`"
        return warn(
            "models", name, f"{counted(len(listed), 'model')} listed, without the default model {model}", remedy
        )
    return ok(
        "models",
        name,
        f"{counted(len(listed), 'model')} listed" if listed else "this provider does not list its models",
    )


def _unreachable(provider: ConfiguredProvider, exc: CallFailed | ConfigError) -> Finding:
    finding = fail if provider.is_named else warn
    is_misconfigured = isinstance(exc, ConfigError) or exc.sub_cause == "misconfigured"
    where = f"providers.{provider.name}"
    if is_misconfigured:
        return fail("provider", provider.label, failure_text(exc), f"correct {where}")
    remedy = f"check the network, the proxy and {where}.base_url; start the server if it is your own"
    return finding("provider", provider.label, failure_text(exc), remedy)


async def _list(deck: Helmdeck, provider: ConfiguredProvider) -> tuple[ModelInfo, ...]:
    """The models of a provider, or of one of its routes, for which it is opened once more."""
    if not provider.route:
        return await deck.amodels(provider.name)
    pool = ProviderPool(deck.runtime)
    opened = pool.registry.contribution(provider.name).value.open(provider.settings, pool)
    try:
        return tuple(await opened.models()) if isinstance(opened, ListingProvider) else ()
    except CallFailed as exc:
        failure = pool.registry.redact(exc, f"{provider.name}/any")
    finally:
        await opened.aclose()
    raise failure


def _date(response: HttpResponse) -> float | None:
    """The time at which the server answered; ``None`` if it is unknown or the answer is from a cache."""
    if response.headers.get("age", "0").strip() not in ("", "0"):
        return None
    try:
        return parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def _clock(skews: Sequence[Skew]) -> list[Finding]:
    """One finding about the local clock: the server that differs least counts, since servers may be wrong too."""
    if not skews:
        return []
    seconds, name = min(skews, key=lambda skew: abs(skew[0]))
    if abs(seconds) <= MAX_SKEW_S:
        return [ok("clock", "local", f"differs by less than {MAX_SKEW_S:g} s from that of {name}")]
    direction = "behind" if seconds > 0 else "ahead of"
    text = f"{abs(seconds):,.0f} s {direction} that of {name}"
    finding = fail if abs(seconds) > BROKEN_SKEW_S else warn
    return [finding("clock", "local", text, "synchronise the clock, for instance with NTP")]
