use super::*;
use std::slice::from_ref;

fn counts(pass: u64, fail: u64, error: u64, not_run: u64) -> Counts {
    Counts { planned: pass + fail + error + not_run, pass, fail, error, not_run, ..Counts::default() }
}

fn facts(counts: Counts) -> RunFacts {
    RunFacts { counts, assertions: 10, ..RunFacts::default() }
}

#[test]
fn the_exit_code_is_the_first_rule_that_holds() {
    let with = |c: Counts, f: fn(&mut RunFacts)| {
        let mut facts = facts(c);
        f(&mut facts);
        run(&facts)
    };
    let none = |_: &mut RunFacts| {};
    use ExitCode as X;
    use Verdict as V;
    let reference = Counts { planned: 1, reference: 1, ..Counts::default() };
    let known = Counts { planned: 2, pass: 1, known: 1, ..Counts::default() };
    let unexpected = Counts { planned: 2, pass: 1, unexpected_pass: 1, ..Counts::default() };
    let absent = Counts { planned: 2, pass: 1, not_applicable: 1, ..Counts::default() };
    let lost = Counts { planned: 3, pass: 2, ..Counts::default() };
    type Change = fn(&mut RunFacts);
    let table: &[(&str, Counts, Change, V, X)] = &[
        ("all pass", counts(5, 0, 0, 0), none, V::Pass, X::Success),
        ("known failures pass", known, none, V::Pass, X::Success),
        ("not applicable is not required", absent, none, V::Pass, X::Success),
        ("one fail", counts(5, 1, 0, 0), none, V::Fail, X::Fail),
        ("a fail is not hidden by an error", counts(5, 1, 2, 3), none, V::Fail, X::Fail),
        ("a fail is not hidden by a lost board", counts(5, 1, 0, 3), |f| f.board_failed = true, V::Fail, X::Fail),
        ("a lost board before an error", counts(5, 0, 1, 3), |f| f.board_failed = true, V::Error, X::Board),
        ("a busy board", counts(0, 0, 0, 3), |f| (f.board_failed, f.assertions) = (true, 0), V::NotRun, X::Board),
        ("an error", counts(5, 0, 1, 0), none, V::Error, X::Error),
        ("something not run", counts(5, 0, 0, 1), none, V::NotRun, X::Error),
        ("served by the reference tier", reference, none, V::NotRun, X::Error),
        ("nothing planned", counts(0, 0, 0, 0), |f| f.assertions = 0, V::NotRun, X::Error),
        ("nothing asserted", counts(1, 0, 0, 0), |f| f.assertions = 0, V::NotRun, X::Error),
        ("an empty shard", counts(0, 0, 0, 0), |f| (f.assertions, f.shard) = (0, true), V::Pass, X::Success),
        ("an unexpected pass", unexpected, none, V::Pass, X::Success),
        ("an unexpected pass under strict", unexpected, |f| f.strict = true, V::Fail, X::Fail),
        ("bad usage", counts(0, 0, 0, 0), |f| (f.usage, f.assertions) = (true, 0), V::Error, X::Usage),
        ("a defect before everything", counts(0, 1, 0, 0), |f| f.defect = true, V::Error, X::Defect),
        ("a lost verdict is a defect", lost, none, V::Error, X::Defect),
    ];
    for (name, c, change, verdict, code) in table {
        assert_eq!(with(*c, *change), (*verdict, *code), "{name}");
    }
    assert_eq!([X::Success, X::Fail, X::Usage, X::Error, X::Board, X::Defect].map(|c| c as u8), [0, 1, 2, 3, 4, 70]);
}

fn assertion(tier: Tier, pass: bool, elements: u64) -> Assertion {
    Assertion {
        bar: "ulp".into(),
        on: "y".into(),
        tier,
        pass,
        figure: Some(2.0),
        limit: Some(1.0),
        elements,
        worst: None,
        note: None,
    }
}

#[test]
fn a_case_is_what_its_assertions_and_errors_say() {
    let (good, bad) = (assertion(Tier::Device, true, 4), assertion(Tier::Device, false, 4));
    let reference = assertion(Tier::Reference, false, 4);
    let vacuous = JudgeError::Vacuous { on: "y".into(), bar: "ulp" };
    let size = JudgeError::WrongSize { on: "y".into(), who: "device", got: 4, want: 1024 };
    let verdict = |a: &[Assertion], e: &[JudgeError]| case(a, e, Served::Board).0;
    assert_eq!(verdict(from_ref(&good), &[]), Verdict::Pass);
    assert_eq!(case(from_ref(&good), &[], Served::Reference).0, Verdict::Reference);
    assert_eq!(verdict(&[good.clone(), bad.clone()], &[]), Verdict::Fail);
    assert_eq!(verdict(from_ref(&bad), from_ref(&vacuous)), Verdict::Fail);
    assert_eq!(verdict(from_ref(&good), &[vacuous]), Verdict::Error);
    assert_eq!(verdict(from_ref(&bad), &[size]), Verdict::Error);
    assert_eq!(verdict(&[bad, reference.clone()], &[]), Verdict::Error);
    assert_eq!(verdict(&[good, reference], &[]), Verdict::Error);
    assert_eq!(verdict(&[], &[]), Verdict::Error);
    assert_eq!(verdict(&[assertion(Tier::Device, true, 0)], &[]), Verdict::Error);
}

#[test]
fn the_reason_of_a_fail_names_bar_output_figure_and_limit() {
    let text = case(&[assertion(Tier::Device, false, 4)], &[], Served::Board).1.unwrap();
    assert_eq!(text, "ulp of y: 2.0000e0, limit 1.0000e0");
}
