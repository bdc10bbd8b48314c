//! The commands that print something about `stockade` itself: the schema of its policy language,
//! completion scripts, manual pages.

use crate::arguments::examples::described;
use crate::arguments::{CompletionsArguments, ManArguments, SchemaArguments};
use crate::exit::{EXIT_CODES, Exit};
use crate::failure::Failure;
use crate::output::{print, print_json};

/// `stockade schema`.
pub(crate) fn schema(arguments: &SchemaArguments) -> Result<Exit, Failure> {
    let schema = match (arguments.user, arguments.manifest) {
        (true, _) => policy::schema::user(),
        (false, true) => manifest::schema(),
        (false, false) => policy::schema::project(),
    };
    print_json(&schema)?;
    Ok(Exit::Success)
}

/// `stockade completions`.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut described(), "stockade", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// `stockade man`.
pub(crate) fn man(arguments: &ManArguments) -> Result<Exit, Failure> {
    let mut command = described();
    command.build();
    let command = match &arguments.command {
        None => command,
        Some(name) => {
            let found = command.get_subcommands().find(|known| known.get_name() == name);
            let Some(found) = found else {
                let name = policy::shown::shown(name);
                return Err(Failure::new(Exit::Usage, format!("there is no command `{name}`"))
                    .help("`stockade --help` lists them"));
            };
            found.clone()
        }
    };
    let mut page = Vec::new();
    let own = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let command = match own.contains(EXIT_CODES) {
        true => command,
        false => command.after_long_help(format!("{own}\n\n{EXIT_CODES}").trim().to_owned()),
    };
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::new(Exit::No, error.to_string()))?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}
