/** Images and other files in a request. */

import { each, partsOf } from './finds.ts'
import type { Part } from './reading.ts'
import { type Find, KNOWN, type RuleData, seen } from './rule.ts'
import { dataUrl, isText, type Members, members } from './values.ts'

const IMAGE = /^image\/(png|jpeg|jpg|gif|webp)$/

/** The URL of an image: undefined if the part is not an image or has an uploaded file. */
function imageUrl({ type, value }: Part): { readonly url: unknown } | undefined {
  if (type === 'image_url') return { url: members(value.image_url).url }
  return type === 'input_image' && !value.file_id ? { url: value.image_url } : undefined
}

function unsupported(suffix: string): Find {
  return each(
    partsOf,
    (part) => {
      const data = dataUrl(imageUrl(part)?.url)
      return data !== undefined && !IMAGE.test(data.type)
    },
    suffix,
  )
}

function unreadable(suffix: string): Find {
  return each(
    partsOf,
    (part) => {
      const image = imageUrl(part)
      if (!image) return false
      const data = dataUrl(image.url)
      if (!data) return !(isText(image.url) && /^https?:\/\//.test(image.url))
      return !data.base64 || data.data === '' || /[^A-Za-z0-9+/=\s]/.test(data.data)
    },
    suffix,
  )
}

/** The source of an image or a document on Messages, if it is base64. */
function base64Of({ type, value }: Part, kinds: readonly string[]): Members | undefined {
  const source = members(value.source)
  return isText(type) && kinds.includes(type) && source.type === 'base64' ? source : undefined
}

/** How the base64 of each type begins. */
const BEGINNINGS: ReadonlyMap<unknown, string> = new Map([
  ['image/png', 'iVBOR'],
  ['image/jpeg', '/9j/'],
  ['image/gif', 'R0lGOD'],
  ['image/webp', 'UklGR'],
])

const LARGEST = 5_242_880

export const files: readonly RuleData[] = [
  {
    id: 'chat/image-type',
    sure: 'certain',
    says: "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    sources: seen('2026-09', 'STranslate#277', 'open-webui#30100 (SVG refused by every model)', 'opencode#5704'),
    finds: unsupported('.image_url.url'),
    bad: { 'messages[1].content[1].image_url.url': 'data:image/svg+xml;base64,PHN2Zy8+' },
  },
  {
    id: 'chat/image-url',
    sure: 'likely',
    says: "Invalid '{path}'. Expected a valid URL or a base64-encoded data URL",
    sources: KNOWN,
    finds: unreadable('.image_url.url'),
    bad: { 'messages[1].content[1].image_url.url': 'file:///a.png' },
  },
  {
    id: 'responses/image-type',
    sure: 'certain',
    says: "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
    sources: seen('2026-09', 'open-webui#30100'),
    finds: unsupported('.image_url'),
    bad: { 'input[0].content[1].image_url': 'data:image/svg+xml;base64,PHN2Zy8+' },
  },
  {
    id: 'responses/image-url',
    sure: 'likely',
    says: "Invalid '{path}'. Expected a valid URL or a base64-encoded data URL",
    sources: KNOWN,
    finds: unreadable('.image_url'),
    bad: { 'input[0].content[1].image_url': 'file:///a.png' },
  },
  {
    id: 'messages/image-type',
    sure: 'certain',
    says: "{path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    sources: seen('2026-05', 'opencode#5704', 'claude-code#58330 (SVG)'),
    finds: each(partsOf, (part) => {
      const source = base64Of(part, ['image'])
      return source !== undefined && !BEGINNINGS.has(source.media_type)
    }),
    bad: { 'messages[2].content[0].content[0].source.media_type': 'image/svg+xml' },
  },
  {
    id: 'messages/image-empty',
    sure: 'certain',
    says: '{path}.image.source.base64: image cannot be empty',
    sources: seen('2026-02', 'claude-code#8947'),
    finds: each(partsOf, (part) => {
      const source = base64Of(part, ['image', 'document'])
      return source !== undefined && !source.data
    }),
    bad: { 'messages[2].content[0].content[0].source.data': '' },
  },
  {
    id: 'messages/image-mismatch',
    sure: 'certain',
    says: '{path}.image.source.base64.data: Image does not match the provided media type {type}',
    sources: seen('2025-11', 'claude-code#11975', 'claude-code#12009'),
    finds: each(partsOf, (part) => {
      const { media_type: type, data } = base64Of(part, ['image']) ?? {}
      if (!isText(data) || !BEGINNINGS.has(type)) return false
      return [...BEGINNINGS].some(([other, begin]) => other !== type && data.startsWith(begin)) && { type }
    }),
    bad: { 'messages[2].content[0].content[0].source.media_type': 'image/jpeg' },
  },
  {
    id: 'messages/image-size',
    sure: 'certain',
    says: '{path}.image.source.base64: image exceeds 5 MB maximum: {length} bytes > 5242880 bytes',
    sources: seen('2026-09', 'Anthropic docs, Vision', 'claude-code, many threads'),
    finds: each(partsOf, (part) => {
      const data = base64Of(part, ['image'])?.data
      return isText(data) && data.length > LARGEST && { length: data.length }
    }),
    bad: { 'messages[2].content[0].content[0].source.data': 'iVBOR'.repeat(1_048_577) },
  },
  {
    id: 'messages/image-url',
    sure: 'likely',
    says: '{path}.image.source.url.url: Only HTTPS URLs are supported.',
    sources: KNOWN,
    finds: each(partsOf, ({ value }) => {
      const { type, url } = members(value.source)
      return type === 'url' && !(isText(url) && url.startsWith('https://'))
    }),
    bad: { 'messages[2].content[0].content[0].source': { type: 'url', url: 'http://example.com/a.png' } },
  },
]
