//! HTTP/3: QUIC is quinn's (RFC 9000, RFC 9002).
//!
//! CUBIC after RFC 8312 or NewReno, the initial window that is asked for, paced at 5/4 of a window a round trip,
//! packets as long as path MTU discovery finds (1452 bytes at most). Streams of a connection are sent in turn: the
//! library for HTTP/3 hands no priorities on.

use super::answers::{Answers, Failed, answer};
use bytes::Bytes;
use h3::server::RequestResolver;
use quinn::congestion::{CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig, TransportConfig};
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Controller {
    Cubic,
    Reno,
}

/// Returns how connections are; the initial window is in bytes.
pub(super) fn config(tls: rustls::ServerConfig, controller: Controller, window: u64) -> Result<ServerConfig, Failed> {
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    match controller {
        Controller::Cubic => {
            let mut cubic = CubicConfig::default();
            cubic.initial_window(window);
            transport.congestion_controller_factory(Arc::new(cubic));
        }
        Controller::Reno => {
            let mut reno = NewRenoConfig::default();
            reno.initial_window(window);
            transport.congestion_controller_factory(Arc::new(reno));
        }
    }
    config.transport_config(Arc::new(transport));
    Ok(config)
}

pub(super) fn listen(
    address: IpAddr,
    ports: &[u16],
    config: &ServerConfig,
    answers: &Arc<Answers>,
) -> Result<(), Failed> {
    for port in ports {
        let endpoint = Endpoint::server(config.clone(), SocketAddr::new(address, *port))?;
        let answers = Arc::clone(answers);
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                let answers = Arc::clone(&answers);
                // A connection that fails is the client's to report.
                tokio::spawn(async move { connection(incoming, answers).await.ok() });
            }
        });
    }
    Ok(())
}

async fn connection(incoming: Incoming, answers: Arc<Answers>) -> Result<(), Failed> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::builder().send_grease(false).build(connection).await?;
    while let Some(request) = connection.accept().await? {
        let answers = Arc::clone(&answers);
        tokio::spawn(async move { respond(request, &answers).await.ok() });
    }
    Ok(())
}

async fn respond(request: RequestResolver<h3_quinn::Connection, Bytes>, answers: &Answers) -> Result<(), Failed> {
    let (request, mut stream) = request.resolve_request().await?;
    let (head, content) = answer(request.uri().path(), answers);
    stream.send_response(head.body(())?).await?;
    stream.send_data(content).await?;
    stream.finish().await?;
    Ok(())
}
