"""Hugging Face models in this process; torch and transformers are imported when one is opened."""

from casewise.evaluation.local.hf._provider import HuggingFace

__all__ = ["HuggingFace"]
