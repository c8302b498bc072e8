"""Who may begin: signed links of the study's own, limits by address range, and when it ends."""

import csv
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from support.serving import Guest, Origin, Serving
from support.starts import Start, until
from support.studies import KEYS, write_study, write_three_arms

from casewise_study.store.study_store import Store
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise_study.study.schema import Timing
from casewise_study.study.study_file import load_study
from casewise_study.study.study_rules import Screening


@pytest.fixture(autouse=True)
def keys_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)


def links(folder: Path, cli: Cli, *ids: str) -> dict[str, str]:
    (folder / "ids.txt").write_text("\n".join(ids), "utf-8")
    call = ("annotate", "links", "study.yaml", "ids.txt", "--url", "https://study.example/")
    done = cli(*call, "--out", "links.csv", "--force")
    assert done.returncode == 0, done.stderr
    with (folder / "links.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["link"] for row in csv.DictReader(file)}


def test_a_study_of_signed_links_takes_no_others(tmp_path: Path, cli_inside: Cli) -> None:
    path = write_study(tmp_path, blocks=3, recruitment={"signed": True})
    made = links(tmp_path, cli_inside, "ada@example.org", "bob & sons", "")
    assert list(made) == ["ada@example.org", "bob & sons"]
    start = {name: link.removeprefix("https://study.example") for name, link in made.items()}
    ada = start["ada@example.org"]
    with Serving(path) as server:
        with Guest(server, ada) as one:
            assert one.begin().at == "/page/1"
        with Guest(server, ada) as phone:  # another device
            assert phone.at == "/page/1"
        refused = ["/", "/?participant=eve", ada[:-1], ada.replace("ada", "eve"), ada + "0"]
        for link in (*refused, "/?participant=eve&signature="):
            with Guest(server, link) as eve:
                assert (eve.page.status_code, eve.at) == (400, "/"), link
                assert "links that were made for one person each" in eve.page.text
        found = server.store.collected()
        assert len(found.people) == 1
        identity = found.identity
        assert identity is not None
        assert len(identity.signed) == 1


def test_what_is_no_list_of_ids_is_refused(tmp_path: Path, cli_inside: Cli) -> None:
    write_study(tmp_path)
    (tmp_path / "ids.txt").write_text("ada\n${ID}\n", "utf-8")
    call = ("annotate", "links", "study.yaml", "ids.txt", "--out", "links.csv", "--url")
    assert "the study's address" in cli_inside(*call, "study.example").stderr
    done = cli_inside(*call, "https://study.example/")
    assert done.returncode == 2
    assert "ids.txt, line 2: not an id of one person" in " ".join(done.stderr.split())
    assert not (tmp_path / "links.csv").exists()


def test_a_range_is_turned_away_before_the_places_are_gone(tmp_path: Path) -> None:
    path = write_study(tmp_path, blocks=12)
    with Serving(path, behind_proxy=True, newcomers="3/year") as server:

        def come(ip: str, link: str = "/") -> int:
            with Guest(server, link, **{"x-forwarded-for": ip}) as one:
                return one.agree().page.status_code

        assert [come(f"192.0.2.{number}") for number in range(5)] == [200, 200, 200, 429, 429]
        assert [come(f"2001:db8:0:{number:x}::1") for number in range(4)] == [200, 200, 200, 429]
        # Others, whose links are signed, and who comes by a proxy that hides everybody.
        assert come("198.51.100.1") == 200
        signed = f"/?participant=ada&signature={KEYS.signature('ada')}"
        assert come("192.0.2.9", signed) == 200
        assert [come("127.0.0.1") for _ in range(5)] == [200] * 5
        with Guest(server, "/", **{"x-forwarded-for": "192.0.2.77"}) as late:
            late.agree()
            assert "Many people have begun from your network" in late.page.text
        with Guest(server, f"/admin/enter/{KEYS.admin}") as admin:
            said = " ".join(admin.page.text.split())
            assert "4 times since the start of the server somebody was turned away" in said
            assert "more than 3/year began from one address range" in said
        kept = b"".join(one.read_bytes() for one in tmp_path.glob("study.db*"))
        assert b"192.0.2" not in kept
        assert "192.0.2" not in server.log
    # A campus.
    with Serving(path, behind_proxy=True) as server:
        assert [come(f"192.0.2.{number}") for number in range(8)] == [200] * 8


def judge(process: Start, server: Origin, *, careful: bool) -> str:
    """A person who may have to wait for a place, over HTTP; the last page's address."""
    with Guest(server) as one:
        until(lambda: 'name="agree"' in one.get("/consent").text, process)
        one.begin()
        while one.at.startswith("/page/"):
            attention = "Please answer unsafe here." in one.page.text
            one.answer("unsafe" if attention and careful else "safe")
        return one.at


@pytest.mark.slow
def test_one_command_collects_until_those_who_pass_the_screening_have_judged_all(
    tmp_path: Path, cli_inside: Cli
) -> None:
    study = write_three_arms(
        tmp_path,
        votes=1,
        timing=Timing(least_seconds=0, lease_minutes=0.03),
        screening=Screening(attention_failed=0, fast_share=None),
    )
    keys = {SECRET_VARIABLE: KEYS.secret, ADMIN_VARIABLE: KEYS.admin}
    serve = ["annotate", "serve", "study.yaml", "--port", "0", "--until-complete"]
    process = Start(serve, tmp_path, clean_env() | keys)
    server = Origin(process.line().split()[1].rstrip("/"))
    assert [judge(process, server, careful=one) for one in (True, False, True)] == ["/done"] * 3
    # The careless one's place is free again, and the server ends once it is taken and judged.
    assert judge(process, server, careful=True) == "/done"
    _, said = process.communicate(60)
    assert process.returncode == 0
    assert "excluded by the screening: 1 people" in said
    assert "complete: each case has its votes" in said
    with Store(load_study(study.path or tmp_path), f"sqlite:///{tmp_path / 'study.db'}", KEYS) as s:
        found = s.collected()
    assert sum(person.status == "excluded" for person in found.people) == 1
    assert any((person.excluded or "").startswith("screening: failed 1") for person in found.people)
    assert (len(found.votes), sum(vote.counted for vote in found.votes)) == (16, 12)
    done = cli_inside("annotate", "export", "study.yaml", "--out", "votes")
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "screening: failed 1 of 1" in card
    for row in ("everybody | 3 | 12 |", "with those excluded by the screening | 4 | 16 |"):
        assert f"| {row}" in card
