"""Benchmarks of run engines: kills of workers, many concurrent runs, and the time that a record of a step takes."""
