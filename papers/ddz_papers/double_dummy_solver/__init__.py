"""The double-dummy solver paper (Chang 1996): its experiments, on the agents' solver."""
