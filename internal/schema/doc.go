// Package schema turns Go types into JSON Schema, compiles schemas, validates
// JSON bytes against them and fills in defaults.
//
// Everything works on bytes. [For] gives the same bytes for the same type, so
// a schema can be computed once and sent as it is. [Compile] keeps no map of
// the instance: a schema of the common subset (see below) is checked by a
// cursor over the raw bytes; every other schema goes to a complete validator.
// Numbers are compared as decimal text, never as float64.
//
// # The jsonschema tag
//
// A field is described by its json tag (name, omitempty, omitzero, string, -,
// embed) and by one jsonschema tag:
//
//	tag    = text | item *( "," item )
//	item   = key "=" value | flag
//	flag   = "deprecated" | "uniqueItems"
//
// A tag that does not begin with an item is the description, all of it. A comma
// ends a value only where an item follows it, so patterns and JSON arrays need
// no escape. The description is the last item and takes the rest verbatim,
// commas, equals signs and all:
//
//	Level string `json:"level,omitempty" jsonschema:"enum=low|mid|high,default=mid,description=how loud, e.g. level=low"`
//
// The keys:
//
//	title, description        text
//	enum, examples            values separated by "|", or one JSON array
//	default, example          one value
//	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf   numbers
//	minLength, maxLength, pattern (RE2), format                        strings
//	minItems, maxItems, uniqueItems                                    slices
//	minProperties, maxProperties                                       maps
//	x-mcp-header              the name N of the Mcp-Param-N header that mirrors the argument
//
// A value of a string field is plain text; any other value is JSON. On a slice,
// enum and the keys of numbers and strings speak of the elements; default and
// examples speak of the slice. An unknown key, a key that does not fit the
// type, a value that does not parse or a default that the schema itself would
// refuse is an error that names the type and the field.
//
// A field is required unless it is a pointer, has omitempty or omitzero, or has
// a default. Nothing is nullable: a pointer is optional, a slice is an array.
//
// # The common subset
//
// The byte validator takes schemas made only of type, properties, required,
// additionalProperties, items, enum and const of scalars, minimum, maximum,
// exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern, minItems,
// maxItems, uniqueItems:false, boolean schemas, annotations and x-* members, in
// any dialect from draft-06 on, with at most 64 names in one object. Both validators give the same verdicts.
//
// In every dialect format and the content keywords are annotations, and
// patterns are RE2: a pattern that RE2 does not know fails to compile.
package schema
