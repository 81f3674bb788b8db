"""Tasks: the structured input of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog


@attrs.frozen
class CompletedStep:
    """An executed step.

    :ivar output: its output as text; prompts contain only the start of it.
    """

    tool: str
    output: str = ""


@attrs.frozen(kw_only=True)
class Task:
    """The input of a prompt.

    :ivar name: ``plan``, ``route``, or the name of a pack.
    :ivar variant: the prompt variant.
    :ivar catalog: the entries in the prompt, untrimmed.
    :ivar shortlist: ids of likely entries, best first; set if the catalog does not depend on the request.
    :ivar defaults: default values by input name.
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
