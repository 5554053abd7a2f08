//! The `assay` command.

fn main() -> std::process::ExitCode {
    if std::env::args().nth(1).as_deref() == Some("__sim-device") {
        std::process::exit(assay::board::sim::executor::main());
    }
    assay::cli::main()
}
