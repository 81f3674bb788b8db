"""Settings of Sphinx; ``build.py`` arranges the pages and starts it."""

import os
from pathlib import Path
from typing import Any

from pygments.lexers import JsonLexer

project = "Helmdeck"
version = release = os.environ["HELMDECK_SITE_VERSION"]
project_copyright = "The Helmdeck authors"
language = "en"
extensions = ["myst_parser", "sphinx_copybutton"]

myst_heading_anchors = 6
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"Helmdeck {version}"
html_short_title = "Helmdeck"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# A summary is fetched, which browsers refuse for files.
html_show_search_summary = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        "versions.html",
    ]
}
html_context = {
    "versions": [pair.split("=") for pair in os.environ.get("HELMDECK_SITE_VERSIONS", "").split()],
}
"""Name of each version and the path of its folder, relative to the folder of this one."""


def setup(app: Any) -> None:
    """Register what Pygments does not know."""
    app.add_lexer("jsonl", JsonLexer)
