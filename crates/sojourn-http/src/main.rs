//! A server of HTTP/1.1, HTTP/2 or HTTP/3 for the testbed: what a folder has, as several hosts, each at a port of its
//! own.
//!
//! `sojourn-http FOLDER` reads `FOLDER/served.json` ([`Served`]), `certificate.pem` and `key.pem`, prints `ready`, and
//! answers until it is ended. TLS 1.3 is rustls', always in full, half a millisecond a handshake. One thread does it
//! all: with several, a stream whose turn had come could be overtaken by the frame of the next.

mod answers;
mod over_quic;
mod over_tcp;
mod turns;

use answers::{Answers, Failed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::Arc;

/// What is served, and how.
#[derive(Deserialize)]
struct Served {
    #[serde(flatten)]
    over: Over,
    /// By path: header fields, and the file of the content.
    answers: BTreeMap<String, (Vec<(String, String)>, String)>,
}

#[derive(Deserialize)]
#[serde(tag = "http")]
enum Over {
    #[serde(rename = "1.1")]
    Http1 { listening: Vec<RawFd> },
    #[serde(rename = "2")]
    Http2 { listening: Vec<RawFd> },
    #[serde(rename = "3")]
    Http3 { address: IpAddr, ports: Vec<u16>, controller: over_quic::Controller, initial_window: u64 },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    let folder = Path::new(&folder);
    let served: Served = serde_json::from_slice(&std::fs::read(folder.join("served.json"))?)?;
    let mut answers = Answers::new();
    for (path, (fields, file)) in served.answers {
        answers.insert(path, (fields, std::fs::read(folder.join(file))?.into()));
    }
    let answers = Arc::new(answers);
    match served.over {
        Over::Http1 { listening } => over_tcp::listen(listening, tls(folder, b"http/1.1")?, &answers)?,
        Over::Http2 { listening } => over_tcp::listen(listening, tls(folder, b"h2")?, &answers)?,
        Over::Http3 { address, ports, controller, initial_window } => {
            let config = over_quic::config(tls(folder, b"h3")?, controller, initial_window)?;
            over_quic::listen(address, &ports, &config, &answers)?;
        }
    }
    println!("ready");
    std::future::pending().await
}

fn tls(folder: &Path, protocol: &[u8]) -> Result<rustls::ServerConfig, Failed> {
    let chain = CertificateDer::pem_file_iter(folder.join("certificate.pem"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![protocol.to_vec()];
    Ok(tls)
}
