"""The site's pages as a list for language models: ``llms.txt`` (https://llmstxt.org)."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

OPENING = """# casewise

> Does a language model's safety judgement follow the context? casewise asks models about the same
> queries in different contexts, and scores their verdicts, or their replies, against what people
> judged.

A program begins with [For a coding agent](how-to/coding-agents.html).
"""


def llms_text(nav: list[Any], pages: Mapping[str, str]) -> str:
    """List of all pages, a line each, under the headings of the navigation.

    Args:
        nav: Navigation of the site, each page by its place.
        pages: Markdown of each page, by its place.
    """
    parts = [OPENING]
    for section in nav:
        ((name, entries),) = section.items()
        lines = [_line(place, pages[place]) for place in _places(entries)]
        parts.append("\n".join((f"## {name}", "", *lines, "")))
    return "\n".join(parts)


def _places(entries: Any) -> Iterator[str]:
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, dict):
        entries = list(entries.values())
    if isinstance(entries, list):
        for entry in entries:
            yield from _places(entry)


def _line(place: str, text: str) -> str:
    title = re.search(r"^# (.+)$", text, re.M)
    address = posixpath.splitext(place)[0] + ".html"
    said = first_sentence(text)
    return f"- [{title[1] if title else place}]({address})" + (f": {said}" if said else "")


def first_sentence(text: str) -> str:
    """First sentence of a page's prose, without marks; empty where it has none."""
    prose = re.sub(r"^(```.*?^```|<!--.*?-->)", "", text, flags=re.M | re.S)
    for paragraph in re.split(r"\n\s*\n", prose):
        if re.match(r"\s*(#|\||>|!|-|\d|:::|<|\{)", paragraph) or not paragraph.strip():
            continue
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        return re.split(r"(?<=[.:?!])\s", plain.replace("**", ""))[0].rstrip(":")
    return ""
