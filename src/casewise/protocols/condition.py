"""Condition of a run: all that tells two runs apart, typed, with one text form of its variant."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from casewise.cases import GROUPS
from casewise.choices import Delivery
from casewise.protocols.protocol import is_acting, pair_protocols

CONDITION = ("model", "protocol", "delivery", "ablation", "variant", "prompt_version")
"""Columns of the judgement table that tell one model's condition from another."""

TRANSCRIPTS = "transcripts"
"""Drawing of past conversations, whose replies were drawn elsewhere."""

_DATA = ("dataset_hash", "dataset_version", "run_id")
_COLUMNS = (*CONDITION, *_DATA)
_PARTS = {
    "card": "card",
    "swap": "swap",
    "vary": "variation",
    "evidence": "evidence",
    "draw-seed": "draw_seed",
    "dtype": "dtype",
    "from": "place",
}
"""Fields by the names of their parts in a variant's text, in its order."""
_VARIANT = ("sampling", "settings", *_PARTS.values(), "wording")


@dataclass(frozen=True, slots=True)
class RunCondition(Mapping[str, str | None]):
    """All that tells two runs apart; as a mapping, its columns of the judgement table."""

    model: str = ""
    protocol: str = ""
    delivery: str | None = None
    ablation: tuple[str, ...] = ()
    """Names of what was removed from the contexts."""
    prompt_version: str | None = None
    sampling: str | None = None
    """Drawing of the answers: a sampling, ``published`` or ``transcripts``."""
    settings: tuple[str, ...] = ()
    """Settings of the generation (``top_p=0.9``), and unknown parts."""
    card: str | None = None
    """Deployment whose cases were asked."""
    swap: str | None = None
    """Parameter or group that every context has from its twin."""
    variation: str | None = None
    """Change of every conversation, with its seed: ``filler-4k,seed=3``."""
    evidence: str | None = None
    """Rung of an evidence ladder."""
    draw_seed: str | None = None
    dtype: str | None = None
    """Number type of a model that runs in this process."""
    place: str | None = None
    """Path that tells it from another run of one name."""
    dataset_hash: str | None = None
    dataset_version: str | None = None
    run_id: str | None = None
    wording: str | None = None
    """Variant to the letter, where another order or version wrote it."""

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "RunCondition":
        """The condition that a row of the judgement table, or a log's metadata, tells."""
        variant = row.get("variant")
        condition = cls(
            **{name: row.get(name) for name in {*_COLUMNS} - {"ablation", "variant"}},  # type: ignore[arg-type]
            ablation=tuple(filter(None, (row.get("ablation") or "").split(","))),
            **_parsed(variant or ""),
        )
        return condition if condition.variant == variant else replace(condition, wording=variant)

    @property
    def variant(self) -> str | None:
        """Sampling, settings and changes as one text: ``greedy;top_p=0.9;swap=sender``."""
        if self.wording is not None:
            return self.wording
        sampling = () if self.sampling is None else (self.sampling,)
        return ";".join((*sampling, *self.settings, *self.parts(*_PARTS.values()))) or None

    def parts(self, *fields: str) -> tuple[str, ...]:
        """Parts of the variant that stand for some fields: ``swap=sender``."""
        named = ((name, getattr(self, part)) for name, part in _PARTS.items() if part in fields)
        return tuple(f"{name}={value}" for name, value in named if value is not None)

    def __getitem__(self, column: str) -> str | None:
        if column not in _COLUMNS:
            raise KeyError(column)
        return ",".join(self.ablation) or None if column == "ablation" else getattr(self, column)

    def __iter__(self) -> Iterator[str]:
        return iter(_COLUMNS)

    def __len__(self) -> int:
        return len(_COLUMNS)

    def same_but(self, *fields: str) -> "RunCondition":
        """Key of the runs that differ in these fields alone, and in their data.

        ``variant`` stands for every field of the variant.
        """
        gone = {*fields, *_DATA, "wording", *(_VARIANT if "variant" in fields else ())}
        return replace(self, **{name: getattr(_BLANK, name) for name in gone - {"variant"}})

    @property
    def variation_name(self) -> str:
        """The variation without its seed; empty of none."""
        return (self.variation or "").partition(",")[0]

    @property
    def acts(self) -> bool:
        """Tell whether the model replied, and did not judge."""
        return is_acting(self.protocol)

    @property
    def of_pairs(self) -> bool:
        """Tell whether the model ranked contexts of a query, and gave no verdicts."""
        return self.protocol in pair_protocols()

    @property
    def changed(self) -> bool:
        """Tell whether contexts or conversations differ from those of the cases."""
        return bool(self.ablation) or any((self.swap, self.variation, self.evidence))

    @property
    def plain(self) -> bool:
        """Tell whether whole contexts stand in their usual place, and nothing is changed."""
        usual = self.delivery in (Delivery.JUDGE, Delivery.SYSTEM, None)
        return usual and not self.changed

    @property
    def text(self) -> str:
        """The condition in few words: ``score``, ``probability, none``, ``binary, without x``."""
        parts = [self.protocol or "?"]
        # Of past conversations, nothing is known of a system message.
        default = Delivery.SYSTEM if self.sampling == TRANSCRIPTS else Delivery.JUDGE
        if self.delivery not in (None, default):
            parts.append(str(self.delivery))
        if self.ablation:
            whole = set(GROUPS) <= set(self.ablation)
            parts.append("context emptied" if whole else f"without {', '.join(self.ablation)}")
        variant = (self.variant or "").split(";")
        parts += [part.replace("=", " ") for part in variant if part not in ("", *_USUAL)]
        return ", ".join(parts)

    @property
    def title(self) -> str:
        """The model and its condition: ``openai/gpt-4o (binary, none)``."""
        return f"{self.model} ({self.text})"

    @property
    def data_text(self) -> str:
        """The data set in words: ``version 1.2.0 (hash 0f...)``."""
        hash, version = self.dataset_hash, self.dataset_version
        if hash is None:
            return "an unknown version"
        return f"version {version} (hash {hash})" if version else f"hash {hash}"

    def has_data_of(self, other: "RunCondition") -> bool:
        """Tell whether both are over the same cases, as far as their hashes are known."""
        return len({self.dataset_hash, other.dataset_hash} - {None}) < 2


_BLANK = RunCondition()
_USUAL = ("greedy", "published")


def _parsed(text: str) -> dict[str, Any]:
    """Fields of a variant; unknown and repeated parts are kept among the settings."""
    fields: dict[str, Any] = {}
    settings = []
    for part in filter(None, text.split(";")):
        name, mark, value = part.partition("=")
        field = _PARTS.get(name) if mark else "sampling"
        if field is None or field in fields:
            settings.append(part)
        else:
            fields[field] = value if mark else part
    return fields | {"settings": tuple(settings)}
