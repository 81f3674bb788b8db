# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_cli.execution import tracked as tracked
from helmdeck_cli.execution import wait_for as wait_for
from helmdeck_cli.inputs import add_catalog as add_catalog
from helmdeck_cli.inputs import add_inputs as add_inputs
from helmdeck_cli.inputs import add_request as add_request
from helmdeck_cli.inputs import input_values as input_values
from helmdeck_cli.inputs import pairs as pairs
from helmdeck_cli.inputs import read_input as read_input
from helmdeck_cli.inputs import read_json as read_json
from helmdeck_cli.inputs import read_object as read_object
from helmdeck_cli.inputs import request_text as request_text
from helmdeck_cli.inputs import whole_number as whole_number
from helmdeck_cli.printing.runs import run_data as run_data
from helmdeck_cli.printing.runs import show_run as show_run
from helmdeck_cli.printing.runs import started_text as started_text
from helmdeck_cli.printing.wording import counted as counted
from helmdeck_cli.sockets import BACKLOG as BACKLOG
from helmdeck_cli.sockets import listen as listen
from helmdeck_cli.sources import note_source_problems as note_source_problems
from helmdeck_cli.sources import source_status as source_status
