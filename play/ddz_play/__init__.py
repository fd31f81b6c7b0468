"""A game with people: sessions, the page, the terminal, language models, puzzles and hints, in two languages."""
