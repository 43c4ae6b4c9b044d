/**
 * The SHA-256 of a text (FIPS 180-4), as 64 hexadecimal digits. Web Crypto would compute it only in a later turn of the
 * event loop, and a message must be known before anything can act on it.
 */

/** The first 32 bits of the fractional parts of roots of the first 64 primes: cube roots, and square roots of the first 8. */
const { CUBE_ROOTS, SQUARE_ROOTS } = rootsOfPrimes()

export function textDigest(text: string): string {
  const bytes = padded(new TextEncoder().encode(text))
  const view = new DataView(bytes.buffer)
  const state = Int32Array.from(SQUARE_ROOTS)
  const words = new Int32Array(64)
  for (let at = 0; at < bytes.length; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i)
    for (let i = 16; i < 64; i++) {
      const [two, fifteen] = [word(words, i - 2), word(words, i - 15)]
      const s1 = turned(two, 17) ^ turned(two, 19) ^ (two >>> 10)
      const s0 = turned(fifteen, 7) ^ turned(fifteen, 18) ^ (fifteen >>> 3)
      words[i] = word(words, i - 16) + s0 + word(words, i - 7) + s1
    }
    addBlock(state, words)
  }
  return Array.from(state, (one) => (one >>> 0).toString(16).padStart(8, '0')).join('')
}

function addBlock(state: Int32Array, words: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i++) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const one = (h + s1 + ((e & f) ^ (~e & g)) + (CUBE_ROOTS[i] ?? 0) + word(words, i)) | 0
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
    const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  for (const [i, one] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + one
}

/** The bytes, a 1 bit, zeros, and the number of bits: a multiple of 64 bytes. */
function padded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  whole.set(bytes)
  whole[bytes.length] = 0x80
  new DataView(whole.buffer).setBigUint64(whole.length - 8, BigInt(bytes.length) * 8n)
  return whole
}

function word(words: Int32Array, index: number): number {
  return words[index] ?? 0
}

function turned(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits))
}

function rootsOfPrimes() {
  const primes: number[] = []
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  const fraction = (root: number) => ((root % 1) * 2 ** 32) | 0
  return {
    CUBE_ROOTS: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
    SQUARE_ROOTS: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
  }
}
