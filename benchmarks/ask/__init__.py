"""Typed answers beside other libraries: failing servers, and the code of everyday tasks."""
