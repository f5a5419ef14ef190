package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"seen/internal/figure"
	"seen/sizing"
)

//go:embed templates
var templateFiles embed.FS

// pages are the templates by the name of their file, each in the common frame. They are
// parsed at the first request for a page: most runs of the command never need them.
var pages = sync.OnceValue(parsePages)

func parsePages() map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(functions).ParseFS(templateFiles, "templates/frame.html"))
	all := map[string]*template.Template{}
	names, _ := fs.Glob(templateFiles, "templates/*.html") // the pattern is valid
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".html")
		if short != "frame" {
			all[short] = template.Must(template.Must(frame.Clone()).ParseFS(templateFiles, name))
		}
	}
	return all
}

// functions are the functions that templates call.
var functions = template.FuncMap{
	"comma": figure.Comma, "bytes": figure.Bytes, "short": figure.Short,
	"rate":      func(p float64) string { return number(p, func() string { return figure.Rate(figure.ThreeDigits(p)) }) },
	"percent":   percent,
	"perSecond": perSecond,
	"share":     func(p float64) string { return strconv.FormatFloat(min(max(p, 0), 1), 'f', 4, 64) },
	"filterURL": filterURL,
	"rowKey":    rowKey,
	"shown":     shown,
	"list":      list,
	"estimate":  figure.Estimate,
	"fraction": func(e sizing.Estimate) string {
		if !e.Known() {
			return "unknown"
		}
		return fmt.Sprintf("%.3g ± %.1g", e.Value, e.StdErr)
	},
	"known": func(v float64) bool { return !math.IsNaN(v) },
	"clock": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" },
}

// dash is written for a value that does not exist.
const dash = "–"

func number(v float64, text func() string) string {
	if math.IsNaN(v) {
		return dash
	}
	return text()
}

// percent writes a share as a percentage.
func percent(p float64) string {
	return number(p, func() string {
		if p != 0 && p < 0.1 {
			return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
		}
		return strconv.FormatFloat(100*p, 'f', 0, 64) + " %"
	})
}

// perSecond writes a rate per second.
func perSecond(v float64) string {
	return number(v, func() string {
		if v < 10 {
			return strconv.FormatFloat(figure.ThreeDigits(math.Round(10*v)/10), 'f', -1, 64)
		}
		return figure.Short(uint64(math.Round(v)))
	})
}

// shown writes a name in a readable way: it quotes and escapes a name that is not printable
// text or is empty, and cuts a long one.
func shown(name string) string {
	if n := len(name); n > maxShown {
		return shown(strings.ToValidUTF8(name[:maxShown], "")) + fmt.Sprintf("… (%d bytes)", n)
	}
	if q := strconv.Quote(name); name == "" || len(q) != len(name)+2 || strings.TrimSpace(name) != name {
		return q
	}
	return name
}

const (
	maxShown  = 300     // bytes of a name that pages show
	maxLinked = 8 << 10 // bytes of a name that fit into an address with every byte escaped
)

// filterURL returns the address of the page of a filter, "" if its name is too long.
func filterURL(name string) string {
	if len(name) > maxLinked {
		return ""
	}
	return "/filter?name=" + url.QueryEscape(name)
}

// rowKey returns a unique key for the row of a filter. It is text, which is all that a
// browser can keep.
func rowKey(name string) string {
	if shown(name) == name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return `"` + hex.EncodeToString(sum[:]) // the names above have no quotes
}

// frame is what the common frame of all pages shows.
type frame struct {
	Title   string
	Path    string // of the page, for the menu
	Data    bool   // there is a server
	User    string // "": no visitor
	Guest   bool   // the user has not logged in, and does not have to
	LogIn   bool   // a log-in may give more rights
	CSRF    string
	Page    any
	Message string // what was done
}

// render answers with a page.
func (r *request) render(status int, page, title string, content any) error {
	f := frame{Title: title, Path: r.URL.Path, Data: r.Source != nil, CSRF: r.sessions.proof(r.token), Page: content, Message: r.message}
	if r.visitor != nil {
		f.User = r.visitor.User()
		f.Guest = r.sessions.visitor(r.token, r.Now()) == nil
	}
	// On the page of the log-in and with all rights there is nothing to log in for.
	f.LogIn = f.Data && page != "login" && (r.visitor == nil || f.Guest && !r.visitor.MayAll())
	var b bytes.Buffer
	if err := pages()[page].ExecuteTemplate(&b, "frame.html", f); err != nil {
		return fmt.Errorf("the page %s cannot be made: %w", page, err)
	}
	r.out.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.out.WriteHeader(status)
	_, _ = r.out.Write(b.Bytes()) // the browser may have gone
	return nil
}

// part returns the HTML of a part of a page.
func part(page, name string, content any) (string, error) {
	var b strings.Builder
	err := pages()[page].ExecuteTemplate(&b, name, content)
	return b.String(), err
}

// fail answers with the error page.
func (r *request) fail(err error) {
	status, text := http.StatusInternalServerError, "Error of the server: "+err.Error()
	var refused *Refused
	if errors.As(err, &refused) {
		status, text = refused.Status, refused.Text
	}
	if r.render(status, "error", http.StatusText(status), text) != nil { // report the first error anyway
		http.Error(r.out, text, status)
	}
}
