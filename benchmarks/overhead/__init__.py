"""Overhead benchmark: cost of a call compared with a bare request."""
