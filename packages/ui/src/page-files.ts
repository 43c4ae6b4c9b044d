/** Decides which files a page may put into a message: their address, media type and size. */

import { ConfigError, type ContentPart, checkOptions, type FilePart, type OptionNames } from '@meanwhile/core'
import { checkCount } from '@meanwhile/core/calls'

/** Which files a page may put into its messages. Every file needs a valid media type; its data is base64, or it has an `https:` address. */
export interface FileRules {
  /** Media types such as `application/pdf` and `image/*`. Default: all. */
  readonly types?: readonly string[]
  /** The maximum size of one file that is sent as data, in bytes; a positive integer or `Infinity`. Default: only `maxBytes` of the body. */
  readonly maxBytes?: number
  /**
   * `https` (default): a file may be an `https:` address, which the model server opens, or your model's client. It may be an address in your network.
   * `none`: every file must be sent as data.
   */
  readonly urls?: 'https' | 'none'
}

/** A message has a file that the option `files` does not admit. */
export class FileRefusedError extends Error {
  override readonly name = 'FileRefusedError'
  /** Why it was refused. It has nothing that the page wrote, except a valid media type. */
  readonly problem: string

  constructor(problem: string) {
    super(`a file of the message is not accepted: ${problem}`)
    this.problem = problem
  }
}

/** @throws {FileRefusedError} A file is not admitted. */
export function checkFiles(content: string | readonly ContentPart[], files: FileRules | false): void {
  const problem = problemIn(content, files)
  if (problem !== undefined) throw new FileRefusedError(problem)
}

/** Why the first file that is not admitted is not; undefined if all are. */
export function problemIn(content: string | readonly ContentPart[], files: FileRules | false): string | undefined {
  if (typeof content === 'string') return undefined
  for (const part of content) {
    const problem = part.type === 'file' ? problemOf(part, files) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOf({ mediaType, data }: FilePart, files: FileRules | false): string | undefined {
  if (files === false) return 'this chat has no files'
  const { types, maxBytes = Number.POSITIVE_INFINITY, urls = 'https' } = files
  if (!MEDIA_TYPE.test(mediaType)) return 'its media type is not valid'
  if (types?.some((type) => isOfType(mediaType, type)) === false) return `its media type is ${mediaType}`
  if (typeof data !== 'string') {
    if (urls === 'none') return 'it must be sent as data'
    return isHttps(data.url) ? undefined : 'its address must be an https: address, or a data: URL in base64'
  }
  if (data === '') return 'it is empty'
  if (!isBase64(data)) return 'its data is not base64'
  return bytesOf(data) > maxBytes ? `it has more than ${maxBytes} bytes` : undefined
}

/** `type/subtype` and parameters, as in RFC 6838. AG-UI has `image/*` for an image without a media type. Quoted parameters could end a data URL. */
const MEDIA_TYPE =
  /^(?=.{1,255}$)[a-z\d][\w!#$&^.+-]*\/(?:\*|[a-z\d][\w!#$&^.+-]*)(?:; ?[\w!#$&^.+-]+=[\w!#$&^.+-]+)*$/i

/** Without padding, or with all of it: else programs that read it differ. */
function isBase64(data: string): boolean {
  const [, digits = '', padding = ''] = /^([a-z\d+/]+)(={0,2})$/i.exec(data) ?? []
  if (digits === '' || digits.length % 4 === 1) return false
  return padding === '' || data.length % 4 === 0
}

function isOfType(mediaType: string, type: string): boolean {
  const [own = ''] = mediaType.toLowerCase().split(';')
  const expected = type.toLowerCase()
  return expected.endsWith('/*') ? own.startsWith(expected.slice(0, -1)) : own === expected
}

/** A parser of another program may read an address with spaces, control characters or `///` as another one. */
function isHttps(url: string): boolean {
  return /^https:\/\/(?!\/)[^\s\p{Cc}\\]+$/iu.test(url) && URL.canParse(url)
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
}

/** A file of a page. A data URL in base64 becomes data, any other URL stays the address. */
export function fileOf(mediaType: string, url: string): FilePart {
  const [, data] = /^data:[^,]*;base64,(.*)$/is.exec(url) ?? []
  return { type: 'file', mediaType, data: data ?? { url } }
}

const RULES: OptionNames<FileRules> = { types: 'mediaTypes accept', maxBytes: 'maxSize', urls: '' }

/** @throws {ConfigError} The option is not valid. */
export function checkFileRules(files: FileRules | false): void {
  if (files === false) return
  checkOptions('files', files, RULES, 'files.')
  const { types, maxBytes, urls } = files
  const isList = Array.isArray(types) && types.every((type) => typeof type === 'string' && MEDIA_TYPE.test(type))
  if (types !== undefined && !isList)
    throw new ConfigError('files.types', 'must be a list of media types such as application/pdf or image/*')
  if (maxBytes !== undefined) checkCount('files.maxBytes', maxBytes)
  if (urls !== undefined && urls !== 'https' && urls !== 'none')
    throw new ConfigError('files.urls', 'must be https or none')
}
