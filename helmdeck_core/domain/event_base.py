"""The base classes of events: names, and the place of an event within a call."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import attrs


class EventBase:
    """Base class of events. ``name`` is the class name in snake case, such as ``stop_reason_observed``."""

    __slots__ = ()
    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.name = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()


@attrs.frozen(kw_only=True)
class CallRef(EventBase):
    """Identifies a call and one of its attempts.

    :ivar call_id: the id that all events of a call share.
    :ivar pack: the pack that made the call.
    :ivar caller: the caller of the pack.
    :ivar attempt: 1 for the first.
    """

    call_id: str
    pack: str
    caller: str
    attempt: int = 1

    @property
    def place(self) -> dict[str, Any]:
        """These fields, for other events of the same attempt."""
        return {"call_id": self.call_id, "pack": self.pack, "caller": self.caller, "attempt": self.attempt}
