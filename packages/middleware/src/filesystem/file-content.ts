/** What bytes are: a picture, a document, text, or none of these. */

const SIGNATURES: readonly { readonly mediaType: string; readonly starts: RegExp }[] = [
  { mediaType: 'image/png', starts: /^\x89PNG\r\n/ },
  { mediaType: 'image/jpeg', starts: /^\xff\xd8\xff/ },
  { mediaType: 'image/gif', starts: /^GIF8[79]a/ },
  { mediaType: 'image/webp', starts: /^RIFF.{4}WEBP/s },
  { mediaType: 'application/pdf', starts: /^%PDF-/ },
]

/** The media type of an image or PDF, by how it begins: a name proves nothing. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16))
  return SIGNATURES.find(({ starts }) => starts.test(start))?.mediaType
}

/** The text that bytes are in UTF-8, to the last of them; `undefined` if they are none. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  // Before all of them are decoded: most of what is no text shows early.
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

/** The lines of a text; a line break at its end begins no further one. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
