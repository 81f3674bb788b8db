"""A decoder for servers that constrain every answer: strict JSON, no reasoning, no repairs."""

import msgspec

from helmdeck_core import Decoded, DecodeFailed, DecoderSpec, FailureClass, Stripped, hookimpl


class Strict:
    """Both a decoder and its stream stripper: nothing is removed, so there is no state."""

    def strip(self, text):
        return Stripped(text.strip())

    def has_reasoning(self, text):
        return False

    def stream(self, *, starts_in_reasoning=False):
        return self

    def feed(self, chunk):
        return chunk, ""

    def finish(self):
        return "", ""

    def decode(self, raw, type, stop=None, *, fits=None, output_tokens=0, tried=None):
        try:
            value = msgspec.json.decode(raw, type=type)
        except msgspec.DecodeError as exc:
            raise DecodeFailed(FailureClass.CONSTRAINED_DEADLOCK, "malformed", is_empty=not raw.strip()) from exc
        if fits is not None and not fits(value):
            raise DecodeFailed(FailureClass.CONSTRAINED_DEADLOCK, "wrong_shape")
        return Decoded(value, "strict")


@hookimpl
def helmdeck_decoders():
    """The decoder with the lowest order is used; the order of the built-in one is 0."""
    return [DecoderSpec(name="strict", open=lambda tags, steps, refusals: Strict(), order=-1)]
