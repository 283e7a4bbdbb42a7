package lapwing_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lapwing.example/go/lapwing"
)

func TestTheLibraryHasTheVersionOfItsHeader(t *testing.T) {
	release, major, minor, err := lapwing.LibraryVersion()
	if err != nil || release == "" || major != 1 || minor < 0 {
		t.Fatal(release, major, minor, err)
	}
}

func TestErrorsHaveTheLibrarysNames(t *testing.T) {
	for code, name := range map[lapwing.Code]string{0: "ok", lapwing.ErrTimedOut: "timed-out",
		lapwing.ErrEventDue: "event-due", lapwing.ErrNoAnswer: "no-answer", 36: "unknown"} {
		if code.String() != name {
			t.Errorf("%d is %q, and %q was wanted", code, code, name)
		}
	}
}

// TestLoadsALibrary runs in a separate process, whose environment names the library.
func TestLoadsALibrary(t *testing.T) {
	if os.Getenv("LAPWING_TEST_LOADS") == "" {
		t.Skip("it is a part of the tests below")
	}
	_, _, _, err := lapwing.LibraryVersion()
	t.Log("loaded:", err, lapwing.CodeOf(err))
}

func load(t *testing.T, library string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(program, "-test.run=^TestLoadsALibrary$", "-test.v")
	process.Env = append(os.Environ(), "LAPWING_LIBRARY="+library, "LAPWING_TEST_LOADS=1")
	said, err := process.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return string(said)
}

// build compiles C source into a shared library.
func build(t *testing.T, source string) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "other.so")
	compiler := exec.Command("cc", "-shared", "-fPIC", "-o", library, "-xc", "-")
	compiler.Stdin = strings.NewReader(source)
	if said, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return library
}

func TestALibraryOfAnotherABIIsRefusedInWords(t *testing.T) {
	const version = `#include <stdint.h>
		const char *lapwing_version(uint32_t *abi) { *abi = ABI; return "9.9.9"; }`
	for abi, words := range map[string][]string{
		"2 << 16":      {"abi-mismatch", "release 9.9.9 has ABI 2.0", "needs 1.0"},
		"0":            {"has ABI 0.0"},
		"1 << 16 | 99": {"lapwing_error_name is missing"}, // a later minor version is accepted
	} {
		said := load(t, build(t, strings.Replace(version, "ABI", abi, 1)))
		for _, word := range words {
			if !strings.Contains(said, word) {
				t.Errorf("ABI %s: %q is not in %s", abi, word, said)
			}
		}
	}
}

func TestALibraryThatIsNotThereIsNamed(t *testing.T) {
	said := load(t, "/no/such/library.so")
	if !strings.Contains(said, "not-found: /no/such/library.so") || !strings.Contains(said, "set LAPWING_LIBRARY") {
		t.Fatal(said)
	}
}

func TestEveryFunctionOfTheInterfaceIsUsed(t *testing.T) {
	header, err := os.ReadFile("../../include/lapwing.h")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var used strings.Builder
	for _, source := range append(sources, "calls.h") {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		used.Write(text)
	}
	functions := regexp.MustCompile(`(?m)^LAPWING_API(?:_V)? .*?\b(lapwing_\w+)\(`).FindAllStringSubmatch(string(header), -1)
	for _, function := range functions {
		if !strings.Contains(used.String(), function[1]+"(") {
			t.Errorf("%s is not reachable from Go", function[1])
		}
	}
	if len(functions) < 65 {
		t.Fatal("the header has", len(functions), "functions")
	}
}
