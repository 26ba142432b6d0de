//! The measure: a hyper server that reads the request's body and answers a fixed order result.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Says to this binary that it is to be the no-op server.
pub const ROLE: &str = "OPENOUTCRY_BENCH_NOOP";

/// An answer of the same form and size as a real one.
const ANSWER: &[u8] = br#"{"orderId":"019a0000-0000-7000-8000-000000000000","status":"OPEN","filledQuantity":"0","remainingQuantity":"10","averageFillPrice":"0.00","trades":[],"cancelledQuantity":"0","cancelReason":null,"filledCost":"0.00","clientOrderId":null,"sequence":123456}"#;

/// Whether this process is the no-op server.
pub fn asked_for() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Serves until killed.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("listening on http://{}", listener.local_addr().expect("an address"));
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            tokio::spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                // A client that hangs up ends its connection, nothing else.
                drop(connection.await);
            });
        }
    });
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    drop(request.into_body().collect().await);
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER)));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}
