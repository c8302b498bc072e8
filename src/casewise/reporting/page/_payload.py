"""Data inside an HTML page: JSON that no text in it can break out of."""

import base64
import gzip
import json
from typing import Any

from markupsafe import Markup

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""What could end a script element or start a comment, as JSON's own escapes."""


def plain_json(value: Any) -> Markup:
    """Strict JSON that a script element can hold and a person can read.

    Raises:
        ValueError: A number is undefined or infinite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)


def packed_json(value: Any) -> str:
    """Strict JSON, gzipped, in base64; the same for the same value, whatever the time.

    Raises:
        ValueError: A number is undefined or infinite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates, which JSON may hold as escapes, have no UTF-8 form.
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()
