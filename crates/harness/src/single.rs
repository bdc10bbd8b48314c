//! `stockade agent`: one task, to its end.

use advice::Failure;
use agent::{Elsewhere, Event, Watch as _};

use crate::Tell;
use crate::arguments::{AgentArguments, CommonArguments};
use crate::record::Record;
use crate::show::{Form, Show};
use crate::spawn::Spawner;
use crate::types;
use crate::work::{Finish, Work, end};

/// The command. Before the first thread of the process.
///
/// # Errors
/// If nothing could be begun.
pub fn agent(arguments: &AgentArguments, tell: &dyn Tell) -> Result<Finish, Failure> {
    let common = &types::completed(&arguments.common)?;
    let mut work = Work::begin(common, tell)?;
    let caged = work.cage(common.cage.session.as_deref(), tell)?;
    let begun = begin(arguments, common, &work, &caged)
        .and_then(|begun| Ok((begun, work.services(common)?, work.servers(common, tell)?)));
    let ((client, settings, story), services, servers) = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            end(caged, tell);
            return Err(failure);
        }
    };
    let form = if arguments.json { Form::Json } else { Form::Person };
    let show = Show::new(form, Record::new(work.runner.log(), caged.invocation()));
    let (name, model) = (story.name.clone(), settings.model.clone());
    let tree = work.tree(common, &settings, &client);
    let spawner = tree.as_ref().map(|tree| {
        Spawner::new(tree, &caged.hands, caged.invocation(), common.children.unwrap_or_default())
    });
    let mut more: Vec<&dyn Elsewhere> = servers
        .iter()
        .map(|server| server as &dyn Elsewhere)
        .chain([&services as &dyn Elsewhere])
        .chain(spawner.iter().map(|spawner| spawner as &dyn Elsewhere))
        .collect();
    let code = work.code(&more);
    more.extend(code.iter().map(|code| code as &dyn Elsewhere));
    let theirs = more.iter().flat_map(|more| more.tools()).map(|tool| tool.name.clone());
    let tools = work.tools.iter().cloned().chain(theirs).collect();
    show.saw(&Event::Begun { session: name.clone(), model, tools });
    let mut agent = work.agent((settings, client), (&caged, more), story, &show);
    if let Some(tree) = &tree {
        agent = agent.spending(&tree.purse);
    }
    let outcome = agent.run(arguments.task.as_deref());
    drop(agent);
    drop(code);
    drop(spawner);
    drop(tree);
    drop(servers);
    let has_session = caged.session.is_some();
    end(caged, tell);
    let finish = Finish::of(&outcome);
    if finish != Finish::Done && has_session {
        tell.note(&format!(
            "it can go on: `stockade agent --session {name}{}`, with another task or without",
            common.of_model()
        ));
    }
    Ok(finish)
}

type Begun = (model::Client, agent::Settings, crate::work::Story);

fn begin(
    arguments: &AgentArguments,
    common: &CommonArguments,
    work: &Work,
    caged: &crate::caged::Caged,
) -> Result<Begun, Failure> {
    let client = work.client()?;
    let asks = !arguments.json && crate::ask::can_be_asked();
    let story = work.story(caged.session.as_deref())?;
    if arguments.task.is_none() && story.messages.is_empty() {
        return Err(Failure::new(
            cage::Kind::Usage,
            format!("session `{}` has no task that could go on", story.name),
        )
        .help("give a task"));
    }
    Ok((client, work.settings(common, asks), story))
}
