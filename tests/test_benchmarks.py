"""Scripts of ``benchmarks/`` that take a folder: one, and nothing else."""

import pytest
from conftest import ROOT
from support.scripts import load_script


@pytest.mark.parametrize("name", ["reproduce/reproduce", "planted_people"])
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--help"], 0, "usage:"),
        ([], 2, "required"),
        (["one", "two"], 2, "unrecognized arguments: two"),
    ],
)
def test_words(
    name: str,
    words: list[str],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = load_script(ROOT / f"benchmarks/{name}.py")
    monkeypatch.setattr("sys.argv", [f"{name}.py", *words])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == status
    assert said in "".join(capsys.readouterr())
