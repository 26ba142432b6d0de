//! Unit tests of `src/journal/pages.rs`.

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
    fs::write(&file, [b"OOPAGES1", &whole[8..]].concat()).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    fs::write(&file, &whole).unwrap();
    assert!(PageStore::open(data.path()).is_ok());
    fs::write(&file, &whole[..7]).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    PageStore::remove(data.path()).unwrap();
    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.get(&name(1)), Ok(None));
}

/// The index may refer to the pages of a failed sync: their space must not be reused.
#[test]
fn after_a_sync_that_failed_no_room_is_free_and_no_other_sync_succeeds() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    put(&store, &[(1, b"first")]);
    assert!(store.while_unsynced(|| store.sync()).is_err());
    put(&store, &[(1, b"second")]);
    put(&store, &[(2, b"other")]);
    assert!(store.sync().is_err());
    assert_eq!(store.get(&name(1)), Ok(Some(b"second".to_vec())));
    assert_eq!(store.get(&name(2)), Ok(Some(b"other".to_vec())));
}

#[test]
fn a_page_is_found_as_it_was_put_or_told_to_be_changed() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    put(&store, &[(1, b"first"), (20, b"")]);
    store.sync().unwrap();
    put(&store, &[(1, b"second"), (2, b"third")]);
    assert_eq!(store.get(&name(1)), Ok(Some(b"second".to_vec())));
    store.sync().unwrap();
    store.close();
    assert!(store.get(&name(1)).is_err());

    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.get(&name(1)), Ok(Some(b"second".to_vec())));
    assert_eq!(store.get(&name(2)), Ok(Some(b"third".to_vec())));
    assert_eq!(store.get(&name(20)), Ok(Some(Vec::new())));
    assert_eq!(store.get(&name(3)), Ok(None));
    // Sound bytes of another page are detected too.
    let (file, moved) = (PageStore::folder(data.path()).join(PAGES_FILE), name(3));
    store
        .on(Step::Put, |open| {
            let location = open.location(&name(1))?.unwrap();
            open.unsynced().put(moved, location);
            Ok(())
        })
        .unwrap();
    assert!(store.get(&moved).is_err());
    let mut bytes = fs::read(&file).unwrap();
    let second = bytes.windows(6).position(|bytes| bytes == b"second").unwrap();
    bytes[second + 1] ^= 1;
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
    let again = |pages: &[(u8, &'static [u8])]| {
        store.put_again(pages.iter().map(|(page, bytes)| (name(*page), *bytes))).unwrap()
    };
    assert_eq!(again(&[(1, b"first"), (2, b"other")]), 0);
    store.sync().unwrap();
    assert_eq!(again(&[(1, b"first"), (2, b"third"), (3, b"new")]), 8);
    assert_eq!(store.get(&name(2)), Ok(Some(b"third".to_vec())));
}

#[test]
fn what_is_vouched_for_is_known_after_closing() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    store.vouch(b"one", b"yes").unwrap();
    store.sync().unwrap();
    drop(store);
    let store = PageStore::open(data.path()).unwrap();
    assert_eq!(store.vouched(b"one"), Ok(Some(b"yes".to_vec())));
    assert_eq!(store.vouched(b"two"), Ok(None));
}

