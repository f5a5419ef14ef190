package server

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// The documents have pictures of pages. The browser tests make them anew, and fail if a page
// has changed since: a picture has the text of its page with it.

var (
	screenshots = flag.String("screenshots", "", "write the pictures of the documents to this `folder`")
	allLooks    = flag.String("looks", "", "write pictures of the pages at all widths and in all colours to this `folder`")
)

// pictures is the folder of the documents' pictures.
var pictures = filepath.Join("..", "..", "docs", "web")

// shot makes a picture of the documents if the flag is set. Otherwise it compares the page
// with the text in that picture.
func (p *pageTest) shot(name string) {
	p.t.Helper()
	text := pageText(js[string](p, `document.body.innerText`))
	if *screenshots != "" {
		b, err := withText(get(p, chromedp.FullScreenshot(100)), text)
		if err == nil {
			err = os.WriteFile(filepath.Join(*screenshots, name+".png"), b, 0o644)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(filepath.Join(pictures, name+".png"))
	if err != nil {
		p.t.Fatal(err)
	}
	was, err := textOf(b)
	if err != nil {
		p.t.Fatalf("%s.png: %v", name, err)
	}
	if diff := cmp.Diff(strings.Split(was, "\n"), strings.Split(text, "\n")); diff != "" {
		p.t.Errorf("docs/web/%s.png shows an older page; make the pictures anew with make pictures (-picture +page):\n%s", name, diff)
	}
}

var (
	numberText = regexp.MustCompile(`[0-9]+([.,][0-9]+)*(e-?[0-9]+)?[kMGT]?`)
	sizeText   = regexp.MustCompile(`# ([KMGT]i)?B\b`)
	spaceText  = regexp.MustCompile(`[ \t\x{a0}]+`)
)

// pageText returns the words of a page, without its numbers and without the state of its
// connection, which differ from run to run.
func pageText(text string) string {
	text = sizeText.ReplaceAllString(numberText.ReplaceAllString(text, "#"), "# B")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(spaceText.ReplaceAllString(line, " ")); line != "" && line != "live" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

const (
	pngHeader  = 8 + 4 + 4 + 13 + 4 // the signature and the chunk IHDR
	pngKeyword = "Description\x00\x00\x00\x00\x00"
)

// withText returns a PNG with a text, in a chunk iTXt after the header.
func withText(png []byte, text string) ([]byte, error) {
	if len(png) < pngHeader || string(png[12:16]) != "IHDR" {
		return nil, fmt.Errorf("the picture is not a PNG")
	}
	chunk := append([]byte("iTXt"), pngKeyword+text...)
	out := binary.BigEndian.AppendUint32(bytes.Clone(png[:pngHeader]), uint32(len(chunk)-4))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	return append(out, png[pngHeader:]...), nil
}

// textOf returns the text that withText has put into a PNG.
func textOf(png []byte) (string, error) {
	for at := 8; at+8 <= len(png); {
		n := int(binary.BigEndian.Uint32(png[at:]))
		if at+12+n > len(png) {
			break
		}
		if string(png[at+4:at+8]) == "iTXt" {
			if text, ok := strings.CutPrefix(string(png[at+8:at+8+n]), pngKeyword); ok {
				return text, nil
			}
		}
		at += 12 + n
	}
	return "", fmt.Errorf("the picture has no text of its page; make pictures writes it")
}

// Every picture of the documents is made by a test, and shown in a document.
func TestPicturesAreShownAndMade(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pictures, "*.png"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pictures, %v", len(files), err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "WEB.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("browser_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".png")
		if !strings.Contains(string(page), "(web/"+name+".png)") {
			t.Errorf("docs/WEB.md does not show %s", file)
		}
		if !strings.Contains(string(tests), fmt.Sprintf("p.shot(%q)", name)) {
			t.Errorf("no test makes %s", file)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := textOf(b); err != nil || text == "" {
			t.Errorf("%s: %v", file, err)
		}
	}
}
