//! What the kernel is asked for: interfaces, stamps, routes, namespaces and rights.

pub mod bpf;
pub mod namespace;
pub mod netlink;
pub mod processor;
pub mod tun;
