//! Unit tests of `src/http/socket.rs`.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use tokio::io::AsyncWriteExt;

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_turn_ends_however_much_has_come() {
    let (mut client, server) = UnixStream::pair().unwrap();
    client.write_all(&vec![7; READ_A_TURN + 1]).await.unwrap();
    server.readable().await.unwrap();
    let mut socket = Socket::Unix(server);
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Arc::clone(&woken).into();
    let mut cx = Context::from_waker(&waker);
    let mut bytes = vec![0; READ_A_TURN];
    let mut read = || {
        let mut buf = ReadBuf::new(&mut bytes);
        let came = Pin::new(&mut socket).poll_read(&mut cx, &mut buf);
        came.map(|came| came.map(|()| buf.filled().len()).unwrap())
    };
    let mut all = 0;
    while all < READ_A_TURN {
        let Poll::Ready(count) = read() else { panic!("a turn is over after {all} bytes") };
        all += count;
    }
    assert_eq!(read(), Poll::Pending);
    assert!(woken.0.load(Ordering::SeqCst), "it goes on in the next turn");
    assert_eq!(read(), Poll::Ready(1));
}
