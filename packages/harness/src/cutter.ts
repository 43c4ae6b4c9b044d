/** Decides byte by byte where a body is cut, so that the body need not be known in advance. */

import { random } from './random.ts'
import type { Slice } from './slice.ts'

/** Whether the body is cut before this byte. Called once for every byte, in order. */
export type Cutter = (byte: number) => boolean

export function cutter(how: Exclude<Slice, 'event'>): Cutter {
  if (how === 'whole') return () => false
  if ('bytes' in how) return every(how.bytes)
  if ('at' in how) return atOffsets(how.at)
  if ('character' in how) return insideCharacter(how.character)
  if ('escape' in how) return insideEscape(how.escape)
  if ('surrogates' in how) return betweenSurrogates(how.surrogates)
  return atRandom(how.random, how.most ?? 32)
}

function every(bytes: number): Cutter {
  let offset = 0
  return () => offset++ % bytes === 0 && offset > 1
}

function atOffsets(offsets: readonly number[]): Cutter {
  const cuts = new Set(offsets)
  let offset = 0
  return () => cuts.has(offset++)
}

function insideCharacter(wanted: number): Cutter {
  let count = 0
  return (byte) => {
    if (byte >= 0xc0) count++
    return count === wanted && byte >= 0x80 && byte < 0xc0
  }
}

function insideEscape(wanted: number): Cutter {
  const read = escapes()
  let count = 0
  return (byte) => {
    const { place } = read(byte)
    // Only the `u` shows that the preceding backslash began an escape.
    if (place === 1) count++
    return count === wanted && place >= 1
  }
}

function betweenSurrogates(wanted: number): Cutter {
  const read = escapes()
  let count = 0
  let high = false
  return (byte) => {
    const { place, unit } = read(byte)
    const between = high && byte === BACKSLASH && place === 0
    high = place === 5 && unit >= 0xd800 && unit < 0xdc00
    if (between) count++
    return between && count === wanted
  }
}

function atRandom(seed: number, most: number): Cutter {
  const next = random(seed)
  const size = (): number => 1 + Math.floor(next() * most)
  let left = size()
  return () => {
    if (left-- > 0) return false
    left = size() - 1
    return true
  }
}

const BACKSLASH = 0x5c
const U = 0x75

interface EscapePlace {
  /** The position in an escape: from 0, the backslash, to 5; -1 outside of an escape. */
  readonly place: number
  /** The digits so far, as a number. */
  readonly unit: number
}

/** Tracks `\uXXXX`; after several backslashes the last one counts. */
function escapes(): (byte: number) => EscapePlace {
  let place = -1
  let unit = 0
  return (byte) => {
    const digit = place >= 1 && place < 5 ? Number.parseInt(String.fromCharCode(byte), 16) : Number.NaN
    if (!Number.isNaN(digit)) {
      place++
      unit = unit * 16 + digit
    } else {
      place = byte === BACKSLASH ? 0 : place === 0 && byte === U ? 1 : -1
      unit = 0
    }
    return { place, unit }
  }
}
