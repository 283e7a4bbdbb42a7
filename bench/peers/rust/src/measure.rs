//! Shared by all peers: records that detect damage, a histogram, and the files that synchronize the
//! two sides. It counts like `cpp/`. README.md describes the interface.

use std::fs::File;
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Ends an echo.
pub const END_NUMBER: u64 = u64::MAX;
/// Set by an echo in the number of a record that arrived damaged.
pub const DAMAGED_BIT: u64 = 1 << 63;
const MEETING_NS_MAX: u64 = 60_000_000_000;

pub type Record<const W: usize> = [u64; W];

#[inline(always)]
pub fn fill<const W: usize>(record: &mut Record<W>, number: u64) {
    for (i, word) in record.iter_mut().enumerate() {
        *word = number.wrapping_add((i as u64).wrapping_mul(STRIDE));
    }
}

#[inline(always)]
pub fn is_whole<const W: usize>(record: &Record<W>) -> bool {
    let mut found = 0;
    for (i, word) in record.iter().enumerate() {
        found |= word ^ record[0].wrapping_add((i as u64).wrapping_mul(STRIDE));
    }
    found == 0
}

#[derive(Default)]
pub struct Arrivals {
    pub received: u64,
    in_order: u64,
    pub torn: u64,
    pub out_of_order: u64,
    pub last: u64,
}

impl Arrivals {
    /// Counts records after `last`.
    pub fn after(last: u64) -> Self {
        Self { last, ..Self::default() }
    }

    #[inline(always)]
    pub fn add<const W: usize>(&mut self, record: &Record<W>) {
        self.received += 1;
        if !is_whole(record) {
            self.torn += 1;
        } else if record[0] <= self.last {
            self.out_of_order += 1;
        } else {
            self.in_order += 1;
            self.last = record[0];
        }
    }

    /// The number of `published` records that were lost. Torn records count as torn, not as lost.
    pub fn lost(&self, published: u64) -> u64 {
        published.saturating_sub(self.in_order + self.torn)
    }
}

const BITS: u32 = 6;
const EXACT: u64 = 2 << BITS;
const BUCKETS: usize = ((64 - BITS as usize - 1) << BITS) + EXACT as usize;

/// Log-linear: below 128 ns a bucket is one nanosecond; above, there are 64 buckets per power of
/// two.
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Histogram {
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, max: 0 }
    }

    pub fn add(&mut self, duration_ns: u64) {
        self.counts[Self::bucket_of(duration_ns)] += 1;
        self.count += 1;
        self.max = self.max.max(duration_ns);
    }

    /// The end of the smallest bucket that `fraction` of the durations do not exceed; 0 if there
    /// are none.
    pub fn percentile_ns(&self, fraction: f64) -> u64 {
        let rank = (fraction * self.count as f64).ceil().max(1.0);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen as f64 >= rank {
                return Self::last_of(bucket as u64).min(self.max);
            }
        }
        self.max
    }

    pub fn to_json(&self) -> String {
        format!(
            r#"{{"p50": {}, "p90": {}, "p99": {}, "p99_9": {}, "max": {}}}"#,
            self.percentile_ns(0.5),
            self.percentile_ns(0.9),
            self.percentile_ns(0.99),
            self.percentile_ns(0.999),
            self.max
        )
    }

    fn bucket_of(value: u64) -> usize {
        if value < EXACT {
            return value as usize;
        }
        let shift = 63 - value.leading_zeros() - BITS;
        ((shift as usize) << BITS) + (value >> shift) as usize
    }

    fn last_of(bucket: u64) -> u64 {
        if bucket < EXACT {
            return bucket;
        }
        let shift = (bucket >> BITS) - 1;
        let first = (bucket & ((1 << BITS) - 1)) + (EXACT >> 1);
        ((u128::from(first) + 1) << shift).wrapping_sub(1) as u64
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Initiator,
    Echo,
    Publisher,
    Subscriber,
    Witness,
}

#[derive(Clone)]
pub struct Options {
    pub scenario: String,
    pub role: Role,
    pub core: usize,
    pub bytes: usize,
    pub records: u64,
    pub warm_up: u64,
    pub seconds: f64,
    pub rate: f64,
    pub capacity: u64,
    pub shared: PathBuf,
}

