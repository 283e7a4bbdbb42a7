// Command squareclient calls a squareserver, in this or another language, and prints the square of each number:
//
//	squareclient PATH NUMBER…
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"lapwing.example/go/lapwing"
)

const (
	requestType = 1
	replyType   = 2
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: squareclient PATH NUMBER…")
	}
	if err := call(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func call(path string, numbers []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server, err := lapwing.ConnectDuplex(ctx, path, lapwing.ChannelOptions{Retry: 5 * time.Second})
	if err != nil {
		return err
	}
	defer server.Close()
	for _, number := range numbers {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return err
		}
		request := lapwing.Message{Type: requestType, Payload: binary.LittleEndian.AppendUint64(nil, n)}
		reply, err := server.Call(ctx, request)
		if err != nil {
			return err
		}
		if reply.Type != replyType || len(reply.Payload) != 8 {
			return fmt.Errorf("a reply of type %d and %d bytes is no square", reply.Type, len(reply.Payload))
		}
		fmt.Println(binary.LittleEndian.Uint64(reply.Payload))
	}
	return nil
}
