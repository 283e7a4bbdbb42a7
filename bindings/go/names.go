package lapwing

import "strconv"

// nameOf returns the name of an enumerator, or its number if this release has no name for it.
func nameOf(number int, names []string) string {
	if number < len(names) && names[number] != "" {
		return names[number]
	}
	return strconv.Itoa(number)
}
