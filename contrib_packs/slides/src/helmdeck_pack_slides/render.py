"""The pack ``slides.render``: writes a deck as PPTX, HTML, PDF and pictures."""

import asyncio
import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
import msgspec

from helmdeck_core import PackContext, PackError, PackErrorCode, safe_name
from helmdeck_pack_slides.deck import Deck, read_markdown
from helmdeck_pack_slides.html_file import html_text
from helmdeck_pack_slides.pages import Page, TooManyPages, lay_out
from helmdeck_pack_slides.pictures import ConversionError, convert_to_pdf, draw_pictures
from helmdeck_pack_slides.themes import THEMES, SlideOptions, Theme
from helmdeck_runs import pack

NAME: Final = "slides.render"
PPTX_TYPE: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
MAX_CHARS: Final = 1_000_000
"""Characters of a deck with its tables."""

Format = Literal["pptx", "html", "pdf", "png"]


class RenderedSlide(msgspec.Struct, omit_defaults=True):
    """A slide of the file. A slide of the outline that does not fit continues on further ones, with its notes on the first."""

    number: int
    title: str
    text: list[str]
    notes: str
    picture: str = ""


class Rendered(msgspec.Struct, omit_defaults=True):
    """The files of a deck. ``path`` is the first of the requested formats, ``files`` has all but the pictures."""

    path: str
    files: dict[str, str]
    slides: list[RenderedSlide]
    artifacts: list[dict[str, Any]]
    findings: list[str] = []


@pack(
    NAME,
    destructive=False,
    open_world=False,
    options=SlideOptions,
    description="Build a PPTX, HTML or PDF file from an outline, with tables, charts and speaker notes in a light or dark theme. "
    "Text that does not fit on a slide continues on a further one.",
    metadata={
        "accepts": ["outline"],
        "produces": ["pptx", "html", "pdf", "images"],
        "intent_keywords": ["make the PowerPoint", "render slides"],
        "typical_use": "After slides.outline.",
        "limitations": ["PDF and pictures need LibreOffice", "Fonts are not embedded"],
    },
)
async def render(
    context: PackContext,
    outline: str | Deck,
    tables: tuple[Any, ...] = (),
    subtitle: str = "",
    theme: str = "light",
    formats: Annotated[tuple[Format, ...], msgspec.Meta(min_length=1)] = ("pptx",),
    timeout_s: Annotated[float, msgspec.Meta(ge=0.1, le=3600)] = 180.0,
) -> Rendered:
    """Render a deck.

    :param outline: the Markdown outline of slides.outline, or its title and slides as data.
    :param tables: rows, or objects with rows and heading; each becomes a slide of its own.
    :param subtitle: a line on the first slide.
    :param theme: light, dark, or a theme of the configuration.
    :param formats: pptx, html, pdf, and png for a picture of each slide; pdf and png need LibreOffice.
    :param timeout_s: the time limit of each conversion in seconds.
    """
    chosen = context.options.theme(theme)
    if chosen is None:
        names = ", ".join(sorted({*THEMES, *context.options.themes}))
        raise _invalid(f"theme: {theme[:100]!r} is unknown; known themes: {names}")
    size = len(repr((outline, tables)))
    if size > MAX_CHARS:
        raise _invalid(f"outline and tables have {size:,} characters; at most {MAX_CHARS:,} are rendered")
    deck = outline if isinstance(outline, Deck) else await asyncio.to_thread(read_markdown, outline)
    if not deck.slides and not tables:
        raise _invalid("outline: it has no slides; a line that starts with '## ' begins one")
    try:
        pages, findings = await asyncio.to_thread(lay_out, deck, subtitle, tables)
    except TooManyPages as exc:
        raise _invalid(str(exc)) from exc
    if not pages:
        raise _invalid("; ".join(findings))
    files = _Files(context, deck.title or pages[0].title, chosen, formats, timeout_s)
    await files.write(pages)
    numbered = enumerate(zip(pages, files.pictures or [""] * len(pages), strict=True), 1)
    return Rendered(
        path=next(iter(files.paths.values()), files.pictures[0] if files.pictures else ""),
        files=files.paths,
        slides=[
            RenderedSlide(number, page.title, page.texts, page.notes, picture) for number, (page, picture) in numbered
        ],
        artifacts=files.artifacts,
        findings=[*findings, *files.findings],
    )


