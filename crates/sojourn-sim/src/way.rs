//! The two ends of a connection, and the two ways between them.

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// The client's.
    Client,
    /// The server's.
    Server,
}

impl End {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Which of the two links: towards the clients or towards the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// From servers to clients.
    Down,
    /// From clients to servers.
    Up,
}

impl Way {
    /// Both, in the order of their codes.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// The other one.
    pub fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// The end that sends.
    pub fn source(self) -> End {
        match self {
            Self::Down => End::Server,
            Self::Up => End::Client,
        }
    }

    /// The end that receives.
    pub fn destination(self) -> End {
        self.source().other()
    }
}
