"""The judgement table: one row a model x condition x case x epoch; its conditions."""

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from casewise.choices import UnreadPolicy
from casewise.errors import InputError, first_line
from casewise.files import check_size, guard_cell, read_bytes, unguard_cell
from casewise.protocols import CONDITION, TRANSCRIPTS, ResponseClass, RunCondition, acting_protocols
from casewise.sheets import percent

_TEXT, _COUNT, _NUMBER, _FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()

SCHEMA: dict[str, pl.DataType] = {
    # The run.
    **dict.fromkeys(("run_id", "model", "protocol", "delivery", "ablation", "variant"), _TEXT),
    **dict.fromkeys(("prompt_version", "dataset_hash", "dataset_version"), _TEXT),
    "planned": _COUNT,
    "stopped": _TEXT,
    # The case.
    **dict.fromkeys(("case_id", "query_id", "category", "intended"), _TEXT),
    **dict.fromkeys(("votes_safe", "votes_unsafe"), _COUNT),
    "published_safe_rate": _NUMBER,
    "expected": _TEXT,
    "no_context": _FLAG,
    # The answer.
    "epoch": _COUNT,
    **dict.fromkeys(("status", "verdict"), _TEXT),
    **dict.fromkeys(("p_safe", "raw_score", "mass"), _NUMBER),
    **dict.fromkeys(("response_class", "graded_by"), _TEXT),
    "doubt": _NUMBER,
    "turn_classes": _TEXT,
    "cut": _FLAG,
    **dict.fromkeys(("answer", "explanation", "mentions", "parameters"), _TEXT),
    # What it took.
    **dict.fromkeys(("input_tokens", "output_tokens"), _COUNT),
    **dict.fromkeys(("latency_s", "cost_usd"), _NUMBER),
    **dict.fromkeys(("grader_input_tokens", "grader_output_tokens"), _COUNT),
    "grader_cost_usd": _NUMBER,
    "error": _TEXT,
    # The second case of a judgement of a pair.
    **dict.fromkeys(("twin_id", "twin_intended"), _TEXT),
    **dict.fromkeys(("twin_votes_safe", "twin_votes_unsafe"), _COUNT),
    "twin_published_safe_rate": _NUMBER,
    "numbers": _TEXT,
}
"""Columns and types.

``planned`` is how many rows the row's run would have at its end (null: unknown);
``stopped`` says why that run did not end (null: it did, or nobody knows);
``verdict``, ``p_safe`` and ``raw_score`` are null unless ``status`` is ``ok``;
``expected`` is what a deployment wants of the reply (answer, refuse, partial or either);
``no_context`` is true of a case without a context, and else null; ``mass`` is the probability
mass that the first token puts on the two words;
``graded_by`` is ``provider``, ``rules`` or a model;
``doubt`` is the chance that the grader gives of its class being wrong (null: nobody measured it);
``turn_classes`` has the class of every reply of an escalating conversation; ``cut`` says whether an
answer ended at a token limit (null: unknown); ``mentions`` has the parameters of the context that
an answer names in ``context_parts``, and ``parameters`` all of them, joined by spaces; a judgement
of a pair has the ids of both cases as its ``case_id``, the columns of the first, and of the second
those that begin with ``twin``; ``numbers`` has further numbers of a protocol's reading, as JSON."""

PROVIDER: Final = "provider"
"""Grader of a reply that the provider refused: nobody needs to check those."""

OF_CASE = (
    "query_id",
    "category",
    "intended",
    "votes_safe",
    "votes_unsafe",
    "published_safe_rate",
    "expected",
    "no_context",
)
"""The columns that say something of the case, its id apart."""

TWIN = tuple(name for name in SCHEMA if name.startswith("twin_"))
"""The columns of the second case of a judgement of a pair."""

TEXTS = ("query", "context", "history")
"""Columns of a row's texts before it stands in the table, which has none of them."""

WHOLE = "case"
"""Column in which such a row holds the case itself, if its source does."""


