"""``casewise target check``: one harmless message to a bot of one's own."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise.cli._console import Format, FormatOption, err, note, print_as
from casewise.cli._options import argument, option
from casewise.files import quoted
from casewise.sheets import Column, Row, Sheet, Table, page

if TYPE_CHECKING:
    from casewise.models import TargetCheck

UNREAD = 1
HELLO = "Hello! What can you help me with?"


def check(
    target: Annotated[str, argument("TARGET", "Its file, or MODULE:FUNCTION.")],
    message: Annotated[str, option("What is sent.")] = HELLO,
    format: FormatOption = Format.TABLE,
) -> None:
    """Send one harmless message to a bot of your own, and show what was sent and read.

    Headers are shown by name. Ends with 0 if a reply was read, 1 if none was
    (what came stands there), 2 if the file can't be used (docs/how-to/bots.md).

    [bold]Examples[/]

    casewise target check target.yaml

    casewise target check mybot:answer --format json
    """
    # Inspect takes seconds to import.
    with err().status("loading"):
        from casewise.models import check_target
    with err().status("waiting for the bot"):
        result = check_target(target, message)
    print_as(format, _sheet(result))
    if result.left_out:
        note(
            f"{result.left_out} left out: a check has no case. To send some: casewise run "
            f"--model {quoted(target)} --protocol respond --limit 2 --cases FILE"
        )
    if result.problem is not None:
        err().print(f"no reply was read: {result.problem}", markup=False)
        raise typer.Exit(UNREAD)


def _sheet(result: "TargetCheck") -> Sheet:
    record = {
        "target": result.target.reference,
        "name": result.target.name,
        **_parts(result),
        "seconds": result.seconds,
        "problem": result.problem,
    }
    table = _table(result)
    return page([table], lambda: record)


def _table(result: "TargetCheck") -> Table:
    rows = [
        Row([part, name.replace("_", " "), _cell_text(value)])
        for part, values in _parts(result).items()
        for name, value in values.items()
    ]
    title = f"{result.target.model} ({result.target.reference})"
    return Table([Column(""), Column(""), Column("")], rows, title)


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _parts(result: "TargetCheck") -> dict[str, dict[str, Any]]:
    """Fields of the request, the answer and its reading, without empty ones."""
    exchange, answer = result.exchange, result.answer
    sent: dict[str, Any] = {"message": result.message}
    received: dict[str, Any] = {}
    if exchange is not None:
        sent["request"] = exchange.url and f"POST {exchange.url}"
        sent |= {"headers": list(exchange.headers), "body": exchange.body}
        received = {"status": exchange.status, "content_type": exchange.content_type}
        # Of what could be read, the reply says more.
        received["answer"] = exchange.answer if answer is None else None
    read: dict[str, Any] = {}
    if answer is not None:
        usage = answer.usage
        read = {
            "reply": answer.completion,
            "refused": answer.stop_reason == "content_filter",
            "session": (answer.message.metadata or {}).get("session"),
            "input_tokens": usage.input_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
        }
    return {
        part: {name: value for name, value in values.items() if value not in (None, "", [])}
        for part, values in (("sent", sent), ("came", received), ("read", read))
    }