impl Options {
    /// Ends the program with exit code 2 if they are not valid.
    pub fn parse(arguments: &[String]) -> Self {
        let mut options = Self {
            scenario: arguments.first().cloned().unwrap_or_else(|| usage("no scenario")),
            role: Role::Publisher,
            core: 0,
            bytes: 56,
            records: 0,
            warm_up: 0,
            seconds: 1.0,
            rate: 100_000.0,
            capacity: 1 << 20,
            shared: PathBuf::new(),
        };
        for pair in arguments[1..].chunks(2) {
            let [name, value] = pair else { usage(&format!("no value for {}", pair[0])) };
            options.set(name, value);
        }
        if options.shared.as_os_str().is_empty() {
            usage("no --shared");
        }
        options
    }

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "--role" => {
                self.role = match value {
                    "initiator" => Role::Initiator,
                    "echo" => Role::Echo,
                    "publisher" => Role::Publisher,
                    "subscriber" => Role::Subscriber,
                    "witness" => Role::Witness,
                    _ => usage(&format!("unknown role {value}")),
                }
            }
            "--core" => self.core = number(name, value),
            "--bytes" => self.bytes = number(name, value),
            "--records" => self.records = number(name, value),
            "--warm-up" => self.warm_up = number(name, value),
            "--seconds" => self.seconds = number(name, value),
            "--rate" => self.rate = number(name, value),
            "--capacity" => self.capacity = number(name, value),
            "--shared" => self.shared = PathBuf::from(value),
            _ => usage(&format!("unknown option {name}")),
        }
    }

    pub fn sends_first(&self) -> bool {
        matches!(self.role, Role::Initiator | Role::Publisher)
    }
    pub fn both_ways(&self) -> bool {
        self.scenario == "round-trip"
    }
    pub fn has_witness(&self) -> bool {
        self.scenario == "stopped-of-two"
    }
    /// The roles that read the publisher's records.
    pub fn readers(&self) -> &'static [&'static str] {
        if self.has_witness() { &["subscriber", "witness"] } else { &["subscriber"] }
    }
    pub fn sends(&self) -> bool {
        self.sends_first() || self.both_ways()
    }
    pub fn receives(&self) -> bool {
        !self.sends_first() || self.both_ways()
    }
    /// The name of the direction in which this side sends.
    pub fn out_name(&self) -> &'static str {
        if self.sends_first() { "ping" } else { "pong" }
    }
    pub fn in_name(&self) -> &'static str {
        if self.sends_first() { "pong" } else { "ping" }
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.shared.join(name)
    }
    pub fn announce(&self, file: &str) {
        let path = self.path(file);
        File::create(&path).unwrap_or_else(|error| fail(&format!("{}: {error}", path.display())));
    }
    pub fn is_announced(&self, file: &str) -> bool {
        self.path(file).exists()
    }
    /// Polls a thousand times per second. Fails after a minute.
    pub fn await_file(&self, file: &str) {
        let deadline_ns = now_ns() + MEETING_NS_MAX;
        while !self.is_announced(file) {
            if now_ns() > deadline_ns {
                fail(&format!("the other side did not make {file}"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> T {
    value.parse().unwrap_or_else(|_| usage(&format!("{name} is not a number: {value}")))
}

fn usage(message: &str) -> ! {
    eprintln!("peer: {message}; see bench/peers/README.md");
    exit(2)
}

pub fn fail(message: &str) -> ! {
    eprintln!("peer: {message}");
    exit(1)
}

/// Returns the value, or ends the program with the error.
pub fn or_fail<T, E: std::fmt::Debug>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| fail(&format!("{what}: {error:?}")))
}

/// CLOCK_MONOTONIC.
#[inline(always)]
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a local timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub fn clock_ns() -> f64 {
    const LOOKS: u32 = 100_000;
    let start = now_ns();
    let mut end = start;
    for _ in 0..LOOKS {
        end = now_ns();
    }
    (end - start) as f64 / f64::from(LOOKS)
}

pub fn pin_to_core(core: usize) {
    // SAFETY: a cpu_set_t is a plain set of bits, and a core beyond it is refused below.
    let refused = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if core >= libc::CPU_SETSIZE as usize {
            true
        } else {
            libc::CPU_SET(core, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) != 0
        }
    };
    if refused {
        fail(&format!("cannot pin to core {core}"));
    }
}
