// Package rest is the HTTP API of a server: it takes connections, checks who sends a
// request, reads the keys of its body, runs commands and writes their replies as JSON.
// It also answers for health and metrics, and passes everything else on. It is for
// internal/server; docs/openapi.yaml describes the API for users.
//
// It holds no filters and knows no users and no connections of the Redis protocol: a
// Speaker runs the commands, and the Config has functions for what else it needs.
//
// A handler serves any number of requests at the same time.
package rest
