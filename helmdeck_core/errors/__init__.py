"""Every exception of the project.

::

    HelmdeckError
    ├── ConfigError             one or more mistakes in the configuration, all at once
    ├── CatalogError            a catalog that cannot be read, or does not have the shape
    ├── PluginError             a plugin raised, or returned what its hook forbids
    │   ├── PluginLoadError     a plugin that cannot be imported or registered
    │   └── PluginConflictError two plugins claim one name
    ├── PackError               a pack failed with one code of a closed set
    └── CallFailed              a model call gave nothing usable; one subclass per FailureClass
        ├── SafetyFiltered  LengthTruncated  ConstrainedDeadlock  LikelyTimeout
        ├── RateLimited  QuotaExhausted  AuthFailed  InvalidRequest
        └── ContextWindowExceeded  ProviderUnavailable  Cancelled  ArtifactInvalid  TransientUnknown

The data are the fields, the sentence is ``str(exc)``. No field ever holds a secret or a whole response body.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from helmdeck_core.errors.attempts import NO_RULE, Attempt, Usage, shortened, summary
from helmdeck_core.errors.attempts import FailureClass as FailureClass
from helmdeck_core.errors.hints import ANY_PROVIDER, FINER, WINDOW_FULL
from helmdeck_core.errors.pack_codes import PackErrorCode as PackErrorCode
from helmdeck_core.errors.pack_codes import known_code


class HelmdeckError(Exception):
    """The root: catch it to catch everything that Helmdeck raises on purpose."""


# -- configuration, catalog, plugins -----------------------------------------------------------------


@attrs.frozen
class Mistake:
    """One thing that is wrong in a piece of input: where, what was found, what is allowed."""

    where: str
    problem: str
    found: str = ""
    allowed: str = ""

    def __str__(self) -> str:
        found = f", found {self.found}" if self.found else ""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{self.where}: {self.problem}{found}{allowed}"


def _listing(head: str, mistakes: tuple[Mistake, ...]) -> str:
    if len(mistakes) == 1:
        return f"{head}: {mistakes[0]}"
    return "\n".join(
        [f"{head}: {len(mistakes)} mistakes", *(f"  {number}. {m}" for number, m in enumerate(mistakes, 1))]
    )


@attrs.frozen
class ConfigError(HelmdeckError):
    """The configuration has mistakes; every one that can be found is in ``mistakes``."""

    mistakes: tuple[Mistake, ...]

    def __str__(self) -> str:
        return _listing("the configuration cannot be used", self.mistakes)


@attrs.frozen
class CatalogError(HelmdeckError):
    """A catalog source cannot be read or does not have the shape of a catalog."""

    source: str
    mistakes: tuple[Mistake, ...]

    def __str__(self) -> str:
        return _listing(f"the catalog {self.source!r} cannot be used", self.mistakes)


@attrs.frozen
class PluginError(HelmdeckError):
    """A hook implementation or a contributed function raised, or returned what its contract forbids."""

    plugin: str
    hook: str
    detail: str
    distribution: str | None = None

    def __str__(self) -> str:
        return f"plugin {self.plugin!r}{_from(self.distribution)} failed in {self.hook}: {self.detail}; {_remedy(self.plugin)}"


class PluginLoadError(PluginError):
    """A plugin cannot be imported or registered; ``hook`` holds the import target."""

    def __str__(self) -> str:
        return (
            f"plugin {self.plugin!r}{_from(self.distribution)} cannot be loaded from {self.hook}: {self.detail}; "
            f"{_remedy(self.plugin)}"
        )


@attrs.frozen
class PluginConflictError(PluginError):
    """Two plugins claim one name; ``plugin`` and ``other`` are the two, ``value_name`` is the name of a contributed value."""

    other: str = ""
    value_name: str = ""

    def __str__(self) -> str:
        one = f"--disable-plugin {self.plugin}"
        remedy = (
            f"uninstall one of the two, or block both with {one}"
            if self.plugin == self.other
            else f"block one with {one} or --disable-plugin {self.other}"
        )
        return f"plugins {self.plugin!r} and {self.other!r} both claim {self.detail} in {self.hook}; {remedy}"


def _from(distribution: str | None) -> str:
    return f" (distribution {distribution})" if distribution else ""


def _remedy(plugin: str) -> str:
    return f"to go on without it: --disable-plugin {plugin}, or HELMDECK_DISABLE_PLUGINS={plugin}"


# -- packs ---------------------------------------------------------------------------------------------


@attrs.frozen
class PackError(HelmdeckError):
    """A pack failed; ``detail`` names the field and the value where there is one.

    :ivar code: one of the closed set; what is none of them is ``internal``.
    """

    pack: str
    code: PackErrorCode = attrs.field(converter=known_code)
    detail: str

    def __str__(self) -> str:
        return f"{self.pack}: {self.code.value}: {self.detail}"

    @property
    def retryable(self) -> bool:
        """Whether the same again may work."""
        return self.code is PackErrorCode.TIMEOUT

    def to_dict(self) -> dict[str, Any]:
        """The failure as plain data, with the same first fields as a failed call."""
        return {
            "class": type(self).__name__,
            "cause": self.code.value,
            "code": self.code.value,
            "retryable": self.retryable,
            "message": str(self),
            "next_action": self.code.next_action,
            "pack": self.pack,
            "detail": self.detail,
        }


# -- model calls -----------------------------------------------------------------------------------------


_SHORTEST_S = 0.05
"""Seconds that are worth a word."""

WINDOW_FULL_REASON = "ContextWindowExceeded"
"""The normalised stop reason of an answer that filled the window."""


@attrs.frozen
class CallFailed(HelmdeckError):
    """A model call ended without a usable answer.

    :ivar headline: stable text that starts the message and names the caller.
    :ivar model: the model id that was asked, ``provider/model``.
    :ivar raw_stop_reason: the provider's own word; ``None`` when it sent none.
    :ivar stop_reason: the normalised reason.
    :ivar raw_length: UTF-8 bytes of the answer's text before anything was stripped.
    :ivar latency_s: seconds from sending to the end of the answer.
    :ivar provider: the first part of ``model``.
    :ivar attempt: 1 for the first call.
    :ivar status: the HTTP status, where one came.
    :ivar request_id: the provider's own name for the request, where it gave one; its support asks for it.
    :ivar retry_after_s: how long the provider asks to wait, in seconds.
    :ivar sub_cause: a finer cause under the class, such as ``wrong_shape``; it may bring advice of its own.
    :ivar detail: what exactly is wrong, such as the provider's own words, bounded and without secrets.
    :ivar excerpt: at most some hundred characters of the answer, safe to log.
    :ivar is_empty: nothing visible came, although an answer came.
    :ivar usage: tokens of the answer that cannot be used, as far as the provider said.
    :ivar max_tokens: the output limit that was sent; ``None`` for none, or where no answer came.
    :ivar call_id: what the events of the call have in common; empty outside of a call.
    :ivar attempts: what was tried, this failure last; at most eight, the first and the last ones.
    :ivar cost_usd: US dollars of everything that the call paid for, attempts that are not listed included; ``None`` where a
        price is not known.
    :ivar setting: the configuration key whose value is invalid, such as ``providers.acme.base_url``; empty otherwise.
    """

    failure_class: ClassVar[FailureClass] = FailureClass.TRANSIENT_UNKNOWN
    usual_code: ClassVar[PackErrorCode] = PackErrorCode.HANDLER_FAILED
    sub_codes: ClassVar[Mapping[str, PackErrorCode]] = {}
    retryable: ClassVar[bool] = False
    hint: ClassVar[str] = "the call failed for a reason that is not known"
    next_action: ClassVar[str] = "try again; if it stays, try another model"

    headline: str
    model: str = ""
    provider: str = ""
    raw_stop_reason: str | None = None
    stop_reason: str = ""
    raw_length: int = 0
    latency_s: float = 0.0
    attempt: int = 1
    status: int | None = None
    retry_after_s: float | None = None
    sub_cause: str = ""
    detail: str = ""
    excerpt: str = ""
    is_empty: bool = False
    call_id: str = ""
    attempts: tuple[Attempt, ...] = attrs.field(default=(), converter=shortened)
    request_id: str = ""
    usage: Usage = Usage()
    max_tokens: int | None = None
    cost_usd: float | None = None
    setting: str = ""

    def __str__(self) -> str:
        facts = ", ".join(self.facts())
        hint, next_action = self.advice()
        parts = [self.headline, f" ({facts})" if facts else "", f": {self.detail}" if self.detail else ""]
        return f"{''.join(parts)}; {hint}; next: {next_action}{self._tried()}"

    def _tried(self) -> str:
        """What else was tried, or why nothing else was."""
        if len(self.attempts) > 1:
            return f"; tried: {self.trail()}"
        return "".join(f"; {one.then}" for one in self.attempts if one.then and not one.then.endswith(NO_RULE))

    @property
    def code(self) -> PackErrorCode:
        """The code with which a pack fails that lets the failure through."""
        return self.sub_codes.get(self.sub_cause, self.usual_code)

    def trail(self) -> str:
        """The attempts as one bounded text, without a word of a provider's."""
        return summary(self.attempts)

    def facts(self) -> list[str]:
        """What is known of the call, each as a few words."""
        facts = [f"model {self.model}"] if self.model else []
        if self.status is not None:
            facts.append(f"HTTP {self.status}")
        if self.request_id:
            facts.append(f"request id {self.request_id}")
        if self.retry_after_s is not None:
            facts.append(f"retry after {self.retry_after_s:g} s")
        if self.stop_reason:
            facts.append(f"stop reason {self.raw_stop_reason!r}" if self.raw_stop_reason else "no stop reason")
            facts.append(f"{self.raw_length:,} bytes")
        if self.usage.output_tokens:
            facts.append(self._tokens())
        if self.stop_reason or self.latency_s >= _SHORTEST_S:
            facts.append(f"{self.latency_s:.1f} s")
        return facts

    def _tokens(self) -> str:
        usage = self.usage
        most = f" of at most {self.max_tokens:,}" if self.max_tokens is not None else ""
        thought = f", {usage.reasoning_tokens:,} of them thought" if usage.reasoning_tokens else ""
        return f"{usage.output_tokens:,}{most} tokens out{thought}"

    def advice(self) -> tuple[str, str]:
        """The hint and the next action: those of the sub-cause where it says more than the cause."""
        finer = FINER.get(self.failure_class, {}).get(self.sub_cause)
        if self.failure_class is FailureClass.LENGTH_TRUNCATED and self.stop_reason == WINDOW_FULL_REASON:
            finer = WINDOW_FULL
        hint, next_action = finer or (self.hint, self.next_action)
        return hint, next_action.replace(ANY_PROVIDER, f"providers.{self.provider}" if self.provider else ANY_PROVIDER)

    def to_dict(self) -> dict[str, Any]:
        """The failure as plain data, for ``--json`` and for events."""
        facts = attrs.asdict(self, recurse=False, filter=lambda _, value: value not in ("", None, (), Usage()))
        if self.usage != Usage():
            facts["usage"] = attrs.asdict(self.usage, filter=lambda _, value: value)
        if self.attempts:
            facts["attempts"] = [attempt.to_dict() for attempt in self.attempts]
        hint, next_action = self.advice()
        return {
            "class": type(self).__name__,
            "cause": self.failure_class.value,
            "code": self.code.value,
            "retryable": self.retryable,
            "message": str(self),
            "hint": hint,
            "next_action": next_action,
            **facts,
        }


