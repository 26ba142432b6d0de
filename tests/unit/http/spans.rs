//! Unit tests of `src/http/spans.rs`.

use super::*;

fn parent(text: &'static str) -> Option<Parent> {
    let mut headers = HeaderMap::new();
    headers.insert("traceparent", text.parse().unwrap());
    Parent::of(&headers)
}

fn span() -> Span {
    Span {
        trace: [0; 16],
        id: [0; 8],
        parent: None,
        method: Method::GET,
        route: "/time",
        status: 200,
        ended: TimeMs::new(1).unwrap(),
        us: 5,
        request_id: "r".to_owned(),
        user: None,
        sequence: None,
    }
}

#[test]
fn a_client_names_its_trace_in_one_form() {
    let whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let good = parent(whole).unwrap();
    assert!(good.sampled && good.span == [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
    assert!(!parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").unwrap().sampled);
    for bad in [
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
    ] {
        assert_eq!(parent(bad), None, "{bad}");
    }
}

#[test]
fn a_span_belongs_to_its_clients_and_what_finds_no_room_is_counted() {
    let (spans, waiting) = Spans::queue();
    let trace = Parent { trace: [7; 16], span: [8; 8], sampled: true };
    spans.tell(Some(trace), span);
    spans.tell(None, span);
    spans.tell(Some(Parent { sampled: false, ..trace }), span);
    let told = waiting.next(10, Duration::ZERO).unwrap();
    assert_eq!((told.len(), spans.lost()), (2, 0));
    assert_eq!((told[0].trace, told[0].parent), ([7; 16], Some([8; 8])));
    assert!(told[1].trace != [0; 16] && told[1].id != [0; 8] && told[1].parent.is_none());
    (0..WAITING_MAX + 3).for_each(|_| spans.tell(None, span));
    assert_eq!(spans.lost(), 3);
    drop(spans);
    assert_eq!(waiting.next(usize::MAX, Duration::from_mins(1)).unwrap().len(), WAITING_MAX);
    assert!(waiting.next(1, Duration::ZERO).is_none());
}
