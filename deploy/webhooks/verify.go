package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

const toleranceSeconds = 300

// IsFromCallagent tells whether callagent sent this: body is the request body as it came, byte for byte; nowSeconds is time.Now().Unix().
func IsFromCallagent(secret, id, timestamp, signature string, body []byte, nowSeconds int64) bool {
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || sent < nowSeconds-toleranceSeconds || sent > nowSeconds+toleranceSeconds {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, entry := range strings.Split(signature, " ") {
		if hmac.Equal([]byte(entry), expected) {
			return true
		}
	}
	return false
}
