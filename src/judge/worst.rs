//! The worst place of a bar: found by a second look at the one chunk or row that the figure came from.

use super::exact::integer;
use super::figures::{self, Input, MAX_SIZE, Partial, partial::worse};
use super::spec::Output;
use crate::record::Worst;
use crate::tensor::DType;
use crate::tensor::codec::put_f64;
use std::ops::Range;

/// Worst element of the float bar `bar`; `row` is the row that a row figure belongs to.
#[must_use]
pub fn place(input: &Input, partials: &[Partial], bar: &str, row: Option<u64>) -> Worst {
    let first = |f: fn(&Partial) -> super::figures::partial::Count| {
        partials.iter().map(f).find(|c| c.count > 0).map(|c| c.first as usize)
    };
    let known = match bar {
        "class" => first(|p| p.counts.class),
        "exact" => first(|p| p.counts.exact),
        "path" => first(|p| p.counts.unexplained),
        "bound" => first(|p| p.counts.bound),
        _ => None,
    };
    let index = known.unwrap_or_else(|| search(input, partials, bar, row));
    let want = if bar == "nmse" {
        figures::get(input.dtype, input.reference, index)
    } else {
        figures::round(input.dtype, nearest(input, index))
    };
    float(input.dtype, input.layout.row_len, index, input.device, want)
}

/// The element with the largest error, in the measure of the bar, of the span its figure came from.
fn search(input: &Input, partials: &[Partial], bar: &str, row: Option<u64>) -> usize {
    let len = input.layout.row_len;
    let chunk_with = |f: fn(&Partial) -> f64| -> Range<usize> {
        let mut best = (0, 0.0);
        for (i, p) in partials.iter().enumerate() {
            let v = f(p);
            if v.is_nan() || v > best.1 {
                best = (i, v);
            }
        }
        input.layout.chunk(best.0).elements(len)
    };
    let among = match (bar, row) {
        (_, Some(row)) => row as usize * len..(row as usize + 1) * len,
        ("nmse", _) => chunk_with(|p| p.er2),
        ("nmse_oracle", _) => chunk_with(|p| p.energy.e2),
        ("ulp", _) => chunk_with(|p| p.ulp),
        _ => chunk_with(|p| worse(p.bias.mean().1, 0.0)),
    };
    let mut best = (among.start, -1.0);
    for i in among.filter(|i| !input.skips(i / len)) {
        let v = measure(input, bar, i);
        if v > best.1 {
            best = (i, v);
        }
    }
    best.0
}

fn measure(input: &Input, bar: &str, i: usize) -> f64 {
    let d = figures::get(input.dtype, input.device, i);
    let o = nearest(input, i);
    // Where the oracle is no finite result there is no difference to rank.
    let finite = o.abs() <= input.dtype.float().map_or(0.0, |f| f.max);
    if !finite {
        return 0.0;
    }
    let error = match bar {
        "nmse" => (d - figures::get(input.dtype, input.reference, i)).abs(),
        "ulp" => {
            let m = input.magnitude.get(i).copied().unwrap_or(0.0);
            ((d - o).abs() - input.consts.slack_b * input.bound[i] - input.consts.slack_m * m)
                / figures::ulp(input.dtype, o)
        }
        "bias" => (d - figures::round(input.dtype, o)).abs() / figures::ulp(input.dtype, o),
        _ => (d - o).abs(),
    };
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The legal value nearer to the device's.
fn nearest(input: &Input, i: usize) -> f64 {
    let (o, d) = (input.value[i], figures::get(input.dtype, input.device, i));
    match input.other.get(i) {
        Some(&other) if (d - other).abs() < (d - o).abs() => other,
        _ => o,
    }
}

/// A place in a float output.
fn float(dtype: DType, row_len: usize, index: usize, device: &[u8], want: f64) -> Worst {
    let size = dtype.size();
    let mut wanted = [0; MAX_SIZE];
    let wanted = &mut wanted[..size];
    put_f64(dtype, want, wanted);
    Worst {
        index: index as u64,
        row: (index / row_len) as u64,
        col: (index % row_len) as u64,
        got: decimal(figures::get(dtype, device, index)),
        want: decimal(want),
        got_hex: hex(&device[index * size..(index + 1) * size]),
        want_hex: hex(wanted),
    }
}

/// A place in an output compared by bits, against `want`'s bytes.
#[must_use]
pub fn bits(out: &Output, index: usize, want: &[u8]) -> Worst {
    let size = out.dtype.size();
    let text = |bytes: &[u8]| match out.dtype.float() {
        Some(_) => decimal(figures::get(out.dtype, bytes, index)),
        None => integer(out.dtype, bytes, index).to_string(),
    };
    let slice = |bytes: &[u8]| hex(&bytes[index * size..(index + 1) * size]);
    Worst {
        index: index as u64,
        row: (index / out.spec.row_len) as u64,
        col: (index % out.spec.row_len) as u64,
        got: text(out.device),
        want: text(want),
        got_hex: slice(out.device),
        want_hex: slice(want),
    }
}

/// Shortest decimal that reads back as the same f32; every format here widens to it exactly.
fn decimal(x: f64) -> String {
    let x = x as f32;
    let plain = x == 0.0 || (1e-5..1e7).contains(&x.abs());
    if plain || !x.is_finite() { format!("{x}") } else { format!("{x:e}") }
}

/// Little-endian bytes as one number.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for b in bytes.iter().rev() {
        text.extend([b >> 4, b & 0xf].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    text
}
