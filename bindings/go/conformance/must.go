package main

// failed is what a step ends with that cannot go on.
type failed struct{ error }

// must is what was made.
func must[T any](made T, err error) T {
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// guarded answers with the name of the error that the operation could not go on after.
func guarded(operation func(*driver, step) []string) func(*driver, step) []string {
	return func(d *driver, s step) (lines []string) {
		defer func() {
			switch caught := recover().(type) {
			case nil:
			case failed:
				lines = answer(caught.error)
			default:
				panic(caught)
			}
		}()
		return operation(d, s)
	}
}
