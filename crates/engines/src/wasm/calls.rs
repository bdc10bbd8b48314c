//! The names by which modules call, and what answers each: all of WASI preview 1, and nothing else.

use wasmtime::{Caller, Linker};

use super::host::{Ending, Guest, Host};
use super::memory::Memory;
use super::refusal::Outcome;
use super::{descriptors, paths, poll, process, transfer};

/// Gives them to whatever is linked.
pub(super) fn add_to(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    add_calls(linker)?;
    // The one call that does not return.
    linker.func_wrap(MODULE, "proc_exit", |status: u32| -> wasmtime::Result<()> {
        Err(Ending::Exit(status.cast_signed()).into())
    })?;
    Ok(())
}

/// Does what one call asks for, with the memory that the module exports.
fn answer(caller: &mut Caller<'_, Host>, call: impl FnOnce(&mut Guest<'_>) -> Outcome<()>) -> u32 {
    let memory = caller.get_export("memory").and_then(wasmtime::Extern::into_memory);
    let outcome = match memory {
        Some(memory) => {
            let (bytes, host) = memory.data_and_store_mut(&mut *caller);
            call(&mut Guest { memory: Memory(bytes), host })
        }
        None => call(&mut Guest { memory: Memory(&mut []), host: caller.data_mut() }),
    };
    outcome.map_or_else(|refusal| refusal.number().into(), |()| 0)
}

macro_rules! calls {
    ($($name:ident($($argument:ident: $kind:ty),*) => $module:ident;)*) => {
        fn add_calls(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
            $(linker.func_wrap(
                MODULE,
                stringify!($name),
                |mut caller: Caller<'_, Host>, $($argument: $kind),*| -> u32 {
                    answer(&mut caller, |guest| $module::$name(guest, $($argument),*))
                },
            )?;)*
            Ok(())
        }
    };
}

calls! {
    args_get(list: u32, text: u32) => process;
    args_sizes_get(count: u32, bytes: u32) => process;
    environ_get(list: u32, text: u32) => process;
    environ_sizes_get(count: u32, bytes: u32) => process;
    clock_res_get(clock: u32, into: u32) => process;
    clock_time_get(clock: u32, precision: u64, into: u32) => process;
    random_get(at: u32, length: u32) => process;
    sched_yield() => process;
    proc_raise(signal: u32) => process;
    sock_accept(fd: u32, flags: u32, into: u32) => process;
    sock_recv(fd: u32, list: u32, count: u32, flags: u32, read: u32, read_flags: u32) => process;
    sock_send(fd: u32, list: u32, count: u32, flags: u32, written: u32) => process;
    sock_shutdown(fd: u32, how: u32) => process;

    poll_oneoff(subscriptions: u32, events: u32, count: u32, happened: u32) => poll;

    fd_advise(fd: u32, offset: u64, length: u64, advice: u32) => descriptors;
    fd_allocate(fd: u32, offset: u64, length: u64) => descriptors;
    fd_close(fd: u32) => descriptors;
    fd_datasync(fd: u32) => descriptors;
    fd_fdstat_get(fd: u32, into: u32) => descriptors;
    fd_fdstat_set_flags(fd: u32, flags: u32) => descriptors;
    fd_fdstat_set_rights(fd: u32, rights: u64, inheriting: u64) => descriptors;
    fd_filestat_get(fd: u32, into: u32) => descriptors;
    fd_filestat_set_size(fd: u32, size: u64) => descriptors;
    fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, which: u32) => descriptors;
    fd_prestat_get(fd: u32, into: u32) => descriptors;
    fd_prestat_dir_name(fd: u32, at: u32, length: u32) => descriptors;
    fd_renumber(fd: u32, to: u32) => descriptors;
    fd_sync(fd: u32) => descriptors;

    fd_read(fd: u32, list: u32, count: u32, read: u32) => transfer;
    fd_pread(fd: u32, list: u32, count: u32, offset: u64, read: u32) => transfer;
    fd_write(fd: u32, list: u32, count: u32, written: u32) => transfer;
    fd_pwrite(fd: u32, list: u32, count: u32, offset: u64, written: u32) => transfer;
    fd_seek(fd: u32, offset: u64, whence: u32, into: u32) => transfer;
    fd_tell(fd: u32, into: u32) => transfer;
    fd_readdir(fd: u32, at: u32, length: u32, cookie: u64, used: u32) => transfer;

    path_create_directory(fd: u32, path: u32, length: u32) => paths;
    path_filestat_get(fd: u32, flags: u32, path: u32, length: u32, into: u32) => paths;
    path_filestat_set_times(
        fd: u32, flags: u32, path: u32, length: u32, accessed: u64, modified: u64, which: u32
    ) => paths;
    path_link(
        fd: u32, flags: u32, path: u32, length: u32, to: u32, new_path: u32, new_length: u32
    ) => paths;
    path_open(
        fd: u32, flags: u32, path: u32, length: u32, how: u32, rights: u64, inheriting: u64,
        descriptor_flags: u32, into: u32
    ) => paths;
    path_readlink(fd: u32, path: u32, length: u32, at: u32, room: u32, used: u32) => paths;
    path_remove_directory(fd: u32, path: u32, length: u32) => paths;
    path_rename(fd: u32, path: u32, length: u32, to: u32, new_path: u32, new_length: u32) => paths;
    path_symlink(target: u32, target_length: u32, fd: u32, path: u32, length: u32) => paths;
    path_unlink_file(fd: u32, path: u32, length: u32) => paths;
}

const MODULE: &str = "wasi_snapshot_preview1";
