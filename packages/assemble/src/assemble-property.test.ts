import { callsOf, type ModelEvent } from '@meanwhile/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Chunk, ended, piece, said, sealed, stream, thought } from '../test/streamed-chunks.ts'
import type { Label } from './assembler.ts'

const someObject = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { minKeys: 1 })

const someArguments = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(someObject, fc.constantFrom(0, 2, '\t'))
      .map(([value, space]) => JSON.stringify(value, null, space)),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '{}',
      '{ }',
      '[]',
      '"{}"',
      '1',
      'null',
      '{"a":"\ud83c\udf0d"}',
      '{"a":"\ud83c"}',
    ),
  },
  { weight: 2, arbitrary: someObject.map((value) => `{}${JSON.stringify(value)}`) },
  { weight: 1, arbitrary: someObject.map((value) => `${JSON.stringify(value)}\n`) },
  { weight: 1, arbitrary: someObject.map((value) => `${JSON.stringify(value)}</s`) },
  { weight: 1, arbitrary: someObject.map((value) => `${JSON.stringify(value)}${JSON.stringify(value, null, 2)}`) },
  {
    weight: 1,
    arbitrary: someObject.map((value) => [value, JSON.stringify(value)].map((one) => JSON.stringify(one)).join('')),
  },
  { weight: 1, arbitrary: someObject.map((value) => JSON.stringify(value).slice(0, -1)) },
)

const someCall = fc.record({
  id: fc.constantFrom(undefined, '', 'a', 'b', 'call_1'),
  name: fc.constantFrom('f', 'get', 'get_all', ''),
  text: someArguments,
  cuts: fc.array(fc.nat(), { maxLength: 6 }),
  nameCuts: fc.array(fc.nat(), { maxLength: 2 }),
})

/** The beginning of a call, its name as it grows; the last piece has the complete name. */
function begun(label: Label, id: string | undefined, name: string, cuts: readonly number[]): Chunk[] {
  const starts = slices(name, cuts).map((_, i, all) => all.slice(0, i + 1).join(''))
  return [
    piece(label, { id }),
    ...starts.slice(0, -1).map((start) => piece(label, { name: start, nameMayGrow: true })),
    piece(label, { name }),
  ]
}

test('for every chunking of every call list the calls of events and message are the same objects (G1)', async () => {
  const calls = fc.array(someCall, { minLength: 1, maxLength: 5 })
  const evidence = fc.constantFrom('end', 'seal', 'text')
  await fc.assert(
    fc.asyncProperty(calls, evidence, fc.infiniteStream(fc.nat()), async (calls, evidence, choices) => {
      const lanes = calls.map(({ id, name, nameCuts, text, cuts }, label) => [
        ...begun(label, id, name, nameCuts),
        ...slices(text, cuts).map((delta) => piece(label, { delta })),
      ])
      // The text of a seal equals the deltas, so it changes nothing.
      const seals = calls.map(({ text }, label) => sealed(label, evidence === 'text' ? text : undefined))
      const { events, message } = await stream([
        // In call order at first.
        ...lanes.flatMap((lane) => lane.splice(0, 1)),
        ...interleaved(lanes, choices),
        ...(evidence === 'end' ? [] : seals),
        ended(),
      ])

      const inEvents = events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []))
      const inMessage = message ? callsOf(message) : []
      expect(inMessage).toHaveLength(calls.length)
      expect(new Set(inMessage.map((call) => call.id)).size).toBe(calls.length)
      // A call without a name is sealed at the end, whatever the provider stated before.
      const inOrder = evidence === 'end' ? inMessage : inMessage.toSorted((a, b) => Number(!a.name) - Number(!b.name))
      expect(inEvents.map((call, i) => call === inOrder[i])).toEqual(calls.map(() => true))
    }),
  )
})

test('events and message do not depend on where chunks and deltas are cut (G2)', async () => {
  const somePart = fc.oneof(
    fc.record({
      say: fc.constantFrom(said, thought),
      text: fc.string({ unit: 'grapheme', minLength: 1 }),
      cuts: fc.array(fc.nat(), { maxLength: 6 }),
    }),
    someCall,
  )
  await fc.assert(
    fc.asyncProperty(fc.array(somePart, { maxLength: 6 }), fc.constantFrom(1, 2, 5), async (parts, perChunk) => {
      const inPieces = (cut: boolean): Chunk[] =>
        parts.flatMap((part, label) => {
          const deltas = slices(part.text, cut ? part.cuts : [])
          if ('say' in part) return deltas.map((delta) => part.say(delta))
          const { id, name, nameCuts } = part
          return [
            ...begun(label, id, name, cut ? nameCuts : []),
            ...deltas.map((delta) => piece(label, { delta })),
            sealed(label),
          ]
        })
      const whole = await stream([...inPieces(false), ended()])
      const cut = await stream(grouped([...inPieces(true), ended()], perChunk))
      expect(withoutCuts(cut.events)).toEqual(withoutCuts(whole.events))
      expect(cut.message).toEqual(whole.message)
    }),
  )
})

function slices(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
  return at.slice(1).map((end, i) => text.slice(at[i], end))
}

function* interleaved(lanes: readonly Chunk[][], choices: Iterator<number>): Generator<Chunk> {
  for (;;) {
    const open = lanes.filter((lane) => lane.length > 0)
    const chunk = open[(choices.next().value ?? 0) % open.length]?.shift()
    if (!chunk) return
    yield chunk
  }
}

function grouped(chunks: readonly Chunk[], size: number): Chunk[] {
  const groups = Array.from({ length: Math.ceil(chunks.length / size) }, (_, i) =>
    chunks.slice(i * size, (i + 1) * size),
  )
  return groups.map((group) => (to) => {
    for (const chunk of group) chunk(to)
  })
}

/** The events except deltas, and the joined deltas of each call, of text and of reasoning. */
function withoutCuts(events: readonly ModelEvent[]): unknown[] {
  const whole = new Map<string, string>()
  for (const event of events) {
    if (!('delta' in event)) continue
    const of = 'id' in event ? event.id : event.type
    whole.set(of, (whole.get(of) ?? '') + event.delta)
  }
  return [...events.filter((event) => !('delta' in event)), ...whole]
}
