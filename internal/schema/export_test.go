package schema

// Fast tells tests which validator a schema got.
func (s *Schema) Fast() bool { return s.fast != nil }
