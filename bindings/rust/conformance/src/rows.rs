//! The rows of scenarios, digests, and the lines of read results.

use lapwing::{Event, EventKind, Rows};

/// FNV-1a with 64 bits.
pub struct Digest(u64);

impl Digest {
    pub fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn of(bytes: &[u8]) -> String {
        let mut digest = Digest::new();
        digest.add(bytes);
        digest.text()
    }

    pub fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The first `bytes` of record n.
pub fn record(n: u64, bytes: usize) -> Vec<u8> {
    let number = n.to_le_bytes();
    (0..bytes).map(|k| number.get(k).copied().unwrap_or((n.wrapping_add(k as u64)) as u8)).collect()
}

/// Rows between two events.
pub struct Run {
    is_state: bool,
    first: u64,
    last: u64,
    count: usize,
    row_bytes: usize,
    conflated: u64,
    digest: Digest,
}

impl Run {
    pub fn of(rows: Rows<'_>, is_state: bool) -> Run {
        let mut run = Run {
            is_state,
            first: rows.sequence(0).unwrap_or_default(),
            last: 0,
            count: 0,
            row_bytes: rows.row_bytes(),
            conflated: 0,
            digest: Digest::new(),
        };
        run.add(rows);
        run
    }

    pub fn fits(&self, rows: Rows<'_>, is_state: bool) -> bool {
        self.is_state == is_state && self.row_bytes == rows.row_bytes()
    }

    pub fn add(&mut self, rows: Rows<'_>) {
        self.last = rows.last().unwrap_or(self.last);
        self.count += rows.len();
        self.conflated += rows.conflated().map_or(0, |column| column.iter().sum());
        self.digest.add(rows.bytes());
    }

    pub fn line(&self, is_sparse: bool) -> String {
        let Run { first, last, count, row_bytes, conflated, .. } = self;
        let digest = self.digest.text();
        match (self.is_state, is_sparse) {
            (true, _) => format!("ok state count={count} row_bytes={row_bytes} digest={digest}"),
            (false, false) => format!(
                "ok records first={first} last={last} count={count} row_bytes={row_bytes} \
                 digest={digest}"
            ),
            (false, true) => format!(
                "ok records first={first} last={last} count={count} row_bytes={row_bytes} \
                 digest={digest} conflated={conflated}"
            ),
        }
    }
}

pub fn event_line(event: &Event) -> String {
    let mut line = format!("ok event kind={} sequence={}", event.kind(), event.sequence());
    match event.kind() {
        EventKind::Gap | EventKind::Lost => {
            if let Some(gap) = event.gap() {
                line += &format!(
                    " first={} last={} cause={} fillable={}",
                    gap.first,
                    gap.last,
                    gap.cause,
                    u8::from(gap.is_fillable)
                );
            }
        }
        EventKind::Session | EventKind::Reset => {
            line +=
                &format!(" record_bytes={} schema={}", event.record_bytes(), event.schema_name());
        }
        EventKind::SnapshotComplete => line += &format!(" entries={}", event.state_entries()),
        _ => {}
    }
    line
}
