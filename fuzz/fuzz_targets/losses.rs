//! Any bytes as two captures, before a queue and behind it: the first two bytes say where the second begins.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_pcap::matching::match_captures;
use std::path::PathBuf;

fuzz_target!(|bytes: &[u8]| {
    let [low, high, rest @ ..] = bytes else { return };
    let as_given = high & 128 > 0;
    let (front, behind) = rest.split_at(usize::from(u16::from_le_bytes([*low, *high & 127])).min(rest.len()));
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = std::env::temp_dir().join(format!("sojourn-fuzz-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("a folder for temporary files");
        path
    };
    let (front, behind) = (write("front", front), write("behind", behind));
    if let Err(error) = match_captures(&front, &behind, as_given, &mut |_| true) {
        assert!(!error.to_string().contains('\n'));
    }
});
