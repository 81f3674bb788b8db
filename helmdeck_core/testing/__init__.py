"""For tests of plugins and of applications: a pytest plugin, a scripted provider's helpers, installed plugins.

Switch it on with ``pytest_plugins = ["helmdeck_core.testing"]`` or ``-p helmdeck_core.testing``.
"""

from __future__ import annotations

from helmdeck_core.testing.fixtures import deck_with, installed_plugin
from helmdeck_core.testing.making import make_deck, write_distribution

__all__ = ["deck_with", "installed_plugin", "make_deck", "write_distribution"]
