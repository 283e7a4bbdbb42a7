package lapwing_test

import (
	"reflect"
	"strings"
	"testing"

	"lapwing.example/go/lapwing"
)

func busSchema(t *testing.T) *lapwing.Schema {
	t.Helper()
	directory := t.TempDir()
	openPublisher(t, directory)
	schema, err := lapwing.SchemaOfBus(directory)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestTheSchemaOfABusIsWhatItsPublisherDescribed(t *testing.T) {
	s := busSchema(t)
	if s.Name != "test.quote" || s.Version != 1 || s.RecordBytes != quoteBytes || s.Text != quoteText || s.Hash == 0 {
		t.Fatalf("%+v", s)
	}
	price := lapwing.Field{Name: "price", Offset: 16, Bytes: 8, Type: lapwing.TypeInt64,
		Unit: lapwing.UnitPrice, Role: lapwing.RoleData}
	if len(s.Fields) != 4 || s.Fields[3] != price || s.Fields[1].Role != lapwing.RoleKey {
		t.Fatalf("%+v", s.Fields)
	}
	if err := s.Check(quote{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(&quote{}); err != nil {
		t.Fatal(err)
	}
}

func TestTheSchemaOfAStructIsWhatTheLibraryMakesOfIt(t *testing.T) {
	type level struct {
		Px int64 `lapwing:",price"`
		Sz uint32
		_  [4]byte
	}
	type top struct {
		TsRecv  uint64  `lapwing:",time"`
		ID      uint32  `lapwing:"instrument,key"`
		Flags   uint8   `lapwing:",flags"`
		Side    byte    `lapwing:",char"`
		Venue   [6]byte `lapwing:",text"`
		Hash    [4]byte
		Levels  [2]level `lapwing:",inline"`
		Best    level
		Weights [2]float32
	}
	described, err := lapwing.Describe("test.top", 3, top{})
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory, Schema: described})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(p) })
	schema, err := lapwing.SchemaOfBus(directory)
	if err != nil {
		t.Fatal(err)
	}
	described.Hash = schema.Hash // computed by the library
	if !reflect.DeepEqual(schema, described) {
		t.Fatalf("%+v\n%+v", described, schema)
	}
	names := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		names[i] = f.Name
	}
	if got := strings.Join(names, " "); got != "ts_recv instrument flags side venue hash px_00 sz_00 spare_36_00 "+
		"px_01 sz_01 spare_52_01 best_px best_sz spare_68 weights_00 weights_01" {
		t.Fatal(got)
	}
	if err := schema.Check(top{}); err != nil {
		t.Fatal(err)
	}
}

func TestASchemaWithoutATextIsRefused(t *testing.T) {
	_, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
		Directory: t.TempDir(), Schema: &lapwing.Schema{Name: "test.empty"}})
	if lapwing.CodeOf(err) != lapwing.ErrInvalidArgument || !strings.Contains(err.Error(), "test.empty") {
		t.Fatal(err)
	}
}

func TestAStructThatCannotBeDescribedIsNamed(t *testing.T) {
	for _, test := range []struct {
		record any
		words  string
	}{
		{struct {
			A uint8
			B uint64
		}{}, "padding of 7 bytes before b"},
		{struct {
			A uint64
			B uint8
		}{}, "padding of 7 bytes at its end"},
		{struct{ A int }{}, "numbers of a fixed size"},
		{struct {
			A uint64 `lapwing:",tme"`
		}{}, `"tme"`},
	} {
		_, err := lapwing.Describe("test.bad", 1, test.record)
		if lapwing.CodeOf(err) != lapwing.ErrInvalidArgument || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%T: %v, and %q was wanted", test.record, err, test.words)
		}
	}
}

