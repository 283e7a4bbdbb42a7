//! Tests record descriptions: those from the library, and those of structs.

use lapwing::{
    dbn::Mbo, Batch, Code, Field, FieldType, Publisher, PublisherOptions, Record, Role, Schema,
    Subscriber, SubscriberOptions, Unit, Value, FOREVER,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[test]
fn the_struct_of_dbn_mbo_has_the_fields_of_the_schema() {
    let schema = Schema::shipped("dbn.mbo").unwrap();
    assert_eq!(schema.record_bytes as usize, size_of::<Mbo>());
    macro_rules! check {
        ($($member:ident),*) => {
            let members = [$((stringify!($member), std::mem::offset_of!(Mbo, $member))),*];
            let fields = schema.fields.iter();
            let fields = fields.map(|field| (field.name.as_str(), field.offset as usize));
            assert_eq!(fields.collect::<Vec<_>>(), members);
        };
    }
    assert_eq!((schema.version, &schema.fields), (Mbo::VERSION, &Mbo::fields()));
    check!(
        length,
        rtype,
        publisher_id,
        instrument_id,
        ts_event,
        order_id,
        price,
        size,
        flags,
        channel_id,
        action,
        side,
        ts_recv,
        ts_in_delta,
        sequence
    );
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Signal {
    ts_recv: u64,
    published: u64,
    expires: u64,
    price: i64,
    fair_value: f64,
    weight: f32,
    instrument: u32,
    symbol: [u8; 6],
    side: u8,
    flags: u8,
    raw: [u8; 4],
    offset: i32,
    count: u16,
    level: i8,
    spare: [u8; 5],
}
lapwing::record!(Signal, "desk.signal", 3, {
    ts_recv: Time, published: PublishTime, expires: UtcNs, price: Price, fair_value, weight,
    instrument: Key, symbol: Letters, side: Letter, flags: Flags, raw, offset, count, level,
    spare: Spare,
});

#[test]
fn a_bus_describes_its_records_as_their_struct_does() {
    let bus = tempfile::tempdir().unwrap();
    let options = PublisherOptions::of::<Signal>(bus.path());
    let _publisher = Publisher::open(&options, FOREVER).unwrap();
    let schema = Schema::of_bus(bus.path()).unwrap();
    assert_eq!((schema.name.as_str(), schema.version), ("desk.signal", 3));
    assert_eq!(schema.record_bytes as usize, size_of::<Signal>());
    assert_eq!(schema.fields, Signal::fields());
    assert_eq!(schema.text, Signal::schema_text());
}

#[test]
fn a_schema_of_a_bus_is_an_option_of_the_next_bus_and_of_its_subscribers() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    let _first = Publisher::open(&PublisherOptions::of::<Signal>(&first), FOREVER).unwrap();
    let schema = Schema::of_bus(&first).unwrap();
    let options = PublisherOptions::new(&second).schema(&schema);
    let _second = Publisher::open(&options, FOREVER).unwrap();
    assert_eq!(Schema::of_bus(&second).unwrap().text, schema.text);

    let open_mbo = PublisherOptions::new(directory.path().join("mbo")).schema_name("dbn.mbo");
    let _mbo = Publisher::open(&open_mbo, FOREVER).unwrap();
    let options = |bus| SubscriberOptions::new(directory.path().join(bus)).expect(&schema);
    let first_read = |bus| {
        let mut batch = Batch::new(1);
        Subscriber::open(&options(bus)).unwrap().read(&mut batch, FOREVER).map(|_| ())
    };
    first_read("second").unwrap();
    assert_eq!(first_read("mbo").unwrap_err().code(), Code::RecordSize);
}

#[test]
fn a_member_can_have_several_meanings() {
    #[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    struct Order {
        symbol: [u8; 8],
        side: u8,
        account: [u8; 7],
    }
    lapwing::record!(Order, "desk.order", 1, {
        symbol: Key + Letters, side: Letter + Key, account: Key,
    });
    let found: Vec<_> =
        Order::fields().iter().map(|field| (field.field_type, field.role)).collect();
    let expected =
        [(FieldType::Text, Role::Key), (FieldType::Char, Role::Key), (FieldType::Bytes, Role::Key)];
    assert_eq!(found, expected);

    // The library must read the same fields from the bus.
    let bus = tempfile::tempdir().unwrap();
    let _publisher = Publisher::open(&PublisherOptions::of::<Order>(bus.path()), FOREVER).unwrap();
    assert_eq!(Schema::of_bus(bus.path()).unwrap().fields, Order::fields());
}

#[test]
fn a_field_reads_its_value_from_a_record() {
    let signal = Signal {
        ts_recv: 1,
        published: u64::MAX,
        expires: 3,
        price: -4,
        fair_value: 0.5,
        weight: 0.25,
        instrument: 7,
        symbol: *b"ES\0xyz",
        side: b'B',
        flags: 0x81,
        raw: [1, 2, 3, 4],
        offset: -5,
        count: 6,
        level: -1,
        spare: [0; 5],
    };
    let fields = Signal::fields();
    let value = |name: &str| {
        let field = fields.iter().find(|field| field.name == name).unwrap();
        field.value(signal.as_bytes()).unwrap()
    };
    assert_eq!(value("published"), Value::Uint(u64::MAX));
    assert_eq!(value("price"), Value::Int(-4));
    assert_eq!(value("fair_value"), Value::Float(0.5));
    assert_eq!(value("weight"), Value::Float(0.25));
    assert_eq!(value("symbol"), Value::Text(b"ES"));
    assert_eq!(value("side"), Value::Text(b"B"));
    assert_eq!(value("flags"), Value::Uint(0x81));
    assert_eq!(value("raw"), Value::Bytes(&[1, 2, 3, 4]));
    assert_eq!(value("offset"), Value::Int(-5));
    assert_eq!(value("count"), Value::Uint(6));
    assert_eq!(value("level"), Value::Int(-1));
}

#[test]
fn a_record_that_is_too_short_for_a_field_has_no_value_of_it() {
    let field = Field {
        name: "size".into(),
        offset: 4,
        bytes: 4,
        field_type: FieldType::Uint32,
        unit: Unit::Plain,
        role: Role::Data,
    };
    assert_eq!(field.value(&[0; 7]), None);
    assert_eq!(field.value(&[0; 8]), Some(Value::Uint(0)));
}

#[test]
fn a_schema_that_is_not_shipped_is_not_found() {
    let error = Schema::shipped("dbn.nothing").unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("dbn.nothing"), "{error}");
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(Schema::of_bus(nowhere.path()).unwrap_err().code(), Code::NoBus);
}
