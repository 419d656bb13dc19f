"""How much an API model thinks before it replies, and further fields of its requests: the settings of its identity.

Each level has room for thinking, added to the `max_tokens` of every request, so that the reply keeps its own. It is
said to servers in different words: the first are tried, and what is refused is learned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from srdcr_lab.records import BadInput, ModelIdentity
from srdcr_lab.records.files import parse_json
from srdcr_lab.records.vocabulary import visible

# Tokens for thinking at each level: the budgets that Gemini's OpenAI-compatible API gives these words
# (https://ai.google.dev/gemini-api/docs/openai#thinking). OpenAI publishes none; Anthropic's least budget is 1,024.
ROOM = {"none": 0, "low": 1024, "medium": 8192, "high": 24576}
_OURS = "model messages system temperature max_tokens max_completion_tokens n seed stop stop_sequences logprobs".split()
_OURS += ["top_logprobs", "stream", "stream_options", "reasoning_effort"]  # what a request says by itself
_REFUSED_VALUE = re.compile(r"unsupported_value|(?:supported|valid) values|should be|must be|one of", re.IGNORECASE)
Way = dict[str, Any]  # fields of a request that say how much to think; empty where nothing is to be said


def settings_of(reasoning: str | None = None, extra_body: Mapping[str, Any] | str | None = None) -> str:
    """`ModelIdentity.settings` of a level of `ROOM` and of further fields (or their JSON text); "" for neither.

    Raises `BadInput` for another level, for what is no JSON object, sets what a request sets itself, or holds a key.
    """
    settings: dict[str, Any] = {}
    if extra_body is not None:
        try:
            text = extra_body if isinstance(extra_body, str) else json.dumps(extra_body, allow_nan=False)
            fields = parse_json(text, distinct_keys=True)
        except (TypeError, ValueError):
            fields = None
        if not isinstance(fields, dict):
            raise BadInput(f'--extra-body is {visible(extra_body, 60)}; expected a JSON object such as {{"top_k": 20}}')
        if ours := [name for name in fields if name in _OURS]:
            raise BadInput(f"--extra-body sets {ours[0]}, which a study sets by itself (reasoning_effort: --reasoning)")
        settings |= {"extra_body": fields} if fields else {}
    if reasoning is not None:
        if reasoning not in tuple(ROOM):
            raise BadInput(f"--reasoning is {visible(reasoning, 60)!r}; expected {', '.join(ROOM)}, or ROLE=LEVEL")
        settings["reasoning"] = reasoning
    if not settings:
        return ""
    from srdcr_lab.models.http import redact  # needs an SDK's client, which a local model does without

    told = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    if redact(told) != told:
        raise BadInput("--extra-body holds what looks like a key; put it into the provider's environment variable")
    return told


def room(model: ModelIdentity) -> int:
    """Tokens that a model may think before each reply, beside the reply's own `max_tokens`."""
    return ROOM[json.loads(model.settings or "{}").get("reasoning", "none")]


def effort_or_template(level: str, own_server: bool) -> list[Way]:
    """OpenAI, Ollama and proxies take an effort. vLLM, SGLang and llama.cpp pass on what chat templates know:
    `enable_thinking` (Qwen, GLM, Gemma), `thinking` (DeepSeek, Granite). Most servers leave out what they do not know;
    where none of it is known, a model that is to think not at all never thinks.

    Source: https://docs.vllm.ai/en/stable/features/reasoning_outputs/,
    https://docs.sglang.io/docs/advanced_features/thinking_budget, https://docs.ollama.com/api/openai-compatibility.
    """
    effort: Way = {"reasoning_effort": level}
    template: Way = {"chat_template_kwargs": dict.fromkeys(("enable_thinking", "thinking"), level != "none")}
    ways = [effort | template, template, effort] if own_server else [effort]
    return ways + [{}] * (level == "none")


def adaptive_or_budget(level: str, own_server: bool) -> list[Way]:
    """From Claude 4.6 on the model decides how much to think, at an effort. Earlier ones are given a budget, which 4.7
    and later refuse.

    Source: https://platform.claude.com/docs/en/build-with-claude/thinking, and the SDK's `types.ThinkingTypes`.
    """
    if level == "none":
        return [{"thinking": {"type": "disabled"}}]
    adaptive = {"type": "adaptive", "display": "summarized"}
    budget = {"type": "enabled", "budget_tokens": ROOM[level]}
    return [{"thinking": adaptive, "output_config": {"effort": level}}, {"thinking": budget}]


class Settings:
    """What every request to one server says of a model's settings; `ways` are the words for a level of thinking."""

    def __init__(self, model: ModelIdentity, ways: Callable[[str], list[Way]]) -> None:
        told: dict[str, Any] = json.loads(model.settings or "{}")
        self._level, self._extra = told.get("reasoning", ""), told.get("extra_body", {})
        self._ways = ways(self._level) if self._level else [{}]
        in_ways = dict.fromkeys(name for way in self._ways for name in way)
        self.named = (*in_ways, *self._extra)  # fields that a request may have
        if twice := [name for name in self._extra if name in in_ways]:
            raise BadInput(f"--extra-body sets {twice[0]}, and so does --reasoning; leave one of the two out")

    def fields(self) -> Way:
        """Of the next request."""
        return {**self._ways[0], **self._extra}

    def refused(self, field: str, body: Mapping[str, Any], complaint: str) -> str:
        """The server refuses a field of this request: a sentence on how the level is said from now on.

        Raises `BadInput` where there are no other words. Where only the value is refused, nothing is no word for none:
        the model would think by itself.
        """
        ways = [way for way in self._ways if way.get(field) != body[field]]  # as it may have been refused meanwhile
        if _REFUSED_VALUE.search(complaint):
            ways = [way for way in ways if way]
        if field in self._extra or not ways:
            option = "--extra-body" if field in self._extra else f"--reasoning {self._level}"
            raise BadInput(f"refuses {field} ({complaint}); change {option}, or leave it out")
        self._ways = ways
        return f"refuses {field}: --reasoning {self._level} is said by {', '.join(ways[0]) or 'nothing'}."
