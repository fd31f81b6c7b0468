"""``ddz web``: games, replays, puzzles and questions on a local page.

===============  =====================================================================
``games``        the games of the server: kept as files, at most so many in memory, expiring
``shapes``       what the page is told, as plain data
``compiling``    whether this process compiles, for a page that waits
``guard``        which requests are answered at all
``routes``       the addresses and what each does
``page/``        the page: HTML, CSS and ES modules, served as they are
``serving``      the server in a thread, for tests, pictures and measurements
``browser``      a Chromium for tests and pictures
``screenshots``  the pictures in the docs
===============  =====================================================================
"""
