"""How an answer, a refusal and an error are worded: the chat protocols of OpenAI and of Anthropic."""

import math
import re
from typing import Any

from tests.loopback.behaviour import Behaviour
from tests.loopback.replies import Messages, Reply, belief, unit

_TOKEN = re.compile(r"\s*\d{1,3}|\s*[^\W\d]+|\s*[^\w\s]|\s*_|\s+")
_OPENAI_PARAMETERS = (
    "temperature", "logprobs", "top_logprobs", "max_tokens", "seed", "stop", "n", "reasoning_effort",
    "chat_template_kwargs",
)  # fmt: skip


def openai_error(body: dict[str, Any], behaviour: Behaviour) -> tuple[int, dict[str, Any]] | None:
    """A 400 or 404 in OpenAI's words, or None for a request that is in order."""
    if behaviour.models and body["model"] not in behaviour.models:
        message = f"The model `{body['model']}` does not exist or you do not have access to it."
        return 404, _openai(message, "model_not_found", None)
    if "system" in behaviour.refuses and body["messages"][0]["role"] == "system":  # as vLLM says it of Gemma's template
        return 400, _openai("System role not supported", "BadRequestError", None)
    for name in _OPENAI_PARAMETERS:
        if name not in behaviour.refuses or name not in body:
            continue
        if name == "logprobs":  # as the provider words it: 403, without param or code
            return 403, _openai("You are not allowed to request logprobs from this model", None, None)
        if name == "temperature":
            message = f"Unsupported value: 'temperature' does not support {body[name]} with this model. "
            message += "Only the default (1) value is supported."
            return 400, _openai(message, "unsupported_value", name)
        hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
        return 400, _openai(
            f"Unsupported parameter: '{name}' is not supported with this model.{hint}", "unsupported_parameter", name
        )
    if behaviour.filters_prompts:
        return 400, _openai(
            "The response was filtered due to the prompt triggering the content policy.", "content_filter", "prompt"
        )
    return None


def anthropic_error(body: dict[str, Any], behaviour: Behaviour, version: str) -> tuple[int, dict[str, Any]] | None:
    """A 400 or 404 in Anthropic's words. API version 2026-10-21 takes no temperature from anybody."""
    if behaviour.models and body["model"] not in behaviour.models:
        return 404, _anthropic("not_found_error", f"model: {body['model']}")
    if "temperature" in body and version >= "2026-10-21":
        return 400, _anthropic("invalid_request_error", "temperature: Extra inputs are not permitted")
    if "temperature" in body and "temperature" in behaviour.refuses:
        return 400, _anthropic("invalid_request_error", "`temperature` is deprecated for this model.")
    if (kind := body.get("thinking", {}).get("type")) in behaviour.refuses:
        return 400, _anthropic("invalid_request_error", f"thinking: {kind} is not supported on this model")
    for name in ("seed", "n", "logprobs", "stop"):
        if name in body:
            return 400, _anthropic("invalid_request_error", f"{name}: Extra inputs are not permitted")
    if any(not mark.strip() for mark in body.get("stop_sequences", ())):
        return 400, _anthropic(
            "invalid_request_error", "stop_sequences: each stop sequence must contain non-whitespace"
        )
    if any(message["role"] == "system" for message in body["messages"]):
        return 400, _anthropic("invalid_request_error", 'messages: Unexpected role "system".')
    return None


def openai_reply(body: dict[str, Any], behaviour: Behaviour, say: Reply, serial: int) -> dict[str, Any]:
    """A chat completion; without a seed the draws differ by `serial`, how often this request came before."""
    asked = body.get("n") or 1
    given = min(asked, behaviour.choices or asked)
    seed = body.get("seed", serial * 1000)
    bound = body.get("max_completion_tokens", body.get("max_tokens"))
    choices = [
        _choice(i, body, behaviour, say(body["messages"], body.get("temperature", 1.0), seed + i), bound)
        for i in range(given)
    ]
    completion_tokens = sum(len(tokens(choice["message"]["content"] or "")) for choice in choices)
    prompt_tokens = sum(len(tokens(message["content"])) for message in body["messages"])
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    reply = {
        "id": f"chatcmpl-{serial}", "object": "chat.completion", "created": 0,
        "model": f"{body['model']}-{behaviour.version}",
        "choices": choices,
    }  # fmt: skip
    return reply | ({"usage": usage} if behaviour.usage else {})


