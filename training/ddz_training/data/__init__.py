"""Data sets: recorded games that replay exactly, and tables of states and actions made of them."""
