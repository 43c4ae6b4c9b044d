/** Decides which files a wire takes. One that it does not take would make the conversation unusable. */

import { type AssistantMessage, ConfigError, type ContentPart, type FilePart, type Message } from '@meanwhile/core'
import type { Target } from './families.ts'
import { onceFor } from './once.ts'
import type { WireName } from './wire-name.ts'

/** The types of images that every wire takes, and the beginning of their base64. */
const IMAGES: Readonly<Record<string, string>> = {
  'image/png': 'iVBOR',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
}

/** The beginnings of other content that is sent as an image by mistake. */
const OTHERS: Readonly<Record<string, RegExp>> = {
  'application/pdf': /^JVBER/,
  'image/bmp': /^Qk[0-3]/,
  'image/heic': /^AAAA..Z0eX/,
  'image/tiff': /^(SUkq|TU0A)/,
  // `<?`, `<!`, `<svg`, `<html`
  text: /^(PD[8-9]|PC[E-H]|PHN2Z|PGh0b)/,
}

interface WireFiles {
  readonly name: string
  takes(mediaType: string, isUrl: boolean): boolean
  readonly url: RegExp
  /** The maximum length of the base64 of an image. */
  readonly longest: number
}

const FILES: Readonly<Record<WireName, WireFiles>> = {
  anthropic: {
    name: 'Anthropic Messages',
    takes: (type) => type === PDF || isImage(type),
    url: /^https:/i,
    longest: 5 * 1024 * 1024,
  },
  'openai-responses': {
    name: 'OpenAI Responses',
    takes: (type) => type === PDF || isImage(type),
    url: /^https?:/i,
    longest: Infinity,
  },
  'openai-chat': {
    name: 'OpenAI Chat',
    takes: (type, isUrl) => isImage(type) || (!isUrl && (type === PDF || Object.hasOwn(AUDIO_FORMATS, type))),
    url: /^https?:/i,
    longest: Infinity,
  },
}

/** The AI SDK's providers that have another format: what they take is unknown here. */
const ANY: WireFiles = { name: 'the model', takes: () => true, url: /^/, longest: Infinity }

/**
 * The AI SDK's providers on Chat. Some take more documents and sounds than OpenAI, but not more images. The package
 * decides about each of them before it sends anything.
 */
const ON_CHAT: WireFiles = { ...ANY, takes: (type) => !type.startsWith('image/') || isImage(type) }

/** The AI SDK's providers on Messages, which also take a text as a document. */
const ON_MESSAGES: WireFiles = {
  ...FILES.anthropic,
  takes: (type) => type === 'text/plain' || FILES.anthropic.takes(type, false),
}

function filesOf({ wire, host, isAiSdk }: Target): WireFiles {
  if (wire === undefined) return ANY
  if (!isAiSdk || host.isOpenAI) return FILES[wire]
  return wire === 'anthropic' ? ON_MESSAGES : ON_CHAT
}

const PDF = 'application/pdf'

/** By type, the name of the format on Chat. */
export const AUDIO_FORMATS: Readonly<Record<string, 'wav' | 'mp3'>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/x-mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/x-mp3': 'mp3',
}

/** `image/*`: an image at a URL may be of any type. */
function isImage(type: string): boolean {
  return Object.hasOwn(IMAGES, type) || type === 'image/*'
}

/** What is known about the files of a request besides what its wire takes. */
export interface FileLimits {
  /** Whether a sentence replaces the files of the user's last message, too. */
  readonly isLenient?: boolean | undefined
  /** Whether the provider reads the file's URL. Default: it reads all that the wire takes. */
  readonly readsUrl?: (file: FilePart) => boolean
  /** By type, why files outside the user's last message have been refused. */
  readonly refused?: ReadonlyMap<string, string>
}

/**
 * The same messages with the files that the wire takes. A sentence replaces any other file in a result of a tool, and in
 * a message that has been answered.
 *
 * @throws {ConfigError} The user's last message contains a file that the wire does not take.
 */
export function withSendableFiles(
  messages: readonly Message[],
  target: Target,
  limits: FileLimits = {},
): readonly Message[] {
  const files = filesOf(target)
  const replaceable = replaceableIn(messages, limits)
  return messages.map((message) => {
    if (!hasFile(message)) return message
    const isNew = !replaceable(message)
    const content = message.content.map((part) => (part.type === 'file' ? sendable(part, files, limits, isNew) : part))
    return content.every((part, i) => part === message.content[i]) ? message : { ...message, content }
  })
}

