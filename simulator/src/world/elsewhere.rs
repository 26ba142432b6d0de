//! What somebody does to the archive in a bucket, and what the venue and an auditor must make of it.

use std::sync::Arc;

use bytes::Bytes;
use journal::archive::segment_name;

use super::World;
use crate::bucket::{self, All, BACK, Bucket, BucketArchiver, DAMAGED, DELETED, STRANGER};
use crate::chance::Chance;
use crate::clock::Clocks;
use crate::venue::Venue;

/// Simulated milliseconds after which the archiver looks at all objects again.
const LOOKED_AT_AGAIN_MS: u64 = 1_000;
/// One archive in so many is read as an auditor does, too.
const AUDITED_ONE_IN: u64 = 4;

/// What was met, if it came to anything.
type Met = Result<Option<&'static str>, String>;

impl World<'_> {
    /// Somebody meddles with the objects while the store answers: that must be said, and all be
    /// well once it is undone.
    pub(super) fn meddle(&mut self) -> Result<(), String> {
        let Some(venue) = self.venue.as_mut().filter(|venue| venue.halted().is_none()) else {
            return Ok(());
        };
        self.bucket.set_fails(0);
        let kind = self.chance.below(3);
        if kind > 0 {
            whole(venue)?;
            self.clocks.pass(LOOKED_AT_AGAIN_MS);
        }
        self.bucket.settle();
        let before = self.bucket.objects();
        let met = match kind {
            0 => stranger(&self.bucket, venue, &before, &mut self.chance)?,
            1 => deleted(&self.bucket, venue, &before, &self.clocks, &mut self.chance)?,
            _ => damaged(&self.bucket, venue, &before, &mut self.chance)?,
        };
        self.bucket.set(before);
        if let Some(met) = met {
            self.clocks.pass(LOOKED_AT_AGAIN_MS);
            whole(venue).map_err(|error| format!("{error}, although it is undone: {met}"))?;
            self.mark(met);
            self.mark(BACK);
        }
        self.bucket.set_fails(self.options.bucket_fails());
        Ok(())
    }

    /// A store that answers has the whole journal; an auditor finds it so, and what is missing or
    /// damaged in a copy.
    pub(super) fn bucketed(&mut self, venue: &mut Venue) -> Result<(), String> {
        self.bucket.settle();
        whole(venue)?;
        let (objects, head) = (self.bucket.objects(), venue.head().sequence);
        let (_, last) = bucket::same(&objects, &venue.reader(), self.copied)?;
        if last != head {
            return Err(format!("BUCKET: it ends with record {last}"));
        }
        if !self.chance.one_in(AUDITED_ONE_IN) {
            return Ok(());
        }
        let read = bucket::audited(&objects);
        if read != (head, None) {
            return Err(format!("BUCKET: an auditor finds {read:?}"));
        }
        let (mut harmed, place) = (objects.clone(), self.chance.index(objects.len()));
        let Some(name) = objects.keys().nth(place).cloned() else { return Ok(()) };
        let lost = place + 1 < objects.len() && self.chance.one_in(2);
        if lost {
            harmed.remove(&name);
        } else {
            flip(&mut harmed, &name, &mut self.chance);
        }
        match bucket::audited(&harmed) {
            // What a member says of itself beside its blocks may be another.
            (last, None) if !lost && last == head => Ok(()),
            // Nor does a block lack where the end of the last member says that it is damaged.
            (last, Some(_)) if last < head || !lost && last == head => Ok(()),
            read => Err(format!("BUCKET: without a sound {name} an auditor finds {read:?}")),
        }
    }
}

/// Everything is archived, if the store answers.
fn whole(venue: &mut Venue) -> Result<(), String> {
    if venue.bucket.as_mut().is_none_or(BucketArchiver::step) {
        return Ok(());
    }
    Err("BUCKET: a store that answers fails".to_owned())
}

/// Whether an archiver that is started now is refused, or cannot go on.
fn is_refused(bucket: &Bucket, venue: &Venue) -> bool {
    let clock = Arc::clone(&venue.stations.sequencer.clock);
    bucket.archiver(&venue.reader(), clock).map_or(true, |mut started| !started.step())
}

fn flip(objects: &mut All, name: &str, chance: &mut Chance) {
    if let Some(object) = objects.get_mut(name) {
        let mut bytes = object.to_vec();
        let place = chance.index(bytes.len());
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1 << chance.byte(0, 7);
        }
        *object = bytes.into();
    }
}

/// Another venue's object has the next name: nobody may take it for ours, nor change it.
fn stranger(bucket: &Bucket, venue: &mut Venue, before: &All, chance: &mut Chance) -> Met {
    let Some(archiver) = &mut venue.bucket else { return Ok(None) };
    let status = archiver.board.status();
    let next = segment_name(status.archived.next());
    let last = before.last_key_value().filter(|(last, _)| **last < next && status.behind > 0);
    let Some((_, last)) = last else { return Ok(None) };
    let other = match chance.below(3) {
        0 => last.clone(),
        1 => last.slice(..last.len() / 2),
        _ => Bytes::from_static(b"another's"),
    };
    let mut with = before.clone();
    with.insert(next, other);
    bucket.set(with.clone());
    let taken = archiver.step() || archiver.board.status().archived > status.archived;
    if taken || !is_refused(bucket, venue) || bucket.objects() != with {
        return Err("BUCKET: another's object is taken over, or changed".to_owned());
    }
    Ok(Some(STRANGER))
}

/// An object is gone: that is said as long as it is.
fn deleted(
    bucket: &Bucket,
    venue: &mut Venue,
    before: &All,
    clocks: &Clocks,
    chance: &mut Chance,
) -> Met {
    let Some(archiver) = &mut venue.bucket else { return Ok(None) };
    let Some(name) = before.keys().nth(chance.index(before.len())) else { return Ok(None) };
    let mut without = before.clone();
    without.remove(name);
    bucket.set(without);
    for _ in 0..2 {
        let seen = !archiver.step() && segment_name(archiver.board.status().archived) < *name;
        if !seen {
            return Err(format!("BUCKET: nobody says that {name} is gone"));
        }
        clocks.pass(LOOKED_AT_AGAIN_MS);
    }
    Ok(Some(DELETED))
}

/// An object is damaged: a start that reads it is refused.
fn damaged(bucket: &Bucket, venue: &Venue, before: &All, chance: &mut Chance) -> Met {
    let ends = [before.first_key_value(), before.last_key_value()];
    let Some((name, sound)) = chance.of_all(&ends, None) else { return Ok(None) };
    let mut harmed = before.clone();
    flip(&mut harmed, name, chance);
    // What a member says of itself beside its blocks may be another.
    if harmed.get(name).is_some_and(|bytes| bucket::same_blocks(bytes, sound)) {
        return Ok(None);
    }
    bucket.set(harmed);
    if is_refused(bucket, venue) {
        return Ok(Some(DAMAGED));
    }
    Err(format!("BUCKET: a start takes {name} for sound, which is damaged"))
}
