//! Interrupts of the process that started the emulator: whose they are.
//!
//! An interrupt of the terminal reaches the command as well, which decides what comes of it. One that a process sends
//! reaches this one alone; it ends the run as TERM does. Only the kernel knows which it is, and says so to a handler of
//! its own kind (as `sudo` has one).

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The process that is told to end; 0 as long as there is none.
static WHOM: AtomicI32 = AtomicI32::new(0);
/// One came before.
static EARLY: AtomicBool = AtomicBool::new(false);

extern "C" fn heard(_: libc::c_int, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over what it knows of the signal, which is there as long as this runs.
    let code = unsafe { (*about).si_code };
    // SI_USER and its kin; the terminal's is SI_KERNEL.
    if code <= 0 {
        match WHOM.load(Ordering::SeqCst) {
            0 => EARLY.store(true, Ordering::SeqCst),
            whom => end(whom),
        }
    }
}

fn end(whom: i32) {
    let before = Errno::last_raw();
    // SAFETY: sends a signal, which a handler may do.
    unsafe { libc::kill(whom, libc::SIGTERM) };
    Errno::set_raw(before);
}

/// Waits for interrupts that processes send.
///
/// # Errors
/// The kernel refuses.
pub fn listen() -> io::Result<()> {
    WHOM.store(0, Ordering::SeqCst);
    EARLY.store(false, Ordering::SeqCst);
    let action = SigAction::new(SigHandler::SigAction(heard), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: the handler reads two numbers and sends a signal.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// Says which process they end, those that have come included.
pub fn end_on_interrupt(whom: i32) {
    WHOM.store(whom, Ordering::SeqCst);
    if EARLY.swap(false, Ordering::SeqCst) {
        end(whom);
    }
}
