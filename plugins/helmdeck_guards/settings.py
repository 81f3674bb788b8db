"""The tables ``[guards.NAME]``, and the guards that they open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from helmdeck_core import (
    EMPTY,
    ConfigError,
    Contribution,
    Guard,
    GuardServices,
    GuardSpec,
    Mistake,
    above_zero,
    did_you_mean,
    dotted,
    read_options,
)


@attrs.frozen(kw_only=True)
class GuardSender:
    """Who sends a request, for the selection of guards.

    :ivar caller: the caller of the deck.
    :ivar key: the name of the key of the gateway; empty without one.
    :ivar team: the team of the key.
    :ivar dialect: the API of the gateway, such as ``chat``; empty for calls from Python.
    :ivar model: the model as the sender named it, such as an alias.
    """

    caller: str = "local"
    key: str = ""
    team: str = ""
    dialect: str = ""
    model: str = ""


@attrs.frozen(kw_only=True)
class GuardSettings:
    """The keys of ``[guards.NAME]``.

    :ivar kind: what the guard detects: a built-in kind or that of a plugin.
    :ivar when: ``request`` checks requests to a provider, ``answer`` its answers, streamed or not.
    :ivar action: ``block`` ends the call, ``redact`` replaces each finding, ``flag`` only reports it.
    :ivar blocked: how a block is answered: ``error``, or ``refusal`` for an answer that the model refused.
    :ivar on_failure: what a guard does that fails or exceeds its time: ``block``, or ``pass`` to continue without it.
    :ivar timeout_s: seconds that one check by a service may take.
    :ivar restores: placeholders of a redacted request become the original text again in the answer.
    :ivar allow: texts that are no finding, such as the mail address of your support; upper and lower case are equal.
    :ivar models: model ids and aliases that the guard is for; ``*`` at the end matches every rest. Left out: all, as for the next three.
    :ivar keys: names of keys of the gateway.
    :ivar teams: teams of keys of the gateway.
    :ivar dialects: APIs of the gateway, such as ``chat``, ``messages``, ``responses`` and ``embeddings``.
    :ivar options: options of the kind.
    """

    kind: str
    when: tuple[Literal["request", "answer"], ...] = ("request", "answer")
    action: Literal["block", "redact", "flag"] = "block"
    blocked: Literal["error", "refusal"] = "error"
    on_failure: Literal["block", "pass"] = "block"
    timeout_s: float = attrs.field(default=2.0, validator=above_zero)
    restores: bool = True
    allow: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    options: Mapping[str, Any] = EMPTY

    def is_for(self, sender: GuardSender, model: str) -> bool:
        """Return whether the guard checks the requests of a sender to a model."""
        return (
            (not self.models or any(_matches(name, self.models) for name in (model, sender.model) if name))
            and (not self.keys or sender.key in self.keys)
            and (not self.teams or sender.team in self.teams)
            and (not self.dialects or sender.dialect in self.dialects)
        )


@attrs.frozen(kw_only=True)
class OpenGuard:
    """A guard of the configuration, opened.

    :ivar name: its name in the configuration.
    :ivar allowed: texts that are no finding, in lower case.
    """

    name: str
    settings: GuardSettings
    guard: Guard
    allowed: frozenset[str]

    @property
    def can_redact(self) -> bool:
        """Whether findings are replaced."""
        return self.settings.action == "redact"


def open_guards(
    tables: Mapping[str, Mapping[str, Any]], specs: Sequence[Contribution[GuardSpec]], services: GuardServices
) -> tuple[OpenGuard, ...]:
    """Open the guards of a configuration, in the order of their kinds, and of their tables within a kind.

    :raises ConfigError: with every mistake of all tables.
    """
    by_name = {each.value.name: each for each in specs}
    mistakes, found = list[Mistake](), list[tuple[int, OpenGuard]]()
    for name, table in tables.items():
        where = dotted(("guards", name))
        settings = _settings(name, table, mistakes)
        if settings is None:
            continue
        if not settings.when:
            mistakes.append(Mistake(f"{where}.when", "empty", "", "request, answer"))
        spec = by_name.get(settings.kind)
        if spec is None:
            problem = f"unknown kind of guard{did_you_mean(settings.kind, by_name)}"
            mistakes.append(Mistake(f"{where}.kind", problem, repr(settings.kind), ", ".join(by_name)))
            continue
        try:
            options: Any = read_options(settings.options, spec.value.options, "guards", name, "options")
            guard = _opened(spec, options, services)
        except ConfigError as exc:
            mistakes += _placed(exc.mistakes, f"{where}.options")
            continue
        allowed = frozenset(each.casefold() for each in settings.allow)
        found.append((spec.value.order, OpenGuard(name=name, settings=settings, guard=guard, allowed=allowed)))
    if mistakes:
        raise ConfigError(tuple(mistakes))
    return tuple(each for _, each in sorted(found, key=lambda pair: pair[0]))


def _settings(name: str, table: Mapping[str, Any], mistakes: list[Mistake]) -> GuardSettings | None:
    """The settings of a table, with defaults for wrong values, whose mistakes are added; ``None`` without a kind."""
    while True:
        try:
            return read_options(table, GuardSettings, "guards", name)
        except ConfigError as exc:
            mistakes += exc.mistakes
            wrong = {each.where.removeprefix(dotted(("guards", name)) + ".").split(".")[0] for each in exc.mistakes}
            rest = {key: value for key, value in table.items() if key not in wrong}
            if "kind" in wrong or len(rest) == len(table):
                return None
            table = rest


def _opened(spec: Contribution[GuardSpec], options: Any, services: GuardServices) -> Guard:
    try:
        guard: object = spec.value.open(options, services)
    except ConfigError:
        raise
    except Exception as exc:
        raise spec.fault(f"GuardSpec {spec.value.name!r} raised {type(exc).__name__}: {exc}") from exc
    if not isinstance(guard, Guard):
        raise spec.fault(f"GuardSpec {spec.value.name!r} returned {type(guard).__name__}, not a Guard")
    return guard


def _placed(mistakes: Iterable[Mistake], where: str) -> Iterable[Mistake]:
    for each in mistakes:
        is_placed = each.where.startswith(where)
        yield each if is_placed else attrs.evolve(each, where=f"{where}.{each.where}" if each.where else where)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in patterns)
