//! What types cannot check: every point of the sweep, names, ties and figures.

use serde_json::Value;
use sojourn_net::quote::quoted;
use sojourn_net::refuse_if;

use super::figure::{Figure, FigureKind};
use super::schema::StudyFile;
use super::{defaults, expand, stand_in};
use crate::document;
use crate::scenario::{Invalid, check_precision};
use expand::Expansion;

/// Reads a document whose place in the file is not known.
pub(super) fn read(document: &Value) -> Result<StudyFile, Invalid> {
    let mut document = document.clone();
    stand_in::share(&mut document);
    document::read(&document).map_err(|invalid| Invalid::new("", invalid.message))
}

/// Checks a whole document, defaults not yet taken.
pub(super) fn check(document: &Value) -> Result<(), Invalid> {
    let mut document = document.clone();
    defaults::take(&mut document);
    stand_in::take(&mut document);
    read(&document)?.check(&document)
}

/// More points than this are taken for a slip.
const MOST_POINTS: usize = 1_000_000;

impl StudyFile {
    /// Checks everything that the types do not: every point of the sweep, ties and figures.
    pub(super) fn check(&self, document: &Value) -> Result<(), Invalid> {
        check_name("name", &self.name, |c| c.is_control() || "/\\".contains(c))?;
        let few = self.repeat_at_most < 2;
        refuse_if!(few, "repeat-at-most", "must be at least 2: one replication tells nothing of chance");
        check_precision("repeat-precision", self.repeat_precision)?;
        for (name, groups) in self.workload.sets() {
            let key = format!("workload.{name}");
            check_name(&key, name, |c| !(c.is_ascii_alphanumeric() || "-_+".contains(c)))?;
            let taken = name == expand::NO_WORKLOAD;
            refuse_if!(taken, key, "the name is taken: in the axis workload, \"none\" is the scenario without any");
            for (i, group) in groups.iter().enumerate() {
                let checked = group.check().and_then(|()| group.check_on(&self.path, self.duration));
                checked.map_err(|invalid| invalid.under(&format!("{key}.{i}")))?;
            }
        }
        let expansion = Expansion::new(self, document)?;
        let repeat = self.repeat.most(self.repeat_at_most);
        let many = expansion.len().saturating_mul(repeat as usize) > MOST_POINTS;
        refuse_if!(many, "sweep", "the axes and {repeat} replications make more than {MOST_POINTS} points");
        expansion.check()?;
        self.goals
            .iter()
            .enumerate()
            .try_for_each(|(i, goal)| goal.check().map_err(|invalid| invalid.under(&format!("goals.{i}"))))?;
        self.figures.iter().enumerate().try_for_each(|(i, figure)| {
            if figure.kind == FigureKind::Sawtooth
                && !self.record.series
                && !expansion.names().contains(&"record.series")
            {
                let message = "a sawtooth is drawn from the series; set series = true under [record]";
                return Err(Invalid::new(format!("figures.{i}.kind"), message));
            }
            check_figure(figure, &expansion).map_err(|invalid| invalid.under(&format!("figures.{i}")))
        })
    }
}

/// Refuses names that cannot be file names, or hold a character that is not wanted.
fn check_name(key: &str, name: &str, refused: impl Fn(char) -> bool) -> Result<(), Invalid> {
    if name.is_empty() || name.len() > 100 || name == "." || name == ".." {
        return Err(Invalid::new(key, format!("{} is not a name; write 1 to 100 characters", quoted(name))));
    }
    match name.chars().find(|c| refused(*c)) {
        Some(c) => Err(Invalid::new(key, format!("{} is not a name: it has {c:?} in it", quoted(name)))),
        None => Ok(()),
    }
}

/// Checks that a figure's axes and labels exist.
fn check_figure(figure: &Figure, expansion: &Expansion<'_>) -> Result<(), Invalid> {
    let no_axis = |name: &str| expand::no_axis(name, &expansion.names());
    if figure.value.is_empty() && !matches!(figure.kind, FigureKind::Sawtooth | FigureKind::Responsiveness) {
        return Err(Invalid::new("value", "must name a value of the results, as in \"links.up.loss\""));
    }
    for (key, axis) in [("x", &figure.x), ("y", &figure.y)] {
        match axis {
            Some(axis) if expansion.axis(axis).is_none() && !(figure.kind == FigureKind::Scatter && key == "x") => {
                return Err(Invalid::new(key, no_axis(axis)));
            }
            None if matches!(figure.kind, FigureKind::Heatmap | FigureKind::Matrix) => {
                let kind = if figure.kind == FigureKind::Heatmap { "heatmap" } else { "matrix" };
                let message = format!("is missing: a {kind} has an axis across (x) and one down (y)");
                return Err(Invalid::new(key, message));
            }
            _ => {}
        }
    }
    for (axis, labels) in &figure.only {
        let key = format!("only.{axis}");
        let known = expansion.axis(axis).ok_or_else(|| Invalid::new(&key, no_axis(axis)))?;
        if let Some(i) = labels.iter().position(|label| !known.contains(label)) {
            let message = format!("{} is not a label of the axis; it has {}", quoted(&labels[i]), known.join(", "));
            return Err(Invalid::new(format!("{key}.{i}"), message));
        }
    }
    for (axis, label) in &figure.solo {
        let key = format!("solo.{axis}");
        let known = expansion.axis(axis).ok_or_else(|| Invalid::new(&key, no_axis(axis)))?;
        if !known.contains(label) {
            let message = format!("{} is not a label of the axis; it has {}", quoted(label), known.join(", "));
            return Err(Invalid::new(key, message));
        }
    }
    let missing =
        figure.published.is_none() && (figure.published_column.is_some() || !figure.published_where.is_empty());
    refuse_if!(missing, "published", "is missing: which table do the other published- keys speak of?");
    Ok(())
}
