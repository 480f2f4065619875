//! What packets are read from and written to: a descriptor that gives one packet at a time, and when each was sent.

use nix::errno::Errno;
use sojourn_net::Time;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the `struct virtio_net_hdr` in front of each packet.
pub const VNET_HEADER: usize = 10;

/// When the packets of a device were handed over by their sender, in the order in which they are read.
pub trait Stamps: Send {
    /// The stamp of the packet read next, of so many bytes; `None` if it is not known.
    fn next(&mut self, length: usize) -> Option<Time>;
    /// Packets whose stamp was not found.
    fn missed(&self) -> u64;
}

/// A device: a TUN interface, or one end of a socket pair in tests.
pub struct Device {
    fd: OwnedFd,
    /// Each packet has a `virtio_net_hdr` in front.
    has_header: bool,
    /// The host joins packets that it receives together.
    joins: bool,
    stamps: Option<Box<dyn Stamps>>,
}

impl Device {
    /// A device that does not block.
    pub fn new(fd: OwnedFd, has_header: bool, stamps: Option<Box<dyn Stamps>>) -> Self {
        Self { fd, has_header, joins: false, stamps }
    }

    /// Whether the host joins packets that it receives together, so that they may be joined for it.
    pub fn joining(self, on: bool) -> Self {
        Self { joins: on && self.has_header, ..self }
    }

    /// Whether packets that are due together may be written as one super-packet.
    #[inline]
    pub fn joins(&self) -> bool {
        self.joins
    }

    /// Whether the times of packets come from the kernel.
    pub fn is_stamped(&self) -> bool {
        self.stamps.is_some()
    }

    /// Packets without a stamp although there are stamps.
    pub fn unstamped(&self) -> u64 {
        self.stamps.as_ref().map_or(0, |stamps| stamps.missed())
    }

    /// The descriptor, to wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads one packet into `buffer`: its header in front (zeros if the device has none), then the packet. Returns the
    /// length of the packet; `None` if none is there.
    ///
    /// # Errors
    /// The device is gone.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let from = if self.has_header { 0 } else { VNET_HEADER };
        buffer[..VNET_HEADER].fill(0);
        match nix::unistd::read(&self.fd, &mut buffer[from..]) {
            Ok(read) => Ok(Some((from + read).saturating_sub(VNET_HEADER))),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// When the packet that was just read was sent.
    #[inline]
    pub fn stamp(&mut self, length: usize) -> Option<Time> {
        self.stamps.as_mut()?.next(length)
    }

    /// Writes a packet with its header in front; false if the device did not take it.
    #[inline]
    pub fn write(&self, bytes: &[u8]) -> bool {
        let bytes = if self.has_header { bytes } else { &bytes[VNET_HEADER..] };
        nix::unistd::write(&self.fd, bytes) == Ok(bytes.len())
    }
}
