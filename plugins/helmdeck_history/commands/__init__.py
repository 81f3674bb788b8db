"""``helmdeck history`` and ``helmdeck calibrate``."""
