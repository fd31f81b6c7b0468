"""Speeds, ours and the peers in one run: what is measured, each part in a file of its own."""
