"""Personal codes: shown to one person, accepted from that person, kept nowhere."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import Cli
from sqlalchemy import Connection, Engine, MetaData, create_engine, insert, select
from support.first_tables import make_first_tables
from support.serving import Guest, Serving
from support.studies import KEYS, write_study

from casewise.cases import digest
from casewise_study.app_study.study_guard import Sessions
from casewise_study.commands._store import purge
from casewise_study.store.database import Database
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE, Secrets
from casewise_study.study.study_file import load_study, study_cases

FORM = re.compile(r"[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}")
THEN = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.fixture
def keys_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands have the keys of the tests."""
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)


def test_a_code_is_one_persons_and_forgives_how_it_is_typed() -> None:
    codes = [KEYS.personal_code(f"key-{number}") for number in range(500)]
    assert len(set(codes)) == 500
    assert all(FORM.fullmatch(code) for code in codes)
    assert KEYS.personal_code("key-0") == codes[0]
    assert Secrets("another secret of the tests", "").personal_code("key-0") not in codes
    # Every letter is drawn, at every place.
    for column in zip(*codes, strict=True):
        assert len(set(column)) == 32 or set(column) == {"-"}
    for code in codes:
        kept = KEYS.code_key(code)
        assert kept is not None
        assert code.replace("-", "") not in kept.upper()
        sloppy = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
        assert KEYS.code_key(f"  {sloppy}\n") == kept
        assert Secrets("another secret of the tests", "").code_key(code) != kept


def test_a_mistyped_code_is_known_as_such() -> None:
    letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    code = KEYS.personal_code("key").replace("-", "")
    for place in range(12):
        others = [code[:place] + one + code[place + 1 :] for one in letters if one != code[place]]
        assert not any(KEYS.code_key(one) for one in others)
    swapped = missed = 0
    for number in range(300):
        code = KEYS.personal_code(f"key-{number}").replace("-", "")
        for place in range(10):
            one, two = code[place], code[place + 1]
            if one != two:
                swapped += 1
                missed += bool(KEYS.code_key(code[:place] + two + one + code[place + 2 :]))
    assert missed / swapped < 0.05
    (example,) = re.findall("--code (\\S+)", purge.__doc__ or "")
    assert KEYS.code_key(example)
    for text in ("", "-", code[:11], code + "0", "U" * 12, "é" * 12, "COMPLETED"):
        assert KEYS.code_key(text) is None


def test_a_code_from_the_pages_deletes_that_person_and_no_other(
    tmp_path: Path, address: str, cli_inside: Cli, keys_given: None
) -> None:
    path = write_study(tmp_path, blocks=3)
    with Serving(path, address) as server, Guest(server) as ada, Guest(server) as bob:
        assert "Once you agree you get a personal code" in ada.page.text
        for one in (ada, bob):
            one.agree()
            early = one.personal_code
            one.check().finish()
            assert (one.code, one.personal_code) == ("COMPLETED", early)
            assert "by writing to the address below with your personal code" in one.page.text
        assert ada.personal_code != bob.personal_code
        assert len(server.store.collected().votes) == 6

        def purge(code: str) -> tuple[int, str]:
            done = cli_inside(
                *("annotate", "purge", path.name, "--database", address, "--code", code)
            )
            return done.returncode, " ".join(done.stderr.split())

        mistyped = ada.personal_code[:-1] + ("0" if ada.personal_code[-1] != "0" else "1")
        unknown = KEYS.personal_code("nobody")
        for wrong, words in (
            (mistyped, "not a personal code, or mistyped"),
            ("COMPLETED", "not a personal code, or mistyped"),
            (unknown, "the study knows no such person"),
        ):
            status, said = purge(wrong)
            assert (status, said.count("error:")) == (2, 1)
            assert words in said
            assert "nothing was deleted" in said
        assert len(server.store.collected().votes) == 6
        gone, stays = server.store.collected().people
        status, said = purge(f" {ada.personal_code.lower()} ")
        assert status == 0
        assert f"deleted: every answer of {gone.rater}" in said
        assert server.store.collected().people == (stays,)
        assert {vote.rater for vote in server.store.collected().votes} == {stays.rater}
        assert purge(ada.personal_code)[0] == 2
        with Guest(server, "/resume") as late:
            assert late.come_back(ada.personal_code).status_code == 403
        # On the administrator's page too.
        with Guest(server, f"/admin/enter/{KEYS.admin}") as admin:
            assert "Deleted" in admin.send("/admin/purge", rater=bob.personal_code).text
        assert not server.store.collected().people


def test_who_is_screened_out_has_a_code_too(
    tmp_path: Path, cli_inside: Cli, keys_given: None
) -> None:
    path = write_study(tmp_path)
    with Serving(path) as server, Guest(server) as eve:
        eve.agree().check(answer=0)
        eve.send("/check", attempt="2", **{"question-0": "0"})
        assert eve.code == "SCREENED-OUT"
        assert "what is kept of you deleted" in eve.page.text
        done = cli_inside("annotate", "purge", path.name, "--code", eve.personal_code)
        assert done.returncode == 0, done.stderr
        assert not server.store.collected().people


