/** Detects what the bytes of a file are: an image, a document, text, or none of these. */

const SIGNATURES: readonly { readonly mediaType: string; readonly starts: RegExp }[] = [
  { mediaType: 'image/png', starts: /^\x89PNG\r\n/ },
  { mediaType: 'image/jpeg', starts: /^\xff\xd8\xff/ },
  { mediaType: 'image/gif', starts: /^GIF8[79]a/ },
  { mediaType: 'image/webp', starts: /^RIFF.{4}WEBP/s },
  { mediaType: 'application/pdf', starts: /^%PDF-/ },
]

/** The media type of an image or PDF, detected by its first bytes, because a name proves nothing. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16))
  return SIGNATURES.find(({ starts }) => starts.test(start))?.mediaType
}

/** The text if all bytes are valid UTF-8, otherwise `undefined`. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  // A quick check before decoding: most binary files have a zero byte early.
  if (bytes.subarray(0, 8_000).includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function base64Of(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192))
  return btoa(binary)
}

/** The lines of a text; a line break at its end does not begin another line. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
