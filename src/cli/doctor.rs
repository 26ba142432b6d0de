//! `openoutcry doctor`: looks at what a server needs, without touching it, and says what is wrong
//! and what would mend it. It can be asked beside a running server.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use clap::Command;

use super::archive_folder::outside;
use super::config_file::Settings;
use super::entrances::{RENEWED_DAYS, days_left};
use super::place::Place;
use super::serve::{descriptors_wanted, threads_wanted};
use super::settings::ServeArgs;
use super::{Failure, data_folder, entrances, output};
use engine::clock;
#[cfg(feature = "s3")]
use journal::archive::ArchiveError;
use journal::directory::read_only;
use rlimit::Resource;

const MIB: u64 = 1 << 20;
/// Free bytes of a disk below which it is soon full: a few segments of the log, and snapshots.
const FREE_BYTES_MIN: u64 = 1024 * MIB;
const DAY_MS: i64 = 24 * 3_600_000;

/// What was found of one thing.
enum Found {
    Good(String),
    /// It works, and should be looked at.
    Poor(String),
    /// A start would fail, or lose something.
    Bad(String),
}

use Found::{Bad, Good, Poor};

/// Looks at everything.
///
/// # Errors
/// Something would keep a server from starting or from keeping what it is told; stdout is closed.
pub(crate) fn run(whole: Command, given: &ServeArgs) -> Result<(), Failure> {
    let settings = Settings::load(whole, &["doctor"], given)?;
    let args = &settings.args;
    let file = settings.file.as_ref().map_or("none".to_owned(), |file| file.display().to_string());
    let mut found = vec![("settings", Good(file)), ("journal", journal(args))];
    for (what, folder) in [("data", Some(args.folder())), ("archive", args.archive.as_deref())] {
        let Some(folder) = folder else { continue };
        found.push((what, disk(folder)));
        found.push((what, modes(folder)));
    }
    found.extend(archives(args).map(|found| ("archive", found)));
    found.push(("files", descriptors()));
    found.push(("threads", threads()));
    found.push(("port", port(args.listen)));
    match &args.admin_listen {
        None => {}
        Some(Place::Port(address)) => found.push(("port", port(*address))),
        Some(Place::Socket(path)) => found.push(("socket", socket(path))),
    }
    found.push(("tls", tls(args)));
    let (mut text, mut bad) = (String::new(), 0_usize);
    for (what, found) in found {
        let (state, says) = match found {
            Good(says) => ("ok", says),
            Poor(says) => ("look", says),
            Bad(says) => {
                bad = bad.saturating_add(1);
                ("bad", says)
            }
        };
        text.extend([&format!("{state:<5} {what:<9} "), says.as_str(), "\n"]);
    }
    output::print(&text).map_err(|error| Failure::Failed(format!("stdout: {error}")))?;
    if bad == 0 { Ok(()) } else { Err(Failure::Failed(format!("doctor: {bad} to be mended"))) }
}

/// The journal's end, and the clock beside it.
fn journal(args: &ServeArgs) -> Found {
    let data = args.folder();
    let head = match read_only(data) {
        Ok((journal, _)) => journal.head(),
        Err(error) => {
            let (Failure::Usage(why) | Failure::Failed(why) | Failure::Journal(why)) =
                data_folder::refused(data, &error);
            return Bad(why);
        }
    };
    let (last, now) = (head.time.get(), clock::now().get());
    let days = now.saturating_sub(last) / DAY_MS;
    if clock::is_before_1970() {
        return Bad("the system's clock is before 1970: set it".to_owned());
    }
    match days {
        _ if last > now => Poor(format!(
            "record {}, which is later than the clock says it is: synchronise the clock",
            head.sequence
        )),
        0 => Good(format!("record {}", head.sequence)),
        _ => Poor(format!(
            "record {}, {days} days old: if the machine was started since, and its clock is right, \
             start the server once with --accept-clock",
            head.sequence
        )),
    }
}

fn disk(folder: &Path) -> Found {
    let name = folder.display();
    match os::free_bytes(folder) {
        Ok(free) if free < FREE_BYTES_MIN => {
            Bad(format!("{name}: {} MiB are free: make room", free / MIB))
        }
        Ok(free) => Good(format!("{name}: {} MiB are free", free / MIB)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Poor(format!("{name} is not there yet; is its disk mounted?"))
        }
        Err(error) => Bad(format!("{name}: {error}")),
    }
}

fn modes(folder: &Path) -> Found {
    let name = folder.display();
    match os::exposed(folder).as_deref() {
        Ok([]) => match data_folder::of_another(folder) {
            Some(whose) => Poor(whose),
            None => Good(format!("{name}: its owner's alone")),
        },
        Ok([first, ..]) => {
            let first = first.display();
            Bad(format!("{first}: others can read or change it: chmod -R go-rwx {name}"))
        }
        Err(error) => Poor(format!("{name}: {error}")),
    }
}

