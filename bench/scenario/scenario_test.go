package scenario_test

import (
	"context"
	"testing"
	"time"

	"mcpv/bench/contestants/floor"
	"mcpv/bench/scenario"
)

func TestBestKeepsTheLowestCostAndTheHighestRate(t *testing.T) {
	a := scenario.Sample{Calls: 1, CPU: 5, Wall: 7, Bytes: 100, Allocs: 3, RPS: 10, P50: 1, P99: 9}
	b := scenario.Sample{Calls: 2, CPU: 6, Wall: 6, Bytes: 90, Allocs: 4, RPS: 20, P50: 2, P99: 8}
	want := scenario.Sample{Calls: 3, CPU: 5, Wall: 6, Bytes: 90, Allocs: 3, RPS: 20, P50: 1, P99: 8}
	if got := a.Best(b); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenario.All() {
		if seen[s.Name] || s.Note == "" {
			t.Errorf("%s: twice or without a note", s.Name)
		}
		seen[s.Name] = true
	}
	if _, err := scenario.Find("no such"); err == nil {
		t.Error("found a scenario that is not there")
	}
}

func TestMeasuringFillsTheSample(t *testing.T) {
	s, err := scenario.Find("http/stateless-modern/32")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Run(context.Background(), floor.Contestant{}, scenario.Options{For: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got.Calls < 32 || got.CPU <= 0 || got.Wall <= 0 || got.Allocs <= 0 || got.RPS <= 0 || got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("got %+v", got)
	}
}
