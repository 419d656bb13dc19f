"""One colour and one spelling for each category and each decision, in every figure and widget."""

from __future__ import annotations

from srdcr_lab.records import KnowledgeCategory

CATEGORY_COLOURS = {
    KnowledgeCategory.HIGHLY_KNOWN.value: "#0b3c5d",
    KnowledgeCategory.MAYBE_KNOWN.value: "#2a9d8f",
    KnowledgeCategory.WEAKLY_KNOWN.value: "#e9a93c",
    KnowledgeCategory.UNKNOWN.value: "#c8553d",
}
CATEGORY_LABELS = {name: name.replace("_", "-").title() for name in CATEGORY_COLOURS} | {
    KnowledgeCategory.UNKNOWN.value: "Unknown"
}
