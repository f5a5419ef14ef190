package powerloss

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestCrash compares disks after a crash, sector by sector, with the states that the
// earlier writes and flushes allow. It also checks that each kind of loss occurs.
func TestCrash(t *testing.T) {
	const sectors = 40
	r := rand.New(rand.NewPCG(1, 2))
	disk := NewDisk(sectors * sectorSize)
	for range 300 {
		if r.IntN(5) == 0 {
			disk.flush()
			continue
		}
		// Writes may cross the borders of blocks.
		first := r.IntN(sectors)
		n := 1 + r.IntN(min(12, sectors-first))
		disk.write(bytes.Repeat([]byte{byte(1 + r.IntN(255))}, n*sectorSize), int64(first*sectorSize))
	}
	lost, old, mixed := 0, 0, 0
	for range 3000 {
		position := r.Int64N(disk.Position() + 1)
		// may has the allowed contents of each sector: the flushed one and all later ones.
		var may [sectors][]byte
		for i := range may {
			may[i] = []byte{0}
		}
		for _, e := range disk.events[:position] {
			if e.data == nil {
				for i := range may {
					may[i] = may[i][len(may[i])-1:]
				}
			}
			for i := range len(e.data) / sectorSize {
				sector := int(e.off)/sectorSize + i
				may[sector] = append(may[sector], e.data[0])
			}
		}
		image, fate := disk.Crash(position, r)
		for i := range may {
			var sector [sectorSize]byte
			image.read(sector[:], int64(i*sectorSize))
			at := bytes.LastIndexByte(may[i], sector[0])
			if at < 0 || sector != [sectorSize]byte(bytes.Repeat(sector[:1], sectorSize)) {
				t.Fatalf("position %d, %s: sector %d holds %d, want one of %d", position, fate, i, sector[0], may[i])
			}
			switch {
			case at == len(may[i])-1:
			case at == 0:
				lost++
			default:
				mixed++
			}
			if at < len(may[i])-1 {
				old++
			}
		}
	}
	if lost < 1000 || mixed < 1000 || old < 2000 {
		t.Errorf("%d sectors lost, %d with an earlier write, %d of both; the crashes lose too little", lost, mixed, old)
	}
}
