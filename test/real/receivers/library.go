// Tells for each line of stdin (secret, id, timestamp, signature, body in base64, now; by tabs) whether the official library takes it.
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		body, _ := base64.StdEncoding.DecodeString(f[4])
		headers := http.Header{}
		headers.Set("webhook-id", f[1])
		headers.Set("webhook-timestamp", f[2])
		headers.Set("webhook-signature", f[3])
		hook, err := standardwebhooks.NewWebhook(f[0])
		if err == nil && hook.Verify(body, headers) == nil {
			fmt.Println("ours")
		} else {
			fmt.Println("not ours")
		}
	}
}
