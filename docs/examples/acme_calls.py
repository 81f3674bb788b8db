"""Tool-call formats of our model: lines between delimiters, and elements with one field per argument."""

from helmdeck_core import ToolCallFormat, ToolCallFormatKind, hookimpl


@hookimpl
def helmdeck_tool_call_formats():
    """In the first format, the name follows the delimiter, and the arguments are JSON."""
    return [
        ToolCallFormat(name="acme.at", open=("\n@@",), close=("@@",), head=r"\s*(?P<name>[a-z_]{1,60})\s*"),
        ToolCallFormat(
            name="acme.fields",
            open=("<acme:run>",),
            close=("</acme:run>",),
            argument=r'<acme:set key="(?P<key>[^"<>]{1,60})">',
            argument_close="</acme:set>",
        ),
        ToolCallFormat(
            name="acme.manual", kind=ToolCallFormatKind.QUOTE, open=("<acme:manual>",), close=("</acme:manual>",)
        ),
    ]
