//! Partial sums of a chunk. Plain f64, kept by the caller, folded in index order.

/// Residues of a column that `bias` tells apart: the lanes of a 16-bit vector.
pub const RESIDUES: usize = 8;

/// Sums of the bar `bias`, one entry per column residue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bias {
    /// Counting elements.
    pub n: [f64; RESIDUES],
    /// Sum of `e = (d-R)/ulp(o)`; for f32 of `(d-o)/ulp(o)`.
    pub e: [f64; RESIDUES],
    /// Sum of `sign(o)*e`.
    pub s: [f64; RESIDUES],
}

impl Bias {
    /// Adds another one's sums.
    pub fn add(&mut self, other: &Bias) {
        for i in 0..RESIDUES {
            self.n[i] += other.n[i];
            self.e[i] += other.e[i];
            self.s[i] += other.s[i];
        }
    }

    /// Counting elements of all residues, and the larger of the two absolute means (NaN stays NaN).
    pub fn mean(&self) -> (f64, f64) {
        let [n, e, s] = [self.n, self.e, self.s].map(|v| v.iter().sum::<f64>());
        (n, worse(e.abs(), s.abs()) / n)
    }

    /// The same of one residue.
    pub fn residue(&self, i: usize) -> (f64, f64) {
        (self.n[i], worse(self.e[i].abs(), self.s[i].abs()) / self.n[i])
    }
}

/// The larger figure, where NaN is larger than everything: a NaN is never lost in a maximum.
pub fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Sums of squares of a row, a piece of a row, or a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Elements compared.
    pub n: u64,
    /// Sum of `(d-o)^2`.
    pub e2: f64,
    /// Sum of `o^2`.
    pub o2: f64,
    /// Sum of `T^2`.
    pub t2: f64,
}

impl Energy {
    /// Adds another one's sums.
    pub fn add(&mut self, other: &Energy) {
        self.n += other.n;
        self.e2 += other.e2;
        self.o2 += other.o2;
        self.t2 += other.t2;
    }

    /// `e2 <= limit * o2 + t2`: the floor T decides alone where there is no energy.
    pub fn within(&self, limit: f64) -> bool {
        self.e2 <= limit * self.o2 + self.t2
    }

    /// `e2 / o2`, or `None` with zero energy.
    pub fn figure(&self) -> Option<f64> {
        (self.o2 != 0.0).then(|| self.e2 / self.o2)
    }

    /// Is this one relatively worse than `other`? Cross-multiplied; NaN is worst.
    fn worse_than(&self, other: &Energy) -> bool {
        let (a, b) = (self.e2 * other.o2, other.e2 * self.o2);
        a.is_nan() || a > b
    }
}

/// Verdicts of whole rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rows {
    /// Rows judged.
    pub rows: u64,
    /// Rows outside their limit.
    pub bad: u64,
    /// Worst row that has energy, with its index.
    pub worst: Option<(u64, Energy)>,
    /// First row outside its limit, with or without energy.
    pub first_bad: Option<(u64, Energy)>,
    /// Largest mean error of a row with enough counting elements, and that row.
    pub bias: Option<(u64, f64)>,
}

impl Rows {
    /// Judges row `row`.
    #[inline]
    pub fn take(&mut self, row: u64, energy: &Energy, limit: f64) {
        if energy.n == 0 {
            return;
        }
        self.rows += 1;
        if !energy.within(limit) {
            self.bad += 1;
            self.first_bad.get_or_insert((row, *energy));
        }
        if energy.o2 != 0.0 && self.worst.is_none_or(|(_, w)| energy.worse_than(&w)) {
            self.worst = Some((row, *energy));
        }
    }

    /// Notes the mean rounding error of row `row`, where it has enough counting elements.
    pub fn take_bias(&mut self, row: u64, bias: &Bias) {
        let (n, mean) = bias.mean();
        if n >= crate::judge::limits::BIAS_MIN && self.bias.is_none_or(|(_, b)| mean.is_nan() || mean > b) {
            self.bias = Some((row, mean));
        }
    }

    /// Folds the rows of a later chunk.
    pub fn add(&mut self, later: &Rows) {
        self.rows += later.rows;
        self.bad += later.bad;
        self.first_bad = self.first_bad.or(later.first_bad);
        if let Some((_, w)) = later.worst
            && self.worst.is_none_or(|(_, mine)| w.worse_than(&mine))
        {
            self.worst = later.worst;
        }
        if let Some((_, b)) = later.bias
            && self.bias.is_none_or(|(_, mine)| b.is_nan() || b > mine)
        {
            self.bias = later.bias;
        }
    }
}

/// A count with the first place counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub count: u64,
    /// Element index of the first; meaningless while the count is 0.
    pub first: u64,
}

impl Count {
    /// Counts element `index`.
    pub fn hit(&mut self, index: usize) {
        if self.count == 0 {
            self.first = index as u64;
        }
        self.count += 1;
    }

    /// Folds a later count.
    pub fn add(&mut self, later: Count) {
        if self.count == 0 {
            self.first = later.first;
        }
        self.count += later.count;
    }
}

/// What is counted element by element.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Elements outside skipped rows.
    pub seen: u64,
    /// Elements whose class is not the oracle's.
    pub class: Count,
    /// Elements where the reference's class is not the oracle's.
    pub reference: Count,
    /// Non-finite oracle values that the op does not declare.
    pub undeclared: Count,
    /// Unusable `B0` or `M`.
    pub bad_bound: Count,
    /// Elements outside B.
    pub bound: Count,
    /// Elements that the bar `exact` compared.
    pub exact_seen: u64,
    /// Elements whose bits are not R's.
    pub exact: Count,
    /// Elements whose value no value within the declared error rounds to.
    pub unexplained: Count,
}

impl Counts {
    /// Folds later counts.
    pub fn add(&mut self, later: &Counts) {
        self.seen += later.seen;
        self.class.add(later.class);
        self.reference.add(later.reference);
        self.undeclared.add(later.undeclared);
        self.bad_bound.add(later.bad_bound);
        self.bound.add(later.bound);
        self.exact_seen += later.exact_seen;
        self.exact.add(later.exact);
        self.unexplained.add(later.unexplained);
    }
}

/// Everything the float bars need to know of one chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Partial {
    /// Sum of `(d-r)^2`.
    pub er2: f64,
    /// Sum of `r^2`.
    pub r2: f64,
    /// Sums against the oracle; `energy.n` counts the elements of the difference bars.
    pub energy: Energy,
    /// Largest error in steps after the declared error is taken off.
    pub ulp: f64,
    /// Largest `abs(d)` over the power of two in T: the hint for canaries.
    pub score: f64,
    /// Sums of `bias`.
    pub bias: Bias,
    /// Whole rows of the chunk.
    pub rows: Rows,
    /// Elements whose value is not R's.
    pub differing: u64,
    /// What elements say by themselves.
    pub counts: Counts,
}

impl Partial {
    /// Folds a later chunk; its whole rows too.
    pub fn add(&mut self, later: &Partial) {
        self.er2 += later.er2;
        self.r2 += later.r2;
        self.energy.add(&later.energy);
        self.ulp = worse(later.ulp, self.ulp);
        self.score = worse(later.score, self.score);
        self.bias.add(&later.bias);
        self.rows.add(&later.rows);
        self.differing += later.differing;
        self.counts.add(&later.counts);
    }
}
