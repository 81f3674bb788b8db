"""Decodes JSON in model text: strips reasoning, finds the value, and diagnoses a text without one.

``json_decoder`` is the way in; repairs are decode steps of ``helmdeck_reading.json_repair``.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Decoder, DecoderSpec, DecodeStep, ReasoningTag, RefusalPattern, hookimpl


def open_decoder(
    tags: Sequence[ReasoningTag], steps: Sequence[DecodeStep], refusals: Sequence[RefusalPattern]
) -> Decoder:
    """Open the decoder."""
    from helmdeck_reading.decoder.json_decoder import JsonDecoder

    return JsonDecoder(tags, steps, refusals)


@hookimpl
def helmdeck_decoders() -> Sequence[DecoderSpec]:
    """The decoder of JSON."""
    return [DecoderSpec(name="json", open=open_decoder)]
