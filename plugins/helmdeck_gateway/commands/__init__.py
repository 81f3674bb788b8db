"""``helmdeck serve`` and ``helmdeck keys``."""
