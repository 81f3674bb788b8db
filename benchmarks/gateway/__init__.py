"""Benchmark of the gateway."""
