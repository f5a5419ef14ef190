package rest

import (
	"net/http"
	"strings"
)

// Status turns the error of a command into a status of HTTP and a text
// without the code in front.
func Status(text string) (status int, rest string) {
	code, rest, _ := strings.Cut(text, " ")
	status = http.StatusBadRequest
	switch code {
	case "ERR":
		switch {
		case strings.HasPrefix(rest, "item exists"):
			status = http.StatusConflict
		case strings.HasPrefix(rest, "not found"):
			status = http.StatusNotFound
		case strings.HasPrefix(rest, "non scaling filter is full"):
			status = http.StatusInsufficientStorage
		case strings.HasPrefix(rest, "Insufficient memory"):
			status = http.StatusInsufficientStorage
		}
		return status, rest
	case "OOM":
		return http.StatusInsufficientStorage, rest
	case "WRONGTYPE":
		return http.StatusConflict, rest
	case "NOAUTH", "WRONGPASS":
		return http.StatusUnauthorized, rest
	case "NOPERM":
		return http.StatusForbidden, rest
	case "MISCONF", "LOADING":
		return http.StatusServiceUnavailable, rest
	}
	if text == "Filter is full" || text == "Maximum expansions reached" {
		status = http.StatusInsufficientStorage
	}
	return status, text
}
