"""Votes of people: screened, summarised, and given back to the cases."""

from casewise.annotation.votes._card import CardFacts, data_card, rules_in_words
from casewise.annotation.votes._cells import ArmVotes, CellVotes, Contrast
from casewise.annotation.votes._csv import collected_files, read_collected, write_collected
from casewise.annotation.votes._export import ExportChoices, check_export, export_study, voted_cases
from casewise.annotation.votes._quality import Drift, PanelEffect, PanelVotes, PersonQuality
from casewise.annotation.votes._records import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise.annotation.votes._results import (
    DRAWS,
    Funnel,
    Results,
    SensitivityRow,
    as_results_record,
    summarise,
)
from casewise.annotation.votes._screening import Flag, PersonScreen, Rule, Screened, screen

__all__ = [
    "ArmVotes",
    "CardFacts",
    "CellVotes",
    "CheckRecord",
    "Collected",
    "Contrast",
    "DRAWS",
    "Drift",
    "ExportChoices",
    "Flag",
    "Funnel",
    "PanelEffect",
    "PanelVotes",
    "PersonQuality",
    "PersonRecord",
    "PersonScreen",
    "PersonStatus",
    "Results",
    "Rule",
    "Screened",
    "SensitivityRow",
    "VoteRecord",
    "as_results_record",
    "check_export",
    "collected_files",
    "data_card",
    "export_study",
    "read_collected",
    "rules_in_words",
    "screen",
    "summarise",
    "voted_cases",
    "write_collected",
]
