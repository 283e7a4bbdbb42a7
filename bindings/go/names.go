package lapwing

import "strconv"

// nameOf is the name of an enumerator, and its number where this release knows no name.
func nameOf(number int, names []string) string {
	if number < len(names) && names[number] != "" {
		return names[number]
	}
	return strconv.Itoa(number)
}
