//! Names the engine by a hash of its sources, so that results say which engine made them.
//!
//! The hash covers the contents and relative names of the files of the crates that simulate and score, and the
//! versions of the packages that they compute with. It is the same on every machine: places of directories, line
//! endings and version control do not enter.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates whose sources decide a result.
const CRATES: [&str; 3] = ["sojourn-net", "sojourn-qoe", "sojourn-sim"];
/// What of a crate does: neither its tests and benches nor its manifest.
const FOLDERS: [&str; 2] = ["src", "data"];
/// Packages from the registry whose version decides a result: elementary functions and random numbers.
const PACKAGES: [&str; 4] = ["libm", "rand", "rand_core", "rand_pcg"];

fn main() -> io::Result<()> {
    let crates = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("..");
    let mut hash = Hash::new();
    for name in CRATES {
        for folder in FOLDERS.iter().map(|folder| crates.join(name).join(folder)).filter(|folder| folder.is_dir()) {
            println!("cargo::rerun-if-changed={}", folder.display());
            for file in files(&folder)? {
                let place = file.strip_prefix(&crates).map_err(io::Error::other)?;
                let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
                hash.add(parts.join("/").as_bytes());
                hash.add(&without_returns(fs::read(&file)?));
            }
        }
    }
    let lock = crates.join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = without_returns(fs::read(lock)?);
    for package in String::from_utf8_lossy(&lock)
        .split("\n\n")
        .filter(|package| PACKAGES.iter().any(|name| package.contains(&format!("name = \"{name}\"\n"))))
    {
        hash.add(package.trim().as_bytes());
    }
    println!("cargo::rustc-env=SOJOURN_ENGINE={:032x}", hash.0);
    Ok(())
}

/// The files below a folder, in the order of their names, without its documentation.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            found.extend(files(&entry)?);
        } else if entry.extension().is_none_or(|extension| extension != "md") {
            found.push(entry);
        }
    }
    Ok(found)
}

fn without_returns(mut text: Vec<u8>) -> Vec<u8> {
    text.retain(|byte| *byte != b'\r');
    text
}

/// FNV-1a of 128 bits: it tells sources apart, and needs no package.
struct Hash(u128);

impl Hash {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds a text and its end.
    fn add(&mut self, text: &[u8]) {
        for byte in text.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
