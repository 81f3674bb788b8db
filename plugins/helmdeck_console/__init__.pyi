# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_console.application import Console as Console
from helmdeck_console.demo.example_day import example_traces as example_traces
from helmdeck_console.sources import Sources as Sources
from helmdeck_console.web.access import Access as Access
