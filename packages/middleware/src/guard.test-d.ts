import { expectTypeOf, test } from 'vitest'
import { type GuardVerdict, guard } from './index.ts'

test('a check that may return nothing does not compile (GD7)', () => {
  expectTypeOf<undefined>().not.toExtend<GuardVerdict>()
  // @ts-expect-error It returns nothing.
  guard({ input: () => undefined })
  // @ts-expect-error It returns nothing if the text is short.
  guard({ output: async (text) => (text.length > 3 ? { pass: true } : undefined) })
  // @ts-expect-error A boolean is not a verdict.
  guard({ tool: { before: () => true } })
  // @ts-expect-error What may begin is at most `read` and `calls`.
  guard({ input: () => ({ pass: true }), meanwhile: ['external'] })
  guard({ input: async () => ({ pass: false, reason: 'because' }), answer: ({ reason }) => reason ?? 'No.' })
})
