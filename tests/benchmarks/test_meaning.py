"""The training requests of the model of wording."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.first_use.data import load_requests
from benchmarks.meaning.data import products, statements


def test_a_file_is_read_as_products_with_tools_and_requests(tmp_path: Path) -> None:
    path = tmp_path / "ways.txt"
    path.write_text(
        "== family: home\n= switch a light\ntool turn_on | Turns a lamp on. | room: string, state: on|off, at?: date\n"
        "tool lights.set | Sets a lamp | zone_id\n- lights off in the nursery\n= dim\ntool turn_on | Dims | level?: int\n- softer\n"
    )
    (home,) = products([path])
    assert home.name == "home" and [tool.requests for tool in home.tools] == [["lights off in the nursery"], ["softer"]]
    schema = home.tools[0].vendors[0]["inputSchema"]["properties"]
    assert schema == {
        "room": {"type": "string"},
        "state": {"type": "string", "enum": ["on", "off"]},
        "at": {"type": "string", "format": "date"},
    }
    assert [entry.id for entry in home.catalog(0).entries] == ["turn_on", "turn_on_1"]


def test_every_tool_has_vendors_and_requests() -> None:
    found = products()
    assert len({product.name for product in found}) > 200
    tools = [tool for product in found for tool in product.tools]
    assert all(tool.vendors and tool.requests for tool in tools)


def test_statements_are_read_by_what_they_are_about(tmp_path: Path) -> None:
    path = tmp_path / "statements.txt"
    path.write_text(
        "== family: git\n- Tom merged it\n== family: shop\n- we sold out\n== family: git\n- ok, saw the diff\n"
    )
    assert statements([path]) == {"git": ["Tom merged it", "ok, saw the diff"], "shop": ["we sold out"]}
    assert sum(map(len, statements().values())) > 5_000


def test_no_request_of_the_blind_sets_is_one_to_train_on() -> None:
    def plain(text: str) -> str:
        return re.sub(r"[^a-z0-9 ]", "", text.lower()).strip()

    trained = {plain(text) for product in products() for tool in product.tools for text in tool.requests}
    blind = [request.text for name in ("fifth", "sixth", "seventh", "eighth") for request in load_requests(name)]
    assert not [text for text in blind if plain(text) in trained]
