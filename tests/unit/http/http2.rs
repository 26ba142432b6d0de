//! Unit tests of `src/http/http2.rs`.

#![allow(clippy::unwrap_used)] // a test may stop

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::*;

/// What a write holds, such as a lock, is held until it is done, whoever has left.
#[test]
fn what_changes_something_is_done_to_its_end_though_its_client_gives_it_up() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let doing = async move {
            gone.await.unwrap();
            tell.send(()).unwrap();
        };
        let given_up = timeout(Duration::from_millis(1), to_its_end(doing)).await;
        assert!(given_up.is_err(), "it waits");
        go.send(()).unwrap();
        told.await.unwrap();
    });
}

#[test]
fn only_what_changes_nothing_may_be_given_up() {
    let safe = |method: Method, path: &str| {
        is_safe(&Request::builder().method(method).uri(path).body(()).unwrap())
    };
    assert!(safe(Method::GET, "/api/v1/markets"));
    assert!(safe(Method::HEAD, "/"));
    assert!(!safe(Method::GET, "/api/v1/session/openid/back?code=a"));
    for method in [Method::POST, Method::PATCH, Method::DELETE] {
        assert!(!safe(method.clone(), "/api/v1/account/faucet"), "{method}");
    }
}
