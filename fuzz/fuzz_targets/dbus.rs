//! Any bytes as what a message bus sends: messages come of it, or an error, never a panic, and what
//! a message says it contains is passed over or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    while let Ok(Some((message, length))) = limits::dbus::decode(rest) {
        assert!(length > 0 && length <= rest.len());
        let mut reader = message.reader();
        let _read = reader.skip(&message.signature);
        let _read = message.reader().text();
        let mut reader = message.reader();
        let _read = reader.array(8, |reader| {
            reader.structure()?;
            let _text = (reader.text()?, reader.text()?);
            reader.skip("ssssouso")
        });
        rest = &rest[length..];
    }
});
