package main

// failed is the panic value of a step that cannot continue.
type failed struct{ error }

// must returns made, or panics on an error.
func must[T any](made T, err error) T {
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// guarded answers with the name of the error if the operation cannot continue after one.
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
