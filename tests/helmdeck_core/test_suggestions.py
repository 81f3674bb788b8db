"""Suggestions for misspelt names."""

from helmdeck_core.suggestions import did_you_mean, nearest


def test_nearest_returns_the_most_similar_name():
    assert nearest("anthropc", ["openai", "anthropic"]) == "anthropic"


def test_nearest_returns_none_when_no_name_is_similar():
    assert nearest("zzz", ["openai", "anthropic"]) is None
    assert nearest("openai", []) is None


def test_did_you_mean_quotes_the_name():
    assert did_you_mean("anthropc", iter(["openai", "anthropic"])) == " (did you mean 'anthropic'?)"


def test_did_you_mean_is_empty_when_no_name_is_similar():
    assert did_you_mean("zzz", ["openai"]) == ""
