"""Data sets: recorded games that can be replayed exactly, and tables of states and actions computed from them."""
