//! Where a client is that comes through proxies: they say so in `X-Forwarded-For`, of which only
//! what trusted ones added counts.

use std::net::IpAddr;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The last address on the way that is no trusted proxy's; `peer` is who is connected.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_proxy = |address: IpAddr| {
        let address = address.to_canonical();
        trusted.iter().any(|network| network.contains(&address))
    };
    if !is_proxy(peer) {
        return peer;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::to_str);
    let said: Vec<&str> = lines.flatten().flat_map(|line| line.split(',')).collect();
    let mut nearest = peer;
    for address in said.iter().rev() {
        // What is no address ends what can be believed.
        let Ok(address) = address.trim().parse::<IpAddr>() else { break };
        nearest = address;
        if !is_proxy(address) {
            break;
        }
    }
    nearest
}

#[cfg(test)]
#[path = "../../tests/unit/http/proxies.rs"]
mod tests;
