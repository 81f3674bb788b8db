"""What commands are written with: options, input and progress, so that a command of a plugin behaves like a built-in one.

``helmdeck_core.cli`` has the other half: printing, errors and exit codes.
"""

from helmdeck_command_kit.inputs import add_catalog as add_catalog
from helmdeck_command_kit.inputs import add_inputs as add_inputs
from helmdeck_command_kit.inputs import add_request as add_request
from helmdeck_command_kit.inputs import input_values as input_values
from helmdeck_command_kit.inputs import pairs as pairs
from helmdeck_command_kit.inputs import read_input as read_input
from helmdeck_command_kit.inputs import read_json as read_json
from helmdeck_command_kit.inputs import read_object as read_object
from helmdeck_command_kit.inputs import request_text as request_text
from helmdeck_command_kit.inputs import whole_number as whole_number
from helmdeck_command_kit.progress import tracked as tracked
from helmdeck_command_kit.progress import wait_for as wait_for
from helmdeck_command_kit.run_records import run_data as run_data
from helmdeck_command_kit.run_records import show_run as show_run
from helmdeck_command_kit.run_records import started_text as started_text
from helmdeck_command_kit.sockets import BACKLOG as BACKLOG
from helmdeck_command_kit.sockets import listen as listen
from helmdeck_command_kit.sources import note_source_problems as note_source_problems
from helmdeck_command_kit.sources import source_status as source_status
from helmdeck_command_kit.wording import counted as counted
