"""The checks behind ``helmdeck doctor``, ``config check`` and ``catalog check``."""
