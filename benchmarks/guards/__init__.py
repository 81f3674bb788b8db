"""Guards: what the detectors find in labelled texts, and what guards cost a request and a stream."""
