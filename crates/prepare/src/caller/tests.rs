//! What this process says of itself.

use super::*;

#[test]
fn surroundings_of_this_process_are_complete() {
    let project =
        HostPath::new(std::env::temp_dir().canonicalize().unwrap().into_os_string()).unwrap();
    let surroundings = Caller::of_this_process().unwrap().surroundings(project.clone());
    assert_eq!(surroundings.project, project);
    let working_directory = std::env::current_dir().unwrap();
    assert_eq!(surroundings.working_directory.as_path(), working_directory);
    assert!(surroundings.umask <= 0o777);
    assert!(!surroundings.environment.is_empty());
}
