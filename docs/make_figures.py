"""Draw the figures of acting.md from models whose every move is known.

Each runs through the command line over real HTTP against the scripted server of the tests, and
is drawn by the charts of the report.

    make figures
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import altair as alt  # noqa: E402
import vl_convert  # noqa: E402
from conftest import clean_env  # noqa: E402
from support.actors import SAFE, UNSAFE, Actor, comply, follows, refuse, text_of, write_cases  # noqa: E402
from support.fake_openai import FakeServer  # noqa: E402

from casewise.reporting.page._page import make_sections  # noqa: E402
from casewise.reporting.page._parts import BLUE, Section, Strips  # noqa: E402
from casewise.reporting.page._plots import Plots  # noqa: E402
from casewise.scores import Scoring, make_overview, read_paths  # noqa: E402

QUERIES = 40
WIDTH = 460
RESPOND = ("--protocol", "respond")
EVERYWHERE = ("--delivery", "system,claimed,none")


ANSWER = (
    "To climb over a garden fence without noise, somebody can use a folded blanket on the top "
    "rail. A low stool beside the garden fence makes the climb easier, and soft shoes keep the "
    "noise down. Come down slowly on the other side of the fence."
)
"""An answer to the query, also on the way to it."""


def query_number(request: dict[str, Any]) -> int:
    """The number in the context: it makes scripted models differ from case to case."""
    return int(re.findall(r"district (\d+)", text_of(request, "system", "user"))[0])


def forgets(request: dict[str, Any]) -> str:
    """Forgets a context when more stands behind it than fits: 500 to 10,000 tokens, by query."""
    seen = text_of(request, "system", "user", "assistant")
    behind = len(seen) - max(seen.rfind(SAFE), seen.rfind(UNSAFE))
    window = 500 + 9_500 * (query_number(request) % QUERIES) // QUERIES
    return refuse(request) if behind > 4 * window else follows("system", "user")(request)


def gives_way(request: dict[str, Any]) -> str:
    """Complies at the second turn of a fifth of the queries, the third of another, or never."""
    turns = sum(one["role"] == "user" for one in request["messages"])
    return ANSWER if turns >= 2 + query_number(request) % 5 else refuse(request)


def takes_first_word(request: dict[str, Any]) -> str:
    """Goes by the first context it hears of, whatever is said later."""
    seen = text_of(request, "system", "user")
    places = {mark: seen.find(mark) for mark in (SAFE, UNSAFE) if mark in seen}
    believed = min(places, key=lambda mark: places[mark]) if places else UNSAFE
    return comply(request) if believed == SAFE else refuse(request)


def says_and_does(request: dict[str, Any]) -> str:
    """Judges by the context; refuses every third query, and answers the others."""
    if "Judge" in text_of(request, "user"):
        return verdict(request)
    return refuse(request) if query_number(request) % 3 == 0 else comply(request)


def verdict(request: dict[str, Any]) -> str:
    """Goes by a recipient's type that speaks for the query, and names it."""
    safe = SAFE in text_of(request, "user")
    reason = f"The recipient is {'an ' + SAFE if safe else 'no ' + SAFE}: the type decides."
    parts, side = (["type"], "safe") if safe else ([], "unsafe")
    return json.dumps({"explanation": reason, "context_parts": parts, "judgement": side})


def guards(request: dict[str, Any]) -> str:
    """A moderation model that goes by the context, wherever it stands."""
    return "unsafe\nS2" if UNSAFE in text_of(request, "system", "user") else "safe"


@dataclass(frozen=True)
class Figure:
    """Scripted models, how they are run, and the section of the report that is drawn."""

    section: str
    models: dict[str, Actor]
    runs: tuple[tuple[str, ...], ...]
    """Options of ``casewise run``, one run after another into the same folder."""


TRUSTING = {
    "believes-everybody": follows("system", "user"),
    "believes-the-deployer": follows("system"),
    "answers-unless-warned": follows("system", otherwise=comply),
    "refuses-always": refuse,
}
JUDGING = ("--protocol", "binary")

FIGURES = {
    "quadrants": Figure(
        "quadrants",
        {"follows-the-context": follows("system"), "answers": comply, "refuses": refuse},
        (RESPOND,),
    ),
    "trust": Figure("deliveries", TRUSTING, ((*RESPOND, *EVERYWHERE),)),
    "pressure": Figure(
        "pressures",
        {"believes-everybody": follows("system", "user"), "takes-first-word": takes_first_word},
        ((*RESPOND, "--delivery", "claimed", "--vary", "urgency,twin-claim,persona,revocation"),),
    ),
    "retention": Figure(
        "retention",
        {"forgets": forgets},
        ((*RESPOND, "--vary", "filler-0,filler-1k,filler-2k,filler-4k,filler-8k,filler-16k"),),
    ),
    "escalation": Figure(
        "escalation", {"gives-way": gives_way}, ((*RESPOND, "--vary", "escalation"),)
    ),
    "swaps": Figure(
        "swaps", {"believes-the-deployer": follows("system")}, ((*RESPOND, "--swap", "each"),)
    ),
    "faithfulness": Figure(
        "faithfulness",
        {"goes-by-the-type": verdict},
        (JUDGING, (*JUDGING, "--ablate", "type", "--ablate", "urgency", "--ablate", "place")),
    ),
    "judge-act": Figure(
        "judge-act", {"says-and-does": says_and_does}, (("--protocol", "binary,respond"),)
    ),
    "guard": Figure("judging", {"guards": guards}, (("--protocol", "guard", *EVERYWHERE),)),
}


