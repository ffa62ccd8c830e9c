package mcp

import (
	"encoding/base64"
	"time"
)

// An Implementation is how a client or server calls itself.
type Implementation struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitempty"`
	Extra       JSON   `json:",embed"` // members this package does not know
}

// An Icon is a picture for a user interface. Its source is not to be trusted.
type Icon struct {
	Source   string   `json:"src"`
	MIMEType string   `json:"mimeType,omitzero"`
	Sizes    []string `json:"sizes,omitempty"`
	Theme    string   `json:"theme,omitzero"` // "light" or "dark"
	Extra    JSON     `json:",embed"`
}

// Annotations say for whom content is and how much it matters.
type Annotations struct {
	Audience     []string   `json:"audience,omitempty"` // "user", "assistant"
	Priority     *float64   `json:"priority,omitzero"`  // 0 to 1
	LastModified *time.Time `json:"lastModified,omitzero"`
	Extra        JSON       `json:",embed"`
}

// A Content is one block of content of any type. Which fields count depends on
// Type; blocks of types this package does not know keep all their members in
// Extra, so they survive being passed on.
type Content struct {
	Type string `json:"type"` // text, image, audio, resource, resource_link, tool_use, tool_result, …

	Text     *string           `json:"text,omitzero"`     // text
	Data     *string           `json:"data,omitzero"`     // image, audio: base64
	MIMEType string            `json:"mimeType,omitzero"` // image, audio, resource_link
	Resource *ResourceContents `json:"resource,omitzero"` // resource

	URI         string `json:"uri,omitzero"`   // resource_link
	Name        string `json:"name,omitzero"`  // resource_link, tool_use
	Title       string `json:"title,omitzero"` // resource_link
	Description string `json:"description,omitzero"`
	Size        *int64 `json:"size,omitzero"` // resource_link: bytes
	Icons       []Icon `json:"icons,omitempty"`

	ID        string `json:"id,omitzero"`        // tool_use
	Input     JSON   `json:"input,omitzero"`     // tool_use
	ToolUseID string `json:"toolUseId,omitzero"` // tool_result

	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        JSON         `json:"_meta,omitzero"`
	Extra       JSON         `json:",embed"`
}

// Text returns a text block.
func Text(s string) Content { return Content{Type: "text", Text: &s} }

// Image returns an image block of raw bytes.
func Image(data []byte, mimeType string) Content { return binary("image", data, mimeType) }

// Audio returns an audio block of raw bytes.
func Audio(data []byte, mimeType string) Content { return binary("audio", data, mimeType) }

func binary(kind string, data []byte, mimeType string) Content {
	s := base64.StdEncoding.EncodeToString(data)
	return Content{Type: kind, Data: &s, MIMEType: mimeType}
}

// Embedded returns a block that holds a resource's contents.
func Embedded(r ResourceContents) Content { return Content{Type: "resource", Resource: &r} }

// ResourceLink returns a block that points to a resource.
func ResourceLink(uri, name string) Content {
	return Content{Type: "resource_link", URI: uri, Name: name}
}

// String returns the text of a text block, else "".
func (c Content) String() string {
	if c.Text == nil {
		return ""
	}
	return *c.Text
}

// Bytes returns the decoded data of an image or audio block.
func (c Content) Bytes() ([]byte, error) {
	if c.Data == nil {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(*c.Data)
}

// ResourceContents is what a resource holds: text or a blob.
type ResourceContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	Blob     *string `json:"blob,omitzero"` // base64
	Meta     JSON    `json:"_meta,omitzero"`
	Extra    JSON    `json:",embed"`
}

// TextContents returns contents that are text.
func TextContents(uri, mimeType, text string) ResourceContents {
	return ResourceContents{URI: uri, MIMEType: mimeType, Text: &text}
}

// BlobContents returns contents of raw bytes.
func BlobContents(uri, mimeType string, data []byte) ResourceContents {
	s := base64.StdEncoding.EncodeToString(data)
	return ResourceContents{URI: uri, MIMEType: mimeType, Blob: &s}
}

// Bytes returns the text or the decoded blob.
func (r ResourceContents) Bytes() ([]byte, error) {
	switch {
	case r.Text != nil:
		return []byte(*r.Text), nil
	case r.Blob != nil:
		return base64.StdEncoding.DecodeString(*r.Blob)
	}
	return nil, nil
}
