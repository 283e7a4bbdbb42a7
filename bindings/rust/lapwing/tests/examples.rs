//! Tests that the examples do what their first lines describe.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lapwing::dbn::{Mbo, FLAG_LAST};
use lapwing::{History, Publisher, PublisherOptions, Schema, FOREVER};

/// Cargo builds the examples in a folder next to the tests.
fn example(name: &str) -> Command {
    let tests = std::env::current_exe().unwrap();
    let built: PathBuf = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    Command::new(built)
}

fn output_of(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(name: &str, arguments: &[&str]) -> String {
    output_of(example(name).args(arguments).stdout(Stdio::piped()).spawn().unwrap())
}

#[test]
fn publish_makes_a_bus_of_described_durable_records() {
    let directory = tempfile::tempdir().unwrap();
    let bus = directory.path().join("quotes");
    assert_eq!(run("publish", &[bus.to_str().unwrap(), "100"]), "100 records are durable\n");
    let info = History::open(&bus).unwrap().info().unwrap();
    assert_eq!((info.schema_name.as_str(), info.durable), ("desk.quote", 100));
    assert!(Schema::of_bus(&bus).unwrap().field("price").is_some());
}

#[test]
fn top_of_book_prints_every_change_of_the_best_prices() {
    let directory = tempfile::tempdir().unwrap();
    let bus = directory.path().join("es");
    let options = PublisherOptions::new(bus.clone()).schema_name("dbn.mbo");
    let mut publisher = Publisher::open(&options, FOREVER).unwrap();
    let order = |action, side, order_id, points: i64, size| Mbo {
        publisher_id: 2,
        instrument_id: 7,
        flags: FLAG_LAST,
        ..Mbo::new(action, side, order_id, points * 1_000_000_000, size)
    };
    let records = [
        Mbo { price: i64::MAX, ..order(b'R', b'N', 0, 0, 0) },
        order(b'A', b'B', 1, 100, 5),
        order(b'A', b'A', 2, 102, 8),
        order(b'A', b'B', 3, 99, 1), // below the best: no change
        order(b'C', b'B', 1, 100, 5),
    ];
    publisher.publish_all(&records, FOREVER).unwrap();
    let reading = example("top_of_book")
        .args([bus.to_str().unwrap(), "2", "7"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while publisher.info().unwrap().subscribers == 0 {
        std::thread::yield_now();
    }
    publisher.close(FOREVER).unwrap();
    assert_eq!(
        output_of(reading),
        "1: - / -\n2: 100 x 5 / -\n3: 100 x 5 / 102 x 8\n5: 99 x 1 / 102 x 8\n"
    );
}

#[test]
fn two_buses_are_followed_in_one_thread_until_both_are_closed() {
    let directory = tempfile::tempdir().unwrap();
    let buses = ["es", "nq"].map(|name| directory.path().join(name));
    for (bus, count) in buses.iter().zip(["100", "7"]) {
        run("publish", &[bus.to_str().unwrap(), count]);
    }
    let buses = buses.each_ref().map(|bus| bus.to_str().unwrap());
    let output = run("two_buses", &buses);
    let lines_of = |bus: &str| -> Vec<String> {
        let prefix = format!("{bus}: ");
        output.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
    };
    for (bus, count) in buses.iter().zip([100, 7]) {
        let lines = lines_of(bus);
        let records = lines.iter().filter_map(|line| line.strip_suffix(" records"));
        assert_eq!(records.map(|count| count.parse::<u32>().unwrap()).sum::<u32>(), count);
        assert!(lines.last().unwrap().starts_with(&format!("closed {count}")), "{output}");
    }
}

#[test]
fn a_client_of_squares_calls_a_server_in_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("squares");
    let path = path.to_str().unwrap();
    let server = example("square_server").arg(path).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines: Vec<String> =
        run("square_client", &[path, "0", "7", "4294967295"]).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["0: 0", "4294967295: 18446744065119617025", "7: 49"]);
    assert_eq!(output_of(server), "");
}
