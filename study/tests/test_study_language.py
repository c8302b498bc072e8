"""The language of the pages: English and German whole, others by adding a file."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from conftest import Cli
from support.planned import a_plan, on_disk, pairs
from support.serving import Guest, Serving
from support.studies import KEYS, write_study

from casewise.errors import InputError
from casewise_study.study.language import messages, open_language, write_catalogue
from casewise_study.study.planning import check_ready, forecast, time_warnings
from casewise_study.study.schema import Arm, Pay, Study
from casewise_study.study.study_file import load_study, study_cases, study_language
from casewise_study.study.study_file import write_study as write_file
from casewise_study.study.study_texts import Investigator, text_warnings

FIELD = re.compile(r"%\(\w+\)s|\{\w+\}")
TAG = re.compile(r"<[^>]+>")
ASKER = Investigator("Ein Labor", "labor@example.org", keep_until=date(2027, 5, 4))


def german(folder: Path, **more: object) -> Study:
    plan = a_plan(votes=2, tasks=3, language="de", asker=ASKER, pay=Pay(per_hour=12), **more)
    study = on_disk(folder, pairs(4), plan)
    write_file(study, folder / "study.yaml")
    return load_study(folder / "study.yaml")


def test_german_says_everything_with_every_field() -> None:
    language = open_language("de-AT")
    assert language.lacking == ()
    assert len(messages()) > 200
    for message in messages():
        one = message if isinstance(message, str) else message[-1]
        said = (
            language.say(message)
            if isinstance(message, str)
            else language.say_many(message[0], message[1], 2)
        )
        assert said
        assert sorted(FIELD.findall(said)) == sorted(FIELD.findall(one))
        assert sorted(TAG.findall(said)) == sorted(TAG.findall(one))


def test_a_german_study_is_german_from_consent_to_debriefing(tmp_path: Path) -> None:
    study = german(tmp_path)
    assert check_ready(study) == []
    assert text_warnings(study) == []
    assert time_warnings(study) == []
    consent = " ".join(study.consent.text.split())
    pay = f"{forecast(study).pay_each:.2f}".replace(".", ",")
    assert f"Sie bekommen {pay} GBP für die ganze Sitzung; das sind 12,00 GBP je Stunde" in consent
    assert "wird bis zum 4. Mai 2027 gelöscht" in consent
    # What is promised is read in German too.
    dear = study.model_copy(update={"pay": Pay(per_hour=12, seconds_per_task=60)})
    dear._path = study.path
    assert any("12.00" in one and "would fit" in one for one in time_warnings(dear))
    english = {text for text in messages() if isinstance(text, str) and len(text) > 12}
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:

        def look() -> None:
            soup = BeautifulSoup(ada.page.text, "html.parser")
            assert soup.html is not None
            assert soup.html["lang"] == "de"
            words = soup.get_text(" ", strip=True)
            assert not [text for text in english if text in words], ada.at

        look()
        ada.send("/consent", agree="yes")
        assert "kreuzen Sie jedes Kästchen an" in ada.page.text
        ada.agree()
        look()
        ada.get("/check")
        look()
        ada.send("/check", attempt="1", **{f"question-{n}": "0" for n in range(3)})
        assert "Sie haben 1 Versuch." in ada.page.text
        look()
        ada.understand(study, attempt=2)
        while ada.at.startswith("/page/"):
            look()
            ada.answer(seconds=20)
        assert ada.at == "/about"
        look()
        ada.send("/about")
        look()
        assert "Worum es in dieser Studie geht" in ada.page.text
        assert ada.personal_code
        for where in ("/withdraw", "/resume", "/none"):
            ada.get(where)
            look()


def test_a_third_language_is_a_file(cli_inside: Cli, tmp_path: Path) -> None:
    write_study(tmp_path, language="fr")
    refused = cli_inside("annotate", "serve", "study.yaml", "--port", "0")
    assert refused.returncode == 2
    assert "no texts in this language" in " ".join(refused.stderr.split())
    done = cli_inside("annotate", "texts", "--language", "fr", "--out", "fr.po")
    assert done.returncode == 0, done.stderr
    assert f"{len(messages())} of {len(messages())} messages" in done.stderr
    file = tmp_path / "fr.po"
    text = file.read_text("utf-8")

    def translate(english: str, french: str) -> None:
        nonlocal text
        assert f'msgid "{english}"\nmsgstr ""' in text
        text = text.replace(
            f'msgid "{english}"\nmsgstr ""', f'msgid "{english}"\nmsgstr "{french}"'
        )

    translate("Agree and go on", "J’accepte et je continue")
    translate("Example %(number)s", "Exemple")  # its field is lost, so it is not used
    file.write_text(text, "utf-8")
    path = write_study(tmp_path, language="fr")
    study = load_study(path)
    french = study_language(study)
    assert "Example %(number)s" in french.lacking
    assert "Agree and go on" not in french.lacking
    (said,) = text_warnings(study)
    assert f"{len(messages()) - 1} messages are not translated" in said
    with Serving(path) as server, Guest(server) as ada:
        assert "J’accepte et je continue" in ada.page.text
        assert '<html lang="fr">' in ada.page.text
        ada.agree()
        assert "Example 1" in ada.page.text
    # A second call keeps what is translated.
    assert write_catalogue("fr", file) == len(messages()) - 2
    assert "J’accepte" in file.read_text("utf-8")
    file.write_text("msgid broken", "utf-8")
    with pytest.raises(InputError, match="not a catalogue"):
        open_language("fr", tmp_path)


def test_the_tutorial_trains_no_effect_of_context(tmp_path: Path) -> None:
    plan = a_plan(votes=2, tasks=3, arms=(Arm.SAFE, Arm.UNSAFE))
    study = on_disk(tmp_path, pairs(4), plan)
    one, other = study.tutorial
    assert one.query != other.query
    assert {one.verdict, other.verdict} == {"safe", "unsafe"}
    assert text_warnings(study) == []
    # An example from the study, and one that stands twice, are told of.
    asked = study_cases(study)[0].query
    for query, words in ((asked, "its query is in the study"), (one.query, "another example too")):
        again = other.model_copy(update={"query": f" {query.upper()}"})
        changed = study.model_copy(update={"tutorial": (one, again)})
        (said,) = text_warnings(changed)
        assert said.startswith("tutorial, record 2")
        assert words in said


def test_answers_about_oneself_are_optional_and_apart(tmp_path: Path) -> None:
    about: dict[str, Any] = {
        "demographics": [
            {"name": "age", "text": "How old?", "options": ["young", "old"]},
            {"name": "town", "text": "Where?", "options": ["here", "there"]},
        ],
        "exit_question": "Anything else?",
        "debriefing": "This is what\nit was about.\n\nThank you.",
    }
    path = write_study(tmp_path, blocks=3, **about)
    with Serving(path) as server:
        for name, sent in (("ada", {"about-age": "1", "remark": "All\x00 well"}), ("bob", {})):
            with Guest(server, f"/?participant={name}") as one:
                one.begin().finish()
                assert one.at == "/about"
                assert one.page.text.count("Prefer not to say") == 2
                # The votes are kept whether or not anything is said here.
                assert server.store.collected().people[-1].status == "completed"
                one.send("/about", **sent, **{"about-town": "7"})
                assert (one.at, one.code) == ("/done", "COMPLETED")
                assert '<p class="said">This is what it was about.</p>' in one.page.text
        ada, bob = server.store.collected().people
        assert (dict(ada.demographics), ada.remark) == ({"age": "old"}, "All well")
        assert (dict(bob.demographics), bob.remark) == ({}, None)
        assert server.store.purge(rater=ada.rater) == ada.rater
        with Guest(server, f"/admin/enter/{KEYS.admin}") as admin:
            assert "All well" not in admin.page.text
        assert all(not one.demographics for one in server.store.collected().people)
