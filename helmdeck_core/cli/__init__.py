"""The command line, and the functions for commands of plugins.

A command of a plugin prints with the names of this package, so that it behaves like a built-in one: results go to standard
output, messages to standard error, errors end with the documented exit codes, and ``--json`` works. For options, input and
progress there is ``helmdeck_cli``.

Commands import the modules that they need when they run, so that ``helmdeck --help`` stays fast.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
