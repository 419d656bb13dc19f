"""Local weights: many requests decoded together, with the same answers as one at a time.

Read in this order:

- `chat`: a request enters `LocalChat.complete`; a worker thread gathers what waits, bounds its memory and delivers.
- `checkpoint`: finds a model folder, loads tokenizer, chat template and weights, chooses the type to compute in, and
  fingerprints the files.
- `decoder`: runs the prompts, what they begin with only once, then adds one token to every row per step.
- `cache`: key/value states: of earlier prompts, kept over time; and of the rows of a batch. Draws of one prompt share a
  row until their tokens differ.
- `sampling`: picks each draw's next token; its randomness depends on request, stream, draw and step alone.
"""
