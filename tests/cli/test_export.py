"""``casewise export`` as a person uses it: names, folders, refusals."""

from pathlib import Path

from conftest import Cli

TASK = ("--to", "lm-eval", "--cases", "starter", "--reveal")


def test_a_folder_replaces_nothing(cli: Cli, tmp_path: Path) -> None:
    cli.ok("export", *TASK, "--out", "task")
    assert "distressing" in (tmp_path / "task/README.md").read_text()
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "file").touch()
    for out in ("task", "file"):
        done = cli("export", *TASK, "--out", out)
        assert done.returncode == 2
        assert "is there already" in done.stderr
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "file"])
    (tmp_path / "empty").mkdir()
    cli.ok("export", *TASK, "--out", "empty")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]
