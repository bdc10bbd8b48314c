//! Sockets of components: over the network of this process where the world gives it, and refused elsewhere. Waiting, and
//! streams that are not files.

use std::time::{Duration, Instant};

use engines::{Around, End, Input};

use crate::native::{SAY, component, run};

const TCP: &str = "
    $network sockets/instance-network instance-network -> i32
    $create sockets/tcp-create-socket create-tcp-socket i32,i32
    $bind sockets/tcp [method]tcp-socket.start-bind i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32
    $bound sockets/tcp [method]tcp-socket.finish-bind i32,i32
    $listen sockets/tcp [method]tcp-socket.start-listen i32,i32
    $listening sockets/tcp [method]tcp-socket.finish-listen i32,i32
    $address sockets/tcp [method]tcp-socket.local-address i32,i32
    $connect sockets/tcp [method]tcp-socket.start-connect i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32
    $connected sockets/tcp [method]tcp-socket.finish-connect i32,i32
    $accept sockets/tcp [method]tcp-socket.accept i32,i32
    $wait-for sockets/tcp [method]tcp-socket.subscribe i32 -> i32
    $shut sockets/tcp [method]tcp-socket.shutdown i32,i32,i32
    $block io/poll [method]pollable.block i32
    $read io/streams [method]input-stream.blocking-read i32,i64,i32
    $peek io/streams [method]input-stream.read i32,i64,i32
";

/// 127.0.0.1 and the port that lies on the stack of the module, as the words of an address.
fn here(port: &str) -> String {
    let zeroes = "(i32.const 0) ".repeat(6);
    format!(
        "(i32.const 0) {port} (i32.const 127) (i32.const 0) (i32.const 0) (i32.const 1) {zeroes}"
    )
}

/// A22: a component listens, connects to itself, and hears what it has said.
#[test]
fn connections_carry_bytes() {
    let (any, port) = (here("(i32.const 0)"), here("(i32.load16_u (i32.const 108))"));
    let body = format!(
        "(call $create (i32.const 0) (i32.const 100)) (call $must (i32.const 100))
         (local.set $a (i32.load (i32.const 104)))
         (call $bind (local.get $a) (call $network) {any} (i32.const 100)) (call $must (i32.const 100))
         (call $bound (local.get $a) (i32.const 100)) (call $must (i32.const 100))
         (call $listen (local.get $a) (i32.const 100)) (call $must (i32.const 100))
         (call $listening (local.get $a) (i32.const 100)) (call $must (i32.const 100))
         ;; Nobody is there yet: `would-block`.
         (call $accept (local.get $a) (i32.const 200))
         (if (i32.ne (i32.load8_u (i32.const 204)) (i32.const 8)) (then (unreachable)))
         (call $create (i32.const 0) (i32.const 200)) (call $must (i32.const 200))
         (local.set $b (i32.load (i32.const 204)))
         (call $address (local.get $a) (i32.const 100)) (call $must (i32.const 100))
         (call $connect (local.get $b) (call $network) {port} (i32.const 200)) (call $must (i32.const 200))
         (call $block (call $wait-for (local.get $b)))
         (call $connected (local.get $b) (i32.const 300)) (call $must (i32.const 300))
         (call $block (call $wait-for (local.get $a)))
         (call $accept (local.get $a) (i32.const 400)) (call $must (i32.const 400))
         ;; Nothing was said yet, which is not the end.
         (call $peek (i32.load (i32.const 408)) (i64.const 9) (i32.const 500)) (call $must (i32.const 500))
         (if (i32.load (i32.const 508)) (then (unreachable)))
         (call $write-out (i32.load (i32.const 308)) (i32.const 1024) (i32.const 5) (i32.const 500))
         (call $must (i32.const 500))
         (call $shut (local.get $b) (i32.const 1) (i32.const 500)) (call $must (i32.const 500))
         (call $read (i32.load (i32.const 408)) (i64.const 99) (i32.const 500)) (call $must (i32.const 500))
         (call $say (i32.load (i32.const 504)) (i32.load (i32.const 508)))
         ;; The end is `closed`.
         (call $read (i32.load (i32.const 408)) (i64.const 99) (i32.const 500))
         (if (i32.ne (i32.load8_u (i32.const 504)) (i32.const 1)) (then (unreachable)))"
    );
    let bytes = component(&[SAY, TCP].concat(), "(data (i32.const 1024) \"hello\")", &body);
    let (end, shown) = run(&bytes, |world| world.around = Around::ThisProcess);
    assert_eq!((end, &*shown), (End::Exited(0), &b"hello"[..]));
}

/// A1: whoever has nothing around it makes no socket and looks up no name: `access-denied`.
#[test]
fn without_a_network_there_are_no_sockets() {
    let imports = "
        $tcp sockets/tcp-create-socket create-tcp-socket i32,i32
        $udp sockets/udp-create-socket create-udp-socket i32,i32
        $network sockets/instance-network instance-network -> i32
        $look-up sockets/ip-name-lookup resolve-addresses i32,i32,i32,i32
    ";
    let body = "
        (call $tcp (i32.const 0) (i32.const 100)) (call $say (i32.const 100) (i32.const 1))
        (call $say (i32.const 104) (i32.const 1))
        (call $udp (i32.const 1) (i32.const 100)) (call $say (i32.const 104) (i32.const 1))
        (call $look-up (call $network) (i32.const 1024) (i32.const 9) (i32.const 100))
        (call $say (i32.const 104) (i32.const 1))";
    let data = "(data (i32.const 1024) \"127.0.0.1\")";
    let bytes = component(&[SAY, imports].concat(), data, body);
    for around in [Around::Nothing, Around::default()] {
        let (end, shown) = run(&bytes, |world| world.around = around);
        assert_eq!((end, &*shown), (End::Exited(0), &[1, 1, 1, 1][..]));
    }
    let (end, shown) = run(&bytes, |world| world.around = Around::ThisProcess);
    assert_eq!((end, shown[0]), (End::Exited(0), 0));
}

