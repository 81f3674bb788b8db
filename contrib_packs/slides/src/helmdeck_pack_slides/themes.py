"""The themes: colours and fonts. ``[packs.options.slides.themes.NAME]`` adds a theme, or replaces one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs


def _colour(default: str) -> str:
    colour: str = attrs.field(default=default, validator=attrs.validators.matches_re(r"#[0-9A-Fa-f]{6}"))
    return colour


@attrs.frozen(kw_only=True)
class Theme:
    """Colours as ``#rrggbb``, and a font that is not embedded.

    The series colours of both built-in themes are the palette of Okabe and Ito (2008) for colour-blind readers, some of them darker
    or lighter, so that each has a contrast of 3:1 or more to its background.

    :ivar background: of every slide.
    :ivar text: of bullets and tables.
    :ivar title: of titles.
    :ivar muted: of slide numbers and labels of axes.
    :ivar accent: of the bar beside titles, bullets and the head of tables.
    :ivar on_accent: of text on the accent colour.
    :ivar band: behind every second row of a table.
    :ivar font: a font family that viewers have or replace; texts are fitted for Arial, Liberation Sans and DejaVu Sans.
    :ivar series: of the series of charts, in order.
    """

    background: str = _colour("#FFFFFF")
    text: str = _colour("#1F2933")
    title: str = _colour("#12355B")
    muted: str = _colour("#5F6B76")
    accent: str = _colour("#0072B2")
    on_accent: str = _colour("#FFFFFF")
    band: str = _colour("#EEF3F8")
    font: str = attrs.field(default="Arial", validator=attrs.validators.matches_re(r"[\w .-]+"))
    series: tuple[str, ...] = attrs.field(
        default=("#0072B2", "#D55E00", "#007A5A", "#A8558A", "#3A8FBF", "#9A6B00"),
        validator=attrs.validators.and_(
            attrs.validators.min_len(1),
            attrs.validators.deep_iterable(attrs.validators.matches_re(r"#[0-9A-Fa-f]{6}")),
        ),
    )


LIGHT: Final = Theme()

DARK: Final = Theme(
    background="#14202E",
    text="#E6EDF3",
    title="#FFFFFF",
    muted="#A9B8C6",
    accent="#56B4E9",
    on_accent="#0B1622",
    band="#1E2E40",
    series=("#56B4E9", "#E69F00", "#2FBF95", "#F0E442", "#E08FBB", "#FF8A3D"),
)

THEMES: Final[Mapping[str, Theme]] = {"light": LIGHT, "dark": DARK}


@attrs.frozen(kw_only=True)
class SlideOptions:
    """Options of ``[packs.options.slides]``.

    :ivar themes: by name; settings that a theme leaves out are those of ``light``.
    """

    themes: Mapping[str, Theme] = {}

    def theme(self, name: str) -> Theme | None:
        """Return a theme; ``None`` if it is unknown."""
        return self.themes.get(name) or THEMES.get(name)
