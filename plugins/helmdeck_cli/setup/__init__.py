"""The first steps on a machine: which models can be called from it, and the configuration file that ``helmdeck init`` writes."""
