"""What methods, designs, confidences and categories are called where a reader sees them, and the colour of methods.

Tables on disk, arguments and code keep the names that `--methods`, `--design` and `--confidence` take; `called` is for
a figure, a page or a sentence, `called_in` for a value of a table: its column says whether `self_consistency` is a
method or a confidence. A method, a design or a confidence that is added needs its line here; a figure that tells
methods apart by colour takes it from `colours`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

_METHODS = {
    "zero_shot": ("Zero-Shot", "#56b4e9"),
    "few_shot": ("Few-Shot", "#0173b2"),
    "self_ask": ("Self-Ask", "#7f003f"),
    "rci": ("RCI", "#a45dea"),
    "astute": ("Astute RAG", "#557f00"),
    "judge_debate_1": ("Judge Debate (Round 1)", "#ea9898"),
    "judge_debate_3": ("Judge Debate (Round 3)", "#ca9161"),
    "judge_debate_5": ("Judge Debate (Round 5)", "#8c510a"),
    "naive_debate": ("Naive Debate", "#cc78bc"),
    "vote_20": ("Vote (20 answers)", "#1830a5"),
    "token_probability": ("Token Probability", "#949494"),
    "calibrated_token_probability": ("Calibrated Token Probability", "#543a59"),
    "confidence_only": ("Confidence Only", "#029e73"),
    "debate_only": ("Debate Only", "#693cff"),
    "sr_dcr": ("SR-DCR", "#d55e00"),
    "golden": ("Golden Baseline", "#d4b106"),
    # over several documents
    "concatenate": ("Concatenation", "#4c72b0"),
    "madam_rag": ("MADAM-RAG", "#dd8452"),
    "ra_rag": ("RA-RAG", "#55a868"),
    "dialectical": ("Dialectical", "#8172b3"),
    "sr_dcr_per_document": ("SR-DCR per document", "#c44e52"),
}  # in the order of the rows of Tables 1 and 2
_UNCOLOURED = {  # their figures have a row for each
    "cot": "CoT",
    "self_reflection": "Self-Reflection",
    "self_consistency": "Self-Consistency",
    "mad": "MAD",
    "self_contrast": "Self-Contrast",
    "cfmad": "CFMAD",
    "direct_judge": "Direct Judge",
    "replace_with_self_reflection": "CFMAD, Self-Reflection instead",
    "replace_with_mad": "CFMAD, MAD instead",
    "cfmad_swapped": "CFMAD, swapped",
    **{f"cfmad_stances_{n}": f"CFMAD, {n} stances" for n in (3, 4, 5)},
    **{f"cfmad_rounds_{n}": f"CFMAD, {n} rounds" for n in (2, 3, 4, 5)},
    "cfmad_when_unsure": "CFMAD when unsure",
}
_DESIGNS = {
    "acvd": ("ACVD", "#d55e00"),  # the debate of SR-DCR, and its colour
    "symmetric": ("Symmetric", "#005959"),
    "own_answers": ("Own answers", "#92a56b"),
    "released": ("Released code", "#593523"),
    "judge_alone": ("Judge alone", "#ea23ea"),
    "two_answers": ("Two answers", "#00cc00"),
    "consultancy_defender": ("Consultancy, Defender", "#0000ea"),
    "consultancy_critic": ("Consultancy, Critic", "#ea004e"),
    "placebo": ("Placebo", "#51cccc"),
    "swapped": ("Swapped names", "#7f007f"),
}
CONFIDENCE_LABELS = {
    "mean_logprob": "geometric mean probability",
    "sequence": "sequence probability",
    "mean_probability": "arithmetic mean probability",
    "self_consistency": "self-consistency",
    "verbalized": "stated confidence",
    "p_true": "P(True)",
    "semantic_entropy": "semantic entropy",
}
CATEGORY_LABELS = {
    "HIGHLY_KNOWN": "Highly-Known",
    "MAYBE_KNOWN": "Maybe-Known",
    "WEAKLY_KNOWN": "Weakly-Known",
    "UNKNOWN": "Unknown",
}
OF_CONFIDENCES = ("confidence_kind", "confidence", "first", "second")  # columns
_RESERVE = (
    "#92cc1e", "#235923", "#0075ea", "#7f0000", "#a8a000", "#5f7fa8", "#b0708c", "#4e9f9f", "#c07a3e", "#6a6ad0",
    "#3f3f3f", "#8fae00",
)  # fmt: skip

METHOD_LABELS = {name: label for name, (label, _) in _METHODS.items()} | _UNCOLOURED
DESIGN_LABELS = {name: label for name, (label, _) in _DESIGNS.items()}
COLOURS = {name: colour for name, (_, colour) in (_METHODS | _DESIGNS).items()}
_FAMILY = {"judge_debate": "Judge Debate"}  # of which the methods are beginnings


def called(name: str, design: object = None) -> str:
    """A method, a debate design, or a method under a design, as a reader sees it; any other name as it is.

    >>> called("few_shot"), called("sr_dcr", "symmetric"), called("sr_dcr (acvd)")
    ('Few-Shot', 'SR-DCR (Symmetric)', 'SR-DCR (ACVD)')
    >>> called("acvd, order=defender_first, judge_sees_passage=True")
    'ACVD, order: defender first, judge sees passage: yes'
    """
    if isinstance(design, str):
        return f"{called(name)} ({called(design)})"
    under = re.fullmatch(r"(\w+) \((.+)\)", name)  # as a plan names a row
    if under and under[1] in METHOD_LABELS:
        return called(*under.groups())
    known = METHOD_LABELS.get(name) or DESIGN_LABELS.get(name) or _FAMILY.get(name)
    base, *changes = name.split(", ")
    if known or base not in DESIGN_LABELS or not all("=" in change for change in changes):
        return known or name
    return ", ".join([DESIGN_LABELS[base], *map(_change, changes)])


def called_in(column: str, name: str) -> str:
    """The same of a value in this column of a table.

    >>> called_in("method", "self_consistency"), called_in("confidence_kind", "self_consistency")
    ('Self-Consistency', 'self-consistency')
    """
    if column == "model":
        return model_called(name)
    if column == "knowledge_category":
        return category_called(name)
    return kind_called(name) if column in OF_CONFIDENCES else called(name)


# Columns as a reader sees them; any other has its name with spaces.
_HEADINGS = {
    "a": "method", "b": "compared with", "p": "p", "p_holm": "p (Holm)", "n": "n", "n_questions": "questions",
    "n_missing": "missing", "n_above": "questions above τ", "tau": "τ", "kappa": "κ", "auroc": "AUROC",
    "ece": "calibration error", "debiased": "calibration error (debiased)", "macro": "mean of true and false",
    "knowledge_category": "knowledge", "confidence_kind": "confidence", "self_confidence": "confidence",
    "selective_accuracy": "accuracy of answers", "sampled_accuracy": "share of draws that are right",
    "prior_correct": "right from memory", "standard": "true passages", "perturbed": "false passages",
    "calls_alone": "calls an item", "use_context": "from the passage", "use_prior": "from memory",
    "abstain": "abstained", "precision": "P(Highly-Known | confidence ≥ τ)",
}  # fmt: skip


def heading(column: str) -> str:
    """What a reader sees above this column of a table.

    >>> heading("p_holm"), heading("redraw_stability")
    ('p (Holm)', 'redraw stability')
    """
    return _HEADINGS.get(column, column.replace("_", " "))


def kind_called(kind: object) -> str:
    """A kind of confidence."""
    return CONFIDENCE_LABELS.get(str(kind), str(kind))


def category_called(category: object) -> str:
    """A knowledge category; nothing where there is none."""
    return CATEGORY_LABELS.get(str(category), str(category or ""))


def model_called(identity: str) -> str:
    """A local model without how it was run, which captions have.

    >>> model_called("hf:qwen2.5-coder-1.5b (dtype bfloat16)"), model_called("openai:m")
    ('qwen2.5-coder-1.5b', 'openai:m')
    """
    return re.sub(r" \(dtype \w+\)$", "", identity.removeprefix("hf:"))


def _change(text: str) -> str:
    """A factor of a design and its level."""
    factor, _, level = text.partition("=")
    return f"{factor.replace('_', ' ')}: {level_called(level)}"


def level_called(level: object) -> str:
    """A level of a design's factor, in words."""
    return {"True": "yes", "False": "no"}.get(str(level), str(level).replace("_", " "))


def colours(names: Iterable[str]) -> dict[str, str]:
    """Each distinct name with its colour: that of `COLOURS`, or for any other name one that it alone has here."""
    chosen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        place = crc32(name.encode())
        free = [colour for colour in _RESERVE if colour not in chosen.values()] or _RESERVE
        chosen[name] = COLOURS.get(name) or free[place % len(free)]
    return chosen