def make_table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows (any keys of ``SCHEMA``) as a table with every column."""
    rows = list(rows)
    return pl.DataFrame(
        [pl.Series(name, [row.get(name) for row in rows], kind) for name, kind in SCHEMA.items()]
    )


def read_table(path: Path) -> pl.DataFrame:
    """Read a judgement table (.parquet or .csv).

    Raises:
        InputError: The file is no table, or lacks columns.
    """
    try:
        if path.suffix.lower() == ".csv":
            table = _each_text(pl.read_csv(read_bytes(path), infer_schema=False), unguard_cell)
        else:
            table = pl.read_parquet(path)
        check_size(table, path)
        lacking = next((name for name in _NEEDED if name not in table.columns), None)
        if lacking is not None:
            problem = "not a judgement table: a column is missing"
            raise InputError(problem, file=path, field=lacking)
        table = table.select(_column(table, name, kind) for name, kind in SCHEMA.items())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"not a judgement table: {first_line(error)}", file=path) from None
    _check_values(table, path)
    return table.with_columns(
        pl.col("query_id").fill_null(pl.col("case_id")), pl.col("epoch").fill_null(1)
    )


def read_case_rows(path: Path) -> list[dict[str, Any]]:
    """Cases of a table, with their texts; empty where it holds none.

    Tables have texts where somebody asked for them (Parquet): contexts and histories as JSON.
    """
    if path.suffix.lower() == ".csv" or not set(TEXTS) <= set(pl.read_parquet_schema(path)):
        return []
    columns = ("case_id", "ablation", "variant", *OF_CASE, *TEXTS)
    rows = pl.read_parquet(path, columns=list(columns)).unique("case_id", maintain_order=True)
    return [
        row | {name: json.loads(row[name] or "null") for name in ("context", "history")}
        for row in rows.to_dicts()
    ]


def _each_text(table: pl.DataFrame, change: Callable[[str], str]) -> pl.DataFrame:
    """Table with the guard of its texts put on, or taken off, by ``change``."""
    for name in table.select(pl.col(pl.String)).columns:
        texts = table[name].drop_nulls().unique()
        changed = {text: new for text in texts if (new := change(text)) != text}
        if changed:
            table = table.with_columns(pl.col(name).replace(changed))
    return table


def _column(table: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Expr:
    if name not in table.columns:
        return pl.lit(None, kind).alias(name)
    if kind == pl.Boolean and table.schema[name] == pl.String:
        return pl.col(name).replace_strict({"true": True, "false": False}, return_dtype=kind)
    return pl.col(name).cast(kind)


_NEEDED = ("model", "protocol", "case_id", "status", "verdict")
"""Columns that no table can do without; the others may be absent."""


def _check_values(table: pl.DataFrame, path: Path) -> None:
    """Refuse values that would be scored wrongly.

    Raises:
        InputError: The first such row and its field.
    """
    ok = pl.col("status") == "ok"
    acts = pl.col("protocol").is_in(acting_protocols()).fill_null(False)
    judges = ok & ~acts & pl.col("twin_id").is_null()
    share = "0 to 1, or nothing"
    rules = {
        "case_id": (pl.col("case_id").is_not_null(), "a case's id"),
        "status": (pl.col("status").is_in(_STATUSES), ", ".join(_STATUSES)),
        "verdict": (
            ~judges | pl.col("verdict").is_in(["safe", "unsafe"]),
            "safe or unsafe where the status is ok",
        ),
        "response_class": (
            ~(ok & acts) | pl.col("response_class").is_in(_CLASSES),
            f"{', '.join(_CLASSES)} where the status is ok",
        ),
        "p_safe": (pl.col("p_safe").is_between(0, 1).fill_null(True), share),
        "doubt": (pl.col("doubt").is_between(0, 1).fill_null(True), share),
    }
    for field, (rule, expected) in rules.items():
        bad = table.select(~rule.fill_null(False)).to_series().arg_true()
        if len(bad):
            row = int(bad[0])
            raise InputError(
                "wrong value",
                file=path,
                record=f"row {row + 1}",
                field=field,
                found=table[field][row],
                expected=expected,
            )


_CLASSES = [str(class_) for class_ in ResponseClass if class_ is not ResponseClass.UNDETERMINED]
_STATUSES = ("ok", "unparsed", "refused", "error")


def table_bytes(table: pl.DataFrame, path: Path, about: Mapping[str, str]) -> bytes:
    """The bytes of a table in the form that the path's suffix names (.parquet or .csv).

    Args:
        table: The table.
        path: Path where it will stand; nothing is written here.
        about: What the file says of itself, where its form has a place for it (Parquet).

    Raises:
        InputError: Another suffix.
    """
    out = io.BytesIO()
    if path.suffix.lower() == ".parquet":
        table.write_parquet(out, metadata=dict(about))
    elif path.suffix.lower() == ".csv":
        _each_text(table, guard_cell).write_csv(out)
    else:
        problem = "can't write a table of this kind"
        raise InputError(problem, file=path, expected="a name in .parquet or .csv")
    return out.getvalue()


_STAND_IN = re.compile(r"\[withheld: (\d+) characters\]")


def stand_in(text: str) -> str:
    """Replacement for a text: its length in characters, and no word of it; its own stand-in."""
    return text if is_withheld(text) else f"[withheld: {len(text)} characters]"


def is_withheld(text: str) -> bool:
    """Tell whether a text is only a stand-in."""
    return _STAND_IN.fullmatch(text) is not None


def length_of(text: str | None) -> int | None:
    """Characters of a text, or of the one that a stand-in stands for; None of none."""
    if text is None:
        return None
    match = _STAND_IN.fullmatch(text)
    return int(match[1]) if match else len(text)


# --- conditions --------------------------------------------------------------------------------


def conditions(table: pl.DataFrame) -> Iterator[tuple[RunCondition, pl.DataFrame]]:
    """Yield each condition of a table with its rows.

    Runs that judge the same cases under one condition are kept apart.
    """
    for part in table.partition_by(*CONDITION, "dataset_hash", maintain_order=True):
        again = part.select(ANSWER_KEYS).is_duplicated().any()
        for run in part.partition_by("run_id", maintain_order=True) if again else [part]:
            yield RunCondition.of_row(run.select(*RunCondition()).row(0, named=True)), run


ANSWER_KEYS = ["case_id", "epoch"]


def shared_rows(parts: Sequence[pl.DataFrame], unparsed: UnreadPolicy) -> tuple[pl.DataFrame, ...]:
    """The rows of each part whose case and epoch every part has, in the same order.

    Under ``honest`` each part must have read its answer; under ``reference`` unread verdicts stay,
    but unread replies don't: the published script has no replies, so nothing says how to fill them.
    """
    counted = pl.col("status") == "ok"
    if unparsed is UnreadPolicy.REFERENCE:
        counted |= ~pl.col("protocol").is_in(acting_protocols())
    parts = [part.filter(counted) for part in parts]
    keys = parts[0].select(ANSWER_KEYS)
    for part in parts[1:]:
        keys = keys.join(part.select(ANSWER_KEYS), on=ANSWER_KEYS, how="semi")
    return tuple(
        keys.join(part, on=ANSWER_KEYS, how="left", maintain_order="left") for part in parts
    )


_OF_ANSWERS = {
    "unparsed": "{} could not be read",
    "refused": "{} refused by the model or its provider",
    "error": "{} failed with an error",
}
"""Phrases for judgements without a verdict, by status; apart, since each has its own remedy."""


MOST_UNREAD = 0.2
"""Share of a run from which on it gives no verdict if it was not read."""


@dataclass(frozen=True, slots=True)
class RunState:
    """Judgements of a run, or of the runs of one condition, beside their plan."""

    statuses: Mapping[str, int]
    """Judgements by status; those with an error have no answer."""
    planned: int
    """Judgements that were to be made; where that is not recorded, those there are."""
    stopped: tuple[str, ...] = ()
    """Reasons of runs that did not end, as far as their logs tell them."""
    is_recorded: bool = True
    """Whether the plan is recorded; else nobody can tell that the run has finished."""

    @property
    def n_rows(self) -> int:
        """Judgements in the table, answered or not."""
        return sum(self.statuses.values())

    @property
    def judged(self) -> int:
        """Judgements with an answer, read or not."""
        return self.n_rows - self.statuses.get("error", 0)

    @property
    def not_asked(self) -> int:
        """Planned judgements that were never asked for."""
        return max(0, self.planned - self.n_rows)

    @property
    def sentence(self) -> str:
        """First sentence of every view of a run that ended early, or had errors; else empty."""
        if self.stopped or (self.not_asked and self.is_recorded):
            why = "; ".join(self.stopped) or "it was stopped or capped"
            sentence = f"ended early ({why}), with {self._judged}"
        elif self.statuses.get("error") or self.not_asked:
            sentence = self._judged
        else:
            return ""
        return sentence + self.gaps

    @property
    def gaps(self) -> str:
        """Judgements without a verdict, by reason, after a colon; empty where there are none."""
        counts = {text: self.statuses.get(status, 0) for status, text in _OF_ANSWERS.items()}
        counts["{} never asked"] = self.not_asked
        parts = [text.format(f"{n:,}") for text, n in counts.items() if n]
        return f": {', '.join(parts)}" if parts else ""

    @property
    def _judged(self) -> str:
        share = percent(self.judged / self.planned, 0)
        planned = "planned " if self.is_recorded else ""
        return f"{self.judged} of {self.planned} {planned}judgements made ({share})"

    def record(self) -> dict[str, Any]:
        """The state as JSON values."""
        return {
            "planned": self.planned,
            "judged": self.judged,
            "not_asked": self.not_asked,
            "statuses": dict(self.statuses),
            "stopped": list(self.stopped),
        }

    @property
    def unread(self) -> int:
        """Planned judgements without an answer that was read."""
        return self.planned - self.statuses.get("ok", 0)

    @property
    def is_broken(self) -> bool:
        """Tell whether too little was read for any verdict: a fifth or more is missing."""
        return self.unread >= MOST_UNREAD * self.planned


def run_state(rows: pl.DataFrame, other: pl.DataFrame | None = None) -> RunState:
    """The state of a condition's runs.

    Args:
        rows: All its rows of the judgement table, labelled or not.
        other: Rows of another run, whose cases were to be judged where no plan is recorded.
    """
    stopped = rows["stopped"].drop_nulls().unique(maintain_order=True).to_list()
    recorded = not rows["planned"].has_nulls()
    lost = 0 if other is None or recorded else len(lost_rows(rows, other))
    planned = planned_in(rows) + lost
    return RunState(Counter(rows["status"]), planned, tuple(stopped), recorded)


def lost_rows(rows: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Rows of cases that another run has and a run lacks, one for each epoch of the run.

    Past conversations ask each case as often as users did: only a case that none asks is lacking.
    """
    cases = other.select("case_id", *OF_CASE).unique("case_id", maintain_order=True)
    variants = rows.select("variant").unique().iter_rows(named=True)
    if all(RunCondition.of_row(row).sampling == TRANSCRIPTS for row in variants):
        cases = cases.with_columns(epoch=pl.lit(1, rows.schema["epoch"]))
        return cases.join(rows, on="case_id", how="anti", maintain_order="left")
    expected = cases.join(rows.select("epoch").unique(), how="cross")
    return expected.join(
        rows.select(ANSWER_KEYS), on=ANSWER_KEYS, how="anti", maintain_order="left"
    )


def planned_in(rows: pl.DataFrame) -> int:
    """Judgements that the runs of some rows were to make; at least the rows that there are."""
    runs = rows.group_by("run_id").agg(pl.len().alias("there"), pl.col("planned").max())
    return int(runs.select(pl.max_horizontal("there", "planned").sum()).item())
