//! Canaries of outputs that are compared by bits: one bit (copies); plus one, a swap and a lost tail (integers).

use super::canary::{Flock, tail_len};
use super::exact;
use super::spec::{Class, Output};
use std::ops::Range;

/// Bytes of an element of any dtype, at most.
const MAX_SIZE: usize = 8;

/// Runs them on an accepted output with at least one written row.
pub fn run(out: &Output, flock: &mut Flock) {
    let bits = Bits { out, size: out.dtype.size() };
    let Some(last) = bits.last() else { return };
    if out.spec.class == Class::Copy {
        bits.one(flock, "bit", last, |b| b[0] ^= 1);
        return;
    }
    bits.one(flock, "plus_one", last, |b| {
        for byte in b {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    });
    match (0..last).find(|&i| bits.written(i) && bits.element(i) != bits.element(last)) {
        Some(i) => bits.one(flock, "swap", last, |b| b.copy_from_slice(bits.element(i))),
        None => flock.not_applicable("swap", "all elements are equal"),
    }
    match bits.tail() {
        Some(i) => bits.one(flock, "tail_lost", i, |b| b.fill(0)),
        None => flock.not_applicable("tail_lost", "the tail holds zeros only"),
    }
}

struct Bits<'a> {
    out: &'a Output<'a>,
    size: usize,
}

impl<'a> Bits<'a> {
    fn written(&self, i: usize) -> bool {
        !self.out.spec.skipped_rows.get(i / self.out.spec.row_len).copied().unwrap_or(false)
    }

    fn element(&self, i: usize) -> &'a [u8] {
        &self.out.device[i * self.size..(i + 1) * self.size]
    }

    fn last(&self) -> Option<usize> {
        (0..self.out.oracle.value.len()).rev().find(|&i| self.written(i))
    }

    /// An element of a row's last columns that is not zero.
    fn tail(&self) -> Option<usize> {
        let len = self.out.spec.row_len;
        let columns = |row: usize| -> Range<usize> { (row + 1) * len - tail_len(len).min(len)..(row + 1) * len };
        let rows = 0..self.out.oracle.value.len() / len;
        rows.flat_map(columns).find(|&i| self.written(i) && self.element(i).iter().any(|&b| b != 0))
    }

    /// Changes element `i` and compares it as the bar does. The bar asks something of every element, so that one settles it.
    fn one(&self, flock: &mut Flock, kind: &'static str, i: usize, change: impl Fn(&mut [u8])) {
        let mut bytes = [0; MAX_SIZE];
        let bytes = &mut bytes[..self.size];
        bytes.copy_from_slice(self.element(i));
        change(bytes);
        let want = &self.out.reference[i * self.size..(i + 1) * self.size];
        let differ = exact::bytes(bytes, want, self.size, 1, &[]).differ.count;
        flock.tried(self.out.name, kind, differ > 0, || format!("element {i}"));
    }
}
