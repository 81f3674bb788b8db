"""The providers of a deployment by name: their specifications, settings and secrets."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from helmdeck_core.config.provider_settings import key_notices, key_reference, kind_of
from helmdeck_core.config.types import ProviderConfig, SecretRef
from helmdeck_core.domain.error_rules import ErrorRuleSet
from helmdeck_core.domain.models import ModelId
from helmdeck_core.domain.providers import ProviderSettings, ProviderSpec
from helmdeck_core.domain.routing import RouterSpec
from helmdeck_core.errors import AuthFailed, CallFailed, HelmdeckError, InvalidRequest
from helmdeck_core.hooks.calls import Contribution, passed_on
from helmdeck_core.redaction import MIN_TELLING_CHARS, REDACTED, Secrets, masked, without, without_cut_secret
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_core.secret_places import header_secrets, url_secrets, without_scheme
from helmdeck_core.suggestions import did_you_mean, nearest_names
from helmdeck_core.timeouts import is_own_cancellation

_LIMITS = ("timeout_s", "connect_timeout_s", "idle_timeout_s", "max_response_bytes", "weight", "max_concurrent")
_MIN_UNIQUE_CHARS = 8
"""A shorter secret may occur in unrelated text."""
MOST_SUGGESTED = 5
"""Ids in the failure for a model without a provider."""
_QUOTED_FIELDS = ("headline", "detail", "excerpt", "raw_stop_reason", "request_id")
"""Fields of a failure that may quote a provider."""


class ProviderRegistry:
    """Looks providers up. It opens no connection."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._notices: dict[str, tuple[str, ...]] = {}

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all providers: contributed ones, and those that the configuration adds."""
        return tuple(sorted({*self._runtime.contributed(ProviderSpec), *self._runtime.config.providers}))

    def full_id(self, model: str) -> str:
        """Return the id of a model that is named without its provider, if exactly one configured provider serves it.

        Any other string is returned as it is, without surrounding whitespace.
        """
        model = model.strip()
        if not model or "/" in model:
            return model
        ids = self._runtime.budgets.table.ids(model, self.names)
        # Two interfaces of one account share its key; the preferred one comes first.
        usable = {key: each for each in reversed(ids) if (key := self._account(ModelId.provider_of(each)))}
        return next(iter(usable.values())) if len(usable) == 1 else model

    def check(self, model: str) -> ModelId:
        """Parse a model id and check that its provider exists.

        :raises InvalidRequest: with the names that exist.
        """
        if "/" not in model and (problem := self._incomplete(model.strip())) is not None:
            raise problem
        model_id = ModelId.parse(model)
        if model_id.provider not in self.names:
            suggestion = did_you_mean(model_id.provider, self.names)
            raise self.unknown(model_id.provider, suggestion, model, "; `helmdeck budgets` lists known models")
        return model_id

    def unknown(self, name: str, suggestion: str = "", model: str = "", hint: str = "") -> InvalidRequest:
        """Return the failure for a provider that does not exist."""
        known = dict.fromkeys((*self._runtime.config.providers, *self.names))
        detail = f"providers: {nearest_names(name, known)}{hint}"
        return InvalidRequest(
            f"there is no provider {name!r}{suggestion}", model, sub_cause="unknown_provider", detail=detail
        )

    def _account(self, name: str) -> str:
        """What the calls to a provider are made with, such as the reference to its key; empty if it is not configured."""
        spec, config = self.contribution(name).value, self._runtime.config.providers.get(name)
        key = key_reference((config or ProviderConfig()).by_route[0], spec)
        is_embedded = spec.base_url is None and key is None
        if config is None and not is_embedded and (spec.base_url is None or key is None or key.read() is None):
            return ""
        return f"{key or name} {(config.base_url if config is not None else None) or ''}"

    def _incomplete(self, model: str) -> InvalidRequest | None:
        """Return the failure for a model that is named without its provider, if there is an id to suggest."""
        ids = self._runtime.budgets.table.ids(model, self.names)
        usable = [each for each in ids if self._account(ModelId.provider_of(each))]
        own = [f"{name}/{model}" for name in self._runtime.config.providers]
        suggested = (usable or ids or own)[:MOST_SUGGESTED]
        if not model or not suggested:
            return None
        why = "several configured providers serve it" if usable else "no configured provider is known to serve it"
        return InvalidRequest(
            f"model id {model!r} is not of the form provider/model (did you mean {suggested[0]!r}?)",
            sub_cause="model_id",
            detail=f"{why}; give the whole id: {', '.join(suggested)}; `helmdeck budgets` lists known models",
        )

    def contribution(self, name: str) -> Contribution[ProviderSpec]:
        """Return the specification of a provider, with the plugin that contributes it."""
        return self._runtime.contributed(ProviderSpec)[kind_of(name, self._config(name), self._specs)]

    def notices(self, name: str) -> tuple[str, ...]:
        """Return what a deployment should know about the settings of a provider, such as a key that is not sent."""
        if name not in self._notices:
            routes = config.by_route if (config := self._config(name)) is not None else ()
            notices = (notice for each in routes for notice in key_notices(name, each, self._specs))
            self._notices[name] = tuple(dict.fromkeys(notices))
        return self._notices[name]

    def _config(self, name: str) -> ProviderConfig | None:
        return self._runtime.config.providers.get(name)

    @functools.cached_property
    def _specs(self) -> dict[str, ProviderSpec]:
        return {name: each.value for name, each in self._runtime.contributed(ProviderSpec).items()}

    def settings(self, name: str) -> tuple[ProviderSettings, ...]:
        """Return what a provider is opened with, once per route."""
        return tuple(self._settings(name, each) for each in (self._config(name) or ProviderConfig()).by_route)

    def first_settings(self, name: str) -> ProviderSettings:
        """Return the settings of the first route of a provider."""
        return self.settings(name)[0]

    def output_limit(self, model: str) -> int | None:
        """Return the output limit that is sent for a request without one; the highest one of the provider's routes.

        :returns: ``None`` where the server decides.
        :raises InvalidRequest: a setting of the provider is invalid.
        """
        name = ModelId.provider_of(self._runtime.budgets.wrapped(model))  # a wrapper sends what the wrapped one sends
        limit_of = self.contribution(name).value.output_limit if name in self.names else None
        if limit_of is None:
            return None
        try:
            return max(map(limit_of, self.settings(name)))
        except BaseException as exc:
            failure = self.wrap_error(exc, name, "cannot report its output limit:")
        raise failure

    def router_spec(self, name: str) -> RouterSpec | None:
        """Return what chooses between the routes of a provider; ``None`` without configured routes and limits."""
        config, specs = self._config(name) or ProviderConfig(), self._runtime.contributed(RouterSpec)
        has_routes = config.routes or config.api_keys or config.max_concurrent
        return specs[config.routing or next(iter(specs))].value if has_routes else None

    def _settings(self, name: str, config: ProviderConfig) -> ProviderSettings:
        spec = self.contribution(name).value
        reference = key_reference(config, spec)
        limits = {key: value for key in _LIMITS if (value := getattr(config, key)) is not None}
        return ProviderSettings(
            name=name,
            base_url=config.base_url or spec.base_url,
            api_key=_key_reader(name, reference),
            has_default_key=reference is not None and config.api_key is None,
            headers=config.headers,
            open_transport=functools.partial(self._runtime.transports.open, name),
            options={**spec.options, **config.options},
            secret_pattern=self._runtime.secret_pattern,
            error_rules=tuple(
                rules
                for rules in self._runtime.contributions.values_of(ErrorRuleSet)
                if not rules.providers or {name, spec.name} & set(rules.providers)
            ),
            **limits,
        )

    # -- secrets -------------------------------------------------------------------------------------------

    def all_secrets(self) -> Secrets:
        """Return the secrets of all providers, for texts of plugins that may have read them."""
        return self.secrets(*self.names).with_pattern(self._runtime.secret_pattern)

    def secrets(self, *names: str) -> Secrets:
        """Return the secrets of providers. They are read when something is reported, and not kept."""
        secrets = itertools.chain(*(self._provider_secrets(name) for name in names if name in self.names))
        return Secrets(secret for secret in secrets if len(secret) >= MIN_TELLING_CHARS)

    def redact(self, failure: CallFailed, model: str) -> CallFailed:
        """Return a failure without the secrets of the model's provider.

        Providers redact what they quote; this also covers quotes of a response, which may contain anything.
        """
        names = self._runtime.budgets.names(model)  # a provider that wraps others repeats their secrets as well
        secrets = self.secrets(*map(ModelId.provider_of, names))
        texts = {name: text for name in _QUOTED_FIELDS if (text := getattr(failure, name))}
        redacted: dict[str, Any] = {
            name: without_cut_secret(without(secrets, text), secrets) for name, text in texts.items()
        }
        if pattern := self._runtime.secret_pattern:  # a request id or a stop reason may look like a key
            redacted |= {
                name: pattern.sub(REDACTED, redacted[name]) for name in ("detail", "excerpt") if name in redacted
            }
        return failure if redacted == texts else attrs.evolve(failure, **redacted)

    def redact_text(self, provider: str, text: str) -> str:
        """Return a text without the key and headers of a provider; secrets of fewer than eight characters stay."""
        return without(Secrets(secret for secret in self.secrets(provider) if len(secret) >= _MIN_UNIQUE_CHARS), text)

    def mask(self, text: str) -> str:
        """Return a text of a call without secrets of providers, and without what looks like a secret."""
        return masked(text, self.all_secrets())

    def wrap_error(self, exc: BaseException, provider: str, what: str) -> BaseException:
        """Return the exception of a provider without its traceback and causes.

        The variables of its frames, and the exceptions of HTTP libraries, hold keys and requests, and loggers write them.
        Raise the result where no exception is being handled, so that nothing is attached to it again.
        """
        is_passed_on = isinstance(exc, (HelmdeckError, *passed_on()))
        if is_passed_on and (not isinstance(exc, asyncio.CancelledError) or is_own_cancellation(exc)):
            exc.__cause__ = exc.__context__ = None
            return exc.with_traceback(None)
        return self.contribution(provider).crash(f"provider {provider!r} {what}", exc, self.secrets(provider))

    def _provider_secrets(self, name: str) -> Iterator[str]:
        config = self._config(name) or ProviderConfig()
        spec = self.contribution(name).value
        options = [value for value in {**spec.options, **config.options}.values() if isinstance(value, str)]
        keys = [each.api_key for each in (config, *config.by_route)]
        for reference in dict.fromkeys((*keys, *map(_secret_ref, (spec.api_key, *options)))):
            if reference is not None and reference.kind in ("env", "file") and (secret := reference.read()):
                yield from (secret, without_scheme(secret))
        for each in config.by_route:
            yield from header_secrets(each.headers)
            yield from url_secrets(each.base_url or "")


def _secret_ref(reference: str | None) -> SecretRef | None:
    if reference is None:
        return None
    kind, _, target = reference.partition(":")
    return SecretRef(kind, target)


def _key_reader(name: str, reference: SecretRef | None) -> Callable[[], str] | None:
    if reference is None:
        return None

    def read() -> str:
        key = reference.read()
        if key is not None:
            return key
        where = (
            f"the variable {reference.target} is not set"
            if reference.kind == "env"
            else f"the file {reference.target} cannot be read"
        )
        raise AuthFailed(
            f"there is no key for provider {name!r}",
            provider=name,
            sub_cause="no_key",
            detail=f"{where}; or set providers.{name}.api_key",
        )

    return read
