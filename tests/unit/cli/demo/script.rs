//! Unit tests of `src/cli/demo/script.rs`.

use super::*;

const BEGAN: i64 = 1_790_000_000_000;

fn told(began: i64) -> Vec<(TimeMs, Command)> {
    commands(TimeMs::new(began).unwrap(), &Pictures::at("http://x")).unwrap()
}

fn deadlines(began: i64) -> Vec<i64> {
    let of = |(_, command): (TimeMs, Command)| match command {
        Command::CreateMarket(draft) => Some(draft.deadline.get()),
        _ => None,
    };
    told(began).into_iter().filter_map(of).collect()
}

#[test]
fn the_catalogue_begins_when_it_is_told_to_and_goes_on_in_order() {
    let told = told(BEGAN);
    assert!(matches!(&told[0].1, Command::OpenVenue(rules) if *rules == Rules::current()));
    assert_eq!(told[0].0.get(), BEGAN);
    assert!(told.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert!(told.last().unwrap().0.get() < BEGAN + 60 * DAY_MS);
}

#[test]
fn pictures_are_the_venues_own() {
    for (_, command) in told(BEGAN) {
        let picture = match &command {
            Command::CreateUser { profile_pic, .. } => profile_pic,
            Command::CreateEvent(draft) => &draft.images[0],
            Command::CreateMarket(draft) => &draft.logo,
            _ => continue,
        };
        assert!(picture.starts_with("http://x/pictures/"), "{picture}");
        assert!(picture.is_ascii() && picture.strip_suffix(".svg").is_some(), "{picture}");
        assert_eq!(Pictures::beside(picture), Some(Pictures::at("http://x")));
    }
}

#[test]
fn short_questions_move_with_the_beginning_and_dates_stay_until_they_are_near() {
    let (one, day_later) = (deadlines(BEGAN), deadlines(BEGAN + DAY_MS));
    let moved = one.iter().zip(&day_later).filter(|(one, other)| *one + DAY_MS == **other);
    let kept = one.iter().zip(&day_later).filter(|(one, other)| one == other);
    assert_eq!((moved.count(), kept.count()), (22, 44));
    // However late it is, all dates are to come.
    let years_later = BEGAN + 9 * 365 * DAY_MS;
    let dates = deadlines(years_later).into_iter().take(44);
    assert!(dates.min().unwrap() >= years_later + DAYS_OF_THE_DEMO * DAY_MS);
}
