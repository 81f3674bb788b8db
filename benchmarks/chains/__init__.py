"""Simulation of fallback chains: cost per usable answer by policy."""
