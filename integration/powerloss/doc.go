// Package powerloss takes the power from a machine that runs seen, again and again.
// A disk that remembers every write and every flush is shown to the kernel as a
// file (FUSE), as a block device (loop) and as a file system (ext4). While
// "seen serve", "seen build" and "seen uniq --state" write there, the order of what
// reaches the disk is recorded. Then the disk is made as it may be found after the
// power failed at some moment: what was flushed is there; of what was not, writes
// are dropped, reordered and torn. The kernel mounts that, seen opens it, and all
// that was acknowledged before the moment must be there.
//
// It runs as root on Linux with /dev/fuse and loop devices, and is for tests only.
package powerloss
