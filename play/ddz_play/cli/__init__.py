"""The ``ddz`` commands for playing, watching, solving and replaying games."""
