//! Steps with symbols.

use lapwing::{Code, SymbolMapping, Symbols};

use crate::answer::{ok, Answer, Failure};
use crate::objects::Objects;
use crate::step::Step;

pub fn run(verb: &str, step: &Step, objects: &Objects) -> Answer {
    let symbols = &objects.symbols;
    match verb {
        "open" => {
            symbols.put(step.text("as")?, Symbols::open(step.text_or_empty("directory"))?);
            ok()
        }
        "find" => symbols.with(step.text("on")?, |symbols| {
            let found = symbols.find(step.text("symbol")?, step.number("utc_ns")?)?;
            Ok(format!("ok instrument={}", found.ok_or_else(not_found)?))
        }),
        "name" => symbols.with(step.text("on")?, |symbols| {
            let found = symbols.name(step.number("instrument")?, step.number("utc_ns")?)?;
            Ok(format!("ok mapping={}", text_of(&found.ok_or_else(not_found)?)))
        }),
        "list" => symbols.with(step.text("on")?, |symbols| {
            let mappings: Vec<String> = symbols.list()?.iter().map(text_of).collect();
            Ok(format!("ok mappings={}", mappings.join(",")))
        }),
        "destroy" => symbols.destroy(step.text("on")?),
        _ => Err(Failure::Unsupported),
    }
}

fn not_found() -> Failure {
    Failure::Result(Code::NotFound, String::new())
}

fn text_of(mapping: &SymbolMapping) -> String {
    let SymbolMapping { symbol, instrument_id, start_date, end_date } = mapping;
    format!("{symbol}:{instrument_id}:{start_date}:{end_date}")
}
