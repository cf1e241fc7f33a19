// Tells for each line of stdin (secret, id, timestamp, signature, body in base64, now; by tabs) whether verify.go takes it.
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"receivers/webhooks"
	"strconv"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		body, _ := base64.StdEncoding.DecodeString(f[4])
		now, _ := strconv.ParseInt(f[5], 10, 64)
		if webhooks.IsFromCallagent(f[0], f[1], f[2], f[3], body, now) {
			fmt.Println("ours")
		} else {
			fmt.Println("not ours")
		}
	}
}
