package demo

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"

	"mcpv/mcp"
)

// drawing returns a PNG of size × size pixels: a disc that fades from blue to
// orange.
func drawing(size int) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	middle := float64(size-1) / 2
	for y := range size {
		for x := range size {
			if math.Hypot(float64(x)-middle, float64(y)-middle) > middle {
				continue
			}
			share := uint8(255 * x / size)
			img.SetNRGBA(x, y, color.NRGBA{R: share, G: 110, B: 255 - share, A: 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer takes everything, and the picture is not empty
	return b.Bytes()
}

// icon is the drawing as a data URI, so that nothing has to be fetched.
func icon() mcp.Icon {
	return mcp.Icon{
		Source:   "data:image/png;base64," + base64.StdEncoding.EncodeToString(drawing(32)),
		MIMEType: "image/png",
		Sizes:    []string{"32x32"},
	}
}

// tone returns a WAV file (RIFF, one channel, 8 bits, 8 kHz) with a sine of the
// frequency in Hz.
func tone(hz float64, ms int) []byte {
	const rate = 8000
	samples := rate * ms / 1000
	b := append([]byte("RIFF"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[4:], uint32(36+samples))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)   // size of this chunk
	b = binary.LittleEndian.AppendUint16(b, 1)    // PCM
	b = binary.LittleEndian.AppendUint16(b, 1)    // channels
	b = binary.LittleEndian.AppendUint32(b, rate) // samples a second
	b = binary.LittleEndian.AppendUint32(b, rate) // bytes a second
	b = binary.LittleEndian.AppendUint16(b, 1)    // bytes a sample
	b = binary.LittleEndian.AppendUint16(b, 8)    // bits a sample
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(samples))
	for i := range samples {
		b = append(b, uint8(128+100*math.Sin(2*math.Pi*hz*float64(i)/rate)))
	}
	return b
}
