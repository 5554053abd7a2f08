//! The `assay` command.

fn main() {
    if std::env::args().nth(1).as_deref() == Some("__sim-device") {
        std::process::exit(assay::board::sim::executor::main());
    }
}
