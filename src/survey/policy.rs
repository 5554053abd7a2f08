//! The allocation policy: a pure function of four attributes. Refuses to ask a board.

/// The attributes that decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quadruple {
    /// Host and device share memory.
    pub integrated: bool,
    /// Kernels may read pageable host memory.
    pub pageable: bool,
    /// Managed memory exists.
    pub managed: bool,
    /// Both sides may use managed memory at the same time.
    pub concurrent: bool,
}

/// What follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// Managed memory that both sides use at once.
    pub capable: bool,
    /// Device allocations are made as managed memory.
    pub managed_alloc: bool,
    /// The host may dereference device allocations.
    pub unified: bool,
    /// A kernel may dereference ordinary host memory.
    pub host_memory_on_device: bool,
}

/// The policy; `wish` is what the user asks for (unset, no, yes).
pub fn derive(q: Quadruple, wish: Option<bool>) -> Derived {
    let capable = q.integrated && q.managed && q.concurrent;
    // Managed memory on a board whose kernels cannot read pageable memory was measured to fault: it takes a wish.
    let managed_alloc = capable && wish.unwrap_or(q.pageable);
    // Pageable access alone says nothing of sharing: discrete boards have it through their fault handling.
    let shared = q.pageable && q.integrated;
    Derived { capable, managed_alloc, unified: managed_alloc || shared, host_memory_on_device: shared }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bits: [u8; 4], wish: Option<bool>) -> [bool; 4] {
        let [integrated, pageable, managed, concurrent] = bits.map(|b| b == 1);
        let d = derive(Quadruple { integrated, pageable, managed, concurrent }, wish);
        [d.capable, d.managed_alloc, d.unified, d.host_memory_on_device]
    }

    #[test]
    fn the_whole_table() {
        for bits in (0..16u8).map(|i| [i >> 3 & 1, i >> 2 & 1, i >> 1 & 1, i & 1]) {
            let [i, p, m, c] = bits.map(|b| b == 1);
            for wish in [None, Some(false), Some(true)] {
                let capable = i && m && c;
                let managed = capable
                    && match wish {
                        None => p,
                        Some(w) => w,
                    };
                assert_eq!(of(bits, wish), [capable, managed, managed || (p && i), p && i], "{bits:?} {wish:?}");
            }
        }
    }

    #[test]
    fn gfx1151_answers_the_two_questions_differently_once_managed_memory_is_wished_for() {
        let strix = [1, 0, 1, 1];
        assert_eq!(of(strix, None), [true, false, false, false]);
        assert_eq!(
            of(strix, Some(true)),
            [true, true, true, false],
            "host reads device memory, kernels no host memory"
        );
    }

    #[test]
    fn a_discrete_board_with_pageable_access_is_not_shared() {
        assert_eq!(of([0, 1, 1, 1], None), [false; 4]);
    }
}
