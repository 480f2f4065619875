//! Addresses of both versions of IP as one number.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address (mapped) or an IPv6 address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u128);

impl Address {
    #[inline(always)]
    pub(crate) fn v4(bytes: &[u8]) -> Self {
        Self(0xffff_0000_0000 | u128::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
    }
    #[inline]
    pub(crate) fn v6(bytes: &[u8]) -> Self {
        let mut all = [0; 16];
        all.copy_from_slice(&bytes[..16]);
        Self(u128::from_be_bytes(all))
    }
    /// Whether it is an IPv4 address.
    pub fn is_v4(self) -> bool {
        self.0 >> 32 == 0xffff
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self(v4.to_ipv6_mapped().to_bits()),
            IpAddr::V6(v6) => Self(v6.to_bits()),
        }
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        if address.is_v4() {
            Ipv4Addr::from_bits(address.0 as u32).into()
        } else {
            Ipv6Addr::from_bits(address.0).into()
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IpAddr::from(*self).fmt(f)
    }
}
