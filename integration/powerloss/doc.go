// Package powerloss tests what is left after a loss of power. A disk that records every
// write and flush is a file (FUSE), a block device (loop) and a file system (ext4) for
// the kernel. "seen serve", "seen build" and "seen uniq --state" write to it. For a
// moment of the record, the package then makes a disk as a power failure could leave it:
// flushed data is present, and later writes are dropped, reordered and torn. The kernel
// mounts this disk, seen opens it, and everything that was acknowledged before the
// moment must be present.
//
// It runs as root on Linux with /dev/fuse and loop devices, and is for tests only.
package powerloss