#[test]
fn a_sync_that_fails_is_noted_whoever_asked_for_it_and_all_is_made_anew() {
    let sync = |store: &PageStore| store.sync();
    // Without a call of `sync`, when so many have gathered.
    let gather = |store: &PageStore| {
        let pages = (0..=UNSYNCED_MAX as u64).map(|number| {
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
fn what_is_vouched_for_without_pages_is_not_opened() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    store.vouch(b"one", b"yes").unwrap();
    store.close();
    let file = PageStore::folder(data.path()).join(PAGES_FILE);
    fs::remove_file(&file).unwrap();
    assert!(PageStore::open(data.path()).is_err());
    // A store whose creation was interrupted has nothing attested.
    PageStore::remove(data.path()).unwrap();
    drop(PageStore::open(data.path()).unwrap());
    fs::write(&file, &FORMAT[..3]).unwrap();
    drop(PageStore::open(data.path()).unwrap());
    assert_eq!(fs::read(&file).unwrap(), FORMAT);
}

#[test]
fn who_is_led_to_the_bytes_that_a_page_had_before_is_told() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    let sound = |page| store.get(&name(page)).is_ok();
    let placed = |page| store.on(Step::Read, |open| open.location(&name(page))).unwrap().unwrap();
    let lead = |page, to| {
        let lead = |open: &Open| {
            let (key, slot) = places::group_and_slot(&name(page));
            let mut group = open.group(&key)?;
            group.set(slot, to);
            caught(Step::Put, || open.index.insert(key, group.encode()).map(drop))
        };
        store.on(Step::Put, lead).unwrap();
    };
    let all = [(1, b"first".as_slice()), (2, b"one"), (3, b"x")];
    put(&store, &all);
    store.sync().unwrap();
    let before: Vec<_> = all.iter().map(|(page, _)| (*page, placed(*page))).collect();
    assert!(before.iter().all(|(page, _)| sound(*page)));
    put(&store, &[(1, b"second"), (2, b"two!"), (3, b"yz")]);
    store.sync().unwrap();
    for (page, location) in before {
        assert!(sound(page));
        let now = placed(page);
        lead(page, location);
        assert!(!sound(page), "{page}");
        // Another page is stored there now.
        lead(page, now);
        put(&store, &[(10 + page, &vec![7; location.length as usize])]);
        assert_eq!(placed(10 + page).offset, location.offset);
        lead(page, location);
        assert!(!sound(page), "{page}");
        lead(page, now);
        assert!(sound(page) && sound(10 + page));
    }
}

#[test]
fn pages_that_are_put_again_and_again_take_no_more_room() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    let bytes = vec![7; 2000];
    let mut draw = draw();
    for round in 0..100 {
        // A few grow each time, and the rest stays.
        for page in 0..20 {
            put(&store, &[(page * 11 + draw(11), &bytes[..500 + round * 10 + usize::from(page)])]);
        }
        store.sync().unwrap();
    }
    let length = fs::metadata(PageStore::folder(data.path()).join(PAGES_FILE)).unwrap().len();
    let live = |page| store.get(&name(page)).unwrap().map_or(0, |page| page.len() as u64);
    let live: u64 = (0..220).map(live).sum();
    assert!(live > 150_000, "{live}");
    assert!(length < 2 * live, "{length} bytes for {live}");
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

/// After a crash at any moment the store holds what was synced, or something later: sled's
/// files as they were, and any part of what was written to the page file since the sync.
#[test]
fn whatever_was_written_since_a_sync_what_it_had_is_there() {
    const PAGES: u8 = 40;
    let (data, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (folder, copy) = (PageStore::folder(data.path()), PageStore::folder(crashed.path()));
    let store = PageStore::open(data.path()).unwrap();
    let mut draw = draw();
    let mut synced = Vec::new();
    let mut file = Vec::new();
    for step in 0..400 {
        let length = 40 + usize::from(draw(40));
        put(&store, &[(draw(PAGES), &vec![draw(250); length])]);
        if step % 23 == 22 {
            store.sync().unwrap();
            synced = (0..PAGES).map(|page| store.get(&name(page)).unwrap()).collect();
            file = fs::read(folder.join(PAGES_FILE)).unwrap();
        }
        if step % 3 != 0 || synced.is_empty() {
            continue;
        }
        PageStore::remove(crashed.path()).unwrap();
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
        }
        // Some of the bytes written since have reached the disk.
        let mut since = fs::read(folder.join(PAGES_FILE)).unwrap();
        for (byte, before) in since.iter_mut().zip(&file) {
            if *byte != *before && draw(2) == 0 {
                *byte = *before;
            }
        }
        fs::write(copy.join(PAGES_FILE), since).unwrap();
        let found = PageStore::open(crashed.path()).unwrap();
        for (page, was) in (0..PAGES).zip(&synced) {
            assert_eq!(found.get(&name(page)).as_ref(), Ok(was), "{page} after {step}");
        }
    }
}

/// Whatever was written and not synced, and the space that was free, is used by the next.
#[test]
fn what_killed_processes_leave_takes_no_room() {
    const ROUNDS: u8 = 20;
    let dirs: Vec<_> = (0..=ROUNDS).map(|_| tempfile::tempdir().unwrap()).collect();
    let length =
        |data: &Path| fs::metadata(PageStore::folder(data).join(PAGES_FILE)).unwrap().len();
    for (round, both) in (1..).zip(dirs.windows(2)) {
        let [data, next] = [0, 1].map(|index| both[index].path());
        let store = PageStore::open(data).unwrap();
        let page = |bytes: usize| vec![round; bytes];
        for number in 0..40 {
            put(&store, &[(number, &page(900))]);
        }
        store.sync().unwrap();
        for number in 0..40 {
            put(&store, &[(number, &page(901))]);
        }
        assert!(length(data) < 3 * 40 * 901, "{} after {round}", length(data));
        // It is killed now.
        fs::create_dir(PageStore::folder(next)).unwrap();
        for entry in fs::read_dir(PageStore::folder(data)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let to = PageStore::folder(next).join(entry.file_name());
                fs::copy(entry.path(), to).unwrap();
            }
        }
        let found = PageStore::open(next).unwrap();
        for number in 0..40 {
            assert_eq!(found.get(&name(number)).unwrap(), Some(page(900)));
        }
    }
}

#[test]
fn who_is_about_to_read_a_page_that_moves_reads_it_where_it_is() {
    let data = tempfile::tempdir().unwrap();
    let store = PageStore::open(data.path()).unwrap();
    put(&store, &[(1, b"first")]);
    store.sync().unwrap();
    let read = |open: &Open| {
        let location = open.location(&name(1))?;
        for page in [b"second".as_slice(), b"third"] {
            put(&store, &[(1, page)]);
            store.sync()?;
            assert_eq!(open.read(&name(1), location), Ok(Some(page.to_vec())));
        }
        // The location is unchanged, and the bytes are not.
        open.invalidate(open.location(&name(1))?.as_slice())?;
        assert!(open.read(&name(1), location).is_err());
        Ok(())
    };
    store.on(Step::Read, read).unwrap();
}
