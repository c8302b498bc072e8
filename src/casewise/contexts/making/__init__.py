"""The making of contexts: what a model is asked, how its answer is read, what is wrong with it.

Pure: no model is called here.
"""
