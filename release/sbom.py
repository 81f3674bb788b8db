"""The software bill of materials: every distribution that ``pip install 'helmdeck[...]'`` with all extras brings, as CycloneDX."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from release.commands import ROOT, script
from release.distributions import distributions
from release.environments import create, requirements


def write_sbom(folder: Path, scratch: Path) -> Path:
    """Write the bill of materials of Helmdeck with all extras and contribs, as its dependencies resolve today."""
    environment = create(scratch / "sbom", sys.executable)
    environment.install(*requirements(folder, full=True))
    target = folder / f"{distributions()[0].stem}.cdx.json"
    text = script(
        "cyclonedx-py",
        "environment",
        "--output-reproducible",
        "--pyproject",
        ROOT / "pyproject.toml",
        "--output-format",
        "JSON",
        environment.python,
    )
    target.write_text(json.dumps(_without_paths(json.loads(text)), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return target


def _without_paths(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out where the built files were installed from: a path of this machine."""
    for component in document["components"]:
        kept = [each for each in component.pop("externalReferences", ()) if not each["url"].startswith("file:")]
        if kept:
            component["externalReferences"] = kept
    return document
