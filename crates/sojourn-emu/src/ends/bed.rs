//! Two hosts that do not exist: a network namespace each, with a TUN interface whose other side is the emulator.
//!
//! All of it hangs on descriptors of this process. When it ends, however that comes about, the kernel takes namespaces,
//! interfaces, addresses and routes away.

use crate::Trouble;
use crate::device::{Device, Stamps};
use crate::ends::probe::open_prober;
use crate::linux::bpf::KernelStamps;
use crate::linux::namespace;
use crate::linux::netlink::{RouteMetrics, Routing};
use crate::linux::processor;
use crate::linux::tun::{open_tun, set_offload, set_receive_offload};
use crate::setup::{Addresses, Setup};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Packets that an interface's ring holds. The kernel drops what does not fit, which must never happen.
const RING: u32 = 20_000;

/// One end: its network, its addresses, and its interface.
pub struct End {
    /// Its network namespace.
    pub network: OwnedFd,
    /// The name of its interface.
    pub interface: String,
    /// Its addresses.
    pub addresses: Addresses,
    /// What packets are read from and written to.
    pub device: Option<Device>,
}

/// What this process may do, which decides how well it can keep time.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    /// It needed a user namespace of its own.
    pub rootless: bool,
    /// Work of the receiving hosts, the client and the server, is done by threads of the kernel.
    pub threaded_napi: [bool; 2],
    /// Why there are no stamps of the kernel.
    pub no_stamps: Option<String>,
}

/// Both ends.
pub struct Bed {
    /// The client's, and the server's.
    pub ends: [End; 2],
    /// A socket for probes in the client's network.
    pub prober: Option<OwnedFd>,
    /// What was allowed.
    pub rights: Rights,
}

fn because<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> Result<T, Trouble> {
    result.map_err(|error| format!("{what}: {error}"))
}

impl Bed {
    /// Makes both ends. This process must have one thread. `epoch`: what the clock shows at time zero.
    ///
    /// # Errors
    /// A sentence: what the system does not allow, and what would help.
    pub fn make(setup: &Setup, epoch: &Arc<AtomicU64>) -> Result<Self, Trouble> {
        let mut rights = Rights::default();
        let home = because(namespace::network(), "the network of this process cannot be opened")?;
        let first = match namespace::new_network() {
            Ok(network) => network,
            Err(_) if setup.host => {
                return Err("the network of this machine as the other end needs root; \
                            as an ordinary user, give what runs at the other end with --server"
                    .to_owned());
            }
            Err(_) => {
                rights.rootless = true;
                namespace::new_user(setup.caller, (0, 0)).map_err(|error| {
                    format!(
                        "a network of one's own needs root or a user namespace, which this system refuses ({error}); \
                         see user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns, or run as root"
                    )
                })?;
                because(namespace::new_network(), "a network namespace cannot be made")?
            }
        };
        // Only to reach the settings of interfaces in /sys.
        let maker = Maker { setup, epoch, sees_sys: namespace::private_mounts().is_ok() };
        let number = if setup.host { own_number(&home, &first)? } else { 0 };
        let addresses = [1, 2].map(|end| Addresses::of(number, end));
        let client = maker.end(first, "t0", addresses)?;
        let prober = open_prober().ok();
        let second = if setup.host {
            because(namespace::enter(&home), "the network of this machine cannot be entered")?;
            home
        } else {
            because(namespace::new_network(), "a second network namespace cannot be made")?
        };
        let name = if setup.host { "sojourn%d" } else { "t0" };
        let [client_address, server_address] = addresses;
        let server = maker.end(second, name, [server_address, client_address])?;
        rights.threaded_napi = [client.threaded_napi, server.threaded_napi];
        rights.no_stamps = server.no_stamps.or(client.no_stamps);
        Ok(Self { ends: [client.end, server.end], prober, rights })
    }

    /// Packets that the interfaces have dropped: those that they were given, and those that they were to hand over.
    pub fn dropped(&self) -> [u64; 2] {
        let mut all = [0, 0];
        for end in &self.ends {
            let found = namespace::enter(&end.network).ok().and_then(|()| namespace::dropped(&end.interface));
            let [given, taken] = found.unwrap_or_default();
            all = [all[0] + given, all[1] + taken];
        }
        all
    }
}

/// A number that no other bed in the network of this machine has: that of an interface there.
fn own_number(home: &OwnedFd, back: &OwnedFd) -> Result<u32, Trouble> {
    because(namespace::enter(home), "the network of this machine cannot be entered")?;
    let (held, name) = because(open_tun("sojourn%d"), "an interface cannot be made in the network of this machine")?;
    let index = because(Routing::index(&name), "the interface has no number")?;
    drop(held);
    because(namespace::enter(back), "the client's network cannot be entered")?;
    Ok(index)
}

/// What both ends are made from.
struct Maker<'a> {
    setup: &'a Setup,
    epoch: &'a Arc<AtomicU64>,
    /// Settings of interfaces in /sys may be reached.
    sees_sys: bool,
}

