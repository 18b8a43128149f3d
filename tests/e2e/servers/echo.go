// Go's net/http, telling what it reads: "listening on PORT", then a line of JSON a request. It sorts
// fields and writes their names its own way, and has Host apart.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"sync"
)

var lines sync.Mutex

func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	headers := [][2]string{{"Host", r.Host}}
	for name, values := range r.Header {
		for _, value := range values {
			headers = append(headers, [2]string{name, value})
		}
	}
	sort.Slice(headers, func(i, j int) bool { return headers[i][0] < headers[j][0] })
	line, _ := json.Marshal(map[string]any{"method": r.Method, "target": r.RequestURI, "headers": headers,
		"body": base64.StdEncoding.EncodeToString(body)})
	lines.Lock()
	fmt.Println(string(line))
	lines.Unlock()
	w.Header().Set("Content-Length", "0")
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("listening on", listener.Addr().(*net.TCPAddr).Port)
	go http.Serve(listener, http.HandlerFunc(answer))
	io.Copy(io.Discard, os.Stdin)
}
