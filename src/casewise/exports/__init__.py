"""Exports: judgements, logs and cases written in other people's formats; texts on request."""

from casewise.exports._export_form import CONTENT_WARNING, ExportRequest, form_of
from casewise.exports._one_export import export_to

__all__ = [
    "CONTENT_WARNING",
    "ExportRequest",
    "export_to",
    "form_of",
]
