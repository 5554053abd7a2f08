use super::*;

fn texts(kernel: &str) -> Texts {
    BTreeMap::from([("norm/k.hip".to_string(), kernel.as_bytes().to_vec())])
}

const KERNEL: &str = "extern \"C\" __global__ void k(float* x) {\n  x[0] = x[1] + 2.0f;\n  x[2] = x[1] + 2.0f;\n}\n";

fn read_text(text: &str, kernel: &str) -> Result<Catalogue, LadderError> {
    let mut catalogue = Catalogue::default();
    let mut equivalents = Vec::new();
    catalogue.named("l.toml", text, &texts(kernel), &mut equivalents)?;
    catalogue.rungs.extend(generated(&texts(kernel))?);
    catalogue.settle(equivalents, &texts(kernel))?;
    Ok(catalogue)
}

fn rung(rest: &str) -> String {
    format!("[ladder]\nname = \"l\"\n[[rung]]\nid = \"a\"\nop = [\"cast\"]\nwhy = \"somebody did\"\n{rest}")
}

fn edit(anchor: &str) -> String {
    format!("[[rung.edit]]\nfile = \"norm/k.hip\"\nanchor = \"{anchor}\"\nreplacement = \"y\"\n")
}

#[test]
fn an_anchor_matches_once_or_the_rung_is_stale() {
    let of = |anchor: &str| read_text(&rung(&edit(anchor)), KERNEL).expect("a ladder");
    let good = of("x[0]");
    assert!(good.stale.is_empty());
    let Fault::Source(edits) = &good.rungs[0].fault else { panic!("an edit") };
    assert_eq!((&KERNEL[edits[0].span.clone()], good.rungs[0].line), ("x[0]", 2));
    assert!(of("x[1]").stale["a"].contains("2 times"));
    assert!(of("x[9]").stale["a"].contains("0 times"));
}

#[test]
fn what_a_ladder_file_says_wrong_is_named_with_its_line() {
    let cases = [
        (rung("killers = [\"bouns\"]\nhost = \"bar_dropped\"\n"), 3, "no bar 'bouns'; did you mean 'bound'?"),
        (rung("").replace("cast", "csat") + "host = \"bar_dropped\"\n", 3, "no op 'csat'; did you mean 'cast'?"),
        (rung("colour = 1\n"), 7, "unknown field `colour`"),
        (rung("host = \"sabotage\"\n"), 7, "unknown variant `sabotage`"),
        (rung(""), 3, "either edits or a fault of the host"),
        (rung(&format!("host = \"bar_dropped\"\n{}", edit("x[0]"))), 3, "either edits or a fault of the host"),
        (rung("class = 21\nhost = \"bar_dropped\"\n"), 3, "classes are 1 to 20"),
        (
            rung(&edit("x[0]")) + "[[rung]]\nid = \"a\"\nop = [\"add\"]\nwhy = \"w\"\nhost = \"bar_dropped\"\n",
            11,
            "is there twice",
        ),
        ("[ladder\n".to_string(), 1, ""),
    ];
    for (text, line, words) in cases {
        let Err(LadderError::At { file, line: at, message }) = read_text(&text, KERNEL) else { panic!("{text}") };
        assert!(message.contains(words), "wanted '{words}' in '{message}'");
        assert_eq!((file.as_str(), at), ("l.toml", line), "{text}");
    }
}

#[test]
fn a_judgement_of_equivalence_holds_for_one_text_only() {
    let judged = |id: &str, reason: &str| {
        format!(
            "[ladder]\nname = \"l\"\n[[equivalent]]\nid = \"{id}\"\nreason = \"{reason}\"\nfile = \"norm/k.hip\"\nsha256 = \"{}\"\n",
            hex(KERNEL.as_bytes())
        )
    };
    let id = "norm/k.hip/k/arithmetic/1";
    let same = read_text(&judged(id, "r"), KERNEL).expect("a ladder");
    assert_eq!(same.equivalent[id], "r");
    let other = read_text(&judged(id, "r"), &KERNEL.replace("2.0f", "3.0f")).expect("a ladder");
    assert!(other.equivalent.is_empty() && other.stale[id].contains("another text"));
    assert!(
        read_text(&judged("norm/k.hip/k/arithmetik/1", "r"), KERNEL)
            .is_err_and(|e| e.to_string().contains("did you mean"))
    );
    assert!(read_text(&judged(id, " "), KERNEL).is_err_and(|e| e.to_string().contains("without a reason")));
}

#[test]
fn the_embedded_catalogue_has_rungs_for_every_op_and_none_is_stale() {
    let texts: Texts = crate::toolchain::embedded_texts().map(|(f, t)| (f, t.as_bytes().to_vec())).collect();
    let catalogue = read(&texts, &[] as &[&Path]).expect("our ladders");
    assert_eq!(catalogue.stale, BTreeMap::new());
    let generated = catalogue.rungs.iter().filter(|r| r.origin == Origin::Generated).count();
    assert!(generated >= 400, "{generated}");
    assert!(catalogue.rungs.iter().all(|r| !r.id.starts_with("survey/") && !r.id.starts_with("include/sim")));
}
