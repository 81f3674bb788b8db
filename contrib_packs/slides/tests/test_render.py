"""``slides.render``: what it writes is read back from the files."""

import base64
import re
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx import Presentation

import helmdeck_pack_slides
from helmdeck_core import PackContext, PackError, PackErrorCode, hookimpl
from helmdeck_pack_slides.deck import read_markdown
from helmdeck_pack_slides.outline import markdown
from helmdeck_pack_slides.render import NAME
from helmdeck_pack_slides.text_fit import clean, text_width, wrap
from helmdeck_pack_slides.themes import THEMES
from helmdeck_runs import pack

WORDS = "Every port measures the height of the sea four times an hour and sends it to the office."


@pytest.fixture
def render(deck_with, tmp_path):
    deck = deck_with(helmdeck_pack_slides, config={"packs": {"artifacts": str(tmp_path / "out")}})
    return lambda slides, **options: deck.run(
        NAME, {"outline": slides if isinstance(slides, str) else {"title": "Tides", "slides": slides}, **options}
    )


def opened(output):
    return list(Presentation(output["path"]).slides)


def bodies(slide):
    """The texts of a slide without its title and its number."""
    shapes = [shape for shape in slide.shapes if shape.has_text_frame and shape != slide.shapes.title]
    return [text for shape in shapes for text in shape.text_frame.text.split("\n") if text and "/" not in text]


def test_markdown_of_an_outline_is_read_without_loss():
    slides = [
        {"message": "3 reasons # one", "bullets": ["- a", "2. b", "* c | d", "> e"], "notes": "Say\n\n# this."},
        {"message": "No bullets", "bullets": [], "notes": ""},
    ]
    deck = read_markdown(markdown("A deck", slides))
    assert deck.title == "A deck"
    assert [{"message": each.message, "bullets": each.bullets, "notes": each.notes} for each in deck.slides] == slides


def test_outline_becomes_one_slide_each_with_title_bullets_and_notes(render):
    outline = markdown("Tides", [{"message": "The Moon pulls.", "bullets": ["7.45 m", "twice"], "notes": "Say\nit."}])
    cover, slide = opened(render(outline, subtitle="May"))
    assert (cover.shapes.title.text, bodies(cover)) == ("Tides", ["May"])
    assert (slide.shapes.title.text, bodies(slide)) == ("The Moon pulls.", ["7.45 m", "twice"])
    assert slide.notes_slide.notes_text_frame.text == "Say\nit."


@pytest.mark.parametrize("word", [WORDS, "潮の満ち引き" * 20, "W" * 200, "🌊" * 60, "يرتفع البحر " * 12])
def test_text_that_does_not_fit_continues_on_further_slides(render, word):
    bullets = [f"{number} {word}" for number in range(16)]
    output = render([{"message": "Heights", "bullets": bullets}])
    slides = opened(output)[1:]
    assert len(slides) > 2
    assert [each.shapes.title.text for each in slides] == [
        f"Heights ({n}/{len(slides)})" for n in range(1, len(slides) + 1)
    ]
    written = "".join("".join(bodies(slide)) for slide in slides).replace(" ", "")
    assert written == "".join(bullets).replace(" ", "")
    assert [each["title"] for each in output["slides"][1:]] == [each.shapes.title.text for each in slides]


def test_title_that_does_not_fit_is_shortened_and_its_text_becomes_a_bullet(render):
    title = f"{WORDS} " * 5
    (_, slide) = opened(render([{"message": title, "bullets": ["b"]}]))
    assert slide.shapes.title.text.endswith("…")
    assert bodies(slide) == [title.strip(), "b"]


def test_long_table_repeats_its_head_and_a_wide_one_its_first_column(render):
    long = [["No", "Text"], *([number, WORDS] for number in range(24))]
    wide = [[f"c{column}" for column in range(12)], list(range(12))]
    slides = opened(render([{"message": "T"}], tables=[{"heading": "Long", "rows": long}, wide]))
    tables = [shape.table for slide in slides for shape in slide.shapes if shape.has_table]
    rows = [[[cell.text for cell in row.cells] for row in table.rows] for table in tables]
    longs = [each for each in rows if each[0] == ["No", "Text"]]
    assert [int(row[0]) for each in longs for row in each[1:]] == list(range(24))
    wides = [each for each in rows if each[0][0] == "c0"]
    assert [row[0] for each in wides for row in each] == ["c0", "0"] * len(wides)
    assert {cell for each in wides for cell in each[0]} == set(wide[0])


