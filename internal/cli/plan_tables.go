package cli

import (
	"io"

	"seen/internal/figure"
	"seen/internal/planner"
)

// planCell is one entry of --table as JSON.
type planCell struct {
	BitsPerKey int     `json:"bits_per_key"`
	K          int     `json:"k"`
	ErrorRate  float64 `json:"error_rate"`
}

func (a *app) planTable(p *planFlags) error {
	if !p.json {
		_, err := io.WriteString(a.env.Stdout, planner.FormatTable())
		return err
	}
	var cells []planCell
	for i, row := range planner.Table() {
		for j, rate := range row {
			cells = append(cells, planCell{BitsPerKey: planner.TableMinBits + i, K: j + 1, ErrorRate: figure.SixDigits(rate)})
		}
	}
	return printJSON(a.env.Stdout, cells)
}

// clickHouseReport is what --clickhouse reports.
type clickHouseReport struct {
	ErrorRate        float64 `json:"error_rate"`
	BitsPerRow       int     `json:"bits_per_row"`
	K                int     `json:"k"`
	Rate             float64 `json:"resulting_error_rate"`
	ServerBitsPerRow int     `json:"server_bits_per_row"`
	ServerK          int     `json:"server_k"`
	ServerRate       float64 `json:"server_error_rate"`
	Note             string  `json:"note,omitempty"`
}

func (a *app) planClickHouse(p *planFlags) error {
	c, err := planner.ClickHouse(float64(p.rate))
	if err != nil {
		return err
	}
	r := clickHouseReport{
		ErrorRate: float64(p.rate), BitsPerRow: c.BitsPerRow, K: c.K, Rate: c.ErrorRate,
		ServerBitsPerRow: c.ServerBitsPerRow, ServerK: c.ServerK, ServerRate: c.ServerErrorRate, Note: c.Note,
	}
	if p.json {
		return printJSON(a.env.Stdout, r)
	}
	t := newTable(a.env.Stdout)
	t.row("wanted", "INDEX i column TYPE bloom_filter(%s)", figure.ExactRate(r.ErrorRate))
	t.row("server's choice", "%d bits per row, k = %d, error rate %s", r.ServerBitsPerRow, r.ServerK, figure.Rate(r.ServerRate))
	if r.Note != "" {
		t.row("better", "%d bits per row, k = %d, error rate %s", r.BitsPerRow, r.K, figure.Rate(r.Rate))
		t.row("note", "%s", r.Note)
	}
	return t.flush()
}
