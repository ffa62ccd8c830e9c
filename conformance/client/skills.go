package main

import (
	"context"
	"errors"

	"mcpv/mcp"
)

// skills lists the skills and, if wanted, loads every one with all its files;
// nothing of a skill is read on once a file of it does not verify.
func skills(load bool) scenario {
	return func(ctx context.Context, c *mcp.Client) error {
		listed, err := mcp.Collect(c.Skills(ctx))
		if err != nil || !load {
			return err
		}
		for _, s := range listed {
			err = errors.Join(err, loadSkill(ctx, c, s))
		}
		return err
	}
}

func loadSkill(ctx context.Context, c *mcp.Client, s *mcp.Skill) error {
	if _, err := c.LoadSkill(ctx, s); err != nil {
		return err
	}
	for _, f := range s.Files {
		if _, err := c.ReadSkillFile(ctx, s, f.URI); err != nil {
			return err
		}
	}
	return nil
}
