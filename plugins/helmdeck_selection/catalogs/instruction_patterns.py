"""Known forms of instructions that are hidden in descriptions of tools, as data. They find careless attackers, not careful ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helmdeck_core import InstructionPattern, hookimpl

_PATTERNS: Mapping[str, tuple[str, str]] = {
    "overrides": (
        "overrides instructions",
        r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|all|other|your)\b.{0,30}\b(?:instructions?|prompts?|rules|guidelines)\b",
    ),
    "secrecy": (
        "hides something from the user",
        r"\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|inform|notify|mention|telling|informing|notifying|mentioning|show|reveal)\b.{0,40}\b(?:the )?users?\b",
    ),
    "order": (
        "demands another call first",
        r"\b(?:before|prior to)\b.{0,20}\b(?:using|calling|running|invoking)\b.{0,40}\b(?:any|other|this|all)\b.{0,20}\btools?\b.{0,40}\b(?:call|read|run|use|invoke|execute|send)\b",
    ),
    "markup": (
        "marks itself as more important than its tool",
        r"<\s*/?\s*(?:important|system|instructions?|admin|secret|hidden)\s*>|\[\s*(?:system|inst|important)\s*\]|<\|im_start\|>",
    ),
    "secrets": (
        "asks for files with secrets",
        r"(?:~|/root|/home/\w+)/\.(?:ssh|aws|netrc|config|cursor|kube|docker)\b|\bid_rsa\b|/etc/(?:passwd|shadow)\b|\bauthorized_keys\b",
    ),
    "role": (
        "addresses the model",
        r"\b(?:you are now|from now on,? you|you must always|new instructions?\s*:|system prompt\s*:|as an ai\b)",
    ),
    "exfiltration": (
        "asks for data of the conversation",
        r"\b(?:include|append|send|pass|forward|attach)\b.{0,40}\b(?:conversation|chat history|system prompt|api keys?|credentials|environment variables)\b",
    ),
}
"""Reason and pattern by name."""


@hookimpl
def helmdeck_instruction_patterns() -> Sequence[InstructionPattern]:
    """The patterns."""
    return [
        InstructionPattern(name=name, pattern=pattern, reason=reason, order=number)
        for number, (name, (reason, pattern)) in enumerate(_PATTERNS.items())
    ]
