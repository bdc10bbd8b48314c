//! `wasi:clocks`: what time it is, and waiting for it. Never sets a clock.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use wasmtime::component::Resource;

use super::super::waiting::{in_nanoseconds, monotonic};
use super::bindings::wasi::clocks::{monotonic_clock, timezone, wall_clock};
use super::host::Host;
use super::pollables::Pollable;
use crate::processor::duration;

impl monotonic_clock::Host for Host {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(monotonic())
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(in_nanoseconds(duration(clock_getres(ClockId::Monotonic))))
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<Pollable>> {
        self.push(Pollable::Time(when))
    }

    fn subscribe_duration(&mut self, after: u64) -> wasmtime::Result<Resource<Pollable>> {
        self.push(Pollable::Time(monotonic().saturating_add(after)))
    }
}

impl wall_clock::Host for Host {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(moment(duration(clock_gettime(ClockId::Realtime))))
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(moment(duration(clock_getres(ClockId::Realtime))))
    }
}

/// Not stable yet, and never linked. Every guest is where the clock is.
impl timezone::Host for Host {
    fn display(&mut self, _: wall_clock::Datetime) -> wasmtime::Result<timezone::TimezoneDisplay> {
        let name = "UTC".to_owned();
        Ok(timezone::TimezoneDisplay { utc_offset: 0, name, in_daylight_saving_time: false })
    }

    fn utc_offset(&mut self, _: wall_clock::Datetime) -> wasmtime::Result<i32> {
        Ok(0)
    }
}

const fn moment(time: std::time::Duration) -> wall_clock::Datetime {
    wall_clock::Datetime { seconds: time.as_secs(), nanoseconds: time.subsec_nanos() }
}
