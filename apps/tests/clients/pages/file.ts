/** One red pixel. */
export const FILE = {
  type: 'file',
  mediaType: 'image/png',
  filename: 'red.png',
  url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
} as const
