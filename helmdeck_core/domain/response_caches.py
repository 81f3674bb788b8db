"""Response caches: answers of earlier calls that are returned again; and the events of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.event_base import CallRef, EventBase


@attrs.frozen(kw_only=True)
class CacheQuery:
    """A request, as response caches see it.

    :ivar tenant: an answer is returned only to the tenant that it was stored for.
    :ivar key: a digest of everything that the answer depends on; two requests with the same key are the same request.
    :ivar scope: a digest of the same without ``text``: model, settings, tools, and all other messages.
    :ivar text: the text of the last message, if that is a message of the user without images; otherwise empty.
    :ivar max_age_s: the oldest answer to return, in seconds; ``None`` for no limit but the cache's own.

    >>> from helmdeck_core import CacheQuery, ChatRequest
    >>> request = ChatRequest(model="acme/large", messages=())
    >>> CacheQuery(tenant="ann", key="0" * 64, scope="", text="", request=request).max_age_s is None
    True
    """

    tenant: str
    key: str
    scope: str
    text: str
    request: ChatRequest = attrs.field(repr=False)
    max_age_s: float | None = None


@attrs.frozen(kw_only=True)
class CachedAnswer:
    """A stored answer.

    :ivar response: the response, without the attempts of its call.
    :ivar model: the id of the model that answered.
    :ivar cost_usd: what the call cost; ``None`` if a price is unknown.
    :ivar stored_s: when it was stored, in seconds since 1970.
    """

    response: ChatResponse
    model: str
    cost_usd: float | None
    stored_s: float


class ResponseCache(Protocol):
    """A cache of one deck or gateway. Its methods are called on the event loop; a failure is counted, and fails no call."""

    async def find(self, query: CacheQuery) -> CachedAnswer | None:
        """Return the answer to a request; ``None`` if there is none."""
        ...

    async def keep(self, query: CacheQuery, answer: CachedAnswer) -> None:
        """Store the answer to a request, in place of an earlier one."""
        ...

    async def clear(self, tenant: str | None = None) -> int:
        """Delete the answers of a tenant, or of all; return how many."""
        ...

    async def stats(self) -> Mapping[str, int]:
        """Return figures by name, such as ``answers`` and ``bytes``."""
        ...

    async def aclose(self) -> None:
        """Close what it opened; idempotent."""
        ...


@attrs.frozen(kw_only=True)
class CacheSetup:
    """What a cache is opened with.

    :ivar settings: the ``CacheSettings`` of ``helmdeck_cache``.
    :ivar options: ``[cache.options.NAME]``, as the spec's ``options_type``; ``None`` without one.
    """

    settings: Any
    options: Any = None


@attrs.frozen(kw_only=True)
class ResponseCacheSpec:
    """A kind of response cache.

    :ivar name: a value of ``caches`` in ``[cache]``.
    :ivar open: opens the cache.
    :ivar options_type: an attrs class whose fields are the options of the cache.
    """

    name: str
    open: Callable[[CacheSetup], ResponseCache]
    options_type: type[Any] | None = None
    summary: str = ""
    order: int = 0


@attrs.frozen(kw_only=True)
class AnswerReused(CallRef):
    """A call was answered without a request to a provider.

    :ivar model: the model that gave the answer.
    :ivar cache: the name of the cache; ``shared`` for the answer of an equal call that was under way.
    :ivar age_s: seconds since the answer was stored.
    :ivar saved_usd: what the first call cost in US dollars; ``None`` if a price is unknown.
    """

    model: str
    cache: str
    age_s: float
    saved_usd: float | None


@attrs.frozen(kw_only=True)
class CacheMissed(EventBase):
    """A call that may use response caches makes a request.

    :ivar model: the requested model.
    :ivar reason: ``absent``, or ``refresh`` if the caller requested a new answer.
    """

    model: str
    reason: str


@attrs.frozen(kw_only=True)
class CacheFailed(EventBase):
    """A response cache failed; the call continues without it.

    :ivar cache: the name of the cache.
    :ivar action: ``find`` or ``keep``.
    :ivar detail: the reason.
    """

    cache: str
    action: str
    detail: str
