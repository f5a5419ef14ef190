package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legendEntry is a name with the symbol of what it names.
type legendEntry struct {
	name   string
	symbol plot.Thumbnailer
}

const (
	swatchWidth = vg.Length(26)
	swatchGap   = vg.Length(5)  // to the name
	entryGap    = vg.Length(12) // to the next entry
	rowHeight   = vg.Length(14)
	// textRoom is how much wider a name may be than in the font of the picture: a browser
	// may have only wider fonts.
	textRoom = 1.2
	// frameWidth is about what the frame around the panels takes of their width.
	frameWidth = vg.Length(30)
)

// Explain adds a name to the legend. A nil symbol adds nothing.
func (p *Panel) Explain(name string, symbol plot.Thumbnailer) {
	if symbol != nil {
		p.legend = append(p.legend, legendEntry{name, symbol})
	}
}

// legendStyle returns the style of the names.
func (p *Panel) legendStyle() text.Style {
	style := p.Legend.TextStyle
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	return style
}

// legendRows divides the legend into rows that are not wider than the panel.
func (p *Panel) legendRows() (rows [][]legendEntry) {
	style, room := p.legendStyle(), vg.Length(0)
	for _, e := range p.legend {
		width := p.entryWidth(style, e)
		if len(rows) == 0 || width > room {
			rows = append(rows, nil)
			room = p.Width - frameWidth
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		room -= width
	}
	return rows
}

func (p *Panel) entryWidth(style text.Style, e legendEntry) vg.Length {
	return swatchWidth + swatchGap + textRoom*style.Width(e.name) + entryGap
}

func (p *Panel) legendHeight() vg.Length {
	if len(p.legend) == 0 {
		return 0
	}
	return vg.Length(len(p.legendRows()))*rowHeight + entryGap/2
}

// drawLegend draws the legend above the canvas of the panel.
func (p *Panel) drawLegend(c draw.Canvas) {
	style := p.legendStyle()
	y := c.Max.Y + p.legendHeight()
	for _, row := range p.legendRows() {
		y -= rowHeight
		x := c.Min.X + frameWidth/2
		for _, e := range row {
			swatch := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y + rowHeight/4}, Max: vg.Point{X: x + swatchWidth, Y: y + rowHeight*3/4},
			}}
			e.symbol.Thumbnail(&swatch)
			c.FillText(style, vg.Point{X: x + swatchWidth + swatchGap, Y: y + rowHeight/2}, e.name)
			x += p.entryWidth(style, e)
		}
	}
}
