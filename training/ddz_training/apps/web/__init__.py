"""``ddz web``: games, replays, puzzles and questions on a local page.

=============  =====================================================================================
``games``      the games of the server: kept as files, a few in memory, expiring
``chances``    of winning, for a move and for others
``puzzles``    what became of the puzzles: first tries, a streak, a rating
``shapes``     what the page gets, as plain data
``server``     what answers the requests
``preparing``  what a fresh machine compiles meanwhile
``routes``     the addresses and what each does, and the server of it all
``page/``      the page: HTML, CSS and ES modules, served as they are
=============  =====================================================================================
"""
