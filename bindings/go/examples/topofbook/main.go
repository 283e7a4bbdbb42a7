// Command topofbook prints the best bid and ask of each instrument on a dbn.mbo bus when they change, until the
// bus is closed:
//
//	topofbook DIRECTORY
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"lapwing.example/go/lapwing"
)

type top struct{ bid, ask lapwing.Level }

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: topofbook DIRECTORY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context, directory string) error {
	subscriber, err := lapwing.OpenSubscriber(lapwing.SubscriberOptions{
		Directory: directory, Start: lapwing.StartOldest(), EndAtClose: true})
	if err != nil {
		return err
	}
	defer subscriber.Close()
	books, err := lapwing.NewBooks()
	if err != nil {
		return err
	}
	defer books.Close()

	shown := map[lapwing.BookKey]top{}
	for batch, err := range subscriber.Batches(ctx, lapwing.NewBatch(1<<20)) {
		if err != nil {
			return err
		}
		if err := books.Take(batch); err != nil {
			return err
		}
		if err := show(books, shown); err != nil {
			return err
		}
	}
	return nil
}

// show prints the tops that have changed since they were last shown.
func show(books *lapwing.Books, shown map[lapwing.BookKey]top) error {
	keys, err := books.List(nil)
	if err != nil {
		return err
	}
	for _, key := range keys {
		book, err := books.Find(key)
		if err != nil {
			return err
		}
		now := top{book.Bid, book.Ask}
		if before, ok := shown[key]; book.IsSettled && (!ok || now != before) {
			shown[key] = now
			fmt.Printf("%d: %s | %s\n", key.InstrumentID, text(now.bid), text(now.ask))
		}
	}
	return nil
}

func text(l lapwing.Level) string {
	if l.Price == lapwing.NoPrice {
		return "-"
	}
	return fmt.Sprintf("%d @ %.2f", l.Size, float64(l.Price)/1e9)
}
