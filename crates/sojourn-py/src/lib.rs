//! The extension module `sojourn._core`: conversion and errors only.

mod columns;
mod controller;
mod emulate;
mod error;
mod export;
mod formulas;
mod losses;
mod measure;
mod page;
mod picture;
mod play;
mod replay;
mod run;
mod sample_table;
mod samples;
mod stream;
mod study;
mod viewing;
mod voice;
mod workload;

/// The engine: study files in, simulations out.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::controller::controller;
    #[pymodule_export]
    use crate::emulate::emulate;
    #[pymodule_export]
    use crate::error::{CaptureError, MisfitError, StudyError};
    #[pymodule_export]
    use crate::export::export;
    #[pymodule_export]
    use crate::formulas::{
        burst_ratio, codecs, idd, ie_eff, mos_of_plt, opus_impairment, r_default, r_to_mos, statistics, wideband,
    };
    #[pymodule_export]
    use crate::losses::match_captures;
    #[pymodule_export]
    use crate::measure::{Follower, lower_bound, measure};
    #[pymodule_export]
    use crate::page::page_objects;
    #[pymodule_export]
    use crate::picture::compare_pictures;
    #[pymodule_export]
    use crate::play::{clip, clips, play};
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::run::{drop_causes, links, packet_kinds, run, udp_kinds};
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::study::{
        buffers, check_trace, engine, extends, mahimahi, parse, points, provenance, schema, thresholds, version,
    };
    #[pymodule_export]
    use crate::viewing::{Viewing, viewings};
    #[pymodule_export]
    use crate::voice::{Heard, carried, heard, voice_summary};
    #[pymodule_export]
    use crate::workload::workload;
}
