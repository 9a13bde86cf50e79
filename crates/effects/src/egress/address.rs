//! Classifies addresses as public or not. Must not know names or lists.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `ip` is globally reachable unicast. Stricter than the IANA special-purpose registries if they are ambiguous.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = a == 0
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || ip.is_multicast()
        || (a == 100 && (64..128).contains(&b)) // shared address space, cloud metadata
        || (a == 192 && b == 0 && c == 0) // protocol assignments
        || (a == 192 && b == 88 && c == 99) // 6to4 relays
        || (a == 198 && (b == 18 || b == 19)) // benchmarks
        || a >= 240; // reserved, broadcast
    !special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let parts = ip.segments();
    if parts[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(embedded_v4(parts[6], parts[7])); // NAT64
    }
    if parts[0] == 0x2002 {
        return is_public_v4(embedded_v4(parts[1], parts[2])); // 6to4
    }
    let global_unicast = parts[0] & 0xe000 == 0x2000;
    let protocol_assignments = parts[0] == 0x2001 && parts[1] < 0x200; // Teredo and others
    let documentation = (parts[0] == 0x2001 && parts[1] == 0xdb8) || parts[0] == 0x3fff;
    global_unicast && !protocol_assignments && !documentation
}

fn embedded_v4(high: u16, low: u16) -> Ipv4Addr {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_local_and_metadata_addresses_are_not_public() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn internet_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "2002:101:101::",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
