"""Tables of published outputs on the first pages, between ``<!-- published: NAME -->`` marks.

    make published

Figures alone: no text of a case is written.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import casewise as cw

ROOT = Path(__file__).resolve().parents[1]
OUTPUTS = ROOT.parent / "shared/data/casebench/exp"
PAGES = ("README.md", "docs/index.md")


def verdicts(outputs: Path) -> str:
    """Table in short of ``casewise score``: a row a model and protocol, whole contexts."""
    markdown = cw.score(cw.judgements(outputs)).to_markdown()
    return markdown.split("### In short")[1].split("\n\n")[1].strip()


TABLES: Mapping[str, Callable[[Path], str]] = {"verdicts": verdicts}


def with_tables(text: str, outputs: Path) -> str:
    """Make the tables of a page anew.

    Args:
        text: The page.
        outputs: Folder of published outputs, a folder a model.
    """
    return re.sub(
        r"(<!-- published: (\w+) -->\n).*?(?=<!-- end -->)",
        lambda found: f"{found[1]}\n{TABLES[found[2]](outputs)}\n\n",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for name in PAGES:
        page = ROOT / name
        page.write_text(with_tables(page.read_text("utf-8"), Path(*sys.argv[1:] or [OUTPUTS])))
