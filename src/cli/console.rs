//! Standard output that survives a closed pipe. Refuses to panic, and to lose a write error silently.

use std::io::{self, BufWriter, IsTerminal, Write};

/// Standard output: buffered; after a closed pipe it swallows, after any other error it remembers.
pub(super) struct Console {
    out: BufWriter<io::Stdout>,
    error: Option<io::Error>,
    terminal: bool,
}

impl Console {
    /// Of this process.
    pub(super) fn stdout() -> Self {
        Self { out: BufWriter::new(io::stdout()), error: None, terminal: io::stdout().is_terminal() }
    }

    /// True when people watch it.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Prints text as it is.
    pub(super) fn text(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = self.out.write_all(text.as_bytes()).err();
        }
    }

    /// Prints a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.text(line.as_ref());
        self.text("\n");
    }

    /// Prints a value as indented JSON.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) {
        let text = serde_json::to_string_pretty(value).expect("our documents have string keys only");
        self.line(text);
    }

    /// Passes on what is buffered.
    pub(super) fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
    }

    /// True when nobody reads any more: a long print may stop.
    pub(super) fn is_closed(&self) -> bool {
        self.error.is_some()
    }

    /// Flushes; the exit code becomes 3 when a success could not be printed. A reader that went away is no error.
    pub(super) fn finish(mut self, code: u8) -> u8 {
        self.flush();
        match self.error {
            Some(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                crate::complain(format_args!("assay: cannot write standard output: {e}"));
                if code == 0 { 3 } else { code }
            }
            _ => code,
        }
    }
}
