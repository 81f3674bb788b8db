"""Retry storms: a provider that is down for ten seconds under many calls."""