class SafetyFiltered(CallFailed):
    """The provider withheld the answer for safety."""

    failure_class = FailureClass.SAFETY_FILTERED
    hint = "the provider's safety filter withheld the answer"
    next_action = "tell the user; the same request will be refused again, so rephrase it or choose another model"


class LengthTruncated(CallFailed):
    """The answer was cut at the output limit before it was usable."""

    failure_class = FailureClass.LENGTH_TRUNCATED
    retryable = True
    hint = "the output limit was reached before the answer was complete"
    next_action = "raise output_tokens in the model's budget, or ask for less at once (prompt variant single_pick)"


class ConstrainedDeadlock(CallFailed):
    """The model finished, but what it wrote cannot be read as the answer."""

    failure_class = FailureClass.CONSTRAINED_DEADLOCK
    retryable = True
    hint = "the model finished but did not produce a readable answer"
    next_action = "ask without strict JSON (wants_strict_json in the model's budget), or choose another model"


class LikelyTimeout(CallFailed):
    """An empty answer without a reason: usually a time limit upstream or a prompt the model cannot take."""

    failure_class = FailureClass.LIKELY_TIMEOUT
    retryable = True
    sub_codes: ClassVar[Mapping[str, PackErrorCode]] = dict.fromkeys(
        ("deadline", "deadline_share", "timeout", "idle"), PackErrorCode.TIMEOUT
    )
    hint = "an empty answer usually means a time limit upstream or a prompt that is too much for the model"
    next_action = "choose another model, or shorten the request or the catalog (max_catalog_bytes)"


