/** One red pixel. */
export const FILE = {
  type: 'file',
  mediaType: 'image/png',
  filename: 'red.png',
  url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
} as const

/** A message of AG-UI with this text and the file. */
export const withFile = (text: string) => [
  { type: 'text', text },
  { type: 'image', source: { type: 'data', value: FILE.url.replace(/^.*,/, ''), mimeType: FILE.mediaType } },
]
