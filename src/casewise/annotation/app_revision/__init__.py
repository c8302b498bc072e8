"""The web page on which cases are revised, for the person at this computer alone."""
