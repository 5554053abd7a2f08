use super::*;
use crate::toolchain::cache::Cache;
use crate::toolchain::find::Env;

const WANTED: [&str; 3] = ["cast_f32_bf16", "cast_bf16_f32", "cast_f32_f16"];

struct Place {
    folder: tempfile::TempDir,
    tools: Toolchain,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"), folder.path().join("spare"));
        std::fs::create_dir(folder.path().join("overlay")).unwrap();
        Self { tools: Toolchain::new(Env::current(), cache), folder }
    }

    fn overlay(&self) -> PathBuf {
        self.folder.path().join("overlay").canonicalize().unwrap()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.overlay().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn resolve(&self) -> Result<KernelSet, BuildError> {
        KernelSet::resolve(&self.tools, &WANTED.map(String::from), Some(&self.overlay()))
    }
}

fn kernel(name: &str) -> String {
    format!(
        "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void {name}(float* x) {{ x[threadIdx.x] = 1.0f; }}\n"
    )
}

#[test]
fn embedded_kernels_provide_what_ops_ask_for() {
    let place = Place::new();
    let set = KernelSet::resolve(&place.tools, &WANTED.map(String::from), None).unwrap();
    let file = set.file_of(WANTED[0]).unwrap();
    assert!(file.path.ends_with("elementwise/cast.hip"));
    let origin = &set.origins()[WANTED[0]];
    assert_eq!(
        (origin.origin.as_str(), &origin.sha256),
        ("embedded", &crate::toolchain::sha256_file(&file.path).unwrap())
    );
    assert!(
        matches!(set.file_of("cast_f32"), Err(BuildError::NoProvider { near, .. }) if near.contains(&"cast_f32_f16".into()))
    );
}

#[test]
fn a_candidate_goes_before_the_embedded_kernel_for_its_symbols_only() {
    let place = Place::new();
    let mine = place.write("any/name.hip", &kernel("cast_f32_bf16"));
    let set = place.resolve().unwrap();
    assert_eq!(set.file_of("cast_f32_bf16").unwrap().path, mine);
    assert_eq!(set.origins()["cast_f32_bf16"].origin, mine.display().to_string());
    assert_eq!(set.origins()["cast_bf16_f32"].origin, "embedded");
}

#[test]
fn a_kernel_that_a_macro_defines_counts_and_one_in_a_comment_does_not() {
    let place = Place::new();
    let text = "#include <hip/hip_runtime.h>\n// extern \"C\" __global__ void nobody(int* x) {}\n\
                #define K(T, name) extern \"C\" __global__ void cast_##name(T* x) { *x = 0; }\nK(float, f32_bf16)\n";
    let mine = place.write("k.hip", text);
    assert_eq!(place.resolve().unwrap().file_of("cast_f32_bf16").unwrap().path, mine);
}

#[test]
fn a_symbol_that_nobody_asks_for_names_the_nearest() {
    let place = Place::new();
    let file = place.write("k.hip", &kernel("cast_f32_b16"));
    let Err(BuildError::NobodyAsks { file: f, symbol, near }) = place.resolve() else { panic!("accepted") };
    assert_eq!((f, symbol.as_str(), near[0].as_str()), (file, "cast_f32_b16", "cast_f32_bf16"));
}

#[test]
fn a_symbol_defined_in_two_candidate_files_names_both() {
    let place = Place::new();
    let first = place.write("a.hip", &kernel("cast_f32_bf16"));
    let second = place.write("b.hip", &kernel("cast_f32_bf16"));
    let Err(error) = place.resolve() else { panic!("accepted") };
    assert_eq!(error, BuildError::Twice { symbol: "cast_f32_bf16".into(), first, second });
}

#[test]
fn a_folder_without_kernels_says_what_ops_ask_for() {
    let place = Place::new();
    place.write("readme.txt", "nothing");
    place.write("helpers.hip", "#include <hip/hip_runtime.h>\n__device__ int two() { return 2; }\n");
    let Err(BuildError::NothingDefined { wanted, .. }) = place.resolve() else { panic!("accepted") };
    assert_eq!(wanted, WANTED);
}

#[test]
fn a_kernel_without_c_linkage_is_refused_with_the_way_to_wrap_it() {
    let place = Place::new();
    place.write("k.hip", "#include <hip/hip_runtime.h>\n__global__ void cast_f32_bf16(float* x) { *x = 0; }\n");
    let Err(error @ BuildError::Unlaunchable { .. }) = place.resolve() else { panic!("accepted") };
    assert!(error.to_string().contains("extern \"C\""), "{error}");
}

