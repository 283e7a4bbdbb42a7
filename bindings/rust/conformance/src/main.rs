//! The driver for the conformance scenarios. See tests/conformance/bindings for the protocol.

mod answer;
mod books;
mod bus;
mod channels;
mod misuse;
mod objects;
mod rows;
mod step;
mod storage;
mod subscriber;

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use answer::{Answer, Failure};
use objects::Objects;
use step::Step;

fn run(step: &Step, objects: &Objects) -> Answer {
    let (noun, verb) = step.operation.split_once('.').ok_or(Failure::Unsupported)?;
    match noun {
        "library" => bus::library(verb, step),
        "publisher" => bus::publisher(verb, step, objects),
        "subscriber" => subscriber::run(verb, step, objects),
        "cursor" => storage::cursor(verb, step, objects),
        "history" => storage::history(verb, step, objects),
        "books" => books::run(verb, step, objects),
        "listener" => channels::listener(verb, step, objects),
        "channel" => channels::channel(verb, step, objects),
        "misuse" => misuse::run(verb, step),
        _ => Err(Failure::Unsupported),
    }
}

fn answer(line: &str, objects: &Objects) -> String {
    let answer = Step::parse(line).and_then(|step| run(&step, objects));
    answer.unwrap_or_else(|failure| failure.to_string())
}

fn main() -> io::Result<()> {
    let objects = Arc::new(Objects::default());
    let mut begun: HashMap<String, JoinHandle<String>> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let answered = match words[..] {
            ["begin", name, step] => {
                let (step, objects) = (step.to_owned(), Arc::clone(&objects));
                begun.insert(name.to_owned(), thread::spawn(move || answer(&step, &objects)));
                "ok".to_owned()
            }
            ["end", name] => match begun.remove(name).map(JoinHandle::join) {
                Some(Ok(answered)) => answered,
                _ => Failure::Unsupported.to_string(),
            },
            _ => answer(&line, &objects),
        };
        println!("{answered}\n.");
        io::stdout().flush()?;
    }
    Ok(())
}
