"""The script that draws charts is the one whose hash the build holds, under its licence."""

from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT
from support.scripts import load_script

from casewise.reporting.page import asset


@pytest.fixture
def build() -> ModuleType:
    return load_script(ROOT / "hatch_build.py")


def test_the_script_is_the_one_that_the_build_names(build: ModuleType, tmp_path: Path) -> None:
    made = build.write_script(tmp_path).read_text("utf-8")
    assert made == asset("vega.js")
    assert made.startswith("/*!\nVega 6.2.0, Vega-Lite 6.4.1 and Vega-Embed 7.0.2")
    assert "University of Washington Interactive Data Lab" in made[:300]


def test_another_bundle_is_refused(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "SHA256", "0" * 64)
    with pytest.raises(ValueError, match="SHA-256 373b1f84"):
        build.write_script(tmp_path)
    assert not list(tmp_path.iterdir())
