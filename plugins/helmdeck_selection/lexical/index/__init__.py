"""The searchable terms of a catalog: entries to postings, kept on disk for large catalogs."""
