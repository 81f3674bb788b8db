# The first plan, and a request that no tool covers.
# expect: 1. helmdeck.memory_store
# expect: 2. blog.draft
# expect: gap: 23
helmdeck plan "remember this and draft a blog post about it"
helmdeck plan "brew a pot of tea" >/dev/null || echo "gap: $?"
