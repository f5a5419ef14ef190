package cli

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manPages makes the manual pages from the help, by file name.
func manPages() (map[string][]byte, error) {
	root := (&app{ctx: context.Background()}).command()
	pages := map[string][]byte{}
	for _, cmd := range append(root.Commands(), root) {
		page, err := manPage(cmd)
		if err != nil {
			return nil, err
		}
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = page
	}
	return pages, nil
}

// manPage returns the manual page of cmd, without a date, so that it changes only with
// its content.
func manPage(cmd *cobra.Command) ([]byte, error) {
	cmd.DisableAutoGenTag = true
	cmd.InitDefaultVersionFlag()
	date := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	var made bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "seen", Manual: "seen manual", Date: &date}, &made); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	preset, example := "", false // of the option whose text comes next; whether this is an example
	for line := range strings.Lines(strings.Replace(made.String(), `"Jan 2000"`, `""`, 1)) {
		switch option := manOption.FindStringSubmatch(line); {
		case option != nil:
			// The library makes paragraphs of options; they are a list.
			page.Truncate(len(bytes.TrimSuffix(page.Bytes(), []byte(".PP\n"))))
			line, preset = optionLine(cmd, option[1], option[2])
			line = ".TP\n" + line
		case line == "\n" && !example:
			continue // it would be an additional empty line
		case strings.HasPrefix(line, "\t"):
			line = strings.Trim(line, "\t\n") + preset + "\n"
		case line == ".EX\n", line == ".EE\n":
			example = line == ".EX\n"
		case line == ".SH SEE ALSO\n":
			page.WriteString(manChapters[cmd.Name()])
		}
		page.WriteString(line)
	}
	return page.Bytes(), nil
}

// manOption matches the line of an option: its names, and the long one in them.
var manOption = regexp.MustCompile(`^((?:\\fB-.\\fP, )?\\fB--([a-z-]+)\\fP)\[?=.*\n$`)

// optionLine returns the line of an option with the name of its value, as in the help,
// and its default, which is appended to its text.
func optionLine(cmd *cobra.Command, names, name string) (line, preset string) {
	f := cmd.Flag(name)
	value := f.Value.Type()
	if parts := strings.Split(f.Usage, "`"); len(parts) == 3 {
		value = parts[1]
	}
	switch {
	case value == "bool":
		return names + "\n", ""
	case f.NoOptDefVal != "":
		line = names + `[=\fI` + value + `\fP]` + "\n"
	default:
		line = names + ` \fI` + value + `\fP` + "\n"
	}
	if d := f.DefValue; d != "" && d != "0" && d != "[]" {
		preset = " (default " + d + ")"
	}
	return line, preset
}

// manChapters are the chapters that are not part of the help, by the name of the command.
var manChapters = map[string]string{
	"seen": `.SH EXIT STATUS
.TP
0
success
.TP
1
the answer is no: for \fBcheck\fP, a key is absent; for \fBfilter\fP, no line was
selected; for \fBverify\fP, a file is damaged
.TP
2
wrong usage, an input that cannot be read, or an output that cannot be written
.TP
3
a limit was reached, of memory or of a filter that may not grow; or a filter is past its
error rate
.TP
128 + \fIN\fP
ended by signal \fIN\fP; lines that were read before it are written and remembered
.PP
If the reader of the output closes it, the command ends with 0 and without a message.
.SH SIGNALS
SIGINT and SIGTERM save the state and end the command; a second one ends it at once.
SIGUSR1 prints the progress in one line on standard error.
`,
	"plan": `.SH SIZING
A filter has m bits, and each key sets k of them. The error rate p is the probability
that the filter says yes to a key that was never added. With n keys, it is about
.PP
.RS
p = (1 \- e^(\-kn/m))^k
.RE
.PP
The best k is 0.69 m/n. Then p is 0.6185^(m/n), and the memory for p is 1.44 log2(1/p)
bits per key: 9.6 for 1 %, 14.4 for 0.1 %, 19.2 for 0.01 %, 28.8 for one in a million.
The length of the keys does not matter. A tenth of the error rate costs 4.8 bits per key.
.PP
Half the keys in the same memory nearly square the error rate. Twice the keys raise it to
between its square root and its cube root. So plan for the largest number of keys that
you expect, or use a scalable filter, which grows and keeps its rate with 1.1 to 2.5
times the memory. Blocked filters need up to a tenth more memory than the formula and
are several times faster. Static filters need 9, 18 or 36 bits per key for 0.4 %,
0.0015 % and 2.3e\-10, but keys cannot be added to them. With 11 bytes per key,
fingerprints are practically exact.
`,
}