def anthropic_reply(body: dict[str, Any], behaviour: Behaviour, say: Reply, serial: int) -> dict[str, Any]:
    """A message. There is no seed: the draws differ by `serial`."""
    messages = [{"role": "system", "content": body.get("system", "")}, *body["messages"]]
    text, reason = _ended(
        say(messages, body.get("temperature", 1.0), serial),
        body.get("stop_sequences", ()),
        behaviour,
        body["max_tokens"],
    )
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(reason, reason)
    content = [{"type": "text", "text": text}] if text else []
    usage = {
        "input_tokens": sum(len(tokens(message["content"])) for message in messages),
        "output_tokens": len(tokens(text)),
    }
    return {
        "id": f"msg_{serial}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def tokens(text: str) -> list[str]:
    """The text in pieces that spell it: words with the white space before them, digits three at a time."""
    return _TOKEN.findall(text)


def _choice(index: int, body: dict[str, Any], behaviour: Behaviour, said: str, bound: int | None) -> dict[str, Any]:
    text, finish = _ended(said, body.get("stop") or (), behaviour, bound)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if behaviour.refusal:
        message |= {"content": None, "refusal": behaviour.refusal}
    if finish == "content_filter":
        message["content"] = None
    choice = {"index": index, "finish_reason": finish, "message": message}
    if behaviour.logprobs != "missing":
        asked = body.get("logprobs") and not behaviour.refusal and message["content"]
        entries = _logprobs(text, body["messages"], behaviour.logprobs) if asked else None
        if entries and body.get("top_logprobs"):  # the likeliest other token has all that is left
            for entry in entries:
                sure = entry["logprob"]
                left = math.log(max(1 - math.exp(sure), 1e-9)) if isinstance(sure, float) else -1.0
                pairs = (entry["token"], sure), ("…", left)
                entry["top_logprobs"] = [{"token": token, "logprob": value} for token, value in pairs]
        choice["logprobs"] = {"content": entries} if asked else None
        if behaviour.logprobs == "null":
            choice["logprobs"] = None
    return choice


def _ended(text: str, stop: Any, behaviour: Behaviour, max_tokens: int | None) -> tuple[str, str]:
    for mark in stop:
        text = text.split(mark)[0]
    pieces = tokens(text)
    kept = "".join(pieces[: min(max_tokens or len(pieces), len(pieces))])[: behaviour.max_characters]
    if kept != text:
        return kept, "length"
    return text, behaviour.finish


def _logprobs(text: str, messages: Messages, kind: str) -> list[Any]:
    """One entry a token; the first carries the model's belief in its answer, the others are nearly certain."""
    pieces: list[tuple[str, list[int]]] = [(piece, list(piece.encode())) for piece in tokens(text)]
    if kind == "bytes":  # characters beyond ASCII come as one token a byte, as byte-level vocabularies have them
        pieces = [piece for character in text for piece in _byte_tokens(character)]
    sure = math.log(belief(messages))
    entries: list[Any] = [
        {"token": piece, "bytes": spelled, "logprob": sure if i == 0 else -0.01 * unit(piece, i), "top_logprobs": []}
        for i, (piece, spelled) in enumerate(pieces)
    ]
    if kind == "short":
        return entries[:-1]
    if kind == "end_marker":
        marker = "<|im_end|>"
        return [*entries, {"token": marker, "bytes": list(marker.encode()), "logprob": -0.5, "top_logprobs": []}]
    if kind == "wrong_types":
        return [entries[0] | {"logprob": None}, *entries[1:]]
    return entries


def _byte_tokens(character: str) -> list[tuple[str, list[int]]]:
    spelled = character.encode()
    return [(character, [*spelled])] if len(spelled) == 1 else [(rf"\x{byte:02x}", [byte]) for byte in spelled]


def _openai(message: str, code: str | None, parameter: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": parameter, "code": code}}


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
