"""Catalogs that are described in another language than English: requests find their entries by their English words as well."""

from __future__ import annotations

from helmdeck_core import Catalog
from helmdeck_language import CatalogLanguages, Translator, lexicon
from helmdeck_selection import read_catalog
from helmdeck_selection.lexical import helmdeck_rankers
from helmdeck_selection.meaning.features import entry_features
from tests.case_support import each_case

GERMAN = {
    "track_shipment": "Verfolgt eine Sendung und nennt ihren Standort.",
    "issue_refund": "Erstattet eine Zahlung.",
    "set_thermostat": "Stellt die Temperatur eines Raums ein.",
    "transfer_funds": "Überträgt Geld zwischen zwei Konten.",
    "play_track": "Spielt ein Musikstück ab.",
}
CHINESE = {
    "track_shipment": "跟踪快递并返回当前位置。",
    "issue_refund": "退还一笔付款。",
    "set_thermostat": "设定室内的温度。",
    "transfer_funds": "在两个账户之间转账。",
    "play_track": "播放一首歌曲。",
}
JAPANESE = {
    "track_shipment": "荷物の現在地を追跡します。",
    "issue_refund": "支払いを返金します。",
    "set_thermostat": "室内の温度を設定します。",
    "transfer_funds": "口座間で送金します。",
    "play_track": "曲を再生します。",
}


def index(tools, **weights):
    packs = [{"name": name, "description": text} for name, text in tools.items()]
    catalog = Catalog.from_data({"packs": packs, "pipelines": []}, "own")
    return helmdeck_rankers()[0].index(catalog, cache=False, **weights)


@each_case(
    ("tools", "request_text", "tool"),
    [
        (GERMAN, "Wo bleibt mein Paket?", "track_shipment"),
        (CHINESE, "给房东汇房租", "transfer_funds"),
        (JAPANESE, "家賃を振り込んで", "transfer_funds"),
    ],
)
def test_a_name_in_english_is_found_by_a_request_in_the_language_of_the_descriptions(tools, request_text, tool):
    ranking = index(tools, meaning=0.0).rank(request_text)
    assert ranking.ids[0] == tool and ranking.scores[0].score > 0
    assert ranking.notes == () and ranking.is_reliable


@each_case(
    ("tools", "request_text", "tool"),
    [
        (CHINESE, "来点音乐吧", "play_track"),
        (CHINESE, "屋里好冷", "set_thermostat"),
        (JAPANESE, "寒い", "set_thermostat"),
    ],
)
def test_an_entry_that_shares_no_word_is_close_in_meaning(tools, request_text, tool):
    best = index(tools).rank(request_text).scores[0]
    assert best.id == tool and "meaning:" in str(best.matched)
    assert index(tools, meaning=0.0).rank(request_text).scores[0].score == 0


def test_function_words_of_the_language_are_no_search_terms():
    matched = str(index(GERMAN).rank("Schick der Vermieterin die Miete").scores)
    assert "description:die" not in matched


def test_an_entry_in_another_language_has_the_english_words_of_its_texts():
    tool = {"name": "查询天气", "description": "返回 city 的天气。", "inputSchema": {"properties": {"城市": {}}}}
    english = {"查询天气": ["weather"], "返回 city 的天气。": ["return", "weather"], "城市": ["city"]}.__getitem__
    name, description, inputs = entry_features(read_catalog([tool], "weather").entries[0], english)
    assert (name, description) == (["weath"], ["return", "weath", "citi"]) and "citi" in inputs


def test_an_english_request_over_a_mixed_catalog_keeps_its_words():
    tools = {"list_files": "List the files of a folder.", **GERMAN}
    ranking = index(tools).rank("list the files of a folder")
    assert ranking.ids[0] == "list_files" and not [note for note in ranking.notes if "translated" in note]


def test_an_english_catalog_is_compared_with_no_other_language():
    def native(tools):
        packs = [{"name": name, "description": text} for name, text in tools.items()]
        entries = Catalog.from_data({"packs": packs, "pipelines": []}, "own").entries
        return [each.code for each in Translator(lexicon(), CatalogLanguages.of(entries), lambda term: True).native]

    assert native({"list_files": "List the files of a folder.", "send_mail": "Send a mail to a person."}) == []
    assert (native(GERMAN), native(CHINESE), native(JAPANESE)) == (["de"], ["zh"], ["ja"])


def test_chinese_function_words_match_nothing():
    # No pair of the request is in the catalog, so single characters count: those of "room", not the particle.
    tools = {"warm": "暖房", "tidy": "整齐的", "sing": "好听的歌"}
    assert [score.id for score in index(tools, meaning=0.0).rank("我的房").scores if score.score] == ["warm"]
