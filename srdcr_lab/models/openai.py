"""OpenAI and every server that speaks its chat-completions protocol, through the official SDK.

What a model refuses is learned from its first refusal and then left out. Refused log-probabilities and a refused
temperature withdraw a capability. They go together: the provider's models take neither while they reason
(https://developers.openai.com/api/docs/guides/latest-model#gpt-54-parameter-compatibility).
"""

import codecs
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import openai

from srdcr_lab.models.api import CONSEQUENCES, PLACEHOLDER_KEY, ApiChat, ReplyError, Way, count
from srdcr_lab.models.base import as_dicts, first_stop, fold_system, log_probability, text_of, unless_without_text
from srdcr_lab.models.batches import Batch, Batches, BatchStatus
from srdcr_lab.records import Completion, FinishReason, Request
from srdcr_lab.records.types import Scored, cut

_MOST_STOPS = 4
_FINISH = dict.fromkeys(("length", "max_tokens", "model_length"), FinishReason.LENGTH)
_FINISH["content_filter"] = FinishReason.CONTENT_FILTER
_BROKEN_OFF = {"error", "abort", "network_error", "insufficient_system_resource"}  # what OpenRouter and others say
_REFUSED_STATUS = (400, 403, 422)
_REFUSED_CODES = ("unsupported_parameter", "unsupported_value", "unknown_parameter")
_REFUSED_WORDS = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|not available"
    r"|not enabled|instead of|only the default|only \S+ (?:is|are) allowed|must be (?:1\b|one of)|input should be",
    re.IGNORECASE,
)
_ROLES = re.compile(r"roles must alternate|only user\b.*\broles? (?:is|are)", re.IGNORECASE)  # of chat templates
_BOUNDS = r"(?:between|at most|less than|maximum|exceed|too (?:large|many))"
_BOUND_OF_N = re.compile(  # as llama.cpp has, which gives as many choices as it has slots
    r"n_cmpl|only one completion choice|multiple candidates|candidate_?count|"
    rf"(?:['\"`]n['\"`]|(?<![\w.])n (?:must|is|should)\b).*{_BOUNDS}|{_BOUNDS}.*['\"`]n['\"`]",
    re.IGNORECASE | re.DOTALL,
)


class OpenAIBatches(Batches):
    """Lines of a file, which are uploaded first. A batch is known by its file.

    Limits, states and terms: https://developers.openai.com/api/docs/guides/batch and
    https://help.openai.com/en/articles/9197833-batch-api-faq. The uploaded file is kept for 30 days.
    """

    most_lines = 50_000
    _OVER = ("failed", "completed", "expired", "cancelled")  # not: validating, in_progress, finalizing, cancelling

    async def upload(self, batch: Batch, lines: Mapping[str, dict[str, Any]]) -> None:
        asked = {"method": "POST", "url": "/v1/chat/completions"}
        each = (json.dumps({"custom_id": name, **asked, "body": body}) + "\n" for name, body in lines.items())
        files = self.model.client.files
        batch.file = (await files.create(file=(f"{batch.name}.jsonl", "".join(each).encode()), purpose="batch")).id

    async def make(self, batch: Batch, lines: Mapping[str, dict[str, Any]]) -> str:
        once = self.model.client.with_options(max_retries=0)
        terms = {"endpoint": "/v1/chat/completions", "completion_window": "24h", "metadata": {"srdcr_lab": batch.name}}
        return str((await once.batches.create(input_file_id=batch.file, **terms)).id)

    async def made_since(self, batch: Batch) -> AsyncIterator[str]:
        async for each in self.model.client.batches.list(limit=100):
            if each.input_file_id == batch.file and each.id not in batch.not_ours:
                yield each.id

    async def status(self, remote: str) -> BatchStatus:
        seen = await self.model.client.batches.retrieve(remote)
        counts, errors = seen.request_counts, (seen.errors and seen.errors.data) or ()
        progress = f"{seen.status}, {counts.completed} of {counts.total} answered" if counts else str(seen.status)
        fault = "; ".join(f"{error.code}: {error.message}" for error in errors[:3]) if seen.status == "failed" else ""
        places = tuple(filter(None, (seen.output_file_id, seen.error_file_id)))
        return BatchStatus(seen.status in self._OVER, progress, fault, places)

    def results(self, place: str) -> Any:
        return self.model.client.files.with_streaming_response.content(place)

    def outcome(self, line: Any) -> tuple[str, int, Any]:
        if response := line.get("response"):
            return line["custom_id"], int(response["status_code"]), response["body"]
        return line["custom_id"], 0, line["error"]


