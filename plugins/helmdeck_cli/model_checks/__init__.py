"""``helmdeck doctor --model``: what a model can do, from a few small requests, and the configuration rows that follow."""
