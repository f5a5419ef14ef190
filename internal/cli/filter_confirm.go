package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"seen/bloom"
	"seen/internal/setfile"
	"seen/internal/stream"
)

// confirmer makes the answers of a filter exact. It holds records back in their order,
// and looks the doubtful ones up in the full text of the set when the input ends or the
// memory is used up. Each time it reads the text once.
type confirmer struct {
	run   *filterRun
	texts []confirmText
	limit uint64
	size  uint64
	held  []heldBlock
	want  map[string]bool // keys in doubt; true once found in the text
	said  bool            // the note that the keys of the text end in CR was printed
}

type heldBlock struct {
	block    stream.Block
	selected []bool
	doubt    map[int]string // record to its key
}

// confirmText is a text of --confirm.
type confirmText struct {
	name     string
	unpacked bool // it is read as unpack returns it
}

// confirmTexts checks that the files of --confirm are texts.
func (a *app) confirmTexts(flags *filterFlags) (texts []confirmText, err error) {
	asText := foreignFlags{format: formatValue{lines: flags.foreign.format.lines}}
	for _, name := range flags.confirm {
		if info, err := os.Stat(name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("--confirm %s: the text is read several times; give a file", name)
		}
		set, err := a.openSet(name, &asText, &flags.records, true)
		if err != nil {
			return nil, fmt.Errorf("--confirm: %w", err)
		}
		if set.Kind != setfile.KindText {
			if set.Foreign != nil {
				set.Foreign.Close() // it is only read
			}
			return nil, fmt.Errorf("--confirm %s is a filter; give the text that the filter was made from", name)
		}
		texts = append(texts, confirmText{name, set.Text != nil})
	}
	return texts, nil
}

func newConfirmer(f *filterRun, texts []confirmText, limit uint64) *confirmer {
	return &confirmer{run: f, texts: texts, limit: limit, want: map[string]bool{}}
}

// hold copies the records that may be printed.
func (c *confirmer) hold(b *stream.Block, selected, doubt []bool) error {
	h := heldBlock{doubt: map[int]string{}}
	h.block.Offsets = append(h.block.Offsets, 0)
	for i := range b.Len() {
		isDoubt := doubt != nil && doubt[i]
		if !selected[i] && !isDoubt {
			continue
		}
		if isDoubt {
			key := string(b.Key(i))
			h.doubt[len(h.selected)] = key
			c.want[key] = false
			c.size += uint64(2*len(key)) + 128
		}
		h.block.Data = append(h.block.Data, b.Line(i)...)
		h.block.Offsets = append(h.block.Offsets, uint32(len(h.block.Data)))
		h.selected = append(h.selected, selected[i])
	}
	h.block.Data = bytes.Clone(h.block.Data)
	c.size += uint64(len(h.block.Data) + 6*len(h.selected))
	c.held = append(c.held, h)
	if c.size > c.limit {
		return c.settle()
	}
	return nil
}

// settle decides the records that are held back, and writes them.
func (c *confirmer) settle() error {
	if len(c.want) > 0 {
		if err := c.readText(); err != nil {
			return err
		}
	}
	for i := range c.held {
		h := &c.held[i]
		for at, key := range h.doubt {
			h.selected[at] = c.want[key] != c.run.invertsDoubt()
		}
		if err := c.write(h); err != nil {
			return err
		}
	}
	c.held, c.size = c.held[:0], 0
	clear(c.want)
	return nil
}

func (c *confirmer) write(h *heldBlock) error {
	if !c.run.tag {
		return c.run.out.Write(&h.block, h.selected)
	}
	tag := append([]byte(c.run.keep[0].Label()), '\t')
	return c.run.out.WritePrefixed(&h.block, h.selected, func(int) []byte { return tag })
}

// readText reads the full text of the set and marks the wanted keys in it.
func (c *confirmer) readText() error {
	a, r := c.run.app, c.run.records
	r.anyBytes = c.run.foreign.format.lines
	for _, t := range c.texts {
		var text io.Reader
		if t.unpacked {
			var err error
			if text, err = setfile.Unpack(a.ctx, t.name, a.setConfig(&c.run.foreign, &r, true)); err != nil {
				return explainOpen(err)
			}
		}
		in, config, err := r.textConfig(a, t.name, text)
		if err != nil {
			return err
		}
		c.sayOfTextWithCR(&config)
		// Most keys of the text are excluded by their hashes, before the map is asked.
		wanted, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
		if err != nil {
			return err
		}
		for key := range c.want {
			wanted.AddString(key)
		}
		err = stream.Run(a.ctx, in, config, func(b *stream.Block) error {
			for lo, hi := range b.Keyed() {
				for i := lo; i < hi; i++ {
					if wanted.HasHash(b.Hashes[i]) {
						if key := b.Key(i); !c.want[string(key)] {
							if _, is := c.want[string(key)]; is {
								c.want[string(key)] = true
							}
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// invertsDoubt reports whether a confirmed member is dropped instead of printed.
func (f *filterRun) invertsDoubt() bool { return len(f.drop) > 0 }
