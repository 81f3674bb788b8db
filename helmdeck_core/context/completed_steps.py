"""Checks the steps that a caller reports as executed; a misspelt one would be planned again."""

from __future__ import annotations

from collections.abc import Iterable

from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.plans import PIPELINE_RUN, UNKNOWN_TOOL
from helmdeck_core.domain.tasks import CompletedStep
from helmdeck_core.errors import PackError, PackErrorCode
from helmdeck_core.suggestions import did_you_mean, nearest_names


def check_completed(pack: str, done: Iterable[CompletedStep], catalog: Catalog) -> None:
    """Check that every executed step is one that a plan over the catalog can have; a gap of a plan is one too.

    :param pack: the pack that plans, for the error.
    :raises PackError: ``invalid_input``, with the most similar ids.
    """
    ids = [entry.id for entry in catalog.entries]
    for step in done:
        # Of steps of another type, the pack reports what they must be.
        tool = getattr(step, "tool", None)
        if isinstance(tool, str) and tool not in (PIPELINE_RUN, UNKNOWN_TOOL) and catalog.get(tool) is None:
            known = nearest_names(tool, ids, more="`helmdeck catalog show`") or "none"
            detail = f"done: the catalog has no entry {tool!r}{did_you_mean(tool, ids)}; entries: {known}"
            raise PackError(pack, PackErrorCode.INVALID_INPUT, detail)
