package rest

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"os"
	"strconv"

	"seen/internal/fair"
	"seen/internal/resp"
)

// addKeys adds the keys of the body and answers how many were new or, if asked, for each
// whether it was new. If the filter does not exist, it creates a Bloom filter.
func addKeys(r *request) {
	each := false
	if text := r.URL.Query().Get("each"); text != "" {
		var err error
		if each, err = strconv.ParseBool(text); err != nil {
			r.fail(http.StatusBadRequest, fmt.Sprintf("each is %q; give true or false", text))
			return
		}
	}
	command := []string{bloomKind.Add, r.name(), "ITEMS"}
	if r.URL.Query().Get("create") == "false" {
		command = []string{bloomKind.Add, r.name(), "NOCREATE", "ITEMS"}
	}
	if v, ok := r.must("TYPE", r.name()); !ok {
		return
	} else if v.Text == cuckooKind.Type {
		command[0] = cuckooKind.Add
	}
	r.eachBatch(&answers{name: "added", each: each}, command)
}

// checkKeys answers for each key of the body whether it may have been added.
func checkKeys(r *request) {
	kind := r.kind()
	switch {
	case kind == nil:
	case kind.Counts:
		r.fail(http.StatusConflict, fmt.Sprintf("%q is of type %s, which cannot tell whether a key was added", r.name(), kind.Name))
	default:
		r.eachBatch(&answers{name: "seen", each: true}, []string{kind.Ask, r.name()})
	}
}

// answers are the answers for all keys of a body so far.
type answers struct {
	name string // of the list, in JSON
	each bool   // keep the answer for each key, and not only the numbers
	list []bool
	keys int // how many were answered
	yes  int // how many answers are true
}

// add notes the answer for a key.
func (a *answers) add(yes bool) {
	a.keys++
	if yes {
		a.yes++
	}
	if a.each {
		a.list = append(a.list, yes)
	}
}

// eachBatch runs the command for the keys of the body, a batch at a time, and answers with
// all results.
func (r *request) eachBatch(all *answers, command []string) {
	body, err := r.content(MaxBytes)
	var keys keyReader
	if err == nil {
		keys, err = newKeyReader(r.Header.Get("Content-Type"), body)
	}
	if err != nil {
		r.fail(http.StatusUnsupportedMediaType, err.Error())
		return
	}
	if r.ContentLength > MaxBytes {
		r.fail(http.StatusRequestEntityTooLarge, tooLarge(fmt.Sprintf("the body has %d bytes", r.ContentLength)))
		return
	}
	var batch batch
	for more := true; more; {
		batch.reset(command)
		body.settle(answerBytes * len(all.list)) // the earlier keys are no longer needed
		more, err = batch.fill(keys, MaxKeys-all.keys)
		if len(batch.args) > len(command) && err == nil {
			var status int
			if status, err = r.run(&batch, all, len(batch.args)-len(command)); status != 0 {
				r.stop(status, err, all.keys)
				return
			}
		}
		if err != nil {
			r.stop(bodyStatus(err), err, all.keys)
			return
		}
	}
	r.answer(all)
}

// batch is a command with a batch of keys.
type batch struct {
	args  [][]byte
	bytes []byte
}

func (b *batch) reset(command []string) {
	b.args, b.bytes = b.args[:0], b.bytes[:0]
	for _, word := range command {
		b.args = append(b.args, []byte(word))
	}
}

// errTooMany is the error of a body with more than MaxKeys keys.
var errTooMany = errors.New(tooLarge(fmt.Sprintf("the body has more than %d keys", MaxKeys)))

func tooLarge(what string) string {
	return fmt.Sprintf("%s; a request may have at most %d keys and %d bytes: send it in parts", what, MaxKeys, MaxBytes)
}

// fill adds the next keys until the batch is full by number or by bytes. more is false
// after the last key, and left is how many keys the body may still have.
func (b *batch) fill(keys keyReader, left int) (more bool, err error) {
	for range batchKeys {
		key, err := keys.next()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if left--; left < 0 {
			return false, errTooMany
		}
		// If append moves the bytes, the keys before this one keep the old array.
		from := len(b.bytes)
		b.bytes = append(b.bytes, key...)
		b.args = append(b.args, b.bytes[from:len(b.bytes):len(b.bytes)])
		if len(b.bytes) >= maxKeyBytes {
			break
		}
	}
	return true, nil
}

// Lines returns the keys of a text with one key per line, in batches for one command each.
// A batch is valid until the next one. After an error there is no further batch.
func Lines(text io.Reader) iter.Seq2[[][]byte, error] {
	return func(yield func([][]byte, error) bool) {
		keys, b := newLineKeys(text), &batch{}
		for more := true; more; {
			var err error
			b.reset(nil)
			if more, err = b.fill(keys, math.MaxInt); err != nil {
				yield(nil, err)
				return
			}
			if len(b.args) > 0 && !yield(b.args, nil) {
				return
			}
		}
	}
}

// run runs the command of a batch of n keys and adds the result for each key. status
// is not 0 if the command or one of its keys failed.
func (r *request) run(b *batch, all *answers, n int) (status int, err error) {
	v, err := r.Ask(b.args...)
	if err != nil {
		return http.StatusInternalServerError, err
	}
	if v.Kind == resp.Error {
		status, text := Status(v.Text)
		return status, errors.New(text)
	}
	for _, e := range v.Elems {
		switch {
		case e.Kind == resp.Error:
			status, text := Status(e.Text)
			return status, errors.New(text)
		case e.Int < 0:
			return http.StatusInsufficientStorage, errors.New("the filter is full")
		}
		all.add(e.Int == 1)
	}
	if len(v.Elems) != n {
		return http.StatusInternalServerError, fmt.Errorf("%d answers for %d keys", len(v.Elems), n)
	}
	return 0, nil
}

// bodyStatus returns the HTTP status for an error of the body.
func bodyStatus(err error) int {
	var tooLong *http.MaxBytesError
	switch {
	case errors.Is(err, errTooMany), errors.Is(err, errBodyLong), errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, fair.ErrBudget):
		return http.StatusServiceUnavailable
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest // an errBody, or the connection was closed and no client reads this
}

// stop answers with an error after done keys were processed.
func (r *request) stop(status int, err error, done int) {
	r.reply(status, failure{Error: err.Error(), Done: &done})
}

// answer writes {"NAME": [true, false, ...], "keys": K, "count": N}, where K is the number of
// keys and N that of trues. The list is there only if it was asked for.
func (r *request) answer(all *answers) {
	out := make([]byte, 0, 48+6*len(all.list))
	out = append(out, '{')
	if all.each {
		out = append(out, '"')
		out = append(out, all.name...)
		out = append(out, `":[`...)
		for i, a := range all.list {
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendBool(out, a)
		}
		out = append(out, `],`...)
	}
	out = fmt.Appendf(out, `"keys":%d,"count":%d}`+"\n", all.keys, all.yes)
	r.header(http.StatusOK)
	_, _ = r.out.Write(out) // the client may have gone
}
