/** The recording of requests and responses, and its file format: JSON with one write of a response per line. */

import { isUtf8 } from 'node:buffer'
import { HarnessError } from '../errors.ts'
import type { WireName } from '../wires/wire-name.ts'
import { WIRES } from '../wires/wires.ts'
import type { TimedBytes } from './secrets.ts'

/** A request and its response. */
export interface RecordedExchange {
  /** The request, without secrets. */
  readonly request: RecordedRequest
  /** The response, without secrets. */
  readonly response: RecordedResponse
}

/** A request, as a recording contains it. */
export interface RecordedRequest {
  /** The wire that its path belongs to. */
  readonly wire: WireName
  /** Milliseconds after the first request of the recording; absent in older files. */
  readonly arrived?: number
  /** With its parameters and without the origin, because a recording may be played anywhere. */
  readonly path: string
  /** The headers that were kept, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed if it is JSON, otherwise its text. */
  readonly body: unknown
}

/** A response, as a recording contains it. */
export interface RecordedResponse {
  /** The HTTP status. */
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The body in the pieces in which it arrived. */
  readonly frames: readonly TimedBytes[]
  /** How the body ended. */
  readonly end: RecordedEnd
}

/** When a body ended, in milliseconds after the request, and how; with `left` the client had stopped reading. */
export type RecordedEnd = readonly [at: number, how: 'complete' | 'broken' | 'left']

/** The text is not a recording, or has another version. */
export class RecordingFormatError extends HarnessError {
  static override readonly brand: string = 'RecordingFormatError'
}

const FORMAT = 'meanwhile recording'
const VERSION = 1

/** Returns the text of a file. Equal exchanges give equal texts. */
export function formatRecording(exchanges: readonly RecordedExchange[]): string {
  const lines = exchanges.map(({ request, response }) => {
    const frames = response.frames.map(({ at, bytes }) => [at, ...textOrBase64(Buffer.from(bytes))])
    return { request, response: { ...response, frames } }
  })
  return `${pretty({ format: FORMAT, version: VERSION, exchanges: lines })}\n`
}

/**
 * Parses the text of a file.
 *
 * @throws {RecordingFormatError} The text is not a valid recording; the message contains the place.
 */
export function parseRecording(text: string): RecordedExchange[] {
  const file = record(parseJson(text), 'it')
  if (file.format !== FORMAT) throw new RecordingFormatError(`this is not a recording: its format is not "${FORMAT}"`)
  if (file.version !== VERSION) {
    throw new RecordingFormatError(
      `this recording has version ${String(file.version)}; only version ${VERSION} is supported`,
    )
  }
  return list(file.exchanges, 'exchanges').map((exchange, i) => parseExchange(exchange, `exchanges[${i}]`))
}

/** JSON in which lists that begin with a number are on one line. */
function pretty(value: unknown, indent = ''): string {
  const within = `${indent}  `
  if (Array.isArray(value) && value.length > 0 && typeof value[0] !== 'number') {
    return `[\n${value.map((item) => within + pretty(item, within)).join(',\n')}\n${indent}]`
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{\n${members.map(([name, member]) => `${within}${JSON.stringify(name)}: ${pretty(member, within)}`).join(',\n')}\n${indent}}`
  }
  return JSON.stringify(value)
}

type Piece = string | { readonly base64: string }

/** Text where the bytes are UTF-8; bytes of a cut character at either end are separate pieces. */
function textOrBase64(bytes: Buffer): Piece[] {
  if (isUtf8(bytes)) return bytes.length > 0 ? [bytes.toString('utf8')] : []
  for (let start = 0; start < 4; start++) {
    for (let end = bytes.length; end > bytes.length - 4 && end > start; end--) {
      const middle = bytes.subarray(start, end)
      if (isUtf8(middle))
        return [...base64(bytes.subarray(0, start)), middle.toString('utf8'), ...base64(bytes.subarray(end))]
    }
  }
  return base64(bytes)
}

function base64(bytes: Buffer): Piece[] {
  return bytes.length > 0 ? [{ base64: bytes.toString('base64') }] : []
}

function parseExchange(value: unknown, path: string): RecordedExchange {
  const { request, response } = record(value, path)
  return { request: parseRequest(request, `${path}.request`), response: parseResponse(response, `${path}.response`) }
}

function parseRequest(value: unknown, path: string): RecordedRequest {
  const request = record(value, path)
  const wire = Object.values(WIRES).find(({ name }) => name === request.wire)
  if (!wire) throw wrong(`${path}.wire`, `one of ${Object.keys(WIRES).join(', ')}`)
  return {
    wire: wire.name,
    ...(request.arrived !== undefined && { arrived: number(request.arrived, `${path}.arrived`) }),
    path: text(request.path, `${path}.path`),
    headers: headers(request.headers, `${path}.headers`),
    body: request.body,
  }
}

function parseResponse(value: unknown, path: string): RecordedResponse {
  const response = record(value, path)
  const [at, how] = list(response.end, `${path}.end`)
  if (how !== 'complete' && how !== 'broken' && how !== 'left') {
    throw wrong(`${path}.end[1]`, 'one of complete, broken, left')
  }
  return {
    status: number(response.status, `${path}.status`),
    headers: headers(response.headers, `${path}.headers`),
    frames: list(response.frames, `${path}.frames`).map((frame, i) => parseFrame(frame, `${path}.frames[${i}]`)),
    end: [number(at, `${path}.end[0]`), how],
  }
}

function parseFrame(value: unknown, path: string): TimedBytes {
  const [at, ...pieces] = list(value, path)
  const bytes = pieces.map((piece, i) =>
    typeof piece === 'string'
      ? Buffer.from(piece)
      : Buffer.from(text(record(piece, `${path}[${i + 1}]`).base64, `${path}[${i + 1}].base64`), 'base64'),
  )
  return { at: number(at, `${path}[0]`), bytes: Buffer.concat(bytes) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RecordingFormatError('this is not a recording: it is not JSON', { cause })
  }
}

function record(value: unknown, path: string): { readonly [name: string]: unknown } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(path, 'an object')
  return { ...value }
}

function list(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(path, 'a list')
  return value
}

function headers(value: unknown, path: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record(value, path)).map(([name, header]) => [name, text(header, `${path}.${name}`)]),
  )
}

function text(value: unknown, path: string): string {
  if (typeof value !== 'string') throw wrong(path, 'a text')
  return value
}

function number(value: unknown, path: string): number {
  if (typeof value !== 'number') throw wrong(path, 'a number')
  return value
}

function wrong(path: string, what: string): RecordingFormatError {
  return new RecordingFormatError(`this is not a recording: ${path} is not ${what}`)
}
