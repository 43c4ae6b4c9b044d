/** Cuts frames into writes. */

import type { Frame } from './frame.ts'

/**
 * How a body reaches the client: one write per event (the default), the whole body in one, or pieces of so many bytes, wherever
 * that cuts: in an event, in a character.
 */
export type Slice = 'event' | 'whole' | { readonly bytes: number }

/** One write of a body. */
export interface Write {
  /** Milliseconds after the request arrived: when the last of its bytes is due. */
  readonly at: number
  readonly bytes: Uint8Array
  /** The ids of the calls whose last argument byte is in this write. */
  readonly argsDone: readonly string[]
}

const encoder = new TextEncoder()
const NONE: readonly string[] = []

export function slice(frames: Iterable<Frame>, how: Slice): Iterable<Write> {
  if (how === 'event') return perEvent(frames)
  return pieces(frames, how === 'whole' ? Number.POSITIVE_INFINITY : how.bytes)
}

/** Joins writes that are due at the same time, up to so many bytes: for bodies that are to come as fast as they can. */
export function* coalesce(writes: Iterable<Write>, limit: number): Generator<Write, void, undefined> {
  let batch: Write[] = []
  let size = 0
  for (const write of writes) {
    const [first] = batch
    if (first && (first.at !== write.at || size + write.bytes.length > limit)) {
      yield join(batch)
      batch = []
      size = 0
    }
    batch.push(write)
    size += write.bytes.length
  }
  if (batch.length > 0) yield join(batch)
}

function* perEvent(frames: Iterable<Frame>): Generator<Write, void, undefined> {
  for (const { at, text, argsDone } of frames) {
    yield { at, bytes: encoder.encode(text), argsDone: argsDone === undefined ? NONE : [argsDone] }
  }
}

function* pieces(frames: Iterable<Frame>, size: number): Generator<Write, void, undefined> {
  let rest: Write | undefined
  for (const write of perEvent(frames)) {
    let open = rest ? join([rest, write]) : write
    while (open.bytes.length > size) {
      // A call counts as done only with the piece that ends its frame: the last one.
      yield { at: open.at, bytes: open.bytes.subarray(0, size), argsDone: NONE }
      open = { ...open, bytes: open.bytes.subarray(size) }
    }
    rest = open
  }
  if (rest) yield rest
}

function join(writes: readonly Write[]): Write {
  const [first] = writes
  if (first && writes.length === 1) return first
  return {
    at: Math.max(...writes.map((write) => write.at)),
    bytes: Buffer.concat(writes.map((write) => write.bytes)),
    argsDone: writes.flatMap((write) => write.argsDone),
  }
}
