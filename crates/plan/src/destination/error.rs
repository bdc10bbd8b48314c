//! Why a text is not an entry of `net.allow` or `net.deny`, and what to write instead.

/// Why a text is not an entry. Each reads as a complete reason; hints are separate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// No host at all.
    #[error("the entry names no host")]
    Empty,
    /// A NUL, another control character or white space.
    #[error("the entry has white space, a NUL or another control character")]
    ControlCharacter,
    /// `*` or `**` alone, or a network of length 0.
    #[error("the entry stands for every host")]
    EveryHost,
    /// `*.com`: a wildcard directly below a top-level domain.
    #[error("the wildcard covers a whole top-level domain")]
    TopLevelWildcard,
    /// A `*` that is not the whole first label.
    #[error("`*` and `**` can only be the whole first label")]
    MisplacedWildcard,
    /// `localhost` or a name below it.
    #[error("`localhost` inside a cage is the cage itself")]
    Localhost,
    /// A scheme, a path or a query.
    #[error("the entry is a URL, not a host")]
    Url,
    /// `user@host`.
    #[error("the entry has a user name in it")]
    UserInfo,
    /// `provider:model`.
    #[error("the entry looks like `provider:model`, not like `host:port`")]
    ProviderModel,
    /// A character that no host name has.
    #[error("the name is not ASCII")]
    NotAscii,
    /// A name of another script that has no `xn--` form, or that stands for something else.
    #[error("the name has no form that the network knows")]
    NoAsciiForm,
    /// A label that is empty, too long, or has a character that no host name has.
    #[error("`{0}` is not a label of a host name")]
    BadLabel(String),
    /// More than 253 characters.
    #[error("the name is longer than 253 characters")]
    NameTooLong,
    /// `010.0.0.1`, `127.1`, `0x7f000001` and the like.
    #[error("the IPv4 address is not written as four decimal numbers")]
    NonCanonicalAddress,
    /// Something after an address, or an address that is none.
    #[error("`{0}` is not an address")]
    BadAddress(String),
    /// `10.0.0.1/8`.
    #[error("the network has bits set beyond its prefix length")]
    HostBits {
        /// The network that was likely meant.
        meant: String,
    },
    /// `/33`, `/x`.
    #[error("`{0}` is not a prefix length")]
    BadPrefix(String),
    /// `::ffff:10.0.0.1`.
    #[error("the address is an IPv4 address in IPv6 form")]
    MappedAddress {
        /// The IPv4 address.
        meant: String,
    },
    /// `fe80::1%eth0`.
    #[error("the address has a zone")]
    Zone,
    /// Port 0, above 65535, not decimal, or a range that ends before it begins.
    #[error("`{0}` is not a port or a range of ports")]
    BadPort(String),
}

impl DestinationError {
    /// What to write instead, where that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::EveryHost => "name the hosts, such as `**.example.com:443`",
            Self::TopLevelWildcard => "name at least two labels, such as `**.example.com`",
            Self::MisplacedWildcard => {
                "`*.example.com` is one label more, `**.example.com` any number"
            }
            Self::Localhost => {
                "a cage reaches its own loopback without any rule; for a port of the host's there is \
                 `net.host_ports` (`--host-port`)"
            }
            Self::Url => "write the host alone, with `:443` for HTTPS",
            Self::UserInfo => "write the host alone",
            Self::ProviderModel => "name the host of the provider, such as `api.example.com:443`",
            Self::NotAscii => "write the name in its `xn--` form",
            Self::NoAsciiForm => "look for characters that only seem to be letters, digits or `*`",
            Self::NonCanonicalAddress => "write it as in `192.0.2.1`",
            Self::HostBits { meant } | Self::MappedAddress { meant } => {
                return Some(format!("write `{meant}`"));
            }
            Self::Zone => "leave out the `%` and what follows",
            Self::BadPort(_) => "a port is 1 to 65535; a range is written as `8000-8080`",
            Self::BadAddress(_) => "an IPv6 address with a port is written as `[2001:db8::1]:443`",
            Self::Empty
            | Self::ControlCharacter
            | Self::BadLabel(_)
            | Self::NameTooLong
            | Self::BadPrefix(_) => return None,
        };
        Some(hint.to_owned())
    }
}
