"""Open the built site from disk, as a reader does: links, accessibility, width, search.

    make docs

In Debian's Chromium, with the network off. Ends with 1 if something is wrong.
"""

import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from support.seen import grave, overflowing  # noqa: E402

SITE = ROOT / "build/site"
SHOTS = ROOT / "build/screenshots"

WIDTHS = (1280, 400)

LOOKED_AT = (
    "index",
    "start/first-run",
    "how-to/gate",
    "reference/commands/run",
    "reference/measures",
    "method/statistics",
    "gallery/index",
)
"""Pages that are opened in the browser, and photographed."""

MAY_SCROLL = "pre, .md-typeset__scrollwrap, .md-sidebar, .md-tabs, .md-search, iframe, .md-nav"


class Anchors(HTMLParser):
    """Links of a page, and what can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links, self.names = list[str](), set[str]()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what links, and what is linked to."""
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.names.add(value)
            elif value and (name == "href" or (name == "src" and tag != "script")):
                self.links.append(value)


def broken() -> Iterator[str]:
    """Links of the built pages that lead nowhere, and what would be fetched from elsewhere."""
    pages = {page: Anchors(page) for page in sorted(SITE.rglob("*.html"))}
    own = {
        page for page in pages if page.name not in ("report.html", "what-changed.html", "404.html")
    }
    own |= {SITE / "how-to/report.html"}
    for page in sorted(own):
        for link in pages[page].links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file():
                yield f"{page.relative_to(SITE)}: nothing at {link}"
            elif anchor and target in own and anchor not in pages[target].names | {"__skip"}:
                yield f"{page.relative_to(SITE)}: no such place: {link}"


def looked_at(browser: Browser) -> Iterator[str]:
    """What a browser without a network finds wrong, at both widths, light and dark."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    for width, scheme in zip(WIDTHS, ("light", "dark"), strict=True):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            offline=True,
        )
        for name in LOOKED_AT:
            page, troubles = context.new_page(), list[str]()
            page.on("pageerror", lambda error, to=troubles: to.append(str(error)))
            page.on(
                "console",
                lambda said, to=troubles: to.extend([said.text] * (said.type == "error")),
            )
            page.on(
                "request",
                lambda asked, to=troubles: to.extend(
                    [asked.url] * (not asked.url.startswith(("file:", "data:", "blob:", "about:")))
                ),
            )
            page.goto((SITE / f"{name}.html").as_uri())
            page.wait_for_load_state("load")
            page.screenshot(path=SHOTS / f"{name.replace('/', '-')}-{width}.png")
            # Before axe, which asks for the style sheets in a way that no page from disk may.
            troubles = [*troubles, *grave(page), *overflowing(page, MAY_SCROLL)]
            yield from (f"{name} at {width}: {trouble}" for trouble in troubles)
            page.close()
        context.close()


def unsearched(browser: Browser) -> Iterator[str]:
    """What the search, opened from disk, does not find."""
    page = browser.new_context(offline=True).new_page()
    page.goto((SITE / "index.html").as_uri())
    for words, place in (("over_refusal", "measures.html"), ("max-cost", "commands/run.html")):
        page.locator(".md-search__input").fill("")
        page.locator(".md-search__input").press_sequentially(words)
        try:
            page.wait_for_selector(f".md-search-result__link[href*='{place}']", timeout=15_000)
        except Exception:
            yield f"the search for {words} does not find {place}"


def main() -> None:
    """Print what is wrong."""
    chromium = shutil.which("chromium")
    troubles = list(broken())
    if chromium is None:
        print("Chromium is not installed (Debian: apt-get install chromium): pages were not opened")
    else:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            troubles += [*looked_at(browser), *unsearched(browser)]
            browser.close()
    print("\n".join(troubles) or f"{SITE}/index.html: nothing wrong; pictures in {SHOTS}")
    sys.exit(bool(troubles))


if __name__ == "__main__":
    main()
