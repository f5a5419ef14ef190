package interop_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"

	"seen/interop"
)

// A filter of Guava is made, written as a file, and recognised by its content. What
// content cannot tell, here how Guava turned keys into bytes, a Spec says.
func Example() {
	spec, err := interop.ParseSpec("guava:funnel=string")
	if err != nil {
		log.Fatal(err)
	}
	made, err := interop.Create(spec, 1000, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := made.(interop.Adder).Add([]byte("https://example.org/")); err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := made.WriteTo(&file); err != nil {
		log.Fatal(err)
	}

	fmt.Println(interop.Detect(file.Bytes())[0].System)
	f, err := interop.Open(file.Bytes(), spec)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Has([]byte("https://example.org/")), f.Has([]byte("https://example.net/")))
	// Output:
	// Guava BloomFilter (Java), as writeTo writes it
	// true false
}

// The payload of DUMP is written as the chunks of BF.SCANDUMP: the same bits in another
// form.
func ExampleRewrap() {
	f, err := interop.Create(interop.Spec{Name: "redisbloom"}, 100, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	w, err := interop.Rewrap(f, interop.Spec{Name: "redisbloom", Params: map[string]string{"form": "chunks"}})
	if err != nil {
		log.Fatal(err)
	}
	for piece, err := range w.(interop.Chunker).Chunks() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(piece), "bytes")
	}
	// Output:
	// 73 bytes
	// 144 bytes
}

// An error names the specifications that avoid it.
func ExampleSpecError() {
	_, err := interop.Open(make([]byte, 40), interop.Spec{Name: "spark"})
	var e *interop.SpecError
	if errors.As(err, &e) {
		fmt.Println(e.Try)
	}
	// Output: [spark:type=string|binary|long]
}

// To add keys to a filter that was opened, take a copy.
func ExampleClone() {
	made, err := interop.Create(interop.Spec{Name: "dcso"}, 100, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := made.WriteTo(&file); err != nil {
		log.Fatal(err)
	}
	f, err := interop.Open(file.Bytes(), interop.Spec{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = f.(interop.Adder).Add([]byte("key"))
	fmt.Println(errors.Is(err, interop.ErrReadOnly))

	c, err := interop.Clone(f)
	if err != nil {
		log.Fatal(err)
	}
	isNew, err := c.(interop.Adder).Add([]byte("key"))
	fmt.Println(isNew, err)
	// Output:
	// true
	// true <nil>
}

// Some filters count how often a key was added.
func ExampleCounter() {
	f, err := interop.Create(interop.Spec{Name: "pyprobables", Params: map[string]string{"type": "counting"}}, 100, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := f.(interop.Adder).Add([]byte("key")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(f.(interop.Counter).Count([]byte("key")))
	// Output: 3
}
