"""Games with people: sessions, a web page, the terminal, language models, puzzles and hints, in two languages."""
