//! Tool chains and language managers in one table: where they lie unless a variable says otherwise, what
//! of them is shown, and what of them is a cache. Only a place of the user's own is looked at, never what
//! a project names.

use plan::HostPath;

use crate::draft::{Draft, Word};
use crate::host::Host;
use crate::search_path::is_of_system;

/// One tool chain.
struct Toolchain {
    /// For a person.
    name: &'static str,
    /// The variable that says where it is, and that is passed on.
    variable: Option<&'static str>,
    /// Where it is otherwise, below the home; an absolute one is of the system. The first one counts.
    places: &'static [&'static str],
    /// What of it is shown; `""` is all of it.
    shown: &'static [&'static str],
    /// Where it writes itself, or package clients put what they install or fetch: in a layer of the
    /// project's own, where the directory is the caller's.
    layered: &'static [&'static str],
}

/// What lies below the home and is only a cache, with the variable that moves it.
struct Cache {
    name: &'static str,
    variable: Option<&'static str>,
    place: &'static str,
}

/// Shows every tool chain that is there.
pub(crate) fn show(draft: &mut Draft, host: &Host) {
    for toolchain in TOOLCHAINS {
        let Some(place) = toolchain.place(host) else { continue };
        // What lies in the system's own trees is in every cage.
        let layered = toolchain.layered.iter().filter(|_| !is_of_system(&place));
        let why = format!("{}: what is added stays in this project's layer", toolchain.name);
        for path in layered.filter_map(|part| place.join(part).ok()) {
            layer(draft, host, &why, &path);
        }
        let why = format!("{}, read-only", toolchain.name);
        let parts = toolchain.shown.iter().filter(|_| !is_of_system(&place));
        for path in parts.filter_map(|part| place.join(part).ok()) {
            if host.exists(&path) {
                draft.path(host, &why, Word::Read, &path);
            }
        }
        if let Some(variable) = toolchain.variable {
            draft.pass(host, "Where tool chains are", variable);
        }
    }
}

/// Shows the caches of package clients, each with a layer for what this project adds.
pub(crate) fn show_caches(draft: &mut Draft, host: &Host) {
    for cache in CACHES {
        let moved = cache.variable.and_then(|variable| host.path_in(variable));
        let place =
            moved.filter(|place| !host.is_broad(place)).or_else(|| host.in_home(cache.place));
        let Some(place) = place.filter(|place| host.is_own_directory(place)) else { continue };
        layer(draft, host, &format!("Cache of {}", cache.name), &place);
        if let Some(variable) = cache.variable {
            draft.pass(host, "Where caches are", variable);
        }
    }
}

/// Shows a directory of the caller's own with a layer above it. One of somebody else's stays read-only.
fn layer(draft: &mut Draft, host: &Host, why: &str, path: &HostPath) {
    if host.is_own_directory(path) {
        draft.path(host, why, Word::Cache, path);
    }
}

impl Toolchain {
    /// Where it is. A place that a variable names must not be more than a tool chain.
    fn place(&self, host: &Host) -> Option<HostPath> {
        let moved = self.variable.and_then(|variable| host.path_in(variable));
        let moved = moved.filter(|place| is_of_system(place) || !host.is_broad(place));
        let by_default = self.places.iter().filter_map(|place| match place.strip_prefix('/') {
            Some(below_root) => host.in_system(below_root),
            None => host.in_home(place),
        });
        let mut places = moved.into_iter().chain(by_default);
        places.find(|place| host.is_directory(place) && !place.is_within(&host.project))
    }
}

const fn toolchain(
    name: &'static str,
    variable: Option<&'static str>,
    places: &'static [&'static str],
    shown: &'static [&'static str],
    layered: &'static [&'static str],
) -> Toolchain {
    Toolchain { name, variable, places, shown, layered }
}

const ALL: &[&str] = &[""];

const NONE: &[&str] = &[];

