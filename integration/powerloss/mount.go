package powerloss

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// diskFile is a Disk as a file of a file system. The kernel sends each write at once,
// and a flush of the loop device as fsync.
type diskFile struct {
	fs.Inode
	disk *Disk
}

var (
	_ fs.NodeOpener    = (*diskFile)(nil)
	_ fs.NodeGetattrer = (*diskFile)(nil)
	_ fs.NodeReader    = (*diskFile)(nil)
	_ fs.NodeWriter    = (*diskFile)(nil)
	_ fs.NodeFsyncer   = (*diskFile)(nil)
)

func (f *diskFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, fs.OK
}

func (f *diskFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(f.disk.size)
	return fs.OK
}

func (f *diskFile) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off >= f.disk.size {
		return fuse.ReadResultData(nil), fs.OK
	}
	dest = dest[:min(int64(len(dest)), f.disk.size-off)]
	f.disk.read(dest, off)
	return fuse.ReadResultData(dest), fs.OK
}

func (f *diskFile) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if off+int64(len(data)) > f.disk.size {
		return 0, syscall.ENOSPC
	}
	f.disk.write(data, off)
	return uint32(len(data)), fs.OK
}

func (f *diskFile) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.flush()
	return fs.OK
}

// attached is a Disk as a block device of this machine.
type attached struct {
	server *fuse.Server
	device string
	folder string // mount point of its file system, if mounted
}

// attach makes a disk a block device. Each disk needs its own folder dir.
func attach(disk *Disk, dir string) (a *attached, err error) {
	a = &attached{}
	point := filepath.Join(dir, "device")
	if err := os.MkdirAll(point, 0o700); err != nil {
		return nil, err
	}
	root := &fs.Inode{}
	forever := time.Hour
	a.server, err = fs.Mount(point, root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "powerloss", Name: "powerloss"},
		EntryTimeout: &forever,
		AttrTimeout:  &forever,
		OnAdd: func(ctx context.Context) {
			root.AddChild("disk", root.NewPersistentInode(ctx, &diskFile{disk: disk}, fs.StableAttr{Mode: syscall.S_IFREG}), false)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mounting a FUSE file system: %w", err)
	}
	out, err := run("losetup", "--find", "--show", filepath.Join(point, "disk"))
	if err != nil {
		return nil, errors.Join(err, a.detach())
	}
	a.device = strings.TrimSpace(out)
	return a, nil
}

// mount mounts the file system of the device.
func (a *attached) mount(dir, options string) error {
	folder := filepath.Join(dir, "files")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if _, err := run("mount", "-t", "ext4", "-o", options, a.device, folder); err != nil {
		return err
	}
	a.folder = folder
	return nil
}

// detach unmounts the file system and removes the devices. The disk keeps its data.
func (a *attached) detach() error {
	var all []error
	if a.folder != "" {
		_, err := run("umount", a.folder)
		all, a.folder = append(all, err), ""
	}
	if a.device != "" {
		_, err := run("losetup", "--detach", a.device)
		all, a.device = append(all, err), ""
	}
	// The loop device closes its file a moment later.
	err := a.server.Unmount()
	for wait := time.Millisecond; err != nil && wait < 5*time.Second; wait *= 2 {
		time.Sleep(wait)
		err = a.server.Unmount()
	}
	return errors.Join(append(all, err)...)
}

// run runs a system program that should end quickly.
func run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
