"""The commands of `srdcr`, one module per group; `srdcr_lab.cli` puts them together."""
