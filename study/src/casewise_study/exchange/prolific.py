"""Prolific: a study's settings, to paste."""

from urllib.parse import urlsplit

from casewise.errors import UsageError
from casewise.sheets import Column, Row, Table, markdown, money
from casewise_study.study.planning import PROLIFIC_RETURN, forecast
from casewise_study.study.schema import Study
from casewise_study.study.study_texts import whole_minutes

_PARAMETERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


def study_url(url: str, query: str = _PARAMETERS) -> str:
    """The study's address with a person's parameters; by default those that Prolific fills in.

    Raises:
        UsageError: Not the address of a study on the web.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.fragment:
        raise UsageError(f"--url {url!r}: the study's address, such as https://study.example.org/")
    return f"{url}{'&' if parts.query else '?'}{query}"


def prolific_sheet(study: Study, url: str) -> str:
    """The settings as Markdown.

    Raises:
        UsageError: Not the address of a study on the web.
    """
    expected, recruitment = forecast(study), study.recruitment
    pay = expected.pay_each
    fields = (
        ("Participant ids", "by URL parameters"),
        (
            "Secured external URL",
            "on: other links are refused"
            if recruitment.signed
            else "off, or on; off, places are provisional until annotate reconcile",
        ),
        ("Places", f"{len(study.design.blocks)}, one a block"),
        ("Estimated time", f"{whole_minutes(expected.minutes)} minutes"),
        ("Reward", money(pay, study.pay.currency) if pay else "not set in the study file"),
        ("Submissions a person", "one"),
        ("Content warning", "yes: sensitive"),
    )
    codes = (
        (recruitment.completed, "completed", "review by hand"),
        (recruitment.screened_out, "failed the check", "review by hand"),
        (recruitment.withdrawn, "withdrew", "ask to return the submission"),
    )
    back = recruitment.return_url or "not set in the study file"
    return markdown(
        "# To paste into Prolific",
        f"Study `{study.id}`.",
        f"Study URL: `{study_url(url)}`",
        Table([Column("field"), Column("value")], list(map(Row, fields))),
        f"People come back by `{PROLIFIC_RETURN}`; in the study file `recruitment.return_url` is "
        f"`{back}`.",
        Table([Column("code"), Column("kind"), Column("then")], list(map(Row, codes))),
        "A code such as `COMPLETED` can be guessed. Set random ones in the study file's "
        "`recruitment`.",
    )
