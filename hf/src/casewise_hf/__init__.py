"""Hugging Face models in the process that asks them, for casewise: ``casewise-hf/PATH``."""

__version__ = "0.1.0"
