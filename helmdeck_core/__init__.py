"""Dependable structured, tool-selecting answers from a mixed fleet of LLMs.

``__init__.pyi`` lists the public names with the modules that define them. A name is imported when it is first used, so
``import helmdeck_core`` costs next to nothing.
"""

from helmdeck_core.public_names import export_from_stub

__version__ = "0.2.0"

__getattr__, __dir__ = export_from_stub(__name__, __file__)
