package chart

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
)

const (
	heatColumns = 64 // cells in a row
	heatCell    = 10 // pixels of a cell, its gap included
	heatGap     = 12 // pixels between blocks
)

// Heat draws shares from 0 to 1 as cells with colours from dark to bright, as PNG, with a
// block of rows for each list.
func Heat(blocks [][]float64) ([]byte, error) {
	rowsOf := func(b []float64) int { return (len(b) + heatColumns - 1) / heatColumns }
	rows := 0
	for _, b := range blocks {
		rows += rowsOf(b)
	}
	if rows == 0 {
		return nil, fmt.Errorf("the heat map has no shares; give at least one")
	}
	height := rows*heatCell + (len(blocks)-1)*heatGap
	img := image.NewRGBA(image.Rect(0, 0, heatColumns*heatCell, height))
	colours := heatColours()
	y := 0
	for _, b := range blocks {
		for i, share := range b {
			c := color.Color(color.Gray{0x88}) // no share
			if !math.IsNaN(share) {
				c = colours[int(min(max(share, 0), 1)*float64(len(colours)-1))]
			}
			x, top := i%heatColumns*heatCell, y+i/heatColumns*heatCell
			for dy := range heatCell - 1 {
				for dx := range heatCell - 1 {
					img.Set(x+dx, top+dy, c)
				}
			}
		}
		y += rowsOf(b)*heatCell + heatGap
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// heatColours are the colours of shares from 0 to 1. Their brightness alone tells them
// apart.
func heatColours() []color.Color {
	var m palette.ColorMap = moreland.Kindlmann()
	m.SetMin(-0.15) // not black, and not white
	m.SetMax(1.1)
	colours := make([]color.Color, 65)
	for i := range colours {
		c, err := m.At(float64(i) / float64(len(colours)-1))
		if err != nil {
			c = color.Gray{uint8(2 * i)}
		}
		colours[i] = c
	}
	return colours
}
