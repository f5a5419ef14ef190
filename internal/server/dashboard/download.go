package dashboard

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"seen/internal/store"
	"seen/internal/web"
	"seen/interop"
)

const (
	formatDump     = "dump"
	formatFile     = "file"
	formatOriginal = "original" // a filter of another system, as it was imported
)

// notOthers begins the reason why a value has no formats of other systems.
const notOthers = "Formats of other systems are not available: "

// asRedis are the formats of a filter in the layout of Redis, apart from its dump.
var asRedis = []interop.Spec{{Name: "redisbloom", Params: map[string]string{"form": "chunks"}}, {Name: "rdb"}}

// formats returns the formats in which a value can be downloaded, and why there are no
// others.
func formats(value store.Value, name string) (all []web.Format, why string) {
	all = []web.Format{{Name: formatDump, Title: "dump", Extension: ".dump", Use: "to restore it on this server: redis-cli -x RESTORE NAME 0 < FILE"}}
	switch value := value.(type) {
	case *store.RedisBloom:
		all[0].Use = "to restore it on this server, or on Redis with a Bloom module: redis-cli -x RESTORE NAME 0 < FILE"
		for _, s := range asRedis {
			all = append(all, rewrapped(s, name))
		}
		return all, notOthers + "other systems set other bits for a key, and a filter does not store its keys."
	case *store.Foreign:
		all = append(all, web.Format{
			Name: formatOriginal, Title: value.Format(), Extension: extension(value.Filter().Describe().Format), Use: "the file as it was imported",
		})
		for _, s := range interop.Rewraps(value.Filter(), name) {
			all = append(all, rewrapped(s, name))
		}
		return all, notOthers + "they set other bits for a key, and a filter does not store its keys."
	case *store.Bloom:
		if i := value.Info(); len(i.Layers) == 1 && i.Span == 0 {
			all = append(all, web.Format{Name: formatFile, Title: "seen file", Extension: ".seen", Use: "for seen info, and for seen check with the secret of the data folder"})
		} else {
			why = "A seen file cannot hold growing layers or windows. "
		}
		return all, why + notOthers + "a filter stores bits and not keys, and no other system maps a key to the bits that seen does."
	case *store.Cuckoo:
		return all, notOthers + "no other system has this kind of filter with the same hash."
	}
	return all, notOthers + "no other system has a sketch with the same hash."
}

// rewrapped describes a download in a format of another system.
func rewrapped(s interop.Spec, name string) web.Format {
	if s.Name == "rdb" {
		s = interop.Spec{Name: "rdb", Params: map[string]string{"key": name}}
	}
	f := web.Format{Name: s.String(), Title: s.String(), Extension: extension(s.String())}
	switch {
	case s.Name == "rdb":
		f.Title, f.Use = "rdb", "a file with this filter alone, which Redis loads when it starts"
	case s.Params["form"] == "chunks":
		f.Use = "the chunks of BF.SCANDUMP, in order"
	default:
		for _, known := range interop.Formats() {
			if known.Name == s.Name {
				f.Use = "for " + known.System
			}
		}
	}
	return f
}

// extension returns the extension of files in a format of another system.
func extension(spec string) string {
	name, params, _ := strings.Cut(spec, ":")
	switch {
	case strings.Contains(params, "form=json"):
		return ".json"
	case strings.Contains(params, "form=gzip"):
		return ".bloom.gz"
	case strings.Contains(params, "form=chunks"):
		return ".chunks"
	}
	return "." + name
}

// Download writes a filter in a format to the writer that begin returns.
func (v *visitor) Download(name, format string, begin func() io.Writer) error {
	value, _, err := v.value(name)
	if err != nil {
		return err
	}
	if !v.user.May("DUMP", name) {
		return &web.Refused{Status: http.StatusForbidden, Text: "The user " + v.user.Name() + " may not run DUMP on " + name + "."}
	}
	switch of := value.(type) {
	case *store.Bloom:
		if format == formatFile {
			return of.WriteFile(begin())
		}
	case *store.Foreign:
		if format == formatOriginal {
			_, err := begin().Write(of.Contents())
			return err
		} else if format != formatDump {
			return rewrap(of.Filter(), format, begin)
		}
	}
	reply, err := v.do("DUMP", name)
	if err != nil {
		return err
	}
	if format == formatDump {
		_, err = io.WriteString(begin(), reply.Text)
		return err
	}
	f, err := interop.Open([]byte(reply.Text), interop.Spec{Name: "redisbloom"})
	if err != nil {
		return fmt.Errorf("the dump cannot be read: %w", err)
	}
	return rewrap(f, format, begin)
}

// rewrap writes a filter of another system in the format of a specification.
func rewrap(f interop.Foreign, format string, begin func() io.Writer) error {
	s, err := interop.ParseSpec(format)
	if err != nil {
		return err
	}
	w, err := interop.Rewrap(f, s)
	if err != nil {
		return err
	}
	_, err = w.WriteTo(begin())
	return err
}
