"""Experiments of the literature, repeated: each prints the paper's figures beside ours."""
