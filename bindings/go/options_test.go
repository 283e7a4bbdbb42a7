package lapwing_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

// readTo reads up to the next event of that kind.
func readTo(t *testing.T, s *lapwing.Subscriber, kind lapwing.EventKind) {
	t.Helper()
	for b, err := range s.Batches(within(t), lapwing.NewBatch(4096)) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == lapwing.BatchEvent && b.Event().Kind == kind {
			return
		}
	}
	t.Fatalf("the stream ended before %v", kind)
}

func TestTheSpecialValuesOfDurationsAreTaken(t *testing.T) {
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory,
		Schema: quoteSchema, SyncInterval: lapwing.OnRequest, RetainAge: lapwing.Never})
	if err != nil {
		t.Fatal(err)
	}
	defer end(p)
	publish(t, p, quotes(1, 1))
	if info, err := p.Inspect(); err != nil || info.Durable != 0 {
		t.Fatal("a journal was synced without a request:", info.Durable, err)
	}
	s := openSubscriber(t, lapwing.SubscriberOptions{Directory: directory, Start: lapwing.StartOldest(),
		Reattach: lapwing.Forever, FlushTimeout: lapwing.Forever, StaleAfter: lapwing.Never,
		BehindTime: lapwing.Never, Observes: true})
	readTo(t, s, lapwing.EventCaughtUp)
}

func TestAConnectThatRetriesForeverFindsALaterListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	connected := make(chan error, 1)
	go func() {
		p, err := lapwing.ConnectProducer(within(t), path, lapwing.ChannelOptions{Retry: lapwing.Forever})
		if err == nil {
			err = p.Close()
		}
		connected <- err
	}()
	time.Sleep(20 * time.Millisecond) // the first attempts fail
	l, err := lapwing.Listen(path, lapwing.ListenerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := l.AcceptConsumer(within(t), lapwing.ChannelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := <-connected; err != nil {
		t.Fatal(err)
	}
}

func TestAgesAreMeasuredOfRecordsThatArePublishedWithTheirTime(t *testing.T) {
	for _, restamped := range []bool{true, false} {
		directory := t.TempDir()
		p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{
			Directory: directory, SchemaName: "dbn.mbo", Restamped: restamped})
		if err != nil {
			t.Fatal(err)
		}
		defer end(p)
		s := openSubscriber(t, lapwing.SubscriberOptions{
			Directory: directory, Start: lapwing.StartOldest(), MeasureEvery: 2})
		_, err = s.Ages()
		wantCode(t, err, lapwing.ErrNotFound)
		readTo(t, s, lapwing.EventCaughtUp)
		for n := range 10 {
			order := add(uint64(n+1), lapwing.Bid, 99, 10)
			order.TsRecv = uint64(time.Now().UnixNano())
			if _, err := lapwing.PublishRow(within(t), p, &order); err != nil {
				t.Fatal(err)
			}
		}
		record := make([]byte, 56)
		for range 10 {
			if _, err := s.ReadOne(within(t), record); err != nil {
				t.Fatal(err)
			}
		}
		ages, err := s.Ages()
		if !restamped { // the publish time is the feed's
			wantCode(t, err, lapwing.ErrNotFound)
			continue
		}
		if err != nil || ages.Count+ages.Negative != 5 || ages.Max <= 0 || ages.P50 > ages.P999 {
			t.Fatalf("%+v %v", ages, err)
		}
	}
}

// Two versions of a record with the same name and size, but different names for the second field.
type pairOld struct{ First, Old uint64 }
type pairRenamed struct{ First, Renamed uint64 }

// publishPair publishes one session of pairs, with one record.
func publishPair[T any](t *testing.T, directory string, pair T) {
	t.Helper()
	schema, err := lapwing.Describe("desk.pair", 1, pair)
	if err != nil {
		t.Fatal(err)
	}
	p, err := lapwing.OpenPublisher(within(t), lapwing.PublisherOptions{Directory: directory, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := lapwing.PublishRow(within(t), p, &pair); err != nil {
		t.Fatal(err)
	}
	shutdown(t, p)
}

func wantSecondField(t *testing.T, s *lapwing.Subscriber, name string) {
	t.Helper()
	schema, err := s.Schema()
	if err != nil || schema.Name != "desk.pair" || len(schema.Fields) != 2 || schema.Fields[1].Name != name {
		t.Fatalf("%+v %v", schema, err)
	}
}

func TestABusThatWasReplacedHasItsOwnSchema(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "bus")
	publishPair(t, directory, pairOld{1, 2})
	s := openSubscriber(t, lapwing.SubscriberOptions{Directory: directory, Start: lapwing.StartOldest()})
	_, err := s.Schema()
	wantCode(t, err, lapwing.ErrMisuse)
	before := lapwing.NewBatch(1024)
	readRecords(t, s, before)
	readTo(t, s, lapwing.EventClosed)
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	publishPair(t, directory, pairRenamed{3, 4})

	wantSecondField(t, s, "old") // of the records that were delivered
	if rows, err := lapwing.Rows[pairOld](before); err != nil || rows[0] != (pairOld{1, 2}) {
		t.Fatal(rows, err)
	}
	after := lapwing.NewBatch(1024)
	readRecords(t, s, after)
	wantSecondField(t, s, "renamed")
	if rows, err := lapwing.Rows[pairRenamed](after); err != nil || rows[0] != (pairRenamed{3, 4}) {
		t.Fatal(rows, err)
	}
	_, err = lapwing.Rows[pairOld](after)
	refusedAs(t, err, "where renamed is")
}

// optionFields returns the fields of all structs whose names end in Options.
func optionFields(t *testing.T) map[string]*ast.Field {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]*ast.Field{}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isType := node.(*ast.TypeSpec)
			if !isType || !strings.HasSuffix(spec.Name.Name, "Options") {
				return true
			}
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				fields[spec.Name.Name+"."+field.Names[0].Name] = field
			}
			return false
		})
	}
	return fields
}

// Options of type bool are off by default, and the bus's directory is required.
func TestEveryOptionStatesWhatItsZeroValueMeans(t *testing.T) {
	stated := regexp.MustCompile(`(\b(0|nil|zero)|""): |; required\b`)
	fields := optionFields(t)
	for name, field := range fields {
		if fmt.Sprint(field.Type) != "bool" && !stated.MatchString(field.Comment.Text()) {
			t.Errorf("%s does not state what its zero value means: %q", name, field.Comment.Text())
		}
	}
	if len(fields) < 50 {
		t.Fatal("there are", len(fields), "options")
	}
}
