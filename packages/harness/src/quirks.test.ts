import { byTurns } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { bodyFor } from '../test/requests.ts'
import type { Slice } from './cutter.ts'
import { mockModels } from './msw.ts'
import { type Quirk, quirkResponse, quirks } from './quirks.ts'
import { WIRES } from './wires/wires.ts'

const ended = quirks.filter((quirk) => quirk.ending === undefined)

/** The rows that one of the three wires can have; the rest of the catalogue belongs to other wires. */
const ROWS = [
  'T1 T2 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16 T17 T18 T19 T20 T21 T22 T23 T24',
  'C1 C2 C3 C5 C6 C8 C9 C11 C12 C13 C15 C16 C17 C18 C19 C21 C22 C24 C25 C26 C27 C28 C29 C30 C31 C32 C34 C35 C37 C38 C40 C41 C42 C43 C44 C45 C46 C47 C48 C49 C50 C51 C52 C53 C54 C55 C56 C57 C58 C59 C60 C61 C62 C63 C64 C65 C66 C67',
  'A1 A2 A3 A5 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 R1 R3 R4 R6 R7 R8 R9 R10 R11 R12 R13 R14 R15 R16 R17 R18 R19 R20 R21 R22 R23 R24 R25 R26 R27 R28 R29 G1 G4 G5 G6 G7',
].flatMap((group) => group.split(' '))

async function served({ wire }: Quirk, response: ReturnType<typeof quirkResponse>) {
  const mock = mockModels({ script: [response] })
  const url = `http://models.test${WIRES[wire].path}`
  const { body } = await mock.fetch(url, { method: 'POST', body: bodyFor(wire) })
  const reads: Buffer[] = []
  for await (const read of body ?? []) reads.push(Buffer.from(read))
  return reads
}

const bodies = new Map<Quirk, Buffer>()

/** The body as it is served whole. */
async function bodyOf(quirk: Quirk): Promise<Buffer> {
  const body = bodies.get(quirk) ?? Buffer.concat(await served(quirk, quirkResponse(quirk)))
  bodies.set(quirk, body)
  return body
}

/** The contents of a body's frames, parsed if they are JSON. */
function events(body: string): unknown[] {
  return body.split('\n\n').flatMap((frame) => {
    const [, data] = /^data: ?(.*)$/m.exec(frame) ?? []
    if (data === undefined || data === '[DONE]') return []
    // Not everything that hosts send as data is JSON (qT19).
    return [data.startsWith('{') ? JSON.parse(data) : data]
  })
}

test('every row of the catalogue that one of the wires can have exists', () => {
  expect(new Set(quirks.map(({ id }) => id))).toEqual(new Set(ROWS))
})

test('id, wire and title together identify one quirk', () => {
  const names = quirks.map(({ id, wire, title }) => `${id} ${wire} ${title}`)
  expect(new Set(names).size).toBe(names.length)
})

test('quirks are plain data: JSON does not change them', () => {
  for (const quirk of quirks) expect(JSON.parse(JSON.stringify(quirk))).toEqual(quirk)
})

test.for(ended)('q$id on $wire is served unchanged: $title', async (quirk) => {
  const body = (await bodyOf(quirk)).toString()
  expect(events(body)).toEqual(quirk.events.flatMap((event) => (typeof event === 'string' ? events(event) : [event])))
})

const SLICES: readonly Slice[] = ['whole', { bytes: 1 }, { random: 7 }]

/** Each quirk is cut in one of the ways, by turns, in whole runs in all. */
const cut = ended.map((quirk, at) => ({ quirk, slices: byTurns(SLICES, { small: 1, middle: 1, whole: 3 }, at) }))

test.for(SLICES)('cut by %o, every quirk has the same bytes', async (slice) => {
  const changed: Quirk[] = []
  for (const { quirk } of cut.filter(({ slices }) => slices.includes(slice))) {
    const sliced = Buffer.concat(await served(quirk, quirkResponse(quirk, { slice })))
    if (!sliced.equals(await bodyOf(quirk))) changed.push(quirk)
  }
  expect(changed).toEqual([])
})

const reads = async (quirk: Quirk) => (await served(quirk, quirkResponse(quirk))).map((read) => read.toString())

test.for(ended.filter(({ id }) => id === 'T1'))('qT1 on $wire: a character comes in three pieces', async (quirk) => {
  expect((await reads(quirk)).filter((read) => read.includes('\ufffd'))).toHaveLength(3)
})

test.for(ended.filter(({ id }) => id === 'T2'))('qT2 on $wire: an event comes in three pieces', async (quirk) => {
  expect((await reads(quirk)).map((read) => read.length)).toEqual([12, 8, expect.any(Number)])
})

test.for(ended.filter(({ id }) => id === 'T5'))('qT5 on $wire: the last event has no end', async (quirk) => {
  expect((await reads(quirk)).at(-1)).toMatch(/[^\n]$/)
})

test('a quirk responds on its own wire only', async () => {
  const quirk = quirks.find(({ wire }) => wire === 'anthropic')
  const mock = mockModels({ script: quirk ? [quirkResponse(quirk)] : [] })
  const url = `http://models.test${WIRES['openai-chat'].path}`
  await mock.fetch(url, { method: 'POST', body: bodyFor('openai-chat') })
  expect(() => mock.assertComplete()).toThrow(
    'response 1 of the script is a raw response for anthropic and requires POST /v1/messages',
  )
})
