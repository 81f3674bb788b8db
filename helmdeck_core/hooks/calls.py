"""Calls hooks; errors name the plugin. The only module that uses ``pm.hook``."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

import attrs

from helmdeck_core.errors import ConfigError, HelmdeckError, PluginConflictError, PluginError
from helmdeck_core.hooks.foreign_code import describe_error, run_foreign
from helmdeck_core.hooks.manager import Plugins
from helmdeck_core.hooks.type_check import misfit
from helmdeck_core.redaction import Secrets, without

T = TypeVar("T")
R = TypeVar("R")


@cache
def passed_on() -> tuple[type[BaseException], type[BaseException], type[BaseException], type[ConfigError]]:
    """What is not a fault of the plugin that raises it: the end of the call, and mistakes of the configuration that it reads."""
    import asyncio  # takes a tenth of the start-up of a command, and most commands that only print need none of it

    return (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, ConfigError)


@attrs.frozen
class Contribution(Generic[T]):
    """A contributed value and its plugin.

    :ivar replaced: the plugin whose value of the same name this one replaces.
    :ivar hook: the hook that contributed it.
    :ivar distribution: the distribution of the plugin.
    """

    plugin: str
    value: T
    replaced: str | None = None
    hook: str = ""
    distribution: str | None = None

    def fault(self, detail: str) -> PluginError:
        """Return an error that names the plugin, its distribution, and how to disable it."""
        return PluginError(self.plugin, self.hook, detail, self.distribution)

    @contextlib.contextmanager
    def faults(self, what: str = "") -> Iterator[None]:
        """Turn an exception of the block into an error that names the plugin; ``what`` is the start of its detail."""
        try:
            yield
        except passed_on():
            raise
        except BaseException as exc:
            raise self.fault(f"{what}{describe_error(exc)}") from exc

    def crash(self, what: str, exc: BaseException, secrets: Secrets) -> PluginError:
        """Return the error for an exception of a plugin that received secrets, with the secrets redacted.

        The traceback is added as a note. The exception is not chained, since variables of its frames may contain secrets;
        so raise the error outside the ``except`` block.
        """
        fault = self.fault(without(secrets, f"{what} {describe_error(exc)}"))
        fault.add_note(without(secrets, "".join(traceback.format_exception(exc)).rstrip()))
        return fault


def collect(
    plugins: Plugins, hook: str, value_type: type[T], errors: list[PluginError] | None = None
) -> tuple[Contribution[T], ...]:
    """Call a contribution, one plugin at a time, and return the values by ``order`` and name.

    :param errors: a list that receives the errors instead of raising the first one. The values of a plugin that failed, and
        names that two plugins claim, are left out.
    :raises PluginError: a plugin raised, wrapped the hook, or did not return a sequence of the type.
    :raises PluginConflictError: two plugins that are not built in contribute one name.
    """
    found: dict[str, Contribution[T]] = {}
    claimed: set[str] = set()
    for impl in getattr(plugins.pm.hook, hook).get_hookimpls():
        try:
            values = _values_of(plugins, impl, hook, value_type)
        except PluginError as exc:
            if errors is None:
                raise
            errors.append(exc)
            continue
        owner, distribution = impl.plugin_name, plugins.distribution(impl.plugin_name)
        for value in values:
            name = str(getattr(value, "name"))
            before = found.get(name)
            if before is not None and not plugins.is_builtin(before.plugin):
                what = f"{value_type.__name__} {name!r}"
                conflict = PluginConflictError(owner, hook, what, distribution, before.plugin, value_name=name)
                if errors is None:
                    raise conflict
                errors.append(conflict)
                claimed.add(name)
                continue
            replaced = before.plugin if before else None
            found[name] = Contribution(owner, value, replaced, hook, distribution)
    values_by_order = (contribution for name, contribution in found.items() if name not in claimed)
    return tuple(sorted(values_by_order, key=lambda o: (getattr(o.value, "order"), getattr(o.value, "name"))))


_CALLED_BY_NAME = ("helmdeck_packs",)
"""Hooks whose values models and command lines call by name."""


def _values_of(plugins: Plugins, impl: Any, hook: str, value_type: type[T]) -> Sequence[T]:
    """Call one implementation and check the values that it returns; those of built-ins are checked by the tests."""
    owner = impl.plugin_name
    if impl.hookwrapper or impl.wrapper:
        raise _failed(plugins, owner, hook, "a contribution cannot be wrapped; contribute separate values")
    try:
        values: Sequence[T] = (
            run_foreign(impl.function, plugins.limit_s) if plugins.is_optional(owner) else impl.function()
        )
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise _failed(plugins, owner, hook, describe_error(exc)) from exc
    if plugins.is_builtin(owner):
        return values
    checked = _checked(plugins, owner, hook, values, value_type)
    names: set[str] = set()
    for value in checked:
        if (name := str(getattr(value, "name"))) in names:
            raise _failed(plugins, owner, hook, f"contributes {name!r} twice")
        if hook in _CALLED_BY_NAME and (not name or any(char.isspace() or not char.isprintable() for char in name)):
            detail = (
                f"the name {name!r} is empty, or has whitespace or control characters; a name is such as ticket.triage"
            )
            raise _failed(plugins, owner, hook, detail)
        names.add(name)
    return checked


def _checked(plugins: Plugins, owner: str, hook: str, values: Any, value_type: type[T]) -> Sequence[T]:
    if not isinstance(values, (list, tuple)):
        raise _failed(
            plugins, owner, hook, f"returned {type(values).__name__}, not a sequence of {value_type.__name__}"
        )
    for value in values:
        if not isinstance(value, value_type):
            raise _failed(plugins, owner, hook, f"returned a {type(value).__name__} among the {value_type.__name__}s")
        if (problem := misfit(value)) is not None:
            raise _failed(plugins, owner, hook, f"{value_type.__name__} {getattr(value, 'name', '?')!r}: {problem}")
    return values


def attributed(
    contribution: Contribution[T],
    function: Callable[..., R],
    returns: type[R],
    not_faults: tuple[type[BaseException], ...] = (),
) -> Callable[..., R]:
    """Wrap a function of a contributed value: errors and wrong return types name its plugin.

    :param not_faults: exceptions that are caused by the input, and not by the plugin.
    """
    label = f"{type(contribution.value).__name__} {getattr(contribution.value, 'name', '?')!r}"
    raised_as_is: tuple[type[BaseException], ...] = (HelmdeckError, *passed_on(), *not_faults)

    def call(*arguments: Any, **named: Any) -> R:
        try:
            result = function(*arguments, **named)
        except raised_as_is:
            raise
        except BaseException as exc:
            raise contribution.fault(f"{label} raised {describe_error(exc)}") from exc
        if not isinstance(result, returns):
            raise contribution.fault(f"{label} returned {type(result).__name__}, not {returns.__name__}")
        return result

    return call


def implementations(plugins: Plugins, hook: str) -> tuple[str, ...]:
    """The plugins that implement a hook, in the order of registration."""
    return tuple(str(impl.plugin_name) for impl in getattr(plugins.pm.hook, hook).get_hookimpls())


def look_up(plugins: Plugins, hook: str, value_type: type[T], **arguments: Any) -> tuple[T, str] | None:
    """Call a lookup; return the answer and its plugin, or ``None`` without an answer.

    :raises PluginError: a plugin raised, or the answer is not of the type.
    """
    caller = getattr(plugins.pm.hook, hook)
    impls = caller.get_hookimpls()
    answer, owner = None, "?"
    if any(impl.wrapper or impl.hookwrapper for impl in impls):
        # Wrappers need a call by pluggy; the result is attributed to the wrapper.
        owner = next(str(impl.plugin_name) for impl in reversed(impls) if impl.wrapper or impl.hookwrapper)
        try:
            answer = caller(**arguments)
        except passed_on():
            raise
        except BaseException as exc:
            raise _failed(plugins, _culprit(impls, exc), hook, describe_error(exc)) from exc
    else:
        for impl in reversed(impls):
            owner = str(impl.plugin_name)
            try:
                answer = impl.function(*(arguments[name] for name in impl.argnames))
            except KeyboardInterrupt:
                raise
            except BaseException as exc:
                raise _failed(plugins, owner, hook, describe_error(exc)) from exc
            if answer is not None:
                break
    if answer is None:
        return None
    if not isinstance(answer, value_type):
        raise _failed(plugins, owner, hook, f"answered with {type(answer).__name__}, not {value_type.__name__}")
    return answer, owner


def _culprit(impls: Sequence[Any], exc: BaseException) -> str:
    """The plugin whose function is deepest in the traceback."""
    codes = {impl.function.__code__: impl.plugin_name for impl in impls if hasattr(impl.function, "__code__")}
    culprit, frame = "?", exc.__traceback__
    while frame is not None:
        culprit = codes.get(frame.tb_frame.f_code, culprit)
        frame = frame.tb_next
    return str(culprit)


def _failed(plugins: Plugins, owner: str, hook: str, detail: str) -> PluginError:
    return PluginError(owner, hook, detail, plugins.distribution(owner))
