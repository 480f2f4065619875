//! Distributions of sizes and times, as study files write them: `{ kind = "weibull", shape = 0.35, scale = "10039B" }`.
//!
//! Draws invert the distribution function (the normal uses Box and Muller) with `libm`. The crate `rand_distr` is not
//! used: its mathematics goes through `num-traits`, which silently turns to the platform's library when any other crate
//! of the build enables `num-traits/std`, and platforms differ in the last digit.

use std::f64::consts::TAU;
use std::fmt;
use std::marker::PhantomData;

use rand::{Rng, RngExt};
use schemars::{JsonSchema, Schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_net::{Bytes, Span};

/// What a distribution can be of: sizes and times.
pub trait Quantity: Copy + fmt::Display + std::str::FromStr<Err: fmt::Display> {
    /// The value in its base unit (bytes, nanoseconds).
    fn to_base(self) -> f64;
    /// The nearest value to so many base units; a size is at least one byte.
    fn from_base(value: f64) -> Self;
}

impl Quantity for Bytes {
    fn to_base(self) -> f64 {
        self.0 as f64
    }
    fn from_base(value: f64) -> Self {
        Self((value + 0.5).max(1.0) as u64)
    }
}

impl Quantity for Span {
    fn to_base(self) -> f64 {
        self.0 as f64
    }
    fn from_base(value: f64) -> Self {
        Self((value + 0.5).max(0.0) as u64)
    }
}

/// A distribution of sizes or times. A plain value (`"1500B"`, `"2s"`) is the fixed one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    remote = "Self",
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[schemars(rename = "{T}Distribution", transform = or_plain_value)]
pub enum Distribution<T> {
    /// Always the same value.
    Fixed {
        /// The value.
        value: T,
    },
    /// Exponential: P(X > x) = exp(−x / mean).
    Exponential {
        /// The mean.
        mean: T,
    },
    /// Pareto: P(X > x) = (scale / x)^shape from `scale` on. Give `scale`, or `mean` if shape > 1.
    Pareto {
        /// Tail index α.
        shape: f64,
        /// The least value.
        scale: Option<T>,
        /// The mean, scale × shape / (shape − 1).
        mean: Option<T>,
    },
    /// Weibull: P(X > x) = exp(−(x / scale)^shape). Give `scale` or `mean`.
    Weibull {
        /// Shape k.
        shape: f64,
        /// Scale λ.
        scale: Option<T>,
        /// The mean, scale × Γ(1 + 1/shape).
        mean: Option<T>,
    },
    /// Log-normal: ln X is normal with standard deviation `sigma`. Give `median` or `mean`.
    LogNormal {
        /// Standard deviation of ln X.
        sigma: f64,
        /// The median, exp μ.
        median: Option<T>,
        /// The mean, median × exp(sigma² / 2).
        mean: Option<T>,
    },
    /// Uniform between two values.
    Uniform {
        /// The least value.
        low: T,
        /// The greatest value.
        high: T,
    },
}

/// Adds the plain value (the fixed distribution) to the forms that the JSON Schema accepts.
fn or_plain_value(schema: &mut Schema) {
    if let Some(serde_json::Value::Array(forms)) = schema.get_mut("oneOf") {
        forms.push(serde_json::json!({ "type": "string", "description": "Always this value." }));
    }
}

impl<T: Quantity> Distribution<T> {
    /// Draws one value in base units (bytes, nanoseconds), unrounded.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        // In (0, 1], so that its logarithm is finite.
        let mut u = || 1.0 - rng.random::<f64>();
        let scale = self.scale();
        match self {
            Self::Fixed { .. } => scale,
            Self::Exponential { .. } => -scale * libm::log(u()),
            Self::Pareto { shape, .. } => scale * libm::pow(u(), -1.0 / shape),
            Self::Weibull { shape, .. } => scale * libm::pow(-libm::log(u()), 1.0 / shape),
            Self::LogNormal { sigma, .. } => {
                let normal = libm::sqrt(-2.0 * libm::log(u())) * libm::cos(TAU * u());
                scale * libm::exp(sigma * normal)
            }
            Self::Uniform { high, .. } => scale + (high.to_base() - scale) * (1.0 - u()),
        }
    }

    /// Draws one value, rounded to its base unit.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> T {
        T::from_base(self.sample(rng))
    }

    /// The mean in base units; infinite for a Pareto of shape 1 or less.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Uniform { low, high } => (low.to_base() + high.to_base()) / 2.0,
            _ => self.scale() * self.mean_per_scale(),
        }
    }

    /// The median in base units.
    pub fn median(&self) -> f64 {
        let ln2 = std::f64::consts::LN_2;
        let scale = self.scale();
        match self {
            Self::Fixed { .. } | Self::LogNormal { .. } => scale,
            Self::Exponential { .. } => scale * ln2,
            Self::Pareto { shape, .. } => scale * libm::pow(2.0, 1.0 / shape),
            Self::Weibull { shape, .. } => scale * libm::pow(ln2, 1.0 / shape),
            Self::Uniform { high, .. } => (scale + high.to_base()) / 2.0,
        }
    }

    /// The parameter that scales the distribution (least value, λ, median, …) in base units.
    fn scale(&self) -> f64 {
        let base = |value: &Option<T>| value.map(Quantity::to_base);
        let (given, mean) = match self {
            Self::Fixed { value } => return value.to_base(),
            Self::Exponential { mean } => return mean.to_base(),
            Self::Uniform { low, .. } => return low.to_base(),
            Self::Pareto { scale, mean, .. } | Self::Weibull { scale, mean, .. } => (base(scale), base(mean)),
            Self::LogNormal { median, mean, .. } => (base(median), base(mean)),
        };
        given.unwrap_or_else(|| mean.unwrap_or(0.0) / self.mean_per_scale())
    }

    /// Mean over scale, which depends on the shape only.
    fn mean_per_scale(&self) -> f64 {
        match self {
            Self::Fixed { .. } | Self::Exponential { .. } | Self::Uniform { .. } => 1.0,
            Self::Pareto { shape, .. } if *shape > 1.0 => shape / (shape - 1.0),
            Self::Pareto { .. } => f64::INFINITY,
            Self::Weibull { shape, .. } => libm::tgamma(1.0 + 1.0 / shape),
            Self::LogNormal { sigma, .. } => libm::exp(sigma * sigma / 2.0),
        }
    }

    /// Says what is wrong with the parameters, if anything.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, value: f64| match value > 0.0 && value < 1e3 {
            true => Ok(()),
            false => Err(format!("{name} is {value}; it must be above 0 and below 1000")),
        };
        let one_of = |name: &str, given: &Option<T>, mean: &Option<T>| match (given, mean) {
            (Some(_), Some(_)) => Err(format!("give {name} or mean, not both")),
            (None, None) => Err(format!("{name} or mean is missing")),
            _ => Ok(()),
        };
        match self {
            Self::Fixed { .. } | Self::Exponential { .. } => {}
            Self::Pareto { shape, scale, mean } | Self::Weibull { shape, scale, mean } => {
                positive("shape", *shape)?;
                one_of("scale", scale, mean)?;
                if matches!(self, Self::Pareto { .. }) && mean.is_some() && *shape <= 1.0 {
                    return Err(format!(
                        "a Pareto of shape {shape} has no finite mean; give scale, or a shape above 1"
                    ));
                }
            }
            Self::LogNormal { sigma, median, mean } => {
                positive("sigma", *sigma)?;
                one_of("median", median, mean)?;
            }
            Self::Uniform { low, high } => {
                if low.to_base() > high.to_base() {
                    return Err(format!("low is {low} and high is {high}; low must not be above high"));
                }
            }
        }
        let median = self.median();
        if median > 0.0 && median.is_finite() { Ok(()) } else { Err("its values must be above zero".to_owned()) }
    }
}

