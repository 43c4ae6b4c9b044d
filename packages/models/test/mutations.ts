/** Recorded streams as bytes, and random mutations of them. */

import { readdirSync, readFileSync } from 'node:fs'
import type { WireName } from '@meanwhile/harness'
import { quirks } from '@meanwhile/harness/quirks'
import fc from 'fast-check'

/** A body in frames; each frame contains its own end. */
export interface Stream {
  readonly name: string
  readonly wire: WireName
  readonly frames: readonly string[]
}

/** The streams of the quirk catalogue and the recorded ones. */
export const streams: readonly Stream[] = [
  ...quirks.map(({ id, title, wire, events }) => ({
    name: `q${id}: ${title}`,
    wire,
    frames: events.map((event) => (typeof event === 'string' ? event : frame(wire, JSON.stringify(event)))),
  })),
  ...(['openai-chat', 'openai-responses', 'anthropic'] as const).flatMap(recorded),
]

function recorded(wire: WireName): Stream[] {
  const folder = new URL(`../test-data/recorded-streams/${wire}/`, import.meta.url)
  return readdirSync(folder).map((name) => {
    const lines = readFileSync(new URL(name, folder), 'utf8').split('\n')
    return { name, wire, frames: lines.filter((line) => line !== '').map((line) => frame(wire, line)) }
  })
}

function frame(wire: WireName, json: string): string {
  const [, type] = /^\{"type":"([^"]*)"/.exec(json) ?? []
  return `${wire !== 'openai-chat' && type !== undefined ? `event: ${type}\n` : ''}data: ${json}\n\n`
}

/** A stream whose protocol ends, and where. */
export interface EndingStream extends Stream {
  /** The index of the frame that begins the response, or -1 if its wire has none. */
  readonly beginning: number
  /** The index of the frame with which the protocol ends. */
  readonly end: number
}

const BEGINNING = /"type":"(message_start|response\.created)"/
const END = /"type":"(message_stop|response\.(completed|incomplete|done))"|^data: \[DONE\]/
const DONE = 'data: [DONE]\n\n'

/** Those of the {@link streams} that reach the end of their protocol and whose frames each contain their own end. */
export const endingStreams: readonly EndingStream[] = streams.flatMap((stream) => {
  const isDone = stream.frames.some((text) => END.test(text))
  const frames = isDone || stream.wire !== 'openai-chat' ? stream.frames : [...stream.frames, DONE]
  const end = frames.findIndex((text) => END.test(text))
  if (end < 0 || !frames.every((text) => text.endsWith('\n\n'))) return []
  return [{ ...stream, frames, end, beginning: frames.findIndex((text) => BEGINNING.test(text)) }]
})

/** The frame that begins the response; optionally with this response id. */
export function beginningOf({ frames, beginning }: EndingStream, id?: string): string {
  const text = frames[beginning] ?? ''
  return id === undefined ? text : text.replace(/("(?:message|response)":\{.*?"id":)("[^"]*"|\d+)/, `$1"${id}"`)
}

/** A mutation of a body; the numbers are positions, as fractions of its length. */
type Mutation =
  | { readonly type: 'drop' | 'duplicate' | 'truncate' | 'cut'; readonly at: number }
  | { readonly type: 'swap'; readonly at: number; readonly with: number }
  | { readonly type: 'flip'; readonly at: number; readonly bit: number }
  | { readonly type: 'insert'; readonly at: number; readonly byte: number }

const where = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ type: fc.constantFrom('drop', 'duplicate', 'truncate', 'cut'), at: where }),
  fc.record({ type: fc.constant('swap'), at: where, with: where }),
  fc.record({ type: fc.constant('flip'), at: where, bit: fc.nat(7) }),
  fc.record({ type: fc.constant('insert'), at: where, byte: fc.nat(255) }),
)

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(mutation, { maxLength: 4 })

/** First the mutations of whole events, then those of bytes. */
export function mutate({ frames }: Stream, list: readonly Mutation[]): Uint8Array {
  const events = list.reduce((all, change) => withEvents(all, change), frames)
  return list.reduce((bytes, change) => withBytes(bytes, change), new TextEncoder().encode(events.join('')))
}

function withEvents(frames: readonly string[], change: Mutation): readonly string[] {
  const at = Math.floor(change.at * frames.length)
  const event = frames[at]
  if (event === undefined) return frames
  if (change.type === 'drop') return frames.toSpliced(at, 1)
  if (change.type === 'duplicate') return frames.toSpliced(at, 0, event)
  if (change.type === 'cut') return frames.slice(0, at)
  if (change.type !== 'swap') return frames
  const other = Math.floor(change.with * frames.length)
  return frames.with(at, frames[other] ?? event).with(other, event)
}

function withBytes(bytes: Uint8Array<ArrayBuffer>, change: Mutation): Uint8Array<ArrayBuffer> {
  const at = Math.floor(change.at * bytes.length)
  const byte = bytes[at]
  if (byte === undefined) return bytes
  if (change.type === 'truncate') return bytes.slice(0, at)
  if (change.type === 'flip') return bytes.with(at, byte ^ (1 << change.bit))
  if (change.type === 'insert') return Uint8Array.from([...bytes.slice(0, at), change.byte, ...bytes.slice(at)])
  return bytes
}

/** Longer names, because the tools in the catalogue have names too short to cut. */
const LONGER: Readonly<Record<string, string>> = { f: 'find_all', g: 'get_one' }

export interface Named {
  readonly whole: Stream
  /** With each name in two pieces where it first occurs. */
  readonly cut: Stream
  /** The names of the calls, and their first pieces. */
  readonly names: readonly string[]
}

/**
 * A stream of Chat Completions whose calls have names that can be cut; `at` is the position as a fraction of their
 * length.
 */
export function withCutNames({ frames, ...stream }: Stream, at: number): Named {
  const names = new Set<string>()
  const inPieces = (piece: ChatPiece): ChatPiece[] => {
    const { name } = piece.function ?? {}
    // A repeated name is not a beginning.
    if (!name || name.length < 2 || names.has(name)) return [piece]
    const head = name.slice(0, 1 + Math.floor(at * (name.length - 1)))
    names.add(name).add(head)
    // The arguments come with the second piece, whatever their member is.
    const { index, id, type } = piece
    return [
      { index, id, type, function: { name: head } },
      { ...piece, function: { ...piece.function, name: name.slice(head.length) } },
    ]
  }
  const whole = frames.map((frame) => withPieces(frame, (piece) => [renamed(piece)]))
  const cut = whole.map((frame) => withPieces(frame, inPieces))
  return { whole: { ...stream, frames: whole }, cut: { ...stream, frames: cut }, names: [...names] }
}

interface ChatPiece {
  readonly index?: unknown
  readonly id?: unknown
  readonly type?: unknown
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null
}

function renamed(piece: ChatPiece): ChatPiece {
  const name = piece.function?.name
  return name ? { ...piece, function: { ...piece.function, name: LONGER[name] ?? name } } : piece
}

function withPieces(frame: string, change: (piece: ChatPiece) => ChatPiece[]): string {
  const [, json] = /^data: (\{.*"tool_calls":\[\{.*)\n\n$/.exec(frame) ?? []
  if (json === undefined) return frame
  const chunk: { choices: { delta?: { tool_calls: ChatPiece[] } }[] } = JSON.parse(json)
  for (const { delta } of chunk.choices) if (delta) delta.tool_calls = delta.tool_calls?.flatMap(change)
  return `data: ${JSON.stringify(chunk)}\n\n`
}
