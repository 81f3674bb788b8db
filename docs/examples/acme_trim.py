"""A trim step: our catalog contains ``examples`` that are too large for small models."""

from helmdeck_core import TrimStep, hookimpl


def without_examples(_, data):
    """Remove ``metadata.examples``; return the identical object if there are none.

    The first argument is the original entry, for steps that trim only packs or only pipelines.
    """
    metadata = data.get("metadata", {})
    if "examples" not in metadata:
        return data
    return {**data, "metadata": {key: value for key, value in metadata.items() if key != "examples"}}


@hookimpl
def helmdeck_trim_steps():
    """Run before the built-in steps, which start at 10."""
    return [TrimStep(name="acme.examples[]", trim=without_examples, order=5, summary="removes example requests")]
