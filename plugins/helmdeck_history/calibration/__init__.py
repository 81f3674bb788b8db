"""Calibration: measures the largest catalog with which a model still picks the right tool, and writes its budget row."""
