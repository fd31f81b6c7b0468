"""The ``ddz`` command line and its commands that train, measure, record and export."""
