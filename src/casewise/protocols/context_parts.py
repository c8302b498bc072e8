"""Parts of a context that an answer names, where its prompt asks for them."""

import re

from casewise.cases import Context
from casewise.contexts import leaf_parameters

_PARTS = re.compile(r'"context_parts"\s*:\s*(\[[^\[\]]*\]|"[^"]*")')


def named_parameters(answer: str, context: Context) -> tuple[str, ...] | None:
    """The parameters in an answer's last ``context_parts``, by their paths, in the context's order.

    The field holds a list, or a text with commas. A name is a parameter's (``type``), its path
    (``recipient.type``), or that of what holds parameters (``recipient``). None without the field.
    """
    fields = _PARTS.findall(answer)
    if not fields:
        return None
    names = {
        name.strip().lower().replace(" ", "_") for name in re.split(r'[",\[\]]', fields[-1])
    } - {""}
    paths = leaf_parameters(context)
    return tuple(
        path for path in paths if any(f".{name}." in f".{path.lower()}." for name in names)
    )
