"""A study's database. Imports the libraries of the extra ``annotate``."""
