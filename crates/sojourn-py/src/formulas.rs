//! Scores by formulas, of many values at once: the E-model's and G.1030's.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sojourn_qoe::emodel::{self, Plan};
use sojourn_qoe::{emodel_wideband, statistics as statistics_of, web};

type Values<'py> = PyReadonlyArray1<'py, f64>;
type Scores<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

fn each<'py>(py: Python<'py>, values: &Values<'py>, of: impl Fn(f64) -> f64) -> Scores<'py> {
    Ok(values.as_slice()?.iter().map(|value| of(*value)).collect::<Vec<_>>().into_pyarray(py))
}

/// R of a connection with G.107's defaults, from which calls are scored.
#[pyfunction]
pub(crate) fn r_default() -> f64 {
    emodel::R_DEFAULT
}

type Named = Vec<(String, f64, f64)>;

/// Name, Ie and Bpl of the codecs of G.113; see `sojourn.qoe.emodel.CODECS`.
#[pyfunction]
pub(crate) fn codecs() -> Named {
    emodel::CODECS.iter().map(|(name, plan)| ((*name).to_owned(), plan.ie, plan.bpl)).collect()
}

/// Ro, its scale over G.107's, the same of wide-band codecs, and what of it is from memory; see
/// `sojourn.qoe.emodel_wideband`.
#[pyfunction]
pub(crate) fn wideband() -> (f64, f64, Named, &'static str) {
    let fixed = emodel_wideband::CODECS.iter().map(|(name, plan)| ((*name).to_owned(), plan.ie, plan.bpl));
    let opus = emodel_wideband::OPUS.iter().map(|(rate, plan)| (format!("opus-{rate}"), plan.ie, plan.bpl));
    (emodel_wideband::RO, emodel_wideband::SCALE, fixed.chain(opus).collect(), emodel_wideband::REMEMBERED)
}

/// Ie and Bpl of Opus at a rate in kbit/s.
#[pyfunction]
pub(crate) fn opus_impairment(rate_kbps: f64) -> (f64, f64) {
    let plan = emodel_wideband::opus(rate_kbps);
    (plan.ie, plan.bpl)
}

/// Median, mean, and the percentiles 5, 25, 75, 95 of the values that are not NaN, rounded; see
/// `sojourn.qoe.quantiles.statistics`.
#[pyfunction]
pub(crate) fn statistics(values: Values<'_>, digits: usize) -> PyResult<[Option<f64>; 6]> {
    let found = statistics_of::statistics(values.as_slice()?.iter().copied(), digits);
    Ok([found.median, found.mean, found.p5, found.p25, found.p75, found.p95])
}

/// Impairments by delays in ms; see `sojourn.qoe.emodel.idd`.
#[pyfunction]
pub(crate) fn idd<'py>(py: Python<'py>, ta_ms: Values<'py>, mt_ms: f64, st: f64) -> Scores<'py> {
    each(py, &ta_ms, |ta| emodel::idd(ta, mt_ms, st))
}

/// Impairments by percentages of loss with burst ratios; see `sojourn.qoe.emodel.ie_eff`.
#[pyfunction]
pub(crate) fn ie_eff<'py>(py: Python<'py>, ie: f64, bpl: f64, ppl: Values<'py>, burst_r: Values<'py>) -> Scores<'py> {
    let pairs = ppl.as_slice()?.iter().zip(burst_r.as_slice()?);
    Ok(pairs.map(|(ppl, burst)| emodel::ie_eff(Plan { ie, bpl }, *ppl, *burst)).collect::<Vec<_>>().into_pyarray(py))
}

/// Burst ratio of missing frames; see `sojourn.qoe.emodel.burst_ratio`.
#[pyfunction]
pub(crate) fn burst_ratio(erased: PyReadonlyArray1<'_, bool>) -> PyResult<f64> {
    Ok(emodel::burst_ratio(erased.as_slice()?))
}

/// MOS of ratings; see `sojourn.qoe.emodel.r_to_mos`.
#[pyfunction]
pub(crate) fn r_to_mos<'py>(py: Python<'py>, r: Values<'py>) -> Scores<'py> {
    each(py, &r, emodel::r_to_mos)
}

/// MOS of page load times in seconds; see `sojourn.qoe.web.mos_of_plt`.
#[pyfunction]
pub(crate) fn mos_of_plt<'py>(py: Python<'py>, plt_s: Values<'py>, best_s: f64, worst_s: f64) -> Scores<'py> {
    each(py, &plt_s, |plt| web::mos_of_plt(plt, best_s, worst_s))
}
