"""The language of the pages: English and German whole, others by adding a file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup
from conftest import ROOT, Cli
from jinja2.ext import babel_extract
from support.serving import Guest, Serving
from support.studies import (
    ADMIN,
    WAIVED,
    change,
    plan,
    read_csv,
    read_yaml,
    some_cases,
    told,
    write_cases,
    write_study,
)

UNSAID = {"verdict", "expected", "id", "name", "answer"}
"""Fields of the texts of a new study that are no texts."""

FIELD = re.compile(r"%\(\w+\)s|\{\w+\}")
TAG = re.compile(r"<[^>]+>")
BY = ("--by", "Ein Labor", "--contact", "labor@example.org")


def catalogue(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def messages() -> list[str | tuple[str, str]]:
    """Every message in English: of the pages within ``_()`` or ``say()``, and of a new study."""
    app = ROOT / "study/src/casewise_study/app_study"
    words: Any = {"_": None, "say": None, "ngettext": (1, 2)}
    found: list[Any] = []
    ways: tuple[tuple[str, Any], ...] = (("templates/*.html", babel_extract), ("*.py", "python"))
    for pattern, way in ways:
        for path in sorted(app.glob(pattern)):
            if not path.name.startswith("admin"):
                with path.open("rb") as file:
                    found += [message for _, message, *_ in extract(way, file, words)]

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield from re.split(r"\n[ \t]*\n", value.strip())
        elif isinstance(value, list):
            for inner in value:
                yield from texts(inner)
        elif isinstance(value, dict):
            for name, inner in value.items():
                yield from texts(inner if name not in UNSAID else None)

    source = read_yaml(ROOT / "study/src/casewise_study/data/texts.en.yaml")
    return [*dict.fromkeys([*found, *map(plain, texts(source))])]


def plain(text: str) -> str:
    """A text without the line ends of its file."""
    return " ".join(text.split())


def test_german_says_everything_with_every_field() -> None:
    ids: dict[str, Any] = {}
    for one in catalogue(ROOT / "study/src/casewise_study/data/de.po"):
        ids[plain(one.id if isinstance(one.id, str) else one.id[0])] = one
    wanted = messages()
    assert len(wanted) > 200
    for message in wanted:
        found = ids.get(plain(message if isinstance(message, str) else message[0]))
        assert found is not None, message
        # Of a message with a number, its plural.
        english, said = (
            one if isinstance(one, str) else (one or ("",))[-1] for one in (message, found.string)
        )
        assert said
        assert sorted(FIELD.findall(said)) == sorted(FIELD.findall(english))
        assert sorted(TAG.findall(said)) == sorted(TAG.findall(english))


def test_a_german_study_is_german_from_consent_to_debriefing(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path, some_cases(4))
    options = ("--votes", "2", "--tasks", "3", "--attention", "2", "--language", "de")
    made = plan(cli, *options, "--pay", "12", *BY)
    path = change(tmp_path / "study.yaml", safeguards=WAIVED)
    assert told(cli) == []
    consent = " ".join(read_yaml(path)["consent"]["text"].split())
    pay = f"{made['forecast']['pay_each']:.2f}".replace(".", ",")
    assert f"Sie bekommen {pay} GBP für die ganze Sitzung; das sind 12,00 GBP je Stunde" in consent
    english = {text for text in messages() if isinstance(text, str) and len(text) > 12}
    with Serving(path) as server, Guest(server) as ada:

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
        ada.understand(path, attempt=2)
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


def test_a_third_language_is_a_file(cli: Cli, tmp_path: Path) -> None:
    write_study(tmp_path, language="fr")
    serve = ("annotate", "serve", "study.yaml", "--host", "203.0.113.1")
    assert "no texts in this language" in " ".join(cli(*serve).stderr.split())
    file = tmp_path / "fr.po"
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n'
    for english, french in (
        ("Agree and go on", "J’accepte et je continue"),
        ("Example %(number)s", "Exemple"),  # its field is lost, so it is not used
    ):
        text += f'msgid "{english}"\nmsgstr "{french}"\n'
    file.write_text(text, "utf-8")
    (said,) = told(cli)
    assert "in English: 1 message;" in said
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        assert "J’accepte et je continue" in ada.page.text
        assert '<html lang="fr">' in ada.page.text
        ada.agree()
        assert "Example 1" in ada.page.text
    file.write_text("msgid broken", "utf-8")
    assert "not a catalogue" in " ".join(cli(*serve).stderr.split())


def test_the_tutorial_trains_no_effect_of_context(tmp_path: Path, cli: Cli) -> None:
    write_cases(tmp_path, some_cases(4))
    options = ("--votes", "2", "--tasks", "3", "--attention", "2", "--arms", "safe,unsafe")
    plan(cli, *options, *BY)
    path = change(tmp_path / "study.yaml", safeguards=WAIVED)
    one, other = read_yaml(path)["tutorial"]
    assert one["query"] != other["query"]
    assert {one["verdict"], other["verdict"]} == {"safe", "unsafe"}
    assert told(cli) == []
    # An example from the study, and one that stands twice, are told of.
    asked = some_cases(1)[0]["query"]
    for query in (asked, one["query"]):
        path.with_suffix(".db").unlink()
        change(path, tutorial=[one, other | {"query": f" {query.upper()}"}])
        (said,) = told(cli)
        assert said.startswith("tutorial, record 2")
        assert "its query is in the study, or in another example" in said


def test_answers_about_oneself_are_optional_and_apart(tmp_path: Path, cli: Cli) -> None:
    about: dict[str, Any] = {
        "demographics": [
            {"name": "age", "text": "How old?", "options": ["young", "old"]},
            {"name": "town", "text": "Where?", "options": ["here", "there"]},
        ],
        "exit_question": "Anything else?",
        "debriefing": "This is what\nit was about.\n\nThank you.",
    }
    path = write_study(tmp_path, blocks=3, **about)
    export = ("annotate", "export", "study.yaml", "--with-demographics", "--with-reasons")
    with Serving(path) as server:
        for name, sent in (("ada", {"about-age": "1", "remark": "All\x00 well"}), ("bob", {})):
            with Guest(server, f"/?participant={name}") as one:
                one.begin().finish()
                assert one.at == "/about"
                assert one.page.text.count("Prefer not to say") == 2
                # The votes are kept whether or not anything is said here.
                assert set(server.rows("SELECT status FROM participant")) == {"completed"}
                one.send("/about", **sent, **{"about-town": "7"})
                assert (one.at, one.code) == ("/done", "COMPLETED")
                assert '<p class="said">This is what it was about.</p>' in one.page.text
        assert cli(*export, "--out", "out").returncode == 0
        ada, bob = read_csv(tmp_path / "out/people.csv")
        assert (ada["demographics"], ada["remark"]) == ('{"age": "old"}', "All well")
        assert (bob["demographics"], bob["remark"]) == ("", "")
        done = cli("annotate", "purge", "study.yaml", ada["rater"])
        assert done.returncode == 0
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            assert "All well" not in admin.page.text
        assert not server.rows("SELECT * FROM participant WHERE about IS NOT NULL")
