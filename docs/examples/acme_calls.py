"""How our model writes tool calls: as lines between marks, or as elements with fields."""

from helmdeck_core import ToolCallFormat, ToolCallFormatKind, hookimpl


@hookimpl
def helmdeck_tool_call_formats():
    """The name stands behind the mark, the arguments are JSON."""
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
