import { isDeepStrictEqual } from 'node:util'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Encoded, encodedOn, isCertain } from './encoded-calls.ts'
import { bodyOf } from './encoded-wires.ts'
import { expectRefusal } from './expect-refusal.ts'
import { type Called, DONE, type Door, type FieldWire, modelOf, type Ran, runOf, sdkModelOf } from './field-agent.ts'

// The generator knows the calls that it encodes, so it knows what may run.

const DOORS = (['chat', 'responses', 'anthropic'] as const).flatMap((wire: FieldWire) =>
  (['client', 'ai-sdk'] as const).map((door: Door) => ({ wire, door })),
)

/** The calls that ran although none of the encoded ones has their name and their input, or that ran twice. */
function surplus({ calls }: Encoded, executions: readonly Called[]): readonly Called[] {
  const left: Called[] = calls.filter(({ isWhole }) => isWhole).map(({ name, input }) => ({ name, input }))
  return executions.filter((execution) => {
    const at = left.findIndex((call) => isDeepStrictEqual(call, execution))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

function ranOn(encoded: Encoded, door: Door, eager: boolean): Promise<Ran> {
  const bodies = [bodyOf(encoded)]
  const fetch: typeof globalThis.fetch = async () =>
    new Response(bodies.shift() ?? DONE[encoded.wire], { headers: { 'content-type': 'text/event-stream' } })
  return runOf((door === 'client' ? modelOf : sdkModelOf)(encoded.wire, { fetch }), eager)
}

test.each(DOORS)(
  '$wire, by $door: whatever the shapes of a response, only its calls run, each once and with its input (P3, qR19, qA17)',
  async ({ wire, door }) => {
    let certain = 0
    let ran = 0
    await fc.assert(
      fc.asyncProperty(encodedOn(wire), async (encoded) => {
        for (const eager of [false, true]) {
          const { executions, error } = await ranOn(encoded, door, eager)
          expectRefusal(error)
          expect(surplus(encoded, executions)).toEqual([])
          if (!encoded.mayRun) expect(executions.filter(({ name }) => !eager || !name.startsWith('look'))).toEqual([])
          // The packages of the AI SDK read the data of an event as one value.
          if (!isCertain(encoded) || (door === 'ai-sdk' && encoded.isGlued)) continue
          certain += 1
          if (executions.length === encoded.calls.length) ran += 1
        }
      }),
      propertyRuns({ small: 6, middle: 9, whole: 20_000 }),
    )
    // Otherwise refusing everything would pass.
    expect(ran / certain).toBeGreaterThanOrEqual(0.6)
  },
)
