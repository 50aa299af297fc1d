//! Rules for artifacts: allowed files, no names of the build machine, no symbols of a new glibc.

use std::io::Read;

use anyhow::{Result, bail};

/// Files of a packed crate besides its sources.
const CRATE_FILES: [&str; 9] = [
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "build.rs",
    "commit.rs",
];

/// Extensions of the sources of a crate.
const SOURCES: [&str; 5] = ["rs", "csv", "js", "css", "html"];

/// Extensions of the files of the Python package.
const MODULES: [&str; 4] = ["py", "pyi", "typed", "so"];

fn ends_in(name: &str, endings: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// Refuses a crate with missing or unexpected files.
pub(crate) fn crate_files(package: &str, list: &str) -> Result<()> {
    let files: Vec<&str> = list.lines().collect();
    for needed in ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        if !files.contains(&needed) {
            bail!("the crate {package} has no `{needed}`");
        }
    }
    let belongs = |file: &str| {
        CRATE_FILES.contains(&file) || (file.starts_with("src/") && ends_in(file, &SOURCES))
    };
    match files.iter().find(|file| !belongs(file)) {
        Some(file) => {
            bail!("the crate {package} would be packed with `{file}`, which is not a source")
        }
        None => Ok(()),
    }
}

/// Refuses a wheel with missing or unexpected files.
pub(crate) fn wheel_files(version: &str, files: &[String]) -> Result<()> {
    let about = format!("treeport-{version}.dist-info/");
    let licenses = ["licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"];
    for needed in licenses.iter().chain(&["METADATA", "RECORD", "WHEEL"]) {
        if !files.iter().any(|file| *file == format!("{about}{needed}")) {
            bail!("the wheel has no `{about}{needed}`");
        }
    }
    for needed in ["treeport/__init__.py", "treeport/_core.abi3.so", "treeport/py.typed"] {
        if !files.iter().any(|file| file == needed) {
            bail!("the wheel has no `{needed}`");
        }
    }
    let belongs = |file: &str| {
        file.starts_with(&about) || (file.starts_with("treeport/") && ends_in(file, &MODULES))
    };
    match files.iter().find(|file| !belongs(file)) {
        Some(file) => bail!("the wheel has `{file}`, which is not a module"),
        None => Ok(()),
    }
}

/// Returns strings that identify the build machine: its folders, and its host name unless that is
/// common.
pub(crate) fn identifying_strings(folders: &[&str], host: &str) -> Vec<String> {
    let folders = folders.iter().map(|folder| folder.trim_end_matches('/'));
    // `/` is in every path. With a trailing slash, `/root` does not match `/rooted`.
    let mut words: Vec<_> =
        folders.filter(|folder| folder.len() > 1).map(|folder| format!("{folder}/")).collect();
    words.push("registry/src/".into());
    if host.len() >= 6 && host != "localhost" {
        words.push(host.to_owned());
    }
    words.sort();
    words.dedup();
    words
}

/// Returns the first of these strings in the bytes with its surroundings; archives are unpacked.
pub(crate) fn found(bytes: &[u8], words: &[String]) -> Result<Option<String>> {
    let mut plain = Vec::new();
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain)?;
        &plain[..]
    } else {
        bytes
    };
    for word in words {
        if let Some(at) = bytes.windows(word.len()).position(|window| window == word.as_bytes()) {
            let around = &bytes[at.saturating_sub(20)..(at + word.len() + 60).min(bytes.len())];
            let shown = String::from_utf8_lossy(around);
            return Ok(Some(shown.chars().map(|c| if c.is_control() { '·' } else { c }).collect()));
        }
    }
    Ok(None)
}

/// Returns the newest glibc version whose symbols a program imports, as a minor number: 17 for
/// 2.17.
pub(crate) fn newest_glibc(program: &[u8]) -> Option<u32> {
    let word = b"GLIBC_2.";
    let minor = |at: usize| {
        let digits = program[at + word.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(None, |number: Option<u32>, byte| {
            number.unwrap_or(0).checked_mul(10)?.checked_add(u32::from(byte - b'0'))
        })
    };
    let places = program.windows(word.len()).enumerate().filter(|(_, window)| window == word);
    places.filter_map(|(at, _)| minor(at)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const CRATE: &str =
        "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\nsrc/a/b.csv";

    #[test]
    fn a_crate_has_its_licenses_and_no_stray_file() {
        crate_files("x", CRATE).unwrap();
        let error = crate_files("x", &CRATE.replace("LICENSE-MIT\n", "")).unwrap_err();
        assert_eq!(error.to_string(), "the crate x has no `LICENSE-MIT`");
        for stray in ["notes.txt", "src/lib.rs.orig", "tests/it/main.rs", "src/.lib.rs.swp"] {
            let error = crate_files("x", &format!("{CRATE}\n{stray}")).unwrap_err();
            assert!(error.to_string().contains(stray), "{error}");
        }
    }

    #[test]
    fn a_wheel_has_its_modules_and_no_stray_file() {
        let about =
            ["METADATA", "RECORD", "WHEEL", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"];
        let mut files: Vec<_> = about.map(|file| format!("treeport-1.0.dist-info/{file}")).into();
        files.extend(
            ["__init__.py", "_core.abi3.so", "py.typed"].map(|file| format!("treeport/{file}")),
        );
        wheel_files("1.0", &files).unwrap();
        for missing in 0..files.len() {
            let mut fewer = files.clone();
            let name = fewer.remove(missing);
            let error = wheel_files("1.0", &fewer).unwrap_err();
            assert!(error.to_string().contains(&name), "{error}");
        }
        for stray in ["treeport/__pycache__/a.pyc", "tests/test_a.py"] {
            let error =
                wheel_files("1.0", &[&files[..], &[stray.to_owned()]].concat()).unwrap_err();
            assert!(error.to_string().contains(stray), "{error}");
        }
    }

    #[test]
    fn names_of_the_machine_are_found_inside_of_archives() {
        let words = identifying_strings(&["/home/ada/", "/", ""], "box");
        assert_eq!(words, ["/home/ada/", "registry/src/"]);
        assert!(identifying_strings(&[], "ada-laptop").contains(&"ada-laptop".to_owned()));
        let bytes = b"\0panicked at /home/ada/src/lib.rs\0";
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        for bytes in [bytes.to_vec(), gz.finish().unwrap()] {
            let shown = found(&bytes, &words).unwrap().unwrap();
            assert!(shown.contains("/home/ada/src/lib.rs·"), "{shown}");
        }
        assert_eq!(found(b"/home/adam/x", &words).unwrap(), None);
    }

    #[test]
    fn the_newest_glibc_is_the_largest_number() {
        assert_eq!(newest_glibc(b"GLIBC_2.9\0GLIBC_2.17\0GLIBC_2.2.5\0"), Some(17));
        assert_eq!(newest_glibc(b"no such symbol GLIBC_2.x"), None);
    }
}
