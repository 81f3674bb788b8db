"""What histories and their stores are written with: the type of ``deck.history``, and the optional parts of a store."""

from helmdeck_history_kit.deck_history import DeckHistory as DeckHistory
from helmdeck_history_kit.deck_history import LearnedDefault as LearnedDefault
from helmdeck_history_kit.deck_history import PlanGroup as PlanGroup
from helmdeck_history_kit.deck_history import history_of as history_of
