//! HTTP/1.1 and HTTP/2 over TLS: hyper's, on sockets that listen already, as whoever starts the program has made them.
//!
//! One connection speaks what its TLS has agreed on. Streams of HTTP/2 are sent by priority: see [`super::turns`].

use super::answers::{Answers, Failed, answer};
use super::turns::{FRAME, Priority, Turn, Turns};
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::future::ready;
use std::os::fd::{FromRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(super) fn listen(
    listening: Vec<RawFd>,
    mut tls: rustls::ServerConfig,
    answers: &Arc<Answers>,
) -> Result<(), Failed> {
    // A browser opens several connections to a host, none of which goes on with the keys of another.
    tls.send_tls13_tickets = 0;
    let tls = TlsAcceptor::from(Arc::new(tls));
    for socket in listening {
        // SAFETY: whoever starts the program hands the socket over, and nothing else here has it.
        let socket = unsafe { std::net::TcpListener::from_raw_fd(socket) };
        socket.set_nonblocking(true)?;
        let (socket, tls, answers) = (TcpListener::from_std(socket)?, tls.clone(), Arc::clone(answers));
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                // A connection that fails is the client's to report.
                tokio::spawn(connection(stream, tls.clone(), Arc::clone(&answers)));
            }
        });
    }
    Ok(())
}

async fn connection(stream: TcpStream, tls: TlsAcceptor, answers: Arc<Answers>) -> Result<(), Failed> {
    let stream = tls.accept(stream).await?;
    let multiplexed = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let turns = multiplexed.then(Turns::default);
    let respond = service_fn(move |request: Request<Incoming>| {
        let (head, left) = answer(request.uri().path(), &answers);
        let turn = turns.as_ref().map(|turns| turns.join(Priority::of(request.headers())));
        ready(head.body(Content { left, turn }))
    });
    let stream = TokioIo::new(stream);
    if multiplexed {
        let mut http = http2::Builder::new(TokioExecutor::new());
        // What is buffered here goes before anything more urgent.
        http.max_send_buf_size(FRAME).auto_date_header(false).serve_connection(stream, respond).await?;
    } else {
        http1::Builder::new().auto_date_header(false).serve_connection(stream, respond).await?;
    }
    Ok(())
}

/// An answer's content: at once, or a frame at a time if it has to take turns, until it is dropped: that is when the
/// last frame is under way.
struct Content {
    left: Bytes,
    turn: Option<Turn>,
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let mut length = self.left.len();
        if let Some(turn) = &self.turn {
            ready!(turn.poll(cx));
            length = length.min(FRAME);
        }
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}
