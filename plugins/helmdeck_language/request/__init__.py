"""What a person asked for: sentences, request apart from pasted documents, clauses."""
