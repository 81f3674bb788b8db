"""Plans of the embedded planner for requests that people make first, on real tool catalogs."""
