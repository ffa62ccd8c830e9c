package demo

import (
	"sync"
	"time"
)

// interval is how often the clock tells that it has changed.
const interval = time.Second

// A clock ticks while somebody listens. Its zero value with tick set is ready.
type clock struct {
	tick func() // must not block

	mu        sync.Mutex // guards the following
	listeners int
	stop      chan struct{} // ends the ticking goroutine; nil when there is none
	closed    bool
	running   sync.WaitGroup
}

// listen counts one listener more; the function it returns counts one less, the
// first time it is called, and calls then.
func (c *clock) listen(then func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners++
	if c.listeners == 1 && !c.closed {
		c.start()
	}
	var once sync.Once
	return func() {
		once.Do(c.leave)
		then()
	}
}

// start needs c.mu.
func (c *clock) start() {
	stop := make(chan struct{})
	c.stop = stop
	c.running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.tick()
			case <-stop:
				return
			}
		}
	})
}

// leave does not wait for the goroutine: it may run under the caller's locks,
// which tick might want.
func (c *clock) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners--; c.listeners == 0 {
		c.halt()
	}
}

// halt needs c.mu.
func (c *clock) halt() {
	if c.stop != nil {
		close(c.stop)
		c.stop = nil
	}
}

func (c *clock) close() {
	c.mu.Lock()
	c.closed = true
	c.halt()
	c.mu.Unlock()
	c.running.Wait()
}
