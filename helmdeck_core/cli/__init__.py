"""The command line, and the functions for commands of plugins.

A command of a plugin prints with the names of this package, so that it behaves like a built-in one: results go to standard
output, messages to standard error, errors end with the documented exit codes, and ``--json`` works. For options, input and
progress there is ``helmdeck_cli``.

Commands import the modules that they need when they run, so that ``helmdeck --help`` stays fast.
"""

from __future__ import annotations

from helmdeck_core.cli.exit_codes import ExitCode as ExitCode
from helmdeck_core.cli.exit_codes import UsageError as UsageError
from helmdeck_core.cli.exit_codes import error_data as error_data
from helmdeck_core.cli.exit_codes import error_message as error_message
from helmdeck_core.cli.exit_codes import exit_code_of as exit_code_of
from helmdeck_core.cli.failures import attempt_lines as attempt_lines
from helmdeck_core.cli.failures import cost_text as cost_text
from helmdeck_core.cli.failures import failure_lines as failure_lines
from helmdeck_core.cli.failures import show_exception as show_exception
from helmdeck_core.cli.failures import show_traceback as show_traceback
from helmdeck_core.cli.options import command_parser as command_parser
from helmdeck_core.cli.options import make_deck as make_deck
from helmdeck_core.cli.options import read_config as read_config
from helmdeck_core.cli.options import with_default_history as with_default_history
from helmdeck_core.cli.printing import as_json as as_json
from helmdeck_core.cli.printing import note as note
from helmdeck_core.cli.printing import show as show
from helmdeck_core.cli.printing import show_chunk as show_chunk
from helmdeck_core.cli.printing import show_error as show_error
from helmdeck_core.cli.printing import show_json as show_json
from helmdeck_core.cli.runner import load_commands as load_commands
from helmdeck_core.cli.runner import main as main
from helmdeck_core.cli.terminal import clean as clean
from helmdeck_core.cli.terminal import hanging as hanging
from helmdeck_core.cli.terminal import inline_json as inline_json
from helmdeck_core.cli.terminal import labelled as labelled
from helmdeck_core.cli.terminal import table as table
from helmdeck_core.cli.terminal import terminal_width as terminal_width
from helmdeck_core.cli.terminal import width_of as width_of
