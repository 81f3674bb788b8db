"""Refuses plugins of distributions that are written for another version of Helmdeck, before any of their code runs.

Installers check requirements when they install a plugin, but an upgrade of Helmdeck leaves plugins in place that do not fit it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmdeck_core import __version__

if TYPE_CHECKING:
    from importlib.metadata import Distribution


class IncompatiblePlugin(Exception):
    """The distribution of a plugin requires another version of Helmdeck."""


def refuse_incompatible(distribution: Distribution) -> None:
    """Check the requirement of a distribution on Helmdeck; one without such a requirement is accepted.

    :raises IncompatiblePlugin: this version is outside of the required range.
    """
    # Imported here, since most installations have no further plugins.
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for line in distribution.requires or ():
        if not line.lower().startswith("helmdeck"):
            continue
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue  # old metadata; the import of the plugin shows whether it works
        if canonicalize_name(requirement.name) != "helmdeck":
            continue
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if not requirement.specifier.contains(__version__, prereleases=True):
            raise IncompatiblePlugin(
                f"it requires helmdeck{requirement.specifier}, and this is helmdeck {__version__}; "
                f"install a version that fits: pip install --upgrade {distribution.name}"
            )
