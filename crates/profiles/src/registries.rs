//! The registries that package clients ask where nobody has configured another one. The only file of the
//! project that names them: what `stockade` allows in a profile is a fact of the product. Says nothing
//! about where anybody's packages come from.

/// Cargo's index and its crates.
pub(crate) const CRATES: &[&str] = &["index.crates.io", "static.crates.io"];

/// The name by which Cargo's configuration replaces its default source.
pub(crate) const CRATES_SOURCE: &str = "crates-io";

/// npm and the clients that follow it.
pub(crate) const NODE: &[&str] = &["registry.npmjs.org"];

/// Yarn 1.
pub(crate) const YARN: &[&str] = &["registry.yarnpkg.com"];

/// pip and uv: the index and the files.
pub(crate) const PYTHON: &[&str] = &["pypi.org", "files.pythonhosted.org"];

/// The proxy of Go's modules.
pub(crate) const GO: &[&str] = &["proxy.golang.org"];

/// Where Go's modules are compared with what others got.
pub(crate) const GO_SUMS: &[&str] = &["sum.golang.org"];

/// Maven.
pub(crate) const JAVA: &[&str] = &["repo.maven.apache.org", "repo1.maven.org"];

/// Gradle's plugins and its wrapper.
pub(crate) const GRADLE: &[&str] = &["plugins.gradle.org", "services.gradle.org"];
