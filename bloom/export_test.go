package bloom

// SetAloneFrom sets the number of new keys from which on batches lock all lines
// rather than those of each key.
func (s *Shared) SetAloneFrom(n int) { s.locks.aloneFrom = n }
