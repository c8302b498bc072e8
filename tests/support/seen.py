"""What is wrong with a page that a browser shows."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page


def grave(page: Page, *, minor: bool = False) -> list[str]:
    """What axe-core calls serious or critical, or all that it finds, once the page has loaded."""
    page.wait_for_load_state()
    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {[node['html'][:160] for node in violation['nodes'][:3]]}"
        for violation in violations
        if minor or violation["impact"] in ("serious", "critical")
    ]


def overflowing(page: Page, but: str) -> list[str]:
    """What sticks out to the right, but for what lies in elements of the selector ``but``."""
    page.wait_for_load_state()
    found: list[str] = page.evaluate(
        """(but) => [...document.querySelectorAll("body *")]
        .filter((one) => !one.closest(but) && one.checkVisibility()
          && one.getBoundingClientRect().right > innerWidth + 0.5)
        .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)""",
        but,
    )
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["the page"] if wide else [])]
