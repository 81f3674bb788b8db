"""What happens during a call, as typed values for event sinks. No event holds a prompt, an answer or a secret."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from helmdeck_core.domain.catalog import TrimRecord
from helmdeck_core.domain.chat import StopReason, Usage
from helmdeck_core.domain.models import Tier
from helmdeck_core.errors import FailureClass


@attrs.frozen(kw_only=True)
class CatalogSelected:
    """A catalog was fitted to a model.

    :ivar confidence: 0 to 1; ``None`` when nothing had to be ranked.
    """

    caller: str
    model: str
    tier: Tier
    record: TrimRecord
    confidence: float | None = None


@attrs.frozen(kw_only=True)
class InvariantRestored:
    """A trim step cut a field of the dispatch graph, and the field was put back."""

    step: str
    field: str
    plugin: str
    entry: str


@attrs.frozen(kw_only=True)
class StopReasonUnknown:
    """A provider stopped for a reason that no table knows; sent once per provider, model and reason."""

    provider: str
    model: str
    raw: str


@attrs.frozen(kw_only=True)
class CallFinished:
    """A model call gave a usable answer."""

    caller: str
    model: str
    served_model: str
    variant: str
    stop_reason: StopReason
    raw_stop_reason: str | None
    usage: Usage
    cached_cost_usd: float | None
    latency_s: float
    decode_step: str
    repairs: tuple[str, ...]


@attrs.frozen(kw_only=True)
class CallGaveUp:
    """A model call ended without a usable answer."""

    caller: str
    model: str
    cause: FailureClass
    sub_cause: str
    raw_stop_reason: str | None
    raw_length: int
    latency_s: float


@attrs.frozen(kw_only=True)
class HistoryFailed:
    """A record of a plan could not be kept; the plan itself is not affected."""

    caller: str
    detail: str


Event = HistoryFailed | CatalogSelected | InvariantRestored | StopReasonUnknown | CallFinished | CallGaveUp


@attrs.frozen(kw_only=True)
class EventSink:
    """A receiver of events.

    :ivar handle: called in the thread of the call, in the order of what happened; quick, and what it raises is not
        swallowed: it surfaces as ``PluginError``.
    :ivar is_active: asked once, when plugins are resolved; an inactive sink costs nothing afterwards.
    """

    name: str
    handle: Callable[[Event], None]
    is_active: Callable[[], bool] = lambda: True
    order: int = 0
