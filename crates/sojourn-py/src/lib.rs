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
    use crate::{
        controller::controller,
        emulate::{emulate, end_on_interrupt},
        error::{CaptureError, MisfitError, StudyError},
        export::export,
        formulas::{
            burst_ratio, codecs, idd, ie_eff, mos_of_plt, opus_impairment, r_default, r_to_mos, statistics, wideband,
        },
        losses::match_captures,
        measure::{Follower, lower_bound, measure},
        page::page_objects,
        picture::compare_pictures,
        play::{clip, clips, play},
        replay::replay,
        run::{drop_causes, links, packet_kinds, run, udp_kinds},
        stream::Stream,
        study::{
            buffers, check_trace, engine, extends, mahimahi, parse, points, provenance, quantity, queue, schema,
            thresholds, version,
        },
        viewing::{Viewing, viewings},
        voice::{Heard, carried, heard, voice_summary},
        workload::workload,
    };
}
