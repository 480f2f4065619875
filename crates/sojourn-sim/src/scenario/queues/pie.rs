//! Study keys of PIE and DualPI2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{self, DualPi2Config};
use sojourn_net::{Bytes, Limit, Span};

use super::super::Invalid;
use super::{check_gain, check_packet, check_probability, check_spans, count};

/// Declares a struct of a study file with the keys of PIE behind its own, which serde's `flatten` cannot do without giving
/// up the refusal of unknown keys.
macro_rules! with_pie_keys {
    (
        variant = $variant:literal;
        $(#[$meta:meta])* pub struct $Name:ident { $($(#[$field_meta:meta])* pub $field:ident: $Type:ty,)* }
    ) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[$field_meta])* pub $field: $Type,)*
            /// Whose PIE.
            #[serde(default = $variant)]
            pub variant: $crate::scenario::PieVariant,
            /// Queueing delay aimed at; by default 15ms (`rfc8033`, `linux`) or 20ms (`ns2_authors`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub target: Option<sojourn_net::Span>,
            /// Time between two updates of the probability; by default 15ms (`rfc8033`, `linux`) or 30ms (`ns2_authors`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub update: Option<sojourn_net::Span>,
            /// How long a burst gets in after a calm; by default 150ms (`rfc8033`, `linux`) or 100ms (`ns2_authors`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub burst: Option<sojourn_net::Span>,
            /// Gain per second of delay above the target (default 0.125); `linux` rounds to 1/16.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub alpha: Option<f64>,
            /// Gain per second of growth of the delay (default 1.25); `linux` rounds to 1/16.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub beta: Option<f64>,
            /// Mean packet size, of which two are always let in; by default 1000B, or 1514B (`linux`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mean_packet: Option<sojourn_net::Bytes>,
            /// Count the backlog as packets of `mean-packet` bytes, whatever their sizes (ns-2's packet mode; default false).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub in_packets: Option<bool>,
            /// Drop larger packets more (default false).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub by_size: Option<bool>,
            /// Keep drops from clustering and from staying away; by default true, or false (`ns2_authors`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub derandomise: Option<bool>,
            /// Where the queueing delay comes from; by default timestamps, or rate (`ns2_authors`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub delay: Option<$crate::scenario::PieDelay>,
            /// Bytes that a measurement of the departure rate takes; by default 16384B, or 10000B (`ns2_authors`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rate_threshold: Option<sojourn_net::Bytes>,
            /// Weight of the newest measurement of the departure rate; by default 0.5, or 0.125 (`linux`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rate_weight: Option<f64>,
            /// Let the probability rise by at most 2 % in an update from 10 % on (default true).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cap: Option<bool>,
            /// Do nothing until the delay is this long, and again after a calm (ns-3); PIE never sleeps if absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub active_threshold: Option<sojourn_net::Span>,
            /// Let ECT(1) and CE packets in without a test, and mark them if they waited longer than this (ns-3's L4S mode); no packet is spared if absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub l4s_threshold: Option<sojourn_net::Span>,
            /// Mark ECN-capable packets instead of dropping them (default false).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub ecn: Option<bool>,
            /// Drop them all the same from this probability on (default 0.1).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mark_p: Option<f64>,
        }

        impl $Name {
            /// The controller's settings, without limits.
            fn pie(&self) -> sojourn_net::queue::PieConfig {
                let default = sojourn_net::queue::PieConfig::of(self.variant.into());
                sojourn_net::queue::PieConfig {
                    target: self.target.unwrap_or(default.target),
                    update: self.update.unwrap_or(default.update),
                    burst: self.burst.unwrap_or(default.burst),
                    alpha: self.alpha.unwrap_or(default.alpha),
                    beta: self.beta.unwrap_or(default.beta),
                    mean_packet: self.mean_packet.map_or(default.mean_packet, super::count),
                    in_packets: self.in_packets.unwrap_or(default.in_packets),
                    by_size: self.by_size.unwrap_or(default.by_size),
                    derandomise: self.derandomise.unwrap_or(default.derandomise),
                    delay: self.delay.map_or(default.delay, Into::into),
                    rate_threshold: self.rate_threshold.map_or(default.rate_threshold, super::count),
                    rate_weight: self.rate_weight.unwrap_or(default.rate_weight),
                    cap: self.cap.unwrap_or(default.cap),
                    active_threshold: self.active_threshold,
                    l4s_threshold: self.l4s_threshold,
                    ecn: self.ecn.unwrap_or(default.ecn),
                    mark_p: self.mark_p.unwrap_or(default.mark_p),
                    ..default
                }
            }

            fn check_pie(&self) -> Result<(), $crate::scenario::Invalid> {
                super::check_packet("mean-packet", self.mean_packet)?;
                super::check_gain("alpha", self.alpha)?;
                super::check_gain("beta", self.beta)?;
                super::check_probability("rate-weight", self.rate_weight)?;
                super::check_probability("mark-p", self.mark_p)?;
                super::check_spans(&[("target", self.target)])?;
                super::check_update(self.update)
            }
        }
    };
}
pub(super) use with_pie_keys;

