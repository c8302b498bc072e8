"""casewise measures whether a language model's safety judgement adapts to context.

It implements CASE-Bench (Sun et al., ICML 2025, arXiv 2501.14940). The rooms of the package:
``cases`` (what is asked, where, and how people voted), ``contexts`` (rendering and ablating),
``protocols`` (prompts and readers), ``statistics`` (pure measures), ``evaluation`` (running
models, on Inspect), ``analysis`` (logs to scores), ``reporting`` and ``cli``.
"""

__version__ = "0.1.0"
