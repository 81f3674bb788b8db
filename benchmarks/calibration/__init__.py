"""Calibration of simulated models behind a loopback server."""
