"""A model server of the project's own on loopback: OpenAI and Anthropic protocols, scripted latency and faults.

`replies` says what it answers, `protocols` how that is worded, `behaviour` what can go wrong, `server` serves it (in
a thread for tests, as a process for kill tests and benchmarks: ``python -m tests.loopback.server``).
"""
