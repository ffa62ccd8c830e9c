package scenario

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Sample is one measurement. Costs are per call unless said otherwise; zero
// means not measured.
type Sample struct {
	Calls  int     `json:"calls"`
	CPU    float64 `json:"cpu_us"`  // user + system, every process taking part
	Wall   float64 `json:"wall_us"` // at one client the time of a call
	Bytes  float64 `json:"bytes"`   // allocated in the measuring process; for idle sessions, held by the server
	Allocs float64 `json:"allocs"`
	RPS    float64 `json:"rps"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`

	Goroutines float64 `json:"goroutines"` // of the server, per idle session
	RSS        float64 `json:"rss_bytes"`  // of the server, per idle session
}

// Best folds b into s: contention only ever adds, so the smallest cost and the
// largest throughput of all rounds are the closest to the truth.
func (s Sample) Best(b Sample) Sample {
	return Sample{
		Calls: s.Calls + b.Calls,
		CPU:   min(s.CPU, b.CPU), Wall: min(s.Wall, b.Wall),
		Bytes: min(s.Bytes, b.Bytes), Allocs: min(s.Allocs, b.Allocs),
		RPS: max(s.RPS, b.RPS),
		P50: min(s.P50, b.P50), P99: min(s.P99, b.P99),
		Goroutines: min(s.Goroutines, b.Goroutines), RSS: min(s.RSS, b.RSS),
	}
}

// latencies bounds the timings kept per client, so that the record does not
// change how often the collector runs.
const latencies = 4096

// A load is what measure repeats: clients goroutines, each calling call with
// its own index until the time is up.
type load struct {
	clients int
	call    func(client int) error
	cpu     func() (time.Duration, error) // nil means this process
}

// measure warms up for a fifth of d, then measures for d.
func measure(d time.Duration, l load) (Sample, error) {
	if l.cpu == nil {
		l.cpu = selfCPU
	}
	record := make([][]time.Duration, l.clients)
	for i := range record {
		record[i] = make([]time.Duration, 0, latencies)
	}
	if _, err := l.run(d/5, nil); err != nil {
		return Sample{}, err
	}
	runtime.GC()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	c0, err0 := l.cpu()
	t0 := time.Now()
	n, err := l.run(d, record)
	wall := time.Since(t0)
	c1, err1 := l.cpu()
	runtime.ReadMemStats(&m1)
	if err := errors.Join(err0, err, err1); err != nil {
		return Sample{}, err
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
	s := Sample{
		Calls: n, CPU: per(c1 - c0), Wall: per(wall),
		Bytes:  float64(m1.TotalAlloc-m0.TotalAlloc) / float64(n),
		Allocs: float64(m1.Mallocs-m0.Mallocs) / float64(n),
		RPS:    float64(n) / wall.Seconds(),
	}
	s.P50, s.P99 = percentiles(record)
	return s, nil
}

// run calls until d has passed and every client made one call at least, and
// returns how many calls were made. The first error stops its client only.
func (l load) run(d time.Duration, record [][]time.Duration) (int, error) {
	counts, errs := make([]int, l.clients), make([]error, l.clients)
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for i := range l.clients {
		wg.Go(func() {
			for last := time.Now(); counts[i] == 0 || last.Before(end); counts[i]++ {
				if errs[i] = l.call(i); errs[i] != nil {
					return
				}
				now := time.Now()
				if record != nil && len(record[i]) < latencies {
					record[i] = append(record[i], now.Sub(last))
				}
				last = now
			}
		})
	}
	wg.Wait()
	n := 0
	for _, c := range counts {
		n += c
	}
	return n, errors.Join(errs...)
}

// percentiles returns p50 and p99 of all records, in milliseconds.
func percentiles(record [][]time.Duration) (p50, p99 float64) {
	all := slices.Concat(record...)
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	at := func(q int) float64 { return all[(len(all)-1)*q/100].Seconds() * 1e3 }
	return at(50), at(99)
}

// selfCPU returns the user and system time of this process.
func selfCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
