//! The report as JUnit XML: one test suite per op.
//!
//! FAIL is a failure; ERROR, and whatever was required and is no device PASS (NOT-RUN, REFERENCE), is an error with its verdict as the
//! type, since most readers take a skip for green. Only what is not required (not applicable, KNOWN) is skipped.
//! Verdict, exit code and every count stand in the properties of the first suite, for readers that gate on the file alone.

use super::text::{failure, short_counts, verdict_word};
use crate::record::{CaseReport, Report, Verdict};
use quick_junit::{NonSuccessKind, Report as Xml, TestCase, TestCaseStatus, TestSuite};

/// Renders the report as JUnit XML.
///
/// # Errors
/// When the text cannot be serialised, which is a defect.
pub fn junit(report: &Report) -> Result<String, String> {
    let label = if report.board.simulated { " (simulated)" } else { "" };
    let mut xml = Xml::new(format!("assay on {}{label}", report.board.id));
    let mut first = TestSuite::new("assay");
    properties(report, &mut first);
    xml.add_test_suite(first);
    let mut suites: Vec<TestSuite> = Vec::new();
    for case in &report.cases {
        let at = suites.iter().position(|s| s.name.as_str() == case.op).unwrap_or_else(|| {
            suites.push(TestSuite::new(case.op.as_str()));
            suites.len() - 1
        });
        suites[at].add_test_case(test_case(case));
    }
    xml.add_test_suites(suites);
    xml.to_string().map_err(|e| e.to_string())
}

fn properties(report: &Report, suite: &mut TestSuite) {
    let c = &report.counts;
    let a = &report.assertions;
    let words = [
        ("verdict", verdict_word(report.verdict).to_string()),
        ("exit_code", report.exit_code.to_string()),
        ("board", report.board.id.clone()),
        ("simulated", report.board.simulated.to_string()),
        ("cut", report.cut.to_string()),
        ("summary", short_counts(report)),
    ];
    let counts = [
        ("planned", c.planned),
        ("pass", c.pass),
        ("fail", c.fail),
        ("error", c.error),
        ("not_run", c.not_run),
        ("not_applicable", c.not_applicable),
        ("known", c.known),
        ("unexpected_pass", c.unexpected_pass),
        ("reference", c.reference),
        ("assertions.run", a.run),
        ("assertions.failed", a.failed),
        ("canaries.run", report.canaries.run),
        ("canaries.accepted", report.canaries.accepted),
        ("control.run", report.control.run),
    ];
    for (name, value) in words {
        suite.add_property((name, value.as_str()));
    }
    for (name, value) in counts {
        suite.add_property((name, value.to_string().as_str()));
    }
    for note in &report.notes {
        suite.add_property(("note", note.as_str()));
    }
}

fn test_case(case: &CaseReport) -> TestCase {
    let reason = case.reason.clone().unwrap_or_default();
    let mut status = match case.verdict {
        Verdict::Pass | Verdict::UnexpectedPass => TestCaseStatus::success(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Error | Verdict::NotRun | Verdict::Reference => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::NotApplicable | Verdict::Known => TestCaseStatus::skipped(),
    };
    if !matches!(case.verdict, Verdict::Pass | Verdict::UnexpectedPass) {
        status.set_type(verdict_word(case.verdict));
        status.set_message(reason.lines().next().unwrap_or_default());
        status.set_description(failure(case));
    }
    let mut test = TestCase::new(case.id.as_str(), status);
    test.set_classname(case.op.as_str());
    test.set_assertions(case.assertions.len());
    test
}
