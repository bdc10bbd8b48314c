//! `stockade why`: what a cage makes of a path, a host, a system call or a variable, which rule says
//! so, and what to change.

mod own;

use advice::why::{Question, why as ask};

use policy::shown::shown;

use crate::arguments::WhyArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::selection::{FlagArguments, select};
use crate::session;

/// The command. Its exit status tells whether the program inside has what was asked about.
pub(crate) fn why(arguments: WhyArguments, messages: Messages) -> Result<Exit, Failure> {
    if arguments.own {
        return own::why(arguments.subject.as_deref(), arguments.json);
    }
    let question = question(&arguments)?;
    let flags = FlagArguments {
        files: Some(&arguments.files),
        program: None,
        network: Some(&arguments.network),
        seccomp: arguments.seccomp,
        too_broad: question.too_broad(),
        ..FlagArguments::default()
    };
    let mut selection = select(&arguments.choice, flags, messages)?;
    let _session = session::for_a_look(&mut selection)?;
    let answer = ask(&selection, &question)?;
    if let (Some(word), Question::Host(_)) = (&arguments.subject, &question)
        && !word.to_string_lossy().contains(':')
    {
        let word = shown(word.display());
        messages
            .note(&format!("`{word}` was taken for a host; a path is asked about as `./{word}`"));
    }
    if arguments.json {
        print_json(&answer.data)?;
    } else {
        print(&format!("{}\n", answer.text))?;
    }
    Ok(if answer.yes { Exit::Success } else { Exit::No })
}

fn question(arguments: &WhyArguments) -> Result<Question, Failure> {
    let WhyArguments { subject, host, syscall, env, .. } = arguments;
    match (subject, host, syscall, env) {
        (Some(word), ..) => Ok(Question::about_word(word)),
        (_, Some(text), ..) => Ok(Question::about_host(text)?),
        (_, _, Some(name), _) => Ok(Question::Syscall(name.clone())),
        (_, _, _, Some(name)) => Ok(Question::Variable(name.clone())),
        (None, None, None, None) => Err(Failure::new(Exit::Usage, "there is no question").help(
            "name a path, a host, `--syscall NAME` or `--env NAME`; inside a cage, `--self`",
        )),
    }
}
