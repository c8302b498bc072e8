"""Personal codes: shown to one person, accepted from that person, kept nowhere."""

import re
from pathlib import Path

from conftest import Cli
from support.serving import Guest, Serving
from support.studies import write_study

FORM = re.compile(r"[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}")


def test_a_code_is_one_persons_and_forgives_how_it_is_typed(tmp_path: Path, cli: Cli) -> None:
    with Serving(write_study(tmp_path)) as server:
        codes = []
        for _ in range(4):
            with Guest(server) as one:
                codes.append(one.agree().personal_code)
        kept = "".join(map(str, server.rows("SELECT code_key FROM participant"))).upper()
    assert len(set(codes)) == 4
    for code in codes:
        assert FORM.fullmatch(code)
        assert code.replace("-", "") not in kept
        sloppy = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
        done = cli("annotate", "purge", "study.yaml", f"  {sloppy}\n")
        assert done.returncode == 0, done.stderr


def test_a_mistyped_code_is_known_as_such(tmp_path: Path, cli: Cli) -> None:
    with Serving(write_study(tmp_path)) as server, Guest(server) as one:
        code = one.agree().personal_code.replace("-", "")
    letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    others = [
        code[:place] + letters[letters.index(code[place]) - 1] + code[place + 1 :]
        for place in range(12)
    ]
    for text in (*others, "-", code[:11], code + "0", "U" * 12, "é" * 12, "COMPLETED"):
        done = cli("annotate", "purge", "study.yaml", text)
        assert "the last checks the others" in " ".join(done.stderr.split()), text


def test_a_code_from_the_pages_deletes_that_person_and_no_other(
    tmp_path: Path, cli_inside: Cli
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
        assert len(server.rows("SELECT * FROM answer WHERE place IS NOT NULL")) == 6

        def purge(code: str) -> tuple[int, str]:
            done = cli_inside("annotate", "purge", path.name, code)
            return done.returncode, " ".join(done.stderr.split())

        gone, stays = server.rows("SELECT rater FROM participant ORDER BY id")
        status, said = purge(f" {ada.personal_code.lower()} ")
        assert status == 0
        assert f"deleted: every answer of {gone}" in said
        held = "SELECT DISTINCT rater FROM answer JOIN participant ON participant.id = participant"
        assert server.rows(held) == [stays]
        status, said = purge(ada.personal_code)
        assert (status, "the study knows no such person" in said) == (2, True)
        with Guest(server, "/resume") as late:
            assert late.come_back(ada.personal_code).status_code == 403
