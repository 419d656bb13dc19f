"""Write the logs in tests/fixtures/inspect: python tools/inspect_logs.py FOLDER.

It needs inspect-ai 0.3.285, which is not in the project's lock, and nothing of the project. A mock model answers, with
log-probabilities. `years.eval` asks two open questions in three epochs, `options.eval` two questions with options, of
which one reply states none.
"""

# mypy: ignore-errors

import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Logprob, Logprobs, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, includes
from inspect_ai.solver import generate, multiple_choice


def reply(*tokens: tuple[str, float]) -> ModelOutput:
    made = ModelOutput.from_content("mockllm/model", "".join(token for token, _ in tokens))
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    made.choices[0].logprobs = Logprobs(content=[Logprob(token=token, logprob=p) for token, p in tokens])
    return made


def write(name: str, samples: list[Sample], replies: list[ModelOutput], solver, scorer, epochs: int) -> None:
    task = Task(dataset=MemoryDataset(samples), solver=solver, scorer=scorer, name=name)
    model = get_model("mockllm/model", custom_outputs=iter(replies))
    for log in eval(task, model=model, epochs=epochs, log_dir=sys.argv[1], display="none", max_samples=1):
        Path(log.location.removeprefix("file://")).rename(Path(sys.argv[1], f"{name}.eval"))


mill = reply(("The year", -2.0), (" 18", -0.1), ("74", -0.3))
bridge = reply(("It was 1912.", -1.0))
later = reply(("1900", -0.2))
chat = [ChatMessageSystem(content="Be short."), ChatMessageUser(content="When was the bridge built?")]
questions = [
    Sample(id="mill", input="When was the mill built?", target="1874", metadata={"domain": "mills"}),
    Sample(id=2, input=chat, target=["1900", "MCM"]),
]
write("years", questions, [mill, bridge, mill, later, mill, later], generate(), includes(), 3)
options = ["Paris", "Rome", "Oslo"]
questions = [
    Sample(id="italy", input="Which is the capital of Italy?", choices=options, target="B"),
    Sample(id="norway", input="Which is the capital of Norway?", choices=options, target="C"),
]
replies = [reply(("ANSWER", -0.01), (": ", 0.0), ("B", -0.2)), reply(("I do not know", -0.5))]
write("options", questions, replies, multiple_choice(), choice(), 1)
