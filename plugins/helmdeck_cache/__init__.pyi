# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_cache.cached_deck import CachedDeck as CachedDeck
from helmdeck_cache.caches import ResponseCaches as ResponseCaches
from helmdeck_cache.settings import CacheMode as CacheMode
from helmdeck_cache.settings import CacheSettings as CacheSettings
from helmdeck_cache.use import CacheOutcome as CacheOutcome
from helmdeck_cache.use import CacheUse as CacheUse
