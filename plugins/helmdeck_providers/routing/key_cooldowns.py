"""Cooldowns of the keys and servers of one provider: how long a route is left alone after a failure.

Cooldowns of models, which choose among the models of a fallback chain, are in ``helmdeck_core.calls.model_cooldowns``.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from helmdeck_core import AuthFailed, CallFailed, FailureClass, ProviderUnavailable, QuotaExhausted, RateLimited

MAX_COOLDOWN_S = 300.0
"""A longer ``Retry-After`` is shortened to this: the limit may be lifted earlier."""
DEFAULT_S: Mapping[type[CallFailed], float] = {
    RateLimited: 5.0,
    ProviderUnavailable: 8.0,
    QuotaExhausted: 60.0,
    AuthFailed: 60.0,
}
"""Seconds of the cooldown without a ``Retry-After``. Other failures have nothing to do with the key or the server."""
SLACK_S = 0.01
"""A cooldown ends this much earlier, since timers may be early."""

Scope = tuple[str, int, str]
"""What is in cooldown: ``server``, its number and an empty string; or ``route``, its index, and a model or all of them."""


def kind_of(failure: CallFailed) -> type[CallFailed] | None:
    """Return the class of a failure that another route may not have; ``None`` for any other failure."""
    return next((kind for kind in DEFAULT_S if isinstance(failure, kind)), None)


@attrs.frozen
class Cooldown:
    """One cooldown.

    :ivar until_s: its end, on the clock.
    :ivar is_requested: the provider named the time; no request is sent before.
    """

    until_s: float
    kind: type[CallFailed]
    is_requested: bool


class Cooldowns:
    """The cooldowns of one provider. Its methods take the time of a monotonic clock in seconds; not thread-safe."""

    def __init__(self) -> None:
        self._by_scope: dict[Scope, Cooldown] = {}

    def start(self, index: int, server: int, model: str, failure: CallFailed, now_s: float) -> float | None:
        """Start the cooldown of a route after a failure; return its seconds if it was not in cooldown already."""
        kind = kind_of(failure)
        assert kind is not None
        retry_after_s = failure.retry_after_s
        seconds = min(DEFAULT_S[kind] if retry_after_s is None else retry_after_s, MAX_COOLDOWN_S)
        scope = _scope(kind, failure, index, server, model)
        before = self.find(index, server, model, now_s)
        self._by_scope = {each: one for each, one in self._by_scope.items() if one.until_s > now_s}
        is_requested = retry_after_s is not None and kind is RateLimited
        self._by_scope[scope] = Cooldown(now_s + seconds, kind, is_requested)
        return seconds if before is None else None

    def find(self, index: int, server: int, model: str, now_s: float) -> Cooldown | None:
        """Return the cooldown that applies to a request: the strictest, then the longest one."""
        if not self._by_scope:
            return None
        scopes = (("server", server, ""), ("route", index, ""), ("route", index, model))
        found = [one for scope in scopes if (one := self._by_scope.get(scope)) and one.until_s - SLACK_S > now_s]
        return max(found, key=lambda one: (one.is_requested, one.until_s), default=None)

    def end(self, index: int, server: int, model: str) -> None:
        """End the cooldowns of a route that answered."""
        if self._by_scope:
            for scope in (("server", server, ""), ("route", index, ""), ("route", index, model)):
                self._by_scope.pop(scope, None)


def _scope(kind: type[CallFailed], failure: CallFailed, index: int, server: int, model: str) -> Scope:
    if kind is ProviderUnavailable:  # another key of the same server would not help
        return ("server", server, "")
    # Rate limits, quotas and permissions are often per model; a rejected key is rejected for all.
    is_for_all = kind is AuthFailed and failure.sub_cause != "permission"
    return ("route", index, "" if is_for_all else model)


def summary(failures: list[CallFailed], limited_for_s: float | None, count: int) -> CallFailed:
    """Return the failure of a call for which no route is left: the one with which waiting helps most.

    Its text does not say which key failed; error messages of providers may name the account.

    :param limited_for_s: seconds until the first rate limit ends; ``None`` without one.
    :param count: number of routes.
    """
    ranks = list(DEFAULT_S)
    last = min(failures, key=lambda each: ranks.index(kind_of(each) or AuthFailed), default=None)
    if limited_for_s is not None and not isinstance(last, RateLimited):
        detail = (
            f"none of the {count} keys can be used" if last else f"all {count} keys are limited; no request was sent"
        )
        return RateLimited("the rate limit was exceeded", retry_after_s=limited_for_s, detail=detail)
    assert last is not None
    alike = [each for each in failures if isinstance(each, type(last))]
    waits = [each.retry_after_s for each in alike if each.retry_after_s is not None]
    if isinstance(last, RateLimited) and limited_for_s is not None:
        waits = [limited_for_s]
    last = attrs.evolve(last, retry_after_s=min(waits, default=None))
    if count == 1 or isinstance(last, ProviderUnavailable):
        return last
    problem = {
        FailureClass.RATE_LIMITED: "are rate limited",
        FailureClass.QUOTA_EXHAUSTED: "have no quota left",
        FailureClass.AUTH_FAILED: "were rejected or are missing; `helmdeck doctor` checks each",
    }[last.failure_class]
    causes = {each.failure_class for each in failures}
    detail = f"all {count} keys {problem}" if len(causes) == 1 else f"none of the {count} keys can be used"
    return attrs.evolve(last, detail=detail)