def test_tables_and_charts_stay_on_the_slide(render):
    slides = opened(render([{"message": "T", "bullets": ["b"], "table": [["a", WORDS * 3]] + [[WORDS, 1]] * 9}]))
    for slide in slides:
        for shape in slide.shapes:
            height = sum(row.height for row in shape.table.rows) if shape.has_table else shape.height
            assert shape.left >= 0 and shape.left + shape.width <= 12_192_000
            assert shape.top >= 0 and shape.top + height <= 6_858_000


def test_chart_has_the_numbers_and_labels_of_its_rows(render):
    rows = [{"port": "Brest", "m": "7.4", "note": "x"}, {"port": "Cork", "m": None, "note": "y"}]
    (_, slide) = opened(
        render([{"message": "Heights", "chart": {"kind": "bar", "rows": rows, "y_label": "Height (m)"}}])
    )
    (chart,) = [shape.chart for shape in slide.shapes if shape.has_chart]
    assert list(chart.plots[0].categories) == ["Brest", "Cork"]
    assert [(each.name, each.values) for each in chart.plots[0].series] == [("m", (7.4, None))]
    assert chart.value_axis.axis_title.text_frame.text == "Height (m)"


@pack("chart.plot", description="Draw a chart.")
async def labelled_plot(context: PackContext, rows: list[Any], kind: str, y_label: str = "") -> dict[str, Any]:
    artifact = context.artifacts.write("chart.svg", f"<svg>{y_label}</svg>")
    return {"image": str(artifact.path), "alt": "a", "artifacts": [artifact.to_dict()]}


class LabelledPlot:
    @hookimpl
    def helmdeck_packs(self):
        return [labelled_plot]


def test_charts_of_html_are_drawn_by_the_installed_pack(deck_with, tmp_path):
    deck = deck_with(helmdeck_pack_slides, LabelledPlot(), config={"packs": {"artifacts": str(tmp_path)}})
    chart = {"kind": "bar", "rows": [["x", "y"], ["a", 2]], "x_label": "Port", "y_label": "Height (m)"}
    slides = {"title": "T", "slides": [{"message": "c", "chart": chart}]}
    output = deck.run(NAME, {"outline": slides, "formats": ["html"]})
    (source,) = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", Path(output["path"]).read_text())
    assert base64.b64decode(source) == b"<svg>Height (m)</svg>"


def test_html_is_one_file_that_loads_nothing_and_whose_texts_are_escaped(render):
    hostile = '<script>alert(1)</script>" onload="x'
    chart = {"kind": "line", "rows": [["x", hostile], [1, 2], [2, 3]], "y_label": "Height"}
    slides = [{"message": hostile, "bullets": [hostile], "notes": hostile, "table": [[hostile], [hostile]]}]
    output = render([*slides, {"message": "c", "chart": chart}], formats=["html"])
    text = Path(output["path"]).read_text()
    page = lxml.html.fromstring(text)
    assert {each.tag for each in page.iter()} & {"script", "link", "iframe", "object"} == set()
    assert [name for each in page.iter() for name in each.attrib if name.startswith("on")] == []
    (image,) = page.iter("img")
    assert image.get("src").startswith("data:image/svg+xml;base64,") and "url(" not in text
    assert page.xpath("//h2")[0].text == f"{hostile} (1/2)" and page.xpath("//li")[0].text == hostile
    drawn = base64.b64decode(image.get("src").partition(",")[2]).decode()
    assert "alert(1)" in drawn and "<script>" not in drawn
    assert [path.suffix for path in Path(output["path"]).parent.iterdir() if path.suffix == ".pptx"] == []


def test_what_cannot_be_drawn_is_a_finding(render):
    endless = {"message": "b", "table": [["n"], *([WORDS * 9] for _ in range(90))]}
    output = render([{"message": "a", "chart": {"rows": [["a"], ["b"]]}, "table": [1]}, endless], tables=[[]])
    assert output["findings"] == [
        "table 1: it has no rows",
        "slide 1: no chart: no column has numbers only",
        "slide 1: no table: neither a list of objects nor a list of lists with headings first",
        "slide 2: its table has only the first 12 slides; the rest is left out",
    ]


