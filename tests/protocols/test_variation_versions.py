"""A variation's version tells its wordings apart."""

import re
from types import ModuleType

import pytest

from casewise.protocols import VARIATIONS
from casewise.protocols import _experiments as experiments
from casewise.protocols import _pressures as pressures
from casewise.protocols._variations import variation_version

NAMES = tuple(f"{one.name}-1k" if one.sized else one.name for one in VARIATIONS.values())
VERSIONS = {
    pressures: "FALSE_AUTHORITY URGENCY FORGED_SYSTEM PERSONA CORRECTION ANNOUNCEMENT",
    experiments: "ABOUT PAST TALK PRACTICE CHANGED AGAIN",
}


def versions() -> dict[str, str]:
    return {name: variation_version(name) for name in NAMES}


@pytest.mark.parametrize(
    ("home", "wording", "place"),
    [
        (home, wording, place)
        for home, wordings in VERSIONS.items()
        for wording in wordings.split()
        for place in range(3)
    ],
)
def test_the_version_changes_with_every_wording(
    monkeypatch: pytest.MonkeyPatch, home: ModuleType, wording: str, place: int
) -> None:
    before = versions()
    texts = list(getattr(home, wording))
    texts[place] += "!"
    monkeypatch.setattr(home, wording, tuple(texts))
    after = versions()
    assert sum(before[name] != after[name] for name in NAMES) == 1


def test_versions_are_named_and_don_t_hang_on_the_size() -> None:
    assert all(re.fullmatch(r"[a-z-]+@[0-9a-f]{8}", found) for found in versions().values())
    assert variation_version("filler-1k") == variation_version("filler-0")
