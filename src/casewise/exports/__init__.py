"""Exports: judgements, logs and cases written in other people's formats; texts on request."""

from casewise.exports._export_form import CONTENT_WARNING, ExportRequest, form_of
from casewise.exports._one_export import PurgePlan, export_to, plan_purge, purge

__all__ = [
    "CONTENT_WARNING",
    "ExportRequest",
    "PurgePlan",
    "export_to",
    "form_of",
    "plan_purge",
    "purge",
]
