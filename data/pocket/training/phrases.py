"""The fixed wording of the debate: what the roles are taught to say, and which lines of a prompt are one token.

Each phrase is one added token, so a turn is short for the model and still reads as English for a person.
"""

from __future__ import annotations

from itertools import chain

from srdcr_lab.prompts import paraphrases, system_text

# The prompts the model is trained with.
TEMPLATES = (
    "answer_from_memory", "answer_with_passage", "critic", "critic_may_agree", "defender", "judge",
    "verbalized_confidence", "self_ask", "rci_critique", "rci_improve", "judge_debate_debater", "judge_debate_judge",
    "naive_debate_answer", "naive_debate_reconsider", "defender_told", "critic_told",
    "chain_of_thought", "option_answer", "reflection_feedback", "reflection_revision", "mad_expert", "mad_plain",
    "mad_stepwise", "mad_update", "mad_judge", "contrast_perspectives", "contrast_view", "contrast_comparison",
    "contrast_revision", "stance_abduction", "stance_critic", "stance_rebuttal", "stance_reflection", "stance_judge",
    "documents_together", "document_agent", "documents_aggregator", "proponent_thesis", "devils_advocate",
    "proponent_rebuttal", "documents_judge", "judge_alone", "astute_memory", "astute_answer",
)  # fmt: skip

# An instruction of ours → the same in other words.
REWORDED = {system_text(name): [other.system_text(name) for other in paraphrases()] for name in paraphrases()[0].own}

CERTAINTY = (" I am certain.", " I believe so, but I am not certain.", " I do not know; this is a guess.")
CERTAIN_FROM, BELIEVE_FROM = 0.9, 0.6  # the model's own confidence from which it says the first, the second

DEFENDER_OPENS = " The passage states it plainly."
DEFENDER_LATER = " The passage is clear."

# Every comparison restates both answers, one after the other, before it says whether they are the same.
THE_CRITIC_SAYS, THE_DEFENDER_SAYS, I_SAY = " The Critic says", " The Defender says", "; I say"
WE_AGREE, WE_DIFFER = ". We agree.", ". We differ"
REPLIES_TO_CERTAINTY = ("; memory can be wrong.", "; the Critic is not certain.", "; the Critic only guesses.")
STANCES = (
    "; the passage is likely fabricated.", "; the passage may be misleading.", "; the passage gives no proof.",
)  # fmt: skip

JUDGE_DEFENDER, JUDGE_CRITIC, JUDGE_PASSAGE = "The Defender says", "; the Critic says", "The passage says"
THEY_AGREE, THEY_DIFFER = ". They agree.", ". They differ"
JUDGE_ON_CERTAINTY = (" and the Critic is certain.", " and the Critic is not certain.", " and the Critic only guesses.")
FINAL_DECISION = "\nfinal decision:"
REASONABLE, UNREASONABLE = " REASONABLE", " UNREASONABLE"
CONFIDENCE_LINE = "confidence:"

# What the other methods' replies are made of.
SUB_QUESTION = "Sub-question: What does the passage say?\nSub-answer:"
FINAL_ANSWER = "\nFinal answer:"
NO_FAULT, FAULT_BY_MEMORY, FAULT_BY_PASSAGE = "- No fault found.", "- From memory:", "- The passage says:"
FROM_PASSAGE, FROM_MEMORY, AS_EXAMPLE = " The passage says so.", " I remember it.", " I take this to be right."
KEEP, CHANGE = " I keep my answer.", " I change my answer."
PASSAGE_WINS, MEMORY_WINS = " The passage is the better source.", " Memory is the better source."

# Questions with options and debates over preset answers.
ANSWER_LINE, ANSWER_SHOWN = "\nanswer:", "\nanswer∶"  # in a block the colon is another character
IT_MAY_BE, NO_ERROR, NOT_SO = " It may be so.", " I find no error.", " I remember otherwise."
THE_CLAIM_SAYS = " The claim says"
MOST_SAY, THEY_ALL_AGREE, NOT_ALL_AGREE = " Most agents say so.", "- They agree.", "- They do not agree."
PERSPECTIVES = (
    "- Recall the answer before reading the options.", "- Exclude the options that cannot be right.",
    "- Ask which option the question's words point to.",
)  # fmt: skip

