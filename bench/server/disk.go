package main

import (
	"os"
	"path/filepath"
	"time"
)

// diskSyncs returns how often per second a small record can be written and synced to the
// disk of dir. It overwrites existing blocks of the file, which is the cheapest way.
func diskSyncs(dir string, span time.Duration) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "syncs"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	const blocks = 1024
	if _, err := f.Write(make([]byte, blocks*4096)); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	block := make([]byte, 4096)
	n := 0
	began := time.Now()
	for ; time.Since(began) < span; n++ {
		if _, err := f.WriteAt(block, int64(n%blocks)*4096); err != nil {
			return 0, err
		}
		if err := dataSync(f); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}
