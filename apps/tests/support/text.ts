/** Random text for properties. */

import fc from 'fast-check'

const SURROGATES = { from: 0xd800, count: 0x800 }

/**
 * Any code point, as a string. `fc.string({ unit: 'binary' })` has the same values, and a table of all of them: it takes a second to make, in
 * each process, and 100 MB.
 */
const codePoint: fc.Arbitrary<string> = fc.nat({ max: 0x10ffff - SURROGATES.count }).map(
  (place) => String.fromCodePoint(place < SURROGATES.from ? place : place + SURROGATES.count),
  // With it fast-check also tries names such as `__proto__`.
  (value) => {
    const [character = '', ...more] = typeof value === 'string' ? value : ''
    const code = character.codePointAt(0) ?? Number.NaN
    if (more.length > 0 || !character.isWellFormed() || Number.isNaN(code)) throw new TypeError('not one code point')
    return code < SURROGATES.from ? code : code - SURROGATES.count
  },
)

/** Text of any code points. */
export const anyText = (constraints: fc.StringSharedConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: codePoint })
