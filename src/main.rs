//! The `assay` command.

fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("__worker") => assay::run::worker::main().into(),
        _ => std::process::ExitCode::SUCCESS,
    }
}
