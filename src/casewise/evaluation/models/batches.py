"""Batches of requests: Inspect collects, sends and follows them; casewise says which models can."""

from casewise.errors import UsageError

PROVIDERS = frozenset({"anthropic", "google", "grok", "openai", "together"})
"""Providers whose batch interface Inspect knows; any other would be asked live."""

AT_ONCE = 5_000
"""Most cases of a model that wait for batches at the same time; each takes about 70 kB."""

NOTE = (
    "--batch: a batch that can't be created, expires or is cancelled, or whose run is stopped or "
    "killed, may be paid again"
)

_HOSTS = frozenset({"azure", "bedrock", "vertex"})
"""Other companies that host the models, whose batches Inspect does not know."""


def check_batches(*models: str | None) -> None:
    """Refuse models that Inspect would ask live.

    Raises:
        UsageError: Inspect knows no batch interface for a model.
    """
    for model in filter(None, models):
        provider, _, name = model.partition("/")
        if provider not in PROVIDERS or name.split("/")[0] in _HOSTS:
            known = ", ".join(f"{provider}/..." for provider in sorted(PROVIDERS))
            raise UsageError(
                f"--batch: no batch interface is known for {model}: leave --batch out, or choose "
                f"a model of {known} (not one hosted by Azure, Bedrock or Vertex)"
            )
