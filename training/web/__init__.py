"""``ddz web``: games, replays, puzzles and questions on a local page.

===============  =====================================================================
``games``        the games of the server: kept as files, at most so many in memory, expiring
``shapes``       what the page is told, as plain data
``guard``        which requests are answered at all
``routes``       the addresses and what each does
``page/``        the page: HTML, CSS and ES modules, served as they are
``browser``      a Chromium for tests and pictures
``screenshots``  the pictures in the docs
===============  =====================================================================
"""
