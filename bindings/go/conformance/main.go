// Command conformance is the Go driver of tests/conformance/bindings. It reads steps from standard input, one
// per line, and answers each with lines and a dot.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"lapwing.example/go/lapwing"
)

// driver contains the objects that the steps of a scenario have created, by name.
type driver struct {
	mu      sync.Mutex
	things  map[string]any
	running map[string]chan []string
	calls   []uint64 // the channels' numbers for the calls that were started
}

var operations = map[string]func(*driver, step) []string{}

func main() {
	settleRuntime()
	d := &driver{things: map[string]any{}, running: map[string]chan []string{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		for _, line := range d.answer(in.Text()) {
			fmt.Fprintln(out, line)
		}
		fmt.Fprintln(out, ".")
		out.Flush()
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func (d *driver) answer(line string) []string {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "begin":
		name, what, _ := strings.Cut(rest, " ")
		done := make(chan []string, 1)
		d.running[name] = done
		go func() { done <- d.perform(what) }()
		return ok()
	case "end":
		done, found := d.running[rest]
		if !found {
			return []string{"unsupported-step"}
		}
		return <-done
	}
	return d.perform(line)
}

func (d *driver) perform(line string) []string {
	s, err := parse(line)
	operation, found := operations[s.do]
	if err != nil || !found {
		return []string{"unsupported-step"}
	}
	return operation(d, s)
}

func (d *driver) keep(name string, thing any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.things[name] = thing
}

// named returns the object that a step names, if it is a T.
func named[T any](d *driver, name string) (T, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, isOne := d.things[name].(T)
	return found, isOne
}

// thing returns the object that a step names. If there is no such T, for example because the step would not
// compile in Go, thing returns a T that was never opened. Its calls return misuse.
func thing[T any](d *driver, name string) *T {
	if found, isOne := named[*T](d, name); isOne {
		return found
	}
	return new(T)
}

func misuse() []string { return []string{resultName(lapwing.ErrMisuse)} }

// interrupt, like destroy, is the same for every handle.
func interrupt(d *driver, s step) []string {
	handle, isOne := named[interface{ Interrupt() }](d, s.text("on"))
	if !isOne {
		return misuse()
	}
	handle.Interrupt()
	return ok()
}

func destroy(d *driver, s step) []string {
	handle, isOne := named[io.Closer](d, s.text("on"))
	if !isOne {
		return misuse()
	}
	d.forget(s.text("on"))
	return answer(handle.Close())
}

func (d *driver) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.things, name)
}

// opened stores a new handle under the name in the step.
func opened[T any](d *driver, s step, made *T, err error) []string {
	if err == nil {
		d.keep(s.text("as"), made)
	}
	return answer(err)
}
