"""Who may begin: signed links of the study's own, limits by address range, others' places."""

from pathlib import Path

from conftest import Cli
from support.serving import Guest, Serving
from support.studies import ADMIN, read_csv, write_arms, write_study


def links(folder: Path, cli: Cli, *ids: str) -> dict[str, str]:
    (folder / "ids.txt").write_text("\n".join(ids), "utf-8")
    call = ("annotate", "links", "study.yaml", "ids.txt", "--url", "https://study.example/")
    done = cli(*call, "--out", "links.csv", "--force")
    assert done.returncode == 0, done.stderr
    rows = read_csv(folder / "links.csv")
    return {row["id"]: row["link"].removeprefix("https://study.example") for row in rows}


def test_a_study_of_signed_links_takes_no_others(tmp_path: Path, cli_inside: Cli) -> None:
    path = write_study(tmp_path, blocks=3, recruitment={"signed": True})
    made = links(tmp_path, cli_inside, "ada@example.org", "bob & sons", "")
    assert list(made) == ["ada@example.org", "bob & sons"]
    ada = made["ada@example.org"]
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
        assert server.rows("SELECT signed FROM participant") == [1]


def test_what_is_no_list_of_ids_is_refused(tmp_path: Path, cli_inside: Cli) -> None:
    write_study(tmp_path)
    (tmp_path / "ids.txt").write_text("ada\n${ID}\n", "utf-8")
    call = ("annotate", "links", "study.yaml", "ids.txt", "--out", "links.csv", "--url")
    assert "the study's address" in cli_inside(*call, "study.example").stderr
    done = cli_inside(*call, "https://study.example/")
    assert done.returncode == 2
    assert "ids.txt, line 2: not an id of one person" in " ".join(done.stderr.split())
    assert not (tmp_path / "links.csv").exists()


def test_a_range_is_turned_away_before_the_places_are_gone(tmp_path: Path, cli: Cli) -> None:
    path = write_study(tmp_path, blocks=12)
    with Serving(path, None, "--behind-proxy", "--newcomers", "3/hour") as server:

        def come(ip: str, link: str = "/") -> int:
            with Guest(server, link, **{"x-forwarded-for": ip}) as one:
                return one.agree().page.status_code

        assert [come(f"192.0.2.{number}") for number in range(5)] == [200, 200, 200, 429, 429]
        assert [come(f"2001:db8:0:{number:x}::1") for number in range(4)] == [200, 200, 200, 429]
        # Others, whose links are signed, and who comes by a proxy that hides everybody.
        assert come("198.51.100.1") == 200
        assert come("192.0.2.9", links(tmp_path, cli, "ada")["ada"]) == 200
        assert [come("127.0.0.1") for _ in range(5)] == [200] * 5
        with Guest(server, "/", **{"x-forwarded-for": "192.0.2.77"}) as late:
            late.agree()
            assert "Many people have begun from your network" in late.page.text
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            said = " ".join(admin.page.text.split())
            assert "Turned away since the start of the server: 4" in said
            assert "More than 3/hour began from one address range" in said
        kept = b"".join(one.read_bytes() for one in tmp_path.glob("study.db*"))
        assert b"192.0.2" not in kept
        assert "192.0.2" not in server.log
    # A campus.
    with Serving(path, None, "--behind-proxy") as server:
        assert [come(f"192.0.2.{number}") for number in range(8)] == [200] * 8


def test_flagged_people_are_excluded_until_those_who_pass_have_judged_all(
    tmp_path: Path, cli_inside: Cli
) -> None:
    path = write_arms(
        tmp_path,
        votes=1,
        timing={"least_seconds": 0},
        screening={"attention_failed": 0, "fast_share": None},
    )

    def judge(*, careful: bool) -> None:
        with Guest(server) as one:
            one.begin()
            while one.at.startswith("/page/"):
                attention = "Please answer unsafe here." in one.page.text
                one.answer("unsafe" if attention and careful else "safe")
            assert one.at == "/done"

    def say(*options: str) -> str:
        done = cli_inside("annotate", *options)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stderr.split())

    call = ("exclude", "study.yaml", "--flagged")
    with Serving(path) as server:
        for careful in (True, False, True):
            judge(careful=careful)
        said = say(*call)
        assert said.count("excluded: p-") == 1
        assert "to collect: 4 votes on 4 cells" in said
        # The careless one's place is free again.
        judge(careful=True)
        assert say(*call) == "complete: each case has its votes"
    say("export", "study.yaml", "--out", "votes")
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "screening: failed 1 of 1" in card
    for row in ("everybody | 3 | 12 |", "with those excluded by the screening | 4 | 16 |"):
        assert f"| {row}" in card
