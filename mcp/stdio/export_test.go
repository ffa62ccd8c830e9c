package stdio

// Detach is what Stdio falls back to where calls cannot be interrupted, which
// few systems that tests run on need.
var Detach = detach
