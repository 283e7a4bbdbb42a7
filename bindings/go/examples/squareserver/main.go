// Command squareserver answers calls of type 1, which contain a number n as 8 bytes, little-endian. The reply
// has type 2 and contains n*n. It serves one client after another, in any language, until it is interrupted:
//
//	squareserver PATH
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"lapwing.example/go/lapwing"
)

const (
	requestType = 1
	replyType   = 2
	badRequest  = 1 // the error number for other requests
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: squareserver PATH")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := lapwing.Listen(os.Args[1], lapwing.ListenerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	fmt.Println("listening")
	for ctx.Err() == nil {
		client, err := listener.AcceptDuplex(ctx, lapwing.ChannelOptions{Name: "squareserver"})
		if err == nil {
			err = serve(ctx, client)
			client.Close()
		}
		if code := lapwing.CodeOf(err); code != lapwing.ErrClosed && code != lapwing.ErrPeerGone && ctx.Err() == nil {
			log.Print(err) // this client failed; continue with the next one
		}
	}
}

// serve answers calls until the client disconnects.
func serve(ctx context.Context, client *lapwing.Duplex) error {
	var request lapwing.Request
	for {
		if err := client.Next(ctx, &request); err != nil {
			return err
		}
		if request.Call == 0 {
			continue // one-way: no answer is expected
		}
		var err error
		if request.Type != requestType || len(request.Payload) != 8 {
			err = client.ReplyError(ctx, request.Call, badRequest, "a request is of type 1 and has 8 bytes")
		} else {
			n := binary.LittleEndian.Uint64(request.Payload)
			square := binary.LittleEndian.AppendUint64(nil, n*n)
			err = client.Reply(ctx, request.Call, lapwing.Message{Type: replyType, Payload: square})
		}
		if err != nil {
			return err
		}
	}
}