class RateLimited(CallFailed):
    """Too many requests for the moment."""

    failure_class = FailureClass.RATE_LIMITED
    retryable = True
    hint = "the provider asks for fewer requests"
    next_action = "wait as long as the provider says, or let another model take over ([fallback])"


class QuotaExhausted(CallFailed):
    """The account has no quota or credit left; waiting does not help."""

    failure_class = FailureClass.QUOTA_EXHAUSTED
    hint = "the account's quota or credit is used up"
    next_action = "add credit, or let another provider take over ([fallback])"


class AuthFailed(CallFailed):
    """The provider refused the credentials."""

    failure_class = FailureClass.AUTH_FAILED
    hint = "the provider wants credentials that it accepts"
    next_action = f"check the key that {ANY_PROVIDER}.api_key refers to"


SCHEMA_REFUSED = "schema_refused"
"""The finer cause of a request that was refused because of the form in which the answer was asked for."""


class InvalidRequest(CallFailed):
    """The request cannot be served as it is; ``detail`` names what exists."""

    failure_class = FailureClass.INVALID_REQUEST
    usual_code = PackErrorCode.INVALID_INPUT
    hint = "the provider cannot serve the request as it is, and the same one will fail again"
    next_action = "change what the detail names, or choose another model"


class ContextWindowExceeded(CallFailed):
    """The prompt is larger than the model takes."""

    failure_class = FailureClass.CONTEXT_WINDOW_EXCEEDED
    hint = "the prompt is larger than the model's context window"
    next_action = (
        "shorten the request, lower max_catalog_bytes or input_tokens in the model's budget, or choose a model, or start the "
        "server, with a larger window"
    )


