"""Fetching CASE-Bench: pinned hashes, the cache, and the data that is given instead."""

import functools
import hashlib
import http.server
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_openai import serving_thread

from casewise.cases import casebench_data, casebench_templates, fetch_casebench, open_cases
from casewise.cases import fetch as module
from casewise.errors import AssetError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CASEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def cached_files(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_given_data_is_checked_and_kept(casebench: Path, cache: Path) -> None:
    fetched = fetch_casebench(casebench)
    assert fetched.templates is None
    assert fetched.data == casebench_data()
    assert len(open_cases("casebench").cases) == 900
    with pytest.raises(AssetError, match=r"scripts/template\.py"):
        casebench_templates()


def test_altered_data_is_refused(casebench: Path, cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "CASEBench_data.json"
    path.write_bytes((casebench / "CASEBench_data.json").read_bytes() + b" ")
    with pytest.raises(AssetError, match="sha256 differs"):
        fetch_casebench(path)
    assert cached_files(cache) == []


def test_altered_templates_leave_the_cache_unchanged(
    casebench: Path, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "CASEBench_data.json").symlink_to(casebench / "CASEBench_data.json")
    (tmp_path / "template.py").write_text("judge = '{query} {context}'\n")
    with pytest.raises(AssetError, match=r"template\.py: sha256 differs"):
        fetch_casebench(tmp_path)
    assert cached_files(cache) == []


def test_without_a_fetch_the_message_says_how(cache: Path) -> None:
    with pytest.raises(AssetError, match="casewise cases fetch casebench"):
        open_cases("casebench")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder served over real HTTP on loopback, in the repository's place."""
    folder = tmp_path / "site"
    (folder / "data").mkdir(parents=True)
    (folder / "scripts").mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = serving_thread(server)
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_download(
    casebench: Path, cache: Path, site: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = site
    data = (casebench / "CASEBench_data.json").read_bytes()
    templates = b"judge = '{query} {context}'\n"
    (folder / "data/CASEBench_data.json").write_bytes(data)
    (folder / "scripts/template.py").write_bytes(templates)
    monkeypatch.setattr(module, "_BASE", url)
    # Upstream's templates are not at hand here; a file of ours stands in, with its own hash.
    stand_in = replace(module.TEMPLATES, sha256=hashlib.sha256(templates).hexdigest())
    monkeypatch.setattr(module, "TEMPLATES", stand_in)
    fetched = fetch_casebench()
    assert fetched.data.read_bytes() == data
    assert fetched.templates is not None
    assert fetched.templates.read_bytes() == templates
    assert cached_files(cache) == ["CASEBench_data.json", "template.py"]


def test_a_failed_download_leaves_the_cache_unchanged(
    cache: Path, site: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BASE", site[1])
    with pytest.raises(AssetError, match=r"can't be fetched .* --from PATH"):
        fetch_casebench()
    assert cached_files(cache) == []
