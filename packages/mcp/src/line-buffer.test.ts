import { expectLinear } from '@meanwhile/tests/growth'
import { sized } from '@meanwhile/tests/size'
import * as sdk from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineBuffer } from './line-buffer.ts'

const RUNS = sized({ small: 100, middle: 200, whole: 10_000 })

const takesNothing = { messageBytes: 1_000_000, takes: () => false }

/** All messages of the pieces, and how often one was refused. */
function readAll(buffer: Pick<sdk.ReadBuffer, 'append' | 'readMessage'>, pieces: readonly Buffer[]) {
  const messages: unknown[] = []
  let refused = 0
  for (const piece of pieces) {
    buffer.append(piece)
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) break
        messages.push(message)
      } catch {
        refused++
      }
    }
  }
  return { messages, refused }
}

const message = (text: Uint8Array) =>
  Buffer.concat([Buffer.from('{"jsonrpc":"2.0","method":"'), text, Buffer.from('"}')])

/** A line of a server: a message, whose text need not be UTF-8, other JSON, or what it prints. */
const LINE = fc.oneof(
  fc
    .record({ method: fc.string(), text: fc.string({ unit: 'grapheme' }) })
    .map(({ method, text }) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params: { text } }))),
  fc.uint8Array({ min: 0x80 }).map(message),
  fc.json().map((text) => Buffer.from(text)),
  fc.string().map((text) => Buffer.from(text.replaceAll('\n', ''))),
)

test('however its output is cut, a server is understood as the client understands it (MC18)', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(LINE, fc.constantFrom(...['\n', '\r\n', '\n\n'].map((end) => Buffer.from(end)))), {
        maxLength: 6,
      }),
      fc.array(fc.nat(400)),
      (lines, cuts) => {
        const bytes = Buffer.concat(lines.flat())
        const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b)
        const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
        expect(readAll(new LineBuffer(sdk, takesNothing), pieces)).toEqual(readAll(new sdk.ReadBuffer(), pieces))
      },
    ),
    { numRuns: RUNS },
  )
})

const progress = (token: string) =>
  Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { token } })}\n`)

test('what is taken, such as progress of a call, does not reach the client (MC18)', () => {
  const buffer = new LineBuffer(sdk, { ...takesNothing, takes: (message) => JSON.stringify(message).includes('mine') })
  const { messages } = readAll(buffer, [progress('mine'), progress('other'), progress('mine')])
  expect(messages).toMatchObject([{ params: { token: 'other' } }])
})

test('a message that is too long throws before it has its end, and a long list of short ones does not (MC18)', () => {
  const buffer = new LineBuffer(sdk, { ...takesNothing, messageBytes: 1_000 })
  buffer.append(Buffer.concat(Array.from({ length: 100 }, () => progress('a'))))
  buffer.append(Buffer.alloc(600, 'a'))
  expect(() => buffer.append(Buffer.alloc(600, 'a'))).toThrow('a message has more than 1000 bytes')
})

test('a message that is too long throws when it comes whole, between short ones (MC18)', () => {
  const buffer = new LineBuffer(sdk, { ...takesNothing, messageBytes: 1_000 })
  buffer.append(progress('a'.repeat(900)))
  const pieces = [progress('a'), progress('a'.repeat(1_000)), progress('a')]
  expect(() => buffer.append(Buffer.concat(pieces))).toThrow('a message has more than 1000 bytes')
})

test('how long a line is does not depend on what comes with it, also if it is not UTF-8 (MC18)', () => {
  const buffer = new LineBuffer(sdk, { ...takesNothing, messageBytes: 1_000 })
  const printed = Buffer.alloc(1_000, 0xff)
  const { messages } = readAll(buffer, [Buffer.concat([printed, Buffer.from('\n'), progress('a'), printed])])
  expect(messages).toHaveLength(1)
  expect(() => buffer.append(Buffer.from('a'))).toThrow('a message has more than 1000 bytes')
})

test('a piece that comes before the last one was read adds to what is read (MC18)', () => {
  const buffer = new LineBuffer(sdk, takesNothing)
  buffer.append(Buffer.concat([progress('a'), progress('b')]))
  buffer.readMessage()
  expect(readAll(buffer, [progress('c')]).messages).toMatchObject([
    { params: { token: 'b' } },
    { params: { token: 'c' } },
  ])
})

test('a long message in many pieces costs time in proportion to its length (MC18)', async () => {
  await expectLinear(500, async (count) => {
    const piece = Buffer.alloc(10_000, 'a')
    const buffer = new LineBuffer(sdk, { ...takesNothing, messageBytes: Number.POSITIVE_INFINITY })
    readAll(buffer, [Buffer.from('{"a":"'), ...Array.from({ length: count }, () => piece), Buffer.from('"}\n')])
  })
})
