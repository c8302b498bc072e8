"""The web page on which cases are revised, for the person at this computer alone.

It imports the web framework, so import it where it is used: ``casewise.annotation`` does not.
"""

from casewise.annotation.app_revision._serve import PortTakenError, listen, serve

__all__ = [
    "PortTakenError",
    "listen",
    "serve",
]
