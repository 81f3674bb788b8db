"""The options ``[packs.options.av]`` of the packs that make sound and film."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from helmdeck_core import EMPTY, above_zero, non_empty

TABLE: Final = "av"


@attrs.frozen(kw_only=True)
class AvOptions:
    """Options of ``[packs.options.av]``.

    :ivar engine: name of the voice engine.
    :ivar voices: voices of the first and the second host, as the engine calls them; empty for those that the engine chooses.
    :ivar engine_options: options of the engine, such as the URL of a speech server.
    :ivar cache_bytes: limit of the spoken clips that are kept between runs; 0 keeps none.
    :ivar timeout_s: seconds for each program and each request to a speech server.
    """

    engine: str = attrs.field(default="espeak-ng", validator=non_empty)
    voices: tuple[str, ...] = ()
    engine_options: Mapping[str, Any] = EMPTY
    cache_bytes: int = 500_000_000
    timeout_s: float = attrs.field(default=600.0, validator=above_zero)
