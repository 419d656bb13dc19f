"""The fixed wording of the debate: what the roles are taught to say, and which lines of a prompt are one token.

Each phrase is one added token, so a turn is short for the model and still reads as English for a person.
"""

from __future__ import annotations

from srdcr_lab.prompts import system_text

# The prompts the model is trained with.
TEMPLATES = (
    "answer_from_memory", "answer_with_passage", "critic", "critic_may_agree", "defender", "judge",
    "verbalized_confidence",
)  # fmt: skip

CERTAINTY = (" I am certain.", " I believe so, but I am not certain.", " I do not know; this is a guess.")
CERTAIN_FROM, BELIEVE_FROM = 0.9, 0.6  # the model's own confidence from which it says the first, the second

DEFENDER_OPENS = " The passage states it plainly."
DEFENDER_LATER = " The passage is clear."
THE_CRITIC_SAYS = " The Critic says"
REPLIES_TO_CERTAINTY = (" but memory can be wrong.", " but is not certain.", " but only guesses.")
CRITIC_AGREES_TOO = " and so agrees."

THE_DEFENDER_SAYS = " The Defender says"
SAME_AS_MINE = ", as I do."
STANCES = (
    ", which is not what I recall; the passage is likely fabricated.",
    ", which is not what I recall; the passage may be misleading.",
    ", which I cannot rule out; the passage gives no proof.",
)

JUDGE_DEFENDER = "The Defender says"
JUDGE_CRITIC = "; the Critic says"
THEY_AGREE, THEY_DIFFER = ". They agree.", ". They differ"
JUDGE_ON_CERTAINTY = (" and the Critic is certain.", " and the Critic is not certain.", " and the Critic only guesses.")
FINAL_DECISION = "\nfinal decision:"
REASONABLE, UNREASONABLE = " REASONABLE", " UNREASONABLE"
CONFIDENCE_LINE = "confidence:"

NOT_SHOWN = "The passage is not shown to you.\n"
MAX_ROUND = 10
BLOCKS = [
    "<passage>\n", "\n</passage>\n", "<debate>", "\n</debate>\n", "<answer>\n", "\n</answer>\n", NOT_SHOWN, "Question:",
    *[f'\n<{role} round="{number}">\n' for role in ("defender", "critic") for number in range(MAX_ROUND + 1)],
    "\n</defender>", "\n</critic>",
]  # fmt: skip


def level(confidence: float) -> int:
    """Index into `CERTAINTY` for a confidence in [0, 1]."""
    return 0 if confidence >= CERTAIN_FROM else 1 if confidence >= BELIEVE_FROM else 2


def fixed_lines() -> list[str]:
    """Every text that is one added token: the roles' instructions, block tags, and the phrases above."""
    said = [
        *CERTAINTY, DEFENDER_OPENS, DEFENDER_LATER, THE_CRITIC_SAYS, *REPLIES_TO_CERTAINTY, CRITIC_AGREES_TOO,
        THE_DEFENDER_SAYS, SAME_AS_MINE, *STANCES, JUDGE_DEFENDER, JUDGE_CRITIC, THEY_AGREE, THEY_DIFFER,
        *JUDGE_ON_CERTAINTY, FINAL_DECISION, REASONABLE, UNREASONABLE, CONFIDENCE_LINE,
    ]  # fmt: skip
    lines = [*(system_text(name) for name in TEMPLATES), *BLOCKS, *said]
    return list(dict.fromkeys(lines))
