package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"unicode/utf8"
)

// Limits of the body of a request with keys. A client with more keys sends several
// requests.
const (
	MaxBytes    = 64 << 20
	MaxKeys     = 1 << 20
	maxKeyBytes = 1 << 20
)

// errBody is wrapped by errors about the contents of a body.
var errBody = errors.New("bad body")

// keyReader reads the keys of a body, one after another. The key is valid until
// the next call; io.EOF means that there are no more.
type keyReader interface {
	next() ([]byte, error)
}

// newKeyReader returns a reader for a body of the given Content-Type: application/json is
// an array of strings, text/plain is lines.
func newKeyReader(contentType string, body io.Reader) (keyReader, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && kind == "application/json":
		decoder := json.NewDecoder(body)
		decoder.UseNumber() // a large number is refused because it is not a string
		return &jsonKeys{decoder: decoder}, nil
	case err == nil && kind == "text/plain":
		return newLineKeys(body), nil
	}
	return nil, fmt.Errorf("%w: the Content-Type %q is not supported; send application/json with an array of strings, or text/plain with one key per line", errBody, contentType)
}

// lineKeys reads a key from each line. A CR before the newline is not part of the key, and
// empty lines are skipped.
type lineKeys struct {
	in     *bufio.Reader
	key    []byte
	number int
}

func newLineKeys(text io.Reader) *lineKeys {
	return &lineKeys{in: bufio.NewReaderSize(text, 64<<10)}
}

func (l *lineKeys) next() ([]byte, error) {
	for {
		l.key = l.key[:0]
		l.number++
		for {
			part, err := l.in.ReadSlice('\n')
			if len(l.key)+len(part) > maxKeyBytes+2 {
				return nil, fmt.Errorf("%w: line %d is longer than %d bytes", errBody, l.number, maxKeyBytes)
			}
			l.key = append(l.key, part...)
			if err == nil {
				break
			}
			if err == io.EOF && len(l.key) > 0 {
				break
			}
			if err != bufio.ErrBufferFull {
				return nil, err
			}
		}
		key := bytes.TrimSuffix(bytes.TrimSuffix(l.key, []byte("\n")), []byte("\r"))
		if len(key) > maxKeyBytes {
			return nil, fmt.Errorf("%w: line %d is longer than %d bytes", errBody, l.number, maxKeyBytes)
		}
		if len(key) > 0 {
			return key, nil
		}
	}
}

// jsonKeys reads the strings of one JSON array.
type jsonKeys struct {
	decoder *json.Decoder
	begun   bool
	number  int
}

func (j *jsonKeys) next() ([]byte, error) {
	if !j.begun {
		if err := j.bracket('['); err != nil {
			return nil, err
		}
		j.begun = true
	}
	if !j.decoder.More() {
		if err := j.bracket(']'); err != nil {
			return nil, err
		}
		if _, err := j.decoder.Token(); err != io.EOF {
			return nil, notJSON(err, "there is data after the array")
		}
		return nil, io.EOF
	}
	var raw json.RawMessage
	if err := j.decoder.Decode(&raw); err != nil {
		return nil, notJSON(err, "")
	}
	key, err := jsonString(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: string %d of the array: %w", errBody, j.number, err)
	}
	j.number++
	return key, nil
}

func (j *jsonKeys) bracket(want json.Delim) error {
	token, err := j.decoder.Token()
	if err == nil && token == want {
		return nil
	}
	return notJSON(err, "it is not an array of strings")
}

// notJSON returns the error for a body from the error of its decoder. If err is nil, the
// body is valid JSON but not what the API expects, and otherwise says why.
func notJSON(err error, otherwise string) error {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s", errBody, otherwise)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: the JSON is incomplete", errBody)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %w, at byte %d", errBody, syntax, syntax.Offset)
	}
	return err
}

// jsonString returns the text of a JSON string. Invalid Unicode is an error here: the
// standard library would write the replacement character for it, and two different keys
// would become one.
func jsonString(raw []byte) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, fmt.Errorf("%.40s is not a string", raw)
	}
	if len(raw) > 6*maxKeyBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxKeyBytes)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("it is not UTF-8; send keys of any bytes as text/plain")
	}
	if half := loneSurrogate(raw); half != "" {
		return nil, fmt.Errorf("%s is half of a character", half)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	if len(text) > maxKeyBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxKeyBytes)
	}
	return []byte(text), nil
}

// loneSurrogate returns the first escape in a JSON string that is half of a surrogate pair
// without its other half, "" if there is none.
func loneSurrogate(raw []byte) string {
	unit := func(at int) rune { // the code unit of the escape at raw[at:], -1 if there is none
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return -1
		}
		r, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(r)
	}
	for at := 0; at < len(raw); at++ {
		if raw[at] != '\\' {
			continue
		}
		switch first := unit(at); {
		case first < 0:
			at++ // an escape of two bytes
		case first >= 0xd800 && first < 0xdc00:
			if second := unit(at + 6); second < 0xdc00 || second > 0xdfff {
				return string(raw[at : at+6])
			}
			at += 11
		case first >= 0xdc00 && first <= 0xdfff:
			return string(raw[at : at+6])
		default:
			at += 5
		}
	}
	return ""
}
