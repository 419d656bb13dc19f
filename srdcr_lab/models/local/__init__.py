"""Local weights: many requests decoded together, with the same answers as one at a time.

Read in this order:

- `chat`: a request enters `LocalChat.complete`; a worker thread gathers what waits, bounds its memory and delivers.
- `checkpoint`: finds a model folder, loads tokenizer, chat template and weights, and fingerprints the files.
- `decoder`: runs the prompts, beginnings that several share only once, then adds one token to every row per step.
- `cache`: the rows of a batch and their key/value states; draws of one prompt share a row until their tokens differ.
- `sampling`: picks each draw's next token; its randomness depends on request, stream, draw and step alone.
"""
