"""Decks with a tape."""

import pytest

import helmdeck_provider_tape
from helmdeck_testing import scripted_provider


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "tapes" / "demo.jsonl"


@pytest.fixture
def deck_on(deck_with, tape):
    """Create decks with the tape ``tape``; a replay has no wrapped provider."""

    def make(mode, *replies, **options):
        wrapped = [scripted_provider(replies)] if mode != "replay" else []
        tape_options = {"file": str(tape), "mode": mode, **options}
        # A tape replays each outcome once; the deck must not retry.
        once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
        config = {"providers": {"tape": {"options": tape_options}}, **once}
        return deck_with(helmdeck_provider_tape, *wrapped, config=config)

    return make
