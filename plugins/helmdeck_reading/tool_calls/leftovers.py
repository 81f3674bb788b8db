"""Removes what servers and models leave at the end of a text: stop tokens and results of tools."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ToolCallFormat


def without_leftovers(text: str, leftovers: Sequence[ToolCallFormat]) -> str:
    """Remove leftover tokens and blocks at the end of the text only."""
    end = len(text)
    while (start := _start_of_leftover(text, _end_of_text(text, end), leftovers)) is not None:
        end = start
    return text if end == len(text) else text[:end].rstrip()


def _start_of_leftover(text: str, end: int, leftovers: Sequence[ToolCallFormat]) -> int | None:
    """The start of the leftover that ends at ``end``."""
    for call_format in leftovers:
        for mark, last in zip(call_format.open, call_format.close or call_format.open, strict=False):
            if text[max(0, end - len(last)) : end].lower() != last.lower():
                continue
            start = text.rfind(mark.removesuffix(">"), 0, end) if call_format.close else end - len(last)
            if start >= 0:
                return start
    return None


def _end_of_text(text: str, end: int) -> int:
    """The end of the text before ``end`` without trailing whitespace."""
    while end and text[end - 1].isspace():
        end -= 1
    return end
