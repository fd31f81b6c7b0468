"""The training package: learning, data sets, measurement, and the command line."""
