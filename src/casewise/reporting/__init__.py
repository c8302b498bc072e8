"""Tables for people and for programs. Formats, and never computes."""

from casewise.reporting._scores import (
    condition_text,
    number,
    to_csv,
    to_json,
    to_markdown,
)
from casewise.reporting._terminal import score_renderable

__all__ = [
    "condition_text",
    "number",
    "score_renderable",
    "to_csv",
    "to_json",
    "to_markdown",
]
