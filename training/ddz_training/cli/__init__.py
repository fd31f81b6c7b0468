"""The command line ``ddz``, and its commands that train, measure, record and export."""
