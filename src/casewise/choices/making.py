"""Options of ``casewise contexts generate`` beside its files."""

from dataclasses import dataclass
from typing import Annotated

from casewise.choices.input import Input


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingOptions:
    """How contexts are made by a model."""

    model: Annotated[
        str,
        Input(
            "The model that writes, as Inspect names it.",
            "Model",
            "PROVIDER/NAME",
            option="--model -m",
            complete="models",
        ),
    ]
    critic: Annotated[
        str | None,
        Input(
            "The model that reviews what the rules let pass; none: rules alone. "
            "Default: the model that writes.",
            "Model",
            "PROVIDER/NAME|none",
            complete="models",
        ),
    ] = None
    seed: Annotated[int, Input("Seed of every request.", "Sampling", least=0)] = 0
    temperature: Annotated[
        float, Input("Temperature of the model that writes.", "Sampling", least=0)
    ] = 0.8
    max_tokens: Annotated[int, Input("Longest answer, in tokens.", "Sampling", least=1)] = 4096
    language: Annotated[
        str | None, Input("Language of queries that name none (en, de, pt-BR).", "Cases")
    ] = None
    source: Annotated[str | None, Input("Source of queries that name none.", "Cases")] = None
    licence: Annotated[str | None, Input("Licence of queries that name none.", "Cases")] = None
    max_connections: Annotated[int, Input("Queries at once.", "Where it runs", least=1)] = 20
