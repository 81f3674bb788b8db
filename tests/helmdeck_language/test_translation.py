"""Requests in other languages over English catalogs: their words are translated by stems, and nothing else is."""

from __future__ import annotations

import pytest

from helmdeck_core import Catalog
from helmdeck_language.languages import STEMS, with_stems
from helmdeck_language.meanings.lexicon import lexicon
from helmdeck_language.text.terms import terms, words
from helmdeck_selection.lexical import helmdeck_rankers
from tests.case_support import each_case
from tests.work_support import WorkCounter

HOUSE = {
    "light_on": "Turns a lamp on.",
    "lower_volume": "Lowers the volume of a player.",
    "next_track": "Skips to the next track.",
    "close_blinds": "Closes blinds or shutters.",
    "set_heating": "Sets the heating to a temperature.",
    "send_mail": "Sends an email to one or more people.",
    "get_weather": "Get the weather of a city.",
    "search_flights": "Find flights between two airports.",
    "run_query": "Run a query on a database.",
    "list_files": "List the files of a directory.",
}


@pytest.fixture(scope="module")
def index():
    packs = [{"name": name, "description": text} for name, text in HOUSE.items()]
    return helmdeck_rankers()[0].index(Catalog.from_data({"packs": packs, "pipelines": []}, "house"), cache=False)


@each_case(
    ("language", "request_text", "tool"),
    [
        ("de", "Schalten Sie das Küchenlicht ein", "light_on"),
        ("de", "Mach bitte die Rollläden im Wohnzimmer zu", "close_blinds"),
        ("fr", "Baissez le volume", "lower_volume"),
        ("es", "Siguiente tema", "next_track"),
        ("es", "Pon la calefacción a 22 grados", "set_heating"),
        ("pl", "Włącz światło w kuchni", "light_on"),
        ("it", "Accendi la luce in cucina", "light_on"),
        ("pt", "Quero procurar um voo para Lisboa", "search_flights"),
        ("ru", "Выключи свет на кухне", "light_on"),
        ("ko", "거실 불 켜줘", "light_on"),
        ("ja", "リビングの電気をつけて", "light_on"),
        ("zh", "明天上海天气怎么样?", "get_weather"),
        ("nl", "Zet de schemerlamp aan", "light_on"),  # the main part of a compound
        ("tr", "Işıklarımızı yakabilir misin?", "light_on"),  # a long ending
        ("ar", "والأضواء", "light_on"),  # two prefixes
        ("sv", "Tänd kökslampan", "light_on"),  # a compound
        ("da", "Hvordan bliver vejret i Odense?", "get_weather"),
        ("nb", "Hvordan blir været i Bergen?", "get_weather"),
        ("fi", "Sammuta olohuoneen valot", "light_on"),
        ("cs", "Stáhni žaluzie v ložnici", "close_blinds"),
        ("hu", "Halkítsd le a zenét", "lower_volume"),
        ("ro", "Stinge lumina din bucătărie", "light_on"),
        ("id", "Matikan lampu dapur", "light_on"),
        ("vi", "Thời tiết ở Đà Nẵng thế nào?", "get_weather"),
        ("el", "Ποιος είναι ο καιρός στην Πάτρα;", "get_weather"),
        ("uk", "Вимкни світло на кухні", "light_on"),  # the script is that of Russian as well
        ("hi", "अगला गाना बजाओ", "next_track"),  # an ending after three letters
        ("th", "พรุ่งนี้อากาศเป็นยังไง", "get_weather"),  # no spaces
        ("pt", "Acende a luz para me ajudar", "light_on"),  # "me" is an English word as well
    ],
)
def test_short_command_of_each_language_finds_the_english_tool(index, language, request_text, tool):
    ranking = index.rank(request_text)
    assert ranking.scores[0].id == tool
    assert f"lexical.translated.{language}" in ranking.notes and not ranking.is_reliable


@each_case(
    "request_text",
    [
        "turn on the lamp in the den",
        "volume",
        "Pause",
        "send “Schalten Sie das Licht ein” to Ada",
        "list the files of /home/maison/cuisine/lumiere",
        "Translate Zeitgeist",
        "flights from Köln to São Paulo",
        "restaurant reservation Lucia",
        "",
    ],
)
def test_english_request_with_foreign_names_is_not_translated(index, request_text):
    assert not [note for note in index.rank(request_text).notes if "translated" in note]


def test_names_stay_search_terms_beside_translated_words(index):
    packs = [{"name": "get_weather", "description": "Get the weather of a city."}, {"name": "zugspitze", "description": "Zugspitze webcam."}]  # fmt: skip
    own = helmdeck_rankers()[0].index(Catalog.from_data({"packs": packs, "pipelines": []}, "alps"), cache=False)
    ranking = own.rank("Wie wird das Wetter auf der Zugspitze?")
    assert {score.id for score in ranking.scores if score.score > 0} == {"get_weather", "zugspitze"}


