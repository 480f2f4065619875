//! What a study's report draws. The engine only checks it; the figures themselves are drawn from results.
//!
//! A figure may print a published table (a CSV file beside the study) with ours. `citations.toml` beside the table says
//! which axis, label, quantity and unit its columns stand for; `published-where` chooses rows by hand.

use schemars::JsonSchema;
use serde::Deserialize;

/// A figure of the report.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "the report reads it from the document")]
pub struct Figure {
    /// What is drawn.
    pub kind: FigureKind,
    /// Heading.
    pub title: Option<String>,
    /// Text under the figure.
    pub caption: Option<String>,
    /// The axis that runs across; for a scatter plot, an axis or a value of the results.
    pub x: Option<String>,
    /// The axis that runs down (heatmap); for other kinds, an axis whose labels become one series each.
    pub y: Option<String>,
    /// The value of the results that is shown, as `run --json` names it: `links.up.loss`, `voice.talks.mos.median`. A
    /// sawtooth and responsiveness need none.
    #[serde(default)]
    pub value: String,
    /// Show the harm that was done to the value instead of it: for an axis, the label under which the run is that of
    /// the sufferer alone, as in `{ workload = "none" }`.
    #[serde(default)]
    pub solo: std::collections::BTreeMap<String, String>,
    /// Unit or meaning of the value, for the colour bar or the axis.
    pub label: Option<String>,
    /// How values are coloured: `g114` (delay, ITU-T G.114), `mos`, or `none`.
    pub scale: Option<Scale>,
    /// For some axes, the labels that are shown.
    #[serde(default)]
    pub only: std::collections::BTreeMap<String, Vec<String>>,
    /// The published table printed beside ours: a CSV file, relative to the study.
    pub published: Option<String>,
    /// The table's column of values; by default the one that `citations.toml` declares for the value.
    pub published_column: Option<String>,
    /// Rows of the table to use: for each column, its text.
    #[serde(default)]
    pub published_where: std::collections::BTreeMap<String, String>,
}

/// Kinds of figures.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Cells coloured by value: `x` across, `y` down.
    Heatmap,
    /// Box plots along `x`; the value names an object with quantiles.
    Box,
    /// Lines over `x`, one for each label of `y`.
    Lines,
    /// Lines over `x`, one for each entry of a value that is a list, as the rates of viewers.
    Clients,
    /// Numbers in rows and columns.
    Table,
    /// Distribution function of the value over points, one line for each label of `y`.
    Cdf,
    /// Points of two values.
    Scatter,
    /// Curves that the results hold whole, one for each label of `y`: `losses.down.bursts.ccdf`.
    Curves,
    /// Box plots of the loss of flows by their size: `losses.down.per_flow.boxes`.
    FlowBoxes,
    /// A surface over time and octave: `losses.down.scaling.over_time`.
    Surface,
    /// Who suffers from whom: a row for each `y`, the one that suffers, a column for each `x`, its competitor.
    Matrix,
    /// Round trips a minute by `x`, both halves and the score, with the draft's classes.
    Responsiveness,
    /// Windows, rates and queue over time, of a study that sets `record.series`.
    Sawtooth,
}

/// A publication that a study reproduces: a tag of `studies/published/citations.toml`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Publication {
    /// A QoE perspective on sizing network buffers.
    Imc14,
    /// Router queues under adaptive streaming.
    Has,
    /// Packet drops due to active queue management.
    Aqm,
    /// The loss process of one router buffer.
    Flows,
}

/// Colours of values.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// One-way delay in ms: below 150 good, below 400 acceptable, above it not (ITU-T G.114).
    G114,
    /// Mean opinion score, 1 to 5.
    Mos,
    /// A plain colour map.
    None,
}
