//! Reading one suite file into blocks. Refuses to expand anything.

use super::bars::BarSheet;
use super::error::hint;
use super::values::{Fault, alternatives, keys, one, spec_of};
use super::{Ops, SuiteError, id};
use crate::ops::{Contract, ParamKind, Value};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A key with its alternatives.
pub(super) type Axis = (String, Vec<Value>);

/// A suite file, read and checked word by word.
pub(super) struct SuiteFile {
    /// Name of the suite.
    pub(super) name: String,
    /// Left out of a run that does not name it.
    pub(super) optin: bool,
    /// Cases the file may expand to.
    pub(super) max_cases: u64,
    /// Its blocks, in order.
    pub(super) blocks: Vec<Block>,
    /// For complaints.
    pub(super) source: Source,
}

/// One `[[case]]`.
pub(super) struct Block {
    /// Where it stands: byte offset.
    pub(super) at: usize,
    /// Its op.
    pub(super) op: &'static dyn Contract,
    /// Keys that multiply, in contract order.
    pub(super) axes: Vec<Axis>,
    /// Rows of `each`; one empty row when there are none.
    pub(super) each: Vec<EachRow>,
    /// Combinations left out.
    pub(super) except: Vec<ExceptRow>,
    /// Limits.
    pub(super) bars: BarSheet,
}

/// Keys that go together.
pub(super) struct EachRow {
    pub(super) at: usize,
    pub(super) values: Vec<(String, Value)>,
}

/// Keys with the values that, met together, leave a combination out.
pub(super) struct ExceptRow {
    pub(super) at: usize,
    pub(super) values: Vec<Axis>,
}

/// Name and text of a file: turns byte offsets into `file:line`.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) file: String,
    pub(super) text: std::rc::Rc<str>,
}

impl Source {
    /// Line of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count()
    }

    /// The complaint about a byte offset.
    pub(super) fn error(&self, (at, message): Fault) -> SuiteError {
        SuiteError::At { file: self.file.clone(), line: self.line(at), message }
    }
}

/// Reads a suite file's text.
///
/// # Errors
/// `SuiteError::At` for anything that is no valid suite.
pub(super) fn read(ops: Ops, file: &str, text: &str) -> Result<SuiteFile, SuiteError> {
    let source = Source { file: file.to_string(), text: text.into() };
    read_root(ops, text, source.clone()).map_err(|fault| source.error(fault))
}

fn read_root(ops: Ops, text: &str, source: Source) -> Result<SuiteFile, Fault> {
    let root = DeTable::parse(text).map_err(|e| (e.span().map_or(0, |s| s.start), e.message().to_string()))?;
    let root = root.get_ref();
    for key in root.keys() {
        let name = key.get_ref().as_ref();
        if !["suite", "case"].contains(&name) {
            return Err((key.span().start, format!("unknown table '{name}'{}", hint(name, ["suite", "case"]))));
        }
    }
    let head = root.get("suite").ok_or_else(|| (0, "a suite file begins with a [suite] table".to_string()))?;
    let (name, optin, max_cases) = read_head(head)?;
    let cases = root.get("case").ok_or_else(|| (0, "the suite has no [[case]]".to_string()))?;
    let blocks = array(cases, "[[case]]")?.iter().map(|c| read_block(ops, c)).collect::<Result<Vec<_>, _>>()?;
    Ok(SuiteFile { name, optin, max_cases, blocks, source })
}

fn read_head(head: &Spanned<DeValue<'_>>) -> Result<(String, bool, u64), Fault> {
    let (mut name, mut optin, mut max_cases) = (None, false, super::MAX_CASES);
    for (key, v) in table(head, "[suite]")? {
        let at = v.span().start;
        match (key.get_ref().as_ref(), v.get_ref()) {
            ("name", DeValue::String(s)) if is_name(s) => name = Some(s.to_string()),
            ("name", _) => return Err((at, "'name' is a word of a-z, 0-9, '-' and '_'".to_string())),
            ("optin", DeValue::Boolean(b)) => optin = *b,
            ("optin", _) => return Err((at, "'optin' is true or false".to_string())),
            ("max_cases", DeValue::Integer(i)) => {
                let n = u64::from_str_radix(i.as_str(), i.radix()).ok().filter(|n| *n > 0);
                max_cases = n.ok_or_else(|| (at, format!("'max_cases' = {} is no count of cases", i.as_str())))?;
            }
            ("max_cases", _) => return Err((at, "'max_cases' is a count of cases".to_string())),
            (other, _) => {
                let hint = hint(other, ["name", "optin", "max_cases"]);
                return Err((key.span().start, format!("unknown key '{other}' in [suite]{hint}")));
            }
        }
    }
    let name = name.ok_or_else(|| (head.span().start, "[suite] needs a 'name'".to_string()))?;
    Ok((name, optin, max_cases))
}

