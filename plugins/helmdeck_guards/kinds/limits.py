"""Limits of size, and the tools that may be offered and called."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

import attrs

from helmdeck_core import ConfigError, Guard, GuardFinding, GuardServices, GuardSpec, Mistake


@attrs.frozen(kw_only=True)
class SizeOptions:
    """The options of ``size``.

    :ivar max_chars: characters of all texts of a request, or of an answer.
    """

    max_chars: int | None = None


def _open_size(options: SizeOptions, _: GuardServices) -> Guard:
    if not options.max_chars:
        raise ConfigError((Mistake("max_chars", "missing", "", "an integer above 0"),))
    return Guard(max_chars=options.max_chars)


@attrs.frozen(kw_only=True)
class ToolOptions:
    """The options of ``tools``.

    :ivar allow: names of tools, or patterns such as ``files_*``; left out: all that ``deny`` does not match.
    :ivar deny: the same for tools that are not allowed.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


def _open_tools(options: ToolOptions, _: GuardServices) -> Guard:
    if options == ToolOptions():
        raise ConfigError((Mistake("", "no tool is named", "", "allow, deny"),))

    def find_tool(name: str) -> GuardFinding | None:
        is_denied = any(fnmatchcase(name, each) for each in options.deny)
        if is_denied or (options.allow is not None and not any(fnmatchcase(name, each) for each in options.allow)):
            return GuardFinding("tool")
        return None

    return Guard(find_tool=find_tool)


SIZE: Final = GuardSpec(name="size", options=SizeOptions, open=_open_size, summary="limits of characters", order=30)
TOOLS: Final = GuardSpec(
    name="tools", options=ToolOptions, open=_open_tools, summary="tools that may be offered and called", order=50
)