def test_catalog_in_the_language_of_the_request_is_searched_with_its_own_words():
    packs = [
        {"name": "a", "description": "부산의 현재 날씨를 조회합니다."},
        {"name": "b", "description": "Get the weather."},
    ]
    own = helmdeck_rankers()[0].index(Catalog.from_data({"packs": packs, "pipelines": []}, "mixed"), cache=False)
    ranking = own.rank("날씨 알려줘")
    assert ranking.scores[0].id == "a" and ranking.notes == ()


def test_phrase_is_translated_only_if_all_its_parts_follow_in_order():
    german = next(each for each in lexicon().vocabularies if each.code == "de")
    assert list(dict(german.english(words("Schalte das Licht ein")))["schalte"]) == ["turn", "on"]
    assert not dict(german.english(words("Ein Licht schalte")))["schalte"]


def test_stem_in_several_rows_stands_for_the_words_of_all_of_them():
    german = next(each for each in lexicon().vocabularies if each.code == "de")
    ((_, english),) = german.english(["lauter"])
    assert {"increase", "volume"} <= set(english)


def test_stems_of_a_user_are_added_to_a_language_or_are_a_new_one(tmp_path):
    (tmp_path / "fi.toml").write_text('code = "fi"\nname = "Finnish"\n[stems]\n"turn on" = "sytyt"\n"light" = "valo"\n')
    (tmp_path / "de.toml").write_text('code = "de"\nname = "German"\n[stems]\n"light" = "funzel"\n')
    packs = [{"name": name, "description": text} for name, text in HOUSE.items()]
    catalog = Catalog.from_data({"packs": packs, "pipelines": []}, "house")
    own = helmdeck_rankers()[0].index(catalog, cache=False, words=str(tmp_path))
    assert own.rank("Sytytä valot").scores[0].id == own.rank("Mach die Funzel an").scores[0].id == "light_on"


def test_every_stem_file_has_the_language_of_its_name_and_english_words_that_are_search_terms():
    languages = [with_stems(code) for code in STEMS]
    assert [each.code for each in languages] == [*STEMS]
    assert [(each.code, english) for each in languages for english in each.stems if not terms(english)] == []


def test_words_of_people_find_those_of_a_catalog_in_the_same_language():
    packs = [{"name": "a", "description": "다른 사람의 계좌로 돈을 이체합니다."}, {"name": "b", "description": "택배 배송을 조회합니다."}]  # fmt: skip
    own = helmdeck_rankers()[0].index(Catalog.from_data({"packs": packs, "pipelines": []}, "korean"), cache=False)
    ranking = own.rank("민수한테 만원 부쳐 줘")
    assert ranking.scores[0].id == "a" and ranking.notes == ()


@each_case(
    ("request_text", "tool"),
    [
        ("turn the lamp on", "lamp_on"),
        ("turn off the lamp on my desk", "lamp_off"),
        ("Schalte die Lampe aus", "lamp_off"),
        ("Schalte die Lampe ein", "lamp_on"),
    ],
)
def test_entry_with_the_word_of_the_request_precedes_its_opposite(request_text, tool):
    packs = [{"name": name, "description": "Switches a lamp."} for name in ("lamp_off", "lamp_on")]
    own = helmdeck_rankers()[0].index(Catalog.from_data({"packs": packs, "pipelines": []}, "lamps"), cache=False)
    assert own.rank(request_text).scores[0].id == tool


@each_case(
    ("text", "expected"),
    [
        ("날씨를", ["날씨"]),
        ("예약해주세요", ["예약"]),
        ("검색합니다", ["검색"]),
        ("집에", ["집에"]),
        ("는", ["는"]),
    ],
)
def test_korean_particles_and_helping_verbs_are_no_search_terms(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize("unit", ["licht", "schaltküchen", "電気", "켜", "жур"])
def test_work_grows_linearly_with_the_length_of_a_word(index, work_counter: WorkCounter, unit: str):
    index.rank("Mach bitte das Licht an")  # the vocabularies are read at the first use
    short, long = (work_counter.work(lambda size=size: index.rank(f"Mach bitte {unit * size} an")).calls for size in (200, 2_000))  # fmt: skip
    assert long < 12 * short


def test_first_word_of_a_foreign_phrase_is_no_sign_of_its_language(index):
    # "past" begins "past niet" in Dutch, and "me" and "half" are Dutch words as well.
    assert index.rank("Wake me at half past six").notes == ()
