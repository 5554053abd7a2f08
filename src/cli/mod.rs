//! Subcommands: parsing and exit codes, no logic.
