package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"lapwing.example/go/lapwing"
)

// step is one line: an operation and its values.
type step struct {
	do     string
	values map[string]string
}

func parse(line string) (step, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return step{}, fmt.Errorf("an empty line is no step")
	}
	s := step{do: words[0], values: map[string]string{}}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		decoded, err := url.PathUnescape(value)
		if err != nil {
			return s, err
		}
		s.values[key] = decoded
	}
	return s, nil
}

func (s step) text(key string) string { return s.values[key] }
func (s step) is(key string) bool     { return s.values[key] == "1" }

func (s step) has(key string) bool {
	_, found := s.values[key]
	return found
}

func (s step) list(key string) []string {
	if s.values[key] == "" {
		return nil
	}
	return strings.Split(s.values[key], ",")
}

// number returns 0 if the step does not contain the key.
func (s step) number(key string) uint64 {
	if !s.has(key) {
		return 0
	}
	n, err := strconv.ParseUint(s.values[key], 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %s: %v\n", key, err)
		os.Exit(1)
	}
	return n
}

func (s step) millis(key string) time.Duration {
	if s.values[key] == "forever" {
		return -1
	}
	return time.Duration(s.number(key)) * time.Millisecond
}

// schema returns nil if the step does not contain the key.
func (s step) schema(key string) *lapwing.Schema {
	if s.text(key) == "" {
		return nil
	}
	return &lapwing.Schema{Text: s.text(key)}
}

// context returns a context with the step's timeout.
func (s step) context() (context.Context, context.CancelFunc) {
	timeout := s.millis("timeout_ms")
	switch {
	case timeout == 0:
		return lapwing.NoWait, func() {}
	case timeout < 0:
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), timeout)
}

// pick returns the value for a word of the step, or the zero value if the step does not contain the key.
func pick[T any](s step, key string, values map[string]T) T { return values[s.text(key)] }

// ok returns the answer to a step that succeeded.
func ok(pairs ...string) []string {
	return []string{strings.Join(append([]string{"ok"}, pairs...), " ")}
}

func pair(key string, value any) string {
	if yes, isBool := value.(bool); isBool {
		value = 0
		if yes {
			value = 1
		}
	}
	return fmt.Sprintf("%s=%v", key, value)
}

var isBroken = os.Getenv("LAPWING_CONFORMANCE_BREAK") != ""

// resultName returns the printed name of a result. If isBroken is set, it swaps two names, so that comparisons
// fail.
func resultName(code lapwing.Code) string {
	switch {
	case isBroken && code == lapwing.ErrTimedOut:
		code = lapwing.ErrWouldBlock
	case isBroken && code == lapwing.ErrWouldBlock:
		code = lapwing.ErrTimedOut
	}
	return code.String()
}

// result returns the name of a call's result.
func result(err error) string {
	code := lapwing.CodeOf(err)
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "conformance:", err) // not an error of Lapwing
		os.Exit(1)
	}
	return resultName(code)
}

// answer returns the result, followed by the pairs if it is ok.
func answer(err error, pairs ...string) []string {
	if err != nil {
		return []string{result(err)}
	}
	return ok(pairs...)
}
