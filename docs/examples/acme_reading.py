"""Decoding for our model: its own reasoning tags, objects with hash rockets, and how it refuses in Dutch."""

import re

from helmdeck_core import DecodeStep, ReasoningTag, RefusalPattern, hookimpl

# A quoted key, then the rocket. Possessive quantifiers keep the time linear in the length of the text.
_ROCKET = re.compile(r'("(?:[^"\\]++|\\.)*+")\s*+=>')


def rockets(text):
    """Yield the text with ``"key" =>`` replaced by ``"key":``, or nothing if it has no rockets."""
    repaired = _ROCKET.sub(r"\1:", text)
    if repaired != text:
        yield repaired


@hookimpl
def helmdeck_reasoning_tags():
    """Text between these tags is reasoning; a draft in it is never the answer."""
    return [ReasoningTag(name="acme.musing", open="<musing>", close=("</musing>",))]


@hookimpl
def helmdeck_decode_steps():
    """Run before the built-in steps, on responses that do not decode as they are."""
    return [DecodeStep(name="acme.rockets", candidates=rockets, order=5)]


@hookimpl
def helmdeck_refusal_patterns():
    """Match the start of a sentence, case-insensitive; an answer without a value that refuses is reported as such."""
    return [RefusalPattern(language="nl", pattern=r"(?:het spijt me|helaas),? (?:maar )?ik kan .{0,40}niet")]
