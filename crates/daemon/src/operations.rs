//! What each operation does: one file for each group of them. Here is only the way to them.

mod approval;
mod attach;
mod audit;
mod cages;
mod events;
mod export;
mod files;
mod itself;
mod output;
mod policy;
mod review;
mod sessions;
mod spawn;
mod verify;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request};

use crate::answer::Answer;
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::request::refuse_body;
use crate::route::{Found, Operation, find};

/// Does what a request asks for.
pub(crate) async fn perform(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let Found { operation, segments } = find(request.method(), request.uri().path())?;
    if matches!(*request.method(), Method::GET | Method::DELETE) {
        refuse_body(&request)?;
    }
    let mut segments = segments.into_iter();
    let name = segments.next().unwrap_or_default();
    match operation {
        Operation::Health => itself::health(daemon, &request),
        Operation::Status => itself::status(daemon, &request),
        Operation::Document => itself::document(&request),
        Operation::Doctor => itself::doctor(daemon, &request).await,
        Operation::Drain => itself::drain(daemon, request).await,
        Operation::BeginSession => sessions::begin(daemon, request).await,
        Operation::ListSessions => sessions::list(daemon, &request).await,
        Operation::ShowSession => sessions::show(daemon, &request, name).await,
        Operation::EndSession => sessions::end(daemon, &request, name).await,
        Operation::ListWorkspaces => review::workspaces(daemon, &request, name).await,
        Operation::ShowChanges => review::changes(daemon, &request, name).await,
        Operation::ApplyChanges => review::apply(daemon, request, name).await,
        Operation::DiscardChanges => review::discard(daemon, request, name).await,
        Operation::UndoApply => review::undo(daemon, request, name).await,
        Operation::ListFiles => files::list(daemon, &request, name).await,
        Operation::StatFile => files::stat(daemon, &request, name).await,
        Operation::ReadFile => files::read(daemon, &request, name).await,
        Operation::WriteFile => files::write(daemon, request, name).await,
        Operation::RemoveFile => files::remove(daemon, &request, name).await,
        Operation::MakeDirectory => files::make_directory(daemon, request, name).await,
        Operation::BatchFiles => files::batch(daemon, request, name).await,
        Operation::SpawnCage => spawn::spawn(daemon, request).await,
        Operation::ListCages => cages::list(daemon, &request),
        Operation::ShowCage => cages::show(daemon, &request, &name),
        Operation::CloseCage => cages::close(daemon, &request, &name).await,
        Operation::ShowPlan => cages::plan(daemon, &request, &name),
        Operation::SignalCage => cages::signal(daemon, request, &name).await,
        Operation::ResizeTerminal => cages::resize(daemon, request, &name).await,
        Operation::WaitForCage => cages::wait(daemon, &request, &name).await,
        Operation::WriteInput => cages::write_input(daemon, request, &name).await,
        Operation::ReadOutput => {
            output::read(daemon, &request, &name, &segments.next().unwrap_or_default())
        }
        Operation::AttachCage => attach::attach(daemon, request, &name),
        Operation::CheckPolicy => policy::check(daemon, request).await,
        Operation::ExplainPolicy => policy::explain(daemon, request).await,
        Operation::PolicySchema => policy::schema(&request),
        Operation::ShowApproval => approval::show(daemon, &request).await,
        Operation::GiveApproval => approval::give(daemon, request).await,
        Operation::TakeApprovalBack => approval::take_back(daemon, &request).await,
        Operation::ShowAudit => audit::show(daemon, &request).await,
        Operation::VerifyAudit => verify::verify(daemon, &request).await,
        Operation::VerifyAuditAgainst => verify::verify_against(daemon, request).await,
        Operation::ExportAudit => export::export(daemon, &request).await,
        Operation::AuditHead => export::head(daemon, &request).await,
        Operation::AuditSchema => audit::schema(&request),
        Operation::FollowEvents => events::follow(daemon, &request).await,
    }
}

/// Does something that has to come to its end even if the client does not wait for that: what serves
/// a connection ends with it.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(_) => Err(Problem::new(Code::Internal, "the request was given up")),
    }
}

/// Does something that takes the kernel's or a disk's time on a thread where that holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Problem::new(Code::Internal, "the request was given up")),
    }
}
