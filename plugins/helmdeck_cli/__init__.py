"""The command line: the commands that operate on a deck, and what all commands are written with.

- **In**: arguments, standard input, the configuration.
- **Out**: tables for people or ``--json`` on standard output, progress and notes on standard error, exit codes by cause.
- **Hooks**: ``helmdeck_commands``.
- **Begin** with ``commands`` (one module for each command), ``inputs`` (shared options and input), ``execution`` (progress,
  Ctrl-C), ``printing`` (how results look), ``checks`` (doctor, config check) and ``scaffold`` (``plugins new``).

Commands of one capability are in its package: ``helmdeck_history.commands``, ``helmdeck_runs.commands``,
``helmdeck_mcp.commands``, ``helmdeck_gateway.commands``. ``helmdeck_core.cli`` finds and runs them.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
