"""The hook of voice engines: an installed distribution adds an engine with an entry point of the group ``helmdeck_pack_av``.

An engine with the name of a built-in one replaces it. A plugin that cannot be loaded is left out; the error of an unknown engine
names it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import attrs
import pluggy

from helmdeck_core import EMPTY, did_you_mean

GROUP: Final = "helmdeck_pack_av"

voice_hookspec = pluggy.HookspecMarker(GROUP)
voice_hookimpl = pluggy.HookimplMarker(GROUP)


class VoiceError(Exception):
    """An engine cannot speak a text; the message contains the reason.

    :ivar is_invalid: the language or the voice is unknown, so that no later attempt can succeed.
    """

    def __init__(self, message: str, *, is_invalid: bool = False) -> None:
        super().__init__(message)
        self.is_invalid = is_invalid


@attrs.frozen(kw_only=True)
class Speech:
    """What an engine speaks.

    :ivar text: one or more sentences of plain text; never markup or an option, whatever it looks like.
    :ivar language: a language tag such as ``en`` or ``pt-br``.
    :ivar voice: a voice of the engine.
    :ivar options: ``[packs.options.av.engine_options]``.
    :ivar timeout_s: seconds for this text.
    """

    text: str
    language: str
    voice: str
    options: Mapping[str, Any] = EMPTY
    timeout_s: float = 600.0


@attrs.frozen(kw_only=True)
class VoiceEngine:
    """A voice engine.

    :ivar speak: writes the sound of a text to a file, in a format that ``ffmpeg`` reads; raises ``VoiceError``. Several texts are
        spoken at once. A run that is cancelled cancels it.
    :ivar voices: the voices of the first and the second host for a language.
    :ivar programs: programs that it runs, each with the command that installs it.
    """

    name: str
    speak: Callable[[Speech, Path], Awaitable[None]]
    voices: Callable[[str], tuple[str, str]]
    programs: Mapping[str, str] = EMPTY


class VoiceHooks:
    """The hook specification."""

    @voice_hookspec
    def voice_engines(self) -> Sequence[VoiceEngine]:
        """Return voice engines. The engine that is registered last under a name replaces earlier ones."""
        return ()


def find_engine(name: str) -> VoiceEngine:
    """Return an engine by its name.

    :raises VoiceError: no plugin contributes it.
    """
    engines, failures = _load()
    if name in engines:
        return engines[name]
    left_out = "".join(f"; left out: {failure}" for failure in failures)
    known = f"{did_you_mean(name, list(engines))}; engines: {', '.join(engines)}"
    raise VoiceError(f"no voice engine has the name {name!r}{known}{left_out}", is_invalid=True)


def _load() -> tuple[dict[str, VoiceEngine], list[str]]:
    """The engines by name, and what cannot be loaded."""
    from helmdeck_pack_av import espeak, speech_server

    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(VoiceHooks)
    engines: dict[str, VoiceEngine] = {}
    failures: list[str] = []
    built_in = [(module.__name__, lambda module=module: module) for module in (espeak, speech_server)]
    installed = [(point.name, point.load) for point in sorted(entry_points(group=GROUP), key=lambda each: each.name)]
    for name, load in [*built_in, *installed]:
        try:
            plugin = load()
            manager.register(plugin, name)
            manager.check_pending()
            others = [each for each in manager.get_plugins() if each is not plugin]
            for engine in (each for found in manager.subset_hook_caller("voice_engines", others)() for each in found):
                if not isinstance(engine, VoiceEngine):
                    raise TypeError(f"voice_engines returned {type(engine).__name__}, not VoiceEngine")
                engines[engine.name] = engine
        except Exception as exc:
            if manager.has_plugin(name):
                manager.unregister(name=name)
            failures.append(f"{name}: {type(exc).__name__}: {exc}")
    return engines, failures
