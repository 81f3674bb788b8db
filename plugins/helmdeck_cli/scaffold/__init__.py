"""Distributions for new plugins, from the templates in ``templates``."""
