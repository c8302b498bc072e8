"""Prolific: a study's settings, to paste or to post.

Names are those of Prolific's API reference ("The study object").
"""

import json
from typing import Any
from urllib.parse import urlsplit

from casewise.errors import UsageError
from casewise.sheets import Column, Row, Table, markdown, money
from casewise_study.study.language import HEADING, paragraphs
from casewise_study.study.planning import PROLIFIC_RETURN, forecast
from casewise_study.study.schema import Study
from casewise_study.study.study_texts import whole_minutes

_PARAMETERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
_REVIEW = {"action": "MANUALLY_REVIEW"}


def study_url(url: str, query: str = _PARAMETERS) -> str:
    """The study's address with a person's parameters; by default those that Prolific fills in.

    Raises:
        UsageError: Not the address of a study on the web.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.fragment:
        raise UsageError(f"--url {url!r}: the study's address, such as https://study.example.org/")
    return f"{url}{'&' if parts.query else '?'}{query}"


def prolific_files(study: Study, url: str) -> dict[str, bytes]:
    """A sheet to paste from, and the same as the body that Prolific's API takes.

    Raises:
        UsageError: Not the address of a study on the web.
    """
    body = _body(study, study_url(url))
    made = json.dumps(body, ensure_ascii=False, indent=2)
    return {"study.json": f"{made}\n".encode(), "study.md": _sheet(study, body).encode()}


def _body(study: Study, url: str) -> dict[str, Any]:
    expected = forecast(study)
    returned = {"action": "REQUEST_RETURN", "return_reason": "Withdrew from the study."}
    codes = (
        (study.recruitment.completed, "COMPLETED", _REVIEW),
        (study.recruitment.screened_out, "FAILED_ATTENTION_CHECK", _REVIEW),
        (study.recruitment.withdrawn, "NO_CONSENT", returned),
    )
    return {
        "name": study.title,
        "internal_name": study.id,
        "description": "\n\n".join(
            one.removeprefix(HEADING)
            for one in paragraphs(f"{study.consent.warning}\n\n{study.consent.text}")
        ),
        "external_study_url": url,
        "prolific_id_option": "url_parameters",
        "is_external_study_url_secure": study.recruitment.signed,
        "completion_codes": [
            {"code": code, "code_type": kind, "actions": [action]} for code, kind, action in codes
        ],
        "total_available_places": len(study.design.blocks),
        "estimated_completion_time": whole_minutes(expected.minutes),
        "reward": round(expected.pay_each * 100) or None,
    }


def _sheet(study: Study, body: dict[str, Any]) -> str:
    reward = body["reward"]
    pay = money(reward / 100, study.pay.currency) if reward else "not set in the study file"
    back = study.recruitment.return_url or "not set in the study file"
    fields = [
        ("Participant ids", "by URL parameters"),
        (
            "Secured external URL",
            "on: other links are refused"
            if study.recruitment.signed
            else "off, or on; off, places are provisional until annotate reconcile",
        ),
        ("Places", f"{body['total_available_places']}, one a block"),
        ("Estimated time", f"{body['estimated_completion_time']} minutes"),
        ("Reward", pay),
        ("Submissions a person", "one"),
        ("Content warning", "yes: sensitive"),
    ]
    codes = [
        Row([code["code"], code["code_type"], code["actions"][0]["action"]])
        for code in body["completion_codes"]
    ]
    return markdown(
        "# To paste into Prolific",
        f"Study `{body['internal_name']}`. The same for Prolific's API is in `study.json`.",
        f"Study URL: `{body['external_study_url']}`",
        Table([Column("field"), Column("value")], list(map(Row, fields))),
        f"People come back by `{PROLIFIC_RETURN}`; in the study file `recruitment.return_url` is "
        f"`{back}`.",
        Table([Column("code"), Column("kind"), Column("then")], codes),
        "A code such as `COMPLETED` can be guessed. Set random ones in the study file's "
        "`recruitment`.",
    )