# Documents that contradict each other.
ANSWERS_LINE, ANSWERS_SHOWN = "\nanswers:", "\nanswers∶"
MOST_DOCUMENTS_SAY, MY_DOCUMENT_SAYS = " Most documents say so.", " My document says so."
NOTHING_THERE = "Unknown. My document is beside the point."
JSON_ANSWER, JSON_NULL = '{"answer": "', '{"answer": null, "chain_of_thought": ["My document is beside the point."]}'
JSON_SAYS_SO = '", "chain_of_thought": ["My document says so."]}'
NO_CHALLENGE, CHALLENGES, CHALLENGED, NEXT, LAST = (
    '{"challenges": []}', '{"challenges": [', '{"document": ', ', "challenge": "It is', "]}",
)  # fmt: skip
CHALLENGE_ENDS, CHALLENGE_SHOWN = '."}', "It is"
DEFENDS, CONCEDES = (
    '{"state": "defend", "answer": "',
    '{"state": "concede", "answer": null, "chain_of_thought": ["The challenge is right."]}',
)
MOST_DOCUMENTS = 8

NO_DECISION = "This reply has no line with your decision. Reply again, with that line alone.\n"
MAX_ROUND = 10
_SPEAKERS = ("defender", "critic", "agent")
BLOCKS = [
    "<passage>\n", "\n</passage>\n", "<debate>", "\n</debate>\n", "<answer>\n", "\n</answer>\n", NO_DECISION,
    "Question:", "<critique>\n", "\n</critique>\n", "You are the Defender. Your answer:\n",
    "You are the Critic. Your answer:\n",
    *[f'\n<{role} round="{number}">\n' for role in _SPEAKERS for number in range(MAX_ROUND + 1)],
    "\n</defender>", "\n</critic>", "\n</agent>",
    "<options>\n", "\n</options>\n", "<stance>\n", "\n</stance>\n", "<reply>\n", "\n</reply>\n",
    *[f'<reply agent="{number}">\n' for number in (1, 2, 3)], "<feedback>\n", "\n</feedback>\n", "<instruction>\n",
    "\n</instruction>\n", "Your answer:\n", "The Defender's answer:\n", "Your own reply:\n", "The other agents:\n",
    "<document>\n", "\n</document>\n", "<thesis>\n", "\n</thesis>\n", "<challenge>\n", "\n</challenge>\n",
    "\n</rebuttal>\n", "\n</agent>\n", "No answer.\n- My document is beside the point.", "\n- My document says so.",
    "\n- The challenge is right.",
    *[f'<document id="{number}">\n' for number in range(1, MOST_DOCUMENTS + 1)],
    *[f'<{tag} document="{number}"' for tag in ("agent", "thesis", "challenge", "rebuttal")
      for number in range(1, MOST_DOCUMENTS + 1)],
    ' state="defend">\n', ' state="concede">\n',
]  # fmt: skip


def level(confidence: float) -> int:
    """Index into `CERTAINTY` for a confidence in [0, 1]."""
    return 0 if confidence >= CERTAIN_FROM else 1 if confidence >= BELIEVE_FROM else 2


def shown_lines() -> list[str]:
    """What stands in prompts alone: the roles' instructions and what blocks are made of. No reply is taught them."""
    return [*(system_text(name) for name in TEMPLATES), *chain(*REWORDED.values()), *BLOCKS]


def fixed_lines() -> list[str]:
    """Every text that is one added token: the roles' instructions, block tags, and the phrases above."""
    said = [
        *CERTAINTY, DEFENDER_OPENS, DEFENDER_LATER, THE_CRITIC_SAYS, THE_DEFENDER_SAYS, I_SAY, WE_AGREE, WE_DIFFER,
        *REPLIES_TO_CERTAINTY, *STANCES, JUDGE_DEFENDER, JUDGE_CRITIC, JUDGE_PASSAGE, THEY_AGREE, THEY_DIFFER,
        *JUDGE_ON_CERTAINTY, FINAL_DECISION, REASONABLE, UNREASONABLE, CONFIDENCE_LINE, SUB_QUESTION, FINAL_ANSWER,
        NO_FAULT, FAULT_BY_MEMORY, FAULT_BY_PASSAGE, FROM_PASSAGE, FROM_MEMORY, AS_EXAMPLE, KEEP, CHANGE,
        PASSAGE_WINS, MEMORY_WINS, " They agree.", ANSWER_LINE, ANSWER_SHOWN, IT_MAY_BE, NO_ERROR, NOT_SO,
        THE_CLAIM_SAYS, MOST_SAY, THEY_ALL_AGREE, NOT_ALL_AGREE, *PERSPECTIVES, ANSWERS_LINE, ANSWERS_SHOWN,
        MOST_DOCUMENTS_SAY, MY_DOCUMENT_SAYS, NOTHING_THERE, JSON_ANSWER, JSON_NULL, JSON_SAYS_SO, NO_CHALLENGE,
        CHALLENGES, CHALLENGED, NEXT, CHALLENGE_ENDS, DEFENDS, CONCEDES,
    ]  # fmt: skip
    return list(dict.fromkeys([*shown_lines(), *said]))
