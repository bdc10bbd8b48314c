//! From the user's settings to those of the gatekeeper.

use policy::{NetworkSettings, Proxy, ProxyAddress};

use super::Egress;

fn with(proxy: Proxy, variables: &[(&str, &str)]) -> Result<Egress, String> {
    let configured =
        NetworkSettings { proxy, log_allowed_per_million: 250_000, ..NetworkSettings::default() };
    let variable = |name: &str| {
        let found = variables.iter().find(|(set, _)| *set == name);
        found.map(|(_, value)| (*value).into())
    };
    Egress::new(&configured, variable).map_err(|error| error.to_string())
}

/// The environment counts only where the user says so.
#[test]
fn a_proxy_comes_from_where_the_user_says() {
    let fixed = || Proxy::At(ProxyAddress::parse("http://u:p@fixed:1").unwrap());
    let both = &[("HTTPS_PROXY", "http://upper:2"), ("https_proxy", "lower:3")][..];
    for (proxy, variables, expected) in [
        (Proxy::None, both, None),
        (fixed(), both, Some("fixed")),
        (Proxy::Environment, both, Some("lower")),
        (
            Proxy::Environment,
            &[("HTTPS_PROXY", ""), ("HTTP_PROXY", "http://plain:4")],
            Some("plain"),
        ),
        (Proxy::Environment, &[], None),
    ] {
        let way = with(proxy, variables).unwrap();
        assert_eq!(way.settings.proxy.map(|proxy| proxy.host).as_deref(), expected);
        assert_eq!(way.settings.log_allowed, 0.25);
    }
    let proxy = with(fixed(), &[]).unwrap().settings.proxy.unwrap();
    assert_eq!(proxy.authorization.as_deref(), Some("Basic dTpw"));
}

#[test]
fn a_wrong_variable_is_refused_without_its_password() {
    let refused =
        with(Proxy::Environment, &[("https_proxy", "socks5://u:hunter2@x:1")]).unwrap_err();
    assert!(refused.contains("`https_proxy`") && !refused.contains("hunter2"), "{refused}");
}
