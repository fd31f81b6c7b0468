"""Other libraries take the environment as it is: each is trained in a virtual environment of its own.

``python -m tests.integrations [LIBRARY ...]`` (``make test-integrations``) runs every program, or those of some
libraries; ``--smoke`` runs each for a moment.  A library is a folder:

* ``constraints.txt``: what is installed beside this package, exact versions, ``torch==2.13.0`` among them, and
  ``numba==0.68.1``, ``numpy==2.4.6`` where the library allows them, so that all environments share compiled kernels.
* ``train.py``, or several ``train_WHAT.py``: what a user of the library would write, shown on its page in
  ``docs/guides/integrations``.  It has ``train(seed)``, which learns from ``STEPS`` decisions and returns the policy,
  and gives it to ``main`` of :mod:`.evaluation`, which reads the seeds and prints a line for each.

:data:`.speed.PLAYS` says how to play at random in the games of each program, for the table's speeds.  Nothing of this
is imported by the default tests.
"""
