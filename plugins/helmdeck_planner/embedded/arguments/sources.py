"""Where the values of a step come from besides its part: earlier parts, settings, background, the document, defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording


@attrs.frozen
class Earlier:
    """A part before the current one, with the arguments of its step; without any if it was not planned."""

    part: Part
    args: Mapping[str, Any]
    profile: Profile | None = None


@attrs.frozen
class Sources:
    """Where values come from besides the part itself.

    :ivar request: the whole request.
    :ivar earlier: the parts before, in order.
    :ivar settings: the parts that only state where the others act.
    :ivar background: the parts without a step that may state something for this one.
    :ivar is_chosen: the entry is chosen: what no rule uses is compared with its open inputs as well.
    :ivar drafts: what was drafted from these sources, since an entry is tried for a part by several rules.
    """

    request: str
    wording: Wording
    document: str = ""
    defaults: Mapping[str, Any] = attrs.Factory(dict)
    earlier: tuple[Earlier, ...] = ()
    settings: tuple[Part, ...] = ()
    background: tuple[Part, ...] = ()
    is_chosen: bool = False
    drafts: dict[tuple[int, int], Draft] = attrs.field(factory=dict, init=False, eq=False, repr=False)
