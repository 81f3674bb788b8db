"""Says why an answer could not be read: the cause by the stop reason, the finer cause by the text."""

from __future__ import annotations

import re

import msgspec

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.errors import FailureClass

MAX_EXCERPT = 200

_CUT_SHORT = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED))
_FINISHED = frozenset((StopReason.END_TURN, StopReason.TOOL_CALL))

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

_MIN_LEAK_TOKENS = 64  # fewer are the control tokens of a template
_LEAK_BYTES = 2  # 71 bytes for 423 tokens is what was seen

_LOOP_WINDOW = 400
_LONGEST_TOKEN = 24
_MAX_INK = 20  # characters other than blanks in the window: a brace and a key, then nothing but blanks


def failure(
    stop: StopReason | None,
    sub_cause: str,
    text: str | bytes,
    *,
    is_empty: bool = False,
    shape: msgspec.ValidationError | None = None,
) -> DecodeFailed:
    """The failure for a text that gave no value."""
    path, expected, found = _shape_of(shape) if shape else ("", "", "")
    return DecodeFailed(cause_of(stop, is_empty=is_empty), sub_cause, is_empty, path, expected, found, excerpt_of(text))


def cause_of(stop: StopReason | None, *, is_empty: bool) -> FailureClass:
    """One of the four causes; ``None`` and a reason that nobody knows count as the same."""
    if stop is StopReason.SAFETY_BLOCKED:
        return FailureClass.SAFETY_FILTERED
    if stop in _CUT_SHORT:
        return FailureClass.LENGTH_TRUNCATED
    return FailureClass.LIKELY_TIMEOUT if is_empty else FailureClass.CONSTRAINED_DEADLOCK


def empty_sub_cause(stop: StopReason | None, text: str, *, has_reasoning: bool, is_unclosed: bool) -> str:
    """Why nothing visible was left."""
    if is_unclosed:
        return "unclosed_reasoning"
    if has_reasoning:
        return "only_reasoning"
    if loop := loop_of(text):
        return loop
    return "empty_though_finished" if stop in _FINISHED else "empty"


def loop_of(text: str) -> str:
    """How the text ends over and over, which is how constrained decoding runs dry: the sub-cause, empty for no loop."""
    if is_blank_loop(text):
        return "whitespace_loop"
    window = text[-_LOOP_WINDOW:]
    if len(window) < _LOOP_WINDOW:
        return ""
    if not any(window[size:] == window[:-size] for size in range(1, _LONGEST_TOKEN + 1)):
        return ""
    return "whitespace_loop" if window.isspace() else "repeated_token"


def is_blank_loop(text: str) -> bool:
    """Whether the text ends in nothing but blanks, up to a brace and a key among them."""
    window = text[-_LOOP_WINDOW:]
    return len(window) == _LOOP_WINDOW and len(window) - sum(map(window.count, " \t\r\n")) <= _MAX_INK


def is_leak(stop: StopReason | None, text: str, output_tokens: int) -> bool:
    """Whether a model finished after far more than the text holds: a token is a byte at least, and mostly three or four."""
    if stop not in _FINISHED or output_tokens < _MIN_LEAK_TOKENS:
        return False
    return _LEAK_BYTES * len(text.encode("utf-8", "surrogatepass")) < output_tokens


def excerpt_of(text: str | bytes) -> str:
    """The beginning of the text, with what cannot be printed, or cannot be seen, escaped."""
    head = text[:MAX_EXCERPT]
    if isinstance(head, bytes):
        head = head.decode("utf-8", "replace")
    if head.isprintable():
        return head
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in head)[:MAX_EXCERPT]


def _shape_of(error: msgspec.ValidationError) -> tuple[str, str, str]:
    """Where the shape is wrong, what was expected there and what was found."""
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
