//! Which byte of a case's region is what: guards, inputs, what the op writes, what it must leave alone. Refuses to compare.

use crate::fixture::place::Region;
use crate::judge::runtime::{ByteMap, Run};
use crate::judge::spec::Determinism;
use crate::ops::{Arg, Plan, Role};
use std::ops::Range;

/// Runs of the argument's buffer (bytes from its start) that the op writes: an output's elements without its skipped rows, all of a
/// scratch buffer, nothing of an input.
pub fn written(arg: &Arg) -> Vec<Run> {
    match arg.role {
        Role::In => vec![],
        Role::Temp => vec![Run { bytes: 0..arg.view.bytes(), element: 0 }],
        Role::Out | Role::InOut => {
            let mut runs = Runs { size: arg.view.dtype.size(), runs: vec![] };
            let (skipped, row) = arg.output.as_ref().map_or((&[][..], 1), |o| (&o.skipped_rows[..], o.row_len.max(1)));
            let mut logical = 0;
            arg.view.for_runs(|at, len| {
                runs.kept(at, logical, len, row, skipped);
                logical += len;
            });
            runs.runs
        }
    }
}

struct Runs {
    size: usize,
    runs: Vec<Run>,
}

impl Runs {
    /// Adds a run of `len` elements, which stand at `at` in the buffer and begin with `logical`, without its skipped rows.
    fn kept(&mut self, at: usize, logical: usize, len: usize, row: usize, skipped: &[bool]) {
        if skipped.is_empty() {
            return self.add(at, logical, len);
        }
        let mut done = 0;
        while done < len {
            let here = logical + done;
            let part = (row - here % row).min(len - done);
            if !skipped.get(here / row).copied().unwrap_or(false) {
                self.add(at + done, here, part);
            }
            done += part;
        }
    }

    fn add(&mut self, at: usize, element: usize, len: usize) {
        let bytes = at * self.size..(at + len) * self.size;
        match self.runs.last_mut() {
            Some(last) if last.bytes.end == bytes.start && last.element + last.bytes.len() / self.size == element => {
                last.bytes.end = bytes.end;
            }
            _ => self.runs.push(Run { bytes, element }),
        }
    }
}

/// The map of every buffer.
pub fn maps(plan: &Plan, region: &Region, written: &[Vec<Run>]) -> Vec<ByteMap<'static>> {
    let last = plan.args.len().saturating_sub(1);
    let one = |(i, arg): (usize, &Arg)| {
        let slot = &region.slots[i];
        let runs =
            written[i].iter().map(|r| Run { bytes: moved(&r.bytes, slot.data.start), element: r.element }).collect();
        let output = arg.output.as_ref();
        let mut map = ByteMap {
            name: arg.name,
            start: slot.data.start,
            guards: guards(region, i, i == last),
            read_only: vec![],
            untouched: vec![],
            written: runs,
            poisoned: arg.fill.is_none(),
            determinism: output.map_or(Determinism::Bytes, |o| o.determinism),
            element: arg.view.dtype.size(),
            row_len: output.map_or(1, |o| o.row_len),
        };
        match arg.role {
            Role::In => map.read_only = vec![slot.data.clone()],
            // Scratch may hold anything afterwards, and need not be written whole.
            Role::Temp => map.written.clear(),
            Role::Out | Role::InOut => map.untouched = gaps(&slot.data, &map.written),
        }
        map
    };
    plan.args.iter().enumerate().map(one).collect()
}

/// The guards of buffer `i`: a guard between two buffers belongs to each as far as it is the nearer one.
fn guards(region: &Region, i: usize, last: bool) -> Vec<Range<usize>> {
    let slot = &region.slots[i];
    let shared = i > 0 && region.slots[i - 1].after == slot.before;
    let before = if shared { middle(&slot.before)..slot.before.end } else { slot.before.clone() };
    let after = if last { slot.after.clone() } else { slot.after.start..middle(&slot.after) };
    [before, after].into_iter().filter(|r| !r.is_empty()).collect()
}

fn middle(r: &Range<usize>) -> usize {
    r.start + r.len() / 2
}

fn moved(r: &Range<usize>, by: usize) -> Range<usize> {
    r.start + by..r.end + by
}

/// What lies in `whole` between the runs.
fn gaps(whole: &Range<usize>, runs: &[Run]) -> Vec<Range<usize>> {
    let mut ordered: Vec<&Range<usize>> = runs.iter().map(|r| &r.bytes).collect();
    ordered.sort_by_key(|r| r.start);
    let mut at = whole.start;
    let mut gaps = vec![];
    for r in ordered {
        if at < r.start {
            gaps.push(at..r.start);
        }
        at = at.max(r.end);
    }
    if at < whole.end {
        gaps.push(at..whole.end);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::place::{Space, guarded};
    use crate::judge::spec::{Class, Exact, OutputSpec, UlpLimit};
    use crate::tensor::{DType, View};

    fn out(view: View, skipped_rows: Vec<bool>) -> Arg {
        let spec = OutputSpec {
            class: Class::Rounded,
            row_len: 3,
            skipped_rows,
            determinism: Determinism::Bytes,
            exact: Exact::No,
            ulp: UlpLimit { l: None, l32: 0.0 },
            path: false,
            non_finite_declared: false,
            degenerate: None,
        };
        Arg { name: "out", role: Role::Out, view, fill: None, nan_gap: false, output: Some(spec) }
    }

    #[test]
    fn a_packed_output_is_one_run_and_a_skipped_row_cuts_it() {
        let view = View::packed(DType::F32, &[4, 3]);
        assert_eq!(written(&out(view.clone(), vec![])), [Run { bytes: 0..48, element: 0 }]);
        let runs = written(&out(view, vec![false, true, false, false]));
        assert_eq!(runs, [Run { bytes: 0..12, element: 0 }, Run { bytes: 24..48, element: 6 }]);
    }

    #[test]
    fn every_byte_of_a_region_is_one_thing() {
        let strided = out(View::rows(DType::Bf16, 4, 3, 5, 1), vec![false, false, true, false]);
        let input = Arg { name: "in", role: Role::In, output: None, ..out(View::packed(DType::F32, &[7]), vec![]) };
        let plan = Plan { args: vec![input, strided], launches: vec![], flops: 0.0 };
        let spaces: Vec<Space> = plan.args.iter().map(|a| Space { bytes: a.view.bytes(), guard: 4096 }).collect();
        let region = guarded(&spaces).expect("small");
        let runs: Vec<_> = plan.args.iter().map(written).collect();
        let mut ranges = vec![];
        for map in maps(&plan, &region, &runs) {
            ranges.extend(map.guards);
            ranges.extend(map.read_only);
            ranges.extend(map.untouched);
            ranges.extend(map.written.into_iter().map(|r| r.bytes));
        }
        ranges.sort_by_key(|r| (r.start, r.end));
        let mut at = 0;
        for r in ranges {
            assert_eq!(r.start, at);
            at = r.end;
        }
        assert_eq!(at, region.bytes);
    }
}
