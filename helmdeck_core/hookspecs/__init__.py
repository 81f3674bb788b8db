"""The hooks: everything that a plugin can contribute or answer. This page is the complete contract of a plugin.

A plugin is a module or object whose functions are marked ``@hookimpl`` and named as below; they may leave out arguments.

There are two kinds. A *contribution* returns a sequence of values, each with a ``name`` and an ``order``, by which they are
sorted. A value replaces a built-in one of the same name; two installed plugins that contribute one name are an error. A
*lookup* returns one answer or ``None``; the plugin registered last is called first; ``wrapper=True`` may adjust the answer.

All hooks are called when a deck is made, except for the lookup: it is called at the first request to a model id and cached.

Each hook states the version that it is new in (``.. versionadded::``); 0.2 is the first released version.
"""

from helmdeck_core.hookspecs import catalogs, models, operation, responses
from helmdeck_core.hookspecs.markers import hookimpl as hookimpl
from helmdeck_core.hookspecs.markers import hookspec as hookspec

MODULES = (models, catalogs, responses, operation)
"""The modules with the specifications, in the order of the reference."""
