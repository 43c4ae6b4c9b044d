import { expectTypeOf, test } from 'vitest'
import type { Middleware } from '../index.ts'

test('a factory that was not called is no middleware, and neither is a list of them (A2)', () => {
  const factory = (_: { readonly tries?: number } = {}): Middleware => ({ name: 'made' })
  expectTypeOf(factory()).toExtend<Middleware>()
  expectTypeOf(factory).not.toExtend<Middleware>()
  expectTypeOf([factory()]).not.toExtend<Middleware>()
})
