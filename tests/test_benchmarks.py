"""Scripts of ``benchmarks/`` that take a folder: one, and nothing else."""

from pathlib import Path

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


def test_a_folder_without_files_names_what_each_work_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load_script(ROOT / "benchmarks/reproduce/reproduce.py")
    monkeypatch.setattr("sys.argv", ["reproduce.py", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 1
    errors = capsys.readouterr().err.splitlines()
    assert [line.split(": no ")[0] for line in errors] == [
        f"{tmp_path}, {name}" for name in script.works()
    ]
