"""A game with people: sessions, pictures, and what they read in two languages."""
