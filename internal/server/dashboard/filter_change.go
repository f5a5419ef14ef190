package dashboard

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"seen/internal/resp"
	"seen/internal/server/rest"
	"seen/internal/web"
)

// Check returns the answers for keys, in order.
func (v *visitor) Check(name string, keys [][]byte) ([]web.Answer, error) {
	_, kind, err := v.value(name)
	if err != nil {
		return nil, err
	}
	reply, err := v.ask(append([][]byte{[]byte(kind.Ask), []byte(name)}, keys...)...)
	if err != nil {
		return nil, err
	}
	if len(reply.Elems) != len(keys) {
		return nil, fmt.Errorf("%d answers for %d keys", len(reply.Elems), len(keys))
	}
	answers := make([]web.Answer, len(keys))
	for i, e := range reply.Elems {
		answers[i] = web.Answer{Key: string(keys[i]), Found: e.Int > 0}
		if kind.Counts {
			answers[i].Count = uint64(max(e.Int, 0))
		}
	}
	return answers, nil
}

// Add adds the keys of a text with one key per line. It returns how many keys were new and
// how many there were.
func (v *visitor) Add(name string, lines io.Reader) (added, all int, err error) {
	_, kind, err := v.value(name)
	if err != nil {
		return 0, 0, err
	}
	for keys, err := range rest.Lines(lines) {
		if err != nil {
			return added, all, unreadable(err)
		}
		words := [][]byte{[]byte(kind.Add), []byte(name)}
		switch {
		case !kind.Counts:
			words = append(append(words, []byte("NOCREATE"), []byte("ITEMS")), keys...)
		case kind.Name == "countmin":
			for _, key := range keys {
				words = append(words, key, []byte("1"))
			}
		default:
			words = append(words, keys...)
		}
		reply, err := v.ask(words...)
		switch {
		case err != nil:
			return added, all, err
		case kind.Counts: // no key is reported as new
			all += len(keys)
			continue
		}
		for _, e := range reply.Elems {
			switch {
			case e.Kind == resp.Error:
				return added, all, refusalOf(e.Text)
			case e.Int < 0:
				return added, all, &web.Refused{Status: http.StatusInsufficientStorage, Text: "The filter is full."}
			case e.Int == 1:
				added++
			}
			all++
		}
	}
	return added, all, nil
}

// unreadable returns the error for keys that cannot be read.
func unreadable(err error) error {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return &web.Refused{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("The text has more than %d bytes.", long.Limit)}
	}
	return &web.Refused{Status: http.StatusBadRequest, Text: "The text cannot be read: " + err.Error() + "."}
}

// Create creates a filter.
func (v *visitor) Create(f web.NewFilter) error {
	c := rest.FilterConfig{Type: f.Type, Capacity: f.Keys, ErrorRate: f.Rate}
	switch f.Type {
	case web.NewFixed:
		c.Type, c.Expansion = web.NewBloom, new(uint64)
	case web.NewCountMin:
		c.Probability = countMinProbability
	case web.NewTopK:
		c.K = f.Keys
	}
	words, err := c.Words(f.Name)
	if err != nil {
		return &web.Refused{Status: http.StatusBadRequest, Text: "The filter cannot be created: " + err.Error() + "."}
	}
	_, err = v.do(words...)
	var refused *web.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return &web.Refused{Status: refused.Status, Text: fmt.Sprintf("There is already a filter %q. Choose another name.", f.Name)}
	}
	return err
}

// countMinProbability is the probability that a count is too high by more than was asked for.
const countMinProbability = 0.01

// Clear forgets all keys.
func (v *visitor) Clear(name string) error {
	_, err := v.do("BF.CLEAR", name)
	return err
}

// Expire sets after what time the filter is deleted; 0 means never.
func (v *visitor) Expire(name string, after time.Duration) error {
	words := []string{"PERSIST", name}
	if after > 0 {
		words = []string{"PEXPIRE", name, strconv.FormatInt(after.Milliseconds(), 10)}
	}
	return v.changed(name, words)
}

// Delete deletes a filter.
func (v *visitor) Delete(name string) error { return v.changed(name, []string{"DEL", name}) }

// changed runs a command that answers 0 if it changes nothing, and returns an error if the
// filter does not exist.
func (v *visitor) changed(name string, words []string) error {
	reply, err := v.do(words...)
	if err == nil && reply.Int == 0 && v.Store.Get([]byte(name)) == nil {
		err = &web.Refused{Status: http.StatusNotFound, Text: fmt.Sprintf("There is no filter %q.", name)}
	}
	return err
}
