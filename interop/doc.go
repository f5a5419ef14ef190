// Package interop opens, asks, makes and writes the filters of other systems, in their own
// layout and with their own hash: the same bits and the same answers, false positives
// included. [Formats] lists the systems; each has a file here, such as guava.go.
//
// A [Spec] names a format and its parameters, such as "guava:funnel=string". [Detect]
// tells formats by content. [Open] returns a [Foreign] whatever its format, [Create] makes
// a new one, and [Rewrap] writes the bits of one as another format if both map a key to
// the same bits. What only some formats can do are interfaces: [Adder], [Merger],
// [Counter], [Lister] and [Chunker].
//
// A filter that was opened refers to the bytes it was given, which may be a mapping of a
// file of any length: opening looks at the header and copies nothing. To change such a
// filter, take its [Clone], which has memory of its own.
//
// A filter stores bits and not keys, so it cannot be turned into a filter of package bloom
// without the keys. For new filters use package bloom: its hash can be secret, and its
// error rate also holds for small filters and for filters that grow.
//
// All input may be hostile. A call returns a value or an error, and compares what a header
// announces with the bytes that are there before it takes memory. Any number of goroutines
// may ask a filter while none changes it. The package does no I/O but on writers it is
// given.
package interop
