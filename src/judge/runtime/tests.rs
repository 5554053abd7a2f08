use super::*;

const A: u8 = 0xa5;
const B: u8 = 0x5a;

/// guard 0..4, input 4..8, output 8..16 with a gap byte pair at 12..14, guard 16..20.
fn map() -> Vec<ByteMap<'static>> {
    let plain = |name| ByteMap {
        name,
        start: 8,
        guards: vec![0..4, 16..20],
        read_only: vec![],
        untouched: vec![],
        written: vec![],
        poisoned: true,
        determinism: Determinism::Bytes,
        element: 2,
        row_len: 2,
    };
    let input = ByteMap { start: 4, guards: vec![], read_only: std::iter::once(4..8).collect(), ..plain("x") };
    let output = ByteMap {
        untouched: std::iter::once(12..14).collect(),
        written: vec![Run { bytes: 8..12, element: 0 }, Run { bytes: 14..16, element: 2 }],
        ..plain("y")
    };
    vec![input, output]
}

fn image(poison: u8) -> Vec<u8> {
    let mut v: Vec<u8> = (0..20).collect();
    v[8..12].fill(poison);
    v[14..16].fill(poison);
    v
}

fn good(poison: u8) -> Vec<u8> {
    let mut v = image(poison);
    v[8..12].copy_from_slice(&[1, A, B, 4]);
    v[14..16].copy_from_slice(&[A, B]);
    v
}

struct Case {
    images: [Vec<u8>; 2],
    afters: Vec<(Poison, Order, Vec<u8>)>,
}

impl Case {
    fn new(change: impl Fn(usize, &mut [u8])) -> Self {
        let plan = [(Poison::A, Order::Ascending), (Poison::B, Order::Descending), (Poison::A, Order::Shuffled)];
        let afters = plan.iter().enumerate().map(|(i, &(p, o))| {
            let mut after = good(if p == Poison::A { A } else { B });
            change(i, &mut after);
            (p, o, after)
        });
        Self { images: [image(A), image(B)], afters: afters.collect() }
    }

    fn add(&mut self, poison: Poison, order: Order, after: Vec<u8>) {
        self.afters.push((poison, order, after));
    }

    fn snapshots(&self) -> Vec<Snapshot<'_>> {
        let before = |p| if p == Poison::A { &self.images[0][..] } else { &self.images[1][..] };
        self.afters.iter().map(|(p, o, after)| Snapshot { poison: *p, order: *o, before: before(*p), after }).collect()
    }

    fn failed(&self) -> Vec<String> {
        let s = self.snapshots();
        let (x, y) = (integrity(&map(), &s), agreement(&map(), &s));
        assert!(x.errors.is_empty() && y.errors.is_empty());
        let all = x.assertions.into_iter().chain(y.assertions);
        all.filter(|a| !a.pass).map(|a| format!("{} of {}", a.bar, a.on)).collect()
    }
}

#[test]
fn a_good_launch_passes_every_byte_bar_even_where_it_writes_a_poison_byte() {
    let case = Case::new(|_, _| {});
    assert_eq!(case.failed(), Vec::<String>::new());
    let r = integrity(&map(), &case.snapshots());
    let bars: Vec<&str> = r.assertions.iter().map(|a| a.bar.as_str()).collect();
    assert_eq!(bars, ["inputs", "guard", "untouched", "written"]);
    assert!(r.assertions.iter().all(|a| a.elements > 0));
    assert!(wanted(&map(), &case.snapshots()).is_empty());
}

#[test]
fn one_changed_byte_fails_the_bar_that_owns_it_and_only_that() {
    for (at, bar) in [(2, "guard of y"), (19, "guard of y"), (5, "inputs of x"), (13, "untouched of y")] {
        for launch in 0..3 {
            let case = Case::new(|i, after| {
                if i == launch {
                    after[at] ^= 0x10;
                }
            });
            assert_eq!(case.failed(), [bar], "byte {at}, launch {launch}");
        }
    }
}

