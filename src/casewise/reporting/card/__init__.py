"""The evaluation card: a run in Markdown, to be published beside its numbers."""

from casewise.reporting.card._card import evaluation_card

__all__ = ["evaluation_card"]