func TestCheckNamesTheFirstFieldThatDiffers(t *testing.T) {
	s := busSchema(t)
	for _, test := range []struct {
		record any
		words  string
	}{
		{struct{ Time, Price uint64 }{}, "16 bytes"},
		{struct {
			Time             uint64
			Size, Instrument uint32
			Price            int64
		}{}, "at offset 8 it has size, where instrument is"},
		{struct {
			Time             uint64
			Instrument, Size uint32
			Price            uint64
		}{}, "its price is of type uint64"},
		{struct {
			Time       uint64
			Instrument uint32
			_          uint32
			Price      int64
		}{}, "at offset 12"},
		{struct {
			Time       uint64
			Instrument uint32
			Low, High  uint16 `lapwing:"size"`
			Price      int64
		}{}, "type uint16"},
		{struct {
			Time [3]uint64
		}{}, "at offset 0 it has time_00, where time is"},
		{7, "must be a struct"},
	} {
		err := s.Check(test.record)
		if err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%T: %v, and %q was wanted", test.record, err, test.words)
		}
	}
}

// mbo is a record of dbn.mbo.
type mbo struct {
	Length       uint8
	RType        uint8 `lapwing:"rtype"`
	PublisherID  uint16
	InstrumentID uint32
	TsEvent      uint64
	OrderID      uint64
	Price        int64
	Size         uint32
	Flags        uint8
	ChannelID    uint8
	Action       uint8
	Side         uint8
	TsRecv       uint64
	TsInDelta    int32
	Sequence     uint32
}

func TestAStructOfDBNIsAcceptedAndOneWithStructsInIt(t *testing.T) {
	s, err := lapwing.SchemaNamed("dbn.mbo")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(mbo{}); err != nil {
		t.Fatal(err)
	}
	type header struct {
		Length       uint8
		RType        uint8 `lapwing:"rtype"`
		PublisherID  uint16
		InstrumentID uint32
		TsEvent      uint64
	}
	type rest struct {
		OrderID                        uint64
		Price                          int64
		Size                           uint32
		Flags, ChannelID, Action, Side uint8
		TsRecv                         uint64
		TsInDelta                      int32
		Sequence                       uint32
	}
	if err := s.Check(struct {
		header
		Order rest `lapwing:",inline"`
	}{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(struct {
		header
		Order rest
	}{}); err == nil || !strings.Contains(err.Error(), "order_order_id") {
		t.Fatal(err)
	}
}

func TestArraysOfStructsAreTheFieldsOfLevels(t *testing.T) {
	s, err := lapwing.SchemaNamed("dbn.mbp-10")
	if err != nil {
		t.Fatal(err)
	}
	type pair struct {
		BidPx, AskPx               int64
		BidSz, AskSz, BidCt, AskCt uint32
	}
	type mbp10 struct {
		Length       uint8
		RType        uint8 `lapwing:"rtype"`
		PublisherID  uint16
		InstrumentID uint32
		TsEvent      uint64
		Price        int64
		Size         uint32
		Action, Side uint8
		Flags, Depth uint8
		TsRecv       uint64
		TsInDelta    int32
		Sequence     uint32
		Levels       [10]pair `lapwing:",inline"`
	}
	if err := s.Check(mbp10{}); err != nil {
		t.Fatal(err)
	}
}

func TestASchemaThatIsNoneIsNotFound(t *testing.T) {
	_, err := lapwing.SchemaNamed("no.such")
	wantCode(t, err, lapwing.ErrNotFound)
	_, err = lapwing.SchemaOfBus(t.TempDir())
	wantCode(t, err, lapwing.ErrNoBus)
}

func TestTypesThatCannotBeRecordsAreRefused(t *testing.T) {
	if _, err := lapwing.Record[string](make([]byte, 16)); lapwing.CodeOf(err) != lapwing.ErrInvalidArgument {
		t.Fatal(err)
	}
	if _, err := lapwing.Record[struct{ B bool }]([]byte{2}); lapwing.CodeOf(err) != lapwing.ErrInvalidArgument {
		t.Fatal(err)
	}
	if _, err := lapwing.Record[quote](make([]byte, 23)); lapwing.CodeOf(err) != lapwing.ErrRecordSize {
		t.Fatal(err)
	}
}
