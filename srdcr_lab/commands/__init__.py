"""The commands of `srdcr`, one module a group; `srdcr_lab.cli` puts them together. Here: the exit codes of all."""

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3  # as README.md lists them
ERROR_OF_OURS = 70
