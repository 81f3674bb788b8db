"""``helmdeck agent``, ``helmdeck pipeline`` and ``helmdeck worker``."""
