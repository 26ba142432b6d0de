//! Unit tests of `src/http/waiting.rs`.

use super::*;

#[test]
fn a_read_counts_until_it_ends() {
    let reads = WaitingReads::default();
    let count = |user: u32| WaitingReads::count(&reads, UserNo(user));
    let mut own: Vec<_> = (0..OF_USER_MAX).map(|_| count(0).ok().unwrap()).collect();
    assert!(count(0).is_err_and(|problem| problem.kind == Kind::Overloaded));
    own.pop();
    own.push(count(0).ok().unwrap());
    assert!(count(0).is_err());
    let users = u32::try_from(ALL_MAX / OF_USER_MAX).unwrap();
    let others = (1..users).flat_map(|user| (0..OF_USER_MAX).map(move |_| user));
    let others: Vec<_> = others.map(|user| count(user).ok().unwrap()).collect();
    assert!(count(users).is_err());
    drop((own, others));
    assert!(reads.users.lock().is_empty());
}

#[test]
fn seconds_stand_beside_a_record_only() {
    let read = |query: &str| {
        let mut form = Form::new(&[], Some(query));
        let until = Until::read(&mut form);
        form.finish(until).map_err(|p| p.errors.iter().map(|e| e.field.clone()).collect::<Vec<_>>())
    };
    let until = |after, seconds| {
        Some(Until { after: Sequence::new(after), timeout: Duration::from_secs(seconds) })
    };
    assert_eq!(read(""), Ok(None));
    assert_eq!(read("waitAfter=7"), Ok(until(7, 20)));
    assert_eq!(read("timeoutSeconds=60&waitAfter=0"), Ok(until(0, 60)));
    for bad in ["timeoutSeconds=1", "waitAfter=1&timeoutSeconds=0", "waitAfter=1&timeoutSeconds=x"]
    {
        assert_eq!(read(bad), Err(vec!["timeoutSeconds".to_owned()]), "{bad}");
    }
}
