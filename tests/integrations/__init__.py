"""Other libraries take the environment as it is: each is trained in a virtual environment of its own.

``python -m tests.integrations [LIBRARY ...]`` (``make test-integrations``) runs every program, or those of some
libraries; ``--smoke`` runs each for a moment.  A library is a folder:

* ``constraints.txt``: what is installed beside this package, exact versions, ``torch==2.13.0`` among them, and
  ``numba==0.68.1``, ``numpy==2.4.6`` where the library allows them, so that all environments share compiled kernels.
* ``train.py``, or several ``train_WHAT.py``: what a user of the library would write, a whole program, of which the page
  in ``docs/guides/integrations`` shows what is new.  It takes seeds as arguments (1, 2 and 3 by default) and the
  decisions to learn from as ``STEPS`` in its environment, and prints a line for each seed.
* ``speed.py``: how to play at random in the games of the programs, for the table's speeds.

Nothing of this is imported by the default tests.
"""
