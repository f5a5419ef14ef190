package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"seen/bloom"
)

// States of earlier versions have the hashes of these texts.
func TestTagsAreThoseOfEarlierVersions(t *testing.T) {
	for args, text := range map[string]string{
		"":                          `[] "" 0 0 0 false false false false false "" false`,
		"-k 2,2 --keep-blanks":      `["2,2"] "" 0 0 0 false false false false false "" false`, // -k 2,2 had the blanks
		"-k 2,2":                    `["2b,2"] "" 0 0 0 false false false false false "" false`,
		"-k 2b,2":                   `["2b,2"] "" 0 0 0 false false false false false "" false`,
		"-k 2.1,3.2f":               `["2.1b,3.2fb"] "" 0 0 0 false false false false false "" false`,
		"-k 2,2 -t , -i":            `["2,2"] "," 0 0 0 true false false false false "" false`,
		"-k json:/a -k csv:b":       `["json:/a" "csv:b"] "" 0 0 0 false false false false false "" false`,
		"-k json:a":                 `["json:/a"] "" 0 0 0 false false false false false "" false`,
		"-f 1 --skip-chars 2 -w3":   `[] "" 1 2 3 false false false false false "" false`,
		"--lower --trim -z":         `[] "" 0 0 0 false true true false true "" false`,
		"--delimiter ; --url":       `[] "" 0 0 0 false false false false false ";" false url false false false false false false `,
		"--email --email-keep host": `[] "" 0 0 0 false false false true false "" false`, // --email kept them
		"--email":                   `[] "" 0 0 0 false false false true false "" false email false false`,
		"--email-plus":              `[] "" 0 0 0 false false false true false "" false email false true`,
		"--crlf --key-encoding hex": `[] "" 0 0 0 false false false false false "" true hex`,
	} {
		var r recordFlags
		cmd := &cobra.Command{}
		r.register(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		hash := bloom.Hash{}
		if got, want := r.tag(), hash.SumString(text)|1; got != want {
			t.Errorf("%s: the tag is not that of %s", args, text)
		}
	}
}