#[test]
fn an_unwritten_byte_is_reported_with_its_element_and_row() {
    let mut case = Case::new(|_, _| {});
    for (p, _, after) in &mut case.afters {
        after[15] = if *p == Poison::A { A } else { B };
    }
    let r = integrity(&map(), &case.snapshots());
    let written = r.assertions.iter().find(|a| a.bar == "written").unwrap();
    assert!(!written.pass);
    let w = written.worst.as_ref().unwrap();
    assert_eq!((w.index, w.row, w.col, written.figure), (2, 1, 0, Some(1.0)));
}

#[test]
fn written_without_both_poisons_is_vacuous() {
    let mut case = Case::new(|_, _| {});
    case.afters.retain(|(p, _, _)| *p == Poison::A);
    let r = integrity(&map(), &case.snapshots());
    assert_eq!(r.errors, [JudgeError::Vacuous { on: "y".into(), bar: "written" }]);
}

#[test]
fn a_difference_between_orders_fails_schedule_alone() {
    let mut case = Case::new(|i, after| {
        if i == 2 {
            after[9] = 77;
        }
    });
    assert_eq!(wanted(&map(), &case.snapshots()), [Wanted { poison: Poison::A, order: Order::Ascending }]);
    case.add(Poison::A, Order::Ascending, good(A));
    assert!(wanted(&map(), &case.snapshots()).is_empty());
    assert_eq!(case.failed(), ["schedule of y"]);
}

#[test]
fn a_difference_between_identical_launches_fails_repeat_alone() {
    let mut case = Case::new(|i, after| {
        if i == 2 {
            after[9] = 77;
        }
    });
    let mut again = good(A);
    again[9] = 78;
    case.add(Poison::A, Order::Ascending, again);
    assert_eq!(case.failed(), ["repeat of y"]);
}

#[test]
fn a_difference_between_poisons_is_told_from_one_between_orders_by_two_more_launches() {
    let bad = |v: &mut [u8]| v[9] = 77;
    let fresh = || {
        Case::new(move |i, after| {
            if i == 1 {
                bad(after);
            }
        })
    };
    let two = [(Poison::A, Order::Ascending), (Poison::B, Order::Ascending)];
    assert_eq!(wanted(&map(), &fresh().snapshots()), two.map(|(poison, order)| Wanted { poison, order }));

    let mut poison = fresh();
    poison.add(Poison::A, Order::Ascending, good(A));
    let mut after = good(B);
    bad(&mut after);
    poison.add(Poison::B, Order::Ascending, after);
    assert_eq!(poison.failed(), ["repeat of y"]);

    let mut order = fresh();
    order.add(Poison::A, Order::Ascending, good(A));
    order.add(Poison::B, Order::Ascending, good(B));
    assert_eq!(order.failed(), ["schedule of y"]);
    assert!(wanted(&map(), &order.snapshots()).is_empty());
}

#[test]
fn findings_missing_launches_and_foreign_service_fail_their_bars() {
    let pass = |r: Runtime| r.assertions[0].pass;
    assert!(pass(memory(&[], 3)));
    assert!(!pass(memory(&["race".into()], 3)));
    assert_eq!(memory(&[], 0).absent[0].bar, "memory");
    assert!(pass(launches(3, 3)) && pass(launches(0, 0)));
    assert!(!pass(launches(3, 2)) && !pass(launches(0, 1)));
    let good = Service { probed_native: true, launches: (3, 3), reference_hits: 0, declines: 0 };
    assert!(pass(native(&good)));
    assert!(!pass(native(&Service { probed_native: false, ..good })));
    assert!(!pass(native(&Service { launches: (3, 0), ..good })));
    assert!(!pass(native(&Service { reference_hits: 1, ..good })));
    assert!(!pass(native(&Service { declines: 1, ..good })));
}
