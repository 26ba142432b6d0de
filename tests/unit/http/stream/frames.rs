//! Unit tests of `src/http/stream/frames.rs`.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const HELLO: [u8; 11] = [0x81, 0x85, 0, 0, 0, 0, b'h', b'e', b'l', b'l', b'o'];

async fn next(frames: &mut Frames<DuplexStream>) -> Incoming {
    std::future::poll_fn(|cx| frames.poll_read(cx)).await
}

async fn flushed(frames: &mut Frames<DuplexStream>) {
    std::future::poll_fn(|cx| frames.poll_flush(cx)).await.unwrap();
}

#[tokio::test]
async fn messages_are_read_however_they_are_cut() {
    let (mut client, server) = duplex(64);
    let mut frames = Frames::new(server, &HELLO[..3]);
    client.write_all(&HELLO[3..]).await.unwrap();
    assert_eq!(next(&mut frames).await, Incoming::Text("hello".into()));
    client.write_all(&HELLO).await.unwrap();
    client.write_all(&HELLO[..4]).await.unwrap();
    assert_eq!(next(&mut frames).await, Incoming::Text("hello".into()));
    drop(client);
    assert_eq!(next(&mut frames).await, Incoming::Ended);
}

#[tokio::test]
async fn a_blocked_connection_keeps_what_is_left_and_an_idle_one_nothing() {
    let (mut client, server) = duplex(16);
    let mut frames = Frames::new(server, &[]);
    let long = [b'x'; 300];
    frames.push(&[b"{", &long, b"}"]);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(frames.poll_flush(&mut cx).is_pending());
    assert_eq!(frames.unsent(), 306 - 16);
    frames.push(&[b"{}"]);
    let reading = async {
        let mut bytes = vec![0; 310];
        client.read_exact(&mut bytes).await.unwrap();
        bytes
    };
    let (bytes, ()) = tokio::join!(reading, flushed(&mut frames));
    assert_eq!(
        (&bytes[..5], &bytes[306..]),
        (&[0x81, 126, 1, 46, b'{'][..], &[0x81, 2, b'{', b'}'][..])
    );
    assert_eq!((frames.unsent(), frames.protocol.get_ref().unsent.capacity()), (0, 0));
}

#[tokio::test]
async fn what_a_layer_below_holds_back_is_sent_on() {
    let (mut client, server) = duplex(64);
    let mut frames = Frames::new(tokio::io::BufWriter::new(server), &[]);
    frames.push(&[b"{}"]);
    std::future::poll_fn(|cx| frames.poll_flush(cx)).await.unwrap();
    drop(frames);
    let mut bytes = Vec::new();
    client.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes, [0x81, 2, b'{', b'}']);
}

#[tokio::test]
async fn pings_are_answered_and_what_is_no_frame_is_read_to_its_end() {
    let (mut client, server) = duplex(64);
    let mut frames = Frames::new(server, &[0x89, 0x80, 0, 0, 0, 0]);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(frames.poll_read(&mut cx).is_pending());
    flushed(&mut frames).await;
    assert_eq!((client.read_u8().await.unwrap(), client.read_u8().await.unwrap()), (0x8a, 0));
    client.write_all(&[0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]).await.unwrap();
    assert_eq!(next(&mut frames).await, Incoming::TooLarge);
    client.write_all(&[7; 60]).await.unwrap();
    drop(client);
    assert_eq!(next(&mut frames).await, Incoming::Ended);
}
