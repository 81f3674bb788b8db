"""Checks of text that a model wrote: endless loops, its size in tokens, and excerpts that are safe to show."""

from __future__ import annotations

CHARS_PER_TOKEN = 4
"""Prose and reasoning have about four characters a token; stopping too late costs less than stopping too early."""

MAX_EXCERPT = 200

_LOOP_WINDOW = 400
_LONGEST_UNIT = 100
"""Characters of a repeated unit: a token, or an item of a list. The window holds it four times, which items of a real list rarely are."""
_MAX_NON_SPACE = 20  # non-whitespace characters in the window: a brace and a key, then only whitespace


def loop_of(text: str) -> str:
    r"""The sub-cause if the text ends in a repetition, a failure mode of constrained decoding; empty if it does not.

    >>> from helmdeck_core import loop_of
    >>> loop_of('{"text": "' + " \n" * 500)
    'whitespace_loop'
    >>> loop_of('{"text": "an answer"}')
    ''
    """
    if is_blank_loop(text):
        return "whitespace_loop"
    window = text[-_LOOP_WINDOW:]
    if len(window) < _LOOP_WINDOW:
        return ""
    if not any(window[size:] == window[:-size] for size in range(1, _LONGEST_UNIT + 1)):
        return ""
    return "whitespace_loop" if window.isspace() else "repeated_token"


def tokens_of(text: str) -> int:
    """Return about how many output tokens a text was, where the provider did not report it."""
    return -(-len(text) // CHARS_PER_TOKEN)


def is_blank_loop(text: str) -> bool:
    """Whether the text ends in whitespace, apart from at most a brace and a key."""
    window = text[-_LOOP_WINDOW:]
    return len(window) == _LOOP_WINDOW and len(window) - sum(map(window.count, " \t\r\n")) <= _MAX_NON_SPACE


def excerpt_of(text: str | bytes) -> str:
    r"""The start of the text, with non-printable and invisible characters escaped.

    >>> from helmdeck_core import excerpt_of
    >>> excerpt_of("one line\nand a zero width space\u200b")
    'one line\\nand a zero width space\\u200b'
    """
    head = text[:MAX_EXCERPT]
    if isinstance(head, bytes):
        head = head.decode("utf-8", "replace")
    if head.isprintable():
        return head
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in head)[:MAX_EXCERPT]