@attrs.define
class _Files:
    """The files of a deck.

    :ivar paths: by format, in the order of the requested ones.
    :ivar pictures: paths in the order of the slides; empty without the format ``png``.
    """

    context: PackContext
    title: str
    theme: Theme
    formats: Sequence[Format]
    timeout_s: float
    paths: dict[str, str] = attrs.Factory(dict)
    pictures: list[str] = attrs.Factory(list)
    artifacts: list[dict[str, Any]] = attrs.Factory(list)
    findings: list[str] = attrs.Factory(list)

    async def write(self, pages: Sequence[Page]) -> None:
        self.context.progress(f"drawing {len(pages)} slides", 0.1)
        with tempfile.TemporaryDirectory(prefix="helmdeck-slides-") as name:
            drafts = await self._drafts(pages, Path(name))
            for kind in dict.fromkeys(self.formats):
                if kind == "png":
                    for number, picture in enumerate(drafts.pictures, 1):
                        self.pictures.append(self._add(f"slide-{number:03}.png", picture, "image/png"))
                elif kind == "html":
                    charts = await self._charts(pages)
                    text = await asyncio.to_thread(html_text, pages, self.title, self.theme, charts)
                    self.paths[kind] = self._add(safe_name(self.title, ".html", "slides"), text, "text/html")
                else:
                    draft, media = (drafts.pptx, PPTX_TYPE) if kind == "pptx" else (drafts.pdf, "application/pdf")
                    self.paths[kind] = self._add(safe_name(self.title, f".{kind}", "slides"), draft, media)

    async def _drafts(self, pages: Sequence[Page], folder: Path) -> "_Drafts":
        found = _Drafts(folder / "slides.pptx", folder / "slides.pdf")
        if set(self.formats) == {"html"}:
            return found
        from helmdeck_pack_slides.pptx_file import pptx_bytes  # the library takes 0.3 s to import

        found.pptx.write_bytes(await asyncio.to_thread(pptx_bytes, pages, self.title, self.theme))
        try:
            if {"pdf", "png"} & set(self.formats):
                self.context.progress("converting the slides to PDF", 0.3)
                await convert_to_pdf(found.pptx, self.timeout_s)
            if "png" in self.formats:
                self.context.progress("drawing pictures of the slides", 0.7)
                found.pictures = await draw_pictures(found.pdf, self.timeout_s)
        except ConversionError as exc:
            code = PackErrorCode.TIMEOUT if exc.is_timeout else PackErrorCode.HANDLER_FAILED
            raise PackError(NAME, code, str(exc)) from exc
        if found.pictures and len(found.pictures) != len(pages):
            detail = f"LibreOffice drew {len(found.pictures)} of {len(pages)} slides"
            raise PackError(NAME, PackErrorCode.HANDLER_FAILED, detail)
        return found

    async def _charts(self, pages: Sequence[Page]) -> dict[int, tuple[str, str]]:
        """Draw the charts of an HTML file with whichever ``chart.plot`` is installed."""
        charts = {}
        entry = self.context.catalog.get("chart.plot")
        known = entry.input_schema.get("properties", {}) if entry and entry.input_schema else {}
        for place, page in enumerate(pages):
            if page.chart is None:
                continue
            chart = page.chart
            inputs = {"rows": chart.rows, "kind": chart.kind, "x_label": chart.x_label, "y_label": chart.y_label}
            try:
                output = await self.context.run(
                    "chart.plot", {key: inputs[key] for key in inputs if key in known and inputs[key]}
                )
            except PackError as exc:
                self.findings.append(f"slide {place + 1}: no chart in HTML: {exc.detail}")
                continue
            data = base64.b64encode(await asyncio.to_thread(Path(output["image"]).read_bytes)).decode()
            charts[place] = (f"data:image/svg+xml;base64,{data}", output["alt"])
            self.artifacts += output["artifacts"]
        return charts

    def _add(self, name: str, data: str | Path, media_type: str) -> str:
        artifact = self.context.artifacts.write(name, data, media_type)
        self.artifacts.append(artifact.to_dict())
        return str(artifact.path)


@attrs.define
class _Drafts:
    """Files in a temporary folder; the pictures are in the order of the slides."""

    pptx: Path
    pdf: Path
    pictures: Sequence[Path] = ()


def _invalid(detail: str) -> PackError:
    return PackError(NAME, PackErrorCode.INVALID_INPUT, detail)
