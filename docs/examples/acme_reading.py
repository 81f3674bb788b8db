"""Decoding for our model: its own reasoning tags, and objects with hash rockets."""

import re

from helmdeck_core import DecodeStep, ReasoningTag, hookimpl

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