def test_theme_of_the_configuration_colours_the_slides(deck_with, tmp_path):
    options = {"slides": {"themes": {"acme": {"background": "#102030", "font": "Acme Sans"}}}}
    config = {"packs": {"artifacts": str(tmp_path), "options": options}}
    output = deck_with(helmdeck_pack_slides, config=config).run(NAME, {"outline": "# A\n## b", "theme": "acme"})
    deck = Presentation(output["path"])
    assert str(deck.slide_master.background.fill.fore_color.rgb) == "102030"
    assert deck.slides[1].shapes.title.text_frame.paragraphs[0].runs[0].font.name == "Acme Sans"


def contrast(one, two):
    def luminance(colour):
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_built_in_themes_have_the_contrast_of_wcag(theme):
    assert all(contrast(colour, theme.background) >= 3 for colour in theme.series)
    assert all(contrast(colour, theme.background) >= 4.5 for colour in (theme.text, theme.title, theme.muted))
    assert contrast(theme.on_accent, theme.accent) >= 4.5 and contrast(theme.text, theme.band) >= 4.5


@pytest.mark.parametrize(
    ("slide", "problem"),
    [
        ({"message": "Tides", "bulets": ["twice a day"]}, "slides[0]: .*'bulets' was unexpected"),
        (
            {"message": "Tides", "chart": {"rows": [["a"], [1]], "title": "x"}},
            "slides[0].chart: .*'title' was unexpected",
        ),
        ({"bullets": ["twice a day"]}, "slides[0].message: required property is missing"),
    ],
)
def test_a_slide_with_a_misspelt_or_missing_field_is_refused_by_its_path(render, slide, problem):
    with pytest.raises(PackError, match=problem.replace("[0]", r"\[0\]")):
        render([slide])


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ({"theme": "pink"}, "theme: 'pink' is unknown; known themes: dark, light"),
        ({"outline": "no slide", "tables": [[["x"] * 3] * 9] * 300}, "a deck has at most 300 pages"),
        ({"outline": ""}, "it has no slides"),
        ({"outline": "# a\n" + "## b\n" * 200_001}, "at most 1,000,000 are rendered"),
    ],
)
def test_invalid_decks_are_refused(render, options, detail):
    with pytest.raises(PackError, match=detail) as failed:
        render("# A\n## b", **options)
    assert failed.value.code is PackErrorCode.INVALID_INPUT


def test_missing_libreoffice_is_named_with_its_command(render, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PackError, match="soffice is not installed") as failed:
        render("# A\n## b", formats=["png"])
    assert failed.value.code is PackErrorCode.HANDLER_FAILED


def test_pictures_come_in_the_order_of_the_slides(render, tmp_path, monkeypatch):
    """The programs are replaced: LibreOffice takes four seconds."""
    programs = {
        "soffice": 'for last; do true; done; echo "$@" > "$(dirname "$last")/slides.pdf"',
        "pdftoppm": 'for n in 3 1 2 ; do for last; do true; done; echo $n > "$last-$n.png"; done',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    output = render("# A\n## b\n## c", formats=["png", "pdf"])
    assert [Path(each["picture"]).read_text() for each in output["slides"]] == ["1\n", "2\n", "3\n"]
    assert "--convert-to pdf" in Path(output["path"]).read_text()


def test_conversion_that_takes_too_long_is_ended(render, tmp_path, monkeypatch):
    (tmp_path / "soffice").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "soffice").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(PackError, match="soffice took longer than timeout_s, 0.2 s") as failed:
        render("# A\n## b", formats=["pdf"], timeout_s=0.2)
    assert failed.value.code is PackErrorCode.TIMEOUT


def test_words_wrap_as_in_presentation_programs():
    assert wrap("a bb ccc", 40, 12) == ["a bb", "ccc"]
    assert wrap("a " + "b" * 9, 40, 12) == ["a", "bbbbb", "bbbb"]  # a long word starts on a line of its own
    assert wrap("潮の満ち引き", 37, 12) == ["潮の満", "ち引き"]
    assert wrap("", 40, 12) == [""]


@settings(max_examples=30)
@given(st.text(st.characters(codec="utf-8"), max_size=60), st.integers(20, 200))
def test_lines_fit_and_have_all_of_the_text(text, width):
    lines = wrap(clean(text), width, 12)
    assert all(text_width(line, 12) <= width + 0.1 or len(line.strip()) == 1 for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())
