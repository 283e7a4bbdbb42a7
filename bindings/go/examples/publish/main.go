// Command publish publishes quotes and describes them, so that `lapwing tail` shows their fields:
//
//	publish DIRECTORY COUNT
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"lapwing.example/go/lapwing"
)

// Quote is the record. The tags describe its fields to readers.
type Quote struct {
	Time       uint64 `lapwing:",time"` // ns since 1970
	Instrument uint32 `lapwing:",key"`
	Size       uint32
	Price      int64 `lapwing:",price"` // 1e-9
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: publish DIRECTORY COUNT")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := publish(ctx, os.Args[1], count); err != nil {
		log.Fatal(err)
	}
}

func publish(ctx context.Context, directory string, count int) error {
	schema, err := lapwing.Describe("example.quote", 1, Quote{})
	if err != nil {
		return err
	}
	publisher, err := lapwing.OpenPublisher(ctx, lapwing.PublisherOptions{
		Directory: directory, Schema: schema})
	if err != nil {
		return err
	}
	defer publisher.Close()
	var last uint64
	for i := range count {
		quote := Quote{Time: uint64(time.Now().UnixNano()), Instrument: 1, Size: 10, Price: int64(100+i) * 1e9}
		if last, err = lapwing.PublishRow(ctx, publisher, &quote); err != nil {
			return err
		}
	}
	if err := publisher.Shutdown(ctx); err != nil { // returns when everything is durable
		return err
	}
	fmt.Printf("published up to %d\n", last)
	return nil
}
