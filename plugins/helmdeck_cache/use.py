"""How one call uses the caches, and the outcome."""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class CacheOutcome:
    """What a cache did for a call.

    :ivar status: ``hit``: a stored answer; ``shared``: the answer of an equal call that was under way; ``miss`` and ``refresh``: the
        call made a request; ``skipped``: the call cannot use a cache.
    :ivar cache: the name of the cache that has the answer.
    :ivar age_s: seconds since the answer was stored.
    :ivar reason: why the call was skipped, or the answer is not stored.
    """

    status: Literal["hit", "shared", "miss", "refresh", "skipped"]
    cache: str = ""
    age_s: float = 0.0
    reason: str = ""

    def __str__(self) -> str:
        """The outcome as the value of a header, such as ``hit; age=12``."""
        text: str = self.status
        if self.status == "hit":
            text += f"; age={int(self.age_s)}" + (f"; cache={self.cache}" if self.cache != "exact" else "")
        return f"{text}; reason={self.reason}" if self.reason else text


@attrs.define(kw_only=True)
class CacheUse:
    """How one call uses the caches.

    :ivar tenant: whose answers may be returned, and who may get this one.
    :ivar reads: a stored answer is returned.
    :ivar stores: the answer is stored.
    :ivar max_age_s: the oldest answer to return, in seconds; ``None`` for no limit but that of the cache.
    :ivar outcome: the result; for a stream, known at its first chunk. ``None`` before.
    """

    tenant: str
    reads: bool = True
    stores: bool = True
    max_age_s: float | None = None
    outcome: CacheOutcome | None = None
