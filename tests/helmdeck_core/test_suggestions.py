"""Suggestions for misspelt names."""

from helmdeck_core.suggestions import MAX_CHARS, did_you_mean, nearest, nearest_names, similar


def test_nearest_returns_the_most_similar_name():
    assert nearest("anthropc", ["openai", "anthropic"]) == "anthropic"


def test_nearest_returns_none_when_no_name_is_similar():
    assert nearest("zzz", ["openai", "anthropic"]) is None
    assert nearest("openai", []) is None


def test_did_you_mean_quotes_the_name():
    assert did_you_mean("anthropc", iter(["openai", "anthropic"])) == " (did you mean 'anthropic'?)"


def test_did_you_mean_is_empty_when_no_name_is_similar():
    assert did_you_mean("zzz", ["openai"]) == ""


def test_few_names_are_listed_and_of_many_the_nearest():
    assert nearest_names("x", ["b", "a"]) == "b, a"
    many = [f"provider{number}" for number in range(30)] + ["openai", "azure"]
    assert nearest_names("opnai", many) == "openai, provider0, provider1 and 29 more"
    assert nearest_names("zzz", many, more="`x`") == "provider0, provider1, provider2 and 29 more (`x` lists all)"


def test_very_long_name_is_not_compared():
    assert similar("a" * (MAX_CHARS + 1), ["a" * MAX_CHARS], most=1) == ()
