"""Log lines: silent until an application asks, then what an operator acts on."""

import pytest

from helmdeck_core import ProviderUnavailable, log
from helmdeck_testing import make_deck

FREE = "openrouter/openrouter/free"
GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}]}'


@pytest.fixture
def lines(answering, capsys):
    def run(*replies, level="INFO", model=FREE):
        deck, _ = answering(*replies, config={"log_level": level} if level else {})
        try:
            deck.plan("draft a post about our launch", model=model)
        except Exception:  # the line is what the test looks at
            pass
        return capsys.readouterr().err

    yield run
    log.disable()


def test_library_logs_nothing_by_default(lines):
    assert lines("", level=None) == ""


def test_catalog_reduction_is_logged_with_model_tier_and_sizes(lines):
    text = lines(GOOD)
    (line,) = [line for line in text.splitlines() if "reduced" in line]
    for part in ("INFO", FREE, "'tier': 'C'", "'before_bytes': ", "'after_bytes': ", "lexical.top_n", "helmdeck.plan"):
        assert part in line


def test_handlers_of_the_application_are_kept(answering):
    from loguru import logger

    seen = []
    handler = logger.add(lambda message: seen.append(message.record["message"]))
    try:
        deck, _ = answering(GOOD, config={"log_level": "INFO"})
        deck.plan("draft a post about our launch", model=FREE)
        logger.info("the application's own line")
    finally:
        logger.remove(handler)
        log.disable()
    assert seen[-1] == "the application's own line" and any("reduced" in line for line in seen)


def test_complete_catalog_is_not_logged_at_info(lines):
    assert "reduced" not in lines(GOOD, model="openai/gpt-4o")


def test_failure_is_a_warning_with_its_cause_and_without_the_request(lines):
    text = lines("", level="WARNING")
    assert "WARNING" in text and "likely_timeout" in text and "launch" not in text


def test_failed_attempt_is_logged_without_empty_fields(chat_server, capsys):
    server = chat_server(lambda _: (503, {"x-request-id": "req_9"}, {"error": {"message": "down"}}))
    config = {
        "providers": {"vllm": {"base_url": server.base_url}},
        "recovery": {"max_attempts": 1},
        "log_level": "INFO",
    }
    try:
        with make_deck(config=config) as deck, pytest.raises(ProviderUnavailable):
            deck.plan("draft a post about our launch", model="vllm/any")
    finally:
        log.disable()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "an attempt of a model call" in line]
    for part in ("'cause': 'provider_unavailable'", "'status': 503", "'request_id': 'req_9'", "max_attempts 1 reached"):
        assert part in line
    for part in ("input_tokens", "raw_length", "is_sent", "waited_s", "continuations", "down"):
        assert part not in line


def test_finished_call_is_logged_at_debug(lines):
    assert "answered" in lines(GOOD, level="DEBUG") and "answered" not in lines(GOOD, level="INFO")
