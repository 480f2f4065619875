//! The two ends of a connection, and the two directions between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Which way data goes, seen from the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Direction {
    /// From clients to servers.
    Up = 1,
    /// From servers to clients.
    Down = 0,
}

impl Direction {
    /// Both, in the order of their codes (packet log, tables).
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// Its name, as study files and results write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }

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
