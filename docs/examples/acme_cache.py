"""A response cache in a dictionary, for answers to short questions of our support desk."""

import attrs

from helmdeck_core import ResponseCacheSpec, hookimpl


@attrs.frozen
class Options:
    """The options: ``[cache.options.desk]``."""

    max_chars: int = 200


class DeskCache:
    """Answers by tenant and key."""

    def __init__(self, setup):
        self._max_chars = setup.options.max_chars
        self._answers = {}

    async def find(self, query):
        """Return the answer that the same tenant got to the same request."""
        return self._answers.get((query.tenant, query.key))

    async def keep(self, query, answer):
        """Store the answer to a short question."""
        if 0 < len(query.text) <= self._max_chars:
            self._answers[query.tenant, query.key] = answer

    async def clear(self, tenant=None):
        """Delete the answers of a tenant, or of all."""
        names = [name for name in self._answers if tenant in (None, name[0])]
        for name in names:
            del self._answers[name]
        return len(names)

    async def stats(self):
        """Return the number of answers."""
        return {"answers": len(self._answers)}

    async def aclose(self):
        """Nothing is open."""


@hookimpl
def helmdeck_response_caches():
    """Contribute the cache ``desk``."""
    return [ResponseCacheSpec(name="desk", open=DeskCache, options_type=Options, summary="short questions")]
