"""Diagnoses a text without a value: where its shape is wrong, and whether reasoning is hidden."""

from __future__ import annotations

import re

import attrs
import msgspec

from helmdeck_core import DecodeFailed, StopReason, undecodable

FINISHED = frozenset((StopReason.END_TURN, StopReason.TOOL_CALL))
"""Stop reasons of a model that ended its turn by itself."""

_SHAPE_ERROR = re.compile(
    r"""
    (?: Expected [ ] (?P<expected> .+? ) (?: , [ ] got [ ] (?P<found> .+? ) )?
      | Object [ ] missing [ ] required [ ] field [ ] `(?P<missing> [^`]+ )`
      | Object [ ] contains [ ] unknown [ ] field [ ] `(?P<unknown> [^`]+ )`
      | (?P<other> .+? )
    )
    (?: [ ] - [ ] at [ ] (?:key [ ] in [ ])? `(?P<path> [^`]+ )` )?
    """,
    re.VERBOSE | re.DOTALL,
)

_MIN_LEAK_TOKENS = 64  # fewer may be the template's control tokens
_LEAK_BYTES = 2  # observed: 71 bytes for 423 tokens


def wrong_shape(stop: StopReason | None, text: str, error: msgspec.ValidationError | None) -> DecodeFailed:
    """Build the failure for a value that has not the requested shape."""
    failure = undecodable(stop, "wrong_shape", text)
    if error is None:
        return failure
    path, expected, found = _shape_of(error)
    return attrs.evolve(failure, path=path, expected=expected, found=found)


def is_leak(stop: StopReason | None, text: str, output_tokens: int) -> bool:
    """Whether a finished model generated far more tokens than the text holds; a token is mostly three or four bytes."""
    if stop not in FINISHED or output_tokens < _MIN_LEAK_TOKENS:
        return False
    return _LEAK_BYTES * len(text.encode("utf-8", "surrogatepass")) < output_tokens


def _shape_of(error: msgspec.ValidationError) -> tuple[str, str, str]:
    """The path of a validation error, the expected and the actual value."""
    match = _SHAPE_ERROR.fullmatch(str(error))
    if match is None:
        return "$", "another value", str(error)
    path = match["path"] or "$"
    if match["missing"]:
        return f"{path}.{match['missing']}", "a required field", "nothing"
    if match["unknown"]:
        return f"{path}.{match['unknown']}", "no such field", "a value"
    if match["expected"]:
        return path, match["expected"].replace("`", ""), (match["found"] or "another value").replace("`", "")
    return path, "an allowed value", match["other"]
