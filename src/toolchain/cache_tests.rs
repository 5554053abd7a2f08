use super::*;
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;

struct Place {
    folder: tempfile::TempDir,
    builds: Cell<u32>,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), builds: Cell::new(0) };
        place.write("header.h", "one");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
        // A source is older than the build that reads it.
        let old = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(self.path(name)).unwrap().set_modified(old).unwrap();
    }

    fn cache(&self) -> Cache {
        Cache::new(self.path("cache"), self.path("spare"))
    }

    /// A build whose product is the header's text.
    fn get(&self, cache: &Cache, key: &str) -> Entry {
        let build = |out: &Path| {
            self.builds.set(self.builds.get() + 1);
            std::fs::copy(self.path("header.h"), out.join("product")).unwrap();
            Ok(Product {
                files: vec!["product".into()],
                dependencies: vec![self.path("header.h"), out.join("generated.cpp")],
                symbols: vec!["k".into()],
                log: "a warning".into(),
            })
        };
        cache.get(key, SystemTime::now(), build).unwrap()
    }
}

fn text(entry: &Entry) -> String {
    std::fs::read_to_string(entry.folder.join("product")).unwrap()
}

#[test]
fn a_second_request_is_a_hit_with_the_same_log_and_symbols() {
    let place = Place::new();
    let first = place.get(&place.cache(), "k");
    let second = place.get(&place.cache(), "k");
    assert_eq!((first.hit, second.hit, place.builds.get()), (false, true, 1));
    assert_eq!(second, Entry { hit: true, ..first });
    assert_eq!((second.log.as_str(), second.symbols.as_slice()), ("a warning", ["k".to_string()].as_slice()));
}

#[test]
fn another_key_is_another_entry() {
    let place = Place::new();
    place.get(&place.cache(), "k");
    assert!(!place.get(&place.cache(), "l").hit);
}

#[test]
fn a_changed_header_invalidates_and_changing_it_back_finds_the_first_entry() {
    let place = Place::new();
    let first = place.get(&place.cache(), "k");
    place.write("header.h", "two");
    let second = place.get(&place.cache(), "k");
    assert_eq!((text(&first), text(&second), second.hit), ("one".into(), "two".into(), false));
    place.write("header.h", "one");
    let third = place.get(&place.cache(), "k");
    assert_eq!((third.hit, third.folder), (true, first.folder));
}

#[test]
fn a_corrupted_product_log_or_listing_is_rebuilt_and_not_used() {
    for victim in ["product", LOG, "entry.json"] {
        for damage in ["", "rubbish"] {
            let place = Place::new();
            let first = place.get(&place.cache(), "k");
            std::fs::write(first.folder.join(victim), damage).unwrap();
            let second = place.get(&place.cache(), "k");
            assert_eq!((second.hit, text(&second)), (false, "one".into()), "{victim}");
            assert!(place.get(&place.cache(), "k").hit, "{victim}");
        }
    }
}

#[test]
fn a_lost_product_folder_or_a_corrupted_manifest_is_a_miss() {
    let place = Place::new();
    let first = place.get(&place.cache(), "k");
    std::fs::remove_dir_all(first.folder).unwrap();
    assert!(!place.get(&place.cache(), "k").hit);
    std::fs::write(manifest_path(&place.path("cache"), "k"), "[{").unwrap();
    assert!(!place.get(&place.cache(), "k").hit);
}

#[test]
fn a_folder_that_cannot_be_made_falls_back_to_the_run_folder_with_one_warning() {
    let place = Place::new();
    // A file where the folder should be: fails for every user, root too.
    place.write("cache", "");
    let cache = place.cache();
    assert_eq!(cache.warning(), None);
    let entry = place.get(&cache, "k");
    assert!(entry.folder.starts_with(place.path("spare")));
    assert!(place.get(&cache, "k").hit, "the run folder is searched too");
    let warning = cache.warning().unwrap();
    assert!(warning.contains("cannot be written") && !warning.contains('\n'), "{warning}");
}

