// Command booktitles finds the books that a library already has, by title and
// author. All branches of the library share one filter in a "seen serve".
//
//	seen serve &
//	go run ./examples/booktitles < CATALOGUE
//
// A line of the catalogue is a title, a tab and an author. Books that are new to the
// server go to standard output. Probable duplicates go to standard error with their
// line numbers, so that a librarian can check them. The program uses a Redis client:
// any client in any language can send BF.RESERVE and BF.MADD.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"unicode"

	"github.com/redis/rueidis"

	"seen/keys"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its arguments and streams as parameters.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("booktitles", flag.ContinueOnError)
	flags.SetOutput(stderr)
	server := flags.String("server", "127.0.0.1:6380", "`HOST:PORT` of seen serve")
	name := flags.String("name", "books", "`KEY` of the filter that the branches share")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(stderr, "booktitles: give the catalogue on standard input, without arguments")
		return 2
	}
	// Every write is sent once: a repeated BF.MADD would report its own keys as
	// duplicates.
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{*server}, DisableCache: true, ForceSingleClient: true, DisableRetry: true})
	if err != nil {
		fmt.Fprintf(stderr, "booktitles: %s does not answer; start it with \"seen serve\": %v\n", *server, err)
		return 2
	}
	defer client.Close()
	c := catalogue{client: client, name: *name, fresh: bufio.NewWriter(stdout), doubtful: stderr}
	err = errors.Join(c.reserve(ctx), c.read(ctx, stdin), c.fresh.Flush())
	if err != nil {
		fmt.Fprintln(stderr, "booktitles:", err)
		return 2
	}
	fmt.Fprintf(stderr, "%d books: %d new, %d probable duplicates\n", c.books, c.books-c.duplicates, c.duplicates)
	return 0
}

// catalogue is a catalogue that is being compared with the filter.
type catalogue struct {
	client   rueidis.Client
	name     string
	fresh    *bufio.Writer
	doubtful io.Writer

	books, duplicates int
}

// reserve creates the filter, unless another branch already created it. The filter
// grows, so the capacity is not a limit. One new book of a million is reported as a
// duplicate.
func (c *catalogue) reserve(ctx context.Context) error {
	err := c.client.Do(ctx, c.client.B().Arbitrary("BF.RESERVE").Keys(c.name).Args("0.000001", "1000000").Build()).Error()
	if e, ok := rueidis.IsRedisErr(err); ok && strings.Contains(e.Error(), "exists") {
		return nil
	}
	return err
}

// batch is the number of books in one command.
const batch = 1000

// read adds all books of in.
func (c *catalogue) read(ctx context.Context, in io.Reader) error {
	var lines, books []string
	scanner := bufio.NewScanner(in)
	first := 1
	for more := true; more; {
		more = scanner.Scan()
		if more {
			lines = append(lines, scanner.Text())
			books = append(books, key(scanner.Text()))
		}
		if len(lines) == batch || !more && len(lines) > 0 {
			if err := c.ask(ctx, first, lines, books); err != nil {
				return err
			}
			first += len(lines)
			lines, books = lines[:0], books[:0]
		}
	}
	return scanner.Err()
}

// ask adds books, and sorts them by the reply of the server: 1 for a key that is
// certainly new, 0 for a key that is probably known. If one command has two equal
// keys, only the first is new.
func (c *catalogue) ask(ctx context.Context, first int, lines, books []string) error {
	answers, err := c.client.Do(ctx, c.client.B().Arbitrary("BF.MADD").Keys(c.name).Args(books...).Build()).ToArray()
	if err != nil {
		return fmt.Errorf("lines %d to %d: the server did not answer; the books may have been added: %w", first, first+len(lines)-1, err)
	}
	for i, answer := range answers {
		isNew, err := answer.AsBool()
		if err != nil {
			return fmt.Errorf("line %d: %w", first+i, err)
		}
		c.books++
		if isNew {
			_, err = fmt.Fprintln(c.fresh, lines[i])
		} else {
			c.duplicates++
			_, err = fmt.Fprintf(c.doubtful, "line %d: %s\n", first+i, lines[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// key returns the canonical form of a book: "The Hobbit", "Hobbit, The" and "THE
// HOBBIT!" are one title, "Tolkien, J.R.R." and "J. R. R. Tolkien" are one author.
func key(line string) string {
	title, author, _ := strings.Cut(line, "\t")
	words, names := words(title), words(author)
	if n := len(words); n > 1 && isArticle(words[0]) {
		words = words[1:]
	} else if n > 1 && isArticle(words[n-1]) {
		words = words[:n-1]
	}
	slices.Sort(names)
	return strings.Join(words, " ") + "\t" + strings.Join(names, " ")
}

func isArticle(word string) bool { return word == "the" || word == "a" || word == "an" }

// words returns the words of text without case and punctuation.
func words(text string) []string {
	return strings.FieldsFunc(string(keys.AppendFold(nil, []byte(text))), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
