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

// manPages makes the manual pages of the help, by file name.
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

// manPage returns the manual page of cmd, without a date, so that it changes only
// with what it says.
func manPage(cmd *cobra.Command) ([]byte, error) {
	cmd.DisableAutoGenTag = true
	cmd.InitDefaultVersionFlag()
	date := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	var made bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "seen", Manual: "seen manual", Date: &date}, &made); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	preset, example := "", false // of the option whose text comes next; within an example
	for line := range strings.Lines(strings.Replace(made.String(), `"Jan 2000"`, `""`, 1)) {
		switch option := manOption.FindStringSubmatch(line); {
		case option != nil:
			// The library makes paragraphs of options; they are a list.
			page.Truncate(len(bytes.TrimSuffix(page.Bytes(), []byte(".PP\n"))))
			line, preset = optionLine(cmd, option[1], option[2])
			line = ".TP\n" + line
		case line == "\n" && !example:
			continue // it would be an empty line more
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

// optionLine returns the line of an option with the name of its value, as in the
// help, and what to add to its text: the value that it has if it is not given.
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

// manChapters are what the pages say beyond the help, by the name of the command.
var manChapters = map[string]string{
	"seen": `.SH EXIT STATUS
.TP
0
success
.TP
1
the answer is no: \fBcheck\fP, a key is absent; \fBfilter\fP, nothing was
selected; \fBverify\fP, a file is damaged
.TP
2
wrong usage, an input that cannot be read, an output that cannot be written
.TP
3
a limit was reached, of memory or of a filter that must not grow; or a filter errs more often than it was made for
.TP
128 + \fIN\fP
ended by signal \fIN\fP; what was read until then is written and remembered
.PP
When the reader of the output goes away, the command ends quietly with 0.
.SH SIGNALS
SIGINT and SIGTERM save the state and end. A second one ends at once. SIGUSR1
prints one line about how far the run is to standard error.
`,
	"plan": `.SH SIZING
A filter of m bits in which each key sets k takes a key that was never added for
one that was with the error rate p. With n keys in it,
.PP
.RS
p = (1 \- e^(\-kn/m))^k
.RE
.PP
about. The best k is 0.69 m/n; then p is 0.6185^(m/n), and the memory for p is
1.44 log2(1/p) bits per key: 9.6 for 1 %, 14.4 for 0.1 %, 19.2 for 0.01 %, 28.8
for one in a million, however long the keys are. Ten times fewer errors cost 4.8
bits per key.
.PP
Half the keys in the same memory nearly square the error rate; twice as many bring
it to between its square and cube root. So plan for the most keys there will be, or
take a scalable filter, which grows and keeps its rate at 1.1 to 2.5 times the
memory. Blocked filters take up to a tenth more than the formula and are several
times faster; static ones take 9, 18 or 36 bits per key for 0.4 %, 0.0015 % and
2.3e\-10, but cannot be added to. Where 11 bytes per key are at hand, fingerprints
make no errors to speak of.
`,
}
