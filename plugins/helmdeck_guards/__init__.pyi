# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_guards.deck import GuardedDeck as GuardedDeck
from helmdeck_guards.errors import GuardBlocked as GuardBlocked
from helmdeck_guards.guards import Guards as Guards
from helmdeck_guards.guards import guard_mistakes as guard_mistakes
from helmdeck_guards.session import GuardSession as GuardSession
from helmdeck_guards.session import refusal as refusal
from helmdeck_guards.settings import GuardSender as GuardSender
from helmdeck_guards.settings import GuardSettings as GuardSettings
from helmdeck_guards.streaming import guarded_stream as guarded_stream
