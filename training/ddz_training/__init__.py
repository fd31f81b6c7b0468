"""Training, data sets, measurement, and the command line."""
