"""The HTTP transports: ``httpx``, the default, and ``aiohttp``."""
