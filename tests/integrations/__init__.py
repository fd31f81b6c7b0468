"""Other libraries take the environment as it is: each is trained in a virtual environment of its own.

``python -m tests.integrations [LIBRARY ...]`` (``make test-integrations``) runs every program, or those of some
libraries.  A library is a folder:

* ``constraints.txt``: what is installed beside this package, exact versions, ``torch==2.13.0`` among them, and
  ``numba==0.68.1``, ``numpy==2.4.6`` where the library allows them, so that all environments share compiled kernels.
* ``train.py``, or several ``train_WHAT.py``: what a user of the library would write.  What stands between the lines
  ``# [shown`` and ``# shown]`` is shown in ``docs/guides/integrations``, and its lines are counted.  The program
  ends with a call of :func:`tests.integrations.judge.judge`, which prints the row for the page's table.

Nothing of this is imported by the default tests.
"""
