"""casewise-study: people judge cases in a browser, and their votes become labels.

Its command is ``casewise annotate``. The doors of ``study`` and ``votes`` show what the
documentation does; all else is imported by its module's name, as much of it needs libraries that
few commands load.
"""

__version__ = "0.1.0"
