"""What MkDocs asks while it builds the site: pages made of the program, and links out of docs/.

make docs
"""

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import make_gallery
import make_llms
import make_reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

OUTSIDE = {
    "internals/contributing.md": ROOT / "CONTRIBUTING.md",
    "reference/changes.md": ROOT / "CHANGELOG.md",
    **{f"examples/{path.name}": path for path in sorted((ROOT / "examples").glob("*.ipynb"))},
    **{f"how-to/{path.name}": path for path in sorted((ROOT / "study/docs").glob("*.md"))},
}
"""Files of the site that stand outside docs/."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the generated pages of the commands where the navigation has their folder."""
    config.nav = _commands_named(config.nav)
    return config


def _commands_named(nav: Any) -> Any:
    if isinstance(nav, list):
        return [_commands_named(one) for one in nav]
    if isinstance(nav, dict):
        return {name: _commands_named(one) for name, one in nav.items()}
    return list(make_reference.command_pages()) if nav == make_reference.COMMANDS else nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated, and what stands elsewhere."""
    for place, text in {**make_reference.pages(), **make_gallery.pages()}.items():
        if written := files.get_file_from_path(place):
            files.remove(written)
        files.append(File.generated(config, place, content=text))
    for place, path in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    texts = {one.src_uri: one.content_string for one in files.documentation_pages()}
    nav = config.nav or []
    files.append(File.generated(config, "llms.txt", content=make_llms.llms_text(nav, texts)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links of pages that stand elsewhere, or to what does, to its place in the site."""
    here = posixpath.dirname(page.file.src_uri)
    if page.file.src_uri in ("internals/contributing.md", "reference/changes.md"):
        return re.sub(r"\]\(docs/(?:[\w-]+/)*([\w-]+\.md)", _to_page, markdown)
    # Of a page of the study, to one of casewise.
    markdown = re.sub(r"\]\(\.\./\.\./docs/", "](../", markdown)
    # Of a page of casewise, to one of the study.
    study = posixpath.relpath("how-to", here or ".")
    markdown = re.sub(r"\]\((?:\.\./)+study/docs/", f"]({study}/", markdown)
    return re.sub(r"\]\((\.\./)+examples/", "](../examples/", markdown)


def _to_page(match: re.Match[str]) -> str:
    """A link to a page, by its place in the site."""
    places = {path.name: path.relative_to(ROOT / "docs").as_posix() for path in PAGES}
    places |= {path.name: place for place, path in OUTSIDE.items()}
    return f"](../{places[match[1]]}"


PAGES = sorted((ROOT / "docs").rglob("*.md"))


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialogue of the search for those who hear the page."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
