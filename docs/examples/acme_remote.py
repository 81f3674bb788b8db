"""A catalog source that is opened: its entries may change, and it runs them."""

from helmdeck_core import CatalogSource, PackError, PackErrorCode, hookimpl
from helmdeck_selection import read_catalog

TOOLS = [{"name": "acme.invoice_find", "description": "Find an invoice by number."}]


class Registry:
    """An open source; ``settings.change`` would replace its entries."""

    def __init__(self, settings):
        self.settings = settings

    def load(self):
        """Return the entries; may block."""
        return read_catalog(TOOLS, self.settings.name)

    async def run(self, entry_id, arguments, context):
        """Run one entry."""
        if "number" not in arguments:
            raise PackError(entry_id, PackErrorCode.INVALID_INPUT, "number is missing")
        context.progress("asking the registry")
        return {"found": f"invoice {arguments['number']}"}

    def close(self):
        """Release what ``load`` opened."""


@hookimpl
def helmdeck_catalog_sources():
    """The registry, as ``acme-remote`` in ``[catalog] sources``."""
    return [CatalogSource(name="acme-remote", open=Registry, summary="tools that Acme's registry runs")]
