package stdio

import (
	"io"
	"os"
)

func openStandard(f *os.File, _ int) io.ReadWriteCloser { return detach(f) }
