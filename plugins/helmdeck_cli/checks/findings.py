"""The findings of ``helmdeck doctor``."""

from __future__ import annotations

import enum

import attrs


class State(enum.StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@attrs.frozen
class Finding:
    """The result of one check.

    :ivar area: what was checked, such as ``provider``.
    :ivar subject: which one, such as the name of the provider.
    :ivar text: what was found.
    :ivar remedy: what to do; empty if nothing is to be done.
    """

    state: State
    area: str
    subject: str
    text: str
    remedy: str = ""


def ok(area: str, subject: str, text: str) -> Finding:
    """A check that found no problem."""
    return Finding(State.OK, area, subject, text)


def warn(area: str, subject: str, text: str, remedy: str) -> Finding:
    """A problem that does not prevent the use of Helmdeck."""
    return Finding(State.WARN, area, subject, text, remedy)


def fail(area: str, subject: str, text: str, remedy: str) -> Finding:
    """A problem that makes requests fail."""
    return Finding(State.FAIL, area, subject, text, remedy)
