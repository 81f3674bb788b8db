"""Decks with a tape."""

import pytest

import helmdeck_provider_tape
from helmdeck_testing import scripted_provider


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "tapes" / "demo.jsonl"


@pytest.fixture
def deck_on(deck_with, tape):
    """Make decks whose tape is ``tape``; a replay of it has nothing to wrap."""

    def make(mode, *replies, **options):
        wrapped = [scripted_provider(replies)] if mode != "replay" else []
        given = {"file": str(tape), "mode": mode, **options}
        # A tape plays each outcome once; what a deck makes of a failure is not its business.
        once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
        config = {"providers": {"tape": {"options": given}}, **once}
        return deck_with(helmdeck_provider_tape, *wrapped, config=config)

    return make