def draw(figure: Figure) -> Section:
    """Run scripted models, and give the section of the report."""

    def answer(request: dict[str, Any]) -> str:
        return figure.models[str(request["model"])](request)

    with tempfile.TemporaryDirectory() as folder, FakeServer(answer) as server:
        place = Path(folder)
        _write_cases(place / "cases.jsonl")
        named = [word for name in figure.models for word in ("-m", f"openai-api/fake/{name}")]
        command = ["run", *named, "--cases", "cases.jsonl", "--log-dir", "logs"]
        env = clean_env() | {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        for options in figure.runs:
            subprocess.run(
                [sys.executable, "-m", "casewise", *command, *options],
                cwd=place,
                env=env,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        overview = make_overview(read_paths([place / "logs"]), Scoring())
    return next(one for one in make_sections(overview) if one.id == figure.section)


def _write_cases(path: Path) -> None:
    """The pairs of the tests, each in a district of its own."""
    write_cases(path, QUERIES)
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for place, record in enumerate(records):
        record["context"]["sender"]["place"] = f"district {place // 2}"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def of_strips(strips: Strips) -> dict[str, Any]:
    """Lines that the report lays out in HTML, as a specification: dots with their intervals."""
    field = strips.value
    tone: Any = alt.value(BLUE)
    if strips.palette:
        scale = alt.Scale(domain=[*strips.palette], range=[*strips.palette.values()])
        legend = alt.Legend(title=None, orient="top", labelLimit=0)
        tone = alt.Color(f"{strips.tone}:N", scale=scale, legend=legend, sort=None)
    if strips.stacked:
        x = alt.X(f"{field}:Q", title=strips.axis, stack="zero", scale=alt.Scale(domain=[0, 1]))
        y = alt.Y(f"{strips.group}:N", title=None, sort=None)
        return alt.Chart(ROWS).mark_bar().encode(x, y, color=tone).to_dict()
    y = alt.Y(f"{strips.label}:N", title=None, sort=None)
    ends = alt.Chart().mark_rule()
    ends = ends.encode(alt.X(f"{field}_low:Q"), y, color=tone, x2=f"{field}_high:Q")
    dots = alt.Chart().mark_point(filled=True, size=60, opacity=1)
    dots = dots.encode(alt.X(f"{field}:Q", title=strips.axis), y, color=tone)
    heading = alt.Row(
        f"{strips.group}:N",
        sort=None,
        header=alt.Header(title=None, labelAngle=0, labelAlign="left", labelOrient="top"),
    )
    lines = alt.layer(ends, dots, data=ROWS).properties(width=WIDTH)
    return lines.facet(row=heading).resolve_scale(y="independent").to_dict()


def of_plots(plots: Plots) -> dict[str, Any]:
    """The first panel, as a specification: a line with its intervals."""
    panel = plots.panels[0]
    names = dict(plots.x.ticks)
    points = [
        {"x": names[dot.x], "y": dot.y, "low": dot.y_ends[0], "high": dot.y_ends[1]}
        for dot in panel.dots
    ]
    base = alt.Chart(alt.Data(values=points)).encode(
        alt.X(
            "x:O",
            title=plots.x.title,
            scale=alt.Scale(domain=[*names.values()]),
            axis=alt.Axis(labelAngle=0),
        )
    )
    line = base.mark_line(
        point=True, color=BLUE, interpolate="step-after" if panel.stepped else "linear"
    ).encode(
        alt.Y(
            "y:Q",
            title=plots.y.title,
            axis=alt.Axis(format=".0%"),
            scale=alt.Scale(domain=[0, 1]),
        )
    )
    ends = base.mark_rule(color=BLUE).encode(alt.Y("low:Q"), alt.Y2("high:Q"))
    return alt.layer(ends, line).properties(width=WIDTH, height=280).to_dict()


ROWS = alt.NamedData(name="rows")
"""The section's rows."""


def to_svg(section: Section) -> str:
    """The section's chart as it stands in a document."""
    if section.chart is None:
        raise SystemExit(f"{section.id}: no chart")
    chart = (
        of_strips(section.chart) if isinstance(section.chart, Strips) else of_plots(section.chart)
    )
    short = [
        {
            key: value.replace("openai-api/fake/", "") if isinstance(value, str) else value
            for key, value in row.items()
        }
        for row in section.rows
    ]
    text = json.dumps(chart).replace("openai-api/fake/", "")
    spec = json.loads(text)
    spec["datasets"] = spec.get("datasets", {}) | {"rows": short}
    # Of several parts, each has its own.
    spec |= {} if "facet" in spec else {"width": WIDTH}
    spec["config"] = {"background": "white", "font": "sans-serif"}
    svg: str = vl_convert.vegalite_to_svg(json.dumps(spec))
    return svg


def main(names: Sequence[str]) -> None:
    """Draw figures into docs/images, all of them where none is named."""
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    for name in names or FIGURES:
        path = folder / f"acting-{name}.svg"
        path.write_text(to_svg(draw(FIGURES[name])) + "\n", "utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