const TOOLCHAINS: &[Toolchain] = &[
    toolchain("Cargo", Some("CARGO_HOME"), &[".cargo"], &["bin"], &["bin", "registry", "git"]),
    toolchain("rustup", Some("RUSTUP_HOME"), &[".rustup"], ALL, ALL),
    toolchain("nvm", Some("NVM_DIR"), &[".nvm", ".config/nvm"], ALL, &["versions"]),
    toolchain("fnm", Some("FNM_DIR"), &[".local/share/fnm", ".fnm"], ALL, NONE),
    toolchain("Volta", Some("VOLTA_HOME"), &[".volta"], ALL, ALL),
    toolchain("n", Some("N_PREFIX"), NONE, ALL, NONE),
    toolchain("pnpm", Some("PNPM_HOME"), &[".local/share/pnpm"], ALL, &["store"]),
    toolchain(
        "Bun",
        Some("BUN_INSTALL"),
        &[".bun"],
        &["bin", "install/global"],
        &["install/cache"],
    ),
    toolchain("Deno", Some("DENO_INSTALL"), &[".deno"], &["bin"], NONE),
    toolchain("pyenv", Some("PYENV_ROOT"), &[".pyenv"], ALL, &["versions", "shims"]),
    toolchain(
        "Pythons of uv",
        Some("UV_PYTHON_INSTALL_DIR"),
        &[".local/share/uv/python"],
        ALL,
        NONE,
    ),
    toolchain("tools of uv", Some("UV_TOOL_DIR"), &[".local/share/uv/tools"], ALL, NONE),
    toolchain("pipx", Some("PIPX_HOME"), &[".local/share/pipx", ".local/pipx"], ALL, NONE),
    toolchain("Poetry", Some("POETRY_HOME"), &[".local/share/pypoetry"], ALL, NONE),
    toolchain("Hatch", None, &[".local/share/hatch"], ALL, NONE),
    toolchain(
        "conda",
        Some("CONDA_ROOT"),
        &["miniconda3", "miniforge3", "mambaforge", "anaconda3"],
        ALL,
        &["envs", "pkgs"],
    ),
    toolchain("Go", Some("GOPATH"), &["go"], &["bin"], &["pkg"]),
    toolchain("Go's own", Some("GOROOT"), &["sdk"], ALL, NONE),
    toolchain("SDKMAN", Some("SDKMAN_DIR"), &[".sdkman"], ALL, NONE),
    toolchain("Java", Some("JAVA_HOME"), NONE, ALL, NONE),
    toolchain("jenv", Some("JENV_ROOT"), &[".jenv"], ALL, NONE),
    toolchain("Maven", None, &[".m2"], NONE, &["repository", "wrapper"]),
    toolchain("Gradle", Some("GRADLE_USER_HOME"), &[".gradle"], NONE, &["caches", "wrapper"]),
    toolchain(".NET", Some("DOTNET_ROOT"), &[".dotnet"], ALL, NONE),
    toolchain("NuGet", Some("NUGET_PACKAGES"), &[".nuget/packages"], NONE, ALL),
    toolchain("rbenv", Some("RBENV_ROOT"), &[".rbenv"], ALL, &["versions", "shims"]),
    toolchain("asdf", Some("ASDF_DATA_DIR"), &[".asdf"], ALL, NONE),
    toolchain("mise", Some("MISE_DATA_DIR"), &[".local/share/mise"], ALL, NONE),
    toolchain("Homebrew", Some("HOMEBREW_PREFIX"), &["/home/linuxbrew/.linuxbrew"], ALL, NONE),
    toolchain("Nix", None, &["/nix/store"], ALL, NONE),
    toolchain("Nix profiles", None, &["/nix/var/nix/profiles"], ALL, NONE),
];

const fn cache(name: &'static str, variable: Option<&'static str>, place: &'static str) -> Cache {
    Cache { name, variable, place }
}

const CACHES: &[Cache] = &[
    cache("npm", Some("npm_config_cache"), ".npm"),
    cache("node-gyp", None, ".cache/node-gyp"),
    cache("Yarn", Some("YARN_CACHE_FOLDER"), ".cache/yarn"),
    cache("Yarn 2", None, ".yarn/berry/cache"),
    cache("pip", Some("PIP_CACHE_DIR"), ".cache/pip"),
    cache("uv", Some("UV_CACHE_DIR"), ".cache/uv"),
    cache("Poetry", Some("POETRY_CACHE_DIR"), ".cache/pypoetry"),
    cache("Go", Some("GOCACHE"), ".cache/go-build"),
    cache("Deno", Some("DENO_DIR"), ".cache/deno"),
    cache("sccache", Some("SCCACHE_DIR"), ".cache/sccache"),
    cache("ccache", Some("CCACHE_DIR"), ".cache/ccache"),
    cache("pre-commit", Some("PRE_COMMIT_HOME"), ".cache/pre-commit"),
];