/// A22: datagrams go to whom they name, and say from whom they came.
#[test]
fn datagrams_are_sent_and_received() {
    let imports = "
        $network sockets/instance-network instance-network -> i32
        $create sockets/udp-create-socket create-udp-socket i32,i32
        $bind sockets/udp [method]udp-socket.start-bind i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32
        $bound sockets/udp [method]udp-socket.finish-bind i32,i32
        $stream sockets/udp [method]udp-socket.stream i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32,i32
        $address sockets/udp [method]udp-socket.local-address i32,i32
        $may-send sockets/udp [method]outgoing-datagram-stream.check-send i32,i32
        $send sockets/udp [method]outgoing-datagram-stream.send i32,i32,i32,i32
        $wait-for sockets/udp [method]incoming-datagram-stream.subscribe i32 -> i32
        $receive sockets/udp [method]incoming-datagram-stream.receive i32,i64,i32
        $block io/poll [method]pollable.block i32
    ";
    let (any, nobody) = (here("(i32.const 0)"), "(i32.const 0) ".repeat(13));
    let body = format!(
        "(call $create (i32.const 0) (i32.const 100)) (call $must (i32.const 100))
         (local.set $a (i32.load (i32.const 104)))
         (call $bind (local.get $a) (call $network) {any} (i32.const 100)) (call $must (i32.const 100))
         (call $bound (local.get $a) (i32.const 100)) (call $must (i32.const 100))
         (call $stream (local.get $a) {nobody} (i32.const 200)) (call $must (i32.const 200))
         (call $address (local.get $a) (i32.const 300)) (call $must (i32.const 300))
         ;; One datagram: its bytes, and the address of the socket itself.
         (i32.store (i32.const 400) (i32.const 1024)) (i32.store (i32.const 404) (i32.const 4))
         (i32.store8 (i32.const 408) (i32.const 1))
         (memory.copy (i32.const 412) (i32.const 304) (i32.const 32))
         (call $may-send (i32.load (i32.const 208)) (i32.const 504)) (call $must (i32.const 504))
         (if (i64.eqz (i64.load (i32.const 512))) (then (unreachable)))
         (call $send (i32.load (i32.const 208)) (i32.const 400) (i32.const 1) (i32.const 504))
         (call $must (i32.const 504))
         (if (i64.ne (i64.load (i32.const 512)) (i64.const 1)) (then (unreachable)))
         (call $block (call $wait-for (i32.load (i32.const 204))))
         (call $receive (i32.load (i32.const 204)) (i64.const 9) (i32.const 500)) (call $must (i32.const 500))
         (if (i32.ne (i32.load (i32.const 508)) (i32.const 1)) (then (unreachable)))
         (local.set $b (i32.load (i32.const 504)))
         (call $say (i32.load (local.get $b)) (i32.load offset=4 (local.get $b)))
         (if (i32.ne (i32.load16_u offset=12 (local.get $b)) (i32.load16_u (i32.const 308))) (then (unreachable)))"
    );
    let bytes = component(&[SAY, imports].concat(), "(data (i32.const 1024) \"ping\")", &body);
    let (end, shown) = run(&bytes, |world| world.around = Around::ThisProcess);
    assert_eq!((end, &*shown), (End::Exited(0), &b"ping"[..]));
}

/// A22: of several things that are waited for those are told that are ready, and waiting costs no processor time.
#[test]
fn what_is_ready_is_told() {
    let imports = "
        $after clocks/monotonic-clock subscribe-duration i64 -> i32
        $get-stdin cli/stdin get-stdin -> i32
        $wait-for io/streams [method]input-stream.subscribe i32 -> i32
        $poll io/poll poll i32,i32,i32
        $ready io/poll [method]pollable.ready i32 -> i32
    ";
    let body = "
        (i32.store (i32.const 100) (call $after (i64.const 60000000000)))
        (i32.store (i32.const 104) (call $after (i64.const 300000000)))
        (i32.store (i32.const 108) (call $wait-for (call $get-stdin)))
        (if (call $ready (i32.load (i32.const 104))) (then (unreachable)))
        (call $poll (i32.const 100) (i32.const 3) (i32.const 200))
        (call $say (i32.load (i32.const 200)) (i32.mul (i32.const 4) (i32.load (i32.const 204))))
        (if (i32.eqz (call $ready (i32.load (i32.const 104)))) (then (unreachable)))";
    let bytes = component(&[SAY, imports].concat(), "", body);
    let begun = Instant::now();
    let (reading, _writing) = rustix::pipe::pipe().unwrap();
    let (end, shown) = run(&bytes, |world| {
        world.streams.input = Input::Descriptor(reading);
        world.limits.max_cpu = Some(Duration::from_millis(200));
    });
    assert_eq!((end, &*shown), (End::Exited(0), &[1, 0, 0, 0][..]));
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
}