/** The types of the files that a sentence may replace, in their usual form. */
export function replaceableTypes(messages: readonly Message[], limits: FileLimits): ReadonlySet<string> {
  const types = new Set<string>()
  for (const message of messages.filter(replaceableIn(messages, limits))) {
    if (!hasFile(message)) continue
    for (const part of message.content) if (part.type === 'file') types.add(normal(part).mediaType)
  }
  return types
}

function hasFile(message: Message): message is WithParts {
  const { role, content } = message
  return role !== 'assistant' && typeof content !== 'string' && content.some(({ type }) => type === 'file')
}

type WithParts = Exclude<Message, AssistantMessage> & { readonly content: readonly ContentPart[] }

/** Only the files of the user's last message, before it is answered, must go out as they are. */
function replaceableIn(messages: readonly Message[], { isLenient }: FileLimits): (message: Message) => boolean {
  const asked = messages.findLastIndex(({ role }) => role === 'assistant')
  const last = messages.findLastIndex((message) => message.role === 'user' && message.origin === undefined)
  const newest = last > asked && !isLenient ? messages[last] : undefined
  return (message) => message !== newest
}

function sendable(given: FilePart, files: WireFiles, { readsUrl, refused }: FileLimits, isNew: boolean): ContentPart {
  const { file, problem: known } = judged(given, files)
  const problem =
    known ??
    (readsUrl?.(file) === false ? unsupported(file, files) : undefined) ??
    (isNew ? undefined : refused?.get(file.mediaType))
  if (problem === undefined) return file
  if (isNew) throw new ConfigError('messages', problem)
  return { type: 'text', text: `(${nameOf(file)} is not here: ${problem})` }
}

interface Judged {
  readonly file: FilePart
  readonly problem?: string | undefined
}

/** The file in its usual form, and why the wire does not take it, if so. A file is read to its end for this, so once. */
const judged = onceFor((given: FilePart, files: WireFiles): Judged => {
  const file = normal(given)
  return { file, problem: problemOf(file, files) }
})

function unsupported({ mediaType, data }: FilePart, { name }: WireFiles): string {
  return `${name} does not support files of type ${mediaType}${typeof data === 'string' ? '' : ' given as a URL'}`
}

/** The file with its type in the usual form, and with the data of a `data:` URL as such. */
function normal(given: FilePart): FilePart {
  const written = typeof given.data === 'string' ? given.data : given.data.url
  const comma = written.startsWith('data:') ? written.indexOf(',') : -1
  const head = written.slice('data:'.length, Math.max(comma, 0))
  const isInUrl = head.endsWith(';base64')
  const data = isInUrl ? written.slice(comma + 1) : given.data
  const [inUrl = ''] = isInUrl ? head.split(';', 1) : []
  const [type = ''] = (inUrl || given.mediaType).toLowerCase().split(';')
  const mediaType = type.trim() === 'image/jpg' ? 'image/jpeg' : type.trim()
  const known = mediaType === 'image/*' && typeof data === 'string' ? imageIn(data) : mediaType
  if (data === given.data && known === given.mediaType) return given
  return { ...given, mediaType: known ?? mediaType, data }
}

function problemOf(file: FilePart, files: WireFiles): string | undefined {
  const { name, takes, url, longest } = files
  const { mediaType, data } = file
  const isUrl = typeof data !== 'string'
  if (!takes(mediaType, isUrl) || (mediaType === 'image/*' && !isUrl)) return unsupported(file, files)
  if (isUrl) return url.test(data.url) ? undefined : `${name} does not read ${schemeOf(data.url)} URLs`
  if (data.trim() === '') return `${nameOf(file)} is empty`
  if (/[^A-Za-z0-9+/=\s]/.test(data)) return `${nameOf(file)} is not base64`
  if (!mediaType.startsWith('image/')) return undefined
  const found = contentOf(data)
  if (found !== undefined && found !== mediaType) return `${nameOf(file)} should be ${mediaType}, but contains ${found}`
  return data.length > longest ? `${name} does not accept images of more than 5 MB in base64` : undefined
}

function nameOf({ filename, mediaType }: FilePart): string {
  return filename ?? `the file of type ${mediaType}`
}

function schemeOf(url: string): string {
  return /^[a-z][\w+.-]{0,20}:/i.exec(url)?.[0] ?? 'relative'
}

function imageIn(data: string): string | undefined {
  return Object.keys(IMAGES).find((type) => data.startsWith(IMAGES[type] ?? ''))
}

function contentOf(data: string): string | undefined {
  return imageIn(data) ?? Object.keys(OTHERS).find((type) => OTHERS[type]?.test(data))
}
