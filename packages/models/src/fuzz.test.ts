import type { AssistantMessage, ModelEvent } from '@meanwhile/core'
import { allowsCalls, ModelError } from '@meanwhile/core'
import { mockModels, type RawResponse, rawResponse } from '@meanwhile/harness'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requestTo } from '../test/ask.ts'
import { beginningOf, endingStreams, mutate, mutations, type Stream, streams, withCutNames } from '../test/mutations.ts'
import { wires } from '../test/wires.ts'

const runs = propertyRuns({ small: 8, middle: 12, whole: 100_000 })

const toolsOf = (names: readonly string[]) =>
  names.map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } }))

let served: RawResponse = rawResponse([])
const { fetch } = mockModels({ script: () => served })

interface Read {
  readonly message?: AssistantMessage
  readonly error?: unknown
  readonly events: readonly ModelEvent[]
}

async function read(response: RawResponse, tools = toolsOf(['f', 'g', 'weather'])): Promise<Read> {
  const wire = wires.find(({ name }) => name === response.wire)
  if (!wire) throw new Error(`no adapter for ${response.wire}`)
  served = response
  const model = wire.model(fetch)
  const flow = model.stream(requestTo(model, { tools }))
  const events: ModelEvent[] = []
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) return { message: step.value, events }
      events.push(step.value)
    }
  } catch (error) {
    return { error, events }
  }
}

/** The result that must not depend on the cuts. */
function essence({ message, error, events }: Read): unknown {
  const calls = events.filter((event) => 'call' in event)
  if (!(error instanceof ModelError)) return { message, calls }
  const { code, status, retryable, partial } = error
  return { error: { code, status, retryable, partial }, calls }
}

test('any mutation of a stream gives a message or a ModelError, and the same one with any cuts (G1, G2, A19)', async () => {
  const cases = fc.record({
    stream: fc.constantFrom(...streams),
    changes: mutations,
    random: fc.nat(),
    most: fc.constantFrom(1, 3, 16, 200),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ stream, changes, random, most }) => {
      const response = rawResponse([{ bytes: mutate(stream, changes) }], { wire: stream.wire })
      const whole = await read({ ...response, slice: 'whole' })
      const sliced = await read({ ...response, slice: { random, most } })
      expect(essence(sliced)).toEqual(essence(whole))
      if (!whole.message) expect(whole.error).toBeInstanceOf(ModelError)
      else if (allowsCalls(whole.message.finishReason)) {
        const sealed = whole.events.flatMap((event) => (event.type === 'tool-call' ? [event.call.id] : []))
        const calls = whole.message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []))
        expect(sealed.toSorted()).toEqual(calls.toSorted())
      }
    }),
    runs,
  )
})

const slices = fc.record({ random: fc.nat(), most: fc.constantFrom(16, 200, 4_000) })

/** Each run reads several whole streams. */
const fewer = { ...runs, numRuns: Math.ceil(runs.numRuns / 4) }

test('everything after the end of the protocol is ignored, with any cuts (P1)', async () => {
  const cases = fc.record({
    stream: fc.constantFrom(...endingStreams),
    after: fc.constantFrom(...streams),
    slice: slices,
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ stream: { wire, frames, end }, after, slice }) => {
      const bytes = frames.slice(0, end + 1).join('')
      const plain = await read(rawResponse([{ bytes }], { wire }))
      const longer = await read({ ...rawResponse([{ bytes }, { bytes: after.frames.join('') }], { wire }), slice })
      expect(essence(longer)).toEqual(essence(plain))
    }),
    fewer,
  )
})

test('a second response in a stream fails it, with the partial message of the first; a repeated beginning has no effect (P1)', async () => {
  const begun = endingStreams.filter(({ beginning, frames }) => beginning >= 0 && frames.length > beginning + 1)
  const cases = fc.record({
    stream: fc.constantFrom(...begun),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    slice: slices,
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ stream, at, slice }) => {
      const { wire, frames, beginning, end } = stream
      const place = beginning + 1 + Math.floor(at * (end - beginning))
      const of = (...added: readonly string[]) =>
        read({ ...rawResponse([{ bytes: frames.toSpliced(place, 0, ...added).join('') }], { wire }), slice })
      expect(essence(await of(beginningOf(stream)))).toEqual(essence(await of()))

      const first = await read(rawResponse([{ bytes: frames.slice(0, place).join('') }], { wire }))
      // It had failed by then, or ended.
      if (!(first.error instanceof ModelError) || first.error.code !== 'stream_truncated') return
      const { error } = await of(beginningOf(stream, 'another'), ...frames.slice(beginning + 1))
      expect(error).toMatchObject({ code: 'stream_restarted', retryable: true })
      expect(error).toHaveProperty('partial', first.error.partial)
    }),
    fewer,
  )
})

const called = streams.filter((stream) => withCutNames(stream, 0).names.length > 0)

test('names of calls that come in pieces change nothing, whatever other tools exist (P2, G2)', async () => {
  const cases = fc.record({
    stream: fc.constantFrom(...called),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    random: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ stream, at, random }) => {
      const { whole, cut, names } = withCutNames(stream, at)
      const tools = toolsOf(names)
      const bytes = (of: Stream) => rawResponse([{ bytes: mutate(of, []) }], { wire: stream.wire })
      expect(essence(await read({ ...bytes(cut), slice: { random, most: 200 } }, tools))).toEqual(
        essence(await read(bytes(whole), tools)),
      )
    }),
    runs,
  )
})
