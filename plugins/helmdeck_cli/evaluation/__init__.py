"""The measurements and plots of ``helmdeck eval``."""
