"""The local web page of ``ddz web``, for games, replays, puzzles and advice.

=============  =====================================================================================
``games``      the games of the server: kept as files, a few in memory, expiring
``puzzles``    what became of the puzzles: first tries, a streak, a rating
``shapes``     what the page gets, as plain data
``server``     what answers the requests
``preparing``  what a fresh machine compiles meanwhile
``routes``     the addresses and what each does, and the server of it all
``page/``      the page: HTML, CSS and ES modules, served as they are
=============  =====================================================================================

A hint passes through these files:

1. ``page/js/controls``: the button; ``play``: which game asks, and what is drawn meanwhile; ``api``: the request;
2. :mod:`~ddz_play.web.routes` and :mod:`~ddz_play.web.server`: the game, and who advises;
3. :mod:`ddz_play.session.session` and :mod:`ddz_play.session.advice`: what the adviser would do, and why not
   another move;
4. :mod:`ddz_play.winning_chances` and :mod:`ddz_agents.neural_search.win_probability`: how likely each move wins;
5. :mod:`~ddz_play.web.shapes` and :mod:`ddz_play.session.reasons`: as plain data, with a reason in words;
6. ``page/js/thoughts``: on the page.
"""
