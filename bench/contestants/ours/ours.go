// Package ours is this repository's library as a contestant.
package ours

// Contestant takes part in every scenario whose interface it implements; see
// package contest for the list.
type Contestant struct{}

func (Contestant) Name() string    { return "ours" }
func (Contestant) Version() string { return "this tree" }
