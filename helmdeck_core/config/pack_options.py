"""The options of packs from ``[packs.options]``, typed, and the required ones that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helmdeck_core.config.structure import read_options
from helmdeck_core.config.types import Config
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.packs import Pack


def pack_options(config: Config, pack: Pack) -> Any:
    """Return the options of a pack, as its ``options_type``; ``None`` without one; raises ``ConfigError``."""
    table = config.packs.options.get(pack.options_table, EMPTY)
    return pack.options_type and read_options(table, pack.options_type, "packs", "options", pack.options_table)


def missing_options(config: Config, pack: Pack) -> Sequence[str]:
    """Return the options that are not configured and without which the pack cannot run."""
    return [name for name in pack.requires if not getattr(pack_options(config, pack), name)]