class ProviderUnavailable(CallFailed):
    """The provider cannot be reached or is failing."""

    failure_class = FailureClass.PROVIDER_UNAVAILABLE
    retryable = True
    hint = "the provider cannot be reached or is failing"
    next_action = "try again later, or let another provider take over ([fallback])"


class Cancelled(CallFailed):
    """The call was cancelled before it ended."""

    failure_class = FailureClass.CANCELLED
    hint = "the call was cancelled"
    next_action = "nothing; ask again if the answer is still wanted"


class ArtifactInvalid(CallFailed):
    """A strict validation refused an artifact that was produced."""

    failure_class = FailureClass.ARTIFACT_INVALID
    usual_code = PackErrorCode.ARTIFACT_FAILED
    hint = "a strict validation refused the artifact"
    next_action = "look at the findings, or validate without strict"


class TransientUnknown(CallFailed):
    """The provider failed in a way that has no class of its own."""

    failure_class = FailureClass.TRANSIENT_UNKNOWN
    retryable = True


FAILURES: dict[FailureClass, type[CallFailed]] = {
    cls.failure_class: cls
    for cls in (
        SafetyFiltered, LengthTruncated, ConstrainedDeadlock, LikelyTimeout, RateLimited, QuotaExhausted, AuthFailed,
        InvalidRequest, ContextWindowExceeded, ProviderUnavailable, Cancelled, ArtifactInvalid, TransientUnknown,
    )
}  # fmt: skip