#[test]
fn a_read_only_cache_still_gives_what_it_holds() {
    let place = Place::new();
    place.get(&place.cache(), "k");
    let protect = |mode| {
        for name in ["cache", "cache/tmp", "cache/obj", "cache/man"] {
            std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    protect(0o555);
    let cache = place.cache();
    let hit = place.get(&cache, "k");
    let warned = cache.warning().is_some();
    let miss = place.get(&cache, "l");
    protect(0o755);
    assert!(hit.hit && !warned);
    // Root may write everywhere, so the fallback itself is shown by the test above.
    assert!(!miss.hit);
}

#[test]
fn a_source_written_to_during_the_build_is_an_error() {
    let place = Place::new();
    let began = SystemTime::now();
    let result = place.cache().get("k", began, |_| {
        std::fs::write(place.path("header.h"), "edited").unwrap();
        std::fs::File::options()
            .write(true)
            .open(place.path("header.h"))
            .unwrap()
            .set_modified(SystemTime::now())
            .unwrap();
        Ok(Product { dependencies: vec![place.path("header.h")], ..Product::default() })
    });
    assert_eq!(result, Err(BuildError::Changed { file: place.path("header.h") }));
}

#[test]
fn a_failed_build_leaves_nothing_behind() {
    let place = Place::new();
    let why = BuildError::Compile { file: "k.hip".into(), compiler: "c++".into(), output: "no".into() };
    assert_eq!(place.cache().get("k", SystemTime::now(), |_| Err(why.clone())), Err(why));
    assert_eq!(std::fs::read_dir(place.path("cache/tmp")).unwrap().count(), 0);
    assert!(!place.get(&place.cache(), "k").hit);
}

#[test]
fn builds_of_one_key_at_once_leave_one_sound_entry() {
    let place = Place::new();
    let (root, spare, header) = (place.path("cache"), place.path("spare"), place.path("header.h"));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let cache = Cache::new(root.clone(), spare.clone());
                let entry = cache.get("k", SystemTime::now(), |out| {
                    std::fs::write(out.join("product"), "same").unwrap();
                    Ok(Product {
                        files: vec!["product".into()],
                        dependencies: vec![header.clone()],
                        ..Product::default()
                    })
                });
                assert_eq!(text(&entry.unwrap()), "same");
                assert_eq!(cache.warning(), None);
            });
        }
    });
    assert_eq!(std::fs::read_dir(root.join("obj")).unwrap().count(), 1);
    assert!(lookup(&root, "k").is_some());
}

#[test]
fn the_least_recently_used_entries_go_first_and_fresh_ones_stay() {
    let place = Place::new();
    let entries: Vec<Entry> = ["a", "b", "c"].map(|k| place.get(&place.cache(), k)).into();
    let age = |entry: &Entry, hours: u64| {
        let then = SystemTime::now() - Duration::from_secs(hours * 3600);
        std::fs::File::open(&entry.folder).unwrap().set_modified(then).unwrap();
    };
    age(&entries[0], 3);
    age(&entries[1], 5);
    let size = entries_by_use(&place.path("cache/obj"))[0].1;
    sweep(&place.path("cache"), 2 * size);
    let there = |e: &Entry| e.folder.exists();
    assert_eq!(entries.iter().map(there).collect::<Vec<_>>(), [true, false, true]);
    sweep(&place.path("cache"), 0);
    assert_eq!(entries.iter().map(there).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn unpacked_files_are_restored_when_they_were_changed() {
    let place = Place::new();
    let files: Vec<(&Path, &[u8])> = vec![(Path::new("a/b.h"), b"text")];
    let folder = place.cache().unpack("t", &files).unwrap();
    std::fs::write(folder.join("a/b.h"), "edited").unwrap();
    assert_eq!(place.cache().unpack("t", &files).unwrap(), folder);
    assert_eq!(std::fs::read(folder.join("a/b.h")).unwrap(), b"text");
}
