import { expect, test } from 'vitest'
import { z } from 'zod'
import { mayStartEarly } from './scenario.ts'

const input = z.object({})
const tools = (['read', 'idempotent', 'reversible', 'external'] as const).map((effect) => ({
  name: effect,
  effect,
  input,
}))

test.each([
  [
    ['read', 'read'],
    [true, true],
  ],
  [
    ['read', 'external', 'read'],
    [true, false, false],
  ],
  [
    ['idempotent', 'read'],
    [true, false],
  ],
  [['reversible'], [true]],
  [['unknown'], [false]],
])(
  'of calls that are %j those may start early that are not external, nor behind more than a read: %j',
  (effects, early) => {
    const calls = effects.map((tool, index) => ({ id: `call_${index}`, tool, input: {}, toolMs: 1 }))
    expect(mayStartEarly({ tools }, calls)).toEqual(early)
  },
)
