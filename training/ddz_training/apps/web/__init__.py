"""``ddz web``: games, replays, puzzles and questions on a local page.

=============  =====================================================================================
``games``      the games of the server: kept as files, at most so many in memory, expiring
``chances``    of winning, for a move and for others
``shapes``     what the page is told, as plain data
``server``     what answers the requests
``preparing``  what a fresh machine compiles meanwhile, and whether it does
``guard``      which requests are answered at all
``desk``       where requests wait
``routes``     the addresses and what each does
``page/``      the page: HTML, CSS and ES modules, served as they are
``serving``    the server of it all, which waits for no half request
=============  =====================================================================================
"""
