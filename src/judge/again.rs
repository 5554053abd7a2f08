//! Judges changed copies of an accepted output: only the chunks that a change touches, through the same functions, folded again.

use super::exact;
use super::figures::{self, Input, Partial};
use super::limits::Limits;
use super::output::{Judged, limits};
use super::spec::{Class, Output};
use std::borrow::Cow;
use std::ops::Range;

/// An accepted output of class `Rounded`, with the sums of its chunks.
pub(super) struct Again<'a> {
    pub out: &'a Output<'a>,
    pub input: Input<'a>,
    pub partials: &'a [Partial],
    pub limits: Limits,
}

impl<'a> Again<'a> {
    /// `judged` is the device tier's result for this very `out`.
    pub fn new(out: &'a Output<'a>, judged: &'a Judged) -> Self {
        let (limits, _) = limits(out);
        Self { out, input: Input::new(out, &limits), partials: &judged.partials, limits }
    }

    /// Elements of a chunk.
    pub fn elements(&self, chunk: usize) -> Range<usize> {
        self.input.layout.chunk(chunk).elements(self.input.layout.row_len)
    }

    /// Bars that refuse the copy; `bytes` gives those of a range of its elements.
    pub fn refusing<'b>(
        &self,
        touched: Range<usize>,
        bytes: &dyn Fn(Range<usize>) -> Cow<'b, [u8]>,
    ) -> Vec<&'static str> {
        let mut partials = self.partials.to_vec();
        for chunk in touched {
            let bytes = bytes(self.elements(chunk));
            partials[chunk] = self.input.span(&self.input.layout.chunk(chunk), &bytes);
        }
        let total = self.input.fold(&partials);
        let (bars, _) = figures::bars(&total, &self.limits, self.out.spec, self.out.dtype, true);
        bars.iter().filter(|b| !b.pass).map(|b| b.bar).collect()
    }
}

/// Bars that refuse `candidate`, a copy of the accepted device bytes of `out` that differs from them among `touched` elements only.
#[must_use]
pub fn refusing(out: &Output, judged: &Judged, candidate: &[u8], touched: &Range<usize>) -> Vec<&'static str> {
    let size = out.dtype.size();
    if touched.is_empty() || candidate.len() != out.device.len() {
        return vec![];
    }
    match out.spec.class {
        Class::Rounded => {
            let again = Again::new(out, judged);
            let layout = again.input.layout;
            let chunks = layout.chunk_of(touched.start)..layout.chunk_of(touched.end - 1) + 1;
            again.refusing(chunks, &|at| Cow::Borrowed(&candidate[at.start * size..at.end * size]))
        }
        Class::Copy | Class::Integer => {
            let found = exact::bytes(candidate, out.reference, size, out.spec.row_len, &out.spec.skipped_rows);
            if found.differ.count > 0 { vec!["exact"] } else { vec![] }
        }
    }
}
