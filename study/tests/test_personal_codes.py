"""Personal codes: shown to one person, accepted from that person, kept nowhere."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import Cli
from support.serving import Guest, Serving
from support.studies import KEYS, write_study

from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE, Secrets

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
    for text in ("", "-", code[:11], code + "0", "U" * 12, "é" * 12, "COMPLETED"):
        assert KEYS.code_key(text) is None


def test_a_code_from_the_pages_deletes_that_person_and_no_other(
    tmp_path: Path, cli_inside: Cli, keys_given: None
) -> None:
    path = write_study(tmp_path, blocks=3)
    with Serving(path) as server, Guest(server) as ada, Guest(server) as bob:
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
            done = cli_inside("annotate", "purge", path.name, "--code", code)
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
