//! The engine in a page: a study goes in as text, and what `sojourn run` stores of its one point comes out.
//!
//! A plain C interface, which needs no generated code: the page asks for memory ([`sojourn_alloc`]), writes its request
//! (JSON, see [`answer`]) there, and calls [`sojourn_run`], which gives the place of the answer. Nothing here decides a
//! number: [`sojourn_sim`] simulates and [`sojourn_qoe`] scores.

mod answer;
mod result;
mod scores;
mod view;

pub use answer::answer;

/// Names the engine's sources in the module itself, so that a page is not made with another build than the package's.
#[cfg(target_arch = "wasm32")]
#[unsafe(link_section = "sojourn-engine")]
#[used]
static ENGINE: [u8; 32] = *env!("SOJOURN_ENGINE").as_bytes().first_chunk().unwrap();

/// Memory for a request of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; len].into_boxed_slice()).cast()
}

/// Takes the request of `len` bytes at `at` and returns the place of the answer: its length (u32, little endian), then
/// its text. [`sojourn_free`] takes it back.
///
/// # Safety
///
/// `at` and `len` are those of one [`sojourn_alloc`], and are not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_run(at: *mut u8, len: usize) -> *mut u8 {
    // SAFETY: they are those of the box that was given away.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) };
    let text = answer(&String::from_utf8_lossy(&request));
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    Box::into_raw(bytes.into_boxed_slice()).cast()
}

/// Takes back an answer whose text has `len` bytes.
///
/// # Safety
///
/// `at` is what [`sojourn_run`] returned, and `len` the length that stands there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_free(at: *mut u8, len: usize) {
    // SAFETY: the box was made of the length and the text.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len + 4)) });
}
