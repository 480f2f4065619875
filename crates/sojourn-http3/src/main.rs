//! A server of HTTP/3 for the testbed: what a folder has, at several ports.
//!
//! `sojourn-http3 FOLDER` reads `FOLDER/served.json` ([`Served`]), `certificate.pem` and `key.pem`, listens, prints
//! `ready`, and answers until it is ended. QUIC is quinn's (RFC 9000, RFC 9002): CUBIC after RFC 8312 or NewReno, the
//! initial window that is asked for, paced at 5/4 of a window a round trip, packets as long as path MTU discovery finds
//! (1452 bytes at most). Streams of a connection are sent in turn: the library for HTTP/3 hands no priorities on.

use bytes::Bytes;
use h3::server::RequestResolver;
use http::{Response, StatusCode};
use quinn::congestion::{CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig, TransportConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

type Failed = Box<dyn Error + Send + Sync>;

/// What is served, and how.
#[derive(Deserialize)]
struct Served {
    address: IpAddr,
    ports: Vec<u16>,
    controller: Controller,
    /// Bytes.
    initial_window: u64,
    /// By path: header fields, and the file of the content.
    answers: HashMap<String, (Vec<(String, String)>, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Controller {
    Cubic,
    Reno,
}

type Answers = HashMap<String, (Vec<(String, String)>, Bytes)>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    let folder = Path::new(&folder);
    let served: Served = serde_json::from_slice(&std::fs::read(folder.join("served.json"))?)?;
    let config = config(folder, &served)?;
    let mut answers = Answers::new();
    for (path, (fields, file)) in served.answers {
        answers.insert(path, (fields, std::fs::read(folder.join(file))?.into()));
    }
    let answers = Arc::new(answers);
    for port in served.ports {
        let endpoint = Endpoint::server(config.clone(), SocketAddr::new(served.address, port))?;
        let answers = Arc::clone(&answers);
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                let answers = Arc::clone(&answers);
                // A connection that fails is the client's to report.
                tokio::spawn(async move { connection(incoming, answers).await.ok() });
            }
        });
    }
    println!("ready");
    std::future::pending().await
}

fn config(folder: &Path, served: &Served) -> Result<ServerConfig, Failed> {
    let chain = CertificateDer::pem_file_iter(folder.join("certificate.pem"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    match served.controller {
        Controller::Cubic => {
            let mut cubic = CubicConfig::default();
            cubic.initial_window(served.initial_window);
            transport.congestion_controller_factory(Arc::new(cubic));
        }
        Controller::Reno => {
            let mut reno = NewRenoConfig::default();
            reno.initial_window(served.initial_window);
            transport.congestion_controller_factory(Arc::new(reno));
        }
    }
    config.transport_config(Arc::new(transport));
    Ok(config)
}

async fn connection(incoming: Incoming, answers: Arc<Answers>) -> Result<(), Failed> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::builder().send_grease(false).build(connection).await?;
    while let Some(request) = connection.accept().await? {
        let answers = Arc::clone(&answers);
        tokio::spawn(async move { answer(request, &answers).await.ok() });
    }
    Ok(())
}

async fn answer(request: RequestResolver<h3_quinn::Connection, Bytes>, answers: &Answers) -> Result<(), Failed> {
    let (request, mut stream) = request.resolve_request().await?;
    let mut response = Response::builder();
    let body = match answers.get(request.uri().path()) {
        Some((fields, body)) => {
            for (name, value) in fields {
                response = response.header(name, value);
            }
            body.clone()
        }
        None => {
            response = response.status(StatusCode::NOT_FOUND);
            Bytes::new()
        }
    };
    stream.send_response(response.body(())?).await?;
    stream.send_data(body).await?;
    stream.finish().await?;
    Ok(())
}
