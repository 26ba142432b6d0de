//! Unit tests of `src/journal/pages.rs`.

use std::fs;

use super::*;

type Ask = fn(&PageStore) -> Result<(), StoreError>;

const fn name(page: u8) -> Name {
    [1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, page]
}

fn put(store: &PageStore, pages: &[(u8, &[u8])]) -> u64 {
    store.put(pages.iter().map(|(page, bytes)| (name(*page), *bytes))).unwrap()
}

#[test]
fn what_leads_to_pages_that_are_gone_is_not_opened_until_all_is_removed() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    put(&store, &[(1, b"first")]);
    store.sync().unwrap();
    store.close();
    let file = PageStore::folder(data.path()).join(PAGES_FILE);
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    fs::write(&file, [b"OOPAGES2", &whole[8..]].concat()).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    fs::write(&file, &whole).unwrap();
    assert!(PageStore::open(data.path()).is_ok());
    fs::write(&file, &whole[..7]).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    PageStore::remove(data.path()).unwrap();
    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.get(&name(1)), Ok(None));
}

#[test]
fn after_a_sync_that_failed_all_is_found_and_no_other_sync_succeeds() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    put(&store, &[(1, b"first")]);
    assert!(store.while_unsynced(|| store.sync()).is_err());
    put(&store, &[(2, b"other")]);
    assert!(store.sync().is_err());
    assert_eq!(store.get(&name(1)), Ok(Some(b"first".to_vec())));
    assert_eq!(store.get(&name(2)), Ok(Some(b"other".to_vec())));
}

#[test]
fn a_page_is_found_as_it_was_put_or_told_to_be_changed() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    put(&store, &[(1, b"first"), (20, b"")]);
    store.sync().unwrap();
    put(&store, &[(2, b"third")]);
    assert_eq!(store.get(&name(2)), Ok(Some(b"third".to_vec())));
    store.sync().unwrap();
    store.close();
    assert!(store.get(&name(1)).is_err());

    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.get(&name(1)), Ok(Some(b"first".to_vec())));
    assert_eq!(store.get(&name(2)), Ok(Some(b"third".to_vec())));
    assert_eq!(store.get(&name(20)), Ok(Some(Vec::new())));
    assert_eq!(store.get(&name(3)), Ok(None));
    // Sound bytes of another page are detected too.
    let (file, moved) = (PageStore::folder(data.path()).join(PAGES_FILE), name(3));
    store
        .on(Step::Put, |open| {
            let location = open.location(&name(1))?.unwrap();
            open.unsynced().new.insert(moved, location);
            Ok(())
        })
        .unwrap();
    assert!(store.get(&moved).is_err());
    let mut bytes = fs::read(&file).unwrap();
    let first = bytes.windows(5).position(|bytes| bytes == b"first").unwrap();
    bytes[first + 1] ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert!(store.get(&name(1)).is_err());
    fs::write(&file, &bytes[..10]).unwrap();
    assert!(store.get(&name(2)).is_err());
    drop(store);
    PageStore::remove(data.path()).unwrap();
    PageStore::remove(data.path()).unwrap();
    assert_eq!(PageStore::open(data.path()).unwrap().get(&name(1)), Ok(None));
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(put(&store, &[(1, b"first"), (2, b"other")]), 10);
    assert_eq!(put(&store, &[(1, b"first"), (2, b"other")]), 0);
    store.sync().unwrap();
    assert_eq!(put(&store, &[(1, b"first"), (3, b"new")]), 3);
    // A page never changes: another one of that name comes from another journal.
    assert!(!PageStore::is_damaged(data.path()));
    let other = store.put([(name(2), b"third".as_slice())].into_iter());
    assert_eq!(other.map_err(|error| error.step), Err(Step::Put));
    assert!(PageStore::is_damaged(data.path()));
    assert_eq!(store.get(&name(2)), Ok(Some(b"other".to_vec())));
    store.renew().unwrap();
    assert!(!PageStore::is_damaged(data.path()));
    assert_eq!(put(&store, &[(2, b"third")]), 5);
    assert_eq!((store.get(&name(1)), store.get(&name(2))), (Ok(None), Ok(Some(b"third".into()))));
}

#[test]
fn what_is_attested_is_known_after_closing() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.completed(), Ok(None));
    store.complete(b"here").unwrap();
    store.sync().unwrap();
    drop(store);
    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.completed(), Ok(Some(b"here".to_vec())));
}

