"""The object of a command: what it acts on is the name of the entry that serves it, and not one of its inputs."""

from __future__ import annotations

from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.evidence import candidates, probabilities
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_selection import LexicalIndex, read_catalog

LETTER = {
    "name": "add_letter",
    "description": "Add a letter to a folder",
    "inputSchema": {
        "type": "object",
        "properties": {"folder": {"type": "string"}, "stamp": {"type": "string"}},
        "required": ["folder"],
    },
}
CATALOG = read_catalog({"tools": [LETTER]}, "post")


def features(request: str) -> tuple[dict[str, float], float]:
    lexical = LexicalIndex(CATALOG)
    profiles = Profiles(CATALOG.entries, lexical.lexicon)
    understood = understand(request, lexical, profiles)
    sources = Sources(understood.request, understood.wording)
    found = candidates(understood.picks[0].part, sources, lexical, profiles, ())
    return dict(found[0].features), probabilities(found)[0]


def test_an_object_that_only_an_input_names_makes_an_entry_less_likely() -> None:
    own, likely = features("add a thick letter to folder F-2")
    other, less_likely = features("add a red stamp to folder F-2")
    assert (own["object_other"], own["object_input"]) == (0.0, 0.0)
    assert (other["object_other"], other["object_input"]) == (1.0, 1.0)
    assert less_likely < likely


def test_a_command_without_a_noun_has_no_direct_object() -> None:
    assert "object_other" not in features("add F-2")[0]
