package examples

import (
	"bufio"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lapwing.example/go/lapwing"
)

const patience = 60 * time.Second

// build builds one of the examples, and returns its path.
func build(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if said, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return program
}

// run returns the output of a program, which must succeed.
func run(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	said, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return string(said)
}

// mbo is a record of dbn.mbo.
type mbo struct {
	Length, RType                  uint8
	PublisherID                    uint16
	InstrumentID                   uint32
	TsEvent, OrderID               uint64
	Price                          int64
	Size                           uint32
	Flags, ChannelID, Action, Side uint8
	TsRecv                         uint64
	TsInDelta                      int32
	Sequence                       uint32
}

func TestTopOfBookPrintsTheBestPrices(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	directory := t.TempDir()
	p, err := lapwing.OpenPublisher(ctx, lapwing.PublisherOptions{Directory: directory, SchemaName: "dbn.mbo", RecordBytes: 56})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, order := range []mbo{
		{InstrumentID: 7, OrderID: 1, Price: 99.5e9, Size: 10, Side: 'B'},
		{InstrumentID: 7, OrderID: 2, Price: 101e9, Size: 20, Side: 'A'},
		{InstrumentID: 8, OrderID: 3, Price: 5e9, Size: 1, Side: 'A'},
	} {
		order.Length, order.RType, order.PublisherID, order.Flags, order.Action = 14, 0xa0, 1, 0x80, 'A'
		order.Sequence = uint32(i)
		if _, err := p.Publish(ctx, lapwing.BytesOf(&order)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	said := run(t, build(t, "topofbook"), directory)
	for _, line := range []string{"7: 10 @ 99.50 | 20 @ 101.00\n", "8: - | 1 @ 5.00\n"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not in %q", line, said)
		}
	}
}

func TestPublishPublishesWhatItDescribes(t *testing.T) {
	directory := t.TempDir()
	if said := run(t, build(t, "publish"), directory, "25"); said != "published up to 25\n" {
		t.Fatal(said)
	}
	history, err := lapwing.OpenHistory(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	info, err := history.Inspect()
	if err != nil || info.Durable != 25 || info.SchemaName != "example.quote" || info.RecordBytes != 24 {
		t.Fatalf("%+v %v", info, err)
	}
}

func TestTwoBusesAreReadInOneGoroutine(t *testing.T) {
	publisher := build(t, "publish")
	es, nq := filepath.Join(t.TempDir(), "es"), filepath.Join(t.TempDir(), "nq")
	run(t, publisher, es, "25")
	run(t, publisher, nq, "3")
	said := run(t, build(t, "twobuses"), es, nq)
	for _, line := range []string{"es: session 1", "es: record 25 of 24 bytes", "es: closed 25",
		"nq: session 1", "nq: record 3 of 24 bytes", "nq: closed 3"} {
		if strings.Count(said, line+"\n") != 1 {
			t.Errorf("%q is not once in %q", line, said)
		}
	}
}

func TestAClientCallsAServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "squares")
	server := exec.Command(build(t, "squareserver"), path)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "listening\n" {
		t.Fatal(line, err)
	}
	client := build(t, "squareclient")
	for range 2 { // the server serves one client after another
		if said := run(t, client, path, "7", "0", "4294967296", "3000000000"); said != "49\n0\n0\n9000000000000000000\n" {
			t.Fatal(said)
		}
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Fatal("the server was to end well:", err)
	}
}

// readmeProgram returns the program in README.md.
func readmeProgram(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	source, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("README.md has no program")
	}
	return source
}

// The README promises a short main loop. This is its maximum length from the open to the end of the loop.
const loopLinesMax = 15

func TestTheReadmesLoopIsShort(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "main.go", readmeProgram(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	first, last := 0, 0
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if node.Sel.Name == "OpenSubscriber" {
				first = files.Position(node.Pos()).Line
			}
		case *ast.RangeStmt:
			last = files.Position(node.End()).Line
		}
		return true
	})
	if lines := last - first + 1; first == 0 || last < first || lines > loopLinesMax {
		t.Fatalf("the loop of README.md has %d lines, from %d to %d", lines, first, last)
	}
}

// TestTheReadmesProgramRuns builds the program in README.md outside this module, as the README describes, with
// the library's path linked in.
func TestTheReadmesProgramRuns(t *testing.T) {
	source := readmeProgram(t)
	directory, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := strings.TrimSpace(string(listed))
	home, bus := t.TempDir(), filepath.Join(t.TempDir(), "quotes")
	source = strings.ReplaceAll(source, "./quotes", bus)
	if err := os.WriteFile(filepath.Join(home, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"mod", "init", "mine"},
		{"mod", "edit", "-require=" + module + "@v0.0.0", "-replace=" + module + "=" + directory},
		{"vet", "."},
		{"build", "-o", "mine", "-ldflags", "-X " + module + ".libraryPath=" + os.Getenv("LAPWING_LIBRARY")},
	} {
		command := exec.Command("go", arguments...)
		command.Dir = home
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", arguments, err, said)
		}
	}
	run(t, build(t, "publish"), bus, "3")
	t.Setenv("LAPWING_LIBRARY", "")
	said := run(t, filepath.Join(home, "mine"))
	for _, words := range []string{"session 1", "record 3: {", "closed 3"} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is not in %q", words, said)
		}
	}
}
