import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import { checkedInput } from '../calls.ts'
import { tool } from './define-tool.ts'
import { ToolInputError } from './tool-errors.ts'
import type { ToolSchema } from './tool-schema.ts'

function check(input: ToolSchema, given: unknown): Promise<unknown> {
  const f = tool({ name: 'f', description: 'f', input, execute: () => 'done' })
  return checkedInput(f, { type: 'tool-call', id: 'a', name: 'f', input: given })
}

const point = z.object({ x: z.number() })

test('an input that is a JSON string of an object is that object, if the schema accepts it (qC34)', async () => {
  expect(await check(point, '{"x":1}')).toEqual({ x: 1 })
})

test('the same holds for objects and lists inside the input (qC34)', async () => {
  const schema = z.object({ tags: z.array(z.string()), at: z.array(z.object({ point })) })
  const given = { tags: '["a","b"]', at: [{ point: '{"x":1}' }, { point: { x: 2 } }] }
  expect(await check(schema, given)).toEqual({ tags: ['a', 'b'], at: [{ point: { x: 1 } }, { point: { x: 2 } }] })
  expect(await check(schema, JSON.stringify(given))).toEqual({
    tags: ['a', 'b'],
    at: [{ point: { x: 1 } }, { point: { x: 2 } }],
  })
})

test('a string stays one where the schema wants a string (qC34)', async () => {
  expect(await check(z.object({ json: z.string() }), { json: '{"x":1}' })).toEqual({ json: '{"x":1}' })
  expect(await check(z.string(), '{"x":1}')).toBe('{"x":1}')
})

test('if the schema does not accept that either, the error is that of the original input (A13, qC34)', async () => {
  const failure = await check(point, '{"x":"one"}').catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ToolInputError)
  expect(failure).toHaveProperty('message', expect.stringContaining('expected object, received string'))
})

test('a number, a word or broken JSON in a string is not taken out of it (A13, qC34)', async () => {
  for (const x of ['1', 'true', 'null', '"1"', '{"x":']) {
    await expect(check(point, { x })).rejects.toBeInstanceOf(ToolInputError)
  }
  await expect(check(z.object({ x: z.unknown().refine((x) => x === 1) }), { x: '1' })).rejects.toThrow(ToolInputError)
})

test('a value nested deeper than arguments may be is not taken out of a string (G14, qC34)', async () => {
  const list = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const schema = z.object({ list: z.array(z.unknown()) })
  expect(await check(schema, { list: list(512) })).toEqual({ list: JSON.parse(list(512)) })
  await expect(check(schema, { list: list(513) })).rejects.toThrow(ToolInputError)
  await expect(check(schema, { list: list(100_000) })).rejects.toThrow(ToolInputError)
})

test('an input that fits is checked once (qC34)', async () => {
  const fits = vi.fn(() => true)
  await check(z.object({ x: z.number() }).refine(fits), { x: 1 })
  expect(fits).toHaveBeenCalledOnce()
})

test('an own __proto__ on the way is kept as a member and changes no prototype (G14, qC34)', async () => {
  const given = JSON.parse('{"__proto__":{"x":"{}"},"tags":"[]"}') as object
  const schema = z.custom<{ tags: unknown }>((value) => Array.isArray((value as { tags: unknown }).tags))
  await expect(check(z.object({ tags: z.array(z.string()) }), given)).resolves.toEqual({ tags: [] })
  await expect(check(schema, given)).rejects.toThrow(ToolInputError)
  expect(({} as { x?: unknown }).x).toBeUndefined()
})

test('`null` for an optional member counts as absent, if the schema fits only then (W21)', async () => {
  const schema = z.object({
    a: z.string().optional(),
    deep: z.array(z.object({ b: z.number().optional(), c: z.number().nullable() })).optional(),
    d: z.string().default('x'),
  })
  expect(await check(schema, { a: null, d: null })).toEqual({ d: 'x' })
  expect(await check(schema, { deep: [{ b: null, c: null }], d: 'y' })).toEqual({ deep: [{ c: null }], d: 'y' })
  expect(await check(schema, '{"a":null,"deep":"[]"}')).toEqual({ deep: [], d: 'x' })
  expect(await check(z.object({ a: z.string().nullish() }), { a: null })).toEqual({ a: null })
})

test('`null` for a required member, in a list or for the whole input is wrong, with the error of the original input (W21)', async () => {
  for (const [schema, given] of [
    [z.object({ a: z.string(), b: z.string().optional() }), { a: null, b: null }],
    [z.object({ a: z.array(z.string()) }), { a: [null] }],
    [z.object({ a: z.string().optional() }), null],
  ] as const) {
    const failure = await check(schema, given).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ToolInputError)
    expect(failure).toHaveProperty('message', expect.stringContaining('received null'))
  }
})