/// One end, and what was allowed there.
struct Made {
    end: End,
    threaded_napi: bool,
    no_stamps: Option<String>,
}

impl Maker<'_> {
    /// Makes one end in the network namespace that this thread is in. `addresses`: its own, and the other's.
    fn end(&self, network: OwnedFd, name: &str, addresses: [Addresses; 2]) -> Result<Made, Trouble> {
        let setup = self.setup;
        let (tun, interface) = open_tun(name).map_err(|error| {
            format!(
                "/dev/net/tun cannot be used ({error}): it must be there, readable and writable to whoever calls (or \
                 run as root); in Docker, give --device /dev/net/tun --cap-add NET_ADMIN"
            )
        })?;
        because(set_offload(&tun, setup.offload), "super-packets cannot be set")?;
        because(set_receive_offload(&interface, setup.offload), "joining of received packets cannot be set")?;
        // Before the interface is up, so that its first packet has the first stamp.
        let (stamps, no_stamps) = match KernelStamps::attach(tun.as_fd(), Arc::clone(self.epoch)) {
            Ok(stamps) => (Some(Box::new(stamps) as Box<dyn Stamps>), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let is_home = interface != "t0";
        variables(setup, &interface, is_home)?;
        let routing = because(Routing::open(), "the routing socket cannot be opened")?;
        let index = because(Routing::index(&interface), "the interface has no number")?;
        if !is_home {
            let _ = routing.up(1, None);
        }
        because(routing.up(index, Some((setup.mtu, RING))), &format!("an MTU of {} cannot be set", setup.mtu))?;
        self.address(&routing, index, addresses, is_home)?;
        let threaded_napi = self.thread_napi(&interface);
        let device = Some(Device::new(tun, true, stamps).joining(setup.offload));
        let end = End { network, interface, addresses: addresses[0], device };
        Ok(Made { end, threaded_napi, no_stamps })
    }

    /// Gives an interface its addresses, and routes to those of the other end.
    fn address(
        &self,
        routing: &Routing,
        index: u32,
        [own, other]: [Addresses; 2],
        is_home: bool,
    ) -> Result<(), Trouble> {
        let setup = self.setup;
        let set = |own| because(routing.address(index, own), &format!("the address {own} cannot be set"));
        let metrics = RouteMetrics { congestion: setup.congestion.clone(), ..RouteMetrics::default() };
        let has_v6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
        let addresses = own.within(setup.mtu).zip(other.within(setup.mtu));
        for (own, other) in addresses.filter(|(own, _)| own.is_ipv4() || has_v6) {
            set(own)?;
            let refused = |error: io::Error| match &metrics.congestion {
                Some(name) if error.kind() != io::ErrorKind::PermissionDenied => {
                    let known = namespace::variable("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
                    format!("the kernel does not have the congestion control {name:?} ({error}); it has {known}")
                }
                _ => format!("the route to {other} cannot be set: {error}"),
            };
            routing.route(index, other, None, false, &metrics).map_err(refused)?;
            if !is_home {
                routing.route(index, other, None, true, &metrics).map_err(refused)?;
            }
        }
        for pair in &setup.pairs {
            let [own, other] = if own.v4.octets()[3] == 1 { [1, 2] } else { [2, 1] }.map(|end| pair.address(end));
            set(own)?;
            because(
                routing.route(index, other, Some(own), false, &pair.metrics),
                &format!("the route to {other} cannot be set as {:?}", pair.metrics),
            )?;
        }
        Ok(())
    }

    /// Has threads of the kernel, which run before others, take in what an interface is given; says whether they do.
    fn thread_napi(&self, interface: &str) -> bool {
        let before = processor::napi_threads(interface);
        let threaded = self.sees_sys
            && namespace::mount_fresh("sysfs", "/sys").is_ok()
            && std::fs::write(format!("/sys/class/net/{interface}/threaded"), "1").is_ok();
        processor::napi_threads(interface).into_iter().filter(|thread| !before.contains(thread)).for_each(|thread| {
            processor::run_soon(thread);
            processor::leave_own(thread);
        });
        threaded
    }
}

/// Sets the variables of the kernel for one end.
fn variables(setup: &Setup, interface: &str, is_home: bool) -> Result<(), Trouble> {
    // No chatter of the kernel's own, and addresses that may be used at once.
    for (name, value) in [("accept_dad", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let _ = namespace::set_variable(&format!("net.ipv6.conf.{interface}.{name}"), value);
    }
    if is_home {
        return Ok(());
    }
    // What one connection learns is not told to the next, or a run would depend on the one before.
    let _ = namespace::set_variable("net.ipv4.tcp_no_metrics_save", "1");
    // Everybody may ping.
    let groups = if setup.user.is_some() { "0 2147483647" } else { "0 0" };
    let _ = namespace::set_variable("net.ipv4.ping_group_range", groups);
    for (name, value) in &setup.variables {
        because(namespace::set_variable(name, value), &format!("{name} cannot be set to {value:?}"))?;
    }
    Ok(())
}
