//! The list of walls: what each one is, and which tests have to notice when it is left out. Each is
//! asked about in one place of the code that builds it; `cargo xtask tidy` looks.

/// A test that has to notice that a wall is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The package without its prefix.
    pub package: &'static str,
    /// The program of tests: the library itself, or a file or directory of `tests`.
    pub target: &'static str,
    /// Its whole name there.
    pub name: &'static str,
    /// Who runs it.
    pub caller: Caller,
}

/// As whom a test has to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// As anybody.
    Any,
    /// As root: others have no such wall.
    Root,
    /// As a user without privilege: root has no such wall.
    User,
}

impl Test {
    const fn new(package: &'static str, target: &'static str, name: &'static str) -> Self {
        Self { package, target, name, caller: Caller::Any }
    }

    const fn of_root(self) -> Self {
        Self { caller: Caller::Root, ..self }
    }

    const fn of_user(self) -> Self {
        Self { caller: Caller::User, ..self }
    }
}

/// A test of `stockade` as a whole.
const fn behaviour(name: &'static str) -> Test {
    Test::new("cli", "behaviour", name)
}

const fn network(name: &'static str) -> Test {
    Test::new("cli", "network", name)
}

const fn daemon(name: &'static str) -> Test {
    Test::new("cli", "daemon", name)
}

const fn gate(name: &'static str) -> Test {
    Test::new("gate", "stockade_gate", name)
}

/// A test beside the code of a library.
const fn beside(package: &'static str, name: &'static str) -> Test {
    Test::new(package, package, name)
}

const fn jail(target: &'static str, name: &'static str) -> Test {
    Test::new("jail", target, name)
}

/// A wall that is tried alone: the ones before it are open.
const fn alone(name: &'static str) -> Test {
    jail("second_walls", name)
}

macro_rules! walls {
    ($($(#[doc = $what:literal])+ $wall:ident: [$($test:expr),* $(,)?],)+) => {
        /// A wall around a cage.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Wall {
            $($(#[doc = $what])+ $wall,)+
        }

        impl Wall {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$wall),+];

            /// Its name, on the command line and in the code.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$wall => stringify!($wall),)+
                }
            }

            /// What it is, in a sentence.
            pub fn sentence(self) -> &'static str {
                let sentence = match self {
                    $(Self::$wall => concat!($($what),+),)+
                };
                sentence.trim()
            }

            /// The tests that have to notice that it is left out: at least one of them.
            pub fn tests(self) -> &'static [Test] {
                match self {
                    $(Self::$wall => const { &[$($test),*] },)+
                }
            }
        }
    };
}

