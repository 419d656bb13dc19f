"""Automatic checks of questions and passages, without a model: every finding names file, row or id, and what is wrong.

A map: `report` holds findings and counts; `table` checks any items table row by row; `facts` adds what a folder of
shipped facts promises, one small rule each in `rules`; `source` takes any of them.
"""

from srdcr_lab.data.checks.facts import check_facts
from srdcr_lab.data.checks.report import Finding, Report
from srdcr_lab.data.checks.source import check_source
from srdcr_lab.data.checks.table import check_items, check_table

__all__ = ["Finding", "Report", "check_facts", "check_items", "check_source", "check_table"]