fn is_name(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

fn read_block(ops: Ops, v: &Spanned<DeValue<'_>>) -> Result<Block, Fault> {
    let t = table(v, "[[case]]")?;
    let op = t.get("op").ok_or_else(|| (v.span().start, "a [[case]] needs an 'op'".to_string()))?;
    let at = op.span().start;
    let word = op.get_ref().as_str().ok_or_else(|| (at, "'op' is the name of one op".to_string()))?;
    let op = id::find(ops, word).map_err(|m| (at, m))?;
    let mut block = Block { at, op, axes: Vec::new(), each: Vec::new(), except: Vec::new(), bars: BarSheet::default() };
    for (key, v) in t {
        match key.get_ref().as_ref() {
            "op" => {}
            "each" => block.each = rows(v, "each")?.iter().map(|r| each_row(op, r)).collect::<Result<_, _>>()?,
            "except" => {
                block.except = rows(v, "except")?.iter().map(|r| except_row(op, r)).collect::<Result<_, _>>()?;
            }
            "bars" => block.bars = BarSheet::read(v)?,
            name => {
                let spec = spec_of(op, name).ok_or_else(|| (key.span().start, unknown_key(op, name)))?;
                block.axes.push((name.to_string(), alternatives(&spec, v)?));
            }
        }
    }
    let order = keys(op);
    block.axes.sort_by_key(|(name, _)| order.iter().position(|k| k == name));
    check_rows(&block)?;
    if block.each.is_empty() {
        block.each.push(EachRow { at, values: Vec::new() });
    }
    Ok(block)
}

fn unknown_key(op: &dyn Contract, name: &str) -> String {
    let valid = keys(op).into_iter().chain(["op", "each", "except", "bars"]);
    format!("{} has no key '{name}'{}", op.name(), hint(name, valid))
}

/// A key stands in the block or in the rows of `each`, never in both.
fn check_rows(block: &Block) -> Result<(), Fault> {
    for row in &block.each {
        for (key, _) in &row.values {
            if block.axes.iter().any(|(axis, _)| axis == key) {
                return Err((row.at, format!("'{key}' stands in this row of 'each' and in the block itself")));
            }
        }
    }
    Ok(())
}

fn each_row(op: &dyn Contract, row: &Spanned<DeValue<'_>>) -> Result<EachRow, Fault> {
    let mut values = Vec::new();
    for (key, v) in table(row, "a row of 'each'")? {
        let name = key.get_ref().as_ref();
        let spec = spec_of(op, name).ok_or_else(|| (key.span().start, unknown_key(op, name)))?;
        if v.get_ref().is_array() && spec.kind != ParamKind::List {
            return Err((v.span().start, format!("'{name}' in a row of 'each' takes one value, not a list")));
        }
        values.push((name.to_string(), one(&spec, v)?));
    }
    if values.is_empty() {
        return Err((row.span().start, "this row of 'each' is empty".to_string()));
    }
    Ok(EachRow { at: row.span().start, values })
}

fn except_row(op: &dyn Contract, row: &Spanned<DeValue<'_>>) -> Result<ExceptRow, Fault> {
    let mut values = Vec::new();
    for (key, v) in table(row, "a row of 'except'")? {
        let name = key.get_ref().as_ref();
        let spec = spec_of(op, name).ok_or_else(|| (key.span().start, unknown_key(op, name)))?;
        values.push((name.to_string(), alternatives(&spec, v)?));
    }
    if values.is_empty() {
        return Err((row.span().start, "this row of 'except' is empty: it would leave out every case".to_string()));
    }
    Ok(ExceptRow { at: row.span().start, values })
}

fn rows<'a, 'i>(v: &'a Spanned<DeValue<'i>>, what: &str) -> Result<&'a DeArray<'i>, Fault> {
    let rows = array(v, what)?;
    if rows.is_empty() {
        return Err((v.span().start, format!("'{what}' has no row")));
    }
    Ok(rows)
}

fn table<'a, 'i>(v: &'a Spanned<DeValue<'i>>, what: &str) -> Result<&'a DeTable<'i>, Fault> {
    let found = v.get_ref().type_str();
    v.get_ref().as_table().ok_or_else(|| (v.span().start, format!("{what} is a table, not {found}")))
}

fn array<'a, 'i>(v: &'a Spanned<DeValue<'i>>, what: &str) -> Result<&'a DeArray<'i>, Fault> {
    let found = v.get_ref().type_str();
    v.get_ref().as_array().ok_or_else(|| (v.span().start, format!("{what} is a list of tables, not {found}")))
}