walls! {
    /// A cage is in a landlock domain with the Plan's rules.
    Landlock: [jail("walls", "a_stream_for_reading_stays_one")],
    /// That domain's programs reach no abstract socket and no process outside of it.
    LandlockScopes: [alone("abstract_sockets_of_the_host_are_out_of_reach")],
    /// A crash leaves no core dump, in no file and with no helper of the host.
    CoreLimit: [jail("walls", "core_dumps_are_refused_for_good")],
    /// Programs run under a system call filter.
    CallFilter: [
        behaviour("identity::there_is_no_privilege_left"),
        jail("life", "a_refused_call_is_named"),
    ],
    /// It is the default filter unless a policy asks for the relaxed one.
    DefaultProfile: [behaviour("record::what_a_program_ran_against_is_on_record")],
    /// A call that only an attack makes kills its process.
    KillingCalls: [jail("life", "a_killing_call_kills_and_is_named")],
    /// No program gains privileges by being executed.
    NoNewPrivileges: [behaviour("identity::there_is_no_privilege_left")],
    /// Pid 1 has no capability left.
    Capabilities: [behaviour("identity::there_is_no_privilege_left")],
    /// None can be gained either: the bounding set is empty.
    BoundingSet: [jail("life", "the_program_has_no_power")],
    /// No user namespace can be made inside.
    NestedNamespaces: [jail("walls", "no_namespace_without_the_filter")],
    /// A Plan that would map root's id is refused.
    RootUnmapped: [alone("a_plan_with_roots_id_is_refused")],
    /// Cages of root have none of root's groups.
    Groups: [alone("groups_of_the_caller_are_left_behind").of_root()],
    /// The root of the tree is read-only.
    SealedRoot: [jail("life", "the_root_is_read_only")],
    /// Set-id bits mean nothing in any mount.
    NoSetId: [alone("mounts_have_their_restrictions")],
    /// Device nodes mean nothing in any mount but those of devices.
    NoDevices: [alone("a_device_in_a_grant_cannot_be_opened").of_root()],
    /// A read-only grant is mounted read-only.
    ReadOnlyGrants: [jail("walls", "files_have_two_walls")],
    /// The kernel's settings are read-only.
    KernelSettings: [alone("mounts_have_their_restrictions")],
    /// Files of the kernel that tell about the host are covered.
    KernelFiles: [alone("files_of_the_kernel_are_covered")],
    /// A user's path that is looked up again leads to the object that was resolved.
    SameObject: [alone("a_path_that_was_swapped_is_refused").of_user()],
    /// The mount table is compared with the Plan.
    MountTable: [alone("a_table_that_differs_is_refused")],
    /// No program runs before the cage is verified.
    GateShut: [alone("the_gate_stays_shut_until_the_cage_is_verified")],
    /// The program has descriptors 0 to 2 and no other.
    Descriptors: [behaviour("streams::other_descriptors_do_not_get_in")],
    /// The program has the variables of the Plan and no other.
    Environment: [behaviour("environment::the_callers_variables_do_not_get_in")],
    /// Pid 1, a copy of the supervisor, cannot be read from inside.
    FirstProcessHidden: [jail("walls", "pid_one_is_out_of_reach_without_the_filter")],
    /// Pid 1 and the gatekeeper die with the process that forked them.
    DeathWithSupervisor: [jail("walls", "a_stopped_pid_one_dies_with_its_supervisor")],
    /// What a rule hides is covered.
    HiddenPaths: [behaviour("files::the_most_specific_path_wins_in_both_directions")],
    /// Well-known secrets in a grant are hidden.
    Secrets: [behaviour("files::well_known_secrets_stay_hidden_unless_named")],
    /// Sockets in a grant are hidden.
    Sockets: [beside("resolve", "sockets::tests::a_socket_in_a_grant_is_hidden")],
    /// Files that run code on the host are read-only in a writable grant.
    ProtectedNames: [behaviour("protected::existing_ones_cannot_be_changed_removed_or_replaced")],
    /// Directories above a hidden or protected path cannot be renamed.
    Pins: [beside("resolve", "tests::directories_above_stricter_rules_are_found_once")],
    /// A rule through a link that the program could lead elsewhere is refused.
    LooseLinks: [behaviour("files::a_rule_through_a_link_that_the_program_could_move_is_refused")],
    /// What a run has left that runs code on the host is set aside.
    Quarantine: [behaviour("protected::new_ones_are_set_aside_and_told")],
    /// Output to a terminal does nothing beyond its screen.
    TerminalFilter: [beside("terminal", "tests::what_acts_beyond_the_screen_is_taken_out")],
    /// A project's file that asks for more than the ceiling has to be approved.
    Approval: [behaviour("trust::a_file_that_asks_for_more_is_refused_until_it_is_approved")],
    /// A policy file of a stranger is refused.
    PolicyOwner: [beside("prepare", "project::tests::a_strangers_file_is_refused").of_root()],
    /// The start is durable on record before the program runs.
    DurableRecord: [
        Test::new("cage", "runner", "nothing_starts_before_its_record_is_durable"),
    ],
    /// A cage has no more memory than its limit.
    MemoryLimit: [behaviour("limits::too_much_memory")],
    /// A cage has no more processes than its limit.
    ProcessLimit: [behaviour("limits::processes_are_counted_without_ours")],
    /// A program whose time is over is ended.
    WallTime: [behaviour("walltime::a_program_that_takes_too_long_is_ended")],
    /// Pid 1 ends it if its supervisor does not.
    WallTimeInside: [behaviour("walltime::a_stopped_supervisor_does_not_stop_the_clock")],
    /// A name leads to no private, special or local address.
    SpecialAddresses: [
        network("ways_around::names_that_lead_inward"),
        gate("decision::tests::every_class_needs_an_entry_of_its_own"),
    ],
    /// A name leads to no address of the host itself.
    OwnAddresses: [gate("decision::tests::every_class_needs_an_entry_of_its_own")],
    /// A connection by name needs an entry for that name.
    NamesAsked: [gate("decision::tests::patterns_cover_what_they_say")],
    /// A connection to an address needs an entry for that address.
    AddressesAsked: [network("ways_around::addresses_instead_of_names")],
    /// An entry with a port is for that port alone.
    Ports: [network("clients::ports_of_entries")],
    /// A deny entry wins.
    DeniedNames: [network("settings::denials_win_and_give_their_reason")],
    /// A name without an entry is not looked up.
    NamesLookedUp: [gate("dns::server::tests::a_denied_name_is_never_sent_upstream")],
    /// TLS to a name is for that name.
    ServerNames: [network("ways_around::other_names_inside_tls")],
    /// Every HTTP request to a name is for that name.
    HttpHosts: [network("ways_around::other_hosts_inside_http")],
    /// Who serves a mount, and who dials for it, has a jail of its own.
    FileServerJail: [Test::new("cli", "mounts", "jails::a_server_has_nothing_but_its_store")],
    /// The gatekeeper has a jail of its own.
    GatekeeperJail: [network("failures::gatekeeper_has_nothing_to_lose")],
    /// The daemon serves its own user, root and those that are named.
    DaemonUsers: [daemon("refusals::other_users_are_refused").of_root()],
    /// On TCP the daemon serves whoever shows its token.
    DaemonToken: [daemon("tcp::every_request_has_to_show_the_token")],
}
