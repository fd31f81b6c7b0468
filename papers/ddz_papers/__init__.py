"""Experiments of five papers, repeated: their algorithms, their tables beside ours, and the commands."""
