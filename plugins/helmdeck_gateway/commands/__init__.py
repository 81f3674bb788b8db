"""``helmdeck serve`` and ``helmdeck keys`` (with ``key_*``)."""
