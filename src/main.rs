//! The `assay` command.

fn main() -> std::process::ExitCode {
    assay::cli::main()
}
