"""Local weights: many requests decoded together, with the same answers as one at a time.

Read in this order:

- `chat`: a request enters `LocalChat.complete`, which renders the chat template and waits for its completions.
- `worker`: one thread per model gathers the requests that wait, bounds their memory and delivers what is finished.
- `decoder`: runs the prompts, beginnings that several share only once, then adds one token to every row per step.
- `cache`: the rows of a batch and their key/value states; draws of one prompt share a row until their tokens differ.
- `sampling`: picks each draw's next token; its randomness depends on request, stream, draw and step alone.
- `checkpoint`: finds a model folder, loads tokenizer and weights, and fingerprints the files. No torch until it loads.
"""
