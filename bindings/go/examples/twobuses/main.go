// Command twobuses reads two buses in one goroutine, and prints their records and events until both are
// closed:
//
//	twobuses DIRECTORY DIRECTORY
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"lapwing.example/go/lapwing"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: twobuses DIRECTORY DIRECTORY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context, directories []string) error {
	set, err := lapwing.NewWaitSet(lapwing.WaitBackoff)
	if err != nil {
		return err
	}
	defer set.Close()
	names := map[lapwing.Source]string{} // of the buses that are not closed yet
	for _, directory := range directories {
		subscriber, err := lapwing.OpenSubscriber(lapwing.SubscriberOptions{
			Directory: directory, Start: lapwing.StartOldest(), EndAtClose: true})
		if err != nil {
			return err
		}
		defer subscriber.Close()
		if err := set.AddSubscriber(subscriber); err != nil {
			return err
		}
		names[subscriber] = filepath.Base(directory)
	}
	batch := lapwing.NewBatch(1 << 16)
	for len(names) > 0 {
		ready, err := set.Wait(ctx)
		if err != nil {
			return err
		}
		switch err := take(ready.Source.(*lapwing.Subscriber), batch, names[ready.Source]); {
		case errors.Is(err, lapwing.ErrClosed):
			delete(names, ready.Source)
			if err := set.Remove(ready.Source); err != nil {
				return err
			}
		case err != nil && !errors.Is(err, lapwing.ErrWouldBlock):
			return err
		}
	}
	return nil
}

// take reads once from the bus without waiting, and prints the result.
func take(bus *lapwing.Subscriber, batch *lapwing.Batch, name string) error {
	if err := bus.Read(lapwing.NoWait, batch); err != nil {
		return err
	}
	if event := batch.Event(); event != nil {
		fmt.Printf("%s: %v\n", name, event)
		return nil
	}
	for i := range batch.Count {
		fmt.Printf("%s: record %d of %d bytes\n", name, batch.Sequence(i), len(batch.Row(i)))
	}
	return nil
}
