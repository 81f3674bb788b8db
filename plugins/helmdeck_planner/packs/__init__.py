"""The packs ``helmdeck.plan`` and ``helmdeck.route``, which plan with a model."""
