//! System calls that a cage has no use for, each with arguments that cannot do harm. T24

use sys::raw::Probe;

use crate::attack::{Attack, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::call("T24", "call-kexec-load", Probe::KexecLoad).twin(Twin::Root),
    Attack::call("T24", "call-kexec-file-load", Probe::KexecFileLoad).twin(Twin::Root),
    Attack::call("T24", "call-init-module", Probe::InitModule).twin(Twin::Root),
    Attack::call("T24", "call-finit-module", Probe::FinitModule).twin(Twin::Root),
    Attack::call("T24", "call-delete-module", Probe::DeleteModule).twin(Twin::Root),
    Attack::call("T24", "call-reboot", Probe::Reboot).twin(Twin::Namespaces),
    Attack::call("T24", "call-swapon", Probe::Swapon),
    Attack::call("T24", "call-swapoff", Probe::Swapoff).twin(Twin::Root),
    Attack::call("T24", "call-keyctl", Probe::Keyctl),
    Attack::call("T24", "call-add-key", Probe::AddKey),
    Attack::call("T24", "call-request-key", Probe::RequestKey),
    Attack::call("T24", "call-userfaultfd", Probe::Userfaultfd).default_only(),
    Attack::call("T24", "call-bpf", Probe::Bpf).default_only(),
    Attack::call("T24", "call-perf-event-open", Probe::PerfEventOpen).default_only(),
    Attack::call("T24", "call-personality", Probe::Personality).default_only(),
    Attack::call("T24", "call-acct", Probe::Acct).twin(Twin::Root).default_only(),
    Attack::call("T24", "call-quotactl", Probe::Quotactl).default_only(),
    Attack::call("T24", "call-adjtimex", Probe::Adjtimex).default_only(),
    Attack::call("T24", "call-vmsplice", Probe::Vmsplice).default_only(),
    Attack::call("T24", "call-migrate-pages", Probe::MigratePages).default_only(),
    Attack::call("T24", "call-move-pages", Probe::MovePages).default_only(),
    Attack::call("T24", "call-clock-settime", Probe::ClockSettime).default_only(),
    Attack::call("T24", "call-settimeofday", Probe::Settimeofday).default_only(),
    #[cfg(target_arch = "x86_64")]
    Attack::call("T24", "call-iopl", Probe::Iopl).default_only(),
    #[cfg(target_arch = "x86_64")]
    Attack::call("T24", "call-ioperm", Probe::Ioperm).default_only(),
];