#[test]
fn a_compile_error_brings_the_whole_compiler_output_and_no_image() {
    let place = Place::new();
    let text = "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void cast_f32_bf16(float* x) { *x = undeclared_one; undeclared_two; }\n";
    let mine = place.write("k.hip", text);
    let set = place.resolve().unwrap();
    let file = set.file_of("cast_f32_bf16").unwrap().clone();
    let Err(BuildError::Compile { file, output, .. }) = set.build(&file, &Target::Host) else { panic!("built") };
    assert_eq!(file, mine);
    assert!(output.contains("undeclared_one") && output.contains("undeclared_two"), "{output}");
}

#[test]
fn an_image_is_built_once_and_found_again_by_another_process() {
    let place = Place::new();
    place.write("k.hip", &kernel("cast_f32_bf16"));
    let set = place.resolve().unwrap();
    let file = set.file_of("cast_f32_bf16").unwrap();
    let image = set.build(file, &Target::Host).unwrap();
    assert!(image.path.is_file() && image.sanitised.as_ref().unwrap().is_file());
    let again = place.resolve().unwrap();
    assert_eq!(again.build(again.file_of("cast_f32_bf16").unwrap(), &Target::Host).unwrap(), image);
}

#[test]
fn a_cache_behind_a_link_works_on_the_first_use_too() {
    let place = Place::new();
    let (real, link) = (place.folder.path().join("real"), place.folder.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let tools = Toolchain::new(Env::current(), Cache::new(link, place.folder.path().join("spare")));
    let set = KernelSet::resolve(&tools, &WANTED.map(String::from), None).unwrap();
    assert!(set.build(set.file_of(WANTED[0]).unwrap(), &Target::Host).unwrap().path.is_file());
}

#[test]
fn a_header_of_the_candidate_folder_is_part_of_the_build() {
    let place = Place::new();
    let header = place.write("value.h", "#define VALUE 1.0f\n");
    let old = SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(&header).unwrap().set_modified(old).unwrap();
    place.write(
        "deep/k.hip",
        &kernel("cast_f32_bf16").replace("1.0f", "VALUE").replace("#include", "#include \"value.h\"\n#include"),
    );
    let build = || {
        let set = place.resolve().unwrap();
        set.build(set.file_of("cast_f32_bf16").unwrap(), &Target::Host).unwrap().path
    };
    let first = build();
    place.write("value.h", "#define VALUE 2.0f\n");
    std::fs::File::options().write(true).open(&header).unwrap().set_modified(old).unwrap();
    assert_ne!(build(), first);
    // A new file can hide the header that the earlier build read.
    place.write("value.h", "#define VALUE 1.0f\n");
    std::fs::File::options().write(true).open(&header).unwrap().set_modified(old).unwrap();
    assert_eq!(build(), first);
    place.write("deep/value.h", "#define VALUE 3.0f\n");
    std::fs::File::options().write(true).open(place.overlay().join("deep/value.h")).unwrap().set_modified(old).unwrap();
    assert_ne!(build(), first);
}

#[test]
fn without_a_compiler_the_error_says_what_to_install() {
    let place = Place::new();
    let env = Env { path: vec![place.overlay()], ..Env::default() };
    let tools = Toolchain::new(env, Cache::new(place.folder.path().join("c"), place.folder.path().join("s")));
    place.write("k.hip", &kernel("cast_f32_bf16"));
    let Err(error) = KernelSet::resolve(&tools, &WANTED.map(String::from), Some(&place.overlay())) else {
        panic!("accepted")
    };
    assert!(matches!(error, BuildError::NoCompiler { .. }) && error.to_string().contains("g++"), "{error}");
    let wrong = Env { cxx: Some("no-such-compiler".into()), ..Env::current() };
    assert!(matches!(wrong.host(), Err(BuildError::NoCompiler { tried, .. }) if tried == ["no-such-compiler"]));
}

#[test]
fn a_nearest_name_is_the_most_similar_one() {
    let names = ["rms_norm_f32", "add_f32", "rms_norm_bf16"].map(String::from);
    assert_eq!(nearest("rms_norm_f3", &names)[0], "rms_norm_f32");
}
#[test]
fn every_symbol_that_an_op_or_the_survey_asks_for_is_embedded_and_no_other_is() {
    let place = Place::new();
    let wanted = crate::run::embedded_symbols();
    let set = KernelSet::resolve(&place.tools, &wanted, None).unwrap();
    let missing: Vec<_> = wanted.iter().filter(|s| set.file_of(s).is_err()).collect();
    assert!(missing.is_empty(), "asked for and not embedded: {missing:?}");
    let embedded = embedded_index(&place.tools).unwrap();
    let unasked: Vec<_> = embedded.iter().filter(|(_, symbol)| !wanted.contains(symbol)).collect();
    assert!(unasked.is_empty(), "nobody asks for {unasked:?}");
}
