"""How our model writes: thoughts between its own marks, and objects with hash rockets."""

import re

from helmdeck_core import DecodeStep, ReasoningTag, hookimpl

# A key in quotes, then the rocket. Possessive, so that the time stays linear in the length of the text.
_ROCKET = re.compile(r'("(?:[^"\\]++|\\.)*+")\s*+=>')


def rockets(text):
    """Offer the text with ``"key" =>`` written as ``"key":``; offer nothing when there is none."""
    mended = _ROCKET.sub(r"\1:", text)
    if mended != text:
        yield mended


@hookimpl
def helmdeck_reasoning_tags():
    """Text between these marks was thought; a draft in it is never the answer."""
    return [ReasoningTag(name="acme.musing", open="<musing>", close=("</musing>",))]


@hookimpl
def helmdeck_decode_steps():
    """Tried only on answers that are not clean, before the steps that ship."""
    return [DecodeStep(name="acme.rockets", candidates=rockets, order=5)]
