"""Tasks: the input of prompt rendering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog


@attrs.frozen
class CompletedStep:
    """A step that was executed.

    :ivar output: its output as text; only the start of it is part of a prompt.
    :ivar failure: cause and message where it failed; it may then be planned again.
    """

    tool: str
    output: str = ""
    failure: str = ""


@attrs.frozen(kw_only=True)
class Task:
    """The input of a prompt.

    :ivar name: ``plan``, ``route``, or the name of a pack.
    :ivar variant: the prompt variant.
    :ivar catalog: the entries in the prompt, with their full data.
    :ivar shortlist: ids that are likely, best first; given where the catalog itself does not depend on the request.
    :ivar defaults: usual values of the caller, by input name.
    :ivar learned: the names of defaults that come from the caller's history.
    :ivar chosen: the entry that a chooser chose, the only one in ``catalog``; empty where the model chooses.
    """

    name: str
    variant: str
    model: str
    request: str
    catalog: Catalog
    context: str = ""
    done: tuple[CompletedStep, ...] = ()
    defaults: Mapping[str, Any] = EMPTY
    shortlist: tuple[str, ...] = ()
    learned: frozenset[str] = frozenset()
    chosen: str = ""
