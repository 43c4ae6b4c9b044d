/** Cuts frames into writes. */

import { type Cutter, cutter, type Slice } from './cutter.ts'
import type { Frame } from './frame.ts'

/** One write of a body. */
export interface Write {
  /** When the last of its bytes is due, in milliseconds after the request arrived. */
  readonly at: number
  readonly bytes: Uint8Array
  /** The ids of the calls whose last argument byte is in this write. */
  readonly argsDone: readonly string[]
}

const encoder = new TextEncoder()
const NONE: readonly string[] = []

export function slice(frames: Iterable<Frame>, how: Slice): Iterable<Write> {
  return how === 'event' ? perEvent(frames) : pieces(frames, cutter(how))
}

/**
 * Joins writes that are due at the same time, up to a number of bytes, for bodies that should be sent as fast as
 * possible.
 */
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
  for (const { at, data, argsDone } of frames) {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data
    yield { at, bytes, argsDone: argsDone === undefined ? NONE : [argsDone] }
  }
}

function* pieces(frames: Iterable<Frame>, cutsBefore: Cutter): Generator<Write, void, undefined> {
  let open: Write[] = []
  for (const write of perEvent(frames)) {
    let start = 0
    for (const [i, byte] of write.bytes.entries()) {
      if (!cutsBefore(byte)) continue
      // A call is done only with the piece that ends its frame.
      if (i > start) open.push({ at: write.at, bytes: write.bytes.subarray(start, i), argsDone: NONE })
      if (open.length > 0) yield join(open)
      open = []
      start = i
    }
    open.push({ ...write, bytes: write.bytes.subarray(start) })
  }
  if (open.length > 0) yield join(open)
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
