"""Types of answers: the JSON Schema that a Python type stands for, and how a decoded value becomes a value of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs

T = TypeVar("T")


class WrongShape(ValueError):
    """A decoded value does not match the type.

    :param path: where, such as ``$.items[0].price``.
    :param message: what is wrong there; it may contain text of the model.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path: str = path
        self.message: str = message


@attrs.frozen(kw_only=True)
class AnswerFormat(Generic[T]):
    """How answers of one type are requested and read.

    :ivar schema: the JSON Schema that the model receives; an object at its root, as most providers require.
    :ivar decode_as: the type that the decoder reads: ``dict``, or a type that the decoder knows.
    :ivar parse: returns the value for what the decoder read; ``None`` if that is the value already. It raises
        ``WrongShape``.
    :ivar wraps: the value is in the field ``value`` of the object, because it is not an object itself. An answer that is
        the bare value is accepted too.
    :ivar bare: the type that the decoder reads without the object; ``None`` if it cannot.
    """

    schema: Mapping[str, Any]
    decode_as: type[Any]
    parse: Callable[[Any], T] | None = None
    wraps: bool = False
    bare: Any = None


@attrs.frozen(kw_only=True)
class AnswerType:
    """One kind of types that ``ask`` and ``decode`` accept.

    :ivar name: unique; contributing the same name again replaces it.
    :ivar description: for messages, such as ``Pydantic models``.
    :ivar format_of: returns the format of a type; ``None`` if the type is of another kind.
    :ivar order: kinds are tried in ascending order.
    """

    name: str
    description: str
    format_of: Callable[[Any], AnswerFormat[Any] | None]
    order: int = 0
