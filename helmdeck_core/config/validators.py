"""Validators of attrs classes that are read from a configuration."""

from __future__ import annotations

from typing import Any

import attrs


class Invalid(ValueError):
    """A value that does not have its type.

    :ivar problem: what is wrong.
    :ivar allowed: the values that are allowed.
    :ivar is_secret: the value may be a secret and is not repeated.
    :ivar field: the name of the field, for errors of validators.
    """

    def __init__(self, problem: str, allowed: str, *, is_secret: bool = False, field: str = "") -> None:
        super().__init__(problem)
        self.problem: str = problem
        self.allowed: str = allowed
        self.is_secret: bool = is_secret
        self.field: str = field


def above_zero(_: object, field: attrs.Attribute[Any], value: float | None) -> None:
    """Validator of attrs fields: a number above 0, or ``None``.

    :raises Invalid: it is 0 or less; ``read_options`` reports it with its place.

    >>> import attrs
    >>> from helmdeck_core import above_zero
    >>> @attrs.frozen
    ... class Options:
    ...     timeout_s: float | None = attrs.field(default=None, validator=above_zero)
    >>> Options(2.5)
    Options(timeout_s=2.5)
    """
    if value is not None and value <= 0:
        raise Invalid("not above 0", "a number above 0", field=field.name)


def non_empty(_: object, field: attrs.Attribute[Any], value: str) -> None:
    """Validator of attrs fields: a non-empty string.

    :raises Invalid: it is empty; ``read_options`` reports it with its place.

    >>> import attrs
    >>> from helmdeck_core import non_empty
    >>> @attrs.frozen
    ... class Options:
    ...     region: str = attrs.field(validator=non_empty)
    >>> Options("eu")
    Options(region='eu')
    """
    if not value.strip():
        raise Invalid("empty", "a non-empty string", field=field.name)


def zero_to_one(_: object, field: attrs.Attribute[Any], value: float | None) -> None:
    """Validator of attrs fields: a number from 0 to 1, such as a share or a probability, or ``None``.

    :raises Invalid: it is not; ``read_options`` reports it with its place.

    >>> import attrs
    >>> from helmdeck_core import zero_to_one
    >>> @attrs.frozen
    ... class Options:
    ...     threshold: float = attrs.field(default=0.5, validator=zero_to_one)
    >>> Options(0.9)
    Options(threshold=0.9)
    """
    if value is not None and not 0 <= value <= 1:
        raise Invalid("not between 0 and 1", "a number from 0 to 1", field=field.name)
