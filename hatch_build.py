"""Build the script that draws the charts of a page, for the wheel and for a checkout.

python hatch_build.py

Writes src/casewise/reporting/page/assets/vega.js: the bundle that vl-convert-python holds, under
its licence. A build of casewise needs that package (88 MB); casewise itself does not.
"""

import hashlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASSETS = Path(__file__).resolve().parent / "src/casewise/reporting/page/assets"
SHA256 = "373b1f84072b31010f15ceb787be6b415c53936411aae267c8c2b2b6ccde46e7"
"""Hash of the bundle that vl-convert-python 1.9.0.post1 makes."""


class ChartScript(BuildHookInterface):  # type: ignore[type-arg]
    """Build hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the script before files are collected."""
        write_script(ASSETS)


def write_script(folder: Path) -> Path:
    """Write vega.js into a folder, unless it is there.

    Raises:
        ValueError: The bundle has another hash.
    """
    path = folder / "vega.js"
    licence = f"/*!\n{(ASSETS / 'vega.LICENSE.txt').read_text('utf-8')}*/\n"
    if path.exists() and _hash(path.read_text("utf-8").removeprefix(licence)) == SHA256:
        return path
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if _hash(bundle) != SHA256:
        raise ValueError(
            f"the bundle of vl-convert-python has SHA-256 {_hash(bundle)}, not {SHA256}"
        )
    path.write_text(licence + bundle, "utf-8")
    return path


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    print(write_script(ASSETS))
