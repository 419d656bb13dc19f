"""How model servers differ: a small model with a distribution of its own, and what a server may do to it.

The model is a table of logits that is a hash of the prompt and the words so far. It is sampled as a real one is:
softmax of logits / T, and a seed. So log-probabilities, draws and greedy replies agree with each other, and what a
temperament changes is the only thing that a client can find out.
"""

import json
import math
import random
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.loopback.replies import unit

_WORDS = (" a", " the", " boat", " gull", " wind", " rain", " wall", " came", " went", " west", " north", " day")
_BEGINNING = 10  # words of a prompt, by which the cache knows it


@dataclass
class Temperament:
    """What this server does that another does not. `template`: what becomes of a system message.

    `choices`: n is honoured, ignored without a word, or gives copies of one draw. `scores`: log-probabilities are the
    model's, the sampler's, or the sampler's but for T = 0. `sampled` False: always greedy. `wanders`: greedy replies
    change from one request to the next. `cached`: logits move a little once the first words of a prompt were seen.
    """

    choices: Literal["n", "ignored", "copies"] = "n"
    seeded: bool = True
    sampled: bool = True
    scores: Literal["before", "after", "after but greedy"] = "before"
    scored: Literal["all", "some", "none", "short"] = "all"
    wanders: bool = False
    cached: float = 0.0
    thinking: Literal["", "leaks", "eats", "hides"] = ""
    template: Literal["takes", "drops", "refuses"] = "takes"
    sharpness: float = 3.0  # of the model: the range of its logits
    _served: int = 0
    _seen: set[str] = field(default_factory=set)

    def refusal(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """As llama.cpp and vLLM word it where the chat template raises."""
        if self.template == "refuses" and body["messages"][0]["role"] == "system":
            return 400, {"error": {"message": "System role not supported", "type": "BadRequestError", "code": 400}}
        return None

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        self._served += 1
        messages = [m for m in body["messages"] if m["role"] != "system" or self.template == "takes"]
        prompt = json.dumps(messages)
        shift = self.cached if self._begins_as_another(messages[-1]["content"]) else 0.0
        temperature = body.get("temperature", 1.0) if self.sampled else 0.0
        most = body.get("max_completion_tokens", body.get("max_tokens", 16))
        given = body.get("n", 1) if self.choices != "ignored" else 1
        seed = body.get("seed") if self.seeded else None
        choices = []
        for place in range(given):
            address = f"{self._served if seed is None else seed}-{0 if self.choices == 'copies' else place}"
            tokens, scores = self._say(prompt, shift, temperature, random.Random(address), most)
            choices.append(self._choice(place, tokens, scores if body.get("logprobs") else None, most))
        said = sum(len(choice["message"]["content"].split()) for choice in choices)
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": said + (20 if self.thinking else 0)}
        return {"model": body["model"], "choices": choices, "usage": usage}

    def _begins_as_another(self, text: str) -> bool:
        beginning = " ".join(text.split()[:_BEGINNING])
        seen = beginning in self._seen
        self._seen.add(beginning)
        return seen

    def _say(
        self, prompt: str, shift: float, temperature: float, chance: random.Random, most: int
    ) -> tuple[list[str], list[float]]:
        tokens: list[str] = []
        scores: list[float] = []
        astray = self._served if self.wanders else 0
        for _ in range(min(most, 12)):
            logits = [
                self.sharpness * unit(prompt, tokens, word)
                + shift * unit(word, "cache")
                + unit(word, astray) * bool(astray)
                for word in _WORDS
            ]
            own, sampler = _logs(logits, 1.0), _logs(logits, temperature)
            best = max(range(len(_WORDS)), key=logits.__getitem__)
            pick = chance.choices(range(len(_WORDS)), [math.exp(log) for log in sampler])[0] if temperature else best
            shown = own if self.scores == "before" or (self.scores != "after" and not temperature) else sampler
            tokens.append(_WORDS[pick] if tokens else _WORDS[pick].strip().title())
            scores.append(shown[pick])
        return tokens, scores

    def _choice(self, place: int, tokens: list[str], scores: list[float] | None, most: int) -> dict[str, Any]:
        text, finish = "".join(tokens), "length"
        if self.thinking == "leaks":
            text, scores = f"<think>Let me see.</think>{text}", None
        if self.thinking == "eats":
            text, scores = "" if most < 100 else text, None
        choice: dict[str, Any] = {
            "index": place,
            "finish_reason": finish,
            "message": {"role": "assistant", "content": text},
        }
        if scores is None or self.scored == "none" or (self.scored == "some" and self._served % 3 == 0):
            return choice
        entries = [{"token": token, "logprob": score} for token, score in zip(tokens, scores, strict=True)]
        return choice | {"logprobs": {"content": entries[: -1 if self.scored == "short" else None]}}


def _logs(logits: list[float], temperature: float) -> list[float]:
    """Log-softmax of logits / T; at T = 0 the likeliest has all."""
    if not temperature:
        return [0.0 if logit == max(logits) else -9999.0 for logit in logits]
    total = math.log(sum(math.exp(logit / temperature) for logit in logits))
    return [logit / temperature - total for logit in logits]
