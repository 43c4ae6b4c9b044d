import { expectTypeOf, test } from 'vitest'
import type { Middleware, Tool } from '../index.ts'

test('a factory that was not called is not a middleware, and neither is a list of them (A2)', () => {
  const factory = (_: { readonly tries?: number } = {}): Middleware => ({ name: 'made' })
  expectTypeOf(factory()).toExtend<Middleware>()
  expectTypeOf(factory).not.toExtend<Middleware>()
  expectTypeOf([factory()]).not.toExtend<Middleware>()
})

test('ignoresInput is true, false, or a function of a tool that returns one of them (Q6)', () => {
  const middleware: Middleware = { name: 'm', ignoresInput: ({ name }) => name === 'read' }
  expectTypeOf(middleware.ignoresInput).toEqualTypeOf<boolean | ((tool: Tool) => boolean) | undefined>()
  // @ts-expect-error It says nothing.
  const mute: Middleware = { name: 'm', ignoresInput: () => undefined }
  // @ts-expect-error What it says comes too late.
  const late: Middleware = { name: 'm', ignoresInput: async () => true }
  expectTypeOf(mute).toEqualTypeOf(late)
})
