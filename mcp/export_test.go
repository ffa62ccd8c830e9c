package mcp

// CachedPages returns how many encoded pages of tools the server keeps.
func (s *Server) CachedPages() int {
	s.tools.encMu.Lock()
	defer s.tools.encMu.Unlock()
	return len(s.tools.pages)
}
