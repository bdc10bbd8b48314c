//! What is configured, and what a command may come to.

use std::time::{Duration, Instant};

use super::{Services, command, escaped};

fn read(text: &str, name: &str) -> Result<Services, String> {
    Services::read(text, &[name.to_owned()])
}

/// V25, V28: a service is a command or an address, and nothing that is not written is one.
#[test]
fn services_are_what_the_operator_writes() {
    let text = "[websearch]\nurl = \"https://search.example/?q={}\"\n[mail]\ndoc = \"Sends.\"\ncommand = [\"sendmail\", \"-t\"]\ntime = \"5s\"\n";
    let search = read(text, "websearch").unwrap();
    assert!(
        search.get("websearch").unwrap().doc.contains("Searches") && search.get("mail").is_none()
    );
    let mail = read(text, "mail").unwrap();
    assert_eq!((mail.commands(), mail.get("mail").unwrap().time.as_secs()), (vec!["mail"], 5));
    assert!(read(text, "speech").unwrap_err().contains("no service `speech`"));
    for (wrong, why) in [
        ("[a]\n", "either"),
        ("[a]\ncommand = []\n", "either"),
        ("[a]\ncommand = [\"x\"]\nurl = \"https://h/\"\n", "either"),
        ("[a]\ncommand = [\"x\"]\nkey = \"file:/k\"\n", "keys of its own"),
        ("[a]\nurl = \"https://{}.example/\"\n", "behind the host"),
        ("[a]\nurl = \"https://h:{}/\"\n", "behind the host"),
        ("[a]\nurl = \"ftp://h/\"\n", "no address"),
        ("[a]\nurl = \"https://h/\"\nkey = \"env:KEY\"\n", "file:PATH"),
        ("[a]\nurl = \"https://h/\"\nkey_field = \"x: y\"\n", "key_field"),
        ("[a]\nsudo = true\n", "sudo"),
        ("[llm]\ncommand = [\"x\"]\n", "no name"),
        ("[\"../a\"]\ncommand = [\"x\"]\n", "no name"),
    ] {
        let error = read(wrong, "a").unwrap_err();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn a_question_is_one_word_of_an_address() {
    assert_eq!(escaped(b" a b&c=d/../#?\r\n"), "a%20b%26c%3Dd%2F..%2F%23%3F");
}

fn run(line: &str, question: &str, seconds: u64) -> Result<String, String> {
    let words = ["sh", "-c", line].map(str::to_owned);
    let answer =
        command::run(&words, question.as_bytes(), Duration::from_secs(seconds), &|| false)?;
    Ok(String::from_utf8(answer).unwrap())
}

/// V28: the question is its input and no word of its line; what it leaves ends with it; what is too long or slow is an error.
#[test]
fn a_command_answers_in_time() {
    assert_eq!(run("cat; echo; echo $#", "$(id); `id`", 20).unwrap(), "$(id); `id`\n0\n");
    assert_eq!(run("echo deaf", &"x".repeat(1 << 20), 20).unwrap(), "deaf\n");
    assert!(run("exit 3", "", 20).unwrap_err().contains("3"));
    assert!(run("head -c 2000000 /dev/zero", "", 20).unwrap_err().contains("bytes"));
    let began = Instant::now();
    assert!(run("sleep 100 & sleep 100", "", 1).unwrap_err().contains("too long"));
    assert!(began.elapsed() < testing::slowly(Duration::from_secs(10)));
    let stopped = command::run(
        &["sleep".to_owned(), "100".to_owned()],
        b"",
        Duration::from_secs(50),
        &|| true,
    );
    assert!(stopped.unwrap_err().contains("nobody"));
    let missing = command::run(&["/no/such".to_owned()], b"", Duration::from_secs(5), &|| false);
    assert!(missing.unwrap_err().contains("cannot be started"));
}
