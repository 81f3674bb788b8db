"""Decodes a response into a type that the decoder does not know itself, through plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from helmdeck_core.domain.answer_types import WrongShape
from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import Decoded, DecodeFailed

T = TypeVar("T")


def decode_parsed(
    decode: Callable[..., Decoded[Any]],
    raw: str | bytes,
    type: type[Any],
    stop: StopReason | None,
    parse: Callable[[Any], T] | None,
    fits: Callable[[T], bool] | None = None,
) -> Decoded[T]:
    """Decode the first object that matches ``type`` and that ``parse`` accepts.

    :param decode: ``Decoder.decode``.
    :param parse: as in ``AnswerFormat``; ``None`` returns the decoded value.
    :param fits: a further condition for the value.
    :raises DecodeFailed: there is no such value; where objects were rejected, it has the path and message of the first one.
    """
    if parse is None:
        return decode(raw, type, stop, fits=fits)
    values: list[T] = []
    problems: list[WrongShape] = []

    def accepts(data: Any) -> bool:
        try:
            value = parse(data)
        except WrongShape as exc:
            problems.append(exc)
            return False
        values.append(value)
        return fits is None or fits(value)

    try:
        decoded = decode(raw, type, stop, fits=accepts)
    except DecodeFailed as exc:
        if not problems or exc.sub_cause != "wrong_shape":
            raise
        raise attrs.evolve(exc, path=problems[0].path, expected=problems[0].message, found="") from problems[0]
    return Decoded(values[-1], decoded.step, decoded.repairs, decoded.reasoning)
