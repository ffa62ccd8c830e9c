// The server that the official conformance suite is run against: the features
// it asks for by name, on one endpoint for both eras.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"mcpv/mcp"
	"mcpv/mcp/streamable"
)

func main() {
	s := mcp.NewServer(mcp.Implementation{Name: "mcpv-conformance", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Fixture of the conformance suite.",
		Tasks:        &mcp.TaskOptions{PollInterval: 200 * time.Millisecond},
	})
	addContent(s)
	addConversation(s)
	addRounds(s)
	addTasks(s)
	addResources(s)
	addPrompts(s)
	addSkills(s)

	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://localhost:%d/mcp\n", l.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(s, nil))
	log.Fatal((&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}).Serve(l))
}
