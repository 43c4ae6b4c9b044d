/** Decides byte by byte where a body is cut, so that the body need not be known in advance. */

import { random } from './random.ts'

/**
 * How a body is cut into writes: one per event (the default); the `whole` body in one; or cut
 * - every so many `bytes`,
 * - `at` these offsets,
 * - inside the k-th `character` of several bytes: between all of them,
 * - inside the k-th `escape` of the form `\uXXXX`: between all of its bytes,
 * - between the two escapes of the k-th pair of `surrogates`,
 * - at `random`, with this seed: pieces of 1 to `most` bytes (default 32).
 *
 * The same slice always cuts the same body in the same way.
 */
export type Slice =
  | 'event'
  | 'whole'
  | { readonly bytes: number }
  | { readonly at: readonly number[] }
  /** Counted from 1, like the next two. */
  | { readonly character: number }
  | { readonly escape: number }
  | { readonly surrogates: number }
  | { readonly random: number; readonly most?: number }

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
