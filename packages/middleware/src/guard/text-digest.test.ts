import { expect, test } from 'vitest'
import { digest } from '../digest.ts'
import { textDigest } from './text-digest.ts'

test('the digest of a text is its SHA-256, at every length of its last block (GD8)', async () => {
  const texts = Array.from({ length: 200 }, (_, length) => 'äbc€😀x'.repeat(length).slice(0, length))
  for (const text of [...texts, 'a'.repeat(100_000)])
    expect(textDigest(text)).toBe(await digest(new TextEncoder().encode(text)))
})