def effort_or_template(level: str, own_server: bool) -> list[Way]:
    """OpenAI, Ollama and proxies take an effort. vLLM, SGLang and llama.cpp pass on what chat templates know:
    `enable_thinking` (Qwen, GLM, Gemma), `thinking` (DeepSeek, Granite). Most servers ignore what they do not know. A
    server that refuses every one of these fields is asked without them where the level is "none".

    Source: https://docs.vllm.ai/en/stable/features/reasoning_outputs/,
    https://docs.sglang.io/docs/advanced_features/thinking_budget, https://docs.ollama.com/api/openai-compatibility.
    """
    effort: Way = {"reasoning_effort": level}
    template: Way = {"chat_template_kwargs": dict.fromkeys(("enable_thinking", "thinking"), level != "none")}
    return [*([effort | template, template, effort] if own_server else [effort]), *([{}] if level == "none" else [])]


class OpenAIChat(ApiChat):
    """A `ChatModel` over `/chat/completions`. The base URL of a compatible server usually ends in ``/v1``."""

    sdk: ClassVar = openai
    provider = "openai"
    path = "/chat/completions"
    models_path = "/models"
    batches = OpenAIBatches
    ways = staticmethod(effort_or_template)
    instead: ClassVar = {"max_tokens": "max_completion_tokens", "n": "1"}
    draws_per_request = 128  # the provider's bound on n
    _has_scored = False  # some reply came with log-probabilities

    def _client(self, own_server: bool, options: dict[str, Any]) -> openai.AsyncOpenAI | None:
        key = os.environ.get(self.key_variable)
        return openai.AsyncOpenAI(api_key=key or PLACEHOLDER_KEY, **options) if key or own_server else None

    def body(self, request: Request, draws: Sequence[int]) -> dict[str, Any]:
        dropped = self._sent["dropped"]
        body: dict[str, Any] = {
            "model": self.identity.name,
            "messages": as_dicts(fold_system(request.messages) if "system" in dropped else request.messages),
            self._sent["adapted"].get("max_tokens", "max_tokens"): request.max_tokens + self._room,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        scored = request.wants_logprobs and "logprobs" not in dropped
        wanted = {
            "seed": request.draw_seed(draws[0]),
            "stop": list(request.stop[:_MOST_STOPS]) or None,
            "logprobs": scored or None,
            "top_logprobs": 2 if scored and request.temperature == 0 else None,
            "n": len(draws) if len(draws) > 1 else None,
        }
        return body | {name: value for name, value in wanted.items() if value is not None and name not in dropped}

    def _refused(self, error: Any, body: dict[str, Any], draws: Sequence[int]) -> list[Completion] | None:
        if error.status_code in _REFUSED_STATUS and error.code == "content_filter":  # of the prompt: no failure
            return [Completion("", draw, finish_reason=FinishReason.CONTENT_FILTER) for draw in draws]
        return super()._refused(error, body, draws)

    def _complained_of(self, error: Any, body: dict[str, Any]) -> str | None:
        complaint = str(error.body or error.message)
        if "n" in body and _BOUND_OF_N.search(complaint) and error.status_code in (*_REFUSED_STATUS, 500):
            return "n"  # 500: llama.cpp, before its slots gave choices
        is_refusal = error.code in _REFUSED_CODES or _REFUSED_WORDS.search(complaint)
        no_system = _ROLES.search(complaint) or (is_refusal and re.search("system (?:role|message)", complaint, re.I))
        if no_system and error.status_code in (*_REFUSED_STATUS, 500) and body["messages"][0]["role"] == "system":
            return "system"  # 500: what a chat template raises
        if error.status_code not in _REFUSED_STATUS or not is_refusal:
            return None
        sent, said = [*filter(body.__contains__, (*CONSEQUENCES, *self._settings.named))], f"{error.param} {complaint}"
        named = [name for name in sent if re.search(rf"(?i)(?<![\w.]){re.escape(name)}(?!\w)", said)]
        return error.param if error.param in named else next(iter(named), None)

    def leave_out(self, parameter: str) -> None:
        super().leave_out(parameter)
        if parameter == "temperature":
            self.leave_out("logprobs")
        elif parameter == "n":
            self.draws_per_request = 1

    def read(self, reply: Any, request: Request, draws: Sequence[int]) -> list[Completion]:
        if fault := reply.get("error"):
            raise ReplyError(f"an error in place of one: {fault}")
        choices = reply["choices"]
        if not isinstance(choices, list) or not choices:
            raise ReplyError("a reply without choices")
        completions = [_completion(choice, request, draw) for choice, draw in zip(choices, draws, strict=False)]
        usage = reply.get("usage")
        prompt = count(usage, "prompt_tokens")
        own = [0 if c.thinking else len(c.tokens or ()) for c in completions]
        beyond = count(usage, "total_tokens") - prompt if prompt else 0  # xAI and Gemini count thinking there alone
        spent = tokens_by_choice(max(count(usage, "completion_tokens"), beyond), own)
        thought = _thinking_tokens(usage, completions, spent)
        if not prompt:
            tokens = "tokens are counted as 0 or from the log-probabilities"
            costs = "a budget counts the most that each request can cost"
            self._note(f"The server reports no token usage; {tokens}, and {costs}.")
        wanted = request.wants_logprobs and "logprobs" not in self._sent["dropped"]
        self._has_scored |= any(c.logprobs is not None for c in completions)
        if wanted and any(c.text and c.logprobs is None for c in completions):
            self._note("Some replies came without usable log-probabilities although they were asked for.")
            if not self._has_scored and not any(map(_entries, choices)):
                self.capabilities = replace(self.capabilities, logprobs=False)
        completions[0] = replace(completions[0], prompt_tokens=prompt)
        return [
            unless_without_text(replace(c, completion_tokens=n, thinking_tokens=of_thinking), _instead(choice))
            for c, n, of_thinking, choice in zip(completions, spent, thought, choices, strict=False)
        ]


def _instead(choice: Any) -> str:
    """What a choice holds beside text and thinking, by the protocol's name; empty for nothing."""
    message = choice["message"]
    parts = message.get("content")
    types = [str(part.get("type"))[:40] for part in parts] if isinstance(parts, list) else []
    fields = [name for name in ("tool_calls", "function_call", "audio", "images") if message.get(name)]
    return ", ".join([*fields, *(name for name in types if name != "text")])


def _entries(choice: Any) -> Any:
    """The log-probabilities of a choice, whatever they are."""
    scored = choice.get("logprobs")
    return scored.get("content") if isinstance(scored, dict) else None


def _completion(choice: Any, request: Request, draw: int) -> Completion:
    """One choice without its token counts. Raises ReplyError, KeyError … on anything else."""
    if fault := choice.get("error") or {choice.get("finish_reason"), choice.get("native_finish_reason")} & _BROKEN_OFF:
        raise ReplyError(f"broken off: {fault}")
    message = choice["message"]
    content, thought = message.get("content"), ""
    if isinstance(content, list):  # parts, as some servers send them; of Mistral's thinking, parts again
        inner = [each for part in content if part.get("type") == "thinking" for each in part["thinking"]]
        content, thought = text_of(content), text_of(inner)
    if not isinstance(content, str | None):
        raise ReplyError("a message whose content is no text")
    text = content or ""  # null where a filter stopped it
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return Completion(text or refusal, draw, finish_reason=FinishReason.REFUSAL)
    kept = text[: first_stop(text, request.stop)]
    finish = FinishReason.STOP if kept != text else _FINISH.get(choice.get("finish_reason"), FinishReason.STOP)
    thinking = message.get("reasoning_content") or message.get("reasoning") or thought  # DeepSeek's name, OpenRouter's
    thinking = thinking if isinstance(thinking, str) else ""
    entries = _entries(choice) if request.wants_logprobs else None
    behind_thinking = text if thinking else None
    tokens, logprobs = aligned(kept, entries, behind_thinking)
    margins = None if tokens is None else aligned(kept, entries, behind_thinking, _margin)[1]
    return Completion(kept, draw, tokens, logprobs, finish, thinking=thinking, margins=margins)


def _logprob(entry: Any) -> float:
    return log_probability(entry.get("logprob"))


def _margin(entry: Any) -> float:
    """How far a token's log-probability lies above that of the likeliest other token."""
    others = (_logprob(other) for other in entry["top_logprobs"] if other["token"] != entry["token"])
    return round(max(_logprob(entry) - max(others), 0.0), 4)


def _thinking_tokens(usage: Any, completions: Sequence[Completion], spent: Sequence[int]) -> list[int]:
    """Of the completion tokens of each choice those of its thinking, as far as the server counts them; else what was
    spent beyond a reply whose tokens are known."""
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    if total := count(details, "reasoning_tokens") or count(usage, "reasoning_tokens"):  # SGLang: without details
        return [*map(min, tokens_by_choice(total, [0] * len(spent)), spent)]
    each = zip(completions, spent, strict=True)
    return [max(n - len(c.tokens), 0) if c.thinking and c.tokens else 0 for c, n in each]


def tokens_by_choice(total: int, counts: Sequence[int]) -> list[int]:
    """The completion tokens of a request over its choices: by their own counts where they are known, else evenly."""
    if not all(counts) or sum(counts) > total > 0:
        counts = [total // len(counts)] * len(counts)
    return [counts[0] + max(total - sum(counts), 0), *counts[1:]]


def aligned(
    text: str, content: Any, behind_thinking: str | None = None, value: Callable[[Any], float] = _logprob
) -> Scored | tuple[None, None]:
    """Tokens whose concatenation is `text`, with natural log-probabilities (≤ 0), or another `value` of each; else, or
    for no text, (None, None).

    `content` is the protocol's ``logprobs.content``, a list of ``{"token", "logprob", "bytes"}``, or anything else.
    Where it may begin with tokens of thinking, `behind_thinking` is the whole reply, which begins with `text`.
    """
    is_whole = isinstance(content, list) and all(type(e) is dict and type(e.get("token")) is str for e in content)
    if not text or not is_whole:
        return None, None
    try:
        values = [value(entry) for entry in content]
    except (ValueError, TypeError, LookupError):
        return None, None
    for pieces in (_from_bytes(content), [entry["token"] for entry in content]):
        if (start := _start(text, pieces, behind_thinking)) is not None:
            return cut(pieces, values, start, start + len(text))
    return None, None


def _from_bytes(content: list[dict[str, Any]]) -> list[str]:
    """Each token's text from its bytes; a character of several tokens belongs to the last, the others are empty."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pieces = []
    for entry in content:
        spelled = entry.get("bytes")
        try:
            part = bytes(spelled) if isinstance(spelled, list) else entry["token"].encode("utf-8", "replace")
        except (ValueError, TypeError):
            return []
        pieces.append(decoder.decode(part))
    return pieces


def _start(text: str, pieces: list[str], behind_thinking: str | None) -> int | None:
    """Where a reply begins in the joined tokens: at its first occurrence, with white space alone before it; after
    thinking at its last one, with at most an end marker behind it."""
    spelled = "".join(pieces)
    if behind_thinking is None:
        start = spelled.find(text)
        return None if start < 0 or spelled[:start].strip() else start
    start = spelled.rfind(behind_thinking)
    rest = spelled[start + len(behind_thinking) :].strip()
    return None if start < 0 or rest not in ("", pieces[-1].strip()) else start