with_pie_keys! {
    variant = "rfc8033";
    /// PIE.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct PieSpec {
        /// How much it holds.
        pub limit: Limit,
    }
}

impl PieSpec {
    pub(super) fn settings(&self) -> queue::PieConfig {
        self.pie()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        self.check_pie()
    }
}

fn rfc8033() -> PieVariant {
    PieVariant::Rfc8033
}

/// Published PIEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieVariant {
    /// RFC 8033.
    Rfc8033,
    /// Linux `sch_pie`.
    Linux,
    /// The authors' ns-2 code of 2013.
    Ns2Authors,
}

impl From<PieVariant> for queue::PieVariant {
    fn from(variant: PieVariant) -> Self {
        match variant {
            PieVariant::Rfc8033 => Self::Rfc8033,
            PieVariant::Linux => Self::Linux,
            PieVariant::Ns2Authors => Self::Ns2Authors,
        }
    }
}

/// Where PIE's queueing delay comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PieDelay {
    /// The packets' own waiting times.
    Timestamps,
    /// The backlog divided by a measured departure rate.
    Rate,
}

impl From<PieDelay> for queue::PieDelay {
    fn from(delay: PieDelay) -> Self {
        match delay {
            PieDelay::Timestamps => Self::Timestamps,
            PieDelay::Rate => Self::DepartureRate,
        }
    }
}

/// DualPI2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct DualPi2Spec {
    /// How much both queues hold together.
    pub limit: Limit,
    /// Queueing delay aimed at in the classic queue.
    pub target: Span,
    /// Time between two updates of the controller.
    pub update: Span,
    /// Gain per second of delay above the target.
    pub alpha: f64,
    /// Gain per second of growth of the delay.
    pub beta: f64,
    /// Coupling factor: L4S packets are marked with so many times the probability whose square classic packets see.
    pub coupling: f64,
    /// L4S packets that have waited longer are marked …
    pub step: Span,
    /// … if they found so many packets in their queue: 1 in RFC 9332, 0 in Linux.
    pub min_qlen_step: u32,
    /// Share of the link that the round robin leaves to the classic queue.
    pub classic_share: f64,
    /// Largest packet: nothing is dropped or marked by the controller while less than two of them wait.
    pub mtu: Bytes,
}

impl Default for DualPi2Spec {
    fn default() -> Self {
        let DualPi2Config {
            max_packets,
            max_bytes: _,
            target,
            update,
            alpha,
            beta,
            coupling,
            step,
            min_qlen_step,
            classic_share,
            mtu,
        } = DualPi2Config::default();
        let (limit, mtu) = (Limit::Packets(max_packets), Bytes(u64::from(mtu)));
        Self { limit, target, update, alpha, beta, coupling, step, min_qlen_step, classic_share, mtu }
    }
}

impl DualPi2Spec {
    pub(super) fn settings(&self) -> DualPi2Config {
        let Self { limit: _, target, update, alpha, beta, coupling, step, min_qlen_step, classic_share, mtu } = *self;
        let mtu = count(mtu);
        let default = DualPi2Config::default();
        DualPi2Config { target, update, alpha, beta, coupling, step, min_qlen_step, classic_share, mtu, ..default }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_spans(&[("target", Some(self.target))])?;
        super::check_update(Some(self.update))?;
        for (key, gain) in [("alpha", self.alpha), ("beta", self.beta), ("coupling", self.coupling)] {
            check_gain(key, Some(gain))?;
        }
        check_probability("classic-share", Some(self.classic_share))?;
        check_packet("mtu", Some(self.mtu))
    }
}
