"""Exports: judgements, logs and cases written in other people's formats; texts on request."""

from casewise.exports.export import WITHOUT_TEXTS, export_to
from casewise.exports.request import CONTENT_WARNING, ExportRequest
