//! Tools of somebody else's, which a program calls by `tools`. A1, A23

use std::sync::{Arc, Mutex};

use engines::{Around, CallsTools, End};

use crate::program::engines;
use crate::run;

/// Says what it was asked; one tool fails, and one is not there.
#[derive(Debug, Default)]
struct Asked(Mutex<Vec<String>>);

impl CallsTools for Asked {
    fn call(&self, tool: &str, arguments: &str) -> Result<String, String> {
        self.0.lock().unwrap().push(format!("{tool} {arguments}"));
        match tool {
            "fails" => Err("error: it fails".to_owned()),
            "slow" => {
                std::thread::sleep(std::time::Duration::from_millis(50));
                Ok("slow".to_owned())
            }
            _ => Ok(format!("{tool} of {arguments}")),
        }
    }
}

/// A23: calls are made one at a time in their order, and come back as promises, whatever else the program waits for.
#[test]
fn tools_are_called_in_order() {
    let asked = Arc::new(Asked::default());
    let source = "const tell = (text) => console.log(text);
        Promise.all([tools.slow(), tools.read({ path: 'ä\\n' }), tools['a b']({})]).then((all) => tell(all.join('|')));
        tools.fails({}).catch((error) => { tell(error.message); return tools.last({ list: [1, null] }); }).then(tell);
        setTimeout(() => tell('later'), 10);
        try { tools.x = 1; delete tools.read; tools = 5; } catch (error) { tell(error.name); }
        tell(typeof tools.then, Object.keys(tools).length);";
    let (end, shown, complaint) = run(&engines().remove(0), source, |world| {
        world.around = Around::Tools(Arc::<Asked>::clone(&asked));
    });
    assert_eq!(end, End::Exited(0), "{complaint}");
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.retain(|line| *line != "later");
    assert_eq!(
        lines,
        [
            "undefined",
            "slow|read of {\"path\":\"ä\\n\"}|a b of {}",
            "it fails",
            "last of {\"list\":[1,null]}"
        ]
    );
    assert_eq!(
        *asked.0.lock().unwrap(),
        ["slow {}", "read {\"path\":\"ä\\n\"}", "a b {}", "fails {}", "last {\"list\":[1,null]}"]
    );
}

/// A1: tools are all that such a program has, and others have none.
#[test]
fn tools_are_all_there_is() {
    let source = "console.log(typeof tools); const { spawnSync } = require('child_process');
        console.log(spawnSync('/bin/true').error.code); fetch('http://127.0.0.1:9/').catch((error) => console.log(error.cause.code));
        if (typeof tools !== 'undefined') for (const wrong of [null, 1, 'x', []]) tools.read(wrong).catch((error) => console.log(error.code));";
    let tell = |around: Around| {
        let (end, shown, complaint) =
            run(&engines().remove(0), source, |world| world.around = around);
        assert_eq!(end, End::Exited(0), "{complaint}");
        shown
    };
    let asked = Arc::new(Asked::default());
    let refused = "ERR_INVALID_ARG_TYPE\n".repeat(4);
    let with = tell(Around::Tools(Arc::<Asked>::clone(&asked)));
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&with), sorted(&format!("object\nEACCES\nEACCES\n{refused}")));
    assert!(asked.0.lock().unwrap().is_empty());
    assert_eq!(tell(Around::Nothing), "undefined\nEACCES\nEACCES\n");
}
