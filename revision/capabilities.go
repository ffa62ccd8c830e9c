package revision

// capabilityShape converts capability objects across one edge of the tree of revisions; nil means no change.
type capabilityShape struct {
	clientUp, clientDown func([]byte) []byte
	serverUp, serverDown func([]byte) []byte
}

// ClientCapabilities converts the capabilities that a client declares between revisions. What the target does not
// know is dropped, members unknown to both stay. Equal revisions return raw itself, and so does a nil or non-object raw.
func ClientCapabilities(raw []byte, from, to *Revision) []byte {
	return convertCapabilities(raw, from, to, true)
}

// ServerCapabilities converts the capabilities that a server declares, under the same terms as [ClientCapabilities].
func ServerCapabilities(raw []byte, from, to *Revision) []byte {
	return convertCapabilities(raw, from, to, false)
}

func convertCapabilities(raw []byte, from, to *Revision, client bool) []byte {
	meet := commonBase(from, to)
	for r := from; r != meet; r = r.base {
		raw = apply(r.caps.down(client), raw)
	}
	return climbCapabilities(raw, meet, to, client)
}

func climbCapabilities(raw []byte, from, r *Revision, client bool) []byte {
	if r == from {
		return raw
	}
	return apply(r.caps.up(client), climbCapabilities(raw, from, r.base, client))
}

func (c capabilityShape) up(client bool) func([]byte) []byte {
	if client {
		return c.clientUp
	}
	return c.serverUp
}

func (c capabilityShape) down(client bool) func([]byte) []byte {
	if client {
		return c.clientDown
	}
	return c.serverDown
}

func apply(fn func([]byte) []byte, raw []byte) []byte {
	if fn == nil || !isObject(raw) {
		return raw
	}
	return fn(raw)
}
