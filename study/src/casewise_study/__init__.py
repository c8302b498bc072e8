"""casewise-study: what people do in a browser, judging cases and revising contexts.

Its commands are ``casewise annotate`` and ``casewise contexts revise``. The doors of ``revision``,
``study`` and ``votes`` show what the documentation does; all else is imported by its module's name,
as much of it needs libraries that few commands load.
"""

__version__ = "0.1.0"
