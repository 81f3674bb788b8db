"""A trim step: our catalog carries ``examples`` that help people and cost small models too much."""

from helmdeck_core import TrimStep, hookimpl


def without_examples(_, data):
    """Cut ``metadata.examples``; give back the very same object when there is nothing to cut.

    The first argument is the whole entry as it came, for steps that cut packs only, or pipelines only.
    """
    metadata = data.get("metadata", {})
    if "examples" not in metadata:
        return data
    return {**data, "metadata": {key: value for key, value in metadata.items() if key != "examples"}}


@hookimpl
def helmdeck_trim_steps():
    """Before everything that ships: those steps start at 10."""
    return [TrimStep(name="acme.examples[]", trim=without_examples, order=5, summary="cuts example requests")]
