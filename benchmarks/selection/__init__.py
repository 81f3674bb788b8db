"""Ranking benchmark: required tools among the first entries, and ranking times."""
