package bloomfile_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"seen/bloom"
	"seen/bloomfile"
	"seen/keys"
)

// A filter is made in memory and written; other programs map it and ask.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visited.seen")

	f, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
	if err != nil {
		log.Fatal(err)
	}
	f.AddString("https://example.com/")
	if err := bloomfile.Write(path, f); err != nil {
		log.Fatal(err)
	}

	file, err := bloomfile.Open(path, bloomfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	for _, url := range []string{"https://example.com/", "https://example.org/"} {
		found, err := file.HasString(url)
		if err != nil {
			log.Fatal(err) // the answer is not known: damage, for instance
		}
		fmt.Println(url, found)
	}
	// Output:
	// https://example.com/ true
	// https://example.org/ false
}

// Keys are added to a mapped file in place. They survive a crash of the program at
// once, and one of the machine after Sync or Close.
func ExampleFile_Add() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visited.seen")
	f, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
	if err != nil {
		log.Fatal(err)
	}
	if err := bloomfile.Write(path, f); err != nil {
		log.Fatal(err)
	}

	file, err := bloomfile.Open(path, bloomfile.Options{Writable: true})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		added, err := file.AddString("https://example.com/")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("new:", added)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// new: true
	// new: false
}

// A file that several runs of a program change in turn is locked from reading it to
// writing it back.
func ExampleFileLock() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state.seen")
	empty, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	if err := bloomfile.Write(path, empty); err != nil {
		log.Fatal(err)
	}

	lock, err := bloomfile.Lock(path)
	if err != nil {
		log.Fatal(err) // errors.Is(err, bloomfile.ErrLocked) if another run is at it
	}
	defer lock.Close()
	view, err := bloomfile.Read(path, bloom.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	state := view.(*bloom.Scalable)
	fmt.Println("new:", state.AddString("line"))
	if err := lock.Write(state); err != nil {
		log.Fatal(err)
	}
	// Output:
	// new: true
}

// Callers tell with errors.Is what is wrong with a file.
func ExampleIsDamage() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visited.seen")
	f, err := bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 1e-3})
	if err != nil {
		log.Fatal(err)
	}
	if err := bloomfile.Write(path, f); err != nil {
		log.Fatal(err)
	}
	if err := os.Truncate(path, 5000); err != nil {
		log.Fatal(err)
	}

	_, err = bloomfile.Open(path, bloomfile.Options{})
	switch {
	case errors.Is(err, bloomfile.ErrLocked):
		fmt.Println("another process is changing the file: try again later")
	case errors.Is(err, bloomfile.ErrDirty):
		fmt.Println("the machine went down: restore the file, or call Rebuild")
	case errors.Is(err, bloomfile.ErrTruncated), errors.Is(err, bloomfile.ErrOversized):
		fmt.Println("the file has another length than its header says, damage:", bloomfile.IsDamage(err))
	case bloomfile.IsDamage(err):
		fmt.Println("the file is damaged: restore it")
	case errors.Is(err, bloomfile.ErrVersion):
		fmt.Println("the file needs a newer program")
	}
	// Output:
	// the file has another length than its header says, damage: true
}

// A list of mail addresses keeps what was done to them, so that those who ask do the same.
func ExampleInfo() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "blocked.seen")

	f, err := bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	rules := keys.Rules{Email: &keys.EmailConfig{}}
	if err := f.SetRules(rules.String()); err != nil {
		log.Fatal(err)
	}
	key, err := rules.Email.Append(nil, []byte("Jane.Doe+news@GMail.com"))
	if err != nil {
		log.Fatal(err) // not an address
	}
	f.Add(key)
	if err := bloomfile.Write(path, f); err != nil {
		log.Fatal(err)
	}

	file, err := bloomfile.Open(path, bloomfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	kept, err := keys.ParseRules(file.Info().Rules)
	if err != nil {
		log.Fatal(err) // a rule of a later version: no key can be looked up
	}
	key = []byte("janedoe@googlemail.com")
	if kept.Email != nil {
		if key, err = kept.Email.Append(nil, key); err != nil {
			log.Fatal(err)
		}
	}
	found, err := file.Has(key)
	fmt.Println(kept, found, err)
	// Output:
	// email true <nil>
}
