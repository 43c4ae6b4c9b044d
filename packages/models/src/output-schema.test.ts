import { expect, test } from 'vitest'
import { z } from 'zod'
import { type JsonSchema, jsonSchemaFormat, strictSchema } from './output-schema.ts'

const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as { readonly type: string }
const strict = (schema: z.ZodType) => strictSchema(jsonSchema(schema))

test('every object is closed, and bounds of values are moved into descriptions (M14)', () => {
  const schema = z.object({
    days: z.int().min(1).max(9).describe('How long'),
    stops: z.array(z.object({ name: z.string().min(2), kind: z.enum(['a', 'b']), note: z.string().nullable() })).max(3),
    then: z.union([z.literal('home'), z.object({ city: z.string() })]),
  })
  expect(strict(schema)).toMatchObject({
    optional: 0,
    refers: false,
    schema: {
      type: 'object',
      properties: {
        days: { type: 'integer', description: 'How long {minimum: 1, maximum: 9}' },
        stops: {
          type: 'array',
          description: '{maxItems: 3}',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string', description: '{minLength: 2}' },
              kind: { type: 'string', enum: ['a', 'b'] },
              note: { type: ['string', 'null'] },
            },
            required: ['name', 'kind', 'note'],
            additionalProperties: false,
          },
        },
        then: {
          anyOf: [
            { type: 'string', const: 'home' },
            {
              type: 'object',
              properties: { city: { type: 'string' } },
              required: ['city'],
              additionalProperties: false,
            },
          ],
        },
      },
      required: ['days', 'stops', 'then'],
      additionalProperties: false,
    },
  })
})

test('a union with a discriminator is an ordinary union (M14)', () => {
  const one = z.object({ kind: z.literal('one') })
  const two = z.object({ kind: z.literal('two') })
  const of = strict(z.object({ it: z.discriminatedUnion('kind', [one, two]) }))
  expect(of?.schema).toMatchObject({ properties: { it: { anyOf: [{ additionalProperties: false }, {}] } } })
})

test('a schema with references to its own parts keeps them, and is marked (M14)', () => {
  const node = z.object({
    name: z.string(),
    get parts() {
      return z.array(node)
    },
  })
  expect(strict(node)).toMatchObject({ refers: true, schema: { properties: { parts: { items: { $ref: '#' } } } } })
  const named = { type: 'object', properties: { a: { $ref: '#/$defs/a', title: 'A' } }, required: ['a'] }
  expect(strictSchema({ ...named, $defs: { a: { type: 'object', properties: {} } } })).toMatchObject({
    optional: 0,
    refers: true,
    schema: {
      ...named,
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { type: 'object', properties: {}, additionalProperties: false } },
      additionalProperties: false,
    },
  })
})

const notSo: readonly (readonly [what: string, schema: z.ZodType])[] = [
  ['any keys', z.object({ at: z.record(z.string(), z.number()) })],
  ['further keys', z.looseObject({ at: z.number() })],
  ['values of any kind', z.object({ at: z.unknown() })],
  ['a tuple', z.object({ at: z.tuple([z.number(), z.string()]) })],
]

test.for(notSo)('a schema of %s cannot be strict: it is sent unchanged, without strict mode (M14)', ([, schema]) => {
  expect(strict(schema)).toBeUndefined()
  const own = jsonSchema(schema)
  expect(jsonSchemaFormat({ name: 'f', schema: own })).toEqual({ name: 'f', schema: own, strict: false })
})

test('OpenAI is strict if every property is required (M14)', () => {
  const optional = jsonSchema(z.object({ a: z.string(), b: z.string().optional() }))
  expect(strictSchema(optional)?.optional).toBe(1)
  expect(jsonSchemaFormat({ name: 'f', schema: optional })).toEqual({ name: 'f', schema: optional, strict: false })
  expect(jsonSchemaFormat({ name: 'f', schema: jsonSchema(z.object({ a: z.string() })) })).toMatchObject({
    strict: true,
  })
})

test('an object that may be null is closed like any other, and several schemas at once are not supported (M14)', () => {
  const inner = { type: ['object', 'null'], properties: { b: { type: 'string' } }, required: ['b'] }
  const of = (a: JsonSchema[string]) => strictSchema({ type: 'object', properties: { a }, required: ['a'] })
  expect(of(inner)?.schema.properties).toEqual({ a: { ...inner, additionalProperties: false } })
  expect(of({ allOf: [inner, inner] })).toBeUndefined()
})

test('an invalid schema is not strict, and causes no error (M14)', () => {
  for (const wrong of [true, null, 7, [], 'object', { type: 'object', properties: null }, { properties: {} }]) {
    const schema = { type: 'object', properties: { a: wrong as null }, required: ['a'] }
    expect(strictSchema(schema)).toBeUndefined()
  }
})
