"""The reference page of ``helmdeck_testing``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Entry = Callable[[str, Any, Mapping[str, str]], str]
Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]


def parts(
    entry: Entry,
    table: Table,
    said_of_names: Callable[[Any], dict[str, str]],
    public_names: Callable[[Any], dict[str, str]],
) -> list[str]:
    """The page without its head."""
    import helmdeck_testing as testing

    values = {name: getattr(testing, name) for name in public_names(testing)}
    homes = [module for name, module in sorted(sys.modules.items()) if name.startswith(testing.__name__)]
    said = {name: text for home in homes for name, text in said_of_names(home).items()}
    modes = [
        (f"`{mode.name}`", mode.summary, f"`{mode.cause.value}`" if mode.cause else "none")
        for mode in testing.MODES.values()
    ]
    return [
        (
            "Imported from `helmdeck_testing`, which needs no pytest but for the contract and the fixtures; see "
            "[how to test a plugin](../how-to/test-your-plugin.md)."
        ),
        "## Ways of failing",
        "What `failing_server` does in each mode, whole and as a stream, and what that is for whoever wanted an object of JSON.",
        table(("mode", "what happens", "cause"), modes),
        "## Names",
        *(entry(name, values[name], said) for name in sorted(values, key=str.casefold)),
    ]