#[test]
fn a_sync_that_fails_is_noted_whoever_asked_for_it_and_all_is_made_anew() {
    let sync = |store: &PageStore| store.sync();
    // Without a call of `sync`, when so many have gathered.
    let gather = |store: &PageStore| {
        let pages = (1000..=1000 + UNSYNCED_MAX as u64).map(|number| {
            let mut name = name(0);
            name[5..].copy_from_slice(&number.to_be_bytes());
            (name, b"page".as_slice())
        });
        store.put(pages).map(drop)
    };
    let close = |store: &PageStore| {
        store.close();
        Err(StoreError::new(Step::Sync, "nobody is told"))
    };
    let write_out: Ask = |store| store.write_out().and_then(|()| store.sync());
    let ways: [(&str, Ask); 4] =
        [("sync", sync), ("write out", write_out), ("gather", gather), ("close", close)];
    let files: [fn(&mut Open) -> &mut File; 2] =
        [|open| &mut open.pages, |open| &mut open.index_file];
    for (way, ask) in ways {
        for (file, which) in files.into_iter().enumerate() {
            let data = tempfile::tempdir().unwrap();
            let store = PageStore::open(data.path()).unwrap();
            put(&store, &[(1, b"first")]);
            assert!(!PageStore::is_damaged(data.path()));
            let failed = store.while_unsynced_is(which, || ask(&store));
            assert_eq!(failed.map_err(|error| error.step), Err(Step::Sync), "{way} {file}");
            // Whatever a later sync reports.
            drop(store.sync());
            drop(store);
            assert!(PageStore::is_damaged(data.path()), "{way} {file}");
            PageStore::remove(data.path()).unwrap();
            let store = PageStore::open(data.path()).unwrap();
            assert_eq!(store.get(&name(1)), Ok(None));
            assert!(!PageStore::is_damaged(data.path()));
        }
    }
}

#[test]
fn what_is_attested_without_pages_is_not_opened() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    store.complete(b"here").unwrap();
    store.close();
    let file = PageStore::folder(data.path()).join(PAGES_FILE);
    fs::remove_file(&file).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    // A store whose creation was interrupted has nothing attested.
    PageStore::remove(data.path()).unwrap();
    drop(PageStore::open(data.path()).unwrap());
    PageStore::remove(data.path()).unwrap();
    fs::create_dir(PageStore::folder(data.path())).unwrap();
    fs::write(&file, &FORMAT[..3]).unwrap();
    drop(PageStore::open(data.path()).unwrap());
    assert_eq!(fs::read(&file).unwrap(), FORMAT);
}

/// Small pseudo-random numbers, the same each time.
fn draw() -> impl FnMut(u8) -> u8 {
    let mut state = 88_172_645_463_325_252_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u8::try_from(state % u64::from(below)).unwrap()
    }
}

/// After a crash at any moment the store holds what was synced, or more: sled's files as they
/// were, and any part of what was appended to the page file since the sync, which is cut off.
#[test]
fn whatever_was_written_since_a_sync_what_it_had_is_there() {
    let (data, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (folder, copy) = (PageStore::folder(data.path()), PageStore::folder(crashed.path()));
    let store = PageStore::open(data.path()).unwrap();
    let mut draw = draw();
    let (mut synced, mut length) = (Vec::new(), 0);
    for page in 0..250 {
        let bytes = vec![draw(250); 40 + usize::from(draw(40))];
        put(&store, &[(page, &bytes)]);
        if page % 23 == 22 {
            store.sync().unwrap();
            synced = (0..=page).map(|page| store.get(&name(page)).unwrap()).collect();
            length = fs::metadata(folder.join(PAGES_FILE)).unwrap().len();
        }
        if page % 3 != 0 || synced.is_empty() {
            continue;
        }
        PageStore::remove(crashed.path()).unwrap();
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
        }
        // Some of the bytes appended since have reached the disk.
        let mut since = fs::read(folder.join(PAGES_FILE)).unwrap();
        for byte in since.iter_mut().skip(usize::try_from(length).unwrap()) {
            *byte = if draw(2) == 0 { 0 } else { *byte };
        }
        since.truncate(since.len() - usize::from(draw(20)).min(since.len() - synced_end(length)));
        fs::write(copy.join(PAGES_FILE), since).unwrap();
        let found = PageStore::open(crashed.path()).unwrap();
        assert_eq!(fs::metadata(copy.join(PAGES_FILE)).unwrap().len(), length);
        for (page, was) in (0..).zip(&synced) {
            assert_eq!(found.get(&name(page)).as_ref(), Ok(was), "{page}");
        }
        // What a replay puts again.
        put(&found, &[(page, &bytes)]);
        assert_eq!(found.get(&name(page)), Ok(Some(bytes)));
    }
}

fn synced_end(length: u64) -> usize {
    usize::try_from(length).unwrap()
}
