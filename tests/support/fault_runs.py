"""Cases for a failing server."""

import json
from pathlib import Path


def write_questions(path: Path, count: int) -> Path:
    """Cases that the failing server knows by their numbers; all are answered ``safe``."""
    record = {"context": {"sender": {"platform_type": "forum"}}, "intended": "safe"}
    lines = [json.dumps({"query": f"question {n}", **record}) for n in range(count)]
    path.write_text("\n".join(lines), "utf-8")
    return path