/// The folder, and the bucket.
fn archives(args: &ServeArgs) -> impl Iterator<Item = Found> {
    let folder = args.archive.as_deref().map(|folder| archive(args, folder));
    #[cfg(feature = "s3")]
    let bucket = bucket(args);
    #[cfg(not(feature = "s3"))]
    let bucket = None;
    let none = || Poor("none: name a folder on another disk by --archive, or a bucket".to_owned());
    let none = (folder.is_none() && bucket.is_none()).then(none);
    [folder, bucket, none].into_iter().flatten()
}

/// The bucket, if the journal can be held against it.
#[cfg(feature = "s3")]
fn bucket(args: &ServeArgs) -> Option<Found> {
    let (journal, _) = read_only(args.folder()).ok()?;
    Some(match args.s3.ends(journal)? {
        Ok(says) => Good(says),
        // A venue starts without it, and catches up.
        Err(error @ ArchiveError::Io { .. }) => Poor(error.to_string()),
        Err(error) => Bad(error.to_string()),
    })
}

fn archive(args: &ServeArgs, folder: &Path) -> Found {
    if let Err(Failure::Usage(why) | Failure::Failed(why) | Failure::Journal(why)) =
        outside(args.folder(), folder)
    {
        return Bad(why);
    }
    let disk = |path: &Path| fs::metadata(path).map(|there| there.dev()).ok();
    let name = folder.display();
    match (disk(args.folder()), disk(folder)) {
        (Some(one), Some(other)) if one == other => {
            Poor(format!("{name} is on the disk of the data, and is lost with it: use another"))
        }
        _ => Good(format!("{name}")),
    }
}

fn descriptors() -> Found {
    let wanted = descriptors_wanted();
    match rlimit::getrlimit(Resource::NOFILE) {
        Ok((_, given)) if given < wanted => Poor(format!(
            "{given} open files, {wanted} are wanted for all connections: raise `ulimit -n` or \
             LimitNOFILE of systemd"
        )),
        Ok((_, given)) => Good(format!("{given} open files")),
        Err(error) => Poor(format!("open files: {error}")),
    }
}

fn threads() -> Found {
    let wanted = threads_wanted();
    match os::check_threads(wanted) {
        Ok(()) => Good(format!("{wanted}")),
        Err(error) => Bad(error.to_string()),
    }
}

fn port(address: SocketAddr) -> Found {
    match TcpListener::bind(address) {
        Ok(_) => Good(format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Poor(format!("{address} is in use: by this venue's server, or by another program"))
        }
        Err(error) => Bad(format!("{address}: {error}")),
    }
}

fn socket(path: &Path) -> Found {
    let name = path.display();
    if UnixStream::connect(path).is_ok() {
        return Poor(format!("{name} is in use: by this venue's server, or by another program"));
    }
    if path.parent().is_some_and(Path::is_dir) {
        return Good(format!("{name} is free"));
    }
    Bad(format!("{name}: its folder is not there: make it; systemd does, by RuntimeDirectory"))
}

fn tls(args: &ServeArgs) -> Found {
    let tls = match entrances::tls(args) {
        Ok(tls) => tls,
        Err(Failure::Usage(why) | Failure::Failed(why) | Failure::Journal(why)) => return Bad(why),
    };
    let https = args.site.public_url().filter(|url| url.starts_with("https://"));
    // Behind a proxy with TLS, browsers see the proxy's certificate.
    let direct = https.filter(|_| !args.site.trusts_a_proxy());
    let stranger = tls.as_ref().zip(direct).and_then(|(tls, url)| {
        let names = tls.stranger(url)?;
        Some(format!(
            "browsers refuse the certificate at {url}: it is for {names}: name one for that host \
             by --tls-cert, or mend --public-url"
        ))
    });
    match (tls, args.listen.ip().is_loopback()) {
        (Some(tls), _) => match (days_left(&tls), stranger) {
            (Some(days), _) if days < 0 => Bad("the certificate is over: renew it".to_owned()),
            (_, Some(says)) => Poor(says),
            (Some(days), None) if days < RENEWED_DAYS => {
                Poor(format!("the certificate is over in {days} days: renew it"))
            }
            (Some(days), None) => Good(format!("the certificate is good for {days} days")),
            (None, None) => Good("nobody can say when the certificate is over".to_owned()),
        },
        (None, _) if direct.is_some() => Poor(
            "none, and no proxy is named, but browsers are to come by https: name --tls-cert and \
             --tls-key, or the proxy with TLS by --trusted-proxy"
                .to_owned(),
        ),
        (None, true) => Good("none, and none but this machine reaches the server".to_owned()),
        (None, false) => Poor(
            "none, and keys travel with every request: name --tls-cert and --tls-key, or listen on \
             loopback behind a proxy with TLS"
                .to_owned(),
        ),
    }
}
