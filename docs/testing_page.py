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
    descriptions_of_names: Callable[[Any], dict[str, str]],
    public_names: Callable[[Any], dict[str, str]],
) -> list[str]:
    """Return the parts of the page."""
    import helmdeck_testing as testing

    values = {name: getattr(testing, name) for name in public_names(testing)}
    homes = [module for name, module in sorted(sys.modules.items()) if name.startswith(testing.__name__)]
    descriptions = {name: text for home in homes for name, text in descriptions_of_names(home).items()}
    modes = [
        (f"`{mode.name}`", mode.summary, f"`{mode.cause.value}`" if mode.cause else "none")
        for mode in testing.MODES.values()
    ]
    return [
        (
            "Import these names from `helmdeck_testing`. Only the contract and the fixtures require pytest; see "
            "[Test your plugin](../how-to/test-your-plugin.md)."
        ),
        "## Failure modes",
        "The behaviour of `failing_server` in each mode, whole and streamed, and the cause for a caller that expects a JSON object.",
        table(("mode", "description", "cause"), modes),
        "## Names",
        *(entry(name, values[name], descriptions) for name in sorted(values, key=str.casefold)),
    ]
