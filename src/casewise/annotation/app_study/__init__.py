"""The pages on which people judge cases for a study.

It imports the web framework and the libraries of the extra ``annotate``, so import it where it is
used.
"""

from casewise.annotation.app_study._guard import DEFAULT_RATE, Settings
from casewise.annotation.app_study._serve import listen, make_app, make_server, serve

__all__ = [
    "DEFAULT_RATE",
    "Settings",
    "listen",
    "make_app",
    "make_server",
    "serve",
]
