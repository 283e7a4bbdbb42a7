// Command conformance is the Go driver of tests/conformance/bindings: it reads steps from its standard
// input, one a line, and answers each with lines and a dot.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
)

// driver has what the steps of a scenario have made, by name.
type driver struct {
	mu      sync.Mutex
	things  map[string]any
	running map[string]chan []string
	calls   []uint64 // the channel's numbers of the calls that were started
}

var operations = map[string]func(*driver, step) []string{}

func main() {
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

// thing is what a step names; a scenario that names another kind of thing ends the driver.
func thing[T any](d *driver, name string) T {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.things[name].(T)
	if !ok {
		fmt.Fprintf(os.Stderr, "conformance: %q is %T, and no %T\n", name, d.things[name], found)
		os.Exit(1)
	}
	return found
}
