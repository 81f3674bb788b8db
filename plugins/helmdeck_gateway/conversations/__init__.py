"""What a gateway remembers of conversations: stored responses, signatures of turns, choices of tools; ``stores`` keeps it."""
