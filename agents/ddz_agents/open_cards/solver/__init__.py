"""Open cards solved: who wins with every hand known, and by which line."""