def test_codes_stand_in_no_file(tmp_path: Path, cli_inside: Cli, keys_given: None) -> None:
    path = write_study(tmp_path, blocks=1)
    with Serving(path) as server, Guest(server) as ada:
        ada.begin().finish()
        code = ada.personal_code
        log = server.log
    done = cli_inside("annotate", "export", path.name, "--out", "votes")
    assert done.returncode == 0, done.stderr
    kept = KEYS.code_key(code)
    assert kept is not None
    written = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    assert len(written) > 5
    bare = code.replace("-", "")
    for path, data in written.items():
        assert code.encode() not in data, path
        assert bare.encode() not in data, path
        assert (kept.encode() in data) == (path.name == "study.db"), path
    assert code not in log + done.stdout + done.stderr


def make_old_database(path: Path, address: str) -> None:
    """As the version before personal codes left it: Ada has answered two pages, Bob has done."""
    study = load_study(path)
    database = Database(address)
    database.write(make_first_tables)
    with database.engine.begin() as connection:
        tables = MetaData()
        tables.reflect(connection)
        assert "code_key" not in tables.tables["participant"].c
        fill(
            connection,
            tables,
            digest(study.model_dump(mode="json", exclude={"collection"})),
            study_cases(study)[0].query_id,
        )
    database.close()


def fill(connection: Connection, tables: MetaData, study: str, query: str) -> None:
    then = THEN.replace(tzinfo=None)

    def add(table: str, *rows: dict[str, object]) -> None:
        connection.execute(insert(tables.tables[table]), list(rows))

    add(
        "study",
        {"id": 1, "name": "small", "hash": study, "secrets": KEYS.derived("proof")}
        | {"paused": False, "created": then},
    )
    add("block", {"number": 0}, {"number": 1}, {"number": 2})
    shared = {"panel": "", "attempts": 1, "started": then, "passed": then, "purged": False}
    people = [("ada", "active", None), ("bob", "completed", "completed")]
    add(
        "participant",
        *(
            {"id": number, "key": f"key-{name}", "rater": f"p-{name}", "status": status}
            | {"platform_key": KEYS.platform_key("none", name), "outcome": outcome, **shared}
            for number, (name, status, outcome) in enumerate(people, 1)
        ),
        {"id": 3, "key": "key-zoe", "rater": "purged-zoe", "status": "withdrawn"}
        | {"platform_key": None, "outcome": "withdrawn", **shared, "purged": True},
    )
    held = {"shown": then, "lease_until": then.replace(hour=23)}
    add(
        "assignment",
        {"id": 1, "block": 0, "participant": 1, "status": "active", "position": 1} | held,
        {"id": 2, "block": 1, "participant": 2, "status": "completed", "position": 4} | held,
    )
    add(
        "vote",
        *(
            {"id": person, "participant": person, "position": 0, "place": 0, "query": query}
            | {"verdict": "safe", "seconds": 5.0, "time": then}
            for person in (1, 2)
        ),
    )


@pytest.fixture
def engine(address: str) -> Iterator[Engine]:
    made = create_engine(address.replace("postgresql:", "postgresql+pg8000:"))
    yield made
    made.dispose()


def test_a_study_begun_before_goes_on(
    tmp_path: Path, address: str, engine: Engine, cli_inside: Cli, keys_given: None
) -> None:
    path = write_study(tmp_path, blocks=3)
    make_old_database(path, address)
    with Serving(path, address) as server:
        server.clock.turn(minutes=1)
        assert [one.rater for one in server.store.collected().people] == ["p-ada", "p-bob"]
        assert len(server.store.collected().votes) == 2
        with Guest(server, "/admin") as ada, Guest(server, "/admin") as bob:
            # The cookie that the version before has set, and the address that it has shown.
            sessions = Sessions(KEYS, "small", secure=False)
            platform_key = KEYS.platform_key("none", "ada")
            old = sessions._visits.dumps(["key-ada", platform_key, ""])
            ada.client.cookies.set(sessions.cookie, old)
            ada.get("/?participant=ada")
            assert ada.at == "/page/2"
            assert FORM.fullmatch(ada.personal_code)
            bob.get(f"/resume/{sessions.token('key-bob')}")
            assert (bob.at, bob.code) == ("/done", "COMPLETED")
            assert FORM.fullmatch(bob.personal_code)
            with Guest(server, "/resume") as other:
                other.come_back(ada.personal_code)
                assert other.at == "/page/2"
                other.finish()
                assert (other.at, other.code) == ("/done", "COMPLETED")
            done = cli_inside(
                *("annotate", "purge", path.name, "--database", address),
                *("--code", bob.personal_code),
            )
            assert done.returncode == 0, done.stderr
            assert "every answer of p-bob" in done.stderr
        assert [one.rater for one in server.store.collected().people] == ["p-ada"]
        with Guest(server, "/?participant=new") as new:
            assert new.begin().at == "/page/1"
            assert FORM.fullmatch(new.personal_code)
    tables = MetaData()
    with engine.connect() as connection:
        tables.reflect(connection)
        person = tables.tables["participant"]
        rows = connection.execute(select(person.c.rater, person.c.code_key)).all()
    keys = {row.rater: row.code_key for row in rows}
    assert keys.pop("p-ada") == KEYS.code_key(KEYS.personal_code("key-ada"))
    assert keys.pop("purged-zoe") is None
    assert sorted(map(bool, keys.values())) == [False, True]
