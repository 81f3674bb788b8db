"""What is asked of a model before it is put into words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog


@attrs.frozen
class CompletedStep:
    """A step that was run already.

    :ivar output: what it gave, as text; only its beginning goes into a prompt.
    """

    tool: str
    output: str = ""


@attrs.frozen(kw_only=True)
class Task:
    """Everything that a prompt is rendered from.

    :ivar name: ``plan``, ``route``, or the name of a pack.
    :ivar variant: the prompt variant that asks.
    :ivar catalog: the entries that the model gets to see, on their full data.
    :ivar shortlist: ids that are likely, best first; given where the catalog itself does not depend on the request.
    :ivar defaults: values that the caller usually gives, by input name.
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
