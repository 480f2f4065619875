//! From the bytes of a frame to what the estimators need of it. Nothing here allocates; bytes that were cut off by the
//! snap length are not an error as long as the headers are there.
//!
//! The common way is inlined into one function: handing packets up from layer to layer costs as much as reading them.

mod address;
mod bytes;
pub(crate) mod glance;
mod ip;
pub(crate) mod link;
mod packet;
pub mod quic;
mod skip;
pub mod tcp;
pub mod utp;

pub use address::Address;
pub use link::NAMES as LINK_TYPES;
pub use packet::{Packet, Transport};
pub use skip::Skip;

/// Decode a frame of a link type. `wire_len` is its length before it was cut.
///
/// # Errors
/// The reason why it is of no use.
#[inline(always)]
pub fn decode(link: u16, data: &[u8], wire_len: u32) -> Result<Packet<'_>, Skip> {
    let (kind, at) = link::network(link, data)?;
    let rest = &data[at..];
    let wire_len = wire_len.saturating_sub(at as u32);
    match kind {
        link::Network::V4 => ip::v4(rest, wire_len),
        link::Network::V6 => ip::v6(rest, wire_len),
        link::Network::ByVersion => match rest.first().ok_or(Skip::CutShort)? >> 4 {
            4 => ip::v4(rest, wire_len),
            6 => ip::v6(rest, wire_len),
            _ => Err(Skip::NotIp),
        },
    }
}
