package mcp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

func TestTaskExpires(t *testing.T) {
	eachTaskKind(t, func(t *testing.T, r *revision.Revision) {
		synctest.Test(t, func(t *testing.T) {
			g := newTaskRig(t, mcp.TaskOptions{DefaultTTL: time.Minute, MaxTTL: time.Minute})
			c := connect(t, g.Server, answerer(r))
			task := start(t, c, "wait")
			time.Sleep(time.Minute - time.Second) // of the bubble's clock
			if _, err := c.GetTask(t.Context(), task.ID); err != nil {
				t.Fatalf("before its time: %v", err)
			}
			time.Sleep(time.Second)
			if err := <-g.causes; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("handler ended by %v", err)
			}
			_, err := c.GetTask(t.Context(), task.ID)
			wantCode(t, "after its time", err, jsonrpc.CodeInvalidParams)
		})
	})
}

func TestTaskTTLIsWithinBounds(t *testing.T) {
	g := newTaskRig(t, mcp.TaskOptions{DefaultTTL: time.Minute, MaxTTL: time.Hour})
	c := connect(t, g.Server, answerer(revision.V2025_11_25))
	for param, want := range map[string]string{`{}`: "60000", `{"ttl":1000}`: "1000", `{"ttl":9000000000000000000}`: "3600000", `{"ttl":-1}`: "60000"} {
		raw, err := c.Request(t.Context(), "tools/call", mcp.JSON(`{"name":"must","task":`+param+`}`))
		if got := string(rawjson.Get(raw, "ttlMs")); err != nil || got != want {
			t.Errorf("%s: ttl %s, %v; want %s", param, got, err, want)
		}
	}
}

func TestTaskBounds(t *testing.T) {
	t.Run("running", func(t *testing.T) {
		g := newTaskRig(t, mcp.TaskOptions{MaxRunning: 3, MaxRunningPerOwner: 2})
		ann := connectAs(t, g.Server, &mcp.Principal{Subject: "ann"}, answerer(revision.V2026_07_28))
		bob := connectAs(t, g.Server, &mcp.Principal{Subject: "bob"}, answerer(revision.V2026_07_28))
		first := start(t, ann, "wait")
		start(t, ann, "wait")
		_, err := ann.CallToolTask(t.Context(), &mcp.ToolCall{Name: "wait"})
		wantCode(t, "ann's third", err, jsonrpc.CodeInternal)
		start(t, bob, "wait")
		_, err = bob.CallToolTask(t.Context(), &mcp.ToolCall{Name: "wait"})
		wantCode(t, "the fourth of all", err, jsonrpc.CodeInternal)
		if err := ann.CancelTask(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		<-g.causes
		for { // the slot is free as soon as the handler has returned
			if _, err := bob.CallToolTask(t.Context(), &mcp.ToolCall{Name: "wait"}); err == nil {
				break
			}
		}
	})
	t.Run("kept", func(t *testing.T) {
		g := newTaskRig(t, mcp.TaskOptions{Store: mcp.NewMemoryTaskStore(0, 1)})
		c := connect(t, g.Server, answerer(revision.V2026_07_28))
		start(t, c, "must")
		_, err := c.CallToolTask(t.Context(), &mcp.ToolCall{Name: "must"})
		wantCode(t, "the second", err, jsonrpc.CodeInternal)
	})
}

func TestTaskStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := mcp.NewMemoryTaskStore(5, 3)
		put := func(owner, id string, ttl time.Duration) error {
			return s.Create(ctx, &mcp.TaskRecord{ID: id, Owner: owner, Status: mcp.TaskWorking, Created: time.Now(), TTL: ttl})
		}
		for _, id := range []string{"a1", "a2", "a3"} {
			if err := put("a", id, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if err := put("a", "a4", 0); !errors.Is(err, mcp.ErrTooManyTasks) {
			t.Errorf("fourth of an owner: %v", err)
		}
		if err := put("b", "a1", 0); err == nil {
			t.Error("an id was given twice")
		}
		if err := errors.Join(put("b", "b1", 0), put("b", "b2", time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := put("c", "c1", 0); !errors.Is(err, mcp.ErrTooManyTasks) {
			t.Errorf("sixth of all: %v", err)
		}
		if _, err := s.Get(ctx, "b", "a1"); !errors.Is(err, mcp.ErrTaskUnknown) {
			t.Errorf("foreign: %v", err)
		}
		page, more, err := s.List(ctx, "a", "a1", 1)
		if err != nil || !more || len(page) != 1 || page[0].ID != "a2" {
			t.Errorf("page %v, %v, %v", page, more, err)
		}
		page, more, err = s.List(ctx, "a", "a2", 5)
		if err != nil || more || len(page) != 1 || page[0].ID != "a3" {
			t.Errorf("last page %v, %v, %v", page, more, err)
		}
		page[0].Status = mcp.TaskFailed // not shared
		longer := func(r *mcp.TaskRecord) error { r.TTL = 2 * time.Minute; return nil }
		if r, err := s.Update(ctx, "a", "a3", longer); err != nil || r.Status != mcp.TaskWorking {
			t.Errorf("update: %+v, %v", r, err)
		}
		refused := errors.New("refused")
		if _, err := s.Update(ctx, "a", "a3", func(r *mcp.TaskRecord) error { r.Tool = "x"; return refused }); !errors.Is(err, refused) {
			t.Errorf("update: %v", err)
		}
		time.Sleep(time.Minute)
		for id, want := range map[string]error{"a1": mcp.ErrTaskUnknown, "a3": nil} {
			if r, err := s.Get(ctx, "a", id); !errors.Is(err, want) || r != nil && r.Tool != "" {
				t.Errorf("%s after a minute: %+v, %v", id, r, err)
			}
		}
		if err := errors.Join(put("c", "c1", 0), s.Delete(ctx, "b", "b1")); err != nil {
			t.Error(err)
		}
		if err := s.Delete(ctx, "b", "b1"); !errors.Is(err, mcp.ErrTaskUnknown) {
			t.Errorf("deleted twice: %v", err)
		}
	})
}