impl<T: Serialize> Serialize for Distribution<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de, T: Quantity + Deserialize<'de>> Deserialize<'de> for Distribution<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueOrTable<T>(PhantomData<T>);
        impl<'de, T: Quantity + Deserialize<'de>> Visitor<'de> for ValueOrTable<T> {
            type Value = Distribution<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value such as \"1500B\", or a distribution such as { kind = \"exponential\", mean = … }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let fixed = text.parse().map(|value| Distribution::Fixed { value }).map_err(E::custom)?;
                fixed.check().map_err(E::custom)?;
                Ok(fixed)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let distribution = Distribution::deserialize(MapAccessDeserializer::new(map))?;
                distribution.check().map_err(serde::de::Error::custom)?;
                Ok(distribution)
            }
        }
        deserializer.deserialize_any(ValueOrTable(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    fn sizes(text: &str) -> Result<Distribution<Bytes>, String> {
        #[derive(Deserialize)]
        struct Document {
            sizes: Distribution<Bytes>,
        }
        toml::from_str::<Document>(&format!("sizes = {text}"))
            .map(|document| document.sizes)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn the_imc14_file_sizes_have_the_published_moments() {
        let weibull = sizes("{ kind = 'weibull', shape = 0.35, scale = '10039B' }").unwrap();
        assert_eq!(weibull.mean().round(), 50_488.0);
        assert_eq!(weibull.median().round(), 3_523.0);
    }

    #[test]
    fn a_pareto_of_mean_110_kb_starts_where_it_should() {
        for (shape, least) in [(1.2, 18_333.0), (1.5, 36_667.0), (2.0, 55_000.0)] {
            let pareto = sizes(&format!("{{ kind = 'pareto', shape = {shape}, mean = '110kB' }}")).unwrap();
            assert_eq!(pareto.scale().round(), least);
            assert!((pareto.mean() - 110_000.0).abs() < 1e-6);
        }
    }

    #[test]
    fn draws_have_the_stated_mean_and_median() {
        for text in [
            "'1500B'",
            "{ kind = 'exponential', mean = '9kB' }",
            "{ kind = 'pareto', shape = 4.5, scale = '1500B' }",
            "{ kind = 'weibull', shape = 0.8, mean = '50kB' }",
            "{ kind = 'log-normal', median = '30kB', sigma = 0.5 }",
            "{ kind = 'uniform', low = '100B', high = '900B' }",
        ] {
            let distribution = sizes(text).unwrap();
            let mut rng = stream(1, 0, text);
            let mut draws: Vec<f64> = (0..100_000).map(|_| distribution.sample(&mut rng)).collect();
            draws.sort_by(f64::total_cmp);
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert!((mean / distribution.mean() - 1.0).abs() < 0.02, "{text}: mean {mean}");
            let median = draws[draws.len() / 2];
            assert!((median / distribution.median() - 1.0).abs() < 0.02, "{text}: median {median}");
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        let wrong = |text| sizes(text).unwrap_err();
        assert!(wrong("{ kind = 'weibull', shape = 0.35 }").contains("scale or mean is missing"));
        assert!(wrong("{ kind = 'pareto', shape = 1, mean = '9kB' }").contains("no finite mean"));
        assert!(wrong("{ kind = 'exponential', mean = '0B' }").contains("above zero"));
        assert!(wrong("'0B'").contains("above zero"));
        assert!(wrong("{ kind = 'weibull', shape = nan, scale = '1kB' }").contains("shape is NaN"));
        assert!(wrong("{ kind = 'gamma' }").contains("unknown variant `gamma`"));
        assert!(wrong("'1500b'").contains("is not a size"));
    }

    #[test]
    fn the_canonical_form_reads_back() {
        for text in ["'1500B'", "{ kind = 'pareto', shape = 1.2, mean = '110kB' }"] {
            let distribution = sizes(text).unwrap();
            let json = serde_json::to_string(&distribution).unwrap();
            assert_eq!(serde_json::from_str::<Distribution<Bytes>>(&json).unwrap(), distribution, "{json}");
        }
    }
}
